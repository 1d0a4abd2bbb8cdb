// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a launch plan contains for valid arguments.
#include "runtime/device/LaunchPlan.h"

#include "test/unit/device/SampleArguments.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

using namespace tlc;
using namespace tlc::test;

namespace {

template <class T> T read(const PlannedLaunch &launch, size_t offset) {
  T value;
  REQUIRE(offset + sizeof(T) <= launch.parameters.size());
  std::memcpy(&value, &launch.parameters[offset], sizeof(T));
  return value;
}

LaunchPlan planOf(const Artifact &artifact, const LaunchArguments &arguments) {
  Result<LaunchPlan> plan = planLaunch(artifact, arguments, sampleDevice());
  INFO((plan ? "" : plan.error().message));
  REQUIRE(plan);
  return *plan;
}

} // namespace

TEST_CASE("parameters lie at their natural alignment in declaration order", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  LaunchPlan plan = planOf(artifact, sampleArguments());
  CHECK(plan.variantIndex == 0);
  CHECK(plan.variant == &artifact.variants[0]);
  REQUIRE(plan.launches.size() == 2);
  const PlannedLaunch &gemm = plan.launches[0];
  CHECK(gemm.launch == &artifact.variants[0].launches[0]);
  CHECK(gemm.grid == std::array<uint32_t, 3>{2, 1, 1});
  CHECK(read<uint32_t>(gemm, 0) == 128);
  REQUIRE(gemm.tensorMaps.size() == 2);
  CHECK(gemm.tensorMaps[0].offset == 64);
  CHECK(gemm.tensorMaps[1].offset == 192);
  CHECK(read<float>(gemm, 320) == 2.5f);
  CHECK(read<uint64_t>(gemm, 328) == 0x30000000);
  CHECK(read<uint64_t>(gemm, 336) == 64);
  CHECK(gemm.parameters.size() == 344);
  const PlannedLaunch &combine = plan.launches[1];
  CHECK(combine.index == 1);
  CHECK(combine.grid == std::array<uint32_t, 3>{4, 1, 1});
  CHECK(read<uint64_t>(combine, 0) == 0x40000000);
}

TEST_CASE("tensor maps describe the actual tensor", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  LaunchArguments arguments = sampleArguments();
  arguments.tensors[0].strides[0] = 136;
  LaunchPlan plan = planOf(artifact, arguments);
  const TensorMapValues &map = plan.launches[0].tensorMaps[0].values;
  CHECK(map.address == address(0x10000000));
  CHECK(map.element == ElementType::bf16);
  CHECK(map.rank == 2);
  CHECK(map.shape[0] == 200);
  CHECK(map.shape[1] == 128);
  CHECK(map.strideBytes[0] == 272);
  CHECK(map.strideBytes[1] == 2);
  CHECK(map.box[0] == 128);
  CHECK(map.box[1] == 64);
  CHECK(map.swizzle == Swizzle::bytes128);
}

TEST_CASE("tensor maps with a limited axis have one axis more", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  LaunchArguments arguments = sampleArguments();
  arguments.tensors[0].strides[0] = 136;
  TensorMapRecipe &recipe = artifact.variants[0].launches[0].tensorMaps[0];
  recipe.limitedAxis = 0;
  using Axes = std::array<int64_t, maxTensorMapRank>;
  auto mapOf = [&](const LaunchArguments &of) {
    return planOf(artifact, of).launches[0].tensorMaps[0].values;
  };
  const TensorMapValues atTensor = mapOf(arguments);
  CHECK(atTensor.address == address(0x10000000));
  CHECK(atTensor.rank == 3);
  CHECK(atTensor.shape == Axes{200, 128, 128});
  CHECK(atTensor.strideBytes == Axes{272, 272, 2});
  CHECK(atTensor.box == Axes{1, 128, 64});

  recipe.before = 128;
  const TensorMapValues before = mapOf(arguments);
  CHECK(before.address == address(0x10000000 - 128 * 272));
  CHECK(before.shape == Axes{328, 128, 128});
  CHECK(before.strideBytes == atTensor.strideBytes);

  const TensorMapValues empty = mapOf(sampleArguments(200, 64, 0));
  CHECK(empty.address == nullptr);
  CHECK(empty.shape == Axes{1, 1, 1});
  CHECK(empty.strideBytes[0] == empty.strideBytes[1]);
}

