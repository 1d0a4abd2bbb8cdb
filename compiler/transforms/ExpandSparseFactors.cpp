// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards no left factor is sparse on a target that has no instruction for it: threads put its elements
/// where they are in their rows, with zeros between them.

#include "compiler/analysis/Remarks.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Shapes.h"
#include "dialects/tile/SharedSlice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/MmaAtoms.h"

namespace tlc::tile {
#define GEN_PASS_DEF_EXPANDSPARSEFACTORS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Writes the fragment of all elements of a sparse factor, before the product.
class DenseFactor {
public:
  DenseFactor(ProductOpInterface product)
      : builder(product.getLoc(), product), tile(product.getA()), metadata(product.getMetadata()),
        element(elementTypeOf(tile.getType())) {
    ArrayRef<int64_t> stored = cast<SharedType>(tile.getType()).getShape();
    rows = stored[0];
    columns = 2 * stored[1];
  }

  Value write() {
    Value own = CoordinatesOp::create(builder, fragmentOf({1, columns}, builder.getIndexType()), 1);
    own = BroadcastOp::create(builder, fragmentOf({rows, columns}, builder.getIndexType()), own);
    Value column =
        arith::IndexCastOp::create(builder, fragmentOf({rows, columns}, builder.getI32Type()), own);
    return element.getIntOrFloatBitWidth() == 32 ? writeOneOfTwo(column) : writeTwoOfFour(column);
  }

private:
  /// Four bits are of two columns: 0100 says that the first is stored, 1110 the second.
  Value writeOneOfTwo(Value column) {
    Value shift = shifted<arith::ShLIOp>(masked(column, 2), 1);
    Value place = masked(shifted<arith::ShRUIOp>(byteShiftedBy(shift), 1), 1);
    Value value = stored(shifted<arith::ShRUIOp>(column, 1));
    return choose(place, masked(column, 1), value, zero());
  }

  /// Four bits have the places of two of four columns.
  Value writeTwoOfFour(Value column) {
    Value places = masked(byteShiftedBy(masked(column, 4)), 15), place = masked(column, 3);
    Value first = shifted<arith::ShLIOp>(shifted<arith::ShRUIOp>(column, 2), 1);
    Value second = arith::AddIOp::create(builder, first, number(1));
    Value value = choose(shifted<arith::ShRUIOp>(places, 2), place, stored(second), zero());
    Value own = stored(first);
    return choose(masked(places, 3), place, own, value);
  }

  static RankedTensorType fragmentOf(ArrayRef<int64_t> shape, Type type) {
    return RankedTensorType::get(shape, type);
  }

  Value number(int64_t value) {
    Value one = arith::ConstantIntOp::create(builder, value, 32);
    return SplatOp::create(builder, fragmentOf({rows, columns}, builder.getI32Type()), one);
  }

  /// Of an element that is not stored.
  Value zero() {
    const bool isUnsigned = element.isUnsignedInteger(); // no constants have such types
    Type type = isUnsigned ? builder.getI32Type() : element;
    Value none = arith::ConstantOp::create(builder, builder.getZeroAttr(type));
    if (isUnsigned)
      none = ConvertOp::create(builder, element, none);
    return SplatOp::create(builder, fragmentOf({rows, columns}, element), none);
  }

  Value masked(Value of, int64_t mask) { return arith::AndIOp::create(builder, of, number(mask)); }
  template <typename Shift> Value shifted(Value value, int64_t count) {
    return Shift::create(builder, value, number(count));
  }
  Value byteShiftedBy(Value count) { return arith::ShRUIOp::create(builder, bytes(), count); }

  /// The byte of metadata that each element has its place in.
  Value bytes() {
    auto type = cast<RankedTensorType>(metadata.getType());
    const int64_t count = type.getDimSize(1);
    auto ofWords = [&](ArrayRef<int64_t> shape) { return fragmentOf(shape, builder.getI32Type()); };
    Value words = ConvertOp::create(builder, ofWords(type.getShape()), metadata);
    words = ReshapeOp::create(builder, ofWords({rows, count, 1}), words);
    words = BroadcastOp::create(builder, ofWords({rows, count, columns / count}), words);
    return ReshapeOp::create(builder, ofWords({rows, columns}), words);
  }

  /// The elements of the tile at these positions in its rows.
  Value stored(Value positions) {
    Value begin = arith::ConstantIndexOp::create(builder, 0);
    Value slice =
        SliceSharedOp::create(builder, SliceType::get(builder.getContext(), {rows, columns}, element), tile,
                              ValueRange{begin, begin}, Value(), Value(), IntegerAttr(),
                              builder.getDenseI64ArrayAttr(1), StringAttr());
    Value indices =
        arith::IndexCastOp::create(builder, fragmentOf({rows, columns}, builder.getIndexType()), positions);
    return GatherOp::create(builder, fragmentOf({rows, columns}, element), slice, indices);
  }

  Value choose(Value place, Value own, Value there, Value elsewhere) {
    Value isThere = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, place, own);
    return arith::SelectOp::create(builder, isThere, there, elsewhere);
  }

  ImplicitLocOpBuilder builder;
  Value tile, metadata;
  Type element;
  int64_t rows = 0, columns = 0;
};

struct ExpandSparseFactors : impl::ExpandSparseFactorsBase<ExpandSparseFactors> {
  using ExpandSparseFactorsBase::ExpandSparseFactorsBase;

  void runOnOperation() override {
    const Target &target = *program::findTarget(getOperation());
    getOperation().walk([&](Operation *op) {
      if (auto product = dyn_cast<GemmOp>(op))
        expand(product, target);
      else if (auto started = dyn_cast<GemmAsyncOp>(op))
        expand(started, target);
    });
  }

  template <typename Gemm> void expand(Gemm product, const Target &target) {
    if (!product.getMetadata())
      return;
    auto elementOf = [](Value value) { return *toElementType(elementTypeOf(value.getType())); };
    const ElementType left = elementOf(product.getA()), right = elementOf(product.getB()),
                      sums = elementOf(product.getAcc());
    if (wgmma && findMmaAtom(target, MmaKind::sparseWgmma, left, right, sums))
      return;
    emitRemark(product, RemarkId::gemmWithoutWgmma)
        << "the sparse left factor is multiplied with its zeros because "
        << (wgmma ? describeMissing(target, MmaKind::sparseWgmma, left, right, sums) : "wgmma is off");
    Value dense = DenseFactor(product).write();
    product.getMetadataMutable().clear();
    product.getAMutable().assign(dense);
  }
};

} // namespace
} // namespace tlc::tile
