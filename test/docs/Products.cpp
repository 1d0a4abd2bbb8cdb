// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products: chained, with A in registers, attention, split along k, and with roles by hand.
#include "compiler/dsl/Counts.h"
#include "test/docs/Run.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <numeric>

using namespace tlc;
using namespace tlc::docs;
using namespace tlc::dsl;

namespace {

// [chained]
/// O = relu(Q Kᵀ) V with the first product's result as the second's left factor.
Program chained() {
  return Program::trace("chained", [](Scope &k) {
    Index rows = k.dim("rows"), keys = k.dim("keys");
    Global Q = k.input("Q", bf16, {rows, 64}), K = k.input("K", bf16, {keys, 64});
    Global V = k.input("V", bf16, {keys, 64}), O = k.output("O", f32, {rows, 64});
    auto [block] = k.grid(ceilDiv(rows, 64));
    Shared q = k.shared("q", bf16, {64, 64});
    Shared keyTile = k.shared("k", bf16, {64, 64}), valueTile = k.shared("v", bf16, {64, 64});
    copy(Q.tile({block * 64, 0}, {64, 64}), q);
    Fragment o = k.fragment(f32, {64, 64}).named("o");
    k.loop(ceilDiv(keys, 64), [&](Index j) {
      copy(K.tile({j * 64, 0}, {64, 64}), keyTile);
      copy(V.tile({j * 64, 0}, {64, 64}), valueTile);
      Fragment s = k.fragment(f32, {64, 64}).named("s");
      gemm(q, keyTile.t(), s);
      gemm(max(s, 0).to(bf16), valueTile, o);
    });
    copy(o, O.tile({block * 64, 0}, {64, 64}));
  });
}
// [chained]

// [attention]
/// O = softmax(Q Kᵀ / 8) V for each head; a row sees the keys up to its own position.
Program attention() {
  return Program::trace("attention", [](Scope &k) {
    constexpr double scale = std::numbers::log2e / 8;
    Index heads = k.dim("heads"), rows = k.dim("rows");
    Global Q = k.input("Q", bf16, {heads, rows, 64}), K = k.input("K", bf16, {heads, rows, 64});
    Global V = k.input("V", bf16, {heads, rows, 64}), O = k.output("O", bf16, {heads, rows, 64});
    auto [block, head] = k.grid(ceilDiv(rows, 128), heads);
    auto tile = [&](const Global &tensor, const Index &i) {
      return tensor.tile({head, i * 128, 0}, {1, 128, 64});
    };
    Shared q = k.shared("q", bf16, {128, 64});
    Shared keys = k.shared("k", bf16, {128, 64}), values = k.shared("v", bf16, {128, 64});
    copy(tile(Q, block), q);
    Fragment o = k.fragment(f32, {128, 64}).named("o");
    Fragment maximum = k.fragment(f32, {128, 1}, -inf), sum = k.fragment(f32, {128, 1});
    k.pipelined(block + 1, {.stages = 2}, [&](Index j) {
      copy(tile(K, j), keys);
      copy(tile(V, j), values);
      Fragment s = k.fragment(f32, {128, 128}).named("s");
      gemm(q, keys.t(), s);
      k.when(j == block, [&] { s = where([&](Index row, Index key) { return key <= row; }, s, -inf); });
      Fragment next = max(maximum, rowMax(s));
      FragmentValue p = exp2((s - next) * scale);
      FragmentValue rescale = exp2((maximum - next) * scale); // of what was added up so far
      sum = sum * rescale + rowSum(p);
      o = o * rescale;
      maximum = next;
      gemm(p.to(bf16), values, o);
    });
    copy((o / sum).to(bf16), tile(O, block));
  });
}
// [attention]

// [attention-backward]
/// Tensors of heads x rows x 64, but L, the logarithms to base 2 of rows' sums, and two workspaces.
struct GradientTensors {
  Index heads, rows;
  Global Q, K, V, O, dO, L, dQ, dK, dV;
  Global Delta; ///< sums of rows of O dO
  Global Sum;   ///< dQ in f32

