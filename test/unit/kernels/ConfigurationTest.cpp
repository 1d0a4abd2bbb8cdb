// SPDX-License-Identifier: Apache-2.0
/// \file
/// Configurations that are chosen, or made smaller until they fit.
#include "kernels/attention/backward/Backward.h"
#include "kernels/attention/decode/Decode.h"
#include "kernels/attention/problem/Describe.h"
#include "kernels/gemm/Gemm.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

using namespace tlc;
using namespace tlc::kernels;

namespace {
const Target &hopper() { return *findTarget("sm_90a"); }

DecodeConfig fitted(DecodeConfig config) {
  fitDecode(config, hopper());
  return config;
}
} // namespace

TEST_CASE("decoding has as many residents as shared memory allows", "[kernels][budget]") {
  DecodeConfig config{.problem = {.d = 128, .dv = 128}, .bk = 64, .stages = 8, .residents = 2};
  CHECK(fitted(config).residents == 2);
  CHECK(fitted(config).stages == 3);
  config.residents = 4;
  CHECK(fitted(config).residents == 4);
  config.problem.d = 576;
  CHECK(fitted(config).residents == 2);
}

TEST_CASE("decoding has as many residents as registers allow", "[kernels][budget]") {
  DecodeConfig config{.problem = {.d = 48, .dv = 256}, .bk = 16, .stages = 8, .residents = 2};
  CHECK(fitted(config).residents == 1); // 64 rows of 256 sums take 158 registers, and 128 are left
  config.problem.dv = 128;
  CHECK(fitted(config).residents == 2);
  config = {.problem = {.d = 24, .dv = 24}, .bk = 128, .stages = 2, .residents = 4};
  CHECK(fitted(config).residents == 4);
  CHECK(fitted(config).bk == 128);
}

TEST_CASE("split keys have no rows of no head where there are many queries", "[kernels]") {
  auto chosen = [](int64_t queries, int64_t group, DecodeArguments arguments = DecodeArguments::forward) {
    DecodeConfig config{.queries = queries, .group = group, .arguments = arguments};
    tuneDecode(config, 1, 8, 8192, hopper());
    return std::pair(config.rows, config.together);
  };
  using Rows = std::pair<int64_t, int64_t>;
  CHECK(chosen(8, 1) == Rows(64, 1)); // one tile, too, and fewer rows of sums
  CHECK(chosen(64, 1) == Rows(64, 64));
  CHECK(chosen(65, 1) == Rows(128, 128));
  CHECK(chosen(16, 4) == Rows(64, 16));
  CHECK(chosen(21, 3) == Rows(64, 16));
  CHECK(chosen(16, 8) == Rows(128, 16));
  CHECK(chosen(16, 9) == Rows(128, 1));
  CHECK(chosen(16, 4, DecodeArguments::cache) == Rows(128, 1));
}

TEST_CASE("a GEMM has the stages that fit beside the panels of its result", "[kernels][budget]") {
  auto stages = [](int64_t bm, int64_t bn, int64_t bk) {
    GemmConfig config;
    config.bm = bm;
    config.bn = bn;
    config.bk = bk;
    fitGemmStages(config, hopper());
    return config.stages;
  };
  CHECK(stages(128, 256, 64) == 4);
  CHECK(stages(128, 128, 64) == 6);
  CHECK(stages(64, 64, 64) == 8); // more would fit
  CHECK(stages(256, 256, 256) == 1);
}

TEST_CASE("sequences that ranks share are of attention forward and backward", "[kernels]") {
  auto refused = [](const std::string &what) {
    return "expected sequences of 16-bit elements, of one length or packed, without the block-causal "
           "mask, because ranks share them, but got " +
           what;
  };
  AttentionProblem problem{.shards = ShardOrder::zigzag};
  CHECK(conflictOf(problem).empty());
  problem.lengths = Lengths::packed;
  CHECK(conflictOf(problem).empty());
  problem.lengths = Lengths::padded;
  CHECK(conflictOf(problem) == refused("padded sequences"));
  CHECK(conflictOf(AttentionProblem{.dtype = ElementType::e4m3, .shards = ShardOrder::zigzag}) ==
        refused("elements of 8 bits"));
  CHECK(conflictOf(AttentionProblem{.mask = {.blockCausal = 8}, .shards = ShardOrder::zigzag}) ==
        refused("the block-causal mask"));
  CHECK(conflictOfSums(BackwardConfig{.problem = {.shards = ShardOrder::zigzag}}).empty());
  CHECK(conflictOf(DecodeConfig{.problem = {.shards = ShardOrder::zigzag}}) ==
        "expected sequences of one device because decoding gathers no keys of other ranks");
}

