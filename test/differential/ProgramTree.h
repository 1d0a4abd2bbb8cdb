// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program of the language as a tree that can be drawn, traced, printed and made smaller. What is declared
/// has a number, which is its place in one of the program's lists; extents are numbers of `sizes`, so that
/// one that many tiles share can be changed in one place.
#pragma once

#include "compiler/dsl/Ops.h"
#include "compiler/dsl/Scope.h"
#include "compiler/pipeline/Options.h"
#include "runtime/artifact/Artifact.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tlc::differential {

/// An extent: its number in `ProgramTree::sizes`.
struct Size {
  int number = 0;
  bool operator==(const Size &) const = default;
};
using Sizes = std::vector<Size>;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

enum class IndexKind : uint8_t {
  constant,   ///< `number`
  size,       ///< the extent `id`
  dimension,  ///< `id`
  position,   ///< of a grid or a loop, `id`
  coordinate, ///< of the element along axis `id`, in a condition by position
  elements,   ///< of the variable `id`, as positions
  ownPlace,   ///< of each element along axis `id` of `number`, whose extent is the operand
  blocks,
  blockRank,
  multiprocessors,
  read,       ///< the element of tensor `id` at `operands`
  readShared, ///< the same of the shared tile `id`
  add,
  subtract,
  multiply,
  divide,
  remainder,
  ceilDiv,
  min,
  max,
};

struct IndexNode {
  IndexKind kind = IndexKind::constant;
  int64_t number = 0;
  int id = -1;
  std::vector<IndexNode> operands = {};

  static IndexNode constant(int64_t number) { return {IndexKind::constant, number, -1, {}}; }
  static IndexNode of(IndexKind kind, int id) { return {kind, 0, id, {}}; }
  static IndexNode apply(IndexKind kind, IndexNode a, IndexNode b) {
    return {kind, 0, -1, {std::move(a), std::move(b)}};
  }
};

enum class Comparison : uint8_t { less, lessOrEqual, greater, greaterOrEqual, equal, different };

/// Of positions: two are compared.
struct PositionTest {
  IndexNode a, b;
  Comparison comparison = Comparison::less;
};

enum class Function : uint8_t {
  // of one
  negate,
  abs,
  exp,
  exp2,
  exp10,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sqrt,
  rsqrt,
  sin,
  cos,
  tan,
  atan,
  tanh,
  erf,
  floor,
  ceil,
  round,
  trunc,
  finiteOrZero,
  complement,
  // of two
  add,
  subtract,
  multiply,
  divide,
  min,
  max,
  divideOrZero,
  maxOrNaN,
  minOrNaN,
  remainder,
  bitAnd,
  bitOr,
  bitXor,
  shiftLeft,
  shiftRight,
  pow,
  copySign,
  // of three
  fma,
  clamp,
};
constexpr bool isOfThree(Function function) { return function >= Function::fma; }
constexpr bool isOfTwo(Function function) { return function >= Function::add && !isOfThree(function); }

struct Expression {
  enum class Kind : uint8_t {
    variable,   ///< the fragment `id`
    number,     ///< `number`
    scalar,     ///< the argument `id`
    position,   ///< `positions.front().a` as a number
    positions,  ///< of the elements of a fragment of `shape` along `axis`
    apply,      ///< `function`
    convert,    ///< to `type`, as `conversion` says
    bitcast,    ///< the bits as `type`
    reshape,    ///< to `shape`
    reduce,     ///< along `axis`
    scan,       ///< along `axis`, in `direction`
    argument,   ///< position of the largest or smallest along `axis`
    where,      ///< operands 0 and 1 are compared, 2 or 3 is taken
    whereAny,   ///< the same if it holds for any, with `reduction` min for all, along `axis`
    wherePlace, ///< all of `positions` hold, or operand 1 is taken instead of 0
  };
  Kind kind = Kind::number;
  ElementType type = ElementType::f32; ///< of the result
  Function function = Function::add;
  dsl::Accuracy accuracy = dsl::Accuracy::accurate; ///< of functions that have it
  Comparison comparison = Comparison::less;
  dsl::Reduction reduction = dsl::Reduction::sum;
  dsl::Direction direction = dsl::Direction::forward;
  dsl::Conversion conversion = {};
  int id = -1;
  int axis = 0;
  double number = 0;
  Sizes shape = {};
  std::vector<PositionTest> positions = {};
  std::vector<Expression> operands = {};
};

