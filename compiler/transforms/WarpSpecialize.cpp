// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a kernel whose copies go through the TMA is two programs: a "load" role
/// that runs ahead through rings, and a "math" role. Both repeat the kernel's control
/// flow; each keeps only what it needs, and counts its own cursors through it.

#include "compiler/analysis/CopyGroups.h"
#include "compiler/solvers/SlotModel.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "runtime/target/Target.h"

#include "llvm/ADT/SetVector.h"

namespace tlc::tile {
#define GEN_PASS_DEF_WARPSPECIALIZE
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

constexpr int64_t warpsPerLoadRole = 4; // setmaxnreg moves registers of whole warpgroups

enum class RoleKind { load, math };

/// Writes one role's version of the kernel's operations.
class RoleWriter {
public:
  RoleWriter(RoleKind kind, KernelOp kernel, CopyGroups &copies, OpBuilder builder)
      : kind(kind), kernel(kernel), copies(copies), builder(builder) {}

  /// `stays` are the operations that remain outside the roles.
  LogicalResult write(ArrayRef<Operation *> ops) {
    for (auto &group : copies.groups)
      cursors[group.get()] =
          CursorOp::create(builder, kernel.getLoc(), CursorType::get(kernel.getContext(), group->slots));
    inside.insert(ops.begin(), ops.end());
    for (Operation *op : ops)
      if (failed(write(op)))
        return failure();
    return success();
  }

private:
  /// Whether this role can name the value: mapped, or defined outside the roles.
  bool isAvailable(Value value) {
    if (mapping.contains(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (!op)
      op = cast<BlockArgument>(value).getOwner()->getParentOp();
    for (; op && op != kernel; op = op->getParentOp())
      if (inside.contains(op))
        return false;
    return true;
  }

  SmallVector<CopyGroup *> groupsWithin(Operation *op) {
    SmallVector<CopyGroup *> within;
    for (auto &group : copies.groups)
      if (op->isProperAncestor(group->copies.front()))
        within.push_back(group.get());
    return within;
  }

  LogicalResult write(Operation *op) {
    if (auto copy = dyn_cast<CopyOp>(op))
      if (CopyGroup *group = copies.groupOf(copy))
        return kind == RoleKind::load ? writeLoad(copy, *group) : success();
    if (kind == RoleKind::math)
      for (auto &group : copies.groups)
        if (group->firstReader == op)
          awaitGroup(*group);
    if (failed(writeOther(op)))
      return failure();
    if (kind == RoleKind::math)
      for (auto &group : copies.groups)
        if (group->lastReader == op)
          releaseGroup(*group, op->getLoc());
    return success();
  }

  LogicalResult writeOther(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return writeLoop(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return writeBranch(branch);
    if (isa<TransposeOp>(op) && isRinged(op->getOperand(0)))
      return success(); // made with the slot
    if (kind == RoleKind::load) {
      // Only what positions and trip counts are made of; dead parts fold away.
      if (op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
          llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>) &&
          llvm::all_of(op->getOperands(), [&](Value v) { return isAvailable(v); }))
        builder.clone(*op, mapping);
      return success();
    }
    if (auto gemm = dyn_cast<GemmOp>(op)) {
      auto started = GemmAsyncOp::create(
          builder, op->getLoc(), mapping.lookupOrDefault(gemm.getA()), mapping.lookupOrDefault(gemm.getB()),
          mapping.lookupOrDefault(gemm.getAcc()), gemm.getPolicy(), gemm.getAtomAttr());
      auto done = GemmWaitOp::create(builder, op->getLoc(), started.getResult(), 0);
      mapping.map(gemm.getResult(), done.getResult());
      return success();
    }
    builder.clone(*op, mapping);
    return success();
  }

  bool isRinged(Value view) {
    while (auto transpose = view.getDefiningOp<TransposeOp>())
      view = transpose.getSource();
    return llvm::any_of(copies.groups, [&](auto &group) {
      return llvm::any_of(group->copies, [&](CopyOp copy) { return copy.getDestination() == view; });
    });
  }

  LogicalResult writeLoad(CopyOp copy, CopyGroup &group) {
    Location loc = copy.getLoc();
    Value &cursor = cursors[&group];
    if (copy == group.copies.front()) {
      AcquireOp::create(builder, loc, group.ring, cursor);
      ExpectOp::create(builder, loc, group.ring, cursor, group.bytes);
    }
    if (!isAvailable(copy.getSource()))
      return copy.emitError(
          "the position of this copy depends on computed data, so no other role can issue it");
    Value tile = slot(group.buffer(copy), cursor, loc);
    CopyAsyncOp::create(builder, loc, mapping.lookupOrDefault(copy.getSource()), tile, group.ring, cursor,
                        group.multicast && isForWholeCluster(copy, kernel));
    if (copy == group.copies.back())
      cursor = AdvanceOp::create(builder, loc, cursor);
    return success();
  }

  Value slot(AllocSharedOp buffer, Value cursor, Location loc) {
    auto type = cast<SharedType>(buffer.getType());
    auto tile = SharedType::get(kernel.getContext(), type.getShape().drop_front(), type.getElementType());
    return SlotOp::create(builder, loc, tile, buffer, cursor);
  }

  void awaitGroup(CopyGroup &group) {
    Location loc = group.firstReader->getLoc();
    Value cursor = cursors[&group];
    AwaitOp::create(builder, loc, group.ring, cursor);
    for (CopyOp copy : group.copies) {
      AllocSharedOp buffer = group.buffer(copy);
      mapViews(buffer.getBuffer(), slot(buffer, cursor, loc));
    }
  }

  /// Views of a buffer become views of the slot.
  void mapViews(Value from, Value to) {
    mapping.map(from, to);
    for (Operation *user : from.getUsers()) {
      auto view = dyn_cast<TransposeOp>(user);
      if (!view)
        continue;
      auto type = cast<SharedType>(view.getView().getType());
      type = SharedType::get(kernel.getContext(), type.getShape(), type.getElementType(), SharedLayoutAttr(),
                             type.getTransposed());
      mapViews(view.getView(), TransposeOp::create(builder, view.getLoc(), type, to));
    }
  }

  void releaseGroup(CopyGroup &group, Location loc) {
    Value &cursor = cursors[&group];
    ReleaseOp::create(builder, loc, group.ring, cursor);
    cursor = AdvanceOp::create(builder, loc, cursor);
  }

  /// The load role carries positions and cursors, no fragments.
  bool carries(Type type) { return kind == RoleKind::math || !isa<RankedTensorType>(type); }

  LogicalResult writeBody(Block &from, ValueRange cursorsIn, ArrayRef<CopyGroup *> within, Block &to,
                          ArrayRef<bool> kept) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&to);
    for (auto [group, cursor] : llvm::zip_equal(within, cursorsIn))
      cursors[group] = cursor;
    SmallVector<Value> yielded;
    for (Operation &op : from.without_terminator())
      if (failed(write(&op)))
        return failure();
    for (auto [value, keep] : llvm::zip_equal(from.getTerminator()->getOperands(), kept)) {
      if (!keep)
        continue;
      if (!isAvailable(value))
        return from.getTerminator()->emitError("a position that the loop carries depends on computed data");
      yielded.push_back(mapping.lookupOrDefault(value));
    }
    for (CopyGroup *group : within)
      yielded.push_back(cursors[group]);
    scf::YieldOp::create(builder, from.getTerminator()->getLoc(), yielded);
    return success();
  }

