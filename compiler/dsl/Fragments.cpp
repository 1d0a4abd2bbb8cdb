// SPDX-License-Identifier: Apache-2.0
/// \file
/// Variables: declaring, reading, assigning.
#include "compiler/dsl/Trace.h"
#include "dialects/tile/Shapes.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

namespace {
/// A new variable with that value; poisoned if the value is.
detail::Ref declare(const detail::Ref &value, Loc loc) {
  if (!value.trace) // nor is a copy of nothing a mistake
    return {};
  Trace *trace = traceOf(value);
  Value init = trace->read(value, "a fragment", loc);
  if (!init)
    return trace->poison<Handle>().ref();
  auto type = tile::VariableType::get(trace->builder.getContext(), init.getType());
  return trace->make<Handle>(trace->create<tile::VariableOp>(loc, type, init, StringAttr())).ref();
}

Shape shapeOf(const detail::Ref &ref) {
  Value value = Trace::peek(ref);
  if (!value)
    return {};
  Type type = value.getType();
  if (auto variable = dyn_cast<tile::VariableType>(type))
    type = variable.getValueType();
  return tile::extentsOf(type).vec();
}
} // namespace

FragmentValue::FragmentValue(const Fragment &variable, Loc loc) {
  if (Trace *trace = traceOf(variable.ref()))
    reference = trace->make<Handle>(trace->read(variable.ref(), "a fragment", loc)).ref();
}

Fragment::Fragment(const FragmentValue &value, Loc loc) : Handle(declare(value.ref(), loc)), declared(loc) {}
Fragment::Fragment(const Fragment &other, Loc loc) : Handle(declare(other.ref(), loc)), declared(loc) {}

Shape FragmentValue::shape() const { return shapeOf(reference); }
Shape Fragment::shape() const { return shapeOf(reference); }
Shape Shared::shape() const { return shapeOf(reference); }
Shape TensorMemory::shape() const { return shapeOf(reference); }

FragmentValue FragmentValue::t(Loc loc) const {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  if (Value value = trace->use(reference, "a fragment to transpose", loc)) {
    Diagnostic &diagnostic = trace->error(
        loc, "expected a shared tile to transpose because products read registers as they lie, but got " +
                 trace->describe(value) +
                 "; copy it to a shared tile and pass that tile's .t(), or compute it transposed: "
                 "instead of a b, b.t() a.t()");
    trace->noteDeclaration(diagnostic, value);
  }
  return trace->poison<FragmentValue>();
}
FragmentValue Fragment::t(Loc loc) const { return FragmentValue(*this, loc).t(loc); }

FragmentValue Fragment::to(ElementType element, Conversion how, Loc loc) const {
  return FragmentValue(*this, loc).to(element, how, loc);
}

void Fragment::store(const FragmentValue &value, Loc loc) {
  Trace *trace = traceOf(reference, value.ref());
  if (!trace)
    return;
  Value variable = trace->use(reference, "a fragment to assign to", loc);
  Value stored = trace->use(value.ref(), "a fragment to assign", loc);
  if (!variable || !stored)
    return;
  auto type = cast<RankedTensorType>(cast<tile::VariableType>(variable.getType()).getValueType());
  auto storedType = cast<RankedTensorType>(stored.getType());
  if (type == storedType) {
    trace->create<tile::WriteOp>(loc, stored, variable);
    return;
  }
  bool sameExtents = type.getShape() == storedType.getShape();
  Diagnostic &diagnostic = trace->error(loc, "expected a fragment of " + tile::toText(type.getShape()) +
                                                 " to assign, but got " + trace->describe(stored));
  if (sameExtents) {
    std::string element = textOf(type.getElementType());
    diagnostic.message = "expected elements of " + element +
                         " to assign because the fragment has them, but got " + trace->describe(stored) +
                         "; convert it with .to(" + element + ")";
  }
  diagnostic.notes.push_back({positionOf(variable.getLoc()), "the fragment is declared here"});
}

Fragment &Fragment::operator=(Fragment value) {
  if (!reference.trace) { // the handle had no variable yet
    reference = std::move(value.reference);
    declared = value.declared;
    return *this;
  }
  Trace *trace = traceOf(reference);
  Value variable = trace->use(value.reference, "a fragment to assign", value.declared);
  if (!variable)
    return *this;
  // The copy was made for this call: nobody else knows its variable.
  if (auto made = variable.getDefiningOp<tile::VariableOp>(); made && made->use_empty()) {
    Value init = made.getInit();
    made.erase();
    store(trace->make<FragmentValue>(init), value.declared);
  } else {
    store(FragmentValue(value, value.declared), value.declared);
  }
  return *this;
}

Fragment &Fragment::operator=(At<Scalar> number) {
  fill(*this, number.value, number.loc);
  return *this;
}

void fill(Fragment &to, const Scalar &value, Loc loc) {
  Trace *trace = traceOf(to.ref(), value.ref());
  if (!trace)
    return;
  Value variable = trace->use(to.ref(), "a fragment to fill", loc);
  if (!variable)
    return;
  auto type = cast<RankedTensorType>(cast<tile::VariableType>(variable.getType()).getValueType());
  if (Value fragment = trace->filled(value, type, loc))
    trace->create<tile::WriteOp>(loc, fragment, variable);
}

Fragment &&Fragment::named(std::string_view name) && {
  Value variable = Trace::peek(reference);
  if (auto made = variable ? variable.getDefiningOp<tile::VariableOp>() : tile::VariableOp())
    made.setName(StringRef(name));
  return std::move(*this);
}

} // namespace tlc::dsl::inline v1