TEST_CASE("the TMA adds gradients of queries where there is room for tiles of sums", "[kernels]") {
  auto chosen = [](AttentionForm form, int64_t d, const ScheduleOptions &options = {}) {
    BackwardConfig config{.problem = {.d = d, .dv = d}, .form = form};
    chooseSums(config, options, {1, 4096, 4096, 8, 8}, hopper());
    return config.dq;
  };
  CHECK(chosen(AttentionForm::explicitRoles, 128) == QuerySum::tma);
  CHECK(chosen(AttentionForm::explicitRoles, 136) == QuerySum::atomic);
  CHECK(chosen(AttentionForm::plain, 128) == QuerySum::atomic);
  CHECK(chosen(AttentionForm::explicitRoles, 128, {.isDeterministic = true}) == QuerySum::ownLaunch);
  CHECK(chosen(AttentionForm::explicitRoles, 128, {.dq = QuerySum::atomic}) == QuerySum::atomic);
}

TEST_CASE("the TMA adds tiles of 64 keys to sums that L2 does not hold", "[kernels]") {
  auto chosen = [](const BackwardExtents &extents) {
    BackwardConfig config{.problem = {.d = 256, .dv = 256, .mask = {.windowLeft = 4096}}};
    chooseSchedule(config, {}, extents, hopper());
    return config.dq;
  };
  CHECK(chosen({47, 1352, 400, 16, 2}) == QuerySum::tma);   // 19 heads of keys, 8 of queries for each
  CHECK(chosen({2, 8192, 8192, 8, 8}) == QuerySum::atomic); // a head, which 128 blocks share
  CHECK(chosen({1, 8192, 8192, 16, 8}) == QuerySum::atomic);
  CHECK(chosen({1, 0, 0, 8, 8}) == QuerySum::atomic);
}

TEST_CASE("gradients of queries have a launch of their own where their sums take longer", "[kernels]") {
  auto chosen = [](const BackwardExtents &extents, CausalAlignment causal, int64_t d = 128, int64_t dv = 0) {
    BackwardConfig config{.problem = {.d = d, .dv = dv ? dv : d, .mask = {.causal = causal}}};
    chooseSchedule(config, {}, extents, hopper());
    return config.dq;
  };
  // Queries that see few keys.
  CHECK(chosen({16, 1024, 1024, 16, 16}, CausalAlignment::right) == QuerySum::ownLaunch);
  CHECK(chosen({16, 1024, 1024, 16, 16}, CausalAlignment::none) == QuerySum::tma);
  CHECK(chosen({8, 2048, 2048, 16, 16}, CausalAlignment::right) == QuerySum::tma);
  CHECK(chosen({32, 512, 512, 16, 4}, CausalAlignment::none) == QuerySum::ownLaunch);
  CHECK(chosen({1, 1024, 1024, 16, 16}, CausalAlignment::right) == QuerySum::tma); // too few tiles
  CHECK(chosen({16, 1024, 1024, 16, 16}, CausalAlignment::right, 64) == QuerySum::ownLaunch);
  CHECK(chosen({16, 1024, 1024, 16, 16}, CausalAlignment::right, 128, 64) == QuerySum::tma); // not known
  // Tiles of 64 keys.
  for (CausalAlignment causal : {CausalAlignment::none, CausalAlignment::right}) {
    CHECK(chosen({2, 8192, 8192, 8, 8}, causal, 256) == QuerySum::ownLaunch);
    CHECK(chosen({2, 8192, 8192, 16, 16}, causal, 192, 128) == QuerySum::ownLaunch);
    CHECK(chosen({47, 1352, 400, 16, 2}, causal, 256) == QuerySum::ownLaunch);
    CHECK(chosen({1, 396, 11581, 4, 1}, causal, 256) == QuerySum::atomic); // too few tiles
  }
}

