// SPDX-License-Identifier: Apache-2.0
/// \file
/// Distributed shared memory: copies to and from shared tiles of other blocks of the cluster (`Shared::of`),
/// and sums and maxima over its blocks. All threads of the role, or of the block, and all blocks of the
/// cluster call these functions together. `Scope::cluster` comes before.
#pragma once

#include "compiler/dsl/Handles.h"

namespace tlc::dsl::inline v1 {

/// As other copies. No barrier need be written: between copies to and from one tile of which one writes, all
/// blocks of the cluster meet, so that no branch or loop around both may depend on the block.
/// (ld.shared::cluster, st.shared::cluster)
void copy(const ClusterTile &from, Fragment &to, Loc loc = Loc::current());
void copy(const FragmentValue &from, const ClusterTile &to, Loc loc = Loc::current());
/// Through registers.
void copy(const Shared &from, const ClusterTile &to, Loc loc = Loc::current());
void copy(const ClusterTile &from, const Shared &to, Loc loc = Loc::current());

/// The sum of all blocks' fragments, in the order of the blocks: all get the same, in every run. Takes shared
/// memory for a fragment; in all, each block reads as many fragments as the cluster has blocks.
FragmentValue clusterSum(const FragmentValue &x, Loc loc = Loc::current());
/// The largest elements of all blocks' fragments, as by `max`; otherwise as `clusterSum`.
FragmentValue clusterMax(const FragmentValue &x, Loc loc = Loc::current());
/// This block's share of the rows of `clusterSum`: of R rows block b of n has b R/n to (b + 1) R/n - 1. R/n
/// is a multiple of 8. Each block adds in an order of its own, the same in every run, and reads one fragment
/// in all.
FragmentValue clusterSumShare(const FragmentValue &x, Loc loc = Loc::current());

} // namespace tlc::dsl::inline v1
