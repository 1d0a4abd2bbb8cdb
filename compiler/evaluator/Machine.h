// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a program runs on: tensors, the blocks of a launch, and in each block
/// tasks, which are its roles, or the whole block outside of roles. A task runs
/// until it waits for another one; then the next one does.
#pragma once

#include "compiler/evaluator/Numbers.h"
#include "dialects/tile/Counts.h"
#include "runtime/artifact/TensorWindow.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <variant>

namespace tlc::evaluator {

using Extents = llvm::SmallVector<int64_t, 4>;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Row-major. A value never changes once an operation has given it.
struct Fragment {
  Extents extents;
  std::vector<Element> elements;
};
using FragmentRef = std::shared_ptr<const Fragment>;

/// Blocks of all ranks and launches have different numbers, those of one launch consecutive ones.
inline constexpr int64_t blocksPerLaunch = int64_t(1) << 32;
/// Stands for all blocks of the launch of that block.
inline int64_t launchOf(int64_t block) { return block | (blocksPerLaunch - 1); }

/// Which block touched an element, and after how many of its announcements.
struct Touch {
  static constexpr int64_t nobody = -1, several = -2;
  int64_t block = nobody, announced = 0;
};
enum class AccessKind : uint8_t { read, write, add, min, max, bitAnd, bitOr, bitXor, fetch };
/// Accesses that change what an element is, whatever that is.
inline constexpr AccessKind combiningKinds[] = {AccessKind::add,    AccessKind::min,   AccessKind::max,
                                                AccessKind::bitAnd, AccessKind::bitOr, AccessKind::bitXor,
                                                AccessKind::fetch};

/// The last access of each kind to each element. Memory is taken when the first one is noted, and for
/// combining kinds when the first one of these is: most tensors have none.
class LastAccesses {
public:
  Touch of(int64_t element, AccessKind kind) const {
    const auto [table, column] = locate(kind);
    const auto &rows = table == 0 ? plain : combining;
    return rows.empty() ? Touch() : rows[element * widths[table] + column];
  }
  void note(int64_t element, AccessKind kind, const Touch &touch, size_t elements) {
    const auto [table, column] = locate(kind);
    auto &rows = table == 0 ? plain : combining;
    if (rows.empty())
      rows.resize(elements * widths[table]);
    rows[element * widths[table] + column] = touch;
  }
  bool hasCombining() const { return !combining.empty(); }
  void forgetCombining(int64_t element) {
    if (hasCombining())
      std::fill_n(combining.begin() + element * widths[1], widths[1], Touch());
  }
  void clear() {
    plain.clear();
    combining.clear();
  }

private:
  static constexpr int64_t widths[] = {2, std::size(combiningKinds)}; ///< read and write; the rest
  static std::pair<size_t, int64_t> locate(AccessKind kind) {
    const auto number = int64_t(kind);
    return number < widths[0] ? std::pair(size_t(0), number) : std::pair(size_t(1), number - widths[0]);
  }
  std::vector<Touch> plain, combining;
};
/// By number of a block, how many of its announcements are known, and with them what it did before. With a
/// launch it has all that its blocks did.
using Known = llvm::DenseMap<int64_t, int64_t>;

/// Adds what is news.
inline void learn(Known &known, const Known &news) {
  for (auto [number, announced] : news)
    known[number] = std::max(known.lookup(number), announced);
}

struct GlobalTensor {
  std::string name;
  Kind kind;
  std::vector<int64_t> extents;
  std::vector<Element> elements;
  LastAccesses accesses;
  llvm::DenseMap<int64_t, Sum> sums; ///< of this launch's atomic additions, what was there before included
  llvm::DenseMap<int64_t, Known> counts; ///< what those knew who counted there in this launch
  /// In launches that count: those blocks, where several have touched an element, by its number and kind.
  llvm::DenseMap<std::pair<int64_t, int64_t>, llvm::SmallVector<Touch>> several;
  std::vector<GlobalTensor *> members; ///< of a table of addresses, null where there is none
  std::vector<int64_t> strides;        ///< of a member
};

/// A tensor whose address is in a table, or the part of it that the program has in view.
struct Member {
  GlobalTensor *tensor = nullptr;
  const std::vector<int64_t> *extents = nullptr; ///< in `Evaluation::extentsOfSliced`
  /// Likewise: along each axis of the tensor, from one element in view to the next.
  const std::vector<int64_t> *steps = nullptr;
};

/// What a window sees of a tensor.
struct Windows {
  GlobalTensor *tensor = nullptr;
  TensorWindow window = {};
  std::vector<int64_t> extents = {};
};

/// Of a block: its elements are kept as those of a tensor are, so that slices of both are alike.
struct Buffer : GlobalTensor {
  tile::AllocationOpInterface declaration;
};
/// A tile in shared or tensor memory, or what is seen of it.
struct View {
  Buffer *buffer = nullptr;
  int64_t offset = 0;
  Extents extents, strides;
};

/// A box of a tensor or a shared tile, with the rules for elements outside.
struct Slice {
  GlobalTensor *tensor = nullptr;                 ///< or the buffer
  std::shared_ptr<const View> view = {};          ///< of the shared tile
  const std::vector<int64_t> *ofTensor = nullptr; ///< its extents: elements from there on are outside
  const std::vector<int64_t> *steps = nullptr;    ///< of a member (`Member`)
  const Windows *windows = nullptr;               ///< that the box is of, or null
  /// The tensors of all ranks, if an access reaches them; null: `tensor` alone.
  const std::vector<GlobalTensor *> *ofRanks = nullptr;
  Extents origin, extents;
  int16_t limitedAxis = -1;
  bool isUnchecked = false;
  /// By axis of the tensor, that of `extents`; -1 for gathered axes. Empty without gathered axes.
  llvm::SmallVector<int, 0> boxAxes = {};
  /// Added to the origin along each gathered axis, by number of the element.
  llvm::SmallVector<FragmentRef, 0> indices = {};
  int64_t limit = 0;
  Element fill;
};

struct Variable;
struct Barrier;
struct Cursor {
  int64_t count = 0;
};

/// The value of an operation. A truth value of warps, of which each decides for its elements, is a fragment:
/// where it is exact and true the warp of that element takes the branch, where it is inexact it may.
using Datum = std::variant<std::monostate, Element, FragmentRef, GlobalTensor *, Member, const Windows *,
                           Slice, View, std::shared_ptr<Variable>, Barrier *, Cursor>;
struct Variable {
  Datum value;
};

//===----------------------------------------------------------------------===//
// What roles meet at
//===----------------------------------------------------------------------===//

/// Counts by role; of a kernel without roles, by an empty name.
struct Channel {
  int64_t slots = 1;
  llvm::SmallSetVector<llvm::StringRef, 2> putting, releasing;
  llvm::SmallDenseMap<llvm::StringRef, int64_t, 4> puts, gets, releases;
};

/// An mbarrier, which counts threads, or a named barrier, which counts warps.
struct Barrier {
  int64_t count = 1, arrivals = 0, phases = 0;

