// SPDX-License-Identifier: Apache-2.0
/// \file
/// Atomic operations that return the old value. LLVM's own have their order, which is none, and their scope.
#include "compiler/lowering/TileToSimt/FragmentAccess.h"
#include "compiler/lowering/TileToSimt/SharedSlices.h"
#include "dialects/tile/Fetch.h"
#include "dialects/tile/Shapes.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

namespace {

/// Without a kind it exchanges. An order depends on whether the elements have a sign.
LLVM::AtomicBinOp atomicOperation(std::optional<tile::CombineKind> kind, Type element) {
  bool isUnsigned = element.isUnsignedInteger();
  if (!kind)
    return LLVM::AtomicBinOp::xchg;
  switch (*kind) {
  case tile::CombineKind::add:
    return isa<FloatType>(element) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
  case tile::CombineKind::min:
    return isUnsigned ? LLVM::AtomicBinOp::umin : LLVM::AtomicBinOp::min;
  case tile::CombineKind::max:
    return isUnsigned ? LLVM::AtomicBinOp::umax : LLVM::AtomicBinOp::max;
  case tile::CombineKind::bitAnd:
    return LLVM::AtomicBinOp::_and;
  case tile::CombineKind::bitOr:
    return LLVM::AtomicBinOp::_or;
  case tile::CombineKind::bitXor:
    break;
  }
  return LLVM::AtomicBinOp::_xor;
}

/// What the element there was. `expected` is null where it does not matter. Without a scope it is the system.
Value fetch(Emitter &b, LLVM::AtomicBinOp how, Value address, Value value, Value expected, StringRef scope) {
  constexpr auto relaxed = LLVM::AtomicOrdering::monotonic;
  if (!expected)
    return LLVM::AtomicRMWOp::create(b, how, address, value, relaxed, scope);
  Value both = LLVM::AtomicCmpXchgOp::create(b, address, expected, value, relaxed, relaxed, scope);
  return LLVM::ExtractValueOp::create(b, both, 0);
}

/// Of elements that a thread holds several times, and of those that other threads hold, too, one changes.
template <class Access>
Value fetchElements(KernelLowering &k, tile::AtomicFetchOp op, Access &access, const FragmentLayout &layout,
                    Value fill, StringRef scope) {
  Emitter &b = k.b;
  Value owner = isOwner(b, layout, k.team), values = k.value(op.getValue()),
        expected = op.getExpected() ? k.value(op.getExpected()) : Value();
  Value outside = fill ? fill : b.zero(getElementTypeOrSelf(values));
  LLVM::AtomicBinOp how = atomicOperation(op.getKind(), tile::elementTypeOf(op.getDestination().getType()));
  RegisterGroups groups = access.groups(1);
  SmallVector<Value> registers(size_t(layout.registersPerThread()));
  for (const RegisterGroup &group : groups.groups) {
    int64_t reg = group.registers[0];
    Value address = access.address(group.start), value = b.extract(values, reg),
          compared = expected ? b.extract(expected, reg) : Value();
    Value changes = b.both(owner, access.predicate(group.start));
    if (!changes) {
      registers[size_t(reg)] = fetch(b, how, address, value, compared, scope);
      continue;
    }
    auto inside = [&](OpBuilder &, Location) {
      scf::YieldOp::create(b, fetch(b, how, address, value, compared, scope));
    };
    auto otherwise = [&](OpBuilder &, Location) { scf::YieldOp::create(b, outside); };
    registers[size_t(reg)] = scf::IfOp::create(b, changes, inside, otherwise).getResult(0);
  }
  for (auto [replica, original] : groups.replicas)
    registers[size_t(replica)] = registers[size_t(original)];
  return b.pack(registers);
}

Value fetchElements(KernelLowering &k, tile::AtomicFetchOp op, const FragmentLayout &layout) {
  ArrayRef<int64_t> shape = op.getOld().getType().getShape();
  SmallVector<Value> indices = k.valuesOf(op.getIndices());
  if (auto shared = op.getDestination().getDefiningOp<tile::SliceSharedOp>()) {
    SharedSliceAccess access(k, shared, indices, layout, shape);
    return fetchElements(k, op, access, layout, access.fill(), SharedSliceAccess::scope);
  }
  Slice slice = k.slice(op.getDestination());
  slice.indices = std::move(indices);
  GlobalAccess access(k, slice, layout, shape, GlobalUse::combine);
  return fetchElements(k, op, access, layout, slice.fill, slice.isSymmetric() ? "" : "device");
}

LogicalResult lowerOp(KernelLowering &k, tile::AtomicFetchOp op) {
  RankedTensorType type = op.getOld().getType();
  const FragmentLayout &layout = k.layoutOf(type);
  if (!op.getScratch()) {
    k.set(op.getOld(), fetchElements(k, op, layout));
    return success();
  }
  const SharedTile &scratch = k.shared(op.getScratch());
  if (failed(k.syncTeam())) // the previous use of the scratch memory is over
    return failure();
  storeShared(k, scratch, layout, type.getShape(), fetchElements(k, op, layout));
  if (failed(k.syncTeam()))
    return failure();
  k.set(op.getOld(), loadShared(k, scratch, layout, type.getShape()));
  return success();
}

} // namespace

void lowering::addAtomicFetchLowerings(LoweringTable &table) { table.add<tile::AtomicFetchOp>(lowerOp); }
