// SPDX-License-Identifier: Apache-2.0
/// \file
/// A call of a kernel of the library, on the emulator.
#include <bit>
#include <cstdio>
#include <tlc/kernels/library/Attention.h>
#include <tlc/kernels/library/Backward.h>
#include <tlc/kernels/library/Decode.h>
#include <tlc/kernels/library/Gemm.h>
#include <tlc/kernels/library/Softmax.h>
#include <tlc/runtime/emulator/EmulatorDevice.h>
#include <vector>

using namespace tlc;

// [multiply]
/// C = A Bᵀ. The first call compiles a program for these types and layouts; later calls launch it.
Result<void> multiply(kernels::Programs &programs, const gemm::GemmTensors &tensors) {
  Result<size_t> size = gemm::workspaceSize(programs, tensors);
  Result<void *> workspace = size ? programs.device().allocate(*size) : size.error();
  Result<void> done =
      workspace ? gemm::multiply(programs, {}, tensors, {*workspace, *size}) : workspace.error();
  if (done)
    done = programs.device().synchronize({});
  Result<void> freed = workspace ? programs.device().free(*workspace) : Result<void>();
  return done ? freed : done;
}
// [multiply]

int main() {
  constexpr int64_t m = 20, n = 24, depth = 40;
  std::vector<uint16_t> a(m * depth), b(n * depth); // bf16
  std::vector<float> c(m * n, -1);
  const auto valueOf = [](int64_t i) { return float(i % 5 - 2); };
  const auto bitsOf = [&](int64_t i) { return uint16_t(std::bit_cast<uint32_t>(valueOf(i)) >> 16); };
  for (int64_t i = 0; i < m * depth; ++i)
    a[size_t(i)] = bitsOf(i);
  for (int64_t i = 0; i < n * depth; ++i)
    b[size_t(i)] = bitsOf(3 * i + 1);

  std::unique_ptr<Device> device = createEmulatorDevice();
  kernels::ArtifactCache artifacts;
  kernels::Programs programs(*device, artifacts);
  const auto run = [&]() -> Result<void> {
    void *memory[3];
    const size_t bytes[] = {a.size() * 2, b.size() * 2, c.size() * 4};
    for (int i = 0; i < 3; ++i) {
      Result<void *> allocated = device->allocate(bytes[i]);
      if (!allocated)
        return allocated.error();
      memory[i] = *allocated;
    }
    if (Result<void> copied = device->copyToDevice(memory[0], a.data(), bytes[0]); !copied)
      return copied;
    if (Result<void> copied = device->copyToDevice(memory[1], b.data(), bytes[1]); !copied)
      return copied;
    const gemm::GemmTensors tensors = {.a = {memory[0], ElementType::bf16, {m, depth}, {depth, 1}},
                                       .b = {memory[1], ElementType::bf16, {n, depth}, {depth, 1}},
                                       .c = {memory[2], ElementType::f32, {m, n}, {n, 1}}};
    if (Result<void> done = multiply(programs, tensors); !done)
      return done;
    return device->copyToHost(c.data(), memory[2], bytes[2]);
  };
  if (Result<void> done = run(); !done) {
    std::printf("%s\n", done.error().message.c_str());
    return 1;
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t s = 0; s < depth; ++s)
        sum += valueOf(i * depth + s) * valueOf(3 * (j * depth + s) + 1);
      if (c[size_t(i * n + j)] != sum) {
        std::printf("c[%d, %d] = %f, not %f\n", int(i), int(j), double(c[size_t(i * n + j)]), double(sum));
        return 1;
      }
    }
  std::printf("right\n");
  return 0;
}
