// SPDX-License-Identifier: Apache-2.0
/// \file
/// The emulator as a device: memory, loading, launching artifacts.
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/target/Target.h"
#include "test/unit/device/StreamCases.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

using namespace tlc;
using Catch::Matchers::Contains;

namespace {

/// y = 2 x, over any number of elements.
Artifact doubler(std::string body = "add.rn.f32 %f1, %f1, %f1;") {
  Artifact artifact;
  artifact.name = "double";
  artifact.target = "sm_90a";
  artifact.dimensions.push_back({.name = "n"});
  TensorArgument x;
  x.name = "x";
  x.shape = {{.dimension = 0}};
  TensorArgument y = x;
  y.name = "y";
  y.access = Access::output;
  artifact.tensors = {x, y};
  Launch launch;
  launch.entry = "twice";
  launch.grid = {HostExpr::apply(HostExpr::Op::ceilDiv, HostExpr::dimension(0), HostExpr::constant(64)),
                 HostExpr::constant(1), HostExpr::constant(1)};
  launch.threads = 64;
  launch.parameters = {{KernelParameter::Kind::tensorPointer, 0, 0},
                       {KernelParameter::Kind::tensorPointer, 1, 0},
                       {KernelParameter::Kind::dimension, 0, 0}};
  Variant variant;
  variant.name = "general";
  variant.launches = {launch};
  variant.ptx = R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry twice(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<4>; .reg .pred %p<2>;
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [n]; setp.ge.u32 %p1, %r4, %r5; @%p1 bra $end;
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];
  mad.wide.u32 %d3, %r4, 4, %d1; mad.wide.u32 %d4, %r4, 4, %d2;
  ld.global.f32 %f1, [%d3];
  )" + body + R"(
  st.global.f32 [%d4], %f1;
  $end: ret;
})";
  artifact.variants = {variant};
  return artifact;
}

LaunchArguments arguments(void *x, void *y, int64_t n) {
  LaunchArguments result;
  result.tensors = {{x, ElementType::f32, {n}, {1}}, {y, ElementType::f32, {n}, {1}}};
  return result;
}

} // namespace

std::unique_ptr<Device> tlc::test::openStreamDevice() { return createEmulatorDevice(); }

TEST_CASE("the device looks like an H200 unless told otherwise") {
  CHECK(createEmulatorDevice()->properties().multiprocessors == 132);
  auto device = createEmulatorDevice({.multiprocessors = 4});
  CHECK(device->properties().multiprocessors == 4);
  CHECK(device->properties().target == "sm_90a");
  CHECK(device->properties().name == "emulator (sm_90a)");
}

TEST_CASE("an artifact runs from arguments to results, on several host threads") {
  for (unsigned hostThreads : {1u, 4u}) {
    auto device = createEmulatorDevice({.hostThreads = hostThreads});
    const int64_t n = 1000;
    std::vector<float> x(n), y(n, -1);
    std::iota(x.begin(), x.end(), 0.5f);
    auto dx = device->allocate(n * 4), dy = device->allocate(n * 4);
    REQUIRE(dx);
    REQUIRE(dy);
    CHECK(reinterpret_cast<uintptr_t>(*dx) % 256 == 0);
    REQUIRE(device->copyToDevice(*dx, x.data(), n * 4));
    auto program = device->load(doubler());
    REQUIRE(program);
    CHECK((*program)->artifact().name == "double");
    auto launched = device->launch(**program, arguments(*dx, *dy, n));
    INFO((launched ? "" : launched.error().message));
    REQUIRE(launched);
    REQUIRE(device->synchronize());
    REQUIRE(device->copyToHost(y.data(), *dy, n * 4));
    for (int64_t i = 0; i < n; ++i)
      CHECK(y[i] == 2 * x[i]);
    CHECK(device->free(*dx));
    CHECK(device->free(*dy));
  }
}

