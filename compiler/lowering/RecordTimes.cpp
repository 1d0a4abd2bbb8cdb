// SPDX-License-Identifier: Apache-2.0
/// \file
/// The pass `simt-record-times`: the kernel that `tlc profile` runs.
#include "compiler/lowering/Passes.h"
#include "compiler/lowering/TileToSimt/Emitter.h"
#include "dialects/simt/Cluster.h"
#include "dialects/simt/Simt.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "runtime/artifact/Profile.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tlc {
#define GEN_PASS_DEF_RECORDTIMES
#include "compiler/lowering/Passes.h.inc"
} // namespace tlc

using namespace mlir;
using namespace tlc;
using namespace tlc::simt;

namespace {

using program::MarkAttr;
using program::ProfileKind;

/// What one operation waits for.
struct Awaited {
  ProfileKind kind = ProfileKind::wait;
  StringRef name = {};
  Value object = {}; ///< the mbarrier, or the number of the barrier
};

std::optional<Awaited> awaitedBy(Operation *op) {
  const auto wait = [](StringRef name) { return Awaited{ProfileKind::wait, name}; };
  return TypeSwitch<Operation *, std::optional<Awaited>>(op)
      .Case<BarrierWaitOp, ClusterWaitOp>(
          [](auto op) { return Awaited{ProfileKind::mbarrier, "", op.getBarrier()}; })
      .Case([](SyncOp op) {
        return op.getArrive() ? std::optional<Awaited>() : Awaited{ProfileKind::barrier, "", op.getId()};
      })
      .Case([](scf::WhileOp op) -> std::optional<Awaited> {
        if (!llvm::hasSingleElement(*op.getAfterBody())) // a loop of the author's
          return std::nullopt;
        Awaited awaited{ProfileKind::wait, "a count"}; // or a wait with a limit
        op.getBefore().walk(
            [&](BarrierTryWaitOp attempt) { awaited = {ProfileKind::mbarrier, "", attempt.getBarrier()}; });
        return awaited;
      })
      .Case(
          [&](SetRegistersOp op) { return op.getIncrease() ? wait("registers") : std::optional<Awaited>(); })
      .Case([&](ClusterSyncOp) { return wait("the cluster's barrier"); })
      .Case([&](WgmmaWaitOp) { return wait("products"); })
      .Case([&](AwaitCopiesOp) { return wait("copies"); })
      .Case([&](BulkWaitOp) { return wait("bulk copies"); })
      .Case<Tcgen05WaitLoadOp, Tcgen05WaitStoreOp>([&](auto) { return wait("tensor memory"); })
      .Default(std::nullopt);
}

/// One kernel, of which block `block` records.
class Recording {
public:
  Recording(KernelOp kernel, LLVM::GlobalOp buffer, unsigned records, unsigned block)
      : kernel(kernel), buffer(buffer), records(records), block(block),
        b(kernel.getLoc(), &kernel.getBody().front()) {}

  void insert() {
    SmallVector<std::pair<Operation *, Awaited>> waits;
    SmallVector<scf::ForOp> loops;
    Operation *order = nullptr;
    for (Operation &op : kernel.getBody().front())
      if (isa<LaunchOrderOp>(op))
        order = &op;
    for (Operation *op = order ? order->getNextNode() : &kernel.getBody().front().front(); op;
         op = op->getNextNode())
      op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
        std::optional<Awaited> awaited = awaitedBy(inner);
        if (awaited)
          waits.emplace_back(inner, *awaited);
        if (auto loop = dyn_cast<scf::ForOp>(inner); loop && !loop->getParentOfType<scf::ForOp>())
          loops.push_back(loop);
        return awaited ? WalkResult::skip() : WalkResult::advance();
      });
    Operation *end = kernel.getBody().front().getTerminator();
    if (order)
      b.setInsertionPointAfter(order);
    else
      b.setInsertionPointToStart(&kernel.getBody().front());
    begin();
    for (auto [op, awaited] : waits)
      recordWait(op, awaited);
    for (scf::ForOp loop : loops)
      recordIteration(loop);
    b.setInsertionPoint(end);
    finish();
    kernel.setMarksAttr(b.getArrayAttr(SmallVector<Attribute>(llvm::make_first_range(marks))));
  }

