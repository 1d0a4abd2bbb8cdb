// SPDX-License-Identifier: Apache-2.0
/// \file
/// A rank says that it has come to a launch by the launch's number in the flags of all ranks, waits until all
/// have said so in its own, and sets these back to 0. The two meetings of a launch have flags of their own: a
/// rank says that it has come to the next meeting of one kind when it is past one of the other kind, to which
/// all ranks have come after they had set back theirs. So no number has to grow, and a captured launch can be
/// replayed.
#include "runtime/device/RankGroup.h"

#include "runtime/device/LaunchRanks.h"
#include "runtime/device/TensorGeometry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <thread>

using namespace tlc;

namespace {

constexpr size_t meetings = 2;
constexpr size_t launchedWord = meetings * maxRanks, cameToWord = launchedWord + 1,
                 flagWords = cameToWord + 1;
static_assert(flagWords * sizeof(uint32_t) <= RankGroup::flagBytes);

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

/// An address for each rank.
Result<void> checkAddresses(int64_t ranks, const SymmetricMemory &memory) {
  if (int64_t(memory.ofRanks.size()) != ranks)
    return invalid(
        fmt::format("expected addresses on {} ranks, but got those on {}", ranks, memory.ofRanks.size()));
  for (size_t rank = 0; rank < memory.ofRanks.size(); ++rank) {
    if (!memory.ofRanks[rank])
      return invalid(
          fmt::format("rank {}: expected the address of {} bytes, but got null", rank, memory.bytes));
    for (size_t other = 0; other < rank; ++other)
      if (memory.ofRanks[other] == memory.ofRanks[rank])
        return invalid(
            fmt::format("rank {}: expected memory of its own, but got {}, which is that of rank {}", rank,
                        fmt::ptr(memory.ofRanks[rank]), other));
  }
  return {};
}

void update(Hash128 &hash, std::string_view text) { hash.update(std::as_bytes(std::span(text))); }
void update(Hash128 &hash, std::span<const int64_t> numbers) {
  const uint64_t count = numbers.size();
  hash.update(std::as_bytes(std::span(&count, 1)));
  hash.update(std::as_bytes(numbers));
}

} // namespace

Result<void> RankGroup::checkFlags(int64_t ranks, const SymmetricMemory &memory) {
  if (memory.bytes < flagBytes)
    return invalid(
        fmt::format("expected {} bytes for the flags of a rank, but got {}", flagBytes, memory.bytes));
  if (Result<void> valid = checkAddresses(ranks, memory); !valid)
    return valid;
  for (size_t of = 0; of < memory.ofRanks.size(); ++of)
    if (reinterpret_cast<uintptr_t>(memory.ofRanks[of]) % sizeof(uint32_t) != 0)
      return invalid(fmt::format("rank {}: expected flags at a multiple of {}, but got {}", of,
                                 sizeof(uint32_t), fmt::ptr(memory.ofRanks[of])));
  return {};
}

Result<std::unique_ptr<RankGroup>> RankGroup::create(int64_t rank, int64_t ranks, SymmetricMemory memory,
                                                     std::unique_ptr<StreamFlags> flags) {
  if (Result<void> valid = checkRank(rank, ranks); !valid)
    return valid.error();
  if (Result<void> valid = checkFlags(ranks, memory); !valid)
    return valid.error();
  std::unique_ptr<RankGroup> group(new RankGroup(rank, ranks, std::move(memory), std::move(flags)));
  // They are zeros already. A GPU that cannot write them is found here, not by a launch for which others
  // wait.
  std::vector<uint32_t *> places = {group->launchedPlace(), group->cameToPlace()};
  for (Meeting meeting : {Meeting::toClear, Meeting::toLaunch})
    for (int64_t to = 0; to < ranks; ++to)
      places.push_back(group->placeOf(to, meeting, rank));
  if (Result<void> cleared = group->flags->write(0, places); !cleared)
    return ofRank(size_t(rank), cleared.error());
  return group;
}

uint32_t *RankGroup::placeOf(int64_t to, Meeting meeting, int64_t from) const {
  return static_cast<uint32_t *>(memory.ofRanks[size_t(to)]) + size_t(meeting) * maxRanks + size_t(from);
}

uint32_t *RankGroup::launchedPlace() const {
  return static_cast<uint32_t *>(memory.ofRanks[size_t(rank)]) + launchedWord;
}

uint32_t *RankGroup::cameToPlace() const {
  return static_cast<uint32_t *>(memory.ofRanks[size_t(rank)]) + cameToWord;
}

