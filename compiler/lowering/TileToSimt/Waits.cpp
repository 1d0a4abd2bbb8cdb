// SPDX-License-Identifier: Apache-2.0
#include "compiler/lowering/TileToSimt/Waits.h"

#include "dialects/simt/Cluster.h"
#include "dialects/tile/Reports.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/artifact/Reports.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/Math.h"

#include "llvm/Support/Format.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {

/// The clock counts in units of 2^16 ns, so that a wait of up to 78 hours takes one register.
constexpr int64_t log2Unit = 16;

Value readClock(Emitter &b) {
  Value now = NVVM::GlobalTimerOp::create(b, b.getI64Type());
  return arith::TruncIOp::create(b, b.getI32Type(), b.shiftRight(now, log2Unit));
}

/// Yields whether the wait continues, and when it began.
void lookAtClock(Emitter &b, Value since, int64_t limit, function_ref<void()> report) {
  Value now = readClock(b);
  Value begin = b.select(b.isEqual(since, 0), now, since);
  Value units = b.sub(now, begin);
  auto isShort = [&](OpBuilder &, Location) { scf::YieldOp::create(b, b.i1(true)); };
  auto isLong = [&](OpBuilder &, Location) {
    b.when(b.isBelow(b.i32(ceilDiv(limit, int64_t(1) << log2Unit)), units), [&] {
      report();
      simt::EndWaitsOp::create(b);
    });
    scf::YieldOp::create(b, b.isEqual(simt::WaitsEndOp::create(b), 0));
  };
  auto continues = scf::IfOp::create(b, b.isEqual(units, 0), isShort, isLong);
  scf::YieldOp::create(b, ValueRange{continues.getResult(0), begin});
}

} // namespace

/// Carried are the time of the first look or 0, and the tries since the last look.
void lowering::waitWithin(Emitter &b, int64_t limit, int64_t triesPerLook, function_ref<Value()> tryInVain,
                          function_ref<void()> report) {
  const bool counts = triesPerLook > 1;
  auto attempt = [&](OpBuilder &, Location, ValueRange carried) {
    Value inVain = tryInVain();
    auto lookSometimes = [&](OpBuilder &, Location) {
      auto look = [&](OpBuilder &, Location) { lookAtClock(b, carried[0], limit, report); };
      if (!counts)
        return look(b, b.getLoc());
      Value tries = b.bitAnd(b.add(carried[1], 1), triesPerLook - 1);
      auto tryAgain = [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, ValueRange{b.i1(true), carried[0]});
      };
      auto looked = scf::IfOp::create(b, b.isEqual(tries, 0), look, tryAgain);
      scf::YieldOp::create(b, ValueRange{looked.getResult(0), looked.getResult(1), tries});
    };
    auto end = [&](OpBuilder &, Location) {
      SmallVector<Value> yielded = {b.i1(false)};
      llvm::append_range(yielded, carried);
      scf::YieldOp::create(b, yielded);
    };
    auto next = scf::IfOp::create(b, inVain, lookSometimes, end);
    scf::ConditionOp::create(b, next.getResult(0), next.getResults().drop_front());
  };
  auto again = [&](OpBuilder &, Location, ValueRange carried) { scf::YieldOp::create(b, carried); };
  SmallVector<Value> first(counts ? 2 : 1, b.i32(0));
  SmallVector<Type> types(first.size(), b.getI32Type());
  scf::WhileOp::create(b, types, first, attempt, again);
}

std::string lowering::nameInReport(StringRef kind, StringRef name) {
  std::string text = excerpt(name);
  return (countPlaceholders(text) == 0 ? kind + " '" + text + "'" : "a " + kind).str();
}

void lowering::reportWait(KernelLowering &k, Operation *op, int64_t limit, const Twine &awaited,
                          ValueRange position, ValueRange values) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '\'' << k.source.getSymName() << "' waited " << llvm::format("%g", double(limit) * 1e-9) << " s ";
  if (!k.team.role.empty())
    os << "in " << nameInReport("role", k.team.role) << ' ';
  os << "for " << awaited;
  SmallVector<Type> types(values.size(), k.b.getI32Type());
  auto site = program::ReportAttr::get(op->getContext(), program::ReportKind::check, text,
                                       tile::sourcePlaceOf(op), types, int64_t(position.size()));
  simt::ReportOp::create(k.b, site, position, values);
}

void lowering::waitAtBarrier(KernelLowering &k, Operation *op, Value barrier, Value phase,
                             const Twine &awaited, ValueRange values) {
  Emitter &b = k.b;
  if (!k.waitLimit) {
    if (phase.getType().isInteger(64))
      simt::ClusterWaitOp::create(b, barrier, phase);
    else
      simt::BarrierWaitOp::create(b, barrier, phase);
    return;
  }
  auto tryInVain = [&] { return b.isEqual(simt::BarrierTryWaitOp::create(b, barrier, phase), 0); };
  // The lanes of a warp wait for the same.
  auto report = [&] {
    b.when(k.team.threads == Team::Threads::all ? b.isEqual(k.team.lane, 0) : Value(),
           [&] { reportWait(k, op, *k.waitLimit, awaited, ValueRange(), values); });
  };
  waitWithin(b, *k.waitLimit, /*triesPerLook=*/1, tryInVain, report);
}
