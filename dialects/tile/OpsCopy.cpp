// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies, loads, stores and atomic operations: what their verifiers check.
#include "dialects/tile/CopyChecks.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/SharedSlice.h"
#include "dialects/tile/Tile.h"
#include "dialects/tile/Transfers.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

LogicalResult tile::verifySameTile(Operation *op, Value source, StringRef from, Value destination,
                                   StringRef to) {
  Type sourceType = source.getType(), destinationType = destination.getType();
  std::string sourceName = describe(source, from), destinationName = describe(destination, to);
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, source);
    noteDeclaration(diagnostic, destination);
    return diagnostic;
  };
  if (!sameTile(extentsOf(sourceType), extentsOf(destinationType)))
    return report(op->emitOpError() << "expected " << sourceName << " and " << destinationName
                                    << " to have the same extents, those of 1 aside, but got "
                                    << toText(extentsOf(sourceType)) << " and "
                                    << toText(extentsOf(destinationType)));
  if (elementTypeOf(sourceType) != elementTypeOf(destinationType))
    return report(op->emitOpError() << "expected " << sourceName << " and " << destinationName
                                    << " to have the same element type because copies do not convert, "
                                    << "but got " << elementTypeOf(sourceType) << " and "
                                    << elementTypeOf(destinationType));
  return success();
}

namespace {
/// copy_c6: of two memories.
LogicalResult verifySameBytes(Operation *op, Value source, Value destination) {
  Type from = source.getType(), to = destination.getType();
  int64_t axis = contiguousAxisOf(from), other = contiguousAxisOf(to);
  if (!isPacked(elementTypeOf(from)) || matchingAxis(extentsOf(from), axis, extentsOf(to)) == other)
    return success();
  InFlightDiagnostic diagnostic =
      op->emitOpError() << "expected " << describe(source, "the source") << " and "
                        << describe(destination, "the destination")
                        << " to have the same elements side by side because several " << elementTypeOf(from)
                        << " share a byte, but the one has those along axis " << axis
                        << " and the other those along axis " << other << "; copy through a fragment";
  noteDeclaration(diagnostic, source);
  noteDeclaration(diagnostic, destination);
  return diagnostic;
}
} // namespace

LogicalResult CopyOp::verify() {
  if (failed(
          verifySameTile(*this, getSource(), "the source", getDestination(), "the destination"))) // copy_c1
    return failure();
  if (failed(verifySameBytes(*this, getSource(), getDestination()))) // copy_c6
    return failure();
  if (failed(verifySliceOfTensor(*this, getSource())) ||
      failed(verifySliceOfTensor(*this, getDestination()))) // slice_shared_c7
    return failure();
  bool fromGlobal = isa<SliceType>(getSource().getType()),
       toGlobal = isa<SliceType>(getDestination().getType());
  if (fromGlobal && toGlobal) { // copy_c2
    InFlightDiagnostic diagnostic =
        emitOpError() << "expected a shared buffer as " << describe(getSource(), "the source") << " or "
                      << describe(getDestination(), "the destination")
                      << " because no instruction copies within global memory, but got two slices";
    diagnostic.attachNote() << "copy through a fragment: load the one, store to the other";
    return diagnostic;
  }
  if (getAtom() == CopyAtom::tma && !fromGlobal && !toGlobal) // copy_c3
    return emitOpError()
           << "expected a slice as source or destination because the atom tma copies between global "
           << "and shared memory, but got two shared buffers";
  if (getAtom() == CopyAtom::cp_async && (!fromGlobal || toGlobal)) // copy_c4
    return emitOpError() << "expected a slice as source and a shared buffer as destination because the atom "
                            "cp_async copies that way only, but got "
                         << getSource().getType() << " and " << getDestination().getType();
  if (getUntilRead() && !storesByEngine()) // copy_c5
    return emitOpError(
        "expected the atom tma and a slice as destination because only such a copy goes on after "
        "its source was read, but got another with 'until_read'");
  return success();
}

