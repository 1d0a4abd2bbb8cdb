// SPDX-License-Identifier: Apache-2.0
/// \file
/// Roles that meet at channels and barriers.
#include "test/unit/evaluator/Evaluated.h"

using namespace tlc;
using namespace tlc::evaluator;
using namespace tlc::dsl;

using Numbers = std::vector<double>;

namespace {
/// Doubles tiles of X by way of a channel. With tiles `tooMany` the role that gets them waits for ever.
void doubled(Scope &k, int64_t tooMany) {
  Index n = k.dim("n");
  Global X = k.input("X", f32, {n, 4}), Y = k.output("Y", f32, {n, 4});
  Shared tile = k.shared("tile", f32, {1, 4}, {.slots = 2});
  Channel handed = k.channel("handed", {.slots = 2});
  k.roles([&] {
    k.role("load", {.warps = 1}, [&] {
      k.loop(n, [&](Index i) {
        handed.put([&](const Slot &at) { copy(X.tile({i, 0}, {1, 4}), tile.slot(at)); });
      });
    });
    k.role("math", {.warps = 8}, [&] {
      k.loop(n + tooMany, [&](Index i) {
        Fragment x = k.fragment(f32, {1, 4});
        Slot at = handed.get();
        copy(tile.slot(at), x);
        handed.release();
        copy(x * 2, Y.tile({i, 0}, {1, 4}));
      });
    });
  });
}
} // namespace

TEST_CASE("a channel hands tiles from role to role", "[evaluator][unit]") {
  Tensor y =
      run({{given(f32, {5, 4}, counting(20)), unwritten(f32, {5, 4})}, {}}, [](Scope &k) { doubled(k, 0); });
  Numbers expected = counting(20);
  for (double &number : expected)
    number *= 2;
  CHECK(exactValues(y) == expected);
}

TEST_CASE("roles that wait for each other are a located error", "[evaluator][unit]") {
  CHECK(errorOf({{given(f32, {5, 4}, counting(20)), unwritten(f32, {5, 4})}, {}}, [](Scope &k) {
          doubled(k, 1);
        }) == "role 'math' waits here for ever: every role and block of its cluster has ended or waits");
}

TEST_CASE("what is put with ordinary stores arrives, positions too", "[evaluator][unit]") {
  Tensor y = run({{unwritten(i32, {3})}, {}}, [](Scope &k) {
    Index n = k.dim("n");
    Global Y = k.output("Y", i32, {n});
    Shared next = k.shared("next", i32, {1}, {.slots = 1});
    Channel handed = k.channel("handed", {.slots = 1});
    k.roles([&] {
      k.role("take", {.warps = 4}, [&] { // first, so that it has to wait
        k.loop(n, [&](Index) {
          Slot at = handed.get();
          Index i = next.slot(at).read({0});
          handed.release();
          copy(k.fragment(i32, {1}) + (i * 10).to(i32), Y.tile({i}, {1}));
        });
      });
      k.role("give", {.warps = 1}, [&] {
        k.loop(n, [&](Index i) { handed.put([&](const Slot &at) { next.slot(at).write({0}, n - 1 - i); }); });
      });
    });
  });
  CHECK(exactValues(y) == Numbers{0, 10, 20});
}

