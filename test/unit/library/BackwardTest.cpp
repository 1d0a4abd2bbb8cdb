// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward and backward, one call after the other, and what backward refuses.
#include "kernels/library/Backward.h"

#include "kernels/reference/AttentionGradients.h"
#include "runtime/device/LaunchPlan.h"
#include "test/unit/library/AttentionCall.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

using namespace tlc;
using namespace tlc::attention;
using namespace tlc::kernels;
using namespace tlc::test;

namespace {

struct Fixture : CallFixture {
  Slice numbers(const std::vector<int64_t> &values) {
    Slice slice = newTensor(device, ElementType::i32, {int64_t(values.size())});
    slice.fill(values);
    slice.block->upload();
    return slice;
  }
};

constexpr ElementType bf16 = ElementType::bf16, f32 = ElementType::f32;

} // namespace

TEST_CASE_METHOD(Fixture, "backward takes what forward has written", "[attention]") {
  constexpr int64_t queries = 150, keys = 170, h = 4, hkv = 2, d = 64, dv = 32;
  const std::vector<int64_t> beginsOfQueries = {0, 90, 90, 150}, beginsOfKeys = {0, 100, 130, 170};
  Slice q = input(bf16, {queries, h, d}), k = input(bf16, {keys, hkv, d}), v = input(bf16, {keys, hkv, dv});
  Slice sink = input(f32, {h}), queryLengths = numbers(beginsOfQueries), keyLengths = numbers(beginsOfKeys);
  Slice o = output(bf16, {queries, h, dv}), lse = output(f32, {h, queries});
  MaskConfig mask{.causal = CausalAlignment::right};
  ForwardOptions forwardOptions{.mask = mask, .lengths = Lengths::packed, .logBase = LogBase::two};
  const CallTensors before{.q = q,
                           .k = k,
                           .v = v,
                           .o = o,
                           .lse = lse,
                           .sink = sink,
                           .queryLengths = queryLengths,
                           .keyLengths = keyLengths};
  attention::Workspace memory = workspace(workspaceSize(programs, before.views(), forwardOptions));
  require(forward(programs, {}, before.views(), memory, forwardOptions));

  Slice dO = input(bf16, {queries, h, dv});
  for (auto [type, isDeterministic] : {std::pair(bf16, true), {f32, false}}) {
    Slice dq = output(type, {queries, h, d}), dk = output(type, {keys, hkv, d}),
          dV = output(type, {keys, hkv, dv}), dSink = output(f32, {h});
    const BackwardTensors tensors = GradientTensors{before, dO, dq, dk, dV, dSink}.views();
    BackwardOptions options{.mask = mask,
                            .lengths = Lengths::packed,
                            .logBase = LogBase::two,
                            .isDeterministic = isDeterministic};
    attention::Workspace own = workspace(workspaceSize(programs, tensors, options));
    require(backward(programs, {}, tensors, own, options));
    REQUIRE(bool(device.synchronize({})));
    AttentionShape shape{.problem = {.d = d, .dv = dv, .mask = mask}, .h = h, .hkv = hkv};
    for (size_t i = 0; i + 1 < beginsOfQueries.size(); ++i)
      shape.sequences.push_back({beginsOfQueries[i], beginsOfQueries[i + 1] - beginsOfQueries[i],
                                 beginsOfKeys[i], beginsOfKeys[i + 1] - beginsOfKeys[i]});
    std::vector<double> qs = q.values(), ks = k.values(), vs = v.values(), dOs = dO.values(),
                        sinks = sink.values();
    AttentionGradients gradients(shape, {qs, ks, vs, dOs, sinks});
    double ofProduct = std::sqrt(double(dv)) / 3;
    checkGradient(dq, gradients, &AttentionGradients::ofQueries, ofProduct / std::sqrt(double(d)));
    checkGradient(dk, gradients, &AttentionGradients::ofKeys, ofProduct / std::sqrt(double(d)));
    checkGradient(dV, gradients, &AttentionGradients::ofValues, 1);
    checkGradient(dSink, gradients, &AttentionGradients::ofSinks, ofProduct);
  }
}

