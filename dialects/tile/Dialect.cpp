// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tile dialect: registration and the attributes it hangs on other dialects' operations.
#include "dialects/tile/Cluster.h"
#include "dialects/tile/Counts.h"
#include "dialects/tile/Fetch.h"
#include "dialects/tile/Reports.h"
#include "dialects/tile/RoleMarks.h"
#include "dialects/tile/SharedSlice.h"
#include "runtime/target/TensorColumns.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

#include "dialects/tile/Dialect.cpp.inc"

namespace {
/// Prints layouts, which are long and repeat, once at the top: `#layout`, `#shared`.
struct LayoutAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    if (isa<LayoutAttr>(attribute))
      os << "layout";
    else if (isa<SharedLayoutAttr>(attribute))
      os << "shared";
    else
      return AliasResult::NoAlias;
    return AliasResult::FinalAlias;
  }
};
} // namespace

namespace {
/// Whether the operation is free of effects or says which they are.
template <class Op>
constexpr bool saysItsEffects = Op::template hasTrait<OpTrait::AlwaysSpeculatableImplTrait>() ||
                                Op::template hasTrait<AccessOpInterface::Trait>();

/// All operations of the dialect. An analysis takes one that says nothing for one that does nothing, so that
/// none is without.
template <class... Ops> struct Operations {
  static_assert((saysItsEffects<Ops> && ...),
                "an operation with effects implements AccessOpInterface (Interfaces.td): without it no "
                "barrier orders what it does");
};
template struct Operations<
#define GET_OP_LIST
#include "dialects/tile/Ops.cpp.inc"
    ,
#define GET_OP_LIST
#include "dialects/tile/OpsCluster.cpp.inc"
    ,
#define GET_OP_LIST
#include "dialects/tile/OpsCounts.cpp.inc"
    ,
#define GET_OP_LIST
#include "dialects/tile/OpsFetch.cpp.inc"
    ,
#define GET_OP_LIST
#include "dialects/tile/OpsReports.cpp.inc"
    ,
#define GET_OP_LIST
#include "dialects/tile/OpsRoleMarks.cpp.inc"
    ,
#define GET_OP_LIST
#include "dialects/tile/OpsSharedSlice.cpp.inc"
    >;
} // namespace

void TileDialect::initialize() {
  addInterfaces<LayoutAliases>();
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/tile/Ops.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/tile/OpsCluster.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/tile/OpsCounts.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/tile/OpsFetch.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/tile/OpsReports.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/tile/OpsRoleMarks.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/tile/OpsSharedSlice.cpp.inc"
      >();
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == pipelineAttrName) {
    if (!isa<PipelineAttr>(attribute.getValue()))
      return op->emitError() << "expected '" << pipelineAttrName << "' to be a #tile.pipeline, but got "
                             << attribute.getValue();
    if (!isa<scf::ForOp>(op))
      return op->emitError() << "expected '" << pipelineAttrName
                             << "' on an 'scf.for' because it says how iterations overlap, but got '"
                             << op->getName() << "'";
    return success();
  }
  if (attribute.getName() == stageAttrName) {
    if (!isa<StageAttr>(attribute.getValue()))
      return op->emitError() << "expected '" << stageAttrName << "' to be a #tile.stage, but got "
                             << attribute.getValue();
    if (!isa_and_present<scf::ForOp>(op->getParentOp()))
      return op->emitError()
             << "expected '" << stageAttrName
             << "' on an operation of an 'scf.for' because it is its place in that loop's schedule";
    return success();
  }
  if (attribute.getName() == rolePlanAttrName) {
    if (!isa<KernelOp>(op) || !isa<RolePlanAttr>(attribute.getValue()))
      return op->emitError() << "expected '" << rolePlanAttrName
                             << "' to be a #tile.role_plan of a kernel, but got " << attribute.getValue()
                             << " of '" << op->getName() << "'";
    return success();
  }
  if (attribute.getName() == roleAttrName) {
    if (!isa<StringAttr>(attribute.getValue()))
      return op->emitError() << "expected '" << roleAttrName << "' to be a role's name, but got "
                             << attribute.getValue();
    return success();
  }
  if (attribute.getName() == channelAttrName) {
    if (!isa<CopyOp, StoreOp, StoreIndexOp, TakeOp, NextBlockOp, GemmInPlaceOp, scf::ForOp, scf::IfOp>(op) ||
        !isa<StringAttr>(attribute.getValue()))
      return op->emitError()
             << "expected '" << channelAttrName
             << "' to be the name of a channel that a copy, a store, products or a branch fill, but got "
             << attribute.getValue() << " of '" << op->getName() << "'";
    return success();
  }
  if (attribute.getName() == multicastAttrName) {
    if (!op->hasAttr(channelAttrName) && !isa_and_present<PutOp>(op->getParentOp()))
      return op->emitError() << "expected '" << multicastAttrName
                             << "' on a copy that fills a channel because its blocks share the slots";
    return success();
  }
  if (attribute.getName() == withoutRoleAttrName) {
    if (!isa<CopyOp>(op) || !isa<StringAttr>(attribute.getValue()))
      return op->emitError() << "expected '" << withoutRoleAttrName << "' to be a reason on a copy, but got "
                             << attribute.getValue() << " of '" << op->getName() << "'";
    return success();
  }
  if (attribute.getName() == waitLimitAttrName) {
    auto limit = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!isa<KernelOp>(op) || !limit || !limit.getType().isInteger(64) || limit.getInt() <= 0)
      return op->emitError() << "expected '" << waitLimitAttrName
                             << "' to be a positive number of nanoseconds on a kernel, but got "
                             << attribute.getValue() << " of '" << op->getName() << "'";
    return success();
  }
  return op->emitError() << "expected '" << pipelineAttrName << "', '" << stageAttrName << "', '"
                         << rolePlanAttrName << "', '" << roleAttrName << "', '" << channelAttrName << "', '"
                         << multicastAttrName << "', '" << withoutRoleAttrName << "' or '"
                         << waitLimitAttrName << "', but the tile dialect has no attribute '"
                         << attribute.getName().getValue() << "'";
}

/// `64`, or `64 lane 16`.
static ParseResult parseTensorPlace(OpAsmParser &parser, IntegerAttr &offset) {
  TensorPlace place;
  if (parser.parseInteger(place.column) ||
      (succeeded(parser.parseOptionalKeyword("lane")) && parser.parseInteger(place.lane)))
    return failure();
  offset = parser.getBuilder().getI64IntegerAttr(place.encode());
  return success();
}

static void printTensorPlace(OpAsmPrinter &printer, Operation *, IntegerAttr offset) {
  const TensorPlace place = TensorPlace::decode(offset.getInt());
  printer << place.column;
  if (place.lane != 0)
    printer << " lane " << place.lane;
}

#define GET_OP_CLASSES
#include "dialects/tile/Ops.cpp.inc"
