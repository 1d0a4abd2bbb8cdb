// SPDX-License-Identifier: Apache-2.0
/// \file
/// A walk over the operations that repeats the control flow, and keeps what the role needs.

#include "compiler/transforms/RoleWriter.h"

#include "compiler/analysis/RolePlan.h"
#include "compiler/strategies/FitSlots.h"
#include "dialects/tile/SharedSlice.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tlc::tile {

using namespace mlir;

namespace {

class RoleWriter {
public:
  RoleWriter(StringRef role, const CopyGroups &groups, const Channels &channels, KernelOp kernel,
             OpBuilder builder)
      : role(role), channels(channels), elsewhere(valuesOfOtherRoles(kernel, role)), builder(builder) {
    for (auto &channel : groups.groups) {
      for (GroupedCopy copy : channel->copies)
        handedOver.insert(copy.buffer.getDefiningOp());
      if (channel->channel.getFrom() == role)
        filled.push_back(channel.get());
      for (const SlotReaders &readers : channel->readers)
        if (readers.role == role)
          read.push_back({channel.get(), readers});
    }
  }

  void write(ArrayRef<Operation *> ops) {
    for (Operation *op : ops)
      write(op);
  }

private:
  Value lookup(Value value) { return mapping.lookupOrDefault(value); }

  void write(Operation *op) {
    auto *filling = llvm::find_if(filled, [&](CopyGroup *group) { return isFilledBy(*group, op); });
    CopyGroup *group = filling == filled.end() ? nullptr : *filling;
    for (auto &[each, readers] : read)
      if (readers.first == op)
        get(*each, op->getLoc());
    for (CopyGroup *each : filled)
      if (each->reclaimedBy == op)
        use(*each, ReclaimOp::create(builder, op->getLoc(), channels.lookup(each)), op->getLoc());
    if (!group)
      writeOther(op);
    else if (op == group->copies.back().op)
      isTile(*group) ? put(*group) : putInPlace(*group);
    for (auto &[each, readers] : read)
      if (readers.last == op)
        ReleaseOldestOp::create(builder, op->getLoc(), channels.lookup(each), readers.byProducts,
                                /*by_others=*/false);
  }

  static bool isFilledBy(const CopyGroup &group, Operation *op) {
    return llvm::any_of(group.copies, [&](const GroupedCopy &copy) { return copy.op == op; });
  }

  /// A role keeps what positions and trip counts are made of; dead parts fold away.
  bool keeps(Value value) { return !elsewhere.contains(value); }

  void writeOther(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return writeLoop(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return writeBranch(branch);
    if (Value viewed = viewedTile(op); viewed && isHandedOver(viewed))
      return; // made with the slot, or of a slice with the access: what its position is made of may come
              // later
    StringRef own = plannedRoleOf(op);
    if (own.empty() ? !llvm::all_of(op->getResults(), [&](Value result) { return keeps(result); })
                    : own != role)
      return;
    if (auto gemm = dyn_cast<GemmOp>(op); gemm && gemm.getAtom() == MatrixAtom::wgmma) {
      Value metadata = gemm.getMetadata() ? lookup(gemm.getMetadata()) : Value();
      auto started =
          GemmAsyncOp::create(builder, op->getLoc(), lookup(gemm.getA()), lookup(gemm.getB()),
                              lookup(gemm.getAcc()), metadata, gemm.getPolicy(), gemm.getAtomAttr());
      auto done = GemmWaitOp::create(builder, op->getLoc(), started.getResult(), 0);
      mapping.map(gemm.getResult(), done.getResult());
      return;
    }
    for (Value operand : op->getOperands())
      if (auto slice = operand.getDefiningOp<SliceSharedOp>(); slice && isHandedOver(slice.getTile()))
        builder.clone(*slice, mapping);
    Operation *copy = builder.clone(*op, mapping);
    for (StringRef planned : {TileDialect::roleAttrName, TileDialect::channelAttrName})
      copy->removeDiscardableAttr(planned);
  }

  bool isHandedOver(Value view) {
    while (Value viewed = viewedTile(view.getDefiningOp()))
      view = viewed;
    return handedOver.contains(view.getDefiningOp());
  }

  /// Whether copies or the store of a fragment fill shared tiles.
  static bool isTile(const CopyGroup &group) {
    return isa<SharedType>(group.copies.front().buffer.getType()) &&
           isa<CopyOp, StoreOp>(group.copies.front().op);
  }

  /// What fills the slots keeps its form: a store, a product or those of a loop, a branch that changes a sum,
  /// which a store of a factor follows, and what writes a position, which the role may read, too.
  void putInPlace(const CopyGroup &group) {
    Location loc = group.copies.back().op->getLoc();
    auto put = PutOp::create(builder, loc, channels.lookup(&group));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&put.getBody().front());
    use(group, put.getSlot(), loc);
    for (const GroupedCopy &copy : group.copies)
      writeOther(copy.op);
    builder.setInsertionPointAfter(put);
    if (isa<SharedType>(group.copies.front().buffer.getType()))
      use(group, put.getFilled(), loc);
  }

  /// Those that take the role's threads longer come later: the others are on their way meanwhile.
  void put(const CopyGroup &group) {
    auto put = PutOp::create(builder, group.copies.front().op->getLoc(), channels.lookup(&group));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&put.getBody().front());
    for (CopyAtom atom : {CopyAtom::tma, CopyAtom::cp_async, CopyAtom::simt})
      for (const GroupedCopy &copy : group.copies)
        if (atomOf(copy.op) == atom)
          fill(copy, put.getSlot());
    builder.setInsertionPointAfter(put);
    use(group, put.getFilled(), group.copies.front().op->getLoc());
  }
  static std::optional<CopyAtom> atomOf(Operation *fill) {
    auto copy = dyn_cast<CopyOp>(fill);
    return copy ? copy.getAtom() : cast<StoreOp>(fill).getAtom();
  }

