// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of several ranks are right on any number of them, at sizes that they do not divide, and always the
/// same.
#include "runtime/device/LaunchPlan.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/target/Hardware.h"
#include "test/Expect.h"
#include "test/kernels/CompileOnce.h"
#include "test/kernels/KernelRuns.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;
using tlc::test::expectValue;

namespace {

std::vector<const Kernel *> kernelsOfRanks() {
  std::vector<const Kernel *> found;
  for (const Kernel *kernel : allKernels())
    if (std::ranges::find(kernel->parameters(), "ranks", &Parameter::name) != kernel->parameters().end())
      found.push_back(kernel);
  return found;
}

bool has(const Kernel &kernel, std::string_view parameter) {
  return std::ranges::find(kernel.parameters(), parameter, &Parameter::name) != kernel.parameters().end();
}

/// Small tiles, so that small tensors have several.
Definitions tilesOf(const Kernel &kernel) {
  if (has(kernel, "m"))
    return {{"bm", "64"}, {"bn", "64"}, {"bk", "32"}};
  if (has(kernel, "dkv"))
    return {{"d", "32"}, {"bq", "64"}};
  if (has(kernel, "hkv"))
    return {{"d", "32"}, {"bq", "64"}, {"bk", "32"}};
  return {{"tile", "128"}};
}

/// Nothing divides anything; the last is the largest, the one before it the smallest with something to do.
std::vector<Definitions> smallSizes(const Kernel &kernel) {
  if (has(kernel, "hkv")) {
    auto size = [](const char *b, const char *sq, const char *sk, const char *h, const char *hkv) {
      return Definitions{{"b", b}, {"sq", sq}, {"sk", sk}, {"h", h}, {"hkv", hkv}};
    };
    return {size("1", "0", "6", "1", "1"), size("1", "6", "0", "1", "1"), size("2", "2", "38", "3", "1"),
            size("2", "70", "66", "2", "2")};
  }
  if (has(kernel, "capacity")) {
    auto size = [&](const char *tokens, const char *hidden, const char *experts, const char *capacity) {
      Definitions all = {{"tokens", tokens}, {"hidden", hidden}, {"capacity", capacity}};
      if (has(kernel, "experts"))
        all["experts"] = experts;
      return all;
    };
    return {size("0", "8", "3", "5"),      size("3", "0", "2", "9"),    size("5", "8", "0", "4"),
            size("5", "8", "4", "0"),      size("19", "35", "5", "60"), size("3", "24", "10", "100"),
            size("50", "136", "7", "1200")};
  }
  if (!has(kernel, "m"))
    return {{{"n", "0"}}, {{"n", "1"}}, {{"n", "127"}}, {{"n", "1000"}}, {{"n", "2317"}}};
  auto size = [](const char *m, const char *n, const char *k) {
    return Definitions{{"m", m}, {"n", n}, {"k", k}};
  };
  return {size("0", "5", "8"),    size("5", "0", "8"), size("3", "2", "0"),
          size("66", "65", "72"), size("1", "1", "8"), size("67", "72", "72")};
}

Definitions merged(Definitions into, const Definitions &more) {
  for (const auto &[name, value] : more)
    into[name] = value;
  return into;
}

/// The largest sizes, on three ranks, each of which has a head where they exchange heads. Rows that multicast
/// reaches are whole units of 16 bytes.
Definitions largestOf(const Kernel &kernel, const Definitions &choices) {
  Definitions sizes = merged(smallSizes(kernel).back(), {{"ranks", "3"}});
  auto exchange = choices.find("exchange");
  if (exchange != choices.end() && exchange->second == "heads")
    sizes = merged(sizes, {{"h", "6"}, {"hkv", "3"}});
  if (exchange != choices.end() && exchange->second == "multicast")
    sizes["n"] = "2320";
  return sizes;
}

} // namespace

