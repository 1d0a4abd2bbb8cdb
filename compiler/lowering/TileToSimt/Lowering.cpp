// SPDX-License-Identifier: Apache-2.0
/// \file
/// The frame of a lowered kernel: parameters, entry, exit, launch facts; the walk over
/// the operations.
#include "compiler/lowering/TileToSimt/Lowering.h"

#include "compiler/lowering/TileToSimt/PackedElements.h"
#include "dialects/tile/Cluster.h"
#include "dialects/tile/Counts.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "runtime/support/Math.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {
/// The kernel with its entry block; what is known only at the end is filled in then.
simt::KernelOp createKernel(tile::KernelOp source) {
  OpBuilder b(source);
  auto kernel = simt::KernelOp::create(
      b, source.getLoc(), source.getSymName(), b.getFunctionType({}, {}), source.getLaunch(),
      b.getArrayAttr({}), b.getTypeArrayAttr({}), b.getArrayAttr({}), b.getArrayAttr({}),
      /*roles=*/ArrayAttr(), /*shared=*/ArrayAttr(), /*marks=*/ArrayAttr(), ArrayAttr(), ArrayAttr());
  kernel.getBody().emplaceBlock();
  return kernel;
}

/// For reports: what the plan placed in shared memory.
SmallVector<Attribute> plannedObjects(tile::KernelOp source) {
  SmallVector<Attribute> objects;
  auto add = [&](StringRef name, program::SharedKind kind, int64_t offset, int64_t slots, int64_t slotBytes) {
    objects.push_back(program::SharedAttr::get(source.getContext(), name, kind, offset, slots, slotBytes));
  };
  source.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<tile::AllocSharedOp>(op)) {
      auto type = alloc.getBuffer().getType();
      if (!alloc.getOffset() || !type.getLayout())
        return;
      const SharedLayout &layout = type.getLayout().getLayout();
      int64_t slots = int64_t(type.getShape().size()) > layout.rank() ? type.getShape()[0] : 1;
      add(alloc.getName(), program::SharedKind::buffer, *alloc.getOffset(), slots,
          slots > 1 ? lowering::slotPitch(layout) : layout.totalBytes());
    } else if (auto ring = dyn_cast<tile::AllocRingOp>(op)) {
      if (ring.getOffset())
        add(ring.getName(), program::SharedKind::ring, *ring.getOffset(), ring.getRing().getType().getSlots(),
            2 * mbarrierBytes);
    } else if (auto barrier = dyn_cast<tile::AllocBarrierOp>(op)) {
      if (barrier.getOffset())
        add(barrier.getName(), program::SharedKind::barrier, *barrier.getOffset(), 1, mbarrierBytes);
    } else if (auto response = dyn_cast<tile::AllocResponseOp>(op)) {
      if (response.getOffset())
        add(response.getName(), program::SharedKind::buffer, *response.getOffset(), 1,
            cancelResponseBytes + mbarrierBytes);
    } else if (auto columns = dyn_cast<tile::ReserveTensorMemoryOp>(op)) {
      if (columns.getOffset())
        add(columns.getName(), program::SharedKind::buffer, *columns.getOffset(), 1, registerBytes);
    }
  });
  return objects;
}

/// For reports: what the source calls the warps and the shared memory.
void setNames(simt::KernelOp kernel, tile::KernelOp source) {
  MLIRContext *context = kernel.getContext();
  SmallVector<Attribute> roles, shared = plannedObjects(source);
  SmallVector<tile::RolesOp> parts;
  source.walk([&](tile::RolesOp op) { parts.push_back(op); });
  // Where roles follow roles, a warp has no one name.
  if (parts.size() == 1) {
    int64_t firstWarp = 0;
    for (auto role : parts.front().getBody().getOps<tile::RoleOp>()) {
      roles.push_back(program::RoleAttr::get(context, role.getName(), firstWarp, int64_t(role.getWarps())));
      firstWarp += int64_t(role.getWarps());
    }
  }
  if (!roles.empty())
    kernel.setRolesAttr(ArrayAttr::get(context, roles));
  if (!shared.empty())
    kernel.setSharedAttr(ArrayAttr::get(context, shared));
}
} // namespace

int64_t lowering::slotPitch(const SharedLayout &layout) {
  return alignTo(layout.totalBytes(), layout.alignment());
}

