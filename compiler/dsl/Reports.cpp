// SPDX-License-Identifier: Apache-2.0
/// \file
/// Prints and checks.
#include "compiler/dsl/Reports.h"

#include "compiler/dsl/Arithmetic.h"
#include "compiler/dsl/Scope.h"
#include "compiler/dsl/Trace.h"
#include "dialects/program/Elements.h"
#include "dialects/tile/Reports.h"
#include "dialects/tile/Shapes.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

namespace {

/// The values of one report, as the operation takes them; null ones after a mistake, which is reported.
class ReportValues {
public:
  ReportValues(Trace &trace, program::ReportKind kind, Loc loc) : trace(trace), kind(kind), loc(loc) {}

  Value operator()(const Index &position) {
    Value value = trace.use(position, what(), loc);
    return value ? convert(trace, value, ElementType::i32, {}, loc) : Value();
  }

  Value operator()(const Operand &operand) {
    if (operand.constant())
      return number(*operand.constant());
    Value value = trace.read(operand.ref(), what(), loc);
    return value ? ofReportedType(value) : Value();
  }

  Value operator()(const Shared &tile) {
    Value value = trace.use(tile.ref(), what(), loc);
    if (!value)
      return {};
    if (kind == program::ReportKind::check) {
      trace.error(loc, "expected numbers, positions and fragments as values of k.check, but got " +
                           trace.describe(value) + "; copy it to a fragment");
      return {};
    }
    auto type = cast<tile::SharedType>(value.getType());
    auto fragment = RankedTensorType::get(type.getShape(), type.getElementType());
    if (!trace.checkFragment(fragment.getShape(), fragment.getElementType(), loc))
      return {};
    Value loaded = trace.create<tile::LoadOp>(loc, fragment, value);
    return loaded ? ofReportedType(loaded) : Value();
  }

private:
  StringRef what() const {
    return kind == program::ReportKind::check ? "a value of k.check" : "a value of k.print";
  }

  /// A C++ number as it is.
  Value number(const Constant &number) {
    ElementType type = number.isFloat()             ? ElementType::f64
                       : number.toInteger(32, true) ? ElementType::i32
                                                    : ElementType::i64;
    return trace.number(number, trace.typeOf(type), loc);
  }

  /// One that has all numbers of the value's type.
  Value ofReportedType(Value value) {
    Type element = getElementTypeOrSelf(value.getType());
    if (element.isIndex())
      return convert(trace, value, ElementType::i32, {}, loc);
    ElementType from = *toElementType(element), computed = computedType(from);
    if (bitsOf(computed) < 32)
      computed = isFloat(computed) ? ElementType::f32 : ElementType::i32;
    return convert(trace, value, computed, {}, loc);
  }

  Trace &trace;
  program::ReportKind kind;
  Loc loc;
};

/// Fragments whose axes of extent 1 the others have more of; where that makes no common extents, as they are.
void repeatToCommonExtents(Trace &trace, MutableArrayRef<Value> values, Loc loc) {
  auto isFragment = [](Value value) { return value && isa<RankedTensorType>(value.getType()); };
  std::optional<SmallVector<int64_t>> extents;
  for (Value value : llvm::make_filter_range(values, isFragment)) {
    ArrayRef<int64_t> own = cast<RankedTensorType>(value.getType()).getShape();
    extents = extents ? commonExtents(*extents, own) : SmallVector<int64_t>(own);
    if (!extents)
      return;
  }
  for (Value &value : values)
    if (isFragment(value))
      value = trace.broadcast(value, *extents, loc);
}

} // namespace

void Scope::report(const std::optional<Predicate> &condition, std::string_view text,
                   const std::vector<ReportValue> &values, Loc loc) {
  if (!trace->checkCurrent(loc))
    return;
  Value holds = condition ? truth(*trace, *condition, "the condition of k.check", loc) : Value();
  bool good = !condition || holds;
  SmallVector<Value> operands;
  ReportValues convertValue(*trace, condition ? program::ReportKind::check : program::ReportKind::print, loc);
  for (const ReportValue &value : values) {
    operands.push_back(value.visit(convertValue));
    good &= bool(operands.back());
  }
  if (!good)
    return;
  operands.push_back(holds);
  repeatToCommonExtents(*trace, operands, loc);
  holds = operands.pop_back_val();
  auto report = trace->create<tile::ReportOp>(loc, holds, trace->builder.getStringAttr(text), operands);
  if (report && condition && condition->constant() == true)
    report.erase(); // all that can be wrong with it has been said
}

} // namespace tlc::dsl::inline v1
