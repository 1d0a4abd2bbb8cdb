// SPDX-License-Identifier: Apache-2.0
/// \file
/// Everything that is declared: arguments, grids, buffers, control flow, roles.
/// C++ `if` and `for` run while tracing; what is here runs on the device.
#pragma once

#include "compiler/dsl/Cuda.h"
#include "compiler/dsl/Ops.h"
#include "compiler/dsl/Reports.h"
#include "compiler/dsl/Transfer.h"

#include <array>
#include <span>

namespace tlc::dsl::inline v1 {

/// What is promised about a dimension; checked at launch.
struct DimensionFacts {
  int64_t multipleOf = 1;
  int64_t least = 0;
  std::optional<int64_t> most = {};
};

/// The stride of a tensor's last axis: 1, or any that the tensor has, 0 included for an input. Elements with
/// any stride are loaded and stored one by one.
enum class LastStride : uint8_t { one, any };

/// What is promised about a tensor's base address and strides; checked at launch.
struct TensorFacts {
  /// Bytes that base address and outer strides are multiples of. The program relies on that and on no more.
  /// Left out, it has a variant for multiples of 16 and one for any, if that makes a difference.
  int64_t alignment = 1;
  LastStride lastStride = LastStride::one;
};

enum class Initial : uint8_t { undefined, zero };

/// In which order a workspace keeps its elements. Positions mean the same in each.
/// - `interleaved`: for a right factor of 8-bit elements whose left factor is in registers. Each 16 elements
///   along the last axis lie in the order in which a thread holds the left factor's. Only the TMA copies such
///   a tensor; its shared tiles have the same order.
/// - `accumulator`: each 16 x 8 elements of the last two axes lie in the order in which the threads of a warp
///   hold an accumulator, so that they load, store and add four at once. Only fragments are copied from and
///   to it.
#define TLC_TENSOR_ORDERS(X) X(natural) X(interleaved) X(accumulator)
TLC_ENUM(TensorOrder, TLC_TENSOR_ORDERS)

struct WorkspaceOptions {
  Initial initial = Initial::undefined; ///< what it holds before the first launch
  TensorOrder order = TensorOrder::natural;
  int64_t alignment = 1; ///< bytes of which outer strides are multiples, up to 256: 16 for the TMA
};

/// What a tensor is to the program. An output need not hold anything before, an input is only read, a
/// workspace is scratch memory of the caller.
#define TLC_TENSOR_USES(X) X(input) X(output) X(inout) X(workspace)
TLC_ENUM(TensorUse, TLC_TENSOR_USES)

struct SymmetricOptions {
  TensorUse use = TensorUse::inout;     ///< by this rank or any other
  Initial initial = Initial::undefined; ///< of a workspace: what it holds before any rank's first launch
  int64_t alignment = 1;                ///< as of `TensorFacts`, or of `WorkspaceOptions`
};

/// What is said of all tensors of a table of addresses. The launcher cannot check it.
struct MemberFacts {
  int64_t axes = 2;
  TensorUse use = TensorUse::input; ///< not a workspace
  /// Bytes that addresses and outer strides are multiples of; left out: those of an element.
  int64_t alignment = 0;
};

/// Which neighbouring tiles the blocks of a cluster take: rows of one column, or columns of one row.
enum class ClusterAxis : uint8_t { rows, columns };

/// How blocks come to their tiles.
enum class TileScheduling : uint8_t {
  fixed,   ///< each computes every n-th tile, where n blocks run (static tile scheduling)
  dynamic, ///< a block that has computed its tile takes the next one that no block has started: cluster
           ///< launch control, from sm_100 on
};

struct PersistentOptions {
  int64_t group = 8; ///< rows of tiles that are walked together, for the L2 cache
  ClusterAxis cluster = ClusterAxis::rows;
  TileScheduling scheduling = TileScheduling::fixed;
};

struct PipelineOptions {
  int64_t stages = 2; ///< iterations whose copies are in flight at once
};

/// Of a buffer in shared or tensor memory.
struct SharedOptions {
  int64_t slots = 0; ///< 0: one tile, without slots
};

struct ChannelOptions {
  int64_t slots = 2;
  bool multicast = false; ///< the blocks of the cluster fill their slots together: each brings a share to all
};

struct RoleOptions {
  int64_t warps = 4;
  std::optional<int64_t> registers = {}; ///< per thread; the compiler's choice if left out
};

/// What must not be missed silently: a remark about it becomes an error.
#define TLC_REQUIREMENTS(X) X(tma) X(wgmma) X(warpSpecialized) X(tcgen05)
TLC_ENUM(Requirement, TLC_REQUIREMENTS)

/// from, from + step, ... below to.
struct Range {
  Index from = 0, to = 0, step = 1;

  Range(Index count) : to(std::move(count)) {}
  template <Integer T> Range(T count) : to(count) {}
  Range(Index from, Index to, Index step = 1)
      : from(std::move(from)), to(std::move(to)), step(std::move(step)) {}
};

using Body = std::function<void()>;
using LoopBody = std::function<void(Index)>;
/// Gives whether the loop goes on.
using LoopWhileBody = std::function<Predicate(Index)>;

class Scope {
public:
  explicit Scope(std::shared_ptr<Trace> trace) : trace(std::move(trace)) {}

