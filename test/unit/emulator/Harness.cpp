// SPDX-License-Identifier: Apache-2.0
#include "test/unit/emulator/Harness.h"

#include "runtime/emulator/check/ObserveRaces.h"
#include "runtime/emulator/check/WrittenBytes.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <fmt/format.h>

namespace tlc::emulator::test {

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t bits(double value) { return std::bit_cast<uint64_t>(value); }
Value f32(float value) { return {32, bits(value)}; }
Value f64(double value) { return {64, bits(value)}; }

std::string moduleText(const KernelText &kernel) {
  return fmt::format(R"(.version 8.8
.target {}
.address_size 64
{}
.visible .entry k(.param .u64 out, .param .u64 in) {}
{{
  .reg .b32 %r<100>; .reg .b64 %d<50>; .reg .b16 %h<30>; .reg .pred %p<20>;
  .reg .b64 %out, %in, %mine; .reg .b32 %t;
  ld.param.u64 %out, [out];
  ld.param.u64 %in, [in];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %mine, %t, 4, %out;
{}
  ret;
}}
)",
                     kernel.target, kernel.header, kernel.directives, kernel.body);
}

Outcome run(const KernelText &kernel) {
  std::vector<uint32_t> out(kernel.outWords, 0xDDDDDDDD), in = kernel.in;
  in.resize(std::max<size_t>(in.size(), 1));
  auto program = loadProgram(moduleText(kernel));
  if (!program)
    return {program.error(), std::move(out), {}};
  std::vector<MemoryRange> ranges = (*program)->ranges;
  // Vectors of words are aligned to 16 bytes, which vector accesses rely on.
  const auto written = WrittenBytes::create(out.size() * 4);
  written->mark(0, std::min(kernel.writtenWords, out.size()) * 4);
  ranges.push_back({reinterpret_cast<uint64_t>(out.data()), out.size() * 4, 0, true, written.get()});
  ranges.push_back({reinterpret_cast<uint64_t>(in.data()), in.size() * 4});
  const MemoryMap memory(std::move(ranges));
  const std::array<uint64_t, 2> parameters = {reinterpret_cast<uint64_t>(out.data()),
                                              reinterpret_cast<uint64_t>(in.data())};
  LaunchConfiguration launch;
  launch.entry = "k";
  launch.grid = {kernel.blocks, 1, 1};
  launch.block = {kernel.threads, 1, 1};
  launch.cluster = {kernel.cluster, 1, 1};
  launch.dynamicSharedBytes = kernel.sharedBytes;
  launch.ordered = kernel.ordered;
  launch.cooperative = kernel.cooperative;
  launch.parameters = std::as_bytes(std::span(parameters));
  launch.names = &kernel.names;
  std::vector<NamedTensor> tensors;
  if (!kernel.outName.empty())
    tensors.push_back({kernel.outName, parameters[0], 4, {int64_t(out.size())}, {1}});
  launch.tensors = tensors;
  Machine machine;
  machine.target = findTarget(kernel.target);
  machine.multiprocessors = kernel.multiprocessors;
  machine.maximumSteps = kernel.maximumSteps;
  machine.makeObserver = observeRaces(kernel.raceCheck);
  machine.failsBy = failsBy(kernel.raceCheck);
  machine.makeSchedule = kernel.makeSchedule;
  machine.scheduleSeed = kernel.scheduleSeed;
  if (kernel.printed)
    machine.print = [&](std::string_view text) { *kernel.printed += text; };
  Findings findings;
  machine.findings = &findings;
  Result<void> status;
  if (auto done = runGrid(**program, launch, memory, machine); !done)
    status = done.error();
  return {std::move(status), std::move(out), std::move(findings)};
}

std::vector<uint32_t> output(const KernelText &kernel) {
  Outcome outcome = run(kernel);
  INFO((outcome.status ? std::string() : outcome.status.error().message));
  CHECK(outcome.status);
  return outcome.out;
}

std::string failure(const KernelText &kernel) {
  const Outcome outcome = run(kernel);
  return outcome.status ? std::string() : outcome.status.error().message;
}

std::string check(KernelText kernel) {
  kernel.raceCheck = RaceCheck::strict;
  kernel.in.resize(std::max<size_t>(kernel.in.size(), 1024));
  return failure(kernel);
}

uint64_t compute(std::string_view text, unsigned resultBits, std::initializer_list<Value> sources,
                 std::string target) {
  KernelText kernel;
  kernel.target = std::move(target);
  kernel.threads = 1;
  kernel.outWords = 4;
  kernel.body = fmt::format("  .reg .{} %d;\n", resultBits == 1 ? "pred" : fmt::format("b{}", resultBits));
  constexpr std::string_view names[] = {"%a", "%b", "%c", "%e"};
  size_t i = 0;
  for (const Value &source : sources) {
    kernel.body +=
        fmt::format("  .reg .b{0} {1};\n  ld.global.b{0} {1}, [%in+{2}];\n", source.bits, names[i], i * 8);
    kernel.in.push_back(uint32_t(source.value));
    kernel.in.push_back(uint32_t(source.value >> 32));
    ++i;
  }
  kernel.body += fmt::format("  {}\n", text);
  if (resultBits == 1)
    kernel.body += "  selp.b32 %r0, 1, 0, %d;\n  st.global.b32 [%out], %r0;\n";
  else
    kernel.body += fmt::format("  st.global.b{} [%out], %d;\n", resultBits);
  const std::vector<uint32_t> out = output(kernel);
  const uint64_t value = uint64_t(out[1]) << 32 | out[0];
  return resultBits >= 64 ? value : resultBits == 1 ? out[0] : value & ((uint64_t(1) << resultBits) - 1);
}

} // namespace tlc::emulator::test