TEST_CASE_METHOD(Fixture, "the gradient of O may have any strides", "[attention]") {
  constexpr int64_t b = 2, sq = 70, sk = 90, h = 4, hkv = 2, d = 64, dv = 48;
  const Slice transposed = input(bf16, {b, h, dv, sq}), single = input(bf16, {1, 1, 1, 1}),
              rows = input(bf16, {1, sq, 1, dv});
  struct Case {
    const char *name;
    Slice dO;
    int expectedLoads; ///< programs after it: the two of rows with and without stride 1
  };
  const Case cases[] = {
      {"columns lie apart", {transposed.block, 0, {b, sq, h, dv}, {h * dv * sq, 1, dv * sq, sq}}, 2},
      {"one number, expanded", {single.block, 0, {b, sq, h, dv}, {0, 0, 0, 0}}, 2},
      {"rows, expanded to batches and heads", {rows.block, 0, {b, sq, h, dv}, {0, dv, 0, 1}}, 3},
  };
  for (const auto &[name, dO, expectedLoads] : cases) {
    CAPTURE(name);
    GradientTensors all{.forward = {.q = input(bf16, {b, sq, h, d}),
                                    .k = input(bf16, {b, sk, hkv, d}),
                                    .v = input(bf16, {b, sk, hkv, dv}),
                                    .o = output(bf16, {b, sq, h, dv}),
                                    .lse = output(f32, {b, h, sq})},
                        .dO = dO,
                        .dq = output(bf16, {b, sq, h, d}),
                        .dk = output(bf16, {b, sk, hkv, d}),
                        .dv = output(bf16, {b, sk, hkv, dv})};
    ForwardTensors before = all.forward.views();
    require(forward(programs, {}, before, workspace(workspaceSize(programs, before))));
    require(backward(programs, {}, all.views(), workspace(workspaceSize(programs, all.views()))));
    REQUIRE(bool(device.synchronize({})));
    CHECK(device.loads == expectedLoads);
    AttentionShape shape = shapeOf(all.forward, {});
    std::vector<double> q = all.forward.q.values(), k = all.forward.k.values(), v = all.forward.v.values(),
                        gradient = dO.values();
    AttentionGradients gradients(shape, {q, k, v, gradient});
    // Rows of dO may all point the same way.
    double ofProduct = std::sqrt(double(dv));
    checkGradient(all.dq, gradients, &AttentionGradients::ofQueries, ofProduct / std::sqrt(double(d)));
    checkGradient(all.dk, gradients, &AttentionGradients::ofKeys, ofProduct / std::sqrt(double(d)));
    checkGradient(all.dv, gradients, &AttentionGradients::ofValues, 1);
  }
}

TEST_CASE_METHOD(Fixture, "tensors of backward may be b x h x s x d", "[attention]") {
  constexpr int64_t b = 2, sq = 75, sk = 139, h = 4, d = 40, dv = 48, padding = 8;
  const MaskConfig mask{.causal = CausalAlignment::right};
  const ForwardOptions forwardOptions{.mask = mask};
  for (auto [hkv, form] : {std::pair(h, AttentionForm::explicitRoles), {2, AttentionForm::plain}}) {
    CAPTURE(hkv, int(form));
    int loads = 0;
    // Memory in the order of the call's axes, then with heads before rows, which takes the same programs.
    for (bool areHeadsFirst : {false, true}) {
      CAPTURE(areHeadsFirst);
      auto tensor = [&](int64_t rows, int64_t heads, int64_t length, bool isInput) {
        Slice slice =
            areHeadsFirst
                ? newTensor(device, bf16, {b, heads, rows, length}, padding).transposed({0, 2, 1, 3})
                : newTensor(device, bf16, {b, rows, heads, length}, padding);
        if (isInput)
          slice.fill(random);
        slice.block->upload();
        return slice;
      };
      GradientTensors all{.forward = {.q = tensor(sq, h, d, true),
                                      .k = tensor(sk, hkv, d, true),
                                      .v = tensor(sk, hkv, dv, true),
                                      .o = tensor(sq, h, dv, false),
                                      .lse = output(f32, {b, h, sq})},
                          .dO = tensor(sq, h, dv, true),
                          .dq = tensor(sq, h, d, false),
                          .dk = tensor(sk, hkv, d, false),
                          .dv = tensor(sk, hkv, dv, false)};
      ForwardTensors before = all.forward.views();
      require(forward(programs, {}, before, workspace(workspaceSize(programs, before, forwardOptions)),
                      forwardOptions));
      BackwardOptions options{.mask = mask, .form = form};
      require(backward(programs, {}, all.views(), workspace(workspaceSize(programs, all.views(), options)),
                       options));
      REQUIRE(bool(device.synchronize({})));
      if (!areHeadsFirst)
        loads = device.loads;
      CHECK(device.loads == loads);
      std::vector<double> q = all.forward.q.values(), k = all.forward.k.values(), v = all.forward.v.values(),
                          ofOutput = all.dO.values();
      AttentionGradients gradients(shapeOf(all.forward, forwardOptions), {q, k, v, ofOutput});
      double ofProduct = std::sqrt(double(dv)) / 3;
      checkGradient(all.dq, gradients, &AttentionGradients::ofQueries, ofProduct / std::sqrt(double(d)));
      checkGradient(all.dk, gradients, &AttentionGradients::ofKeys, ofProduct / std::sqrt(double(d)));
      checkGradient(all.dv, gradients, &AttentionGradients::ofValues, 1);
    }
  }
}

