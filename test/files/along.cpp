// SPDX-License-Identifier: Apache-2.0
/// \file
/// A position of its own for each element, in rows that follow one another.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

/// Y[i, j] = X[i, At[i, j]], and 7 where X has no such column.
void along(Scope &k) {
  constexpr int64_t rows = 16, columns = 32;
  Index m = k.dim("m"), n = k.dim("n"), from = k.dim("from");
  Global X = k.input("X", f32, {m, from}), At = k.input("At", i32, {m, n}), Y = k.output("Y", f32, {m, n});
  auto [i, j] = k.grid(ceilDiv(m, rows), ceilDiv(n, columns));
  Fragment at = k.fragment(i32, {rows, columns}), y = k.fragment(f32, {rows, columns});
  copy(At.tile({i * rows, j * columns}, {rows, columns}), at);
  FragmentValue row = k.positions({rows, 1}, 0) + (i * rows).to(i32);
  copy(X.tile({row.toIndex(), at.toIndex()}, {rows, columns}).fill(7), y);
  copy(y, Y.tile({i * rows, j * columns}, {rows, columns}));
}

void registerKernels(KernelFile &file) {
  file.kernel("along", "Y[i, j] = X[i, At[i, j]]")
      .size("m", 4096, {.onEmulator = 50})
      .size("n", 4096, {.onEmulator = 70})
      .size("from", 4096, {.onEmulator = 60})
      .program(along)
      .random("At", -2, 64)
      .reference("Y", [](const HostInputs &in) {
        return [&in, from = in.values["from"]](int64_t i, int64_t j) {
          const auto at = int64_t(in.tensor("At")(i, j));
          return at < 0 || at >= from ? 7 : in.tensor("X")(i, at);
        };
      });
}
