// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes the calls that TraceExpressions.cpp makes.
#include "test/differential/ExpressionText.h"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace tlc;
using namespace tlc::differential;

std::string differential::numberText(double number) {
  if (std::isinf(number))
    return number < 0 ? "-inf" : "inf";
  return fmt::format("{}", number);
}

namespace {
std::string conversionText(dsl::Conversion how) {
  std::string rounding = how.rounding ? fmt::format(".rounding = Rounding::{}", toString(*how.rounding)) : "";
  std::string saturation = how.saturate ? ".saturate = true" : "";
  if (rounding.empty() && saturation.empty())
    return "";
  return fmt::format(", {{{}{}{}}}", rounding, rounding.empty() || saturation.empty() ? "" : ", ",
                     saturation);
}

std::string coordinates(int axes) {
  std::vector<std::string> names;
  for (int axis = 0; axis < axes; ++axis)
    names.push_back(fmt::format("Index e{}", axis));
  return fmt::format("{}", fmt::join(names, ", "));
}
} // namespace

std::string ExpressionText::list(const std::vector<IndexNode> &nodes, size_t from) const {
  std::vector<std::string> texts;
  for (size_t i = from; i < nodes.size(); ++i)
    texts.push_back(index(nodes[i]));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string ExpressionText::index(const IndexNode &node) const {
  switch (node.kind) {
  case IndexKind::constant:
    return fmt::to_string(node.number);
  case IndexKind::size:
    return fmt::to_string(tree.sizes[size_t(node.id)]);
  case IndexKind::dimension:
    return tree.dimensions[size_t(node.id)].name;
  case IndexKind::position:
    return tree.positions[size_t(node.id)].name;
  case IndexKind::coordinate:
    return fmt::format("e{}", node.id);
  case IndexKind::elements:
    return fmt::format("FragmentValue({}).toIndex()", tree.variables[size_t(node.id)].name);
  case IndexKind::ownPlace: {
    std::vector<int64_t> shape(size_t(node.number), 1);
    shape[size_t(node.id)] = tree.sizes[size_t(node.operands.front().id)];
    return fmt::format("k.positions({{{}}}, {}).toIndex()", fmt::join(shape, ", "), node.id);
  }
  case IndexKind::blocks:
    return "k.blocks()";
  case IndexKind::blockRank:
    return "k.blockRank()";
  case IndexKind::multiprocessors:
    return "k.multiprocessors()";
  case IndexKind::read:
    return fmt::format("{}.read({{{}}})", tensor(node.id), list(node.operands));
  case IndexKind::readShared:
    return fmt::format("{}.read({{{}}})", tree.shared[size_t(node.id)].name, list(node.operands));
  case IndexKind::add:
    return infix("+", node);
  case IndexKind::subtract:
    return infix("-", node);
  case IndexKind::multiply:
    return infix("*", node);
  case IndexKind::divide:
    return infix("/", node);
  case IndexKind::remainder:
    return infix("%", node);
  case IndexKind::ceilDiv:
    return fmt::format("ceilDiv({})", list(node.operands));
  case IndexKind::min:
    return fmt::format("min({})", list(node.operands));
  case IndexKind::max:
    return fmt::format("max({})", list(node.operands));
  }
  return {};
}

std::string ExpressionText::infix(std::string_view symbol, const IndexNode &node) const {
  return fmt::format("({} {} {})", index(node.operands[0]), symbol, index(node.operands[1]));
}

std::string ExpressionText::holds(const std::vector<PositionTest> &tests) const {
  std::vector<std::string> texts;
  for (const PositionTest &test : tests)
    texts.push_back(fmt::format("{} {} {}", index(test.a), nameOf(test.comparison), index(test.b)));
  return fmt::format("{}", fmt::join(texts, " && "));
}

std::string ExpressionText::value(const Expression &expression) const {
  using Kind = Expression::Kind;
  auto operand = [&](size_t i) { return value(expression.operands[i]); };
  switch (expression.kind) {
  case Kind::variable:
    return tree.variables[size_t(expression.id)].name;
  case Kind::number:
    return numberText(expression.number);
  case Kind::scalar:
    return tree.scalars[size_t(expression.id)].name;
  case Kind::position:
    return fmt::format("({}).to({})", index(expression.positions.front().a), toString(expression.type));
  case Kind::convert:
    return fmt::format("{}.to({}{})", operand(0), toString(expression.type),
                       conversionText(expression.conversion));
  case Kind::bitcast:
    return fmt::format("bitcast({}, {})", operand(0), toString(expression.type));
  case Kind::reshape:
    return fmt::format("reshape({}, {{{}}})", operand(0), fmt::join(tree.extentsOf(expression.shape), ", "));
  case Kind::reduce:
    return fmt::format("reduce(Reduction::{}, {}, {})", toString(expression.reduction), operand(0),
                       expression.axis);
  case Kind::scan:
    return fmt::format("cumulative(Reduction::{}, {}, {}{})", toString(expression.reduction), operand(0),
                       expression.axis,
                       expression.direction == dsl::Direction::backward ? ", Direction::backward" : "");
  case Kind::positions:
    return fmt::format("k.positions({{{}}}, {})", fmt::join(tree.extentsOf(expression.shape), ", "),
                       expression.axis);
  case Kind::argument:
    return fmt::format("{}({}, {})", expression.reduction == dsl::Reduction::max ? "argMax" : "argMin",
                       operand(0), expression.axis);
  case Kind::whereAny:
    return fmt::format("where({}({} {} {}, {}), {}, {})",
                       expression.reduction == dsl::Reduction::max ? "any" : "all", operand(0),
                       nameOf(expression.comparison), operand(1), expression.axis, operand(2), operand(3));
  case Kind::where:
    return fmt::format("where({} {} {}, {}, {})", operand(0), nameOf(expression.comparison), operand(1),
                       operand(2), operand(3));
  case Kind::wherePlace:
    return fmt::format("where([&]({}) {{ return {}; }}, {}, {})", coordinates(expression.axis),
                       holds(expression.positions), operand(0), operand(1));
  case Kind::apply:
    break;
  }
  std::string_view name = nameOf(expression.function);
  bool isSymbol = name.find_first_of("+-*/%&|^~<>") == 0;
  std::string accuracy = expression.accuracy == dsl::Accuracy::fast ? ", Accuracy::fast" : "";
  if (isOfThree(expression.function))
    return fmt::format("{}({}, {}, {})", name, operand(0), operand(1), operand(2));
  if (!isOfTwo(expression.function))
    return isSymbol ? fmt::format("({}{})", name, operand(0))
                    : fmt::format("{}({}{})", name, operand(0), accuracy);
  return isSymbol ? fmt::format("({} {} {})", operand(0), name, operand(1))
                  : fmt::format("{}({}, {}{})", name, operand(0), operand(1), accuracy);
}

std::vector<std::string> ExpressionText::extentsOf(const TensorInfo &tensor) const {
  std::vector<std::string> extents;
  for (const TensorExtent &extent : tensor.shape) {
    if (extent.computedFrom >= 0) {
      auto [multiple, rest] = tree.multipleAndRest(extent);
      extents.push_back(
          fmt::format("{} * {} + {}", tree.dimensions[size_t(extent.computedFrom)].name, multiple, rest));
      continue;
    }
    extents.push_back(extent.dimension >= 0 ? tree.dimensions[size_t(extent.dimension)].name
                                            : fmt::to_string(tree.valueOf(extent.size)));
  }
  return extents;
}

std::string ExpressionText::tensor(int number) const {
  const TensorInfo &info = tree.tensors[size_t(number)];
  if (!info.table)
    return info.name;
  std::vector<std::string> numbers;
  for (int64_t known : tree.memberNumbersOf(info))
    numbers.push_back(info.table->readsNumbers
                          ? fmt::format("{}_numbers.read({{{}}})", info.name, numbers.size())
                          : fmt::to_string(known));
  if (!info.table->readsNumbers)
    std::ranges::copy(extentsOf(info), numbers.begin() + 1);
  const auto strides = numbers.begin() + 1 + int64_t(info.shape.size());
  return fmt::format("{}.of({}, {{{}}}, {{{}}})", info.name, numbers[0],
                     fmt::join(numbers.begin() + 1, strides, ", "), fmt::join(strides, numbers.end(), ", "));
}

namespace {
std::string windowText(const TensorWindow &window) {
  return fmt::format(".windows({{.taps = {{{}}}, .strides = {{{}}}, .dilations = {{{}}}, .before = {{{}}}, "
                     ".after = {{{}}}}})",
                     fmt::join(window.taps, ", "), fmt::join(window.strides, ", "),
                     fmt::join(window.dilations, ", "), fmt::join(window.before, ", "),
                     fmt::join(window.after, ", "));
}
} // namespace

std::string ExpressionText::slice(const Box &box) const {
  std::string result = fmt::format("{}{}.tile({{{}}}, {{{}}})",
                                   box.tensor < 0      ? view(box.tile)
                                   : tree.isOfAll(box) ? "s" + tensor(box.tensor) + ".ofAll()"
                                                       : tensor(box.tensor),
                                   box.window ? windowText(*box.window) : "", list(box.origin),
                                   fmt::join(tree.extentsOf(box.extents), ", "));
  if (box.limit)
    result += fmt::format(".limited({}, {})", box.limit->axis, index(box.limit->end));
  if (box.fill)
    result += fmt::format(".fill({})", numberText(*box.fill));
  if (box.unchecked)
    result += ".unchecked(\"it lies inside\")";
  if (box.eviction != dsl::Eviction::normal)
    result += box.eviction == dsl::Eviction::first ? ".evict(Eviction::first)" : ".evict(Eviction::last)";
  return result;
}

std::string ExpressionText::view(const View &view) const {
  std::string result = tree.shared[size_t(view.shared)].name;
  if (view.blocks != 0)
    result += fmt::format(".of((k.blockRank() + {}) % {})", view.blockShift, view.blocks);
  if (view.rowsByBlock)
    return result + fmt::format(".rows(k.blockRank() * {0}, {0})", tree.valueOf(view.rows));
  if (view.slot >= 0)
    result += fmt::format(".slot({})", tree.slots[size_t(view.slot)].name);
  if (view.firstRow)
    result += fmt::format(".rows({}, {})", *view.firstRow, tree.valueOf(view.rows));
  if (view.firstColumn)
    result += fmt::format(".columns({}, {})", *view.firstColumn, tree.valueOf(view.columns));
  if (view.transposed)
    result += ".t()";
  return view.extents.empty()
             ? result
             : fmt::format("{}.reshape({{{}}})", result, fmt::join(tree.extentsOf(view.extents), ", "));
}

std::string ExpressionText::place(const Place &place) const {
  switch (place.kind) {
  case Place::Kind::slice:
    return slice(place.box);
  case Place::Kind::shared:
    return view(place.view);
  case Place::Kind::tensorMemory: {
    const std::string &name = tree.tensorMemory[size_t(place.view.shared)].name;
    return place.view.slot < 0 ? name
                               : fmt::format("{}.slot({})", name, tree.slots[size_t(place.view.slot)].name);
  }
  case Place::Kind::variable:
    return tree.variables[size_t(place.variable)].name;
  }
  return {};
}
