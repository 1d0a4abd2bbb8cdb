// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/LaunchRanks.h"

#include "runtime/artifact/Serialize.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/device/TensorGeometry.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;

namespace {

/// Whether a rank says of a symmetric tensor what rank 0 says.
Result<void> checkAgreement(const TensorArgument &argument, const TensorView &first,
                            const TensorView &tensor) {
  auto differs = [&](std::string_view what, const std::string &ours,
                     const std::string &firsts) -> Result<void> {
    return Error{.message =
                     fmt::format("argument '{}': expected the {} of rank 0, {}, because it is symmetric, "
                                 "but got {}",
                                 argument.name, what, firsts, ours)};
  };
  auto numbers = [](const std::vector<int64_t> &values) {
    return fmt::format("[{}]", fmt::join(values, ", "));
  };
  if (tensor.shape != first.shape)
    return differs("shape", numbers(tensor.shape), numbers(first.shape));
  if (tensor.strides != first.strides)
    return differs("strides", numbers(tensor.strides), numbers(first.strides));
  for (size_t rank = 0; rank < std::min(first.ofRanks.size(), tensor.ofRanks.size()); ++rank)
    if (tensor.ofRanks[rank] != first.ofRanks[rank])
      return differs(fmt::format("address on rank {}", rank), fmt::format("{}", tensor.ofRanks[rank]),
                     fmt::format("{}", first.ofRanks[rank]));
  return {};
}

bool isSameProgram(const Artifact &one, const Artifact &other) {
  return one.name == other.name && one.tensors.size() == other.tensors.size() &&
         std::ranges::equal(one.variants, other.variants, {}, &Variant::ptx, &Variant::ptx) &&
         bytesOfTransfers(one) == bytesOfTransfers(other);
}

/// Checks the arguments of a rank, and that it agrees with those before.
Result<std::unique_ptr<PreparedLaunch>> prepare(std::span<const RankLaunch> launches, size_t rank) {
  const RankLaunch &launch = launches[rank];
  const LaunchArguments &arguments = *launch.arguments;
  if (arguments.rank != int64_t(rank) || arguments.ranks != int64_t(launches.size()))
    return Error{.message =
                     fmt::format("expected the arguments of rank {} of {}, but got those of rank {} of {}",
                                 rank, launches.size(), arguments.rank, arguments.ranks)};
  const Artifact &artifact = launch.program->artifact(), &first = launches.front().program->artifact();
  if (!isSameProgram(artifact, first))
    return Error{.message = fmt::format("expected the program of rank 0, '{}', but got another one, '{}'",
                                        first.name, artifact.name)};
  for (size_t other = 0; other < rank; ++other)
    if (launches[other].device->properties().ordinal == launch.device->properties().ordinal)
      return Error{.message = fmt::format("expected a device of its own, but got device {}, as rank {} did",
                                          launch.device->properties().ordinal, other)};
  Result<std::unique_ptr<PreparedLaunch>> prepared = launch.device->prepare(*launch.program, arguments);
  if (!prepared)
    return prepared;
  for (size_t i = 0; i < artifact.tensors.size(); ++i)
    if (artifact.tensors[i].symmetric)
      if (Result<void> agrees = checkAgreement(artifact.tensors[i], launches.front().arguments->tensors[i],
                                               arguments.tensors[i]);
          !agrees)
        return agrees.error();
  return prepared;
}

/// What is enqueued on the streams from now on, each of its rank's device, begins after all that is on one of
/// them.
Result<void> meet(std::span<const RankLaunch> launches) {
  std::vector<std::unique_ptr<const Event>> events;
  for (size_t rank = 0; rank < launches.size(); ++rank) {
    Result<std::unique_ptr<const Event>> event = launches[rank].device->record(launches[rank].stream);
    if (!event)
      return ofRank(rank, event.error());
    events.push_back(std::move(*event));
  }
  for (size_t rank = 0; rank < launches.size(); ++rank)
    for (size_t other = 0; other < launches.size(); ++other)
      if (other != rank)
        if (Result<void> waits = launches[rank].device->wait(*events[other], launches[rank].stream); !waits)
          return ofRank(rank, waits.error());
  return {};
}

} // namespace

Result<void> tlc::connect(std::span<Device *const> devices) {
  for (Device *device : devices)
    for (Device *peer : devices)
      if (device != peer)
        if (Result<void> enabled = device->enablePeerAccess(*peer); !enabled)
          return enabled;
  return {};
}

std::vector<std::byte> tlc::bytesOfTransfers(const Artifact &artifact) {
  if (std::ranges::all_of(artifact.variants, [](const Variant &one) { return one.transfers.empty(); }))
    return {};
  Artifact alone;
  for (const Variant &variant : artifact.variants)
    alone.variants.emplace_back().transfers = variant.transfers;
  return serialize(alone);
}

Result<void> tlc::checkRank(int64_t rank, int64_t ranks) {
  if (ranks < 1 || ranks > maxRanks || rank < 0 || rank >= ranks)
    return Error{
        .message = fmt::format("expected 1 to {} ranks and the number of one of them, but got rank {} of {}",
                               maxRanks, rank, ranks)};
  return {};
}

Error tlc::ofRank(size_t rank, const Error &error) {
  return {error.kind, fmt::format("rank {}: {}", rank, error.message)};
}

Result<void> tlc::clearSymmetricWorkspaces(const RankLaunch &launch) {
  const Artifact &artifact = launch.program->artifact();
  const LaunchArguments &arguments = *launch.arguments;
  Result<std::vector<WorkspaceRequest>> requests =
      workspacesOf(artifact, arguments.tensors, launch.device->properties(), arguments.rank, arguments.ranks);
  if (!requests)
    return requests.error();
  const size_t firstWorkspace = artifact.tensors.size() - requests->size();
  for (size_t i = 0; i < requests->size(); ++i) {
    const TensorView &tensor = arguments.tensors[firstWorkspace + i];
    if (!artifact.tensors[firstWorkspace + i].symmetric || !(*requests)[i].zeroFill || isEmpty(tensor))
      continue;
    if (Result<void> cleared = launch.device->clear(tensor.data, (*requests)[i].bytes, launch.stream);
        !cleared)
      return cleared;
  }
  return {};
}

Result<void> tlc::launchRanks(std::span<const RankLaunch> launches) {
  std::vector<std::unique_ptr<PreparedLaunch>> prepared;
  for (size_t rank = 0; rank < launches.size(); ++rank) {
    Result<std::unique_ptr<PreparedLaunch>> one = prepare(launches, rank);
    if (!one)
      return ofRank(rank, one.error());
    prepared.push_back(std::move(*one));
  }
  if (launches.size() > 1) { // one rank's launch clears them itself
    if (Result<void> met = meet(launches); !met)
      return met;
    for (size_t rank = 0; rank < launches.size(); ++rank)
      if (Result<void> cleared = clearSymmetricWorkspaces(launches[rank]); !cleared)
        return ofRank(rank, cleared.error());
    if (Result<void> met = meet(launches); !met)
      return met;
  }
  for (size_t rank = 0; rank < launches.size(); ++rank)
    if (Result<void> launched = prepared[rank]->enqueue(launches[rank].stream); !launched)
      return ofRank(rank, launched.error());
  return {};
}
