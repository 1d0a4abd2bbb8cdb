// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values of handles, operations and their verification, kernels.
#include "compiler/dsl/Trace.h"

#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include "llvm/Support/Format.h"

#include <cmath>
#include <utility>

using namespace mlir;

namespace tlc::dsl::inline v1 {

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
thread_local Trace *currentTrace = nullptr;

std::shared_ptr<MLIRContext> makeContext() {
  auto context = std::make_shared<MLIRContext>(MLIRContext::Threading::DISABLED);
  context->loadDialect<tile::TileDialect, program::ProgramDialect>();
  return context;
}
} // namespace

Trace::Trace(std::string_view name, TraceOptions options, Loc loc)
    : context(makeContext()), builder(context.get()), name(name), options(std::move(options)), began(loc) {
  handler.emplace(context.get(), [this](mlir::Diagnostic &diagnostic) { record(diagnostic); });
  checkName("a program", this->name, loc);
  startModule();
}

Trace *Trace::current() { return currentTrace; }
Trace::Current::Current(Trace &trace) : enclosing(std::exchange(currentTrace, &trace)) {}
Trace::Current::~Current() { currentTrace = enclosing; }

void Trace::startModule() {
  module = ModuleOp::create(at(began));
  outer = currentKernel = createKernel(name, at(began));
  builder.setInsertionPoint(outer.getBody().front().getTerminator());
}

tile::KernelOp Trace::createKernel(StringRef name, Location loc) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module->getBody());
  auto kernel = tile::KernelOp::create(builder, loc, name, builder.getFunctionType({}, {}),
                                       program::LaunchAttr::get(builder.getContext()),
                                       /*load_role=*/false, /*store_role=*/false,
                                       /*arg_attrs=*/ArrayAttr(), /*res_attrs=*/ArrayAttr());
  Block &block = kernel.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&block);
  tile::ReturnOp::create(builder, loc);
  return kernel;
}

void Trace::setSignature(tile::KernelOp kernel) {
  SmallVector<Attribute> attributes;
  StringAttr key = builder.getStringAttr(program::ProgramDialect::argumentAttrName);
  for (Attribute argument : arguments)
    attributes.push_back(builder.getDictionaryAttr(NamedAttribute(key, argument)));
  kernel.setFunctionType(builder.getFunctionType(kernel.getBody().getArgumentTypes(), {}));
  kernel.setArgAttrsAttr(builder.getArrayAttr(attributes));
}

namespace {
/// Whether it may stand outside of launches, each of which repeats it: nothing there depends on what one of
/// them has done, as a position does that is read from a workspace.
bool isSameInEveryLaunch(Operation *op) {
  if (!isMemoryEffectFree(op))
    return false;
  auto load = dyn_cast<tile::LoadIndexOp>(op);
  auto slice = load ? load.getSource().getDefiningOp<tile::SliceOp>() : tile::SliceOp();
  program::TensorAttr tensor = slice ? slice.getTensorFacts() : program::TensorAttr();
  return !tensor || tensor.getAccess() != program::Access::workspace;
}
} // namespace

bool Trace::checkOutside(Loc loc) {
  for (Operation &op : outer.getBody().front().without_terminator()) {
    if (isSameInEveryLaunch(&op))
      continue;
    Diagnostic &diagnostic =
        error(loc, "expected a program of several launches to do everything inside k.launch, but got " +
                       tile::callOf(op.getName().getStringRef()) + " before the first");
    diagnostic.notes.push_back({positionOf(op.getLoc()), "here"});
    return false;
  }
  return true;
}

tile::KernelOp Trace::traceKernel(StringRef kernelName, llvm::function_ref<void(tile::KernelOp)> body,
                                  Loc loc) {
  tile::KernelOp kernel = currentKernel = createKernel(kernelName, at(loc));
  namedBarriers = 0;
  ofLaunch.clear();
  Block &from = outer.getBody().front(), &to = kernel.getBody().front();
  for (BlockArgument argument : from.getArguments())
    ofLaunch.map(argument, to.addArgument(argument.getType(), argument.getLoc()));
  setSignature(kernel);
  inside(&to, [&] {
    for (Operation &op : from.without_terminator())
      builder.clone(op, ofLaunch);
    body(kernel);
  });
  currentKernel = outer;
  return kernel;
}

void Trace::launch(StringRef launchName, const Body &body, Loc loc) {
  if (!checkCurrent(loc))
    return;
  if (currentKernel != outer) {
    error(loc, "expected k.launch outside other launches because launches run one after the other");
    return;
  }
  if (!claimName("a launch", launchName, loc) || !checkOutside(loc))
    return;
  launches.push_back(traceKernel(launchName, [&](tile::KernelOp) { body(); }, loc));
}

//===----------------------------------------------------------------------===//
// Handles and values
//===----------------------------------------------------------------------===//