private:
  /// Read at each use: a register that holds it for the whole kernel is one that the kernel lacks.
  Value special(StringRef name) { return assembly("mov.u32 $0, " + name + ";", "=r", b.getI32Type()); }
  Value assembly(const Twine &text, StringRef constraints, Type type) {
    return LLVM::InlineAsmOp::create(b, type, ValueRange(), text.str(), constraints,
                                     /*has_side_effects=*/true,
                                     /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                     LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
                                     /*operand_attrs=*/ArrayAttr())
        .getResult(0);
  }
  Value clock() { return special("%clock"); }
  Value time() { return assembly("mov.u64 $0, %globaltimer;", "=l", b.getI64Type()); }

  /// The warp's number in the cluster, and whether this thread is the one that records. As at `byOneThread`,
  /// so that it is a thread that runs what one thread alone does.
  std::pair<Value, Value> place() {
    const unsigned cluster = kernel.getCluster();
    Value number = arith::AddIOp::create(
        b, special("%ctaid.x"),
        arith::MulIOp::create(
            b, special("%nctaid.x"),
            arith::AddIOp::create(b, special("%ctaid.y"),
                                  arith::MulIOp::create(b, special("%nctaid.y"), special("%ctaid.z")))));
    Value rank = b.sub(number, b.i32(block - block % cluster));
    Value thread = special("%tid.x");
    Value warp = b.add(b.mul(rank, kernel.getWarps()), b.shiftRight(thread, 5));
    Value leads = program::findTarget(kernel->getParentOfType<ModuleOp>())->tma.available
                      ? ElectOp::create(b).getElected()
                      : b.isEqual(b.bitAnd(thread, lanesPerWarp - 1), 0);
    return {warp, b.both(leads, b.isBelow(rank, b.i32(cluster)))};
  }

  Value bufferAt(Value bytes, int64_t offset) {
    Value start = LLVM::AddressOfOp::create(b, buffer);
    Value wide = arith::ExtUIOp::create(b, b.getI64Type(), bytes);
    return b.offset(b.offset(start, wide), offset);
  }
  void store(Value address, ArrayRef<Value> words, Value predicate) {
    StoreOp::create(b, b.pack(words), address, predicate, Value());
  }
  std::pair<Value, Value> halves(Value wide) {
    return {arith::TruncIOp::create(b, b.getI32Type(), wide),
            arith::TruncIOp::create(b, b.getI32Type(), b.shiftRight(wide, 32))};
  }
  Value warpHeader(Value warp) { return bufferAt(b.mul(warp, sizeof(ProfileWarp)), 0); }

  void begin() {
    auto [warp, records] = place();
    Value first = b.mul(warp, this->records);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&kernel.getBody().front());
      position = LLVM::AllocaOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), b.getI32Type(),
                                        arith::ConstantOp::create(b, b.getI32IntegerAttr(1)));
    }
    LLVM::StoreOp::create(b, b.select(records, first, b.i32(int32_t(profileStopped))), position);
    Value header = warpHeader(warp);
    auto [low, high] = halves(time());
    store(header, {low, high, b.i32(0), b.i32(0)}, records);
    store(b.offset(header, 16), {clock(), b.i32(0), first, special("%smid")}, records);
  }

  void finish() {
    auto [warp, records] = place();
    Value header = warpHeader(warp);
    auto [low, high] = halves(time());
    StoreOp::create(b, b.pack({low, high}), b.offset(header, offsetof(ProfileWarp, endTime)), records,
                    Value());
    Value at = LLVM::LoadOp::create(b, b.getI32Type(), position);
    StoreOp::create(b, clock(), b.offset(header, offsetof(ProfileWarp, endClock)), records, Value());
    StoreOp::create(b, at, b.offset(header, offsetof(ProfileWarp, position)), records, Value());
  }

  Value markNumber(Operation *op, ProfileKind kind, StringRef awaited) {
    StringRef place = b.getStringAttr(placeOf(op)).getValue();
    auto mark = MarkAttr::get(b.getContext(), kind, awaited, place);
    return b.i32(marks.try_emplace(mark, marks.size()).first->second);
  }
  static std::string placeOf(Operation *op) {
    std::string text = tile::placeOf(op);
    StringRef place = text;
    place.consume_front(" at ");
    return place.str();
  }

  /// The record of what ends here.
  void record(Value begin, Value end, Value mark, Value object) {
    Value at = LLVM::LoadOp::create(b, b.getI32Type(), position);
    Value records = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, at, b.i32(0));
    const int64_t headers = int64_t(kernel.getCluster()) * kernel.getWarps() * int64_t(sizeof(ProfileWarp));
    Value bytes =
        arith::MulIOp::create(b, arith::ExtUIOp::create(b, b.getI64Type(), at), b.i64(sizeof(ProfileRecord)));
    Value start = LLVM::AddressOfOp::create(b, buffer);
    store(b.offset(b.offset(start, bytes), headers), {begin, end, mark, object}, records);
    Value next = b.add(at, 1);
    Value isLast = b.isEqual(b.bitAnd(next, this->records - 1), 0);
    Value stopped = arith::OrIOp::create(b, next, b.i32(int32_t(profileStopped)));
    LLVM::StoreOp::create(b, b.select(isLast, stopped, next), position);
  }

  void recordWait(Operation *op, const Awaited &awaited) {
    b.setLoc(op->getLoc());
    b.setInsertionPoint(op);
    Value begin = clock();
    b.setInsertionPointAfter(op);
    Value end = clock();
    Value object = awaited.object ? awaited.object : b.i32(0);
    if (isa<LLVM::LLVMPointerType>(object.getType())) {
      Value base = LLVM::PtrToIntOp::create(b, b.getI32Type(), SharedBaseOp::create(b));
      object = b.sub(LLVM::PtrToIntOp::create(b, b.getI32Type(), object), base);
    }
    record(begin, end, markNumber(op, awaited.kind, awaited.name), object);
  }

  void recordIteration(scf::ForOp loop) {
    b.setLoc(loop.getLoc());
    b.setInsertionPointToStart(loop.getBody());
    Value now = clock();
    Value position = loop.getInductionVar();
    if (position.getType().isIndex())
      position = arith::IndexCastOp::create(b, b.getI32Type(), position);
    else if (!position.getType().isInteger(32))
      position = arith::TruncIOp::create(b, b.getI32Type(), position);
    record(now, now, markNumber(loop, ProfileKind::loop, ""), position);
  }

  KernelOp kernel;
  LLVM::GlobalOp buffer;
  int64_t records;
  unsigned block;
  lowering::Emitter b;
  Value position; ///< where this thread's number of the next record is
  llvm::MapVector<MarkAttr, int64_t> marks;
};

