// SPDX-License-Identifier: Apache-2.0
/// \file
/// C = A Bᵀ by roles, with an error: two warpgroups multiply, but the ring counts one consumer.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

void product(Scope &k) {
  Index m = k.dim("m"), n = k.dim("n"), depth = k.dim("k"), steps = ceilDiv(depth, 64);
  Global A = k.input("A", bf16, {m, depth}, {.alignment = 16});
  Global B = k.input("B", bf16, {n, depth}, {.alignment = 16});
  Global C = k.output("C", f32, {m, n});
  auto [i, j] = k.grid(ceilDiv(m, 128), ceilDiv(n, 64));
  // [ring]
  Shared a = k.shared("a", bf16, {128, 64}, {.slots = 2}), b = k.shared("b", bf16, {64, 64}, {.slots = 2});
  Ring ring = k.ring("ab", {.slots = 2, .producers = 1, .consumers = 1}); // expected: 2, one per warpgroup
  // [ring]
  k.roles([&] {
    k.role("load", {.warps = 4}, [&] {
      Cursor at = ring.cursor();
      k.loop(steps, [&](Index s) {
        ring.acquire(at);
        ring.expect(at, a.slotBytes() + b.slotBytes());
        copy(A.tile({i * 128, s * 64}, {128, 64}), a.slot(at), ring.full(at));
        copy(B.tile({j * 64, s * 64}, {64, 64}), b.slot(at), ring.full(at));
        at.advance();
      });
    });
    k.role("math", {.warps = 8}, [&] {
      Cursor at = ring.cursor();
      Fragment acc = k.fragment(f32, {128, 64});
      k.loop(steps, [&](Index) {
        ring.wait(at);
        gemmAsync(a.slot(at), b.slot(at).t(), acc);
        gemmWait(acc);
        ring.release(at);
        at.advance();
      });
      copy(acc, C.tile({i * 128, j * 64}, {128, 64}));
    });
  });
}

void registerKernels(KernelFile &file) {
  file.kernel("product", "C = A Bᵀ")
      .size("m", 4096, {.onEmulator = 128})
      .size("n", 4096, {.onEmulator = 64})
      .size("k", 4096, {.onEmulator = 256})
      .program(product);
}
