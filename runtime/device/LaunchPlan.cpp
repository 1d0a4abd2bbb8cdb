// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/LaunchPlan.h"

#include "runtime/device/PlanTransfers.h"
#include "runtime/device/TensorGeometry.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <fmt/format.h>
#include <utility>

using namespace tlc;

namespace {

template <class... Values> Error mistake(fmt::format_string<Values...> text, Values &&...values) {
  return {.message = formatMessage(text, std::forward<Values>(values)...)};
}

Result<void> checkWorkspaceAddress(const TensorArgument &argument, const TensorView &tensor) {
  if (auto address = reinterpret_cast<uintptr_t>(tensor.data);
      !isEmpty(tensor) && address % workspaceAlignment != 0)
    return mistake(
        "workspace '{}': expected an address that is a multiple of {}, as Device::allocate gives it, "
        "but got {:#x}",
        argument.name, workspaceAlignment, address);
  return {};
}

Result<void> checkWorkspace(const TensorArgument &argument, const WorkspaceRequest &request,
                            const TensorView &tensor) {
  if (tensor.element != request.element)
    return mistake("workspace '{}': expected element type {}, but got {}", argument.name,
                   toString(request.element), toString(tensor.element));
  if (tensor.shape != request.shape)
    return mistake("workspace '{}': expected shape [{}], but got [{}]", argument.name,
                   fmt::join(request.shape, ", "), fmt::join(tensor.shape, ", "));
  if (Result<void> valid = checkMemory(argument, tensor); !valid)
    return valid;
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis)
    if (tensor.shape[axis] > 1 && tensor.strides[axis] != request.strides[axis] && !isEmpty(tensor))
      return mistake("workspace '{}': expected strides [{}], but got [{}]; WorkspaceRequest::view has them",
                     argument.name, fmt::join(request.strides, ", "), fmt::join(tensor.strides, ", "));
  return checkWorkspaceAddress(argument, tensor);
}

/// A workspace is written while everything else is in use. All arguments passed `checkMemory`.
Result<void> checkApart(const Artifact &artifact, const std::vector<TensorView> &tensors,
                        size_t firstWorkspace) {
  const auto begin = [](const TensorView &tensor) { return reinterpret_cast<uintptr_t>(tensor.data); };
  const auto end = [&](const TensorView &tensor) { return begin(tensor) + uintptr_t(*spanBytes(tensor)); };
  for (size_t i = firstWorkspace; i < tensors.size(); ++i) {
    const TensorView &workspace = tensors[i];
    for (size_t other = 0; other < i && !isEmpty(workspace); ++other)
      if (const TensorView &tensor = tensors[other];
          !isEmpty(tensor) && begin(workspace) < end(tensor) && begin(tensor) < end(workspace))
        return mistake(
            "workspace '{}': expected memory of its own because kernels write it, but its {} bytes at "
            "{:#x} overlap the {} bytes of {} '{}' at {:#x}",
            artifact.tensors[i].name, end(workspace) - begin(workspace), begin(workspace),
            end(tensor) - begin(tensor), other < firstWorkspace ? "argument" : "workspace",
            artifact.tensors[other].name, begin(tensor));
  }
  return {};
}

Result<void> checkScalars(const Artifact &artifact, const std::vector<ScalarValue> &scalars) {
  if (scalars.size() != artifact.scalars.size()) {
    std::vector<std::string> names;
    for (const ScalarArgument &scalar : artifact.scalars)
      names.push_back(scalar.name);
    return mistake("'{}' expects {} scalars ({}), but got {}", artifact.name, artifact.scalars.size(),
                   fmt::join(names, ", "), scalars.size());
  }
  for (size_t i = 0; i < scalars.size(); ++i) {
    if (scalars[i].element != artifact.scalars[i].element)
      return mistake("argument '{}': expected a scalar of type {}, but got {}", artifact.scalars[i].name,
                     toString(artifact.scalars[i].element), toString(scalars[i].element));
  }
  return {};
}

