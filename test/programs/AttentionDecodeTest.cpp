// SPDX-License-Identifier: Apache-2.0
/// \file
/// Decoding with tensors laid out by hand: what lies beyond a sequence's last key, and in pages that nobody
/// has, is NaN, table entries that nobody needs are no pages, and rows have strides of their own.
#include "kernels/Tolerance.h"
#include "kernels/attention/decode/Decode.h"
#include "kernels/reference/Decode.h"
#include "test/programs/ProgramRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <sstream>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::test;

namespace {

const std::vector<int64_t> lengths = {0, 1, 7, 63, 64, 65, 129, 200};
constexpr int64_t kvHeads = 2;

/// How K and V lie in memory.
enum class Strides : uint8_t {
  keysFirst,  ///< b x sk x hkv x d, with room after each row
  headsFirst, ///< b x hkv x sk x d
  together,   ///< b x sk x 2 x hkv x d: K and V in one tensor
};

struct Arguments {
  Memory q, k, v, lengthOf, table, sinks, o, lse, partial, partialLse;

  std::vector<Memory *> all(const DecodeConfig &c, const Artifact &artifact) {
    std::vector<Memory *> list = {&q, &k};
    if (c.values == ValueStorage::apart)
      list.push_back(&v);
    list.push_back(&lengthOf);
    if (c.storage == KeyStorage::paged)
      list.push_back(&table);
    if (c.problem.sink == AttentionSink::perHead)
      list.push_back(&sinks);
    list.insert(list.end(), {&o, &lse});
    if (artifact.tensors.back().access == Access::workspace)
      list.insert(list.end(), {&partial, &partialLse});
    return list;
  }
};

/// Rows of so many elements, NaN everywhere.
Memory cacheOf(const DecodeConfig &c, Strides strides, int64_t outer, int64_t inner, int64_t length) {
  if (strides == Strides::keysFirst)
    return Memory::filled(c.problem.dtype, {outer, inner, kvHeads, length}, notANumber, 8);
  Memory memory = Memory::filled(c.problem.dtype, {outer, inner, kvHeads, length}, notANumber);
  if (strides == Strides::headsFirst) {
    memory.strides = {kvHeads * inner * length, length, inner * length, 1};
  } else {
    int64_t row = kvHeads * length;
    memory.strides = {inner * 2 * row, 2 * row, length, 1};
    memory.values.assign(size_t(outer * inner * 2 * row), notANumber);
  }
  return memory;
}

class Decoding {
public:
  Decoding(const DecodeConfig &config, uint64_t seed)
      : c(config), artifact(compiled(decodeProgram(config))), random(seed) {}

