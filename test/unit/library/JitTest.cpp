// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs as functions.
#include "kernels/library/Jit.h"

#include "compiler/pipeline/Options.h"
#include "test/Expect.h"

#include <catch2/catch.hpp>
#include <numeric>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

/// Y = a X + Y.
Program scaled() {
  return Program::trace("scaled", [](Scope &k) {
    Index n = k.dim("n");
    Scalar factor = k.scalar("a", f32);
    Global X = k.input("X", f32, {n}), Y = k.inout("Y", f32, {n});
    auto [block] = k.grid(ceilDiv(n, 64));
    Fragment x = k.fragment(f32, {64}), y = k.fragment(f32, {64});
    copy(X.tile({block * 64}, {64}), x);
    copy(Y.tile({block * 64}, {64}), y);
    copy(factor * x + y, Y.tile({block * 64}, {64}));
  });
}

/// Y[i] = X[i] + c, an integer of 8 bits.
Program shifted() {
  return Program::trace("shifted", [](Scope &k) {
    Index n = k.dim("n");
    Scalar c = k.scalar("c", i8);
    Global X = k.input("X", i8, {n}), Y = k.output("Y", i8, {n});
    Fragment x = k.fragment(i8, {64});
    copy(X.tile({0}, {64}), x);
    copy(x + c, Y.tile({0}, {64}));
  });
}

/// Y = X, and a workspace of as many elements.
Program noted() {
  return Program::trace("noted", [](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n}), W = k.workspace("W", f32, {n});
    auto [block] = k.grid(ceilDiv(n, 64));
    Fragment x = k.fragment(f32, {64});
    copy(X.tile({block * 64}, {64}), x);
    copy(x, W.tile({block * 64}, {64}));
    copy(x, Y.tile({block * 64}, {64}));
  });
}

struct Fixture {
  std::unique_ptr<Device> device = createEmulatorDevice();
  Kernel kernel = expectValue(jit(scaled(), *device));
  std::vector<float> numbers = [] {
    std::vector<float> values(100);
    std::iota(values.begin(), values.end(), 0.f);
    return values;
  }();
  Array<float> x = expectValue(Array<float>::of(*device, {100}, numbers)),
               y = expectValue(Array<float>::of(*device, {100}, numbers));

  std::string refusal(const Result<void> &result) const { return result ? "" : result.error().message; }
};

/// As dlpack.h has it.
struct DlTensor {
  void *data;
  struct {
    int32_t type, id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};

} // namespace

TEST_CASE("a program is called with tensors and numbers", "[jit]") {
  Fixture fixture;
  expectSuccess(fixture.kernel({}, 2.5, fixture.x, fixture.y));
  CHECK(expectValue(fixture.y.toHost())[99] == 3.5f * 99);
  expectSuccess(fixture.kernel({}, fixture.x, fixture.y, 2)); // numbers have an order of their own
  CHECK(expectValue(fixture.y.toHost())[99] == 5.5f * 99);
  expectSuccess(fixture.kernel({}, {{"Y", fixture.y}, {"a", -1.0}, {"X", fixture.x}}));
  CHECK(expectValue(fixture.y.toHost())[99] == 4.5f * 99);
}

TEST_CASE("a call with workspaces is not captured, before and after the first one", "[jit]") {
  Fixture fixture;
  const Kernel kernel = expectValue(jit(noted(), *fixture.device));
  const std::unique_ptr<OwnedStream> stream = expectValue(fixture.device->createStream());
  for (int calls = 0; calls < 2; ++calls) {
    const auto graph =
        fixture.device->capture(*stream, [&] { return kernel(*stream, fixture.x, fixture.y); });
    REQUIRE_FALSE(graph);
    CHECK(graph.error().message ==
          "cannot capture a call of 'noted': it has workspaces, which a graph would share with later calls; "
          "capture a launch of Kernel::program() by Device::prepare, with workspaces of its own "
          "(workspacesOf)");
    expectSuccess(kernel(*stream, fixture.x, fixture.y));
  }
  CHECK(expectValue(fixture.y.toHost())[99] == 99);
}

TEST_CASE("a call without workspaces is captured", "[jit]") {
  Fixture fixture;
  const std::unique_ptr<OwnedStream> stream = expectValue(fixture.device->createStream());
  const std::unique_ptr<Graph> graph = expectValue(
      fixture.device->capture(*stream, [&] { return fixture.kernel(*stream, 2, fixture.x, fixture.y); }));
  for (int launches = 0; launches < 2; ++launches)
    expectSuccess(graph->launch(*stream));
  CHECK(expectValue(fixture.y.toHost())[99] == 5 * 99);
}

TEST_CASE("a launch with workspaces of its own is captured", "[jit]") {
  Fixture fixture;
  const Kernel kernel = expectValue(jit(noted(), *fixture.device));
  const std::unique_ptr<OwnedStream> stream = expectValue(fixture.device->createStream());
  Array<float> workspace = expectValue(Array<float>::allocate(*fixture.device, {100}));
  LaunchArguments arguments;
  for (Array<float> *array : {&fixture.x, &fixture.y, &workspace})
    arguments.tensors.push_back(*Tensor(*array).view());
  const auto launch = expectValue(fixture.device->prepare(kernel.program(), arguments));
  const std::unique_ptr<Graph> graph =
      expectValue(fixture.device->capture(*stream, [&] { return launch->enqueue(*stream); }));
  expectSuccess(graph->launch(*stream));
  CHECK(expectValue(workspace.toHost()) == fixture.numbers);
}

