// SPDX-License-Identifier: Apache-2.0
/// \file
/// Each inconsistency of an artifact, by its message.
#include "runtime/artifact/Verify.h"

#include "test/unit/artifact/SampleArtifact.h"

#include <catch2/catch.hpp>

using namespace tlc;
using Op = HostExpr::Op;

namespace {

/// The message that verifying the sample gives after `change`.
template <class Change> std::string failureAfter(Change change) {
  Artifact artifact = test::sampleArtifact();
  change(artifact);
  Result<void> result = verify(artifact);
  return result ? "" : result.error().message;
}

/// The same, for a change of the first launch.
template <class Change> std::string failureOfLaunch(Change change) {
  return failureAfter([&](Artifact &artifact) { change(artifact.variants[0].launches[0]); });
}

} // namespace

TEST_CASE("the sample artifact is consistent", "[artifact][verify]") {
  CHECK(failureAfter([](Artifact &) {}) == "");
}

TEST_CASE("inconsistent schemas are named", "[artifact][verify]") {
  CHECK(failureAfter([](Artifact &a) { a.target = "sm_70"; }) ==
        "artifact 'gemm': unknown target 'sm_70'; expected one of sm_80, sm_89, sm_90a, sm_100f, sm_100a, "
        "sm_103a, sm_110a, sm_120a");
  CHECK(failureAfter([](Artifact &a) { a.dimensions[1].name = "M"; }) ==
        "artifact 'gemm': the name 'M' of dimension 1 is empty or taken");
  CHECK(failureAfter([](Artifact &a) { a.dimensions[0].multipleOf = 0; }) ==
        "artifact 'gemm': dimension 'M' is said to be a multiple of 0");
  CHECK(failureAfter([](Artifact &a) { a.dimensions[1].fixed = 12; }) ==
        "artifact 'gemm': dimension 'N' is fixed to 12, but expected a multiple of 8 from 0 to 2147483647");
  CHECK(failureAfter([](Artifact &a) { a.dimensions.push_back({.name = "Z"}); }) ==
        "artifact 'gemm': no tensor's shape gives the value of dimension 'Z'");
  for (const HostExpr &computed : {HostExpr(), HostExpr::dimension(3), HostExpr::multiprocessors()})
    CHECK(failureAfter([&](Artifact &a) { a.dimensions.push_back({.name = "Z", .computed = computed}); }) ==
          "artifact 'gemm': the expression of dimension 'Z' is malformed");
  CHECK(failureAfter([](Artifact &a) { a.tensors[1].name = "A"; }) ==
        "artifact 'gemm': the argument name 'A' is empty or taken");
  CHECK(failureAfter([](Artifact &a) { a.tensors[0].shape[1].dimension = 7; }) ==
        "artifact 'gemm': tensor 'A' axis 1 names dimension 7, but there are 3");
  CHECK(failureAfter([](Artifact &a) { a.tensors[0].shape[1] = {.dimension = -1, .constant = -5}; }) ==
        "artifact 'gemm': tensor 'A' axis 1 has the extent -5");
  CHECK(failureAfter([](Artifact &a) { a.tensors[0].zeroFill = true; }) ==
        "artifact 'gemm': tensor 'A' is filled with zeros, but it is no output");
  CHECK(failureAfter([](Artifact &a) { a.tensors[0].strided = a.tensors[0].contiguous = true; }) ==
        "artifact 'gemm': tensor 'A' is contiguous and has any innermost stride");
  CHECK(failureAfter([](Artifact &a) { std::swap(a.tensors[2], a.tensors[3]); }) ==
        "artifact 'gemm': tensor 'C' comes after a workspace");
  CHECK(failureAfter([](Artifact &a) { a.tensors[3].workspaceShape[0] = {}; }) ==
        "artifact 'gemm': an extent of workspace 'partial' is malformed");
}

TEST_CASE("inconsistent variants are named", "[artifact][verify]") {
  CHECK(failureAfter([](Artifact &a) { a.variants.clear(); }) == "artifact 'gemm': it has no variant");
  CHECK(failureAfter([](Artifact &a) { a.variants.pop_back(); }) ==
        "artifact 'gemm': variant 'aligned' is number 1 of 1, but only the last has no conditions");
  CHECK(failureAfter([](Artifact &a) { a.variants[0].conditions[0].tensor = 9; }) ==
        "artifact 'gemm': a condition of variant 'aligned' names tensor 9, but there are 4");
  CHECK(failureAfter([](Artifact &a) { a.variants[0].conditions[0].bytes = 12; }) ==
        "artifact 'gemm': a condition of variant 'aligned' asks for an alignment to 12 bytes");
  CHECK(failureAfter([](Artifact &a) { a.variants[0].ptx.clear(); }) ==
        "artifact 'gemm': variant 'aligned' has neither PTX nor machine code");
}