namespace {
bool isVisible(Value value, Block *here) {
  for (Block *block = here; block; block = block->getParentOp() ? block->getParentOp()->getBlock() : nullptr)
    if (block == value.getParentBlock())
      return true;
  return false;
}
} // namespace

bool Trace::checkCurrent(Loc loc) {
  Trace *traced = current();
  if (traced == this || !traced)
    return traced;
  std::string message = "expected the Scope of program '" + excerpt(traced->name) +
                        "' because that is being traced, but got the one of program '" + excerpt(name) + "'";
  if (traced->diagnostics.empty() || traced->diagnostics.back().message != message)
    traced->error(loc, message);
  return false;
}

bool Trace::checkOwner(const Trace *owner, StringRef what, Loc loc) {
  if (!checkCurrent(loc))
    return false;
  if (!owner)
    error(loc, "expected " + what + ", but got a handle without a value");
  else if (owner != this)
    error(loc, "expected " + what + " of program '" + excerpt(name) + "', but got one of program '" +
                   excerpt(owner->name) + "'; make it in the body of '" + excerpt(name) + "'");
  return owner == this;
}

Value Trace::peek(const detail::Ref &ref) {
  bool traced = ref.value && !ref.trace->finished;
  return traced ? Value::getFromOpaquePointer(ref.value) : Value();
}

Value Trace::use(const detail::Ref &ref, StringRef what, Loc loc) {
  if (!checkOwner(ref.trace.get(), what, loc) || !ref.value)
    return {};
  Value value = Value::getFromOpaquePointer(ref.value);
  if (currentKernel != outer)
    value = ofLaunch.lookupOrDefault(value);
  if (isVisible(value, builder.getInsertionBlock()))
    return value;
  Diagnostic &diagnostic = error(loc, "expected " + what +
                                          " that was made in an enclosing body, but got one of a "
                                          "body that has ended");
  diagnostic.notes.push_back({positionOf(value.getLoc()), "made here"});
  return {};
}

Value Trace::use(const Index &index, StringRef what, Loc loc) {
  if (!checkCurrent(loc))
    return {};
  std::optional<int64_t> constant = index.constant();
  if (!constant && !index.ref().trace) {
    error(loc, "expected " + what +
                   ", but got a handle without a value, or a number whose computation divides "
                   "by zero or exceeds 64 bits");
    return {};
  }
  if (!constant)
    return use(index.ref(), what, loc);
  if (*constant >= INT32_MIN && *constant <= INT32_MAX)
    return this->index(*constant, loc);
  error(loc, "expected " + what + " from " + Twine(INT32_MIN) + " to " + Twine(INT32_MAX) +
                 " because positions have 32 bits, but got " + Twine(*constant));
  return {};
}

Value Trace::useUniform(const Index &index, StringRef what, Loc loc) {
  Value value = use(index, what, loc);
  if (!value || value.getType().isIndex())
    return value;
  error(loc, "expected " + what + " to be one position, but got one per element of a fragment");
  return {};
}

