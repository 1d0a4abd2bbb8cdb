// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards products by tcgen05 add in tensor memory. A sum that a loop carries from product to product
/// stays there until the loop ends, also if the loop changes its elements in between; of any other product
/// the result is loaded, and added to its accumulator in registers.

#include "compiler/analysis/TensorMemory.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/SumUpdate.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

#include "llvm/ADT/StringSet.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLACESUMS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

bool isTcgen05(Operation *op) {
  auto product = dyn_cast<GemmOp>(op);
  return product && product.getAtom() == MatrixAtom::tcgen05;
}

class SumPlacer {
public:
  /// `sums` are those of the products before it, by product, and `names` those that tiles have.
  SumPlacer(GemmOp product, TensorMemoryRoom::FactorPlace place, llvm::DenseMap<Operation *, Value> &sums,
            llvm::StringSet<> &names)
      : product(product), place(place), sums(sums), names(names),
        kernel(product->getParentOfType<KernelOp>()), builder(product.getLoc(), product) {}

  void run() {
    std::optional<Carried> carried = carriedBy();
    carried ? addInLoop(*carried) : addOnce();
    product.erase();
  }

private:
  /// A sum that the loop around the product carries.
  struct Carried {
    unsigned number; ///< of the loop's results
    std::optional<SumUpdate> update;
  };

  /// The instruction reads it from tensor memory, if there is room, or from shared memory.
  void stageLeftFactor(TypedValue<RankedTensorType> factor) {
    RankedTensorType type = factor.getType();
    OpBuilder top = OpBuilder::atBlockBegin(&kernel.getBody().front());
    Value buffer = place.isTensorMemory
                       ? allocate("factor", type, place.below ? nameOf(sums.lookup(place.below)) : "")
                       : AllocSharedOp::create(
                             top, product.getLoc(),
                             SharedType::get(kernel.getContext(), type.getShape(), type.getElementType()),
                             "factor", IntegerAttr())
                             .getBuffer();
    StoreOp::create(builder, factor, buffer, /*staging=*/Value(), /*atom=*/CopyAtomAttr());
    product.getAMutable().assign(buffer);
  }

  /// The variable of the loop that becomes the product's accumulator and nothing else.
  std::optional<Carried> carriedBy() {
    auto loop = dyn_cast<scf::ForOp>(product->getParentOp());
    if (!loop || !product.getResult().hasOneUse() ||
        *product.getResult().user_begin() != loop.getBody()->getTerminator())
      return std::nullopt;
    unsigned number = product.getResult().use_begin()->getOperandNumber();
    BlockArgument argument = loop.getRegionIterArg(number);
    if (!isZero(loop.getInitArgs()[number]))
      return std::nullopt;
    // Of two warpgroups a thread would load other columns of a part than of the whole.
    if (kernel.getWarps() == warpsPerWarpgroup)
      if (std::optional<SumUpdate> update = SumUpdate::find(product, argument))
        return Carried{number, update};
    // The loop becomes a tile.put, which may contain no other one and gives no values.
    int64_t products = 0;
    loop.walk([&](Operation *op) { products += isa<GemmInPlaceOp>(op) || isTcgen05(op); });
    if (product.getAcc() != argument || !argument.hasOneUse() || products != 1 ||
        !llvm::all_of(loop.getResultTypes(), llvm::IsaPred<RankedTensorType>))
      return std::nullopt;
    return Carried{number, std::nullopt};
  }

  /// A tile of its own, or over the one with that name.
  Value allocate(StringRef wanted, RankedTensorType type, StringRef over = {}) {
    std::string name = wanted.str();
    for (int number = 1; !names.insert(name).second; ++number)
      name = (wanted + "." + Twine(number)).str();
    OpBuilder top = OpBuilder::atBlockBegin(&kernel.getBody().front());
    return AllocTensorMemoryOp::create(
        top, product.getLoc(),
        TensorMemoryType::get(kernel.getContext(), type.getShape(), type.getElementType()),
        top.getStringAttr(name), over.empty() ? StringAttr() : top.getStringAttr(over), IntegerAttr());
  }

  void addTo(Value sum, Value accumulate) {
    sums[product] = sum;
    if (auto factor = dyn_cast<TypedValue<RankedTensorType>>(product.getA()))
      stageLeftFactor(factor); // last: the role of products waits for it the longest
    GemmInPlaceOp::create(builder, product.getA(), product.getB(), sum, accumulate);
  }

  /// The first product overwrites, unless the loop changes the sum before it; a loop without iterations
  /// leaves nothing.
  void addInLoop(Carried carried) {
    const unsigned number = carried.number;
    auto loop = cast<scf::ForOp>(product->getParentOp());
    Value sum = allocate("sum", product.getAcc().getType());
    auto isAt = [&](arith::CmpIPredicate predicate) -> Value {
      return arith::CmpIOp::create(builder, predicate, loop.getInductionVar(), loop.getLowerBound());
    };
    if (carried.update) {
      carried.update->moveTo(sum, isAt(arith::CmpIPredicate::eq));
      addTo(sum, arith::ConstantOp::create(builder, builder.getBoolAttr(true)));
    } else {
      addTo(sum, isAt(arith::CmpIPredicate::ne));
    }
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
    Value sum = allocate("product", product.getAcc().getType());
    addTo(sum, arith::ConstantOp::create(builder, builder.getBoolAttr(false)));
    Value result = LoadOp::create(builder, product.getAcc().getType(), sum);
    if (!isZero(product.getAcc()))
      result = product.getAcc().getType().getElementType().isInteger()
                   ? arith::AddIOp::create(builder, product.getAcc(), result).getResult()
                   : arith::AddFOp::create(builder, product.getAcc(), result).getResult();
    product.getResult().replaceAllUsesWith(result);
  }

  GemmOp product;
  TensorMemoryRoom::FactorPlace place;
  llvm::DenseMap<Operation *, Value> &sums;
  llvm::StringSet<> &names;
  KernelOp kernel;
  ImplicitLocOpBuilder builder;
};

struct PlaceSums : impl::PlaceSumsBase<PlaceSums> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    SmallVector<GemmOp> products;
    kernel.walk([&](GemmOp product) {
      if (isTcgen05(product))
        products.push_back(product);
    });
    if (products.empty())
      return;
    TensorMemoryRoom room(kernel, *program::findTarget(kernel), factors);
    for (GemmOp product : products)
      room.takeSum(product);
    SmallVector<TensorMemoryRoom::FactorPlace> places;
    for (GemmOp product : products)
      places.push_back(isa<RankedTensorType>(product.getA().getType())
                           ? room.placeFactor(product, kernel.getWarps(), isTcgen05)
                           : TensorMemoryRoom::FactorPlace());
    llvm::DenseMap<Operation *, Value> sums;
    llvm::StringSet<> names;
    for (auto [product, place] : llvm::zip_equal(products, places))
      SumPlacer(product, place, sums, names).run();
  }
};

} // namespace
} // namespace tlc::tile
