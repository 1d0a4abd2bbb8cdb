// SPDX-License-Identifier: Apache-2.0
/// \file
/// What runs while tracing and what runs on the device; shared memory.
#include "test/docs/Run.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::docs;
using namespace tlc::dsl;

namespace {

// [powers]
/// Sum of X^1 ... X^terms: the C++ loop is unrolled, there is no loop on the device.
Program powers(int terms) {
  return Program::trace("powers", [&](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n});
    auto [block] = k.grid(ceilDiv(n, 256));
    Fragment x = k.fragment(f32, {256}), sum = k.fragment(f32, {256}), power = k.fragment(f32, {256}, 1);
    copy(X.tile({block * 256}, {256}), x);
    for (int i = 0; i < terms; ++i) {
      power *= x;
      sum += power;
    }
    copy(sum, Y.tile({block * 256}, {256}));
  });
}
// [powers]

// [signs]
/// Even blocks are negated, odd ones doubled. A block is one path or the other, never both.
Program signs() {
  return Program::trace("signs", [](Scope &k) {
    Index n = k.dim("n");
    Global X = k.inout("X", f32, {n});
    auto [block] = k.grid(ceilDiv(n, 128));
    Fragment x = k.fragment(f32, {128});
    copy(X.tile({block * 128}, {128}), x);
    k.when(block % 2 == 0, [&] { x = -x; }, [&] { x = x * 2; });
    copy(x, X.tile({block * 128}, {128}));
  });
}
// [signs]

// [unpacked]
/// Y[b] has the rows of X from ends[b - 1] up to ends[b], and zeros after them.
Program unpacked() {
  return Program::trace("unpacked", [](Scope &k) {
    Index rows = k.dim("rows"), sequences = k.dim("sequences"), longest = k.dim("longest");
    Global Ends = k.input("ends", i32, {sequences}), X = k.input("X", f32, {rows, 64});
    Global Y = k.output("Y", f32, {sequences, longest, 64});
    auto [block, b] = k.grid(ceilDiv(longest, 32), sequences);
    Index begin = Ends.read({b - 1}), end = Ends.read({b}); // that of sequence -1 is 0
    Fragment x = k.fragment(f32, {32, 64});
    copy(X.tile({begin + block * 32, 0}, {32, 64}).limited(0, end), x);
    copy(x, Y.tile({b, block * 32, 0}, {1, 32, 64}));
  });
}
// [unpacked]

// [embedding]
/// Y[i] = X[Words[i]], and zeros where there is no such row.
Program embedding() {
  return Program::trace("embedding", [](Scope &k) {
    Index tokens = k.dim("tokens"), words = k.dim("words"), columns = k.dim("columns");
    Global Words = k.input("Words", i32, {tokens}), X = k.input("X", bf16, {words, columns});
    Global Y = k.output("Y", bf16, {tokens, columns});
    auto [i, j] = k.grid(ceilDiv(tokens, 32), ceilDiv(columns, 64));
    Fragment word = k.fragment(i32, {32, 1}), x = k.fragment(bf16, {32, 64});
    copy(Words.tile({i * 32}, {32}), word);
    copy(X.tile({word.toIndex(), j * 64}, {32, 64}), x); // one row for each of `word`
    copy(x, Y.tile({i * 32, j * 64}, {32, 64}));
  });
}
// [embedding]

// [pair-scores]
/// The scores of all pairs of two sequences of letters: Y[i, j] = Score[A[i], B[j]], and -9 where a letter
/// has none.
Program pairScores() {
  return Program::trace("pair_scores", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n"), letters = k.dim("letters");
    Global A = k.input("A", i32, {m}), B = k.input("B", i32, {n});
    Global Score = k.input("Score", f32, {letters, letters}), Y = k.output("Y", f32, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, 32), ceilDiv(n, 64));
    Fragment a = k.fragment(i32, {32, 1}), b = k.fragment(i32, {1, 64}), y = k.fragment(f32, {32, 64});
    copy(A.tile({i * 32}, {32}), a);
    copy(B.tile({j * 64}, {64}), b);
    copy(Score.tile({a.toIndex(), b.toIndex()}, {32, 64}).fill(-9), y);
    copy(y, Y.tile({i * 32, j * 64}, {32, 64}));
  });
}
// [pair-scores]