struct RecordTimes : tlc::impl::RecordTimesBase<RecordTimes> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto kernels = llvm::to_vector(module.getOps<KernelOp>());
    if (records == 0 || !llvm::isPowerOf2_32(records) || records > maxProfileRecords) {
      module.emitError() << "expected 'records' to be a power of two up to " << maxProfileRecords
                         << ", but got " << records.getValue();
      return signalPassFailure();
    }
    if (launch >= kernels.size()) {
      module.emitError() << "expected 'launch' to be below " << kernels.size()
                         << " because the program makes that many launches, but got " << launch.getValue();
      return signalPassFailure();
    }
    KernelOp kernel = kernels[launch];
    OpBuilder builder(&getContext());
    auto buffer = LLVM::GlobalOp::create(
        builder, module.getLoc(),
        LLVM::LLVMArrayType::get(
            builder.getI8Type(),
            profileBufferBytes(uint64_t(kernel.getCluster()) * kernel.getWarps(), records)),
        /*isConstant=*/false, LLVM::Linkage::External, profileBufferName, LLVM::ZeroAttr::get(&getContext()),
        /*alignment=*/16, unsigned(NVVM::NVVMMemorySpace::Global));
    SymbolTable(module).insert(buffer, module.getBody()->begin());
    Recording(kernel, buffer, records, block).insert();
  }
};

} // namespace