  void fill(const GroupedCopy &copy, Value cursor) {
    Value tile = createSlot(builder, copy.op->getLoc(), copy.buffer, cursor);
    if (RowsOp rows = rowsFilledBy(copy.op))
      tile = rowsOf(tile, rows, builder);
    Operation *op = builder.clone(*copy.op, mapping);
    if (auto store = dyn_cast<StoreOp>(op))
      store.getDestinationMutable().assign(tile);
    else
      cast<CopyOp>(op).getDestinationMutable().assign(tile);
    for (StringRef planned : {TileDialect::roleAttrName, TileDialect::channelAttrName})
      op->removeDiscardableAttr(planned);
  }

  void get(const CopyGroup &group, Location loc) {
    use(group, GetOp::create(builder, loc, channels.lookup(&group)), loc);
  }

  /// The group's buffers are those of the slot from here on.
  void use(const CopyGroup &group, Value cursor, Location loc) {
    for (Value buffer : group.buffers())
      mapViews(buffer, createSlot(builder, loc, buffer, cursor));
  }

  /// Views of a buffer become views of the slot.
  void mapViews(Value from, Value to) {
    mapping.map(from, to);
    for (Operation *user : from.getUsers())
      if (viewedTile(user) && !isa<SliceSharedOp>(user))
        mapViews(user->getResult(0), builder.clone(*user, mapping)->getResult(0));
  }

  /// `kept` are the numbers of the terminator's operands that this role carries, too.
  void writeBody(Block &from, Block &to, ArrayRef<unsigned> kept) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&to);
    for (Operation &op : from.without_terminator())
      write(&op);
    SmallVector<Value> yielded;
    for (unsigned number : kept)
      yielded.push_back(lookup(from.getTerminator()->getOperand(number)));
    scf::YieldOp::create(builder, from.getTerminator()->getLoc(), yielded);
  }

  /// Numbers of the results that this role keeps.
  SmallVector<unsigned> keptResults(Operation *op) {
    SmallVector<unsigned> kept;
    for (OpResult result : op->getResults())
      if (keeps(result))
        kept.push_back(result.getResultNumber());
    return kept;
  }

  void mapResults(Operation *from, Operation *to, ArrayRef<unsigned> kept) {
    for (auto [i, number] : llvm::enumerate(kept))
      mapping.map(from->getResult(number), to->getResult(i));
  }

  bool isNeeded(Operation *op, ArrayRef<unsigned> kept) {
    auto isOwn = [&](Operation *inner) {
      return plannedRoleOf(inner) == role ? WalkResult::interrupt() : WalkResult::advance();
    };
    return !kept.empty() || op->walk(isOwn).wasInterrupted();
  }

  void writeLoop(scf::ForOp loop) {
    SmallVector<unsigned> kept = keptResults(loop);
    if (!isNeeded(loop, kept))
      return;
    SmallVector<Value> inits;
    for (unsigned number : kept)
      inits.push_back(lookup(loop.getInitArgs()[number]));
    auto copy = scf::ForOp::create(builder, loop.getLoc(), lookup(loop.getLowerBound()),
                                   lookup(loop.getUpperBound()), lookup(loop.getStep()), inits);
    copy->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    for (StringRef planned : {TileDialect::pipelineAttrName, TileDialect::channelAttrName})
      copy->removeDiscardableAttr(planned);
    copy.getBody()->clear(); // of the builder's terminator
    mapping.map(loop.getInductionVar(), copy.getInductionVar());
    for (auto [i, number] : llvm::enumerate(kept))
      mapping.map(loop.getRegionIterArg(number), copy.getRegionIterArg(i));
    writeBody(*loop.getBody(), *copy.getBody(), kept);
    mapResults(loop, copy, kept);
  }

  void writeBranch(scf::IfOp branch) {
    SmallVector<unsigned> kept = keptResults(branch);
    if (!isNeeded(branch, kept))
      return;
    SmallVector<Type> types;
    for (unsigned number : kept)
      types.push_back(branch.getResult(number).getType());
    auto copy = scf::IfOp::create(builder, branch.getLoc(), types, lookup(branch.getCondition()),
                                  /*addThenBlock=*/true, /*addElseBlock=*/!branch.getElseRegion().empty());
    for (auto [from, to] : llvm::zip_equal(branch->getRegions(), copy->getRegions())) {
      if (from.empty())
        continue;
      to.front().clear();
      writeBody(from.front(), to.front(), kept);
    }
    mapResults(branch, copy, kept);
  }

  StringRef role;
  const Channels &channels;
  const ComputedValues elsewhere;
  SmallVector<CopyGroup *> filled;                       ///< channels from the role
  SmallVector<std::pair<CopyGroup *, SlotReaders>> read; ///< channels to it
  llvm::SmallPtrSet<Operation *, 8> handedOver;          ///< buffers of channels
  OpBuilder builder;
  IRMapping mapping;
};

} // namespace

void writeRole(StringRef role, const CopyGroups &groups, const Channels &channels, ArrayRef<Operation *> ops,
               OpBuilder builder) {
  if (ops.empty())
    return;
  RoleWriter(role, groups, channels, ops.front()->getParentOfType<KernelOp>(), builder).write(ops);
}

} // namespace tlc::tile
