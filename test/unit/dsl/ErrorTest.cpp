// SPDX-License-Identifier: Apache-2.0
/// \file
/// Mistakes in declarations and control flow: every diagnostic, by its text.
#include "test/unit/dsl/Errors.h"

using namespace tlc;
using namespace tlc::dsl;

TEST_CASE("an error names file, line and column, and notes name theirs", "[dsl][errors]") {
  unsigned declared = 0, wrong = 0;
  Program program = Program::trace("located", [&](Scope &k) {
    declared = __LINE__ + 1;
    Shared q = k.shared("q", bf16, {128, 64}), kt = k.shared("k", bf16, {96, 128});
    Fragment acc = k.fragment(f32, {128, 96});
    wrong = __LINE__ + 1;
    gemm(q, kt.t(), acc);
  });
  std::string file = "test/unit/dsl/ErrorTest.cpp:";
  CHECK(program.errorText() == file + std::to_string(wrong) +
                                   ":5: error: gemm: expected 'k' to have 64 rows because 'q' has 64 "
                                   "columns, but got 128 (128x64 times "
                                   "128x96)\n" +
                                   file + std::to_string(declared) + ":18: note: 'q' is declared here\n" +
                                   file + std::to_string(declared) + ":55: note: 'k' is declared here\n");
}

TEST_CASE("all errors of a program are reported, and what follows from one is silent", "[dsl][errors]") {
  Program program = Program::trace("several", [](Scope &k) {
    Shared a = k.shared("a", bf16, {0, 64});
    Fragment x = k.fragment(f32, {16, 16}), y = k.fragment(f32, {16, 8});
    gemm(a, a.t(), x);
    copy(a, x);
    Fragment z = x + y;
    z = z * 2;
    copy(z, a);
    k.loop(0, [&](Index i) { x = x + i.to(f32); });
    x = rowSum(y) - k.fragment(bf16, {16, 1});
  });
  REQUIRE(program.errors().size() == 3);
  CHECK(program.errors()[0].message ==
        "expected the extents of shared tile 'a' to be from 1 to 2147483647, but axis 0 has 0");
  CHECK(program.errors()[1].message == "expected operands of + with extents that are equal, or 1 where one "
                                       "is repeated, but got 16x16 of f32 and "
                                       "16x8 of f32");
  CHECK(program.errors()[2].message == "expected operands of - with one element type because there are no "
                                       "implicit conversions, but got 16x1 of f32 and "
                                       "16x1 of bf16; convert one with .to(...)");
}

TEST_CASE("a mistake in an unrolled loop is one error with a count and the first one's notes",
          "[dsl][errors]") {
  Program program = Program::trace("test", [](Scope &k) {
    Shared a = k.shared("a", bf16, {64, 64});
    for (int i = 0; i < 8; ++i)
      (void)a.rows(8 * i + 1, 8);
    (void)a.rows(3, 8); // the same mistake elsewhere
  });
  INFO(program.errorText());
  REQUIRE(program.errors().size() == 2);
  CHECK(program.errors()[0].count == 8);
  CHECK(program.errors()[0].notes.size() == 1);
  CHECK(program.errors()[1].count == 1);
  CHECK_THAT(program.errorText(), Catch::Contains("but got 1 (8 times)\n") && Catch::Contains("but got 3\n"));
}

TEST_CASE("different mistakes of one line are different errors", "[dsl][errors]") {
  Program program = Program::trace("test", [](Scope &k) {
    Loc here = Loc::current();
    (void)k.shared("a", bf16, {0, 64}, {}, here);
    (void)k.dim("", {}, here);
  });
  INFO(program.errorText());
  CHECK(program.errors().size() >= 2);
  for (const Diagnostic &error : program.errors())
    CHECK(error.count == 1);
}