//===----------------------------------------------------------------------===//
// Places in memory
//===----------------------------------------------------------------------===//

struct Limit {
  int axis = 0;
  IndexNode end;
};

/// A view of a shared tile, or a tile in tensor memory.
struct View {
  int shared = -1;
  int slot = -1; ///< one of its slots, or -1
  bool transposed = false;
  Sizes extents = {};                   ///< of `reshape`, if it has any
  std::optional<int64_t> firstRow = {}; ///< of `rows`
  Size rows = {};
  std::optional<int64_t> firstColumn = {}; ///< of `columns`
  Size columns = {};
  /// Not 0: of a cluster of so many blocks, the tile of the one that comes so many after this one.
  int64_t blocks = 0, blockShift = 0;
  bool rowsByBlock = false; ///< the first row is the block's number times `rows`
};

/// A slice of a tensor, or of a shared tile.
struct Box {
  int tensor = -1;
  View tile = {}; ///< if there is no tensor
  std::vector<IndexNode> origin = {};
  Sizes extents = {};
  std::optional<Limit> limit = {};
  std::optional<double> fill = {};
  bool unchecked = false;
  dsl::Eviction eviction = dsl::Eviction::normal;
  std::optional<TensorWindow> window = {}; ///< the box is of what it sees of the tensor
  /// Where there are several ranks: how the elements of all are combined, instead of taking those of one.
  std::optional<Function> ofAll = {};
};

struct Place {
  enum class Kind : uint8_t { slice, shared, tensorMemory, variable };
  Kind kind = Kind::variable;
  Box box = {};
  View view = {};
  int variable = -1;

  static Place of(Box box) { return {Kind::slice, std::move(box), {}, -1}; }
  static Place of(View view) { return {Kind::shared, {}, std::move(view), -1}; }
  /// A tile there, and which of its slots, or -1.
  static Place inTensorMemory(int tile, int slot) {
    return {Kind::tensorMemory, {}, {.shared = tile, .slot = slot}, -1};
  }
  static Place of(int variable) { return {Kind::variable, {}, {}, variable}; }
};

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

struct Statement {
  enum class Kind : uint8_t {
    declareVariable,     ///< `id`, with `values` as start, or with its number
    declareShared,       ///< `id`
    declareTensorMemory, ///< `id`
    assign,              ///< values[0] to the variable `id`
    update,              ///< the same by += and the like of `function`
    copy,                ///< `from` to `to`
    store,               ///< values[0] to `to`
    fill,                ///< `number` to `to`
    gemm,                ///< `from` or values[0] times `to`'s view, added to the variable `id`; of a sparse
                         ///< `from` values[0] is the metadata
    gemmAsync,
    gemmWait,     ///< of variable `id`, `number` pending
    gemmInPlace,  ///< two factors in `factors`, added in tensor memory at `to` where `tests` hold
    atomic,       ///< values[0] with `to`, by `function`: a sum, the smaller or the larger, or bits
    atomicNumber, ///< `number` with `to`
    atomicTile,   ///< the tile `from` with `to`
    clusterSum,   ///< of values[0], to the variable `id`; if `number` is 1, this block's share, if 2, maxima
    fetch,        ///< as `atomic`, and the variable `id` becomes the old value
    exchange,     ///< `to` becomes values[0], where it is values[1] if there is one; `id` as of `fetch`
    addInTurn,    ///< values[0] to `to`, one after the other by the counts in `from`
    writeIndex,   ///< index[0] to the element of shared tile `id` at the rest of `index`
    loop, ///< from index[0] to index[1] by index[2]; position `id` is the counter, less index[3] if given
    loopWhile, ///< the same while `tests` hold at the end of its body
    pipelined, ///< with `number` stages
    when,      ///< tests, bodies
    whenAny,   ///< values[0] compared with values[1]
    print,     ///< values[0] or index[0]
    check,     ///< that values[0] compares so with values[1]; or `tests`, showing index[0]
    inTurn,
    roles,
    role, ///< `id`
    declareChannel,
    put,     ///< its body into the slot `id`
    get,     ///< the slot `id`
    oldest,  ///< the slot `id` is the one that is released next
    release, ///< of channel `id`; after products if `number` is not 0; so is `arrive`
    pass,    ///< the oldest slot of channel `id` to others
    declareBarrier,
    arrive,     ///< at barrier `id`
    awaitPhase, ///< index[0] of barrier `id`
    meet,       ///< the others at the named barrier `id`
  };
  Kind kind = Kind::assign;
  int id = -1;
  Function function = Function::add;
  Comparison comparison = Comparison::less;
  dsl::WarpPolicy policy = dsl::WarpPolicy::fullRow;
  double number = 0;
  Place from = {}, to = {};
  std::vector<Expression> values = {};
  std::vector<IndexNode> index = {};
  std::vector<PositionTest> tests = {};
  std::vector<Place> factors = {};
  std::vector<std::vector<Statement>> bodies = {};
  bool isSparse = false;
  bool isFixed = false; ///< stays when the program is made smaller, as long as what it stands in does
};
using Body = std::vector<Statement>;

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

