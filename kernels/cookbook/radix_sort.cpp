// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows sorted from the smallest number to the largest, with the columns that they came from.
///
/// X is [rows, n], f32; Sorted and From are [rows, n], f32 and i32: Sorted[i, j] = X[i, From[i, j]]. Equal
/// numbers stay in their order; -0 comes before 0, and NaN before or after all numbers, by its sign.
///
/// A radix sort, from the last digit of 8 bits on. The keys are the bits of the numbers, changed so that as
/// integers without a sign they are in the order of the numbers. A key and its column are an integer of 64
/// bits, so that a store moves both. Each of the four digits takes three launches. In the first one, a block
/// counts the digits of its part of 4096 keys, by atomic additions in shared memory. In the second one, scans
/// over the parts of a row say how many keys of each digit are in the parts before. In the third one, a block
/// sorts its part by the digit in shared memory, two bits at a time: four counts of 16 bits share an integer
/// of 64, so that one scan says where each key goes. Keys of one digit then lie side by side and go to
/// adjacent places of the row.
#include <algorithm>
#include <compare>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t bits = 8, digits = 1 << bits, width = 4096; ///< of a digit; keys of a part

/// The places of keys in their part, sorted by the two bits of `digit`, those of equal ones in their order.
FragmentValue placesOf(Scope &k, const FragmentValue &digit) {
  FragmentValue ones = k.fragment(i64, {1, width}, 1) << (digit * 16).to(i64);
  FragmentValue before = cumulative(Reduction::sum, ones, 1) - ones, all = rowSum(ones);
  FragmentValue smaller = (all << 16) + (all << 32) + (all << 48); // of each digit, how many are smaller
  return ((before + smaller) >> (digit * 16).to(i64) & 0xffff).to(i32);
}

void radixSort(Scope &k) {
  Index rows = k.dim("rows"), n = k.dim("n"), parts = ceilDiv(n, width);
  Global X = k.input("X", f32, {rows, n});
  Global Sorted = k.output("Sorted", f32, {rows, n}), From = k.output("From", i32, {rows, n});
  Global pairs[2] = {k.workspace("pairs", i64, {rows, n}), k.workspace("other_pairs", i64, {rows, n})};
  Global counts = k.workspace("counts", i32, {rows, parts, digits}),
         starts = k.workspace("starts", i32, {rows, parts, digits}),
         totals = k.workspace("totals", i32, {rows, digits});
  for (int64_t shift = 0; shift < 32; shift += bits) {
    const int64_t pass = shift / bits;
    const Global &before = pairs[pass % 2], &after = pairs[1 - pass % 2];
    const bool isFirst = shift == 0, isLast = shift + bits == 32;
    auto load = [&](const Index &row,
                    const Index &part) { // keys and their columns; -1 beyond the end of the row
      Fragment pair = k.fragment(i64, {1, width}), x = k.fragment(f32, {1, width});
      if (!isFirst) {
        copy(before.tile({row, part * width}, {1, width}).fill(-1), pair);
        return pair;
      }
      copy(X.tile({row, part * width}, {1, width}), x);
      FragmentValue raw = bitcast(x, u32);
      FragmentValue key =
          raw ^ ((raw.to(i32) >> 31).to(u32) | 0x80000000u); // a negative number's bits all change
      FragmentValue column = k.positions({1, width}, 1) + (part * width).to(i32);
      pair = where([&](Index, Index at) { return part * width + at < n; }, key.to(i64) << 32 | column.to(i64),
                   -1);
      return pair;
    };
    auto digitOf = [&](const Fragment &pair) { return (pair >> (32 + shift)).to(i32) & (digits - 1); };
    k.launch("radix_sort_count_" + std::to_string(pass), [&] {
      k.warps(8);
      auto [block] = k.grid(parts * rows);
      Index part = block % parts, row = block / parts;
      Shared count = k.shared("count", i32, {digits});
      fill(count, 0);
      FragmentValue digit =
          where([&](Index, Index at) { return part * width + at < n; }, digitOf(load(row, part)), -1);
      atomicAdd(k.fragment(i32, {1, width}, 1), count.tile({digit.toIndex()}, {width}));
      copy(count, counts.tile({row, part, 0}, {1, 1, digits}));
    });
    k.launch("radix_sort_start_" + std::to_string(pass), [&] {
      constexpr int64_t some = 32, together = 64; // digits of a block, parts at a time
      auto [block] = k.grid(digits / some * rows);
      Index group = block % (digits / some), row = block / (digits / some);
      Fragment sum = k.fragment(i32, {1, some});
      k.loop(ceilDiv(parts, together), [&](Index j) {
        Fragment count = k.fragment(i32, {together, some});
        copy(counts.tile({row, j * together, group * some}, {1, together, some}), count);
        copy(cumulative(Reduction::sum, count, 0) - count + sum,
             starts.tile({row, j * together, group * some}, {1, together, some}));
        sum += reduce(Reduction::sum, count, 0);
      });
      copy(sum, totals.tile({row, group * some}, {1, some}));
    });
    k.launch("radix_sort_move_" + std::to_string(pass), [&] {
      k.warps(8);
      k.residents(2); // while some wait, others store
      auto [block] = k.grid(parts * rows);
      Index part = block % parts, row = block / parts;
      Shared keys = k.shared("keys", i64, {width}), moves = k.shared("moves", i32, {digits});
      Fragment pair = load(row, part);
      for (int64_t low = shift; low < shift + bits; low += 2) {
        FragmentValue place = placesOf(k, (pair >> (32 + low)).to(i32) & 3);
        copy(pair, keys.tile({place.toIndex()}, {width}));
        copy(keys, pair);
      }
      // From the place of a key in its part to that in the row.
      Fragment all = k.fragment(i32, {1, digits}), own = k.fragment(i32, {1, digits}),
               ofOthers = k.fragment(i32, {1, digits}), move = k.fragment(i32, {1, width});
      copy(totals.tile({row, 0}, {1, digits}), all);
      copy(counts.tile({row, part, 0}, {1, 1, digits}), own);
      copy(starts.tile({row, part, 0}, {1, 1, digits}), ofOthers);
      copy(cumulative(Reduction::sum, all - own, 1) - (all - own) + ofOthers, moves);
      copy(moves.tile({digitOf(pair).toIndex()}, {width}), move);
      Index place =
          where([&](Index, Index at) { return part * width + at < n; }, k.positions({1, width}, 1) + move, -1)
              .toIndex();
      if (isLast) {
        FragmentValue key = (pair >> 32).to(u32);
        FragmentValue x = bitcast(key ^ ((~key.to(i32) >> 31).to(u32) | 0x80000000u), f32);
        copy(x, Sorted.tile({row, place}, {1, width}));
        copy(pair.to(i32), From.tile({row, place}, {1, width}));
      } else {
        copy(pair, after.tile({row, place}, {1, width}));
      }
    });
  }
}