/// What the launch says of ranks, and the addresses of symmetric tensors.
Result<void> checkRanks(const Artifact &artifact, const LaunchArguments &arguments) {
  const int64_t rank = arguments.rank, ranks = arguments.ranks;
  if (ranks < 1 || ranks > maxRanks || rank < 0 || rank >= ranks)
    return mistake("'{}': expected 1 to {} ranks and the number of one of them, but got rank {} of {}",
                   artifact.name, maxRanks, rank, ranks);
  for (size_t i = 0; i < artifact.tensors.size(); ++i) {
    const TensorView &tensor = arguments.tensors[i];
    const std::string &name = artifact.tensors[i].name;
    if (!artifact.tensors[i].symmetric && !tensor.ofRanks.empty())
      return mistake("argument '{}': expected one address because it is not symmetric, but got those of {} "
                     "ranks",
                     name, tensor.ofRanks.size());
    if (!artifact.tensors[i].symmetric)
      continue;
    if (int64_t(tensor.ofRanks.size()) != ranks)
      return mistake("argument '{}': expected its addresses on {} ranks because it is symmetric, but got {}",
                     name, ranks, tensor.ofRanks.size());
    if (tensor.ofRanks[size_t(rank)] != tensor.data)
      return mistake("argument '{}': expected its address on rank {} to be {}, which is launched, but got {}",
                     name, rank, fmt::ptr(tensor.data), fmt::ptr(tensor.ofRanks[size_t(rank)]));
    for (size_t other = 0; other < tensor.ofRanks.size(); ++other)
      if (auto address = reinterpret_cast<uintptr_t>(tensor.ofRanks[other]);
          !isEmpty(tensor) && (!address || address % uintptr_t(artifact.tensors[i].alignment) != 0))
        return mistake(
            "argument '{}': expected an address on rank {} that is a multiple of {}, but got {:#x}", name,
            other, artifact.tensors[i].alignment, address);
  }
  return {};
}

/// Whether the base address, of a symmetric tensor on each rank and by multicast, and the outer strides are
/// multiples.
bool isAlignedEverywhere(const TensorView &tensor, int64_t bytes) {
  auto isMultiple = [&](void *address) {
    return isEmpty(tensor) || reinterpret_cast<uintptr_t>(address) % uintptr_t(bytes) == 0;
  };
  return isAligned(tensor, bytes) && isMultiple(tensor.ofAll) &&
         std::ranges::all_of(tensor.ofRanks, isMultiple);
}

Result<void> checkMulticast(const TensorArgument &argument, const TensorView &tensor) {
  const auto address = reinterpret_cast<uintptr_t>(tensor.ofAll);
  if (isEmpty(tensor) || (address && address % uintptr_t(argument.alignment) == 0))
    return {};
  if (!address)
    return mistake(
        "argument '{}': expected a multicast address of it because the program accesses it on all ranks "
        "at once, but got none; emulated devices have one, of GPUs the caller gives it "
        "(TensorView::ofAll)",
        argument.name);
  return mistake("argument '{}': expected a multicast address that is a multiple of {}, but got {:#x}",
                 argument.name, argument.alignment, address);
}

/// What is known while the launches of the chosen variant are laid out.
struct Planner {
  const Artifact &artifact;
  const LaunchArguments &arguments;
  const Target &target;
  const std::vector<int64_t> &dimensions;
  int64_t multiprocessors;
  std::span<const TensorView> inKernels;

