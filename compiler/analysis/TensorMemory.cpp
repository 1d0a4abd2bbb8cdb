// SPDX-License-Identifier: Apache-2.0
/// \file
/// Asks the table of instructions, and the layouts that shared tiles will have.
#include "compiler/analysis/TensorMemory.h"

#include "compiler/analysis/ComputedValues.h"
#include "compiler/analysis/CopyGroups.h"
#include "compiler/analysis/Positions.h"
#include "compiler/analysis/TileFills.h"
#include "compiler/analysis/TmaAccess.h"
#include "dialects/layout/SharedOperands.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/RoleMarks.h"
#include "dialects/tile/Shapes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "runtime/target/BlockBudget.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/MmaAtoms.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tlc::tile {

namespace {

ElementType elementOf(Value value) { return *toElementType(elementTypeOf(value.getType())); }

/// The instruction for these factors and as many rows in one block, or null.
const MmaAtom *findAtom(Value a, Value b, ElementType sums, int64_t rows, const Target &target) {
  for (const MmaAtom *atom : findMmaAtoms(target, elementOf(a), elementOf(b), sums))
    if (atom->kind == MmaKind::tcgen05 && atom->blocks == 1 && int64_t(atom->m) == rows)
      return atom;
  return nullptr;
}

/// Why the instruction cannot read this factor; empty if it can.
std::string factorProblem(Value factor, StringRef name, int kAxis) {
  auto shared = dyn_cast<TypedValue<SharedType>>(factor);
  if (!shared)
    return "";
  int axis = shared.getType().getTransposed() ? 1 - kAxis : kAxis;
  Result<WgmmaOperand> operand = wgmmaOperand(preferredLayout(shared), axis, tcgen05Reader);
  return operand ? ""
                 : "the layout of " + describe(factor, name) + " does not fit: " + operand.error().message;
}

/// Whether it is a right factor of bytes that lies MN-major.
bool isTransposedBytes(Value b) {
  auto shared = dyn_cast<TypedValue<SharedType>>(b);
  return shared && !shared.getType().getTransposed() &&
         elementTypeOf(shared.getType()).getIntOrFloatBitWidth() == 8;
}

std::string productProblem(Value a, Value b, Value acc, ArrayRef<int64_t> shape, const Target &target) {
  const int64_t n = shape[1];
  const MmaAtom *atom = findAtom(a, b, elementOf(acc), shape[0], target);
  if (!atom)
    return describeMissing(target, MmaKind::tcgen05, elementOf(a), elementOf(b), elementOf(acc));
  if (const int64_t most = target.tensorMemory.columns; n < atom->nMin || n % atom->nStep != 0 || n > most)
    return llvm::formatv("n = {0} is not a multiple of {1} from {2} to {3}", n, atom->nStep, atom->nMin,
                         most);
  // PTX ISA, "Matrix shape" of tcgen05: also of 64 rows.
  if (isTransposedBytes(b) && n % tcgen05ColumnStep != 0)
    return llvm::formatv("n = {0} is not a multiple of {1}, the step for a right factor of 8 bits whose rows "
                         "run along n",
                         n, tcgen05ColumnStep);
  std::string left = factorProblem(a, "the left factor", 1);
  return left.empty() ? factorProblem(b, "the right factor", 0) : left;
}

SmallVector<Operation *> usersOf(Value buffer, KernelOp kernel) {
  SmallVector<Operation *> users;
  kernel.walk([&](Operation *op) {
    if (llvm::any_of(memoryAccessesOf(op),
                     [&](const MemoryAccess &access) { return declarationOf(access.memory) == buffer; }))
      users.push_back(op);
  });
  return users;
}

/// Why no role of its own can use the factor, which others fill; empty if it can.
std::string sharedFactorProblem(Value factor, GemmOp product) {
  Value buffer = declarationOf(factor);
  std::string name = describe(buffer, "a factor");
  if (!buffer.getDefiningOp<AllocSharedOp>())
    return name + " is no tile of its own";
  if (!findFill(buffer, usersOf(buffer, product->getParentOfType<KernelOp>())))
    return name + " is not filled by one operation as a whole, before others use it in its loop or branch";
  return "";
}

} // namespace

