// SPDX-License-Identifier: Apache-2.0
/// \file
/// The products of a warpgroup. There is no intrinsic for them: a batch, from its fence to its commit, is one
/// statement of inline assembly that takes and gives back all accumulator registers. LLVM may copy registers
/// between statements, and a copy of accumulators inside of a batch would be wrong. The hardware writes them
/// until the wait, which the data flow does not say: what ordinary code reads passes through the wait.
/// Registers that only travel from product to product do not: a copy while they are in flight would be wrong.
/// A wait for products right before it becomes part of their statement, so that there is no such copy where
/// they meet others at the end of a branch.
#include "compiler/lowering/SimtToNvvm/Patterns.h"
#include "dialects/program/Elements.h"
#include "mlir/IR/Matchers.h"
#include "runtime/target/Hardware.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Sequence.h"
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
    auto type = dyn_cast<VectorType>(value.getType());
    size_t count = type ? size_t(type.getNumElements()) : 1;
    value = type ? pack(builder, loc, type, rest.take_front(count)) : rest.front();
    rest = rest.drop_front(count);
  }
}

/// Operations that only say which registers belong together.
bool isRegrouping(Operation *op) {
  return isa<vector::ExtractOp, vector::ExtractStridedSliceOp, vector::FromElementsOp, vector::InsertOp,
             vector::InsertStridedSliceOp, vector::ShapeCastOp, vector::ShuffleOp, vector::ToElementsOp>(op);
}

/// Where registers go to, through regrouping, loops and branches. A loop or branch may be gone when
/// instructions are ordered, so that it is no reason to leave out a tie.
class RegisterFlow {
public:
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

/// What a product reads from registers besides the sums: the left factor or its metadata.
Value factorInRegisters(WgmmaOp product) {
  if (product.getMetadata())
    return product.getMetadata();
  return isa<VectorType>(product.getA().getType()) ? product.getA() : Value();
}

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
    Value factor = factorInRegisters(product);
    if (!loop || !factor)
      return;
    Value words = wordsOf(factor);
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
    if (Value factor = product ? factorInRegisters(product) : Value(); factor && groups > wait.getPending())
      factors.insert(factor);
    else if (!product && op->walk(isOfProducts).wasInterrupted())
      break; // a wait that frees what is before it, or a loop that does who knows what
    groups += isa<WgmmaCommitOp>(op);
  }
  return factors.takeVector();
}

/// The wait for products that follows their commit with nothing in between; null if there is none.
WgmmaWaitOp waitAfter(WgmmaCommitOp commit) {
  Operation *next = commit->getNextNode();
  while (next && isRegrouping(next))
    next = next->getNextNode();
  return dyn_cast_or_null<WgmmaWaitOp>(next);
}

/// Whether the wait completes all products, right after they were started.
bool mayJoinBatch(WgmmaWaitOp wait) {
  Operation *before = wait->getPrevNode();
  while (before && isRegrouping(before))
    before = before->getPrevNode();
  return wait.getPending() == 0 && isa_and_present<WgmmaCommitOp>(before);
}

void writeWait(OpBuilder &builder, WgmmaWaitOp wait, MutableArrayRef<Value> tied, ArrayRef<Value> factors) {
  if (tied.empty() && factors.empty())
    NVVM::WgmmaWaitGroupSyncOp::create(builder, wait.getLoc(), wait.getPending());
  else
    tie(builder, wait.getLoc(), llvm::formatv("wgmma.wait_group.sync.aligned {0};", wait.getPending()).str(),
        tied, factors);
}

/// A wait that stays joins the batch before it.
void lowerWait(WgmmaWaitOp wait, ArrayRef<Value> factors) {
  OpBuilder builder(wait);
  SmallVector<OpResult> read;
  for (OpResult result : wait->getResults()) {
    if (RegisterFlow().isReadByThread(result))
      read.push_back(result);
    else
      result.replaceAllUsesWith(wait.getValues()[result.getResultNumber()]);
  }
  if (read.empty() && mayJoinBatch(wait))
    return;
  SmallVector<Value> tied;
  for (OpResult result : read)
    tied.push_back(wait.getValues()[result.getResultNumber()]);
  writeWait(builder, wait, tied, factors);
  for (auto [before, after] : llvm::zip_equal(read, tied))
    before.replaceAllUsesWith(after);
  wait.erase();
}

/// Products that one statement starts, with the fence before, the commit after and the wait after that if
/// there are such.
struct Batch {
  WgmmaFenceOp fence;
  SmallVector<WgmmaOp> products;
  WgmmaCommitOp commit;
  WgmmaWaitOp wait;
  SmallVector<Value> freed; ///< factors in registers that stay up to the wait
};

/// Whether the operation may stand before the products of the batch.
bool mayComeBefore(Operation *op, const Batch &batch) {
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::none_of(op->getOperands(), [&](Value operand) {
           return llvm::is_contained(batch.products, operand.getDefiningOp<WgmmaOp>());
         });
}

