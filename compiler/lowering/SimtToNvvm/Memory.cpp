// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loads, stores, reductions to memory, those on all ranks (multimem), and shuffles. What has no predicate is
/// LLVM's own load and store; with one it is a predicated instruction, so that a thread's accesses stay one
/// straight line and their width is certain.
#include "compiler/lowering/SimtToNvvm/Patterns.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tlc::simt;

namespace {

constexpr unsigned maxVectorBits = 128;

/// Alignment in bytes that the dialect guarantees of a value in memory.
unsigned alignmentOf(Type type) {
  unsigned bytes = llvm::divideCeil(bitsOf(type), 8);
  return bytes & -bytes; // the largest power of two that divides it
}

/// How inline assembly speaks of an address: shared ones have 32 bits (compiler/codegen asks LLVM for that).
struct AddressSpace {
  StringRef name;
  char constraint;
};

AddressSpace spaceOf(Value address) {
  unsigned space = cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace();
  if (space == unsigned(NVVM::NVVMMemorySpace::Shared))
    return {"shared", 'r'};
  if (space == unsigned(NVVM::NVVMMemorySpace::SharedCluster))
    return {"shared::cluster", 'r'};
  return {"global", 'l'};
}

/// One access of a predicated load or store: its suffix, and the registers it takes from a list.
struct Access {
  unsigned bits;      ///< of one register: 8, 16 or 32
  unsigned registers; ///< 1, 2 or 4
  std::string suffix() const {
    return registers == 1 ? llvm::formatv(".b{0}", bits).str()
                          : llvm::formatv(".v{0}.b{1}", registers, bits).str();
  }
};

/// The widest access that a value of that many bits is a whole number of.
Access accessFor(unsigned bits) {
  if (bits < 32)
    return {bits, 1};
  return {32, unsigned(std::min(bits & -bits, maxVectorBits) / 32)};
}

/// "{$first, $first+1}", or "$first".
std::string registerList(unsigned first, unsigned count) {
  if (count == 1)
    return llvm::formatv("${0}", first);
  std::string list = "{";
  for (unsigned i = 0; i != count; ++i)
    list += llvm::formatv("{0}${1}", i ? ", " : "", first + i).str();
  return list + "}";
}

Value offsetBy(OpBuilder &builder, Location loc, Value address, unsigned bytes) {
  if (bytes == 0)
    return address;
  return LLVM::GEPOp::create(builder, loc, address.getType(), builder.getI8Type(), address,
                             ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}

/// Registers of 8 bits do not exist: a byte is held in 16.
Type registerType(OpBuilder &builder, const Access &access) {
  return builder.getIntegerType(access.bits == 32 ? 32 : 16);
}

char constraintOf(const Access &access) { return access.bits == 32 ? 'r' : 'h'; }

/// The value as the registers of `access`.
SmallVector<Value> toRegisters(OpBuilder &builder, Location loc, Value value, const Access &access) {
  if (access.bits == 32)
    return toWords(builder, loc, value);
  Value bits = LLVM::BitcastOp::create(builder, loc, builder.getIntegerType(access.bits), value);
  if (access.bits == 16)
    return {bits};
  return {LLVM::ZExtOp::create(builder, loc, builder.getI16Type(), bits)};
}

Value fromRegisters(OpBuilder &builder, Location loc, Type type, ValueRange registers, const Access &access) {
  if (access.bits == 32)
    return fromWords(builder, loc, type, registers);
  Value bits = registers.front();
  if (access.bits == 8)
    bits = LLVM::TruncOp::create(builder, loc, builder.getI8Type(), bits);
  return LLVM::BitcastOp::create(builder, loc, type, bits);
}

/// The modifier of an access with a policy for L2.
StringRef hintOf(Value policy) { return policy ? ".L2::cache_hint" : ""; }

/// A policy for all lines. Making it touches no memory, so that it may be moved and repeated.
struct LowerCachePolicy : OpConversionPattern<CachePolicyOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CachePolicyOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    std::string text = llvm::formatv("createpolicy.fractional.L2::evict_{0}.b64 $0;",
                                     tlc::program::stringifyEviction(op.getEviction()));
    rewriter.replaceOpWithNewOp<LLVM::InlineAsmOp>(
        op, rewriter.getI64Type(), ValueRange(), text, "=l", /*has_side_effects=*/false,
        /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    return success();
  }
};

struct LowerLoad : OpConversionPattern<LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(LoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = op.getValue().getType();
    Value predicate = adaptor.getPredicate(), policy = adaptor.getPolicy();
    if (!predicate && !policy) {
      rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, type, adaptor.getAddress(), alignmentOf(type));
      return success();
    }
    Access access = accessFor(bitsOf(type));
    AddressSpace space = spaceOf(adaptor.getAddress());
    SmallVector<Type> types(access.registers, registerType(rewriter, access));
    SmallVector<Value> registers;
    for (unsigned done = 0; done * 8 < bitsOf(type); done += access.registers * access.bits / 8) {
      std::string text, constraints;
      for (unsigned i = 0; i != access.registers; ++i) {
        if (predicate)
          text += llvm::formatv("mov.b{0} ${1}, 0;\n\t", access.bits == 32 ? 32 : 16, i);
        constraints += llvm::formatv(predicate ? "=&{0}," : "={0},", constraintOf(access));
      }
      SmallVector<Value> operands = {offsetBy(rewriter, loc, adaptor.getAddress(), done)};
      constraints += {space.constraint, ','};
      if (predicate) {
        text += llvm::formatv("@${0} ", access.registers + operands.size());
        constraints += "b,";
        operands.push_back(predicate);
      }
      text += llvm::formatv("ld.{0}{1}{2} {3}, [${4}]", space.name, hintOf(policy), access.suffix(),
                            registerList(0, access.registers), access.registers);
      if (policy) {
        text += llvm::formatv(", ${0}", access.registers + operands.size());
        constraints += "l,";
        operands.push_back(policy);
      }
      llvm::append_range(
          registers, inlineAssembly(rewriter, loc, text + ";", constraints + "~{memory}", types, operands));
    }
    rewriter.replaceOp(op, fromRegisters(rewriter, loc, type, registers, access));
    return success();
  }
};

