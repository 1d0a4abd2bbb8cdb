// SPDX-License-Identifier: Apache-2.0
/// \file
/// Buffers, views and slices: checks, folders and facts.
#include "dialects/tile/CopyChecks.h"
#include "dialects/tile/Counts.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/Tile.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

void AllocSharedOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getBuffer(), getName()); }

int64_t AllocSharedOp::getAlignment() { return getBuffer().getType().getLayout().getLayout().alignment(); }

int64_t AllocSharedOp::takePlace(BlockBudget &block) {
  SharedType type = getBuffer().getType();
  const SharedLayout &layout = type.getLayout().getLayout();
  bool hasSlots = int64_t(type.getShape().size()) > layout.rank();
  // Each slot starts where its swizzle pattern does.
  return block.addBuffer({layout.totalBytes(), layout.alignment()}, hasSlots ? type.getShape().front() : 1);
}

LogicalResult AllocSharedOp::verify() {
  SharedType type = getBuffer().getType();
  if (type.getTransposed()) // alloc_shared_c1
    return emitOpError() << "expected buffer '" << getName()
                         << "' not to be a transposed view because an allocation "
                         << "is no view, but got " << type;
  auto isPartOfMore = [](const SharedLayout &layout, ArrayRef<int64_t> shape) {
    return layout.rank() == 2 && shape.size() == 2 && ArrayRef(layout.shape()) != shape;
  };
  if (type.getLayout() && isPartOfMore(type.getLayout().getLayout(), type.getShape()))
    return emitOpError() << "expected buffer '" << getName()
                         << "' not to be a part of another because an allocation is no view, but got "
                         << type;
  if (!getOffset())
    return success();
  int64_t alignment = type.getLayout() ? type.getLayout().getLayout().alignment() : 1;
  int64_t offset = *getOffset();
  if (offset < 0 || offset % alignment != 0) // alloc_shared_c2
    return emitOpError() << "expected the offset of '" << getName() << "' to be a multiple of " << alignment
                         << " bytes, at least 0, because its layout is aligned to that, but got " << offset;
  return success();
}

LogicalResult SlotOp::verify() { // slot_c1
  Type buffer = getBuffer().getType(), tile = getTile().getType();
  ArrayRef<int64_t> extents = extentsOf(buffer);
  int64_t slots = getCursor().getType().getSlots();
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, getBuffer());
    return diagnostic;
  };
  std::string name = describe(getBuffer(), "the buffer");
  auto inTensorMemory = dyn_cast<TensorMemoryType>(buffer);
  size_t least = inTensorMemory ? 3 : 2; // axes, with that of the slots
  if (extents.size() < least || extents.front() != slots)
    return report(emitOpError() << "expected " << name << " to have a leading axis of " << slots
                                << " because the channel has " << slots << " slots, but got "
                                << toText(extents));
  Type slot = inTensorMemory ? Type(inTensorMemory.slot()) : Type(cast<SharedType>(buffer).slot());
  if (tile != slot)
    return report(emitOpError() << "expected a tile of " << toText(extents.drop_front())
                                << " with the element type, layout and transposition of " << name
                                << " because it is one of its slots, but got " << tile);
  return success();
}

Value SlotOp::getSlotCursor() { return getCursor(); }

Value tile::viewedTile(Operation *op) {
  auto view = dyn_cast_if_present<ViewOpInterface>(op);
  return view && !view.getSlotCursor() ? op->getOperand(0) : Value();
}

LogicalResult TransposeOp::verify() { // transpose_c1
  SharedType source = getSource().getType(), view = getView().getType();
  const bool hasTwoAxes = source.getShape().size() >= 2;
  if (hasTwoAxes && view == source.transpose())
    return success();
  InFlightDiagnostic diagnostic = emitOpError();
  if (hasTwoAxes)
    diagnostic << "expected a view of type " << source.transpose() << " because "
               << describe(getSource(), "the source") << " is " << source << ", but got " << view;
  else
    diagnostic << "expected " << describe(getSource(), "the source")
               << " to have at least two axes because the last two are exchanged, but got "
               << toText(source.getShape());
  noteDeclaration(diagnostic, getSource());
  return diagnostic;
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (auto inner = getSource().getDefiningOp<TransposeOp>())
    return inner.getSource();
  return {};
}

