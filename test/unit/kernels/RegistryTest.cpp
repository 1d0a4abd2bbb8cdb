// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the registry says of its kernels, and that they trace.
#include "kernels/Registry.h"

#include "kernels/attention/forward/Forward.h"
#include "kernels/gemm/Gemm.h"
#include "runtime/target/Timing.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <regex>

using namespace tlc;
using namespace tlc::kernels;

namespace {
const Kernel &kernelOf(std::string_view name) {
  Result<const Kernel *> kernel = findKernel(name);
  REQUIRE(kernel);
  return **kernel;
}

std::string textOf(const Kernel &kernel, const Definitions &definitions,
                   const dsl::TraceOptions &options = {}) {
  Result<Parameters> values = kernel.parse(definitions);
  REQUIRE(values);
  dsl::Program program = kernel.build(*values, *findTarget("sm_90a"), options);
  INFO(program.errorText());
  REQUIRE(program.ok());
  return program.text();
}

std::string errorOf(const Kernel &kernel, const Definitions &definitions) {
  Result<Parameters> values = kernel.parse(definitions);
  REQUIRE_FALSE(values);
  return values.error().message;
}

bool contains(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }
} // namespace

TEST_CASE("an unknown kernel is answered with the known ones", "[kernels][unit]") {
  Result<const Kernel *> kernel = findKernel("gem");
  REQUIRE_FALSE(kernel);
  CHECK(kernel.error().message == "expected one of the kernels gemm, softmax, attention_fwd, "
                                  "attention_fwd_fp8, attention_bwd, attention_decode, all_reduce, "
                                  "all_gather_gemm, gemm_reduce_scatter, gemm_all_reduce, "
                                  "moe_dispatch, moe_combine, attention_fwd_sharded, attention_bwd_sharded, "
                                  "but got 'gem'; the nearest name is 'gemm'");
}

TEST_CASE("wrong parameters are answered with what is allowed", "[kernels][unit]") {
  const Kernel &gemm = kernelOf("gemm");
  CHECK(errorOf(gemm, {{"q", "1"}}) ==
        "expected a parameter of kernel 'gemm' (m, n, k, batch, dtype, out, layout, scales, "
        "bias, activation, residual, bm, bn, bk, stages, split, group, tiles, cluster, residents, dtype_b, "
        "sum, share, "
        "swap, store_role, unaligned, repack), but got 'q'");
  CHECK(errorOf(gemm, {{"m", "-1"}}) ==
        "expected parameter 'm' of kernel 'gemm' to be 0 to 2147483647, but got '-1'");
  CHECK(errorOf(gemm, {{"m", "4294967296"}}) ==
        "expected parameter 'm' of kernel 'gemm' to be 0 to 2147483647, but got '4294967296'");
  CHECK(errorOf(gemm, {{"m", "99999999999999999999"}}) ==
        "expected parameter 'm' of kernel 'gemm' to be 0 to 2147483647, but got '99999999999999999999'");
  CHECK(errorOf(gemm, {{"m", "auto"}}) ==
        "expected parameter 'm' of kernel 'gemm' to be 0 to 2147483647, but got 'auto'");
  CHECK(errorOf(gemm, {{"bn", "12"}}) ==
        "expected parameter 'bn' of kernel 'gemm' to be 8 to 256 in steps of 8, or auto, but got '12'");
  CHECK(
      errorOf(gemm, {{"dtype", "f64"}}) ==
      "expected parameter 'dtype' of kernel 'gemm' to be f16 | bf16 | f32 | e4m3 | e5m2 | i8, but got 'f64'");
  CHECK(errorOf(gemm, {{"k", "12x"}}) ==
        "expected parameter 'k' of kernel 'gemm' to be 0 to 2147483647, but got '12x'");
}

