// SPDX-License-Identifier: Apache-2.0
/// \file
/// The lowering of one tile kernel: who executes, what the tile values have become,
/// what the kernel needs at launch. The operations are lowered by functions in a table,
/// which each file of lowerings fills.
///
/// A tile kernel is structured (`scf.for`, `scf.if`, roles), so that one walk emits
/// the per-thread program beside it; nothing is rewritten in place.
#pragma once

#include "compiler/lowering/TileToSimt/Emitter.h"
#include "dialects/layout/Layout.h"
#include "dialects/layout/SharedLayout.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Tile.h"
#include "runtime/artifact/TensorWindow.h"
#include "runtime/target/Target.h"

#include <deque>
#include <functional>
#include <memory>

namespace tlc::lowering {

using mlir::Attribute;
using mlir::LogicalResult;
using mlir::Operation;
using mlir::Type;
using mlir::Value;

/// Who executes the code at hand: the warps of a role, or of the block.
struct Team {
  enum class Threads {
    all,
    one, ///< a role that only issues asynchronous operations: a thread of its first warp
  };
  Threads threads = Threads::all;
  int64_t firstWarp = 0, warps = 0;
  bool isBlock = true;
  Value thread, lane, warp; ///< i32; thread and warp count from the team's first
  std::string name;         ///< for messages: role "math", kernel "gemm"
  std::string role;         ///< its name; empty outside roles

  bool hasWarpgroups() const { return firstWarp % warpsPerWarpgroup == 0 && warps % warpsPerWarpgroup == 0; }
};

/// A tile in shared memory, or a buffer with slots. One of packed elements is a tile of their bytes, as a
/// tensor and its slices are (PackedElements.h).
struct SharedTile {
  Value base;
  Shape shape; ///< as the tile operation sees it, so of a transposed view with the last two axes exchanged
  SharedLayout
      layout; ///< of one slot, where the buffer has slots; of all rows, where the tile is some of them
  Type element;
  bool transposed = false;

  int rank() const { return int(shape.size()); }
  int64_t elementBytes() const { return layout.elementBits() / 8; }
  /// The layout's axis of an axis of the tile.
  int layoutAxis(int axis) const;
  Coordinates layoutCoordinates(llvm::ArrayRef<int64_t> coordinates) const;
  /// The tile's axis that runs along consecutive bytes.
  int contiguousAxis() const { return layoutAxis(layout.contiguousAxis()); }
};

/// Bytes from one slot of a buffer to the next.
int64_t slotPitch(const SharedLayout &layout);

/// The tensor that a window moves over: see tile.windows.
struct WindowedSource {
  program::WindowAttr attr;
  TensorWindow window;
  llvm::SmallVector<Value> extents; ///< i32, without that of the channels
  llvm::SmallVector<Value> counts;  ///< of positions along each inner axis, i32, without a sign, at least 1
};

struct GlobalTensor {
  program::TensorAttr argument;
  int64_t number = 0; ///< among the schema's tensors
  Type element;
  Value pointer;                        ///< of a symmetric tensor: to the table of all ranks' pointers
  llvm::SmallVector<Value> strides;     ///< i64, elements; that of the last axis is 1 unless it is `strided`
  llvm::SmallVector<Value> extents;     ///< i32
  llvm::SmallVector<int64_t> multiples; ///< known divisor of each extent
  int64_t packing = 1;                  ///< elements of the program that are one here
  /// Of windows, whose extents are their own and whose strides are the source's.
  std::optional<WindowedSource> source = {};
};

struct Slice {
  const GlobalTensor *tensor = nullptr;
  Value pointer; ///< to the tensor, of a symmetric one to the rank's, or to all by multicast
  Value rank;    ///< i32: whose tensor it is, or null
  llvm::SmallVector<Value> origin; ///< i32; along a limited axis, and of windows, from 0 to the extent
  llvm::SmallVector<Value> ends;   ///< i32: elements from there on are outside; the extents, or the limit
  Shape shape;                     ///< its own axes
  llvm::SmallVector<int> boxAxes;  ///< by axis of the tensor, the slice's own; -1 for gathered ones
  Value fill;                      ///< or null: 0
  int limitedAxis = -1;            ///< or -1
  llvm::SmallVector<Value> indices = {}; ///< i32, by register: added to the origin along each gathered axis
  tile::SliceOp op;