// [histogram]
/// How often each number from 0 to bins - 1 is in X. Other numbers do not count.
Program histogram() {
  return Program::trace("histogram", [](Scope &k) {
    Index n = k.dim("n"), bins = k.dim("bins");
    Global X = k.input("X", i32, {n}), Count = k.inout("Count", i32, {bins});
    auto [block] = k.grid(ceilDiv(n, 512));
    Fragment x = k.fragment(i32, {512});
    copy(X.tile({block * 512}, {512}).fill(-1), x);
    atomicAdd(1, Count.tile({x.toIndex()}, {512}));
  });
}
// [histogram]

// [shared-histogram]
/// The same where 1024 bins are enough: each block counts in its shared memory, and adds its counts to those
/// of others.
Program sharedHistogram() {
  return Program::trace("shared_histogram", [](Scope &k) {
    Index n = k.dim("n"), bins = k.dim("bins");
    Global X = k.input("X", i32, {n}), Count = k.inout("Count", i32, {bins});
    auto [block] = k.grid(min(ceilDiv(n, 512), k.multiprocessors()));
    Shared counts = k.shared("counts", i32, {1024});
    fill(counts, 0);
    k.loop({block, ceilDiv(n, 512), k.blocks()}, [&](Index part) {
      Fragment x = k.fragment(i32, {512});
      copy(X.tile({part * 512}, {512}).fill(-1), x);
      atomicAdd(1, counts.tile({x.toIndex()}, {512})); // no barrier between rounds: sums have no order
    });
    Fragment count = k.fragment(i32, {1024});
    copy(counts, count);
    atomicAdd(count, Count.tile({0}, {1024}));
  });
}
// [shared-histogram]

// [shifted]
/// Y[i, j] = X[i, j] - X[i - 1, j], and X[i, j] in the first row: of each tile and the row above it.
Program differences() {
  return Program::trace("differences", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n");
    Global X = k.input("X", f32, {m, n}), Y = k.output("Y", f32, {m, n});
    auto [i, j] = k.grid(ceilDiv(m, 32), ceilDiv(n, 64));
    Shared tile = k.shared("tile", f32, {33, 64});
    copy(X.tile({i * 32 - 1, j * 64}, {33, 64}), tile); // zeros above the first row
    Fragment x = k.fragment(f32, {32, 64}), above = k.fragment(f32, {32, 64});
    copy(tile.tile({1, 0}, {32, 64}), x);
    copy(tile.tile({0, 0}, {32, 64}), above);
    copy(x - above, Y.tile({i * 32, j * 64}, {32, 64}));
  });
}
// [shifted]

// [places]
/// Place[i] is how many numbers like X[i] were counted before it: its place in their list.
Program placesInLists() {
  return Program::trace("places_in_lists", [](Scope &k) {
    Index n = k.dim("n"), lists = k.dim("lists");
    Global X = k.input("X", i32, {n}), Place = k.output("Place", i32, {n});
    Global Length = k.inout("Length", i32, {lists}), Owner = k.inout("Owner", i32, {lists});
    auto [block] = k.grid(ceilDiv(n, 256));
    Fragment x = k.fragment(i32, {256}), place = k.fragment(i32, {256}), owner = k.fragment(i32, {256});
    copy(X.tile({block * 256}, {256}).fill(-1), x);
    FragmentValue at = k.positions({256}, 0) + (block * 256).to(i32);
    atomicAdd(1, Length.tile({x.toIndex()}, {256}), place); // numbers outside of the tensors do not count
    atomicCompareAndSwap(-1, at, Owner.tile({x.toIndex()}, {256}), owner); // whoever comes first
    copy(place, Place.tile({block * 256}, {256}));
  });
}
// [places]