LogicalResult CopyReduceOp::verify() {
  if (failed(verifySameTile(*this, getSource(), "the source", getDestination(),
                            "the destination"))) // copy_reduce_c1
    return failure();
  if (failed(verifySliceOfTensor(*this, getDestination()))) // slice_shared_c7
    return failure();
  auto report = [&](InFlightDiagnostic diagnostic, Value of) -> LogicalResult {
    noteDeclaration(diagnostic, of);
    return diagnostic;
  };
  Type element = getDestination().getType().getElementType(); // copy_reduce_c2
  std::string name = describe(getDestination(), "the destination");
  bool isShort = element.isF16() || element.isBF16() || element.isSignlessInteger(32);
  if (getKind() == CombineKind::add && !isShort && !element.isF32())
    return report(emitOpError() << "expected f32, f16, bf16 or i32 because the TMA adds no others, but "
                                << name << " has " << element
                                << "; atomicAdd of a fragment adds f64 and i64, too",
                  getDestination());
  bool isOfBits = getKind() >= CombineKind::bitAnd;
  if (isOfBits && !element.isSignlessInteger(32))
    return report(emitOpError() << "expected i32 because the TMA combines the bits of no others, but " << name
                                << " has " << element,
                  getDestination());
  if (getKind() != CombineKind::add && !isShort)
    return report(emitOpError() << "expected f16, bf16 or i32 because the TMA takes the "
                                << (getKind() == CombineKind::min ? "smaller" : "larger")
                                << " of no others, but " << name << " has " << element,
                  getDestination());
  if (auto slice = getDestination().getDefiningOp<SliceOp>(); slice && slice.isSymmetric()) // copy_reduce_c4
    return report(emitOpError() << "expected a tensor of this device alone because what the TMA combines is "
                                   "not atomic for others, but "
                                << name << " is symmetric; combine a fragment with it",
                  getDestination());
  if (getSource().getType().getTransposed()) // copy_reduce_c3
    return report(emitOpError() << "expected a tile as it lies because the TMA moves whole rows, but "
                                << describe(getSource(), "the source")
                                << " is transposed; copy it through a fragment",
                  getSource());
  return success();
}

LogicalResult CopyAsyncOp::verify() {
  if (failed(verifySameTile(*this, getSource(), "the source", getDestination(), "the destination")) ||
      failed(verifySameBytes(*this, getSource(), getDestination())) || // copy_async_c1, copy_async_c3
      failed(verifySliceOfTensor(*this, getSource())))                 // slice_shared_c7
    return failure();
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (getMulticast() && kernel && kernel.getCluster() < 2) // copy_async_c2
    return emitOpError()
           << "expected a kernel with a cluster of at least 2 blocks because multicast shares a tile "
           << "among them, but '" << kernel.getName() << "' has " << kernel.getCluster();
  return success();
}

namespace {
/// load_c2, store_c3
LogicalResult verifyFragmentOfTensorMemory(Operation *op, Value memory, Value fragment) {
  if (!isa<TensorMemoryType>(memory.getType()) ||
      extentsOf(memory.getType()) == extentsOf(fragment.getType()))
    return success();
  return op->emitOpError() << "expected a fragment of " << toText(extentsOf(memory.getType()))
                           << " because warps hold rows of tensor memory, but got "
                           << toText(extentsOf(fragment.getType()));
}
} // namespace

