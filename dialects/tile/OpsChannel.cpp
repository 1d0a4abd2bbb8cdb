// SPDX-License-Identifier: Apache-2.0
/// \file
/// Channels: checks and the form of `tile.put`.
#include "dialects/tile/Names.h"
#include "dialects/tile/Tile.h"

using namespace mlir;
using namespace tlc::tile;

void ChannelOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getChannel(), getName()); }

LogicalResult ChannelOp::verify() {
  if (Value other = getOf()) { // channel_c1
    if (other.getType() != getChannel().getType())
      return emitOpError("expected the same number of slots as channel '")
             << nameOf(other) << "' has because they are the same, but got " << getChannel().getType();
    if (auto declared = other.getDefiningOp<ChannelOp>(); declared && declared.getOf())
      return emitOpError("expected a channel with slots of its own because '")
             << getName() << "' hands them over, but '" << declared.getName() << "' has those of '"
             << nameOf(declared.getOf()) << "'";
  }
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (getMulticast() && kernel && kernel.getCluster() < 2) // channel_c2
    return emitOpError(
               "expected a kernel with a cluster of at least 2 blocks because they fill the slots of '")
           << getName() << "' together, but the cluster has " << kernel.getCluster();
  return success();
}

void PutOp::build(OpBuilder &builder, OperationState &state, Value channel) {
  state.addOperands(channel);
  const auto slots = cast<ChannelType>(channel.getType()).getSlots();
  auto slot = CursorType::get(builder.getContext(), slots);
  state.addTypes(slot);
  state.addRegion()->emplaceBlock().addArgument(slot, state.location);
}

ParseResult PutOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand channel;
  OpAsmParser::Argument slot;
  ChannelType type;
  Region *body = result.addRegion();
  if (parser.parseOperand(channel) || parser.parseLParen() || parser.parseArgument(slot) ||
      parser.parseRParen())
    return failure();
  if (parser.parseColonType(type) || parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  slot.type = CursorType::get(parser.getContext(), type.getSlots());
  result.addTypes(slot.type);
  if (parser.parseRegion(*body, slot) || parser.resolveOperand(channel, type, result.operands))
    return failure();
  if (body->empty())
    body->emplaceBlock().addArgument(slot.type, result.location);
  return success();
}

void PutOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getChannel() << '(';
  printer.printRegionArgument(getBody().getArgument(0), {}, /*omitType=*/true);
  printer << ") : " << getChannel().getType();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

LogicalResult PutOp::verify() {
  const auto slots = cast<ChannelType>(getChannel().getType()).getSlots();
  const auto slot = CursorType::get(getContext(), slots);
  if (getBody().getNumArguments() != 1 || getBody().getArgument(0).getType() != slot ||
      getFilled().getType() != slot) // put_c1
    return emitOpError() << "expected one cursor of " << slots
                         << " slots as its region's argument and as its result because it fills a slot of "
                         << describe(getChannel(), "the channel");
  Operation *same = nullptr;
  getBody().walk([&](Operation *op) {
    if (isa<PutOp>(op) || (isa<GetOp>(op) && op->getOperand(0) == getChannel()))
      same = op;
  });
  if (!same)
    return success();
  InFlightDiagnostic diagnostic = emitOpError(); // put_c2
  if (isa<PutOp>(same))
    diagnostic << "expected no other put within a put into channel '" << nameOf(getChannel())
               << "' because a role fills one slot at a time; put before or after it";
  else
    diagnostic << "expected no get of channel '" << nameOf(getChannel())
               << "' within a put into it because the slot is full once the put ends; get it after the put";
  diagnostic.attachNote(same->getLoc()) << "this one is within it";
  return diagnostic;
}

LogicalResult ReleaseOldestOp::verify() {
  if (!getAfterProducts() || !getByOthers()) // release_oldest_c1
    return success();
  return emitOpError(
      "expected one of 'after_products' and 'by_others' because a slot that others give back gets "
      "no arrival, but got both");
}
