// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations of the simt dialect: checks, text form.
#include "dialects/simt/Simt.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::simt;