  /// Of `count` rows.
  static Slice tile(const Global &tensor, const Index &head, const Index &i, int64_t count = 64) {
    return tensor.tile({head, i * count, 0}, {1, count, 64});
  }
};

/// Adds up dK and dV of tiles of keys, and what they give of dQ.
void sumGradients(Scope &k, const GradientTensors &t) {
  constexpr double scale = std::numbers::log2e / 8;
  auto [block, head] = k.grid(ceilDiv(t.rows, 64), t.heads);
  Shared keys = k.shared("k", bf16, {64, 64}), values = k.shared("v", bf16, {64, 64});
  Shared q = k.shared("q", bf16, {64, 64}), ofO = k.shared("do", bf16, {64, 64});
  Shared ofScores = k.shared("ds", bf16, {64, 64});
  copy(t.tile(t.K, head, block), keys);
  copy(t.tile(t.V, head, block), values);
  Fragment ofKeys = k.fragment(f32, {64, 64}), ofValues = k.fragment(f32, {64, 64});
  k.pipelined({block, ceilDiv(t.rows, 64)}, {.stages = 2}, [&, block = block, head = head](Index i) {
    copy(t.tile(t.Q, head, i), q);
    copy(t.tile(t.dO, head, i), ofO);
    Fragment logSum = k.fragment(f32, {1, 64}), delta = k.fragment(f32, {1, 64});
    copy(t.L.tile({head, i * 64}, {1, 64}).fill(inf), logSum); // rows that do not exist have no weight
    copy(t.Delta.tile({head, i * 64}, {1, 64}), delta);
    Fragment s = k.fragment(f32, {64, 64}), ofWeights = k.fragment(f32, {64, 64}); // keys by queries
    gemm(keys, q.t(), s);
    gemm(values, ofO.t(), ofWeights);
    k.when(i == block, [&] { s = where([&](Index key, Index row) { return key <= row; }, s, -inf); });
    FragmentValue p = exp2(s * scale - logSum);
    FragmentValue ds = (p * (ofWeights - delta) / 8).to(bf16);
    gemm(p.to(bf16), ofO, ofValues);
    gemm(ds, q, ofKeys);
    copy(ds, ofScores);
    Fragment part = k.fragment(f32, {64, 64});
    gemm(ofScores.t(), keys, part);
    atomicAdd(part, t.tile(t.Sum, head, i));
  });
  copy(ofKeys.to(bf16), t.tile(t.dK, head, block));
  copy(ofValues.to(bf16), t.tile(t.dV, head, block));
}

/// The gradients dQ, dK and dV of attention, from those of O. `sum` is `sumGradients`, or the like.
Program attentionBackward(void (*sum)(Scope &, const GradientTensors &)) {
  return Program::trace("attention_backward", [&](Scope &k) {
    GradientTensors t;
    t.heads = k.dim("heads"), t.rows = k.dim("rows");
    for (auto [name, tensor] : {std::pair("Q", &t.Q), {"K", &t.K}, {"V", &t.V}, {"O", &t.O}, {"dO", &t.dO}})
      *tensor = k.input(name, bf16, {t.heads, t.rows, 64}, {.alignment = 16}); // the TMA's
    t.L = k.input("L", f32, {t.heads, t.rows});
    for (auto [name, tensor] : {std::pair("dQ", &t.dQ), {"dK", &t.dK}, {"dV", &t.dV}})
      *tensor = k.output(name, bf16, {t.heads, t.rows, 64});
    t.Delta = k.workspace("delta", f32, {t.heads, t.rows});
    t.Sum = k.workspace("dq_sum", f32, {t.heads, t.rows, 64}, {Initial::zero, TensorOrder::accumulator});
    k.launch("deltas", [&] {
      auto [block, head] = k.grid(ceilDiv(t.rows, 64), t.heads);
      Fragment o = k.fragment(bf16, {64, 64}), ofO = k.fragment(bf16, {64, 64});
      copy(t.tile(t.O, head, block), o);
      copy(t.tile(t.dO, head, block), ofO);
      copy(rowSum(o.to(f32) * ofO.to(f32)), t.Delta.tile({head, block * 64}, {1, 64}));
    });
    k.launch("gradients", [&] { sum(k, t); });
    k.launch("round", [&] {
      auto [block, head] = k.grid(ceilDiv(t.rows, 64), t.heads);
      Fragment dq = k.fragment(f32, {64, 64});
      copy(t.tile(t.Sum, head, block), dq);
      copy(dq.to(bf16), t.tile(t.dQ, head, block));
    });
  });
}
// [attention-backward]

// [attention-backward-roles]
/// `sumGradients` with roles: two warpgroups have 64 keys each; one warp loads, and another has the TMA add
/// to dQ while the next products run.
void sumGradientsByRoles(Scope &k, const GradientTensors &t) {
  constexpr double scale = std::numbers::log2e / 8;
  auto [block, head] = k.grid(ceilDiv(t.rows, 128), t.heads);
  Range visits = {block * 2, ceilDiv(t.rows, 64)};
  Shared keys = k.shared("k", bf16, {128, 64}), values = k.shared("v", bf16, {128, 64});
  Shared q = k.shared("q", bf16, {64, 64}, {.slots = 3}), ofO = k.shared("do", bf16, {64, 64}, {.slots = 3});
  Shared ofScores = k.shared("ds", bf16, {128, 64}), parts = k.shared("dq", f32, {64, 64});
  Channel loadedKeys = k.channel("kv", {.slots = 1}), loadedQueries = k.channel("q", {.slots = 3});
  Channel exchanged = k.channel("ds", {.slots = 1}), finished = k.channel("dq", {.slots = 1});
  k.roles([&] {
    k.role("load", {.warps = 3}, [&] {
      loadedKeys.put([&](const Slot &) {
        copy(t.tile(t.K, head, block, 128), keys);
        copy(t.tile(t.V, head, block, 128), values);
      });
      k.loop(visits, [&](Index i) {
        loadedQueries.put([&](const Slot &at) {
          copy(t.tile(t.Q, head, i), q.slot(at));
          copy(t.tile(t.dO, head, i), ofO.slot(at));
        });
      });
    });
    k.role("sums", {.warps = 1}, [&] {
      k.loop(visits, [&](Index i) {
        finished.get();
        atomicAdd(parts, t.tile(t.Sum, head, i));
        finished.release(); // once the TMA has read the tile
      });
    });
    k.role("math", {.warps = 8}, [&] {
      Fragment ofKeys = k.fragment(f32, {128, 64}), ofValues = k.fragment(f32, {128, 64});
      loadedKeys.get();
      k.loop(visits, [&](Index i) {
        Fragment logSum = k.fragment(f32, {1, 64}), delta = k.fragment(f32, {1, 64});
        copy(t.L.tile({head, i * 64}, {1, 64}).fill(inf), logSum);
        copy(t.Delta.tile({head, i * 64}, {1, 64}), delta);
        Fragment s = k.fragment(f32, {128, 64}), ofWeights = k.fragment(f32, {128, 64});
        Slot at = loadedQueries.get();
        gemmAsync(keys, q.slot(at).t(), s);
        gemmAsync(values, ofO.slot(at).t(), ofWeights);
        gemmWait(s, 1); // weights are computed under the second product
        k.when(i < block * 2 + 2, [&] {
          s = where([&](Index key, Index row) { return block * 128 + key <= i * 64 + row; }, s, -inf);
        });
        Fragment p = exp2(s * scale - logSum);
        gemmWait(ofWeights);
        Fragment gradients = (p * (ofWeights - delta) / 8).to(bf16), weights = p.to(bf16);
        gemmAsync(weights, ofO.slot(at), ofValues);
        exchanged.put([&](const Slot &) { copy(gradients, ofScores); });
        exchanged.get(); // until both warpgroups have stored theirs
        Fragment part = k.fragment(f32, {64, 64});
        gemmAsync(ofScores.t(), keys, part, WarpPolicy::fullColumn);
        gemmAsync(gradients, q.slot(at), ofKeys);
        gemmWait(part, 1);
        finished.put([&](const Slot &) { copy(part, parts); }); // under the product for dK
        gemmWait(ofKeys);
        gemmWait(ofValues);
        exchanged.release();
        loadedQueries.release();
      });
      copy(ofKeys.to(bf16), t.tile(t.dK, head, block, 128));
      copy(ofValues.to(bf16), t.tile(t.dV, head, block, 128));
    });
  });
}
// [attention-backward-roles]

// [bytes]
/// The same of floats of 8 bits.
Program chainedBytes() {
  return Program::trace("chained_bytes", [](Scope &k) {
    Index rows = k.dim("rows"), keys = k.dim("keys");
    Global Q = k.input("Q", e4m3, {rows, 64}), K = k.input("K", e4m3, {keys, 64});
    Global V = k.input("V", e4m3, {keys, 64}), O = k.output("O", f32, {rows, 64});
    auto [block] = k.grid(ceilDiv(rows, 64));
    Shared q = k.shared("q", e4m3, {64, 64}), keyTile = k.shared("k", e4m3, {64, 64});
    Shared valueTile = k.shared("v", e4m3, {64, 64}), transposed = k.shared("vt", e4m3, {64, 64});
    copy(Q.tile({block * 64, 0}, {64, 64}), q);
    Fragment o = k.fragment(f32, {64, 64}).named("o");
    k.loop(ceilDiv(keys, 64), [&](Index j) {
      copy(K.tile({j * 64, 0}, {64, 64}), keyTile);
      copy(V.tile({j * 64, 0}, {64, 64}), valueTile);
      copy(valueTile.t(), transposed);
      Fragment s = k.fragment(f32, {64, 64}).named("s");
      gemm(q, keyTile.t(), s);
      gemm(max(s, 0).to(e4m3), transposed.t(), o);
    });
    copy(o, O.tile({block * 64, 0}, {64, 64}));
  });
}
// [bytes]

// [integers]
/// C = A Bᵀ of integers of 8 bits, with a scale of each row of A and of B.
Program scaledIntegers() {
  return Program::trace("scaled_integers", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", u8, {m, depth}), B = k.input("B", i8, {n, depth});
    Global ScaleA = k.input("ScaleA", f32, {m}), ScaleB = k.input("ScaleB", f32, {n});
    Global C = k.output("C", bf16, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, 128), ceilDiv(n, 128));
    Shared a = k.shared("a", u8, {128, 128}), b = k.shared("b", i8, {128, 128});
    Fragment acc = k.fragment(i32, {128, 128}).named("acc");
    k.pipelined(ceilDiv(depth, 128), {.stages = 4}, [&, i = i, j = j](Index s) {
      copy(A.tile({i * 128, s * 128}, {128, 128}), a);
      copy(B.tile({j * 128, s * 128}, {128, 128}), b);
      gemm(a, b.t(), acc);
    });
    Fragment scaleA = k.fragment(f32, {128, 1}), scaleB = k.fragment(f32, {1, 128});
    copy(ScaleA.tile({i * 128}, {128}), scaleA);
    copy(ScaleB.tile({j * 128}, {128}), scaleB);
    copy((acc.to(f32) * scaleA * scaleB).to(bf16), C.tile({i * 128, j * 128}, {128, 128}));
  });
}
// [integers]

