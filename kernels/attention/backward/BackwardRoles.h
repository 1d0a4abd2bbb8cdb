// SPDX-License-Identifier: Apache-2.0
/// \file
/// What both schedules of attention backward's explicit form have in common: tiles in shared memory, their
/// channels, and the roles that move tiles.
#pragma once

#include "kernels/attention/backward/BackwardArguments.h"
#include "kernels/roles/TakenTiles.h"

#include <functional>
#include <optional>
#include <variant>

namespace tlc::kernels {

class BackwardRoles {
protected:
  /// Tiles of dQ that the TMA adds, if it does: so many columns, in so many slots.
  struct QuerySumTile {
    int64_t columns, slots;
  };

  BackwardRoles(dsl::Scope &k, const BackwardConfig &c, const BackwardArguments &p,
                const TileScheduler &scheduler, QuerySumTile querySumTile);

  /// Declares the roles that move tiles; those that compute come after them.
  void declareMemoryRoles();

  /// Whether dK and dV leave through the memory of K and V.
  bool hasStore() const { return c.gradients == GradientType::same && c.dkv == KeySum::loop; }

  void forEachTile(const std::function<void(const GradientTile &)> &body) const {
    forEachTile(TileUse::follows, body);
  }
  /// For each tile of queries that a tile of keys visits, head by head.
  void forEachVisit(const GradientTile &tile,
                    const std::function<void(const Sequence &, const dsl::Index &row)> &body) const;

  //===--------------------------------------------------------------------===//
  // For those who compute
  //===--------------------------------------------------------------------===//

  /// Whether a tile is masked; if it is known on the device only, when.
  using Edge = std::variant<bool, std::function<dsl::Predicate()>>;
  /// The tiles of queries that one head of a tile of keys visits.
  struct Visits {
    const GradientTile &keys;
    const Sequence &sequence;
    VisitedTiles tiles;
  };

  dsl::Fragment numbersIn(const dsl::Shared &slot) const;
  /// The first query of the tile, computed by those with registers left.
  dsl::Index rowAt(const dsl::Slot &number) const { return tileNumbers.slot(number).read({0}) * c.bq; }
  dsl::FragmentValue seen(const Visits &visits, const dsl::Index &row, const dsl::FragmentValue &scores,
                          const Edge &edge) const;

  dsl::Scope &k;
  const BackwardConfig &c;
  const BackwardArguments &p;
  dsl::Index block;
  int64_t d, dv;
  bool hasQuerySums;
  dsl::Shared ks, vs, qs, dos;
  dsl::Shared exponents, deltas, tileNumbers;
  dsl::Shared products;  ///< gradients of scores
  dsl::Shared querySums; ///< tiles of dQ that the TMA adds
  // Handed over: K and V, dK and dV in their place, Q, dO, numbers of queries, gradients of scores, turns,
  // ends of additions, tiles of dQ.
  dsl::Channel kv, keySums, q, out, numbers, scoreGradients, turns, added, querySumTiles;
  static constexpr int64_t rowUsers = 2; ///< warpgroups that have dK and dV

private:
  /// One role says which tiles come next, if blocks take them.
  enum class TileUse : uint8_t { takes, follows };
  void forEachTile(TileUse use, const std::function<void(const GradientTile &)> &body) const;

  void load();
  void loadNumbers();
  void store();
  void sumQueries();
  void announceTurns(const GradientTile &tile, const Sequence &sequence) const;
  void awaitTurns();

  const TileScheduler &scheduler;
  QuerySumTile querySumTile;
  std::optional<TakenTiles> taken; ///< if blocks take tiles
};

} // namespace tlc::kernels
