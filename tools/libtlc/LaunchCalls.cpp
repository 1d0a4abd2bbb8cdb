// SPDX-License-Identifier: Apache-2.0
/// \file
/// Launches through the C interface.
#include "runtime/device/LaunchPlan.h"
#include "runtime/device/LaunchRanks.h"
#include "runtime/device/TensorGeometry.h"
#include "tools/libtlc/Calls.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

// The numbers of both are one.
#define TLC_ELEMENT_TYPE(name, C, ...) static_assert(TLC_##C == int(ElementType::name));
#include "runtime/support/ElementTypes.def"

Result<ElementType> elementOf(int32_t element) {
  if (element < 0 || element >= static_cast<int32_t>(allElementTypes.size()))
    return invalid(
        fmt::format("expected a tlc_element from 0 to {}, but got {}", allElementTypes.size() - 1, element));
  return static_cast<ElementType>(element);
}

/// Which of how many launches of a program this is.
struct Place {
  int64_t rank = 0, ranks = 1;
};

/// What a launch of one rank needs; symmetric tensors have no addresses of other ranks yet.
Result<LaunchArguments> argumentsOf(const tlc_program *program, const tlc_tensor *tensors, int tensorCount,
                                    const tlc_scalar *scalars, int scalarCount, void *const *workspaces,
                                    int workspaceCount, Place place) {
  if (!program)
    return invalid("expected a program, but got a null pointer");
  if (scalarCount < 0 || (scalarCount > 0 && !scalars))
    return invalid("expected an array of scalars, but got a null pointer or a negative number");
  if (workspaceCount < 0 || (workspaceCount > 0 && !workspaces))
    return invalid("expected an array of workspaces, but got a null pointer or a negative number");
  Result<std::vector<TensorView>> views = calls::viewsOf(tensors, tensorCount);
  if (!views)
    return views.error();
  LaunchArguments arguments{std::move(*views), {}, place.rank, place.ranks};
  for (const tlc_scalar &scalar : std::span(scalars, static_cast<size_t>(scalarCount))) {
    Result<ElementType> element = elementOf(scalar.element);
    if (!element)
      return invalid(fmt::format("scalar {}: {}", arguments.scalars.size(), element.error().message));
    arguments.scalars.push_back({*element, scalar.bits});
  }
  Result<std::vector<WorkspaceRequest>> requests = workspacesOf(
      program->loaded->artifact(), arguments.tensors, program->device->properties(), place.rank, place.ranks);
  if (!requests)
    return requests.error();
  const Artifact &artifact = program->loaded->artifact();
  for (size_t i = 0; i != arguments.tensors.size(); ++i)
    if (Result<void> valid = checkMemory(artifact.tensors[i], arguments.tensors[i]); !valid)
      return valid.error();
  if (Result<void> apart = checkWrittenApart(artifact, arguments.tensors, artifact.name); !apart)
    return apart.error();
  if (requests->size() != static_cast<size_t>(workspaceCount))
    return invalid(fmt::format("expected {} workspaces for '{}', but got {}; {} tells their sizes",
                               requests->size(), program->loaded->artifact().name, workspaceCount,
                               place.ranks == 1 ? "tlc_workspace" : "tlc_rank_workspace"));
  for (size_t i = 0; i != requests->size(); ++i)
    arguments.tensors.push_back((*requests)[i].view(workspaces[i]));
  return arguments;
}

/// What a caller gives for a launch.
struct GivenArguments {
  const tlc_tensor *tensors;
  int tensorCount;
  const tlc_scalar *scalars;
  int scalarCount;
  void *const *workspaces;
  int workspaceCount;

  /// They are those of a launch of the artifact but for addresses.
  bool fit(const LaunchArguments &kept, const Artifact &artifact) const;
  /// Moves the tensors of a launch that they fit; false if one that is written would overlap another.
  bool move(LaunchArguments &kept, const Artifact &artifact) const;
};

bool isAlike(const TensorView &kept, const tlc_tensor &given) {
  const auto rank = static_cast<int32_t>(kept.shape.size());
  return given.rank == rank && given.element == static_cast<int32_t>(kept.element) &&
         (rank == 0 ||
          (given.shape && given.strides && std::equal(kept.shape.begin(), kept.shape.end(), given.shape) &&
           std::equal(kept.strides.begin(), kept.strides.end(), given.strides)));
}

