// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every kernel of the cookbook with special numbers in its inputs: -0, subnormal numbers, infinities, NaN
/// and rows of equal numbers. The reference in double precision says what they give (docs/cookbook.md).
#include "kernels/cookbook/Cookbook.h"
#include "test/cookbook/CookbookRun.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <sstream>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

namespace {

/// A kernel in each line, its sizes, and for tensors the numbers that rows of them get. `all` and `finite`
/// are lists of them. Numbers that a page excludes are left out.
constexpr const char *problems = R"(
rms_norm m=26 n=70 vector=1 X:all
rms_norm m=5 n=70 vector=1 W:all
rms_norm m=13 n=17001 vector=1 X:all
rms_norm_bwd m=26 n=70 vector=1 X:all
rms_norm_bwd m=26 n=70 vector=1 dY:all W:finite
rms_norm_bwd m=26 n=70 vector=1 X:finite dY:finite
layer_norm m=26 n=70 vector=1 X:all
layer_norm m=5 n=70 vector=1 W:-0,1e-40,nan,1 B:all
layer_norm m=13 n=17001 vector=1 X:-0,1e-40,nan,1
layer_norm_bwd m=26 n=70 vector=1 X:all
layer_norm_bwd m=26 n=70 vector=1 dY:all W:finite
layer_norm_bwd m=26 n=70 vector=1 X:finite dY:finite
rotary tokens=26 X:all
rotary tokens=26 X:all direction=backward
cross_entropy tokens=65 words=5001 X:all
cross_entropy tokens=65 words=77 X:all
cross_entropy_bwd tokens=65 words=1501 X:all
cross_entropy_bwd tokens=65 words=77 dLoss:all
softmax_bwd rows=26 columns=70 Y:finite dY:all
softmax_bwd rows=26 columns=70 Y:all dY:finite
swiglu m=26 n=70 X:all
swiglu_bwd m=26 n=70 X:all
swiglu_bwd m=26 n=70 X:finite dY:all
gemm_gelu m=26 n=70 k=40 A:all
gemm_gelu m=26 n=70 k=40 B:all
batched_gemm batch=2 m=26 n=70 k=40 A:all
batched_gemm batch=2 m=26 n=70 k=40 B:all
stream_k_gemm m=26 n=70 k=1032 A:all
stream_k_gemm m=26 n=70 k=1032 B:all
grouped_gemm rows=40 n=70 k=40 A:all
grouped_gemm rows=40 n=70 k=40 B:all
pointer_array_gemm groups=3 m=30 n=72 k=40 A:all
pointer_array_gemm groups=3 m=30 n=72 k=40 B:all
w4a16_gemm m=26 n=70 A:all
w4a16_gemm m=26 n=70 Scale:finite Zero:finite
mxfp4_gemm m=26 n=70 A:all
fp8_block_gemm m=26 n=150 A:-0,0.001,nan,1
fp8_block_gemm m=26 n=150 B:-0,0.001,nan,1
fp8_block_gemm m=26 n=150 ScaleA:all
fp8_block_gemm m=26 n=150 ScaleB:all
w8a8_gemm m=26 n=70 k=40 ScaleA:all
w8a8_gemm m=26 n=70 k=40 ScaleB:all
sparse_gemm m=26 n=70 A:all
sparse_gemm m=26 n=70 B:finite
gemv n=26 k=70 A:all
gemv n=26 k=70 X:finite
embedding tokens=40 words=26 d=70 E:all
embedding_bwd tokens=40 words=26 d=70 dY:all
embedding_bwd tokens=40 words=26 d=70 dE:all
cumulative_sum rows=26 n=300 X:all
cumulative_sum rows=13 n=8500 X:all
router tokens=65 experts=61 count=6 X:all
router tokens=65 experts=8 count=8 X:all
fused_moe tokens=65 d=8 f=8 experts=8 count=8 Logits:all
fused_moe tokens=65 d=8 f=8 experts=13 count=3 Logits:all X:all
dropout rows=26 columns=70 X:all
stencil rows=26 columns=70 X:all
linear_attention tokens=130 Q:-0,1e-40,nan,1 K:-0,1e-40 V:-0,1e-40
mamba_scan heads=9 tokens=130 A:-0,-1e-40,-inf,-1000
mamba_scan heads=2 tokens=130 C:-0,1e-40,nan,1 X:finite B:finite
gated_delta_rule heads=5 tokens=130 G:-inf,-1000
gated_delta_rule heads=2 tokens=130 Q:-0,1e-40,nan V:-0,1e-40
block_sparse_attention tokens=300 Q:all
block_sparse_attention tokens=300 K:all
block_sparse_attention tokens=300 V:all
sparse_mla heads=20 queries=4 Q:all
sparse_mla heads=20 queries=4 Cache:all
selected_attention Q:all
selected_attention K:all V:finite
masked_decode group=13 Q:all
masked_decode K:all V:finite
convolution X:all
convolution W:finite
fft rows=7 X:-0,1e-7,nan
top_k rows=26 n=70 count=64 X:all
top_k rows=13 n=8200 count=16 X:all
radix_sort rows=26 n=70 X:all
radix_sort rows=13 n=4100 X:all
fp8_quantize groups=30 X:-0,1e-40,1e-38,1e-36,inf,-inf,nan,1
)";

/// Kernels of integers alone.
constexpr std::string_view withoutFloats[] = {"histogram"};

std::vector<double> numbersOf(std::string text) {
  if (text == "all")
    text = "-0,1e-40,inf,-inf,nan,1";
  else if (text == "finite")
    text = "-0,1e-40,1";
  std::vector<double> numbers;
  std::istringstream list(text);
  for (std::string number; std::getline(list, number, ',');)
    numbers.push_back(std::strtod(number.c_str(), nullptr));
  return numbers;
}

/// The first row keeps its numbers; of two others each, some elements of the one and all of the other become
/// one of the numbers; and so on.
void change(HostTensor &tensor, const std::vector<double> &numbers) {
  std::vector<double> values = tensor.values();
  const int64_t columns = tensor.shape().size() > 1 ? tensor.shape().back() : 1;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t column = i % size_t(columns), kind = i / size_t(columns) % (2 * numbers.size() + 1);
    const bool isWhole = kind % 2 == 0;
    if (kind > 0 && (isWhole || column * 7 % 10 < 3))
      values[i] = numbers[(kind - 1) / 2];
  }
  tensor.fill(values);
}

} // namespace

TEST_CASE("the cookbook's kernels are right with special numbers", "[cookbook][values]") {
  for (const CookbookProblem &problem : parseProblems(problems)) {
    std::map<std::string, std::vector<double>> special;
    for (const std::string &note : problem.notes)
      special[note.substr(0, note.find(':'))] = numbersOf(note.substr(note.find(':') + 1));
    INFO("special numbers in " << problem.notes.front());
    size_t changed = 0;
    check(**findShippedKernel(problem.kernel), problem.values, Rows::adjacent, [&](HostTensor &tensor) {
      if (auto found = special.find(tensor.name()); found != special.end()) {
        change(tensor, found->second);
        ++changed;
      }
    });
    CHECK(changed == special.size());
  }
}

TEST_CASE("every kernel of the cookbook has a problem with special numbers", "[cookbook][values]") {
  std::vector<CookbookProblem> all = parseProblems(problems);
  for (const Kernel *kernel : cookbookKernels()) {
    INFO(kernel->name());
    CHECK(std::ranges::count(withoutFloats, kernel->name()) +
              std::ranges::count(all, kernel->name(), &CookbookProblem::kernel) >
          0);
  }
}