TEST_CASE("a launch over queries has 64 keys at a time for longer rows", "[kernels]") {
  auto chosen = [](int64_t d, int64_t dv) {
    BackwardConfig config{.problem = {.d = d, .dv = dv}};
    chooseTiles(config);
    QueryTile tile = queryTile(config);
    return std::pair(tile.queries, tile.keys);
  };
  CHECK(chosen(64, 64) == std::pair<int64_t, int64_t>(128, 128));
  CHECK(chosen(128, 128) == std::pair<int64_t, int64_t>(128, 64));
  CHECK(chosen(192, 128) == std::pair<int64_t, int64_t>(128, 64));
  CHECK(chosen(256, 256) == std::pair<int64_t, int64_t>(64, 64));
}

TEST_CASE("gradients of keys are added up for each head of Q where L2 holds no group", "[kernels]") {
  auto chosen = [](const BackwardExtents &extents, CausalAlignment causal,
                   const ScheduleOptions &options = {}, int64_t d = 128) {
    BackwardConfig config{.problem = {.d = d, .dv = d, .mask = {.causal = causal}}};
    chooseSchedule(config, options, extents, hopper());
    return std::pair(config.dkv, config.dealing);
  };
  constexpr CausalAlignment right = CausalAlignment::right, none = CausalAlignment::none;
  CHECK(chosen({1, 8192, 8192, 64, 8}, right) == std::pair(KeySum::atomic, TileDealing::taken));
  CHECK(chosen({1, 8192, 8192, 32, 8}, right).first == KeySum::loop);
  CHECK(chosen({1, 8192, 8192, 64, 8}, right, {}, 64).first == KeySum::loop);
  CHECK(chosen({1, 8192, 8192, 64, 8}, right, {}, 256).first == KeySum::loop); // dQ has its own launch
  CHECK(chosen({1, 8192, 8192, 64, 8}, none).first == KeySum::loop);
  CHECK(chosen({1, 8192, 8192, 64, 8}, right, {.isDeterministic = true}).first == KeySum::loop);
  CHECK(chosen({1, 8192, 8192, 64, 8}, right, {.dkv = KeySum::loop}).first == KeySum::loop);
}

TEST_CASE("blocks take tiles of keys that visit many queries of several heads", "[kernels]") {
  auto chosen = [](const BackwardExtents &extents, CausalAlignment causal, int64_t d = 128,
                   const ScheduleOptions &options = {}) {
    BackwardConfig config{.problem = {.d = d, .dv = d, .mask = {.causal = causal}}};
    chooseSchedule(config, options, extents, hopper());
    return config.dealing;
  };
  constexpr auto none = CausalAlignment::none, right = CausalAlignment::right;
  constexpr auto fixed = TileDealing::fixed, taken = TileDealing::taken;
  CHECK(chosen({4, 4096, 4096, 32, 8}, none) == taken);
  CHECK(chosen({4, 4096, 4096, 32, 8}, right) == fixed);
  CHECK(chosen({2, 8192, 8192, 32, 8}, right) == fixed);
  CHECK(chosen({2, 8192, 8192, 32, 8}, none, 64) == taken);
  CHECK(chosen({2, 8192, 8192, 32, 8}, none, 256) == fixed);
  CHECK(chosen({2, 8192, 8192, 32, 32}, none) == fixed); // nothing is shared
  CHECK(chosen({8, 2048, 2048, 16, 1}, right) == taken); // tiles of a head each, whose sums are added
  CHECK(chosen({8, 2048, 2048, 16, 1}, right, 128, {.isDeterministic = true}) == fixed); // sums are in slices
  CHECK(chosen({2, 8192, 8192, 32, 8}, none, 128, {.dq = QuerySum::ordered}) == fixed);  // they take one each
  CHECK(chosen({2, 8192, 8192, 32, 8}, none, 128, {.dealing = fixed}) == fixed);
  CHECK(chosen({1, 0, 0, 32, 8}, none) == fixed);
}

