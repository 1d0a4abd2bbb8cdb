// SPDX-License-Identifier: Apache-2.0
/// \file
/// An access that changes places with the synchronisation next to it.
#pragma once

#include "runtime/emulator/ptx/Module.h"
#include "tools/mutate/Mutants.h"

namespace tlc::mutate {

struct Reordering {
  Change change;
  std::vector<Edit> edits;
};

/// For the synchronisation that is statement `sync` of the function: the nearest access before it moved
/// after what publishes it, the nearest one after it moved before what it waits for. Only inside a basic
/// block, and where registers allow it.
std::vector<Reordering> reorderings(std::string_view ptx, const emulator::Function &function, size_t sync);

} // namespace tlc::mutate
