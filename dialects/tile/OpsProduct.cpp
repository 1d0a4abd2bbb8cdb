// SPDX-License-Identifier: Apache-2.0
/// \file
/// gemm, gemm_async, gemm_wait: checks, and what they say of themselves.
#include "dialects/tile/AtomLayouts.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/Tile.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

namespace {
/// gemm_c1
template <typename Gemm> LogicalResult verifyProductShape(Gemm op) {
  ArrayRef<int64_t> a = extentsOf(op.getA().getType()), b = extentsOf(op.getB().getType());
  ArrayRef<int64_t> acc = op.getAcc().getType().getShape();
  std::string aName = describe(op.getA(), "the left factor"), bName = describe(op.getB(), "the right factor");
  auto report = [&](InFlightDiagnostic diagnostic) {
    noteDeclaration(diagnostic, op.getA());
    noteDeclaration(diagnostic, op.getB());
    return diagnostic;
  };
  auto checkRank = [&](ArrayRef<int64_t> extents, StringRef name) -> LogicalResult {
    if (extents.size() == 2)
      return success();
    return report(op.emitOpError() << "expected " << name
                                   << " to have two axes because it is a matrix, but got "
                                   << toText(extents));
  };
  if (failed(checkRank(a, aName)) || failed(checkRank(b, bName)) || failed(checkRank(acc, "the accumulator")))
    return failure();
  bool isSparse = bool(ProductOpInterface(op).getMetadata());
  if (int64_t depth = isSparse ? 2 * a[1] : a[1]; b[0] != depth)
    return report(op.emitOpError() << "expected " << bName << " to have " << depth << " rows because "
                                   << aName << " has " << a[1] << " columns"
                                   << (isSparse ? " and is sparse" : "") << ", but got " << b[0] << " ("
                                   << toText(a) << " times " << toText(b) << ")");
  if (acc[0] != a[0] || acc[1] != b[1])
    return report(op.emitOpError() << "expected an accumulator of " << toText({a[0], b[1]}) << " because "
                                   << aName << " is " << toText(a) << " and " << bName << " is " << toText(b)
                                   << ", but got " << toText(acc));
  return success();
}

bool isInteger8(Type element) { return element.isSignlessInteger(8) || element.isUnsignedInteger(8); }
bool isFloat8(Type element) { return isa<Float8E4M3FNType, Float8E5M2Type>(element); }

/// gemm_c2
template <typename Gemm> LogicalResult verifyProductTypes(Gemm op) {
  Type a = elementTypeOf(op.getA().getType()), b = elementTypeOf(op.getB().getType());
  bool areIntegers = isInteger8(a) && isInteger8(b);
  bool areFloats = (a == b && (a.isF16() || a.isBF16() || a.isF32())) || (isFloat8(a) && isFloat8(b));
  if (!areIntegers && !areFloats) {
    InFlightDiagnostic diagnostic =
        op.emitOpError() << "expected factors of one element type, f16, bf16 or f32, or each of f8E4M3FN or "
                            "f8E5M2, or each of i8 or ui8, but "
                         << describe(op.getA(), "the left factor") << " has " << a << " and "
                         << describe(op.getB(), "the right factor") << " has " << b;
    noteDeclaration(diagnostic, op.getA());
    noteDeclaration(diagnostic, op.getB());
    return diagnostic;
  }
  Builder builder(op.getContext());
  Type acc = op.getAcc().getType().getElementType();
  Type sums = areIntegers ? Type(builder.getI32Type()) : builder.getF32Type();
  if (acc != sums)
    return op.emitOpError() << "expected an accumulator of " << sums << " because products of " << a
                            << " are summed in " << sums << ", but got " << acc;
  return success();
}

/// gemm_c4
template <typename Gemm> LogicalResult verifyMetadata(Gemm op) {
  if (!op.getMetadata())
    return success();
  std::string aName = describe(op.getA(), "the left factor");
  if (!isa<SharedType>(op.getA().getType()))
    return op.emitOpError() << "expected the sparse left factor in shared memory because the instruction "
                               "reads it there, but got a fragment";
  RankedTensorType type = op.getMetadata().getType();
  if (!type.getElementType().isUnsignedInteger(8))
    return op.emitOpError() << "expected metadata of ui8 because each byte has the places of two groups of "
                            << aName << ", but got " << type.getElementType();
  ArrayRef<int64_t> a = extentsOf(op.getA().getType());
  Type element = elementTypeOf(op.getA().getType());
  int64_t stored = storedPerMetadataByte(element.getIntOrFloatBitWidth());
  if (SmallVector<int64_t> expected = {a[0], a[1] / stored};
      a[1] % stored != 0 || type.getShape() != ArrayRef(expected)) {
    InFlightDiagnostic diagnostic = op.emitOpError();
    if (a[1] % stored != 0)
      diagnostic << "expected " << aName << " to have a multiple of " << stored
                 << " columns because a byte of metadata has the places of as many elements of " << element
                 << ", but got " << toText(a);
    else
      diagnostic << "expected metadata of " << toText(expected) << " because " << aName << " is " << toText(a)
                 << " and a byte has the places of " << stored << " elements of " << element << ", but got "
                 << toText(type.getShape());
    noteDeclaration(diagnostic, op.getA());
    return diagnostic;
  }
  return success();
}

/// Whether a gemm in flight may be used like this: nothing reads its registers.
bool mayBeInFlight(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto gemm = dyn_cast<GemmAsyncOp>(user))
    return &use == &gemm.getAccMutable();
  return isa<GemmWaitOp, WriteOp, scf::YieldOp, scf::ForOp>(user);
}
} // namespace