LogicalResult checkTensorMemory(KernelOp kernel, const Target &target) {
  WalkResult checked = kernel.walk([&](Operation *op) {
    if (auto buffer = dyn_cast<AllocTensorMemoryOp>(op); buffer && !target.tensorMemory.available) {
      buffer.emitError("expected a target with tensor memory because '")
          << buffer.getName() << "' lies there, but got " << StringRef(target.name);
      return WalkResult::interrupt();
    }
    auto product = dyn_cast<GemmInPlaceOp>(op);
    std::string problem = product ? productProblem(product.getA(), product.getB(), product.getAcc(),
                                                   product.getAcc().getType().getShape(), target)
                                  : "";
    if (problem.empty())
      return WalkResult::advance();
    op->emitError("expected a product that tcgen05.mma can make because it adds in tensor memory, but ")
        << problem;
    return WalkResult::interrupt();
  });
  return failure(checked.wasInterrupted());
}

static int64_t columnsOf(ArrayRef<int64_t> shape, Type element) {
  return shape.back() * int64_t(element.getIntOrFloatBitWidth()) / registerBits;
}

bool addsInTensorMemory(Operation *op) {
  auto product = dyn_cast<GemmOp>(op);
  return isa<GemmInPlaceOp>(op) || (product && product.getAtom() == MatrixAtom::tcgen05);
}

static int64_t columnsOf(Value fragment) {
  auto type = cast<RankedTensorType>(fragment.getType());
  return columnsOf(type.getShape(), type.getElementType());
}

bool isZero(Value fragment) {
  auto splat = fragment.getDefiningOp<SplatOp>();
  return splat &&
         (matchPattern(splat.getValue(), m_PosZeroFloat()) || matchPattern(splat.getValue(), m_Zero()));
}

/// The product of the same block from whose sum alone the left factor is computed, if the factor fits over
/// that sum; null if there is none.
static GemmOp productBelow(GemmOp product) {
  SmallVector<Value> worklist = {product.getA()};
  llvm::SmallPtrSet<void *, 16> seen;
  GemmOp found;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *op = value.getDefiningOp();
    Operation *here = op ? product->getBlock()->findAncestorOpInBlock(*op) : nullptr;
    if (!here || !here->isBeforeInBlock(product) || !seen.insert(value.getAsOpaquePointer()).second)
      continue;
    if (auto sum = dyn_cast<GemmOp>(op); sum && isZero(sum.getAcc())) {
      bool isBelow = op == here && sum.getType().getDimSize(0) == product.getType().getDimSize(0) &&
                     columnsOf(sum) >= columnsOf(product.getA());
      if (!isBelow || std::exchange(found, sum))
        return {};
      continue;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op))
      for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()})
        worklist.push_back(yield.getOperand(cast<OpResult>(value).getResultNumber()));
    llvm::copy_if(op->getOperands(), std::back_inserter(worklist),
                  [](Value operand) { return isa<RankedTensorType>(operand.getType()); });
  }
  return found;
}

bool liesOver(Value tile, Value below) {
  auto first = tile.getDefiningOp<AllocTensorMemoryOp>(), second = below.getDefiningOp<AllocTensorMemoryOp>();
  return first && second && first.getOver() == second.getName();
}

bool sharesColumns(Value tile, Value other) {
  return tile == other || liesOver(tile, other) || liesOver(other, tile);
}

KernelColumns::KernelColumns(KernelOp kernel) {
  llvm::StringMap<size_t> named;
  kernel.walk([&](AllocTensorMemoryOp tile) {
    if (tile.getOver())
      return;
    TensorMemoryType type = tile.getBuffer().getType();
    named[tile.getName()] = tiles[tile] =
        columns.add(type.getShape().drop_back().back(), type.numSlots() * type.slotColumns());
  });
  kernel.walk([&](AllocTensorMemoryOp tile) {
    if (!tile.getOver())
      return;
    if (auto below = named.find(*tile.getOver()); below != named.end())
      tiles[tile] = below->second;
  });
  kernel.walk([&](GemmInPlaceOp product) {
    auto left = find(product.getA()), sum = find(product.getAcc());
    if (left && sum)
      columns.joinLanes(*left, *sum);
  });
}

std::optional<size_t> KernelColumns::find(Value view) const {
  auto found = tiles.find(declarationOf(view).getDefiningOp());
  return found == tiles.end() ? std::nullopt : std::optional(found->second);
}

TensorMemoryRoom::TensorMemoryRoom(KernelOp kernel, const Target &target, bool factors)
    : factors(factors), limit(BlockBudget(target, int64_t(kernel.getResidents())).columnLimit()) {}

