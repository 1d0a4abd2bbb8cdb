// SPDX-License-Identifier: Apache-2.0
/// \file
/// Types of the tile dialect: text form and checks.
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/SharedLayout.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/TileTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

#define GET_TYPEDEF_CLASSES
#include "dialects/tile/Types.cpp.inc"

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/tile/Types.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Shape and element type, common to global, slice and shared
//===----------------------------------------------------------------------===//

namespace {
void printShapedBody(AsmPrinter &printer, ArrayRef<int64_t> shape, Type elementType) {
  printer.printDimensionList(shape);
  printer << (shape.empty() ? "" : "x") << elementType;
}

ParseResult parseShapedBody(AsmParser &parser, SmallVectorImpl<int64_t> &shape, Type &elementType) {
  return failure(failed(parser.parseDimensionList(shape)) || failed(parser.parseType(elementType)));
}

/// `<shape x element>`
template <typename T> Type parseShaped(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShapedBody(parser, shape, elementType) || parser.parseGreater())
    return {};
  return parser.getChecked<T>(loc, parser.getContext(), shape, elementType);
}

/// Product of fixed extents, or nothing if there are more than `maxElements`.
std::optional<int64_t> countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0 || extent > maxElements)
      return std::nullopt;
    count *= extent;
    if (count > maxElements)
      return std::nullopt;
  }
  return count;
}

enum class Extents { fixed, fixedOrRuntime };

/// `axis`: along which elements lie side by side, the last one as a rule.
LogicalResult verifyShaped(function_ref<InFlightDiagnostic()> emitError, StringRef what, Extents extents,
                           ArrayRef<int64_t> shape, Type elementType,
                           std::optional<int64_t> axis = std::nullopt) {
  if (shape.empty())
    return emitError() << "expected " << what << " to have at least one axis";
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    if (ShapedType::isDynamic(extent)) {
      if (extents == Extents::fixed)
        return emitError() << "expected " << what << " of fixed extents, but axis " << axis
                           << " has a runtime extent";
    } else if (extent < 1 || extent > maxElements) {
      return emitError() << "expected extents from 1 to " << maxElements << ", but axis " << axis << " of "
                         << what << " has " << extent;
    }
  }
  if (extents == Extents::fixed && !countElements(shape))
    return emitError() << "expected " << what << " of at most " << maxElements
                       << " elements because positions are 32 bits, but got " << toText(shape);
  if (!toElementType(elementType))
    return emitError() << "expected an element type that memory can hold ("
                       << elementTypesText(elementType.getContext()) << "), but got " << elementType;
  if (std::string problem =
          packingProblem(what, shape, axis.value_or(int64_t(shape.size()) - 1), elementType);
      !problem.empty())
    return emitError() << problem;
  return success();
}
} // namespace

bool tile::isFragment(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && countElements(tensor.getShape());
}

//===----------------------------------------------------------------------===//
// Global, slice
//===----------------------------------------------------------------------===//

Type GlobalType::parse(AsmParser &parser) { return parseShaped<GlobalType>(parser); }

void GlobalType::print(AsmPrinter &printer) const {
  printer << "<";
  printShapedBody(printer, getShape(), getElementType());
  printer << ">";
}

LogicalResult GlobalType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                                 Type elementType) {
  return verifyShaped(emitError, "a global tensor", Extents::fixedOrRuntime, shape, elementType);
}

Type SliceType::parse(AsmParser &parser) { return parseShaped<SliceType>(parser); }

void SliceType::print(AsmPrinter &printer) const {
  printer << "<";
  printShapedBody(printer, getShape(), getElementType());
  printer << ">";
}

LogicalResult SliceType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                                Type elementType) {
  return verifyShaped(emitError, "a slice", Extents::fixed, shape, elementType);
}

//===----------------------------------------------------------------------===//
// Shared
//===----------------------------------------------------------------------===//

Type SharedType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  SharedLayoutAttr layout;
  bool transposed = false;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShapedBody(parser, shape, elementType))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("transposed"))) {
      transposed = true;
      break;
    }
    if (layout) {
      parser.emitError(parser.getCurrentLocation(), "expected 'transposed' after the layout");
      return {};
    }
    if (parser.parseAttribute(layout))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<SharedType>(loc, parser.getContext(), shape, elementType, layout, transposed);
}

void SharedType::print(AsmPrinter &printer) const {
  printer << "<";
  printShapedBody(printer, getShape(), getElementType());
  if (SharedLayoutAttr layout = getLayout())
    printer << ", " << layout;
  if (getTransposed())
    printer << ", transposed";
  printer << ">";
}

