// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows sorted from the smallest number to the largest, with the columns that they came from.
///
/// X is [rows, n], f32; Sorted and From are [rows, n], f32 and i32: Sorted[i, j] = X[i, From[i, j]]. Equal
/// numbers stay in their order; -0 comes before 0, and NaN before or after all numbers, by its sign.
///
/// A radix sort, from the last digit of 4 bits on. The keys are the bits of the numbers, changed so that as
/// integers without a sign they are in the order of the numbers. Each of the eight digits takes two launches.
/// In the first one, a block counts the digits of its part of 2048 keys. In the second one it moves them: the
/// place of a key is the number of keys with smaller digits, and of those with its digit in the parts before
/// and in its own part before it. The last of these is a scan. Four counts of 16 bits share an integer of 64,
/// so that four scans serve sixteen digits. Each block of the second launch reads the counts of all parts of
/// its row, so that rows are limited to 2^20 numbers.
#include <algorithm>
#include <array>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t digits = 16, bits = 4, width = 2048; ///< of a digit; keys of a part

/// Counts of a part by digit: the q-th integer has those of the digits 4 q to 4 q + 3.
using PackedCounts = std::array<FragmentValue, 4>;

/// Of each key, 1 at its digit.
PackedCounts onesOf(Scope &k, const FragmentValue &digit) {
  FragmentValue one = k.fragment(i64, {1, width}, 1) << ((digit & 3) * 16).to(i64);
  PackedCounts ones;
  for (int64_t q = 0; q < 4; ++q)
    ones[size_t(q)] = where(digit >> 2 == q, one, 0);
  return ones;
}

/// The counts at a digit; 0 where there is no such digit.
FragmentValue countOf(const PackedCounts &counts, const FragmentValue &digit) {
  FragmentValue shift = ((digit & 3) * 16).to(i64), count = (counts[0] >> shift & 0xffff).to(i32);
  count = where(digit >> 2 == 0, count, 0);
  for (int64_t q = 1; q < 4; ++q)
    count = where(digit >> 2 == q, (counts[size_t(q)] >> shift & 0xffff).to(i32), count);
  return count;
}

void radixSort(Scope &k) {
  Index rows = k.dim("rows"), n = k.dim("n"), parts = ceilDiv(n, width);
  Global X = k.input("X", f32, {rows, n});
  Global Sorted = k.output("Sorted", f32, {rows, n}), From = k.output("From", i32, {rows, n});
  Global keys[2] = {k.workspace("keys", u32, {rows, n}), k.workspace("other_keys", u32, {rows, n})};
  Global columns[2] = {k.workspace("columns", i32, {rows, n}), k.workspace("other_columns", i32, {rows, n})};
  Global counts = k.workspace("counts", i32, {rows, parts, digits}),
         starts = k.workspace("starts", i32, {rows, parts, digits});
  for (int64_t shift = 0; shift < 32; shift += bits) {
    const int64_t pass = shift / bits;
    const Global &keysBefore = keys[pass % 2], &keysAfter = keys[1 - pass % 2];
    const bool isFirst = shift == 0, isLast = shift + bits == 32;
    auto tile = [](const Global &tensor, const Index &row, const Index &part) {
      return tensor.tile({row, part * width}, {1, width});
    };
    auto load = [&](const Index &row, const Index &part) {
      Fragment key = k.fragment(u32, {1, width}), x = k.fragment(f32, {1, width});
      if (!isFirst) {
        copy(tile(keysBefore, row, part), key);
        return key;
      }
      copy(tile(X, row, part), x);
      FragmentValue raw = bitcast(x, u32);
      key = raw ^ ((raw.to(i32) >> 31).to(u32) | 0x80000000u); // a negative number's bits all change
      return key;
    };
    // None, 16, beyond the end of the row.
    auto digitsOf = [&](const Fragment &key, const Index &part) {
      return where([&](Index, Index column) { return part * width + column < n; },
                   (key >> shift & (digits - 1)).to(i32), digits);
    };
    k.launch("radix_sort_count_" + std::to_string(pass), [&] {
      auto [part, row] = k.grid(parts, rows);
      PackedCounts sums = onesOf(k, digitsOf(load(row, part), part));
      for (FragmentValue &each : sums)
        each = rowSum(each);
      copy(countOf(sums, k.positions({1, digits}, 1)), counts.tile({row, part, 0}, {1, 1, digits}));
    });
    k.launch("radix_sort_move_" + std::to_string(pass), [&] {
      constexpr int64_t together = 128;
      auto [part, row] = k.grid(parts, rows);
      Fragment all = k.fragment(i32, {1, digits}), before = k.fragment(i32, {1, digits});
      k.loop(ceilDiv(parts, together), [&, part = part, row = row](Index j) {
        Fragment count = k.fragment(i32, {together, digits});
        copy(counts.tile({row, j * together, 0}, {1, together, digits}), count);
        all += reduce(Reduction::sum, count, 0);
        before += reduce(Reduction::sum,
                         where([&](Index each, Index) { return j * together + each < part; }, count, 0), 0);
      });
      Slice ofPart = starts.tile({row, part, 0}, {1, 1, digits});
      copy(cumulative(Reduction::sum, all, 1) - all + before, ofPart);
      Fragment key = load(row, part), column = k.positions({1, width}, 1) + (part * width).to(i32),
               start = k.fragment(i32, {1, width});
      if (!isFirst)
        copy(tile(columns[pass % 2], row, part), column);
      FragmentValue digit = digitsOf(key, part);
      copy(starts.tile({row, part, digit.toIndex()}, {1, 1, width}), start);
      PackedCounts scans = onesOf(k, digit);
      for (FragmentValue &each : scans)
        each = cumulative(Reduction::sum, each, 1);
      Index place = where(digit == digits, -1, start + countOf(scans, digit) - 1).toIndex();
      if (isLast) {
        FragmentValue x = bitcast(key ^ ((~key.to(i32) >> 31).to(u32) | 0x80000000u), f32);
        copy(x, Sorted.tile({row, place}, {1, width}));
        copy(column, From.tile({row, place}, {1, width}));
      } else {
        copy(key, keysAfter.tile({row, place}, {1, width}));
        copy(column, columns[1 - pass % 2].tile({row, place}, {1, width}));
      }
    });
  }
}

/// Columns of a row from its smallest number on.
std::vector<int64_t> sorted(const HostArray &X, int64_t row) {
  std::vector<int64_t> columns(static_cast<size_t>(X.shape()[1]));
  for (size_t j = 0; j < columns.size(); ++j)
    columns[j] = int64_t(j);
  std::ranges::sort(columns, {}, [&](int64_t j) { return std::pair(X(row, j), j); });
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
      .size("n", 131072, {.most = 1 << 20, .onEmulator = 5000})
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
      .flops([](const Values &v) { return 8.0 * double(v["rows"]) * double(v["n"]); }) // keys of each pass
      .bench({{"rows", "128"}, {"n", "32768"}})
      .bench({{"rows", "1"}, {"n", "1048576"}});
}
