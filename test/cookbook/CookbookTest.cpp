// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every kernel of the cookbook on the emulator, with its checker on and its outputs poisoned, against its
/// reference in double precision: at the emulator's sizes, and at odd ones.
#include "kernels/cookbook/Cookbook.h"

#include "test/cookbook/CookbookRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

namespace {

/// A kernel in each line, and values of its parameters besides the emulator's sizes.
constexpr const char *problems = R"(
rms_norm m=1 n=1 vector=1
rms_norm m=5 n=1023
rms_norm m=2 n=17001 vector=1
rms_norm m=17 n=8
rms_norm m=5 n=2008
rms_norm m=3 n=4072
rms_norm m=3 n=8184
rms_norm m=2 n=16376
rms_norm m=2 n=16392
rms_norm_bwd m=1 n=1 vector=1
rms_norm_bwd m=65 n=1025 vector=1
rms_norm_bwd m=2 n=17001 vector=1
rms_norm_bwd m=3 n=2056
rms_norm_bwd m=5 n=4088
rms_norm_bwd m=3 n=8184
rms_norm_bwd m=3 n=9000
layer_norm m=1 n=1 vector=1
layer_norm m=5 n=1023 vector=1
layer_norm m=2 n=17001 vector=1
layer_norm m=17 n=8
layer_norm m=11 n=1016
layer_norm m=5 n=2008
layer_norm m=3 n=3064
layer_norm m=3 n=4072
layer_norm m=3 n=6136
layer_norm m=3 n=8184
layer_norm m=2 n=12280
layer_norm m=2 n=16376
layer_norm m=2 n=16392
layer_norm_bwd m=1 n=1 vector=1
layer_norm_bwd m=65 n=1025
layer_norm_bwd m=2 n=17001 vector=1
layer_norm_bwd m=3 n=2056
layer_norm_bwd m=5 n=4088
layer_norm_bwd m=3 n=8184
layer_norm_bwd m=3 n=9000
layer_norm_bwd m=2641 n=8
rotary tokens=1 heads=1 positions=1 d=16
rotary tokens=35 d=64 direction=backward
cross_entropy tokens=1 words=1
cross_entropy tokens=7 words=5001
cross_entropy_bwd tokens=1 words=1
cross_entropy_bwd tokens=7 words=1501
softmax_bwd rows=1 columns=1
softmax_bwd rows=67 columns=33
softmax_bwd rows=5 columns=513 dtype=f32
softmax_bwd rows=3 columns=9001 dtype=f16
softmax_bwd rows=3 columns=9008
swiglu m=1 n=1
swiglu m=9 n=513
swiglu m=9 n=520
swiglu_bwd m=1 n=1
swiglu_bwd m=9 n=513
swiglu_bwd m=9 n=520
gemm_gelu m=1 n=1 k=1
gemm_gelu m=129 n=70 k=65
gemm_gelu m=300 n=257 k=200 columns=160
batched_gemm batch=1 m=1 n=1 k=1
batched_gemm batch=2 m=129 n=70 k=65 columns=192
stream_k_gemm m=1 n=1 k=8 blocks=1
stream_k_gemm m=129 n=70 k=1032
stream_k_gemm m=129 n=70 k=8 blocks=9
stream_k_gemm m=600 n=520 k=136 blocks=3 columns=192
stream_k_gemm m=600 n=1000 k=328 blocks=13
grouped_gemm rows=1 groups=1 n=1 k=8
grouped_gemm rows=257 groups=4 n=70 k=72
grouped_gemm rows=191 groups=3 n=264 k=136
pointer_array_gemm groups=1 m=1 n=8 k=8
pointer_array_gemm groups=9 m=260 n=264 k=136
w4a16_gemm m=1 n=1 groups=1
w4a16_gemm m=33 n=129 groups=2 splits=3 tokens=16
w4a16_gemm m=130 n=70 groups=5 splits=2 tokens=128
mxfp4_gemm m=1 n=1 groups=1
mxfp4_gemm m=33 n=129 groups=2
fp8_block_gemm m=1 n=1 groups=1
fp8_block_gemm m=129 n=70 groups=5
fp8_block_gemm m=7 n=1000 groups=1
w8a8_gemm m=1 n=1 k=1
w8a8_gemm m=129 n=70 k=65
w8a8_gemm m=129 n=257 k=400
sparse_gemm m=1 n=1 steps=1
sparse_gemm m=129 n=70 steps=5
sparse_gemm m=300 n=257 steps=2 columns=256
sparse_gemm m=5 n=7 steps=0
gemv n=1 k=1
gemv n=9 k=1025
embedding tokens=1 words=1 d=1
embedding tokens=33 d=259
embedding tokens=33 d=1032
embedding_bwd tokens=1 words=1 d=1
embedding_bwd tokens=33 d=259
embedding_bwd tokens=300 words=7 d=1032
cumulative_sum rows=1 n=1
cumulative_sum rows=2 n=8193
cumulative_sum rows=1 n=1058817
router tokens=1 experts=8
router tokens=33 experts=61 count=6
fused_moe tokens=1 d=8 f=8 experts=8 count=1
fused_moe tokens=33 d=264 f=136 experts=13 count=3
fused_moe tokens=300 d=136 f=24 experts=8 count=2
histogram n=1 bins=1
histogram n=8193 bins=65
histogram n=70000 bins=8192
histogram n=70000 bins=8193
histogram n=70000 bins=8193 held=24576
histogram n=30000 bins=40000 held=49152
dropout rows=1 columns=1 drop=0
dropout rows=5 columns=2049 drop=50
dropout rows=17 columns=264 drop=99
stencil rows=1 columns=1
stencil rows=17 columns=257
stencil rows=5 columns=260
linear_attention heads=1 tokens=1
linear_attention heads=3 tokens=130
mamba_scan heads=1 tokens=1
mamba_scan heads=3 tokens=130
gated_delta_rule heads=1 tokens=1
gated_delta_rule heads=3 tokens=130
block_sparse_attention heads=1 tokens=1 most=1
block_sparse_attention heads=1 tokens=513 most=4
block_sparse_attention heads=1 tokens=1000 most=9
sparse_mla batches=1 queries=1 heads=1 keys=1 top=1
sparse_mla batches=2 queries=2 heads=129 keys=70 top=65
sparse_mla queries=7 heads=3 keys=5 top=70
selected_attention queries=1 keys=1 kvheads=1 group=1 blocks=1
selected_attention queries=11 keys=130 kvheads=3 group=17 blocks=7
masked_decode batches=1 kvheads=1 group=1 keys=1 splits=1
masked_decode batches=3 kvheads=3 group=17 keys=129 splits=5
convolution images=1 height=1 width=1 channels=8 filters=1
convolution images=3 height=3 width=65 channels=72 filters=70
convolution images=2 height=10 width=13 channels=8 filters=200 columns=192 stride=2
convolution images=1 height=9 width=17 channels=8 filters=40 taps=5 dilation=2 margin=3
convolution images=2 height=8 width=9 channels=16 filters=40 taps=1 margin=0
convolution images=2 height=4 width=40 channels=8 filters=40 taps=5 stride=3 margin=1
fft rows=1
fft rows=13
top_k rows=1 n=64 count=8
top_k rows=3 n=65 count=64
radix_sort rows=1 n=1
radix_sort rows=3 n=4097
radix_sort rows=1 n=270000
fp8_quantize groups=1
fp8_quantize groups=67
rms_norm_bwd m=0
softmax_bwd columns=0
gemm_gelu k=0
grouped_gemm rows=0
pointer_array_gemm m=0
pointer_array_gemm k=0
histogram n=0
convolution channels=0
block_sparse_attention tokens=0
masked_decode keys=0
radix_sort rows=0
selected_attention blocks=0
fused_moe f=0
gated_delta_rule tokens=0
sparse_mla top=0
stream_k_gemm k=0
)";

} // namespace

