// SPDX-License-Identifier: Apache-2.0
/// \file
/// Deterministic gradients on parts of a device.
#include "kernels/library/Backward.h"
#include "test/Expect.h"
#include "test/unit/library/AttentionCall.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

using namespace tlc;
using namespace tlc::attention;
using namespace tlc::test;

TEST_CASE("deterministic gradients have the same bits on any part of a device", "[attention][cuda]") {
  const auto dq = GENERATE(QuerySum::ownLaunch, QuerySum::ordered);
  const auto dkv = GENERATE(KeySum::loop, KeySum::split);
  const int most = openDevice()->properties().multiprocessors;
  // More tiles of keys than multiprocessors: each batch has three.
  const int64_t b = most / 3 + 1;
  constexpr int64_t sq = 70, sk = 260, h = 2, hkv = 1, d = 64;
  constexpr ElementType bf16 = ElementType::bf16, f32 = ElementType::f32;
  const MaskConfig mask{.causal = CausalAlignment::right};
  const ForwardOptions forwardOptions{.mask = mask};
  const BackwardOptions options{.mask = mask, .dq = dq, .dkv = dkv, .isDeterministic = true};
  const auto seed = uint64_t(Catch::rngSeed());
  ArtifactCache artifacts;
  std::vector<std::vector<double>> expected;
  for (int multiprocessors : {most, std::min(60, most - 1), 1}) {
    CAPTURE(int(dq), int(dkv), seed, multiprocessors);
    CountingDevice device(openDevice(multiprocessors));
    REQUIRE(device.properties().multiprocessors == multiprocessors);
    Programs programs{device, artifacts};
    kernels::Random random(seed);
    auto input = [&](const std::vector<int64_t> &shape) {
      Slice slice = newTensor(device, bf16, shape);
      slice.fill(random);
      return slice;
    };
    CallTensors tensors{.q = input({b, sq, h, d}),
                        .k = input({b, sk, hkv, d}),
                        .v = input({b, sk, hkv, d}),
                        .o = newTensor(device, bf16, {b, sq, h, d}),
                        .lse = newTensor(device, f32, {b, h, sq})};
    upload(tensors);
    Slice dO = input({b, sq, h, d});
    dO.block->upload();
    const Slice gradients[] = {newTensor(device, f32, {b, sq, h, d}), newTensor(device, f32, {b, sk, hkv, d}),
                               newTensor(device, f32, {b, sk, hkv, d})};
    for (const Slice &gradient : gradients)
      gradient.block->upload();
    const ForwardTensors before = tensors.views();
    const BackwardTensors all =
        GradientTensors{tensors, dO, gradients[0], gradients[1], gradients[2]}.views();
    size_t bytesBefore = expectValue(workspaceSize(programs, before, forwardOptions)),
           bytes = expectValue(workspaceSize(programs, all, options));
    auto workspaceBefore = expectValue(kernels::DeviceMemory::allocate(device, bytesBefore)),
         workspace = expectValue(kernels::DeviceMemory::allocate(device, bytes));
    expectSuccess(forward(programs, {}, before, {workspaceBefore.address(), bytesBefore}, forwardOptions));
    expectSuccess(backward(programs, {}, all, {workspace.address(), bytes}, options));
    expectSuccess(device.synchronize({}));
    for (size_t i = 0; i < std::size(gradients); ++i) {
      gradients[i].block->download();
      const std::vector<double> &actual = gradients[i].block->values;
      REQUIRE(std::ranges::none_of(actual, [](double value) { return std::isnan(value); }));
      if (expected.size() == i)
        expected.push_back(actual);
      auto bits = [](double value) { return std::bit_cast<uint64_t>(value); };
      CHECK(std::ranges::equal(actual, expected[i], {}, bits, bits));
    }
  }
}
