// SPDX-License-Identifier: Apache-2.0
/// \file
/// From arguments to specifications.
#include "kernels/file/ProgramTensors.h"

#include "dialects/program/Program.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/Tile.h"
#include "runtime/device/LaunchPlan.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::kernels;

namespace {

tlc::Access accessOf(program::Access access) {
  switch (access) {
  case program::Access::input:
    return tlc::Access::input;
  case program::Access::output:
    return tlc::Access::output;
  case program::Access::inout:
    return tlc::Access::inout;
  case program::Access::workspace:
    return tlc::Access::workspace;
  }
  return {};
}

/// All launches have the same.
template <class Visit> void forEachArgument(mlir::ModuleOp program, Visit visit) {
  tile::KernelOp kernel = *program.getOps<tile::KernelOp>().begin();
  for (auto [i, argument] : enumerate(kernel.getBody().getArguments()))
    visit(argument, kernel.getArgAttr(unsigned(i), program::ProgramDialect::argumentAttrName));
}

} // namespace

tlc::Result<std::vector<TensorSpec>>
kernels::tensorsOf(mlir::ModuleOp program, RankOf rank, function_ref<tlc::Result<int64_t>(StringRef)> valueOf,
                   function_ref<tlc::Result<std::vector<int64_t>>(StringRef, int64_t)> membersOf) {
  std::vector<int64_t> dimensions, plain; // by argument, and one after the other
  std::vector<TensorSpec> specs;
  std::optional<tlc::Error> error;
  auto set = [&](const tlc::Result<int64_t> &value) {
    if (value)
      dimensions.back() = *value;
    else if (!error)
      error = value.error();
    plain.push_back(dimensions.back());
  };
  forEachArgument(program, [&](mlir::Value argument, mlir::Attribute attribute) {
    dimensions.push_back(0);
    if (auto tensor = dyn_cast<program::TensorAttr>(attribute)) {
      ElementType element = *toElementType(tile::elementTypeOf(argument.getType()));
      TensorSpec spec{tensor.getName().str(), element, accessOf(tensor.getAccess()), {}};
      for (auto [extent, dimension] : zip(tile::extentsOf(argument.getType()), tensor.getDims()))
        spec.shape.push_back(dimension < 0 ? extent : dimensions[dimension]);
      if (program::MembersAttr members = tensor.getMembers()) {
        spec.element = element = *toElementType(members.getElement());
        spec.access = accessOf(members.getAccess());
        spec.isTable = true;
        tlc::Result<std::vector<int64_t>> extents = membersOf(tensor.getName(), members.getAxes());
        if (extents)
          llvm::append_range(spec.shape, *extents);
        else if (!error)
          error = extents.error();
      }
      if (isInteger(element)) // positions, perhaps
        std::tie(spec.low, spec.high) = std::pair(0, 8);
      if (spec.access != tlc::Access::workspace)
        specs.push_back(std::move(spec));
    } else if (auto dimension = dyn_cast<program::DimensionAttr>(attribute);
               dimension && dimension.getComputed()) {
      tlc::Result<int64_t> extent = evaluateExtent(dimension.getComputed().getExpr(), plain, 0);
      set(extent ? extent
                 : tlc::Error{.message = placeOfComputed(dimension.getName().str()) + ": " +
                                         extent.error().message});
    } else if (dimension && dimension.getSource() != program::DimensionSource::shapes) {
      set(dimension.getSource() == program::DimensionSource::ranks ? rank.ranks : rank.rank);
    } else if (dimension) {
      set(valueOf(program::nameOf(attribute)));
    }
  });
  if (error)
    return *error;
  return specs;
}

bool kernels::isOfRanks(mlir::ModuleOp program) {
  bool found = false;
  forEachArgument(program, [&](mlir::Value, mlir::Attribute attribute) {
    auto tensor = dyn_cast<program::TensorAttr>(attribute);
    auto dimension = dyn_cast<program::DimensionAttr>(attribute);
    found |= (tensor && tensor.getSymmetric()) || (dimension && !dimension.getComputed() &&
                                                   dimension.getSource() != program::DimensionSource::shapes);
  });
  return found;
}

std::optional<dsl::Position> kernels::positionOf(mlir::ModuleOp program, StringRef name) {
  std::optional<dsl::Position> position;
  forEachArgument(program, [&](mlir::Value argument, mlir::Attribute attribute) {
    auto place = argument.getLoc()->findInstanceOf<mlir::FileLineColLoc>();
    if (place && program::nameOf(attribute) == name)
      position = {place.getFilename().str(), place.getLine(), place.getColumn()};
  });
  return position;
}

std::vector<std::pair<std::string, ElementType>> kernels::scalarsOf(mlir::ModuleOp program) {
  std::vector<std::pair<std::string, ElementType>> scalars;
  forEachArgument(program, [&](mlir::Value argument, mlir::Attribute attribute) {
    if (isa<program::ScalarAttr>(attribute))
      scalars.emplace_back(program::nameOf(attribute).str(), *toElementType(argument.getType()));
  });
  return scalars;
}
