// SPDX-License-Identifier: Apache-2.0
/// \file
/// Finds, for every target register, where its element comes from: the same
/// register, the same thread, the same warp, or farther away.
#include "dialects/layout/Relayout.h"

#include <algorithm>

using namespace tlc;

namespace {

/// The sources of one target register, for all lanes of one warp.
struct RegisterSources {
  std::array<int64_t, lanesPerWarp> reg{};
  std::array<uint8_t, lanesPerWarp> lane{};
  uint32_t active = 0;
  bool operator==(const RegisterSources &) const = default;
};

/// The closest place in the warp from which the element can be taken: the same
/// register, any register of the thread, the lowest other lane.
std::optional<HardwareLocation> closestSource(const FragmentLayout &source, const Coordinates &coordinates,
                                              const HardwareLocation &target) {
  std::optional<HardwareLocation> best;
  auto rank = [&](const HardwareLocation &at) {
    return at.lane == target.lane ? (at.reg == target.reg ? 0 : 1) : 2;
  };
  for (const HardwareLocation &at : source.locationsOf(coordinates))
    if (at.warp == target.warp && (!best || rank(at) < rank(*best)))
      best = at;
  return best;
}

/// The sources of a register in one warp; nothing if one of them is in another warp.
std::optional<RegisterSources> sourcesIn(const FragmentLayout &source, const FragmentLayout &target,
                                         const Shape &shape, int64_t reg, int64_t warp) {
  RegisterSources result;
  for (int64_t lane = 0; lane < lanesPerWarp; ++lane) {
    HardwareLocation at{reg, lane, warp};
    if (!target.isInside(at, shape))
      continue;
    std::optional<HardwareLocation> from = closestSource(source, target.coordinatesOf(at), at);
    if (!from)
      return std::nullopt;
    result.reg[size_t(lane)] = from->reg;
    result.lane[size_t(lane)] = uint8_t(from->lane);
    result.active |= uint32_t(1) << lane;
  }
  return result;
}

/// Adds one warp's demand to what the other warps ask of the register; false if they
/// contradict each other. Lanes that are padding in one warp follow the others.
bool merge(RegisterSources &all, const RegisterSources &one) {
  for (size_t lane = 0; lane < lanesPerWarp; ++lane) {
    uint32_t bit = uint32_t(1) << lane;
    if (!(one.active & bit))
      continue;
    if (all.active & bit) {
      if (all.reg[lane] != one.reg[lane] || all.lane[lane] != one.lane[lane])
        return false;
      continue;
    }
    all.reg[lane] = one.reg[lane];
    all.lane[lane] = one.lane[lane];
    all.active |= bit;
  }
  return true;
}

std::vector<RelayoutMove> movesOf(const RegisterSources &sources) {
  std::vector<RelayoutMove> moves;
  for (size_t lane = 0; lane < lanesPerWarp; ++lane) {
    if (!(sources.active >> lane & 1))
      continue;
    auto sameRegister = [&](const RelayoutMove &move) { return move.sourceRegister == sources.reg[lane]; };
    auto found = std::find_if(moves.begin(), moves.end(), sameRegister);
    if (found == moves.end()) {
      RelayoutMove move;
      move.sourceRegister = sources.reg[lane];
      for (size_t l = 0; l < lanesPerWarp; ++l)
        move.sourceLane[l] = uint8_t(l);
      found = moves.insert(moves.end(), move);
    }
    found->sourceLane[lane] = sources.lane[lane];
    found->lanes |= uint32_t(1) << lane;
  }
  return moves;
}

RelayoutKind kindOf(const std::vector<std::vector<RelayoutMove>> &moves) {
  RelayoutKind kind = RelayoutKind::identity;
  for (size_t reg = 0; reg < moves.size(); ++reg)
    for (const RelayoutMove &move : moves[reg]) {
      if (!move.isLocal())
        return RelayoutKind::withinWarp;
      if (move.sourceRegister != int64_t(reg))
        kind = RelayoutKind::withinThread;
    }
  return kind;
}

} // namespace

