// SPDX-License-Identifier: Apache-2.0
/// \file
/// Threads, copies and matrix products on the same memory.
#include "kernels/library/Compile.h"
#include "test/hazards/Hazard.h"
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <regex>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::hazards;
using Catch::Matchers::Contains;
using mutate::Change;

namespace {

/// C = A Bᵀ in one block with roles by hand; what is varied is wrong but for the defaults.
struct Variation {
  int64_t warpgroups = 1;     ///< that multiply
  int64_t pending = 0;        ///< products that may be in flight when a slot is released
  bool releasesBefore = true; ///< that is the slot of the product before, if one may be in flight
};
struct ProductLines {
  unsigned loadA = 0, loadB = 0, product = 0, wait = 0, release = 0;
  Lines all() const { return {loadA, loadB, product, release}; }
};

Program product(const Variation &options, ProductLines &at) {
  return Program::trace("product", [&](Scope &k) {
    const int64_t rows = 64 * options.warpgroups, slots = 2;
    Index depth = k.dim("depth"), steps = ceilDiv(depth, 64);
    Global A = k.input("A", bf16, {rows, depth}, {.alignment = 16});
    Global B = k.input("B", bf16, {64, depth}, {.alignment = 16});
    Global C = k.output("C", f32, {rows, 64});
    Shared a = k.shared("a", bf16, {rows, 64}, {.slots = slots});
    Shared b = k.shared("b", bf16, {64, 64}, {.slots = slots});
    Channel ab = k.channel("ab", {.slots = slots});
    k.roles([&] {
      k.role("load", {.warps = 4}, [&] {
        k.loop(steps, [&](Index s) {
          ab.put([&](const Slot &slot) {
            at.loadA = lineBelow();
            copy(A.tile({0, s * 64}, {rows, 64}), a.slot(slot));
            at.loadB = lineBelow();
            copy(B.tile({0, s * 64}, {64, 64}), b.slot(slot));
          });
        });
      });
      k.role("math", {.warps = 4 * options.warpgroups}, [&] {
        Fragment acc = k.fragment(f32, {rows, 64}).named("acc");
        k.loop(steps, [&](Index s) {
          Slot slot = ab.get();
          at.product = lineBelow();
          gemmAsync(a.slot(slot), b.slot(slot).t(), acc);
          at.wait = lineBelow();
          gemmWait(acc, options.pending);
          const auto release = [&] {
            at.release = lineBelow();
            ab.release();
          };
          if (options.pending > 0 && options.releasesBefore)
            k.when(s > 0, release);
          else
            release();
        });
        gemmWait(acc);
        copy(acc, C.tile({0, 0}, {rows, 64}));
      });
    });
  });
}

const Values longEnough = {{"depth", 520}};

} // namespace

TEST_CASE("tl#2634: what threads wrote is fenced before a product reads it") {
  unsigned writeA = 0, writeB = 0, multiply = 0;
  const Subject subject(
      Program::trace("stored",
                     [&](Scope &k) {
                       Index depth = k.dim("depth");
                       Global A = k.input("A", f32, {64, depth}), B = k.input("B", f32, {64, depth});
                       Global C = k.output("C", f32, {64, 64});
                       Shared a = k.shared("a", bf16, {64, 64}), b = k.shared("b", bf16, {64, 64});
                       Fragment x = k.fragment(f32, {64, 64}), acc = k.fragment(f32, {64, 64});
                       k.loop(ceilDiv(depth, 64), [&](Index s) {
                         copy(A.tile({0, s * 64}, {64, 64}), x);
                         writeA = lineBelow();
                         copy(x.to(bf16), a);
                         copy(B.tile({0, s * 64}, {64, 64}), x);
                         writeB = lineBelow();
                         copy(x.to(bf16), b);
                         multiply = lineBelow();
                         gemm(a, b.t(), acc);
                       });
                       copy(acc, C.tile({0, 0}, {64, 64}));
                     }),
      longEnough);
  subject.checkClean();
  subject.checkMissed("fence.proxy.async", Change::removed, {writeA, writeB, multiply},
                      {writeA, writeB, multiply}, {FindingKind::proxyRace});
}

TEST_CASE("tri#7278: a slot is read before a copy overwrites it, which takes a fence") {
  unsigned load = 0, wait = 0, use = 0, release = 0;
  // `early`: a role releases the slot that another one still reads.
  const auto program = [&](bool early) {
    return Program::trace("overwritten", [&, early](Scope &k) {
      Index rows = k.dim("rows"), steps = ceilDiv(rows, 32);
      Global X = k.input("X", f32, {rows, 32}, {.alignment = 16}), Y = k.output("Y", f32, {rows, 32});
      Shared tile = k.shared("tile", f32, {32, 32}, {.slots = 1});
      Channel tiles = k.channel("tiles", {.slots = 1});
      k.roles([&] {
        k.role("load", {.warps = 4}, [&] {
          k.loop(steps, [&](Index i) {
            tiles.put([&](const Slot &at) {
              load = lineBelow();
              copy(X.tile({i * 32, 0}, {32, 32}), tile.slot(at));
            });
          });
        });
        k.role("use", {.warps = 4}, [&] {
          k.loop(steps, [&](Index i) {
            Fragment x = k.fragment(f32, {32, 32});
            wait = lineBelow();
            Slot at = tiles.get();
            use = lineBelow();
            copy(tile.slot(at), x);
            if (!early) {
              release = lineBelow();
              tiles.release();
            }
            copy(x, Y.tile({i * 32, 0}, {32, 32}));
          });
        });
        if (early)
          k.role("release", {.warps = 4}, [&] {
            k.loop(steps, [&](Index) {
              tiles.get();
              tiles.release();
            });
          });
      });
    });
  };
  const Subject subject(program(false), {{"rows", 150}});
  subject.checkClean();
  subject.checkMissed("fence.proxy.async", Change::removed, {release}, {load, use}, {FindingKind::proxyRace});
  const Findings found = Subject(program(true), {{"rows", 150}}).findings();
  INFO(found.text());
  CHECK(names(found, {FindingKind::race, FindingKind::proxyRace}, {load, use}));
}

TEST_CASE("tri#11047: a warpgroup waits for its own products, not for the others'") {
  ProductLines at;
  const Subject subject(product({.warpgroups = 2}, at), longEnough);
  subject.checkClean();
  // As if a slot were empty once one of them is done with it: all barriers expect what the first one does,
  // which the TMA's bytes make full.
  const std::regex count(R"((mbarrier\.init\.shared\.b64\s+\[[^\]]*\], )(%r\d+);)");
  std::smatch first;
  REQUIRE(std::regex_search(subject.ptx(), first, count));
  const std::string oneArrives = std::regex_replace(subject.ptx(), count, "$1" + first[2].str() + ";");
  REQUIRE(oneArrives != subject.ptx());
  const Findings found = subject.findingsOf(oneArrives);
  INFO(found.text());
  CHECK(names(found, {FindingKind::race}, at.all()));
}

TEST_CASE("fbt#1278: a slot lives until the wait that covers its product") {
  ProductLines at;
  const Subject subject(product({.pending = 1, .releasesBefore = true}, at), longEnough);
  subject.checkClean();
  subject.checkMissed("wgmma.wait_group", Change::removed, {at.wait}, at.all(), {FindingKind::race});
  const Result<Artifact> refused = compile(product({.pending = 1, .releasesBefore = false}, at));
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message,
             Contains(fmt::format("ProxiesTest.cpp:{}:", at.release)) &&
                 Contains("expected gemmWait before the slot of 'a' is released because a product in flight "
                          "reads it"));
}