  void check(Strides strides) {
    std::vector<int64_t> order = lengths;
    std::ranges::shuffle(order, random);
    int64_t b = int64_t(order.size()), keys = *std::ranges::max_element(order);
    bool paged = c.storage == KeyStorage::paged;
    int64_t pages = (keys + c.pageSize - 1) / c.pageSize;
    DecodeShape shape = {.problem = c.problem,
                         .queries = c.queries,
                         .kvHeads = kvHeads,
                         .group = c.group,
                         .keys = paged ? pages * c.pageSize : keys,
                         .pageSize = paged ? c.pageSize : 0,
                         .valuesInKeys = c.values == ValueStorage::inKeys};
    Arguments a;
    a.q = Memory::filled(c.problem.dtype, {b, c.queries, kvHeads, c.group, c.problem.d}, notANumber, 8);
    fillRows(a.q);
    a.lengthOf = Memory::filled(ElementType::i32, {b}, 0);
    std::ranges::copy(order, a.lengthOf.values.begin());
    int64_t all = b * pages + 3, rows = c.queries * ((c.group + 7) / 8 * 8);
    a.k = cacheOf(c, strides, paged ? all : b, paged ? c.pageSize : keys, c.problem.d);
    a.v = cacheOf(c, strides, paged ? all : b, paged ? c.pageSize : keys, c.problem.dv);
    a.table = Memory::filled(ElementType::i32, {b, pages}, 1 << 30);
    std::vector<int64_t> shuffled(static_cast<size_t>(all));
    std::iota(shuffled.begin(), shuffled.end(), 0);
    std::ranges::shuffle(shuffled, random);
    for (int64_t batch = 0; batch < b; ++batch)
      for (int64_t key = 0; key < order[size_t(batch)]; ++key) {
        int64_t outer = batch, inner = key;
        if (paged) {
          outer = shuffled[size_t(batch * pages + key / c.pageSize)];
          inner = key % c.pageSize;
          a.table.at({batch, key / c.pageSize}) = double(outer);
        }
        for (int64_t head = 0; head < kvHeads; ++head)
          for (Memory *memory : {&a.k, &a.v})
            fillRow(*memory, {outer, inner, head, 0});
      }
    a.sinks = Memory::filled(ElementType::f32, {kvHeads, c.group}, 0);
    for (double &sink : a.sinks.values)
      sink = float(draw());
    a.o = Memory::filled(c.problem.dtype, {b, c.queries, kvHeads, c.group, c.problem.dv}, notANumber);
    a.lse = Memory::filled(ElementType::f32, {b, kvHeads, c.group, c.queries}, notANumber);
    a.partial = Memory::filled(ElementType::f32, {b, kvHeads, rows, c.splits, c.problem.dv}, notANumber);
    a.partialLse = Memory::filled(ElementType::f32, {b, kvHeads, rows, c.splits}, notANumber);
    run(artifact, a.all(c, artifact));

    std::vector<double> q = elementsOf(a.q), k = elementsOf(a.k), v = elementsOf(a.v);
    DecodeInputs in = {.q = q, .k = k, .v = shape.valuesInKeys ? k : v, .lengths = a.lengthOf.values};
    in.table = a.table.values;
    if (c.problem.sink == AttentionSink::perHead)
      in.sinks = a.sinks.values;
    compare(a.o, referenceDecode(shape, in, numbersOf(a.o)),
            {.limit = 2 * roundingError(c.problem.dtype), .floor = 0.5});
    compare(a.lse, referenceDecodeLogSumExp(shape, in, numbersOf(a.lse)), {.limit = 1e-5, .floor = 1});
  }

private:
  double draw() { return std::uniform_real_distribution<double>(-1, 1)(random); }
  /// Numbers that the element type holds.
  void fillRow(Memory &memory, const std::vector<int64_t> &at) {
    double *row = &memory.at(at);
    for (int64_t i = 0; i < memory.shape.back(); ++i)
      row[i] = std::round(draw() * 128) / 128;
  }
  void fillRows(Memory &memory) {
    for (int64_t number = 0; number < count(memory); number += memory.shape.back())
      fillRow(memory, positionOf(memory, number));
  }

  static int64_t count(const Memory &memory) {
    return std::accumulate(memory.shape.begin(), memory.shape.end(), int64_t(1), std::multiplies<>());
  }
  static std::vector<int64_t> numbersOf(const Memory &memory) {
    std::vector<int64_t> numbers(static_cast<size_t>(count(memory)));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }
  static std::vector<int64_t> positionOf(const Memory &memory, int64_t number) {
    std::vector<int64_t> position(memory.shape.size());
    for (size_t axis = position.size(); axis-- > 0;) {
      position[axis] = number % memory.shape[axis];
      number /= memory.shape[axis];
    }
    return position;
  }
  static std::vector<double> elementsOf(Memory &memory) {
    std::vector<double> elements;
    for (int64_t number : numbersOf(memory))
      elements.push_back(memory.at(positionOf(memory, number)));
    return elements;
  }
  static void compare(Memory &actual, const std::vector<double> &expected, const Tolerance &tolerance) {
    std::vector<double> elements = elementsOf(actual);
    size_t worst = 0;
    for (size_t i = 0; i < elements.size(); ++i)
      if (!(errorOf(elements[i], expected[i], tolerance) <=
            errorOf(elements[worst], expected[worst], tolerance)))
        worst = i;
    INFO("element " << worst << " is " << elements[worst] << ", expected " << expected[worst]);
    CHECK(errorOf(elements[worst], expected[worst], tolerance) <= tolerance.limit);
  }