Result<void> RankGroup::checkMemory(const SymmetricMemory &given) const {
  if (failure)
    return *failure;
  if (given.bytes == 0)
    return invalid("expected at least 1 byte of memory, but got 0");
  if (Result<void> valid = checkAddresses(ranks, given); !valid)
    return valid;
  for (size_t of = 0; of < given.ofRanks.size(); ++of)
    if (const auto address = reinterpret_cast<uintptr_t>(given.ofRanks[of]);
        given.bytes > std::numeric_limits<uintptr_t>::max() - address)
      return invalid(fmt::format("rank {}: expected memory that ends in the address space, but got {} bytes "
                                 "at {}",
                                 of, given.bytes, fmt::ptr(given.ofRanks[of])));
  const auto begin = reinterpret_cast<uintptr_t>(given.ofRanks[size_t(rank)]);
  for (const auto &[number, known] : memories) {
    const auto first = reinterpret_cast<uintptr_t>(known.ofRanks[size_t(rank)]);
    if (begin < first + known.bytes && first < begin + given.bytes)
      return invalid(fmt::format("expected memory that the group does not have yet, but the {} bytes at {} "
                                 "overlap the {} bytes at {}; remove those first",
                                 given.bytes, fmt::ptr(given.ofRanks[size_t(rank)]), known.bytes,
                                 fmt::ptr(known.ofRanks[size_t(rank)])));
  }
  return {};
}

Result<void> RankGroup::add(SymmetricMemory given) {
  if (Result<void> valid = checkMemory(given); !valid)
    return valid;
  memories.push_back({added++, std::move(given)});
  return {};
}

Result<void> RankGroup::remove(const void *address) {
  if (failure)
    return *failure;
  if (std::erase_if(memories, [&](const NumberedMemory &known) {
        return known.memory.ofRanks[size_t(rank)] == address;
      }) == 0)
    return invalid(
        fmt::format("expected the address of memory that was added, but got {}", fmt::ptr(address)));
  return {};
}

std::optional<RankGroup::Place> RankGroup::find(const void *address, size_t bytes) const {
  for (const NumberedMemory &known : memories) {
    const int64_t offset =
        reinterpret_cast<intptr_t>(address) - reinterpret_cast<intptr_t>(known.memory.ofRanks[size_t(rank)]);
    if (offset >= 0 && bytes <= known.memory.bytes && size_t(offset) <= known.memory.bytes - bytes)
      return Place{&known, offset};
  }
  return {};
}

Result<void> RankGroup::complete(const Artifact &artifact, LaunchArguments &arguments) const {
  arguments.rank = rank;
  arguments.ranks = ranks;
  for (size_t i = 0; i < std::min(artifact.tensors.size(), arguments.tensors.size()); ++i) {
    TensorView &tensor = arguments.tensors[i];
    if (!artifact.tensors[i].symmetric)
      continue;
    tensor.ofRanks.assign(size_t(ranks), tensor.data);
    if (!tensor.data || isEmpty(tensor) || ranks == 1 || !checkStrides(artifact.tensors[i], tensor))
      continue; // mistakes are told with those of other arguments
    const int64_t bytes = *spanBytes(tensor);
    const std::optional<Place> place = find(tensor.data, size_t(bytes));
    if (!place)
      return invalid(fmt::format("argument '{}': expected memory that was added to the group because it is "
                                 "symmetric, but the {} bytes at {} are in none of its {} parts",
                                 artifact.tensors[i].name, bytes, fmt::ptr(tensor.data), memories.size()));
    std::ranges::transform(place->in->memory.ofRanks, tensor.ofRanks.begin(),
                           [&](void *base) { return static_cast<std::byte *>(base) + place->offset; });
  }
  return {};
}

const Hash128 &RankGroup::hashOf(const std::shared_ptr<const LoadedProgram> &program) {
  std::erase_if(programs, [](const auto &known) { return known.first.expired(); });
  auto [known, isNew] = programs.try_emplace(program);
  if (isNew) {
    Hash128 hash;
    update(hash, program->artifact().name);
    for (const Variant &variant : program->artifact().variants)
      update(hash, variant.ptx);
    hash.update(bytesOfTransfers(program->artifact()));
    known->second = hash;
  }
  return known->second;
}

