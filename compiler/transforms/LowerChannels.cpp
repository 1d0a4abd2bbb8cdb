// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards channels are rings: who waits and arrives for which slot follows from what stands in puts, and
/// from who gets and releases.
#include "compiler/analysis/ChannelUse.h"
#include "compiler/analysis/ElementOrders.h"
#include "compiler/analysis/HeldSlots.h"
#include "compiler/analysis/TmaAccess.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/STLExtras.h"

namespace tlc::tile {
#define GEN_PASS_DEF_LOWERCHANNELS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// A position that a role counts in a variable.
class Counter {
public:
  Counter() = default;
  /// At the first slot, when `team` begins.
  Counter(Operation *team, int64_t slots) {
    auto builder = ImplicitLocOpBuilder::atBlockBegin(team->getLoc(), &team->getRegion(0).front());
    auto type = CursorType::get(builder.getContext(), slots);
    Value first = CursorOp::create(builder, type);
    variable =
        VariableOp::create(builder, VariableType::get(builder.getContext(), type), first, StringAttr());
  }

  Value read(ImplicitLocOpBuilder &builder) const { return ReadOp::create(builder, typeOfSlot(), variable); }
  void advance(ImplicitLocOpBuilder &builder, Value from) const {
    WriteOp::create(builder, AdvanceOp::create(builder, from.getType(), from), variable);
  }

private:
  Type typeOfSlot() const { return cast<VariableType>(variable.getType()).getValueType(); }
  Value variable;
};

/// Bytes of the tile.
int64_t bytesOf(Value tile) {
  auto type = cast<SharedType>(tile.getType());
  return llvm::product_of(type.getShape()) * type.getElementType().getIntOrFloatBitWidth() / 8;
}

/// How a team arrives for a slot that it fills.
struct Ways {
  bool byBytes = false;    ///< one thread, which expects what the TMA brings
  bool byThreads = false;  ///< its warpgroups, after what they have written
  bool byCopies = false;   ///< each thread, once its copies by cp.async are complete
  bool byProducts = false; ///< the tensor core, after its products
};

class Lowering {
public:
  Lowering(ChannelOp channel, bool allowTma)
      : channel(channel), use(channel), isReleased(use.isReleased()),
        target(allowTma ? program::findTarget(channel) : nullptr) {}

  LogicalResult run() {
    if (failed(use.verify()))
      return failure();
    const int64_t slots = cast<ChannelType>(channel.getChannel().getType()).getSlots();
    for (ChannelOp each : use.channels()) {
      OpBuilder builder(each);
      rings[each.getChannel()] = AllocRingOp::create(
          builder, each.getLoc(), RingType::get(each.getContext(), slots), each.getNameAttr(), IntegerAttr());
    }
    for (const ChannelUse::Team &team : use.teams())
      if (failed(lower(team, slots)))
        return failure();
    for (ChannelOp each : llvm::reverse(use.channels()))
      each.erase();
    return success();
  }

private:
  LogicalResult lower(const ChannelUse::Team &team, int64_t slots) {
    Counter puts, gets, releases;
    if (!team.puts.empty() || !team.reclaims.empty())
      puts = Counter(team.op, slots);
    if (!team.gets.empty())
      gets = Counter(team.op, slots);
    if (!team.releases.empty())
      releases = team.holdsOneAtMost ? gets : Counter(team.op, slots);
    for (OldestOp oldest : team.oldest)
      replace(oldest, [&](ImplicitLocOpBuilder &builder) {
        oldest.getSlot().replaceAllUsesWith(releases.read(builder));
      });
    for (ReclaimOp reclaim : team.reclaims)
      replace(reclaim, [&](ImplicitLocOpBuilder &builder) {
        Value slot = puts.read(builder);
        AcquireOp::create(builder, rings[reclaim.getChannel()], slot);
        reclaim.getSlot().replaceAllUsesWith(slot);
      });
    for (GetOp get : team.gets)
      replace(get, [&](ImplicitLocOpBuilder &builder) {
        Value slot = gets.read(builder);
        AwaitOp::create(builder, rings[get.getChannel()], slot);
        if (!team.holdsOneAtMost) // else the release does
          gets.advance(builder, slot);
        get.getSlot().replaceAllUsesWith(slot);
      });
    for (ReleaseOldestOp release : team.releases)
      replace(release, [&](ImplicitLocOpBuilder &builder) {
        Value slot = releases.read(builder);
        if (!release.getByOthers())
          ReleaseOp::create(builder, rings[release.getChannel()], slot, release.getAfterProducts(),
                            /*after_meeting=*/false);
        releases.advance(builder, slot);
      });
    for (PutOp put : llvm::concat<const PutOp>(team.puts, team.putsIntoHeld))
      if (PutOp each = put; failed(settle(each.getBody().front(), each)))
        return failure();
    const Ways ways = waysOf(team.puts), waysIntoHeld = waysOf(team.putsIntoHeld);
    for (PutOp put : team.puts) {
      ImplicitLocOpBuilder builder(put.getLoc(), put);
      Value slot = puts.read(builder);
      if (isReleased)
        AcquireOp::create(builder, rings[put.getChannel()], slot);
      if (failed(inlineBody(put, slot, ways)))
        return failure();
      puts.advance(builder, slot);
      put.erase();
    }
    for (PutOp put : team.putsIntoHeld) {
      ImplicitLocOpBuilder builder(put.getLoc(), put);
      if (failed(inlineBody(put, releases.read(builder), waysIntoHeld)))
        return failure();
      put.erase();
    }
    return success();
  }