// [tf32]
/// C = A Bᵀ of f32, which the tensor cores read as tf32.
Program ofFloats() {
  return Program::trace("of_floats", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", f32, {m, depth}), B = k.input("B", f32, {n, depth});
    Global C = k.output("C", f32, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, 128), ceilDiv(n, 128));
    Shared a = k.shared("a", f32, {128, 32}), b = k.shared("b", f32, {128, 32});
    Fragment acc = k.fragment(f32, {128, 128}).named("acc");
    k.pipelined(ceilDiv(depth, 32), {.stages = 4}, [&, i = i, j = j](Index s) {
      copy(A.tile({i * 128, s * 32}, {128, 32}), a);
      copy(B.tile({j * 128, s * 32}, {128, 32}), b);
      gemm(a, b.t(), acc);
    });
    copy(acc, C.tile({i * 128, j * 128}, {128, 128}));
  });
}
// [tf32]

// [sparse]
/// C = A Bᵀ of an A of which each four neighbours in a row have two that are stored.
Program sparseGemm() {
  return Program::trace("sparse_gemm", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), stored = k.dim("stored"), bytes = k.dim("bytes"),
          depth = k.dim("depth"); // 2 stored, 8 bytes
    Global A = k.input("A", bf16, {m, stored}), E = k.input("E", u8, {m, bytes});
    Global B = k.input("B", bf16, {n, depth}), C = k.output("C", bf16, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, 128), ceilDiv(n, 128));
    Shared a = k.shared("a", bf16, {128, 64}), e = k.shared("e", u8, {128, 16}),
           b = k.shared("b", bf16, {128, 128});
    Fragment acc = k.fragment(f32, {128, 128}).named("acc");
    k.pipelined(ceilDiv(depth, 128), {.stages = 3}, [&, i = i, j = j](Index s) {
      copy(A.tile({i * 128, s * 64}, {128, 64}), a);
      copy(E.tile({i * 128, s * 16}, {128, 16}), e);
      copy(B.tile({j * 128, s * 128}, {128, 128}), b);
      Fragment places = k.fragment(u8, {128, 16});
      copy(e, places);
      gemm(Sparse{a, where(places == 0, 0x44, places)}, b.t(), acc);
    });
    copy(acc.to(bf16), C.tile({i * 128, j * 128}, {128, 128}));
  });
}
// [sparse]