struct DimensionInfo {
  std::string name;
  int64_t value = 1; ///< at launch
  int64_t multipleOf = 1;
  bool fixed = false; ///< when traced
};

/// A dimension or an extent.
struct TensorExtent {
  int dimension = -1;
  Size size = {};
  int computedFrom = -1; ///< the dimension whose multiple and a rest say it
};

/// A table of addresses that a tensor is reached by.
struct TableInfo {
  int64_t count = 1, number = 0; ///< of addresses, and which one is the tensor's; the others are null
  bool readsNumbers = false;     ///< the number, extents and strides are read from another tensor
  bool operator==(const TableInfo &) const = default;
};

/// A transfer before the first launch, after which launches read a copy in a workspace.
struct TransferInfo {
  int64_t shift = 0;    ///< of a symmetric tensor: of the rank so many after its own
  int64_t rounds = 1;   ///< each copies a part of the first axis
  bool counted = false; ///< blocks of the first launch wait for counts of its rounds
  bool operator==(const TransferInfo &) const = default;
};

struct TensorInfo {
  std::string name;
  Access access = Access::input;
  ElementType element = ElementType::f32;
  std::vector<TensorExtent> shape = {};
  int64_t alignment = 1;
  dsl::LastStride lastStride = dsl::LastStride::one; ///< that is declared
  dsl::WorkspaceOptions workspace = {};
  // What it holds: whole numbers up to `largest` times 2^exponent, or any numbers up to `largest`.
  double smallest = 0, largest = 1;
  int exponent = 0;
  bool whole = true;
  // Where it lies.
  int64_t rowPadding = 0, offset = 0, step = 1; ///< `step` from one element of a row to the next
  /// Symmetric: in launch i a rank accesses that of the rank so many after its own, plus i.
  std::optional<int64_t> shift = {};
  std::optional<TransferInfo> transfer = {}; ///< where there are several ranks
  std::optional<TableInfo> table = {};
  bool hasWindows = false; ///< which only an argument that is one tensor has
};

/// What is said of the members of its table: more than their elements' own alignment, or nothing.
inline int64_t memberAlignmentOf(const TensorInfo &tensor) {
  return tensor.alignment > bytesOf(tensor.element, 1) ? tensor.alignment : 0;
}

struct ScalarInfo {
  std::string name;
  ElementType element = ElementType::f32;
  double value = 0;
};

struct VariableInfo {
  std::string name;
  ElementType element = ElementType::f32;
  Sizes shape = {};
  double initial = 0;
};

struct SharedInfo {
  std::string name;
  ElementType element = ElementType::f32;
  Sizes shape = {};
  int64_t slots = 0;
};

struct PositionInfo {
  std::string name;
};