TEST_CASE("names are checked", "[dsl][errors]") {
  CHECK(
      errorOf([](Scope &k) { k.dim("1m"); }) ==
      "expected the name of an argument to be letters, digits and underscores, a letter first, but got '1m'");
  CHECK(errorOf([](Scope &k) { k.dim(""); }) ==
        "expected the name of an argument to be letters, digits and underscores, a letter first, but got ''");
  CHECK(errorOf([](Scope &k) { k.launch("a b", [] {}); }) ==
        "expected the name of a launch to be letters, digits and underscores, a letter first, but got 'a b'");
  CHECK(errorOf([](Scope &k) {
          Index m = k.dim("m");
          k.input("m", f32, {m});
        }) == "expected different names for arguments and launches, but got 'm' twice\nthe first is here");
  Program program = Program::trace("a-b", [](Scope &) {});
  REQUIRE(program.errors().size() == 1);
  CHECK(
      program.errors()[0].message ==
      "expected the name of a program to be letters, digits and underscores, a letter first, but got 'a-b'");
}

TEST_CASE("dimensions are checked", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { k.dim("m", {.multipleOf = 0}); }) ==
        "expected dimension 'm' to be a multiple of at least 1, but got 0");
  CHECK(errorOf([](Scope &k) { k.dim("m", {.least = 9, .most = 8}); }) ==
        "expected limits of dimension 'm' from 0 to 2147483647, but got least 9 and most 8");
  CHECK(errorOf([](Scope &k) { k.dim("m", {.least = 8, .most = 256}); }, {.fixedDimensions = {{"m", 257}}}) ==
        "expected the fixed value of dimension 'm' to be from 8 to 256 because the program relies on it, but "
        "got 257");
  auto declare = [](Scope &k) { k.dim("m", {.multipleOf = 64}); };
  CHECK(errorOf(declare, {.fixedDimensions = {{"m", 0}}}) ==
        "expected the fixed value of dimension 'm' to be from 1 to 2147483647, but got 0");
  CHECK(errorOf(declare, {.fixedDimensions = {{"m", -5}}}) ==
        "expected the fixed value of dimension 'm' to be from 1 to 2147483647, but got -5");
  CHECK(errorOf(declare, {.fixedDimensions = {{"m", 100}}}) ==
        "expected the fixed value of dimension 'm' to be a multiple of 64 because the program relies on it, "
        "but got "
        "100");
  CHECK(errorOf(declare, {.fixedDimensions = {{"n", 64}}}) ==
        "expected a dimension of 'test' to fix (m), but got 'n'");
  CHECK(Program::trace("fixed", {.fixedDimensions = {{"m", 64}}}, declare).ok());
  CHECK(errorOf([](Scope &) {}, {.fixedDimensions = {{"n", 64}}}) ==
        "expected a dimension of 'test' to fix (it has none), but got 'n'");
  auto ranks = [](Scope &k) { k.ranks(); };
  CHECK(errorOf(ranks, {.fixedDimensions = {{"k.ranks", 9}}}) ==
        "expected the fixed value of 'k.ranks' to be from 1 to 8, but got 9");
  CHECK(Program::trace("fixed", {.fixedDimensions = {{"k.ranks", 8}}}, ranks).ok());
  CHECK(errorOf([](Scope &k) { k.rank(); }, {.fixedDimensions = {{"k.rank", 1}}}) ==
        "expected 'k.rank' not to be fixed because each rank has a number of its own, but got 1");
}

TEST_CASE("a dimension is the extent of a tensor that the launcher sees", "[dsl][errors]") {
  const std::string notGiven =
      "expected dimension 'm' to be an extent of an input, an output or an inout because the launcher takes "
      "its value from their shapes, but no tensor has it; give it to one, or pass the number with k.scalar";
  CHECK(errorOf([](Scope &k) { k.dim("m"); }) == notGiven);
  CHECK(errorOf([](Scope &k) {
          Index n = k.dim("n"), m = k.dim("m");
          k.input("X", f32, {n});
          k.workspace("W", f32, {m});
        }) == notGiven);
  CHECK(errorOf([](Scope &k) { k.input("X", f32, {ceilDiv(k.dim("m"), 2)}); }) == notGiven);
  CHECK(errorOf([](Scope &k) { k.workspace("W", f32, {k.dim("m") + 1}); }) == notGiven);
  CHECK(Program::trace("begins", [](Scope &k) { k.input("X", f32, {k.dim("m") + 1}); }).ok());
  CHECK(Program::trace("pairs", [](Scope &k) { k.input("X", f32, {2 * k.dim("m")}); }).ok());
  unsigned line = __LINE__ + 1;
  Program program = Program::trace("unused", [](Scope &k) { k.dim("m"); });
  REQUIRE(program.errors().size() == 1);
  CHECK(program.errors()[0].position.line == line);
}

