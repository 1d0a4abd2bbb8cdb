// SPDX-License-Identifier: Apache-2.0
/// \file
/// The products of a warpgroup. There is no intrinsic for them: they are inline assembly that takes and gives
/// back all its accumulator registers. The hardware writes those registers behind the compiler's back from
/// the fence to the wait, so that two ties are needed which the data flow alone does not say: what ordinary
/// code writes passes through the fence, and what it will read passes through the wait. Registers that only
/// travel from product to product must not: a copy of them while they are in flight would be slow and wrong.
#include "compiler/lowering/SimtToNvvm/Patterns.h"
#include "mlir/IR/Matchers.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tlc::simt;

namespace {

/// A statement through which the registers of `values` pass unchanged, and up to which those of `kept` stay.
void tie(OpBuilder &builder, Location loc, StringRef statement, MutableArrayRef<Value> values,
         ArrayRef<Value> kept = {}) {
  SmallVector<Value> operands;
  SmallVector<Type> types;
  std::string outputs, inputs;
  for (Value value : values) {
    for (Value element : unpack(builder, loc, value)) {
      outputs += element.getType().isF32() ? "=f," : "=r,";
      inputs += llvm::formatv("{0},", operands.size());
      types.push_back(element.getType());
      operands.push_back(element);
    }
  }
  for (Value value : kept)
    for (Value element : unpack(builder, loc, value)) {
      inputs += element.getType().isF32() ? "f," : "r,";
      operands.push_back(element);
    }
  SmallVector<Value> results =
      inlineAssembly(builder, loc, statement, outputs + inputs + "~{memory}", types, operands);
  ArrayRef<Value> rest = results;
  for (Value &value : values) {
    size_t count = cast<VectorType>(value.getType()).getNumElements();
    value = pack(builder, loc, value.getType(), rest.take_front(count));
    rest = rest.drop_front(count);
  }
}

/// Operations that only say which registers belong together.
bool isRegrouping(Operation *op) {
  return isa<vector::ExtractOp, vector::ExtractStridedSliceOp, vector::FromElementsOp, vector::InsertOp,
             vector::InsertStridedSliceOp, vector::ShapeCastOp, vector::ShuffleOp, vector::ToElementsOp>(op);
}

/// Where registers come from and go to, through regrouping, loops and branches. A loop or branch may be gone
/// when instructions are ordered, so that it is no reason to leave out a tie.
class RegisterFlow {
public:
  /// Whether instructions of the thread itself compute the value.
  bool isWrittenByThread(Value value) {
    if (!visited.insert(value).second)
      return false;
    auto isWritten = [&](Value source) { return isWrittenByThread(source); };
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      return !loop || isWritten(loop.getTiedLoopInit(argument)->get()) ||
             isWritten(loop.getTiedLoopYieldedValue(argument)->get());
    }
    Operation *definition = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (matchPattern(value, m_Constant()) || isa<WgmmaOp, WgmmaWaitOp>(definition))
      return false;
    if (isRegrouping(definition))
      return llvm::any_of(definition->getOperands(), isWritten);
    if (auto loop = dyn_cast<scf::ForOp>(definition))
      return isWritten(loop.getInitArgs()[number]) || isWritten(loop.getYieldedValues()[number]);
    if (auto branch = dyn_cast<scf::IfOp>(definition))
      return isWritten(branch.thenYield()->getOperand(number)) ||
             isWritten(branch.elseYield()->getOperand(number));
    return true;
  }

  /// Whether anything but products uses the value.
  bool isReadByThread(Value value) {
    if (!visited.insert(value).second)
      return false;
    auto isRead = [&](Value value) { return isReadByThread(value); };
    return llvm::any_of(value.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (isRegrouping(user))
        return llvm::any_of(user->getResults(), isRead);
      if (auto loop = dyn_cast<scf::ForOp>(user))
        return use.getOperandNumber() < loop.getNumControlOperands() ||
               isRead(loop.getTiedLoopRegionIterArg(&use)) || isRead(loop.getTiedLoopResult(&use));
      if (isa<scf::YieldOp>(user)) {
        Operation *parent = user->getParentOp();
        if (auto loop = dyn_cast<scf::ForOp>(parent))
          return isRead(loop.getRegionIterArg(use.getOperandNumber())) ||
                 isRead(loop.getResult(use.getOperandNumber()));
        return !isa<scf::IfOp>(parent) || isRead(parent->getResult(use.getOperandNumber()));
      }
      return !isa<WgmmaOp, WgmmaWaitOp>(user);
    });
  }

private:
  llvm::SmallDenseSet<Value> visited;
};

/// The words that a factor's registers are some of.
Value wordsOf(Value factor) {
  Operation *definition = factor.getDefiningOp();
  bool isPart = definition && isRegrouping(definition) && definition->getNumOperands() == 1;
  return isPart ? wordsOf(definition->getOperand(0)) : factor;
}

