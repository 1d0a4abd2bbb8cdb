// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products. Extents and types are checked by the operations' own verifiers.
#include "compiler/dsl/Arithmetic.h"
#include "compiler/dsl/Operands.h"
#include "compiler/dsl/Trace.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

namespace {
TLC_ENUM_CONVERSION(policyOf, WarpPolicy, tile::WarpPolicy, TLC_WARP_POLICIES)

/// A left factor, with metadata if it is sparse.
struct Left {
  const Handle &tile;
  const FragmentValue *metadata = nullptr;

  Left(const Handle &tile) : tile(tile) {}
  Left(const Sparse &sparse) : tile(sparse.values), metadata(&sparse.metadata) {}
};

template <class Op>
void product(StringRef name, const Left &a, const Shared &b, Fragment &acc, WarpPolicy policy, Loc loc) {
  Trace *trace = traceOf(a.tile.ref(), b.ref(), acc.ref());
  if (!trace)
    return;
  Value left = trace->use(a.tile.ref(), ("the left factor of " + name).str(), loc);
  Value right = trace->use(b.ref(), ("the right factor of " + name).str(), loc);
  Value variable = trace->use(acc.ref(), ("the accumulator of " + name).str(), loc);
  Value metadata =
      a.metadata ? trace->use(a.metadata->ref(), ("the metadata of " + name).str(), loc) : Value();
  if (!left || !right || !variable || (a.metadata && !metadata))
    return;
  Value before = trace->read(acc.ref(), "the accumulator", loc);
  if (Value after = trace->create<Op>(loc, before.getType(), left, right, before, metadata, policyOf(policy),
                                      tile::MatrixAtomAttr()))
    trace->create<tile::WriteOp>(loc, after, variable);
}

/// Whether these are an accumulator and a scale of gemmScaled; an error otherwise.
bool checkScaled(Trace &trace, Value acc, Value scale, Loc loc) {
  auto of = cast<RankedTensorType>(acc.getType()), by = cast<RankedTensorType>(scale.getType());
  auto report = [&](const Twine &message, Value value) {
    trace.noteDeclaration(trace.error(loc, message + trace.describe(value)), value);
    return false;
  };
  if (!of.getElementType().isF32())
    return report(
        "expected an accumulator of f32 for gemmScaled because products are scaled in f32, but got ", acc);
  if (!by.getElementType().isF32())
    return report("expected a scale of f32 for gemmScaled because products are scaled in f32, but got ",
                  scale);
  if (commonExtents(of.getShape(), by.getShape()) != SmallVector<int64_t>(of.getShape()))
    return report("expected a scale of gemmScaled with the accumulator's extents, " +
                      tile::toText(of.getShape()) + ", or 1 where one is repeated, but got ",
                  scale);
  return true;
}

void scaledProduct(const Left &a, const Shared &b, const FragmentValue &scale, Fragment &acc,
                   WarpPolicy policy, Loc loc) {
  Trace *trace = traceOf(a.tile.ref(), b.ref(), scale.ref(), acc.ref());
  if (!trace)
    return;
  Value right = trace->use(b.ref(), "the right factor of gemmScaled", loc);
  Value before = trace->read(acc.ref(), "the accumulator of gemmScaled", loc);
  Value factor = trace->use(scale.ref(), "the scale of gemmScaled", loc);
  if (!right || !before || !factor || !checkScaled(*trace, before, factor, loc))
    return;
  bool areIntegers = isa<IntegerType>(tile::elementTypeOf(right.getType()));
  Type sums = trace->typeOf(areIntegers ? i32 : f32);
  Value zero = trace->filled(Scalar(0), RankedTensorType::get(tile::extentsOf(before.getType()), sums), loc);
  // Named so, because messages about the product are about the accumulator.
  Fragment sum = Fragment(trace->make<FragmentValue>(zero), loc).named(tile::nameOf(before));
  product<tile::GemmOp>("gemmScaled", a, b, sum, policy, loc);
  FragmentValue part(sum, loc);
  if (areIntegers)
    part = part.to(f32, loc);
  acc += At<ElementOperand>(binary(Arithmetic::multiply, part, scale, loc), loc);
}
} // namespace