LogicalResult SharedType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                                 Type elementType, SharedLayoutAttr layout, bool transposed) {
  if (transposed && shape.size() < 2)
    return emitError() << "expected a transposed view to have at least two axes, but got " << shape.size();
  int64_t axis = int64_t(shape.size()) - (transposed ? 2 : 1);
  if (failed(verifyShaped(emitError, "a shared buffer", Extents::fixed, shape, elementType, axis)))
    return failure();
  if (!layout)
    return success();
  SmallVector<int64_t> stored(shape);
  if (transposed)
    std::swap(stored[stored.size() - 1], stored[stored.size() - 2]);
  const SharedLayout &slot = layout.getLayout();
  ArrayRef<int64_t> described(slot.shape());
  // Of a buffer with slots the layout describes one of them, of a part of a tile the tile.
  bool isPart =
      stored.size() == 2 && described.size() == 2 && stored[0] <= described[0] && stored[1] <= described[1];
  if (!isPart && described != ArrayRef(stored) && described != ArrayRef(stored).drop_front())
    return emitError() << "expected a layout of the buffer's extents "
                       << printShape({stored.begin(), stored.end()})
                       << ", of one of its slots or of a larger tile, but got one of "
                       << printShape(slot.shape());
  int64_t bits = elementType.getIntOrFloatBitWidth();
  if (slot.elementBits() != bits)
    return emitError() << "expected a layout of " << bits << "-bit elements because the element type is "
                       << elementType << ", but got one of " << slot.elementBits() << " bits";
  return success();
}

SharedType SharedType::withLayout(SharedLayoutAttr layout) const {
  return get(getContext(), getShape(), getElementType(), layout, getTransposed());
}

SharedType SharedType::transpose() const {
  SmallVector<int64_t> shape(getShape());
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return get(getContext(), shape, getElementType(), getLayout(), !getTransposed());
}

SharedType SharedType::slot() const {
  return get(getContext(), getShape().drop_front(), getElementType(), getLayout(), getTransposed());
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

Type TensorMemoryType::parse(AsmParser &parser) { return parseShaped<TensorMemoryType>(parser); }

void TensorMemoryType::print(AsmPrinter &printer) const {
  printer << "<";
  printShapedBody(printer, getShape(), getElementType());
  printer << ">";
}

LogicalResult TensorMemoryType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                                       Type elementType) {
  if (failed(verifyShaped(emitError, "a buffer in tensor memory", Extents::fixed, shape, elementType)))
    return failure();
  if (isPacked(elementType)) // tensor_memory_c2
    return emitError() << "expected elements of at least 8 bits in tensor memory, but got " << elementType
                       << "; convert them";
  constexpr TensorMemoryFacts facts;
  if (shape.size() < 2 || shape.size() > 3 ||
      (shape[shape.size() - 2] != int64_t(facts.lanes) &&
       shape[shape.size() - 2] != int64_t(facts.lanes) / 2)) // tensor_memory_c1
    return emitError()
           << "expected " << facts.lanes / 2 << " or " << facts.lanes
           << " rows because products that add in tensor memory have as many, and axes of columns "
              "and at most of slots beside them, but got "
           << toText(shape);
  int64_t bits = shape.back() * elementType.getIntOrFloatBitWidth(); // tensor_memory_c2
  if (elementType.getIntOrFloatBitWidth() > registerBits || bits % registerBits != 0)
    return emitError() << "expected rows that fill whole columns of " << registerBits
                       << " bits because tensor memory is made of these, but got " << shape.back() << " of "
                       << elementType;
  int64_t slots = shape.size() == 3 ? shape.front() : 1;
  if (int64_t columns = slots * bits / registerBits; columns > int64_t(facts.columns))
    return emitError() << "expected at most " << facts.columns
                       << " columns because tensor memory has no more, but got " << columns << " for "
                       << toText(shape) << " of " << elementType;
  return success();
}

TensorMemoryType TensorMemoryType::slot() const {
  return get(getContext(), getShape().drop_front(), getElementType());
}

int64_t TensorMemoryType::slotColumns() const {
  return getShape().back() * getElementType().getIntOrFloatBitWidth() / registerBits;
}

//===----------------------------------------------------------------------===//
// Ring, cursor
//===----------------------------------------------------------------------===//

namespace {
LogicalResult verifySlots(function_ref<InFlightDiagnostic()> emitError, StringRef what, int64_t slots) {
  if (slots >= 1 && slots <= maxElements)
    return success();
  return emitError() << "expected " << what << " of 1 to " << maxElements << " slots, but got " << slots;
}
} // namespace

LogicalResult RingType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t slots) {
  return verifySlots(emitError, "a ring", slots);
}

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t slots) {
  return verifySlots(emitError, "a channel", slots);
}

LogicalResult CursorType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t slots) {
  return verifySlots(emitError, "a cursor", slots);
}
