// SPDX-License-Identifier: Apache-2.0
/// \file
/// A product whose copies run ahead, of factors of any two types.
#pragma once

#include "compiler/dsl/dsl.h"

#include <vector>

namespace tlc::test {

struct Factors {
  ElementType a, b;
};

/// C += A Bᵀ by tiles of bm x bn, with C in `sums`.
inline dsl::Program pipelinedProduct(Factors factors, ElementType sums, int64_t bm, int64_t bn, int64_t bk,
                                     const std::vector<dsl::Requirement> &required) {
  using namespace dsl;
  return Program::trace("pipelined", [&](Scope &k) {
    for (Requirement what : required)
      k.require(what);
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", factors.a, {m, depth}), B = k.input("B", factors.b, {n, depth});
    Global C = k.inout("C", sums, {m, n});
    k.persistent({ceilDiv(m, bm), ceilDiv(n, bn)}, {}, [&](Index i, Index j) {
      Shared a = k.shared("a", factors.a, {bm, bk}), b = k.shared("b", factors.b, {bn, bk});
      Fragment acc = k.fragment(sums, {bm, bn});
      copy(C.tile({i * bm, j * bn}, {bm, bn}), acc);
      k.pipelined(ceilDiv(depth, bk), {.stages = 2}, [&](Index s) {
        copy(A.tile({i * bm, s * bk}, {bm, bk}), a);
        copy(B.tile({j * bn, s * bk}, {bn, bk}), b);
        gemm(a, b.t(), acc);
      });
      copy(acc, C.tile({i * bm, j * bn}, {bm, bn}));
    });
  });
}

} // namespace tlc::test