TEST_CASE("values that do not fit each other are refused", "[kernels][unit]") {
  const Kernel &gemm = kernelOf("gemm");
  CHECK(errorOf(gemm, {{"dtype", "e4m3"}, {"layout", "nn"}}) ==
        "kernel 'gemm': expected layout=tn, with rows of A and B along k, because matrix units read factors "
        "of 8 "
        "bits along k only, but got dtype=e4m3 with another layout");
  CHECK(
      errorOf(gemm, {{"dtype_b", "e5m2"}}) ==
      "kernel 'gemm': expected factors of one type, or each of e4m3 or e5m2, but A has bf16 and B has e5m2");
  CHECK(errorOf(gemm, {{"out", "i32"}}) ==
        "kernel 'gemm': expected out=i32 with dtype=i8 and sums as they are, but got dtype=bf16");
  CHECK(errorOf(gemm, {{"dtype", "i8"}, {"out", "i32"}, {"bias", "column"}}) ==
        "kernel 'gemm': expected out=i32 with dtype=i8 and sums as they are, but got dtype=i8 and scales, "
        "bias, "
        "activation or residual");
  CHECK(errorOf(gemm, {{"batch", "2"}, {"cluster", "2"}}) ==
        "kernel 'gemm': expected cluster = 1 with batch, or share=a, because blocks of two images share no "
        "tiles "
        "of B");
  const Kernel &attention = **findKernel("attention_fwd");
  CHECK(
      errorOf(attention, {{"h", "3"}, {"hkv", "2"}}) ==
      "kernel 'attention_fwd': expected h to be a multiple of hkv because as many heads of Q share each head "
      "of K and V, but got h = 3 and hkv = 2");
  CHECK(
      errorOf(attention, {{"h", "3"}}) ==
      "kernel 'attention_fwd': expected h to be a multiple of hkv because as many heads of Q share each head "
      "of K and V, but got h = 3 and hkv = 16; hkv = 16 is the default: -D hkv=... changes it");
  CHECK(errorOf(attention, {{"haed", "3"}}).ends_with("but got 'haed'"));
  CHECK(errorOf(attention, {{"cuasal", "left"}}).ends_with("but got 'cuasal'; the nearest name is 'causal'"));
  CHECK(
      errorOf(attention, {{"d", "576"}, {"dv", "512"}, {"bq", "128"}, {"form", "explicit"}}) ==
      "kernel 'attention_fwd': expected form = plain or auto because the columns of dv = 512 take two roles "
      "that compute, and registers for no third, which bq = 128 takes, but got form = explicit");
  CHECK(errorOf(attention, {{"dv", "520"}}) == "expected parameter 'dv' of kernel 'attention_fwd' to be 8 to "
                                               "512 in steps of 8, or auto, but got '520'");
  CHECK(errorOf(**findKernel("attention_decode"), {{"h", "4096"}, {"hkv", "2"}}) ==
        "kernel 'attention_decode': expected at most 1024 heads of Q for each head of K and V because they "
        "are rows of "
        "tiles, but got 2048");
  CHECK(errorOf(**findKernel("attention_decode"), {{"d", "576"}, {"dv", "512"}, {"rows", "128"}}) ==
        "kernel 'attention_decode': expected rows = 64 because the columns of dv = 512 take two roles that "
        "compute, and "
        "registers for no third, but got 128");
  CHECK(errorOf(**findKernel("attention_decode"), {{"d", "64"}, {"dv", "72"}, {"values", "keys"}}) ==
        "kernel 'attention_decode': expected dv to be a multiple of 16 and at most d because rows of V are "
        "part of K's, but "
        "got dv = 72 and d = 64");
  CHECK(errorOf(**findKernel("attention_bwd"), {{"d", "576"}, {"dv", "512"}}) ==
        "expected parameter 'd' of kernel 'attention_bwd' to be 8 to 256 in steps of 8, but got '576'");
  for (auto [name, others] : {std::pair("dq", "own_launch, ordered"), {"dkv", "loop, split"}})
    CHECK(errorOf(**findKernel("attention_bwd"), {{"deterministic", "yes"}, {name, "atomic"}}) ==
          "kernel 'attention_bwd': expected " + std::string(name) + " = " + others +
              " or auto because deterministic = yes, but got " + name + " = atomic, which adds in any order");
  CHECK(errorOf(**findKernel("attention_bwd"), {{"deterministic", "yes"}, {"dq", "tma"}}) ==
        "kernel 'attention_bwd': expected dq = own_launch, ordered or auto because deterministic = yes, but "
        "got "
        "dq = tma, which adds in any order");
  CHECK(
      errorOf(**findKernel("attention_bwd"), {{"d", "192"}, {"dv", "128"}, {"bq", "128"}}) ==
      "kernel 'attention_bwd': expected bq = 64 because with bk = 64 the role that has dQ has registers for "
      "no more, but got 128");
  CHECK(
      errorOf(**findKernel("attention_bwd"),
              {{"d", "192"}, {"dv", "128"}, {"dq", "tma"}, {"form", "plain"}}) ==
      "kernel 'attention_bwd': expected d and dv of at most 128 with dq = tma because a block has no shared "
      "memory for tiles of sums in f32 beside tiles of longer rows, but got 192 and 128");
  for (std::string_view name : {"attention_fwd", "attention_decode"})
    CHECK(errorOf(**findKernel(name), {{"scale", "0"}}) ==
          "kernel '" + std::string(name) +
              "': expected a scale above 0 because all keys would weigh the same, but got 0");
  for (Definitions lengths : {Definitions{{"d", "64"}, {"dv", "72"}}, Definitions{{"d", "40"}}})
    for (const char *form : {"auto", "plain", "explicit"}) {
      lengths["form"] = form;
      CHECK(attention.parse(lengths));
    }
}