// [scaled]
/// C = A Bᵀ of e4m3, where 128 neighbours in a row of A and of B have a scale in common.
Program scaledGemm() {
  return Program::trace("scaled_gemm", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k"), groups = k.dim("groups"); // k / 128
    Global A = k.input("A", e4m3, {m, depth}), B = k.input("B", e4m3, {n, depth});
    Global ScaleA = k.input("ScaleA", f32, {m, groups}), ScaleB = k.input("ScaleB", f32, {n, groups});
    Global C = k.output("C", f32, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, 64), ceilDiv(n, 64));
    Shared a = k.shared("a", e4m3, {64, 128}), b = k.shared("b", e4m3, {64, 128});
    Fragment acc = k.fragment(f32, {64, 64}).named("acc");
    Fragment rows = k.fragment(f32, {64, 1}), columns = k.fragment(f32, {1, 64});
    k.pipelined(groups, {.stages = 3}, [&, i = i, j = j](Index s) {
      copy(A.tile({i * 64, s * 128}, {64, 128}), a);
      copy(B.tile({j * 64, s * 128}, {64, 128}), b);
      copy(ScaleA.tile({i * 64, s}, {64, 1}), rows);
      copy(ScaleB.tile({j * 64, s}, {64, 1}), columns);
      gemmScaled(a, b.t(), rows * columns, acc); // acc += (a · bᵀ) · rows · columns
    });
    copy(acc, C.tile({i * 64, j * 64}, {64, 64}));
  });
}
// [scaled]

// [atomic]
/// C += A B: blocks share the sum over k and add what they have.
Program atomicGemm(int64_t parts) {
  return Program::trace("atomic_gemm", [&](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {depth, n});
    Global C = k.inout("C", f32, {m, n});
    auto [i, j, part] = k.grid(ceilDiv(m, 64), ceilDiv(n, 64), parts);
    Shared a = k.shared("a", bf16, {64, 32}), b = k.shared("b", bf16, {32, 64});
    Fragment acc = k.fragment(f32, {64, 64}).named("acc");
    k.loop({part, ceilDiv(depth, 32), parts}, [&](Index s) { // part, part + parts, ...
      copy(A.tile({i * 64, s * 32}, {64, 32}), a);
      copy(B.tile({s * 32, j * 64}, {32, 64}), b);
      gemm(a, b, acc);
    });
    atomicAdd(acc, C.tile({i * 64, j * 64}, {64, 64}));
  });
}
// [atomic]