TEST_CASE("tensor maps of windows have the bounding box of their first taps", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  artifact.tensors[0].shape = {{.constant = 2}, {.dimension = 0}, {.dimension = 2}};
  TensorMapRecipe &recipe = artifact.variants[0].launches[0].tensorMaps[0];
  recipe.box = {128, 1, 64};
  recipe.window = {{3}, {2}, {5}, {4}, {1}};
  auto mapOf = [&](int64_t m) {
    LaunchArguments arguments = sampleArguments(m);
    arguments.tensors[0] = contiguousView(address(0x10000000), ElementType::bf16, {2, m, 128});
    return planOf(artifact, arguments).launches[0].tensorMaps[0].values;
  };
  using Axes = std::array<int64_t, maxTensorMapRank>;
  const TensorMapValues map = mapOf(200);
  CHECK(map.rank == 3);
  CHECK(map.shape == Axes{2, 200, 128});
  CHECK(map.box == Axes{128, 1, 64});
  const TensorMapValues::Im2col expected = {.lower = {-4}, .upper = {-9}, .stride = {2}};
  CHECK(map.im2col == expected);
  // Too short for the window, which spans 11: no address, and a bounding box of the first tap that programs
  // compute there, beside which the TMA stops them.
  const TensorMapValues none = mapOf(5);
  CHECK(none.address == nullptr);
  CHECK(none.shape == Axes{1, 1, 1});
  const TensorMapValues::Im2col one = {.lower = {-4}, .upper = {-4}, .stride = {1}};
  CHECK(none.im2col == one);
  CHECK(mapOf(6).address == address(0x10000000));
}

TEST_CASE("the variant is the first whose alignment conditions hold", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  LaunchArguments arguments = sampleArguments();
  SECTION("aligned") { CHECK(planOf(artifact, arguments).variantIndex == 0); }
  SECTION("a base address off by an element") {
    arguments.tensors[1].data = address(0x20000002);
    CHECK(planOf(artifact, arguments).variantIndex == 1);
  }
  SECTION("an odd row stride") {
    arguments.tensors[0].strides[0] = 129;
    LaunchPlan plan = planOf(artifact, arguments);
    CHECK(plan.variantIndex == 1);
    REQUIRE(plan.launches.size() == 1);
    CHECK(plan.launches[0].grid[0] == 4);
    CHECK(read<uint64_t>(plan.launches[0], 8) == 129);
  }
  SECTION("an odd row stride of a single row does not matter") {
    arguments = sampleArguments(1);
    arguments.tensors[0].strides[0] = 129;
    LaunchPlan plan = planOf(artifact, arguments);
    CHECK(plan.variantIndex == 0);
    CHECK(plan.launches[0].tensorMaps[0].values.strideBytes[0] % 16 == 0);
  }
  SECTION("misalignment of a tensor without a condition does not matter") {
    arguments.tensors[2].data = address(0x30000004);
    CHECK(planOf(artifact, arguments).variantIndex == 0);
  }
}

TEST_CASE("a launch without blocks is left out", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  LaunchPlan plan = planOf(artifact, sampleArguments(0));
  REQUIRE(plan.launches.size() == 1);
  CHECK(plan.launches[0].launch->entry == "combine");
  CHECK(plan.launches[0].index == 1);
}

TEST_CASE("empty tensors need no memory, and their maps are valid", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  LaunchArguments arguments = sampleArguments(200, 64, 0);
  arguments.tensors[0].data = nullptr;
  arguments.tensors[1].data = nullptr;
  // Strides of an empty tensor mean nothing.
  arguments.tensors[0].strides = {0, 1};
  LaunchPlan plan = planOf(artifact, arguments);
  CHECK(plan.variantIndex == 0);
  CHECK(read<uint32_t>(plan.launches[0], 0) == 0);
  for (const PlannedTensorMap &map : plan.launches[0].tensorMaps) {
    CHECK(map.values.address == nullptr);
    CHECK(map.values.shape[0] == 1);
    CHECK(map.values.shape[1] == 1);
    CHECK(map.values.strideBytes[0] == 16);
  }
}

