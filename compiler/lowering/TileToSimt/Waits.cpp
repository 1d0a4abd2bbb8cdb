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

#include <limits>

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {

/// The clock counts in units of 2^16 ns, so that a wait of up to 39 hours takes one register.
constexpr int64_t log2Unit = 16;
/// Most waits are short, and looking at the clock takes as long as they do.
constexpr int64_t triesBeforeClock = 64;

/// Not below 0.
Value ofClock(Emitter &b, Value units) { return b.bitAnd(units, std::numeric_limits<int32_t>::max()); }

Value readClock(Emitter &b) {
  Value now = NVVM::GlobalTimerOp::create(b, b.getI64Type());
  return ofClock(b, arith::TruncIOp::create(b, b.getI32Type(), b.shiftRight(now, log2Unit)));
}

/// Yields whether the wait continues, and when it began.
void lookAtClock(Emitter &b, Value since, int64_t limit, function_ref<void()> report) {
  Value now = readClock(b);
  Value begin = b.select(b.isEqual(since, 0), now, since);
  Value units = ofClock(b, b.sub(now, begin));
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

/// Carried is the number of tries until the first look at the clock, negative, then 0, then the time of that.
void lowering::waitWithin(Emitter &b, int64_t limit, function_ref<Value()> tryInVain,
                          function_ref<void()> report) {
  auto attempt = [&](OpBuilder &, Location, ValueRange carried) {
    Value since = carried.front();
    auto tryAgain = [&](OpBuilder &, Location) {
      scf::YieldOp::create(b, ValueRange{b.i1(true), b.add(since, 1)});
    };
    auto look = [&](OpBuilder &, Location) { lookAtClock(b, since, limit, report); };
    auto lookLater = [&](OpBuilder &, Location) {
      Value isEarly = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, since, b.i32(0));
      auto tried = scf::IfOp::create(b, isEarly, tryAgain, look);
      scf::YieldOp::create(b, tried.getResults());
    };
    auto end = [&](OpBuilder &, Location) { scf::YieldOp::create(b, ValueRange{b.i1(false), since}); };
    auto next = scf::IfOp::create(b, tryInVain(), lookLater, end);
    scf::ConditionOp::create(b, next.getResult(0), next.getResults().drop_front());
  };
  auto again = [&](OpBuilder &, Location, ValueRange carried) { scf::YieldOp::create(b, carried); };
  scf::WhileOp::create(b, TypeRange{b.getI32Type()}, ValueRange{b.i32(-triesBeforeClock)}, attempt, again);
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
  waitWithin(b, *k.waitLimit, tryInVain, report);
}
