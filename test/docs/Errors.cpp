// SPDX-License-Identifier: Apache-2.0
/// \file
/// Mistakes, and word for word what is said about them (errors.txt).
#include "test/docs/Run.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <regex>
#include <sstream>

using namespace tlc;
using namespace tlc::docs;
using namespace tlc::dsl;

namespace {

/// The text between the lines `# [name]` of errors.txt.
std::string expectedText(const std::string &name) {
  std::ifstream file(TLC_SOURCE_DIR "/test/docs/errors.txt");
  std::string line, marker = "# [" + name + "]", text;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line == marker)
      inside = !inside;
    else if (inside)
      text += line + "\n";
  }
  return text;
}

/// The text without what differs from run to run (addresses) or with every change of the lowering (lines of
/// PTX).
std::string withoutNumbersOf(const std::string &text) {
  return std::regex_replace(std::regex_replace(text, std::regex("0x[0-9a-f]+"), "0x..."),
                            std::regex("PTX line [0-9]+"), "PTX line ...");
}

Program wrongExtents() {
  return Program::trace("wrong_extents", [](Scope &k) {
    // [wrong-extents]
    Shared a = k.shared("a", bf16, {128, 64}), b = k.shared("b", bf16, {256, 64});
    Fragment acc = k.fragment(f32, {128, 256}).named("acc");
    gemm(a, b, acc);
    acc = k.fragment(f32, {128, 128});
    // [wrong-extents]
  });
}

Program wrongTypes() {
  return Program::trace("wrong_types", [](Scope &k) {
    // [wrong-types]
    Index n = k.dim("n");
    Global X = k.input("X", bf16, {n, 64}), Y = k.output("Y", f32, {n, 64});
    Fragment x = k.fragment(bf16, {16, 64}).named("x"), sum = k.fragment(f32, {16, 1}).named("sum");
    copy(X.tile({0, 0}, {16, 64}), x);
    copy(x + sum, Y.tile({0, 0}, {16, 64}));
    copy(sum, Y.tile({0}, {16, 1}));
    // [wrong-types]
  });
}

Program endedBody() {
  return Program::trace("ended_body", [](Scope &k) {
    // [ended-body]
    Index n = k.dim("n"), last;
    k.loop(n, [&](Index i) { last = i; });
    Fragment x = k.fragment(f32, {16});
    copy(x, k.output("X", f32, {n}).tile({last}, {16}));
    // [ended-body]
  });
}

Program tooMuchShared() {
  return Program::trace("too_much_shared", [](Scope &k) {
    // [too-much-shared]
    Index n = k.dim("n");
    Global X = k.inout("X", f32, {n, 256});
    Shared a = k.shared("a", f32, {128, 256}), b = k.shared("b", f32, {128, 256});
    copy(X.tile({0, 0}, {128, 256}), a);
    copy(X.tile({128, 0}, {128, 256}), b);
    copy(a, X.tile({128, 0}, {128, 256}));
    copy(b, X.tile({0, 0}, {128, 256}));
    // [too-much-shared]
  });
}

Program required() {
  return Program::trace("required", [](Scope &k) {
    // [required]
    Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k");
    Global A = k.input("A", bf16, {m, depth}), B = k.input("B", bf16, {n, depth});
    Global C = k.output("C", f32, {m, n});
    k.require(Requirement::wgmma);
    auto [i, j] = k.grid(ceilDiv(m, 48), ceilDiv(n, 64));
    Shared a = k.shared("a", bf16, {48, 64}), b = k.shared("b", bf16, {64, 64});
    Fragment acc = k.fragment(f32, {48, 64}).named("acc");
    k.pipelined(ceilDiv(depth, 64), {.stages = 3}, [&](Index s) {
      copy(A.tile({i * 48, s * 64}, {48, 64}), a);
      copy(B.tile({j * 64, s * 64}, {64, 64}), b);
      gemm(a, b.t(), acc);
    });
    copy(acc, C.tile({i * 48, j * 64}, {48, 64}));
    // [required]
  });
}

Program outOfBounds() {
  return Program::trace("out_of_bounds", [](Scope &k) {
    // [out-of-bounds]
    Index n = k.dim("n");
    Global X = k.inout("X", f32, {n});
    Fragment x = k.fragment(f32, {128});
    copy(X.tile({n + 1000}, {128}).unchecked("wrongly"), x);
    copy(x, X.tile({0}, {128}));
    // [out-of-bounds]
  });
}