struct LowerStore : OpConversionPattern<StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(StoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value value = adaptor.getValue();
    Value predicate = adaptor.getPredicate(), policy = adaptor.getPolicy();
    if (!predicate && !policy) {
      rewriter.replaceOpWithNewOp<LLVM::StoreOp>(op, value, adaptor.getAddress(),
                                                 alignmentOf(value.getType()));
      return success();
    }
    Access access = accessFor(bitsOf(value.getType()));
    SmallVector<Value> registers = toRegisters(rewriter, loc, value, access);
    AddressSpace space = spaceOf(adaptor.getAddress());
    unsigned first = predicate ? 2 : 1;
    std::string text = llvm::formatv("{0}st.{1}{2}{3} [$0], {4}", predicate ? "@$1 " : "", space.name,
                                     hintOf(policy), access.suffix(), registerList(first, access.registers));
    std::string constraints = {space.constraint};
    if (predicate)
      constraints += ",b";
    for (unsigned i = 0; i != access.registers; ++i)
      constraints += {',', constraintOf(access)};
    if (policy) {
      text += llvm::formatv(", ${0}", first + access.registers);
      constraints += ",l";
    }
    for (unsigned done = 0; done != registers.size(); done += access.registers) {
      SmallVector<Value> operands = {offsetBy(rewriter, loc, adaptor.getAddress(), done * access.bits / 8)};
      if (predicate)
        operands.push_back(predicate);
      llvm::append_range(operands, ArrayRef(registers).slice(done, access.registers));
      if (policy)
        operands.push_back(policy);
      inlineAssembly(rewriter, loc, text + ";", constraints + ",~{memory}", {}, operands);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

/// What comes after "red.relaxed.gpu.global", or ".sys", less the width of a vector.
struct AtomicName {
  StringRef operation, type; ///< the type's letter
};
AtomicName nameOf(arith::AtomicRMWKind kind) {
  switch (kind) {
  case arith::AtomicRMWKind::addf:
    return {"add", "f"};
  case arith::AtomicRMWKind::addi:
    return {"add", "u"};
  case arith::AtomicRMWKind::minnumf:
    return {"min", "f"};
  case arith::AtomicRMWKind::maxnumf:
    return {"max", "f"};
  case arith::AtomicRMWKind::mins:
    return {"min", "s"};
  case arith::AtomicRMWKind::minu:
    return {"min", "u"};
  case arith::AtomicRMWKind::maxs:
    return {"max", "s"};
  case arith::AtomicRMWKind::maxu:
    return {"max", "u"};
  case arith::AtomicRMWKind::andi:
    return {"and", "b"};
  case arith::AtomicRMWKind::ori:
    return {"or", "b"};
  case arith::AtomicRMWKind::xori:
    return {"xor", "b"};
  default:
    llvm_unreachable("the verifier refuses others");
  }
}

struct LowerAtomic : OpConversionPattern<AtomicOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AtomicOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = getElementTypeOrSelf(op.getValue());
    bool isFloat = isa<FloatType>(type), isWide = type.getIntOrFloatBitWidth() == 64;
    SmallVector<Value> operands = unpack(rewriter, loc, adaptor.getValue());
    auto count = unsigned(operands.size());
    operands.insert(operands.begin(), adaptor.getAddress());
    std::string width = count == 1 ? "" : llvm::formatv(".v{0}", count).str();
    AtomicName name = nameOf(op.getKind());
    AddressSpace space = spaceOf(adaptor.getAddress());
    StringRef scope = op.isInSharedMemory() ? "cta" : op.getSystem() ? "sys" : "gpu";
    std::string text =
        llvm::formatv("red.relaxed.{0}.{1}.{2}{3}.{4}{5} [$0], {6};", scope, space.name, name.operation,
                      width, name.type, isWide ? 64 : 32, registerList(1, count));
    std::string constraints = {space.constraint};
    for (unsigned i = 0; i != count; ++i)
      constraints += {',', isFloat ? (isWide ? 'd' : 'f') : (isWide ? 'l' : 'r')};
    inlineAssembly(rewriter, loc, text, constraints + ",~{memory}", {}, operands);
    rewriter.eraseOp(op);
    return success();
  }
};

