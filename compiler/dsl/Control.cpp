// SPDX-License-Identifier: Apache-2.0
/// \file
/// Launches, grids, tiles, loops, branches, roles.
#include "compiler/dsl/Arithmetic.h"
#include "compiler/dsl/Trace.h"
#include "dialects/tile/Shapes.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

void Scope::launch(std::string_view name, const Body &body, Loc loc) { trace->launch(name, body, loc); }

namespace {
/// The extents of a grid as values; nothing after a mistake.
std::optional<SmallVector<Value>> gridExtents(Trace &trace, std::span<const Index> extents, Loc loc) {
  SmallVector<Value> values;
  for (const Index &extent : extents) {
    if (extent.constant() && *extent.constant() < 0) {
      trace.error(loc,
                  "expected the extents of a grid to be at least 0, but got " + Twine(*extent.constant()));
      return std::nullopt;
    }
    values.push_back(trace.useUniform(extent, "an extent of the grid", loc));
    if (!values.back())
      return std::nullopt;
  }
  return values;
}

template <size_t axes>
std::array<Index, axes> makeGrid(Trace &trace, const std::array<Index, axes> &extents, Loc loc) {
  std::array<Index, axes> position;
  std::optional<SmallVector<Value>> values = gridExtents(trace, extents, loc);
  tile::GridOp op;
  if (values && trace.checkTopLevel("k.grid", loc))
    op = trace.create<tile::GridOp>(loc, SmallVector<Type>(axes, trace.builder.getIndexType()), *values);
  for (size_t axis = 0; axis < axes; ++axis)
    position[axis] = trace.make<Index>(op ? op.getResult(axis) : Value());
  return position;
}
} // namespace

std::array<Index, 1> Scope::grid(const Index &x, Loc loc) { return makeGrid<1>(*trace, {x}, loc); }
std::array<Index, 2> Scope::grid(const Index &x, const Index &y, Loc loc) {
  return makeGrid<2>(*trace, {x, y}, loc);
}
std::array<Index, 3> Scope::grid(const Index &x, const Index &y, const Index &z, Loc loc) {
  return makeGrid<3>(*trace, {x, y, z}, loc);
}

void Scope::persistentTiles(std::span<const Index> extents, PersistentOptions options,
                            const std::function<void(std::span<const Index>)> &body, Loc loc) {
  std::optional<SmallVector<Value>> values = gridExtents(*trace, extents, loc);
  tile::PersistentOp op;
  if (options.group < 1)
    trace->error(loc, "expected a group of at least 1 row of tiles, but got " + Twine(options.group));
  else if (values && trace->checkTopLevel("k.persistent", loc))
    op = trace->create<tile::PersistentOp>(loc, *values, options.group,
                                           options.cluster == ClusterAxis::rows ? 0 : 1,
                                           options.scheduling == TileScheduling::dynamic);
  std::vector<Index> position(extents.size(), trace->poison<Index>());
  if (!op) { // what else is wrong?
    body(position);
    return;
  }
  Block &block = op.getBody().emplaceBlock();
  for (Index &index : position)
    index = trace->make<Index>(block.addArgument(trace->builder.getIndexType(), op.getLoc()));
  trace->inside(&block, [&] { body(position); });
}

void Scope::warps(int64_t count, Loc loc) {
  if (!trace->checkCurrent(loc))
    return;
  int64_t most = 0;
  for (const Target &target : allTargets())
    most = std::max(most, target.maxThreadsPerBlock / lanesPerWarp);
  if (count < 1 || count > most) {
    trace->error(loc, "expected from 1 to " + Twine(most) + " warps, but got " + Twine(count));
    return;
  }
  trace->kernel().setWarps(count);
}

void Scope::cluster(int64_t blocks, Loc loc) {
  if (!trace->checkCurrent(loc))
    return;
  unsigned most = 0;
  for (const Target &target : allTargets())
    most = std::max(most, target.maxClusterSize);
  if (blocks < 1 || blocks > int64_t(most)) {
    trace->error(loc, "expected from 1 to " + Twine(most) + " blocks per cluster, but got " + Twine(blocks));
    return;
  }
  trace->kernel().setCluster(blocks);
}

void Scope::residents(int64_t blocks, Loc loc) {
  if (!trace->checkCurrent(loc))
    return;
  unsigned most = 0;
  for (const Target &target : allTargets())
    most = std::max(most, target.maxBlocksPerMultiprocessor);
  if (blocks < 1 || blocks > int64_t(most)) {
    trace->error(loc, "expected from 1 to " + Twine(most) + " blocks on a multiprocessor, but got " +
                          Twine(blocks));
    return;
  }
  trace->kernel().setResidents(blocks);
}

void Scope::loadRole(Loc loc) {
  if (trace->checkCurrent(loc))
    trace->kernel().setLoadRole(true);
}