KernelLowering::KernelLowering(tile::KernelOp source)
    : source(source), kernel(createKernel(source)), b(source.getLoc(), &kernel.getBody().front()),
      target(*program::findTarget(source)), accessesOtherBlocks(!tile::buffersOfCluster(source).empty()) {
  if (auto limit = source->getAttrOfType<IntegerAttr>(tile::waitLimitAttrName))
    waitLimit = limit.getInt();
  source.walk([&](tile::NamedBarrierOp op) { usedBarriers |= uint32_t(1) << op.getId(); });
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

Value KernelLowering::addParameter(Type type, program::ParameterKind kind, int64_t index, int64_t axis) {
  parameters.push_back(program::ParameterAttr::get(b.getContext(), kind, index, axis));
  return kernel.getBody().addArgument(type, source.getLoc());
}

Value KernelLowering::findParameter(program::ParameterKind kind, int64_t index) {
  auto known = llvm::find(parameters, program::ParameterAttr::get(b.getContext(), kind, index, 0));
  return known == parameters.end()
             ? Value()
             : Value(kernel.getBody().getArgument(unsigned(known - parameters.begin())));
}

Value KernelLowering::multicastPointer(const GlobalTensor &tensor) {
  constexpr auto kind = program::ParameterKind::multicastPointer;
  if (Value known = findParameter(kind, tensor.number))
    return known;
  return addParameter(LLVM::LLVMPointerType::get(b.getContext(), 1), kind, tensor.number);
}

void KernelLowering::addArguments() {
  int64_t dimensions = 0, scalars = 0;
  SmallVector<int64_t> multiples; // by argument
  SmallVector<Type> types;
  for (BlockArgument argument : source.getBody().getArguments()) {
    Attribute attribute = source.getArgument(argument.getArgNumber());
    schema.push_back(attribute);
    multiples.push_back(1);
    if (auto dimension = dyn_cast<program::DimensionAttr>(attribute)) {
      bool fixed = dimension.getFixed() >= 0;
      multiples.back() = fixed ? dimension.getFixed() : dimension.getMultipleOf();
      set(argument, fixed ? b.i32(dimension.getFixed())
                          : addParameter(b.getI32Type(), program::ParameterKind::dimension, dimensions));
      ++dimensions;
    } else if (isa<program::ScalarAttr>(attribute)) {
      set(argument, addParameter(argument.getType(), program::ParameterKind::scalar, scalars++));
    } else {
      GlobalTensor tensor;
      tensor.argument = cast<program::TensorAttr>(attribute);
      tensor.number = int64_t(tensors.size());
      Type element = cast<tile::GlobalType>(argument.getType()).getElementType();
      tensor.element = typeOf(element);
      tensor.packing = elementsPerUnit(element);
      set(argument, std::move(tensor));
    }
  }
  for (BlockArgument argument : source.getBody().getArguments()) {
    auto type = dyn_cast<tile::GlobalType>(argument.getType());
    if (!type) {
      types.push_back(argument.getType());
      continue;
    }
    types.push_back(RankedTensorType::get(type.getShape(), type.getElementType()));
    GlobalTensor &tensor = tensors[tensorNumbers.lookup(argument)];
    using program::ParameterKind;
    bool hasTable = tensor.argument.getSymmetric();
    tensor.pointer =
        addParameter(LLVM::LLVMPointerType::get(b.getContext(), hasTable ? 0 : 1),
                     hasTable ? ParameterKind::tensorPointers : ParameterKind::tensorPointer, tensor.number);
    int64_t rank = int64_t(type.getShape().size());
    for (auto [axis, extent] : llvm::enumerate(type.getShape())) {
      tensor.strides.push_back(
          int64_t(axis) + 1 == rank && !tensor.argument.getStrided()
              ? b.i64(1)
              : b.divide(addParameter(b.getI64Type(), program::ParameterKind::tensorStride, tensor.number,
                                      int64_t(axis)),
                         tensor.packing));
      int64_t dimension = tensor.argument.getDims()[axis];
      bool runtime = ShapedType::isDynamic(extent);
      tensor.extents.push_back(runtime ? value(source.getBody().getArgument(unsigned(dimension)))
                                       : b.i32(extent));
      tensor.multiples.push_back(runtime ? multiples[size_t(dimension)] : extent);
    }
    // The launcher has seen that the last extent is a multiple.
    tensor.extents.back() = b.divide(tensor.extents.back(), tensor.packing);
    tensor.multiples.back() = divisorInUnits(tensor.multiples.back(), tensor.packing);
  }
  kernel.setSchemaTypesAttr(b.getTypeArrayAttr(types));
}

Value KernelLowering::entryOfRank(Value table, const Slice &slice, int64_t bytes) {
  return b.offset(table, b.mul(b.extend(slice.rank), b.i64(bytes)));
}

Value KernelLowering::tensorMap(const Slice &slice, ArrayRef<int64_t> box, Swizzle swizzle, int64_t before) {
  auto kind = slice.rank ? program::ParameterKind::tensorMaps : program::ParameterKind::tensorMap;
  auto recipe = program::TensorMapAttr::get(
      b.getContext(), slice.tensor->number, box, program::swizzleOf(swizzle), slice.limitedAxis, before,
      slice.tensor->source ? slice.tensor->source->attr : program::WindowAttr());
  auto known = llvm::find(maps, recipe);
  int64_t index = known - maps.begin();
  Value map;
  if (known == maps.end()) {
    maps.push_back(recipe);
    map = addParameter(LLVM::LLVMPointerType::get(b.getContext()), kind, index);
  } else {
    map = findParameter(kind, index);
  }
  return slice.rank ? entryOfRank(map, slice, tensorMapBytes) : map;
}

//===----------------------------------------------------------------------===//
// Entry and exit
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::run() {
  if (failed(checkLayouts()))
    return failure();
  b.setInsertionPointToEnd(&kernel.getBody().front());
  addArguments();
  thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  warpIndex = simt::WarpIndexOp::create(b);
  sharedBase = simt::SharedBaseOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 3));
  prologue = sharedBase.getDefiningOp();
  team.warps = source.getWarps();
  team.thread = thread;
  team.warp = warpIndex;
  team.lane = b.bitAnd(thread, lanesPerWarp - 1);
  team.name = ("kernel '" + source.getSymName() + "'").str();
  makePolicies();
  if (failed(lowerBlock(source.getBody().front())))
    return failure();
  b.setLoc(source.getLoc());
  freeTensorMemory();
  return finish();
}

