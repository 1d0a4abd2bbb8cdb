// SPDX-License-Identifier: Apache-2.0
/// \file
/// Extents and names of program trees.
#include "test/differential/ProgramTree.h"

#include <algorithm>

namespace tlc::differential {

namespace {
bool isKnownOnDevice(const IndexNode &node) {
  return node.kind != IndexKind::multiprocessors && std::ranges::all_of(node.operands, isKnownOnDevice);
}
} // namespace

bool ProgramTree::namesLaunches() const {
  return launches.size() > 1 || (ranks > 1 && std::ranges::any_of(tensors, [](const TensorInfo &tensor) {
                                   return tensor.transfer.has_value();
                                 }));
}

bool ProgramTree::announcesItsEnd(const LaunchTree &launch) const {
  bool isPlain = std::ranges::all_of(
      launch.body, [](const Statement &statement) { return statement.kind != Statement::Kind::roles; });
  return isPlain && launch.grid != LaunchTree::Grid::persistent &&
         std::ranges::all_of(launch.extents, isKnownOnDevice);
}

dsl::Shape ProgramTree::extentsOf(const Sizes &shape) const {
  dsl::Shape extents;
  for (Size size : shape)
    extents.push_back(valueOf(size));
  return extents;
}

int64_t ProgramTree::elementsOf(const Sizes &shape) const {
  int64_t elements = 1;
  for (Size size : shape)
    elements *= valueOf(size);
  return elements;
}

std::vector<int64_t> ProgramTree::shapeOf(const TensorInfo &tensor) const {
  std::vector<int64_t> shape;
  for (const TensorExtent &extent : tensor.shape)
    shape.push_back(extent.dimension >= 0 ? dimensions[size_t(extent.dimension)].value
                                          : valueOf(extent.size));
  return shape;
}

std::vector<int64_t> ProgramTree::shapeAround(const Box &box) const {
  std::vector<int64_t> shape = shapeOf(tensors[size_t(box.tensor)]);
  for (size_t axis = 0; box.window && axis < box.window->taps.size(); ++axis) {
    shape.front() *= box.window->count(axis, shape[axis + 1]);
    shape[axis + 1] = box.window->taps[axis];
  }
  return shape;
}

std::vector<int64_t> ProgramTree::memberNumbersOf(const TensorInfo &tensor) const {
  std::vector<int64_t> numbers = {tensor.table->number}, shape = shapeOf(tensor), strides;
  numbers.insert(numbers.end(), shape.begin(), shape.end());
  int64_t pitch = 1;
  for (size_t axis = shape.size(); axis-- > 1;) {
    const int64_t padding = axis + 1 == shape.size() ? tensor.rowPadding : 0;
    pitch = std::max<int64_t>(pitch * (shape[axis] + padding), 1);
    strides.insert(strides.begin(), pitch);
  }
  numbers.insert(numbers.end(), strides.begin(), strides.end());
  return numbers;
}

Expression applied(Function function, ElementType type, std::vector<Expression> operands) {
  return {
      .kind = Expression::Kind::apply, .type = type, .function = function, .operands = std::move(operands)};
}

std::string_view nameOf(Function function) {
  switch (function) {
  case Function::negate:
  case Function::subtract:
    return "-";
  case Function::abs:
    return "abs";
  case Function::exp:
    return "exp";
  case Function::exp2:
    return "exp2";
  case Function::log:
    return "log";
  case Function::log2:
    return "log2";
  case Function::sqrt:
    return "sqrt";
  case Function::rsqrt:
    return "rsqrt";
  case Function::tanh:
    return "tanh";
  case Function::floor:
    return "floor";
  case Function::ceil:
    return "ceil";
  case Function::exp10:
    return "exp10";
  case Function::expm1:
    return "expm1";
  case Function::log10:
    return "log10";
  case Function::log1p:
    return "log1p";
  case Function::sin:
    return "sin";
  case Function::cos:
    return "cos";
  case Function::tan:
    return "tan";
  case Function::atan:
    return "atan";
  case Function::erf:
    return "erf";
  case Function::round:
    return "round";
  case Function::trunc:
    return "trunc";
  case Function::pow:
    return "pow";
  case Function::copySign:
    return "copySign";
  case Function::fma:
    return "fma";
  case Function::clamp:
    return "clamp";
  case Function::finiteOrZero:
    return "finiteOrZero";
  case Function::complement:
    return "~";
  case Function::add:
    return "+";
  case Function::multiply:
    return "*";
  case Function::divide:
    return "/";
  case Function::min:
    return "min";
  case Function::max:
    return "max";
  case Function::divideOrZero:
    return "divideOrZero";
  case Function::maxOrNaN:
    return "maxOrNaN";
  case Function::minOrNaN:
    return "minOrNaN";
  case Function::remainder:
    return "%";
  case Function::bitAnd:
    return "&";
  case Function::bitOr:
    return "|";
  case Function::bitXor:
    return "^";
  case Function::shiftLeft:
    return "<<";
  case Function::shiftRight:
    return ">>";
  }
  return "";
}

std::string_view atomicNameOf(Function function) {
  switch (function) {
  case Function::min:
    return "atomicMin";
  case Function::max:
    return "atomicMax";
  case Function::bitAnd:
    return "atomicAnd";
  case Function::bitOr:
    return "atomicOr";
  case Function::bitXor:
    return "atomicXor";
  default:
    return "atomicAdd";
  }
}

std::string_view nameOf(Comparison comparison) {
  switch (comparison) {
  case Comparison::less:
    return "<";
  case Comparison::lessOrEqual:
    return "<=";
  case Comparison::greater:
    return ">";
  case Comparison::greaterOrEqual:
    return ">=";
  case Comparison::equal:
    return "==";
  case Comparison::different:
    return "!=";
  }
  return "";
}

} // namespace tlc::differential