  DecodeConfig c;
  Artifact artifact;
  std::mt19937_64 random;
};

template <class T> T pick(std::mt19937_64 &random, std::initializer_list<T> choices) {
  return choices.begin()[random() % choices.size()];
}

/// Any, such that one compiles in little time.
DecodeConfig drawConfig(std::mt19937_64 &random) {
  using Lengths = std::pair<int64_t, int64_t>;
  auto [d, dv] = pick<Lengths>(random, {{8, 8},
                                        {40, 40},
                                        {64, 64},
                                        {72, 72},
                                        {128, 128},
                                        {96, 64},
                                        {104, 48},
                                        {40, 72},
                                        {64, 264},
                                        {320, 48}});
  using Window = std::optional<int64_t>;
  MaskConfig mask = {.causal =
                         pick(random, {CausalAlignment::none, CausalAlignment::right, CausalAlignment::left}),
                     .windowLeft = pick<Window>(random, {std::nullopt, std::nullopt, 0, 5, 70}),
                     .windowRight = pick<Window>(random, {std::nullopt, std::nullopt, 0, 3, 40})};
  DecodeConfig c = {.problem = {.dtype = pick(random, {ElementType::f16, ElementType::bf16}),
                                .d = d,
                                .dv = dv,
                                .mask = mask,
                                .softCap = pick(random, {0.0, 0.0, 2.0}),
                                .sink = pick(random, {AttentionSink::none, AttentionSink::perHead}),
                                .logBase = pick(random, {LogBase::e, LogBase::two})},
                    .queries = pick<int64_t>(random, {1, 1, 2, 5}),
                    .group = pick<int64_t>(random, {1, 2, 3, 5, 8, 12}),
                    .storage = pick(random, {KeyStorage::contiguous, KeyStorage::paged}),
                    .pageSize = pick<int64_t>(random, {16, 48, 64, 128})};
  if (dv <= d && dv % 16 == 0)
    c.values = pick(random, {ValueStorage::apart, ValueStorage::inKeys});
  tuneDecode(c, int64_t(lengths.size()), kvHeads, lengths.back(), *findTarget("sm_90a"));
  c.bk = pick<int64_t>(random, {32, 64, 96});
  c.splits = pick<int64_t>(random, {1, 2, 3, 20});
  c.stages = 8;
  fitDecode(c, *findTarget("sm_90a"));
  c.order = pick(random, {PartOrder::rounds, PartOrder::asNeeded});
  return c;
}

std::string describe(const DecodeConfig &c) {
  std::ostringstream text;
  text << toString(c.problem.dtype) << " d " << c.problem.d << " dv " << c.problem.dv << " queries "
       << c.queries << " group " << c.group << " causal " << int(c.problem.mask.causal) << " window "
       << c.problem.mask.windowLeft.value_or(-1) << " " << c.problem.mask.windowRight.value_or(-1) << " cap "
       << c.problem.softCap << " log base " << int(c.problem.logBase) << " sink " << int(c.problem.sink)
       << " storage " << int(c.storage) << " values " << int(c.values) << " page " << c.pageSize << " rows "
       << c.rows << " bk " << c.bk << " stages " << c.stages << " splits " << c.splits << " order "
       << int(c.order);
  return text.str();
}

} // namespace

