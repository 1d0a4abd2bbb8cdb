// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions in CUDA C++.
#include "compiler/dsl/Cuda.h"

#include "compiler/dsl/Arithmetic.h"
#include "compiler/dsl/Scope.h"

#include <cctype>
#include <fstream>
#include <sstream>

using namespace mlir;

namespace tlc::dsl::inline v1 {

namespace {

/// Names are put between others of C++, namespaces included.
bool isName(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text.front())) &&
         llvm::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':';
         });
}

} // namespace

CudaFunction Scope::cuda(std::string_view name, std::string_view source, CudaOptions options, Loc loc) {
  if (!isName(name) && trace->checkCurrent(loc))
    trace->error(loc, "expected the name of a function in CUDA C++, but got '" +
                          llvm::Twine(StringRef(name)) + "'");
  return {std::string(name), std::string(source), std::move(options)};
}

CudaFunction Scope::cudaFile(std::string_view name, std::string_view path, CudaOptions options, Loc loc) {
  std::ifstream file{std::string(path)};
  std::ostringstream text;
  text << file.rdbuf();
  if (!file && trace->checkCurrent(loc))
    trace->error(loc, "cannot read '" + llvm::Twine(StringRef(path)) + "', the source of '" +
                          StringRef(name) + "'");
  return cuda(name, text.str(), std::move(options), loc);
}

FragmentValue CudaFunction::call(const std::vector<Operand> &operands, Loc loc) const {
  Trace *trace = Trace::current();
  for (const Operand &operand : operands)
    trace = trace ? trace : operand.ref().trace.get();
  if (!trace)
    return {};
  auto poison = [&] { return trace->poison<FragmentValue>(); };
  const std::string what = "an operand of '" + name + "'";
  SmallVector<Value> values;
  SmallVector<int64_t> extents;
  Value first;
  for (const Operand &operand : operands) {
    Value value = operand.constant() ? trace->number(*operand.constant(), trace->builder.getF32Type(), loc)
                                     : trace->read(operand.ref(), what, loc);
    if (!value)
      return poison();
    if (!isOfCuda(getElementTypeOrSelf(value.getType()))) {
      trace->error(loc, "expected " + what + " of a type that CUDA C++ has (" + cudaTypesText() +
                            "), but got " + trace->describe(value) + "; convert it with .to(...)");
      return poison();
    }
    values.push_back(value);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      continue;
    std::optional<SmallVector<int64_t>> common =
        first ? commonExtents(extents, type.getShape()) : SmallVector<int64_t>(type.getShape());
    if (!common) {
      trace->error(loc, "expected operands of '" + name +
                            "' with extents that are equal, or 1 where one is repeated, but got " +
                            trace->describe(first) + " and " + trace->describe(value));
      return poison();
    }
    extents = *common;
    first = first ? first : value;
  }
  if (!first) {
    trace->error(loc, "expected a fragment as " + what + ", but got numbers only");
    return poison();
  }
  for (Value &value : values)
    value = isa<RankedTensorType>(value.getType()) ? trace->broadcast(value, extents, loc)
                                                   : trace->splat(value, extents, loc);
  Type element =
      options.result ? trace->typeOf(*options.result) : getElementTypeOrSelf(values.front().getType());
  if (!isOfCuda(element)) {
    trace->error(loc, "expected '" + name + "' to give a type that CUDA C++ has (" + cudaTypesText() +
                          "), but got " + textOf(element));
    return poison();
  }
  SmallVector<StringRef> flags(options.options.begin(), options.options.end());
  Builder &builder = trace->builder;
  return trace->make<FragmentValue>(trace->create<tile::CudaOp>(
      loc, RankedTensorType::get(extents, element), values, builder.getStringAttr(name),
      builder.getStringAttr(source), flags.empty() ? ArrayAttr() : builder.getStrArrayAttr(flags),
      StringAttr()));
}

} // namespace tlc::dsl::inline v1
