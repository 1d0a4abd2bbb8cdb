// SPDX-License-Identifier: Apache-2.0
/// \file
/// From arguments to launches.
#include "compiler/evaluator/Evaluator.h"

#include "compiler/evaluator/Machine.h"
#include "compiler/evaluator/Transfers.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Cluster.h"
#include "dialects/tile/Shapes.h"
#include "runtime/artifact/LinearExtent.h"
#include "runtime/target/Hardware.h"

using namespace mlir;

namespace tlc::evaluator {

namespace {

Error invalid(const Twine &message) { return {ErrorKind::invalidArgument, message.str()}; }

Attribute argumentAttr(tile::KernelOp kernel, unsigned number) {
  return kernel.getArgAttr(number, program::ProgramDialect::argumentAttrName);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Gives the arguments of every kernel, which are those of the first, their values.
class Binder {
public:
  Binder(Evaluation &evaluation, tile::KernelOp kernel, Arguments &given, int64_t rank)
      : evaluation(evaluation), arguments(evaluation.arguments[rank]), kernel(kernel), given(given),
        rank(rank) {}

  Result<void> bind() {
    unsigned count = kernel.getNumArguments();
    arguments.resize(count);
    size_t tensors = 0, scalars = 0;
    for (unsigned i = 0; i < count; ++i) {
      auto tensor = dyn_cast<program::TensorAttr>(argumentAttr(kernel, i));
      tensors += tensor && tensor.getAccess() != program::Access::workspace;
      scalars += isa<program::ScalarAttr>(argumentAttr(kernel, i));
    }
    if (tensors != given.tensors.size() || scalars != given.scalars.size())
      return invalid("expected " + Twine(tensors) + " tensors and " + Twine(scalars) + " numbers, but got " +
                     Twine(given.tensors.size()) + " and " + Twine(given.scalars.size()));
    for (unsigned i = 0; i < count; ++i)
      if (auto dimension = dyn_cast<program::DimensionAttr>(argumentAttr(kernel, i));
          dimension && dimension.getFixed() >= 0)
        setDimension(i, dimension.getFixed());
      else if (dimension && dimension.getSource() != program::DimensionSource::shapes)
        setDimension(i, dimension.getSource() == program::DimensionSource::rank ? rank : evaluation.ranks());
    for (unsigned i = 0; i < count; ++i)
      if (Result<void> bound = bindGiven(i); !bound)
        return bound;
    solveDimensions();
    if (Result<void> computed = computeDimensions(); !computed)
      return computed;
    for (unsigned i = 0; i < count; ++i)
      if (Result<void> bound = bindMade(i); !bound)
        return bound;
    return {};
  }

private:
  /// Dimensions that no tensor has as an extent, from given extents that are linear in them.
  void solveDimensions() {
    std::vector<unsigned> dimensions; // arguments, by number of the dimension
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
      if (isa<program::DimensionAttr>(argumentAttr(kernel, i)))
        dimensions.push_back(i);
    for (unsigned i : dimensions) {
      auto computed = cast<program::DimensionAttr>(argumentAttr(kernel, i)).getComputed();
      const auto *known = std::get_if<Element>(&arguments[i]);
      const std::optional<LinearExtent> linear =
          computed && known ? linearExtentOf(computed.getExpr()) : std::nullopt;
      if (!linear || std::holds_alternative<Element>(arguments[dimensions[size_t(linear->dimension)]]))
        continue;
      if (std::optional<int64_t> value = linear->solve(known->integer))
        setDimension(dimensions[size_t(linear->dimension)], *value);
    }
  }

  /// In their order: each follows from those before it. Tensors given are compared with them.
  Result<void> computeDimensions() {
    std::vector<int64_t> values;
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
      auto dimension = dyn_cast<program::DimensionAttr>(argumentAttr(kernel, i));
      if (!dimension)
        continue;
      const auto *known = std::get_if<Element>(&arguments[i]);
      values.push_back(known ? known->integer : 0);
      if (!dimension.getComputed())
        continue;
      std::optional<int64_t> value = dimension.getComputed().getExpr().evaluate(values, 0);
      if (!value || *value < 0 || *value > maxExtent || (known && known->integer != *value)) {
        const auto [tensor, axis] = dimension.getName().rsplit('.');
        return invalid("expected sizes that give '" + tensor + "' along axis " + axis +
                       " an extent from 0 to " + Twine(maxExtent) + ", and tensors of that shape");
      }
      values.back() = *value;
      setDimension(i, *value);
    }
    return {};
  }

  void setDimension(unsigned argument, int64_t value) {
    arguments[argument] = exactInteger({.bits = 32}, value);
  }

  Result<void> bindGiven(unsigned number) {
    Type type = kernel.getBody().getArgument(number).getType();
    if (isa<program::ScalarAttr>(argumentAttr(kernel, number))) {
      arguments[number] = given.scalars[nextScalar++];
      return {};
    }
    auto attr = dyn_cast<program::TensorAttr>(argumentAttr(kernel, number));
    if (!attr || attr.getAccess() == program::Access::workspace)
      return {};
    Tensor &tensor = given.tensors[nextTensor++];
    ArrayRef<int64_t> expected = tile::extentsOf(type);
    if (!(kindOf(tensor.type) == kindOf(tile::elementTypeOf(type))) ||
        expected.size() != tensor.extents.size() ||
        countOf(tensor.extents) != static_cast<int64_t>(tensor.elements.size()))
      return invalid("expected tensor '" + attr.getName() +
                     "' to have the program's element type and number of " +
                     "axes, and an element for each position");
    for (auto [axis, extent] : llvm::enumerate(tensor.extents))
      if (Result<void> agrees = checkExtent(attr, static_cast<unsigned>(axis), expected[axis], extent);
          !agrees)
        return agrees;
    add(number, attr, tensor.extents, std::move(tensor.elements));
    givenMembers[number] = tensor.members;
    return {};
  }

  static std::vector<int64_t> contiguous(ArrayRef<int64_t> extents) {
    std::vector<int64_t> strides(extents.size(), 1);
    for (size_t axis = extents.size() - 1; axis-- != 0;)
      strides[axis] = strides[axis + 1] * extents[axis + 1];
    return strides;
  }

  /// Whether there is one for each axis, past the elements of the next axis.
  static bool areStrides(const GlobalTensor &member) {
    const size_t axes = member.extents.size();
    if (member.strides.size() != axes || member.strides.back() != 1)
      return false;
    for (size_t axis = 0; axis + 1 != axes; ++axis)
      if (member.strides[axis] < member.strides[axis + 1] * member.extents[axis + 1])
        return false;
    return true;
  }

  Result<void> bindMembers(unsigned number, program::TensorAttr attr) {
    auto *table = std::get<GlobalTensor *>(arguments[number]);
    const Kind kind = kindOf(attr.getMembers().getElement());
    MutableArrayRef<Tensor> members = givenMembers[number];
    if (members.size() != table->elements.size())
      return invalid("expected a tensor for each of the " + Twine(table->elements.size()) +
                     " addresses of '" + table->name + "', but got " + Twine(members.size()));
    for (auto [at, member] : llvm::enumerate(members)) {
      table->members.push_back(nullptr);
      if (member.extents.empty())
        continue;
      if (!(kindOf(member.type) == kind) ||
          static_cast<int64_t>(member.extents.size()) != attr.getMembers().getAxes() ||
          countOf(member.extents) != static_cast<int64_t>(member.elements.size()))
        return invalid("expected member " + Twine(at) + " of '" + table->name +
                       "' to have the program's element type and number of axes, and an element for each "
                       "position");
      GlobalTensor &tensor = evaluation.tensors.emplace_back();
      tensor.name = table->name + ".of(" + std::to_string(at) + ")";
      tensor.kind = kind;
      tensor.extents = member.extents;
      tensor.elements = std::move(member.elements);
      tensor.strides = member.strides.empty() ? contiguous(member.extents) : member.strides;
      if (!areStrides(tensor))
        return invalid("expected strides of member " + Twine(at) + " of '" + table->name +
                       "' that keep elements apart, the last one 1, but got " + tile::toText(tensor.strides) +
                       " for the extents " + tile::toText(tensor.extents));
      table->members.back() = &tensor;
    }
    return {};
  }

  Result<void> checkExtent(program::TensorAttr tensor, unsigned axis, int64_t fixed, int64_t extent) {
    int64_t dimension = tensor.getDims()[axis];
    std::optional<int64_t> known;
    if (dimension < 0)
      known = fixed;
    else if (const auto *element = std::get_if<Element>(&arguments[dimension]))
      known = element->integer;
    if (known && *known != extent)
      return invalid("expected '" + tensor.getName() + "' to have " + Twine(*known) +
                     " elements along axis " + Twine(axis) + ", but it has " + Twine(extent));
    if (!known)
      setDimension(static_cast<unsigned>(dimension), extent);
    return {};
  }

  Result<void> bindMade(unsigned number) {
    Attribute argument = argumentAttr(kernel, number);
    if (auto dimension = dyn_cast<program::DimensionAttr>(argument)) {
      const auto *known = std::get_if<Element>(&arguments[number]);
      if (!known)
        return invalid("expected dimension '" + dimension.getName() + "' to be an extent of a tensor");
      if (known->integer % dimension.getMultipleOf() != 0)
        return invalid("expected dimension '" + dimension.getName() + "' to be a multiple of " +
                       Twine(dimension.getMultipleOf()) + ", but it is " + Twine(known->integer));
      if (known->integer < dimension.getLeast() || known->integer > dimension.getMost())
        return invalid("expected dimension '" + dimension.getName() + "' to be from " +
                       Twine(dimension.getLeast()) + " to " + Twine(dimension.getMost()) + ", but it is " +
                       Twine(known->integer));
      return {};
    }
    auto attr = dyn_cast<program::TensorAttr>(argument);
    if (attr && attr.getMembers())
      return bindMembers(number, attr);
    if (!attr || attr.getAccess() != program::Access::workspace)
      return {};
    std::vector<int64_t> extents;
    for (auto [extent, dimension] :
         llvm::zip(tile::extentsOf(kernel.getBody().getArgument(number).getType()), attr.getDims()))
      extents.push_back(dimension < 0 ? extent : std::get<Element>(arguments[dimension]).integer);
    add(number, attr, extents,
        std::vector<Element>(countOf(extents), Element{.defined = attr.getZeroFill()}));
    return {};
  }

  void add(unsigned number, program::TensorAttr attr, const std::vector<int64_t> &extents,
           std::vector<Element> elements) {
    GlobalTensor &tensor = evaluation.tensors.emplace_back();
    tensor.name = attr.getName().str();
    if (attr.getSymmetric() && evaluation.ranks() > 1)
      tensor.name += ".of(" + std::to_string(rank) + ")";
    tensor.kind = kindOf(tile::elementTypeOf(kernel.getBody().getArgument(number).getType()));
    tensor.extents = extents;
    tensor.elements = std::move(elements);
    arguments[number] = &tensor;
  }

  Evaluation &evaluation;
  std::vector<Datum> &arguments;
  tile::KernelOp kernel;
  Arguments &given;
  int64_t rank;
  size_t nextTensor = 0, nextScalar = 0;
  llvm::DenseMap<unsigned, MutableArrayRef<Tensor>> givenMembers; ///< by number of the argument
};

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

std::unique_ptr<BlockState> makeBlock(Evaluation &evaluation, tile::KernelOp kernel, int64_t rank) {
  auto block = std::make_unique<BlockState>(evaluation, kernel);
  for (auto [argument, value] : llvm::zip(kernel.getArguments(), evaluation.arguments[rank]))
    block->values[argument] = value;
  return block;
}

/// The number of blocks along each axis: what the host computes. It reads tensors as the first block would,
/// which has number `first` and knows `known`.
std::optional<std::array<int64_t, 3>> gridOf(Evaluation &evaluation, tile::KernelOp kernel, int64_t rank,
                                             int64_t first, const Known &known) {
  std::unique_ptr<BlockState> host = makeBlock(evaluation, kernel, rank);
  host->number = first;
  host->known = known;
  Task task{*host};
  std::array<int64_t, 3> grid = {1, 1, 1};
  for (Operation &op : kernel.getBody().front()) {
    if (isa<tile::GridOp, tile::PersistentOp>(op)) {
      for (auto [axis, operand] : llvm::enumerate(op.getOperands())) {
        auto extent = task.certain(&op, operand, "an extent of the grid");
        if (!extent)
          return std::nullopt;
        grid[axis] = std::max<int64_t>(*extent, 0);
      }
      auto tiles = dyn_cast<tile::PersistentOp>(op);
      if (!tiles)
        return grid;
      auto cluster = static_cast<int64_t>(kernel.getCluster());
      if (tiles.getDynamic())
        return std::array<int64_t, 3>{grid[0] * grid[1] * grid[2], 1, 1};
      grid[tiles.getClusterAxis()] = llvm::divideCeil(grid[tiles.getClusterAxis()], cluster);
      const int64_t together = evaluation.options.multiprocessors * int64_t(kernel.getResidents());
      int64_t most = std::max<int64_t>(together / cluster, 1);
      return std::array<int64_t, 3>{std::min(grid[0] * grid[1] * grid[2], most) * cluster, 1, 1};
    }
    bool isHosts =
        op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
        llvm::all_of(op.getOperands(), [&](Value operand) { return host->values.contains(operand); });
    const Rule *rule = Rules::all().find(op.getName().getStringRef());
    if (isHosts && rule && (*rule)(task, &op) == Step::failed)
      return std::nullopt;
  }
  return grid;
}

/// The launches of one rank, whose blocks run one after the other, those of a cluster together.
class RankRun {
public:
  RankRun(Evaluation &evaluation, ArrayRef<tile::KernelOp> kernels, int64_t rank)
      : evaluation(evaluation), kernels(kernels), rank(rank),
        transfers(evaluation, kernels.front(), rank,
                  (rank * evaluation.launches + static_cast<int64_t>(kernels.size())) * blocksPerLaunch) {}