namespace {
void checkDrawn(int programs) {
  const uint64_t seed = Catch::rngSeed();
  std::mt19937_64 random(seed);
  for (int repetition = 0; repetition != programs; ++repetition) {
    DecodeConfig c = drawConfig(random);
    Strides strides = pick(random, {Strides::keysFirst, Strides::headsFirst, Strides::together});
    INFO("seed " << seed << ", repetition " << repetition << ": " << describe(c) << ", strides "
                 << int(strides));
    Decoding(c, random()).check(strides);
  }
}
} // namespace

TEST_CASE("decoding looks at no key beyond a sequence's last one", "[programs][attention]") { checkDrawn(4); }

// Of tools/test.sh long.
TEST_CASE("decoding looks at no key beyond the last one of many drawn programs", "[.long]") {
  checkDrawn(40);
}

namespace {
/// A window of a tile or two of each sequence, for rows of several tiles where there are several queries.
void checkWindow(const MaskConfig &mask, int64_t queries, int64_t splits, std::mt19937_64 &random) {
  DecodeConfig c = {.problem = {.d = 64, .dv = 64, .mask = mask, .sink = AttentionSink::perHead},
                    .queries = queries,
                    .group = queries == 1 ? 8 : 24,
                    .storage = pick(random, {KeyStorage::contiguous, KeyStorage::paged})};
  tuneDecode(c, int64_t(lengths.size()), kvHeads, lengths.back(), *findTarget("sm_90a"));
  c.rows = 64;
  c.bk = 32;
  c.splits = splits;
  fitDecode(c, *findTarget("sm_90a"));
  INFO("seed " << Catch::rngSeed() << ": " << describe(c));
  Decoding(c, random()).check(Strides::keysFirst);
}
const MaskConfig windows[] = {{.causal = CausalAlignment::right, .windowLeft = 20},
                              {.windowLeft = 0, .windowRight = 0},
                              {.causal = CausalAlignment::left, .windowLeft = 3},
                              {.windowRight = 1}};

void checkLongRows(KeyStorage storage, ValueStorage values, std::mt19937_64 &random) {
  int64_t splits = pick<int64_t>(random, {1, 2});
  DecodeConfig c = {.problem = {.d = 576, .dv = 512, .scale = 0.05},
                    .group = 12,
                    .storage = storage,
                    .pageSize = 16,
                    .values = values};
  tuneDecode(c, int64_t(lengths.size()), kvHeads, lengths.back(), *findTarget("sm_90a"));
  c.splits = splits;
  c.stages = 8;
  fitDecode(c, *findTarget("sm_90a"));
  INFO("seed " << Catch::rngSeed() << ": " << describe(c));
  Decoding(c, random()).check(Strides::keysFirst);
}
} // namespace

TEST_CASE("decoding visits only tiles of keys in a window", "[programs][attention]") {
  std::mt19937_64 random(Catch::rngSeed());
  // Every two of the numbers of queries and splits.
  for (size_t i = 0; i < std::size(windows); ++i)
    checkWindow(windows[i], i / 2 == 0 ? 1 : 5, i % 2 == 0 ? 1 : 3, random);
}

TEST_CASE("decoding takes rows of 576 and 512", "[programs][attention]") {
  std::mt19937_64 random(Catch::rngSeed());
  // Shorter rows have the other pairs of places.
  checkLongRows(KeyStorage::contiguous, ValueStorage::apart, random);
  checkLongRows(KeyStorage::paged, ValueStorage::inKeys, random);
}

// Of tools/test.sh long.
TEST_CASE("decoding with all combinations of window, queries and splits, of places of keys and values",
          "[.long]") {
  std::mt19937_64 random(Catch::rngSeed());
  for (const MaskConfig &window : windows)
    for (int64_t queries : {1, 5})
      for (int64_t splits : {1, 3})
        checkWindow(window, queries, splits, random);
  for (KeyStorage storage : {KeyStorage::contiguous, KeyStorage::paged})
    for (ValueStorage values : {ValueStorage::apart, ValueStorage::inKeys})
      checkLongRows(storage, values, random);
}