uint32_t RankGroup::numberOf(const std::shared_ptr<const LoadedProgram> &program,
                             const LaunchArguments &arguments) {
  const Artifact &artifact = program->artifact();
  Hash128 hash = hashOf(program);
  update(hash, std::array{ranks});
  for (size_t i = 0; i < artifact.tensors.size(); ++i) {
    const TensorView &tensor = arguments.tensors[i];
    if (!artifact.tensors[i].symmetric)
      continue;
    update(hash, tensor.shape);
    update(hash, tensor.strides);
    if (const std::optional<Place> place = isEmpty(tensor) ? std::nullopt : find(tensor.data, 1))
      update(hash, std::array{int64_t(place->in->number), int64_t(place->in->memory.bytes), place->offset});
  }
  for (const ScalarValue &scalar : arguments.scalars) {
    const unsigned unused = 64 - bitsOf(scalar.element);
    update(hash, std::array{int64_t(scalar.element), int64_t(scalar.bits << unused)});
  }
  const uint32_t number = std::max<uint32_t>(uint32_t(hash.low ^ (hash.low >> 32)), 1);
  if (launches.size() == mostNames && !launches.contains(number))
    launches.clear();
  launches.try_emplace(number, artifact.name);
  return number;
}

Result<void> RankGroup::meet(Meeting meeting, uint32_t launch, Stream stream) {
  using Kind = FlagOperation::Kind;
  std::vector<FlagOperation> operations = {{Kind::write, cameToPlace(), launch}};
  for (int64_t to = 0; to < ranks; ++to)
    operations.push_back({Kind::write, placeOf(to, meeting, rank), launch});
  for (int64_t from = 0; from < ranks; ++from)
    operations.push_back({Kind::wait, placeOf(rank, meeting, from), launch});
  if (meeting == Meeting::toLaunch)
    operations.push_back({Kind::write, launchedPlace(), launch});
  for (int64_t from = 0; from < ranks; ++from)
    operations.push_back({Kind::write, placeOf(rank, meeting, from), 0});
  return flags->enqueue(operations, stream);
}

Result<void> RankGroup::launch(Device &device, const std::shared_ptr<const LoadedProgram> &program,
                               LaunchArguments arguments, Stream stream) {
  if (failure)
    return *failure;
  auto refuse = [&](const Error &error) { return ofRank(size_t(rank), error); };
  if (device.properties().ordinal != flags->ordinal())
    return refuse(invalid(fmt::format("expected a program of GPU {}, as the group is, but got one of GPU {}",
                                      flags->ordinal(), device.properties().ordinal)));
  const Artifact &artifact = program->artifact();
  if (Result<void> completed = complete(artifact, arguments); !completed)
    return refuse(completed.error());
  Result<std::unique_ptr<PreparedLaunch>> prepared = device.prepare(*program, arguments);
  if (!prepared)
    return refuse(prepared.error());
  Result<bool> isCaptured = flags->isCaptured(stream);
  if (!isCaptured)
    return refuse(isCaptured.error());
  auto enqueue = [&]() -> Result<void> {
    if (ranks > 1) { // one rank's launch clears its counts itself
      const uint32_t number = numberOf(program, arguments);
      if (Result<void> met = meet(Meeting::toClear, number, stream); !met)
        return met;
      if (Result<void> cleared = clearSymmetricWorkspaces({&device, program.get(), &arguments, stream});
          !cleared)
        return cleared;
      if (Result<void> met = meet(Meeting::toLaunch, number, stream); !met)
        return met;
    }
    return (*prepared)->enqueue(stream);
  };
  if (std::ranges::any_of(artifact.variants, [](const Variant &one) { return !one.reports.empty(); }))
    reporting[program] = &device;
  Result<void> enqueued = enqueue();
  if (enqueued)
    return {};
  if (*isCaptured) // nothing of it has run
    return refuse(enqueued.error());
  return fail(enqueued.error().kind, enqueued.error().message); // other ranks may wait for this one now
}

