// SPDX-License-Identifier: Apache-2.0
/// \file
/// A walk over the operations that repeats the control flow, keeps what the role needs,
/// and carries the cursors of its rings through loops and branches.

#include "compiler/transforms/RoleWriter.h"

#include "compiler/analysis/RolePlan.h"
#include "dialects/tile/SharedSlice.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tlc::tile {

using namespace mlir;

namespace {

class RoleWriter {
public:
  RoleWriter(StringRef role, const CopyGroups &channels, const Rings &rings, KernelOp kernel,
             OpBuilder builder)
      : role(role), rings(rings), elsewhere(valuesOfOtherRoles(kernel, role)), context(builder.getContext()),
        builder(builder) {
    for (auto &channel : channels.groups) {
      for (GroupedCopy copy : channel->copies)
        ringed.insert(copy.buffer);
      if (channel->channel.getFrom() == role || channel->channel.getTo() == role)
        ends.push_back(channel.get());
    }
  }

  void write(ArrayRef<Operation *> ops) {
    for (CopyGroup *group : ends) {
      Location loc = group->copies.front().op->getLoc();
      cursors[group] = CursorOp::create(builder, loc, CursorType::get(context, group->slots));
    }
    for (Operation *op : ops)
      write(op);
  }

private:
  Value lookup(Value value) { return mapping.lookupOrDefault(value); }

  SmallVector<CopyGroup *> groupsWithin(Operation *op) {
    return llvm::filter_to_vector(
        ends, [&](CopyGroup *group) { return op->isProperAncestor(group->copies.front().op); });
  }

  void write(Operation *op) {
    for (CopyGroup *group : ends)
      if (group->channel.getFrom() == role && isFilledBy(*group, op))
        return isa<StoreOp>(op) ? writeStore(cast<StoreOp>(op), *group) : writeLoad(cast<CopyOp>(op), *group);
    for (CopyGroup *group : ends)
      if (group->channel.getTo() == role && group->firstReader == op)
        awaitGroup(*group);
    writeOther(op);
    for (CopyGroup *group : ends)
      if (group->channel.getTo() == role && group->lastReader == op)
        releaseGroup(*group, op->getLoc());
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
    if (Value viewed = viewedTile(op); viewed && isRinged(viewed))
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
      if (auto slice = operand.getDefiningOp<SliceSharedOp>(); slice && isRinged(slice.getTile()))
        builder.clone(*slice, mapping);
    Operation *copy = builder.clone(*op, mapping);
    copy->removeDiscardableAttr(TileDialect::roleAttrName);
  }

  bool isRinged(Value view) {
    while (Value viewed = viewedTile(view.getDefiningOp()))
      view = viewed;
    return ringed.contains(view.getDefiningOp());
  }

  void writeLoad(CopyOp op, CopyGroup &group) {
    Location loc = op.getLoc();
    Value &cursor = cursors[&group];
    AllocRingOp ring = rings.lookup(&group);
    if (op == group.copies.front().op) {
      AcquireOp::create(builder, loc, ring, cursor);
      if (group.bytesByTma > 0)
        ExpectOp::create(builder, loc, ring, cursor, group.bytesByTma);
    }
    const GroupedCopy &copy =
        *llvm::find_if(group.copies, [&](const GroupedCopy &candidate) { return candidate.op == op; });
    if (op.getAtom() == CopyAtom::tma)
      CopyAsyncOp::create(builder, loc, lookup(op.getSource()), slot(copy.buffer, cursor, loc), ring, cursor,
                          copy.multicast);
    if (op != group.copies.back().op)
      return;
    writeLoadsByThreads(group, CopyAtom::cp_async);
    writeLoadsByThreads(group, CopyAtom::simt);
    cursor = AdvanceOp::create(builder, loc, cursor);
  }

  /// A fragment that another role takes from shared memory.
  void writeStore(StoreOp op, CopyGroup &group) {
    Location loc = op.getLoc();
    Value &cursor = cursors[&group];
    AllocRingOp ring = rings.lookup(&group);
    AcquireOp::create(builder, loc, ring, cursor);
    StoreOp::create(builder, loc, lookup(op.getValue()), slot(group.copies.front().buffer, cursor, loc),
                    /*staging=*/Value(), op.getAtomAttr());
    PublishOp::create(builder, loc, ring, cursor);
    cursor = AdvanceOp::create(builder, loc, cursor);
  }

  /// Those that take the role's threads longer come later: the others are on their way meanwhile.
  void writeLoadsByThreads(CopyGroup &group, CopyAtom atom) {
    Value cursor = cursors[&group];
    for (GroupedCopy copy : group.copies)
      if (copy.getAtom() == atom) {
        auto op = cast<CopyOp>(copy.op);
        CopyOp::create(builder, op.getLoc(), lookup(op.getSource()), slot(copy.buffer, cursor, op.getLoc()),
                       op.getAtomAttr());
      }
    if (group.has(atom))
      PublishOp::create(builder, group.copies.back().op->getLoc(), rings.lookup(&group), cursor,
                        /*after_products=*/false, /*after_copies=*/atom == CopyAtom::cp_async);
  }

  Value slot(AllocSharedOp buffer, Value cursor, Location loc) {
    return SlotOp::create(builder, loc, buffer.getBuffer().getType().slot(), buffer, cursor);
  }