TEST_CASE("names have a length", "[dsl][errors]") {
  const std::string name(1000, 'x'), beginning = std::string(200, 'x') + "... (1000 bytes)";
  CHECK(errorOf([&](Scope &k) { k.input(name, f32, {4}); }) ==
        "expected the name of an argument to have at most 200 characters, but got '" + beginning + "'");
  CHECK(errorOf([&](Scope &k) { k.shared(name, f32, {4, 0}); }).size() < 400);
  CHECK(errorOf([&](Scope &k) { k.channel(name, {.slots = 0}); }) ==
        "expected channel '" + beginning + "' to have from 1 to 2147483647 slots, but got 0");
}

TEST_CASE("tensors are checked", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { k.input("A", f32, {}); }) ==
        "expected tensor 'A' to have at least one extent, but got none");
  CHECK(errorOf([](Scope &k) { k.input("A", f32, {4, -1}); }) ==
        "expected the extents of tensor 'A' to be from 1 to 2147483647, but axis 1 has -1");
  CHECK(errorOf([](Scope &k) { k.output("A", f32, {int64_t(1) << 40}); }) ==
        "expected the extents of tensor 'A' to be from 1 to 2147483647, but axis 0 has 1099511627776");
  CHECK(errorOf([](Scope &k) { k.inout("A", f32, {4}, {.alignment = 12}); }) ==
        "expected the alignment of tensor 'A' to be a power of two, but got 12");
  for (int64_t alignment : {-1, 0, 12, 512})
    CHECK(errorOf([&](Scope &k) { k.workspace("A", f32, {4}, {.alignment = alignment}); }) ==
          "expected the alignment of 'A' to be a power of two up to 256 because no more is known of "
          "workspaces, "
          "but got " +
              std::to_string(alignment));
  std::string computed =
      "expected the extents of tensor 'A' to be dimensions, constants or computed from these "
      "by integer arithmetic because the launcher compares them with the actual shape, but "
      "axis 0 ";
  CHECK(errorOf([](Scope &k) {
          Global I = k.input("I", i32, {4});
          k.workspace("A", f32, {ceilDiv(I.read({0}), 2)});
        }) == computed + "is computed from another value\nhere");
  CHECK(errorOf([](Scope &k) { k.workspace("A", f32, {k.multiprocessors() * 2}); }) ==
        computed + "depends on the number of multiprocessors\nhere");
  CHECK(errorOf([](Scope &k) {
          Index m = k.dim("m");
          for (int i = 0; i < 10; ++i)
            m = m + m;
          k.workspace("A", f32, {m});
        }) == computed + "takes more than 256 terms\nhere");
  CHECK(
      errorOf([](Scope &k) { k.workspace("A", f16, {4, 32}, {.order = TensorOrder::interleaved}); }) ==
      "expected elements of 8 bits in rows of a constant multiple of 16 because 'A' is interleaved, but got "
      "larger elements");
  CHECK(
      errorOf([](Scope &k) { k.workspace("A", e4m3, {4, 24}, {.order = TensorOrder::interleaved}); }) ==
      "expected elements of 8 bits in rows of a constant multiple of 16 because 'A' is interleaved, but got "
      "other rows");
  CHECK(errorOf([](Scope &k) { k.workspace("A", i64, {4, 32}, {.order = TensorOrder::accumulator}); }) ==
        "expected rows and columns of elements of 16 or 32 bits because 'A' keeps them in the order of "
        "accumulators, but got 64 bits and 2 axes");
  CHECK(errorOf([](Scope &k) { k.workspace("A", f32, {4}, {.order = TensorOrder::accumulator}); }) ==
        "expected rows and columns of elements of 16 or 32 bits because 'A' keeps them in the order of "
        "accumulators, but got 32 bits and 1 axis");
}