void KernelLowering::makePolicies() {
  policies.clear();
  source.walk([&](tile::SliceOp slice) {
    program::EvictionAttr eviction = slice.getEvictionAttr();
    if (eviction && !policies.contains(eviction))
      policies[eviction] = simt::CachePolicyOp::create(b, eviction);
  });
}

void KernelLowering::rematerialiseDimensions() {
  for (BlockArgument argument : source.getBody().getArguments())
    if (isa<program::DimensionAttr>(source.getArgument(argument.getArgNumber())) &&
        !Emitter::known(value(argument)))
      set(argument, simt::OpaqueOp::create(b, value(argument)));
}

void KernelLowering::rematerialiseWarp() {
  Value number = simt::OpaqueOp::create(b, thread);
  team.warp = b.add(b.divide(number, lanesPerWarp), -team.firstWarp);
}

LogicalResult KernelLowering::finish() {
  bool cluster = source.getCluster() > 1;
  if (cluster && (!barrierInits.empty() || !maps.empty() || accessesOtherBlocks))
    simt::ClusterSyncOp::create(b, /*relaxed=*/false); // no block may leave while others access its memory
  simt::ReturnOp::create(b);
  emitPrologue();

  // What only the host needs was lowered like the rest.
  kernel->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (op != kernel && isOpTriviallyDead(op))
      op->erase();
  });
  Block &entry = kernel.getBody().front();
  llvm::BitVector unused(entry.getNumArguments());
  SmallVector<Attribute> attributes;
  for (BlockArgument argument : entry.getArguments()) {
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
    else
      attributes.push_back(b.getDictionaryAttr(
          b.getNamedAttr(program::ProgramDialect::parameterAttrName, parameters[argument.getArgNumber()])));
  }
  entry.eraseArguments(unused);
  kernel.setFunctionType(b.getFunctionType(entry.getArgumentTypes(), {}));
  kernel.setArgAttrsAttr(b.getArrayAttr(attributes));
  kernel.setSchemaAttr(b.getArrayAttr(schema));
  kernel.setTensorMapsAttr(b.getArrayAttr(maps));
  setNames(kernel, source);
  if (grid.empty())
    grid.push_back(program::HostExprAttr::get(b.getContext(), "1"));
  kernel.setGridAttr(b.getArrayAttr(grid));
  return success();
}

void KernelLowering::initBarrier(int64_t offset, int64_t count) { barrierInits.push_back({offset, count}); }

void KernelLowering::emitPrologue() {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(prologue);
  if (!barrierInits.empty() || !maps.empty())
    b.when(b.isEqual(thread, 0), [&] {
      for (auto [argument, attribute] : llvm::zip(kernel.getBody().getArguments(), parameters))
        if (cast<program::ParameterAttr>(attribute).getKind() == program::ParameterKind::tensorMap)
          simt::TmaPrefetchOp::create(b, argument);
      for (BarrierInit init : barrierInits)
        simt::BarrierInitOp::create(b, sharedAt(init.offset), init.count);
      if (!barrierInits.empty())
        simt::BarrierInitFenceOp::create(b);
    });
  if (!barrierInits.empty() || accessesOtherBlocks) {
    if (source.getCluster() > 1) // relaxed: blocks must have begun, and barriers be known, by their fence
      simt::ClusterSyncOp::create(b, /*relaxed=*/true);
    else
      simt::SyncOp::create(b, b.i32(0), IntegerAttr(), UnitAttr());
  }
  // What is above touches no global memory, so it may run while the launch before this one drains; and the
  // next launch may start its own as soon as all blocks of this one are here.
  if (target.launchOrder)
    simt::LaunchOrderOp::create(b);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerBlock(Block &block) {
  // Values made opaque in the block are known again after it.
  Team before = team;
  SmallVector<Value> arguments;
  for (BlockArgument argument : source.getBody().getArguments())
    arguments.push_back(value(argument));
  llvm::scope_exit restore([&] {
    team = before;
    for (auto [argument, value] : llvm::zip_equal(source.getBody().getArguments(), arguments))
      set(argument, value);
  });
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>() && failed(lower(op)))
      return failure();
  return success();
}

