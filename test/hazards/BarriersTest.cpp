// SPDX-License-Identifier: Apache-2.0
/// \file
/// Barriers of the block: buffers that are written again, and who comes to a barrier.
#include "test/hazards/Hazard.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::hazards;
using mutate::Change;

namespace {
const std::set<FindingKind> races = {FindingKind::race, FindingKind::unwritten};
}

TEST_CASE("tl#2668: a pipelined loop fills a buffer that the iteration before still reads") {
  unsigned refill = 0, use = 0;
  const Subject subject(Program::trace("back_edge",
                                       [&](Scope &k) {
                                         Index rows = k.dim("rows");
                                         Global X = k.input("X", f32, {rows, 64}),
                                                Y = k.output("Y", f32, {64, 64});
                                         Shared tile = k.shared("tile", f32, {64, 64});
                                         Fragment sum = k.fragment(f32, {64, 64}),
                                                  x = k.fragment(f32, {64, 64});
                                         k.pipelined(ceilDiv(rows, 64), {.stages = 2}, [&](Index i) {
                                           refill = lineBelow();
                                           copy(X.tile({i * 64, 0}, {64, 64}), tile);
                                           use = lineBelow();
                                           copy(tile.t(), x);
                                           sum += x;
                                         });
                                         copy(sum, Y.tile({0, 0}, {64, 64}));
                                       }),
                        {{"rows", 200}});
  subject.checkClean();
  subject.checkMissed("bar.sync", Change::removed, {refill, use}, {refill, use}, races);
}

TEST_CASE("tl#2613: shared memory is refilled while products of other warpgroups read it") {
  unsigned refillA = 0, refillB = 0, product = 0;
  const Subject subject(Program::trace("without_pipeline",
                                       [&](Scope &k) {
                                         Index depth = k.dim("depth");
                                         Global A = k.input("A", bf16, {128, depth}),
                                                B = k.input("B", bf16, {64, depth});
                                         Global C = k.output("C", f32, {128, 64});
                                         Shared a = k.shared("a", bf16, {128, 64}),
                                                b = k.shared("b", bf16, {64, 64});
                                         Fragment acc = k.fragment(f32, {128, 64}).named("acc");
                                         k.warps(8);
                                         k.loop(ceilDiv(depth, 64), [&](Index s) {
                                           refillA = lineBelow();
                                           copy(A.tile({0, s * 64}, {128, 64}), a);
                                           refillB = lineBelow();
                                           copy(B.tile({0, s * 64}, {64, 64}), b);
                                           product = lineBelow();
                                           gemm(a, b.t(), acc);
                                         });
                                         copy(acc, C.tile({0, 0}, {128, 64}));
                                       }),
                        {{"depth", 200}});
  const Lines lines = {refillA, refillB, product};
  subject.checkClean();
  subject.checkMissed("wgmma.wait_group", Change::removed, lines, lines,
                      {FindingKind::race, FindingKind::proxyRace, FindingKind::productRegister});
  subject.checkMissed("bar.sync", Change::removed, lines, lines,
                      {FindingKind::race, FindingKind::proxyRace, FindingKind::unwritten});
}

TEST_CASE("tl#2612: roles meet in a loop, not before it") {
  unsigned write = 0, read = 0, meeting = 0;
  const auto program = [&](bool inside) {
    return Program::trace("meeting", [&, inside](Scope &k) {
      Index rows = k.dim("rows");
      Global X = k.input("X", f32, {rows, 64}), Y = k.output("Y", f32, {rows, 64});
      Shared tile = k.shared("tile", f32, {32, 64});
      NamedBarrier filled = k.namedBarrier(8), empty = k.namedBarrier(8);
      Index steps = ceilDiv(rows, 32);
      const auto at = [&](Index i) { return std::vector<Index>{i * 32, 0}; };
      k.roles([&] {
        k.role("write", {.warps = 4}, [&] {
          if (!inside)
            filled.sync();
          k.loop(steps, [&](Index i) {
            write = lineBelow();
            copy(X.tile(at(i), {32, 64}), tile);
            meeting = lineBelow();
            if (inside)
              filled.sync();
            empty.sync();
          });
        });
        k.role("read", {.warps = 4}, [&] {
          if (!inside)
            filled.sync();
          k.loop(steps, [&](Index i) {
            if (inside)
              filled.sync();
            Fragment x = k.fragment(f32, {32, 64});
            read = lineBelow();
            copy(tile, x);
            empty.sync();
            copy(x, Y.tile(at(i), {32, 64}));
          });
        });
      });
    });
  };
  Subject(program(true), {{"rows", 100}}).checkClean();
  const Findings found = Subject(program(false), {{"rows", 100}}).findings();
  INFO(found.text());
  CHECK(names(found, races, {write, read}));
}

TEST_CASE("tl#2698: what fills a buffer and what copies into it are ordered") {
  unsigned first = 0, second = 0, use = 0;
  const Subject subject(Program::trace("filled",
                                       [&](Scope &k) {
                                         Index rows = k.dim("rows");
                                         Global X = k.input("X", bf16, {rows, 64}),
                                                Y = k.output("Y", bf16, {rows, 64});
                                         Shared tile = k.shared("tile", bf16, {64, 64});
                                         Fragment x = k.fragment(bf16, {64, 64});
                                         k.loop(ceilDiv(rows, 64), [&](Index i) {
                                           first = lineBelow();
                                           fill(tile, 1);
                                           use = lineBelow();
                                           copy(tile.t(), x);
                                           second = lineBelow();
                                           copy(X.tile({i * 64, 0}, {64, 64}), tile);
                                           copy(x, Y.tile({i * 64, 0}, {64, 64}));
                                         });
                                       }),
                        {{"rows", 150}});
  subject.checkClean();
  subject.checkMissed("bar.sync", Change::removed, {second, use}, {first, second, use}, races);
}