  /// What the put does to the slot, and the arrivals for it, before the put.
  LogicalResult inlineBody(PutOp put, Value slot, Ways ways) {
    if (failed(verifyShares(put)))
      return failure();
    Block &body = put.getBody().front();
    if (ways.byBytes)
      expect(body, slot, put);
    put.walk([&](CopyOp copy) { // post-order: it may be erased
      if (isByTma(copy))
        replace(copy, [&](ImplicitLocOpBuilder &builder) {
          CopyAsyncOp::create(builder, copy.getSource(), copy.getDestination(), rings[put.getChannel()], slot,
                              channel.getMulticast() || copy->hasAttr(TileDialect::multicastAttrName));
        });
    });
    if (failed(verifyNoUseOfCopied(put)))
      return failure();
    ImplicitLocOpBuilder builder(put.getLoc(), builderAtEndOf(body));
    auto publish = [&](bool afterProducts, bool afterCopies) {
      PublishOp::create(builder, rings[put.getChannel()], slot, afterProducts, afterCopies,
                        /*with_stores=*/false);
    };
    if (ways.byProducts)
      publish(/*afterProducts=*/true, /*afterCopies=*/false);
    if (ways.byCopies)
      publish(/*afterProducts=*/false, /*afterCopies=*/true);
    if (ways.byThreads)
      publish(/*afterProducts=*/false, /*afterCopies=*/false);
    put.getSlot().replaceAllUsesWith(slot);
    put.getFilled().replaceAllUsesWith(slot);
    put->getBlock()->getOperations().splice(put->getIterator(), body.getOperations());
    return success();
  }

  template <class Op, class F> void replace(Op op, F &&make) {
    ImplicitLocOpBuilder builder(op.getLoc(), op);
    make(builder);
    op.erase();
  }

  //===--------------------------------------------------------------------===//
  // Arrivals
  //===--------------------------------------------------------------------===//