TEST_CASE("a form that is left open is one that the parameters and the target allow", "[kernels][unit]") {
  auto remarkOf = [](std::string_view kernel, const Definitions &definitions, std::string_view target) {
    Result<Parameters> values = kernelOf(kernel).parse(definitions);
    REQUIRE(values);
    std::vector<Remark> remarks = kernelOf(kernel).remarks(*values, *findTarget(target));
    bool hasRoles = contains(kernelOf(kernel).build(*values, *findTarget(target)).text(), "tile.role \"math");
    CHECK(hasRoles == remarks.empty());
    return remarks.empty() ? "" : "[" + remarks[0].id + "] " + remarks[0].message;
  };
  std::string start =
      "[plain-form] 'attention_fwd' takes the plain form, not the one with roles written by hand: ";
  CHECK(remarkOf("attention_fwd", {}, "sm_90a").empty());
  CHECK(remarkOf("attention_fwd", {{"d", "40"}}, "sm_90a").empty());
  CHECK(remarkOf("attention_fwd", {}, "sm_80") == start + "sm_80 has no wgmma");
  CHECK(
      contains(remarkOf("attention_fwd", {{"dv", "512"}, {"bq", "128"}}, "sm_90a"), "which bq = 128 takes"));
  CHECK(remarkOf("attention_fwd", {{"dv", "256"}, {"bq", "192"}}, "sm_90a") ==
        start + "bq = 192 takes three warpgroups, which have registers for rows of O up to dv = 192, but dv "
                "is 256");
  CHECK(remarkOf("attention_fwd_fp8", {{"d", "256"}, {"sums", "fast"}}, "sm_90a").empty());
  CHECK(contains(remarkOf("attention_fwd_fp8", {{"d", "256"}}, "sm_90a"), "for dv up to 128, but dv is 256"));
  CHECK(contains(remarkOf("attention_fwd_fp8", {{"bk", "96"}}, "sm_90a"), "which bk = 96 does not divide"));
}

TEST_CASE("tiles of attention forward fit few queries and few keys", "[kernels][unit]") {
  using Tile = std::pair<int64_t, int64_t>; // of queries and keys
  auto chosen = [](const ForwardExtents &extents, AttentionProblem problem = {}) {
    ForwardConfig config{.problem = problem};
    chooseTiles(config, extents, *findTarget("sm_90a"));
    return Tile(config.bq, config.bk);
  };
  CHECK(chosen({.b = 4, .sq = 4096, .sk = 4096, .h = 16, .hkv = 16}) == Tile(128, 128));
  CHECK(chosen({.b = 4, .sq = 4096, .sk = 27, .h = 16, .hkv = 16}) == Tile(128, 32));
  CHECK(chosen({.b = 4, .sq = 4096, .sk = 0, .h = 16, .hkv = 16}) == Tile(128, 16));
  CHECK(chosen({.b = 4, .sq = 4096, .sk = 197, .h = 16, .hkv = 16}) == Tile(128, 112)); // two tiles
  // Edges of tiles of queries and of keys meet.
  AttentionProblem causal{.mask = {.causal = CausalAlignment::right}};
  CHECK(chosen({.b = 4, .sq = 4096, .sk = 197, .h = 16, .hkv = 16}, causal) == Tile(128, 128));
  CHECK(chosen({.b = 4, .sq = 100, .sk = 100, .h = 64, .hkv = 64}, causal) == Tile(128, 112));
  // A second warpgroup would have no rows, or take a tile from another multiprocessor.
  CHECK(chosen({.b = 64, .sq = 64, .sk = 4096, .h = 32, .hkv = 8}) == Tile(64, 128));
  CHECK(chosen({.b = 1, .sq = 256, .sk = 8192, .h = 32, .hkv = 8}) == Tile(64, 128));
  CHECK(chosen({.b = 32, .sq = 256, .sk = 256, .h = 16, .hkv = 16}) == Tile(128, 128));
  // Three warpgroups with short rows, where little is masked and few rows are beyond the last one.
  auto shortRows = [&](int64_t rows, const MaskConfig &mask = {}, Lengths lengths = Lengths::uniform) {
    return chosen({.b = 32, .sq = rows, .sk = rows, .h = 16, .hkv = 16},
                  {.d = 64, .dv = 40, .mask = mask, .lengths = lengths})
        .first;
  };
  CHECK(shortRows(510) == 128);
  CHECK(shortRows(512) == 192);
  CHECK(shortRows(512, {}, Lengths::padded) == 192);
  CHECK(shortRows(1534, causal.mask) == 128);
  CHECK(shortRows(1536, causal.mask) == 192);
  CHECK(shortRows(4096, {.causal = CausalAlignment::right, .windowLeft = 100}) == 128);
  CHECK(shortRows(4096, {.blockCausal = 32}) == 128);
  CHECK(shortRows(2, {}, Lengths::packed) == 192);
  CHECK(shortRows(4096, causal.mask, Lengths::packed) == 128);
  AttentionProblem packed{.lengths = Lengths::packed};
  CHECK(chosen({.b = 64, .sq = 64, .sk = 4096, .h = 1, .hkv = 1}, packed) == Tile(128, 128));
}

TEST_CASE("rows that fill no boxes of 64 bytes are padded", "[kernels][unit]") {
  std::string text = textOf(kernelOf("attention_fwd"), {{"d", "80"}, {"dv", "16"}});
  CHECK(contains(text, "tile.alloc_shared \"k\" : !tile.shared<2x128x96xbf16>"));
  CHECK(contains(text, "tile.alloc_shared \"v\" : !tile.shared<2x128x16xbf16>"));
}