TEST_CASE("launches are checked", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { k.launch("a", [&] { k.launch("b", [] {}); }); }) ==
        "expected k.launch outside other launches because launches run one after the other");
  CHECK(errorOf([](Scope &k) {
          k.shared("a", f32, {4});
          k.launch("a", [] {});
        }) == "expected a program of several launches to do everything inside k.launch, but got k.shared "
              "before the first\nhere");
  CHECK(errorOf([](Scope &k) {
          k.launch("a", [] {});
          k.shared("a", f32, {4});
        }) == "expected everything inside k.launch because the program has launches, but got k.shared "
              "outside");
  // Launches repeat what stands before them: what a launch has written would be read at another time.
  CHECK(errorOf([](Scope &k) {
          k.workspace("w", i32, {4}).read({0});
          k.launch("a", [] {});
        }) == "expected a program of several launches to do everything inside k.launch, but got read "
              "before the first\nhere");
  CHECK(errorOf([](Scope &k) {
          Global w = k.workspace("w", i32, {4});
          k.launch("a", [] {});
          w.read({0});
        }) == "expected everything inside k.launch because the program has launches, but got read outside");
  CHECK(errorOf([](Scope &k) {
          k.launch("a", [] {});
          k.dim("m");
        }) == "expected argument 'm' before the first launch because all launches have the same arguments");
  CHECK(errorOf([](Scope &k) {
          Shared a;
          Fragment x;
          k.launch("first", [&] { a = k.shared("a", f32, {4}); });
          k.launch("second", [&] {
            Fragment y = k.fragment(f32, {4});
            copy(a, y);
          });
        }) ==
        "expected the source of copy that was made in an enclosing body, but got one of a body that has "
        "ended\nmade here");
}

TEST_CASE("grids, warps and clusters are checked", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { k.grid(-1); }) ==
        "expected the extents of a grid to be at least 0, but got -1");
  CHECK(errorOf([](Scope &k) { k.persistent({k.dim("m"), -2}, {}, [](Index, Index) {}); }) ==
        "expected the extents of a grid to be at least 0, but got -2");
  CHECK(errorOf([](Scope &k) { k.persistent({k.dim("m")}, {.group = 0}, [](Index) {}); }) ==
        "expected a group of at least 1 row of tiles, but got 0");
  CHECK(errorOf([](Scope &k) { k.loop(3, [&](Index) { k.grid(4); }); }) ==
        "expected k.grid outside loops, branches and roles because it decides what is launched");
  CHECK(errorOf([](Scope &k) {
          k.roles([&] { k.role("a", {}, [&] { k.persistent({4}, {}, [](Index) {}); }); });
        }) == "expected k.persistent outside loops, branches and roles because it decides what is launched");
  CHECK(errorOf([](Scope &k) { k.warps(0); }) == "expected from 1 to 32 warps, but got 0");
  CHECK(errorOf([](Scope &k) { k.warps(33); }) == "expected from 1 to 32 warps, but got 33");
  CHECK(errorOf([](Scope &k) { k.cluster(9); }) == "expected from 1 to 8 blocks per cluster, but got 9");
  CHECK(errorOf([](Scope &k) { k.residents(0); }) ==
        "expected from 1 to 32 blocks on a multiprocessor, but got 0");
  CHECK(errorOf([](Scope &k) {
          k.grid(4);
          k.grid(5);
        }) == "k.grid: expected one k.grid or k.persistent per kernel because it decides the number of "
              "blocks, but got another\nthe first is here");
}

