// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/PtxasFaults.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/FormatVariadic.h"

#include <string>

using namespace llvm;

namespace {

Value *assembly(IRBuilder<> &builder, Type *result, const std::string &text, const char *constraints,
                ArrayRef<Value *> operands) {
  SmallVector<Type *> types(map_range(operands, [](Value *operand) { return operand->getType(); }));
  return builder.CreateCall(InlineAsm::get(FunctionType::get(result, types, /*isVarArg=*/false), text,
                                           constraints, /*hasSideEffects=*/false),
                            operands);
}

/// The condition of the opposite, by which NaN compares as true; empty if ptxas gets the comparison right.
StringRef oppositeOf(const FCmpInst &compare) {
  if (!compare.getOperand(0)->getType()->isFloatTy())
    return "";
  switch (compare.getPredicate()) {
  case CmpInst::FCMP_OGT:
    return "leu";
  case CmpInst::FCMP_OGE:
    return "ltu";
  case CmpInst::FCMP_OLT:
    return "geu";
  case CmpInst::FCMP_OLE:
    return "gtu";
  default:
    return "";
  }
}

/// Null if there is nothing to rewrite.
Value *rewritten(FCmpInst &compare) {
  const StringRef opposite = oppositeOf(compare);
  const bool isConstant = any_of(compare.operands(), IsaPred<ConstantFP>);
  const SimplifyQuery query(compare.getDataLayout(), &compare);
  if (opposite.empty() || !isConstant ||
      all_of(compare.operands(), [&](Value *operand) { return isKnownNeverNaN(operand, query); }))
    return nullptr;
  IRBuilder<> builder(&compare);
  return assembly(builder, compare.getType(),
                  formatv("{{\n.reg .pred q;\nsetp.{0}.f32 q, $1, $2;\nnot.pred $0, q;\n}", opposite),
                  "=b,f,f", {compare.getOperand(0), compare.getOperand(1)});
}

Value *absoluteInteger(IRBuilder<> &builder, Value *number) {
  Type *type = number->getType();
  const unsigned bits = type->getIntegerBitWidth();
  if (bits != 32 && bits != 64) {
    Value *wide = builder.CreateSExt(number, bits < 32 ? builder.getInt32Ty() : builder.getInt64Ty());
    return builder.CreateTrunc(absoluteInteger(builder, wide), type);
  }
  return assembly(builder, type,
                  formatv("{{\n.reg .b{0} sign, other;\nshr.s{0} sign, $1, {1};\n"
                          "xor.b{0} other, $1, sign;\nsub.s{0} $0, other, sign;\n}",
                          bits, bits - 1),
                  bits == 64 ? "=l,l" : "=r,r", {number});
}

/// The integers of at most 64 bits whose absolute value the instruction computes; null for others.
Value *operandOfAbsolute(Instruction &instruction) {
  if (!instruction.getType()->isIntOrIntVectorTy() || instruction.getType()->getScalarSizeInBits() > 64)
    return nullptr;
  if (auto *call = dyn_cast<IntrinsicInst>(&instruction); call && call->getIntrinsicID() == Intrinsic::abs)
    return call->getArgOperand(0);
  Value *number = nullptr, *negated = nullptr;
  return isa<SelectInst>(instruction) && matchSelectPattern(&instruction, number, negated).Flavor == SPF_ABS
             ? number
             : nullptr;
}

/// Null if there is nothing to rewrite.
Value *rewrittenAbsolute(Instruction &instruction) {
  Value *number = operandOfAbsolute(instruction);
  if (!number)
    return nullptr;
  IRBuilder<> builder(&instruction);
  auto *vector = dyn_cast<FixedVectorType>(number->getType());
  if (!vector)
    return absoluteInteger(builder, number);
  Value *all = PoisonValue::get(vector);
  for (unsigned at = 0; at < vector->getNumElements(); ++at)
    all = builder.CreateInsertElement(all, absoluteInteger(builder, builder.CreateExtractElement(number, at)),
                                      at);
  return all;
}

/// A negation of 32 bits whose maximum or minimum with other numbers is taken; null for others. What is
/// subtracted from is 0, which ptxas does not find out: the square of a number is 0 or 1 modulo 4.
Value *rewrittenNegation(Instruction &instruction) {
  auto *negation = dyn_cast<BinaryOperator>(&instruction);
  auto isExtremum = [](User *user) {
    auto *call = dyn_cast<IntrinsicInst>(user);
    return call && is_contained({Intrinsic::smax, Intrinsic::smin, Intrinsic::umax, Intrinsic::umin},
                                call->getIntrinsicID());
  };
  if (!negation || negation->getOpcode() != Instruction::Sub || !negation->getType()->isIntegerTy(32) ||
      !match(negation->getOperand(0), PatternMatch::m_Zero()) || !any_of(negation->users(), isExtremum))
    return nullptr;
  IRBuilder<> builder(negation);
  return assembly(builder, negation->getType(),
                  "{\n.reg .b32 zero;\nmul.lo.s32 zero, $1, $1;\nand.b32 zero, zero, 2;\n"
                  "sub.s32 $0, zero, $1;\n}",
                  "=r,r", {negation->getOperand(1)});
}

Value *rewritten(IntrinsicInst &conversion) {
  const bool isE4m3 = conversion.getIntrinsicID() == Intrinsic::nvvm_e4m3x2_to_f16x2_rn;
  if (!isE4m3 && conversion.getIntrinsicID() != Intrinsic::nvvm_e5m2x2_to_f16x2_rn)
    return nullptr;
  IRBuilder<> builder(&conversion);
  Value *word = builder.CreateZExt(conversion.getArgOperand(0), builder.getInt32Ty());
  Value *halves = assembly(builder, builder.getInt32Ty(),
                           formatv("{{\n.reg .b16 pair;\ncvt.u16.u32 pair, $1;\ncvt.rn.f16x2.{0}x2 $0, "
                                   "pair;\n}",
                                   isE4m3 ? "e4m3" : "e5m2"),
                           "=r,r", {word});
  return builder.CreateBitCast(halves, conversion.getType());
}

/// The operand that is the guard of a guarded access in assembly, "@$3 ld..."; null if there is none.
Value *guardOf(const CallInst &call) {
  auto *assembly = dyn_cast<InlineAsm>(call.getCalledOperand());
  if (!assembly)
    return nullptr;
  StringRef text = assembly->getAsmString();
  constexpr StringLiteral guard = "@$";
  const size_t at = text.find(guard);
  unsigned number = 0;
  if (at == StringRef::npos || text.find(guard, at + 1) != StringRef::npos ||
      text.drop_front(at + guard.size()).take_while(isDigit).getAsInteger(10, number))
    return nullptr;
  const auto constraints = assembly->ParseConstraints();
  const auto outputs = unsigned(count_if(
      constraints, [](const InlineAsm::ConstraintInfo &each) { return each.Type == InlineAsm::isOutput; }));
  // A load that is guarded makes zeros first.
  const bool isAccess = call.getType()->isVoidTy() ? outputs == 0 : text.starts_with("mov.b");
  return isAccess && number >= outputs && number - outputs < call.arg_size()
             ? call.getArgOperand(number - outputs)
             : nullptr;
}

/// $0: the number $1, or two, with other sign bits; `S` stands for these, `M` for all others and `B` for the
/// type. ptxas takes the wrong half of a register where they are masked by `and`, so that `or`, then `xor`
/// masks them.
constexpr StringLiteral negation = "xor.B $0, $1, S;";
constexpr StringLiteral absoluteValue =
    "{\n.reg .B negative;\nor.B negative, $1, S;\nxor.B $0, negative, S;\n}";
constexpr StringLiteral signOfOther =
    "{\n.reg .B negative, sign;\nor.B negative, $1, S;\nxor.B negative, negative, S;\n"
    "or.B sign, $2, M;\nxor.B sign, sign, M;\nor.B $0, negative, sign;\n}";

/// LLVM would take integer operations for a negation again.
Value *bitwise(IRBuilder<> &builder, StringRef operation, ArrayRef<Value *> operands) {
  Type *result = operands.front()->getType();
  const bool isPair = result->isVectorTy();
  std::string text;
  for (char each : operation)
    text += each == 'S'   ? (isPair ? "0x80008000" : "0x8000")
            : each == 'M' ? (isPair ? "0x7fff7fff" : "0x7fff")
            : each == 'B' ? (isPair ? "b32" : "b16")
                          : std::string(1, each);
  std::string constraints = isPair ? "=r" : "=h";
  Type *bits = isPair ? builder.getInt32Ty() : builder.getInt16Ty();
  SmallVector<Value *> words;
  for (Value *operand : operands) {
    constraints += isPair ? ",r" : ",h";
    words.push_back(builder.CreateBitCast(operand, bits));
  }
  return builder.CreateBitCast(assembly(builder, bits, text, constraints.c_str(), words), result);
}

/// Null if there is nothing to rewrite.
Value *rewrittenSign(Instruction &instruction) {
  Type *element = instruction.getType()->getScalarType();
  if (!element->isHalfTy() && !element->isBFloatTy())
    return nullptr;
  StringRef operation;
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (instruction.getOpcode() == Instruction::FNeg)
    operation = negation;
  else if (call && call->getIntrinsicID() == Intrinsic::fabs)
    operation = absoluteValue;
  else if (call && call->getIntrinsicID() == Intrinsic::copysign)
    operation = signOfOther;
  else
    return nullptr;
  IRBuilder<> builder(&instruction);
  SmallVector<Value *> operands(call ? call->args() : instruction.operands());
  auto *vector = dyn_cast<FixedVectorType>(instruction.getType());
  if (!vector || vector->getNumElements() == 2)
    return bitwise(builder, operation, operands);
  Value *all = PoisonValue::get(vector);
  for (unsigned at = 0; at < vector->getNumElements(); ++at) {
    SmallVector<Value *> each(
        map_range(operands, [&](Value *operand) { return builder.CreateExtractElement(operand, at); }));
    all = builder.CreateInsertElement(all, bitwise(builder, operation, each), at);
  }
  return all;
}

bool isNeverMade(const CallInst &call) {
  auto *guard = dyn_cast_or_null<ConstantInt>(guardOf(call));
  return guard && guard->isZero();
}

/// What \p instruction becomes; null if it stays.
Value *rewrittenValue(Instruction &instruction) {
  if (Value *value = rewrittenSign(instruction))
    return value;
  if (Value *value = rewrittenNegation(instruction))
    return value;
  if (Value *value = rewrittenAbsolute(instruction))
    return value;
  if (auto *compare = dyn_cast<FCmpInst>(&instruction))
    return rewritten(*compare);
  if (auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction))
    return rewritten(*intrinsic);
  if (auto *call = dyn_cast<CallInst>(&instruction);
      call && !call->getType()->isVoidTy() && isNeverMade(*call))
    return Constant::getNullValue(call->getType());
  return nullptr;
}

} // namespace

void tlc::avoidPtxasFaults(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      Value *value = rewrittenValue(instruction);
      if (value)
        instruction.replaceAllUsesWith(value);
      auto *call = dyn_cast<CallInst>(&instruction);
      if (value || (call && isNeverMade(*call)))
        instruction.eraseFromParent();
    }
}