TEST_CASE("addresses of ranks are those of symmetric tensors", "[artifact][verify]") {
  auto failureWith = [](KernelParameter::Kind kind) {
    return failureOfLaunch([kind](Launch &launch) { launch.parameters[4].kind = kind; });
  };
  CHECK(
      failureWith(KernelParameter::Kind::multicastPointer) ==
      "artifact 'gemm': parameter 4 of 'gemm_aligned' is a multicast address of 'C', which is not symmetric");
  CHECK(failureWith(KernelParameter::Kind::tensorPointers) ==
        "artifact 'gemm': parameter 4 of 'gemm_aligned' is a table of 'C', which is not symmetric");
  CHECK(failureAfter([](Artifact &a) { a.tensors[2].symmetric = true; }) ==
        "artifact 'gemm': parameter 4 of 'gemm_aligned' is one address of 'C', which is symmetric");
}

TEST_CASE("reports that contradict themselves are named", "[artifact][verify][reports]") {
  auto failureWith = [](ReportSite site) {
    return failureAfter([&](Artifact &a) { a.variants[0].reports = {std::move(site)}; });
  };
  using enum ElementType;
  CHECK(failureWith({ReportSite::Kind::print, "x {}", "a.cpp:1:2", {f32}, 5}) == "");
  CHECK(failureWith({ReportSite::Kind::print, "x {}", "a.cpp:1:2", {}}) ==
        "artifact 'gemm': the report at a.cpp:1:2 has 0 values for 'x {}'");
  CHECK(failureWith({ReportSite::Kind::print, "x {}", "a.cpp:1:2", {f16}}) ==
        "artifact 'gemm': the report at a.cpp:1:2 has a value of f16");
  CHECK(failureWith({ReportSite::Kind::print, "x", "a.cpp:1:2", {}, 6}) ==
        "artifact 'gemm': the report at a.cpp:1:2 has 6 axes");
}

TEST_CASE("launches beyond the target's limits are named with the limit", "[artifact][verify]") {
  CHECK(failureOfLaunch([](Launch &l) { l.threads = 1025; }) ==
        "artifact 'gemm': 'gemm_aligned' has 1025 threads per block, but sm_90a allows 1 to 1024");
  CHECK(failureOfLaunch([](Launch &l) { l.cluster = {4, 4, 1}; }) ==
        "artifact 'gemm': 'gemm_aligned' has clusters of 4 x 4 x 1 blocks, but sm_90a allows 1 to 8 blocks");
  CHECK(failureOfLaunch([](Launch &l) { l.sharedBytes = 274432; }) ==
        "artifact 'gemm': 'gemm_aligned' needs 274432 bytes of shared memory, but sm_90a has 232448 per "
        "block");
  CHECK(failureOfLaunch([](Launch &l) { l.grid[1] = {{{Op::add, 0}}}; }) ==
        "artifact 'gemm': the grid of 'gemm_aligned' is malformed");
  CHECK(failureAfter([](Artifact &a) { a.target = "sm_80"; }) ==
        "artifact 'gemm': 'gemm_aligned' uses a tensor map, but sm_80 has no TMA");
}