TEST_CASE("tiles that no target holds are refused", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { k.shared("a", f32, {256, 256}); }) ==
        "expected shared tile 'a' to take at most 232448 bytes because no target has more shared memory per "
        "block, "
        "but 256x256 of f32 takes 262144");
  CHECK(errorOf([](Scope &k) { k.shared("a", bf16, {128, 64}, {.slots = 20}); }) ==
        "expected shared tile 'a' to take at most 232448 bytes because no target has more shared memory per "
        "block, "
        "but 20x128x64 of bf16 takes 327680");
  CHECK(errorOf([](Scope &k) { k.shared("a", bf16, {128, 64}, {.slots = -1}); }) ==
        "expected shared tile 'a' to have at least 0 slots, but got -1");
  CHECK(errorOf([](Scope &k) { k.shared("a", bf16, {}); }) ==
        "expected shared tile 'a' to have at least one extent, but got none");
  CHECK(errorOf([](Scope &k) { k.fragment(f32, {512, 256}); }) ==
        "expected a fragment of at most 262144 bytes because that is all the registers of a block, but "
        "512x256 of "
        "f32 takes 524288");
  CHECK(errorOf([](Scope &k) { k.fragment(f32, {65536, 65536}); }) ==
        "expected a fragment to have at most 2147483647 elements, but got 65536x65536");
  CHECK(errorOf([](Scope &k) { k.fragment(f32, {16, -16}); }) ==
        "expected the extents of a fragment to be from 1 to 2147483647, but axis 1 has -16");
}

TEST_CASE("what is put into a tile that no target holds is silent", "[dsl][errors]") {
  CHECK_THAT(errorOf([](Scope &k) {
               Global X = k.input("X", bf16, {128, 64});
               Shared a = k.shared("a", bf16, {128, 64}, {.slots = 20});
               Channel loaded = k.channel("a", {.slots = 20});
               loaded.put([&](const Slot &at) { copy(X.tile({0, 0}, {128, 64}), a.slot(at)); });
             }),
             Catch::StartsWith("expected shared tile 'a' to take at most 232448 bytes"));
}

TEST_CASE("loops and branches are checked", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { k.loop({0, 8, 0}, [](Index) {}); }) ==
        "expected a step of at least 1, but got 0; to count down, loop over {0, n} and use n - 1 - i");
  CHECK(errorOf([](Scope &k) { k.loop({k.dim("n") - 1, -1, -1}, [](Index) {}); }) ==
        "expected a step of at least 1, but got -1; to count down, loop over {0, n} and use n - 1 - i");
  CHECK(errorOf([](Scope &k) { k.pipelined(8, {.stages = 0}, [](Index) {}); }) ==
        "expected from 1 to 2147483647 stages, but got 0");
  CHECK(errorOf([](Scope &k) { k.pipelined(8, {.stages = int64_t(1) << 32}, [](Index) {}); }) ==
        "expected from 1 to 2147483647 stages, but got 4294967296");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8});
          k.when(x > 0, [] {});
        }) == "expected the condition of k.when to be one truth value, but got one per element (16x8 of "
              "truth values); choose "
              "between elements with where()");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {16, 8});
          Index row;
          x = where([&](Index r, Index) { return (row = r) > 3; }, x, 0);
          k.loop(row, [](Index) {});
        }) == "expected the end of a loop to be one position, but got one per element of a fragment");
}

TEST_CASE("a handle of a body that has ended is refused", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) {
          Index last;
          k.loop(8, [&](Index i) { last = i + 1; });
          k.loop(last, [](Index) {});
        }) == "expected the end of a loop that was made in an enclosing body, but got one of a body that has "
              "ended\nmade here");
}

TEST_CASE("positions have 32 bits", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { k.grid(int64_t(1) << 31); }) ==
        "expected an extent of the grid from -2147483648 to 2147483647 because positions have 32 bits, but "
        "got 2147483648");
  CHECK(errorOf([](Scope &k) {
          Global A = k.input("A", f32, {64, 64});
          Slice far = A.tile({0, -(int64_t(1) << 40)}, {16, 16});
        }) == "expected a position in 'A' from -2147483648 to 2147483647 because positions have 32 bits, but "
              "got -1099511627776");
}

