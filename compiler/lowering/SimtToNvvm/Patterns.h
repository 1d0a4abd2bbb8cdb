// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the files of this lowering share: their patterns, and values seen as the registers that hold them.
#pragma once

#include "dialects/simt/Simt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/DialectConversion.h"

#include "llvm/ADT/SetVector.h"

namespace tlc::simt {

void populateAsyncPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
/// `dynamicShared` is the module's external array, where the block's shared memory starts.
void populateControlPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                             mlir::LLVM::GlobalOp dynamicShared);
void populateMathPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
/// Those of functions without an instruction.
void populateClusterPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateFunctionPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                              mlir::PatternBenefit benefit);
void populateMatrixPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateMemoryPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
/// `buffer` is the module's variable for what kernels report, `sites` where: the patterns add to them.
void populateReportPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                            mlir::LLVM::GlobalOp buffer, llvm::SetVector<program::ReportAttr> &sites);
void populateTensorMemoryPatterns(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);

/// Lowers the wgmma operations of a kernel. Runs before the patterns, while the structure around them still
/// says which registers are in flight.
void lowerWgmma(KernelOp kernel);

/// Takes the vectors of a kernel apart. Runs before the patterns, which see single registers. The target may
/// have instructions that compute two numbers of f32 (`f32x2`).
void splitFragments(KernelOp kernel, bool hasPairsOfF32);

/// Whether an operation of `math` has a lowering for its element type; says so if not.
mlir::LogicalResult verifyMath(mlir::Operation *op);

/// Numbers of 16 bits are computed with in f32.
mlir::Value widen(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);
mlir::Value narrowTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, mlir::Value value);
/// Whether the fast form of a function may be taken.
bool allowsApproximation(mlir::arith::FastMathFlags flags);

/// The address of a block's shared memory in the block of that rank of the cluster.
mlir::Value addressInBlock(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address,
                           mlir::Value rank);

mlir::Value constantI32(mlir::OpBuilder &builder, mlir::Location loc, int32_t value);

/// The elements of a vector; a scalar is its own one element.
llvm::SmallVector<mlir::Value> unpack(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);
/// The reverse of `unpack`.
mlir::Value pack(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, mlir::ValueRange elements);

/// A 32-bit register of so many narrower elements.
mlir::Value wordOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange elements);

/// A value as 32-bit words; elements that do not fill one have a word of their own, zero-extended.
llvm::SmallVector<mlir::Value> toWords(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);
/// The reverse of `toWords`.
mlir::Value fromWords(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, mlir::ValueRange words);

/// The distances of a matrix unit's descriptor, in bytes, as its fields: 14 bits each, in units of 16 bytes.
uint64_t descriptorDistances(uint64_t leading, uint64_t stride);
/// A matrix unit's descriptor of what lies at an address in shared memory, with these other fields.
mlir::Value matrixDescriptor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address,
                             uint64_t fields);

/// Bits of a scalar or vector of numbers.
unsigned bitsOf(mlir::Type type);

/// The type of a product's factor in names of instructions: `bf16`, `s8`.
llvm::StringRef factorName(mlir::Type element);

/// Inline assembly with side effects that all threads execute together; its results one by one.
llvm::SmallVector<mlir::Value> inlineAssembly(mlir::OpBuilder &builder, mlir::Location loc,
                                              llvm::StringRef text, llvm::StringRef constraints,
                                              mlir::TypeRange results, mlir::ValueRange operands);

} // namespace tlc::simt
