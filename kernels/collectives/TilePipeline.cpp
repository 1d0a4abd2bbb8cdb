// SPDX-License-Identifier: Apache-2.0
/// \file
/// The roles of GEMMs of several ranks.
#include "kernels/collectives/TilePipeline.h"

#include "kernels/gemm/Gemm.h"
#include "kernels/roles/MathRole.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <fmt/format.h>

namespace tlc::kernels {

using namespace dsl;

namespace {
/// Tiles that the loads may be ahead by.
constexpr int64_t takenTileSlots = 2;

} // namespace

int64_t warpgroupsOf(const RankGemmConfig &c) { return std::max<int64_t>(1, c.bm / rowsOfMathWarpgroup); }

BlockBudget rankGemmBudget(const Target &target) {
  BlockBudget block(target);
  addTakenTiles(block, takenTileSlots);
  return block;
}

BlockBudget dealtGemmBudget(const RankGemmConfig &c, const Target &target) {
  BlockBudget block(target);
  block.addBuffer({stagingPerWarpgroup}, warpgroupsOf(c));
  return block;
}

void fitStages(RankGemmConfig &c, const BlockBudget &rest) {
  constexpr int64_t mostStages = 8;
  auto bytes = int64_t(sizeInBytes(c.dtype));
  int64_t step =
      BlockBudget::slotBytes({SharedBytes::tile(c.bm, c.bk * bytes), SharedBytes::tile(c.bn, c.bk * bytes)});
  c.stages = std::clamp<int64_t>(rest.slotsThatFit(step), 1, mostStages);
}

std::array<Index, 2> tileInGroups(const RankGemmConfig &c, const Index &rows, const Index &columns,
                                  const Index &number) {
  Index group = number / (c.group * columns), inGroup = number % (c.group * columns);
  Index first = group * c.group, rowsOfGroup = min(rows - first, c.group);
  return {first + inGroup % rowsOfGroup, inGroup / rowsOfGroup};
}

AlignedFactor::AlignedFactor(Scope &k, std::string_view name, ElementType element, std::vector<Index> extents,
                             bool isCopied)
    : shape(std::move(extents)),
      source(k.input(name, element, shape, isCopied ? TensorFacts() : TensorFacts{.alignment = 16})) {
  if (isCopied)
    copy = k.workspace(fmt::format("{}_copied", name), element, shape, {.alignment = 16});
}

namespace {
constexpr int64_t copiedRows = 64, copiedColumns = 64; ///< of a part
}

Index AlignedFactor::parts() const {
  Index ofMatrix = ceilDiv(shape[shape.size() - 2], copiedRows) * ceilDiv(shape.back(), copiedColumns);
  return shape.size() == 3 ? shape.front() * ofMatrix : ofMatrix;
}

void AlignedFactor::copyPart(const Index &n) const {
  Index across = ceilDiv(shape.back(), copiedColumns),
        ofMatrix = ceilDiv(shape[shape.size() - 2], copiedRows) * across, inMatrix = n % ofMatrix;
  std::vector<Index> origin = {inMatrix / across * copiedRows, inMatrix % across * copiedColumns};
  Shape extents = {copiedRows, copiedColumns};
  if (shape.size() == 3) {
    origin.insert(origin.begin(), n / ofMatrix);
    extents.insert(extents.begin(), 1);
  }
  dsl::copy(source.tile(origin, extents), copy->tile(origin, extents));
}

void copyFactors(Scope &k, const RankGemmConfig &config, std::string_view name,
                 std::span<const AlignedFactor *const> factors) {
  if (!config.copiesRows)
    return;
  k.launch(fmt::format("{}_copy", name), [&] {
    k.warps(4);
    Index all = 0;
    for (const AlignedFactor *factor : factors)
      all = all + factor->parts();
    auto [block] = k.grid(all);
    Index first = 0;
    for (const AlignedFactor *factor : factors) {
      Index end = first + factor->parts();
      k.when(block >= first && block < end, [&] { factor->copyPart(block - first); });
      first = end;
    }
  });
}

TilePipeline::TilePipeline(Scope &k, const RankGemmConfig &config, const Index &block,
                           std::optional<Global> taken, Parts given)
    : k(k), c(config), block(block), taken(std::move(taken)), parts(std::move(given)) {
  int64_t warpgroups = warpgroupsOf(c);
  a = k.shared("a", c.dtype, {c.bm, c.bk}, {.slots = c.stages});
  b = k.shared("b", c.dtype, {c.bn, c.bk}, {.slots = c.stages});
  steps = k.channel("ab", {.slots = c.stages});
  if (this->taken)
    tiles.emplace(k, takenTileSlots);
  if (parts.startSending) {
    sent = k.shared("sent", c.out, {c.bm, c.bn}, {.slots = 1});
    handedOver = k.channel("sent", {.slots = 1});
  }
  // The roles that do not multiply fill a warpgroup.
  bool hasOther = !parts.others.empty() || parts.startSending;
  RoleOptions load{.warps = hasOther ? 2 : warpsPerWarpgroup, .registers = hasOther ? 96 : 40};
  k.roles([&] {
    for (const Role &role : parts.others)
      k.role(role.name, {.warps = role.warps, .registers = load.registers}, role.body);
    if (parts.startSending)
      k.role("send", load, [&] { send(); });
    k.role("load", load, [&] { this->load(); });
    k.role("math", {.warps = warpsPerWarpgroup * warpgroups}, [&] { multiply(); });
  });
}

TakenTiles::Body TilePipeline::ofTile(const Body &body) const {
  return [this, body](const Index &number) {
    if (!parts.isTile) {
      body(parts.tileAt(number));
      return;
    }
    k.when(parts.isTile(number), [&] { body(parts.tileAt(number)); });
  };
}

void TilePipeline::takeTiles(const Body &body) const {
  if (!taken)
    return dealtTiles(body);
  auto next = [&](const Shared &number, const Index &) { number.write({0}, dsl::take(*taken, {0})); };
  // One that finds none is the last of a block's.
  tiles->take(parts.tiles + 1, parts.tiles, next, ofTile(body));
}

void TilePipeline::followTiles(const Body &body) const {
  if (!taken)
    return dealtTiles(body);
  tiles->follow(parts.tiles + 1, parts.tiles, ofTile(body));
}

void TilePipeline::dealtTiles(const Body &body) const {
  k.loop({block, parts.tiles, k.blocks()}, ofTile(body));
}

void TilePipeline::load() const {
  EachTile loadMore = parts.startLoading ? parts.startLoading() : EachTile();
  takeTiles([&](const RankTile &tile) {
    if (parts.prepare)
      parts.prepare(tile);
    k.loop(parts.steps, [&](Index s) {
      steps.put([&](const Slot &at) {
        parts.copyA(tile, s, a.slot(at));
        copy(parts.tileOfB(tile, s), b.slot(at));
      });
    });
    if (loadMore)
      loadMore(tile);
  });
}

void TilePipeline::multiply() const {
  StoreTile store = parts.startSending ? StoreTile() : parts.startStoring();
  int64_t inFlight = c.stages > 1 ? 1 : 0; // a single slot is refilled only when its product is over
  followTiles([&](const RankTile &tile) {
    Fragment sums = k.fragment(f32, {c.bm, c.bn}).named("sums");
    k.loop(parts.steps, [&](Index s) {
      Slot at = steps.get();
      gemmAsync(a.slot(at), b.slot(at).t(), sums);
      gemmWait(sums, inFlight); // the product before this one
      k.when(s >= inFlight, [&] { steps.release(); });
    });
    gemmWait(sums);
    if (inFlight > 0)
      k.when(parts.steps > 0, [&] { steps.release(); });
    if (store) {
      store(sums, tile);
      return;
    }
    handedOver.put([&](const Slot &at) { copy(sums.to(c.out), sent.slot(at)); });
  });
}

void TilePipeline::send() const {
  SendTile sendTile = parts.startSending();
  followTiles([&](const RankTile &tile) {
    sendTile(sent.slot(handedOver.get()), tile);
    handedOver.release();
  });
}

} // namespace tlc::kernels