LogicalResult KernelLowering::lower(Operation &op) {
  b.setLoc(op.getLoc());
  if (!hostOnly.empty() && !isa<tile::GridOp>(op) &&
      llvm::any_of(op.getOperands(), [&](Value operand) { return hostOnly.contains(operand); })) {
    if (!isMemoryEffectFree(&op) || op.getNumRegions() != 0)
      return op.emitOpError() << "expected a value that the device knows, but got one that depends on "
                                 "the number of multiprocessors, which only the host knows; use the number "
                                 "of blocks, k.blocks()";
    for (Value result : op.getResults())
      setHostOnly(result);
    return success();
  }
  if (failed(checkTypes(op)))
    return failure();
  const LoweringTable::Lowering *lowering = LoweringTable::all().find(op);
  if (!lowering)
    return op.emitOpError()
           << "expected an operation of the phase 'planned': tile, scf, or arith and math on numbers "
              "and fragments, but got another";
  return (*lowering)(*this, op);
}

const LoweringTable::Lowering *LoweringTable::find(Operation &op) const {
  if (auto found = ofOperations.find(op.getName().getTypeID()); found != ofOperations.end())
    return &found->second;
  Dialect *dialect = op.getDialect();
  auto found = dialect ? ofDialects.find(dialect->getTypeID()) : ofDialects.end();
  return found == ofDialects.end() ? nullptr : &found->second;
}

const LoweringTable &LoweringTable::all() {
  static const LoweringTable table = [] {
    LoweringTable filled;
    addAtomicFetchLowerings(filled);
    addClusterLowerings(filled);
    addControlLowerings(filled);
    addConvertLowerings(filled);
    addCopyLowerings(filled);
    addCudaLowerings(filled);
    addElementLowerings(filled);
    addElementwiseLowerings(filled);
    addGemmLowerings(filled);
    addGridLowerings(filled);
    addReduceLowerings(filled);
    addRelayoutLowerings(filled);
    addReportLowerings(filled);
    addSyncLowerings(filled);
    addTensorMemoryLowerings(filled);
    addTmaLowerings(filled);
    addWindowsLowerings(filled);
    return filled;
  }();
  return table;
}

/// Loops look at their bodies before these are lowered, so all layouts are there before the first operation
/// is.
LogicalResult KernelLowering::checkLayouts() {
  auto check = [](Operation *op, Type type) -> LogicalResult {
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && !isa_and_present<tile::LayoutAttr>(tensor.getEncoding()))
      return op->emitOpError() << "expected fragments with a layout, but got " << type
                               << "; run 'tile-infer-layouts' before 'tile-to-simt'";
    if (auto shared = dyn_cast<tile::SharedType>(type); shared && !shared.getLayout())
      return op->emitOpError() << "expected shared tiles with a layout, but got " << type
                               << "; run 'tile-infer-layouts' before 'tile-to-simt'";
    return success();
  };
  WalkResult walked = source->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        if (failed(check(op, type)))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

/// What every operation relies on: fragments are spread over this team's warps, and buffers with slots are
/// used one slot at a time.
LogicalResult KernelLowering::checkTypes(Operation &op) {
  auto check = [&](Type type) -> LogicalResult {
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      int64_t warps = layoutOf(tensor).numWarps();
      if (warps != team.warps)
        return op.emitOpError() << "expected a layout of " << team.warps << " warps because " << team.name
                                << " has as many, but got one of " << warps << " in " << type;
    } else if (auto shared = dyn_cast<tile::SharedType>(type)) {
      bool slots = int64_t(shared.getShape().size()) != shared.getLayout().getLayout().rank();
      auto isAll = [&](const tile::MemoryAccess &access) { return access.memory.getType() == type; };
      if (slots && llvm::any_of(tile::memoryAccessesOf(&op), isAll))
        return op.emitOpError()
               << "expected a tile because the buffer has slots, but got all of them; take one "
                  "with 'tile.slot'";
    }
    return success();
  };
  for (Type type : op.getOperandTypes())
    if (failed(check(type)))
      return failure();
  for (Type type : op.getResultTypes())
    if (failed(check(type)))
      return failure();
  return success();
}