TEST_CASE("a kernel outlives the streams that it was called on", "[jit]") {
  Fixture fixture;
  const Kernel kernel = expectValue(jit(noted(), *fixture.device));
  for (int streams = 0; streams < 2; ++streams) {
    const std::unique_ptr<OwnedStream> stream = expectValue(fixture.device->createStream());
    expectSuccess(kernel(*stream, fixture.x, fixture.y));
  }
  CHECK(expectValue(fixture.y.toHost())[99] == 99);
}

TEST_CASE("tensors of DLPack are arguments of a program", "[jit]") {
  Fixture fixture;
  int64_t shape[] = {50}, strides[] = {1};
  DlTensor half = {fixture.x.data(), {2, 0}, 1, {2, 32, 1}, shape, strides, 50 * sizeof(float)};
  DlTensor out = {fixture.y.data(), {2, 0}, 1, {2, 32, 1}, shape, nullptr, 0};
  expectSuccess(fixture.kernel({}, 1, Tensor(half), Tensor(out)));
  const std::vector<float> y = expectValue(fixture.y.toHost());
  CHECK(y[0] == 50);
  CHECK(y[49] == 148);
  CHECK(y[50] == 50);
  half.dtype.bits = 13;
  CHECK(fixture.refusal(fixture.kernel({}, 1, half, out)) ==
        "expected a DLPack type of elements, but got code 2 with 13 bits and 1 lanes");
}

TEST_CASE("wrong calls of a program are errors that name the argument", "[jit]") {
  Fixture fixture;
  Kernel &kernel = fixture.kernel;
  CHECK(fixture.refusal(kernel({}, 1, 2, fixture.x, fixture.y)) == "'scaled' takes 1 numbers, but got more");
  CHECK_THAT(fixture.refusal(kernel({}, fixture.x, fixture.y)),
             Catch::Contains("expects 1 scalars (a), but got 0"));
  CHECK_THAT(fixture.refusal(kernel({}, 1, fixture.x)), Catch::Contains("expects 2 tensors"));
  CHECK(fixture.refusal(kernel({}, {{"Z", fixture.x}})) == "'scaled' takes X, Y, a, but got 'Z'");
  CHECK(fixture.refusal(kernel({}, {{"X", fixture.x}, {"Y", fixture.y}})) ==
        "'scaled' takes X, Y, a, but got no 'a'");
  CHECK(fixture.refusal(kernel({}, {{"X", fixture.x}, {"X", fixture.y}})) ==
        "'scaled' takes 'X' once, but got it twice");
  CHECK(fixture.refusal(kernel({}, {{"X", 1.0}, {"Y", fixture.y}, {"a", 1.0}})) ==
        "argument 'X': expected a tensor, but got a number");
  CHECK_THAT(fixture.refusal(kernel({}, 1, fixture.x, Tensor(fixture.y.data(), {99}))),
             Catch::Contains("'Y'"));
  CHECK(fixture.refusal(kernel({}, 1, fixture.x, fixture.x)) ==
        "argument 'Y': expected memory of its own because scaled writes it, but it overlaps argument 'X'");
  CompileOptions old;
  old.target = "sm_80";
  CHECK(expectValue(jit(scaled(), *fixture.device, old)).program().artifact().target == "sm_90a");
  Result<Kernel> wrong = jit(Program::trace("wrong",
                                            [](Scope &k) {
                                              Fragment x = k.fragment(f32, {64}), y = k.fragment(f32, {32});
                                              x = x + y;
                                            }),
                             *fixture.device);
  REQUIRE_FALSE(wrong);
  CHECK_THAT(wrong.error().message, Catch::Contains("JitTest.cpp:"));
}

TEST_CASE("numbers become elements of the scalar's type, if they are", "[jit]") {
  std::unique_ptr<Device> device = createEmulatorDevice();
  const Kernel kernel = expectValue(jit(shifted(), *device));
  auto x = expectValue(Array<int8_t>::of(*device, {64}, std::vector<int8_t>(64, 5))),
       y = expectValue(Array<int8_t>::allocate(*device, {64}));
  expectSuccess(kernel({}, -128, x, y));
  CHECK(expectValue(y.toHost())[63] == -123);
  Result<void> large = kernel({}, 128, x, y), broken = kernel({}, 1.5, x, y);
  REQUIRE_FALSE(large);
  CHECK(large.error().message == "argument 'c': expected a number of type i8, from -128 to 127, but got 128");
  REQUIRE_FALSE(broken);
  CHECK(broken.error().message ==
        "argument 'c': expected a whole number because it is of type i8, but got 1.5");
  Result<Array<int8_t>> few = Array<int8_t>::of(*device, {64}, std::vector<int8_t>(63));
  REQUIRE_FALSE(few);
  CHECK(few.error().message == "expected 64 elements, but got 63");
}