TEST_CASE("inputs may be broadcast or overlap", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  LaunchArguments arguments = sampleArguments();
  arguments.tensors[0].strides[0] = 0;
  arguments.tensors[1].strides[0] = 8;
  CHECK(planOf(artifact, arguments).variantIndex == 0);
}

TEST_CASE("outputs may have their outer axes permuted", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  artifact.tensors[2].shape = {{.dimension = 0}, {.constant = 3}, {.dimension = 1}};
  LaunchArguments arguments = sampleArguments();
  arguments.tensors[2] = {address(0x30000000), ElementType::f32, {200, 3, 64}, {64, 200 * 64, 1}};
  LaunchPlan plan = planOf(artifact, arguments);
  CHECK(plan.launches.size() == 2);
}

TEST_CASE("dimensions come from shapes, specialised ones from the program", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  LaunchArguments arguments = sampleArguments(7, 16, 9);
  Result<std::vector<int64_t>> dimensions = bindDimensions(artifact, arguments.tensors);
  REQUIRE(dimensions);
  CHECK(*dimensions == std::vector<int64_t>{7, 16, 9});
  artifact.dimensions.push_back({.name = "D", .fixed = 77});
  // Workspaces are not needed for it.
  dimensions = bindDimensions(artifact, std::span(arguments.tensors).first(3));
  REQUIRE(dimensions);
  CHECK(*dimensions == std::vector<int64_t>{7, 16, 9, 77});
}

TEST_CASE("an extent n + c gives n where no tensor has n", "[device][plan]") {
  using enum HostExpr::Op;
  const auto plus = [](int64_t factor, int64_t offset) {
    return HostExpr::apply(add, HostExpr::apply(multiply, HostExpr::dimension(0), HostExpr::constant(factor)),
                           HostExpr::constant(offset));
  };
  Artifact artifact;
  artifact.name = "rows";
  artifact.dimensions = {{.name = "n"},
                         {.name = "begins.0", .computed = plus(1, 1)},
                         {.name = "pairs.0", .computed = plus(2, 0)}};
  artifact.tensors = {{.name = "begins", .shape = {{.dimension = 1}}},
                      {.name = "pairs", .shape = {{.dimension = 2}}}};
  const auto bound = [&](int64_t begins, int64_t pairs) -> std::string {
    const std::vector<TensorView> tensors = {{.shape = {begins}, .strides = {1}},
                                             {.shape = {pairs}, .strides = {1}}};
    Result<std::vector<int64_t>> values = bindDimensions(artifact, tensors);
    return values ? std::to_string(values->front()) : values.error().message;
  };
  CHECK(bound(8, 14) == "7");
  CHECK(bound(1, 0) == "0");
  CHECK(bound(0, 0) == "argument 'begins' axis 0: expected an extent n + 1 because dimension 'n', from 0 to "
                       "2147483647, follows from it, but got 0");
  CHECK(bound(8, 15) ==
        "argument 'pairs' axis 0: expected extent 14 because the program computes it from the other "
        "sizes, but got 15");
  std::swap(artifact.tensors[0].shape, artifact.tensors[1].shape); // now the first has 2 n
  CHECK(bound(14, 8) == "7");
  CHECK(bound(15, 8) == "argument 'begins' axis 0: expected an extent 2 n because dimension 'n', from 0 to "
                        "2147483647, follows from it, but got 15");
  artifact.dimensions[0].multipleOf = 4;
  CHECK(bound(16, 9) == "8");
  CHECK(bound(14, 8) ==
        "argument 'begins' axis 0: expected an extent 2 n that gives dimension 'n' a multiple of 4 from "
        "0 to 2147483647 because the program relies on it, but got 14");
  artifact.dimensions[0].fixed = 8; // compared only
  CHECK(bound(16, 9) == "8");
  CHECK(bound(14, 8) ==
        "argument 'begins' axis 0: expected extent 16 because the program computes it from the other "
        "sizes, but got 14");
}