TEST_CASE("memory of others is refused") {
  auto device = createEmulatorDevice();
  std::vector<float> host(16);
  auto dx = device->allocate(64), empty = device->allocate(0);
  REQUIRE(dx);
  REQUIRE(empty);
  CHECK(*empty != nullptr);
  CHECK_THAT(device->free(host.data()).error().message, Contains("is not an allocation of this device"));
  CHECK_THAT(device->copyToDevice(*dx, host.data(), 65).error().message,
             Contains("65 bytes at").operator&&(Contains("not inside one allocation of this device")));
  CHECK(device->copyToHost(host.data(), *dx, 64));
  auto program = device->load(doubler());
  REQUIRE(program);
  const auto foreign = device->launch(**program, arguments(*dx, host.data(), 16));
  REQUIRE_FALSE(foreign);
  CHECK(foreign.error().kind == ErrorKind::invalidArgument);
  CHECK_THAT(foreign.error().message,
             Catch::StartsWith("argument 'y': expected memory of the emulator, but 0x")
                 .operator&&(Catch::EndsWith(" is not")));
  const auto tooLong = device->launch(**program, arguments(*dx, *dx, 17));
  REQUIRE_FALSE(tooLong);
  CHECK(tooLong.error().kind == ErrorKind::execution);
  CHECK_THAT(tooLong.error().message, Contains("out-of-bounds read of 4 bytes"));
}

TEST_CASE("an access is judged by the tensor that it was computed from") {
  auto device = createEmulatorDevice({.hostThreads = 1});
  const std::string none = "";
  const auto run = [&](const std::string &body, const LaunchArguments &given) {
    Artifact artifact = doubler(body);
    artifact.tensors[1].strided = true;
    auto program = device->load(std::move(artifact));
    REQUIRE(program);
    Result<void> done = device->launch(**program, given);
    return done ? none : done.error().message;
  };
  const std::string beyond = "ld.global.f32 %f1, [%d3+256];", before = "ld.global.f32 %f1, [%d3+-256];",
                    written = "st.global.f32 [%d4+256], %f1;";
  // Both are in one allocation, next to each other, and all of it is written.
  std::vector<float> zeros(256);
  auto arena = device->allocate(1024);
  REQUIRE(arena);
  REQUIRE(device->copyToDevice(*arena, zeros.data(), 1024));
  auto *first = static_cast<std::byte *>(*arena), *second = first + 256, *third = second + 256;
  CHECK(run("", arguments(second, third, 64)) == "");
  CHECK_THAT(run(beyond, arguments(second, third, 64)),
             Contains("out-of-bounds read of 4 bytes by lane 0 at element [64] of tensor 'x' of shape [64]"));
  CHECK_THAT(
      run(before, arguments(second, third, 64)),
      Contains("out-of-bounds read of 4 bytes by lane 0 at element [-64] of tensor 'x' of shape [64]"));
  CHECK_THAT(
      run(written, arguments(third, second, 64)),
      Contains("out-of-bounds write of 4 bytes by lane 0 at element [64] of tensor 'y' of shape [64]"));
  // The same memory by two names.
  CHECK(run("", arguments(second, second, 64)) == "");
  // Gaps between elements are the caller's.
  LaunchArguments spaced = arguments(first, third, 32);
  spaced.tensors[1].strides[0] = 2;
  CHECK_THAT(run("", spaced),
             Contains("write of 4 bytes by lane 1 at the gap 1 elements after element [0] of "
                      "tensor 'y' of shape [32]"));
}

TEST_CASE("allocations are far from each other") {
  auto device = createEmulatorDevice();
  std::vector<void *> all;
  for (int i = 0; i < 300; ++i) {
    auto memory = device->allocate(100);
    REQUIRE(memory);
    all.push_back(*memory);
  }
  std::ranges::sort(all);
  for (size_t i = 1; i < all.size(); ++i)
    CHECK(reinterpret_cast<uintptr_t>(all[i]) - reinterpret_cast<uintptr_t>(all[i - 1]) >= uintptr_t(1)
                                                                                               << 32);
  for (void *memory : all)
    REQUIRE(device->free(memory));
}