void gemm(const Shared &a, const Shared &b, Fragment &acc, WarpPolicy policy, Loc loc) {
  product<tile::GemmOp>("gemm", a, b, acc, policy, loc);
}
void gemm(const FragmentValue &a, const Shared &b, Fragment &acc, WarpPolicy policy, Loc loc) {
  product<tile::GemmOp>("gemm", a, b, acc, policy, loc);
}
void gemm(const Sparse &a, const Shared &b, Fragment &acc, WarpPolicy policy, Loc loc) {
  product<tile::GemmOp>("gemm", a, b, acc, policy, loc);
}

void gemmScaled(const Shared &a, const Shared &b, const FragmentValue &scale, Fragment &acc,
                WarpPolicy policy, Loc loc) {
  scaledProduct(a, b, scale, acc, policy, loc);
}
void gemmScaled(const FragmentValue &a, const Shared &b, const FragmentValue &scale, Fragment &acc,
                WarpPolicy policy, Loc loc) {
  scaledProduct(a, b, scale, acc, policy, loc);
}
void gemmScaled(const Sparse &a, const Shared &b, const FragmentValue &scale, Fragment &acc,
                WarpPolicy policy, Loc loc) {
  scaledProduct(a, b, scale, acc, policy, loc);
}

void gemmAsync(const Shared &a, const Shared &b, Fragment &acc, WarpPolicy policy, Loc loc) {
  product<tile::GemmAsyncOp>("gemmAsync", a, b, acc, policy, loc);
}
void gemmAsync(const FragmentValue &a, const Shared &b, Fragment &acc, WarpPolicy policy, Loc loc) {
  product<tile::GemmAsyncOp>("gemmAsync", a, b, acc, policy, loc);
}
void gemmAsync(const Sparse &a, const Shared &b, Fragment &acc, WarpPolicy policy, Loc loc) {
  product<tile::GemmAsyncOp>("gemmAsync", a, b, acc, policy, loc);
}

namespace {
void productInPlace(const Handle &a, const Shared &b, const TensorMemory &acc, const ProductOptions &options,
                    Loc loc) {
  Trace *trace = traceOf(a.ref(), b.ref(), acc.ref());
  if (!trace)
    return;
  Value left = trace->use(a.ref(), "the left factor of gemmAsync", loc);
  Value right = trace->use(b.ref(), "the right factor of gemmAsync", loc);
  Value sum = trace->use(acc.ref(), "the accumulator of gemmAsync", loc);
  Value accumulate = uniformTruth(*trace, options.accumulate, "whether gemmAsync accumulates", loc);
  if (left && right && sum && accumulate)
    trace->create<tile::GemmInPlaceOp>(loc, left, right, sum, accumulate);
}
} // namespace

void gemmAsync(const Shared &a, const Shared &b, const TensorMemory &acc, const ProductOptions &options,
               Loc loc) {
  productInPlace(a, b, acc, options, loc);
}
void gemmAsync(const TensorMemory &a, const Shared &b, const TensorMemory &acc, const ProductOptions &options,
               Loc loc) {
  productInPlace(a, b, acc, options, loc);
}

void gemmWait(Fragment &acc, int64_t pending, Loc loc) {
  Trace *trace = traceOf(acc.ref());
  if (!trace)
    return;
  Value variable = trace->use(acc.ref(), "the accumulator of gemmWait", loc);
  if (!variable)
    return;
  Value before = trace->read(acc.ref(), "the accumulator", loc);
  if (Value after = trace->create<tile::GemmWaitOp>(loc, before.getType(), before, pending))
    trace->create<tile::WriteOp>(loc, after, variable);
}

} // namespace tlc::dsl::inline v1
