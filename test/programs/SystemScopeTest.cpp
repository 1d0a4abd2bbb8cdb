// SPDX-License-Identifier: Apache-2.0
/// \file
/// Atomic operations on symmetric tensors, which are at the scope of the system, also of one rank alone.
#include "compiler/codegen/PtxForms.h"
#include "compiler/dsl/Counts.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

bool hasForm(const Artifact &artifact, const std::string &form) {
  return formsOf(artifact.variants.front().ptx).contains(form);
}

/// Each of `times` blocks adds X to all of Y, a symmetric tensor.
Artifact additions(ElementType type, int64_t alignment, int64_t times) {
  return compiled(Program::trace("add", [&](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", type, {n});
    Symmetric Y = k.symmetric("Y", type, {n}, {.alignment = alignment});
    auto [block, again] = k.grid(ceilDiv(n, 512), times);
    Fragment x = k.fragment(type, {512});
    copy(X.tile({block * 512}, {512}), x);
    k.loop(k.ranks(), [&](Index rank) { atomicAdd(x, Y.of(rank).tile({block * 512}, {512})); });
  }));
}

} // namespace

TEST_CASE("blocks add to a symmetric tensor, in vectors where it is aligned", "[system-scope]") {
  struct Case {
    ElementType type;
    int64_t alignment;
    const char *form; ///< after what all have in common
  };
  const Case each = GENERATE(Case{f32, 16, "v4.f32 [], {}"}, Case{f32, 8, "v2.f32 [], {}"},
                             Case{f32, 4, "f32 [], r"}, Case{f64, 8, "f64 [], r"}, Case{i32, 4, "u32 [], r"});
  constexpr int64_t times = 5;
  Artifact artifact = additions(each.type, each.alignment, times);
  CHECK(hasForm(artifact, std::string("red.relaxed.sys.global.add.") + each.form));
  // The vectors of all tiles are whole, or those of the last one lie across the end.
  for (int64_t n : {1200, 1201}) {
    INFO(each.form << ", " << n << " elements");
    Memory x = Memory::filled(each.type, {n}, 0), y = Memory::filled(each.type, {n}, 100);
    for (int64_t i = 0; i < n; ++i)
      x.at({i}) = double(i % 1000 - 300);
    run(artifact, {&x, &y});
    for (int64_t i = 0; i < n; ++i)
      CHECK(y.at({i}) == double(100 + times * (i % 1000 - 300)));
  }
}

TEST_CASE("blocks take numbers from a count in a symmetric tensor", "[system-scope]") {
  constexpr int64_t blocks = 40;
  Artifact artifact = compiled(Program::trace("numbers", [](Scope &k) {
    Global Y = k.inout("Y", i32, {100});
    Symmetric taken = k.symmetric("taken", i32, {1}, {.use = TensorUse::workspace, .initial = Initial::zero});
    [[maybe_unused]] auto [block] = k.grid(blocks);
    atomicAdd(Scalar(1), Y.tile({take(taken.of(k.rank()), {0})}, {1}));
  }));
  CHECK(hasForm(artifact, "atom.acq_rel.sys.global.add.u32 r, [], r"));
  Memory y = Memory::filled(i32, {100}, 0), count = Memory::filled(i32, {1}, 0);
  run(artifact, {&y, &count});
  for (int64_t number = 0; number < 100; ++number)
    CHECK(y.at({number}) == (number < blocks ? 1 : 0));
}
