// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/PlanTransfers.h"

#include "runtime/device/TensorGeometry.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

using namespace tlc;

namespace {

/// The most bytes from one row to the next (CU_DEVICE_ATTRIBUTE_MAX_PITCH).
constexpr int64_t maxPitch = 0x7fffffff;

/// Bytes from one element to the next.
struct BoxAxis {
  int64_t extent = 1, from = 0, to = 0;
};

/// What is known while a round of a transfer is planned.
class RoundPlanner {
public:
  RoundPlanner(const Artifact &artifact, const Transfer &transfer, const LaunchArguments &arguments,
               std::vector<int64_t> dimensions, int64_t multiprocessors)
      : artifact(artifact), transfer(transfer), arguments(arguments), dimensions(std::move(dimensions)),
        multiprocessors(multiprocessors) {}

  Result<PlannedRound> plan(int64_t number) {
    dimensions.push_back(number);
    Result<PlannedRound> round = planAll();
    dimensions.pop_back();
    return round;
  }

private:
  template <class... Values> Error mistake(fmt::format_string<Values...> text, Values &&...values) const {
    return {.message = formatMessage("transfer '{}' round {}: {}", transfer.name, dimensions.back(),
                                     fmt::format(text, std::forward<Values>(values)...))};
  }

  Result<int64_t> evaluate(const HostExpr &expr, std::string_view what, std::string_view tensor) const {
    std::optional<int64_t> value = expr.evaluate(dimensions, multiprocessors);
    if (!value)
      return mistake("expected {} of '{}' to be computed from numbers of 32 bits and divisors other than 0, "
                     "but it is not",
                     what, tensor);
    if (*value < 0 || *value > std::numeric_limits<int32_t>::max())
      return mistake("expected {} of '{}' from 0 to {}, but got {}", what, tensor,
                     std::numeric_limits<int32_t>::max(), *value);
    return *value;
  }

  struct Box {
    const TensorView *tensor = nullptr;
    int64_t rank = 0; ///< whose
    std::byte *address = nullptr;
    std::vector<int64_t> position = {};
  };

  /// A box there that is inside of the tensor.
  Result<Box> boxAt(const TensorPlace &place, std::span<const int64_t> extents) {
    const std::string &name = artifact.tensors[size_t(place.tensor)].name;
    Box box{.tensor = &arguments.tensors[size_t(place.tensor)], .rank = arguments.rank};
    if (place.rank) {
      Result<int64_t> rank = evaluate(*place.rank, "a rank", name);
      if (!rank)
        return rank.error();
      if (*rank >= arguments.ranks)
        return mistake("expected a rank of '{}' from 0 to {}, but got {}", name, arguments.ranks - 1, *rank);
      box.rank = *rank;
    }
    auto *data =
        static_cast<std::byte *>(place.rank ? box.tensor->ofRanks[size_t(box.rank)] : box.tensor->data);
    int64_t offset = 0;
    for (size_t axis = 0; axis < place.position.size(); ++axis) {
      Result<int64_t> position =
          evaluate(place.position[axis], fmt::format("the position along axis {}", axis), name);
      if (!position)
        return position.error();
      if (*position + extents[axis] > box.tensor->shape[axis])
        return mistake("expected elements of '{}' from 0 to {} along axis {}, but got {} to {}", name,
                       box.tensor->shape[axis] - 1, axis, *position, *position + extents[axis] - 1);
      box.position.push_back(*position);
      offset += *position * effectiveStride(*box.tensor, axis);
    }
    box.address = data + bytesOf(box.tensor->element, offset);
    return box;
  }

  Result<PlannedRound> planAll() {
    round = {};
    for (const TransferCopy &copy : transfer.copies)
      if (Result<void> planned = planCopy(copy); !planned)
        return planned.error();
    round.isInOrder |= round.copies.empty();
    if (transfer.sets) {
      const TensorPlace &place = transfer.sets->count;
      const std::vector<int64_t> one(place.position.size(), 1);
      Result<Box> count = boxAt(place, one);
      if (!count)
        return count.error();
      Result<int64_t> value =
          evaluate(transfer.sets->value, "the value", artifact.tensors[size_t(place.tensor)].name);
      if (!value)
        return value.error();
      round.count = reinterpret_cast<int32_t *>(count->address);
      round.value = int32_t(*value);
    }
    return std::move(round);
  }

  Result<void> planCopy(const TransferCopy &copy) {
    const std::string &name = artifact.tensors[size_t(copy.to.tensor)].name;
    std::vector<int64_t> extents;
    for (size_t axis = 0; axis < copy.extents.size(); ++axis) {
      Result<int64_t> extent =
          evaluate(copy.extents[axis], fmt::format("the extent along axis {}", axis), name);
      if (!extent)
        return extent.error();
      extents.push_back(*extent);
    }
    if (std::ranges::find(extents, 0) != extents.end())
      return {};
    auto alongAllAxes = [&](const TensorPlace &place) {
      std::vector<int64_t> all(place.position.size() - extents.size(), 1);
      all.insert(all.end(), extents.begin(), extents.end());
      return all;
    };
    Result<Box> from = boxAt(copy.from, alongAllAxes(copy.from)),
                to = from ? boxAt(copy.to, alongAllAxes(copy.to)) : from;
    if (!to)
      return to.error();
    if (copy.from.tensor == copy.to.tensor && from->rank == to->rank &&
        meet(*from, *to, alongAllAxes(copy.to)))
      return mistake(
          "expected two boxes of '{}' that are apart because the order of a copy is not known, but "
          "they have elements in common",
          name);
    const bool isInside = from->rank == arguments.rank && to->rank == arguments.rank;
    round.isInOrder |= isInside;
    round.reachesOthers |= !isInside;
    return appendCopies(*from, *to, extents);
  }

