// SPDX-License-Identifier: Apache-2.0
/// \file
/// Transposing V, and reading it.
#include "kernels/attention/forward/TransposedValues.h"

#include "runtime/support/Math.h"

namespace tlc::kernels {

using namespace dsl;

TransposedValues::TransposedValues(Scope &k, const ForwardConfig &config, const ForwardArguments &arguments)
    : k(k), c(config), p(arguments) {
  int64_t parts = ceilDiv(c.problem.dv, keysOfTile);
  auto workspace = [&](std::string_view name, const Index &batches, const Index &rows) {
    return k.workspace(name, c.problem.dtype, {batches, p.inputs.kvHeads, parts, rows, keysOfTile},
                       {.order = TensorOrder::interleaved});
  };
  whole = workspace("values", isPacked() ? Index(1) : p.inputs.factors, p.sk);
  last = workspace("last_values", p.inputs.factors, keysOfTile);
}

void TransposedValues::at(const Sequence &sequence, const Index &key,
                          const std::function<void(const Place &)> &body) const {
  Index first = key / keysOfTile * keysOfTile;
  k.when(
      first + keysOfTile <= sequence.keys,
      [&] { body({whole, isPacked() ? Index(0) : sequence.batch, sequence.firstKey + first}); },
      [&] { body({last, sequence.batch, 0}); });
}

Slice TransposedValues::columns(const Place &place, const Index &head, int64_t first, const Index &key,
                                int64_t keys) const {
  return place.tensor.tile({place.batch, head, first / keysOfTile, place.row, key},
                           {1, 1, 1, columnsAt(first), keys});
}

void TransposedValues::write() const {
  // Packed sequences get as many blocks as if all had the same length.
  Index blocksOfHead =
      ceilDiv(p.sk, isPacked() ? keysOfTile * max(p.inputs.sequences.count, 1) : Index(keysOfTile));
  auto [block] = k.grid(blocksOfHead * p.inputs.kvHeads * p.inputs.sequences.count);
  Index number = block % blocksOfHead, head = block / blocksOfHead % p.inputs.kvHeads,
        batch = block / blocksOfHead / p.inputs.kvHeads;
  Sequence sequence;
  sequence.batch = batch;
  sequence.keys = p.inputs.sequences.rowsOf(Axis::keys, batch);
  sequence.firstKey = p.inputs.sequences.firstRowOf(Axis::keys, batch);
  Index own = number * keysOfTile;
  auto forTiles = [&](const LoopBody &body) {
    if (isUniform())
      return body(own);
    // Rows that see nothing read a tile of keys, even if there are none.
    k.loop({own, max(sequence.keys, 1), blocksOfHead * keysOfTile}, body);
  };
  Shared rows = k.shared("v", c.problem.dtype, {keysOfTile, c.problem.dv}, {.slots = 1});
  Shared exchanged = k.shared("vt", c.problem.dtype, {c.problem.dv, keysOfTile});
  Channel loaded = k.channel("v", {.slots = 1});
  k.roles([&] {
    k.role("load", {.warps = 1}, [&] {
      forTiles([&](const Index &key) {
        loaded.put([&](const Slot &at) {
          copy(p.inputs.valueRowsOf(sequence, head, key, keysOfTile, {0, c.problem.dv}), rows.slot(at));
        });
      });
    });
    k.role("transpose", {.warps = 4}, [&] {
      forTiles([&](const Index &key) {
        copy(rows.slot(loaded.get()).t(), exchanged);
        if (!isUniform()) // one tile
          loaded.release();
        at(sequence, key, [&](const Place &place) {
          for (int64_t first = 0; first < c.problem.dv; first += keysOfTile)
            copy(exchanged.rows(first, columnsAt(first)),
                 columns(place, head, first, 0, keysOfTile).disjoint("a block has a tile of keys once"));
        });
      });
    });
  });
}

void TransposedValues::load(const QueryTile &tile, const Index &j, const Shared &slot) const {
  Index key = j * c.bk;
  at(tile.sequence, key, [&](const Place &place) {
    for (int64_t first = 0; first < c.problem.dv; first += keysOfTile)
      copy(columns(place, tile.kvHead, first, key % keysOfTile, c.bk), slot.rows(first, columnsAt(first)));
  });
}

} // namespace tlc::kernels