  /// Whether every rank has such a tensor: others access it, too.
  bool isSymmetric() const { return tile::SliceOp(op).isSymmetric(); }
  bool isOfAll() const { return tile::SliceOp(op).getOfAll(); }
  bool isGuarded(int axis) const;
  /// The extent of the box along an axis of the tensor, no gathered one.
  int64_t extentAlong(size_t axis) const { return shape[size_t(boxAxes[axis])]; }
  /// A known divisor of the origin along the last axis.
  int64_t originMultiple() const;
  /// A known divisor of the end along the axis.
  int64_t endMultiple(int axis) const;
  llvm::SmallVector<int> tileAxes(llvm::ArrayRef<int64_t> tileShape) const;
};

/// By axis of what a slice is of, the axis of a tile that runs along it; -1 where the slice's extent is 1 and
/// for gathered axes. `boxAxes` are as of `Slice`.
llvm::SmallVector<int> tileAxesOf(llvm::ArrayRef<int64_t> sliceShape, llvm::ArrayRef<int> boxAxes,
                                  llvm::ArrayRef<int64_t> tileShape);

struct Cursor {
  Value slot, phase; ///< i32
};

struct Ring {
  Value base;
  int64_t slots = 1;
  bool multicast = false; ///< all blocks of the cluster fill and empty it together
};

class KernelLowering {
public:
  explicit KernelLowering(tile::KernelOp source);
  /// Emits the kernel; after a failure, with a diagnostic, it is incomplete.
  LogicalResult run();
  simt::KernelOp result() const { return kernel; }

  tile::KernelOp source;

private:
  simt::KernelOp kernel;

public:
  Emitter b;
  Team team;
  const Target &target;
  bool accessesOtherBlocks;            ///< of the cluster: their shared tiles
  std::optional<int64_t> waitLimit;    ///< nanoseconds that waits on mbarriers may last
  Value sharedBase, thread, warpIndex; ///< of the block
  /// What the team's accesses say to L2, by the hint; see `makePolicies`.
  llvm::DenseMap<Attribute, Value> policies;
  /// The columns of tensor memory that the block has reserved: their address, or null, and their number.
  Value tensorMemory;
  int64_t tensorMemoryColumns = 0;

  // What tile values have become.
  Type typeOf(Type type);
  mlir::VectorType registersOf(mlir::RankedTensorType type);
  static const FragmentLayout &layoutOf(Type fragment);
  Value value(Value tile) const { return values.lookup(tile); }
  llvm::SmallVector<Value> valuesOf(mlir::ValueRange tiles) const {
    return llvm::map_to_vector(tiles, [&](Value tile) { return value(tile); });
  }
  Cursor cursor(Value tile) const { return cursors.lookup(tile); }
  const SharedTile &shared(Value tile) const { return tiles.find(tile)->second; }
  const Slice &slice(Value tile) const { return slices.find(tile)->second; }
  Ring ring(Value tile) const { return rings.lookup(tile); }
  const GlobalTensor &tensor(Value tile) const { return tensors[tensorNumbers.lookup(tile)]; }
  void set(Value tile, Value lowered) { values[tile] = lowered; }
  void set(Value tile, Cursor lowered) { cursors[tile] = lowered; }
  void set(Value tile, SharedTile lowered) { tiles[tile] = std::move(lowered); }
  void set(Value tile, Slice lowered) { slices[tile] = std::move(lowered); }
  void set(Value tile, Ring lowered) { rings[tile] = lowered; }
  void set(Value tile, GlobalTensor lowered) {
    tensorNumbers[tile] = unsigned(tensors.size());
    tensors.push_back(std::move(lowered));
  }
  /// A value that only the host has: fine as long as only the grid's extents depend on it.
  void setHostOnly(Value tile) { hostOnly.insert(tile); }

  /// Values in the form that loops and branches carry: a cursor is two.
  static bool isCarried(Type type);
  void flatten(mlir::ValueRange tiles, llvm::SmallVectorImpl<Value> &flat) const;
  void unflatten(mlir::ValueRange tiles, mlir::ValueRange flat);

  // To the end of the current block, values that follow from the dimensions, or from the warp's number, are
  // rematerialised instead of kept in registers. (Machine code does so with lanes by itself.)
  void rematerialiseDimensions();
  void rematerialiseWarp();

  /// Lowers the operations of a block, its terminator excluded.
  LogicalResult lowerBlock(mlir::Block &block);
  LogicalResult lower(Operation &op);

  /// Makes the policies of all hints: once where the code of a role, or of the kernel, begins. Those that it
  /// does not use are removed in the end.
  void makePolicies();
  /// That of the slice's hint; null: it has none.
  Value policyOf(const Slice &slice) const {
    return policies.lookup(tile::SliceOp(slice.op).getEvictionAttr());
  }

  // Resources of the kernel.
  void setGrid(llvm::ArrayRef<Attribute> extents) { grid.assign(extents.begin(), extents.end()); }
  /// The address of a tensor map, a parameter or one of those of all ranks; equal recipes share one.
  Value tensorMap(const Slice &slice, llvm::ArrayRef<int64_t> box, Swizzle swizzle, int64_t before = 0);
  /// The address by which multimem instructions reach the tensor on all ranks, a parameter.
  Value multicastPointer(const GlobalTensor &tensor);
  /// An mbarrier that is initialised at entry.
  void initBarrier(int64_t offset, int64_t count);
  Value sharedAt(int64_t offset) { return b.offset(sharedBase, offset); }

