// SPDX-License-Identifier: Apache-2.0
/// \file
/// Prints and checks. What a check costs where it holds is a comparison and a branch: what it shows is put
/// together after the branch.
#include "dialects/tile/Reports.h"

#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "runtime/artifact/Reports.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {

program::ReportAttr siteOf(tile::ReportOp op, int64_t axes) {
  SmallVector<Type> types;
  for (Type type : op.getValues().getTypes())
    types.push_back(getElementTypeOrSelf(type));
  return program::ReportAttr::get(op.getContext(),
                                  op.isCheck() ? program::ReportKind::check : program::ReportKind::print,
                                  op.getText(), tile::sourcePlaceOf(op), types, axes);
}

/// The report of a thread's elements of fragments, which have one layout.
class ElementReport {
public:
  ElementReport(KernelLowering &k, tile::ReportOp op, Value fragment)
      : k(k), b(k.b), op(op), layout(tile::layoutOf(fragment)), shape(tile::shapeOf(fragment)),
        elements(groupRegisters(layout, /*axis=*/0, /*width=*/1)),
        thread(threadCoordinates(b, layout, k.team)), inside(b, layout, shape, thread),
        owner(isOwner(b, layout, k.team)), site(siteOf(op, layout.rank())) {}

  /// The first element that fails.
  void check() {
    Value condition = k.value(op.getCondition());
    auto failsAt = [&](const RegisterGroup &element) {
      Value fails = b.isEqual(b.extract(condition, element.registers.front()), 0);
      return b.both(inside.at(element.start), fails);
    };
    Value someFails;
    for (const RegisterGroup &element : elements.groups) {
      Value fails = failsAt(element);
      someFails = someFails ? arith::OrIOp::create(b, someFails, fails).getResult() : fails;
    }
    b.when(b.both(owner, someFails), [&] {
      const RegisterGroup &last = elements.groups.back();
      SmallVector<Value> position = constants(last), values = valuesAt(last);
      for (const RegisterGroup &element : llvm::drop_begin(llvm::reverse(elements.groups))) {
        Value fails = failsAt(element);
        choose(fails, constants(element), position);
        choose(fails, valuesAt(element), values);
      }
      report(position, values);
    });
  }

  /// Those whose position along each axis is small.
  void print() {
    for (const RegisterGroup &element : elements.groups) {
      if (llvm::any_of(element.start, [](int64_t start) { return start >= maxPrintedExtent; }))
        continue;
      Value isShown = b.both(owner, inside.at(element.start));
      for (int axis = 0; axis < layout.rank(); ++axis)
        if (layout.coveredExtent(axis) > maxPrintedExtent)
          isShown = b.both(
              isShown, b.isBelow(b.add(thread[axis], element.start[size_t(axis)]), b.i32(maxPrintedExtent)));
      b.when(isShown, [&] { report(constants(element), valuesAt(element)); });
    }
  }

private:
  /// The constant part of the position.
  SmallVector<Value> constants(const RegisterGroup &element) {
    SmallVector<Value> position;
    for (int64_t start : element.start)
      position.push_back(b.i32(start));
    return position;
  }
  SmallVector<Value> valuesAt(const RegisterGroup &element) {
    SmallVector<Value> values;
    for (Value value : op.getValues())
      values.push_back(isa<RankedTensorType>(value.getType())
                           ? b.extract(k.value(value), element.registers.front())
                           : k.value(value));
    return values;
  }
  void choose(Value condition, ArrayRef<Value> yes, MutableArrayRef<Value> values) {
    for (auto [value, other] : llvm::zip_equal(values, yes))
      if (value != other)
        value = b.select(condition, other, value);
  }
  void report(SmallVector<Value> position, ArrayRef<Value> values) {
    for (auto [coordinate, ofThread] : llvm::zip_equal(position, thread))
      coordinate = b.add(ofThread, coordinate);
    simt::ReportOp::create(b, site, position, values);
  }

  KernelLowering &k;
  Emitter &b;
  tile::ReportOp op;
  FragmentLayout layout;
  Shape shape;
  RegisterGroups elements; ///< of one each
  SmallVector<Value> thread;
  InsidePredicates inside;
  Value owner;
  program::ReportAttr site;
};

} // namespace

static LogicalResult lowerOp(KernelLowering &k, tile::ReportOp op) {
  if (SmallVector<OpOperand *> fragments = op.getFragments(); !fragments.empty()) {
    ElementReport report(k, op, fragments.front()->get());
    op.isCheck() ? report.check() : report.print();
    return success();
  }
  auto report = [&] {
    k.byOneThread([&] {
      SmallVector<Value> values;
      for (Value value : op.getValues())
        values.push_back(k.value(value));
      simt::ReportOp::create(k.b, siteOf(op, /*axes=*/0), ValueRange(), values);
    });
  };
  k.b.when(op.isCheck() ? k.b.isEqual(k.value(op.getCondition()), 0) : Value(), report);
  return success();
}

void lowering::addReportLowerings(LoweringTable &table) { table.add<tile::ReportOp>(lowerOp); }
