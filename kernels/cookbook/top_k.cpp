// SPDX-License-Identifier: Apache-2.0
/// \file
/// The `count` largest numbers of each row, and their columns.
///
/// X is [rows, n], f32, with at most 262144 columns; Largest and At are [rows, count], f32 and i32, the
/// largest first; of equal numbers the first one counts.
///
/// A row is cut into up to 32 parts of 8192 columns, so that a few long rows fill the device. The first
/// launch leaves the largest of each part in workspaces, the second one takes the largest of those. A part is
/// in registers, 64 numbers for each of 128 threads: it is read once. Each round takes the largest one and
/// then removes it.
#include <algorithm>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t parts = 32, width = 8192;

void topK(Scope &k, const Values &v) {
  const int64_t count = v["count"], candidates = parts * count;
  Index rows = k.dim("rows"), n = k.dim("n"), used = ceilDiv(n, width); // parts that there are
  Global X = k.input("X", f32, {rows, n});
  Global Largest = k.output("Largest", f32, {rows, count}), At = k.output("At", i32, {rows, count});
  Global found = k.workspace("found", f32, {rows, candidates}),
         places = k.workspace("places", i32, {rows, candidates});
  // Moves the largest numbers of x to a tile each of numbers and of columns, which `columnOf` gives.
  auto select = [&](Fragment x, int64_t extent, auto columnOf, const Slice &numbers, const Slice &at) {
    Fragment largest = k.fragment(f32, {1, count}), chosen = k.fragment(i32, {1, count});
    FragmentValue position = k.positions({1, extent}, 1), place = k.positions({1, count}, 1);
    k.loop(count, [&](Index i) {
      Fragment best = argMax(x);
      largest = where(place == i.to(i32), rowMax(x), largest);
      chosen = where(place == i.to(i32), columnOf(best), chosen);
      x = where(position == best, -inf, x);
    });
    copy(largest, numbers);
    copy(chosen, at);
  };
  k.launch("top_k_parts", [&] {
    k.residents(3); // while some wait for a reduction, others compare
    auto [part, row] = k.grid(used, rows);
    Fragment x = k.fragment(f32, {1, width});
    copy(X.tile({row, part * width}, {1, width}).fill(-inf), x);
    Index first = part * count;
    auto columnOf = [&, part = part](const Fragment &best) { return best + (part * width).to(i32); };
    select(x, width, columnOf, found.tile({row, first}, {1, count}), places.tile({row, first}, {1, count}));
  });
  k.launch("top_k_merge", [&] {
    auto [row] = k.grid(rows);
    Fragment x = k.fragment(f32, {1, candidates}), columns = k.fragment(i32, {1, candidates});
    copy(found.tile({row, 0}, {1, candidates}).limited(1, used * count).fill(-inf), x);
    copy(places.tile({row, 0}, {1, candidates}).limited(1, used * count), columns);
    auto columnOf = [&](const Fragment &best) {
      return reduce(Reduction::max, where(k.positions({1, candidates}, 1) == best, columns, -1), 1);
    };
    select(x, candidates, columnOf, Largest.tile({row, 0}, {1, count}), At.tile({row, 0}, {1, count}));
  });
}

/// Columns of a row from its largest number on.
std::vector<int64_t> sorted(const HostArray &X, int64_t row) {
  std::vector<int64_t> columns(static_cast<size_t>(X.shape()[1]));
  for (size_t j = 0; j < columns.size(); ++j)
    columns[j] = int64_t(j);
  std::ranges::sort(columns, {}, [&](int64_t j) { return std::pair(-X(row, j), j); });
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
