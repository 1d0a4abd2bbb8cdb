// SPDX-License-Identifier: Apache-2.0
/// \file
/// A step of an optimizer: numbers of the launch.
// [file]
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

/// One step of Adam on the parameters P with the gradients G; `step` counts from 1.
void adam(Scope &k) {
  constexpr int64_t tile = 256;
  constexpr double decay1 = 0.9, decay2 = 0.999;
  Index n = k.dim("n");
  Scalar lr = k.scalar("lr", f32), step = k.scalar("step", i32);
  Global G = k.input("G", f32, {n}), P = k.inout("P", f32, {n}), M = k.inout("M", f32, {n}),
         V = k.inout("V", f32, {n});
  auto [block] = k.grid(ceilDiv(n, tile));
  auto place = [&](const Global &tensor) { return tensor.tile({block * tile}, {tile}); };
  Fragment g = k.fragment(f32, {tile}), p = k.fragment(f32, {tile}), m = k.fragment(f32, {tile}),
           v = k.fragment(f32, {tile});
  copy(place(G), g);
  copy(place(P), p);
  copy(place(M), m);
  copy(place(V), v);
  m = m * decay1 + g * (1 - decay1);
  v = v * decay2 + g * g * (1 - decay2);
  Fragment steps = k.fragment(f32, {tile}, step.to(f32));
  Fragment sum1 = 1 - exp(steps * std::log(decay1)), sum2 = 1 - exp(steps * std::log(decay2)); // of weights
  copy(p - m / sum1 * lr / (sqrt(v / sum2) + 1e-8), place(P));
  copy(m, place(M));
  copy(v, place(V));
}

/// P, M or V after the step, from all before it.
auto after(int which) {
  return [which](const HostInputs &in) {
    const HostArray G = in.tensor("G"), P = in.tensor("P"), M = in.tensor("M"), V = in.tensor("V");
    const double lr = in.values.number("lr"), step = double(in.values["step"]);
    return [=](int64_t i) {
      const double m = M(i) * 0.9 + G(i) * 0.1, v = V(i) * 0.999 + G(i) * G(i) * 0.001;
      if (which != 0)
        return which == 1 ? m : v;
      return P(i) - lr * m / (1 - std::pow(0.9, step)) / (std::sqrt(v / (1 - std::pow(0.999, step))) + 1e-8);
    };
  };
}

void registerKernels(KernelFile &file) {
  file.kernel("adam", "A step of Adam on P, with the gradients G and their averages M and V")
      .size("n", 100'000, {.onEmulator = 1000})
      .scalar("lr", f32, {.help = "learning rate"})
      .scalar("step", i32, 1, {.least = 1, .help = "which step it is"})
      .program(adam)
      .random("V", 0, 1)
      .reference("P", after(0))
      .reference("M", after(1))
      .reference("V", after(2));
}
// [file]