LogicalResult GemmOp::verify() {
  if (failed(verifyProductShape(*this)) || failed(verifyProductTypes(*this)) || failed(verifyMetadata(*this)))
    return failure();
  if (getMetadata() && getAtom().value_or(MatrixAtom::wgmma) != MatrixAtom::wgmma)
    return emitOpError() << "expected the atom wgmma because the left factor is sparse, but got "
                         << stringifyMatrixAtom(*getAtom());
  return success();
}

LogicalResult GemmInPlaceOp::verify() { // gemm_in_place_c1
  return success(succeeded(verifyProductShape(*this)) && succeeded(verifyProductTypes(*this)));
}

LogicalResult GemmAsyncOp::verify() {
  if (failed(verifyProductShape(*this)) || failed(verifyProductTypes(*this)) || failed(verifyMetadata(*this)))
    return failure();
  if (getAtom().value_or(MatrixAtom::wgmma) != MatrixAtom::wgmma) // gemm_async_c2
    return emitOpError()
           << "expected the atom wgmma because no other matrix instruction is asynchronous, but got "
           << stringifyMatrixAtom(*getAtom());
  for (OpOperand &use : getResult().getUses()) { // gemm_async_c3
    if (mayBeInFlight(use))
      continue;
    InFlightDiagnostic diagnostic =
        emitOpError() << "expected 'tile.gemm_wait' before the product is used because it is "
                      << "still in flight, but got a use by '" << use.getOwner()->getName() << "'";
    diagnostic.attachNote(use.getOwner()->getLoc()) << "used here";
    return diagnostic;
  }
  return success();
}

LogicalResult GemmWaitOp::verify() {
  int64_t pending = getPending();
  if (pending < 0) // gemm_wait_c1
    return emitOpError() << "expected 'pending' to be at least 0, but got " << pending;
  return success();
}

//===----------------------------------------------------------------------===//
// What a product says of itself
//===----------------------------------------------------------------------===//