  /// Evaluates the grid; nothing to launch if an extent is 0 or negative.
  Result<void> planGrid(const Launch &launch, std::array<uint32_t, 3> &grid) const {
    constexpr std::array axes = {'x', 'y', 'z'};
    const std::array limits = {target.maxGridX, target.maxGridYZ, target.maxGridYZ};
    for (size_t axis = 0; axis < 3; ++axis) {
      std::optional<int64_t> extent = launch.grid[axis].evaluate(dimensions, multiprocessors);
      if (!extent || *extent > int64_t(limits[axis]))
        return mistake("'{}' needs {} blocks in {} for {}, but expected 0 to {}{}", launch.entry,
                       extent ? fmt::to_string(*extent) : "too many", axes[axis], describeDimensions(),
                       limits[axis],
                       axis == 0 ? "; pass smaller extents"
                                 : "; pass smaller extents, or make this axis of k.grid a factor of x, which "
                                   "has no such limit");
      extent = std::max<int64_t>(*extent, 0);
      if (*extent % launch.cluster[axis] != 0)
        return mistake("'{}' needs {} blocks in {} for {}, but expected a multiple of its clusters' {}",
                       launch.entry, *extent, axes[axis], describeDimensions(), launch.cluster[axis]);
      grid[axis] = uint32_t(*extent);
    }
    return {};
  }

  std::string describeDimensions() const {
    std::string text;
    for (size_t i = 0; i < dimensions.size(); ++i) {
      const Dimension &dimension = artifact.dimensions[i];
      text +=
          fmt::format("{}{} = {}", i ? ", " : "",
                      dimension.computed ? placeOfComputed(dimension.name) : dimension.name, dimensions[i]);
    }
    return text.empty() ? "these arguments" : text;
  }

