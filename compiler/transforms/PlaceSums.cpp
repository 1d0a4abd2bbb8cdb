// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards products by tcgen05 add in tensor memory. A sum that a loop carries from product to product
/// stays there until the loop ends; of any other product the result is loaded, and added to its accumulator
/// in registers.

#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLACESUMS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

bool isZero(Value fragment) {
  auto splat = fragment.getDefiningOp<SplatOp>();
  return splat && matchPattern(splat.getValue(), m_PosZeroFloat());
}

bool isTcgen05(Operation *op) {
  auto product = dyn_cast<GemmOp>(op);
  return product && product.getAtom() == MatrixAtom::tcgen05;
}

class SumPlacer {
public:
  explicit SumPlacer(GemmOp product)
      : product(product), kernel(product->getParentOfType<KernelOp>()), builder(product.getLoc(), product) {}

  void run() {
    auto fragment = dyn_cast<TypedValue<RankedTensorType>>(product.getA());
    if (fragment)
      stageLeftFactor(fragment);
    std::optional<unsigned> carried = carriedBy();
    carried ? addInLoop(*carried) : addOnce();
    product.erase();
  }

private:
  /// The instruction reads it from shared memory.
  void stageLeftFactor(TypedValue<RankedTensorType> factor) {
    RankedTensorType type = factor.getType();
    OpBuilder top = OpBuilder::atBlockBegin(&kernel.getBody().front());
    auto buffer = AllocSharedOp::create(
        top, product.getLoc(), SharedType::get(kernel.getContext(), type.getShape(), type.getElementType()),
        "factor", IntegerAttr());
    StoreOp::create(builder, factor, buffer, /*staging=*/Value(), /*atom=*/CopyAtomAttr());
    product.getAMutable().assign(buffer);
  }

  /// The number of the loop's variable that is the product's accumulator and nothing else.
  std::optional<unsigned> carriedBy() {
    auto argument = dyn_cast<BlockArgument>(product.getAcc());
    auto loop = dyn_cast<scf::ForOp>(product->getParentOp());
    if (!argument || !loop || argument.getOwner() != loop.getBody() || !argument.hasOneUse() ||
        !product.getResult().hasOneUse() || !isa<scf::YieldOp>(*product.getResult().user_begin()))
      return std::nullopt;
    unsigned number = argument.getArgNumber() - loop.getNumInductionVars();
    // The loop becomes a tile.put, which may contain no other one and gives no values.
    int64_t products = 0;
    loop.walk([&](Operation *op) { products += isa<GemmInPlaceOp>(op) || isTcgen05(op); });
    if (products != 1 || !llvm::all_of(loop.getResultTypes(), llvm::IsaPred<RankedTensorType>))
      return std::nullopt;
    bool isSum = loop.getYieldedValues()[number] == product.getResult() && isZero(loop.getInitArgs()[number]);
    return isSum ? std::optional(number) : std::nullopt;
  }

  Value allocate(StringRef name) {
    RankedTensorType type = product.getAcc().getType();
    OpBuilder top = OpBuilder::atBlockBegin(&kernel.getBody().front());
    return AllocTensorMemoryOp::create(
        top, product.getLoc(),
        TensorMemoryType::get(kernel.getContext(), type.getShape(), type.getElementType()), name,
        IntegerAttr());
  }

  void addTo(Value sum, Value accumulate) {
    GemmInPlaceOp::create(builder, product.getA(), product.getB(), sum, accumulate);
  }

  /// The first product overwrites; a loop without iterations leaves nothing.
  void addInLoop(unsigned number) {
    auto loop = cast<scf::ForOp>(product->getParentOp());
    Value sum = allocate("sum");
    addTo(sum, arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, loop.getInductionVar(),
                                     loop.getLowerBound()));
    product.getResult().replaceAllUsesWith(product.getAcc()); // the loop carries it no more
    builder.setInsertionPointAfter(loop);
    Value any =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
    auto type = product.getAcc().getType();
    auto loaded = scf::IfOp::create(
        builder, any,
        [&](OpBuilder &inner, Location loc) {
          scf::YieldOp::create(inner, loc, LoadOp::create(inner, loc, type, sum).getValue());
        },
        [&](OpBuilder &inner, Location loc) {
          scf::YieldOp::create(inner, loc, loop.getInitArgs()[number]);
        });
    loop.getResult(number).replaceAllUsesWith(loaded.getResult(0));
  }

  void addOnce() {
    Value sum = allocate("product");
    addTo(sum, arith::ConstantOp::create(builder, builder.getBoolAttr(false)));
    Value result = LoadOp::create(builder, product.getAcc().getType(), sum);
    if (!isZero(product.getAcc()))
      result = arith::AddFOp::create(builder, product.getAcc(), result);
    product.getResult().replaceAllUsesWith(result);
  }

  GemmOp product;
  KernelOp kernel;
  ImplicitLocOpBuilder builder;
};

struct PlaceSums : impl::PlaceSumsBase<PlaceSums> {
  void runOnOperation() override {
    SmallVector<GemmOp> products;
    getOperation().walk([&](GemmOp product) {
      if (isTcgen05(product))
        products.push_back(product);
    });
    for (GemmOp product : products)
      SumPlacer(product).run();
  }
};

} // namespace
} // namespace tlc::tile