// [seen]
/// Seen has a bit for each number that is in X; First and Last say where in X it is.
Program seen() {
  return Program::trace("seen", [](Scope &k) {
    Index n = k.dim("n"), words = k.dim("words"), numbers = k.dim("numbers");
    Global X = k.input("X", i32, {n}), Seen = k.inout("Seen", u32, {words});
    Global First = k.inout("First", i32, {numbers}), Last = k.inout("Last", i32, {numbers});
    auto [block] = k.grid(ceilDiv(n, 256));
    Fragment x = k.fragment(i32, {256});
    copy(X.tile({block * 256}, {256}).fill(-1), x);
    FragmentValue bit = k.fragment(u32, {256}, 1) << (x & 31).to(u32);
    FragmentValue at = k.positions({256}, 0) + (block * 256).to(i32);
    atomicOr(bit, Seen.tile({(x >> 5).toIndex()}, {256})); // numbers outside of the tensors do not count
    atomicMin(at, First.tile({x.toIndex()}, {256}));
    atomicMax(at, Last.tile({x.toIndex()}, {256}));
  });
}
// [seen]

// [square-root]
/// Y = the square roots of X, by Newton's method: a block goes on until no element changes by much.
Program squareRoots() {
  return Program::trace("square_roots", [](Scope &k) {
    Index n = k.dim("n"), blocks = k.dim("blocks");
    Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n}),
           Rounds = k.output("Rounds", i32, {blocks});
    auto [block] = k.grid(ceilDiv(n, 256));
    Fragment x = k.fragment(f32, {256}), y = k.fragment(f32, {256}, 1), rounds = k.fragment(i32, {1});
    Shared changes = k.shared("changes", i32, {1});
    copy(X.tile({block * 256}, {256}).fill(1), x);
    k.loopWhile(100, [&](Index) -> Predicate {
      FragmentValue next = (y + abs(x) / y) / 2;
      FragmentValue hasChanged = where(abs(next - y) > next * 1e-6, k.fragment(i32, {256}, 1), 0);
      copy(reduce(Reduction::max, hasChanged, 0), changes);
      y = next;
      rounds += 1;
      return changes.read({0}) > 0; // one answer for the block
    });
    copy(y, Y.tile({block * 256}, {256}));
    copy(rounds, Rounds.tile({block}, {1}));
  });
}
// [square-root]

// [transposed]
/// Y = Xᵀ by way of shared memory.
Program transposed() {
  return Program::trace("transposed", [](Scope &k) {
    Index m = k.dim("m"), n = k.dim("n");
    Global X = k.input("X", bf16, {m, n}), Y = k.output("Y", bf16, {n, m});
    auto [i, j] = k.grid(ceilDiv(m, 64), ceilDiv(n, 64));
    Shared tile = k.shared("tile", bf16, {64, 64});
    copy(X.tile({i * 64, j * 64}, {64, 64}), tile);
    Fragment x = k.fragment(bf16, {64, 64});
    copy(tile.t(), x); // barriers are the compiler's business
    copy(x, Y.tile({j * 64, i * 64}, {64, 64}));
  });
}
// [transposed]

// [batched]
/// Adds a bias to every image of a batch. Tiles have the tensor's rank; axes of extent 1 do not count.
Program batched() {
  return Program::trace("batched", [](Scope &k) {
    Index images = k.dim("images"), rows = k.dim("rows");
    Global X = k.inout("X", f32, {images, rows, 32}), Bias = k.input("Bias", f32, {32});
    auto [block, image] = k.grid(ceilDiv(rows, 16), images);
    Fragment x = k.fragment(f32, {16, 32}), bias = k.fragment(f32, {1, 32});
    copy(X.tile({image, block * 16, 0}, {1, 16, 32}), x);
    copy(Bias.tile({0}, {32}), bias);
    copy(x + bias, X.tile({image, block * 16, 0}, {1, 16, 32}));
  });
}
// [batched]

} // namespace