/// Whether the product's factors and sums are there before the batch, or the sums are those of its last
/// product on them.
bool mayJoin(WgmmaOp product, const Batch &batch) {
  return llvm::all_of(product->getOperands(), [&](Value operand) {
    auto earlier = operand.getDefiningOp<WgmmaOp>();
    return !llvm::is_contained(batch.products, earlier) ||
           (operand == product.getAcc() && earlier.getResult().hasOneUse());
  });
}

SmallVector<Batch> batchesOf(KernelOp kernel,
                             const llvm::DenseMap<Operation *, SmallVector<Value>> &freedBy) {
  SmallVector<Batch> batches;
  kernel.walk([&](Block *block) {
    Batch batch;
    auto close = [&] {
      if (batch.fence || batch.commit || !batch.products.empty())
        batches.push_back(batch);
      batch = {};
    };
    for (Operation &op : *block) {
      if (auto fence = dyn_cast<WgmmaFenceOp>(op)) {
        close();
        batch.fence = fence;
      } else if (auto product = dyn_cast<WgmmaOp>(op)) {
        if (!mayJoin(product, batch))
          close();
        batch.products.push_back(product);
      } else if (auto commit = dyn_cast<WgmmaCommitOp>(op)) {
        batch.commit = commit;
        batch.wait = waitAfter(commit);
        if (batch.wait)
          batch.freed = freedBy.lookup(batch.wait);
        close();
      } else if (!mayComeBefore(&op, batch)) {
        close();
      }
    }
    close();
  });
  return batches;
}

/// The statement of a batch and its operands.
class BatchWriter {
public:
  explicit BatchWriter(Batch &batch)
      : batch(batch), last(batch.commit ? batch.commit.getOperation() : batch.products.back().getOperation()),
        builder(last), loc(batch.products.front().getLoc()) {}

  void write() {
    addSums();
    std::string text = batch.fence ? "wgmma.fence.sync.aligned;\n\t" : "";
    for (WgmmaOp product : batch.products)
      text += textOf(product);
    if (batch.commit)
      text += "wgmma.commit_group.sync.aligned;";
    if (batch.wait)
      text += "\n\twgmma.wait_group.sync.aligned 0;";
    for (Value factor : batch.freed)
      for (Value word : unpack(builder, loc, factor))
        numberOf(word, "r");
    SmallVector<Value> results =
        inlineAssembly(builder, loc, text, outputs + ties + inputs + "~{memory}", registerTypes, operands);
    for (auto [sums, first] : firstRegister)
      if (!isContinued(sums))
        sums.replaceAllUsesWith(
            pack(builder, loc, sums.getType(), ArrayRef(results).slice(first, registersOf(sums))));
    for (WgmmaOp product : llvm::reverse(batch.products))
      product.erase();
    if (batch.fence)
      batch.fence.erase();
    if (batch.commit)
      batch.commit.erase();
    if (batch.wait)
      batch.wait.erase();
  }

private:
  static unsigned registersOf(Value sums) {
    return unsigned(cast<VectorType>(sums.getType()).getNumElements());
  }

  /// Whether a product of the batch adds to the sums.
  bool isContinued(Value sums) {
    return llvm::any_of(sums.getUsers(), [&](Operation *user) {
      return llvm::is_contained(batch.products, dyn_cast<WgmmaOp>(user));
    });
  }

  /// Gives all sums their registers.
  void addSums() {
    for (WgmmaOp product : batch.products) {
      auto earlier = firstRegister.find(product.getAcc());
      if (earlier != firstRegister.end()) {
        firstRegister[product.getResult()] = earlier->second;
        continue;
      }
      unsigned first = registers, count = registersOf(product.getAcc());
      Type number = getElementTypeOrSelf(product.getAcc().getType());
      firstRegister[product.getResult()] = first;
      registers += count;
      registerTypes.append(count, number);
      // Registers that are not read need not be written first.
      SmallVector<Value> start = isTrue(product.getZero())
                                     ? SmallVector<Value>(count, LLVM::PoisonOp::create(builder, loc, number))
                                     : unpack(builder, loc, product.getAcc());
      llvm::append_range(operands, start);
      for (unsigned i = first; i != registers; ++i) {
        // '&': a factor of the same bits, a constant's, say, may not share a register with an accumulator.
        outputs += number.isF32() ? "=&f," : "=&r,";
        ties += llvm::formatv("{0},", i);
      }
    }
  }

  /// The number of an operand that is only read. An output and the input tied to it count as two.
  unsigned numberOf(Value value, StringRef constraint) {
    auto [entry, isNew] = numbers.try_emplace(value, unsigned(registers + operands.size()));
    if (isNew) {
      operands.push_back(value);
      inputs += constraint.str() + ",";
    }
    return entry->second;
  }

