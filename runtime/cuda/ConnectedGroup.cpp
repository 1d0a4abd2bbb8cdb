// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/ConnectedGroup.h"

#include "runtime/device/LaunchRanks.h"

#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <type_traits>
#include <unistd.h>

using namespace tlc;

namespace {

/// What each rank says, by its number.
template <class T> Result<std::vector<T>> exchange(Communicator &communicator, const T &own) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= Communicator::mostBytes);
  Result<std::vector<std::byte>> bytes = communicator.exchange(std::as_bytes(std::span(&own, 1)));
  if (!bytes)
    return bytes.error();
  std::vector<T> all(size_t(communicator.ranks()));
  std::memcpy(all.data(), bytes->data(), bytes->size());
  return all;
}

template <size_t size> void write(std::array<char, size> &text, std::string_view value) {
  text = {};
  value.copy(text.data(), size - 1);
}

/// What came of something on a rank.
struct Outcome {
  bool isError = false;
  ErrorKind kind = ErrorKind::environment;
  std::array<char, Communicator::mostBytes - 8> message = {};
};

/// The first error of any rank, with its number, on all of them.
Result<void> agree(Communicator &communicator, const Result<void> &own) {
  Outcome outcome = {.isError = !own};
  if (!own) {
    outcome.kind = own.error().kind;
    write(outcome.message, own.error().message);
  }
  Result<std::vector<Outcome>> outcomes = exchange(communicator, outcome);
  if (!outcomes)
    return outcomes.error();
  for (size_t rank = 0; rank < outcomes->size(); ++rank) {
    const Outcome &found = (*outcomes)[rank];
    const std::string message = found.message.data();
    if (found.isError) // a group's own error has its rank already
      return message.starts_with(fmt::format("rank {}: ", rank)) ? Error{found.kind, message}
                                                                 : ofRank(rank, {found.kind, message});
  }
  return {};
}

/// Where a rank is.
struct Place {
  std::array<char, 40> boot = {}; ///< of the host since it was started, on no other host
  std::array<char, 64> host = {};
  std::array<char, 24> bus = {}; ///< of the GPU
};

Result<Place> placeOf(int ordinal) {
  Result<std::string> bus = busIdOf(ordinal);
  if (!bus)
    return bus.error();
  Place place;
  std::array<char, 64> host = {};
  if (::gethostname(host.data(), host.size() - 1) == 0)
    place.host = host;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  write(place.boot, boot);
  write(place.bus, *bus);
  return place;
}

/// Whether the GPU of this rank reaches the memory of all others.
Result<void> checkReachOfOthers(const Communicator &communicator, const std::vector<Place> &places) {
  for (int64_t rank = 0; rank < communicator.ranks(); ++rank)
    if (rank != communicator.rank())
      if (Result<void> reached = checkReach(communicator.ordinal(), places[size_t(rank)].bus.data());
          !reached)
        return Error{reached.error().kind,
                     fmt::format("cannot reach the memory of rank {}: {}", rank, reached.error().message)};
  return {};
}

Error notShared(const void *address) {
  return {.message =
              fmt::format("expected the address of memory that is shared, but got {}", fmt::ptr(address))};
}

} // namespace

/// Memory that a rank gives to the others.
struct ConnectedGroup::Offer {
  MemoryHandle handle;
  uint64_t bytes = 0;
};

Result<void> tlc::checkPeers(Communicator &communicator) {
  Result<void> valid = checkRank(communicator.rank(), communicator.ranks());
  if (!valid)
    return valid; // the same on all ranks
  Result<Place> own = placeOf(communicator.ordinal());
  if (Result<void> found = agree(communicator, own ? Result<void>() : own.error()); !found)
    return found;
  Result<std::vector<Place>> places = exchange(communicator, *own);
  if (!places)
    return places.error();
  for (size_t rank = 1; rank < places->size(); ++rank)
    if ((*places)[rank].boot != places->front().boot)
      return Error{
          ErrorKind::environment,
          fmt::format("expected ranks of one host, whose GPUs reach each other's memory, but rank 0 is "
                      "on '{}' and rank {} on '{}'",
                      places->front().host.data(), rank, (*places)[rank].host.data())};
  return agree(communicator, checkReachOfOthers(communicator, *places));
}

