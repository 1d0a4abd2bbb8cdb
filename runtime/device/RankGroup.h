// SPDX-License-Identifier: Apache-2.0
/// \file
/// One program on several ranks, of which this process launches one.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/support/Hash.h"
#include "runtime/target/Hardware.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tlc {

/// What a stream does with a number of 32 bits in memory.
struct FlagOperation {
  enum class Kind { write, wait };
  Kind kind = Kind::write;
  uint32_t *address = nullptr;
  uint32_t value = 0; ///< to write, or to wait for

  bool operator==(const FlagOperation &) const = default;
};

/// Numbers in the memory of GPUs, also those of other processes, that streams of one GPU write and wait for.
class StreamFlags {
public:
  virtual ~StreamFlags() = default;

  /// Of the GPU, as `DeviceProperties` has it.
  virtual int ordinal() const = 0;
  /// Enqueues the operations in this order; those in a row that are of one kind and at different addresses
  /// may be done in any order. What the stream did before a write is visible where it is seen. Can be
  /// captured in a CUDA graph.
  virtual Result<void> enqueue(std::span<const FlagOperation> operations, Stream stream) = 0;
  /// Writes one number to all these places, and returns when that is done; streams and kernels that wait do
  /// not keep it.
  virtual Result<void> write(uint32_t value, std::span<uint32_t *const> places) = 0;
  /// Whether the stream is captured: then what is enqueued becomes part of a graph.
  virtual Result<bool> isCaptured(Stream stream) = 0;
  /// Whether the stream, which is not captured, has done all that is enqueued.
  virtual Result<bool> isDone(Stream stream) = 0;
  /// So many numbers from that address on, while streams wait.
  virtual Result<std::vector<uint32_t>> read(const uint32_t *address, size_t count) = 0;
  /// Streams may wait for ever from now on. So the destructor frees nothing for which the driver would wait.
  virtual void abandon() = 0;
};

/// Memory that every rank has: its address on each one, as this process reaches it.
struct SymmetricMemory {
  std::vector<void *> ofRanks = {};
  size_t bytes = 0; ///< on each
};

/// This process's rank of several. The other ranks are other processes of this machine, or other groups of
/// this one. All ranks launch the same programs in the same order. Launches of a group run one after the
/// other: the caller orders those on several streams. One thread at a time calls it.
class RankGroup {
public:
  /// Of the flags of a rank.
  static constexpr size_t flagBytes = 128;
  static constexpr std::chrono::duration<double> usualLimit = std::chrono::seconds(10);

  /// What is wrong with these flags.
  static Result<void> checkFlags(int64_t ranks, const SymmetricMemory &memory);

  /// `memory` is used for nothing else as long as a rank has its group. Each rank writes zeros to its own,
  /// and synchronizes, before it gives the address to the others: an old number would let a rank pass a
  /// meeting. So before ranks make groups on the same memory again, all release theirs, and wait for each
  /// other on the host.
  static Result<std::unique_ptr<RankGroup>> create(int64_t rank, int64_t ranks, SymmetricMemory memory,
                                                   std::unique_ptr<StreamFlags> flags);

  /// What is wrong with adding this memory.
  Result<void> checkMemory(const SymmetricMemory &given) const;
  /// From now on symmetric tensors may be in this memory. All ranks add theirs in the same order, of the same
  /// size. Remove it before it is freed on any rank.
  Result<void> add(SymmetricMemory memory);
  /// `address` is this rank's.
  Result<void> remove(const void *address);

  /// Enqueues this rank's launch. Symmetric tensors are given by
  /// this rank's address, the group knows those of the other ranks. Checks the arguments of this rank. Then
  /// the stream waits for the other ranks, clears symmetric workspaces that begin as zeros, and waits for the
  /// others again. Ranks whose program, number of ranks, scalars, or shapes, strides or places of symmetric
  /// tensors differ wait for ever: `synchronize` says so. The host does not wait, unless the driver's queue
  /// is full. Can be captured in a CUDA graph. After an error in the middle of a launch the group refuses all
  /// calls; if the stream is captured, the graph has a part of the launch and is not to be run, and the group
  /// goes on. The device lives as long as the program, and the group until the stream and graphs are done
  /// with its launches.
  Result<void> launch(Device &device, const std::shared_ptr<const LoadedProgram> &program,
                      LaunchArguments arguments, Stream stream = {});

