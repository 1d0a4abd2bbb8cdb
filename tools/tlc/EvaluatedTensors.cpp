// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/EvaluatedTensors.h"

#include "kernels/file/ProgramTensors.h"
#include "kernels/library/call/Scalars.h"
#include "runtime/support/Excerpt.h"

#include "llvm/ADT/STLExtras.h"

#include <iterator>
#include <limits>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

/// The table of the addresses of a tensor's parts along its first axis.
evaluator::Tensor tableOf(evaluator::Tensor tensor) {
  const int64_t count = tensor.extents[0];
  const size_t part = count == 0 ? 0 : tensor.elements.size() / size_t(count);
  evaluator::Tensor table = {ElementType::i64, {count}, std::vector<evaluator::Element>(size_t(count)), {}};
  for (auto at = tensor.elements.begin(); int64_t(table.members.size()) < count; at += ptrdiff_t(part))
    table.members.push_back(
        {tensor.type, {tensor.extents.begin() + 1, tensor.extents.end()}, {at, at + ptrdiff_t(part)}, {}});
  return table;
}

/// The tensor that a table was made of.
evaluator::Tensor joined(const evaluator::Tensor &table, const kernels::TensorSpec &spec) {
  evaluator::Tensor tensor = {spec.element, spec.shape, {}, {}};
  for (const evaluator::Tensor &member : table.members)
    append_range(tensor.elements, member.elements);
  return tensor;
}

} // namespace

evaluator::Tensor driver::evaluatedTensor(const kernels::TensorSpec &spec, const kernels::HostTensor &host) {
  evaluator::Tensor tensor{spec.element, spec.shape, std::vector<evaluator::Element>(host.elementCount())};
  if (spec.access != Access::output)
    for (auto [element, value] : zip(tensor.elements, host.values()))
      element = evaluator::elementOf(spec.element, value);
  return tensor;
}

kernels::Parameter driver::scalarParameter(std::string name, ElementType type, std::string value) {
  using Limits = std::numeric_limits<int64_t>;
  const int64_t most = isInteger(type) ? int64_t(~uint64_t(0) >> (65 - bitsOf(type))) : Limits::max();
  return {.name = std::move(name),
          .description = "number of the launch",
          .kind = kernels::Parameter::Kind::scalar,
          .fallback = std::move(value),
          .least = -most - 1,
          .most = most,
          .element = type};
}

Result<std::vector<evaluator::Element>> driver::evaluatedScalars(mlir::ModuleOp program,
                                                                 const kernels::Parameters &values) {
  std::vector<evaluator::Element> scalars;
  for (const auto &[name, type] : kernels::scalarsOf(program)) {
    const std::string_view text = values.find(name).value_or("");
    if (text.empty() || !scalarParameter(name, type).check("of the program", text))
      return tlc::Error{ErrorKind::invalidArgument, "expected a number of " + std::string(toString(type)) +
                                                        " for scalar '" + excerpt(name) + "', but got '" +
                                                        excerpt(text) + "'"};
    const kernels::Number number = kernels::numberOf(values, name, type);
    if (const auto *whole = std::get_if<int64_t>(&number))
      scalars.push_back({.integer = *whole, .defined = true});
    else
      scalars.push_back(evaluator::elementOf(type, std::get<double>(number)));
  }
  return scalars;
}

Result<evaluator::Report> driver::evaluateRanks(mlir::ModuleOp program, ArrayRef<kernels::TensorSpec> specs,
                                                ArrayRef<evaluator::Element> scalars, size_t ranks,
                                                std::vector<evaluator::Tensor> &tensors,
                                                const evaluator::Options &options) {
  const size_t count = tensors.size() / ranks;
  std::vector<evaluator::Arguments> all(ranks);
  for (auto [rank, arguments] : enumerate(all)) {
    auto first = tensors.begin() + ptrdiff_t(rank * count);
    arguments.tensors.assign(std::move_iterator(first), std::move_iterator(first + ptrdiff_t(count)));
    arguments.scalars = scalars;
    for (auto [spec, tensor] : zip(specs.slice(rank * count, count), arguments.tensors))
      if (spec.isTable)
        tensor = tableOf(std::move(tensor));
  }
  auto report = evaluator::evaluate(program, MutableArrayRef(all), options);
  for (auto [i, tensor] : enumerate(tensors)) {
    tensor = std::move(all[i / count].tensors[i % count]);
    if (specs[i].isTable)
      tensor = joined(tensor, specs[i]);
  }
  return report;
}
