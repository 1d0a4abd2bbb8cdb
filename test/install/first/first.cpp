// SPDX-License-Identifier: Apache-2.0
/// \file
/// The first program of docs/first-project.md.
// [first]
#include <cstdio>
#include <tlc/jit.h>

int main() {
  using namespace tlc;
  using namespace tlc::dsl;
  Program program = Program::trace("add_scaled", [](Scope &k) {
    Index n = k.dim("n");
    Scalar factor = k.scalar("a", f32);
    Global X = k.input("X", f32, {n}), Y = k.inout("Y", f32, {n});
    auto [block] = k.grid(ceilDiv(n, 256));
    Fragment x = k.fragment(f32, {256}), y = k.fragment(f32, {256});
    copy(X.tile({block * 256}, {256}), x);
    copy(Y.tile({block * 256}, {256}), y);
    copy(factor * x + y, Y.tile({block * 256}, {256}));
  });
  std::vector<float> ones(1000, 1), sevens(1000, 7);
  std::unique_ptr<Device> device = createEmulatorDevice(); // orThrow(createCudaDevice(0)) for a GPU
  Kernel addScaled = orThrow(jit(std::move(program), *device));
  auto x = orThrow(Array<float>::of(*device, {1000}, sevens)),
       y = orThrow(Array<float>::of(*device, {1000}, ones));
  orThrow(addScaled({}, 3, x, y));
  std::printf("3 * 7 + 1 = %g\n", orThrow(y.toHost())[999]);
}
// [first]