  bool isFinished() const { return launch == kernels.size(); }

  /// Goes on until a block waits for another rank, or for ever, or all launches are done.
  Step run(bool &hasMoved, Task *&waiting) {
    while (!isFinished()) {
      if (blocks.empty() && start() == Step::failed)
        return Step::failed;
      bool moved = false;
      Task *waits = nullptr;
      if (runInTurn(blocks, moved, waits) == Step::failed)
        return Step::failed;
      hasMoved |= moved;
      if (!waits) {
        if (retire() == Step::failed)
          return Step::failed;
        hasMoved = true;
      } else if (!moved) {
        waiting = waits;
        return Step::done;
      }
    }
    return Step::done;
  }

private:
  int64_t firstNumber() const {
    return (rank * evaluation.launches + static_cast<int64_t>(launch)) * blocksPerLaunch;
  }

  /// The next cluster, of the next launch if need be: one without blocks has none.
  Step start() {
    tile::KernelOp kernel = kernels[launch];
    auto cluster = static_cast<int64_t>(kernel.getCluster());
    if (next == 0 && startLaunch(kernel, cluster) == Step::failed)
      return Step::failed;
    for (int64_t inCluster = 0; next < count && inCluster < cluster; ++inCluster, ++next) {
      blocks.push_back(makeBlock(evaluation, kernel, rank));
      BlockState &block = *blocks.back();
      block.number = firstNumber() + next;
      block.rank = inCluster;
      block.buffersOfCluster = buffersOfCluster;
      block.grid = grid;
      block.position = {next % grid[0], next / grid[0] % grid[1], next / grid[0] / grid[1]};
      block.known = knownBefore;
      block.tasks.push_back({block, "", static_cast<int64_t>(kernel.getWarps())});
      block.tasks.back().enter(kernel, kernel.getBody());
    }
    for (const std::unique_ptr<BlockState> &block : blocks)
      block->cluster = blocks;
    return Step::done;
  }