  // Arguments, in this order in the schema. Extents are dimensions or constants.
  Index dim(std::string_view name, DimensionFacts facts = {}, Loc loc = Loc::current());
  Global input(std::string_view name, ElementType element, const std::vector<Index> &shape,
               TensorFacts facts = {}, Loc loc = Loc::current());
  Global output(std::string_view name, ElementType element, const std::vector<Index> &shape,
                TensorFacts facts = {}, Loc loc = Loc::current());
  Global inout(std::string_view name, ElementType element, const std::vector<Index> &shape,
               TensorFacts facts = {}, Loc loc = Loc::current());
  /// Scratch memory that the caller provides; contiguous, except for the padding of rows that an alignment
  /// asks for.
  Global workspace(std::string_view name, ElementType element, const std::vector<Index> &shape,
                   WorkspaceOptions options = {}, Loc loc = Loc::current());
  /// A tensor of which every rank has its own, of the same shape, and reaches those of all.
  Symmetric symmetric(std::string_view name, ElementType element, const std::vector<Index> &shape,
                      SymmetricOptions options = {}, Loc loc = Loc::current());
  /// A tensor of `count` addresses in i64, each of a tensor of `element`.
  Addresses addresses(std::string_view name, ElementType element, const Index &count, MemberFacts facts = {},
                      Loc loc = Loc::current());
  Scalar scalar(std::string_view name, ElementType element, Loc loc = Loc::current());
  // A program may be launched on several devices at once, the ranks, with arguments of their own. These are
  // dimensions that the launcher knows: extents and grids may depend on them.
  /// The number of the rank that executes this, from 0.
  Index rank(Loc loc = Loc::current());
  /// How many ranks there are, 1 to `maxRanks`.
  Index ranks(Loc loc = Loc::current());

  // The launch.
  /// A program of several launches consists of these alone, in stream order.
  void launch(std::string_view name, const Body &body, Loc loc = Loc::current());
  /// Copies by the device's copy engines, between launches. It begins when the launches before it have ended.
  /// Launches after it begin when it has ended, but for those that directly follow it, up to the last one
  /// that waits for the count that it sets (`waitFor`): they run beside it, if each of them waits for that
  /// count or uses none of its tensors. The body says what one of the `rounds` does. It takes the number of
  /// the round, from 0, and holds nothing but calls of the `Transfer`. The host computes all numbers in it.
  void transfer(std::string_view name, const Index &rounds, const TransferBody &body,
                Loc loc = Loc::current());
  /// The number of blocks, one if it is left out; gives this block's position.
  std::array<Index, 1> grid(const Index &x, Loc loc = Loc::current());
  std::array<Index, 2> grid(const Index &x, const Index &y, Loc loc = Loc::current());
  std::array<Index, 3> grid(const Index &x, const Index &y, const Index &z, Loc loc = Loc::current());
  /// Runs the body for every tile of a space of `extents`, by `residents` blocks for each of the device's
  /// multiprocessors, or fewer tiles. The body takes one position per extent.
  template <size_t axes, class F>
  void persistent(const Index (&extents)[axes], PersistentOptions options, F &&body,
                  Loc loc = Loc::current()) {
    static_assert(axes >= 1 && axes <= 3, "a persistent loop has one to three extents");
    auto call = [&](std::span<const Index> at) {
      if constexpr (axes == 1) {
        body(at[0]);
      } else if constexpr (axes == 2) {
        body(at[0], at[1]);
      } else {
        body(at[0], at[1], at[2]);
      }
    };
    persistentTiles(extents, options, call, loc);
  }
  /// Warps of the block. Left out, the compiler chooses.
  void warps(int64_t count, Loc loc = Loc::current());
  /// Blocks per cluster. They reach each other's shared tiles: see `Shared::of`.
  void cluster(int64_t blocks, Loc loc = Loc::current());
  /// Blocks that a multiprocessor has room for at once: each has at most that share of registers and shared
  /// memory.
  void residents(int64_t blocks, Loc loc = Loc::current());
  /// Asks for a role that loads ahead in pipelined loops by the TMA, if the compiler makes the roles,
  /// whatever they compute. Left out, there is one only ahead of products that are asynchronous (wgmma,
  /// tcgen05).
  void loadRole(Loc loc = Loc::current());
  /// Asks for a role that stores the tiles of a loop, if the compiler makes the roles: the warps that compute
  /// put a tile into shared memory and go on. Left out, they store it themselves.
  void storeRole(Loc loc = Loc::current());
  /// This block's number in its cluster.
  Index blockRank(Loc loc = Loc::current());
  /// Blocks of the launch along the first axis of the grid.
  Index blocks(Loc loc = Loc::current());
  /// Multiprocessors of the device, for the extents of a grid only.
  Index multiprocessors(Loc loc = Loc::current());
  void require(Requirement requirement, Loc loc = Loc::current());