Program deadlock() {
  return Program::trace("stuck", [](Scope &k) {
    // [deadlock]
    Index n = k.dim("n");
    Global X = k.input("X", f32, {n, 64}, {.alignment = 16}), Y = k.output("Y", f32, {n, 64});
    Shared tile = k.shared("tile", f32, {32, 64}, {.slots = 2});
    Channel loaded = k.channel("tiles", {.slots = 2});
    k.roles([&] {
      k.role("load", {.warps = 4}, [&] {
        k.loop(ceilDiv(n, 32), [&](Index i) {
          loaded.put([&](const Slot &at) { copy(X.tile({i * 32, 0}, {32, 64}), tile.slot(at)); });
        });
      });
      k.role("store", {.warps = 4}, [&] {
        k.loop(n / 32 + 1, [&](Index i) { // one too many if n is a multiple of 32
          Slot at = loaded.get();
          Fragment x = k.fragment(f32, {32, 64});
          copy(tile.slot(at), x);
          loaded.release();
          copy(x, Y.tile({i * 32, 0}, {32, 64}));
        });
      });
    });
    // [deadlock]
  });
}

Program doubled() {
  return Program::trace("doubled", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n", {.multipleOf = 8});
    Global X = k.input("X", f32, {m, n}), Y = k.output("Y", f32, {m, n});
    auto [block] = k.grid(ceilDiv(m, 16));
    Fragment x = k.fragment(f32, {16, 8});
    k.loop(n / 8, [&](Index j) {
      copy(X.tile({block * 16, j * 8}, {16, 8}), x);
      copy(x * 2, Y.tile({block * 16, j * 8}, {16, 8}));
    });
  });
}

Program reported() {
  return Program::trace("reported", [](Scope &k) {
    // [reports]
    Index n = k.dim("n");
    Global X = k.output("X", i32, {n, 16});
    auto [block] = k.grid(ceilDiv(n, 16));
    FragmentValue row = k.positions({16, 16}, 0) + (block * 16).to(i32);
    FragmentValue x = row * k.positions({16, 16}, 1);
    k.print("block {} of {}", block, k.blocks());
    k.check(n % 16 == 0, "expected whole tiles, but got {} rows", n);
    k.check(x <= 450, "expected at most 450, but got {} in row {}", x, row);
    copy(x, X.tile({block * 16, 0}, {16, 16}));
    // [reports]
  });
}

Program transposedFragment() {
  return Program::trace("transposed_fragment", [](Scope &k) {
    // [transposed-fragment]
    Shared a = k.shared("a", bf16, {64, 128}), b = k.shared("b", bf16, {64, 128});
    Fragment s = k.fragment(f32, {64, 64}).named("s"), p = k.fragment(bf16, {64, 64}).named("p");
    gemm(a, b.t(), s);
    p = max(s, 0).to(bf16);
    Fragment acc = k.fragment(f32, {64, 128});
    gemm(p.t(), b, acc);
    // [transposed-fragment]
  });
}

} // namespace

TEST_CASE("what a program prints and checks is told with its line", "[docs]") {
  CHECK(launchErrors(reported(), {{"n", 32}}) == expectedText("reports"));
}

TEST_CASE("mistakes are located and say the way out", "[docs]") {
  CHECK(compileErrors(wrongExtents()) == expectedText("wrong-extents"));
  CHECK(compileErrors(wrongTypes()) == expectedText("wrong-types"));
  CHECK(compileErrors(transposedFragment()) == expectedText("transposed-fragment"));
  CHECK(compileErrors(endedBody()) == expectedText("ended-body"));
  CHECK(compileErrors(tooMuchShared()) == expectedText("too-much-shared"));
  CHECK(compileErrors(required()) == expectedText("required"));
}

TEST_CASE("the emulator names the line of what misbehaves", "[docs]") {
  CHECK(withoutNumbersOf(launchErrors(outOfBounds(), {{"n", 512}})) == expectedText("out-of-bounds"));
  CHECK(withoutNumbersOf(launchErrors(deadlock(), {{"n", 128}})) == expectedText("deadlock"));
}

TEST_CASE("a launch is refused with the name of the argument, its value and the limit", "[docs]") {
  std::vector<float> x(1024), y(1024);
  auto refusal = [&](TensorView X, TensorView Y) { return argumentErrors(doubled(), {{X, Y}, {}}); };
  TensorView right{x.data(), f32, {32, 32}, {32, 1}}, out{y.data(), f32, {32, 32}, {32, 1}};
  CHECK(refusal(right, out) == "");
  CHECK(refusal(right, {y.data(), f32, {16, 32}, {32, 1}}) +
            refusal({x.data(), f32, {32, 20}, {32, 1}}, out) +
            refusal({x.data(), f16, {32, 32}, {32, 1}}, out) +
            refusal(right, {y.data(), f32, {32, 32}, {16, 1}}) +
            refusal(right, {nullptr, f32, {32, 32}, {32, 1}}) ==
        expectedText("arguments"));
}
