// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks that gather the rows of all by a transfer.
#pragma once

#include "compiler/dsl/Counts.h"
#include "test/ranks/RankRun.h"

namespace tlc::test {

inline constexpr int64_t gatheredColumns = 20, gatheredRowsAtOnce = 8;

struct GatherOptions {
  bool waits = true;      ///< for what it reads; else only for the first rank's rows
  bool sets = true;       ///< else nothing runs beside the transfer
  bool toOthers = false;  ///< each rank copies its rows to the others, instead of those of the others
  bool waitsAtEnd = true; ///< until no rank reads this rank's rows any more
};

/// Y of each rank, b x ranks n x columns, becomes X of all, b x n x columns.
inline void gatherRows(dsl::Scope &k, const GatherOptions &options = {}) {
  using namespace dsl;
  Index b = k.dim("b"), n = k.dim("n"), rank = k.rank(), ranks = k.ranks();
  Symmetric X = k.symmetric("X", f32, {b, n, gatheredColumns}, {.use = TensorUse::input});
  Global Y = k.output("Y", f32, {b, ranks * n, gatheredColumns});
  const SymmetricOptions counts = {.use = TensorUse::workspace, .initial = Initial::zero};
  Symmetric gathered =
      k.symmetric("gathered", f32, {b, ranks * n, gatheredColumns}, {.use = TensorUse::workspace});
  Symmetric arrived = k.symmetric("arrived", i32, {ranks}, counts),
            ended = k.symmetric("ended", i32, {1}, counts);
  k.transfer("gather", ranks, [&](const dsl::Transfer &transfer, const Index &round) {
    Index other = (rank + round) % ranks, owner = options.toOthers ? rank : other,
          reader = options.toOthers ? other : rank;
    transfer.copy({X.of(owner), {0, 0, 0}}, {gathered.of(reader), {0, owner * n, 0}},
                  {b, n, gatheredColumns});
    if (options.sets)
      transfer.set(arrived.of(reader), {owner});
  });
  k.launch("use", [&] {
    auto [batch] = k.grid(b);
    Fragment rows = k.fragment(f32, {1, gatheredRowsAtOnce, 32});
    k.loop(ranks, [&](Index owner) {
      if (options.sets)
        waitFor(arrived.of(rank), {options.waits ? owner : Index(0)}, 1);
      k.loop(ceilDiv(n, gatheredRowsAtOnce), [&](Index piece) {
        Index first = owner * n + piece * gatheredRowsAtOnce, end = (owner + 1) * n;
        Shape shape = {1, gatheredRowsAtOnce, 32};
        copy(gathered.of(rank).tile({batch, first, 0}, shape).limited(1, end), rows);
        copy(rows, Y.tile({batch, first, 0}, shape).limited(1, end));
      });
    });
  });
  k.launch("end", [&] {
    [[maybe_unused]] auto [block] = k.grid(1);
    k.loop(ranks, [&](Index other) { announce(ended.of(other), {0}); });
    if (options.waitsAtEnd)
      waitFor(ended.of(rank), {0}, ranks);
  });
}

inline std::vector<evaluator::Arguments> gatherArguments(int64_t ranks, int64_t b, int64_t n) {
  std::vector<evaluator::Arguments> all;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    evaluator::Tensor own = filled(ElementType::f32, {b, n, gatheredColumns}, 0);
    for (size_t i = 0; i < own.elements.size(); ++i)
      own.elements[i] = evaluator::elementOf(ElementType::f32, double(10000 * (rank + 1)) + double(i));
    all.push_back({{own, unwritten(ElementType::f32, {b, ranks * n, gatheredColumns})}, {}});
  }
  return all;
}

} // namespace tlc::test