/// The part of a multimem instruction after its operation: 16-bit floats come in pairs.
struct MulticastType {
  explicit MulticastType(Type value, StringRef integer) {
    auto vector = dyn_cast<VectorType>(value);
    Type element = getElementTypeOrSelf(value);
    unsigned elementBits = element.getIntOrFloatBitWidth();
    registers = unsigned(vector ? vector.getNumElements() * elementBits / std::max(elementBits, 32u) : 1);
    constraint = elementBits == 64 ? 'l' : 'r';
    std::string name = elementBits == 16
                           ? (element.isBF16() ? "bf16x2" : "f16x2")
                           : (isa<FloatType>(element) ? "f" : integer.str()) + std::to_string(elementBits);
    suffix = (registers == 1 ? "." : llvm::formatv(".v{0}.", registers).str()) + name;
    storage = IntegerType::get(value.getContext(), elementBits == 64 ? 64 : 32);
  }
  std::string suffix;
  unsigned registers;
  char constraint; ///< of each
  Type storage;    ///< of each
};

SmallVector<Value> toStorage(OpBuilder &builder, Location loc, Value value, const MulticastType &type) {
  if (type.constraint == 'l')
    return {LLVM::BitcastOp::create(builder, loc, type.storage, value)};
  return toWords(builder, loc, value);
}

struct LowerMulticastLoad : OpConversionPattern<MulticastLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MulticastLoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type value = op.getValue().getType();
    AtomicName name = nameOf(op.getKind());
    MulticastType type(value, name.type);
    Value predicate = adaptor.getPredicate();
    bool isHalfSum = getElementTypeOrSelf(value).getIntOrFloatBitWidth() == 16 && name.operation == "add";
    std::string text, constraints;
    for (unsigned i = 0; i != type.registers; ++i) {
      if (predicate)
        text += llvm::formatv("mov.b{0} ${1}, 0;\n\t", type.storage.getIntOrFloatBitWidth(), i);
      constraints += llvm::formatv(predicate ? "=&{0}," : "={0},", type.constraint);
    }
    constraints += "l,";
    SmallVector<Value> operands = {adaptor.getAddress()};
    if (predicate) {
      text += llvm::formatv("@${0} ", type.registers + 1);
      constraints += "b,";
      operands.push_back(predicate);
    }
    text += llvm::formatv("multimem.ld_reduce.weak.global.{0}{1}{2} {3}, [${4}];", name.operation,
                          isHalfSum ? ".acc::f32" : "", type.suffix, registerList(0, type.registers),
                          type.registers);
    SmallVector<Type> types(type.registers, type.storage);
    SmallVector<Value> loaded =
        inlineAssembly(rewriter, loc, text, constraints + "~{memory}", types, operands);
    rewriter.replaceOp(op, type.constraint == 'l'
                               ? Value(LLVM::BitcastOp::create(rewriter, loc, value, loaded.front()))
                               : fromWords(rewriter, loc, value, loaded));
    return success();
  }
};

