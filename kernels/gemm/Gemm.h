// SPDX-License-Identifier: Apache-2.0
/// \file
/// C = A B with sums in f32: A is m x k, C is m x n, B is n x k (tn) or k x n (nn).
/// m, n, k are runtime values of any size, 0 included, rows of any stride.
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/reference/Reference.h"
#include "runtime/target/Target.h"

namespace tlc::kernels {

enum class GemmForm : uint8_t {
  plain,         ///< one pipelined loop; the compiler makes roles and rings of it
  explicitRoles, ///< roles, rings and asynchronous products written by hand
};

/// What is known of a tensor's rows, and what is done about it.
enum class GemmRows : uint8_t {
  any,       ///< nothing: the program has a variant for rows aligned to 16 bytes, and one for others
  unaligned, ///< the TMA cannot copy them; threads do
  repacked,  ///< the TMA cannot copy them; a launch before copies them to where it can
};

struct GemmConfig {
  ElementType dtype = ElementType::bf16; ///< of A and B: f16 or bf16
  ElementType out = ElementType::bf16;   ///< of C
  GemmLayout layout = GemmLayout::tn;
  GemmForm form = GemmForm::plain;
  int64_t bm = 128, bn = 256, bk = 64; ///< the tile of C that a block computes, and its step along k
  int64_t stages = 4;                  ///< steps whose copies are in flight
  int64_t group = 16;                  ///< rows of tiles that are walked together
  int64_t split = 1;                   ///< parts of k that different blocks sum
  int64_t cluster = 1;                 ///< blocks that share what they load
  dsl::ClusterAxis clusterAxis = dsl::ClusterAxis::rows; ///< rows share tiles of B, columns tiles of A
  dsl::WarpPolicy policy = dsl::WarpPolicy::fullRow;     ///< how warps share a product
  bool storeRole = false;                                ///< a role of its own stores tiles of C (plain form)
  GemmRows rowsOfA = GemmRows::any, rowsOfB = GemmRows::any; ///< other than `any` in the plain form
  GemmRows rowsOfC = GemmRows::any;                          ///< not `repacked`
  /// Bytes that rows which are not `any` begin at multiples of: with 4 and 8 copies are asynchronous.
  int64_t alignmentOfA = 2, alignmentOfB = 2;
};

/// Bytes that rows of the tensors begin at multiples of; less than 16 is what the TMA cannot copy.
struct GemmAlignment {
  static constexpr auto ofTma = int64_t(TmaFacts().globalAlignment);
  int64_t a = ofTma, b = ofTma, c = ofTma;
};

/// The program; `split` > 1 adds a launch, and a workspace of partial sums, each operand that is repacked a
/// launch, and a workspace of its size.
dsl::Program gemmProgram(const GemmConfig &config, const dsl::TraceOptions &options = {});

/// What n is a multiple of: a role that stores needs whole units of the TMA.
int64_t multipleOfColumns(const GemmConfig &config);

/// As many stages as shared memory holds beside the epilogue's buffers.
void fitGemmStages(GemmConfig &config, const Target &target);

/// A good configuration for a problem of that size on the reference device of `target`.
GemmConfig chooseGemmConfig(int64_t m, int64_t n, int64_t k, ElementType dtype, ElementType out,
                            GemmLayout layout, const Target &target, GemmAlignment alignment = {});

} // namespace tlc::kernels
