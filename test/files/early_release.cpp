// SPDX-License-Identifier: Apache-2.0
/// \file
/// Y = X minus the largest element of each row, by roles, with an error: a slot is read after its release.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

void center(Scope &k) {
  Index rows = k.dim("rows"), steps = ceilDiv(rows, 32);
  Global X = k.input("X", f32, {rows, 256}, {.alignment = 16}), Y = k.output("Y", f32, {rows, 256});
  Shared tile = k.shared("tile", f32, {32, 256}, {.slots = 2});
  Ring ring = k.ring("tiles", {.slots = 2});
  k.grid(1);
  k.roles([&] {
    k.role("load", {.warps = 4}, [&] {
      Cursor at = ring.cursor();
      k.loop(steps, [&](Index i) {
        ring.acquire(at);
        ring.expect(at, tile.slotBytes());
        copy(X.tile({i * 32, 0}, {32, 256}), tile.slot(at), ring.full(at));
        at.advance();
      });
    });
    k.role("math", {.warps = 4}, [&] {
      Cursor at = ring.cursor();
      k.loop(steps, [&](Index i) {
        Fragment x = k.fragment(f32, {32, 256});
        // [release]
        ring.wait(at);
        copy(tile.slot(at), x);
        Fragment largest = rowMax(x);
        ring.release(at);       // too early
        copy(tile.slot(at), x); // again, so that x needs no registers in between
        // [release]
        copy(x - largest, Y.tile({i * 32, 0}, {32, 256}));
        at.advance();
      });
    });
  });
}

void registerKernels(KernelFile &file) {
  file.kernel("center", "Y = X minus the largest element of each row")
      .size("rows", 4096, {.onEmulator = 256})
      .program(center);
}