TEST_CASE("kernels of ranks are right on any number of them", "[kernels][ranks]") {
  REQUIRE(kernelsOfRanks().size() == 8);
  for (const Kernel *kernel : kernelsOfRanks()) {
    Compiled compiled(*kernel, tilesOf(*kernel));
    std::vector<Definitions> sizes = smallSizes(*kernel);
    constexpr std::array numbers = {"1", "2", "3", "4"};
    for (size_t i = 0; i < sizes.size(); ++i)
      compiled.check(merged(sizes[i], {{"ranks", numbers[i % numbers.size()]}}));
    compiled.check(merged(sizes.back(), {{"ranks", "3"}}));
    // With more tiles the emulator spends its time on ranks that wait for each other.
    compiled.check(merged(sizes[sizes.size() - 2], {{"ranks", "8"}}));
  }
}

// Of tools/test.sh long.
TEST_CASE("kernels of any number of ranks are right at every size", "[.long]") {
  for (const Kernel *kernel : kernelsOfRanks()) {
    Compiled compiled(*kernel, tilesOf(*kernel));
    for (const char *ranks : {"1", "2", "3", "4", "8"})
      for (const Definitions &size : smallSizes(*kernel))
        compiled.check(merged(size, {{"ranks", ranks}}));
  }
}

namespace {
/// Each program on `numbers` different numbers of ranks. Parts begin within tiles of keys, and some keys no
/// query of a rank sees.
void checkGradients(size_t numbers) {
  const Kernel &kernel = **findKernel("attention_bwd_sharded");
  const Definitions sizes = {{"b", "1"}, {"sq", "54"}, {"sk", "46"}, {"h", "4"}, {"hkv", "2"}};
  size_t first = 0;
  for (const Definitions &options :
       {Definitions{{"bk", "64"},
                    {"order", "zigzag"},
                    {"causal", "right"},
                    {"window", "40"},
                    {"dkv", "loop"},
                    {"sink", "yes"}},
        {{"bk", "128"}, {"order", "contiguous"}, {"window", "9"}, {"window_right", "20"}, {"dkv", "split"}},
        {{"bk", "64"}, {"order", "zigzag"}, {"causal", "left"}, {"dkv", "atomic"}, {"gradients", "f32"}}}) {
    Compiled compiled(kernel, merged(options, {{"form", "explicit"}, {"d", "64"}, {"bq", "64"}}));
    for (size_t n = first; n != first + numbers; ++n)
      compiled.check(merged(sizes, {{"ranks", n % 2 == 0 ? "3" : "5"}}));
    ++first;
  }
}
} // namespace

TEST_CASE("gradients of sharded sequences are right with windows, sinks and tiles of 64 keys",
          "[kernels][ranks][attention_ranks]") {
  checkGradients(1);
}

// Of tools/test.sh long.
TEST_CASE("gradients of sharded sequences are right with windows and sinks on three and five ranks",
          "[.long]") {
  checkGradients(2);
}

// More ranks than experts, experts without rows, experts of several tokens' slots, and no room for all rows.
TEST_CASE("experts on several ranks get the rows that ask for them", "[kernels][ranks]") {
  Random random(Catch::rngSeed());
  constexpr std::array slots = {"1", "3", "8"}, routes = {"even", "skewed", "one"};
  constexpr std::array experts = {"2", "11"}, capacities = {"7", "2000"};
  for (const std::vector<size_t> &row :
       pairsOf({slots.size(), routes.size(), experts.size(), capacities.size()}, random))
    Compiled(**findKernel("moe_dispatch"),
             {{"topk", slots[row[0]]}, {"routes", routes[row[1]]}, {"tile", "128"}})
        .check({{"tokens", "45"},
                {"hidden", "20"},
                {"experts", experts[row[2]]},
                {"capacity", capacities[row[3]]},
                {"ranks", "3"}});
}

namespace {
/// Ranks have 1 to 3 heads of K and V, or all have the same number. Each mask forward and backward, in one
/// form of the two.
void checkHeads(size_t first) {
  const Definitions masks[] = {
      {{"order", "zigzag"}, {"causal", "right"}, {"sink", "yes"}},
      {{"order", "contiguous"}, {"causal", "left"}, {"lse", "2"}},
      {{"order", "zigzag"}, {"window", "9"}, {"window_right", "20"}},
  };
  size_t number = first;
  for (const char *name : {"attention_fwd_sharded", "attention_bwd_sharded"})
    for (const Definitions &mask : masks) {
      const Kernel &kernel = **findKernel(name);
      const char *form = number++ % 2 == 0 ? "explicit" : "plain";
      Compiled compiled(kernel,
                        merged(merged(mask, tilesOf(kernel)), {{"form", form}, {"exchange", "heads"}}));
      const Definitions sizes = {{"b", "2"}, {"sq", "38"}, {"sk", "46"}};
      compiled.check(merged(sizes, {{"h", "10"}, {"hkv", "5"}, {"ranks", "3"}}));
      compiled.check(merged(sizes, {{"h", "4"}, {"hkv", "4"}, {"ranks", "4"}}));
      compiled.check({{"b", "1"}, {"sq", "2"}, {"sk", "140"}, {"h", "3"}, {"hkv", "3"}, {"ranks", "2"}});
    }
}
} // namespace