  void arrive(int64_t number) {
    for (arrivals += number; arrivals >= count; arrivals -= count)
      ++phases;
  }
};

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

enum class Step : uint8_t { done, waits, failed };

struct Task;
using Rule = std::function<Step(Task &, mlir::Operation *)>;

/// The rule of each operation, by name.
class Rules {
public:
  template <class Op> void add(Step (*rule)(Task &, Op)) {
    rules[Op::getOperationName()] = [rule](Task &task, mlir::Operation *op) {
      return rule(task, mlir::cast<Op>(op));
    };
  }
  void add(llvm::StringRef operation, Rule rule) { rules[operation] = std::move(rule); }
  const Rule *find(llvm::StringRef operation) const {
    auto found = rules.find(operation);
    return found == rules.end() ? nullptr : &found->second;
  }
  static const Rules &all();

private:
  llvm::StringMap<Rule> rules;
};
void addClusterRules(Rules &rules);
void addElementwiseRules(Rules &rules);
void addFragmentRules(Rules &rules);
void addMemoryRules(Rules &rules);
void addReportRules(Rules &rules);
void addChannelRules(Rules &rules);
void addControlRules(Rules &rules);
void addRoleRules(Rules &rules);
void addSliceRules(Rules &rules);

/// All that the launches of a program share.
struct Evaluation {
  Options options;
  Report report = {};
  std::deque<GlobalTensor> tensors = {};
  /// Of members and shared tiles that are sliced, and the steps of members.
  std::set<std::vector<int64_t>> extentsOfSliced = {};
  std::map<std::pair<mlir::Operation *, GlobalTensor *>, Windows> windows = {}; ///< by operation
  /// Symmetric ones, by number of the argument.
  std::map<unsigned, std::vector<GlobalTensor *>> tensorsOfRanks = {};
  std::vector<std::vector<Datum>> arguments = {}; ///< by rank, of every kernel
  llvm::DenseSet<mlir::Operation *> ambiguous = {};
  bool counts = false; ///< whether blocks of this launch order by counts what they do
  std::optional<Error> error = {};
  int64_t launches = 1; ///< of a rank

  int64_t ranks() const { return static_cast<int64_t>(arguments.size()); }
  /// "block 3", of several ranks "block 3 of rank 1"; without its number "a block".
  std::string nameOf(int64_t block, bool withNumber = true) const;

  /// An error at the operation's place; the first one counts.
  Step fail(mlir::Operation *op, const llvm::Twine &message);
  /// Of a comparison of two numbers that lie within each other's bounds.
  void noteAmbiguity(mlir::Operation *op, const Element &a, const Element &b);
};

struct BlockState {
  BlockState(Evaluation &evaluation, tile::KernelOp kernel) : evaluation(evaluation), kernel(kernel) {}