Result<void> RankGroup::synchronize(Stream stream, std::optional<std::chrono::duration<double>> limit) {
  using Clock = std::chrono::steady_clock;
  if (failure)
    return *failure;
  auto refuse = [&](const Error &error) { return ofRank(size_t(rank), error); };
  if (limit && std::isnan(limit->count()))
    return refuse(invalid("expected a limit in seconds, but got nan"));
  Result<bool> isCaptured = flags->isCaptured(stream);
  if (!isCaptured)
    return refuse(isCaptured.error());
  if (*isCaptured)
    return refuse(
        invalid("expected a stream that runs, but got one that is captured; end the capture first"));
  Clock::time_point begin = Clock::now(); // of half the limit
  for (bool isSecondHalf = false;;) {
    const Clock::time_point now = Clock::now();
    Result<bool> done = flags->isDone(stream);
    if (!done)
      return refuse(done.error());
    if (*done)
      return takeReports(stream);
    if (limit && now - begin >= *limit / 2) {
      if (isSecondHalf)
        return late(limit->count());
      isSecondHalf = true;
      begin = now;
      // What cannot be written cannot be read either, which is told then.
      (void)flags->write(0, std::array{cameToPlace()});
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

Result<void> RankGroup::takeReports(Stream stream) {
  std::erase_if(reporting, [](const auto &known) { return known.first.expired(); });
  for (const auto &[program, device] : reporting)
    if (Result<void> taken = device->synchronize(stream); !taken)
      return ofRank(size_t(rank), taken.error());
  return {};
}

Error RankGroup::late(double seconds) {
  const Explanation why = explain(seconds);
  // Read after the flags: otherwise these could be of a meeting to which the stream came in between.
  const bool isStuck = why.isStuck && !hasMoved();
  abandon(); // a kernel may wait for a rank that has come, but has ended since
  if (isStuck)
    return fail(ErrorKind::execution,
                why.text + "; the stream may wait for ever, so end the process without synchronizing");
  const std::string text =
      why.isStuck
          ? fmt::format("the stream has not ended within {:g} s, but ranks still come to launches", seconds)
          : why.text;
  return ofRank(size_t(rank), {ErrorKind::execution,
                               text + "; synchronize again, or end the process without waiting for its GPU"});
}

void RankGroup::abandon() {
  mayWaitForEver = true;
  flags->abandon();
}

Error RankGroup::fail(ErrorKind kind, std::string_view message) {
  abandon();
  failure = ofRank(size_t(rank), {kind, std::string(message)});
  return *failure;
}

std::string RankGroup::nameOf(uint32_t launch) const {
  auto known = launches.find(launch);
  return known == launches.end() ? fmt::format("{:#010x}", launch) : fmt::format("'{}'", known->second);
}

std::string RankGroup::describe(uint32_t launch) const {
  return fmt::format("{:#010x}{}", launch, launches.contains(launch) ? " of " + nameOf(launch) : "");
}

std::string RankGroup::explainMeeting(Meeting meeting, std::span<const uint32_t> come, double seconds) const {
  const uint32_t launch = come[size_t(rank)];
  if (launch == 0)
    return ""; // this rank is not there
  std::vector<std::string> sentences;
  std::vector<int64_t> missing;
  for (int64_t from = 0; from < ranks; ++from) {
    const uint32_t seen = come[size_t(from)];
    if (seen == 0)
      missing.push_back(from);
    else if (seen != launch)
      sentences.push_back(
          fmt::format("rank {} launches another program, or one with other symmetric tensors or scalars: "
                      "expected {}, but got {}",
                      from, describe(launch), describe(seen)));
  }
  if (!missing.empty()) {
    const bool isOne = missing.size() == 1;
    const std::string_view have = isOne ? "has" : "have";
    const std::string who = fmt::format("rank{} {} {}", isOne ? "" : "s", fmt::join(missing, ", "), have);
    sentences.push_back(
        meeting == Meeting::toClear
            ? fmt::format("{} not come to the launch of {} within {:g} s", who, nameOf(launch), seconds)
            : fmt::format("{} come to the launch of {}, but {} not cleared {} counts within {:g} s", who,
                          nameOf(launch), have, isOne ? "its" : "their", seconds));
  }
  return fmt::format("{}", fmt::join(sentences, "; "));
}

RankGroup::Explanation RankGroup::explain(double seconds) {
  if (ranks == 1)
    return {fmt::format("the stream has not ended within {:g} s", seconds)};
  Result<std::vector<uint32_t>> words = flags->read(placeOf(rank, Meeting::toClear, 0), flagWords);
  if (!words)
    return {fmt::format("the stream has not ended within {:g} s, and the flags cannot be read: {}", seconds,
                        words.error().message)};
  for (Meeting meeting : {Meeting::toClear, Meeting::toLaunch}) {
    const auto come = std::span<const uint32_t>(*words).subspan(size_t(meeting) * maxRanks, size_t(ranks));
    if (std::string text = explainMeeting(meeting, come, seconds); !text.empty())
      return {std::move(text), true};
  }
  const uint32_t launched = (*words)[launchedWord];
  if (launched == 0)
    return {fmt::format("what is on the stream before the first launch of the group has not ended within "
                        "{:g} s",
                        seconds)};
  return {
      fmt::format("all ranks have come to the launch of {}, but it, or what follows it on the stream, has "
                  "not ended within {:g} s",
                  nameOf(launched), seconds)};
}

bool RankGroup::hasMoved() {
  Result<std::vector<uint32_t>> word = flags->read(cameToPlace(), 1);
  return !word || word->front() != 0;
}