// Each mask in both forms, one of them forward and one backward.
TEST_CASE("ranks that exchange heads are right with any number of heads, masks and sinks",
          "[kernels][ranks][attention_ranks]") {
  checkHeads(0);
}

// Of tools/test.sh long.
TEST_CASE("ranks that exchange heads are right in the other form", "[.long]") { checkHeads(1); }

TEST_CASE("an all-reduce by multicast is right on any number of ranks", "[kernels][ranks]") {
  Random random(Catch::rngSeed());
  constexpr std::array types = {"f32", "f16", "bf16"};
  constexpr std::array ranks = {"1", "2", "3", "4", "8"};
  constexpr std::array sizes = {"0", "8", "136", "2320"};
  for (const std::vector<size_t> &row : pairsOf({types.size(), ranks.size(), sizes.size()}, random))
    Compiled(**findKernel("all_reduce"),
             {{"exchange", "multicast"}, {"tile", "128"}, {"dtype", types[row[0]]}})
        .check({{"n", sizes[row[2]]}, {"ranks", ranks[row[1]]}});
}

namespace {
void checkChoices(Cover cover) {
  Random random(Catch::rngSeed());
  for (const Kernel *kernel : kernelsOfRanks())
    for (const Definitions &choices : choicesOf(*kernel, random, cover)) {
      // The program of a ring is for one number of ranks.
      Compiled(*kernel, merged(merged(choices, tilesOf(*kernel)), largestOf(*kernel, choices))).check({});
    }
}
} // namespace

TEST_CASE("each choice of kernels of ranks is right", "[kernels][ranks][rank_choices]") {
  checkChoices(Cover::values);
}

// Of tools/test.sh long.
TEST_CASE("every two choices of kernels of ranks are right", "[.long]") { checkChoices(Cover::pairs); }

// A block waits for nothing that has not begun: also where a rank runs one block after the other.
TEST_CASE("kernels of ranks give the same bits in every order", "[kernels][ranks][rank_choices]") {
  std::vector<std::pair<const Kernel *, Definitions>> programs;
  for (const Kernel *kernel : kernelsOfRanks()) {
    programs.emplace_back(kernel, Definitions());
    for (const char *exchange : {"heads", "ring"})
      if (Request::parse(*kernel, {{"exchange", exchange}}))
        programs.emplace_back(kernel, Definitions{{"exchange", exchange}});
  }
  for (auto &[kernel, definitions] : programs) {
    definitions = merged(merged(definitions, tilesOf(*kernel)), largestOf(*kernel, definitions));
    if (has(*kernel, "deterministic"))
      definitions["deterministic"] = "yes";
    Request request = expectValue(Request::parse(*kernel, definitions));
    std::shared_ptr<const Artifact> artifact = compileOnce(request, {});
    auto problem = expectValue(Problem::create(request, {.seed = 3}));
    std::optional<Hash128> first;
    for (uint64_t schedule = 0; schedule < 3; ++schedule) {
      EmulatorOptions options{.multiprocessors = schedule % 2 == 0 ? 2 : 1};
      if (schedule > 0)
        options.scheduleSeed = schedule;
      auto devices = createEmulatorDevices(3, options);
      KernelRun run = expectValue(KernelRun::create(devices, problem, artifact));
      Verdict verdict = expectValue(run.verify());
      CHECK(verdict.correct());
      CHECK(verdict.outputs == first.value_or(verdict.outputs));
      first = verdict.outputs;
    }
  }
}

