// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attributes of the tile dialect: checks, and the layouts they stand for.
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/SharedLayout.h"
#include "dialects/tile/TileAttrs.h"
#include "dialects/tile/TileTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

#include "dialects/tile/Enums.cpp.inc"

/// `"name"`, or several in brackets.
static ParseResult parseNames(AsmParser &parser, SmallVector<StringAttr> &names) {
  auto parse = [&] { return parser.parseAttribute(names.emplace_back()); };
  if (succeeded(parser.parseOptionalLSquare()))
    return failure(parser.parseCommaSeparatedList(parse) || parser.parseRSquare());
  return parse();
}

static void printNames(AsmPrinter &printer, ArrayRef<StringAttr> names) {
  if (names.size() == 1) {
    printer << names.front();
    return;
  }
  printer << '[';
  llvm::interleaveComma(names, printer);
  printer << ']';
}

#define GET_ATTRDEF_CLASSES
#include "dialects/tile/Attrs.cpp.inc"

void TileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/tile/Attrs.cpp.inc"
      >();
}

namespace {
/// `<"text">`
template <class Layout>
FailureOr<Layout> parseText(AsmParser &parser, StringRef what, Result<Layout> (*parse)(std::string_view)) {
  SMLoc loc = parser.getCurrentLocation();
  std::string text;
  if (parser.parseLess() || parser.parseString(&text) || parser.parseGreater())
    return failure();
  Result<Layout> layout = parse(text);
  if (!layout) {
    parser.emitError(loc) << "expected the text form of " << what << ", but got '" << text
                          << "': " << layout.error().message;
    return failure();
  }
  return *layout;
}
} // namespace

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  FailureOr<FragmentLayout> layout = parseText(parser, "a layout", parseLayout);
  return succeeded(layout) ? get(parser.getContext(), *layout) : LayoutAttr();
}

void LayoutAttr::print(AsmPrinter &printer) const { printer << "<\"" << printLayout(getLayout()) << "\">"; }

Attribute SharedLayoutAttr::parse(AsmParser &parser, Type) {
  FailureOr<SharedLayout> layout = parseText(parser, "a shared layout", parseSharedLayout);
  return succeeded(layout) ? get(parser.getContext(), *layout) : SharedLayoutAttr();
}

void SharedLayoutAttr::print(AsmPrinter &printer) const {
  printer << "<\"" << printSharedLayout(getLayout()) << "\">";
}

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  const FragmentLayout &layout = getLayout();
  if (layout.rank() != int64_t(shape.size()))
    return emitError() << "expected a layout of " << shape.size() << " axes because the fragment is "
                       << printShape(shape.vec()) << ", but got one of " << layout.rank();
  if (!layout.covers(shape.vec()))
    return emitError() << "expected a layout that covers the fragment's " << printShape(shape.vec())
                       << ", but got one of " << printShape(layout.coveredShape());
  return success();
}

LogicalResult PipelineAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t stages) {
  if (stages < 1 || stages > maxElements)
    return emitError() << "expected from 1 to " << maxElements << " stages, but got " << stages;
  return success();
}

LogicalResult StageAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t stage, int64_t order) {
  if (stage < 0 || order < 0)
    return emitError() << "expected stage and order to be at least 0, but got " << stage << " and " << order;
  return success();
}

namespace {
template <class Named> Named findNamed(ArrayRef<Named> all, StringRef name) {
  auto found = llvm::find_if(all, [&](Named one) { return one.getName() == name; });
  return found == all.end() ? Named() : *found;
}

template <class Named>
LogicalResult verifyNames(function_ref<InFlightDiagnostic()> emitError, ArrayRef<Named> all, StringRef what) {
  for (auto [i, one] : llvm::enumerate(all))
    if (findNamed(all.take_front(i), one.getName()))
      return emitError() << "expected " << what << " of different names, but got '" << one.getName()
                         << "' twice";
  return success();
}
} // namespace

PlannedRoleAttr RolePlanAttr::findRole(StringRef name) const { return findNamed(getRoles(), name); }
bool ChannelAttr::leadsTo(StringRef role) const {
  return llvm::any_of(getTo(), [&](StringAttr each) { return each.getValue() == role; });
}

ChannelAttr RolePlanAttr::findChannel(StringRef name) const { return findNamed(getChannels(), name); }

LogicalResult RolePlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<PlannedRoleAttr> roles, ArrayRef<ChannelAttr> channels) {
  if (failed(verifyNames(emitError, roles, "roles")) || // role_plan_c1
      failed(verifyNames(emitError, channels, "channels")))
    return failure();
  for (PlannedRoleAttr role : roles)
    if (role.getWarps() < 1)
      return emitError() << "expected role '" << role.getName() << "' to have at least 1 warp, but got "
                         << role.getWarps();
  for (ChannelAttr channel : channels) { // role_plan_c2
    SmallVector<StringRef> ends = {channel.getFrom()};
    llvm::append_range(ends,
                       llvm::map_range(channel.getTo(), [](StringAttr role) { return role.getValue(); }));
    for (StringRef end : ends)
      if (!findNamed(roles, end))
        return emitError() << "expected channel '" << channel.getName()
                           << "' between roles of the plan, but it has no role '" << end << "'";
    if (channel.getTo().empty())
      return emitError() << "expected channel '" << channel.getName() << "' to lead to a role";
    if (roles.size() > 1 && channel.leadsTo(channel.getFrom()))
      return emitError() << "expected channel '" << channel.getName()
                         << "' to lead from one role to another, but got '" << channel.getFrom()
                         << "' at both ends";
    if (channel.getSlots() < 1)
      return emitError() << "expected channel '" << channel.getName() << "' to have at least 1 slot, but got "
                         << channel.getSlots();
  }
  return success();
}