TEST_CASE("tensor maps that the hardware refuses are named", "[artifact][verify]") {
  CHECK(failureOfLaunch([](Launch &l) { l.tensorMaps[0].tensor = -1; }) ==
        "artifact 'gemm': a tensor map of 'gemm_aligned' names tensor -1, but there are 4");
  CHECK(failureOfLaunch([](Launch &l) { l.tensorMaps[0].box = {64}; }) ==
        "artifact 'gemm': the tensor map of 'A' in 'gemm_aligned' has a box of rank 1, but the tensor's rank "
        "is 2 and the limit is 5");
  CHECK_FALSE(failureOfLaunch([](Launch &l) { l.tensorMaps[0].limitedAxis = INT64_MAX; }).empty());
  CHECK(failureOfLaunch([](Launch &l) { l.tensorMaps[0].box = {257, 64}; }) ==
        "artifact 'gemm': the tensor map of 'A' in 'gemm_aligned' has a box extent of 257, but expected 1 to "
        "256");
  CHECK(
      failureOfLaunch([](Launch &l) { l.tensorMaps[0].box = {64, 4}; }) ==
      "artifact 'gemm': the tensor map of 'A' in 'gemm_aligned' has an innermost box extent of 8 bytes, but "
      "expected a multiple of 16");
  CHECK(failureOfLaunch([](Launch &l) { l.tensorMaps[0].swizzle = Swizzle::bytes64; }) ==
        "artifact 'gemm': the tensor map of 'A' in 'gemm_aligned' has an innermost box extent of 128 bytes, "
        "but its swizzle spans 64");
  for (int64_t axis : {-2, 1})
    CHECK(failureOfLaunch([&](Launch &l) { l.tensorMaps[0].limitedAxis = axis; }) ==
          "artifact 'gemm': the tensor map of 'A' in 'gemm_aligned' has limited axis " +
              std::to_string(axis) + ", but expected one of the tensor's 2 other than the innermost, or -1");
  auto beginsAt = [](int64_t axis, int64_t before) {
    return failureOfLaunch([&](Launch &l) {
      l.tensorMaps[0].limitedAxis = axis;
      l.tensorMaps[0].before = before;
    });
  };
  CHECK(beginsAt(0, 128) == "");
  CHECK(beginsAt(0, 129) ==
        "artifact 'gemm': the tensor map of 'A' in 'gemm_aligned' begins 129 rows before the "
        "tensor, but expected 0 to 128");
  CHECK(beginsAt(0, -1) ==
        "artifact 'gemm': the tensor map of 'A' in 'gemm_aligned' begins -1 rows before the "
        "tensor, but expected 0 to 128");
  CHECK(beginsAt(-1, 1) ==
        "artifact 'gemm': the tensor map of 'A' in 'gemm_aligned' begins 1 rows before the "
        "tensor, but expected 0 to 0");
  CHECK(failureAfter([](Artifact &a) { a.tensors[0].strided = true; }) ==
        "artifact 'gemm': 'gemm_aligned' uses a tensor map of 'A', whose innermost stride may be any");
  CHECK(failureAfter([](Artifact &a) {
          a.tensors[0].shape.insert(a.tensors[0].shape.begin(), 3, {.constant = 1});
          a.variants[0].launches[0].tensorMaps[0] = {.tensor = 0, .box = {1, 1, 1, 64, 64}, .limitedAxis = 3};
        }) ==
        "artifact 'gemm': the tensor map of 'A' in 'gemm_aligned' has a box of rank 5, but the tensor's "
        "rank is 5 and the limit is 4");
}

TEST_CASE("tensor maps of windows that the hardware refuses are named", "[artifact][verify]") {
  const auto failureWith = [](TensorWindow window, std::vector<int64_t> box = {64, 1, 64},
                              int64_t limited = -1) {
    return failureAfter([&](Artifact &a) {
      a.tensors[0].shape.insert(a.tensors[0].shape.begin(), {.constant = 1});
      a.variants[0].launches[0].tensorMaps[0] = {
          .tensor = 0, .box = box, .swizzle = Swizzle::bytes128, .limitedAxis = limited, .window = window};
    });
  };
  const TensorWindow window = {{3}, {1}, {1}, {1}, {1}};
  const std::string prefix = "artifact 'gemm': the window of 'A' in 'gemm_aligned' has ";
  CHECK(failureWith(window) == "");
  CHECK(
      failureWith(window, {64, 1, 64}, 0) ==
      "artifact 'gemm': the tensor map of 'A' in 'gemm_aligned' has a window, rank 3 and limited axis 0, but "
      "expected a rank of at least 3 and no limited axis");
  CHECK(failureWith({{3, 3}, {1}, {1}, {1}, {1}}) ==
        prefix + "2 numbers of a kind, but the tensor has 1 inner axes");
  CHECK(failureWith({{3}, {9}, {1}, {1}, {1}}) ==
        prefix +
            "3 taps 1 apart, stride 9 and boxes of 1 taps along axis 1, but expected at least 1, a stride "
            "of 1 to 8 and boxes of one tap");
  CHECK(failureWith(window, {64, 2, 64}) ==
        prefix +
            "3 taps 1 apart, stride 1 and boxes of 2 taps along axis 1, but expected at least 1, a stride "
            "of 1 to 8 and boxes of one tap");
  CHECK(failureWith({{3}, {1}, {1}, {32769}, {1}}) ==
        prefix +
            "corners -32769 and -1 and a span of 3 along axis 1, but expected -32768 to 32767 and at most "
            "65536");
  CHECK(failureWith({{3}, {1}, {1}, {INT64_MIN}, {1}}) ==
        prefix.substr(0, prefix.size() - 4) +
            "begins -9223372036854775808 before and ends 1 beyond axis 1, but "
            "expected 16777216 at most");
  CHECK(failureOfLaunch([&](Launch &l) { l.tensorMaps[0].window = window; }) ==
        "artifact 'gemm': the tensor map of 'A' in 'gemm_aligned' has a window, rank 2 and limited axis -1, "
        "but "
        "expected a rank of at least 3 and no limited axis");
}