  // Tiles.
  Shared shared(std::string_view name, ElementType element, const TileExtents &shape,
                SharedOptions options = {}, Loc loc = Loc::current());
  /// A tile of 128 rows in tensor memory, where the target has it; what it holds first is undefined.
  TensorMemory tensorMemory(std::string_view name, ElementType element, const TileExtents &shape,
                            SharedOptions options = {}, Loc loc = Loc::current());
  Fragment fragment(ElementType element, const TileExtents &shape, const Scalar &initial = 0,
                    Loc loc = Loc::current());
  /// Each element's own position along an axis, as i32. Negative axes count from the last.
  FragmentValue positions(const TileExtents &shape, int64_t axis, Loc loc = Loc::current());

  /// A function in CUDA C++ for fragments: `source` defines `name`, with helpers and constants beside it if
  /// need be. It computes: printf, memory that a block shares and calls that are not inlined are refused.
  CudaFunction cuda(std::string_view name, std::string_view source, CudaOptions options = {},
                    Loc loc = Loc::current());
  /// The same from a file, which is read here.
  CudaFunction cudaFile(std::string_view name, std::string_view path, CudaOptions options = {},
                        Loc loc = Loc::current());

  // Control flow.
  void loop(const Range &range, const LoopBody &body, Loc loc = Loc::current());
  /// A loop that goes on while the condition that its body returns holds, at most to the end of the range.
  /// The condition is the same for all threads of the block or role. It may use what the body computes;
  /// elements of fragments reach it through a shared tile (`tile.read`).
  void loopWhile(const Range &range, const LoopWhileBody &body, Loc loc = Loc::current());
  /// A loop whose copies run ahead of its computation.
  void pipelined(const Range &range, PipelineOptions options, const LoopBody &body, Loc loc = Loc::current());
  void when(const Predicate &condition, const Body &then, const Body &otherwise = {},
            Loc loc = Loc::current());

  /// A warp runs the body if the condition holds for any element that the warp holds. The body is arithmetic,
  /// and must be correct for the warp's other elements, too.
  void whenAny(const Predicate &condition, const Body &body, Loc loc = Loc::current());

  /// Roles: the warps part, each group runs its own program. The body holds nothing but calls of `role`.
  void roles(const Body &body, Loc loc = Loc::current());
  /// Outside of `roles`: the part of the program that this role executes. The compiler makes the others.
  void role(std::string_view name, RoleOptions options, const Body &body, Loc loc = Loc::current());
  Channel channel(std::string_view name, ChannelOptions options = {}, Loc loc = Loc::current());
  /// Hands the slots of another channel over once more: a role that holds one puts into its oldest, and who
  /// gets it may release it to that channel.
  Channel channel(std::string_view name, const Channel &of, Loc loc = Loc::current());
  /// Removed.
  template <class T = void> Channel ring(std::string_view, ChannelOptions = {}) {
    static_assert(detail::never<T>,
                  "k.ring is now k.channel, whose put, get and release count slots, bytes and "
                  "arrivals themselves: docs/migrating.md has the pairs");
    return {};
  }
  /// `count` threads arrive per phase.
  Barrier barrier(std::string_view name, int64_t count, Loc loc = Loc::current());
  NamedBarrier namedBarrier(int64_t warps, Loc loc = Loc::current());
  /// The warpgroups of the role run the body one after the other, always in the same order: products that one
  /// starts in it run while the others compute. It orders no accesses to memory.
  void inTurn(const Body &body, Loc loc = Loc::current());

  // Prints and checks. The launcher shows them, with the line, the block and the thread, when it
  // synchronises; compiled with `--disable reports` the kernel is without them.
  /// Prints the text with a value in place of each "{}", of which there are at most 8. Without fragments and
  /// shared tiles one thread of the block, or role, prints once; with them, which have the same extents, each
  /// element whose position along every axis is below 8 is printed by itself, with its position.
  template <class... Values> void print(At<std::string_view> text, const Values &...values) {
    detail::requireReportValues<Values...>();
    report({}, text.value, {ReportValue(values)...}, text.loc);
  }
  /// Reports that the condition does not hold. The kernel goes on, and the launch fails when the launcher
  /// synchronises. A condition with one truth value per element is checked for each, and each thread reports
  /// the first of its elements that fails, with its position. Values as of `print`, but no shared tiles; of
  /// fragments those of that element are shown.
  template <class... Values>
  void check(At<Predicate> condition, std::string_view text, const Values &...values) {
    detail::requireReportValues<Values...>();
    report(condition.value, text, {ReportValue(values)...}, condition.loc);
  }

private:
  void report(const std::optional<Predicate> &condition, std::string_view text,
              const std::vector<ReportValue> &values, Loc loc);
  void persistentTiles(std::span<const Index> extents, PersistentOptions options,
                       const std::function<void(std::span<const Index>)> &body, Loc loc);
  std::shared_ptr<Trace> trace;
};

} // namespace tlc::dsl::inline v1