int64_t TensorMemoryRoom::columns() const {
  TensorColumns columns;
  llvm::SmallDenseMap<Operation *, size_t> ofSum;
  for (const Tile &tile : tiles)
    if (!tile.isFactor)
      ofSum[tile.product] = columns.add(tile.rows, tile.columns);
  for (const Tile &tile : tiles)
    if (tile.isFactor)
      columns.joinLanes(columns.add(tile.rows, tile.columns), ofSum.lookup(tile.product));
  for (auto [product, below] : covered)
    columns.joinLanes(ofSum.lookup(product), ofSum.lookup(below));
  return columns.used();
}

bool TensorMemoryRoom::takeSum(GemmOp product) {
  return take(product, product.getResult(), /*isFactor=*/false);
}

bool TensorMemoryRoom::take(GemmOp product, Value fragment, bool isFactor) {
  tiles.push_back(
      {product, isFactor, cast<RankedTensorType>(fragment.getType()).getDimSize(0), columnsOf(fragment)});
  if (columns() <= limit)
    return true;
  tiles.pop_back();
  return false;
}

void TensorMemoryRoom::returnSum(GemmOp product) {
  llvm::erase_if(tiles, [&](const Tile &tile) { return tile.product == product; });
  covered.remove_if([&](const auto &each) { return each.first == product || each.second == product; });
}

TensorMemoryRoom::FactorPlace TensorMemoryRoom::placeFactor(GemmOp product, int64_t warps,
                                                            function_ref<bool(GemmOp)> adds) {
  if (!factors)
    return {};
  if (take(product, product.getA(), /*isFactor=*/true))
    return {/*isTensorMemory=*/true};
  if (warps != warpsPerWarpgroup)
    return {};
  GemmOp below = productBelow(product);
  if (!below || !adds(below) || llvm::any_of(covered, [&](const auto &each) { return each.second == below; }))
    return {};
  covered.insert({product, below});
  if (columns() <= limit) // with both sums in the same lanes
    return {/*isTensorMemory=*/true, below};
  covered.erase(product);
  return {};
}

std::string tensorMemoryProductProblem(ProductOpInterface product, const Target &target) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(product.getAcc().getType()).getShape();
  if (shape[0] != tcgen05Rows && shape[0] != tcgen05Rows / 2)
    return llvm::formatv("m = {0} is not {1} or {2}", shape[0], tcgen05Rows / 2, tcgen05Rows);
  if (std::string problem = productProblem(product.getA(), product.getB(), product.getAcc(), shape, target);
      !problem.empty())
    return problem;
  int64_t k = llvm::cast<SharedType>(product.getB().getType()).getShape()[0];
  const MmaAtom *atom =
      findAtom(product.getA(), product.getB(), elementOf(product.getAcc()), shape[0], target);
  return k % atom->k == 0 ? "" : llvm::formatv("k = {0} is not a multiple of {1}", k, atom->k).str();
}

std::string sumInTensorMemoryProblem(GemmOp product, const Target &target) {
  auto kernel = product->getParentOfType<KernelOp>();
  if (product.getMetadata())
    return "its left factor is sparse";
  if (synchronisesByHand(kernel) || !kernel.getOps<AllocTensorMemoryOp>().empty())
    return "the kernel synchronises by hand";
  if (std::string problem = tensorMemoryProductProblem(product, target); !problem.empty())
    return problem;
  ComputedValues computed(kernel, takenPositions(kernel));
  auto isComputed = [&](Value value) { return computed.contains(value); };
  for (Operation *around = product->getParentOp(); around != kernel; around = around->getParentOp())
    if (llvm::any_of(conditionOf(around), isComputed))
      return "whether it is made, or how often, depends on computed data";
  for (Value factor : {product.getA(), Value(product.getB())})
    if (isa<SharedType>(factor.getType()))
      if (std::string problem = sharedFactorProblem(factor, product); !problem.empty())
        return problem;
  return "";
}

std::string factorReadByThreads(GemmOp product, llvm::function_ref<bool(GemmOp)> adds,
                                llvm::function_ref<bool(Operation *)> isAhead) {
  for (Value factor : {product.getA(), Value(product.getB())}) {
    if (!isa<SharedType>(factor.getType()))
      continue;
    Value buffer = declarationOf(factor);
    SmallVector<Operation *> users = usersOf(buffer, product->getParentOfType<KernelOp>());
    Operation *fill = findFill(buffer, users);
    // Threads that copy do not wait for the copy in the role that they hand the tile to.
    if (isa_and_nonnull<CopyOp>(fill) && llvm::any_of(users, [&](Operation *op) {
          auto other = dyn_cast<GemmOp>(op);
          return op != fill && !isAhead(fill) && (!other || !adds(other));
        }))
      return describe(buffer, "a factor") + " is also read by threads";
  }
  return "";
}

} // namespace tlc::tile