TEST_CASE("rows by an index tensor", "[docs]") {
  std::vector<int32_t> words;
  for (int32_t i = 0; i < 45; ++i)
    words.push_back(i * 7 % 23 - 1); // -1, and 21 is the last row
  int64_t columns = GENERATE(1, 64, 100);
  Run run(embedding(), {{"tokens", 45}, {"words", 20}, {"columns", columns}}, {}, {{"Words", words}});
  checkMatrix(run.after("Y"), 0, [&](int64_t i, int64_t j) {
    int32_t word = words[size_t(i)];
    return word >= 0 && word < 20 ? run.before("X")(word, j) : 0;
  });
}

TEST_CASE("counts of numbers", "[docs]") {
  std::vector<int32_t> numbers;
  for (int32_t i = 0; i < 700; ++i)
    numbers.push_back(i * i % 19 - 2);
  Run run(histogram(), {{"n", 700}, {"bins", 13}}, {}, {{"X", numbers}});
  checkVector(run.after("Count"), 0, [&](int64_t bin) {
    return run.before("Count")(bin) + double(std::ranges::count(numbers, int32_t(bin)));
  });
}

TEST_CASE("scores of pairs, by two positions", "[docs]") {
  std::vector<int32_t> a, b;
  for (int32_t i = 0; i < 71; ++i)
    a.push_back(i * 5 % 23 - 1);
  for (int32_t i = 0; i < 101; ++i)
    b.push_back(i * 7 % 22);
  Run run(pairScores(), {{"m", 71}, {"n", 101}, {"letters", 21}}, {}, {{"A", a}, {"B", b}});
  const Array &score = run.before("Score");
  checkMatrix(run.after("Y"), 0, [&](int64_t i, int64_t j) {
    const int32_t first = a[size_t(i)], second = b[size_t(j)];
    return first >= 0 && first < 21 && second < 21 ? score(first, second) : -9;
  });
}

TEST_CASE("a histogram in shared memory", "[docs]") {
  std::vector<int32_t> numbers;
  for (int32_t i = 0; i < 5000; ++i)
    numbers.push_back(i * i % 1031 - 2);
  Run run(sharedHistogram(), {{"n", 5000}, {"bins", 1001}}, {}, {{"X", numbers}});
  checkVector(run.after("Count"), 0, [&](int64_t bin) {
    return run.before("Count")(bin) + double(std::ranges::count(numbers, int32_t(bin)));
  });
}

TEST_CASE("parts of a shared tile that begin anywhere", "[docs]") {
  Run run(differences(), {{"m", 71}, {"n", 100}});
  const Array &x = run.before("X");
  checkMatrix(run.after("Y"), 1e-6,
              [&](int64_t i, int64_t j) { return x(i, j) - (i > 0 ? x(i - 1, j) : 0); });
}

TEST_CASE("bits of numbers, and where they are", "[docs]") {
  std::vector<int32_t> x;
  for (int32_t i = 0; i < 700; ++i)
    x.push_back(i * i % 97 - 2);
  Run run(seen(), {{"n", 700}, {"words", 3}, {"numbers", 90}}, {}, {{"X", x}});
  checkVector(run.after("Seen"), 0, [&](int64_t word) {
    auto bits = uint32_t(run.before("Seen")(word));
    for (int32_t number : x)
      bits |= number >> 5 == word ? 1u << (number & 31) : 0;
    return double(bits);
  });
  auto place = [&](int64_t number, bool isFirst) {
    double place = run.before(isFirst ? "First" : "Last")(number);
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i] == number)
        place = isFirst ? std::min(place, double(i)) : std::max(place, double(i));
    return place;
  };
  checkVector(run.after("First"), 0, [&](int64_t number) { return place(number, true); });
  checkVector(run.after("Last"), 0, [&](int64_t number) { return place(number, false); });
}