TEST_CASE("dimensions are computed from those before them, and shapes compared", "[device][plan]") {
  using enum HostExpr::Op;
  Artifact artifact = sampleArtifact();
  LaunchArguments arguments = sampleArguments(7, 16, 9);
  auto tensors = std::span(arguments.tensors).first(3);
  artifact.dimensions.push_back(
      {.name = "C.1", .computed = HostExpr::apply(multiply, HostExpr::dimension(0), HostExpr::constant(2))});
  Result<std::vector<int64_t>> dimensions = bindDimensions(artifact, tensors);
  REQUIRE(dimensions);
  CHECK(*dimensions == std::vector<int64_t>{7, 16, 9, 14});

  artifact.tensors[0].shape[1].dimension = 3;
  dimensions = bindDimensions(artifact, tensors);
  REQUIRE_FALSE(dimensions);
  CHECK(dimensions.error().message ==
        "argument '" + artifact.tensors[0].name +
            "' axis 1: expected extent 14 because the program computes it from the "
            "other sizes, but got " +
            std::to_string(arguments.tensors[0].shape[1]));

  artifact.dimensions[3].computed = HostExpr::apply(subtract, HostExpr::dimension(0), HostExpr::constant(8));
  dimensions = bindDimensions(artifact, tensors);
  REQUIRE_FALSE(dimensions);
  CHECK(dimensions.error().message ==
        "'C' axis 1: these sizes need an extent of -1, but expected 0 to 2147483647");
}

TEST_CASE("a workspace that starts as zeros is cleared with the ends of its rows", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  artifact.tensors[3].alignment = 256; // rows of 16 floats begin at multiples of 64
  LaunchArguments arguments = sampleArguments();
  arguments.tensors[3].strides = {64, 1};
  LaunchPlan plan = planOf(artifact, arguments);
  auto fill = std::ranges::find(plan.zeroFills, arguments.tensors[3].data, &ZeroFill::address);
  REQUIRE(fill != plan.zeroFills.end());
  CHECK(fill->rows == 1);
  CHECK(fill->rowBytes == 4 * 64 * sizeof(float));
}

TEST_CASE("workspace sizes are evaluated for the device", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  artifact.tensors[3].workspaceShape[1] = HostExpr::dimension(0);
  Result<std::vector<WorkspaceRequest>> requests = workspaceRequests(artifact, {7, 8, 9}, sampleDevice());
  REQUIRE(requests);
  REQUIRE(requests->size() == 1);
  CHECK(requests->front().name == "partial");
  CHECK(requests->front().shape == std::vector<int64_t>{4, 7});
  CHECK(requests->front().bytes == 4 * 7 * 4);
  CHECK(requests->front().zeroFill);
  CHECK(requests->front().strides == std::vector<int64_t>{7, 1});

  artifact.tensors[3].alignment = 16;
  requests = workspaceRequests(artifact, {7, 8, 9}, sampleDevice());
  REQUIRE(requests);
  CHECK(requests->front().shape == std::vector<int64_t>{4, 7});
  CHECK(requests->front().strides == std::vector<int64_t>{8, 1});
  CHECK(requests->front().bytes == 4 * 8 * 4);
}

TEST_CASE("workspaces of a launch follow from the shapes of its tensors", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  artifact.tensors[3].workspaceShape[1] = HostExpr::dimension(0);
  std::vector<TensorView> tensors = sampleArguments(7, 8, 9).tensors;
  tensors.pop_back();
  Result<std::vector<WorkspaceRequest>> requests = workspacesOf(artifact, tensors, sampleDevice());
  REQUIRE(requests);
  REQUIRE(requests->size() == 1);
  CHECK(requests->front().shape == std::vector<int64_t>{4, 7});
  tensors[1].shape[0] = 16;
  requests = workspacesOf(artifact, tensors, sampleDevice());
  REQUIRE_FALSE(requests);
  CHECK_THAT(requests.error().message, Catch::Contains("dimension 'N'"));
}