namespace {
/// With copies of copy engines as early and as late as they may be.
void checkTransfers(const Kernel &kernel, const Definitions &definitions) {
  CAPTURE(kernel.name(), definitions);
  Request request = expectValue(Request::parse(kernel, definitions));
  std::shared_ptr<const Artifact> artifact = compileOnce(request, {});
  auto problem = expectValue(Problem::create(request, {.seed = 3}));
  for (TransferTime time : {TransferTime::early, TransferTime::late}) {
    auto devices = createEmulatorDevices(problem->ranks(), {.multiprocessors = 2, .transfers = time});
    CHECK(expectValue(expectValue(KernelRun::create(devices, problem, artifact)).verify()).correct());
  }
}
} // namespace

namespace {
/// Each size with `numbers` different numbers of ranks, the first size from 1 + `first` on: several choices
/// together have every pair of size and number.
void checkAllSizes(const Kernel &kernel, const Definitions &choices, size_t first, size_t numbers) {
  for (const Definitions &size : smallSizes(kernel)) {
    for (size_t number = first; number != first + numbers; ++number)
      checkTransfers(kernel, merged(merged(choices, size), {{"ranks", std::to_string(1 + number % 3)}}));
    ++first;
  }
}

void checkFetched(size_t numbers) {
  const std::vector<Definitions> ofAttention = {
      {{"order", "contiguous"}, {"form", "plain"}},
      {{"order", "zigzag"}, {"form", "plain"}, {"causal", "right"}},
      {{"order", "contiguous"}, {"form", "explicit"}, {"d", "64"}, {"window", "30"}},
      {{"order", "zigzag"}, {"form", "explicit"}, {"d", "64"}, {"causal", "right"}}};
  const std::vector<Definitions> ofProduct = {{{"copy_rows", "no"}}, {{"copy_rows", "yes"}}};
  for (const auto &[name, choices] : {std::pair("attention_fwd_sharded", ofAttention),
                                      {"attention_bwd_sharded", ofAttention},
                                      {"all_gather_gemm", ofProduct}}) {
    const Kernel &kernel = **findKernel(name);
    for (size_t i = 0; i < choices.size(); ++i)
      checkAllSizes(kernel, merged(merged({{"gather", "copy_engine"}}, tilesOf(kernel)), choices[i]), i,
                    numbers);
  }
}

void checkMoved(size_t numbers) {
  const Kernel &kernel = **findKernel("gemm_reduce_scatter");
  const Definitions moved = merged({{"scatter", "copy_engine"}}, tilesOf(kernel));
  checkAllSizes(kernel, merged(moved, {{"copy_rows", "no"}}), 1, numbers);
  checkAllSizes(kernel, merged(moved, {{"copy_rows", "yes"}}), 2, numbers);
}
} // namespace

TEST_CASE("rows that copy engines fetch are waited for, however late they come",
          "[kernels][ranks][transfers]") {
  checkFetched(1);
  // Rows of 64 KB, so that a transfer has parts of two rows of tiles, two and one.
  checkTransfers(**findKernel("all_gather_gemm"), {{"gather", "copy_engine"},
                                                   {"ranks", "2"},
                                                   {"m", "260"},
                                                   {"n", "8"},
                                                   {"k", "32776"},
                                                   {"bm", "64"},
                                                   {"bn", "8"}});
}

TEST_CASE("terms that copy engines move are waited for, however late they come",
          "[kernels][ranks][transfers]") {
  checkMoved(1);
  // 270 tiles of each rank: two pieces with some of the second part, three parts; the blocks have several.
  for (const char *ranks : {"2", "3"})
    for (const char *out : {"bf16", "f32"})
      checkTransfers(**findKernel("gemm_reduce_scatter"), {{"scatter", "copy_engine"},
                                                           {"ranks", ranks},
                                                           {"m", "900"},
                                                           {"n", "140"},
                                                           {"k", "24"},
                                                           {"bm", "64"},
                                                           {"bn", "8"},
                                                           {"out", out}});
}

// Of tools/test.sh long.
TEST_CASE("what copy engines move is waited for at every size on any number of ranks", "[.long]") {
  checkFetched(3);
  checkMoved(3);
}