  LogicalResult writeLoop(scf::ForOp loop) {
    SmallVector<CopyGroup *> within = groupsWithin(loop);
    if (kind == RoleKind::load && within.empty())
      return success();
    for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      if (!isAvailable(bound))
        return loop.emitError("a bound of this loop depends on computed data, so no other role can run it");
    SmallVector<bool> kept;
    SmallVector<Value> inits;
    for (Value init : loop.getInitArgs()) {
      kept.push_back(carries(init.getType()));
      if (kept.back())
        inits.push_back(mapping.lookupOrDefault(init));
    }
    unsigned carried = inits.size();
    for (CopyGroup *group : within)
      inits.push_back(cursors[group]);
    auto lookup = [&](Value v) { return mapping.lookupOrDefault(v); };
    auto copy = scf::ForOp::create(builder, loop.getLoc(), lookup(loop.getLowerBound()),
                                   lookup(loop.getUpperBound()), lookup(loop.getStep()), inits);
    copy->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    copy->removeDiscardableAttr(TileDialect::pipelineAttrName);
    if (!copy.getBody()->empty())
      copy.getBody()->back().erase(); // the builder's terminator
    mapping.map(loop.getInductionVar(), copy.getInductionVar());
    unsigned next = 0;
    for (auto [argument, keep] : llvm::zip_equal(loop.getRegionIterArgs(), kept))
      if (keep)
        mapping.map(argument, copy.getRegionIterArg(next++));
    if (failed(writeBody(*loop.getBody(), copy.getRegionIterArgs().drop_front(carried), within,
                         *copy.getBody(), kept)))
      return failure();
    next = 0;
    for (auto [result, keep] : llvm::zip_equal(loop.getResults(), kept))
      if (keep)
        mapping.map(result, copy.getResult(next++));
    for (auto [i, group] : llvm::enumerate(within))
      cursors[group] = copy.getResult(carried + i);
    return success();
  }