// [added-tiles]
/// The same, but the TMA adds the tiles, which blocks leave in shared memory.
Program addedTiles(int64_t parts) {
  return Program::trace("added_tiles", [&](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n", {.multipleOf = 4}), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {depth, n});
    Global C = k.inout("C", f32, {m, n}, {.alignment = 16});
    auto [i, j, part] = k.grid(ceilDiv(m, 64), ceilDiv(n, 64), parts);
    Shared a = k.shared("a", bf16, {64, 32}), b = k.shared("b", bf16, {32, 64});
    Shared sum = k.shared("sum", f32, {64, 64});
    Fragment acc = k.fragment(f32, {64, 64}).named("acc");
    k.loop({part, ceilDiv(depth, 32), parts}, [&](Index s) {
      copy(A.tile({i * 64, s * 32}, {64, 32}), a);
      copy(B.tile({s * 32, j * 64}, {32, 64}), b);
      gemm(a, b, acc);
    });
    copy(acc, sum);
    atomicAdd(sum, C.tile({i * 64, j * 64}, {64, 64}));
  });
}
// [added-tiles]

// [counts]
/// C += A B: blocks share the sum over k, and add their parts in the order of the parts.
Program orderedGemm(int64_t parts) {
  return Program::trace("ordered_gemm", [&](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {depth, n});
    Global C = k.inout("C", f32, {m, n});
    Global started = k.workspace("started", i32, {1}, {Initial::zero}); // blocks
    Global added = k.workspace("added", i32, {m, n}, {Initial::zero});  // parts of the tile [i, j]
    Index rowTiles = ceilDiv(m, 64), tiles = rowTiles * ceilDiv(n, 64);
    [[maybe_unused]] auto [block] = k.grid(tiles * parts);
    Index number = take(started, {0}), tile = number % tiles, part = number / tiles;
    Index i = tile % rowTiles, j = tile / rowTiles;
    Shared a = k.shared("a", bf16, {64, 32}), b = k.shared("b", bf16, {32, 64});
    Fragment acc = k.fragment(f32, {64, 64}).named("acc"), sum = k.fragment(f32, {64, 64});
    k.loop({part, ceilDiv(depth, 32), parts}, [&](Index s) {
      copy(A.tile({i * 64, s * 32}, {64, 32}), a);
      copy(B.tile({s * 32, j * 64}, {32, 64}), b);
      gemm(a, b, acc);
    });
    waitFor(added, {i, j}, part); // until the parts before this one are in C
    copy(C.tile({i * 64, j * 64}, {64, 64}), sum);
    copy(sum + acc, C.tile({i * 64, j * 64}, {64, 64}));
    announce(added, {i, j});
  });
}
// [counts]

// [ordered]
/// C = A B in bf16: blocks add their parts of the sum to a workspace, which a second launch rounds.
Program roundedSums(int64_t parts) {
  return Program::trace("rounded_sums", [&](Scope &k) {
    Index m = k.dim("m"), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {depth, 64});
    Global C = k.output("C", bf16, {m, 64});
    Global sums = k.workspace("sums", f32, {m, 64}, {Initial::zero, TensorOrder::accumulator});
    k.launch("rounded_sums_add", [&] {
      auto [i, part] = k.grid(ceilDiv(m, 64), parts);
      Shared a = k.shared("a", bf16, {64, 32}), b = k.shared("b", bf16, {32, 64});
      Fragment acc = k.fragment(f32, {64, 64}).named("acc");
      k.loop({part, ceilDiv(depth, 32), parts}, [&](Index s) {
        copy(A.tile({i * 64, s * 32}, {64, 32}), a);
        copy(B.tile({s * 32, 0}, {32, 64}), b);
        gemm(a, b, acc);
      });
      atomicAdd(acc, sums.tile({i * 64, 0}, {64, 64}));
    });
    k.launch("rounded_sums_round", [&] {
      auto [i] = k.grid(ceilDiv(m, 64));
      Fragment sum = k.fragment(f32, {64, 64});
      copy(sums.tile({i * 64, 0}, {64, 64}), sum);
      copy(sum.to(bf16), C.tile({i * 64, 0}, {64, 64}));
    });
  });
}
// [ordered]

// [workspace]
/// Row sums in two launches: parts of rows into a workspace, then the sum of the parts.
Program rowSums() {
  constexpr int64_t parts = 4;
  return Program::trace("row_sums", [&](Scope &k) {
    Index rows = k.dim("rows"), columns = k.dim("columns");
    Global X = k.input("X", f32, {rows, columns}), Y = k.output("Y", f32, {rows});
    Global partial = k.workspace("partial", f32, {rows, parts});
    k.launch("row_sums_partial", [&] {
      auto [block, part] = k.grid(ceilDiv(rows, 16), parts);
      Fragment x = k.fragment(f32, {16, 64}), sum = k.fragment(f32, {16, 1});
      k.loop({part, ceilDiv(columns, 64), parts}, [&](Index j) {
        copy(X.tile({block * 16, j * 64}, {16, 64}), x);
        sum += rowSum(x);
      });
      copy(sum, partial.tile({block * 16, part}, {16, 1}));
    });
    k.launch("row_sums_combine", [&] {
      auto [block] = k.grid(ceilDiv(rows, 16));
      Fragment sums = k.fragment(f32, {16, parts});
      copy(partial.tile({block * 16, 0}, {16, parts}), sums);
      copy(rowSum(sums), Y.tile({block * 16}, {16}));
    });
  });
}
// [workspace]