namespace {
/// What users call to load all ranks' elements so.
StringRef callOf(CombineKind kind) {
  switch (kind) {
  case CombineKind::add:
    return "loadSum";
  case CombineKind::min:
    return "loadMin";
  case CombineKind::max:
    return "loadMax";
  case CombineKind::bitAnd:
    return "loadAnd";
  case CombineKind::bitOr:
    return "loadOr";
  case CombineKind::bitXor:
    break;
  }
  return "loadXor";
}

/// load_c3, load_c4
LogicalResult verifyCombinedRanks(LoadOp load) {
  auto slice = load.getSource().getDefiningOp<SliceOp>();
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, load.getSource());
    return diagnostic;
  };
  bool isOfAll = slice && slice.getOfAll();
  std::string name = describe(load.getSource(), "the source");
  if (isOfAll && !load.getKind())
    return report(
        load.emitOpError()
        << "expected a kind because the elements of all ranks become one, but " << name
        << " on all ranks is only copied; use loadSum, loadMin, loadMax, loadAnd, loadOr or loadXor");
  if (!isOfAll && load.getKind())
    return report(
        load.emitError() << callOf(*load.getKind())
                         << ": expected a slice of all ranks' tensors to combine them, but this one is of "
                         << name << " alone; "
                         << (slice && slice.isSymmetric() ? "take it with .ofAll()"
                                                          : "declare it symmetric"));
  if (!load.getKind())
    return success();
  Type element = slice.getType().getElementType();
  bool isHalf = element.isF16() || element.isBF16(), isSum = *load.getKind() == CombineKind::add,
       isOfBits = *load.getKind() >= CombineKind::bitAnd;
  if (element.isInteger(32) || element.isSignlessInteger(64) || (isHalf && !isOfBits) ||
      (isSum && (element.isF32() || element.isF64())))
    return success();
  return report(load.emitError() << callOf(*load.getKind()) << ": expected "
                                 << (isSum      ? "f16, bf16, f32, f64, i32, u32 or i64"
                                     : isOfBits ? "i32, u32 or i64"
                                                : "f16, bf16, i32, u32 or i64")
                                 << " because multimem combines no others so, but " << name << " has "
                                 << element << "; load one rank's after the other and combine the fragments");
}
} // namespace

LogicalResult LoadOp::verify() {
  if (failed(verifySameTile(*this, getSource(), "the source", getValue(), "the fragment")) || // load_c1
      failed(verifyCombinedRanks(*this)))
    return failure();
  return verifyFragmentOfTensorMemory(*this, getSource(), getValue()); // load_c2
}

namespace {
/// load_index_c1: `source` is a shared tile, or a slice, in which there are no positions to name.
LogicalResult verifyElement(Operation *op, Value source, OperandRange position) {
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, source);
    return diagnostic;
  };
  std::string name = describe(source, "the tile");
  if (!elementTypeOf(source.getType()).isSignlessInteger(32))
    return report(op->emitOpError() << "expected " << name
                                    << " to be of i32 because its elements are positions, but got "
                                    << elementTypeOf(source.getType()));
  ArrayRef<int64_t> extents = extentsOf(source.getType());
  if (isa<SliceType>(source.getType())) {
    if (numElements(extents) == 1 && position.empty())
      return success();
    return report(op->emitOpError() << "expected a slice of one element of " << name
                                    << " and no positions in it because one is read, but got "
                                    << toText(extents) << " and " << position.size() << " positions");
  }
  if (position.size() != extents.size())
    return report(op->emitOpError() << "expected " << extents.size() << " positions because " << name
                                    << " has " << extents.size() << " axes, but got " << position.size());
  return success();
}
} // namespace

LogicalResult LoadIndexOp::verify() {
  if (failed(verifySliceOfTensor(*this, getSource())))
    return failure();
  return verifyElement(*this, getSource(), getPosition());
}

namespace {
/// Whether an operation writes to what the slice is of.
bool isWrittenThrough(Operation *slice) {
  return llvm::any_of(slice->getUsers(), [&](Operation *user) {
    return llvm::any_of(memoryAccessesOf(user), [&](const MemoryAccess &access) {
      return access.kind != AccessKind::read && access.memory == slice->getResult(0);
    });
  });
}

bool isOnlyRead(SliceOp slice) {
  if (slice.getRank() || isWrittenByTransfer(slice.getTensor())) // before this kernel may go on
    return false;
  program::TensorAttr tensor = slice.getTensorFacts();
  if (!tensor ||
      (tensor.getAccess() != program::Access::input && tensor.getAccess() != program::Access::workspace))
    return false;
  return llvm::none_of(declarationOf(slice.getTensor()).getUsers(), [](Operation *user) {
    auto member = dyn_cast<MemberOp>(user);
    return member ? llvm::any_of(member->getUsers(), isWrittenThrough) : isWrittenThrough(user);
  });
}
} // namespace

void LoadIndexOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  auto slice = getSource().getDefiningOp<SliceOp>();
  if (!slice || !isOnlyRead(slice))
    effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
}

LogicalResult StoreIndexOp::verify() { return verifyElement(*this, getDestination(), getPosition()); }

