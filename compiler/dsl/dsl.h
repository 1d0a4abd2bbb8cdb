// SPDX-License-Identifier: Apache-2.0
/// \file
/// The language: all that a kernel includes.
#pragma once

#include "compiler/dsl/Cluster.h"
#include "compiler/dsl/Counts.h"
#include "compiler/dsl/Program.h"
#include "compiler/dsl/Window.h"