/// Columns of a row from its smallest number on.
std::vector<int64_t> sorted(const HostArray &X, int64_t row) {
  std::vector<int64_t> columns(static_cast<size_t>(X.shape()[1]));
  for (size_t j = 0; j < columns.size(); ++j)
    columns[j] = int64_t(j);
  std::ranges::sort(columns, [&](int64_t a, int64_t b) {
    const auto order = std::strong_order(X(row, a), X(row, b));
    return order == 0 ? a < b : order < 0;
  });
  return columns;
}

/// An output's reference, a function of X, its row and the column that an element is from.
template <class F> auto fromColumns(F function) {
  return [function](const HostInputs &in) {
    return [=, X = in.tensor("X"), row = int64_t(-1), columns = std::vector<int64_t>()](int64_t i,
                                                                                        int64_t j) mutable {
      if (i != row)
        columns = sorted(X, row = i);
      return function(X, i, columns[size_t(j)]);
    };
  };
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("radix_sort",
              "rows sorted from the smallest number to the largest, and the columns they came from")
      .size("rows", 16, {.onEmulator = 2})
      .size("n", 131072, {.onEmulator = 5000})
      .program(radixSort)
      .contents("X", // of both signs, with many equal numbers; no 0, whose sign `tlc evaluate` does not know
                [](const HostInputs &) {
                  return [](int64_t i, int64_t j) {
                    return double((i * 131 + j * 7919) % 3331 - 1500) / 8 + 0.0625;
                  };
                })
      .reference("Sorted",
                 fromColumns([](const HostArray &X, int64_t i, int64_t column) { return X(i, column); }))
      .reference("From",
                 fromColumns([](const HostArray &, int64_t, int64_t column) { return double(column); }))
      .tolerance("Sorted", {.limit = 0, .floor = 1})
      .flops([](const Values &v) { return 4.0 * double(v["rows"]) * double(v["n"]); }) // keys of each pass
      .bench({{"rows", "128"}, {"n", "32768"}})
      .bench({{"rows", "1"}, {"n", "1048576"}});
}
