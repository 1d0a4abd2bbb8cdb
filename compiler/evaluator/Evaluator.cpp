// SPDX-License-Identifier: Apache-2.0
/// \file
/// From arguments to launches.
#include "compiler/evaluator/Evaluator.h"

#include "compiler/evaluator/Machine.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Shapes.h"
#include "runtime/artifact/Artifact.h"

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
  Binder(Evaluation &evaluation, tile::KernelOp kernel, const Arguments &given)
      : evaluation(evaluation), kernel(kernel), given(given) {}

  Result<void> bind() {
    unsigned count = kernel.getNumArguments();
    evaluation.arguments.resize(count);
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
    for (unsigned i = 0; i < count; ++i)
      if (Result<void> bound = bindGiven(i); !bound)
        return bound;
    if (Result<void> computed = computeDimensions(); !computed)
      return computed;
    for (unsigned i = 0; i < count; ++i)
      if (Result<void> bound = bindMade(i); !bound)
        return bound;
    return {};
  }

private:
  /// In their order: each follows from those before it. Tensors given are compared with them.
  Result<void> computeDimensions() {
    std::vector<int64_t> values;
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
      auto dimension = dyn_cast<program::DimensionAttr>(argumentAttr(kernel, i));
      if (!dimension)
        continue;
      const auto *known = std::get_if<Element>(&evaluation.arguments[i]);
      values.push_back(known ? known->integer : 0);
      if (!dimension.getComputed())
        continue;
      std::optional<int64_t> value = dimension.getComputed().getExpr().evaluate(values, 0);
      if (!value || *value < 0 || *value > maxExtent || (known && known->integer != *value))
        return invalid("expected sizes that give " + dimension.getName() +
                       " (tensor and axis) an extent from 0 to " + Twine(maxExtent) +
                       ", and tensors of that shape");
      values.back() = *value;
      setDimension(i, *value);
    }
    return {};
  }

  void setDimension(unsigned argument, int64_t value) {
    evaluation.arguments[argument] = exactInteger({.bits = 32}, value);
  }

  Result<void> bindGiven(unsigned number) {
    Type type = kernel.getBody().getArgument(number).getType();
    if (isa<program::ScalarAttr>(argumentAttr(kernel, number))) {
      evaluation.arguments[number] = given.scalars[nextScalar++];
      return {};
    }
    auto attr = dyn_cast<program::TensorAttr>(argumentAttr(kernel, number));
    if (!attr || attr.getAccess() == program::Access::workspace)
      return {};
    const Tensor &tensor = given.tensors[nextTensor++];
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
    add(number, attr, tensor.extents, tensor.elements);
    return {};
  }

  Result<void> checkExtent(program::TensorAttr tensor, unsigned axis, int64_t fixed, int64_t extent) {
    int64_t dimension = tensor.getDims()[axis];
    std::optional<int64_t> known;
    if (dimension < 0)
      known = fixed;
    else if (const auto *element = std::get_if<Element>(&evaluation.arguments[dimension]))
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
      const auto *known = std::get_if<Element>(&evaluation.arguments[number]);
      if (!known)
        return invalid("expected dimension '" + dimension.getName() + "' to be an extent of a tensor");
      if (known->integer % dimension.getMultipleOf() != 0)
        return invalid("expected dimension '" + dimension.getName() + "' to be a multiple of " +
                       Twine(dimension.getMultipleOf()) + ", but it is " + Twine(known->integer));
      return {};
    }
    auto attr = dyn_cast<program::TensorAttr>(argument);
    if (!attr || attr.getAccess() != program::Access::workspace)
      return {};
    std::vector<int64_t> extents;
    for (auto [extent, dimension] :
         llvm::zip(tile::extentsOf(kernel.getBody().getArgument(number).getType()), attr.getDims()))
      extents.push_back(dimension < 0 ? extent : std::get<Element>(evaluation.arguments[dimension]).integer);
    add(number, attr, extents,
        std::vector<Element>(countOf(extents), Element{.defined = attr.getZeroFill()}));
    return {};
  }

  void add(unsigned number, program::TensorAttr attr, const std::vector<int64_t> &extents,
           std::vector<Element> elements) {
    GlobalTensor &tensor = evaluation.tensors.emplace_back();
    tensor.name = attr.getName().str();
    tensor.kind = kindOf(tile::elementTypeOf(kernel.getBody().getArgument(number).getType()));
    tensor.extents = extents;
    tensor.elements = std::move(elements);
    evaluation.arguments[number] = &tensor;
  }

  Evaluation &evaluation;
  tile::KernelOp kernel;
  const Arguments &given;
  size_t nextTensor = 0, nextScalar = 0;
};

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