namespace {
size_t transfersOf(std::string_view kernel, const Definitions &definitions) {
  Request request = expectValue(Request::parse(**findKernel(kernel), definitions));
  return compileOnce(request, {})->variants.front().transfers.size();
}
} // namespace

TEST_CASE("copy engines move terms where tiles fill the multiprocessors and transfers hide",
          "[kernels][ranks]") {
  auto transfers = [](const char *ranks, const char *m, const char *n, const char *k,
                      const char *scatter = "auto") {
    return transfersOf("gemm_reduce_scatter",
                       {{"ranks", ranks}, {"m", m}, {"n", n}, {"k", k}, {"scatter", scatter}});
  };
  CHECK(transfers("2", "1536", "2816", "64") == 2); // 12 x 11 tiles
  CHECK(transfers("2", "1408", "3072", "64") == 2); // 11 x 12
  CHECK(transfers("2", "1408", "2816", "64") == 0);
  CHECK(transfers("4", "1536", "2816", "2048") == 4);
  CHECK(transfers("4", "1536", "2816", "2047") == 0);
  CHECK(transfers("2", "0", "2816", "64") == 0);
  CHECK(transfers("2", "1536", "0", "64") == 0);
  CHECK(transfers("2", "2147483647", "2147483647", "2147483647") == 2);
  CHECK(transfers("2", "1536", "2816", "64", "roles") == 0);
  CHECK(transfers("2", "64", "8", "64", "copy_engine") == 2);
}

TEST_CASE("tiles of several ranks are smaller where multiprocessors have one or none", "[kernels][ranks]") {
  auto isSmall = [](std::string_view kernel, const char *m, const char *n, const char *k,
                    const Definitions &more = {}) {
    Request request = expectValue(
        Request::parse(**findKernel(kernel), merged({{"ranks", "2"}, {"m", m}, {"n", n}, {"k", k}}, more)));
    std::shared_ptr<const Artifact> artifact = compileOnce(request, {});
    for (const Launch &launch : artifact->variants.front().launches)
      if (launch.entry == kernel)
        return launch.threads == 2 * threadsPerWarpgroup; // a warpgroup multiplies
    FAIL("it has no launch of its name");
    return false;
  };
  CHECK(isSmall("gemm_all_reduce", "704", "1536", "64")); // 11 x 12 small ones
  CHECK_FALSE(isSmall("gemm_all_reduce", "768", "1536", "64"));
  CHECK(isSmall("gemm_reduce_scatter", "704", "768", "64", {{"scatter", "roles"}}));
  CHECK_FALSE(isSmall("gemm_reduce_scatter", "768", "768", "64", {{"scatter", "roles"}}));
  CHECK(isSmall("gemm_reduce_scatter", "1408", "768", "8192")); // 2 x 11 x 3 large ones
  CHECK_FALSE(isSmall("gemm_reduce_scatter", "1536", "768", "8192"));
  CHECK(isSmall("gemm_reduce_scatter", "1536", "768", "4096"));
  CHECK_FALSE(isSmall("gemm_reduce_scatter", "1536", "1536", "4096"));
  CHECK(isSmall("all_gather_gemm", "65536", "512", "8192"));
  CHECK_FALSE(isSmall("all_gather_gemm", "65536", "513", "8192"));
  CHECK_FALSE(isSmall("all_gather_gemm", "65536", "512", "8192", {{"ranks", "1"}}));
  CHECK_FALSE(isSmall("all_gather_gemm", "64", "64", "64", {{"bm", "128"}, {"bn", "64"}}));
}

