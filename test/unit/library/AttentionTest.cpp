// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention called on tensors as others lay them out, against the reference.
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/target/Target.h"
#include "test/unit/library/AttentionCall.h"

#include <array>
#include <catch2/catch.hpp>
#include <limits>

using namespace tlc;
using namespace tlc::attention;
using namespace tlc::test;

namespace {

struct Fixture {
  CountingDevice device;
  ArtifactCache artifacts;
  Programs programs{device, artifacts};
  int seed = GENERATE(take(1, Catch::Generators::random(0, 1 << 30)));
  kernels::Random random{uint64_t(seed)};

  int64_t draw(int64_t least, int64_t most) { return least + int64_t(random() % uint64_t(most - least + 1)); }
  void fill(const CallTensors &t) {
    for (const Slice *slice : {&t.q, &t.k, &t.v})
      slice->fill(random);
    if (t.sink)
      t.sink->fill(random);
  }
  void check(const CallTensors &tensors, const ForwardOptions &options) {
    CAPTURE(seed);
    fill(tensors);
    checkForward(device, programs, tensors, options);
  }
  ForwardChoice choice(const CallTensors &tensors, const ForwardOptions &options) {
    Result<ForwardChoice> chosen = chooseForm(programs, tensors.views(), options);
    REQUIRE(bool(chosen));
    return *chosen;
  }
  Slice lengths(const std::vector<int64_t> &numbers) {
    Slice slice = newTensor(device, ElementType::i32, {int64_t(numbers.size())});
    slice.fill(numbers);
    return slice;
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "attention takes any order of batches, rows and heads", "[attention]") {
  constexpr ElementType type = ElementType::bf16;
  constexpr int64_t b = 2, h = 4, hkv = 2, d = 64;
  int64_t sq = draw(1, 200), sk = draw(1, 300);
  ForwardOptions options{.mask = {.causal = CausalAlignment::right}};
  CAPTURE(sq, sk);

  CallTensors rowsFirst{.q = newTensor(device, type, {b, sq, h, d}, 8),
                        .k = newTensor(device, type, {b, sk, hkv, d}, 16),
                        .v = newTensor(device, type, {b, sk, hkv, d}, 8),
                        .o = newTensor(device, type, {b, sq, h, d}, 24),
                        .lse = newTensor(device, ElementType::f32, {b, h, sq}, 3, 1)};
  CHECK(choice(rowsFirst, options).form == AttentionForm::explicitRoles);
  check(rowsFirst, options);

  CallTensors headsFirst{.q = newTensor(device, type, {b, h, sq, d}).transposed({0, 2, 1, 3}),
                         .k = newTensor(device, type, {b, hkv, sk, d}).transposed({0, 2, 1, 3}),
                         .v = newTensor(device, type, {b, hkv, sk, d}).transposed({0, 2, 1, 3}),
                         .o = newTensor(device, type, {b, h, sq, d}).transposed({0, 2, 1, 3}),
                         .lse = newTensor(device, ElementType::f32, {h, b, sq}).transposed({1, 0, 2})};
  check(headsFirst, options);
  CHECK(device.loads == 1);

  Slice qkv = newTensor(device, type, {b, sq, h + 2 * hkv, d});
  CallTensors together{.q = qkv.part(2, 0, h),
                       .k = qkv.part(2, h, hkv),
                       .v = qkv.part(2, h + hkv, hkv),
                       .o = newTensor(device, type, {b, sq, h, d}),
                       .lse = newTensor(device, ElementType::f32, {b, h, sq})};
  check(together, options);
}

TEST_CASE_METHOD(Fixture, "attention takes the plain form where the explicit one is impossible",
                 "[attention]") {
  constexpr ElementType type = ElementType::f16;
  constexpr int64_t b = 1, h = 3, hkv = 1, d = 72, dv = 40;
  int64_t sq = draw(1, 140), sk = draw(1, 140);
  CAPTURE(sq, sk);
  CallTensors tensors{.q = newTensor(device, type, {b, sq, h, d}, 3, 5),
                      .k = newTensor(device, type, {b, sk, hkv, d}, 0, 1),
                      .v = newTensor(device, type, {b, sk, hkv, dv}, 1),
                      .o = newTensor(device, type, {b, sq, h, dv}, 7, 1),
                      .lse = newTensor(device, ElementType::f32, {b, h, sq}, 0, 1)};
  ForwardOptions options{.scale = 0.2, .logBase = LogBase::two};
  CHECK(choice(tensors, options).form == AttentionForm::plain);
  CHECK(choice(tensors, options).why.find("are not all multiples of 16 bytes") != std::string::npos);
  check(tensors, options);
}

TEST_CASE_METHOD(Fixture, "attention of rows that are no multiple of what a product sums up", "[attention]") {
  constexpr ElementType type = ElementType::f16;
  constexpr int64_t b = 1, h = 3, hkv = 1, d = 72, dv = 40;
  int64_t sq = draw(1, 140), sk = draw(1, 140);
  CAPTURE(sq, sk);
  CallTensors tensors{.q = newTensor(device, type, {b, sq, h, d}),
                      .k = newTensor(device, type, {b, sk, hkv, d}),
                      .v = newTensor(device, type, {b, sk, hkv, dv}),
                      .o = newTensor(device, type, {b, sq, h, dv}),
                      .lse = newTensor(device, ElementType::f32, {b, h, sq}, 0, 1)};
  CHECK(choice(tensors, {}).form == AttentionForm::explicitRoles);
  check(tensors, {.scale = 0.2});
}

TEST_CASE_METHOD(Fixture, "attention of rows of two lengths that barely fit", "[attention]") {
  constexpr ElementType type = ElementType::bf16;
  for (auto [d, dv] :
       {std::pair<int64_t, int64_t>{128, 112}, {256, 240}, {160, 256}, {320, 256}, {576, 512}}) {
    int64_t sq = draw(1, 70), sk = draw(1, 200);
    CAPTURE(d, dv, sq, sk);
    CallTensors tensors{.q = newTensor(device, type, {1, sq, 1, d}),
                        .k = newTensor(device, type, {1, sk, 1, d}),
                        .v = newTensor(device, type, {1, sk, 1, dv}),
                        .o = newTensor(device, type, {1, sq, 1, dv}),
                        .lse = newTensor(device, ElementType::f32, {1, 1, sq})};
    check(tensors, {.form = AttentionForm::explicitRoles});
  }
}

TEST_CASE_METHOD(Fixture, "attention on devices without wgmma", "[attention]") {
  for (const char *target : {"sm_80", "sm_100a"}) {
    CountingDevice other(createEmulatorDevice({.target = findTarget(target), .multiprocessors = 3}));
    Programs others(other, artifacts);
    CallTensors tensors{.q = newTensor(other, ElementType::bf16, {1, 70, 2, 64}),
                        .k = newTensor(other, ElementType::bf16, {1, 90, 2, 64}),
                        .v = newTensor(other, ElementType::bf16, {1, 90, 2, 64}),
                        .o = newTensor(other, ElementType::bf16, {1, 70, 2, 64}),
                        .lse = newTensor(other, ElementType::f32, {1, 2, 70})};
    Result<ForwardChoice> chosen = chooseForm(others, tensors.views());
    REQUIRE(bool(chosen));
    CHECK(chosen->why == std::string(target) + " has no wgmma");
    fill(tensors);
    checkForward(other, others, tensors, {.mask = {.causal = CausalAlignment::left}});
  }
}

TEST_CASE_METHOD(Fixture, "attention of padded sequences does not read what is beyond them", "[attention]") {
  constexpr ElementType type = ElementType::f16;
  constexpr int64_t b = 4, h = 2, hkv = 1, d = 32, dv = 48;
  int64_t sq = draw(1, 150), sk = draw(1, 150);
  std::vector<int64_t> queries = {0, draw(0, sq), sq, draw(0, sq)}, keys = {draw(0, sk), 0, draw(0, sk), sk};
  CAPTURE(sq, sk, queries, keys);
  CallTensors tensors{.q = newTensor(device, type, {b, sq, h, d}),
                      .k = newTensor(device, type, {b, sk, hkv, d}),
                      .v = newTensor(device, type, {b, sk, hkv, dv}),
                      .o = newTensor(device, type, {b, sq, h, dv}),
                      .lse = newTensor(device, ElementType::f32, {b, h, sq}),
                      .sink = newTensor(device, ElementType::f32, {h}),
                      .queryLengths = lengths(queries),
                      .keyLengths = lengths(keys)};
  fill(tensors);
  for (int64_t batch = 0; batch < b; ++batch) {
    auto poisonBehind = [&](const Slice &tensor, int64_t length) {
      Slice rows = tensor.part(0, batch, 1).part(1, length, tensor.shape[1] - length);
      for (int64_t i = 0; i < rows.count(); ++i)
        rows.at(i) = std::numeric_limits<double>::quiet_NaN();
    };
    poisonBehind(tensors.q, queries[size_t(batch)]);
    poisonBehind(tensors.k, keys[size_t(batch)]);
    poisonBehind(tensors.v, keys[size_t(batch)]);
  }
  CAPTURE(seed);
  checkForward(device, programs, tensors,
               {.mask = {.windowLeft = 40, .windowRight = 7},
                .lengths = Lengths::padded,
                .softCap = 2.5,
                .logBase = LogBase::two});
}

TEST_CASE_METHOD(Fixture, "attention of packed sequences, Q, K and V in one tensor", "[attention]") {
  constexpr ElementType type = ElementType::bf16;
  constexpr int64_t h = 2, d = 64;
  std::vector<int64_t> begins = {0};
  for (int64_t length : {draw(0, 30), int64_t(0), draw(0, 150), draw(1, 60)})
    begins.push_back(begins.back() + 2 * length);
  CAPTURE(begins);
  int64_t rows = begins.back();
  Slice qkv = newTensor(device, type, {rows, 3, h * d});
  auto third = [&](int64_t n) { return Slice{qkv.block, n * h * d, {rows, h, d}, {3 * h * d, d, 1}}; };
  Slice begin = lengths(begins);
  CallTensors tensors{.q = third(0),
                      .k = third(1),
                      .v = third(2),
                      .o = newTensor(device, type, {rows, h, d}),
                      .lse = newTensor(device, ElementType::f32, {h, rows}, 5),
                      .queryLengths = begin,
                      .keyLengths = begin};
  check(tensors, {.mask = {.causal = CausalAlignment::left}, .lengths = Lengths::packed});
  check(tensors, {.mask = {.blockCausal = draw(1, 20)}, .lengths = Lengths::packed});
  CHECK(device.loads == 2);
}

TEST_CASE_METHOD(Fixture, "attention without queries, without keys, without batches", "[attention]") {
  constexpr ElementType type = ElementType::bf16;
  for (auto [b, sq, sk] : {std::array<int64_t, 3>{1, 0, 5}, {2, 70, 0}, {0, 9, 9}}) {
    CAPTURE(b, sq, sk);
    CallTensors tensors{.q = newTensor(device, type, {b, sq, 2, 64}),
                        .k = newTensor(device, type, {b, sk, 2, 64}),
                        .v = newTensor(device, type, {b, sk, 2, 64}),
                        .o = newTensor(device, type, {b, sq, 2, 64}),
                        .lse = newTensor(device, ElementType::f32, {b, 2, sq})};
    check(tensors, {.mask = {.causal = CausalAlignment::right}});
  }
}

TEST_CASE_METHOD(Fixture, "attention has programs for few rows and for many, of packed sequences one for all",
                 "[attention]") {
  using Extents = std::vector<int64_t>;
  auto programsOf = [&](Lengths lengths, std::initializer_list<int64_t> numbersOfRows) {
    int before = device.loads;
    for (int64_t n : numbersOfRows) {
      CAPTURE(n);
      bool isPacked = lengths == Lengths::packed;
      auto rows = [&] {
        return newTensor(device, ElementType::bf16, isPacked ? Extents{n, 4, 32} : Extents{1, n, 4, 32});
      };
      CallTensors tensors{
          .q = rows(),
          .k = rows(),
          .v = rows(),
          .o = rows(),
          .lse = newTensor(device, ElementType::f32, isPacked ? Extents{4, n} : Extents{1, 4, n})};
      if (lengths != Lengths::uniform)
        tensors.queryLengths = tensors.keyLengths =
            newTensor(device, ElementType::i32, Extents{isPacked ? 2 : 1});
      CHECK(bool(workspaceSize(programs, tensors.views(), {.lengths = lengths})));
    }
    return device.loads - before;
  };
  CHECK(programsOf(Lengths::uniform, {2, 3, 16}) == 1); // one tile of 16 keys
  CHECK(programsOf(Lengths::uniform, {17, 32}) == 1);
  CHECK(programsOf(Lengths::padded, {70, 80}) == 1);
  CHECK(programsOf(Lengths::padded, {1000, 1010}) == 1);
  CHECK(programsOf(Lengths::packed, {2, 100, 2000}) == 1);
}

TEST_CASE_METHOD(Fixture, "attention of few queries with many keys splits keys", "[attention]") {
  constexpr ElementType type = ElementType::f16;
  constexpr int64_t sk = 3000, hkv = 2, d = 72, dv = 40;
  auto tensorsOf = [&](int64_t b, int64_t sq, int64_t h) {
    return CallTensors{.q = newTensor(device, type, {b, h, sq, d}).transposed({0, 2, 1, 3}),
                       .k = newTensor(device, type, {b, sk, hkv, d}, 16),
                       .v = newTensor(device, type, {b, sk, hkv, dv}, 8),
                       .o = newTensor(device, type, {b, sq, h, dv}, 24),
                       .lse = newTensor(device, ElementType::f32, {b, h, sq}, 3, 1)};
  };
  ForwardOptions options{
      .mask = {.causal = CausalAlignment::right, .windowLeft = 2900}, .softCap = 20, .logBase = LogBase::two};
  for (int64_t h : {2, 6}) { // parts of tiles have rows of the next heads
    CallTensors tensors = tensorsOf(1, draw(1, 16), h);
    tensors.sink = newTensor(device, ElementType::f32, {h});
    CHECK(choice(tensors, options).form == AttentionForm::splitKeys);
    check(tensors, options);
  }
  // Insisted on, for any number of queries.
  options.form = AttentionForm::splitKeys;
  for (int64_t h : {4, 6}) { // tiles of two heads of 37 queries, and of three, beside which there is room
    CallTensors tensors = tensorsOf(2, 37, h);
    tensors.sink = newTensor(device, ElementType::f32, {h});
    check(tensors, options);
  }
  options.lengths = Lengths::padded;
  CallTensors padded = tensorsOf(1, 2, 4);
  padded.queryLengths = lengths({2});
  padded.keyLengths = lengths({10});
  Result<ForwardChoice> chosen = chooseForm(programs, padded.views(), options);
  REQUIRE(!chosen);
  CHECK(chosen.error().message ==
        "option 'form': expected arguments for split keys because it was requested, but keys are split only "
        "where "
        "all sequences have the same lengths; leave 'form' out to use another form");
}

TEST_CASE_METHOD(Fixture, "devices that share a cache compile a program of attention once", "[attention]") {
  kernels::ForwardConfig config{.problem = {.d = 64, .dv = 64}, .form = AttentionForm::plain};
  chooseTiles(config, {.sq = 64, .sk = 64}, *findTarget("sm_90a"));
  auto first = programs.load(forwardCall(config)), again = programs.load(forwardCall(config));
  REQUIRE((first && again));
  CHECK(*first == *again);
  CHECK(device.loads == 1);

  CountingDevice otherDevice;
  Programs others(otherDevice, artifacts);
  auto other = others.load(forwardCall(config));
  REQUIRE(bool(other));
  CHECK(*other != *first);
  CHECK((*other)->artifact().variants.front().ptx == (*first)->artifact().variants.front().ptx);
  CHECK(otherDevice.loads == 1);

  for (auto change : std::vector<std::function<void(kernels::ForwardConfig &)>>{
           [](auto &c) { c.problem.scale = 0.5; }, [](auto &c) { c.problem.mask.windowLeft = 0; },
           [](auto &c) { c.problem.mask.windowRight = 0; }, [](auto &c) { c.problem.softCap = 1; }}) {
    kernels::ForwardConfig changed = config;
    change(changed);
    auto own = programs.load(forwardCall(changed));
    REQUIRE(bool(own));
    CHECK(*own != *first);
  }
  CHECK(device.loads == 5);
}