  /// Waits for the stream, and after launches of programs that print or check, for all streams of the GPU,
  /// as `Device::synchronize` does: then what was printed is shown, and a check that failed is an `execution`
  /// error, after which the group goes on. After the limit, an `execution` error says which rank has not
  /// come, or which one launches something else, if the stream has waited for it for half of the limit; then
  /// this group refuses all calls with the same error, and the process should end without waiting for its
  /// GPU, whose stream may wait for ever. Where ranks come, but it takes longer, the error says that, and
  /// this can be called again.
  Result<void> synchronize(Stream stream = {},
                           std::optional<std::chrono::duration<double>> limit = usualLimit);

  /// The error that has ended the group, if one has.
  Result<void> check() const { return failure ? Result<void>(*failure) : Result<void>(); }
  /// Whether streams may wait for ever. Then nothing is to be freed for which the driver would wait.
  bool isAbandoned() const { return mayWaitForEver; }

private:
  /// Ranks meet twice in each launch: before a rank clears its counts, and before it uses those of others.
  enum class Meeting { toClear, toLaunch };
  /// Memory at the same place in the order of `add` is the same on all ranks.
  struct NumberedMemory {
    uint64_t number = 0;
    SymmetricMemory memory;
  };

  RankGroup(int64_t rank, int64_t ranks, SymmetricMemory memory, std::unique_ptr<StreamFlags> flags)
      : rank(rank), ranks(ranks), memory(std::move(memory)), flags(std::move(flags)) {}

  /// Where rank `from` says to rank `to` that it has come.
  uint32_t *placeOf(int64_t to, Meeting meeting, int64_t from) const;
  /// Which launch this rank is at.
  uint32_t *launchedPlace() const;
  /// Which launch the stream has come to since the host last wrote 0 there.
  uint32_t *cameToPlace() const;
  Result<void> meet(Meeting meeting, uint32_t launch, Stream stream);

  /// A place in memory that was added, the same on all ranks.
  struct Place {
    const NumberedMemory *in = nullptr;
    int64_t offset = 0;
  };
  /// That of so many bytes of this rank, nothing if they are not in one memory.
  std::optional<Place> find(const void *address, size_t bytes) const;
  /// Fills in the addresses of symmetric tensors.
  Result<void> complete(const Artifact &artifact, LaunchArguments &arguments) const;
  const Hash128 &hashOf(const std::shared_ptr<const LoadedProgram> &program);
  /// What programs have reported, of a stream that is done.
  Result<void> takeReports(Stream stream);
  /// A number of what ranks must agree about; not 0.
  uint32_t numberOf(const std::shared_ptr<const LoadedProgram> &program, const LaunchArguments &arguments);

  struct Explanation {
    std::string text;
    bool isStuck = false; ///< a rank is missing, or launches something else
  };
  void abandon();
  Error fail(ErrorKind kind, std::string_view message);
  /// That the stream has not ended within a limit.
  Error late(double seconds);
  /// Why the stream has not ended.
  Explanation explain(double seconds);
  /// Whether the stream has come to a meeting since the host wrote 0 to `cameToPlace`.
  bool hasMoved();
  std::string explainMeeting(Meeting meeting, std::span<const uint32_t> come, double seconds) const;
  /// Its number where the name is not known.
  std::string nameOf(uint32_t launch) const;
  /// Its number, and its name where that is known.
  std::string describe(uint32_t launch) const;

  static constexpr size_t mostNames = 10'000;

  const int64_t rank, ranks;
  const SymmetricMemory memory; ///< of the flags
  const std::unique_ptr<StreamFlags> flags;
  std::vector<NumberedMemory> memories;
  uint64_t added = 0;
  template <class Value>
  using OfPrograms = std::map<std::weak_ptr<const LoadedProgram>, Value, std::owner_less<>>;
  OfPrograms<Hash128> programs;
  OfPrograms<Device *> reporting;           ///< programs that print or check, on which device
  std::map<uint32_t, std::string> launches; ///< names of programs, at most `mostNames`
  std::optional<Error> failure;
  bool mayWaitForEver = false;
};

} // namespace tlc
