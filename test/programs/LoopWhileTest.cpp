// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops that end with a condition: as often as it says, and no more often than their range.
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

/// How many rounds each block makes, where row b of Steps has numbers that are subtracted from Starts[b]
/// while that is positive.
struct Rounds {
  std::vector<double> counts, rest;
};
Rounds roundsOf(const std::vector<double> &starts, int64_t most, const CompileOptions &options = {}) {
  auto blocks = int64_t(starts.size());
  Artifact artifact = compiled(Program::trace("rounds",
                                              [&](Scope &k) {
                                                Global Starts = k.input("Starts", i32, {blocks});
                                                Global Count = k.output("Count", i32, {blocks});
                                                Global Rest = k.output("Rest", i32, {blocks, 65});
                                                auto [block] = k.grid(blocks);
                                                Shared at = k.shared("at", i32, {1});
                                                Fragment count = k.fragment(i32, {1}),
                                                         rest = k.fragment(i32, {1, 80});
                                                rest = rest + Starts.read({block}).to(i32);
                                                k.loopWhile(most, [&](Index i) -> Predicate {
                                                  rest -= (i + 1).to(i32);
                                                  count += 1;
                                                  copy(reduce(Reduction::max, rest, 1), at);
                                                  return at.read({0}) > 0;
                                                });
                                                copy(count, Count.tile({block}, {1}));
                                                copy(rest, Rest.tile({block, 0}, {1, 80}));
                                              }),
                               options);
  Memory start = Memory::filled(i32, {blocks}, 0), count = Memory::filled(i32, {blocks}, notANumber),
         rest = Memory::filled(i32, {blocks, 65}, notANumber);
  start.values = starts;
  run(artifact, {&start, &count, &rest});
  return {count.values, rest.values};
}

} // namespace

TEST_CASE("each block makes as many rounds as it needs", "[loop]") {
  const std::vector<double> starts = {0, 1, 2, 3, 4, 10, 11, 1000};
  Rounds rounds = roundsOf(starts, 7);
  CHECK(rounds.counts == std::vector<double>{1, 1, 2, 2, 3, 4, 5, 7});
  for (size_t block = 0; block < starts.size(); ++block)
    for (size_t i = 0; i < 65; ++i)
      CHECK(rounds.rest[block * 65 + i] ==
            starts[block] - rounds.counts[block] * (rounds.counts[block] + 1) / 2);
}

TEST_CASE("rounds that are left take no time", "[loop]") {
  CHECK(roundsOf({3, 10}, 1'000'000'000).counts == std::vector<double>{2, 4});
}

TEST_CASE("a loop of no rounds makes none", "[loop]") {
  Rounds rounds = roundsOf({5, -5}, 0);
  CHECK(rounds.counts == std::vector<double>{0, 0});
  CHECK(rounds.rest.front() == 5);
}

TEST_CASE("a condition that is known while tracing", "[loop]") {
  for (bool goesOn : {false, true}) {
    Artifact artifact = compiled(Program::trace("known", [&](Scope &k) {
      Global Y = k.output("Y", i32, {1});
      Fragment count = k.fragment(i32, {1});
      k.loopWhile({2, 9, 3}, [&](Index) -> Predicate {
        count += 1;
        return goesOn;
      });
      copy(count, Y.tile({0}, {1}));
    }));
    Memory y = Memory::filled(i32, {1}, notANumber);
    run(artifact, {&y});
    CHECK(y.values.front() == (goesOn ? 3 : 1));
  }
}

TEST_CASE("a list is followed to its end, for each of several lists", "[loop]") {
  // Next[i] is the element after i, -1 at the end; elements hold rows of X.
  constexpr int64_t elements = 19, lists = 3;
  Artifact artifact = compiled(Program::trace("follow", [&](Scope &k) {
    Global Next = k.input("Next", i32, {elements}), Heads = k.input("Heads", i32, {lists});
    Global X = k.input("X", f32, {elements, 37}), Y = k.output("Y", f32, {lists, 37});
    k.grid(1);
    Shared at = k.shared("at", i32, {1});
    k.loop(lists, [&](Index list) {
      Fragment sum = k.fragment(f32, {1, 40});
      at.write({0}, Heads.read({list}));
      k.loopWhile(elements, [&](Index) -> Predicate {
        Index element = at.read({0});
        Fragment x = k.fragment(f32, {1, 40});
        copy(X.tile({element, 0}, {1, 40}), x);
        sum += x;
        at.write({0}, Next.read({element}));
        return at.read({0}) >= 0;
      });
      copy(sum, Y.tile({list, 0}, {1, 40}));
    });
  }));
  Memory next = Memory::filled(i32, {elements}, -1), heads = Memory::filled(i32, {lists}, 0),
         x = Memory::filled(f32, {elements, 37}, 0), y = Memory::filled(f32, {lists, 37}, notANumber);
  for (int64_t i = 0; i + lists < elements; ++i)
    next.values[size_t(i)] = double(i + lists); // the lists are interleaved
  heads.values = {0, 1, 2};
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = double(i % 23);
  run(artifact, {&next, &heads, &x, &y});
  for (int64_t list = 0; list < lists; ++list)
    for (int64_t column = 0; column < 37; ++column) {
      double sum = 0;
      for (int64_t i = list; i < elements; i += lists)
        sum += x.at({i, column});
      CHECK(y.at({list, column}) == sum);
    }
}

TEST_CASE("products and pipelined loops stand in a loop that ends early", "[loop]") {
  // Powers of a matrix until its first element is large enough, each product along k in pipelined steps.
  Artifact artifact = compiled(Program::trace("powers", [&](Scope &k) {
    Global A = k.input("A", bf16, {64, 64}), C = k.output("C", f32, {64, 64});
    Global Rounds = k.output("Rounds", i32, {1});
    k.grid(1);
    Shared at = k.shared("at", i32, {1}), sum = k.shared("sum", bf16, {64, 64});
    Fragment total = k.fragment(f32, {64, 64}), rounds = k.fragment(i32, {1});
    k.loopWhile(20, [&](Index) -> Predicate {
      Fragment acc = k.fragment(f32, {64, 64});
      k.pipelined(4, {.stages = 2}, [&](Index s) {
        Shared a = k.shared("a", bf16, {64, 16}), b = k.shared("b", bf16, {16, 64});
        copy(A.tile({0, s * 16}, {64, 16}), a);
        copy(A.tile({s * 16, 0}, {16, 64}), b);
        gemm(a, b, acc);
      });
      total += acc;
      rounds += 1;
      copy(reduce(Reduction::max, rowMax(total), 0).to(i32), at);
      return at.read({0}) < 1000;
    });
    copy(total, C.tile({0, 0}, {64, 64}));
    copy(rounds, Rounds.tile({0}, {1}));
  }));
  Memory a = Memory::filled(bf16, {64, 64}, 2), c = Memory::filled(f32, {64, 64}, notANumber),
         rounds = Memory::filled(i32, {1}, notANumber);
  run(artifact, {&a, &c, &rounds});
  CHECK(rounds.values.front() == 4); // each adds 256
  CHECK(c.values == std::vector<double>(64 * 64, 1024));
}
