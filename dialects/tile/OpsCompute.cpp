// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products, reductions, shape changes of fragments: checks, folders, text form.
#include "dialects/tile/Tile.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;
