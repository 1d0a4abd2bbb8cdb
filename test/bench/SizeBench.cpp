// SPDX-License-Identifier: Apache-2.0
/// \file
/// Host memory of a large block: 512 threads with 200 KB of shared memory,
/// all of it written, and 128 registers each.
#include "test/bench/Harness.h"

#include <fmt/format.h>
#include <fstream>

namespace tlc::emulator::bench {

namespace {

/// The kernel's line of /proc/self/status, in bytes; 0 where there is none.
double statusBytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name))
      return 1024.0 * std::strtod(line.c_str() + name.size() + 1, nullptr);
  return 0;
}

KernelText largeBlock() {
  std::string body = ".reg .b32 %live<128>;\n";
  for (unsigned i = 0; i < 128; ++i)
    body += fmt::format("  add.u32 %live{}, %t, {};\n", i, i);
  body += R"(
  mov.u32 %r1, dynamic; shl.b32 %r2, %t, 2; add.u32 %r1, %r1, %r2;
  mov.u32 %r0, 0;
$fill:
  st.shared.b32 [%r1], %t;
  add.u32 %r1, %r1, 2048;
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p0, %r0, 100;
  @%p0 bra $fill;
)";
  return {.body = std::move(body),
          .header = ".extern .shared .align 16 .b8 dynamic[];",
          .threads = 512,
          .sharedBytes = 200 * 1024};
}

void hostMemory(benchmark::State &state, RaceCheck raceCheck) {
  const BenchKernel kernel(largeBlock(), raceCheck);
  // Forgets the process's peak until now; where that is not allowed the figure is too large.
  std::ofstream("/proc/self/clear_refs") << "5";
  const double before = statusBytes("VmRSS:");
  for (auto _ : state)
    kernel.launch(state);
  const double peak = statusBytes("VmHWM:");
  state.counters["peak_bytes"] = peak;
  state.counters["launch_bytes"] = peak - before;
}

BENCHMARK_CAPTURE(hostMemory, threads512_shared200k, RaceCheck::off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(hostMemory, threads512_shared200k_checked, RaceCheck::on)->Unit(benchmark::kMillisecond);

} // namespace

} // namespace tlc::emulator::bench