TEST_CASE("a handle that was never given a value is refused", "[dsl][errors]") {
  const std::string noIndex = "expected the end of a loop, but got a handle without a value, or "
                              "a number whose computation divides by zero or exceeds 64 bits";
  CHECK(errorOf([](Scope &k) {
          Index never;
          k.loop(never, [](Index) {});
        }) == noIndex);
  CHECK(errorOf([](Scope &k) { k.loop(Index(8) / 0, [](Index) {}); }) == noIndex);
  CHECK(errorOf([](Scope &k) { k.loop(Index(int64_t(1) << 62) * 2, [](Index) {}); }) == noIndex);
  CHECK(errorOf([](Scope &k) {
          Shared never;
          copy(never, k.shared("a", f32, {4}));
        }) == "expected the source of copy, but got a handle without a value");
  CHECK(errorOf([](Scope &k) {
          Fragment x = k.fragment(f32, {4}), never;
          x = never;
        }) == "expected a fragment to assign, but got a handle without a value");
  CHECK(errorOf([](Scope &) { NamedBarrier().sync(); }) ==
        "expected a named barrier, but got a handle without a value");
}

TEST_CASE("a handle of another program is refused, also after that program has ended", "[dsl][errors]") {
  Index m;
  Global X;
  Shared shared;
  std::optional<Fragment> fragment;
  std::optional<NamedBarrier> barrier;
  std::optional<Scope> scope;
  Program other = Program::trace("other", [&](Scope &k) {
    m = k.dim("m");
    X = k.output("X", f32, {m, 32});
    shared = k.shared("shared", f32, {32, 32});
    fragment = k.fragment(f32, {32, 32});
    barrier = k.namedBarrier(4);
    scope = k;
  });
  CHECK(other.ok());
  auto foreign = [](const std::string &what) {
    return "expected " + what +
           " of program 'test', but got one of program 'other'; make it in the body of 'test'";
  };
  auto errorWith = [](auto body) {
    return errorOf([&](Scope &k) {
      Global Y = k.output("Y", f32, {64, 32});
      Fragment y = k.fragment(f32, {32, 32});
      body(k, Y, y);
    });
  };
  CHECK(errorOf([&](Scope &k) { k.loop(m, [](Index) {}); }) == foreign("the end of a loop"));
  // Whichever operand comes first, and whatever is done with the result.
  CHECK(errorWith([&](Scope &, Global Y, Fragment &) { copy(*fragment + 1, Y.tile({0, 0}, {32, 32})); }) ==
        foreign("an operand of +"));
  CHECK(errorWith([&](Scope &, Global, Fragment &y) { y = *fragment + y; }) == foreign("an operand of +"));
  CHECK(errorWith([&](Scope &, Global, Fragment &y) { y = y + *fragment; }) == foreign("an operand of +"));
  CHECK(errorWith([&](Scope &, Global, Fragment &y) { y = *fragment; }) == foreign("a fragment"));
  CHECK(errorWith([&](Scope &, Global, Fragment &y) { *fragment = y; }) ==
        foreign("a fragment to assign to"));
  CHECK(errorWith([&](Scope &, Global, Fragment &) { *fragment = 3; }) == foreign("a fragment to fill"));
  CHECK(errorWith([&](Scope &, Global Y, Fragment &y) { copy(y, Y.tile({m * 32, 0}, {32, 32})); }) ==
        foreign("an operand of *"));
  CHECK(errorWith([&](Scope &, Global, Fragment &y) { copy(y, X.tile({0, 0}, {32, 32})); }) ==
        foreign("a tensor"));
  CHECK(errorWith([&](Scope &, Global, Fragment &y) { copy(shared, y); }) == foreign("the source of copy"));
  CHECK(errorWith([&](Scope &, Global, Fragment &) { barrier->sync(); }) == foreign("a named barrier"));
  // Also what became of it while no program was traced.
  Index sum = m + 1;
  CHECK(errorOf([&](Scope &k) { k.loop(sum, [](Index) {}); }) == foreign("the end of a loop"));
  CHECK(errorWith([&](Scope &, Global, Fragment &) { scope->loop(8, [](Index) {}); }) ==
        "expected the Scope of program 'test' because that is being traced, but got the one of program "
        "'other'");
  CHECK(errorWith([&](Scope &, Global, Fragment &) { scope->warps(8); }) ==
        "expected the Scope of program 'test' because that is being traced, but got the one of program "
        "'other'");
  CHECK(fragment->shape().empty());
  Program used = std::move(other);
  CHECK(used.text().find("addi") == std::string::npos);
}

