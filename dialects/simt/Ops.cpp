// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations of the simt dialect: checks, text form.
#include "dialects/program/Elements.h"
#include "dialects/simt/Simt.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/MmaAtoms.h"
#include "runtime/target/Target.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::simt;
using program::ParameterKind;

//===----------------------------------------------------------------------===//
// kernel
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(inputs, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  function_interface_impl::printFunctionSignature(printer, *this, getArgumentTypes(), /*isVariadic=*/false,
                                                  getResultTypes());
  SmallVector<StringRef> elided = {getSymNameAttrName(), getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                   getResAttrsAttrName()};
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), elided);
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
}

namespace {
/// The entries of a kernel's schema by kind, in order, with their types.
struct Schema {
  SmallVector<RankedTensorType> tensors;
  SmallVector<Type> scalars;
  int64_t dimensions = 0;
};

/// kernel_c3
FailureOr<Schema> verifySchema(KernelOp kernel) {
  ArrayAttr entries = kernel.getSchema(), types = kernel.getSchemaTypes();
  if (entries.size() != types.size())
    return kernel.emitOpError() << "expected one type per entry of 'schema', but got " << types.size()
                                << " types for " << entries.size() << " entries";
  Schema schema;
  for (auto [index, entry, typeAttr] : llvm::enumerate(entries, types)) {
    Type type = cast<TypeAttr>(typeAttr).getValue();
    auto report = [&](StringRef what) {
      return kernel.emitOpError() << "expected entry " << index << " of 'schema' to be a " << what
                                  << " because its type is " << type << ", but got " << entry;
    };
    if (type.isIndex()) {
      if (!isa<program::DimensionAttr>(entry))
        return report("#program.dimension");
      ++schema.dimensions;
    } else if (auto tensorType = dyn_cast<RankedTensorType>(type)) {
      auto tensor = dyn_cast<program::TensorAttr>(entry);
      if (!tensor)
        return report("#program.tensor");
      if (int64_t(tensor.getDims().size()) != tensorType.getRank())
        return kernel.emitOpError() << "expected 'dims' of '" << tensor.getName() << "' to have "
                                    << tensorType.getRank() << " entries because its type is " << type
                                    << ", but got " << tensor.getDims().size();
      schema.tensors.push_back(tensorType);
    } else if (type.isIntOrFloat()) {
      if (!isa<program::ScalarAttr>(entry))
        return report("#program.scalar");
      schema.scalars.push_back(type);
    } else {
      return kernel.emitOpError() << "expected 'schema_types' to be index, tensors and numbers, but got "
                                  << type;
    }
  }
  return schema;
}

/// kernel_c4
LogicalResult verifyLaunch(KernelOp kernel) {
  ArrayRef<Attribute> grid = kernel.getGrid().getValue();
  if (grid.empty() || grid.size() > 3)
    return kernel.emitOpError()
           << "expected 'grid' to have one to three axes because a launch has that many, "
           << "but got " << grid.size();
  for (Attribute extent : grid)
    if (!isa<program::HostExprAttr>(extent))
      return kernel.emitOpError()
             << "expected 'grid' to be made of #program.host_expr because the host computes "
             << "it, but got " << extent;
  for (Attribute map : kernel.getTensorMaps())
    if (!isa<program::TensorMapAttr>(map))
      return kernel.emitOpError() << "expected 'tensor_maps' to be made of #program.tensor_map, but got "
                                  << map;
  for (Attribute role : kernel.getRolesAttr() ? kernel.getRolesAttr().getValue() : ArrayRef<Attribute>())
    if (!isa<program::RoleAttr>(role))
      return kernel.emitOpError() << "expected 'roles' to be made of #program.role, but got " << role;
  for (Attribute object : kernel.getSharedAttr() ? kernel.getSharedAttr().getValue() : ArrayRef<Attribute>())
    if (!isa<program::SharedAttr>(object))
      return kernel.emitOpError() << "expected 'shared' to be made of #program.shared, but got " << object;
  for (Attribute mark : kernel.getMarksAttr() ? kernel.getMarksAttr().getValue() : ArrayRef<Attribute>())
    if (!isa<program::MarkAttr>(mark))
      return kernel.emitOpError() << "expected 'marks' to be made of #program.mark, but got " << mark;
  return success();
}

/// The type that kernel_c1 asks of a parameter.
Type parameterType(program::ParameterAttr parameter, const Schema &schema, MLIRContext *context) {
  switch (parameter.getKind()) {
  case ParameterKind::tensorPointer:
  case ParameterKind::multicastPointer:
    return LLVM::LLVMPointerType::get(context, 1);
  case ParameterKind::tensorStride:
    return IntegerType::get(context, 64);
  case ParameterKind::dimension:
    return IntegerType::get(context, 32);
  case ParameterKind::scalar:
    return schema.scalars[parameter.getIndex()];
  case ParameterKind::tensorMap:
  case ParameterKind::tensorPointers:
  case ParameterKind::tensorMaps:
    return LLVM::LLVMPointerType::get(context);
  }
  llvm_unreachable("all kinds are handled");
}

/// kernel_c1
LogicalResult verifyParameter(KernelOp kernel, unsigned index, const Schema &schema) {
  auto parameter =
      kernel.getArgAttrOfType<program::ParameterAttr>(index, program::ProgramDialect::parameterAttrName);
  if (!parameter)
    return kernel.emitOpError() << "expected '" << program::ProgramDialect::parameterAttrName
                                << "' on every argument because the launcher fills them, but argument "
                                << index << " has none";
  ParameterKind kind = parameter.getKind();
  int64_t count = 0;
  switch (kind) {
  case ParameterKind::tensorPointer:
  case ParameterKind::tensorPointers:
  case ParameterKind::multicastPointer:
  case ParameterKind::tensorStride:
    count = schema.tensors.size();
    break;
  case ParameterKind::dimension:
    count = schema.dimensions;
    break;
  case ParameterKind::scalar:
    count = schema.scalars.size();
    break;
  case ParameterKind::tensorMap:
  case ParameterKind::tensorMaps:
    count = kernel.getTensorMaps().size();
    break;
  }
  if (parameter.getIndex() >= count)
    return kernel.emitOpError() << "expected the index of argument " << index << ", a "
                                << stringifyParameterKind(kind) << ", to be below " << count
                                << " because there are that many, but got " << parameter.getIndex();
  if (kind == ParameterKind::tensorStride &&
      parameter.getAxis() >= schema.tensors[parameter.getIndex()].getRank())
    return kernel.emitOpError() << "expected the axis of argument " << index << " to be below "
                                << schema.tensors[parameter.getIndex()].getRank()
                                << " because the tensor has that many, but got " << parameter.getAxis();
  Type type = kernel.getArgumentTypes()[index],
       expected = parameterType(parameter, schema, kernel.getContext());
  if (type != expected)
    return kernel.emitOpError() << "expected argument " << index << " to be of type " << expected
                                << " because it is a " << stringifyParameterKind(kind) << ", but got "
                                << type;
  return success();
}
} // namespace

