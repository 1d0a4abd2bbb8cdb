// SPDX-License-Identifier: Apache-2.0
/// \file
/// Y = S X with a factor for each row, by roles, with an error: a tile is filled outside of the put.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

void scale(Scope &k) {
  Index rows = k.dim("rows"), steps = ceilDiv(rows, 32);
  Global X = k.input("X", f32, {rows, 256}, {.alignment = 16}), Y = k.output("Y", f32, {rows, 256});
  Global S = k.input("S", f32, {rows, 1});
  Shared x = k.shared("x", f32, {32, 256}, {.slots = 2}), s = k.shared("s", f32, {32, 1});
  Channel tiles = k.channel("tiles", {.slots = 2});
  k.grid(1);
  k.roles([&] {
    k.role("load", {.warps = 4}, [&] {
      // [put]
      k.loop(steps, [&](Index i) {
        tiles.put([&](const Slot &at) { copy(X.tile({i * 32, 0}, {32, 256}), x.slot(at)); });
        copy(S.tile({i * 32, 0}, {32, 1}), s); // outside of the put
      });
      // [put]
    });
    k.role("math", {.warps = 4}, [&] {
      Fragment tile = k.fragment(f32, {32, 256}), factors = k.fragment(f32, {32, 1});
      k.loop(steps, [&](Index i) {
        copy(x.slot(tiles.get()), tile);
        tiles.release();
        copy(s, factors);
        copy(tile * factors, Y.tile({i * 32, 0}, {32, 256}));
      });
    });
  });
}

void registerKernels(KernelFile &file) {
  file.kernel("scale", "Y = S X").size("rows", 4096, {.onEmulator = 256}).program(scale);
}
