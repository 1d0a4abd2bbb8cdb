// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention forward: O = softmax(scale Q Kᵀ, masked) V, and LSE, the logarithm of
/// each row's sum of exponentials. Q and O are b x sq x h x d, K and V b x sk x hkv x d,
/// with any outer strides; query head n reads the keys of head n / (h / hkv).
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/attention/mask/Mask.h"
#include "kernels/attention/problem/Options.h"
#include "runtime/target/Target.h"

namespace tlc::kernels {

/// When the warpgroups that compute start their products.
enum class ProductOrder : uint8_t {
  any,    ///< when they come to it
  inTurn, ///< one after the other: while the products of one run, the others compute
};

/// Where weighted rows of V in 8 bits are added up. Their product keeps 13 bits of the largest term, sum so
/// far included, and cuts the rest off: over thousands of keys of one sign most of a sum is lost.
enum class OutputSum : uint8_t {
  perTile, ///< within a tile of keys by the product, tiles in f32; dv up to 128
  inPlace, ///< by the product alone: faster, and too small by 20 % at 16384 keys if V has one sign
};

/// Of packed sequences `sq` and `sk` are the rows of all of them.
struct ForwardExtents {
  int64_t b = 1, sq = 0, sk = 0, h = 1, hkv = 1;
};

/// How weights reach the product with V, in the plain form.
enum class Dataflow : uint8_t {
  automatic, ///< as the compiler places them
  shared,    ///< "ss": both factors lie in shared memory
  tensor,    ///< "ts": weights lie in tensor memory
  oneChain,  ///< "wasp": so, and a block computes with one tile of 128 queries
};

struct ForwardConfig {
  AttentionProblem problem = {}; ///< what is computed

  // How.
  int64_t bq = 128, bk = 128; ///< the tile of scores that a block computes at once
  int64_t stages = 2;         ///< tiles of K and of V whose copies are in flight
  /// Tiles of Q, and of O, in shared memory. From 2 on the next tile's first scores and their softmax run
  /// under a tile's last product with V, if there are registers; in the plain form the next tile's copies do,
  /// with 2.
  int64_t queryStages = 2;
  AttentionForm form = AttentionForm::explicitRoles;
  ProductOrder order = ProductOrder::any;  ///< of the explicit form
  OutputSum sum = OutputSum::inPlace;      ///< `perTile` of e4m3 only
  Dataflow dataflow = Dataflow::automatic; ///< of 16-bit elements, not of ranks
  /// Of the plain form: rows of O are one sum, however long, so that scores are computed once. In registers
  /// there is no room for that.
  bool hasWholeRows = false;

  bool hasWeightsInShared() const { return problem.hasBytes() || dataflow == Dataflow::shared; }
};

/// What keeps a program from the explicit form, whatever tensors it gets; empty if nothing does. Tiles count
/// where they are given. The target is asked by itself (problem/Describe.h).
struct GivenTiles {
  std::optional<int64_t> bq = {}, bk = {};
};
std::string whyNotExplicit(const AttentionProblem &problem, OutputSum sum, const GivenTiles &given = {});

/// Chooses how, for what is to be computed: the program takes any extents, but is fastest for about these.
/// Tiles leave room for those that are given instead of chosen ones.
void chooseTiles(ForwardConfig &config, const ForwardExtents &extents, const Target &target,
                 const GivenTiles &given = {});
/// Chooses `queryStages` again, for tiles that were changed since.
void chooseQueryStages(ForwardConfig &config, const Target &target);
/// Whether scores of the explicit form's next tile find registers beside O.
bool hasRegistersForNextTile(const ForwardConfig &config);

/// With dropout, or with a dataflow, the program has the plain form whatever `form` says.
dsl::Program forwardProgram(const ForwardConfig &config, const dsl::TraceOptions &options = {});
/// With a mask of one's own instead of the problem's.
dsl::Program forwardProgram(const ForwardConfig &config, const Mask &mask,
                            const dsl::TraceOptions &options = {});
/// With a mask that reads tensors of its own.
dsl::Program forwardProgram(const ForwardConfig &config, const MaskMaker &makeMask,
                            const dsl::TraceOptions &options = {});

} // namespace tlc::kernels