namespace {
/// rows_c3: panels of the widest swizzle, which parts of a tile keep. The last one may have a part of its
/// own.
LogicalResult verifyColumns(RowsOp op, function_ref<LogicalResult(InFlightDiagnostic)> report) {
  SharedType source = op.getSource().getType();
  Type element = source.getElementType();
  int64_t bits = element.getIntOrFloatBitWidth(), panel = swizzleSpan(Swizzle::bytes128) * 8 / bits,
          vector = maxSharedVectorBytes * 8 / bits, count = op.getView().getType().getShape()[0];
  auto first = int64_t(op.getFirst());
  for (auto [what, number] : {std::pair<StringRef, int64_t>{"the first one", first},
                              {"the tile's number of columns", source.getShape()[0]}})
    if (number % panel != 0)
      return report(op.emitOpError() << "expected columns from the beginning of a panel, of " << panel
                                     << " elements of " << element
                                     << ", because a swizzle mixes the elements of a panel, but " << what
                                     << " is " << number << "; take a tile for each part");
  if (count % vector != 0)
    return report(op.emitOpError() << "expected a multiple of " << vector << " columns of " << element
                                   << " because a swizzle keeps that many together, but got " << count);
  return success();
}
} // namespace

LogicalResult RowsOp::verify() {
  SharedType source = getSource().getType(), view = getView().getType();
  std::string name = describe(getSource(), "the source");
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, getSource());
    return diagnostic;
  };
  if (source.getShape().size() != 2) // rows_c1
    return report(emitOpError() << "expected " << name
                                << " to have two axes because a part of a matrix is one, but it has "
                                << source.getShape().size());
  StringRef lines = source.getTransposed() ? "columns" : "rows";
  int64_t rows = source.getShape()[0];
  if (view.getShape().size() != 2 || view.getShape()[1] != source.getShape()[1] ||
      view.getElementType() != source.getElementType() || view.getLayout() != source.getLayout() ||
      view.getTransposed() != source.getTransposed())
    return report(emitOpError() << "expected a view with " << lines << " of " << source.getShape()[1] << " "
                                << source.getElementType() << " and the layout of " << name
                                << " because they are its " << lines << ", but got " << view);
  int64_t first = getFirst(), count = view.getShape()[0];
  if (first < 0 || first % swizzleRows != 0) // rows_c2
    return report(emitOpError() << "expected the first " << lines.drop_back() << " to be a multiple of "
                                << swizzleRows << ", after which every swizzle repeats, but got " << first);
  if (count > rows || first > rows - count)
    return report(emitOpError() << "expected " << lines << " of " << name << ", which has " << rows
                                << ", but got " << count << " from " << lines.drop_back() << " " << first);
  return source.getTransposed() ? verifyColumns(*this, report) : success();
}

namespace {
/// What the launcher knows of a tensor, or of a table of addresses; null if it is no argument of a kernel.
program::TensorAttr argumentOf(Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto kernel = argument ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp()) : KernelOp();
  return kernel ? dyn_cast_or_null<program::TensorAttr>(kernel.getArgument(argument.getArgNumber()))
                : program::TensorAttr();
}

/// slice_c5: what is gathered
LogicalResult verifyGathered(SliceOp slice, StringRef name) {
  if (slice.getGatheredAxes().empty())
    return success();
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, slice.getTensor());
    return diagnostic;
  };
  if (isPacked(slice.getType().getElementType()))
    return report(slice.emitOpError()
                  << "expected elements of whole bytes because each is found by itself, but " << name
                  << " has " << slice.getType().getElementType());
  if (slice.getTensorOrder() != program::TensorOrder::natural)
    return report(slice.emitOpError()
                  << "expected a tensor in its natural order because its elements are found "
                     "one by one, but "
                  << name << " is in another");
  return success();
}
} // namespace