  void awaitGroup(CopyGroup &group) {
    Location loc = group.firstReader->getLoc();
    Value cursor = cursors[&group];
    AwaitOp::create(builder, loc, rings.lookup(&group), cursor);
    for (GroupedCopy copy : group.copies)
      mapViews(copy.buffer.getBuffer(), slot(copy.buffer, cursor, loc));
  }

  /// Views of a buffer become views of the slot.
  void mapViews(Value from, Value to) {
    mapping.map(from, to);
    for (Operation *user : from.getUsers())
      if (viewedTile(user) && !isa<SliceSharedOp>(user))
        mapViews(user->getResult(0), builder.clone(*user, mapping)->getResult(0));
  }

  void releaseGroup(CopyGroup &group, Location loc) {
    Value &cursor = cursors[&group];
    ReleaseOp::create(builder, loc, rings.lookup(&group), cursor);
    cursor = AdvanceOp::create(builder, loc, cursor);
  }

  /// `kept` are the numbers of the terminator's operands that this role carries, too.
  void writeBody(Block &from, ValueRange cursorsIn, ArrayRef<CopyGroup *> within, Block &to,
                 ArrayRef<unsigned> kept) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&to);
    for (auto [group, cursor] : llvm::zip_equal(within, cursorsIn))
      cursors[group] = cursor;
    for (Operation &op : from.without_terminator())
      write(&op);
    SmallVector<Value> yielded;
    for (unsigned number : kept)
      yielded.push_back(lookup(from.getTerminator()->getOperand(number)));
    for (CopyGroup *group : within)
      yielded.push_back(cursors[group]);
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

  /// Results of the new operation: what is kept, then the cursors.
  void mapResults(Operation *from, Operation *to, ArrayRef<unsigned> kept, ArrayRef<CopyGroup *> within) {
    for (auto [i, number] : llvm::enumerate(kept))
      mapping.map(from->getResult(number), to->getResult(i));
    for (auto [i, group] : llvm::enumerate(within))
      cursors[group] = to->getResult(kept.size() + i);
  }

  bool isNeeded(Operation *op, ArrayRef<unsigned> kept) {
    auto isOwn = [&](Operation *inner) {
      return plannedRoleOf(inner) == role ? WalkResult::interrupt() : WalkResult::advance();
    };
    return !kept.empty() || op->walk(isOwn).wasInterrupted();
  }

  void writeLoop(scf::ForOp loop) {
    SmallVector<CopyGroup *> within = groupsWithin(loop);
    SmallVector<unsigned> kept = keptResults(loop);
    if (!isNeeded(loop, kept))
      return;
    SmallVector<Value> inits;
    for (unsigned number : kept)
      inits.push_back(lookup(loop.getInitArgs()[number]));
    for (CopyGroup *group : within)
      inits.push_back(cursors[group]);
    auto copy = scf::ForOp::create(builder, loop.getLoc(), lookup(loop.getLowerBound()),
                                   lookup(loop.getUpperBound()), lookup(loop.getStep()), inits);
    copy->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    copy->removeDiscardableAttr(TileDialect::pipelineAttrName);
    copy.getBody()->clear(); // of the builder's terminator
    mapping.map(loop.getInductionVar(), copy.getInductionVar());
    for (auto [i, number] : llvm::enumerate(kept))
      mapping.map(loop.getRegionIterArg(number), copy.getRegionIterArg(i));
    writeBody(*loop.getBody(), copy.getRegionIterArgs().drop_front(kept.size()), within, *copy.getBody(),
              kept);
    mapResults(loop, copy, kept, within);
  }

  void writeBranch(scf::IfOp branch) {
    SmallVector<CopyGroup *> within = groupsWithin(branch);
    SmallVector<unsigned> kept = keptResults(branch);
    if (!isNeeded(branch, kept))
      return;
    SmallVector<Type> types;
    for (unsigned number : kept)
      types.push_back(branch.getResult(number).getType());
    SmallVector<Value> before;
    for (CopyGroup *group : within) {
      before.push_back(cursors[group]);
      types.push_back(before.back().getType());
    }
    bool hasElse = !branch.getElseRegion().empty() || !types.empty();
    auto copy = scf::IfOp::create(builder, branch.getLoc(), types, lookup(branch.getCondition()),
                                  /*addThenBlock=*/true, hasElse);
    for (auto [from, to] : llvm::zip_equal(branch->getRegions(), copy->getRegions())) {
      if (to.empty())
        continue;
      to.front().clear();
      if (!from.empty()) {
        writeBody(from.front(), before, within, to.front(), kept);
        continue;
      }
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(&to.front());
      scf::YieldOp::create(builder, branch.getLoc(), before);
    }
    mapResults(branch, copy, kept, within);
  }

  StringRef role;
  const Rings &rings;
  const ComputedValues elsewhere;
  SmallVector<CopyGroup *> ends;            ///< channels from or to the role
  llvm::SmallPtrSet<Operation *, 8> ringed; ///< buffers of channels
  MLIRContext *context;
  OpBuilder builder;
  IRMapping mapping;
  llvm::DenseMap<CopyGroup *, Value> cursors;
};

} // namespace

void writeRole(StringRef role, const CopyGroups &channels, const Rings &rings, ArrayRef<Operation *> ops,
               OpBuilder builder) {
  if (ops.empty())
    return;
  RoleWriter(role, channels, rings, ops.front()->getParentOfType<KernelOp>(), builder).write(ops);
}

} // namespace tlc::tile