const char *tlc::toString(RelayoutKind kind) {
  switch (kind) {
  case RelayoutKind::identity:
    return "no data movement";
  case RelayoutKind::withinThread:
    return "register moves";
  case RelayoutKind::withinWarp:
    return "warp shuffles";
  case RelayoutKind::throughShared:
    return "a round trip through shared memory";
  }
  return "";
}

bool RelayoutMove::isLocal() const {
  for (size_t lane = 0; lane < lanesPerWarp; ++lane)
    if ((lanes >> lane & 1) && sourceLane[lane] != lane)
      return false;
  return true;
}

RelayoutPlan tlc::planRelayout(const FragmentLayout &source, const FragmentLayout &target,
                               const Shape &shape) {
  assert(source.rank() == target.rank() && source.numWarps() == target.numWarps());
  assert(source.covers(shape) && target.covers(shape));
  RelayoutPlan plan;
  for (int64_t reg = 0; reg < target.registersPerThread(); ++reg) {
    RegisterSources all;
    for (int64_t warp = 0; warp < target.numWarps(); ++warp) {
      std::optional<RegisterSources> one = sourcesIn(source, target, shape, reg, warp);
      if (!one || !merge(all, *one))
        return {RelayoutKind::throughShared, {}};
    }
    plan.moves.push_back(movesOf(all));
  }
  plan.kind = kindOf(plan.moves);
  return plan;
}

namespace {
/// A bit for each warp that holds the element.
uint64_t warpsOf(const FragmentLayout &layout, const Coordinates &element) {
  uint64_t warps = 1;
  int64_t stride = 1;
  for (const LayoutMode &mode : layout.modes(HardwareAxis::warp)) {
    uint64_t replicas = warps;
    if (mode.isReplicated())
      for (int64_t replica = 1; replica < mode.extent; ++replica)
        replicas |= warps << (replica * stride);
    else
      replicas = warps << (element[size_t(mode.axis)] / mode.step % mode.extent * stride);
    warps = replicas;
    stride *= mode.extent;
  }
  return warps;
}

/// The positions along an axis at which an element may be in other warps than the one before it.
std::vector<int64_t> boundariesOfWarps(const std::array<const FragmentLayout *, 2> &layouts, int axis,
                                       int64_t extent) {
  std::vector<int64_t> positions = {0};
  for (const FragmentLayout *layout : layouts)
    for (const LayoutMode &mode : layout->modes(HardwareAxis::warp))
      if (!mode.isReplicated() && mode.axis == axis)
        for (int64_t position = mode.step; position < extent; position += mode.step)
          positions.push_back(position);
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}
} // namespace

bool tlc::staysInWarps(const FragmentLayout &source, const Shape &sourceShape, const FragmentLayout &target,
                       const Shape &targetShape) {
  if (source == target && sourceShape == targetShape)
    return true;
  if (sourceShape.size() != targetShape.size())
    return false;
  Shape box;
  for (size_t axis = 0; axis < sourceShape.size(); ++axis) {
    box.push_back(std::max(sourceShape[axis], targetShape[axis]));
    for (int64_t extent : {sourceShape[axis], targetShape[axis]})
      if (extent != 1 && extent != box.back())
        return false;
  }
  auto within = [](Coordinates place, const Shape &shape) {
    for (size_t axis = 0; axis < shape.size(); ++axis)
      place[axis] = std::min(place[axis], shape[axis] - 1);
    return place;
  };
  std::vector<std::vector<int64_t>> positions;
  for (size_t axis = 0; axis < box.size(); ++axis)
    positions.push_back(boundariesOfWarps({&source, &target}, int(axis), box[axis]));
  std::vector<size_t> next(box.size());
  while (true) {
    Coordinates place(box.size());
    for (size_t axis = 0; axis < box.size(); ++axis)
      place[axis] = positions[axis][next[axis]];
    if (warpsOf(target, within(place, targetShape)) & ~warpsOf(source, within(place, sourceShape)))
      return false;
    size_t axis = box.size();
    while (axis > 0 && ++next[axis - 1] == positions[axis - 1].size())
      next[--axis] = 0;
    if (axis == 0)
      return true;
  }
}