Result<std::unique_ptr<ConnectedGroup>> ConnectedGroup::create(std::shared_ptr<Communicator> communicator) {
  if (Result<void> reached = checkPeers(*communicator); !reached)
    return reached.error();
  std::unique_ptr<ConnectedGroup> created(new ConnectedGroup(communicator));
  Result<void *> own = createFlagMemory(communicator->ordinal());
  if (Result<void> all = agree(*communicator, own ? Result<void>() : own.error()); !all)
    return all.error();
  Result<Shared> flags = created->map(*own, RankGroup::flagBytes);
  if (!flags)
    return flags.error();
  created->flags = std::move(*flags);
  auto createGroup = [&]() -> Result<void> {
    Result<std::unique_ptr<StreamFlags>> streamFlags = createCudaFlags(communicator->ordinal());
    if (!streamFlags)
      return streamFlags.error();
    Result<std::unique_ptr<RankGroup>> group = RankGroup::create(
        communicator->rank(), communicator->ranks(), created->flags.memory, std::move(*streamFlags));
    if (!group)
      return group.error();
    created->ranks = std::move(*group);
    return {};
  };
  if (Result<void> all = agree(*communicator, createGroup()); !all)
    return all.error();
  return created;
}

ConnectedGroup::~ConnectedGroup() {
  if (ranks && ranks->isAbandoned()) {
    communicator->abandon();
    return;
  }
  ranks.reset();
  close(flags);
  for (const auto &[address, shared] : all)
    close(shared);
}

Result<void> ConnectedGroup::share(void *address, size_t bytes) {
  if (Result<void> going = ranks->check(); !going)
    return going; // at once: the driver may wait for the stream
  Result<Shared> shared = map(address, bytes);
  if (!shared)
    return shared.error();
  Result<void> added = agree(*communicator, ranks->checkMemory(shared->memory));
  if (added)
    added = ranks->add(shared->memory); // where all ranks can
  if (!added) {
    close(*shared);
    return added;
  }
  shared->number = shares++;
  all[address] = std::move(*shared);
  return {};
}

Result<void> ConnectedGroup::unshare(void *address) {
  if (Result<void> going = ranks->check(); !going)
    return going;
  const auto shared = all.find(address);
  const bool isShared = shared != all.end();
  if (Result<void> known = agree(*communicator, isShared ? Result<void>() : notShared(address)); !known)
    return known;
  Result<std::vector<uint64_t>> numbers = exchange(*communicator, shared->second.number);
  if (!numbers)
    return numbers.error();
  for (size_t rank = 1; rank < numbers->size(); ++rank)
    if ((*numbers)[rank] != numbers->front())
      return ofRank(rank, {.message = fmt::format("expected the address of the memory that was shared as "
                                                  "number {}, as rank 0 gives, but got that of number {}",
                                                  numbers->front(), (*numbers)[rank])});
  Result<void> removed = ranks->remove(address);
  close(shared->second);
  all.erase(shared);
  return agree(*communicator, removed); // all have closed it
}

Result<ConnectedGroup::Shared> ConnectedGroup::map(void *address, size_t bytes) {
  Result<MemoryHandle> handle = exportMemory(communicator->ordinal(), address, bytes);
  if (Result<void> exported = agree(*communicator, handle ? Result<void>() : handle.error()); !exported)
    return exported.error();
  Result<std::vector<Offer>> offers = exchange(*communicator, Offer{*handle, bytes});
  if (!offers)
    return offers.error();
  for (size_t rank = 1; rank < offers->size(); ++rank)
    if ((*offers)[rank].bytes != offers->front().bytes)
      return ofRank(rank, {.message = fmt::format("expected to share {} bytes, as rank 0 does, but got {}",
                                                  offers->front().bytes, (*offers)[rank].bytes)});
  Shared shared{{{}, bytes}};
  Result<void> mapped = agree(*communicator, mapOthers(*offers, address, shared));
  if (mapped)
    return shared;
  close(shared);
  return mapped.error();
}

Result<void> ConnectedGroup::mapOthers(std::span<const Offer> offers, void *own, Shared &shared) {
  for (size_t rank = 0; rank < offers.size(); ++rank) {
    void *address = own;
    if (int64_t(rank) != communicator->rank()) {
      Result<void *> mapped = importMemory(communicator->ordinal(), offers[rank].handle);
      if (!mapped)
        return Error{mapped.error().kind, fmt::format("memory of rank {}: {}", rank, mapped.error().message)};
      address = *mapped;
      shared.mappings.push_back({offers[rank].handle, address});
    }
    shared.memory.ofRanks.push_back(address);
  }
  return {};
}

void ConnectedGroup::close(const Shared &shared) {
  for (const Mapping &mapping : shared.mappings)
    (void)closeMemory(communicator->ordinal(), mapping.handle, mapping.address);
}