TEST_CASE("a mistake in a program traced within another is that program's", "[dsl][errors]") {
  std::string inner;
  Program outer = Program::trace("outer", [&](Scope &k) {
    Fragment x = k.fragment(f32, {32});
    inner = errorOf([&](Scope &k) {
      Global Y = k.output("Y", f32, {64});
      copy(x + 1, Y.tile({0}, {32}));
    });
    x = x + 1;
  });
  CHECK(outer.ok());
  CHECK(inner == "expected an operand of + of program 'test', but got one of program 'outer'; make it in the "
                 "body of 'test'");
}

TEST_CASE("roles are checked", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { k.roles([&] { k.role("a", {}, [&] { k.role("load", {}, [] {}); }); }); }) ==
        "expected role 'load' in the body of k.roles because that parts all warps of the launch\n"
        "k.roles is here");
  CHECK(errorOf([](Scope &k) {
          k.roles([&] { k.role("a", {}, [] {}); });
          k.role("load", {}, [] {});
        }) == "expected role 'load' in the body of k.roles because that parts all warps of the launch\n"
              "k.roles is here");
  CHECK(errorOf([](Scope &k) {
          k.role("load", {}, [] {});
          k.roles([&] { k.role("a", {}, [] {}); });
        }) == "expected role 'load' in the body of k.roles because that parts all warps of the launch\n"
              "the role is here");
  CHECK(errorOf([](Scope &k) { k.role("a", {}, [&] { k.role("b", {}, [] {}); }); }) ==
        "expected role 'b' outside of role 'a' because one role executes an operation\n"
        "that role begins here");
  CHECK(errorOf([](Scope &k) {
          k.role("a", {}, [] {});
          k.role("a", {.warps = 8}, [] {});
        }) == "expected role 'a' to have the same number of warps in all of its parts\n"
              "another part is here");
  CHECK(errorOf([](Scope &k) { k.role("a", {.registers = 40}, [] {}); }) ==
        "expected no registers of role 'a' outside k.roles because the compiler shares them out among all "
        "roles");
  CHECK(errorOf([](Scope &k) { k.role("a", {.warps = 0}, [] {}); }) ==
        "k.role: expected role 'a' to have from 1 to 32 warps, but got 0");
  CHECK(
      errorOf([](Scope &k) { k.loop(2, [&](Index) { k.roles([&] { k.role("load", {}, [] {}); }); }); }) ==
      "expected k.roles at the top level of a launch because roles part all warps once, but got it inside a "
      "loop, a branch or a role; put loops and branches into the roles");
  CHECK(errorOf([](Scope &k) {
          Barrier b = k.barrier("b", 128);
          b.arrive();
        }) ==
        "arrive: expected k.warps before it, or a role around it, because the warps that arrive are counted");
  CHECK(errorOf([](Scope &k) {
          k.roles([&] {
            k.role("load", {}, [] {});
            k.shared("a", f32, {4});
          });
        }) ==
        "expected nothing but k.role in the body of k.roles because every warp belongs to one role, but got "
        "k.shared");
  CHECK(errorOf([](Scope &k) { k.roles([] {}); }) == "k.roles: expected at least one role, but got none");
  CHECK(errorOf([](Scope &k) { k.roles([&] { k.role("load", {.warps = 0}, [] {}); }); }) ==
        "k.role: expected role 'load' to have from 1 to 32 warps, but got 0");
  CHECK(errorOf([](Scope &k) { k.roles([&] { k.role("load", {.registers = 500}, [] {}); }); }) ==
        "k.role: expected 'registers' of role 'load' to be a multiple of 8 from 24 to 256, but got 500");
  CHECK(errorOf([](Scope &k) {
          k.warps(4);
          k.roles([&] {
            k.role("load", {.warps = 4}, [] {});
            k.role("math", {.warps = 8}, [] {});
          });
        }) == "k.roles: expected the roles' warps to add up to 4 because 'test' has that many, but got "
              "12\nrole 'load' "
              "has 4\nrole 'math' has 8");
  CHECK(errorOf([](Scope &k) { k.roles([&] { k.role("load", {.warps = int64_t(1) << 40}, [] {}); }); }) ==
        "k.role: expected role 'load' to have from 1 to 32 warps, but got 1099511627776");
  CHECK(errorOf([](Scope &k) {
          k.roles([&] {
            k.role("load", {.warps = 4}, [] {});
            k.role("math", {.warps = 32}, [] {});
          });
        }) == "k.roles: expected the roles' warps to add up to at most 32 because a block has at most 1024 "
              "threads, but got 36\nrole 'load' has 4\nrole 'math' has 32");
}

