// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors without elements: all of their boxes lie outside, so that loads give 0 and stores go nowhere, by
/// the TMA as well.
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

TEST_CASE("a product over an empty axis is 0", "[empty-tensors]") {
  Artifact artifact = compiled(Program::trace("empty_axis", [&](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("depth", {.multipleOf = 8});
    Global A = k.input("A", bf16, {m, depth}, {.alignment = 16}),
           B = k.input("B", bf16, {n, depth}, {.alignment = 16}), C = k.output("C", f32, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, 64), ceilDiv(n, 64));
    Shared a = k.shared("a", bf16, {64, 64}), b = k.shared("b", bf16, {64, 64});
    Fragment sum = k.fragment(f32, {64, 64});
    k.pipelined(max(ceilDiv(depth, 64), 1), {.stages = 2}, [&](Index s) {
      copy(A.tile({i * 64, s * 64}, {64, 64}), a);
      copy(B.tile({j * 64, s * 64}, {64, 64}), b);
      gemm(a, b.t(), sum);
    });
    copy(sum, C.tile({i * 64, j * 64}, {64, 64}));
  }));
  REQUIRE(artifact.variants.front().ptx.find("cp.async.bulk.tensor.2d.shared") != std::string::npos);
  Memory a = Memory::filled(bf16, {65, 0}, 0), b = Memory::filled(bf16, {7, 0}, 0),
         c = Memory::filled(f32, {65, 7}, notANumber);
  run(artifact, {&a, &b, &c});
  CHECK(std::ranges::count(c.values, 0) == 65 * 7);
}

TEST_CASE("nothing is stored to an empty tensor, nor read from there", "[empty-tensors]") {
  Artifact artifact = compiled(Program::trace("empty_rows", [&](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", bf16, {128, 128}, {.alignment = 16}),
           Nothing = k.input("Nothing", bf16, {n, 128}, {.alignment = 16}),
           Y = k.output("Y", bf16, {n, 128}, {.alignment = 16}),
           Z = k.output("Z", bf16, {128, 128}, {.alignment = 16});
    auto [i] = k.grid(2);
    Shared x = k.shared("x", bf16, {128, 64}), nothing = k.shared("nothing", bf16, {128, 64});
    Fragment product = k.fragment(f32, {128, 128}), square = k.fragment(f32, {128, 128});
    k.pipelined(2, {.stages = 2}, [&](Index s) {
      copy(X.tile({0, s * 64}, {128, 64}), x);
      copy(Nothing.tile({i * 128, s * 64}, {128, 64}), nothing);
      gemm(x, nothing.t(), product);
      gemm(x, x.t(), square);
    });
    copy(square.to(bf16), Y.tile({i * 128, 0}, {128, 128}));
    k.when(i == 0, [&] { copy(product.to(bf16), Z.tile({0, 0}, {128, 128})); });
  }));
  REQUIRE(artifact.variants.front().ptx.find("cp.async.bulk.tensor.2d.global") != std::string::npos);
  Memory x = Memory::filled(bf16, {128, 128}, 1), none = Memory::filled(bf16, {0, 128}, 0), y = none,
         z = Memory::filled(bf16, {128, 128}, notANumber);
  run(artifact, {&x, &none, &y, &z});
  CHECK(std::ranges::count(z.values, 0) == 128 * 128);
}
