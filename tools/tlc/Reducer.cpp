// SPDX-License-Identifier: Apache-2.0
/// \file
/// Edits of modules, and the order in which they are tried.
#include "tools/tlc/Reducer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "runtime/support/ChildProcess.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::driver;

namespace {

bool isTerminator(Operation *op) { return op->hasTrait<OpTrait::IsTerminator>(); }

/// Adds the operation and all that depend on it. False if a terminator does.
bool addWithUsers(Operation *op, llvm::SetVector<Operation *> &doomed) {
  llvm::SetVector<Operation *> own;
  own.insert(op);
  for (size_t next = 0; next != own.size(); ++next) {
    if (isTerminator(own[next]))
      return false;
    own.insert_range(own[next]->getUsers());
  }
  doomed.insert_range(own);
  return true;
}

/// Erases operations, and those that depend on them.
bool erase(ArrayRef<Operation *> operations) {
  llvm::SetVector<Operation *> doomed;
  for (Operation *op : operations)
    if (!doomed.contains(op))
      addWithUsers(op, doomed);
  const auto goesWithParent = [&](Operation *op) {
    for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
      if (doomed.contains(parent))
        return true;
    return false;
  };
  const SmallVector<Operation *> outer(
      llvm::make_filter_range(doomed, [&](Operation *op) { return !goesWithParent(op); }));
  for (Operation *op : doomed)
    op->dropAllUses();
  for (Operation *op : outer)
    op->erase();
  return !outer.empty();
}

/// A value of this type that may be used where `op` is and is not a result of it. Null if there is none.
Value findValue(Operation *op, Type type) {
  const auto ofType = [&](ValueRange values) {
    const auto found = llvm::find_if(values, [&](Value value) { return value.getType() == type; });
    return found == values.end() ? Value() : *found;
  };
  if (Value operand = ofType(op->getOperands()))
    return operand;
  for (Operation *inner = op; inner && inner->getBlock(); inner = inner->getParentOp()) {
    for (Operation *before = inner->getPrevNode(); before; before = before->getPrevNode())
      if (Value result = ofType(before->getResults()))
        return result;
    if (Value argument = ofType(inner->getBlock()->getArguments()))
      return argument;
    if (inner->getParentOp()->hasTrait<OpTrait::IsIsolatedFromAbove>())
      break;
  }
  if (!type.isIntOrIndexOrFloat() || op->hasTrait<OpTrait::ConstantLike>())
    return nullptr;
  op->getContext()->getOrLoadDialect<arith::ArithDialect>();
  OpBuilder builder(op);
  return arith::ConstantOp::create(builder, op->getLoc(), builder.getZeroAttr(type));
}

/// Has other values take the place of all that are used. False if there is none for one of them.
bool replaceAll(Operation *op, ValueRange values) {
  for (Value value : values)
    if (!value.use_empty()) {
      Value other = findValue(op, value.getType());
      if (!other)
        return false;
      value.replaceAllUsesWith(other);
    }
  return true;
}

/// Other values take the place of the operation's results.
bool replace(Operation *op) {
  if (isTerminator(op) || op->use_empty() || !replaceAll(op, op->getResults()))
    return false;
  op->erase();
  return true;
}

/// The content of a region takes the place of the operation.
bool inlineRegion(Operation *op, Region &region) {
  if (op->hasTrait<OpTrait::IsIsolatedFromAbove>() || !region.hasOneBlock())
    return false;
  Block &block = region.front();
  if (!replaceAll(op, block.getArguments()))
    return false;
  Operation *terminator = !block.empty() && isTerminator(&block.back()) ? &block.back() : nullptr;
  for (OpResult result : op->getResults())
    if (terminator && result.getResultNumber() < terminator->getNumOperands()) {
      Value yielded = terminator->getOperand(result.getResultNumber());
      if (yielded.getType() == result.getType())
        result.replaceAllUsesWith(yielded);
    }
  op->getBlock()->getOperations().splice(op->getIterator(), block.getOperations(), block.begin(),
                                         terminator ? terminator->getIterator() : block.end());
  if (!replaceAll(op, op->getResults()))
    return false;
  op->erase();
  return true;
}

bool eraseArgument(FunctionOpInterface function, unsigned number) {
  return function.getArgument(number).use_empty() && succeeded(function.eraseArgument(number));
}

} // namespace

bool Reducer::fails(const std::function<std::optional<Reproducer>()> &make) {
  if (trouble)
    return false;
  ++numRuns;
  Result<std::optional<PassFailure>> own = runPasses(make, limit, PassOutput::hide);
  if (!own)
    trouble = own.error();
  return own && *own && (*own)->isLike(failure);
}