  /// Text that brings a factor's descriptor to the register `name`, or no text and `name` as an operand's
  /// number. A constant distance from another descriptor is added right before the product, so that a batch
  /// does not begin with all its descriptors in registers.
  std::string addressOf(Value descriptor, std::string &name) {
    auto sum = descriptor.getDefiningOp<arith::AddIOp>();
    APInt distance;
    if (!sum || !matchPattern(sum.getRhs(), m_ConstantInt(&distance))) {
      name = llvm::formatv("${0}", numberOf(descriptor, "l"));
      return "";
    }
    return llvm::formatv(".reg .b64 {0};\n\tadd.s64 {0}, ${1}, {2};\n\t", name, numberOf(sum.getLhs(), "l"),
                         distance.getSExtValue());
  }

  /// The one place that knows the instruction's text.
  std::string textOf(WgmmaOp op) {
    unsigned bits = op.getAElement().getIntOrFloatBitWidth();
    bool isInteger = isa<IntegerType>(op.getAElement());
    bool fromRegisters = isa<VectorType>(op.getA().getType());
    std::string text;
    llvm::raw_string_ostream os(text);
    std::string a = "a", b = "b";
    os << "{\n\t.reg .pred p;\n\t";
    if (!fromRegisters)
      os << addressOf(op.getA(), a);
    os << addressOf(op.getB(), b);
    if (op.getZero() && !isTrue(op.getZero()))
      os << llvm::formatv("not.pred p, ${0};\n\t", numberOf(op.getZero(), "b"));
    else
      os << llvm::formatv("setp.ne.b32 p, {0}, 0;\n\t", op.getZero() ? 0 : 1);
    bool isSparse = bool(op.getMetadata());
    os << "wgmma.mma_async" << (isSparse ? ".sp" : "") << ".sync.aligned.m64n" << op.getN() << 'k'
       << tlc::matrixDepthBytes * 8 / bits * (isSparse ? 2 : 1) << (isInteger ? ".s32." : ".f32.")
       << factorName(op.getAElement()) << '.' << factorName(op.getBElement()) << " {";
    unsigned first = firstRegister.lookup(op.getResult());
    llvm::interleaveComma(llvm::seq(first, first + registersOf(op.getResult())), os,
                          [&](unsigned i) { os << '$' << i; });
    os << "}, ";
    if (fromRegisters) {
      os << '{';
      llvm::interleaveComma(unpack(builder, loc, op.getA()), os,
                            [&](Value word) { os << '$' << numberOf(word, "r"); });
      os << '}';
    } else {
      os << a;
    }
    os << ", " << b;
    if (isSparse)
      os << ", $" << numberOf(op.getMetadata(), "r") << ", " << op.getSelector();
    os << ", p";
    if (!isInteger) // whose factors are neither negated
      os << ", 1, 1";
    if (!fromRegisters && bits == 16) // nor transposed, as no others of 8 bits, nor those of 32
      os << ", " << unsigned(op.getTransposeA());
    if (bits == 16)
      os << ", " << unsigned(op.getTransposeB());
    os << ";\n\t}\n\t";
    return text;
  }

  Batch &batch;
  Operation *last;
  OpBuilder builder;
  Location loc;
  llvm::MapVector<Value, unsigned> firstRegister; ///< of the sums, by each product's result
  unsigned registers = 0;
  SmallVector<Type> registerTypes;
  SmallVector<Value> operands;
  llvm::DenseMap<Value, unsigned> numbers; ///< of operands that are only read
  std::string outputs, ties, inputs;
};

void lowerBatch(Batch &batch) {
  if (!batch.products.empty())
    return BatchWriter(batch).write();
  if (batch.fence) {
    OpBuilder builder(batch.fence);
    NVVM::WgmmaFenceAlignedOp::create(builder, batch.fence.getLoc());
    batch.fence.erase();
  }
  if (batch.commit) {
    OpBuilder builder(batch.commit);
    NVVM::WgmmaGroupSyncAlignedOp::create(builder, batch.commit.getLoc());
    batch.commit.erase();
  }
  if (batch.wait) {
    OpBuilder builder(batch.wait);
    writeWait(builder, batch.wait, {}, batch.freed);
    batch.wait.erase();
  }
}

} // namespace

void tlc::simt::lowerWgmma(KernelOp kernel) {
  fixInvariantFactors(kernel);
  // Waits before products: they look at the operations around them.
  SmallVector<WgmmaWaitOp> waits;
  llvm::DenseMap<Operation *, SmallVector<Value>> freedBy; // each looks at those before it
  kernel.walk([&](WgmmaWaitOp wait) {
    waits.push_back(wait);
    freedBy[wait] = factorsFreedBy(wait);
  });
  for (WgmmaWaitOp wait : waits)
    lowerWait(wait, freedBy[wait]);
  for (Batch &batch : batchesOf(kernel, freedBy))
    lowerBatch(batch);
}