void Scope::storeRole(Loc loc) {
  if (trace->checkCurrent(loc))
    trace->kernel().setStoreRole(true);
}

Index Scope::blockRank(Loc loc) {
  return trace->make<Index>(trace->create<tile::BlockRankOp>(loc, trace->builder.getIndexType()));
}

Index Scope::blocks(Loc loc) {
  return trace->make<Index>(trace->create<tile::BlocksOp>(loc, trace->builder.getIndexType()));
}

Index Scope::multiprocessors(Loc loc) {
  return trace->make<Index>(trace->create<tile::MultiprocessorsOp>(loc, trace->builder.getIndexType()));
}

namespace {
TLC_ENUM_CONVERSION(kindOf, Requirement, tile::Requirement, TLC_REQUIREMENTS)
} // namespace

void Scope::require(Requirement requirement, Loc loc) {
  trace->create<tile::RequireOp>(loc, kindOf(requirement));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Shared Scope::shared(std::string_view name, ElementType element, const TileExtents &shape,
                     SharedOptions options, Loc loc) {
  std::string what = "shared tile '" + excerpt(name) + "'";
  if (options.slots < 0) {
    trace->error(loc, "expected " + what + " to have at least 0 slots, but got " + Twine(options.slots));
    return trace->poison<Shared>();
  }
  SmallVector<int64_t> extents(shape.begin(), shape.end());
  if (options.slots > 0)
    extents.insert(extents.begin(), options.slots);
  if (!trace->checkExtents(what, extents, loc) ||
      !trace->checkPacking(what, extents, trace->typeOf(element), loc))
    return trace->poison<Shared>();
  int64_t bytes = bytesOf(element, tile::numElements(extents)), available = 0;
  for (const Target &target : allTargets())
    available = std::max(available, int64_t(target.sharedBytesPerBlock));
  if (bytes > available) {
    trace->error(loc, "expected " + what + " to take at most " + Twine(available) +
                          " bytes because no target has more shared memory per block, but " +
                          tile::toText(extents) + " of " + toString(element) + " takes " + Twine(bytes));
    return trace->poison<Shared>();
  }
  auto type = tile::SharedType::get(trace->builder.getContext(), extents, trace->typeOf(element));
  auto buffer = trace->make<Shared>(
      trace->create<tile::AllocSharedOp>(loc, type, trace->builder.getStringAttr(name), IntegerAttr()));
  buffer.slots = options.slots > 0;
  return buffer;
}

TensorMemory Scope::tensorMemory(std::string_view name, ElementType element, const TileExtents &shape,
                                 SharedOptions options, Loc loc) {
  std::string what = "'" + excerpt(name) + "' in tensor memory";
  if (options.slots < 0) {
    trace->error(loc, "expected " + what + " to have at least 0 slots, but got " + Twine(options.slots));
    return trace->poison<TensorMemory>();
  }
  SmallVector<int64_t> extents(shape.begin(), shape.end());
  if (options.slots > 0)
    extents.insert(extents.begin(), options.slots);
  if (!trace->checkExtents(what, extents, loc))
    return trace->poison<TensorMemory>();
  auto report = [&] { return emitError(trace->at(loc)) << what << ": "; };
  auto type = tile::TensorMemoryType::getChecked(report, trace->builder.getContext(),
                                                 ArrayRef<int64_t>(extents), trace->typeOf(element));
  if (!type)
    return trace->poison<TensorMemory>();
  return trace->make<TensorMemory>(
      trace->create<tile::AllocTensorMemoryOp>(loc, type, trace->builder.getStringAttr(name),
                                               /*over=*/StringAttr(), IntegerAttr()));
}

Fragment Scope::fragment(ElementType element, const TileExtents &shape, const Scalar &initial, Loc loc) {
  auto poison = [&] { return Fragment(trace->poison<Handle>().ref(), loc); };
  if (!trace->checkExtents("a fragment", shape, loc))
    return poison();
  Value value = trace->filled(initial, RankedTensorType::get(shape, trace->typeOf(element)), loc);
  return value ? Fragment(trace->make<FragmentValue>(value), loc) : poison();
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

namespace {
/// The loop, carrying `initial`, or null after a mistake; its body is yet to be traced.
scf::ForOp makeLoop(Trace &trace, const Range &range, ValueRange initial, Loc loc) {
  Value from = trace.useUniform(range.from, "the start of a loop", loc);
  Value to = trace.useUniform(range.to, "the end of a loop", loc);
  Value step = trace.useUniform(range.step, "the step of a loop", loc);
  if (range.step.constant() && *range.step.constant() < 1) {
    trace.error(loc, "expected a step of at least 1, but got " + Twine(*range.step.constant()) +
                         "; to count down, loop over {0, n} and use n - 1 - i");
    step = {};
  }
  return from && to && step ? trace.create<scf::ForOp>(loc, from, to, step, initial) : scf::ForOp();
}

/// The loop, or null after a mistake; its body is traced either way.
scf::ForOp traceLoop(Trace &trace, const Range &range, const LoopBody &body, Loc loc) {
  scf::ForOp loop = makeLoop(trace, range, {}, loc);
  if (!loop) { // what else is wrong?
    body(trace.poison<Index>());
    return {};
  }
  trace.inside(loop.getBody(), [&] { body(trace.make<Index>(loop.getInductionVar())); });
  return loop;
}
} // namespace

void Scope::loop(const Range &range, const LoopBody &body, Loc loc) { traceLoop(*trace, range, body, loc); }

// The loop carries whether it goes on, and its body is a branch on that: to what handles loops and branches
// it is one of each. Its lowering makes a loop that ends.
void Scope::loopWhile(const Range &range, const LoopWhileBody &body, Loc loc) {
  auto truthValue = [&](bool value) {
    return trace->create<arith::ConstantOp>(loc, trace->builder.getBoolAttr(value));
  };
  Value begins = truthValue(true);
  scf::ForOp loop = begins ? makeLoop(*trace, range, begins, loc) : scf::ForOp();
  if (!loop) { // what else is wrong?
    body(trace->poison<Index>());
    return;
  }
  trace->inside(loop.getBody(), [&] {
    Value goesOn = loop.getRegionIterArg(0);
    auto branch = trace->create<scf::IfOp>(loc, TypeRange(goesOn.getType()), goesOn, /*addThenBlock=*/true,
                                           /*addElseBlock=*/true);
    trace->inside(branch.thenBlock(), [&] {
      Predicate condition = body(trace->make<Index>(loop.getInductionVar()));
      Value value = uniformTruth(*trace, condition, "the condition of k.loopWhile", loc,
                                 "copy them to shared memory and compare one that read() gives");
      trace->create<scf::YieldOp>(loc, value ? value : truthValue(false));
    });
    trace->inside(branch.elseBlock(), [&] { trace->create<scf::YieldOp>(loc, truthValue(false)); });
    trace->create<scf::YieldOp>(loc, branch.getResults());
  });
}

void Scope::pipelined(const Range &range, PipelineOptions options, const LoopBody &body, Loc loc) {
  bool known = options.stages >= 1 && options.stages <= tile::maxElements;
  if (!known)
    trace->error(loc, "expected from 1 to " + Twine(tile::maxElements) + " stages, but got " +
                          Twine(options.stages));
  if (scf::ForOp loop = traceLoop(*trace, range, body, loc); loop && known)
    loop->setAttr(tile::TileDialect::pipelineAttrName,
                  tile::PipelineAttr::get(trace->builder.getContext(), options.stages));
}

void Scope::when(const Predicate &condition, const Body &then, const Body &otherwise, Loc loc) {
  if (std::optional<bool> known = condition.constant()) {
    if (*known)
      then();
    else if (otherwise)
      otherwise();
    return;
  }
  Value value = uniformTruth(*trace, condition, "the condition of k.when", loc);
  scf::IfOp branch;
  if (value)
    branch = trace->create<scf::IfOp>(loc, value, /*withElseRegion=*/bool(otherwise));
  if (!branch) { // what else is wrong?
    then();
    if (otherwise)
      otherwise();
    return;
  }
  trace->inside(branch.thenBlock(), then);
  if (otherwise)
    trace->inside(branch.elseBlock(), otherwise);
}

void Scope::whenAny(const Predicate &condition, const Body &body, Loc loc) {
  if (condition.constant())
    return when(condition, body, {}, loc);
  Value value = truth(*trace, condition, "the condition of k.whenAny", loc);
  if (value && isa<RankedTensorType>(value.getType()))
    value = trace->create<tile::AnyInWarpOp>(loc, value);
  auto branch = value ? trace->create<scf::IfOp>(loc, value, /*withElseRegion=*/false) : scf::IfOp();
  branch ? trace->inside(branch.thenBlock(), body) : body();
  if (!branch || !value.getDefiningOp<tile::AnyInWarpOp>())
    return;
  // Passes access tensor memory in such branches where each warp has its own lanes. Authors may not.
  branch->walk(
      [&](Operation *op) {
        bool moves = llvm::any_of(tile::memoryAccessesOf(op),
                                  [](const tile::MemoryAccess &access) { return access.isTensorMemory(); });
        if (!moves)
          return WalkResult::advance();
        InFlightDiagnostic diagnostic =
            emitError(trace->at(loc))
            << "k.whenAny: expected only arithmetic in its branch because each warp decides "
               "by itself whether to run it";
        diagnostic.attachNote(op->getLoc()) << "but this accesses tensor memory";
        return WalkResult::interrupt();
      });
}

} // namespace tlc::dsl::inline v1