// [roles]
/// C = A Bᵀ with one role that loads and one that multiplies.
Program rolesByHand() {
  return Program::trace("roles_by_hand", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}, {.alignment = 16});
    Global B = k.input("B", bf16, {n, depth}, {.alignment = 16});
    Global C = k.output("C", f32, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, 64), ceilDiv(n, 64));
    Index steps = ceilDiv(depth, 64);
    Shared a = k.shared("a", bf16, {64, 64}, {.slots = 3}), b = k.shared("b", bf16, {64, 64}, {.slots = 3});
    Channel ab = k.channel("ab", {.slots = 3});
    k.roles([&] {
      k.role("load", {.warps = 4}, [&] {
        k.loop(steps, [&](Index s) {
          ab.put([&](const Slot &at) { // once the slot is empty
            copy(A.tile({i * 64, s * 64}, {64, 64}), a.slot(at));
            copy(B.tile({j * 64, s * 64}, {64, 64}), b.slot(at));
          });
        });
      });
      k.role("math", {.warps = 4}, [&] {
        Fragment acc = k.fragment(f32, {64, 64}).named("acc");
        k.loop(steps, [&](Index) {
          Slot at = ab.get(); // once the slot is full
          gemmAsync(a.slot(at), b.slot(at).t(), acc);
          gemmWait(acc);
          ab.release(); // the slot may be filled again
        });
        copy(acc, C.tile({i * 64, j * 64}, {64, 64}));
      });
    });
  });
}
// [roles]

// [written-role]
/// C = A Bᵀ with a role that stores; the compiler makes those that load and multiply.
Program storesByRole() {
  return Program::trace("stores_by_role", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n", {.multipleOf = 8}), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {n, depth});
    Global C = k.output("C", bf16, {m, n});
    k.persistent({ceilDiv(m, 64), ceilDiv(n, 64)}, {}, [&](Index i, Index j) {
      Shared a = k.shared("a", bf16, {64, 64}), b = k.shared("b", bf16, {64, 64});
      Fragment acc = k.fragment(f32, {64, 64}).named("acc");
      k.pipelined(ceilDiv(depth, 64), {.stages = 3}, [&](Index s) {
        copy(A.tile({i * 64, s * 64}, {64, 64}), a);
        copy(B.tile({j * 64, s * 64}, {64, 64}), b);
        gemm(a, b.t(), acc);
      });
      k.role("store", {.warps = 4}, [&] { copy(acc.to(bf16), C.tile({i * 64, j * 64}, {64, 64})); });
    });
  });
}
// [written-role]

// [load-role]
/// Y = X / sqrt(mean(X²)), row by row, with a role that loads rows ahead.
Program normalisedRows() {
  return Program::trace("normalised_rows", [](Scope &k) {
    Index m = k.dim("m");
    Global X = k.input("X", bf16, {m, 512}), Y = k.output("Y", bf16, {m, 512});
    k.loadRole();
    auto [block] = k.grid(k.multiprocessors());
    Shared rows = k.shared("rows", bf16, {8, 512});
    k.pipelined({block, ceilDiv(m, 8), k.blocks()}, {.stages = 4}, [&](Index i) {
      copy(X.tile({i * 8, 0}, {8, 512}), rows);
      Fragment x = k.fragment(bf16, {8, 512});
      copy(rows, x);
      FragmentValue r = rsqrt(rowSum(x.to(f32) * x.to(f32)) / 512);
      copy((x.to(f32) * r).to(bf16), Y.tile({i * 8, 0}, {8, 512}));
    });
  });
}
// [load-role]

/// The sum over s of a(s) b(s).
double dot(int64_t extent, const std::function<double(int64_t)> &term) {
  double sum = 0;
  for (int64_t s = 0; s < extent; ++s)
    sum += term(s);
  return sum;
}

} // namespace

TEST_CASE("a fragment as left factor", "[docs]") {
  Run run(chained(), {{"rows", 70}, {"keys", 130}});
  const Array &q = run.before("Q"), &keys = run.before("K"), &v = run.before("V");
  checkMatrix(run.after("O"), 0.1, [&](int64_t i, int64_t j) {
    return dot(130, [&](int64_t t) {
      return std::max(0.0, dot(64, [&](int64_t d) { return q(i, d) * keys(t, d); })) * v(t, j);
    });
  });
}

