// SPDX-License-Identifier: Apache-2.0
/// \file
/// What operations of both dialects say of themselves.
#pragma once

#include "mlir/IR/OpDefinition.h"
#include "runtime/target/Units.h"

#include <optional>

namespace tlc::program {

/// The unit that the operation needs and the target lacks, or nothing.
std::optional<Unit> missingUnit(mlir::Operation *op, const Target &target);

} // namespace tlc::program

#include "dialects/program/Interfaces.h.inc"

namespace tlc::program {

/// The trait of an operation that always needs the unit.
template <Unit unit> struct NeedsUnit {
  template <class ConcreteOp>
  class Impl : public mlir::OpTrait::TraitBase<ConcreteOp, NeedsUnit<unit>::template Impl>,
               public UnitOpInterface::Trait<ConcreteOp> {
  public:
    std::optional<Unit> getNeededUnit() { return unit; }
  };
};

} // namespace tlc::program