TEST_CASE("channels are checked", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { k.channel("ab", {.slots = 0}); }) ==
        "expected channel 'ab' to have from 1 to 2147483647 slots, but got 0");
  CHECK(errorOf([](Scope &k) { k.channel("ab", {.slots = int64_t(1) << 40}); }) ==
        "expected channel 'ab' to have from 1 to 2147483647 slots, but got 1099511627776");
  CHECK(errorOf([](Scope &k) {
          Channel ab = k.channel("ab");
          Shared a = k.shared("a", f32, {2, 4});
          Fragment x = k.fragment(f32, {4});
          copy(a.slot(ab.get()), x);
        }) == "expected a shared tile with slots, but got 'a' 2x4 of f32\n'a' is declared here");
  CHECK(errorOf([](Scope &k) {
          Channel ab = k.channel("ab", {.slots = 2});
          Shared a = k.shared("a", f32, {2, 4}, {.slots = 3});
          Fragment x = k.fragment(f32, {2, 4});
          copy(a.slot(ab.get()), x);
        }) == "slot: expected 'a' to have a leading axis of 2 because the channel has 2 slots, but got "
              "3x2x4\n'a' is declared here");
  CHECK(errorOf([](Scope &k) {
          Channel ab = k.channel("ab"), cd = k.channel("cd");
          ab.put([&](const Slot &) { cd.put(); });
        }) ==
        "put: expected no other put within a put into channel 'ab' because a role fills one slot at a time; "
        "put before or after it\nthis one is within it");
  CHECK(
      errorOf([](Scope &k) {
        Channel ab = k.channel("ab");
        ab.put([&](const Slot &) { ab.get(); });
      }) ==
      "put: expected no get of channel 'ab' within a put into it because the slot is full once the put ends; "
      "get it after the put\nthis one is within it");
  CHECK(errorOf([](Scope &k) {
          Channel ab = k.channel("ab");
          Shared a = k.shared("a", f32, {4}, {.slots = 2});
          Slot last;
          ab.put([&](const Slot &at) { last = at; });
          Fragment x = k.fragment(f32, {4});
          copy(a.slot(last), x);
        }) == "expected a slot that was made in an enclosing body, but got one of a body that has "
              "ended\nmade here");
}

TEST_CASE("barriers are checked", "[dsl][errors]") {
  CHECK(errorOf([](Scope &k) { k.barrier("q", 0); }) ==
        "k.barrier: expected the count of 'q' to be from 1 to 1048575 because an mbarrier counts that "
        "far, but "
        "got 0");
  CHECK(errorOf([](Scope &k) { k.inTurn([] {}); }) ==
        "k.inTurn: expected to be in a role, whose warpgroups take turns");
  CHECK(errorOf([](Scope &k) { k.namedBarrier(0); }) ==
        "expected at least 1 warp to meet at a named barrier, but got 0");
  CHECK(errorOf([](Scope &k) {
          for (int i = 0; i < 16; ++i)
            k.namedBarrier(4);
        }) == "expected at most 15 named barriers because a block has no more, but this is number 16");
}