TEST_CASE("attention in thirty lines", "[docs]") {
  constexpr int64_t heads = 2, rows = 150, depth = 64;
  Run run(attention(), {{"heads", heads}, {"rows", rows}});
  CHECK(run.remarks().empty()); // nothing keeps it from the TMA, roles and overlapping products
  const Array &q = run.before("Q"), &keys = run.before("K"), &v = run.before("V"), &o = run.after("O");
  auto place = [](int64_t head, int64_t row, int64_t d) { return (head * rows + row) * depth + d; };
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t row = 0; row < rows; ++row) {
      std::vector<double> weights;
      for (int64_t key = 0; key <= row; ++key)
        weights.push_back(std::exp(
            dot(depth, [&](int64_t d) { return q(place(head, row, d)) * keys(place(head, key, d)); }) / 8));
      double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
      for (int64_t d = 0; d < depth; ++d) {
        double expected =
            dot(row + 1, [&](int64_t key) { return weights[size_t(key)] * v(place(head, key, d)); }) / sum;
        INFO("head " << head << ", row " << row << ", column " << d);
        REQUIRE(std::abs(o(place(head, row, d)) - expected) <= 0.01 * (0.5 + std::abs(expected)));
      }
    }
}

TEST_CASE("the gradients of attention", "[docs]") {
  constexpr int64_t heads = 2, rows = 150, depth = 64;
  auto *sum = GENERATE(sumGradients, sumGradientsByRoles);
  Run run(attentionBackward(sum), {{"heads", heads}, {"rows", rows}});
  auto at = [](const Array &tensor) {
    return [&](int64_t head, int64_t row, int64_t d) { return tensor((head * rows + row) * depth + d); };
  };
  auto q = at(run.before("Q")), keys = at(run.before("K")), v = at(run.before("V")), o = at(run.before("O")),
       ofO = at(run.before("dO"));
  auto check = [&](const char *name, const std::vector<double> &expected) {
    const Array &actual = run.after(name);
    for (size_t i = 0; i < expected.size(); ++i) {
      INFO(name << ", element " << i);
      REQUIRE(std::abs(actual(int64_t(i)) - expected[i]) <= 0.05 * (1 + std::abs(expected[i])));
    }
  };
  std::vector<double> ofQueries(heads * rows * depth), ofKeys = ofQueries, ofValues = ofQueries;
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t row = 0; row < rows; ++row) {
      double delta = dot(depth, [&](int64_t d) { return o(head, row, d) * ofO(head, row, d); });
      for (int64_t key = 0; key <= row; ++key) {
        double score = dot(depth, [&](int64_t d) { return q(head, row, d) * keys(head, key, d); });
        double weight = std::exp2(score * std::numbers::log2e / 8 - run.before("L")(head * rows + row));
        double ofWeight = dot(depth, [&](int64_t d) { return v(head, key, d) * ofO(head, row, d); });
        double ofScore = weight * (ofWeight - delta) / 8;
        for (int64_t d = 0; d < depth; ++d) {
          auto place = [&](int64_t i) { return size_t((head * rows + i) * depth + d); };
          ofQueries[place(row)] += ofScore * keys(head, key, d);
          ofKeys[place(key)] += ofScore * q(head, row, d);
          ofValues[place(key)] += weight * ofO(head, row, d);
        }
      }
    }
  check("dQ", ofQueries);
  check("dK", ofKeys);
  check("dV", ofValues);
}

TEST_CASE("factors of 8 bits", "[docs]") {
  Run run(chainedBytes(), {{"rows", 70}, {"keys", 130}});
  const Array &q = run.before("Q"), &keys = run.before("K"), &v = run.before("V");
  // The left factor has 4 significant bits; results are around 12.
  checkMatrix(run.after("O"), 2, [&](int64_t i, int64_t j) {
    return dot(130, [&](int64_t t) {
      return std::max(0.0, dot(64, [&](int64_t d) { return q(i, d) * keys(t, d); })) * v(t, j);
    });
  });
}

TEST_CASE("factors of f32", "[docs]") {
  int64_t depth = GENERATE(0, 33, 200);
  Run run(ofFloats(), {{"m", 130}, {"n", 70}, {"k", depth}});
  const Array &a = run.before("A"), &b = run.before("B");
  checkMatrix(run.after("C"), 0.02,
              [&](int64_t i, int64_t j) { return dot(depth, [&](int64_t s) { return a(i, s) * b(j, s); }); });
}

TEST_CASE("a sparse left factor", "[docs]") {
  constexpr int64_t m = 130, n = 70;
  int64_t bytes = GENERATE(0, 5, 37);
  std::vector<int32_t> places;
  constexpr int pairs[] = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};
  for (int64_t i = 0; i < m * bytes; ++i)
    places.push_back(pairs[i % 6] | pairs[i / 6 % 6] << 4);
  Run run(sparseGemm(), {{"m", m}, {"n", n}, {"stored", 4 * bytes}, {"bytes", bytes}, {"depth", 8 * bytes}},
          {}, {{"E", places}});
  const Array &a = run.before("A"), &b = run.before("B"), &e = run.before("E");
  checkMatrix(run.after("C"), 0.01, [&](int64_t i, int64_t j) {
    return dot(4 * bytes, [&](int64_t s) {
      int64_t place = int64_t(e(i, s / 4)) >> s % 4 * 2 & 3;
      return a(i, s) * b(j, s / 2 * 4 + place);
    });
  });
}