LogicalResult KernelOp::verify() {
  if (getWarps() == 0) // kernel_c2
    return emitOpError() << "expected 'launch' to have at least one warp because they are chosen before this "
                         << "dialect, but got " << getLaunch();
  if (failed(program::verifyLaunch(*this, getLaunch())))
    return failure();
  if (!getResultTypes().empty())
    return emitOpError() << "expected no results because a kernel writes to its tensors, but got "
                         << getResultTypes().size();
  FailureOr<Schema> schema = verifySchema(*this);
  if (failed(schema) || failed(verifyLaunch(*this)))
    return failure();
  for (unsigned i = 0, e = getNumArguments(); i != e; ++i)
    if (failed(verifyParameter(*this, i, *schema)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace {
/// What always happens needs no predicate. What never happens must not reach the machine's compiler, which
/// would find out what follows from it: ptxas 13.0 leaves the sums of products undefined in a loop that
/// cannot run.
template <class Access>
LogicalResult canonicalizeAccess(Access access, PatternRewriter &rewriter, function_ref<void()> dropNever) {
  Value predicate = access.getPredicate();
  if (!predicate)
    return failure();
  if (matchPattern(predicate, m_One()))
    rewriter.modifyOpInPlace(access, [&] { access.getPredicateMutable().clear(); });
  else if (matchPattern(predicate, m_Zero()))
    dropNever();
  else
    return failure();
  return success();
}
} // namespace

LogicalResult LoadOp::canonicalize(LoadOp load, PatternRewriter &rewriter) {
  return canonicalizeAccess(load, rewriter, [&] {
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(load, rewriter.getZeroAttr(load.getType()));
  });
}

LogicalResult StoreOp::canonicalize(StoreOp store, PatternRewriter &rewriter) {
  return canonicalizeAccess(store, rewriter, [&] { rewriter.eraseOp(store); });
}

namespace {
/// load_c1, store_c1
LogicalResult verifyPolicy(Operation *op, Type address, Value policy) {
  auto pointer = cast<LLVM::LLVMPointerType>(address);
  if (!policy || pointer.getAddressSpace() == unsigned(NVVM::NVVMMemorySpace::Global))
    return success();
  return op->emitOpError() << "expected no policy because shared memory is no part of L2, but got one for "
                           << pointer;
}
} // namespace

LogicalResult LoadOp::verify() { return verifyPolicy(*this, getAddress().getType(), getPolicy()); }
LogicalResult StoreOp::verify() { return verifyPolicy(*this, getAddress().getType(), getPolicy()); }

LogicalResult TmaLoadOp::verify() { // tma_load_c1
  size_t axes = getCoordinates().size(), offsets = getOffsets().size();
  if (offsets == 0 || (axes >= 3 && axes <= 5 && offsets + 2 == axes))
    return success();
  return emitOpError() << "expected an offset for each coordinate but the first and the last of 3 to 5, or "
                          "none, but got "
                       << offsets << " offsets and " << axes << " coordinates";
}

namespace {
/// atomic_c2, multicast_load_c1, multicast_atomic_c1: `ofFloats` are the kinds of the value's type if it is a
/// float.
LogicalResult verifyKind(Operation *op, arith::AtomicRMWKind kind, Value value,
                         ArrayRef<arith::AtomicRMWKind> ofFloats) {
  constexpr arith::AtomicRMWKind ofIntegers[] = {arith::AtomicRMWKind::addi, arith::AtomicRMWKind::mins,
                                                 arith::AtomicRMWKind::minu, arith::AtomicRMWKind::maxs,
                                                 arith::AtomicRMWKind::maxu, arith::AtomicRMWKind::andi,
                                                 arith::AtomicRMWKind::ori,  arith::AtomicRMWKind::xori};
  Type type = getElementTypeOrSelf(value);
  if (llvm::is_contained(isa<FloatType>(type) ? ofFloats : ArrayRef(ofIntegers), kind))
    return success();
  return op->emitOpError() << "expected a kind that the machine has for " << type << ", but got "
                           << arith::stringifyAtomicRMWKind(kind);
}
} // namespace

LogicalResult MulticastLoadOp::verify() { // multicast_load_c1
  constexpr arith::AtomicRMWKind ofHalves[] = {arith::AtomicRMWKind::addf, arith::AtomicRMWKind::minnumf,
                                               arith::AtomicRMWKind::maxnumf};
  bool isHalf = getElementTypeOrSelf(getValue()).getIntOrFloatBitWidth() == 16;
  return verifyKind(*this, getKind(), getValue(), ArrayRef(ofHalves).take_front(isHalf ? 3 : 1));
}

LogicalResult MulticastStoreOp::verify() { // multicast_store_c1
  auto vector = dyn_cast<VectorType>(getValue().getType());
  int64_t bits = (vector ? vector.getNumElements() : 1) *
                 int64_t(getElementTypeOrSelf(getValue()).getIntOrFloatBitWidth());
  if (bits == 32 || bits == 64 || bits == 128)
    return success();
  return emitOpError() << "expected 4, 8 or 16 bytes because multimem.st stores no others, but got "
                       << getValue().getType();
}

LogicalResult MulticastAtomicOp::verify() { // multicast_atomic_c1
  return verifyKind(*this, getKind(), getValue(), arith::AtomicRMWKind::addf);
}

LogicalResult AtomicOp::verify() {
  if (failed(verifyKind(*this, getKind(), getValue(), arith::AtomicRMWKind::addf))) // c2
    return failure();
  if (isInSharedMemory() && (getSystem() || isa<VectorType>(getValue().getType()))) // c3
    return emitOpError() << "expected one number at the scope of the block in shared memory, but got "
                         << getValue().getType() << (getSystem() ? " at that of the system" : "");
  const Target *target = program::findTarget(*this);
  auto vector = dyn_cast<VectorType>(getValue().getType());
  if (!target || !vector || vector.getNumElements() <= target->maxAddedFloats)
    return success();
  return emitOpError() << "expected at most " << target->maxAddedFloats << " numbers because "
                       << StringRef(target->name.data(), target->name.size())
                       << " adds no more at once, but got " << vector;
}

LogicalResult SetRegistersOp::verify() { // set_registers_c1
  const Target *target = program::findTarget(*this);
  RegisterReallocationFacts limits = target ? target->setmaxnreg : RegisterReallocationFacts();
  int64_t count = getCount();
  if (target && !limits.available)
    return emitOpError() << "expected a target with setmaxnreg, but got "
                         << StringRef(target->name.data(), target->name.size());
  if (count < limits.min || count > limits.max || count % limits.step != 0)
    return emitOpError() << "expected a multiple of " << limits.step << " registers from " << limits.min
                         << " to " << limits.max << ", but got " << count;
  return success();
}

namespace {
/// encode_c1, decode_c1
LogicalResult verifySmallFloat(Operation *op, Type type) {
  std::optional<ElementType> element = toElementType(type);
  if (element && isFloat(*element) && bitsOf(*element) <= 8)
    return success();
  return op->emitOpError() << "expected 'element' to be a float of 8 or 4 bits, but got " << type;
}

Unit unitOf(Type smallFloat) { return isPacked(smallFloat) ? Unit::float4 : Unit::float8; }
} // namespace

LogicalResult EncodeOp::verify() { return verifySmallFloat(*this, getElement()); }
LogicalResult DecodeOp::verify() { return verifySmallFloat(*this, getElement()); }
std::optional<Unit> EncodeOp::getNeededUnit() { return unitOf(getElement()); }
std::optional<Unit> DecodeOp::getNeededUnit() { return unitOf(getElement()); }

namespace {
/// The instruction of that kind for these factors and sums, or null.
const MmaAtom *findAtom(MmaKind kind, Type a, Type b, Value acc) {
  std::optional<ElementType> left = toElementType(a), right = toElementType(b),
                             sums = toElementType(getElementTypeOrSelf(acc.getType()));
  return left && right && sums ? findMmaAtom(kind, *left, *right, *sums) : nullptr;
}

/// wgmma_c2, mma_sync_c1
template <typename Product> InFlightDiagnostic reportTypes(Product op, StringRef instruction) {
  return op.emitOpError() << "expected elements that " << instruction << " multiplies, but got "
                          << op.getAElement() << " and " << op.getBElement() << " with sums of "
                          << getElementTypeOrSelf(op.getAcc().getType());
}
} // namespace

LogicalResult WgmmaOp::verify() {
  MmaKind kind = getMetadata() ? MmaKind::sparseWgmma : MmaKind::wgmma;
  const MmaAtom *atom = findAtom(kind, getAElement(), getBElement(), getAcc());
  if (!atom) // wgmma_c2
    return reportTypes(*this, "wgmma");
  int64_t n = getN(), step = atom->nStep;
  if (n < 0 || !atom->allowsN(unsigned(n))) // wgmma_c1
    return emitOpError() << "expected 'n' to be a multiple of " << step << " from " << step << " to "
                         << maxWgmmaColumns << ", but got " << n;
  auto acc = cast<VectorType>(getAcc().getType());
  if (acc.getRank() != 1 || acc.isScalable() || acc.getNumElements() != n / 2 ||
      acc.getElementTypeBitWidth() != registerBits)
    return emitOpError() << "expected an accumulator of " << n / 2 << " registers because each of the "
                         << "warpgroup's threads holds n / 2 numbers of 64x" << n << ", but got " << acc;
  auto checkMajor = [&](bool isTransposed, OperandMajors majors, StringRef name) -> LogicalResult {
    if (!isTransposed || majors == OperandMajors::kOrMn)
      return success();
    return emitOpError() << "expected factors along k because those of "
                         << getAElement().getIntOrFloatBitWidth() << " bits cannot be read transposed, but "
                         << name << " is"; // wgmma_c3
  };
  if (failed(checkMajor(getTransposeA(), atom->aMajors, "'a'")) ||
      failed(checkMajor(getTransposeB(), atom->bMajors, "'b'")))
    return failure();
  if (getTransposeA() && !getA().getType().isInteger(64))
    return emitOpError()
           << "expected 'a' to be a descriptor because only shared memory can be read transposed, "
           << "but got " << getA().getType();
  if (getMetadata() && !getA().getType().isInteger(64)) // wgmma_c4
    return emitOpError() << "expected 'a' to be a descriptor because it is sparse, but got "
                         << getA().getType();
  uint64_t most = getMetadata() && getAElement().getIntOrFloatBitWidth() != 8 ? 1 : 0;
  if (getSelector() > most)
    return emitOpError() << "expected 'selector' "
                         << (most == 0 ? "0 because no other threads have metadata" : "0 or 1")
                         << ", but got " << getSelector();
  return success();
}

LogicalResult MmaSyncOp::verify() {
  const MmaAtom *atom = findAtom(MmaKind::mmaSync, getAElement(), getBElement(), getAcc());
  if (!atom) // mma_sync_c1
    return reportTypes(*this, "mma.sync");
  const Target *target = program::findTarget(*this);
  if (!target || findMmaAtom(*target, MmaKind::mmaSync, atom->a, atom->b, atom->accumulator))
    return success();
  return emitOpError() << "expected elements that the target multiplies, but " // mma_sync_c2
                       << describeMissing(*target, MmaKind::mmaSync, atom->a, atom->b, atom->accumulator);
}