  /// Of the tensor at that address, its own or that of a rank.
  Result<TensorMapValues> planTensorMap(const TensorMapRecipe &recipe, void *address) const {
    const TensorView &tensor = arguments.tensors[recipe.tensor];
    const bool empty = isEmpty(tensor) || (recipe.window && !hasPositions(*recipe.window, tensor)),
               limited = recipe.limitedAxis >= 0;
    TensorMapValues values = {.address = empty ? nullptr : address,
                              .element = tensor.element,
                              .swizzle = recipe.swizzle,
                              .rank = unsigned(tensor.shape.size() + limited)};
    for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      const size_t place = axis + limited;
      values.shape[place] = empty ? 1 : tensor.shape[axis];
      if (axis + 1 == tensor.shape.size())
        values.shape[place] = ceilDiv(values.shape[place], elementsPerUnit(tensor.element));
      values.strideBytes[place] = bytesOf(tensor.element, effectiveStride(tensor, axis));
      values.box[place] = recipe.box[axis];
      if (values.strideBytes[place] >= target.tma.maxStride)
        return mistake("argument '{}' axis {}: expected a stride of less than {} bytes because it is copied "
                       "by TMA, but got {}",
                       artifact.tensors[recipe.tensor].name, axis, target.tma.maxStride,
                       values.strideBytes[place]);
    }
    if (limited)
      addLimit(values, recipe);
    if (recipe.window)
      addWindow(values, *recipe.window, empty);
    return values;
  }

  static bool hasPositions(const TensorWindow &window, const TensorView &tensor) {
    for (size_t axis = 0; axis < window.taps.size(); ++axis)
      if (window.count(axis, tensor.shape[axis + 1]) == 0)
        return false;
    return true;
  }

  /// Where there are no positions no bounding box is valid, and one pixel stands for it: that of the first
  /// taps which programs then compute, since the TMA stops a kernel for others.
  static void addWindow(TensorMapValues &values, const TensorWindow &window, bool empty) {
    TensorMapValues::Im2col &im2col = values.im2col.emplace();
    for (size_t axis = 0; axis < window.taps.size(); ++axis) {
      im2col.stride[axis] = empty ? 1 : window.strides[axis];
      im2col.lower[axis] = window.lowerCorner(axis);
      im2col.upper[axis] = empty ? window.lowerCorner(axis) : window.upperCorner(axis);
    }
  }

  /// Fills in the outermost axis, which says where boxes end along the limited one; see TensorMapRecipe.
  static void addLimit(TensorMapValues &values, const TensorMapRecipe &recipe) {
    const auto place = size_t(recipe.limitedAxis) + 1;
    values.strideBytes[0] = values.strideBytes[place];
    values.box[0] = 1;
    values.shape[0] = values.shape[place];
    if (!values.address)
      return;
    values.shape[0] += recipe.before;
    values.shape[place] = values.box[place];
    // May wrap below address 0, as the sums of the TMA do.
    values.address = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(values.address) -
                                              uintptr_t(recipe.before * values.strideBytes[place]));
  }

  /// Appends the parameter, naturally aligned.
  Result<void> planParameter(const Launch &launch, const KernelParameter &parameter,
                             PlannedLaunch &planned) const {
    const size_t bytes = parameterBytes(artifact, parameter);
    const size_t alignment = parameterAlignment(artifact, parameter);
    const size_t offset = alignTo(planned.parameters.size(), alignment);
    planned.parameters.resize(offset + bytes);
    auto store = [&](uint64_t value) { std::memcpy(&planned.parameters[offset], &value, bytes); };
    switch (parameter.kind) {
    case KernelParameter::Kind::tensorPointer:
      store(reinterpret_cast<uintptr_t>(inKernels[size_t(parameter.index)].data));
      planned.pointers.push_back({offset, size_t(parameter.index)});
      break;
    case KernelParameter::Kind::multicastPointer: {
      const TensorView &tensor = arguments.tensors[parameter.index];
      if (auto valid = checkMulticast(artifact.tensors[parameter.index], tensor); !valid)
        return valid;
      store(reinterpret_cast<uintptr_t>(tensor.ofAll));
      break;
    }
    case KernelParameter::Kind::tensorStride: {
      const int64_t stride = effectiveStride(arguments.tensors[parameter.index], parameter.axis);
      if (bytes == 4 && stride > INT32_MAX)
        return Error{.message = fmt::format("argument '{}' axis {}: expected a stride of at most {} because "
                                            "'{}' takes it in 32 bits, but got {}",
                                            artifact.tensors[parameter.index].name, parameter.axis, INT32_MAX,
                                            launch.entry, stride)};
      store(uint64_t(stride));
      break;
    }
    case KernelParameter::Kind::dimension:
      store(dimensions[parameter.index]);
      break;
    case KernelParameter::Kind::scalar:
      store(arguments.scalars[parameter.index].bits);
      break;
    case KernelParameter::Kind::tensorPointers: {
      const std::vector<void *> &addresses = inKernels[size_t(parameter.index)].ofRanks;
      std::memcpy(&planned.parameters[offset], static_cast<const void *>(addresses.data()),
                  addresses.size() * sizeof(void *));
      break;
    }
    case KernelParameter::Kind::tensorMap:
    case KernelParameter::Kind::tensorMaps: {
      const TensorMapRecipe &recipe = launch.tensorMaps[parameter.index];
      const std::span<void *const> addresses = addressesOf(inKernels[size_t(recipe.tensor)]);
      for (size_t rank = 0; rank < addresses.size(); ++rank) {
        Result<TensorMapValues> values = planTensorMap(recipe, addresses[rank]);
        if (!values)
          return values.error();
        planned.tensorMaps.push_back({offset + rank * tensorMapBytes, size_t(recipe.tensor), *values});
      }
    }
    }
    return {};
  }

  Result<void> planLaunch(const Launch &launch, size_t index, std::vector<PlannedLaunch> &launches) const {
    PlannedLaunch planned = {.launch = &launch, .index = index};
    if (Result<void> valid = planGrid(launch, planned.grid); !valid)
      return valid;
    if (std::ranges::find(planned.grid, 0u) != planned.grid.end())
      return {};
    planned.parameters.reserve(8 * launch.parameters.size() + 192 * launch.tensorMaps.size());
    planned.pointers.reserve(launch.parameters.size());
    planned.tensorMaps.reserve(launch.tensorMaps.size());
    for (const KernelParameter &parameter : launch.parameters) {
      if (Result<void> valid = planParameter(launch, parameter, planned); !valid)
        return valid;
    }
    launches.push_back(std::move(planned));
    return {};
  }
};

} // namespace

size_t tlc::firstWorkspaceOf(const Artifact &artifact) {
  size_t first = artifact.tensors.size();
  while (first > 0 && artifact.tensors[first - 1].access == Access::workspace)
    --first;
  return first;
}