TEST_CASE("the cookbook's kernels are right at the emulator's sizes", "[cookbook]") {
  for (const Kernel *kernel : cookbookKernels()) {
    check(*kernel, {});
    check(*kernel, {}, Rows::apart); // the general variant, if there are two
  }
}

TEST_CASE("the cookbook's kernels are right at odd sizes", "[cookbook][odd_sizes]") {
  for (const Kernel *kernel : cookbookKernels()) {
    size_t count = 0;
    for (const CookbookProblem &problem : parseProblems(problems))
      if (problem.kernel == kernel->name()) {
        check(*kernel, problem.values);
        ++count;
      }
    INFO("problems of '" << kernel->name() << "'");
    CHECK(count >= 2);
  }
}

TEST_CASE("problems are of kernels of the cookbook", "[cookbook]") {
  for (const CookbookProblem &problem : parseProblems(problems)) {
    INFO(problem.kernel);
    CHECK(std::ranges::count(cookbookKernels(), problem.kernel, &Kernel::name) == 1);
  }
}

TEST_CASE("docs/cookbook.md lists the cookbook's kernels", "[smoke]") {
  std::ifstream file(TLC_SOURCE_DIR "/docs/cookbook.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const Kernel *kernel : cookbookKernels())
    CHECK_THAT(page.str(), Catch::Contains("`" + std::string(kernel->name()) + "`"));
}

TEST_CASE("a kernel of the cookbook is right", "[smoke]") {
  const Kernel &kernel = *cookbookKernels().front();
  CHECK(kernel.name() == "rms_norm");
  CHECK(Parameters::parse(kernel.name(), kernel.parameters(), {}));
  check(kernel, {});
}

TEST_CASE("the names of the cookbook's kernels are not the registry's", "[smoke]") {
  for (const Kernel *kernel : cookbookKernels()) {
    INFO(kernel->name());
    CHECK(!findKernel(kernel->name()));
    CHECK(!kernel->suite().empty());
    CHECK(!kernel->emulatorSizes().empty());
  }
}
