// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels with open parameters, for `tlc tune`: `scaled` is right with all values, `planted` is right with
/// few.
#include <csignal>
#include <tlc/kernel.h>
#include <unistd.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

// [scaled]
/// Y = 2 X, by tiles.
void scaled(Scope &k, const Values &v) {
  const int64_t tile = v["tile"];
  Index n = k.dim("n");
  Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n});
  k.warps(v["warps"]);
  auto [block] = k.grid(ceilDiv(n, tile));
  Fragment x = k.fragment(f32, {tile});
  copy(X.tile({block * tile}, {tile}), x);
  copy(x * 2, Y.tile({block * tile}, {tile}));
}
// [scaled]

/// Y = 2 X where `way` is none of those that go wrong.
void planted(Scope &k, const Values &v) {
  const std::string &way = v.text("way");
  if (way == "crashes")
    std::raise(SIGSEGV);
  while (way == "spins")
    pause();
  Index n = k.dim("n");
  Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n});
  if (way == "alters")
    (void)k.input("Z", f32, {n});
  const int64_t tile = way == "slow" ? 2048 : 256;
  auto [block] = k.grid(ceilDiv(n, tile));
  Fragment x = k.fragment(f32, {tile});
  copy(X.tile({block * tile}, {tile}), x);
  if (way == "huge") // of 512 KiB
    copy(X.tile({0}, {1 << 17}), k.shared("s", f32, {1 << 17}));
  if (way == "fails")
    k.check(x < -100, "expected less than -100, but got {}", x);
  if (way == "traps")
    x = k.cuda("f", "float f(float x) { __trap(); return x; }")(x);
  if (way == "waits")
    k.barrier("never", 1).wait(0);
  copy(x * 2 + (way == "wrong" ? 1 : 0), Y.tile({block * tile}, {tile}));
}

HostElement doubled(const HostInputs &in) {
  return [X = in.tensor("X")](std::span<const int64_t> at) { return 2 * X(at[0]); };
}

} // namespace

void registerKernels(KernelFile &file) {
  // [open]
  file.kernel("scaled", "Y = 2 X")
      .size("n", 1 << 24, {.onEmulator = 5000})
      .open("tile", {1024, 256, 32}, "elements of a block")
      .open("warps", {4, 1})
      .program(scaled)
      .reference("Y", doubled);
  // [open]
  file.kernel("planted", "Y = 2 X, in some ways")
      .size("n", 1 << 24, {.onEmulator = 5000})
#ifdef TLC_HARMLESS
      .open("way", {"slow", "fast"})
#else
      .open("way", {"slow", "fast", "wrong", "waits", "fails", "traps", "crashes", "spins", "alters", "huge"})
#endif
      .program(planted)
      .reference("Y", doubled);
  file.kernel("altering", "Y = 2 X, of which few values go wrong")
      .size("n", 1 << 24, {.onEmulator = 5000})
      .open("way", {"slow", "alters", "fast"})
      .program(planted)
      .reference("Y", doubled);
  file.kernel("broken", "Y = 2 X, but for the first value")
      .size("n", 5000)
      .open("way", {"crashes", "fast"})
      .program(planted)
      .reference("Y", doubled);
  file.kernel("unknown", "Y = 2 X, without a reference")
      .size("n", 5000)
      .open("tile", {256, 1024})
      .constant("warps", 4)
      .program(scaled);
  file.kernel("closed", "Y = 2 X, without a choice")
      .size("n", 5000)
      .constant("tile", 256)
      .constant("warps", 4)
      .program(scaled)
      .reference("Y", doubled);
}