  // Who does it.
  /// Emits `body` for one thread of the team, always the same one.
  void byOneThread(mlir::function_ref<void()> body);
  /// The number in its warpgroup (in the team, if that is smaller) of a thread.
  Value threadOfGroup();
  /// All threads of the team, or of each of its warpgroups, meet.
  LogicalResult syncTeam();
  LogicalResult syncWarpgroup();
  /// At the beginning of a role whose warpgroups take turns: the first one's begins.
  LogicalResult beginTurns();
  void takeTurn();
  void passTurn();
  /// The threads that issue stores of fragments by TMA wait until they are in memory.
  void awaitStores();
  /// At the end of the block's work, if it has reserved any.
  void freeTensorMemory();

private:
  LogicalResult checkLayouts();
  LogicalResult checkTypes(Operation &op);
  /// Named barriers nobody else uses; nothing, with a diagnostic, when they are used up.
  std::optional<int64_t> takeBarriers(int64_t count);
  void addArguments();
  /// Where the entry of the slice's rank is in a parameter that has one for each.
  Value entryOfRank(Value table, const Slice &slice, int64_t bytes);
  Value addParameter(Type type, program::ParameterKind kind, int64_t index, int64_t axis = 0);
  /// The one that there is, or null.
  Value findParameter(program::ParameterKind kind, int64_t index);
  void emitPrologue();
  LogicalResult finish();

  Operation *prologue = nullptr; ///< barriers are initialised after it
  llvm::DenseMap<Value, Value> values;
  llvm::DenseMap<Value, Cursor> cursors;
  llvm::DenseMap<Value, SharedTile> tiles;
  llvm::DenseMap<Value, Slice> slices;
  llvm::DenseMap<Value, Ring> rings;
  llvm::DenseMap<Value, unsigned> tensorNumbers;
  llvm::DenseSet<Value> hostOnly;
  std::deque<GlobalTensor> tensors; ///< arguments, then members of tables; slices refer to them
  llvm::SmallVector<Attribute> grid, schema, maps;
  llvm::SmallVector<Attribute> parameters; ///< of the kernel's arguments
  struct BarrierInit {
    int64_t offset, count;
  };
  llvm::SmallVector<BarrierInit> barrierInits;
  uint32_t usedBarriers = 1;                                         ///< a bit each; 0 is the block's
  llvm::DenseMap<std::pair<int64_t, int64_t>, int64_t> teamBarriers; ///< by first warp and warps
  llvm::DenseMap<int64_t, int64_t> warpgroupBarriers;                ///< by first warp
  int64_t turnBarriers = 0; ///< the team's: one for each warpgroup, at which it waits for the one before
};

/// How operations are lowered: each file of lowerings adds its own.
class LoweringTable {
public:
  using Lowering = std::function<LogicalResult(KernelLowering &, Operation &)>;

  /// All files' lowerings.
  static const LoweringTable &all();

  template <class Op> void add(LogicalResult (*lower)(KernelLowering &, Op)) {
    ofOperations[mlir::TypeID::get<Op>()] = [lower](KernelLowering &k, Operation &op) {
      return lower(k, mlir::cast<Op>(op));
    };
  }
  /// For a dialect's operations that have none of their own.
  template <class Dialect> void addDialect(LogicalResult (*lower)(KernelLowering &, Operation &)) {
    ofDialects[mlir::TypeID::get<Dialect>()] = lower;
  }

  /// Null for operations that have none.
  const Lowering *find(Operation &op) const;

private:
  llvm::DenseMap<mlir::TypeID, Lowering> ofOperations, ofDialects;
};

void addAtomicFetchLowerings(LoweringTable &table);
void addClusterLowerings(LoweringTable &table);
void addControlLowerings(LoweringTable &table);
void addConvertLowerings(LoweringTable &table);
void addCopyLowerings(LoweringTable &table);
void addCudaLowerings(LoweringTable &table);
void addElementLowerings(LoweringTable &table);
void addElementwiseLowerings(LoweringTable &table);
void addGemmLowerings(LoweringTable &table);
void addGridLowerings(LoweringTable &table);
void addReduceLowerings(LoweringTable &table);
void addRelayoutLowerings(LoweringTable &table);
void addReportLowerings(LoweringTable &table);
void addSyncLowerings(LoweringTable &table);
void addTensorMemoryLowerings(LoweringTable &table);
void addTmaLowerings(LoweringTable &table);
void addWindowsLowerings(LoweringTable &table);

} // namespace tlc::lowering