TEST_CASE("what a kernel or an artifact does wrong is an error of the right kind") {
  auto device = createEmulatorDevice();
  auto dx = device->allocate(64);
  REQUIRE(dx);
  auto trapping = device->load(doubler("trap;"));
  REQUIRE(trapping);
  const auto launched = device->launch(**trapping, arguments(*dx, *dx, 16));
  REQUIRE_FALSE(launched);
  CHECK(launched.error().kind == ErrorKind::execution);
  CHECK_THAT(launched.error().message, Contains("trap in lanes 0x0000ffff"));
  const auto unknown = device->load(doubler("warp.drive;"));
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().kind == ErrorKind::invalidArgument);
  CHECK_THAT(unknown.error().message, Contains("unknown instruction 'warp.drive'"));
  Artifact malformed = doubler();
  malformed.variants[0].launches[0].parameters[1].index = 2;
  CHECK_THAT(device->load(malformed).error().message, Contains("artifact 'double'"));
  Artifact other = doubler();
  other.target = "sm_100a";
  CHECK_THAT(device->load(other).error().message,
             Contains("'double' is compiled for sm_100a, which the emulator of sm_90a does not run"));
}

TEST_CASE("the emulator stands for the device it is told to") {
  for (const Target &target : allTargets()) {
    auto device = createEmulatorDevice({.target = &target});
    CHECK(device->properties().target == target.name);
    Artifact artifact = doubler();
    artifact.target = target.name;
    for (Variant &variant : artifact.variants)
      variant.ptx.replace(variant.ptx.find("sm_90a"), 6, target.name);
    CHECK(device->load(artifact));
    // What the artifact says may differ from what its PTX says.
    for (Variant &variant : artifact.variants)
      variant.ptx.replace(variant.ptx.find(target.name), target.name.size(), "sm_121a");
    CHECK_THAT(device->load(artifact).error().message,
               Contains("the module is PTX for sm_121a, which a device of " + std::string(target.name) +
                        " does not run"));
  }
}

TEST_CASE("the emulator runs code of a family on its members alone") {
  const auto errorOn = [](std::string_view device, std::string code) {
    Artifact artifact = doubler();
    artifact.target = code;
    for (Variant &variant : artifact.variants)
      variant.ptx.replace(variant.ptx.find("sm_90a"), 6, code);
    const auto loaded = createEmulatorDevice({.target = findTarget(device)})->load(artifact);
    return loaded ? "" : loaded.error().message;
  };
  CHECK(errorOn("sm_100a", "sm_100f") == "");
  CHECK(errorOn("sm_103a", "sm_100f") == "");
  CHECK(errorOn("sm_120a", "sm_89") == "");
  CHECK(errorOn("sm_110a", "sm_100f") ==
        "'double' is compiled for sm_100f, which the emulator of sm_110a does not run; compile it for "
        "sm_110a");
  CHECK(errorOn("sm_100a", "sm_103a") ==
        "'double' is compiled for sm_103a, which the emulator of sm_100a does not run; compile it for "
        "sm_100a");
}

TEST_CASE("a program that reports has a whole buffer for it") {
  auto errorWith = [](std::string_view variable) {
    Artifact artifact = doubler();
    artifact.variants[0].reports = {{ReportSite::Kind::print, "here", "a.cpp:1:2", {}}};
    std::string &ptx = artifact.variants[0].ptx;
    ptx.insert(ptx.find(".visible"), variable);
    auto program = createEmulatorDevice()->load(artifact);
    REQUIRE_FALSE(program);
    return program.error().message;
  };
  CHECK(errorWith("") == "'double' has no buffer for what its kernels report");
  CHECK(errorWith(".visible .global .align 16 .b8 reports$[16];\n") ==
        "the buffer for reports of 'double' has 16 bytes, but expected 458768");
}