  /// Whether the copy fills a tile in shared memory from global memory.
  static bool loads(CopyOp copy) {
    return copy.getSource().getDefiningOp<SliceOp>() && isa<SharedType>(copy.getDestination().getType());
  }
  bool isByTma(CopyOp copy) const {
    if (!target || !loads(copy) || byThreads.contains(copy))
      return false;
    return copy.getAtom() ? *copy.getAtom() == CopyAtom::tma : loadProblem(copy, *target).empty();
  }
  /// Blocks bring shares of tiles to each other by the TMA alone.
  LogicalResult verifyShares(PutOp put) {
    if (!channel.getMulticast() || !target)
      return success();
    WalkResult walked = put.walk([&](CopyOp copy) {
      if (!loads(copy) || isByTma(copy))
        return WalkResult::advance();
      copy.emitError("expected a copy that the TMA can make because the blocks of the cluster fill the slots "
                     "of channel '")
          << channel.getName() << "' together, but " << loadProblem(copy, *target);
      return WalkResult::interrupt();
    });
    return failure(walked.wasInterrupted());
  }
  /// The bytes that copies by the TMA in an operation bring; nothing if they depend on what the device does.
  std::optional<int64_t> bytesOf(Operation *op) const {
    if (auto copy = dyn_cast<CopyOp>(op))
      return isByTma(copy) ? tlc::tile::bytesOf(copy.getDestination()) : 0;
    std::optional<int64_t> bytes = 0;
    for (auto [number, region] : llvm::enumerate(op->getRegions())) {
      std::optional<int64_t> inside = 0;
      for (Operation &nested : region.getOps()) {
        std::optional<int64_t> more = bytesOf(&nested);
        inside = inside && more ? std::optional(*inside + *more) : std::nullopt;
      }
      if (inside == 0 && !isa<scf::IfOp>(op))
        continue;
      if (!inside || !isa<scf::IfOp>(op) || (number > 0 && inside != bytes))
        return std::nullopt;
      bytes = inside;
    }
    return bytes;
  }

  /// The first operation of a block with copies by the TMA, or null.
  Operation *firstByTma(Block &block) const {
    for (Operation &op : block)
      if (bytesOf(&op) != 0)
        return &op;
    return nullptr;
  }

  /// The ways in which a team arrives for a slot. It does so alike in all its puts into a channel, since
  /// their phases count as many arrivals.
  Ways waysOf(ArrayRef<PutOp> puts) const {
    Ways ways;
    for (PutOp put : puts) {
      Block &body = put.getBody().front();
      Operation *first = firstByTma(body);
      ways.byBytes |= first != nullptr;
      // The thread that expects the bytes has written what one thread writes before.
      bool isBefore = first && bytesOf(first);
      for (Operation &op : body) {
        isBefore = isBefore && &op != first;
        op.walk([&](Operation *nested) {
          ways.byProducts |= isa<GemmInPlaceOp>(nested);
          auto copy = dyn_cast<CopyOp>(nested);
          if (copy && copy.getAtom() == CopyAtom::cp_async)
            ways.byCopies = true;
          else
            ways.byThreads |=
                writes(nested) && !(copy && isByTma(copy)) && !(isBefore && suitsOneThread(nested));
        });
      }
    }
    ways.byThreads |= !ways.byBytes && !ways.byProducts && !ways.byCopies;
    return ways;
  }

  /// An mbarrier expects bytes before they come. Where their number depends on what the device does, either
  /// each branch of one condition says its own, or threads make these copies.
  LogicalResult settle(Block &block, PutOp put) {
    const auto [bytes, unknown] = bytesIn(block);
    if (unknown.empty())
      return success();
    if (auto branch = onlyBranch(bytes, unknown)) {
      for (Region &arm : branch->getRegions())
        if (!arm.empty() && failed(settle(arm.front(), put)))
          return failure();
      return success();
    }
    if (channel.getMulticast()) {
      InFlightDiagnostic diagnostic =
          unknown.front()->emitError("expected the copies in a put into channel '")
          << channel.getName()
          << "' to bring the same bytes whatever the device does because the blocks of the cluster fill its "
             "slots together, by the TMA, and an mbarrier expects its bytes before they come, but here they "
             "depend on it; let both branches of a condition copy the same bytes, and loop in C++";
      diagnostic.attachNote(put.getLoc()) << "the put is here";
      return diagnostic;
    }
    for (Operation *op : unknown)
      op->walk([&](CopyOp copy) { byThreads.insert(copy); });
    return success();
  }

  /// The bytes that copies by the TMA in the block bring for sure, and the operations of which they are not
  /// known.
  std::pair<int64_t, SmallVector<Operation *, 2>> bytesIn(Block &block) const {
    int64_t bytes = 0;
    SmallVector<Operation *, 2> unknown;
    for (Operation &op : block)
      if (std::optional<int64_t> own = bytesOf(&op))
        bytes += *own;
      else
        unknown.push_back(&op);
    return {bytes, unknown};
  }
  static scf::IfOp onlyBranch(int64_t bytes, ArrayRef<Operation *> unknown) {
    return bytes == 0 && unknown.size() == 1 ? dyn_cast<scf::IfOp>(unknown.front()) : scf::IfOp();
  }