TEST_CASE("a role holds several slots, and the oldest is released first", "[evaluator][unit]") {
  // Y[i] = X[i] - X[i - 1]; one role holds a slot and the next one, another only looks at what that releases.
  Tensor y = run({{given(f32, {6}, {1, 2, 4, 8, 16, 32}), unwritten(f32, {2, 5})}, {}}, [](Scope &k) {
    Global X = k.input("X", f32, {6}), Y = k.output("Y", f32, {2, 5});
    Shared number = k.shared("number", f32, {1}, {.slots = 2});
    Channel numbers = k.channel("numbers", {.slots = 2}), seen = k.channel("seen", {.slots = 2});
    auto read = [&](const Slot &at) {
      Fragment x = k.fragment(f32, {1});
      copy(number.slot(at), x);
      return x;
    };
    k.roles([&] {
      k.role("load", {.warps = 4}, [&] {
        k.loop(6, [&](Index i) {
          numbers.put([&](const Slot &at) { copy(X.tile({i}, {1}), number.slot(at)); });
        });
      });
      k.role("subtract", {.warps = 4}, [&] {
        numbers.get();
        k.loop(5, [&](Index i) {
          Fragment before = read(numbers.oldest()), now = read(numbers.get());
          copy(now - before, Y.tile({0, i}, {1, 1}));
          seen.get(); // the other role has read the oldest slot, too
          seen.release();
          numbers.release();
        });
        numbers.release();
      });
      k.role("look", {.warps = 4}, [&] {
        numbers.get();
        k.loop(5, [&](Index i) {
          Fragment before = read(numbers.oldest()), now = read(numbers.get());
          copy(before - now, Y.tile({1, i}, {1, 1}));
          numbers.pass();
          seen.put();
        });
      });
    });
  });
  CHECK(exactValues(y) == Numbers{1, 2, 4, 8, 16, -1, -2, -4, -8, -16});
}

TEST_CASE("barriers order roles", "[evaluator][unit]") {
  auto program = [](bool named) {
    return [named](Scope &k) {
      Global Y = k.output("Y", f32, {2});
      Shared a = k.shared("a", f32, {2});
      Barrier barrier = k.barrier("b", 64);
      NamedBarrier meeting = k.namedBarrier(6);
      k.roles([&] {
        k.role("reader", {.warps = 4}, [&] {
          Fragment x = k.fragment(f32, {2});
          if (named)
            meeting.sync();
          else
            barrier.wait(1);
          copy(a, x);
          k.inTurn([&] { x = x + 1; });
          copy(x, Y.tile({0}, {2}));
        });
        k.role("writer", {.warps = 2}, [&] {
          fill(a, 6);
          if (named) {
            meeting.arrive();
          } else {
            barrier.arrive();
            barrier.arrive();
          }
        });
      });
    };
  };
  Arguments arguments{{unwritten(f32, {2})}, {}};
  CHECK(exactValues(run(arguments, program(true))) == Numbers{7, 7});
  CHECK(exactValues(run(arguments, program(false))) == Numbers{7, 7});
}

TEST_CASE("multicast fills the slot of every block with what each of them loads in part",
          "[evaluator][unit]") {
  Tensor y = run({{given(f32, {3, 4, 2}, counting(24)), unwritten(f32, {2, 3, 8})}, {}}, [](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", f32, {n, 4, 2}), Y = k.output("Y", f32, {2, n, 8});
    k.cluster(2);
    k.grid(2);
    Index rank = k.blockRank();
    Shared tile = k.shared("tile", f32, {4, 2}, {.slots = 1});
    Channel handed = k.channel("handed", {.slots = 1, .multicast = true}); // those of both blocks
    k.roles([&] {
      k.role("load", {.warps = 1}, [&] {
        k.loop(n, [&](Index i) {
          handed.put([&](const Slot &at) { copy(X.tile({i, 0, 0}, {1, 4, 2}), tile.slot(at)); });
        });
      });
      k.role("math", {.warps = 4}, [&] {
        k.loop(n, [&](Index i) {
          Fragment x = k.fragment(f32, {4, 2});
          Slot at = handed.get();
          copy(tile.slot(at), x);
          handed.release();
          for (int64_t row = 0; row < 4; ++row)
            copy(reduce(Reduction::sum,
                        where([&](Index r, Index) { return r == row; }, x + rank.to(f32) * 100, 0), 0),
                 Y.tile({rank, i, row * 2}, {1, 1, 2}));
        });
      });
    });
  });
  Numbers expected = counting(24);
  for (double number : counting(24))
    expected.push_back(number + 100);
  CHECK(exactValues(y) == expected);
}