bool GivenArguments::fit(const LaunchArguments &kept, const Artifact &artifact) const {
  const size_t count = firstWorkspaceOf(artifact);
  auto isGiven = [](const void *array, int given, size_t wanted) {
    return given >= 0 && static_cast<size_t>(given) == wanted && (array || wanted == 0);
  };
  if (!isGiven(tensors, tensorCount, count) || !isGiven(scalars, scalarCount, kept.scalars.size()) ||
      !isGiven(workspaces, workspaceCount, kept.tensors.size() - count))
    return false;
  for (size_t i = 0; i != count; ++i)
    if (!isAlike(kept.tensors[i], tensors[i]))
      return false;
  for (size_t i = 0; i != kept.scalars.size(); ++i)
    if (scalars[i].element != static_cast<int32_t>(kept.scalars[i].element) ||
        scalars[i].bits != kept.scalars[i].bits)
      return false;
  return true;
}

bool GivenArguments::move(LaunchArguments &kept, const Artifact &artifact) const {
  const auto count = static_cast<size_t>(tensorCount);
  bool moves = false;
  for (size_t i = 0; i != count; ++i)
    moves |= std::exchange(kept.tensors[i].data, tensors[i].data) != tensors[i].data;
  for (size_t i = count; i != kept.tensors.size(); ++i)
    kept.tensors[i].data = workspaces[i - count];
  return !moves || checkWrittenApart(artifact, std::span(kept.tensors).first(count), artifact.name);
}

Error noBound() { return invalid("expected a bound launch, but got a null pointer"); }

} // namespace

Result<std::vector<TensorView>> calls::viewsOf(const tlc_tensor *tensors, int count) {
  constexpr int32_t mostAxes = TLC_MOST_AXES;
  if (count < 0 || (count > 0 && !tensors))
    return invalid(fmt::format("expected {} tensors, but got {}",
                               count < 0 ? "no negative number of" : "an array of",
                               count < 0 ? std::to_string(count) : "a null pointer"));
  std::vector<TensorView> views;
  for (const tlc_tensor &tensor : std::span(tensors, static_cast<size_t>(count))) {
    Result<ElementType> element = elementOf(tensor.element);
    if (!element)
      return invalid(fmt::format("tensor {}: {}", views.size(), element.error().message));
    if (tensor.rank < 0 || tensor.rank > mostAxes)
      return invalid(fmt::format("tensor {}: expected a rank from 0 to {}, but got {}", views.size(),
                                 mostAxes, tensor.rank));
    if (tensor.rank > 0 && (!tensor.shape || !tensor.strides))
      return invalid(
          fmt::format("tensor {}: expected shape and strides, but got a null pointer", views.size()));
    views.push_back({tensor.data,
                     *element,
                     {tensor.shape, tensor.shape + tensor.rank},
                     {tensor.strides, tensor.strides + tensor.rank}});
  }
  return views;
}

Result<int> calls::workspace(const tlc_program *program, int rank, int ranks, const tlc_tensor *tensors,
                             int tensorCount, size_t *sizes, int capacity) {
  if (!program)
    return invalid("expected a program, but got a null pointer");
  if (Result<void> valid = checkRank(rank, ranks); !valid)
    return valid.error();
  if (capacity < 0 || (capacity > 0 && !sizes))
    return invalid("expected room for sizes, but got a null pointer or a negative capacity");
  Result<std::vector<TensorView>> views = calls::viewsOf(tensors, tensorCount);
  if (!views)
    return views.error();
  Result<std::vector<WorkspaceRequest>> requests =
      workspacesOf(program->loaded->artifact(), *views, program->device->properties(), rank, ranks);
  if (!requests)
    return requests.error();
  for (size_t i = 0; i != requests->size() && i != static_cast<size_t>(capacity); ++i)
    sizes[i] = (*requests)[i].bytes;
  return static_cast<int>(requests->size());
}

Result<void> calls::launch(const tlc_program *program, const tlc_tensor *tensors, int tensorCount,
                           const tlc_scalar *scalars, int scalarCount, void *const *workspaces,
                           int workspaceCount, void *stream) {
  const GivenArguments given = {tensors, tensorCount, scalars, scalarCount, workspaces, workspaceCount};
  std::unique_ptr<LaunchArguments> arguments;
  if (program) {
    const Artifact &artifact = program->loaded->artifact();
    arguments =
        program->arguments.take([&](const LaunchArguments &kept) { return given.fit(kept, artifact); });
    if (arguments && !given.move(*arguments, artifact))
      arguments.reset(); // the error is that of a first launch
  }
  if (!arguments) {
    Result<LaunchArguments> made =
        argumentsOf(program, tensors, tensorCount, scalars, scalarCount, workspaces, workspaceCount, {});
    if (!made)
      return made.error();
    arguments = std::make_unique<LaunchArguments>(std::move(*made));
  }
  Result<void> launched = program->device->launch(*program->loaded, *arguments, {stream});
  program->arguments.keep(std::move(arguments));
  return launched;
}