TEST_CASE("launches compute terms in whole rounds of the multiprocessors", "[kernels][ranks]") {
  // The tiles that each launch computes.
  auto tilesOfParts = [](int64_t ranks, int64_t rows, int64_t columns) {
    const std::vector<std::vector<int64_t>> shapes = {
        {ranks, rows * 128, 8}, {columns * 256, 8}, {rows * 128, columns * 256}};
    Request request =
        expectValue(Request::parse(**findKernel("gemm_reduce_scatter"), {{"ranks", std::to_string(ranks)},
                                                                         {"m", std::to_string(shapes[2][0])},
                                                                         {"n", std::to_string(shapes[2][1])},
                                                                         {"k", "8"},
                                                                         {"scatter", "copy_engine"}}));
    std::shared_ptr<const Artifact> artifact = compileOnce(request, {});
    std::vector<TensorView> tensors;
    for (const std::vector<int64_t> &shape : shapes)
      tensors.push_back({nullptr, ElementType::bf16, shape, std::vector<int64_t>(shape.size(), 1)});
    std::vector<int64_t> tiles;
    for (const WorkspaceRequest &request : expectValue(workspaceRequests(
             *artifact, expectValue(bindDimensions(*artifact, tensors, 0, ranks)), DeviceProperties())))
      if (request.name.starts_with("computed"))
        tiles.push_back(request.shape[0]);
      else if (request.name == "terms")
        CHECK(request.shape[0] == ranks - 1);
    return tiles;
  };
  using Tiles = std::vector<int64_t>;
  CHECK(tilesOfParts(2, 12, 22) == Tiles{264, 0});
  CHECK(tilesOfParts(2, 5, 53) == Tiles{264, 1});
  CHECK(tilesOfParts(2, 32, 32) == Tiles{528, 496});
  CHECK(tilesOfParts(3, 12, 11) == Tiles{264, 0, 0, 0});
  CHECK(tilesOfParts(4, 12, 11) == Tiles{396, 0, 0, 0});
  CHECK(tilesOfParts(4, 32, 32) == Tiles{792, 792, 792, 696});
  CHECK(tilesOfParts(1, 32, 32) == Tiles{0, 0});
}

TEST_CASE("copy engines move rows of which a rank has at least 1 MB for each other", "[kernels][ranks]") {
  auto transfers = [](const char *m, const char *k, const char *gather, const char *ranks = "2") {
    return transfersOf("all_gather_gemm",
                       {{"m", m}, {"n", "8"}, {"k", k}, {"gather", gather}, {"ranks", ranks}});
  };
  CHECK(transfers("1536", "1024", "auto", "4") == 1);
  CHECK(transfers("1535", "1024", "auto", "4") == 0);
  CHECK(transfers("512", "1024", "auto") == 1);
  CHECK(transfers("511", "1024", "auto") == 0);
  CHECK(transfers("1", "524288", "auto") == 1);
  CHECK(transfers("1", "524287", "auto") == 0);
  CHECK(transfers("0", "2147483647", "auto") == 0);
  CHECK(transfers("2147483647", "2147483647", "auto") == 1);
  CHECK(transfers("512", "1024", "roles") == 0);
  CHECK(transfers("511", "1024", "copy_engine") == 1);
}

namespace {
void checkRing(std::string_view name, const Definitions &options, std::initializer_list<const char *> ranks) {
  const Kernel &kernel = **findKernel(name);
  for (const char *each : ranks)
    for (const Definitions &size : smallSizes(kernel))
      checkTransfers(
          kernel,
          merged(merged(merged(tilesOf(kernel), size), {{"exchange", "ring"}, {"ranks", each}}), options));
}
} // namespace

// Of contiguous causal sequences a rank sees none of the keys of some steps.
TEST_CASE("keys that ranks pass on are waited for, and stay until they are read",
          "[kernels][ranks][transfers]") {
  checkRing("attention_fwd_sharded",
            {{"order", "zigzag"}, {"form", "explicit"}, {"causal", "right"}, {"sink", "yes"}}, {"3"});
  checkRing("attention_fwd_sharded",
            {{"order", "contiguous"}, {"form", "plain"}, {"causal", "right"}, {"lse", "2"}}, {"4"});
  checkRing("attention_fwd_sharded", {{"order", "contiguous"}, {"form", "plain"}, {"window", "40"}}, {"3"});
  // Rows that are padded.
  checkRing("attention_fwd_sharded", {{"order", "zigzag"}, {"form", "explicit"}, {"d", "72"}}, {"2"});
  checkRing("attention_bwd_sharded",
            {{"order", "zigzag"}, {"form", "explicit"}, {"d", "64"}, {"causal", "right"}}, {"3"});
  checkRing("attention_bwd_sharded", {{"order", "contiguous"}, {"form", "plain"}, {"window", "30"}}, {"2"});
}