bool Reducer::attempt(const Edit &edit) {
  // The process of its own has a copy of the module at the same addresses, and edits that first.
  const bool isSame = fails([&]() -> std::optional<Reproducer> {
    if (!edit())
      return std::nullopt;
    return Reproducer::parse(reproducer.print(), "", reproducer.module->getContext());
  });
  if (isSame) {
    edit();
    numOperations = listOperations().size();
  }
  return isSame;
}

std::vector<Operation *> Reducer::listOperations() {
  std::vector<Operation *> operations;
  reproducer.module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != reproducer.module->getOperation())
      operations.push_back(op);
  });
  return operations;
}

/// Runs the passes before `pass` now, so that the file begins with that.
bool Reducer::startAt(size_t pass) {
  MLIRContext *context = reproducer.module->getContext();
  Result<std::string> text = answerOfChild(limit, [&] {
    for (const std::string &each : ArrayRef(reproducer.passes).take_front(pass)) {
      PassManager passes(context);
      passes.enableVerifier(reproducer.verifiesEach);
      if (failed(parsePassPipeline(each, passes)) || failed(passes.run(*reproducer.module)))
        return std::string();
    }
    reproducer.passes.erase(reproducer.passes.begin(), reproducer.passes.begin() + std::ptrdiff_t(pass));
    return reproducer.print();
  });
  if (!text)
    return false;
  const ScopedDiagnosticHandler silence(context, [](mlir::Diagnostic &) { return success(); });
  std::optional<Reproducer> started = Reproducer::parse(*text, "", context);
  if (!started || !fails([&] { return started->copy(); }))
    return false;
  reproducer = std::move(*started);
  return true;
}

void Reducer::reducePasses() {
  const auto without = [&](size_t begin, size_t end) {
    Reproducer shorter = reproducer.copy();
    shorter.passes.erase(shorter.passes.begin() + std::ptrdiff_t(begin),
                         shorter.passes.begin() + std::ptrdiff_t(end));
    if (!fails([&] { return shorter.copy(); }))
      return false;
    reproducer.passes = std::move(shorter.passes);
    return true;
  };
  for (size_t last = 1; last < reproducer.passes.size(); ++last) // those after the one that fails
    if (without(last, reproducer.passes.size()))
      break;
  for (size_t first = reproducer.passes.size() - 1; first > 0; --first)
    if (startAt(first))
      break;
  for (size_t pass = 0; reproducer.passes.size() > 1 && pass < reproducer.passes.size();)
    if (!without(pass, pass + 1))
      ++pass;
}

/// Many at once first, then fewer.
void Reducer::eraseOperations() {
  for (size_t count = listOperations().size(); count > 0; count /= 2) {
    std::vector<Operation *> operations = listOperations();
    for (size_t begin = 0; begin < operations.size();) {
      const ArrayRef<Operation *> some = ArrayRef(operations).slice(begin).take_front(count);
      if (attempt([&] { return erase(some); }))
        operations = listOperations();
      else
        begin += count;
    }
  }
}

void Reducer::simplifyOperations() {
  std::vector<Operation *> operations = listOperations();
  for (size_t at = 0; at < operations.size();) {
    Operation *op = operations[at];
    bool isSimpler = attempt([&] { return replace(op); });
    for (unsigned region = 0; !isSimpler && region < op->getNumRegions(); ++region)
      isSimpler = attempt([&] { return inlineRegion(op, op->getRegion(region)); });
    if (isSimpler)
      operations = listOperations();
    else
      ++at;
  }
}

void Reducer::removeAttributes() {
  std::vector<Operation *> operations = listOperations();
  operations.push_back(*reproducer.module);
  for (Operation *op : operations)
    for (NamedAttribute attribute : SmallVector<NamedAttribute>(op->getAttrs()))
      attempt([&] { return bool(op->removeAttr(attribute.getName())); });
}

void Reducer::eraseArguments() {
  for (Operation *op : listOperations())
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      for (unsigned number = function.getNumArguments(); number-- > 0;)
        attempt([&] { return eraseArgument(function, number); });
}

tlc::Result<void> Reducer::reduce() {
  numOperations = listOperations().size();
  reducePasses();
  const auto size = [&] { return reproducer.print().size(); };
  for (size_t before = size() + 1; !trouble && size() < before;) {
    before = size();
    eraseOperations();
    simplifyOperations();
    eraseArguments();
    removeAttributes();
  }
  return trouble ? Result<void>(*trouble) : Result<void>();
}
