// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards what is computed row by row for more rows than tensor memory has lanes is computed for the
/// first 128 by themselves, and for the others.

#include "compiler/analysis/Divisibility.h"
#include "compiler/analysis/IndependentSums.h"
#include "compiler/analysis/TensorAccesses.h"
#include "compiler/analysis/TileFills.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "runtime/target/Hardware.h"

#include "llvm/ADT/TypeSwitch.h"

#include <array>

namespace tlc::tile {
#define GEN_PASS_DEF_SPLITROWS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

constexpr int parts = 2;
constexpr int64_t splitRows[] = {tcgen05Rows + tcgen05Rows / 2, 2 * tcgen05Rows};

class RowSplitter {
public:
  explicit RowSplitter(KernelOp kernel) : kernel(kernel) {}

  /// Whether a product has as many rows, and each operation works on rows by themselves.
  bool canSplit() {
    if (kernel.getWarps() != 0) // the author has shared the rows out
      return false;
    kernel.walk([&](GemmOp product) {
      int64_t ofProduct = product.getType().getDimSize(0);
      if (rows == 0 && llvm::is_contained(splitRows, ofProduct))
        rows = ofProduct;
    });
    if (rows == 0 || !isOrderedByDataAlone(kernel) || !areStoresApart())
      return false;
    WalkResult walked = kernel.walk<WalkOrder::PreOrder>(
        [&](Operation *op) { return canSplit(op) ? WalkResult::advance() : WalkResult::interrupt(); });
    return !walked.wasInterrupted();
  }

  void run() {
    Block &block = kernel.getBody().front();
    SmallVector<Operation *> replaced;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!isPerPart(&op) && !containsParts(&op))
        continue;
      OpBuilder builder(&op);
      write(&op, builder);
      replaced.push_back(&op);
    }
    for (Operation *op : replaced)
      for (OpResult result : op->getResults())
        if (!hasRows(result.getType())) // what has no parts may use it
          result.replaceAllUsesWith(mappings.front().lookup(result));
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
  }

