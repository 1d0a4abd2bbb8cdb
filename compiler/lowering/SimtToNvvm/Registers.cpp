// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values as the registers that hold them: elements, 32-bit words, operands of inline assembly.
#include "compiler/lowering/SimtToNvvm/Patterns.h"

using namespace mlir;
using namespace tlc;

Value simt::constantI32(OpBuilder &builder, Location loc, int32_t value) {
  return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(value));
}

SmallVector<Value> simt::unpack(OpBuilder &builder, Location loc, Value value) {
  if (!isa<VectorType>(value.getType()))
    return {value};
  if (auto elements = value.getDefiningOp<vector::FromElementsOp>())
    return llvm::to_vector(elements.getElements());
  return llvm::to_vector_of<Value>(vector::ToElementsOp::create(builder, loc, value).getElements());
}

Value simt::pack(OpBuilder &builder, Location loc, Type type, ValueRange elements) {
  if (!isa<VectorType>(type))
    return elements.front();
  // What was one vector before it was taken apart is that vector.
  auto parts = elements.front().getDefiningOp<vector::ToElementsOp>();
  if (parts && parts.getSource().getType() == type && llvm::equal(parts.getElements(), elements))
    return parts.getSource();
  return vector::FromElementsOp::create(builder, loc, cast<VectorType>(type), elements);
}

namespace {
/// The register of 16 bits whose two bytes these are; null if there is none.
Value halfWordOf(ValueRange bytes) {
  auto parts = bytes[0].getDefiningOp<vector::ToElementsOp>();
  if (!parts || !llvm::equal(parts.getElements(), bytes))
    return {};
  auto bits = parts.getSource().getDefiningOp<LLVM::BitcastOp>();
  return bits && bits.getArg().getType().isInteger(16) ? bits.getArg() : Value();
}
} // namespace

Value simt::wordOf(OpBuilder &builder, Location loc, ValueRange elements) {
  Type i32 = builder.getI32Type();
  if (elements.size() == 4)
    if (Value low = halfWordOf(elements.take_front(2)), high = halfWordOf(elements.drop_front(2));
        low && high) {
      Value halves = pack(builder, loc, VectorType::get(2, builder.getI16Type()), {low, high});
      return LLVM::BitcastOp::create(builder, loc, i32, halves);
    }
  Type type = VectorType::get(int64_t(elements.size()), elements.front().getType());
  return LLVM::BitcastOp::create(builder, loc, i32, pack(builder, loc, type, elements));
}

unsigned simt::bitsOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * vector.getElementTypeBitWidth();
  return type.getIntOrFloatBitWidth();
}

namespace {
constexpr unsigned wordBits = 32;

/// A vector longer than a word whose last elements do not fill one: how many elements come before those.
std::optional<size_t> elementsOfWholeWords(Type type) {
  unsigned bits = simt::bitsOf(type);
  if (bits < wordBits || bits % wordBits == 0)
    return std::nullopt;
  return bits / wordBits * wordBits / cast<VectorType>(type).getElementTypeBitWidth();
}

VectorType resized(Type type, int64_t elements) {
  return VectorType::get(elements, cast<VectorType>(type).getElementType());
}
} // namespace

SmallVector<Value> simt::toWords(OpBuilder &builder, Location loc, Value value) {
  Type i32 = builder.getI32Type(), type = value.getType();
  unsigned bits = bitsOf(type);
  if (std::optional<size_t> whole = elementsOfWholeWords(type)) {
    SmallVector<Value> elements = unpack(builder, loc, value), words;
    for (ValueRange part : {ValueRange(elements).take_front(*whole), ValueRange(elements).drop_front(*whole)})
      llvm::append_range(
          words, toWords(builder, loc, pack(builder, loc, resized(type, int64_t(part.size())), part)));
    return words;
  }
  if (bits < 32) {
    Value narrow = LLVM::BitcastOp::create(builder, loc, builder.getIntegerType(bits), value);
    return {LLVM::ZExtOp::create(builder, loc, i32, narrow)};
  }
  if (bits == 32)
    return {LLVM::BitcastOp::create(builder, loc, i32, value)};
  Value words = LLVM::BitcastOp::create(builder, loc, VectorType::get(bits / 32, i32), value);
  return unpack(builder, loc, words);
}

Value simt::fromWords(OpBuilder &builder, Location loc, Type type, ValueRange words) {
  unsigned bits = bitsOf(type);
  if (std::optional<size_t> whole = elementsOfWholeWords(type)) {
    int64_t rest = cast<VectorType>(type).getNumElements() - int64_t(*whole);
    Value first = fromWords(builder, loc, resized(type, int64_t(*whole)), words.drop_back());
    SmallVector<Value> elements = unpack(builder, loc, first);
    llvm::append_range(elements,
                       unpack(builder, loc, fromWords(builder, loc, resized(type, rest), words.take_back())));
    return pack(builder, loc, type, elements);
  }
  Value packed;
  if (bits < 32)
    packed = LLVM::TruncOp::create(builder, loc, builder.getIntegerType(bits), words.front());
  else if (bits == 32)
    packed = words.front();
  else
    packed = pack(builder, loc, VectorType::get(bits / 32, builder.getI32Type()), words);
  return LLVM::BitcastOp::create(builder, loc, type, packed);
}

SmallVector<Value> simt::inlineAssembly(OpBuilder &builder, Location loc, StringRef text,
                                        StringRef constraints, TypeRange results, ValueRange operands) {
  Type resultType;
  if (results.size() == 1)
    resultType = results.front();
  else if (results.size() > 1)
    resultType = LLVM::LLVMStructType::getLiteral(builder.getContext(), llvm::to_vector(results));
  auto assembly = LLVM::InlineAsmOp::create(
      builder, loc, resultType ? TypeRange(resultType) : TypeRange(), operands, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
      /*asm_dialect=*/LLVM::AsmDialectAttr(), /*operand_attrs=*/ArrayAttr());
  if (results.size() <= 1)
    return SmallVector<Value>(assembly->getResults());
  SmallVector<Value> values;
  for (int64_t i = 0, e = results.size(); i != e; ++i)
    values.push_back(LLVM::ExtractValueOp::create(builder, loc, assembly.getRes(), i));
  return values;
}
