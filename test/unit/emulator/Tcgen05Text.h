// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pieces of PTX that the tests of tcgen05 share.
#pragma once

#include "test/unit/emulator/Harness.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

namespace tlc::emulator::test {

/// Warp 0 allocates columns of tensor memory; %tm is their address, %w the
/// number of the warp, %p1 true in all warps but the first.
inline std::string tensorProlog(unsigned columns, unsigned ctaGroup = 1) {
  return fmt::format(R"(
    .reg .b32 %tm, %w; .reg .b32 %q<128>; .shared .align 16 .b32 tensorSlot;
    shr.u32 %w, %t, 5; setp.ne.u32 %p1, %w, 0;
    @%p1 bra $allocated;
    tcgen05.alloc.cta_group::{1}.sync.aligned.shared::cta.b32 [tensorSlot], {0};
    tcgen05.relinquish_alloc_permit.cta_group::{1}.sync.aligned;
  $allocated:
    tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
    ld.shared.b32 %tm, [tensorSlot];
)",
                     columns, ctaGroup);
}

/// Warp 0 frees them again.
inline std::string tensorEpilog(unsigned columns, unsigned ctaGroup = 1) {
  return fmt::format(R"(
    tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
    @%p1 bra $freed;
    tcgen05.dealloc.cta_group::{1}.sync.aligned.b32 %tm, {0};
  $freed:
)",
                     columns, ctaGroup);
}

/// "{%q0, %q1, ...}"
inline std::string registerList(unsigned count, std::string_view name = "q") {
  std::vector<std::string> names;
  for (unsigned i = 0; i < count; ++i)
    names.push_back(fmt::format("%{}{}", name, i));
  return fmt::format("{{{}}}", fmt::join(names, ", "));
}

} // namespace tlc::emulator::test