TEST_CASE("products that are started are there when they are waited for", "[evaluator][unit]") {
  Tensor y = run({{unwritten(f32, {64, 16})}, {}}, [](Scope &k) {
    Global Y = k.output("Y", f32, {64, 16});
    Shared a = k.shared("a", bf16, {64, 16}), b = k.shared("b", bf16, {16, 16});
    fill(a, 2);
    fill(b, 3);
    Fragment acc = k.fragment(f32, {64, 16}, 1);
    gemmAsync(a, b, acc);
    gemmAsync(a, b, acc);
    gemmWait(acc);
    copy(acc, Y.tile({0, 0}, {64, 16}));
  });
  CHECK(exactValues(y) == Numbers(64 * 16, 193));
}

TEST_CASE("roles may have nothing to do", "[evaluator][unit]") {
  Tensor y = run({{unwritten(f32, {1})}, {}}, [](Scope &k) {
    k.output("Y", f32, {1});
    k.roles([&] {
      k.role("idle", {.warps = 4}, [] {});
      k.role("also", {.warps = 4}, [] {});
    });
  });
  CHECK(!y.elements[0].defined);
}

TEST_CASE("products add up in tensor memory, and arrive once", "[evaluator][unit]") {
  std::vector<double> ones(128 * 2, 1);
  Tensor y =
      run({{given(f16, {128, 2}, ones), given(f16, {16, 2}, counting(32)), unwritten(f32, {128, 16})}, {}},
          [](Scope &k) {
            Global A = k.input("A", f16, {128, 2}), B = k.input("B", f16, {16, 2});
            Global C = k.output("C", f32, {128, 16});
            Shared a = k.shared("a", f16, {128, 2}), b = k.shared("b", f16, {16, 2});
            TensorMemory accs = k.tensorMemory("accs", f32, {128, 16}, {.slots = 2});
            Channel sums = k.channel("sums", {.slots = 2});
            Barrier started = k.barrier("started", 1);
            k.roles([&] {
              k.role("store", {.warps = 4}, [&] {
                started.wait(0);
                sums.get();
                Slot at = sums.get();
                Fragment c = k.fragment(f32, {128, 16});
                copy(accs.slot(at), c);
                copy(c, C.tile({0, 0}, {128, 16}));
              });
              k.role("multiply", {.warps = 8}, [&] {
                copy(A.tile({0, 0}, {128, 2}), a);
                copy(B.tile({0, 0}, {16, 2}), b);
                sums.put(); // the first slot has no products
                sums.put([&](const Slot &at) {
                  gemmAsync(a, b.t(), accs.slot(at), {.accumulate = false});
                  started.arrive(Arrival::afterProducts);
                  gemmAsync(a, b.t(), accs.slot(at));
                });
              });
            });
          });
  std::vector<double> numbers = exactValues(y);
  CHECK(Numbers(numbers.begin(), numbers.begin() + 3) == Numbers{2, 10, 18}); // 2 (2 j + 2 j + 1)
  CHECK(numbers.back() == 122);
}

TEST_CASE("tensor memory holds nothing at first", "[evaluator][unit]") {
  CHECK(errorOf({{given(f16, {128, 2}, std::vector<double>(256, 1)), unwritten(f32, {128, 16})}, {}},
                [](Scope &k) {
                  Global A = k.input("A", f16, {128, 2}), C = k.output("C", f32, {128, 16});
                  Shared a = k.shared("a", f16, {128, 2}), b = k.shared("b", f16, {2, 16});
                  TensorMemory acc = k.tensorMemory("acc", f32, {128, 16});
                  fill(b, 1);
                  copy(A.tile({0, 0}, {128, 2}), a);
                  gemmAsync(a, b, acc);
                }) == "element [0, 0] of 'acc' is read, but has never been written");
}