size_t tlc::chooseVariant(const Artifact &artifact, const std::vector<TensorView> &tensors) {
  auto holds = [&](const AlignmentCondition &condition) {
    return isAlignedEverywhere(tensors[condition.tensor], condition.bytes);
  };
  size_t index = 0;
  while (!std::ranges::all_of(artifact.variants[index].conditions, holds))
    ++index;
  return index;
}

Result<LaunchPlan> tlc::planLaunch(const Artifact &artifact, const LaunchArguments &arguments,
                                   const DeviceProperties &device, std::span<const TensorView> inKernels) {
  Result<std::vector<int64_t>> dimensions =
      bindDimensions(artifact, arguments.tensors, arguments.rank, arguments.ranks);
  if (!dimensions)
    return dimensions.error();
  Result<std::vector<WorkspaceRequest>> requests = workspaceRequests(artifact, *dimensions, device);
  if (!requests)
    return requests.error();
  const size_t firstWorkspace = artifact.tensors.size() - requests->size();
  if (arguments.tensors.size() != artifact.tensors.size())
    return mistake("'{}' expects {} tensors, its workspaces last, but got only the {} inputs and outputs",
                   artifact.name, artifact.tensors.size(), firstWorkspace);
  for (size_t i = 0; i < artifact.tensors.size(); ++i) {
    const TensorArgument &argument = artifact.tensors[i];
    const TensorView &tensor = arguments.tensors[i];
    Result<void> valid = i < firstWorkspace
                             ? checkMemory(argument, tensor)
                             : checkWorkspace(argument, (*requests)[i - firstWorkspace], tensor);
    if (!valid)
      return valid.error();
  }
  if (Result<void> valid = checkScalars(artifact, arguments.scalars); !valid)
    return valid.error();
  if (Result<void> valid = checkRanks(artifact, arguments); !valid)
    return valid.error();

  LaunchPlan plan;
  plan.variantIndex = chooseVariant(artifact, arguments.tensors);
  plan.variant = &artifact.variants[plan.variantIndex];
  // Workspaces whole: their order may use the ends of rows.
  for (size_t i = firstWorkspace; i < artifact.tensors.size(); ++i)
    if (const WorkspaceRequest &request = (*requests)[i - firstWorkspace];
        request.zeroFill && !isEmpty(arguments.tensors[i]) &&
        !(artifact.tensors[i].symmetric && arguments.ranks > 1)) // other ranks may write it by now
      plan.zeroFills.push_back(
          {.address = arguments.tensors[i].data, .rowBytes = request.bytes, .tensor = i});
  for (size_t i = 0; i < firstWorkspace; ++i) {
    const size_t before = plan.zeroFills.size();
    if (artifact.tensors[i].zeroFill && appendZeroFills(arguments.tensors[i], plan.zeroFills) > maxZeroFills)
      return mistake("argument '{}': its shape [{}] with strides [{}] takes more than {} separate fills to "
                     "clear; pass a tensor with fewer gaps",
                     artifact.tensors[i].name, fmt::join(arguments.tensors[i].shape, ", "),
                     fmt::join(arguments.tensors[i].strides, ", "), maxZeroFills);
    for (ZeroFill &fill : std::span(plan.zeroFills).subspan(before))
      fill.tensor = i;
  }
  const Target *target = findTarget(artifact.target);
  assert(target && "the artifact was not verified");
  Planner planner = {artifact,
                     arguments,
                     *target,
                     *dimensions,
                     device.multiprocessors,
                     inKernels.empty() ? std::span(arguments.tensors) : inKernels};
  plan.launches.reserve(plan.variant->launches.size());
  for (size_t i = 0; i < plan.variant->launches.size(); ++i) {
    if (Result<void> valid = planner.planLaunch(plan.variant->launches[i], i, plan.launches); !valid)
      return valid.error();
  }
  Result<std::vector<PlannedTransfer>> transfers =
      planTransfers(artifact, *plan.variant, arguments, *dimensions, device.multiprocessors, plan.launches);
  if (!transfers)
    return transfers.error();
  plan.transfers = std::move(*transfers);
  if (Result<void> apart = checkApart(artifact, arguments.tensors, firstWorkspace); !apart)
    return apart.error();
  plan.dimensions = std::move(*dimensions);
  return plan;
}

