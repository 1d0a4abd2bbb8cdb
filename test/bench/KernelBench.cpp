// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the compiler makes of the library's kernels, on the emulator with one
/// host thread: thread-instructions and useful floating-point operations per
/// second, without and with the race checker; and with more host threads.
#include "kernels/harness/KernelRun.h"
#include "runtime/emulator/EmulatorDevice.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <thread>

namespace tlc::kernels {

namespace {

/// One launch per iteration. `operations` are the kernel's, of one launch; 0: not counted.
void run(benchmark::State &state, std::string_view kernel, const Definitions &definitions, double operations,
         RaceCheck raceCheck, unsigned hostThreads = 1) {
  Result<Request> request = Request::parse(kernel, definitions);
  if (!request)
    return state.SkipWithError(request.error().message.c_str());
  Library library(CacheOptions::inMemory());
  CompileLog log;
  Result<std::shared_ptr<const Artifact>> artifact = library.compile(*request, {}, log);
  if (!artifact)
    return state.SkipWithError(artifact.error().message.c_str());
  const std::unique_ptr<Device> device =
      createEmulatorDevice({.hostThreads = hostThreads, .raceCheck = raceCheck});
  Result<KernelRun> kernelRun = KernelRun::create(*device, *request, *artifact, {});
  if (!kernelRun)
    return state.SkipWithError(kernelRun.error().message.c_str());
  for (auto _ : state)
    if (Result<void> done = kernelRun->execute(); !done)
      return state.SkipWithError(done.error().message.c_str());
  state.counters["thread_instructions"] = benchmark::Counter(
      double(emulatorStatisticsOf(*device)->threadInstructions), benchmark::Counter::kIsRate);
  if (operations != 0)
    state.counters["flops"] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

void gemm(benchmark::State &state, RaceCheck raceCheck) {
  run(state, "gemm", {{"m", "512"}, {"n", "512"}, {"k", "1024"}}, 2.0 * 512 * 512 * 1024, raceCheck);
}
void softmax(benchmark::State &state, RaceCheck raceCheck) {
  run(state, "softmax", {{"rows", "256"}, {"columns", "4096"}}, 0, raceCheck);
}
void attention(benchmark::State &state, RaceCheck raceCheck) {
  run(state, "attention_fwd",
      {{"b", "1"}, {"sq", "512"}, {"sk", "512"}, {"h", "2"}, {"hkv", "2"}, {"d", "128"}},
      4.0 * 2 * 512 * 512 * 128, raceCheck);
}

/// Per second of the clock; the time that all threads together take of the CPU beside it.
void attentionOnThreads(benchmark::State &state) {
  run(state, "attention_fwd",
      {{"b", "2"}, {"sq", "1024"}, {"sk", "1024"}, {"h", "4"}, {"hkv", "4"}, {"d", "128"}},
      4.0 * 2 * 4 * 1024 * 1024 * 128, RaceCheck::off, unsigned(state.range(0)));
}

BENCHMARK_CAPTURE(gemm, unchecked, RaceCheck::off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gemm, checked, RaceCheck::on)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(softmax, unchecked, RaceCheck::off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(softmax, checked, RaceCheck::on)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(attention, unchecked, RaceCheck::off)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(attention, checked, RaceCheck::on)->Unit(benchmark::kMillisecond);
BENCHMARK(attentionOnThreads)
    ->RangeMultiplier(2)
    ->Range(1, std::max(1u, std::thread::hardware_concurrency()))
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

} // namespace

} // namespace tlc::kernels