TEST_CASE("a launch writes the zeros of keys that no query sees where a mask hides whole tiles",
          "[kernels]") {
  auto chosen = [](const BackwardExtents &extents, CausalAlignment causal,
                   const ScheduleOptions &options = {}) {
    BackwardConfig config{.problem = {.d = 64, .dv = 64, .mask = {.causal = causal}}};
    chooseSchedule(config, options, extents, hopper());
    return config.unseen;
  };
  constexpr auto left = CausalAlignment::left, right = CausalAlignment::right, none = CausalAlignment::none;
  constexpr auto loop = UnseenKeys::loop, ownLaunch = UnseenKeys::ownLaunch;
  CHECK(chosen({36, 96, 15693, 8, 8}, left) == ownLaunch);
  CHECK(chosen({36, 96, 15693, 8, 8}, right) == loop);
  CHECK(chosen({36, 96, 15693, 8, 8}, none) == loop);
  CHECK(chosen({36, 96, 128, 8, 8}, left) == loop);
  CHECK(chosen({36, 96, 15693, 8, 8}, left, {.dkv = KeySum::split}) == loop);
  CHECK(chosen({36, 96, 15693, 8, 8}, left, {.unseen = loop}) == loop);
}

TEST_CASE("the plain form of backward starts its products by hand where they are wgmma's", "[kernels]") {
  auto chosen = [](int64_t d, const char *target, std::optional<ProductOverlap> given = {}) {
    BackwardConfig config{.problem = {.d = d, .dv = d}, .form = AttentionForm::plain};
    chooseTiles(config);
    chooseOverlap(config, given, *findTarget(target));
    return config.overlap;
  };
  CHECK(chosen(128, "sm_90a") == ProductOverlap::byHand);
  CHECK(chosen(64, "sm_90a") == ProductOverlap::scheduled);
  CHECK(chosen(256, "sm_90a") == ProductOverlap::scheduled); // warpgroups share columns
  CHECK(chosen(128, "sm_80") == ProductOverlap::scheduled);
  CHECK(chosen(128, "sm_90a", ProductOverlap::scheduled) == ProductOverlap::scheduled);
}

TEST_CASE("gradients have parts whose columns two warpgroups can share", "[kernels]") {
  auto parts = [](int64_t length) {
    std::vector<std::pair<int64_t, int64_t>> found; // first, count
    for (const ColumnRange &part : gradientParts(paddedRow(length)))
      found.emplace_back(part.first, part.count);
    return found;
  };
  using Parts = std::vector<std::pair<int64_t, int64_t>>;
  CHECK(parts(40) == Parts{{0, 64}});
  CHECK(parts(72) == Parts{{0, 128}});
  CHECK(parts(136) == Parts{{0, 128}, {128, 64}});
  CHECK(parts(192) == Parts{{0, 128}, {128, 64}});
  CHECK(parts(200) == Parts{{0, 256}});
}

TEST_CASE("a step of backward has 128 queries where rows leave registers for them", "[kernels][budget]") {
  auto chosen = [](int64_t d, int64_t dv) {
    BackwardConfig config{.problem = {.d = d, .dv = dv}};
    chooseSchedule(config, {}, {1, 4096, 4096, 8, 8}, hopper());
    return std::tuple(config.bq, config.bk, config.stages);
  };
  using Tiles = std::tuple<int64_t, int64_t, int64_t>;
  CHECK(chosen(64, 64) == Tiles(128, 128, 3));
  CHECK(chosen(128, 128) == Tiles(64, 128, 3));
  CHECK(chosen(192, 128) == Tiles(64, 64, 3));
  CHECK(chosen(256, 256) == Tiles(64, 64, 2));
}