/// Gives factors that a loop does not change registers where they are computed. LLVM would write what is
/// cheap to compute, such as a part that is constant, again in every round, under the products of the round
/// before.
void fixInvariantFactors(KernelOp kernel) {
  llvm::SetVector<Value> invariant;
  kernel.walk([&](WgmmaOp product) {
    auto loop = product->getParentOfType<scf::ForOp>();
    if (!loop || !isa<VectorType>(product.getA().getType()))
      return;
    Value words = wordsOf(product.getA());
    auto cast = words.getDefiningOp<vector::BitCastOp>();
    if (cast && loop.isDefinedOutsideOfLoop(cast.getSource()) && !loop.isDefinedOutsideOfLoop(words))
      cast->moveBefore(loop);
    if (loop.isDefinedOutsideOfLoop(words))
      invariant.insert(words);
  });
  for (Value words : invariant) {
    OpBuilder builder(kernel.getContext());
    builder.setInsertionPointAfterValue(words);
    Value registers = words;
    SmallVector<OpOperand *> uses = llvm::to_vector(llvm::make_pointer_range(words.getUses()));
    tie(builder, words.getLoc(), "", registers);
    for (OpOperand *use : uses)
      use->set(registers);
  }
}

bool isTrue(Value predicate) { return predicate && matchPattern(predicate, m_One()); }

/// The products from `fence` to the commit of their batch.
SmallVector<WgmmaOp> batchAfter(WgmmaFenceOp fence) {
  SmallVector<WgmmaOp> products;
  for (Operation *op = fence->getNextNode(); op && !isa<WgmmaCommitOp, WgmmaFenceOp>(op);
       op = op->getNextNode())
    if (auto product = dyn_cast<WgmmaOp>(op))
      products.push_back(product);
  return products;
}

void lowerFence(WgmmaFenceOp fence) {
  SmallVector<WgmmaOp> products = batchAfter(fence);
  // Sums pass through the fence, since the products write them. Factors are only read: up to the fence they
  // are computed, and a register of their own for each round of a loop would be written under its products.
  llvm::SetVector<Value> sums, factors;
  auto addIfWritten = [&](llvm::SetVector<Value> &values, Value value) {
    Operation *definition = value.getDefiningOp();
    bool isBeforeFence =
        !definition || definition->getBlock() != fence->getBlock() || definition->isBeforeInBlock(fence);
    if (isBeforeFence && RegisterFlow().isWrittenByThread(value))
      values.insert(value);
  };
  for (WgmmaOp product : products) {
    if (!isTrue(product.getZero()))
      addIfWritten(sums, product.getAcc());
    if (isa<VectorType>(product.getA().getType()))
      addIfWritten(factors, product.getA());
  }
  OpBuilder builder(fence);
  if (sums.empty() && factors.empty()) {
    NVVM::WgmmaFenceAlignedOp::create(builder, fence.getLoc());
  } else {
    SmallVector<Value> tied = llvm::to_vector(sums);
    tie(builder, fence.getLoc(), "wgmma.fence.sync.aligned;", tied, factors.getArrayRef());
    for (WgmmaOp product : products)
      for (auto [before, after] : llvm::zip_equal(sums, tied))
        product.getAccMutable().assign(product.getAcc() == before ? after : product.getAcc());
  }
  fence.erase();
}

/// The factors in registers that a wait frees, of products before it in its block. They stay alive until
/// then: what is computed in between for the next product of a loop would else be written to the same
/// registers.
SmallVector<Value> factorsFreedBy(WgmmaWaitOp wait) {
  llvm::SetVector<Value> factors;
  auto isOfProducts = [](Operation *op) {
    return isa<WgmmaOp, WgmmaWaitOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
  };
  uint64_t groups = 0; // committed between here and the wait
  for (Operation *op = wait->getPrevNode(); op; op = op->getPrevNode()) {
    auto product = dyn_cast<WgmmaOp>(op);
    if (product && groups > wait.getPending() && isa<VectorType>(product.getA().getType()))
      factors.insert(product.getA());
    else if (!product && op->walk(isOfProducts).wasInterrupted())
      break; // a wait that frees what is before it, or a loop that does who knows what
    groups += isa<WgmmaCommitOp>(op);
  }
  return factors.takeVector();
}

void lowerWait(WgmmaWaitOp wait, ArrayRef<Value> factors) {
  OpBuilder builder(wait);
  SmallVector<OpResult> read;
  for (OpResult result : wait->getResults()) {
    if (RegisterFlow().isReadByThread(result))
      read.push_back(result);
    else
      result.replaceAllUsesWith(wait.getValues()[result.getResultNumber()]);
  }
  if (read.empty() && factors.empty()) {
    NVVM::WgmmaWaitGroupSyncOp::create(builder, wait.getLoc(), wait.getPending());
  } else {
    SmallVector<Value> tied;
    for (OpResult result : read)
      tied.push_back(wait.getValues()[result.getResultNumber()]);
    tie(builder, wait.getLoc(), llvm::formatv("wgmma.wait_group.sync.aligned {0};", wait.getPending()).str(),
        tied, factors);
    for (auto [before, after] : llvm::zip_equal(read, tied))
      before.replaceAllUsesWith(after);
  }
  wait.erase();
}