TEST_CASE("zeros of unseen keys have a launch where only that way of summing up writes them",
          "[kernels][unit]") {
  auto error = [](Definitions definitions) {
    definitions.insert({{"unseen", "own_launch"}, {"dkv", "loop"}});
    return errorOf(kernelOf("attention_bwd"), definitions);
  };
  CHECK(contains(
      textOf(kernelOf("attention_bwd"), {{"causal", "left"}, {"sq", "96"}, {"sk", "1000"}, {"dkv", "loop"}}),
      "attention_bwd_unseen_keys"));
  CHECK(contains(error({{"dkv", "auto"}}), "expected dkv = loop with unseen = own_launch because only there "
                                           "tiles of keys write dK and dV, but got dkv = auto"));
  auto refusal = [](const char *why) {
    return std::string("expected unseen = loop or auto because ") + why + ", but got own_launch";
  };
  CHECK(contains(error({{"dkv", "split"}}), refusal("only dkv = loop writes dK and dV tile by tile")));
  CHECK(contains(error({{"form", "plain"}}), refusal("form = plain computes them like others")));
  CHECK(contains(error({{"dq", "ordered"}}), refusal("dq = ordered counts all tiles")));
  CHECK(contains(error({{"varlen", "40,50"}}), refusal("packed sequences have tiles of their own")));
}

TEST_CASE("blocks take tiles of keys where packed sequences and heads leave work uneven", "[kernels][unit]") {
  auto takes = [](Definitions definitions) {
    for (auto [name, value] :
         {std::pair("varlen", "4096,8192"), {"causal", "right"}, {"h", "32"}, {"hkv", "8"}})
      if (!definitions.contains("b") || std::string_view(name) != "varlen")
        definitions.try_emplace(name, value);
    return contains(textOf(kernelOf("attention_bwd"), definitions), "\"taken_tile\"");
  };
  CHECK(takes({}));
  CHECK(takes({{"b", "2"}, {"dealing", "taken"}}));
  CHECK(!takes({{"dealing", "fixed"}}));
  CHECK(!takes({{"b", "2"}}));
  CHECK(!takes({{"causal", "none"}}));
  CHECK(!takes({{"hkv", "32"}}));
  CHECK(!takes({{"dkv", "split"}}));
  CHECK(!takes({{"form", "plain"}}));
  CHECK(!takes({{"deterministic", "yes"}, {"dq", "ordered"}}));
}

TEST_CASE("keys are split where few queries meet many keys", "[kernels][unit]") {
  auto splitsKeys = [](Definitions definitions, std::string_view target = "sm_90a") {
    for (auto [name, value] : {std::pair("b", "1"), {"h", "32"}, {"hkv", "8"}, {"sq", "1"}, {"sk", "8192"}})
      if (!definitions.contains("padded") || std::string_view(name) != "b") // which the lengths say
        definitions.try_emplace(name, value);
    const Kernel &kernel = kernelOf("attention_fwd");
    Result<Parameters> values = kernel.parse(definitions);
    REQUIRE(values);
    std::vector<Remark> remarks = kernel.remarks(*values, *findTarget(target));
    bool isSplit = contains(kernel.build(*values, *findTarget(target)).text(), "attention_fwd_join");
    if (definitions["form"] != "split-keys")
      CHECK(isSplit == (!remarks.empty() && remarks[0].id == "split-keys"));
    return isSplit;
  };
  CHECK(splitsKeys({}));
  CHECK(splitsKeys({{"sq", "16"}, {"causal", "right"}}));
  CHECK(splitsKeys({{"sq", "64"}}));
  CHECK(!splitsKeys({{"sq", "1024"}})); // as many tiles of queries as multiprocessors
  CHECK(!splitsKeys({{"sq", "0"}}));
  CHECK(!splitsKeys({{"sk", "256"}}));
  CHECK(!splitsKeys({{"causal", "left"}})); // one key is seen
  CHECK(!splitsKeys({{"window", "100"}}));
  CHECK(splitsKeys({{"window", "4096"}}));
  // Many queries see many keys together, and those of a tile few.
  CHECK(!splitsKeys(
      {{"sq", "2048"}, {"sk", "16384"}, {"h", "1"}, {"hkv", "1"}, {"causal", "right"}, {"window", "256"}}));
  CHECK(!splitsKeys({{"form", "explicit"}}));
  CHECK(!splitsKeys({{"form", "plain"}}));
  CHECK(!splitsKeys({{"bk", "64"}}));
  CHECK(!splitsKeys({{"mask", "block_causal"}, {"sq", "2"}, {"sk", "2"}}));
  CHECK(!splitsKeys({{"padded", "1"}, {"padded_k", "8192"}}));
  CHECK(!splitsKeys({}, "sm_80"));
  CHECK(!splitsKeys({{"b", "2147483647"}, {"h", "2147483647"}, {"hkv", "2147483647"}}));
  CHECK(splitsKeys({{"form", "split-keys"}, {"sq", "100"}}));
  // A program for a fixed number of heads has the dimension.
  Result<Parameters> values = kernelOf("attention_fwd").parse({{"sq", "1"}, {"sk", "65536"}});
  REQUIRE(values);
  dsl::Program fixed =
      kernelOf("attention_fwd").build(*values, *findTarget("sm_90a"), {.fixedDimensions = {{"h", 16}}});
  CHECK(fixed.ok());
  for (auto [name, value, why] :
       {std::tuple("bk", "64", "bk is of the other forms"),
        {"padded", "1", "keys are split only where all sequences have the same lengths"},
        {"mask", "block_causal", "expected no block-causal mask"}})
    CHECK(contains(errorOf(kernelOf("attention_fwd"), {{"form", "split-keys"}, {name, value}}), why));
  CHECK(contains(errorOf(kernelOf("attention_fwd_fp8"), {{"form", "split-keys"}}),
                 "to be auto | explicit | plain, but got 'split-keys'"));
}