  /// Expects the bytes that the copies of the block by the TMA bring, before the first of them.
  void expect(Block &block, Value slot, PutOp put) {
    const auto [bytes, unknown] = bytesIn(block);
    scf::IfOp branch = onlyBranch(bytes, unknown);
    if (!branch) {
      Operation *first = firstByTma(block);
      ImplicitLocOpBuilder builder(put.getLoc(), first ? OpBuilder(first) : builderAtEndOf(block));
      ExpectOp::create(builder, rings[put.getChannel()], slot, bytes);
      return;
    }
    if (branch.getElseRegion().empty()) {
      auto builder = OpBuilder::atBlockEnd(&branch.getElseRegion().emplaceBlock());
      scf::YieldOp::create(builder, branch.getLoc());
    }
    expect(*branch.thenBlock(), slot, put);
    expect(*branch.elseBlock(), slot, put);
  }

  /// Whether a view is of the slot that the put fills.
  static bool isOfSlot(Value view, PutOp put) {
    for (Operation *op = view.getDefiningOp(); isa_and_nonnull<ViewOpInterface>(op);
         op = view.getDefiningOp()) {
      if (auto slot = dyn_cast<SlotOp>(op))
        return slot.getCursor() == put.getSlot() || slot.getCursor() == put.getFilled();
      view = op->getOperand(0);
    }
    return false;
  }

  /// The role that puts does not wait for the copies of the TMA, so it does not use what they fill.
  LogicalResult verifyNoUseOfCopied(PutOp put) {
    llvm::SmallDenseMap<Operation *, Operation *, 4> copied; // by buffer
    auto verify = [&](Operation *op) {
      for (const MemoryAccess &access : memoryAccessesOf(op)) {
        if (isa<CopyAsyncOp>(op) || !access.isShared() || !isOfSlot(access.memory, put))
          continue;
        auto found = copied.find(bufferOf(access.memory));
        if (found == copied.end() || !isAfter(op, found->second))
          continue;
        InFlightDiagnostic diagnostic =
            op->emitError("expected no use of ")
            << describe(access.memory, "the tile") << " in the role that puts it into channel '"
            << channel.getName() << "' after a copy by the TMA because the role does not wait "
            << "for the copy; use the tile before the copy, or in a role that gets the slot";
        diagnostic.attachNote(found->second->getLoc()) << "the copy is here";
        return WalkResult::interrupt();
      }
      if (isa<CopyAsyncOp>(op))
        copied.try_emplace(bufferOf(cast<CopyAsyncOp>(op).getDestination()), op);
      return WalkResult::advance();
    };
    if (put.getBody().walk<WalkOrder::PreOrder>(verify).wasInterrupted())
      return failure();
    SmallVector<Value> views = {put.getFilled()};
    while (!views.empty())
      for (Operation *user : views.pop_back_val().getUsers()) {
        if (verify(user).wasInterrupted())
          return failure();
        if (isa<ViewOpInterface>(user))
          views.append(user->result_begin(), user->result_end());
      }
    return success();
  }

  static OpBuilder builderAtEndOf(Block &block) {
    if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
      return OpBuilder(&block.back());
    return OpBuilder::atBlockEnd(&block);
  }

  /// Whether executing threads write what others will read: tiles in shared or tensor memory.
  static bool writes(Operation *op) {
    return !isa<GemmInPlaceOp>(op) && llvm::any_of(memoryAccessesOf(op), [](const MemoryAccess &access) {
      return access.kind != AccessKind::read && (access.isShared() || access.isTensorMemory());
    });
  }

  ChannelOp channel;
  ChannelUse use;
  const bool isReleased; ///< before operations go
  const Target *target;
  llvm::SmallDenseMap<Value, Value, 2> rings;  ///< by channel
  llvm::SmallPtrSet<Operation *, 4> byThreads; ///< copies that the TMA could make
};

struct LowerChannels : impl::LowerChannelsBase<LowerChannels> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<ChannelOp> channels;
    getOperation().walk([&](ChannelOp channel) {
      if (!channel.getOf())
        channels.push_back(channel);
    });
    for (ChannelOp channel : channels)
      if (failed(Lowering(channel, tma).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tlc::tile
