// SPDX-License-Identifier: Apache-2.0
/// \file
/// The roles that GEMMs of several ranks share: one that loads steps of the factors, one that multiplies, and
/// one that sends tiles, if they are sent.
#pragma once

#include "kernels/collectives/RankGemm.h"
#include "kernels/roles/TakenTiles.h"

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tlc::kernels {

/// A tile of C: of which rank, and which of that rank's rows and columns of tiles.
struct RankTile {
  dsl::Index owner, i, j;
  dsl::Index number = {}; ///< where it is stored by number, else nothing
};

/// Blocks take tiles by number, in ascending order, so that what one waits for has been taken by blocks that
/// run. Tiles that wait for no other block can be dealt before, which costs less.
class TilePipeline {
public:
  struct Role {
    std::string_view name;
    int64_t warps;
    std::function<void()> body;
  };
  using EachTile = std::function<void(const RankTile &)>;
  using StoreTile = std::function<void(dsl::Fragment &sums, const RankTile &)>;
  /// With sums in the type of C, bm x bn, which it may change.
  using SendTile = std::function<void(const dsl::Shared &sums, const RankTile &)>;
  struct Parts {
    dsl::Index tiles; ///< numbers
    dsl::Index steps; ///< of each tile, along k
    std::function<RankTile(const dsl::Index &number)> tileAt;
    std::function<dsl::Predicate(const dsl::Index &number)> isTile = {}; ///< null: all are
    /// Executed by the role that loads before the first step of a tile.
    std::function<void(const RankTile &)> prepare = {};
    /// Copies a step of A to a tile of bm x bk.
    std::function<void(const RankTile &, const dsl::Index &step, const dsl::Shared &to)> copyA;
    std::function<dsl::Slice(const RankTile &, const dsl::Index &step)> tileOfB; ///< bn x bk
    // Each of these is executed by a role when it begins, and gives what the role does with each tile.
    /// The role that loads, after the last step of the tile; or null.
    std::function<EachTile()> startLoading = {};
    /// The role that multiplies; null if tiles are sent.
    std::function<StoreTile()> startStoring = {};
    /// A role of two warps, under the products of the next tile; or null.
    std::function<SendTile()> startSending = {};
    /// Roles beside these, of two warps together, or none.
    std::vector<Role> others = {};
  };

  /// Outside of roles. `taken` is a count that begins as zero; without one, block `block` of the grid has
  /// that tile and each that comes a whole number of grids later. Ends the launch's body.
  TilePipeline(dsl::Scope &k, const RankGemmConfig &config, const dsl::Index &block,
               std::optional<dsl::Global> taken, Parts parts);

private:
  using Body = std::function<void(const RankTile &)>;
  /// By the role that takes tiles, and by those that follow it.
  void takeTiles(const Body &body) const;
  void followTiles(const Body &body) const;
  void dealtTiles(const Body &body) const;
  /// What a role does with the number of a tile.
  TakenTiles::Body ofTile(const Body &body) const;
  void load() const;
  void multiply() const;
  void send() const;

  dsl::Scope &k;
  const RankGemmConfig &c;
  dsl::Index block;
  std::optional<dsl::Global> taken;
  Parts parts;
  dsl::Shared a, b, sent;
  dsl::Channel steps, handedOver;
  std::optional<TakenTiles> tiles;
};

/// A factor whose rows begin at multiples of 16 bytes: where it is, or in a copy.
class AlignedFactor {
public:
  /// Declares an input of rows x k, or of several such matrices, and the workspace of a copy if there is one.
  AlignedFactor(dsl::Scope &k, std::string_view name, ElementType element, std::vector<dsl::Index> shape,
                bool isCopied);

  const dsl::Global &tensor() const { return copy ? *copy : source; }
  /// How many blocks copy it, and what block `n` of them does.
  dsl::Index parts() const;
  void copyPart(const dsl::Index &n) const;

private:
  std::vector<dsl::Index> shape;
  dsl::Global source;
  std::optional<dsl::Global> copy;
};

/// Warpgroups that multiply.
int64_t warpgroupsOf(const RankGemmConfig &config);

/// What the roles take of shared memory beside the steps' factors, with tiles that are taken.
BlockBudget rankGemmBudget(const Target &target);
/// The same with tiles that are dealt beforehand and stored by the role that multiplies.
BlockBudget dealtGemmBudget(const RankGemmConfig &config, const Target &target);

/// A launch before the others that copies factors, if they are copied.
void copyFactors(dsl::Scope &k, const RankGemmConfig &config, std::string_view name,
                 std::span<const AlignedFactor *const> factors);

/// Tiles of `rows` x `columns` in groups of rows, down before across.
std::array<dsl::Index, 2> tileInGroups(const RankGemmConfig &config, const dsl::Index &rows,
                                       const dsl::Index &columns, const dsl::Index &number);

} // namespace tlc::kernels