TEST_CASE("places in lists, and who comes first", "[docs]") {
  std::vector<int32_t> x;
  for (int32_t i = 0; i < 700; ++i)
    x.push_back(i * i % 97 - 2);
  Run run(placesInLists(), {{"n", 700}, {"lists", 90}}, {},
          {{"X", x}, {"Owner", std::vector<int32_t>(90, -1)}});
  for (int32_t list = 0; list < 90; ++list) {
    CAPTURE(list);
    std::vector<double> places;
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i] == list)
        places.push_back(run.after("Place")(int64_t(i)));
    std::ranges::sort(places);
    for (size_t i = 0; i < places.size(); ++i)
      CHECK(places[i] == run.before("Length")(list) + double(i));
    CHECK(run.after("Length")(list) == run.before("Length")(list) + double(places.size()));
    auto owner = int64_t(run.after("Owner")(list));
    CHECK((places.empty() ? owner == -1 : x[size_t(owner)] == list));
  }
}

TEST_CASE("a loop goes on while it has to", "[docs]") {
  Run run(squareRoots(), {{"n", 700}, {"blocks", 3}});
  checkVector(run.after("Y"), 1e-5, [&](int64_t i) { return std::sqrt(std::abs(run.before("X")(i))); });
  for (int64_t block = 0; block < 3; ++block) {
    CHECK(run.after("Rounds")(block) > 3);
    CHECK(run.after("Rounds")(block) < 40);
  }
}

TEST_CASE("a C++ loop unrolls", "[docs]") {
  Run run(powers(3), {{"n", 300}});
  checkVector(run.after("Y"), 1e-6, [&](int64_t i) {
    double x = run.before("X")(i);
    return x + x * x + x * x * x;
  });
}

TEST_CASE("when chooses a path", "[docs]") {
  Run run(signs(), {{"n", 500}});
  checkVector(run.after("X"), 0, [&](int64_t i) {
    double x = run.before("X")(i);
    return i / 128 % 2 == 0 ? -x : 2 * x;
  });
}

TEST_CASE("a transposed view of shared memory", "[docs]") {
  Run run(transposed(), {{"m", 70}, {"n", 130}});
  checkMatrix(run.after("Y"), 0, [&](int64_t i, int64_t j) { return run.before("X")(j, i); });
}

TEST_CASE("slices of more axes than tiles", "[docs]") {
  Run run(batched(), {{"images", 3}, {"rows", 21}});
  const Array &after = run.after("X"), &before = run.before("X");
  for (size_t i = 0; i < after.values.size(); ++i)
    CHECK(after.values[i] == Approx(before.values[i] + run.before("Bias")(int64_t(i) % 32)).margin(1e-6));
}

TEST_CASE("packed sequences are unpacked, the empty ones too", "[docs]") {
  const std::vector<int32_t> ends = {5, 5, 75, 76, 140}; // of 145 rows, so that some are no sequence's
  Run run(unpacked(), {{"rows", 145}, {"sequences", 5}, {"longest", 70}}, {}, {{"ends", ends}});
  const Array &x = run.before("X"), &y = run.after("Y");
  for (int64_t b = 0; b < 5; ++b) {
    int64_t begin = b ? ends[size_t(b - 1)] : 0;
    for (int64_t row = 0; row < 70; ++row)
      for (int64_t column = 0; column < 64; ++column)
        if (double expected = begin + row < ends[size_t(b)] ? x(begin + row, column) : 0;
            y.values[size_t((b * 70 + row) * 64 + column)] != expected)
          FAIL("sequence " << b << " row " << row << " column " << column << ": expected " << expected);
  }
}