namespace {
/// slice_c8
LogicalResult verifyOfWindows(SliceOp slice, StringRef name) {
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, slice.getTensor());
    return diagnostic;
  };
  if (!slice.getGatheredAxes().empty())
    return report(slice.emitOpError() << "expected a box of the windows of " << name
                                      << " because their positions follow one another, but got a position "
                                         "per element");
  for (Operation *user : slice->getUsers()) {
    auto copy = dyn_cast<CopyOp>(user);
    bool isRead = isa<LoadOp, CopyAsyncOp>(user) || (copy && copy.getSource() == slice.getSlice());
    if (!isRead)
      return report(user->emitOpError()
                    << "expected a copy from the windows of " << name
                    << " because they share elements, but got another access; access " << name << " itself");
  }
  return success();
}
} // namespace

namespace {
/// slice_c9
LogicalResult verifyOfAll(SliceOp slice, StringRef name) {
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, slice.getTensor());
    return diagnostic;
  };
  Type element = slice.getType().getElementType();
  if (int64_t bits = element.getIntOrFloatBitWidth(); bits != 16 && bits != 32 && bits != 64)
    return report(slice.emitOpError()
                  << "expected elements of 16, 32 or 64 bits because multimem accesses no "
                     "others, but "
                  << name << " has " << element);
  if (slice.getEviction())
    return report(slice.emitOpError()
                  << "expected no hint for L2 because multimem takes none, but the slice of " << name
                  << " on all ranks has one");
  for (Operation *user : slice->getUsers()) {
    auto store = dyn_cast<StoreOp>(user);
    if (isa<LoadOp, AtomicOp, AnnounceOp>(user) || (store && !store.getStaging()))
      continue;
    return report(user->emitOpError()
                  << "expected a copy from or to a fragment, an atomic operation without an old value, or "
                     "announce because multimem has no others, but this is another access of "
                  << name << " on all ranks; access it by way of a fragment, or one rank's by .of(rank)");
  }
  return success();
}
} // namespace

std::optional<Unit> SliceOp::getNeededUnit() {
  return getOfAll() ? std::optional(Unit::multimem) : std::nullopt;
}

LogicalResult WindowsOp::verify() {
  GlobalType source = getSource().getType(), tensor = getTensor().getType();
  std::string name = describe(getSource(), "the tensor");
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, getSource());
    return diagnostic;
  };
  program::TensorAttr facts = getFacts();
  if (!facts || facts.getMembers() || facts.getSymmetric()) // windows_c1
    return report(emitOpError() << "expected an argument of the kernel that is one tensor because the "
                                   "launcher knows its extents, but "
                                << name << " is "
                                << (facts && facts.getSymmetric()                    ? "symmetric"
                                    : getSource().getDefiningOp<WindowsOp>()         ? "what a window sees"
                                    : facts || getSource().getDefiningOp<MemberOp>() ? "a table of addresses"
                                                                                     : "another value"));
  if (facts.getOrder() != program::TensorOrder::natural)
    return report(emitOpError() << "expected a tensor in its natural order because windows begin anywhere, "
                                   "but "
                                << name << " is in another");
  size_t axes = getWindow().getTaps().size(), rank = source.getShape().size();
  if (rank != axes + 2) // windows_c2
    return report(
        emitOpError() << "expected a tensor of " << axes + 2
                      << " axes, of images, those that the window moves along and channels, because "
                         "the window has taps along "
                      << axes << ", but " << name << " has " << rank);
  SmallVector<int64_t> shape = {ShapedType::kDynamic};
  llvm::append_range(shape, getWindow().getTaps());
  shape.push_back(source.getShape().back());
  auto expected = GlobalType::get(getContext(), shape, source.getElementType());
  if (tensor != expected) // windows_c3
    return report(emitOpError() << "expected a result of type " << expected << " because " << name << " is "
                                << source << ", but got " << tensor);
  return success();
}