private:
  /// A fragment with all rows.
  bool hasRows(Type type) const {
    auto fragment = dyn_cast<RankedTensorType>(type);
    return fragment && fragment.getRank() == 2 && fragment.getDimSize(0) == rows;
  }
  bool anyHasRows(Operation *op) const {
    auto has = [&](Type type) { return hasRows(type); };
    return llvm::any_of(op->getOperandTypes(), has) || llvm::any_of(op->getResultTypes(), has);
  }
  int64_t rowsOfPart(int part) const { return part == 0 ? tcgen05Rows : rows - tcgen05Rows; }
  Type partOf(Type type, int part) const {
    auto fragment = cast<RankedTensorType>(type);
    return fragment.clone(ArrayRef<int64_t>{rowsOfPart(part), fragment.getDimSize(1)});
  }

  /// Whether the parts store other elements, whatever tiles of rows other rounds of loops have. No tensor is
  /// read and written.
  bool areStoresApart() const {
    SmallVector<TensorAccess> accesses = tensorAccessesIn(kernel);
    return llvm::all_of(accesses, [&](TensorAccess &write) {
      if (write.kind == AccessKind::read)
        return true;
      bool isAlone = llvm::all_of(accesses, [&](TensorAccess &other) {
        return other.kind != AccessKind::read || other.slice.getTensor() != write.slice.getTensor();
      });
      std::optional<size_t> axis = axisOfRows(write.slice);
      return isAlone &&
             (write.slice.getDisjoint() || !axis || knownDivisor(write.slice.getOrigin()[*axis]) % rows == 0);
    });
  }

  /// Each part has its own: what it computes, and what it decides on.
  bool isPerPart(Operation *op) const {
    auto isFragment = llvm::IsaPred<RankedTensorType>;
    if (isa<scf::ForOp, scf::IfOp>(op))
      return false;
    if (anyHasRows(op))
      return true;
    bool repeats = isMemoryEffectFree(op) || isa<LoadOp>(op);
    return repeats && !op->hasTrait<OpTrait::IsTerminator>() &&
           (llvm::any_of(op->getResultTypes(), isFragment) ||
            llvm::any_of(op->getOperands(), [&](Value operand) { return decided.contains(operand); }));
  }

  bool containsParts(Operation *op) const {
    return op->getNumRegions() > 0 && op->walk([&](Operation *inner) {
                                          return isPerPart(inner) ? WalkResult::interrupt()
                                                                  : WalkResult::advance();
                                        }).wasInterrupted();
  }

  bool canSplit(Operation *op) {
    if (auto branch = dyn_cast<scf::IfOp>(op); branch && decided.contains(branch.getCondition()))
      return isPure(branch);
    if (isa<scf::ForOp, scf::IfOp>(op))
      return true;
    if (llvm::any_of(op->getOperands(), [&](Value operand) { return decided.contains(operand); })) {
      if (isa<scf::YieldOp>(op))
        return false;
      decided.insert_range(op->getResults());
      return isMemoryEffectFree(op) && op->getNumRegions() == 0;
    }
    if (isa<scf::YieldOp>(op) || !anyHasRows(op))
      return true;
    if (OpTrait::hasElementwiseMappableTraits(op))
      return true;
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case<SplatOp, CoordinatesOp, BroadcastOp, ConvertOp>([](auto) { return true; })
        .Case([](ReduceOp reduce) { return reduce.getAxis() != 0; })
        .Case([](ScanOp scan) { return scan.getAxis() != 0; })
        .Case([](arith::ConstantOp constant) { return isa<SplatElementsAttr>(constant.getValue()); })
        .Case([&](AnyInWarpOp any) { return decided.insert(any.getResult()).second; })
        .Case([](GemmOp gemm) { return !gemm.getMetadata(); })
        .Case([&](LoadOp load) { return isSplittable(load.getSource()); })
        .Case([&](StoreOp store) { return isSplittable(store.getDestination()); })
        .Default(false);
  }

  /// Whether rows of it are a slice, or a view, too.
  bool isSplittable(Value memory) const {
    if (auto slice = memory.getDefiningOp<SliceOp>())
      return axisOfRows(slice) && slice.getGatheredAxes().empty() &&
             slice.getTensorOrder() == program::TensorOrder::natural;
    auto shared = dyn_cast<SharedType>(memory.getType());
    return shared && shared.getShape().size() == 2;
  }

  /// Whether each part can have the branch for itself: it does nothing but compute rows.
  bool isPure(scf::IfOp branch) const {
    WalkResult walked = branch.walk([&](Operation *op) {
      auto inner = dyn_cast<scf::IfOp>(op);
      bool isOwn = inner ? inner.elseBlock() &&
                               llvm::all_of(inner.getResultTypes(), [&](Type type) { return hasRows(type); })
                         : op->getNumRegions() == 0 && (isMemoryEffectFree(op) || isa<LoadOp>(op));
      return isOwn ? WalkResult::advance() : WalkResult::interrupt();
    });
    return !walked.wasInterrupted();
  }

  std::optional<size_t> axisOfRows(SliceOp slice) const {
    ArrayRef<int64_t> shape = slice.getType().getShape();
    auto *axis = llvm::find_if(shape, [](int64_t extent) { return extent != 1; });
    return axis != shape.end() && *axis == rows ? std::optional(size_t(axis - shape.begin())) : std::nullopt;
  }

  //===--------------------------------------------------------------------===//
  // Writing
  //===--------------------------------------------------------------------===//

  void write(Operation *op, OpBuilder &builder) {
    // What only computes is each part's own, also where both take the same way: passes move it as a whole.
    if (auto branch = dyn_cast<scf::IfOp>(op); branch && containsParts(op) && isPure(branch))
      for (int part = 0; part < parts; ++part)
        writeOwn(branch, part, builder);
    else if (containsParts(op))
      isa<scf::ForOp>(op) ? writeLoop(cast<scf::ForOp>(op), builder)
                          : writeBranch(cast<scf::IfOp>(op), builder);
    else if (isPerPart(op))
      for (int part = 0; part < parts; ++part)
        writePart(op, part, builder);
    else
      writeOnce(op, builder);
  }

  void writeOnce(Operation *op, OpBuilder &builder) {
    Operation *made = builder.clone(*op, mappings.front());
    for (auto [from, to] : llvm::zip_equal(op->getResults(), made->getResults()))
      mappings.back().map(from, to);
  }

  /// The view or slice of the part's rows.
  Value rowsOf(Value memory, int part, OpBuilder &builder) {
    IRMapping &mapping = mappings[size_t(part)];
    Location loc = memory.getLoc();
    const int64_t first = part * tcgen05Rows;
    if (auto slice = memory.getDefiningOp<SliceOp>()) {
      const size_t axis = *axisOfRows(slice);
      auto made = cast<SliceOp>(builder.clone(*slice, mapping));
      if (first != 0) {
        ImplicitLocOpBuilder before(loc, made);
        Value offset = arith::ConstantIndexOp::create(before, first);
        made.getOriginMutable()[axis].set(arith::AddIOp::create(before, made.getOrigin()[axis], offset));
      }
      SmallVector<int64_t> extents(slice.getType().getShape());
      extents[axis] = rowsOfPart(part);
      made.getSlice().setType(
          SliceType::get(builder.getContext(), extents, slice.getType().getElementType()));
      return made;
    }
    auto type = cast<SharedType>(memory.getType());
    SmallVector<int64_t> extents(type.getShape());
    extents.front() = rowsOfPart(part);
    auto view = SharedType::get(builder.getContext(), extents, type.getElementType(), /*layout=*/{},
                                type.getTransposed());
    return RowsOp::create(builder, loc, view, mapping.lookupOrDefault(memory), first);
  }

  void writePart(Operation *op, int part, OpBuilder &builder) {
    IRMapping &mapping = mappings[size_t(part)];
    OpOperand *memory = nullptr; // of which it accesses the part's rows
    if (auto load = dyn_cast<LoadOp>(op); load && hasRows(load.getType()))
      memory = &load.getSourceMutable();
    else if (auto store = dyn_cast<StoreOp>(op); store && hasRows(store.getValue().getType()))
      memory = &store.getDestinationMutable();
    else if (auto gemm = dyn_cast<GemmOp>(op);
             gemm && hasRows(gemm.getType()) && isa<SharedType>(gemm.getA().getType()))
      memory = &gemm.getAMutable();
    Value view = memory ? rowsOf(memory->get(), part, builder) : Value();
    Operation *made = builder.clone(*op, mapping);
    if (view)
      made->setOperand(memory->getOperandNumber(), view);
    for (OpResult result : made->getResults())
      if (hasRows(result.getType()))
        result.setType(partOf(result.getType(), part));
    if (auto constant = dyn_cast<arith::ConstantOp>(made))
      if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()); splat && hasRows(splat.getType()))
        constant.setValueAttr(splat.resizeSplat(cast<ShapedType>(partOf(splat.getType(), part))));
    if (auto at = dyn_cast<CoordinatesOp>(op); at && at.getAxis() == 0 && part > 0 && hasRows(at.getType())) {
      ImplicitLocOpBuilder after(op->getLoc(), builder);
      Value first = SplatOp::create(after, made->getResult(0).getType(),
                                    arith::ConstantIndexOp::create(after, part * tcgen05Rows));
      mapping.map(op->getResult(0), arith::AddIOp::create(after, made->getResult(0), first).getResult());
    }
  }

  /// Of values that have them both parts, one after the other, of others the only one.
  SmallVector<Value> expand(ValueRange values) const {
    SmallVector<Value> expanded;
    for (Value value : values)
      for (const IRMapping &mapping : ArrayRef(mappings).take_front(hasRows(value.getType()) ? parts : 1))
        expanded.push_back(mapping.lookupOrDefault(value));
    return expanded;
  }

  void mapExpanded(ValueRange from, ValueRange to) {
    size_t next = 0;
    for (Value value : from)
      for (int part = 0; part < parts; ++part) {
        const bool isLast = part == parts - 1;
        mappings[size_t(part)].map(value, to[next]);
        next += hasRows(value.getType()) || isLast ? 1 : 0;
      }
  }

  SmallVector<Type> expandTypes(TypeRange types) const {
    SmallVector<Type> expanded;
    for (Type type : types)
      for (int part = 0; part < (hasRows(type) ? parts : 1); ++part)
        expanded.push_back(hasRows(type) ? partOf(type, part) : type);
    return expanded;
  }

  void writeBlock(Block &from, Block &to) {
    OpBuilder builder = OpBuilder::atBlockEnd(&to);
    for (Operation &op : from.without_terminator())
      write(&op, builder);
    scf::YieldOp::create(builder, from.getTerminator()->getLoc(),
                         expand(from.getTerminator()->getOperands()));
  }

  void writeLoop(scf::ForOp loop, OpBuilder &builder) {
    IRMapping &mapping = mappings.front();
    auto made = scf::ForOp::create(builder, loop.getLoc(), mapping.lookupOrDefault(loop.getLowerBound()),
                                   mapping.lookupOrDefault(loop.getUpperBound()),
                                   mapping.lookupOrDefault(loop.getStep()), expand(loop.getInitArgs()));
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    made.getBody()->clear(); // of the builder's terminator
    mapExpanded(loop.getInductionVar(), made.getInductionVar());
    mapExpanded(loop.getRegionIterArgs(), made.getRegionIterArgs());
    writeBlock(*loop.getBody(), *made.getBody());
    mapExpanded(loop.getResults(), made.getResults());
  }

  void writeBranch(scf::IfOp branch, OpBuilder &builder) {
    auto made = scf::IfOp::create(builder, branch.getLoc(), expandTypes(branch.getResultTypes()),
                                  mappings.front().lookupOrDefault(branch.getCondition()),
                                  /*addThenBlock=*/true, /*addElseBlock=*/branch.elseBlock() != nullptr);
    for (auto [from, to] : llvm::zip_equal(branch->getRegions(), made->getRegions()))
      if (!from.empty()) {
        to.front().clear();
        writeBlock(from.front(), to.front());
      }
    mapExpanded(branch.getResults(), made.getResults());
  }

  /// A branch of a part by itself.
  void writeOwn(scf::IfOp branch, int part, OpBuilder &builder) {
    IRMapping &mapping = mappings[size_t(part)];
    SmallVector<Type> types =
        llvm::map_to_vector(branch.getResultTypes(), [&](Type type) { return partOf(type, part); });
    auto made =
        scf::IfOp::create(builder, branch.getLoc(), types, mapping.lookupOrDefault(branch.getCondition()),
                          /*addThenBlock=*/true, /*addElseBlock=*/true);
    for (auto [from, to] : llvm::zip_equal(branch->getRegions(), made->getRegions())) {
      to.front().clear();
      OpBuilder inside = OpBuilder::atBlockEnd(&to.front());
      for (Operation &op : from.front().without_terminator())
        writeNested(&op, part, inside);
      SmallVector<Value> yielded;
      for (Value value : from.front().getTerminator()->getOperands())
        yielded.push_back(mapping.lookupOrDefault(value));
      scf::YieldOp::create(inside, branch.getLoc(), yielded);
    }
    for (auto [from, to] : llvm::zip_equal(branch.getResults(), made.getResults()))
      mapping.map(from, to);
  }

  /// In a branch of a part: branches there are its own, too.
  void writeNested(Operation *op, int part, OpBuilder &builder) {
    auto branch = dyn_cast<scf::IfOp>(op);
    branch &&containsParts(op) ? writeOwn(branch, part, builder) : writePart(op, part, builder);
  }

  KernelOp kernel;
  int64_t rows = 0; ///< that are split
  std::array<IRMapping, parts> mappings;
  llvm::DenseSet<Value> decided; ///< truth values that each part has of its own
};

struct SplitRows : impl::SplitRowsBase<SplitRows> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    const Target *target = program::findTarget(kernel);
    if (!enable || !target || !target->tcgen05 || synchronisesByHand(kernel))
      return;
    if (RowSplitter splitter(kernel); splitter.canSplit())
      splitter.run();
  }
};

} // namespace
} // namespace tlc::tile
