// SPDX-License-Identifier: Apache-2.0
/// \file
/// Remarks about layouts that take much more than elements need: fragments of which threads hold copies or
/// padding, shared tiles with padding, and fragments that together exceed a thread's registers. Nothing is
/// changed.

#include "compiler/analysis/CheapFragments.h"
#include "compiler/analysis/LiveFragments.h"
#include "compiler/analysis/Remarks.h"
#include "compiler/transforms/Passes.h"
#include "dialects/layout/LayoutText.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/support/Math.h"
#include "runtime/target/BlockBudget.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace tlc::tile {
#define GEN_PASS_DEF_REPORTLAYOUTS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Layouts that take at most `mostTimes` what elements need, or at most the few below, have no remark.
constexpr int64_t mostTimes = 2, fewRegisters = 20, fewBytes = 1024;
constexpr size_t mostNamed = 4;

std::string textOf(Value fragment) {
  auto type = cast<RankedTensorType>(fragment.getType());
  std::string element;
  llvm::raw_string_ostream(element) << type.getElementType();
  return printShape(shapeOf(fragment)) + " " + element;
}

Operation *ownerOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
}

//===----------------------------------------------------------------------===//
// Copies and padding
//===----------------------------------------------------------------------===//

/// Registers of a thread if all threads had as many elements.
int64_t evenRegisters(Value fragment) {
  int64_t elements = cast<RankedTensorType>(fragment.getType()).getNumElements();
  int64_t threads = layoutOf(fragment).numWarps() * lanesPerWarp;
  return ceilDiv(elements * elementBitsOf(fragment), registerBits * threads);
}

bool takesMuch(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !isa_and_present<LayoutAttr>(type.getEncoding()) || isCheapFragment(value))
    return false;
  int64_t registers = registersOf(value);
  return registers > fewRegisters && registers > mostTimes * evenRegisters(value);
}

/// Fragments that have one layout because elementwise arithmetic, loops and branches connect them.
struct Connected {
  llvm::SetVector<Value> values;
  bool followsLarger = false; ///< from a larger fragment, of which they are a row or column
  ReshapeOp reshape;
  ProductOpInterface product; ///< that reads its left factor there

  Connected(Value first, llvm::SmallPtrSetImpl<void *> &seen) {
    add(first, first, seen);
    for (size_t i = 0; i < values.size(); ++i) {
      Value value = values[i];
      if (Operation *op = value.getDefiningOp())
        visit(op, value, seen);
      for (Operation *user : value.getUsers())
        visit(user, value, seen);
    }
  }

private:
  static bool isAlike(Value a, Value b) {
    auto first = dyn_cast<RankedTensorType>(a.getType()), second = dyn_cast<RankedTensorType>(b.getType());
    return first && second && first.getShape() == second.getShape() &&
           first.getEncoding() == second.getEncoding();
  }

  void add(Value value, Value like, llvm::SmallPtrSetImpl<void *> &seen) {
    if (isAlike(value, like) && values.insert(value))
      seen.insert(value.getAsOpaquePointer());
  }

  void addReshape(ReshapeOp op, llvm::SmallPtrSetImpl<void *> &seen) {
    reshape = op;
    for (Value side : {Value(op.getSource()), Value(op.getResult())})
      add(side, side, seen);
  }

  void visit(Operation *op, Value value, llvm::SmallPtrSetImpl<void *> &seen) {
    if (auto broadcast = dyn_cast<BroadcastOp>(op))
      followsLarger |= broadcast.getSource() == value;
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      followsLarger |= reduce.getResult() == value;
    else if (auto reshaping = dyn_cast<ReshapeOp>(op))
      addReshape(reshaping, seen);
    else if (auto multiplying = dyn_cast<ProductOpInterface>(op); multiplying && multiplying.getA() == value)
      product = multiplying;
    for (Value other : op->getOperands())
      add(other, value, seen);
    for (Value other : op->getResults())
      add(other, value, seen);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          add(argument, value, seen);
    if (isa<scf::YieldOp>(op))
      for (Value other : op->getParentOp()->getResults())
        add(other, value, seen);
  }
};