program::TensorAttr WindowsOp::getFacts() { return argumentOf(getSource()); }

LogicalResult MemberOp::verify() {
  program::TensorAttr table = argumentOf(getAddresses());
  program::MembersAttr members = table ? table.getMembers() : program::MembersAttr();
  std::string name = describe(getAddresses(), "the table");
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, getAddresses());
    return diagnostic;
  };
  if (!members) // member_c1
    return report(emitOpError() << "expected an argument of the kernel that holds addresses, but " << name
                                << " does not");
  GlobalType tensor = getTensor().getType();
  if (tensor.getElementType() != members.getElement() ||
      int64_t(tensor.getShape().size()) != members.getAxes()) // member_c2
    return report(emitOpError() << "expected a tensor of " << members.getElement() << " with "
                                << members.getAxes() << " axes because the members of " << name
                                << " are declared so, but got " << tensor);
  int64_t open = llvm::count_if(tensor.getShape(), ShapedType::isDynamic);
  if (int64_t(getExtents().size()) != open) // member_c3
    return report(emitOpError() << "expected an extent for each of the " << open << " open axes of " << tensor
                                << ", but got " << getExtents().size());
  if (int64_t(getStrides().size()) + 1 != members.getAxes())
    return report(emitOpError() << "expected " << members.getAxes() - 1
                                << " strides because that of the last axis is 1, but got "
                                << getStrides().size());
  return success();
}

LogicalResult SliceOp::verify() {
  std::string name = describe(getTensor(), "the tensor");
  if (failed(verifySlice(*this, getTensor(), name))) // slice_c1, slice_c2, slice_c4 to slice_c6
    return failure();
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, getTensor());
    return diagnostic;
  };
  auto argument = dyn_cast<BlockArgument>(getTensor());
  auto windows = getTensor().getDefiningOp<WindowsOp>();
  if (!getTensor().getDefiningOp<MemberOp>() && !windows &&
      (!argument || !isa<KernelOp>(argument.getOwner()->getParentOp()))) { // slice_c3
    InFlightDiagnostic diagnostic =
        emitOpError()
        << "expected an argument of the kernel as tensor because that is what the launcher knows "
           "facts of, but got another value";
    diagnostic.attachNote(getTensor().getLoc()) << "it comes from here";
    return diagnostic;
  }
  program::TensorAttr attr = argumentOf(getTensor());
  if (attr && attr.getMembers())
    return report(emitOpError() << "expected a member of " << name << ", which holds addresses");
  if (attr && attr.getSymmetric() && !isSymmetric()) // slice_c7
    return report(emitOpError() << "expected a rank because each has a tensor " << name << " of its own");
  if (isSymmetric() && !(attr && attr.getSymmetric()))
    return report(emitOpError() << "expected " << (getRank() ? "no rank" : "a slice of one tensor")
                                << " because " << name << " is this rank's alone; declare it symmetric");
  if (getRank() && getOfAll())
    return report(emitOpError() << "expected a rank of " << name << " or all of them, but got both");
  if (getOfAll() && failed(verifyOfAll(*this, name)))
    return failure();
  return windows ? verifyOfWindows(*this, name) : verifyGathered(*this, name);
}

program::TensorAttr SliceOp::getTensorFacts() {
  if (auto member = getTensor().getDefiningOp<MemberOp>())
    return member.getFacts();
  auto windows = getTensor().getDefiningOp<WindowsOp>();
  return windows ? windows.getFacts() : argumentOf(getTensor());
}

program::TensorAttr MemberOp::getFacts() {
  program::TensorAttr table = argumentOf(getAddresses());
  program::MembersAttr members = table.getMembers();
  SmallVector<int64_t> dims(size_t(members.getAxes()), -1);
  return program::TensorAttr::get(getContext(), table.getName(), members.getAccess(), dims,
                                  members.getAlignment(), /*zero_fill=*/false, program::TensorOrder::natural,
                                  /*symmetric=*/false, /*strided=*/false, program::MembersAttr());
}
