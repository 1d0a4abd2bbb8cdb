// SPDX-License-Identifier: Apache-2.0
/// \file
/// Transposing V, and reading it.
#include "kernels/attention/TransposedValues.h"

namespace tlc::kernels {

using namespace dsl;

TransposedValues::TransposedValues(Scope &k, const ForwardConfig &config, const ForwardProblem &problem)
    : k(k), c(config), p(problem) {
  int64_t parts = (c.dv + keysOfTile - 1) / keysOfTile;
  auto workspace = [&](std::string_view name, const Index &rows) {
    return k.workspace(name, c.dtype, {p.batches, p.kvHeads, parts, rows, keysOfTile}, {.interleaved = true});
  };
  whole = workspace("values", p.sk);
  last = workspace("last_values", keysOfTile);
}

void TransposedValues::at(const Index &key,
                          const std::function<void(const Global &, const Index &)> &body) const {
  Index first = key / keysOfTile * keysOfTile;
  k.when(first + keysOfTile <= p.sk, [&] { body(whole, first); }, [&] { body(last, 0); });
}

Slice TransposedValues::columns(const Global &tensor, const Index &batch, const Index &head, int64_t first,
                                const Index &row, const Index &key, int64_t keys) const {
  return tensor.tile({batch, head, first / keysOfTile, row, key}, {1, 1, 1, columnsAt(first), keys});
}

void TransposedValues::write() const {
  auto [number, head, batch] = k.grid(ceilDiv(p.sk, keysOfTile), p.kvHeads, p.batches);
  Index key = number * keysOfTile;
  Shared rows = k.shared("v", c.dtype, {keysOfTile, c.dv}, {.slots = 1});
  Shared exchanged = k.shared("vt", c.dtype, {c.dv, keysOfTile});
  Ring ring = k.ring("v", {.slots = 1, .producers = 1, .consumers = 1});
  k.roles([&] {
    k.role("load", {.warps = 1}, [&] {
      Cursor tile = ring.cursor();
      ring.expect(tile, rows.slotBytes());
      copy(p.V.tile({batch, key, head, 0}, {1, keysOfTile, 1, c.dv}), rows.slot(tile), ring.full(tile));
    });
    k.role("transpose", {.warps = 4}, [&] {
      Cursor tile = ring.cursor();
      ring.wait(tile);
      copy(rows.slot(tile).t(), exchanged);
      at(key, [&](const Global &tensor, const Index &row) {
        for (int64_t first = 0; first < c.dv; first += keysOfTile)
          copy(exchanged.rows(first, columnsAt(first)),
               columns(tensor, batch, head, first, row, 0, keysOfTile));
      });
    });
  });
}

void TransposedValues::load(const ForwardTile &tile, const Index &j, const Shared &slot,
                            const FullBarrier &full) const {
  Index key = j * c.bk;
  at(key, [&](const Global &tensor, const Index &row) {
    for (int64_t first = 0; first < c.dv; first += keysOfTile)
      copy(columns(tensor, tile.sequence.batch, tile.kvHead, first, row, key % keysOfTile, c.bk),
           slot.rows(first, columnsAt(first)), full);
  });
}

} // namespace tlc::kernels