  Evaluation &evaluation;
  tile::KernelOp kernel;
  int64_t number = 0, rank = 0; ///< of all blocks, and in its cluster
  int64_t numberInLaunch() const { return number % blocksPerLaunch; }
  std::array<int64_t, 3> position = {}, grid = {1, 1, 1};
  int64_t announced = 0; ///< how often it has let others go on
  Known known;           ///< of other blocks
  llvm::ArrayRef<std::unique_ptr<BlockState>> cluster;
  llvm::SmallDenseSet<mlir::Value, 4> buffersOfCluster; ///< which its blocks reach in each other
  llvm::DenseMap<mlir::Value, Datum> values;
  std::deque<Task> tasks;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Buffer>> buffers;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Barrier>> barriers;
  std::map<mlir::Operation *, Channel> channels;
  llvm::DenseMap<int64_t, Barrier> namedBarriers;
  llvm::DenseMap<mlir::Operation *, int64_t> runningRoles; ///< of a tile.roles

  Buffer &bufferOf(tile::AllocationOpInterface op);
};

/// A body that runs, and how often it still does.
struct Frame {
  mlir::Operation *owner;
  mlir::Block *body;
  mlir::Block::iterator next;
  int64_t at = 0, end = 0, step = 0;        ///< of a loop
  llvm::SmallVector<Datum, 0> yielded = {}; ///< by its terminator, or before the first iteration
};

struct Task {
  BlockState &block;
  llvm::StringRef role = {};
  int64_t warps = 0; ///< 0: not known before the compiler chooses
  llvm::SmallVector<Frame> frames = {};
  /// Where it waits: by an operation that has begun and is not done.
  std::optional<int64_t> awaitedPhase = {};

  bool isFinished() const { return frames.empty(); }
  /// Until it waits or ends. `waits` if it does either, having done something or not.
  Step run(bool &hasMoved);
  void enter(mlir::Operation *owner, mlir::Region &region);

  Step fail(mlir::Operation *op, const llvm::Twine &message) { return block.evaluation.fail(op, message); }

  const Datum &get(mlir::Value value) const;
  const Element &number(mlir::Value value) const { return std::get<Element>(get(value)); }
  const Fragment &fragment(mlir::Value value) const { return *std::get<FragmentRef>(get(value)); }
  void set(mlir::Value value, Datum datum) { block.values[value] = std::move(datum); }
  void set(mlir::Value value, Fragment fragment) {
    set(value, Datum(std::make_shared<const Fragment>(std::move(fragment))));
  }
  /// A position, limit or count that decides what is done; a failure if its number is not certain.
  std::optional<int64_t> certain(mlir::Operation *op, mlir::Value value, llvm::StringRef what) {
    return certain(op, number(value), what);
  }
  std::optional<int64_t> certain(mlir::Operation *op, const Element &element, llvm::StringRef what);

private:
  Step advance(bool &hasMoved);
  void leave();
  /// Whether the operation accesses a tile that blocks of the cluster reach in each other, and one of them is
  /// still before it in the program.
  bool waitsForCluster(mlir::Operation *op) const;
};

/// Runs each of the tasks of these blocks until it waits or ends. `waiting` becomes one that waits.
Step runInTurn(llvm::ArrayRef<std::unique_ptr<BlockState>> blocks, bool &hasMoved, Task *&waiting);
/// Of a task that waits for what nobody will do.
Step failWaiting(Task &task);
/// The end of a put: its slot is full.
void handOver(Task &task, tile::PutOp op);
/// Runs a body that waits for nobody.
Step runAlone(Task &task, mlir::Operation *owner, mlir::Region &region);

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

Extents extentsOf(mlir::Value value);
int64_t countOf(llvm::ArrayRef<int64_t> extents);
/// The position of the element of that row-major number.
Extents positionOf(int64_t number, llvm::ArrayRef<int64_t> extents);
std::string positionText(llvm::ArrayRef<int64_t> position);
/// Calls `visit(number, source)` for every element of `extents`: `source` is the element's number in a
/// fragment whose axes are as long, or of extent 1 and repeated.
void forEachRepeated(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<int64_t> sourceExtents,
                     llvm::function_ref<void(int64_t, int64_t)> visit);
/// A warps' truth value for the elements of a fragment of these extents.
Fragment decisionFor(const Fragment &condition, llvm::ArrayRef<int64_t> extents);

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Of a wait that is not over: the count, what it is, and what is waited for.
std::string waitText(const Task &task, tile::WaitForOp op);
/// The elements of a tile in memory, row-major. A failure if one was never written.
std::optional<std::vector<Element>> readView(Task &task, mlir::Operation *op, const View &view);
void writeView(const View &view, llvm::ArrayRef<Element> elements);
/// The elements of a slice, a tile in memory or a fragment, row-major. A failure if one was never written.
std::optional<std::vector<Element>> readTile(Task &task, mlir::Operation *op, mlir::Value source);
Step writeTile(Task &task, mlir::Operation *op, mlir::Value destination, llvm::ArrayRef<Element> elements);

} // namespace tlc::evaluator