std::unique_ptr<BlockState> makeBlock(Evaluation &evaluation, tile::KernelOp kernel) {
  auto block = std::make_unique<BlockState>(evaluation, kernel);
  for (auto [argument, value] : llvm::zip(kernel.getArguments(), evaluation.arguments))
    block->values[argument] = value;
  return block;
}

/// The number of blocks along each axis: what the host computes.
std::optional<std::array<int64_t, 3>> gridOf(Evaluation &evaluation, tile::KernelOp kernel) {
  std::unique_ptr<BlockState> host = makeBlock(evaluation, kernel);
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
      grid[tiles.getClusterAxis()] = llvm::divideCeil(grid[tiles.getClusterAxis()], cluster);
      int64_t most = std::max<int64_t>(evaluation.options.multiprocessors / cluster, 1);
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

Step launch(Evaluation &evaluation, tile::KernelOp kernel) {
  for (GlobalTensor &tensor : evaluation.tensors) {
    tensor.accesses.assign(tensor.elements.size(), {});
    tensor.sums.clear();
    tensor.counts.clear();
    tensor.several.clear();
  }
  auto counts = [](Operation *op) {
    return tile::letsBlocksGoOn(op) ? WalkResult::interrupt() : WalkResult::advance();
  };
  evaluation.counts = kernel.walk(counts).wasInterrupted();
  auto grid = gridOf(evaluation, kernel);
  if (!grid)
    return Step::failed;
  auto cluster = static_cast<int64_t>(kernel.getCluster());
  int64_t count = (*grid)[0] * (*grid)[1] * (*grid)[2];
  if (count % cluster != 0)
    return evaluation.fail(kernel, "expected a number of blocks that is a multiple of " + Twine(cluster) +
                                       " because so many share a cluster, but got " + Twine(count));
  for (int64_t first = 0; first < count; first += cluster) {
    std::vector<std::unique_ptr<BlockState>> blocks;
    for (int64_t rank = 0; rank < cluster; ++rank) {
      blocks.push_back(makeBlock(evaluation, kernel));
      BlockState &block = *blocks.back();
      block.number = first + rank;
      block.rank = rank;
      block.grid = *grid;
      block.position = {block.number % (*grid)[0], block.number / (*grid)[0] % (*grid)[1],
                        block.number / (*grid)[0] / (*grid)[1]};
      block.tasks.push_back({block, "", static_cast<int64_t>(kernel.getWarps())});
      block.tasks.back().enter(kernel, kernel.getBody());
    }
    for (const std::unique_ptr<BlockState> &block : blocks)
      block->cluster = blocks;
    if (runTogether(blocks) == Step::failed)
      return Step::failed;
  }
  return Step::done;
}

} // namespace

Result<Report> evaluate(ModuleOp module, Arguments &arguments, const Options &options) {
  Evaluation evaluation{.options = options};
  auto kernels = llvm::to_vector(module.getOps<tile::KernelOp>());
  if (kernels.empty())
    return invalid("expected a program of at least one launch");
  if (Result<void> bound = Binder(evaluation, kernels.front(), arguments).bind(); !bound)
    return bound.error();
  for (tile::KernelOp kernel : kernels)
    if (launch(evaluation, kernel) == Step::failed)
      return *evaluation.error;
  // The given tensors come first, in their order.
  for (auto [tensor, evaluated] : llvm::zip(arguments.tensors, evaluation.tensors))
    tensor.elements = std::move(evaluated.elements);
  return std::move(evaluation.report);
}

bool hasRule(StringRef operation) { return Rules::all().find(operation) != nullptr; }

} // namespace tlc::evaluator