  Step startLaunch(tile::KernelOp kernel, int64_t cluster) {
    buffersOfCluster = tile::buffersOfCluster(kernel);
    if (transfers.reach(static_cast<int64_t>(launch), knownBefore) == Step::failed)
      return Step::failed;
    if (evaluation.ranks() == 1)
      forgetAccesses(kernel);
    auto extents = gridOf(evaluation, kernel, rank, firstNumber(), knownBefore);
    if (!extents)
      return Step::failed;
    grid = *extents;
    count = grid[0] * grid[1] * grid[2];
    if (count % cluster != 0)
      return evaluation.fail(kernel, "expected a number of blocks that is a multiple of " + Twine(cluster) +
                                         " because so many share a cluster, but got " + Twine(count));
    return Step::done;
  }

  /// One launch is after the other. Other ranks may still be in an earlier one, so that with them this
  /// follows from what blocks know.
  void forgetAccesses(tile::KernelOp kernel) {
    for (GlobalTensor &tensor : evaluation.tensors) {
      tensor.accesses.clear();
      tensor.sums.clear();
      tensor.counts.clear();
      tensor.several.clear();
    }
    auto counts = [](Operation *op) {
      return tile::letsBlocksGoOn(op) ? WalkResult::interrupt() : WalkResult::advance();
    };
    evaluation.counts = kernel.walk(counts).wasInterrupted();
  }

