// SPDX-License-Identifier: Apache-2.0
/// \file
/// Asynchronous operations. They wait in one queue per cluster; the cluster's
/// schedule says when each completes.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace tlc::emulator {

struct Block;
struct Cluster;
struct Instruction;
struct Warp;

/// Each has groups of its own: cp.async, cp.async.bulk, tcgen05.st.
enum class AsyncEngine : uint8_t { copy, bulk, tensorStore };
inline constexpr unsigned asyncEngines = 3;

/// What an observer notes of an operation. Only the observer looks into it.
struct OperationNote {
  virtual ~OperationNote() = default;
};

/// What an operation asks of the hardware, for schedules that keep time.
struct AsyncWork {
  enum class Unit : uint8_t {
    none,        ///< takes no time of its own
    load,        ///< into shared memory
    store,       ///< out of shared memory
    remote,      ///< to another block's shared memory
    tensorCores, ///< a matrix product
  };
  Unit unit = Unit::none;
  uint32_t bytes = 0;         ///< that move; of a product, operands in shared memory
  uint64_t multiplyAdds = 0;  ///< of a product
  unsigned operandBits = 0;   ///< of an element of a product's operands
  uint32_t blocks = 0;        ///< ranks that a load goes to; 0: the block that issued it
  uint64_t globalAddress = 0; ///< for names, where there is one
  uint32_t sharedAddress = 0;
};

/// An operation under way. Complete once `run` has returned true.
struct AsyncOperation {
  Warp *warp = nullptr;
  const Instruction *instruction = nullptr;
  std::function<bool()> run;           ///< false after a fault
  std::function<bool()> ready;         ///< empty: always
  std::shared_ptr<OperationNote> note; ///< of the launch's observer; null when there is none
  AsyncWork work;
  bool done = false;
};

class AsyncQueue {
public:
  void push(std::shared_ptr<AsyncOperation> operation) { operations.push_back(std::move(operation)); }
  size_t size() const { return operations.size(); }
  /// Oldest first.
  const std::shared_ptr<AsyncOperation> &at(size_t i) const { return operations[i]; }
  bool isReady(size_t i) const { return !operations[i]->ready || operations[i]->ready(); }
  /// The oldest that is ready, or `size()`.
  size_t oldestReady() const;
  /// Completes an operation that is ready and takes it out; false after a fault.
  bool complete(size_t i);

private:
  std::deque<std::shared_ptr<AsyncOperation>> operations;
};

/// The groups of one engine in a warp. Lanes commit and wait on their own.
struct AsyncGroups {
  struct Member {
    std::shared_ptr<AsyncOperation> operation;
    uint32_t lanes = 0;
    std::array<uint32_t, 32> group = {}; ///< per lane
  };
  std::vector<Member> members;
  std::array<uint32_t, 32> committed = {}; ///< groups that the lane has closed

  void add(std::shared_ptr<AsyncOperation> operation, uint32_t lanes);
  void commit(uint32_t lanes);
  /// Each of the lanes has at most `pending` groups not complete.
  bool atMost(uint32_t lanes, uint64_t pending);
  /// All operations of the lanes, committed or not, are complete.
  bool idle(uint32_t lanes);
};

/// wgmma of four warps: an operation starts when all four have issued it.
struct WgmmaIssue {
  const Instruction *instruction = nullptr;
  uint32_t issued = 0; ///< bit per warp
  uint64_t descriptorA = 0, descriptorB = 0;
  bool accumulate = false;
  std::shared_ptr<OperationNote> note; ///< of the launch's observer
};
struct Warpgroup {
  std::deque<WgmmaIssue> pending;
  uint64_t completed = 0; ///< operations; `pending.front()` is number `completed`
  std::array<uint64_t, 4> issued = {};
  std::array<std::vector<uint64_t>, 4> commits; ///< number of operations issued at each commit
};

/// The mma, cp, shift and commit of a block, or of a pair of blocks (in the
/// even one's), complete in the order in which they were issued.
struct TensorPipe {
  uint64_t issued = 0, completed = 0;
  /// What the collector buffers hold: A's, and the four of B of .ws.
  std::array<std::optional<uint64_t>, 5> collectors;
};

} // namespace tlc::emulator