TEST_CASE_METHOD(Fixture, "backward of padded sequences leaves padding alone", "[attention]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr int64_t b = 3, sq = 100, sk = 140, h = 4, hkv = 2, d = 64;
  const std::vector<int64_t> queries = {70, 0, 100}, keys = {140, 20, 65};
  for (auto [form, stride] : {std::pair(AttentionForm::explicitRoles, ElementStride::any),
                              {AttentionForm::plain, ElementStride::one}}) {
    CAPTURE(int(form), int(stride));
    GradientTensors all{.forward = {.q = input(bf16, {b, sq, h, d}),
                                    .k = input(bf16, {b, sk, hkv, d}),
                                    .v = input(bf16, {b, sk, hkv, d}),
                                    .o = output(bf16, {b, sq, h, d}),
                                    .lse = output(f32, {b, h, sq}),
                                    .queryLengths = numbers(queries),
                                    .keyLengths = numbers(keys)},
                        .dO = input(bf16, {b, sq, h, d}),
                        .dq = output(bf16, {b, sq, h, d}),
                        .dk = output(bf16, {b, sk, hkv, d}),
                        .dv = output(bf16, {b, sk, hkv, d})};
    if (stride == ElementStride::any) {
      Slice apart = input(bf16, {b, h, d, sq});
      all.dO = {apart.block, 0, {b, sq, h, d}, {h * d * sq, 1, d * sq, sq}};
    }
    // Those of O and LSE are NaN before forward runs.
    auto forEachPadding = [&](const Slice &tensor, const std::vector<int64_t> &lengths, auto body) {
      for (int64_t batch = 0; batch < b; ++batch) {
        int64_t length = lengths[size_t(batch)];
        Slice rows = tensor.part(0, batch, 1).part(1, length, tensor.shape[1] - length);
        for (int64_t i = 0; i < rows.count(); ++i)
          body(rows.at(i));
      }
    };
    for (auto [tensor, lengths] : {std::pair(&all.forward.q, &queries),
                                   {&all.forward.k, &keys},
                                   {&all.forward.v, &keys},
                                   {&all.dO, &queries}}) {
      forEachPadding(*tensor, *lengths, [](double &element) { element = nan; });
      tensor->block->upload();
    }
    ForwardOptions forwardOptions{.lengths = Lengths::padded};
    ForwardTensors before = all.forward.views();
    require(forward(programs, {}, before, workspace(workspaceSize(programs, before, forwardOptions)),
                    forwardOptions));
    BackwardOptions options{.lengths = Lengths::padded, .form = form};
    require(backward(programs, {}, all.views(), workspace(workspaceSize(programs, all.views(), options)),
                     options));
    REQUIRE(bool(device.synchronize({})));
    for (auto [tensor, lengths] : {std::pair(&all.dq, &queries), {&all.dk, &keys}, {&all.dv, &keys}}) {
      tensor->block->download();
      int64_t numbersInside = 0, all = 0;
      for (double value : tensor->values()) {
        ++all;
        numbersInside += std::isnan(value) ? 0 : 1;
      }
      int64_t inPadding = 0;
      forEachPadding(*tensor, *lengths, [&](double &element) {
        ++inPadding;
        REQUIRE(std::isnan(element));
      });
      CHECK(numbersInside == all - inPadding);
    }
  }
}