TEST_CASE("products that are scaled, then added", "[docs]") {
  int64_t groups = GENERATE(0, 1, 3);
  Run run(scaledGemm(), {{"m", 66}, {"n", 70}, {"k", 128 * groups}, {"groups", groups}});
  const Array &a = run.before("A"), &b = run.before("B"), &ofA = run.before("ScaleA"),
              &ofB = run.before("ScaleB");
  checkMatrix(run.after("C"), 0.02, [&](int64_t i, int64_t j) {
    return dot(groups * 128,
               [&](int64_t s) { return a(i, s) * b(j, s) * ofA(i, s / 128) * ofB(j, s / 128); });
  });
}

TEST_CASE("factors that are integers, with scales", "[docs]") {
  int64_t depth = GENERATE(0, 33, 272);
  Run run(scaledIntegers(), {{"m", 130}, {"n", 70}, {"k", depth}});
  const Array &a = run.before("A"), &b = run.before("B");
  checkMatrix(run.after("C"), 0.004, [&](int64_t i, int64_t j) {
    return dot(depth, [&](int64_t s) { return a(i, s) * b(j, s); }) * run.before("ScaleA")(i) *
           run.before("ScaleB")(j);
  });
}

TEST_CASE("blocks that add to one result", "[docs]") {
  int64_t depth = GENERATE(0, 33, 200);
  Run run(atomicGemm(3), {{"m", 65}, {"n", 40}, {"k", depth}});
  const Array &a = run.before("A"), &b = run.before("B"), &c = run.before("C");
  checkMatrix(run.after("C"), 1e-5, [&](int64_t i, int64_t j) {
    return c(i, j) + dot(depth, [&](int64_t s) { return a(i, s) * b(s, j); });
  });
}

TEST_CASE("blocks whose tiles the TMA adds", "[docs]") {
  int64_t depth = GENERATE(0, 33, 200);
  Run run(addedTiles(3), {{"m", 65}, {"n", 40}, {"k", depth}});
  const Array &a = run.before("A"), &b = run.before("B"), &c = run.before("C");
  checkMatrix(run.after("C"), 1e-5, [&](int64_t i, int64_t j) {
    return c(i, j) + dot(depth, [&](int64_t s) { return a(i, s) * b(s, j); });
  });
}

TEST_CASE("blocks that add in order", "[docs]") {
  int64_t depth = GENERATE(0, 33, 200);
  Run run(orderedGemm(3), {{"m", 65}, {"n", 40}, {"k", depth}});
  const Array &a = run.before("A"), &b = run.before("B"), &c = run.before("C");
  checkMatrix(run.after("C"), 1e-5, [&](int64_t i, int64_t j) {
    return c(i, j) + dot(depth, [&](int64_t s) { return a(i, s) * b(s, j); });
  });
}

TEST_CASE("blocks that add to a workspace in the order of accumulators", "[docs]") {
  int64_t depth = GENERATE(0, 33, 200);
  Run run(roundedSums(3), {{"m", 70}, {"k", depth}});
  const Array &a = run.before("A"), &b = run.before("B");
  checkMatrix(run.after("C"), 0.1,
              [&](int64_t i, int64_t j) { return dot(depth, [&](int64_t s) { return a(i, s) * b(s, j); }); });
}

TEST_CASE("two launches and a workspace", "[docs]") {
  int64_t columns = GENERATE(0, 1, 1000);
  Run run(rowSums(), {{"rows", 20}, {"columns", columns}});
  checkVector(run.after("Y"), 1e-5,
              [&](int64_t i) { return dot(columns, [&](int64_t j) { return run.before("X")(i, j); }); });
}

TEST_CASE("roles by hand", "[docs]") {
  int64_t depth = GENERATE(0, 64, 456);
  Run run(rolesByHand(), {{"m", 100}, {"n", 72}, {"k", depth}});
  const Array &a = run.before("A"), &b = run.before("B");
  checkMatrix(run.after("C"), 1e-5,
              [&](int64_t i, int64_t j) { return dot(depth, [&](int64_t s) { return a(i, s) * b(j, s); }); });
}

TEST_CASE("a role by hand, the others by the compiler", "[docs]") {
  int64_t depth = GENERATE(0, 64, 456);
  Run run(storesByRole(), {{"m", 100}, {"n", 72}, {"k", depth}});
  const Array &a = run.before("A"), &b = run.before("B");
  checkMatrix(run.after("C"), 1e-2,
              [&](int64_t i, int64_t j) { return dot(depth, [&](int64_t s) { return a(i, s) * b(j, s); }); });
}

TEST_CASE("a role that loads rows for a norm", "[docs]") {
  Run run(normalisedRows(), {{"m", GENERATE(0, 1, 101)}});
  CHECK(run.remarks().empty()); // nothing keeps it from the TMA and the role
  const Array &x = run.before("X");
  checkMatrix(run.after("Y"), 1e-2, [&](int64_t i, int64_t j) {
    return x(i, j) / std::sqrt(dot(512, [&](int64_t s) { return x(i, s) * x(i, s); }) / 512);
  });
}