struct ChannelInfo {
  std::string name = {};
  int64_t slots = 2;
  bool isMulticast = false;
  int of = -1; ///< the channel whose slots it hands over, or -1
};

/// What a put fills or a get gives.
struct SlotInfo {
  std::string name;
  int channel = -1;
};

struct BarrierInfo {
  enum class Kind : uint8_t { threads, warps }; ///< an mbarrier or a named barrier, and what it counts
  std::string name;
  Kind kind = Kind::threads;
  int64_t count = 1;
};

struct RoleInfo {
  std::string name;
  int64_t warps = 4;
  std::optional<int64_t> registers = {};
};

struct LaunchTree {
  enum class Grid : uint8_t { none, grid, persistent };
  std::string name;
  Grid grid = Grid::none;
  std::vector<IndexNode> extents = {};
  std::vector<int> positions = {}; ///< one per extent
  dsl::PersistentOptions persistent = {};
  int64_t warps = 0; ///< 0: the compiler's choice
  int64_t cluster = 1;
  int64_t residents = 1; ///< not said if 1
  bool loadRole = false;
  bool storeRole = false;
  std::optional<dsl::Requirement> requirement = {};
  Body body = {};
};

struct ProgramTree {
  uint64_t seed = 0;
  std::vector<int64_t> sizes = {};
  std::vector<DimensionInfo> dimensions = {};
  std::vector<TensorInfo> tensors = {}; ///< workspaces last
  std::vector<ScalarInfo> scalars = {};
  std::vector<VariableInfo> variables = {};
  std::vector<SharedInfo> shared = {}, tensorMemory = {};
  std::vector<PositionInfo> positions = {};
  std::vector<ChannelInfo> channels = {};
  std::vector<SlotInfo> slots = {};
  std::vector<BarrierInfo> barriers = {};
  std::vector<RoleInfo> roles = {};
  std::vector<LaunchTree> launches = {}; ///< one: not written as a launch

  /// The subset of optimisations that it is compiled with, besides all of them.
  Optimizations optimizations = {};
  std::string target = CompileOptions().target; ///< that it is compiled for
  int multiprocessors = 3;                      ///< of the emulated device
  int64_t ranks = 1;                            ///< devices that it is launched on
  bool isExact = true;                          ///< made so that nothing is rounded

  bool announcesToAll = false; ///< at once, not one after the other
  /// Whether the box is of all ranks' tensors, not of one's.
  bool isOfAll(const Box &box) const { return box.ofAll && ranks > 1 && tensors[size_t(box.tensor)].shift; }
  /// Whether blocks of the launch tell all ranks at their end that they are done; else the next launch does.
  bool announcesItsEnd(const LaunchTree &launch) const;

  /// Whether the program is written as launches, one after the other.
  bool namesLaunches() const;

  int64_t valueOf(Size size) const { return sizes[size_t(size.number)]; }
  /// How many times the dimension an extent is that is computed from it, and the rest.
  std::pair<int64_t, int64_t> multipleAndRest(const TensorExtent &extent) const {
    int64_t dimension = std::max<int64_t>(dimensions[size_t(extent.computedFrom)].value, 1);
    return {valueOf(extent.size) / dimension, valueOf(extent.size) % dimension};
  }
  dsl::Shape extentsOf(const Sizes &shape) const;
  int64_t elementsOf(const Sizes &shape) const;
  /// Extents at launch.
  std::vector<int64_t> shapeOf(const TensorInfo &tensor) const;
  /// The extents of what the box is of: its tensor's, or those of windows.
  std::vector<int64_t> shapeAround(const Box &box) const;
  /// What `of` is given for a tensor in a table: the number, the extents and the strides.
  std::vector<int64_t> memberNumbersOf(const TensorInfo &tensor) const;
};

Expression applied(Function function, ElementType type, std::vector<Expression> operands);

/// Element types and the like as the program's text has them.
std::string_view nameOf(Function function);
/// The atomic operation by a sum, the smaller or the larger, or bits.
std::string_view atomicNameOf(Function function);
std::string_view nameOf(Comparison comparison);

} // namespace tlc::differential