TEST_CASE("a scalar occupies its own width", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  artifact.scalars[0].element = ElementType::i8;
  artifact.variants[1].launches[0].parameters = {{.kind = KernelParameter::Kind::scalar},
                                                 {.kind = KernelParameter::Kind::scalar},
                                                 {.kind = KernelParameter::Kind::dimension, .index = 1}};
  artifact.variants.erase(artifact.variants.begin());
  LaunchArguments arguments = sampleArguments();
  arguments.scalars[0] = {.element = ElementType::i8, .bits = 0xab};
  LaunchPlan plan = planOf(artifact, arguments);
  CHECK(plan.launches[0].parameters.size() == 8);
  CHECK(read<uint8_t>(plan.launches[0], 0) == 0xab);
  CHECK(read<uint8_t>(plan.launches[0], 1) == 0xab);
  CHECK(read<uint32_t>(plan.launches[0], 4) == 64);
}

TEST_CASE("dimensions and strides have the widths that the kernel takes them in", "[device][plan]") {
  using Kind = KernelParameter::Kind;
  Artifact artifact = sampleArtifact();
  artifact.variants[1].launches[0].parameters = {
      {.kind = Kind::dimension, .index = 1},
      {.kind = Kind::dimension, .index = 1, .bytes = 8},
      {.kind = Kind::tensorStride, .index = 0, .axis = 0, .bytes = 4},
      {.kind = Kind::tensorStride, .index = 0, .axis = 0}};
  artifact.variants.erase(artifact.variants.begin());
  const LaunchArguments arguments = sampleArguments();
  const LaunchPlan plan = planOf(artifact, arguments);
  const uint64_t stride = uint64_t(arguments.tensors[0].strides[0]);
  CHECK(plan.launches[0].parameters.size() == 32);
  CHECK(read<uint32_t>(plan.launches[0], 0) == 64);
  CHECK(read<uint64_t>(plan.launches[0], 8) == 64);
  CHECK(read<uint32_t>(plan.launches[0], 16) == stride);
  CHECK(read<uint64_t>(plan.launches[0], 24) == stride);
}

TEST_CASE("a multicast address is the caller's, of a tensor of all ranks", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  artifact.tensors[2].symmetric = true;
  artifact.tensors[2].alignment = 16;
  artifact.variants[1].launches[0].parameters = {
      {.kind = KernelParameter::Kind::multicastPointer, .index = 2}};
  artifact.variants.erase(artifact.variants.begin());
  LaunchArguments arguments = sampleArguments();
  TensorView &tensor = arguments.tensors[2];
  tensor.ofRanks = {tensor.data};
  auto failure = [&] {
    Result<LaunchPlan> plan = planLaunch(artifact, arguments, sampleDevice());
    return plan ? "" : plan.error().message;
  };
  CHECK(failure() ==
        "argument 'C': expected a multicast address of it because the program accesses it on all ranks at "
        "once, but got none; emulated devices have one, of GPUs the caller gives it (TensorView::ofAll)");
  tensor.ofAll = address(0x50000008);
  CHECK(failure() ==
        "argument 'C': expected a multicast address that is a multiple of 16, but got 0x50000008");
  tensor.ofAll = address(0x50000010);
  CHECK(read<uint64_t>(planOf(artifact, arguments).launches[0], 0) == 0x50000010);
}

TEST_CASE("a variant for aligned tensors needs an aligned multicast address, too", "[device][plan]") {
  Artifact artifact = sampleArtifact();
  for (size_t i : {0, 1})
    artifact.tensors[i].symmetric = true;
  for (Variant &variant : artifact.variants)
    for (Launch &launch : variant.launches)
      std::erase_if(launch.parameters, [](const KernelParameter &parameter) {
        return parameter.kind != KernelParameter::Kind::dimension;
      });
  LaunchArguments arguments = sampleArguments();
  for (size_t i : {0, 1})
    arguments.tensors[i].ofRanks = {arguments.tensors[i].data};
  arguments.tensors[0].ofAll = address(0x50000010);
  CHECK(planOf(artifact, arguments).variantIndex == 0);
  arguments.tensors[0].ofAll = address(0x50000008);
  CHECK(planOf(artifact, arguments).variantIndex == 1);
}
