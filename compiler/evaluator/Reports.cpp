// SPDX-License-Identifier: Apache-2.0
/// \file
/// Prints and checks.
#include "dialects/tile/Reports.h"

#include "compiler/evaluator/Machine.h"
#include "runtime/artifact/Reports.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace tlc::evaluator {

namespace {

constexpr int64_t noElement = -1;

std::string textOf(Type type, const Element &value) {
  if (!isa<FloatType>(type))
    return fmt::format("{}", value.integer);
  return type.isF64() ? fmt::format("{}", value.value) : fmt::format("{}", static_cast<float>(value.value));
}

/// The line for one element of the report's fragments, or for a report without any.
std::string lineOf(Task &task, tile::ReportOp op, ArrayRef<int64_t> extents, int64_t element) {
  std::vector<std::string> values;
  for (Value value : op.getValues()) {
    bool isFragment = isa<RankedTensorType>(value.getType());
    values.push_back(
        textOf(getElementTypeOrSelf(value.getType()),
               isFragment ? task.fragment(value).elements[size_t(element)] : task.number(value)));
  }
  std::string line =
      fmt::format("{}: {}block ({})", tile::sourcePlaceOf(op), op.isCheck() ? "check failed in " : "",
                  fmt::join(task.block.position, ", "));
  if (element != noElement)
    line += fmt::format(", element ({})", fmt::join(positionOf(element, extents), ", "));
  return line + ": " + fillIn(op.getText().str(), values);
}

/// What an inexact comparison decides, nobody knows.
bool certainlyFails(const Element &condition) { return isExact(condition) && !condition.integer; }

Step evaluateReport(Task &task, tile::ReportOp op) {
  Report &report = task.block.evaluation.report;
  std::vector<std::string> &lines = op.isCheck() ? report.failures : report.prints;
  SmallVector<OpOperand *> fragments = op.getFragments();
  if (fragments.empty()) {
    if (!op.isCheck() || certainlyFails(task.number(op.getCondition())))
      lines.push_back(lineOf(task, op, {}, noElement));
    return Step::done;
  }
  Extents extents = extentsOf(fragments.front()->get());
  for (int64_t number = 0, count = countOf(extents); number < count; ++number) {
    bool isShown = op.isCheck() ? certainlyFails(task.fragment(op.getCondition()).elements[size_t(number)])
                                : llvm::all_of(positionOf(number, extents), [](int64_t coordinate) {
                                    return coordinate < maxPrintedExtent;
                                  });
    if (isShown)
      lines.push_back(lineOf(task, op, extents, number));
  }
  return Step::done;
}

} // namespace

void addReportRules(Rules &rules) { rules.add(evaluateReport); }

} // namespace tlc::evaluator