namespace {

void *shifted(void *address, uintptr_t by) {
  return reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(address) + by);
}

/// Moves the tensor by `by` bytes.
void shiftAddresses(LaunchPlan &plan, size_t tensor, uintptr_t by) {
  for (ZeroFill &fill : plan.zeroFills)
    if (fill.tensor == tensor)
      fill.address = shifted(fill.address, by);
  for (PlannedLaunch &launch : plan.launches) {
    for (const PlannedPointer &pointer : launch.pointers)
      if (pointer.tensor == tensor) {
        uintptr_t address = 0;
        std::memcpy(&address, &launch.parameters[pointer.offset], sizeof(address));
        address += by;
        std::memcpy(&launch.parameters[pointer.offset], &address, sizeof(address));
      }
    for (PlannedTensorMap &map : launch.tensorMaps)
      if (map.tensor == tensor && map.values.address)
        map.values.address = shifted(map.values.address, by);
  }
}

/// What depends on the address of the tensor alone.
Result<void> checkMoved(const TensorArgument &argument, const TensorView &tensor) {
  Result<void> valid = checkAddress(argument, tensor);
  return valid && argument.access == Access::workspace ? checkWorkspaceAddress(argument, tensor) : valid;
}

} // namespace

Result<void> tlc::checkTensors(const Artifact &artifact, size_t first, size_t count) {
  const size_t most = artifact.tensors.size();
  if (first > most || count > most - first)
    return mistake("'{}' has {} tensors, so there is no tensor {}; they count from 0, workspaces last",
                   artifact.name, most, std::max(first, most));
  return {};
}

Result<void> tlc::checkMovable(const Artifact &artifact, size_t tensor) {
  if (Result<void> exists = checkTensors(artifact, tensor, 1); !exists)
    return exists;
  if (artifact.tensors[tensor].symmetric)
    return mistake("argument '{}': expected a tensor that other ranks do not reach, but it is symmetric; "
                   "prepare the launch again",
                   artifact.tensors[tensor].name);
  return {};
}

Result<PlanChange> tlc::moveTensors(LaunchPlan &plan, const Artifact &artifact, LaunchArguments &arguments,
                                    const DeviceProperties &device, size_t first,
                                    std::span<void *> addresses) {
  const std::span<TensorView> tensors = std::span(arguments.tensors).subspan(first, addresses.size());
  bool moves = false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].data == addresses[i])
      continue;
    if (Result<void> movable = checkMovable(artifact, first + i); !movable)
      return movable.error();
    moves = true;
  }
  if (!moves)
    return PlanChange::nothing;
  auto exchange = [&] {
    for (size_t i = 0; i < tensors.size(); ++i)
      std::swap(tensors[i].data, addresses[i]);
  };
  auto refuse = [&](const Error &error) {
    exchange();
    return error;
  };
  exchange();
  if (chooseVariant(artifact, arguments.tensors) != plan.variantIndex || !plan.transfers.empty()) {
    Result<LaunchPlan> other = planLaunch(artifact, arguments, device);
    if (!other)
      return refuse(other.error());
    plan = std::move(*other);
    return PlanChange::all;
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].data != addresses[i])
      if (Result<void> valid = checkMoved(artifact.tensors[first + i], tensors[i]); !valid)
        return refuse(valid.error());
  if (Result<void> apart = checkApart(artifact, arguments.tensors, firstWorkspaceOf(artifact)); !apart)
    return refuse(apart.error());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].data != addresses[i])
      shiftAddresses(plan, first + i,
                     reinterpret_cast<uintptr_t>(tensors[i].data) -
                         reinterpret_cast<uintptr_t>(addresses[i]));
  return PlanChange::addresses;
}
