// SPDX-License-Identifier: Apache-2.0
/// \file
/// The `count` largest numbers of each row, and their columns.
///
/// X is [rows, n], f32, with at most 262144 columns; Largest and At are [rows, count], f32 and i32, the
/// largest first; of equal numbers, such as 0 and -0, the first one counts. A NaN counts as infinity, and
/// Largest has it as it is in X.
///
/// A row is cut into up to 32 parts of 8192 columns, so that a few long rows fill the device. The first
/// launch leaves the largest of each part in workspaces, the second one takes the largest of those. A part is
/// in registers, 64 numbers for each of 128 threads: it is read once. Each round takes the largest one and
/// then marks its column as taken, by NaN, which `argMax` passes over.
#include <algorithm>
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t parts = 32, width = 8192;
constexpr double taken = NAN;

void topK(Scope &k, const Values &v) {
  const int64_t count = v["count"], candidates = parts * count;
  Index rows = k.dim("rows"), n = k.dim("n", {.least = 64, .most = parts * width}),
        used = ceilDiv(n, width); // parts that there are
  Global X = k.input("X", f32, {rows, n});
  Global Largest = k.output("Largest", f32, {rows, count}), At = k.output("At", i32, {rows, count});
  Global found = k.workspace("found", f32, {rows, candidates}),
         places = k.workspace("places", i32, {rows, candidates});
  struct Selected {
    Fragment largest, columns;
  };
  // The largest numbers of x, and their columns, which `columnOf` gives for a position.
  auto select = [&](Fragment x, int64_t extent, auto columnOf) {
    Selected selected{k.fragment(f32, {1, count}), k.fragment(i32, {1, count})};
    FragmentValue position = k.positions({1, extent}, 1), place = k.positions({1, count}, 1);
    k.loop(count, [&](Index i) {
      Fragment best = argMax(x);
      selected.largest = where(place == i.to(i32), rowMax(x), selected.largest);
      selected.columns = where(place == i.to(i32), columnOf(best), selected.columns);
      x = where(position == best, taken, x);
    });
    return selected;
  };
  k.launch("top_k_parts", [&] {
    k.residents(3); // while some wait for a reduction, others compare
    auto [block] = k.grid(used * rows);
    Index part = block % used, row = block / used, first = part * width;
    Fragment x = k.fragment(f32, {1, width});
    copy(X.tile({row, first}, {1, width}), x);
    x = where([&](Index, Index column) { return first + column < n; }, where(x == x, x, inf), taken);
    Selected selected = select(x, width, [&](const Fragment &best) { return best + first.to(i32); });
    copy(selected.largest, found.tile({row, part * count}, {1, count}));
    copy(selected.columns, places.tile({row, part * count}, {1, count}));
  });
  k.launch("top_k_merge", [&] {
    auto [row] = k.grid(rows);
    Fragment x = k.fragment(f32, {1, candidates}), columns = k.fragment(i32, {1, candidates});
    copy(found.tile({row, 0}, {1, candidates}).limited(1, used * count).fill(taken), x);
    copy(places.tile({row, 0}, {1, candidates}).limited(1, used * count), columns);
    auto columnOf = [&](const Fragment &best) {
      return reduce(Reduction::max, where(k.positions({1, candidates}, 1) == best, columns, -1), 1);
    };
    Fragment at = select(x, candidates, columnOf).columns, largest = k.fragment(f32, {1, count});
    copy(X.tile({row, at.toIndex()}, {1, count}), largest);
    copy(largest, Largest.tile({row, 0}, {1, count}));
    copy(at, At.tile({row, 0}, {1, count}));
  });
}

/// Columns of a row from its largest number on.
std::vector<int64_t> sorted(const HostArray &X, int64_t row) {
  std::vector<int64_t> columns(static_cast<size_t>(X.shape()[1]));
  for (size_t j = 0; j < columns.size(); ++j)
    columns[j] = int64_t(j);
  std::ranges::sort(columns, {},
                    [&](int64_t j) { return std::pair(std::isnan(X(row, j)) ? -INFINITY : -X(row, j), j); });
  return columns;
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("top_k", "the largest numbers of each row, and their columns")
      .size("rows", 64, {.onEmulator = 2})
      .size("n", 128256, {.least = 64, .most = parts * width, .onEmulator = 20000})
      .constant("count", 16, {.least = 8, .most = 64, .multipleOf = 8})
      .program(topK)
      .contents("X", // with many equal numbers
                [](const HostInputs &) {
                  return [](int64_t i, int64_t j) { return double((i * 131 + j * 7919) % 3331); };
                })
      .reference("Largest",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X");
                   return [=, row = int64_t(-1), columns = std::vector<int64_t>()](int64_t i,
                                                                                   int64_t j) mutable {
                     if (i != row)
                       columns = sorted(X, row = i);
                     return X(i, columns[size_t(j)]);
                   };
                 })
      .reference("At",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X");
                   return [=, row = int64_t(-1), columns = std::vector<int64_t>()](int64_t i,
                                                                                   int64_t j) mutable {
                     if (i != row)
                       columns = sorted(X, row = i);
                     return double(columns[size_t(j)]);
                   };
                 })
      .flops([](const Values &v) { return double(v["rows"]) * double(v["n"]) * double(v["count"]); })
      .bench({{"rows", "1024"}, {"n", "32000"}});
}