std::string fixOf(Connected &fragments) {
  if (ReshapeOp reshape = fragments.reshape)
    return llvm::formatv(
               "its elements stay in their threads at the reshape of {0} to {1}; extents that powers of "
               "two divide, or a shared tile for the change of extents, take less",
               printShape(shapeOf(reshape.getSource())), printShape(shapeOf(reshape.getResult())))
        .str();
  if (fragments.product)
    return "each warpgroup, or warp, of the product holds the rows that it multiplies; WarpPolicy::fullRow, "
           "or the "
           "factor in a shared tile, takes less";
  return "extents that lanes and warps divide, or fewer warps, take less";
}

void reportFragments(KernelOp kernel) {
  llvm::SmallPtrSet<void *, 16> seen;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults()) {
      if (seen.contains(result.getAsOpaquePointer()) || !takesMuch(result))
        continue;
      Connected fragments(result, seen);
      if (fragments.followsLarger)
        continue;
      FragmentLayout layout = layoutOf(result);
      int64_t even = evenRegisters(result), registers = registersOf(result),
              copies = layout.replication(HardwareAxis::lane) * layout.replication(HardwareAxis::warp);
      std::string held =
          copies > 1 ? llvm::formatv("{0} threads hold each element", copies).str() : "the rest is padding";
      emitRemark(op, RemarkId::replicatedElements)
          << "the fragment of " << textOf(result) << " takes " << registers
          << " registers of each thread, of which " << even << " would hold its elements: " << held << "; "
          << fixOf(fragments);
    }
  });
}

void reportTiles(KernelOp kernel) {
  kernel.walk([](AllocSharedOp buffer) {
    SharedType type = buffer.getBuffer().getType();
    if (!type.getLayout())
      return;
    const SharedLayout &layout = type.getLayout().getLayout();
    int64_t elements = 1, bytes = layout.totalBytes();
    for (int64_t extent : layout.shape())
      elements *= extent;
    int64_t needed = ceilDiv(elements * layout.elementBits(), 8);
    if (bytes <= mostTimes * needed || bytes <= fewBytes)
      return;
    emitRemark(buffer, RemarkId::paddedTile)
        << "shared tile '" << buffer.getName() << "' of " << printShape(layout.shape()) << " takes " << bytes
        << " bytes, of which " << needed << " hold its elements: a swizzle repeats after " << swizzleRows
        << " rows, and the tile has " << layout.rows()
        << "; more rows, or a last axis of a multiple of 128 bytes, leave no padding";
  });
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

void reportRegisters(Operation *team, int64_t limit) {
  RegisterPeak peak = registerPeak(team);
  if (peak.registers <= limit)
    return;
  SmallVector<std::string> largest;
  for (const LiveFragment &fragment : ArrayRef(peak.fragments).take_front(mostNamed))
    largest.push_back(llvm::formatv("{0} of {1}{2} ({3})", textOf(fragment.value),
                                    describeStatement(ownerOf(fragment.value)),
                                    placeOf(ownerOf(fragment.value)), fragment.registers)
                          .str());
  size_t others = peak.fragments.size() - largest.size();
  std::string more = others ? llvm::formatv(" and {0} more", others).str() : "";
  emitRemark(peak.op, RemarkId::registerSpills)
      << "fragments take about " << peak.registers << " registers of each thread here, which has " << limit
      << ", so that some may spill to memory: " << llvm::join(largest, ", ") << more
      << "; smaller tiles, more warps or fragments that end earlier take less";
}

struct ReportLayouts : impl::ReportLayoutsBase<ReportLayouts> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    reportFragments(kernel);
    reportTiles(kernel);
    const Target *target = program::findTarget(kernel);
    if (!target)
      return;
    int64_t atLaunch =
        BlockBudget(*target, int64_t(kernel.getResidents())).registersAtLaunch(int64_t(kernel.getWarps()));
    reportRegisters(kernel, atLaunch);
    kernel.walk([&](RoleOp role) {
      reportRegisters(role, role.getRegisters() ? int64_t(*role.getRegisters()) : atLaunch);
    });
  }
};

} // namespace
} // namespace tlc::tile