  Step retire() {
    if (evaluation.ranks() > 1)
      for (const std::unique_ptr<BlockState> &block : blocks)
        learn(knownAfter, block->known);
    blocks.clear();
    if (next < count)
      return Step::done;
    if (evaluation.ranks() > 1) {
      knownAfter[launchOf(firstNumber())] = 1;
      learn(knownBefore, knownAfter);
    }
    ++launch;
    next = count = 0;
    return isFinished() ? transfers.reach(static_cast<int64_t>(launch), knownBefore) : Step::done;
  }

  Evaluation &evaluation;
  ArrayRef<tile::KernelOp> kernels;
  int64_t rank;
  size_t launch = 0;
  llvm::SmallDenseSet<Value, 4> buffersOfCluster; ///< of the launch
  std::array<int64_t, 3> grid = {1, 1, 1};
  int64_t count = 0, next = 0; ///< blocks of the launch, and the first that has not started
  std::vector<std::unique_ptr<BlockState>> blocks;
  Known knownBefore, knownAfter; ///< the launch, by its blocks
  Transfers transfers;
};

void giveBack(GlobalTensor &from, Tensor &to) {
  to.elements = std::move(from.elements);
  for (auto [member, given] : llvm::zip(from.members, to.members))
    if (member)
      given.elements = std::move(member->elements);
}

/// Symmetric tensors have one shape on all ranks.
Result<void> checkSymmetric(const Evaluation &evaluation, tile::KernelOp kernel) {
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
    auto tensor = dyn_cast<program::TensorAttr>(argumentAttr(kernel, i));
    if (!tensor || !tensor.getSymmetric())
      continue;
    const auto &first = std::get<GlobalTensor *>(evaluation.arguments.front()[i])->extents;
    for (int64_t rank = 1; rank < evaluation.ranks(); ++rank)
      if (const auto &extents = std::get<GlobalTensor *>(evaluation.arguments[rank][i])->extents;
          extents != first)
        return invalid("expected '" + tensor.getName() + "' to have one shape on all ranks, but it has " +
                       tile::toText(first) + " on rank 0 and " + tile::toText(extents) + " on rank " +
                       Twine(rank));
  }
  return {};
}

} // namespace