  LogicalResult writeBranch(scf::IfOp branch) {
    SmallVector<CopyGroup *> within = groupsWithin(branch);
    if (kind == RoleKind::load && within.empty())
      return success();
    if (!isAvailable(branch.getCondition()))
      return branch.emitError("this condition depends on computed data, so no other role can follow it");
    SmallVector<bool> kept;
    SmallVector<Type> types;
    for (Type type : branch.getResultTypes()) {
      kept.push_back(carries(type));
      if (kept.back())
        types.push_back(type);
    }
    unsigned carried = types.size();
    SmallVector<Value> before;
    for (CopyGroup *group : within) {
      before.push_back(cursors[group]);
      types.push_back(before.back().getType());
    }
    bool hasElse = !branch.getElseRegion().empty() || !types.empty();
    auto copy =
        scf::IfOp::create(builder, branch.getLoc(), types, mapping.lookupOrDefault(branch.getCondition()),
                          /*addThenBlock=*/true, hasElse);
    for (auto [from, to] : llvm::zip_equal(branch->getRegions(), copy->getRegions())) {
      if (to.empty())
        continue;
      to.front().clear();
      if (!from.empty()) {
        if (failed(writeBody(from.front(), before, within, to.front(), kept)))
          return failure();
      } else {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToEnd(&to.front());
        scf::YieldOp::create(builder, branch.getLoc(), before);
      }
    }
    unsigned next = 0;
    for (auto [result, keep] : llvm::zip_equal(branch.getResults(), kept))
      if (keep)
        mapping.map(result, copy.getResult(next++));
    for (auto [i, group] : llvm::enumerate(within))
      cursors[group] = copy.getResult(carried + i);
    return success();
  }

  RoleKind kind;
  KernelOp kernel;
  CopyGroups &copies;
  OpBuilder builder;
  IRMapping mapping;
  llvm::DenseMap<CopyGroup *, Value> cursors;
  llvm::SmallPtrSet<Operation *, 16> inside;
};

struct RegisterBudget {
  int64_t load, math;
};

/// Registers per thread after `setmaxnreg`: what the load role does not need goes to the
/// math role. Nothing to move when all threads can have the most there are.
std::optional<RegisterBudget> budgetFor(const Target &target, int64_t mathWarpgroups) {
  unsigned launch = target.maxRegistersForBlock((mathWarpgroups + 1) * target.warpgroupSize);
  if (!target.setmaxnreg.available || mathWarpgroups < 2)
    return std::nullopt;
  // 40 leaves the load loop its positions in registers; with three warpgroups the math role needs them more.
  int64_t load = mathWarpgroups > 2 ? 32 : 40;
  int64_t math = (launch * (mathWarpgroups + 1) - load) / mathWarpgroups;
  return RegisterBudget{load, std::min<int64_t>(math / target.setmaxnreg.step * target.setmaxnreg.step, 240)};
}

struct WarpSpecialize : impl::WarpSpecializeBase<WarpSpecialize> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    bool hasRoles = kernel.walk([](RolesOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (hasRoles)
      return;
    hoistBuffers(kernel);
    CopyGroups copies = findCopyGroups(kernel);
    std::string problem = enable ? copies.problem : "switched off";
    if (problem.empty() && copies.groups.empty())
      problem = "no copy goes through the TMA";
    if (!problem.empty()) {
      if (failed(decline(kernel, problem)))
        signalPassFailure();
      return;
    }
    if (failed(specialize(kernel, copies)))
      signalPassFailure();
  }

  static void hoistBuffers(KernelOp kernel) {
    Block &top = kernel.getBody().front();
    SmallVector<AllocSharedOp> buffers;
    kernel.walk([&](AllocSharedOp buffer) { buffers.push_back(buffer); });
    for (AllocSharedOp buffer : llvm::reverse(buffers))
      buffer->moveBefore(&top, top.begin());
  }

  /// All warps stay one program, whose copies are synchronous.
  static LogicalResult decline(KernelOp kernel, StringRef reason) {
    bool pipelined = false;
    kernel.walk([&](Operation *op) {
      if (auto copy = dyn_cast<CopyOp>(op))
        copy.setAtom(CopyAtom::simt);
      else if (auto store = dyn_cast<StoreOp>(op)) {
        store.setAtom(CopyAtom::simt);
        if (auto staging = store.getStaging()) {
          store.getStagingMutable().clear();
          staging.getDefiningOp()->erase();
        }
      } else if (op->hasAttr(TileDialect::pipelineAttrName)) {
        op->removeDiscardableAttr(TileDialect::pipelineAttrName);
        pipelined = true;
      }
    });
    if (!pipelined)
      return success();
    for (RequireOp require : kernel.getOps<RequireOp>())
      if (require.getWhat() == Requirement::warp_specialized) {
        InFlightDiagnostic diag = kernel.emitError("kernel '")
                                  << kernel.getName() << "' is not warp-specialised: " << reason;
        diag.attachNote(require.getLoc()) << "required here";
        return diag;
      }
    kernel.emitRemark() << "[not-warp-specialised] kernel '" << kernel.getName()
                        << "' keeps its pipelined loops synchronous: " << reason;
    return success();
  }

  static LogicalResult specialize(KernelOp kernel, CopyGroups &copies) {
    const Target &target = *program::findTarget(kernel);
    int64_t mathWarps = kernel.getWarps(), mathWarpgroups = mathWarps / 4;
    if (failed(fitSlots(kernel, copies, target)))
      return failure();

    // What stays outside: buffers, and scalars computed from arguments alone.
    Block &top = kernel.getBody().front();
    llvm::SmallPtrSet<Operation *, 16> moved;
    SmallVector<Operation *> inRoles;
    for (Operation &op : top.without_terminator()) {
      bool scalar =
          op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
          llvm::none_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>) &&
          llvm::none_of(op.getOperands(), [&](Value v) { return moved.contains(v.getDefiningOp()); });
      if (scalar || isa<AllocSharedOp, AllocRingOp, AllocBarrierOp, GridOp, RequireOp>(op))
        continue;
      moved.insert(&op);
      inRoles.push_back(&op);
    }

    OpBuilder builder = OpBuilder::atBlockBegin(&top);
    for (auto [i, group] : llvm::enumerate(copies.groups)) {
      std::string name;
      for (CopyOp copy : group->copies) {
        AllocSharedOp buffer = group->buffer(copy);
        name += (name.empty() ? "" : ".") + buffer.getName().str();
        auto type = cast<SharedType>(buffer.getType());
        SmallVector<int64_t> shape = {group->slots};
        llvm::append_range(shape, type.getShape());
        buffer.getBuffer().setType(SharedType::get(kernel.getContext(), shape, type.getElementType()));
      }
      int64_t consumers = mathWarpgroups * (group->multicast ? kernel.getCluster() : 1);
      group->ring = AllocRingOp::create(builder, group->copies.front().getLoc(),
                                        RingType::get(kernel.getContext(), group->slots), name,
                                        /*producers=*/1, consumers, IntegerAttr());
    }

    builder.setInsertionPoint(top.getTerminator());
    auto roles = RolesOp::create(builder, kernel.getLoc());
    Block *rolesBody = &roles.getBody().emplaceBlock();
    std::optional<RegisterBudget> budget = budgetFor(target, mathWarpgroups);
    auto addRole = [&](StringRef name, RoleKind kind, int64_t warps, int64_t registers) -> LogicalResult {
      OpBuilder inRoleList = OpBuilder::atBlockEnd(rolesBody);
      auto role = RoleOp::create(inRoleList, kernel.getLoc(), name, warps,
                                 budget ? inRoleList.getI64IntegerAttr(registers) : IntegerAttr());
      return RoleWriter(kind, kernel, copies, OpBuilder::atBlockEnd(&role.getBody().emplaceBlock()))
          .write(inRoles);
    };
    if (failed(addRole("load", RoleKind::load, warpsPerLoadRole, budget ? budget->load : 0)) ||
        failed(addRole("math", RoleKind::math, mathWarps, budget ? budget->math : 0)))
      return failure();
    for (Operation *op : llvm::reverse(inRoles))
      op->erase();
    kernel.setWarps(warpsPerLoadRole + mathWarps);
    return success();
  }

