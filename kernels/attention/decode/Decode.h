// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention of one or a few queries per sequence, each with many keys of its own: O = softmax(scale Q Kᵀ) V.
///
/// Q is b x queries x hkv x group x d: head n of h = hkv · group is head n % group of group n / group, so
/// that b x queries x h x d is the same memory. K is b x sk x hkv x d, or pages x pageSize x hkv x d; V and O
/// have rows of dv. Pages come with a table of b x maxpages page numbers (i32): key j of sequence i is row j
/// % pageSize of page table[i][j / pageSize]. `lengths_k` (i32, b) says how many keys each sequence has; what
/// lies beyond is never looked at. Masks are those of attention forward, with the queries of a sequence and
/// its keys. `sink` is hkv x group: a number for each head. LSE is b x hkv x group x queries in f32: the
/// logarithm of each row's sum of exponentials.
#pragma once

#include "compiler/dsl/dsl.h"
#include "kernels/attention/problem/Options.h"
#include "runtime/target/Target.h"

namespace tlc::kernels {

/// Where the keys of a sequence lie.
enum class KeyStorage : uint8_t { contiguous, paged };

/// Where rows of V lie.
enum class ValueStorage : uint8_t {
  apart,  ///< in a tensor of their own
  inKeys, ///< they are the first dv elements of K's, and there is no V: what latent attention keeps
};

/// Who computes the parts that the keys are split into.
enum class PartOrder : uint8_t {
  rounds, ///< as many blocks as there is room for, each with every so many-th part: no block ever starts anew
  asNeeded, ///< a block for each part: whoever is done gets the next, so that lengths may differ much
};

/// Whose arguments a program has.
enum class DecodeArguments : uint8_t {
  cache,   ///< those above
  forward, ///< those of attention forward (forward/Forward.h) on uniform sequences: heads have one axis, keys
           ///< no lengths. It takes any number of queries and is best for about as many as `queries`.
};

struct DecodeConfig {
  AttentionProblem problem = {}; ///< what is computed, on f16 or bf16; sequences are padded
  int64_t queries = 1;           ///< of a sequence
  int64_t group = 8;             ///< heads of Q that share a head of K and V
  KeyStorage storage = KeyStorage::contiguous;
  int64_t pageSize = 64;                              ///< keys of a page, a multiple of 16
  ValueStorage values = ValueStorage::apart;          ///< in keys: dv is a multiple of 16 and at most d
  DecodeArguments arguments = DecodeArguments::cache; ///< of forward: keys are contiguous, V is apart

  // How it is done.
  int64_t together =
      1; ///< of arguments of forward: queries of a head whose rows are neighbours in a tile, 1 or a
         ///< multiple of 8 that divides `rows`. With 1 rows of a query's heads are neighbours, and
         ///< begin at multiples of 8: of few heads and many queries, most rows would be of none.
  int64_t rows = 64; ///< of the tile of scores that a block computes at once, heads times queries: 64, or, up
                     ///< to dv = 256, 128
  int64_t bk = 64;   ///< and its columns
  int64_t stages = 3;    ///< tiles of K and of V whose copies are in flight
  int64_t splits = 8;    ///< parts of each sequence's keys that different blocks work on
  int64_t residents = 2; ///< blocks that share a multiprocessor
  PartOrder order = PartOrder::rounds;
};

/// What is wrong with options together; empty if nothing is.
std::string conflictOf(const DecodeConfig &config);
/// Why the target cannot run the program; empty if it can.
std::string whyNotDecode(const Target &target);
/// Sets how it is done well for so many sequences with so many keys each.
void tuneDecode(DecodeConfig &config, int64_t batches, int64_t kvHeads, int64_t keys, const Target &target);
/// Makes less of it until registers and shared memory hold it: residents, then columns, then stages.
void fitDecode(DecodeConfig &config, const Target &target);

/// Two launches: parts of the keys, and what they come to.
dsl::Program decodeProgram(const DecodeConfig &config, const dsl::TraceOptions &options = {});

} // namespace tlc::kernels