TEST_CASE("parameters that refer to nothing are named", "[artifact][verify]") {
  CHECK(failureOfLaunch([](Launch &l) { l.parameters[1].index = 2; }) ==
        "artifact 'gemm': parameter 1 of 'gemm_aligned' has index 2, but there are 2");
  CHECK(failureOfLaunch([](Launch &l) { l.parameters[3].index = -1; }) ==
        "artifact 'gemm': parameter 3 of 'gemm_aligned' has index -1, but there are 1");
  CHECK(failureOfLaunch([](Launch &l) { l.parameters[5].axis = 2; }) ==
        "artifact 'gemm': parameter 5 of 'gemm_aligned' is a stride of axis 2, but 'C' has rank 2");
  CHECK(failureOfLaunch([](Launch &l) { l.parameters.resize(5000, {.index = 0}); }) ==
        "artifact 'gemm': the parameters of 'gemm_aligned' take 40296 bytes, but sm_90a allows 32764");
  CHECK(failureOfLaunch([](Launch &l) { l.parameters[0].bytes = 2; }) ==
        "artifact 'gemm': parameter 0 of 'gemm_aligned' has 2 bytes, but expected 4 or 8, of a stride or "
        "dimension");
  CHECK(failureOfLaunch([](Launch &l) { l.parameters[4].bytes = 8; }) ==
        "artifact 'gemm': parameter 4 of 'gemm_aligned' has 8 bytes, but expected 4 or 8, of a stride or "
        "dimension");
}

TEST_CASE("blocks of several axes have a whole number of threads along each", "[artifact][verify]") {
  CHECK(failureOfLaunch([](Launch &l) { l.threadsY = 2, l.threadsZ = 64; }) == "");
  CHECK(failureOfLaunch([](Launch &l) { l.threadsY = 7; }) ==
        "artifact 'gemm': 'gemm_aligned' has 384 threads per block, but 7 along y and 1 along z, of which "
        "sm_90a allows 64");
  CHECK_FALSE(failureOfLaunch([](Launch &l) { l.threadsZ = 128; }).empty());
  CHECK_FALSE(failureOfLaunch([](Launch &l) { l.threadsY = 0; }).empty());
  CHECK_FALSE(failureOfLaunch([](Launch &l) { l.threadsY = l.threadsZ = 1u << 16; }).empty());
}

TEST_CASE("inconsistent names of warps and shared memory are named", "[artifact][verify]") {
  CHECK(
      failureOfLaunch([](Launch &l) { l.names.roles[1].warps = 9; }) ==
      "artifact 'gemm': role 'math' of 'gemm_aligned' has 9 warps from 4, but expected some from 4 below 12");
  CHECK(
      failureOfLaunch([](Launch &l) { l.names.roles[1].firstWarp = 3; }) ==
      "artifact 'gemm': role 'math' of 'gemm_aligned' has 8 warps from 3, but expected some from 4 below 12");
  CHECK(
      failureOfLaunch([](Launch &l) { l.names.roles[0].warps = 0; }) ==
      "artifact 'gemm': role 'load' of 'gemm_aligned' has 0 warps from 0, but expected some from 0 below 12");
  CHECK(failureOfLaunch([](Launch &l) { l.names.shared[1].offset = 99952; }) ==
        "artifact 'gemm': 'tiles' in shared memory of 'gemm_aligned' has 4 slots of 16 bytes from 99952, but "
        "there are 100000 bytes");
  CHECK(failureOfLaunch([](Launch &l) { l.names.shared[0].slots = 0; }) ==
        "artifact 'gemm': 'a' in shared memory of 'gemm_aligned' has 0 slots of 16384 bytes from 0, but "
        "there are "
        "100000 bytes");
}