  /// Reduces the number of slots to what shared memory holds.
  static LogicalResult fitSlots(KernelOp kernel, CopyGroups &copies, const Target &target) {
    StageBudget budget;
    budget.limitBytes = target.sharedBytesPerBlock;
    llvm::SmallPtrSet<Operation *, 8> ringed;
    int64_t wanted = 1;
    for (auto &group : copies.groups)
      for (CopyOp copy : group->copies) {
        ringed.insert(group->buffer(copy));
        int64_t bytes = sizeInBytes(cast<SharedType>(copy.getDestination().getType()));
        if (group->slots == 1)
          budget.fixedBytes += bytes;
        else
          budget.bufferBytes.push_back(bytes);
        wanted = std::max(wanted, group->slots);
      }
    for (AllocSharedOp buffer : kernel.getOps<AllocSharedOp>())
      if (!ringed.contains(buffer))
        budget.fixedBytes += sizeInBytes(cast<SharedType>(buffer.getType()));
    Result<int64_t> fitting = stagesThatFit(budget, wanted);
    if (!fitting)
      return kernel.emitError("kernel '") << kernel.getName() << "': " << fitting.error().message;
    for (auto &group : copies.groups)
      if (group->slots > *fitting) {
        group->copies.front().emitRemark()
            << "[fewer-stages] " << *fitting << " stages instead of " << group->slots
            << ": more do not fit the " << target.sharedBytesPerBlock << " bytes of shared memory";
        group->slots = *fitting;
      }
    return success();
  }
};

} // namespace
} // namespace tlc::tile