// Of tools/test.sh long.
TEST_CASE("keys are passed on among any number of ranks, with every mask and sum", "[.long]") {
  auto ranks = {"2", "5", "8"};
  for (const char *form : {"explicit", "plain"})
    for (const char *order : {"contiguous", "zigzag"})
      for (const Definitions &options :
           {Definitions{{"dkv", "split"}},
            {{"causal", "left"}, {"softcap", "20"}, {"dq", "ordered"}},
            {{"causal", "right"}, {"window", "40"}, {"sink", "yes"}, {"dkv", "loop"}},
            {{"window", "9"}, {"window_right", "20"}, {"lse", "2"}, {"dq", "tma"}}}) {
        const Definitions all = merged(options, {{"order", order}, {"form", form}});
        Definitions ofForward = all;
        ofForward.erase("dq"), ofForward.erase("dkv");
        checkRing("attention_fwd_sharded", ofForward, ranks);
        checkRing("attention_bwd_sharded", merged(all, {{"d", "64"}}), ranks);
      }
  for (const char *form : {"explicit", "plain"}) { // rows that two roles share
    checkRing("attention_fwd_sharded", {{"form", form}, {"d", "64"}, {"dv", "320"}, {"causal", "right"}},
              {"2", "3"});
    checkRing("attention_bwd_sharded", {{"form", form}, {"d", "192"}, {"causal", "right"}}, {"2", "3"});
  }
}

TEST_CASE("the program of a ring is for one number of ranks", "[kernels][ranks]") {
  const Kernel &kernel = **findKernel("attention_fwd_sharded");
  const Definitions of = merged(merged(tilesOf(kernel), smallSizes(kernel).back()), {{"exchange", "ring"}});
  auto artifact = compileOnce(expectValue(Request::parse(kernel, merged(of, {{"ranks", "3"}}))), {});
  auto problem = expectValue(
      Problem::create(expectValue(Request::parse(kernel, merged(of, {{"ranks", "2"}}))), {.seed = 3}));
  auto devices = createEmulatorDevices(2);
  Result<KernelRun> run = KernelRun::create(devices, problem, artifact);
  REQUIRE(!run);
  CHECK(run.error().message ==
        "'attention_fwd_sharded': expected 3 ranks because the program is specialised for "
        "so many, but got 2");
}

TEST_CASE("kernels of ranks whose waits have a limit are right, and report an announcement that is missing",
          "[kernels][ranks][transfers]") {
  CompileOptions options;
  options.waitLimit = std::chrono::seconds(5);
  for (const char *name :
       {"all_gather_gemm", "gemm_reduce_scatter", "moe_dispatch", "moe_combine", "attention_fwd_sharded"}) {
    INFO(name);
    const Kernel &kernel = **findKernel(name);
    Definitions definitions = merged(merged(smallSizes(kernel).back(), tilesOf(kernel)), {{"ranks", "3"}});
    Request request = expectValue(Request::parse(kernel, definitions));
    std::shared_ptr<const Artifact> artifact = compileOnce(request, options);
    auto problem = expectValue(Problem::create(request, {.seed = 3}));
    auto verify = [&](const std::shared_ptr<const Artifact> &program) {
      auto devices = createEmulatorDevices(3, {.multiprocessors = 2});
      return expectValue(KernelRun::create(devices, problem, program)).verify();
    };
    CHECK(expectValue(verify(artifact)).correct());
    auto silent = std::make_shared<Artifact>(*artifact);
    constexpr std::string_view announcement = "red.release.sys", comment = "// ";
    for (Variant &variant : silent->variants)
      for (size_t at = 0; (at = variant.ptx.find(announcement, at)) != std::string::npos;
           at += comment.size() + announcement.size())
        variant.ptx.insert(at, comment);
    Result<Verdict> verdict = verify(silent);
    REQUIRE(!verdict);
    for (int rank = 0; rank < 3; ++rank)
      CHECK_THAT(verdict.error().message,
                 Catch::Matchers::Contains(fmt::format("rank {}: ", rank)) &&
                     Catch::Matchers::Contains(fmt::format(".of({})', which is 0", rank)));
    CHECK_THAT(verdict.error().message, Catch::Matchers::Contains("' waited 5 s ") &&
                                            Catch::Matchers::Contains("for at least ") &&
                                            !Catch::Matchers::Contains("deadlock"));
  }
}