/// Operand numbers of one product's own inputs; the accumulators are operands 0 and up.
struct ProductOperands {
  unsigned a;            ///< the descriptor, or the first of four registers
  unsigned b;            ///< the descriptor
  std::string predicate; ///< register that is true if the old accumulators count
};

/// The one place that knows the instruction's text.
std::string productText(WgmmaOp op, const ProductOperands &operands) {
  unsigned registers = op.getN() / 2;
  bool fromRegisters = isa<VectorType>(op.getA().getType());
  std::string text;
  llvm::raw_string_ostream os(text);
  bool isFloat8 = isa<Float8E4M3FNType>(op.getElement());
  StringRef element = op.getElement().isF16() ? "f16" : isFloat8 ? "e4m3" : "bf16";
  os << "wgmma.mma_async.sync.aligned.m64n" << op.getN() << (isFloat8 ? "k32" : "k16") << ".f32." << element
     << '.' << element << " {";
  for (unsigned i = 0; i != registers; ++i)
    os << (i ? ", $" : "$") << i;
  os << "}, ";
  if (fromRegisters)
    os << llvm::formatv("{{${0}, ${1}, ${2}, ${3}}", operands.a, operands.a + 1, operands.a + 2,
                        operands.a + 3);
  else
    os << '$' << operands.a;
  os << ", $" << operands.b << ", " << operands.predicate << ", 1, 1";
  if (!fromRegisters && !isFloat8)
    os << ", " << unsigned(op.getTransposeA());
  if (!isFloat8)
    os << ", " << unsigned(op.getTransposeB());
  os << ';';
  return text;
}

void lowerProduct(WgmmaOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  unsigned registers = op.getN() / 2;
  Type f32 = builder.getF32Type();
  bool startsFromZero = isTrue(op.getZero());

  // Registers that are not read need not be written first.
  SmallVector<Value> operands;
  if (startsFromZero)
    operands.assign(registers, LLVM::PoisonOp::create(builder, loc, f32));
  else
    operands = unpack(builder, loc, op.getAcc());

  // '&': a factor of the same bits, a constant's, say, may not share a register with an accumulator.
  std::string constraints;
  for (unsigned i = 0; i != registers; ++i)
    constraints += "=&f,";
  for (unsigned i = 0; i != registers; ++i)
    constraints += llvm::formatv("{0},", i);

  ProductOperands numbers;
  // An output and the input tied to it count as two operands.
  auto nextNumber = [&] { return unsigned(registers + operands.size()); };
  numbers.a = nextNumber();
  llvm::append_range(operands, unpack(builder, loc, op.getA()));
  constraints += isa<VectorType>(op.getA().getType()) ? "r,r,r,r," : "l,";
  numbers.b = nextNumber();
  operands.push_back(op.getB());
  constraints += "l,";
  numbers.predicate = "p";
  std::string prefix = "{\n\t.reg .pred p;\n\t", suffix = "\n\t}";
  if (op.getZero() && !startsFromZero) {
    prefix += llvm::formatv("not.pred p, ${0};\n\t", nextNumber());
    operands.push_back(op.getZero());
    constraints += "b,";
  } else {
    prefix += llvm::formatv("setp.ne.b32 p, {0}, 0;\n\t", startsFromZero ? 0 : 1);
  }
  SmallVector<Value> results =
      inlineAssembly(builder, loc, prefix + productText(op, numbers) + suffix, constraints + "~{memory}",
                     SmallVector<Type>(registers, f32), operands);
  op.getResult().replaceAllUsesWith(pack(builder, loc, op.getResult().getType(), results));
  op.erase();
}

} // namespace

void tlc::simt::lowerWgmma(KernelOp kernel) {
  fixInvariantFactors(kernel);
  // Fences and waits before products: they look at the operations around them.
  kernel.walk([](WgmmaFenceOp fence) { lowerFence(fence); });
  SmallVector<std::pair<WgmmaWaitOp, SmallVector<Value>>> waits; // each looks at those before it
  kernel.walk([&](WgmmaWaitOp wait) { waits.emplace_back(wait, factorsFreedBy(wait)); });
  for (auto &[wait, factors] : waits)
    lowerWait(wait, factors);
  kernel.walk([](WgmmaOp product) { lowerProduct(product); });
  kernel.walk([](WgmmaCommitOp commit) {
    OpBuilder builder(commit);
    NVVM::WgmmaGroupSyncAlignedOp::create(builder, commit.getLoc());
    commit.erase();
  });
}