TEST_CASE("every kernel traces over its suite, in every combination of choices", "[kernels][unit]") {
  for (const Kernel *kernel : allKernels()) {
    std::vector<Definitions> variants = {{}};
    for (const Definitions &shape : kernel->suite())
      variants.push_back(shape);
    for (const Parameter &parameter : kernel->parameters()) {
      for (const std::string &choice : parameter.choices)
        variants.push_back({{parameter.name, choice}});
      if (parameter.kind == Parameter::Kind::size)
        for (const char *size : {"0", "1", "63", "2147483647"})
          variants.push_back({{parameter.name, size}});
    }
    for (const Definitions &variant : variants) {
      INFO(kernel->name());
      if (!kernel->parse(variant)) // such as a type of sums that the factors' does not give
        continue;
      CHECK_FALSE(textOf(*kernel, variant).empty());
    }
  }
}

TEST_CASE("the tensors of a GEMM follow its sizes and layout", "[kernels][unit]") {
  const Kernel &gemm = kernelOf("gemm");
  Result<Parameters> values =
      gemm.parse({{"m", "3"}, {"n", "5"}, {"k", "7"}, {"layout", "nn"}, {"dtype", "f16"}, {"out", "f32"}});
  REQUIRE(values);
  std::vector<TensorSpec> tensors = gemm.tensors(*values);
  REQUIRE(tensors.size() == 3);
  CHECK(tensors[0].shape == std::vector<int64_t>{3, 7});
  CHECK(tensors[1].shape == std::vector<int64_t>{7, 5});
  CHECK(tensors[2].shape == std::vector<int64_t>{3, 5});
  CHECK(tensors[1].element == ElementType::f16);
  CHECK(tensors[2].element == ElementType::f32);
  CHECK(tensors[2].access == Access::output);
  CHECK(gemm.flops(*values) == 2 * 3 * 5 * 7);
  CHECK(gemm.bytes(*values) == 2 * (3 * 7 + 7 * 5) + 4 * 3 * 5);
  values = gemm.parse({{"m", "3"},
                       {"n", "5"},
                       {"k", "7"},
                       {"batch", "2"},
                       {"layout", "nt"},
                       {"scales", "row"},
                       {"residual", "in_place"}});
  REQUIRE(values);
  tensors = gemm.tensors(*values);
  REQUIRE(tensors.size() == 5);
  CHECK(tensors[0].shape == std::vector<int64_t>{2, 7, 3});
  CHECK(tensors[1].shape == std::vector<int64_t>{2, 7, 5});
  CHECK(tensors[2].shape == std::vector<int64_t>{2, 3});
  CHECK(tensors[3].shape == std::vector<int64_t>{2, 5});
  CHECK(tensors[4].shape == std::vector<int64_t>{2, 3, 5});
  CHECK(tensors[4].access == Access::inout);
  CHECK(gemm.flops(*values) == 2 * 2 * 3 * 5 * 7);
}

TEST_CASE("large problems take the largest tile, small ones are split until the device is busy",
          "[kernels][unit]") {
  auto configOf = [](int64_t m, int64_t n, int64_t k) {
    return chooseGemmConfig({m, n, k}, {}, *findTarget("sm_90a"));
  };
  GemmConfig large = configOf(8192, 8192, 8192);
  CHECK(large.bm == 128);
  CHECK(large.bn >= 192);
  CHECK(large.split == 1);
  CHECK(large.stages == 4);
  GemmConfig few = configOf(16, 4096, 32768);
  CHECK(few.bm == 16);
  CHECK(few.split > 1);
}

TEST_CASE("a tile of the GEMM is as wide as fills the device, pairs of blocks where L2 limits",
          "[kernels][unit]") {
  auto configOf = [](int64_t m, int64_t n, int64_t k) {
    return chooseGemmConfig({m, n, k}, {}, *findTarget("sm_90a"));
  };
  auto blocks = [](const GemmConfig &c, int64_t m, int64_t n) {
    return (m + c.bm - 1) / c.bm * ((n + c.bn - 1) / c.bn) * c.split;
  };
  // 80 tiles of 128 x 128, or 160, which are two rounds, or parts of fewer.
  GemmConfig one = configOf(256, 5120, 8192);
  CHECK(blocks(one, 256, 5120) > 100);
  CHECK(blocks(one, 256, 5120) <= 132);
  // Rows that do not begin at sectors.
  CHECK(configOf(4736, 2584, 4648).cluster == 2);
  CHECK(configOf(4096, 4096, 4096).cluster == 1);
  // Narrower than any tile of large problems.
  CHECK(configOf(6056, 16, 11352).bn == 16);
  for (int64_t n : {8, 40, 72, 136, 5000})
    for (int64_t m : {1, 100, 3000}) {
      GemmConfig c = configOf(m, n, 1000);
      CAPTURE(m, n, c.bm, c.bn);
      CHECK(c.bn % 8 == 0);
      CHECK(c.stages >= 2);
      CHECK((c.bm == 64 || c.bm == 8 || 2 * m > c.bm));
      CHECK((c.bn == 16 || 2 * n > c.bn));
    }
  CHECK(chooseGemmConfig({4736, 2584, 4648}, {}, *findTarget("sm_80")).cluster == 1);
}