TEST_CASE("warps and shared memory are found by their names", "[artifact]") {
  const LaunchNames names = test::sampleArtifact().variants[0].launches[0].names;
  REQUIRE(names.roleOf(3));
  CHECK(names.roleOf(3)->name == "load");
  CHECK(names.roleOf(4)->name == "math");
  CHECK(names.roleOf(12) == nullptr);
  CHECK(names.nameOf(0) == "a[0]");
  CHECK(names.nameOf(2 * 16384 + 5) == "a[2]");
  CHECK(names.nameOf(65536) == "tiles.full[0]");
  CHECK(names.nameOf(65536 + 3 * 8) == "tiles.full[3]");
  CHECK(names.nameOf(65536 + 4 * 8) == "tiles.empty[0]");
  CHECK(names.nameOf(65536 + 64) == "");
  CHECK(names.nameOf(66560 + 32767) == "staging");
  CHECK(names.nameOf(99328) == "done");
}

TEST_CASE("transfers that make no sense are named", "[artifact][verify]") {
  auto failureOfTransfer = [](const std::function<void(Artifact &, Transfer &)> &change) {
    Artifact artifact = test::sampleTransfers();
    change(artifact, artifact.variants[1].transfers[0]);
    Result<void> valid = verify(artifact);
    return valid ? "" : valid.error().message;
  };
  CHECK(failureOfTransfer([](Artifact &, Transfer &) {}) == "");
  CHECK(failureOfTransfer([](Artifact &, Transfer &t) { t.until = 2; }) ==
        "artifact 'gemm': transfer 'gather' begins after 0 launches and ends after 2, but expected numbers "
        "from 0 "
        "to 1 in ascending order");
  CHECK(failureOfTransfer([](Artifact &, Transfer &t) { t.rounds = {}; }) ==
        "artifact 'gemm': the number of rounds of transfer 'gather' is malformed");
  CHECK(failureOfTransfer([](Artifact &, Transfer &t) { t.copies.clear(); }) ==
        "artifact 'gemm': transfer 'gather' has no copy");
  CHECK(failureOfTransfer([](Artifact &, Transfer &t) { t.sets.reset(); }) ==
        "artifact 'gemm': launches run beside transfer 'gather', which sets no count");
  CHECK(failureOfTransfer([](Artifact &, Transfer &t) { t.copies[0].from.tensor = 9; }) ==
        "artifact 'gemm': transfer 'gather' names tensor 9, but there are 5");
  CHECK(failureOfTransfer([](Artifact &, Transfer &t) { t.copies[0].from.position.pop_back(); }) ==
        "artifact 'gemm': transfer 'gather' names a place of 1 axes in 'A', which has 2");
  CHECK(failureOfTransfer([](Artifact &, Transfer &t) { t.copies[0].from.rank = HostExpr::constant(0); }) ==
        "artifact 'gemm': transfer 'gather' says which rank's tensor 'A' is, which is not symmetric");
  CHECK(failureOfTransfer([](Artifact &, Transfer &t) {
          t.copies[0].from.position[0] = HostExpr::dimension(4);
        }) == "artifact 'gemm': a position of transfer 'gather' is malformed");
  CHECK(failureOfTransfer([](Artifact &, Transfer &t) { t.copies[0].to.tensor = 3; }) ==
        "artifact 'gemm': transfer 'gather' copies from bf16 to f32, but expected one type of whole bytes");
  CHECK(failureOfTransfer([](Artifact &, Transfer &t) { t.copies[0].to.tensor = 0; }) ==
        "artifact 'gemm': transfer 'gather' writes 'A', which is an input");
  CHECK(failureOfTransfer([](Artifact &a, Transfer &) { a.tensors[4].zeroFill = false; }) ==
        "artifact 'gemm': transfer 'gather' sets 'there', but expected a symmetric workspace of i32 that "
        "begins "
        "as zeros");
}
