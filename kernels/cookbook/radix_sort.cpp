// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows sorted from the smallest number to the largest, with the columns that they came from.
///
/// X is [rows, n], f32; Sorted and From are [rows, n], f32 and i32: Sorted[i, j] = X[i, From[i, j]]. Equal
/// numbers stay in their order; -0 comes before 0, and NaN before or after all numbers, by its sign.
///
/// A radix sort, from the last digit of 4 bits on. The keys are the bits of the numbers, changed so that as
/// integers without a sign they are in the order of the numbers. A key and its column are an integer of 64
/// bits, so that a scattered store moves both. Each of the eight digits takes two launches.
/// In the first one, a block counts the digits of its part of 2048 keys. In the second one it moves them: the
/// place of a key is the number of keys with smaller digits, and of those with its digit in the parts before
/// and in its own part before it. The last of these is a scan. Four counts of 16 bits share an integer of 64,
/// so that four scans serve sixteen digits. Each block of the second launch reads the counts of all parts of
/// its row, so that rows are limited to 2^20 numbers.
#include <algorithm>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t digits = 16, bits = 4, width = 2048; ///< of a digit; keys of a part

/// Of each key, 1 at its digit in the q-th integer of packed counts: it has those of the digits 4 q to 4 q
/// + 3.
FragmentValue onesOf(Scope &k, const FragmentValue &digit, int64_t q) {
  return where(digit >> 2 == q, k.fragment(i64, {1, width}, 1) << ((digit & 3) * 16).to(i64), 0);
}

/// The counts at digits in the q-th integer of packed counts; 0 where it has none of a digit.
FragmentValue countOf(const FragmentValue &counts, const FragmentValue &digit, int64_t q) {
  return where(digit >> 2 == q, (counts >> ((digit & 3) * 16).to(i64) & 0xffff).to(i32), 0);
}

void radixSort(Scope &k) {
  Index rows = k.dim("rows"), n = k.dim("n"), parts = ceilDiv(n, width);
  Global X = k.input("X", f32, {rows, n});
  Global Sorted = k.output("Sorted", f32, {rows, n}), From = k.output("From", i32, {rows, n});
  Global pairs[2] = {k.workspace("pairs", i64, {rows, n}), k.workspace("other_pairs", i64, {rows, n})};
  Global counts = k.workspace("counts", i32, {rows, parts, digits}),
         starts = k.workspace("starts", i32, {rows, parts, digits});
  for (int64_t shift = 0; shift < 32; shift += bits) {
    const int64_t pass = shift / bits;
    const Global &before = pairs[pass % 2], &after = pairs[1 - pass % 2];
    const bool isFirst = shift == 0, isLast = shift + bits == 32;
    auto load = [&](const Index &row, const Index &part) { // a key and its column, or only the first key
      Fragment pair = k.fragment(i64, {1, width}), x = k.fragment(f32, {1, width});
      if (!isFirst) {
        copy(before.tile({row, part * width}, {1, width}), pair);
        return pair;
      }
      copy(X.tile({row, part * width}, {1, width}), x);
      FragmentValue raw = bitcast(x, u32);
      FragmentValue key =
          raw ^ ((raw.to(i32) >> 31).to(u32) | 0x80000000u); // a negative number's bits all change
      FragmentValue column = k.positions({1, width}, 1) + (part * width).to(i32);
      pair = key.to(i64) << 32 | column.to(i64);
      return pair;
    };
    // None, 16, beyond the end of the row.
    auto digitsOf = [&](const Fragment &pair, const Index &part) {
      return where([&](Index, Index column) { return part * width + column < n; },
                   (pair >> (32 + shift)).to(i32) & (digits - 1), digits);
    };
    k.launch("radix_sort_count_" + std::to_string(pass), [&] {
      auto [part, row] = k.grid(parts, rows);
      FragmentValue digit = digitsOf(load(row, part), part), all = k.positions({1, digits}, 1);
      Fragment count = k.fragment(i32, {1, digits});
      for (int64_t q = 0; q < digits / 4; ++q)
        count += countOf(rowSum(onesOf(k, digit, q)), all, q);
      copy(count, counts.tile({row, part, 0}, {1, 1, digits}));
    });
    k.launch("radix_sort_move_" + std::to_string(pass), [&] {
      constexpr int64_t together = 128;
      k.warps(8);
      k.residents(2); // while some wait, others store
      auto [part, row] = k.grid(parts, rows);
      Fragment all = k.fragment(i32, {1, digits}), ofOthers = k.fragment(i32, {1, digits});
      k.loop(ceilDiv(parts, together), [&, part = part, row = row](Index j) {
        Fragment count = k.fragment(i32, {together, digits});
        copy(counts.tile({row, j * together, 0}, {1, together, digits}), count);
        all += reduce(Reduction::sum, count, 0);
        ofOthers += reduce(Reduction::sum,
                           where([&](Index each, Index) { return j * together + each < part; }, count, 0), 0);
      });
      Slice ofPart = starts.tile({row, part, 0}, {1, 1, digits});
      copy(cumulative(Reduction::sum, all, 1) - all + ofOthers, ofPart);
      Fragment pair = load(row, part), start = k.fragment(i32, {1, width});
      FragmentValue digit = digitsOf(pair, part);
      copy(starts.tile({row, part, digit.toIndex()}, {1, 1, width}), start);
      Fragment count = k.fragment(i32, {1, width});
      for (int64_t q = 0; q < digits / 4; ++q) // one after the other, so that registers hold one scan
        count += countOf(cumulative(Reduction::sum, onesOf(k, digit, q), 1), digit, q);
      Index place = where(digit == digits, -1, start + count - 1).toIndex();
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