struct LowerMulticastStore : OpConversionPattern<MulticastStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MulticastStoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    // Vectors are of floats only, and bits are bits.
    SmallVector<Value> words = toWords(rewriter, loc, adaptor.getValue());
    auto count = unsigned(words.size());
    Value predicate = adaptor.getPredicate();
    unsigned first = predicate ? 2 : 1;
    std::string text = llvm::formatv("{0}multimem.st.weak.global{1} [$0], {2};", predicate ? "@$1 " : "",
                                     count == 1 ? ".b32" : llvm::formatv(".v{0}.f32", count).str(),
                                     registerList(first, count));
    std::string constraints = predicate ? "l,b" : "l";
    SmallVector<Value> operands = {adaptor.getAddress()};
    if (predicate)
      operands.push_back(predicate);
    for (Value word : words) {
      constraints += ",r";
      operands.push_back(word);
    }
    inlineAssembly(rewriter, loc, text, constraints + ",~{memory}", {}, operands);
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerMulticastAtomic : OpConversionPattern<MulticastAtomicOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MulticastAtomicOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    AtomicName name = nameOf(op.getKind());
    MulticastType type(op.getValue().getType(), name.type);
    SmallVector<Value> operands = toStorage(rewriter, loc, adaptor.getValue(), type);
    operands.insert(operands.begin(), adaptor.getAddress());
    std::string text = llvm::formatv("multimem.red.{0}.sys.global.{1}{2} [$0], {3};",
                                     op.getRelease() ? "release" : "relaxed", name.operation, type.suffix,
                                     registerList(1, type.registers));
    std::string constraints = "l";
    for (unsigned i = 0; i != type.registers; ++i)
      constraints += {',', type.constraint};
    inlineAssembly(rewriter, loc, text, constraints + ",~{memory}", {}, operands);
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerAliasFence : OpConversionPattern<AliasFenceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AliasFenceOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    inlineAssembly(rewriter, op.getLoc(), "fence.proxy.alias;", "~{memory}", {}, {});
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerShuffleXor : OpConversionPattern<ShuffleXorOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ShuffleXorOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value allLanes = constantI32(rewriter, loc, -1), mask = constantI32(rewriter, loc, op.getMask());
    Value clamp = constantI32(rewriter, loc, 31);
    SmallVector<Value> words = toWords(rewriter, loc, adaptor.getValue());
    for (Value &word : words)
      word = NVVM::ShflOp::create(rewriter, loc, rewriter.getI32Type(), allLanes, word, mask, clamp,
                                  NVVM::ShflKind::bfly, /*return_value_and_is_valid=*/UnitAttr());
    rewriter.replaceOp(op, fromWords(rewriter, loc, op.getResult().getType(), words));
    return success();
  }
};

struct LowerVoteAny : OpConversionPattern<VoteAnyOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(VoteAnyOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value allLanes = constantI32(rewriter, op.getLoc(), -1);
    rewriter.replaceOpWithNewOp<NVVM::VoteSyncOp>(op, rewriter.getI1Type(), allLanes, adaptor.getValue(),
                                                  NVVM::VoteSyncKind::any);
    return success();
  }
};

} // namespace

void tlc::simt::populateMemoryPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerCachePolicy, LowerLoad, LowerStore, LowerAtomic, LowerMulticastLoad, LowerMulticastStore,
               LowerMulticastAtomic, LowerAliasFence, LowerShuffleXor, LowerVoteAny>(converter,
                                                                                     patterns.getContext());
}
