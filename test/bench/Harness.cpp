// SPDX-License-Identifier: Apache-2.0
#include "test/bench/Harness.h"

#include "runtime/emulator/check/ObserveRaces.h"

#include <array>
#include <fmt/format.h>

namespace tlc::emulator::bench {

namespace {

std::string moduleText(const KernelText &text) {
  return fmt::format(R"(.version 8.8
.target {}
.address_size 64
{}
.visible .entry k(.param .u64 mem)
{{
  .reg .b32 %r<100>; .reg .f32 %f<50>; .reg .b64 %d<50>; .reg .pred %p<20>;
  .reg .b64 %mem; .reg .b32 %t;
  ld.param.u64 %mem, [mem];
  mov.u32 %t, %tid.x;
{}
  ret;
}}
)",
                     text.target, text.header, text.body);
}

} // namespace

BenchKernel::BenchKernel(KernelText kernel, RaceCheck raceCheck)
    : text(std::move(kernel)), memory(text.words, 1) {
  if (auto loaded = loadProgram(moduleText(text)))
    program = *loaded;
  else
    loadError = loaded.error().message;
  machine.target = findTarget(text.target);
  machine.makeObserver = observeRaces(raceCheck);
}

LaunchStatistics BenchKernel::launch(benchmark::State &state) const {
  if (!program) {
    state.SkipWithError(loadError.c_str());
    return {};
  }
  std::vector<MemoryRange> ranges = program->ranges;
  ranges.push_back({reinterpret_cast<uint64_t>(memory.data()), memory.size() * 4});
  const std::array<uint64_t, 1> parameters = {reinterpret_cast<uint64_t>(memory.data())};
  LaunchConfiguration launch;
  launch.entry = "k";
  launch.block = {text.threads, 1, 1};
  launch.dynamicSharedBytes = text.sharedBytes;
  launch.parameters = std::as_bytes(std::span(parameters));
  auto done = runGrid(*program, launch, MemoryMap(std::move(ranges)), machine);
  if (done)
    return *done;
  state.SkipWithError(done.error().message.c_str());
  return {};
}

void benchInstructions(benchmark::State &state, KernelText text, RaceCheck raceCheck) {
  const BenchKernel kernel(std::move(text), raceCheck);
  uint64_t executed = 0;
  for (auto _ : state)
    executed += kernel.launch(state).threadInstructions;
  state.counters["thread_instructions"] = benchmark::Counter(double(executed), benchmark::Counter::kIsRate);
}

} // namespace tlc::emulator::bench