Result<std::unique_ptr<tlc_bound>> calls::bind(const tlc_program *program, const tlc_tensor *tensors,
                                               int tensorCount, const tlc_scalar *scalars, int scalarCount,
                                               void *const *workspaces, int workspaceCount) {
  Result<LaunchArguments> arguments =
      argumentsOf(program, tensors, tensorCount, scalars, scalarCount, workspaces, workspaceCount, {});
  if (!arguments)
    return arguments.error();
  Result<std::unique_ptr<PreparedLaunch>> prepared = program->device->prepare(*program->loaded, *arguments);
  if (!prepared)
    return prepared.error();
  arguments->tensors.resize(static_cast<size_t>(tensorCount));
  std::vector<void *> former(arguments->tensors.size());
  return std::make_unique<tlc_bound>(program->device, program->loaded, std::move(arguments->tensors),
                                     std::move(former), std::move(*prepared));
}

Result<void> calls::setAddresses(tlc_bound &bound, size_t first, std::span<void *const> addresses) {
  // Those of workspaces are the launch's alone.
  const std::span<TensorView> views = bound.tensors;
  const size_t begin = std::min(first, views.size());
  const std::span<TensorView> tensors =
      views.subspan(begin, std::min(views.size() - begin, addresses.size()));
  bool moves = false;
  for (size_t i = 0; i != tensors.size(); ++i) {
    bound.former[i] = std::exchange(tensors[i].data, addresses[i]);
    moves |= bound.former[i] != addresses[i];
  }
  const Artifact &artifact = bound.loaded->artifact();
  Result<void> moved = moves ? checkWrittenApart(artifact, views, artifact.name) : Result<void>();
  if (moved)
    moved = bound.launch->setAddresses(first, addresses);
  if (!moved)
    for (size_t i = 0; i != tensors.size(); ++i)
      tensors[i].data = bound.former[i];
  return moved;
}

Result<void> calls::setAddresses(tlc_bound *bound, int first, void *const *addresses, int count) {
  if (!bound)
    return noBound();
  if (first < 0)
    return invalid(fmt::format("expected the number of a tensor, but got {}", first));
  if (count < 0)
    return invalid(fmt::format("expected a number of addresses, but got {}", count));
  if (count > 0 && !addresses)
    return invalid("expected an array of addresses, but got a null pointer");
  return setAddresses(*bound, static_cast<size_t>(first), {addresses, static_cast<size_t>(count)});
}

Result<void> calls::launch(tlc_bound *bound, void *stream) {
  if (!bound)
    return noBound();
  return bound->launch->enqueue({stream});
}

Result<void> calls::launchRanks(const tlc_rank *ranks, int count, int tensorCount, const tlc_scalar *scalars,
                                int scalarCount, int workspaceCount) {
  if (count < 1 || count > maxRanks || !ranks)
    return invalid(fmt::format("expected an array of 1 to {} ranks, but got {}", maxRanks,
                               ranks ? std::to_string(count) : "a null pointer"));
  std::vector<LaunchArguments> arguments;
  for (const tlc_rank &rank : std::span(ranks, static_cast<size_t>(count))) {
    auto number = static_cast<int64_t>(arguments.size());
    Result<LaunchArguments> own = argumentsOf(rank.program, rank.tensors, tensorCount, scalars, scalarCount,
                                              rank.workspaces, workspaceCount, {number, count});
    if (!own)
      return ofRank(arguments.size(), own.error());
    arguments.push_back(std::move(*own));
  }
  std::vector<RankLaunch> launches;
  for (size_t rank = 0; rank != arguments.size(); ++rank) {
    const Artifact &artifact = ranks[rank].program->loaded->artifact();
    for (size_t i = 0; i != std::min(artifact.tensors.size(), arguments[rank].tensors.size()); ++i)
      if (artifact.tensors[i].symmetric)
        for (const LaunchArguments &other : arguments)
          if (i < other.tensors.size()) // another number of them is refused below
            arguments[rank].tensors[i].ofRanks.push_back(other.tensors[i].data);
    launches.push_back({ranks[rank].program->device.get(),
                        ranks[rank].program->loaded.get(),
                        &arguments[rank],
                        {ranks[rank].stream}});
  }
  return tlc::launchRanks(launches);
}

Result<void> calls::launch(tlc_group *group, const tlc_program *program, const tlc_tensor *tensors,
                           int tensorCount, const tlc_scalar *scalars, int scalarCount,
                           void *const *workspaces, int workspaceCount, void *stream) {
  if (!group)
    return calls::noGroup();
  Result<LaunchArguments> arguments = argumentsOf(program, tensors, tensorCount, scalars, scalarCount,
                                                  workspaces, workspaceCount, {group->rank, group->ranks});
  if (!arguments)
    return ofRank(static_cast<size_t>(group->rank), arguments.error());
  return group->group->launch(*program->device, program->loaded, std::move(*arguments), {stream});
}
