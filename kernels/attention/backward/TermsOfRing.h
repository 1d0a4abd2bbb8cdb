// SPDX-License-Identifier: Apache-2.0
/// \file
/// A gradient of keys that are passed around a ring: in each step a rank has the keys of one rank, to whose
/// memory it stores its term of their gradient, and which adds it to the sum.
#pragma once

#include "kernels/attention/problem/ColumnParts.h"
#include "kernels/attention/problem/RingKeys.h"

#include <span>
#include <string_view>

namespace tlc::kernels {

/// Where ranks meet so that terms of two steps have room, those that are stored and those that are added.
class RingTurns {
public:
  /// Declares the counts.
  RingTurns(dsl::Scope &k, const RingKeys &ring);

  /// In a launch after those that store terms of a step, by each block: until those for this rank are here,
  /// and until the next step may store its terms.
  void meet(int64_t step) const;

private:
  dsl::Scope &k;
  const RingKeys *ring;
  // Of each step:
  dsl::Symmetric sent;  ///< 1 when the term for this rank is here
  dsl::Symmetric added; ///< 1 when the owner of the keys two steps later has added the term, whose room that
                        ///< step's takes
  dsl::Global blocks;   ///< that have come
};

class TermsOfRing {
public:
  /// Declares the terms, which are rounded to the type of `result`, b x sk x hkv x length, and their sum in
  /// f32.
  TermsOfRing(dsl::Scope &k, const RingKeys &ring, std::string_view name, dsl::Global result, int64_t length,
              ElementType type);

  /// Where rows of the keys of a step leave this rank's term.
  dsl::Slice box(int64_t step, const dsl::Index &batch, const dsl::Index &head, const dsl::Index &row,
                 int64_t count, const ColumnRange &columns) const;

  /// The body of a launch after those that store terms of a step.
  static void add(dsl::Scope &k, std::span<const TermsOfRing> gradients, const RingTurns &turns,
                  int64_t step);

private:
  void addRows(dsl::Scope &k, int64_t step, const dsl::Index &batch, const dsl::Index &head,
               const dsl::Index &first) const;
  dsl::Slice termsOf(const dsl::Index &rank, int64_t step, const dsl::Index &batch, const dsl::Index &head,
                     const dsl::Index &row, int64_t count, const ColumnRange &columns) const;

  const RingKeys *ring;
  dsl::Global result;
  int64_t length;
  ElementType type;
  dsl::Symmetric terms; ///< steps and sequences together x sk x hkv x length
  dsl::Global sum;      ///< if there are several
};

} // namespace tlc::kernels
