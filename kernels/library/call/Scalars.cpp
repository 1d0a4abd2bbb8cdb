// SPDX-License-Identifier: Apache-2.0
#include "kernels/library/call/Scalars.h"

#include "llvm/ADT/APFloat.h"

#include <charconv>
#include <fmt/format.h>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

const llvm::fltSemantics *semanticsOf(ElementType type) {
  switch (type) {
  case ElementType::f16:
    return &llvm::APFloat::IEEEhalf();
  case ElementType::bf16:
    return &llvm::APFloat::BFloat();
  case ElementType::f32:
    return &llvm::APFloat::IEEEsingle();
  case ElementType::f64:
    return &llvm::APFloat::IEEEdouble();
  case ElementType::e4m3:
    return &llvm::APFloat::Float8E4M3FN();
  case ElementType::e5m2:
    return &llvm::APFloat::Float8E5M2();
  case ElementType::e2m1:
    return &llvm::APFloat::Float4E2M1FN();
  default:
    return nullptr;
  }
}

} // namespace

Result<ScalarValue> kernels::scalarOf(const ScalarArgument &scalar, const Number &number) {
  const ElementType type = scalar.element;
  if (const llvm::fltSemantics *semantics = semanticsOf(type)) {
    const auto *whole = std::get_if<int64_t>(&number);
    llvm::APFloat value(whole ? double(*whole) : std::get<double>(number));
    bool loses = false;
    value.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
    return ScalarValue{type, value.bitcastToAPInt().getZExtValue()};
  }
  const auto *whole = std::get_if<int64_t>(&number);
  if (!whole)
    return invalid(fmt::format("argument '{}': expected a whole number because it is of type {}, but got {}",
                               scalar.name, toString(type), std::get<double>(number)));
  const unsigned bits = bitsOf(type);
  const bool isSigned = !toString(type).starts_with('u');
  const int64_t most = isSigned ? int64_t(~uint64_t(0) >> (65 - bits)) : int64_t((uint64_t(1) << bits) - 1),
                least = isSigned ? -most - 1 : 0;
  if (*whole < least || *whole > most)
    return invalid(fmt::format("argument '{}': expected a number of type {}, from {} to {}, but got {}",
                               scalar.name, toString(type), least, most, *whole));
  return ScalarValue{type, uint64_t(*whole) & (~uint64_t(0) >> (64 - bits))};
}

kernels::Number kernels::numberOf(const Parameters &values, std::string_view name, ElementType type) {
  return isInteger(type) ? Number(values.constant(name)) : Number(values.number(name).value());
}

Result<std::vector<ScalarValue>> kernels::scalarsOf(const Artifact &artifact, const Parameters &values) {
  std::vector<ScalarValue> scalars;
  for (const ScalarArgument &scalar : artifact.scalars) {
    if (values.find(scalar.name).value_or("").empty())
      return invalid(
          fmt::format("expected a value of scalar '{0}' of '{1}', but got none; give one with -D {0}=NUMBER",
                      scalar.name, artifact.name));
    Result<ScalarValue> value = scalarOf(scalar, numberOf(values, scalar.name, scalar.element));
    if (!value)
      return value.error();
    scalars.push_back(*value);
  }
  return scalars;
}

std::string kernels::roundedText(ElementType type, std::string_view text) {
  const llvm::fltSemantics *semantics = semanticsOf(type);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  if (!semantics || text.empty())
    return std::string(text);
  llvm::APFloat value(number);
  bool loses = false;
  value.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return fmt::format("{}", value.convertToDouble());
}