TEST_CASE("memory that a second tile of keys does not fit into is for tiles of queries",
          "[kernels][budget]") {
  auto chosen = [](int64_t d, int64_t rows, QuerySum dq) {
    BackwardConfig config{.problem = {.d = d, .dv = d}};
    chooseSchedule(config, {.dq = dq}, {16, rows, rows, 8, 8}, hopper());
    auto [keys, outputs, products] = config.slots;
    return std::tuple(keys, config.stages, outputs, products);
  };
  using Slots = std::tuple<int64_t, int64_t, int64_t, int64_t>;
  CHECK(std::get<0>(chosen(128, 1024, QuerySum::tma)) == 2);
  CHECK(chosen(256, 1024, QuerySum::ownLaunch) == Slots(1, 2, 2, 2));
  CHECK(chosen(256, 1024, QuerySum::atomic) == Slots(1, 2, 1, 1));
  CHECK(chosen(256, 4096, QuerySum::atomic) == Slots(1, 2, 2, 2));
}

TEST_CASE("tiles of keys are of one head each where there are few of them", "[kernels]") {
  auto chosen = [](const BackwardExtents &extents, const ScheduleOptions &options = {},
                   const MaskConfig &mask = {}) {
    BackwardConfig config{.problem = {.mask = mask}};
    chooseSums(config, options, extents, hopper());
    return config.dkv;
  };
  CHECK(chosen({4, 4096, 4096, 32, 8}) == KeySum::loop);
  CHECK(chosen({1, 1024, 1024, 32, 4}) == KeySum::atomic); // 32 tiles
  CHECK(chosen({1, 1024, 1024, 32, 4}, {.isDeterministic = true}) == KeySum::split);
  CHECK(chosen({1, 1024, 16384, 32, 4}) == KeySum::loop); // 512
  CHECK(chosen({1, 16384, 2560, 64, 8}) ==
        KeySum::atomic);                                  // 160, of which 28 would be left for a second round
  CHECK(chosen({1, 64, 1024, 32, 4}) == KeySum::loop);    // a single step of each head
  CHECK(chosen({1, 1024, 1024, 16, 16}) == KeySum::loop); // nothing to sum up
  CHECK(chosen({0, 0, 0, 0, 1}) == KeySum::loop);
  // 128 tiles of one round: when causal, the first takes twice as long as the mean.
  MaskConfig causal{.causal = CausalAlignment::right};
  CHECK(chosen({1, 2048, 2048, 32, 8}) == KeySum::loop);
  CHECK(chosen({1, 2048, 2048, 32, 8}, {}, causal) == KeySum::atomic);
  CHECK(chosen({1, 8192, 8192, 32, 8}, {}, causal) == KeySum::loop);
  CHECK(chosen({1, 0, 0, 32, 8}, {}, causal) == KeySum::loop);
  // 7 of 181 tiles of keys have queries that see them.
  BackwardConfig few{.problem = {.d = 256, .dv = 256, .mask = {.causal = CausalAlignment::left}}};
  chooseSchedule(few, {}, {1, 396, 11581, 4, 1}, hopper());
  CHECK(few.dkv == KeySum::split);
  constexpr int64_t most = (int64_t(1) << 31) - 1;
  CHECK(chosen({most, most, most, most - 1, 2}, {}, causal) == KeySum::atomic);
  for (KeySum way : {KeySum::loop, KeySum::split, KeySum::atomic})
    for (int64_t length : {64, 16384})
      CHECK(chosen({1, length, length, 32, 4}, {.dkv = way}) == way);
}

TEST_CASE("the plain form of backward has fewer keys where a block has less shared memory", "[kernels]") {
  auto keys = [](int64_t d, const char *target) {
    BackwardConfig config{.problem = {.d = d, .dv = d}, .form = AttentionForm::plain};
    chooseTiles(config);
    fitTiles(config, *findTarget(target));
    return config.bk;
  };
  CHECK(keys(64, "sm_89") == 128);
  CHECK(keys(128, "sm_89") == 64);
  CHECK(keys(128, "sm_120a") == 64);
  CHECK(keys(128, "sm_80") == 128);
}
