// SPDX-License-Identifier: Apache-2.0
/// \file
/// The language: all that a kernel includes.
#pragma once

#include "compiler/dsl/Program.h"
