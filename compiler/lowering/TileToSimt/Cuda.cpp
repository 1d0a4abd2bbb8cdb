// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions in CUDA C++: one piece of inline assembly for each register.
#include "compiler/lowering/TileToSimt/Lowering.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::lowering;

/// The letter of registers for the type: PTX ISA, "Inline PTX assembly in CUDA".
static char registerLetter(Type type) {
  if (type.isF32())
    return 'f';
  if (type.isF64())
    return 'd';
  unsigned bits = type.getIntOrFloatBitWidth();
  return bits == 16 ? 'h' : bits == 32 ? 'r' : 'l';
}

static LogicalResult lowerOp(KernelLowering &k, tile::CudaOp op) {
  if (!op.getPtx())
    return op.emitOpError()
           << "expected '" << op.getFunction()
           << "' to be compiled, but it is not; run 'tile-compile-cuda' before 'tile-to-simt'";
  Emitter &b = k.b;
  auto result = cast<VectorType>(k.typeOf(op.getType()));
  // Registers of 16 bits hold integers.
  auto held = [&](Type type) { return isa<Float16Type, BFloat16Type>(type) ? b.getI16Type() : type; };
  std::string constraints = std::string("=") + registerLetter(held(result.getElementType()));
  for (Value input : op.getInputs())
    constraints +=
        std::string(",") + registerLetter(held(cast<VectorType>(k.value(input).getType()).getElementType()));
  SmallVector<Value> numbers;
  for (int64_t reg = 0; reg != result.getNumElements(); ++reg) {
    SmallVector<Value> operands;
    for (Value input : op.getInputs()) {
      Value number = b.extract(k.value(input), reg);
      Type type = held(number.getType());
      operands.push_back(type == number.getType() ? number
                                                  : arith::BitcastOp::create(b, type, number).getResult());
    }
    Value number = LLVM::InlineAsmOp::create(
                       b, TypeRange(held(result.getElementType())), operands, *op.getPtx(), constraints,
                       /*has_side_effects=*/false, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                       LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr())
                       .getResult(0);
    if (number.getType() != result.getElementType())
      number = arith::BitcastOp::create(b, result.getElementType(), number);
    numbers.push_back(number);
  }
  k.set(op.getResult(), b.pack(numbers));
  return success();
}

void lowering::addCudaLowerings(LoweringTable &table) { table.add<tile::CudaOp>(lowerOp); }