Value Trace::read(const detail::Ref &variable, StringRef what, Loc loc) {
  Value value = use(variable, what, loc);
  if (value && isa<tile::VariableType>(value.getType())) {
    auto type = cast<tile::VariableType>(value.getType());
    return create<tile::ReadOp>(loc, type.getValueType(), value);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Making operations
//===----------------------------------------------------------------------===//

bool Trace::mayStandHere(Operation *op, Loc loc) {
  if (!checkCurrent(loc))
    return false;
  if (currentKernel == outer && (!launches.empty() || !transfers.empty()) && !isSameInEveryLaunch(op)) {
    error(loc, "expected everything inside k.launch because the program has launches, but got " +
                   tile::callOf(op->getName().getStringRef()) + " outside");
    return false;
  }
  if (isa<tile::RolesOp>(op->getParentOp()) && !isa<tile::RoleOp>(op) && !isMemoryEffectFree(op)) {
    error(loc, "expected nothing but k.role in the body of k.roles because every warp belongs to one role, "
               "but got " +
                   tile::callOf(op->getName().getStringRef()));
    return false;
  }
  return true;
}

bool Trace::accept(Operation *op, Loc loc) {
  if (mayStandHere(op, loc) &&
      (op->getNumRegions() != 0 || succeeded(verify(op, /*verifyRecursively=*/false))))
    return true;
  op->erase();
  return false;
}

void Trace::inside(Block *block, llvm::function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(builder);
  if (block->mightHaveTerminator())
    builder.setInsertionPoint(block->getTerminator());
  else
    builder.setInsertionPointToEnd(block);
  body();
}

Type Trace::typeOf(ElementType element) { return toMlirType(element, builder.getContext()); }

std::optional<int64_t> Constant::toInteger(unsigned bits, bool hasSign) const {
  return visit([&]<class T>(T value) -> std::optional<int64_t> {
    if constexpr (std::is_same_v<T, double>) {
      double limit = std::ldexp(1.0, int(bits) - (hasSign ? 1 : 0));
      if (value != std::floor(value) || value < (hasSign ? -limit : 0) || value >= limit)
        return std::nullopt;
      return hasSign ? int64_t(value) : int64_t(uint64_t(value));
    } else {
      bool fits = hasSign ? std::in_range<int64_t>(value) && llvm::isIntN(bits, int64_t(value))
                          : std::in_range<uint64_t>(value) && llvm::isUIntN(bits, uint64_t(value));
      return fits ? std::optional(int64_t(value)) : std::nullopt;
    }
  });
}

TypedAttr Trace::numberAttr(const Constant &number, Type element, Loc loc) {
  if (isa<FloatType>(element))
    return builder.getFloatAttr(element, number.toDouble());
  unsigned bits = element.getIntOrFloatBitWidth();
  bool hasSign = !element.isUnsignedInteger();
  if (std::optional<int64_t> integer = number.toInteger(bits, hasSign))
    return builder.getIntegerAttr(builder.getIntegerType(bits), *integer);
  std::string text;
  llvm::raw_string_ostream(text) << "expected a whole number of " << bits << " bits"
                                 << (hasSign ? "" : " without a sign") << " because the element type is "
                                 << textOf(element) << ", but got ";
  number.visit([&]<class T>(T value) {
    if constexpr (std::is_same_v<T, double>)
      llvm::raw_string_ostream(text) << llvm::format("%g", value);
    else
      text += std::to_string(value);
  });
  error(loc, text);
  return {};
}

Value Trace::number(const Constant &number, Type element, Loc loc) {
  TypedAttr attr = numberAttr(number, element, loc);
  if (!attr)
    return {};
  Value value = create<arith::ConstantOp>(loc, attr);
  if (!value || value.getType() == element)
    return value;
  return create<tile::ConvertOp>(loc, element, value, tile::Rounding::nearest, /*saturate=*/false);
}

Value Trace::index(int64_t value, Loc loc) { return arith::ConstantIndexOp::create(builder, at(loc), value); }

Value Trace::filled(const Scalar &number, RankedTensorType type, Loc loc) {
  if (!checkFragment(type.getShape(), type.getElementType(), loc))
    return {};
  Value value = number.constant() ? this->number(*number.constant(), type.getElementType(), loc)
                                  : use(number.ref(), "a number", loc);
  return value ? create<tile::SplatOp>(loc, type, value) : Value();
}

Value Trace::splat(Value number, ArrayRef<int64_t> shape, Loc loc) {
  auto type = RankedTensorType::get(shape, number.getType());
  return create<tile::SplatOp>(loc, type, number);
}

Value Trace::broadcast(Value fragment, ArrayRef<int64_t> shape, Loc loc) {
  auto type = cast<RankedTensorType>(fragment.getType());
  if (type.getShape() == shape)
    return fragment;
  return create<tile::BroadcastOp>(loc, type.clone(shape), fragment);
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

bool Trace::checkExtents(StringRef what, ArrayRef<int64_t> extents, Loc loc) {
  if (extents.empty()) {
    error(loc, "expected " + what + " to have at least one extent, but got none");
    return false;
  }
  int64_t elements = 1;
  for (auto [axis, extent] : llvm::enumerate(extents)) {
    if (extent < 1 || extent > maxExtent) {
      error(loc, "expected the extents of " + what + " to be from 1 to " + Twine(maxExtent) + ", but axis " +
                     Twine(axis) + " has " + Twine(extent));
      return false;
    }
    if (elements > maxExtent / extent) {
      error(loc, "expected " + what + " to have at most " + Twine(maxExtent) + " elements, but got " +
                     tile::toText(extents));
      return false;
    }
    elements *= extent;
  }
  return true;
}

bool Trace::checkPacking(StringRef what, ArrayRef<int64_t> extents, Type element, Loc loc) {
  std::string problem = tile::packingProblem(what, extents, int64_t(extents.size()) - 1, element);
  if (!problem.empty())
    error(loc, problem);
  return problem.empty();
}

bool Trace::checkTopLevel(StringRef call, Loc loc) {
  if (isa<tile::KernelOp>(builder.getInsertionBlock()->getParentOp()))
    return true;
  error(loc, "expected " + call + " outside loops, branches and roles because it decides what is launched");
  return false;
}

bool Trace::checkFragment(ArrayRef<int64_t> extents, Type element, Loc loc) {
  int64_t available = 0;
  for (const Target &target : allTargets())
    available = std::max(available, int64_t(target.registersPerBlock) * registerBytes);
  int64_t bits = element.isIndex() ? 32 : element.getIntOrFloatBitWidth();
  int64_t needed = llvm::divideCeil(tile::numElements(extents) * bits, 8);
  if (needed <= available)
    return true;
  error(loc, "expected a fragment of at most " + Twine(available) +
                 " bytes because that is all the registers of a block, but " + tile::toText(extents) +
                 " of " + textOf(element) + " takes " + Twine(needed));
  return false;
}

} // namespace tlc::dsl::inline v1