TEST_CASE_METHOD(Fixture, "backward refuses what does not fit by name", "[attention]") {
  auto *const memory = reinterpret_cast<std::byte *>(uintptr_t(1) << 20);
  auto view = [&](int64_t number, ElementType type, std::vector<int64_t> shape) {
    return contiguousView(memory + (number << 24), type, std::move(shape));
  };
  const BackwardTensors good{.q = view(0, bf16, {2, 30, 4, 64}),
                             .k = view(1, bf16, {2, 40, 2, 64}),
                             .v = view(2, bf16, {2, 40, 2, 64}),
                             .o = view(3, bf16, {2, 30, 4, 64}),
                             .lse = view(4, f32, {2, 4, 30}),
                             .dO = view(5, bf16, {2, 30, 4, 64}),
                             .dq = view(6, bf16, {2, 30, 4, 64}),
                             .dk = view(7, bf16, {2, 40, 2, 64}),
                             .dv = view(8, bf16, {2, 40, 2, 64})};
  auto errorOf = [&](const BackwardTensors &tensors, const BackwardOptions &options = {}) {
    Result<void> done = backward(programs, {}, tensors, {}, options);
    REQUIRE_FALSE(bool(done));
    return done.error().message;
  };
  BackwardTensors bad = good;
  bad.lse = view(4, f32, {2, 4, 31});
  CHECK_THAT(errorOf(bad), Catch::StartsWith("argument 'lse' axis 2: expected extent 30"));
  bad = good;
  bad.lse = view(4, bf16, {2, 4, 30});
  CHECK_THAT(errorOf(bad), Catch::StartsWith("argument 'lse'"));
  bad = good;
  bad.dk = view(7, f32, {2, 40, 2, 64});
  CHECK_THAT(errorOf(bad), Catch::StartsWith("argument 'dk'"));
  bad = good;
  bad.dq.element = ElementType::f16;
  CHECK(errorOf(bad) == "argument 'dq': expected element type bf16 or f32, but got f16");
  bad = good;
  bad.sink = view(9, f32, {4});
  CHECK(errorOf(bad) == "argument 'dSink': expected one because there is a sink, but got none");
  bad = good;
  bad.q.element = ElementType::e4m3;
  CHECK(errorOf(bad) == "argument 'q': expected element type f16 or bf16, but got e4m3");
  bad = good;
  bad.k = view(1, bf16, {2, 41, 2, 64});
  CHECK_THAT(errorOf(bad), Catch::StartsWith("argument 'v' axis 1: expected extent 41"));
  bad = good;
  bad.k = bad.dk = view(1, bf16, {2, 40, 3, 64});
  bad.v = bad.dv = view(2, bf16, {2, 40, 3, 64});
  CHECK_THAT(errorOf(bad), Catch::StartsWith("attention::backward: expected h to be a multiple of hkv"));
  bad = good;
  bad.v.element = ElementType::f16;
  CHECK_THAT(errorOf(bad), Catch::StartsWith("argument 'v': expected element type bf16, but got f16"));
  bad = good;
  bad.dO.element = f32;
  CHECK_THAT(errorOf(bad), Catch::StartsWith("argument 'dO': expected element type bf16, but got f32"));
  bad = good;
  bad.lse.strides = {120, 1, 4};
  CHECK_THAT(errorOf(bad), Catch::StartsWith("argument 'lse'"));
  CHECK(errorOf(good, {.dq = QuerySum::atomic, .isDeterministic = true}) ==
        "option 'dq': expected no atomic sums because option 'isDeterministic' is set and they add in any "
        "order; leave it open");
  CHECK(errorOf(good, {.dkv = KeySum::atomic, .isDeterministic = true}) ==
        "option 'dkv': expected no atomic sums because option 'isDeterministic' is set and they add in any "
        "order; leave it open");

  // What a launch would touch.
  auto errorOfMemory = [&](const BackwardTensors &tensors) {
    Result<void> done = backward(programs, {}, tensors, workspace(workspaceSize(programs, good)));
    REQUIRE_FALSE(bool(done));
    return done.error().message;
  };
  bad = good;
  bad.dO.data = nullptr;
  CHECK_THAT(errorOfMemory(bad), Catch::Contains("'dO'") && Catch::Contains("null"));
  bad = good;
  bad.dv = bad.dk;
  CHECK(errorOfMemory(bad) == "argument 'dk': expected memory of its own because attention::backward writes "
                              "it, but it overlaps argument 'dv'");
  bad = good;
  bad.dq = bad.q;
  CHECK(errorOfMemory(bad) == "argument 'dq': expected memory of its own because attention::backward writes "
                              "it, but it overlaps argument 'q'");
  CHECK_THAT(errorOf(good), Catch::StartsWith("workspace: expected at least"));
  CHECK(device.launches == 0);
}