TEST_CASE("a cluster sums parts of k where all tiles are computed at once and four stages fit",
          "[kernels][unit]") {
  const Target &target = *findTarget("sm_90a");
  auto sumsInCluster = [](const GemmConfig &c) { return c.split > 1 && c.sum == GemmSum::cluster; };
  CHECK(sumsInCluster(chooseGemmConfig({128, 320, 7168}, {}, target)));
  CHECK(!sumsInCluster(chooseGemmConfig({128, 320, 7168}, {}, *findTarget("sm_80"))));
  CHECK(!sumsInCluster(chooseGemmConfig({128, 320, 7168}, {.isBatched = true}, target)));
  for (int64_t m : {1, 16, 100, 256, 2048})
    for (int64_t n : {320, 576, 1536, 3584})
      for (int64_t k : {1024, 7168, 18944}) {
        GemmConfig c = chooseGemmConfig({m, n, k}, {}, target);
        if (!sumsInCluster(c))
          continue;
        CAPTURE(m, n, k);
        CHECK((m + c.bm - 1) / c.bm * ((n + c.bn - 1) / c.bn) <= clustersAtOnce(target, c.split));
        CHECK(c.stages >= 4);
      }
}

TEST_CASE("tiles are as wide as lets them fill one turn or two", "[kernels][unit]") {
  const Target &target = *findTarget("sm_90a");
  auto turns = [&](int64_t m, int64_t n, int64_t k) {
    GemmConfig c = chooseGemmConfig({m, n, k}, {}, target);
    return double((m + c.bm - 1) / c.bm * ((n + c.bn - 1) / c.bn) * c.split) / target.multiprocessors;
  };
  // Widths that are multiples of 32 leave a third of the multiprocessors without a second tile.
  for (double taken : {turns(1000, 4608, 3584), turns(256, 1536, 7168), turns(1000, 576, 7168)}) {
    CHECK(taken <= 2);
    CHECK(taken / std::ceil(taken) > 0.85);
  }
  // Rows that the TMA cannot copy keep the usual ones, and rows along n have whole panels.
  CHECK(chooseGemmConfig({1000, 4608, 3582}, {}, target, {.a = 4, .b = 4}).bn % 32 == 0);
  for (int64_t n : {4608, 5120, 3584})
    CHECK(chooseGemmConfig({1000, n, 3584}, {.layout = GemmLayout::nn}, target).bn % 64 == 0);
}

TEST_CASE("columns of C fill the matrix units where rows are few", "[kernels][unit]") {
  const Target &target = *findTarget("sm_90a");
  auto swaps = [&](int64_t m, int64_t n, int64_t k, const GemmConfig &problem = {}) {
    GemmConfig c = chooseGemmConfig({m, n, k}, problem, target);
    CHECK((!c.swapped || (c.bn % 64 == 0 && c.bm % 8 == 0 && c.bm <= 256)));
    return c.swapped;
  };
  for (int64_t m : {1, 4, 16})
    for (auto [n, k] : {std::pair<int64_t, int64_t>{4096, 4096}, {7168, 2048}, {4096, 14336}})
      CHECK(swaps(m, n, k));
  CHECK(!swaps(4096, 4096, 4096));
  for (GemmLayout layout : {GemmLayout::nn, GemmLayout::nt, GemmLayout::tt})
    CHECK(swaps(16, 4096, 4096, {.layout = layout}));
  CHECK(swaps(16, 4096, 4096, {.dtype = ElementType::e4m3}));
  // Boxes of the TMA are whole panels, or all of a narrower tile, where A's memory runs along its rows.
  for (int64_t m : {4, 24, 100, 200, 256})
    if (GemmConfig c = chooseGemmConfig({m, 4608, 3584}, {.layout = GemmLayout::nt}, target); c.swapped)
      CHECK((c.bm % 64 == 0 || std::has_single_bit(uint64_t(c.bm))));
  CHECK(!swaps(16, 4096, 4096, {.isBatched = true}));
  CHECK(!chooseGemmConfig({16, 4096, 4096}, {}, *findTarget("sm_80")).swapped);
  CHECK(!chooseGemmConfig({16, 4096, 4096}, {}, target, {}, LeftFactor::a).swapped);
  CHECK(!swaps(16, 4096, 4096, {.storeRole = true}));
}