Result<Report> evaluate(ModuleOp module, MutableArrayRef<Arguments> ranks, const Options &options) {
  Evaluation evaluation{.options = options};
  auto kernels = llvm::to_vector(module.getOps<tile::KernelOp>());
  if (kernels.empty())
    return invalid("expected a program of at least one launch");
  if (ranks.empty() || static_cast<int64_t>(ranks.size()) > maxRanks)
    return invalid("expected 1 to " + Twine(maxRanks) + " ranks, but got " + Twine(ranks.size()));
  evaluation.launches = static_cast<int64_t>(kernels.size());
  if (auto transfers = module->getAttrOfType<ArrayAttr>(program::ProgramDialect::transfersAttrName))
    evaluation.launches += static_cast<int64_t>(transfers.size()); // which have numbers of their own
  evaluation.counts = ranks.size() > 1;
  evaluation.arguments.resize(ranks.size());
  std::vector<size_t> firstTensors;
  for (auto [rank, given] : llvm::enumerate(ranks)) {
    firstTensors.push_back(evaluation.tensors.size());
    if (Result<void> bound = Binder(evaluation, kernels.front(), given, static_cast<int64_t>(rank)).bind();
        !bound)
      return bound.error();
  }
  if (Result<void> checked = checkSymmetric(evaluation, kernels.front()); !checked)
    return checked.error();
  std::deque<RankRun> runs;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    runs.emplace_back(evaluation, kernels, static_cast<int64_t>(rank));
  while (!llvm::all_of(runs, [](const RankRun &run) { return run.isFinished(); })) {
    bool hasMoved = false;
    Task *waiting = nullptr;
    for (RankRun &run : runs)
      if (run.run(hasMoved, waiting) == Step::failed)
        return *evaluation.error;
    if (!hasMoved) {
      failWaiting(*waiting);
      return *evaluation.error;
    }
  }
  // The given tensors of a rank come first, in their order.
  for (auto [first, given] : llvm::zip(firstTensors, ranks))
    for (auto [number, tensor] : llvm::enumerate(given.tensors))
      giveBack(evaluation.tensors[first + number], tensor);
  return std::move(evaluation.report);
}

Result<Report> evaluate(ModuleOp module, Arguments &arguments, const Options &options) {
  return evaluate(module, MutableArrayRef<Arguments>(arguments), options);
}

bool hasRule(StringRef operation) { return Rules::all().find(operation) != nullptr; }

} // namespace tlc::evaluator