namespace {
/// wgmma reads shared memory by its own proxy, and each warpgroup the rows of its part of the accumulator.
template <typename Gemm> SmallVector<MemoryAccess, 3> accessesOf(Gemm op) {
  bool ofUnit = op.getAtom() == MatrixAtom::wgmma;
  Proxy proxy = ofUnit ? Proxy::matrixUnit : Proxy::generic;
  bool leftInRegisters = isa<RankedTensorType>(op.getA().getType());
  // An accumulator becomes the left factor without an exchange between threads.
  bool wantsInterleaved =
      ofUnit && leftInRegisters && op.getB().getType().getElementType().getIntOrFloatBitWidth() == 8;
  SmallVector<MemoryAccess, 3> accesses;
  if (!leftInRegisters)
    accesses.push_back(
        {.memory = op.getA(), .proxy = proxy, .fragment = ofUnit ? Value(op.getAcc()) : Value()});
  accesses.push_back(
      {.memory = op.getB(), .proxy = proxy, .order = wantsInterleaved ? interleavedRows() : RowOrder()});
  return accesses;
}

template <typename Gemm> LogicalResult stateProduct(Gemm op, FragmentRules &rules) {
  OpOperand &acc = op.getAccMutable();
  MatrixAtom atom = op.getAtom().value_or(MatrixAtom::fma);
  const AtomLayouts *layouts = findAtomLayouts(atom);
  int64_t warps = executingWarps(op);
  if (layouts && warps % layouts->unitWarps)
    return op->emitError("expected whole warpgroups because the product's atom is ")
           << layouts->name << ", but got " << warps << " warps";
  rules.equal(op.getResult(), acc, "the accumulator of the product");
  if (!layouts)
    return success();
  Shape shape = shapeOf(acc.get());
  WarpGrid grid = layouts->grid(shape[0], shape[1], warps / layouts->unitWarps, policyOf(op.getPolicy()));
  std::string name = layouts->name;
  rules.produces(op.getResult(), layouts->accumulator(shape[0], shape[1], grid), Strength::required,
                 "the accumulator of " + name, ConversionPolicy::forbidden);
  if (op.getMetadata()) {
    OpOperand &metadata = op.getMetadataMutable()[0];
    rules.takes(metadata,
                wgmmaMetadata(shape[0], shapeOf(metadata.get())[1],
                              int(elementTypeOf(op.getA().getType()).getIntOrFloatBitWidth()), grid),
                Strength::required, "the metadata of " + name);
  }
  if (!isa<RankedTensorType>(op.getA().getType()))
    return success();
  SharedLayoutAttr right = op.getB().getType().getLayout();
  RowOrder order = right ? right.getLayout().rowOrder() : RowOrder();
  rules.takes(op.getAMutable(),
              layouts->left(shape[0], shapeOf(op.getA())[1], elementBitsOf(op.getA()), grid, order),
              Strength::required, "operand A of " + name);
  return success();
}

std::optional<Unit> unitOf(std::optional<MatrixAtom> atom) {
  const AtomLayouts *layouts = atom ? findAtomLayouts(*atom) : nullptr;
  return layouts ? std::optional(layouts->unit) : std::nullopt;
}
} // namespace

SmallVector<MemoryAccess, 3> GemmOp::getMemoryAccesses() { return accessesOf(*this); }
SmallVector<MemoryAccess, 3> GemmAsyncOp::getMemoryAccesses() { return accessesOf(*this); }
LogicalResult GemmOp::stateLayouts(FragmentRules &rules) { return stateProduct(*this, rules); }
LogicalResult GemmAsyncOp::stateLayouts(FragmentRules &rules) { return stateProduct(*this, rules); }
std::optional<Unit> GemmOp::getNeededUnit() { return unitOf(getAtom()); }
std::optional<Unit> GemmAsyncOp::getNeededUnit() { return unitOf(getAtom()); }

/// The tensor core reads and adds for the one thread that issues the product.
SmallVector<MemoryAccess, 3> GemmInPlaceOp::getMemoryAccesses() {
  auto access = [](Value memory, AccessKind kind) {
    return MemoryAccess{
        .memory = memory, .kind = kind, .proxy = Proxy::matrixUnit, .agent = Agent::oneThread};
  };
  return {access(getA(), AccessKind::read), access(getB(), AccessKind::read),
          access(getAcc(), AccessKind::add)};
}

bool GemmInPlaceOp::suitsOneThread() { return true; }

std::optional<Completion> GemmInPlaceOp::getCompletion() { return Completion::arrival; }

std::optional<Completion> GemmAsyncOp::getCompletion() { return Completion::productGroup; }
Value GemmAsyncOp::getValueInFlight() { return getResult(); }
OpOperand *GemmAsyncOp::getContinuedOperand() { return &getAccMutable(); }

LogicalResult GemmWaitOp::stateLayouts(FragmentRules &rules) {
  rules.same(getResult(), getAcc());
  return success();
}
Completion GemmWaitOp::getCompleted() { return Completion::productGroup; }
int64_t GemmWaitOp::getNumInFlight() { return getPending(); }
Value GemmWaitOp::getAwaitedValue() { return getAcc(); }
Value GemmWaitOp::getCompleteValue() { return getResult(); }