TEST_CASE("two blocks of small tiles share a multiprocessor where one of each leaves some without a second",
          "[kernels][unit]") {
  const Target &target = *findTarget("sm_90a");
  GemmConfig c = chooseGemmConfig({4, 10240, 5120}, {}, target);
  CHECK(c.swapped);
  CHECK(c.bn == 64);
  CHECK(c.residents == 2);
  for (int64_t n : {512, 4096, 7168, 8192}) {
    CAPTURE(n);
    GemmConfig few = chooseGemmConfig({4, n, 8192}, {}, target);
    CHECK((few.residents == 1 || n / few.bn * few.split > target.multiprocessors));
  }
}

TEST_CASE("options that swapped factors do not have leave A on the left", "[kernels][unit]") {
  // Rows of A in a block's tile.
  auto rowsOf = [](Definitions definitions, const char *m) {
    definitions.insert({{"m", m}, {"n", "4096"}, {"k", "4096"}});
    std::string text = textOf(kernelOf("gemm"), definitions);
    std::smatch rows;
    REQUIRE(
        std::regex_search(text, rows, std::regex("\"a\" : !tile.shared<(?:[0-9]+x)?([0-9]+)x[0-9]+xbf16")));
    return std::stoll(rows[1]);
  };
  for (const char *m : {"4", "40", "200"}) {
    CAPTURE(m);
    for (const Definitions &options :
         std::initializer_list<Definitions>{{{"swap", "no"}},
                                            {{"store_role", "yes"}},
                                            {{"cluster", "1"}},
                                            {{"cluster", "2"}, {"share", "a"}},
                                            {{"bn", "128"}},
                                            {{"split", "2"}, {"sum", "cluster"}}}) {
      CAPTURE(options.begin()->first);
      CHECK(rowsOf(options, m) % 64 == 0);
    }
    CHECK(rowsOf({{"swap", "yes"}}, m) <= 104);
    CHECK(rowsOf({{"swap", "yes"}, {"split", "4"}, {"sum", "cluster"}}, m) % 32 == 0);
  }
}

TEST_CASE("clusters of more than two blocks leave multiprocessors idle", "[kernels][unit]") {
  const Target &target = *findTarget("sm_90a");
  CHECK(clustersAtOnce(target, 1) == target.multiprocessors);
  CHECK(clustersAtOnce(target, 2) == target.multiprocessors / 2);
  CHECK(clustersAtOnce(target, 4) == 30);
  CHECK(clustersAtOnce(target, 8) == 14);
  // 32 clusters of 128 x 96 in 4 parts took two turns.
  GemmConfig c = chooseGemmConfig({256, 1536, 7168}, {}, target);
  CHECK((c.split < 4 || c.sum != GemmSum::cluster));
}

TEST_CASE("the GEMM of the largest extents that there may be has a configuration", "[kernels][unit]") {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  for (const char *target : {"sm_80", "sm_90a"}) {
    GemmConfig c = chooseGemmConfig({most, most, most, most}, {.isBatched = true}, *findTarget(target));
    CHECK(c.split == 1);
  }
}

TEST_CASE("operands with unaligned rows are repacked where products take longer than that",
          "[kernels][unit]") {
  auto configOf = [](int64_t m, int64_t n, int64_t k, GemmAlignment alignment,
                     const char *target = "sm_90a") {
    return chooseGemmConfig({m, n, k}, {}, *findTarget(target), alignment);
  };
  GemmConfig large = configOf(4096, 4096, 4095, {.a = 2, .b = 2});
  CHECK(large.rowsOfA == GemmRows::repacked);
  CHECK(large.rowsOfB == GemmRows::repacked);
  CHECK(large.rowsOfC == GemmRows::any);
  GemmConfig small = configOf(16, 16, 33, {.a = 2, .b = 2, .c = 2});
  CHECK(small.rowsOfA == GemmRows::unaligned);
  CHECK(small.rowsOfB == GemmRows::unaligned);
  CHECK(small.rowsOfC == GemmRows::unaligned);
  // What a block reads is little where most of its rows do not exist.
  for (auto [m, n, k] : {std::array<int64_t, 3>{8, 52, 110}, {232, 1, 2}, {4, 304, 4706}}) {
    GemmConfig few = configOf(m, n, k, {.a = 2, .b = 2});
    CAPTURE(m, n, k);
    CHECK(few.rowsOfA == GemmRows::unaligned);
    CHECK(few.rowsOfB == GemmRows::unaligned);
  }
  // Threads copy four elements at once as they copy one.
  CHECK(configOf(5777, 272, 14580, {.a = 2, .b = 2}).rowsOfA == GemmRows::repacked);
  CHECK(configOf(5777, 272, 14580, {.a = 8, .b = 8}).rowsOfA == GemmRows::unaligned);
  GemmConfig one = configOf(4096, 4096, 4096, {.b = 2});
  CHECK(one.rowsOfA == GemmRows::any);
  CHECK(one.rowsOfB == GemmRows::repacked);
  CHECK(configOf(4096, 4096, 4095, {.a = 2, .b = 2}, "sm_80").rowsOfA == GemmRows::unaligned);
}

