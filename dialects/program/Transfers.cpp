// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks of the attributes of transfers.
#include "dialects/program/Program.h"
#include "runtime/artifact/Artifact.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::program;

LogicalResult PlaceAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t tensor,
                                ArrayRef<HostExprAttr>, HostExprAttr) {
  if (tensor < 0)
    return emitError() << "expected the number of a tensor, but got " << tensor;
  return success();
}

LogicalResult TransferCopyAttr::verify(function_ref<InFlightDiagnostic()> emitError, PlaceAttr from,
                                       PlaceAttr to, ArrayRef<HostExprAttr> extents) {
  size_t ofFrom = from.getPosition().size(), ofTo = to.getPosition().size();
  if (extents.empty() || extents.size() > maxTransferAxes || extents.size() > std::min(ofFrom, ofTo)) // c1
    return emitError() << "expected extents along 1 to " << maxTransferAxes
                       << " axes, which both places have, but got " << extents.size() << " for places of "
                       << ofFrom << " and " << ofTo << " axes";
  return success();
}

LogicalResult TransferAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                   ArrayRef<TransferCopyAttr> copies, int64_t after, int64_t until,
                                   HostExprAttr, PlaceAttr sets, HostExprAttr value) {
  if (copies.empty()) // transfer_c1
    return emitError() << "expected transfer '" << name << "' to copy something, but it has no copy";
  if (after < 0 || until < after) // transfer_c2
    return emitError() << "expected transfer '" << name
                       << "' to begin after at least 0 launches, and to end after as many or more, but got "
                       << after << " and " << until;
  if (!sets != !value) // transfer_c3
    return emitError() << "expected transfer '" << name
                       << "' to have a count that it sets and a value for it, but got only the "
                       << (sets ? "count" : "value");
  if (until > after && !sets) // transfer_c3
    return emitError() << "expected launches after transfer '" << name
                       << "' to begin when it has ended because it sets no count for which they could wait, "
                          "but "
                       << until - after << " run beside it";
  return success();
}
