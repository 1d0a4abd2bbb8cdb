// SPDX-License-Identifier: Apache-2.0
/// \file
/// The table's column of MLIR types.
#include "dialects/program/Elements.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tlc {

namespace {

template <class T> Type makeType(const ElementFacts &facts, MLIRContext *context) {
  if constexpr (std::is_same_v<T, IntegerType>) {
    bool isUnsigned = facts.number == NumberKind::unsignedInteger;
    return IntegerType::get(context, facts.bits, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  } else {
    return T::get(context);
  }
}

template <class T> bool isType(const ElementFacts &facts, Type type) {
  return isa<T>(type) && type == makeType<T>(facts, type.getContext());
}

} // namespace

std::optional<ElementType> toElementType(Type type) {
#define TLC_ELEMENT_TYPE(name, C, bits, number, exponent, fraction, bias, specials, use, mlir, ...)          \
  if (isType<mlir##Type>(factsOf(ElementType::name), type))                                                  \
    return ElementType::name;
#include "runtime/support/ElementTypes.def"
  return std::nullopt;
}

Type toMlirType(ElementType type, MLIRContext *context) {
  switch (type) {
#define TLC_ELEMENT_TYPE(name, C, bits, number, exponent, fraction, bias, specials, use, mlir, ...)          \
  case ElementType::name:                                                                                    \
    return makeType<mlir##Type>(factsOf(type), context);
#include "runtime/support/ElementTypes.def"
  }
  return {};
}

bool isComputed(Type type) {
  std::optional<ElementType> element = toElementType(getElementTypeOrSelf(type));
  return !element || isComputed(*element);
}

int64_t elementsPerUnit(Type element) {
  std::optional<ElementType> known = toElementType(element);
  return known ? elementsPerUnit(*known) : 1;
}

bool isPacked(Type element) { return elementsPerUnit(element) > 1; }

Type registerTypeOf(Type element) {
  constexpr unsigned least = 8;
  return isComputed(element)
             ? element
             : IntegerType::get(element.getContext(), std::max(element.getIntOrFloatBitWidth(), least));
}

bool isOfCuda(Type element) {
  std::optional<ElementType> type = toElementType(element);
  return type && !factsOf(*type).cuda.empty();
}

std::string cudaTypesText() {
  std::string text;
  for (const ElementFacts &facts : elementTable)
    if (!facts.cuda.empty())
      text += (text.empty() ? "" : ", ") + std::string(facts.name);
  return text;
}

std::string elementTypesText(MLIRContext *context) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(allElementTypes, os, [&](ElementType type) { os << toMlirType(type, context); });
  return text;
}

} // namespace tlc