TEST_CASE("blocks of a GEMM share only what the TMA loads for the tile that was chosen", "[kernels][unit]") {
  auto isShared = [](const Definitions &given) {
    Definitions ragged = {{"m", "1864"}, {"n", "704"}, {"k", "6338"}};
    ragged.insert(given.begin(), given.end());
    return contains(textOf(kernelOf("gemm"), ragged), "cluster = ");
  };
  CHECK(isShared({}));
  CHECK(!isShared({{"repack", "no"}}));
  CHECK(!isShared({{"split", "2"}}));
  CHECK(!isShared({{"swap", "yes"}}));
  CHECK(!isShared({{"bm", "64"}}));
}

TEST_CASE("a GEMM knows from its sizes which rows contiguous tensors have", "[kernels][unit]") {
  auto has = [](const Definitions &definitions, const char *part) {
    return contains(textOf(kernelOf("gemm"), definitions), part);
  };
  CHECK(!has({}, "alignment"));
  CHECK(!has({}, "gemm_repack"));
  Definitions odd = {{"k", "4095"}};
  CHECK(has(odd, "gemm_repack"));
  CHECK(has(odd, "\"A_repacked\""));
  CHECK(has(odd, "\"B_repacked\""));
  CHECK(has(odd, "\"A\", input, dims[0, 2], alignment = 2"));
  CHECK(!has({{"k", "4095"}, {"unaligned", "none"}}, "gemm_repack"));
  CHECK(!has({{"k", "4095"}, {"repack", "no"}}, "gemm_repack"));
  Definitions nn = {{"k", "4095"}, {"layout", "nn"}};
  CHECK(has(nn, "\"A_repacked\""));
  CHECK(!has(nn, "B_repacked"));
  CHECK(has({{"k", "4094"}}, "\"A\", input, dims[0, 2], alignment = 4"));
  CHECK(has({{"k", "4092"}}, "\"B\", input, dims[1, 2], alignment = 8"));
  CHECK(has({{"k", "4092"}, {"unaligned", "ab"}}, "\"B\", input, dims[1, 2], alignment = 2"));
  CHECK(has({{"n", "4095"}}, "\"C\", output, dims[0, 1], alignment = 2"));
  // A single row is as aligned as its address.
  CHECK(!has({{"m", "1"}, {"k", "4095"}, {"layout", "nn"}}, "alignment = 2"));
}

TEST_CASE("configurations are chosen for the target", "[kernels][unit]") {
  auto stagesOn = [](std::string_view target) {
    GemmConfig config;
    fitGemmStages(config, *findTarget(target));
    return config.stages;
  };
  CHECK(stagesOn("sm_90a") == 4);
  CHECK(stagesOn("sm_80") == 3); // 163 KB of shared memory instead of 227, and no tile leaves through it
  auto queryStagesOn = [](std::string_view target) {
    ForwardConfig config{.form = AttentionForm::plain};
    chooseTiles(config, {.sq = 4096, .sk = 4096}, *findTarget(target));
    return config.queryStages;
  };
  CHECK(queryStagesOn("sm_90a") == 2);
  CHECK(queryStagesOn("sm_80") == 1);
  // As many as fit beside K and V, up to four.
  auto queryStagesOf = [](int64_t d, int64_t sk) {
    ForwardConfig config{.problem = {.d = d, .dv = d}};
    chooseTiles(config, {.b = 16, .sq = 4096, .sk = sk, .h = 32, .hkv = 32}, *findTarget("sm_90a"));
    return config.queryStages;
  };
  CHECK(queryStagesOf(64, 4096) == 4);
  CHECK(queryStagesOf(128, 4096) == 3);
  CHECK(queryStagesOf(128, 80) == 4);
  CHECK(queryStagesOf(160, 64) == 3);
  CHECK(queryStagesOf(256, 4096) == 1);
}

TEST_CASE("given parameters overrule the heuristic", "[kernels][unit]") {
  std::string text = textOf(kernelOf("gemm"), {{"bm", "64"}, {"bn", "32"}, {"stages", "3"}, {"group", "5"}});
  CHECK(contains(text, "tile.alloc_shared \"a\" : !tile.shared<64x64xbf16>"));
  CHECK(contains(text, "tile.alloc_shared \"b\" : !tile.shared<32x64xbf16>"));
  CHECK(contains(text, "#tile.pipeline<stages = 3>"));
  CHECK(contains(text, "group(5)"));
}

TEST_CASE("a split GEMM is two launches with a workspace", "[kernels][unit]") {
  std::string text = textOf(kernelOf("gemm"), {{"split", "4"}});
  CHECK(contains(text, "tile.kernel @gemm_partial("));
  CHECK(contains(text, "tile.kernel @gemm_combine("));
  CHECK(contains(text, "!tile.global<4x?x?xf32> {program.argument = #program.tensor<\"partial\", workspace, "
                       "dims[-1, 0, 1], alignment = 16>}"));
}

TEST_CASE("a dimension can be fixed", "[kernels][unit]") {
  std::string text = textOf(kernelOf("gemm"), {}, {.fixedDimensions = {{"k", 512}}});
  CHECK(contains(text, "#program.dimension<\"k\", fixed = 512>"));
  CHECK(contains(text, "!tile.global<?x512xbf16>"));
}
