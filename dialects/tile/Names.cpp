// SPDX-License-Identifier: Apache-2.0
/// \file
/// The user's names of values, for messages.
#include "dialects/tile/Names.h"

#include "dialects/tile/Tile.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

Value tile::declarationOf(Value value) {
  for (;;) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return value;
    Value viewed = TypeSwitch<Operation *, Value>(op)
                       .Case([](SlotOp slot) { return slot.getBuffer(); })
                       .Case<TransposeOp, RowsOp>([](auto view) { return view.getSource(); })
                       .Case([](SliceOp slice) { return slice.getTensor(); })
                       .Case([](ReadOp read) { return read.getVariable(); })
                       .Default([](Operation *) { return Value(); });
    if (!viewed)
      return value;
    value = viewed;
  }
}

StringRef tile::nameOf(Value value) {
  Value declaration = declarationOf(value);
  if (auto argument = dyn_cast<BlockArgument>(declaration)) {
    auto kernel = dyn_cast<KernelOp>(argument.getOwner()->getParentOp());
    return kernel ? kernel.getArgumentName(argument.getArgNumber()) : StringRef();
  }
  return TypeSwitch<Operation *, StringRef>(declaration.getDefiningOp())
      .Case<AllocSharedOp, AllocRingOp, AllocBarrierOp>([](auto alloc) { return alloc.getName(); })
      .Case([](VariableOp variable) { return variable.getName().value_or(""); })
      .Default([](Operation *) { return StringRef(); });
}

std::string tile::describe(Value value, StringRef otherwise) {
  StringRef name = nameOf(value);
  return name.empty() ? otherwise.str() : ("'" + name + "'").str();
}

void tile::noteDeclaration(InFlightDiagnostic &diagnostic, Value value) {
  StringRef name = nameOf(value);
  if (!name.empty())
    diagnostic.attachNote(declarationOf(value).getLoc()) << "'" << name << "' is declared here";
}
