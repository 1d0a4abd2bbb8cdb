// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks that pass a tile around.
#pragma once

#include "compiler/dsl/Counts.h"
#include "test/ranks/RankRun.h"
#include "test/ranks/RingShape.h"

namespace tlc::test {

/// The tensors of ranks of which each passes its tile to the next one.
struct RankRing {
  explicit RankRing(dsl::Scope &k)
      : rank(k.rank()), ranks(k.ranks()),
        X(k.input("X", ElementType::f32, {ringRows, ringColumns}, {.alignment = 16})),
        Y(k.output("Y", ElementType::f32, {ringRows, ringColumns}, {.alignment = 16})),
        passed(k.symmetric("passed", ElementType::f32, {ringRows, ringColumns},
                           {.use = dsl::TensorUse::workspace})),
        arrived(k.symmetric("arrived", ElementType::i32, {1},
                            {.use = dsl::TensorUse::workspace, .initial = dsl::Initial::zero})) {}
  static dsl::Slice all(const dsl::Global &tensor) { return tensor.tile({0, 0}, {ringRows, ringColumns}); }

  dsl::Index rank, ranks;
  dsl::Global X, Y;
  dsl::Symmetric passed, arrived;
};

/// How a tile is passed on.
struct PassOptions {
  bool byCopyEngine = false;           ///< by the TMA
  bool byTransfer = false;             ///< before the launch that takes it over
  bool announces = true, waits = true; ///< without either it is wrong
};

/// Each rank passes its X to the next one, which takes it over as its Y.
inline void passOn(dsl::Scope &k, const PassOptions &options) {
  RankRing r(k);
  dsl::Index next = (r.rank + 1) % r.ranks;
  if (options.byTransfer) {
    k.transfer("pass", 1, [&](const dsl::Transfer &transfer, const dsl::Index &) {
      transfer.copy({r.X, {0, 0}}, {r.passed.of(next), {0, 0}}, {ringRows, ringColumns});
      transfer.set(r.arrived.of(next), {0});
    });
    k.launch("take", [&] {
      [[maybe_unused]] auto [block] = k.grid(1);
      dsl::Fragment x = k.fragment(ElementType::f32, {ringRows, ringColumns});
      dsl::waitFor(r.arrived.of(r.rank), {0}, 1);
      copy(RankRing::all(r.passed.of(r.rank)), x);
      copy(x, RankRing::all(r.Y));
    });
    return;
  }
  dsl::Fragment x = k.fragment(ElementType::f32, {ringRows, ringColumns});
  dsl::Shared tile = k.shared("tile", ElementType::f32, {ringRows, ringColumns});
  copy(RankRing::all(r.X), x);
  auto signal = [&] {
    if (options.announces)
      dsl::announce(r.arrived.of(next), {0});
    if (options.waits)
      dsl::waitFor(r.arrived.of(r.rank), {0}, 1);
  };
  if (options.byCopyEngine) {
    copy(x, tile);
    k.roles([&] { // which alone store tiles by the TMA
      k.role("pass", {.warps = 4}, [&] {
        copy(tile, RankRing::all(r.passed.of(next)));
        signal();
      });
    });
  } else {
    copy(x, RankRing::all(r.passed.of(next)));
    signal();
  }
  copy(RankRing::all(r.passed.of(r.rank)), x);
  copy(x, RankRing::all(r.Y));
}

inline std::vector<evaluator::Arguments> ringArguments(int64_t ranks) {
  std::vector<evaluator::Arguments> all;
  for (int64_t rank = 0; rank < ranks; ++rank)
    all.push_back({{filled(ElementType::f32, {ringRows, ringColumns}, double(rank + 1)),
                    unwritten(ElementType::f32, {ringRows, ringColumns})},
                   {}});
  return all;
}

} // namespace tlc::test