LogicalResult StoreOp::verify() {
  if (failed(
          verifySameTile(*this, getValue(), "the fragment", getDestination(), "the destination"))) // store_c1
    return failure();
  bool tma = getAtom() == CopyAtom::tma; // store_c2
  if ((tma || getStaging()) && !isa<SliceType>(getDestination().getType()))
    return emitOpError() << "expected a slice as destination because "
                         << (tma ? "the atom tma writes" : "what goes through a staging buffer is written")
                         << " to global memory, but got " << getDestination().getType();
  if ((tma || getStaging()) && failed(verifySliceOfTensor(*this, getDestination())))
    return failure();
  if (tma && !getStaging())
    return emitOpError()
           << "expected a staging buffer because the atom tma reads from shared memory, but got none";
  return verifyFragmentOfTensorMemory(*this, getDestination(), getValue()); // store_c3
}

/// atomic_c2
LogicalResult tile::verifyCombined(Operation *op, CombineKind kind, Value destination) {
  Type element = elementTypeOf(destination.getType());
  bool isSum = kind == CombineKind::add;
  if (element.isInteger(32) || element.isSignlessInteger(64) ||
      (isSum && (element.isF32() || element.isF64())))
    return success();
  InFlightDiagnostic diagnostic =
      op->emitOpError()
      << (isSum
              ? "expected f32, f64, i32, u32 or i64 because narrower elements are too inexact for sums, but "
              : "expected i32, u32 or i64 because other minima, maxima and bits are not combined atomically, "
                "but ")
      << describe(destination, "the destination") << " has " << element;
  noteDeclaration(diagnostic, destination);
  return diagnostic;
}

LogicalResult AtomicOp::verify() {
  SliceType slice = getDestination().getType();
  std::string name = describe(getDestination(), "the destination");
  auto report = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    noteDeclaration(diagnostic, getDestination());
    return diagnostic;
  };
  Type element = slice.getElementType();
  if (isa<RankedTensorType>(getValue().getType())) { // atomic_c1
    if (failed(verifySameTile(*this, getValue(), "the fragment", getDestination(), "the destination")))
      return failure();
  } else if (numElements(slice.getShape()) != 1) {
    return report(emitOpError() << "expected a slice of one element of " << name
                                << " because one number is combined with it, but got "
                                << toText(slice.getShape()));
  } else if (element != getValue().getType()) {
    return report(emitOpError() << "expected a number of " << element << " because " << name
                                << " is, but got " << getValue().getType());
  }
  return verifyCombined(*this, getKind(), getDestination());
}

/// gather_c2
LogicalResult tile::verifyIndices(Operation *op, Value slice, Value fragment, ValueRange indices) {
  auto values = cast<RankedTensorType>(fragment.getType());
  if (slice.getDefiningOp()) {
    const size_t axes = gatheredAxesOf(slice).size();
    if (axes == 0)
      return op->emitOpError()
             << "expected a slice with gathered axes because there are positions for it, but got "
                "a box";
    if (axes != indices.size())
      return op->emitOpError() << "expected a fragment of positions for each of the " << axes
                               << " gathered axes of " << describe(slice, "the slice") << ", but got "
                               << indices.size();
  }
  for (Value index : indices)
    if (auto type = cast<RankedTensorType>(index.getType());
        !type.getElementType().isIndex() || type.getShape() != values.getShape())
      return op->emitOpError() << "expected an index for each element of the fragment of "
                               << toText(values.getShape()) << ", but got " << toText(type.getShape())
                               << " of " << type.getElementType();
  return success();
}

LogicalResult GatherOp::verify() {
  if (failed(verifySameTile(*this, getSource(), "the source", getValue(), "the fragment"))) // gather_c1
    return failure();
  return verifyIndices(*this, getSource(), getValue(), getIndices());
}

LogicalResult ScatterOp::verify() { // scatter_c1
  if (failed(verifySameTile(*this, getValue(), "the fragment", getDestination(), "the destination")) ||
      failed(verifyIndices(*this, getDestination(), getValue(), getIndices())))
    return failure();
  return getKind() ? verifyCombined(*this, *getKind(), getDestination()) : success(); // scatter_c2
}