  static bool meet(const Box &one, const Box &other, std::span<const int64_t> extents) {
    for (size_t axis = 0; axis < extents.size(); ++axis)
      if (std::abs(one.position[axis] - other.position[axis]) >= extents[axis])
        return false;
    return true;
  }

  /// Innermost first: adjacent elements are one row, and axes whose elements are as far apart are one.
  Result<void> appendCopies(const Box &from, const Box &to, std::span<const int64_t> extents) {
    const ElementType element = from.tensor->element;
    int64_t rowBytes = bytesOf(element, 1);
    std::vector<BoxAxis> axes;
    auto bytesApart = [&](const Box &box, size_t axis) {
      return bytesOf(element, box.tensor->strides[box.position.size() - extents.size() + axis]);
    };
    for (size_t axis = extents.size(); axis-- != 0;) {
      if (extents[axis] == 1)
        continue;
      const BoxAxis next = {extents[axis], bytesApart(from, axis), bytesApart(to, axis)};
      if (axes.empty() && next.from == rowBytes && next.to == rowBytes)
        rowBytes *= next.extent;
      else if (!axes.empty() && next.from == axes.back().from * axes.back().extent &&
               next.to == axes.back().to * axes.back().extent)
        axes.back().extent *= next.extent;
      else
        axes.push_back(next);
    }
    PlannedCopy copy = {.from = from.address, .to = to.address, .bytes = size_t(rowBytes)};
    size_t used = 0;
    auto isPitch = [&](int64_t bytes) { return bytes >= rowBytes && bytes <= maxPitch; };
    if (!axes.empty() && isPitch(axes[0].from) && isPitch(axes[0].to)) {
      copy.rows = size_t(axes[0].extent);
      copy.fromPitch = size_t(axes[0].from), copy.toPitch = size_t(axes[0].to);
      used = 1;
    }
    auto areSlices = [&](int64_t bytes, size_t pitch) {
      return bytes % int64_t(pitch) == 0 && bytes / int64_t(pitch) >= int64_t(copy.rows);
    };
    if (used == 1 && axes.size() > 1 && areSlices(axes[1].from, copy.fromPitch) &&
        areSlices(axes[1].to, copy.toPitch)) {
      copy.slices = size_t(axes[1].extent);
      copy.fromRows = size_t(axes[1].from) / copy.fromPitch, copy.toRows = size_t(axes[1].to) / copy.toPitch;
      used = 2;
    }
    return appendCopies(copy, std::span(axes).subspan(used));
  }

  Result<void> appendCopies(PlannedCopy first, std::span<const BoxAxis> axes) {
    size_t count = 1;
    for (const BoxAxis &axis : axes)
      count = std::min(count * size_t(axis.extent), maxTransferCopies + 1);
    if (round.copies.size() + count > maxTransferCopies)
      return mistake("expected boxes that take at most {} copies of rows that are equally far apart, but got "
                     "more; pass tensors whose outer strides are multiples of the inner ones, or copy fewer "
                     "axes in a round",
                     maxTransferCopies);
    for (size_t number = 0; number < count; ++number) {
      PlannedCopy copy = first;
      size_t rest = number;
      for (const BoxAxis &axis : axes) {
        const auto at = int64_t(rest % size_t(axis.extent));
        rest /= size_t(axis.extent);
        copy.from = static_cast<const std::byte *>(copy.from) + at * axis.from;
        copy.to = static_cast<std::byte *>(copy.to) + at * axis.to;
      }
      round.copies.push_back(copy);
    }
    return {};
  }

  const Artifact &artifact;
  const Transfer &transfer;
  const LaunchArguments &arguments;
  std::vector<int64_t> dimensions; ///< with the number of the round
  int64_t multiprocessors;
  PlannedRound round;
};

} // namespace

Result<std::vector<PlannedTransfer>> tlc::planTransfers(const Artifact &artifact, const Variant &variant,
                                                        const LaunchArguments &arguments,
                                                        const std::vector<int64_t> &dimensions,
                                                        int64_t multiprocessors,
                                                        std::span<const PlannedLaunch> launches) {
  // Launches with an empty grid are left out.
  auto planned = [&](int64_t number) {
    return size_t(std::ranges::count_if(
        launches, [&](const PlannedLaunch &launch) { return int64_t(launch.index) < number; }));
  };
  std::vector<PlannedTransfer> transfers;
  for (const Transfer &transfer : variant.transfers) {
    std::optional<int64_t> rounds = transfer.rounds.evaluate(dimensions, multiprocessors);
    if (!rounds || *rounds < 0 || *rounds > maxTransferRounds)
      return Error{.message =
                       fmt::format("transfer '{}' needs {} rounds, but expected 0 to {}", transfer.name,
                                   rounds ? fmt::to_string(*rounds) : "too many", maxTransferRounds)};
    PlannedTransfer &made =
        transfers.emplace_back(PlannedTransfer{&transfer, planned(transfer.after), planned(transfer.until)});
    RoundPlanner planner(artifact, transfer, arguments, dimensions, multiprocessors);
    for (int64_t number = 0; number < *rounds; ++number) {
      Result<PlannedRound> round = planner.plan(number);
      if (!round)
        return round.error();
      made.rounds.push_back(std::move(*round));
    }
  }
  return transfers;
}
