// SPDX-License-Identifier: Apache-2.0
/// \file
/// Makes the device that the command line asks for.
#include "tools/tlc/DeviceChoice.h"

#include "runtime/cuda/CudaDevice.h"
#include "runtime/support/Excerpt.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

/// Less than of a device: who tries out a kernel waits for the answer.
constexpr uint64_t defaultMaximumSteps = 10'000'000;

EmulatorFlags::EmulatorFlags(cl::SubCommand &command)
    : multiprocessors("multiprocessors", cl::sub(command), cl::value_desc("count"),
                      cl::init(EmulatorOptions().multiprocessors),
                      cl::desc("Multiprocessors that the emulator stands for")),
      raceCheck("race-check", cl::sub(command), cl::value_desc("on|off"), cl::init("on"),
                cl::desc("Whether the emulator reports races in memory")),
      strict("strict", cl::sub(command), cl::desc("Fail also by warnings of the emulator's race checker")),
      maximumSteps("max-steps", cl::sub(command), cl::value_desc("count"), cl::init(defaultMaximumSteps),
                   cl::desc("Instructions of one warp before the emulator takes its loop for endless; of all "
                            "warps of a launch 64 times that")) {}

Result<EmulatorOptions> EmulatorFlags::options() const {
  const auto invalid = [](std::string message) {
    return tlc::Error{ErrorKind::invalidArgument, std::move(message)};
  };
  if (raceCheck != "on" && raceCheck != "off")
    return invalid("expected --race-check to be one of on, off, but got '" + excerpt(raceCheck) + "'");
  if (strict && raceCheck == "off")
    return invalid("expected --race-check=on because of --strict, but got off");
  if (multiprocessors < 1 || multiprocessors > 1024)
    return invalid("expected --multiprocessors from 1 to 1024, but got " + std::to_string(multiprocessors));
  if (maximumSteps == 0)
    return invalid("expected --max-steps of at least 1, but got 0");
  EmulatorOptions options;
  options.multiprocessors = multiprocessors;
  options.maximumSteps = maximumSteps;
  options.raceCheck = strict ? RaceCheck::strict : raceCheck == "on" ? RaceCheck::on : RaceCheck::off;
  return options;
}

ScheduleFlag::ScheduleFlag(cl::SubCommand &command)
    : schedule(
          "schedule", cl::sub(command), cl::value_desc("count|seed=number"),
          cl::desc("Run on the emulator in so many orders of warps and completions, or in one of them")) {}

/// "8": seeds 1 to 8; "seed=5": that one; empty: the usual order.
Result<std::vector<std::optional<uint64_t>>> ScheduleFlag::seeds() const {
  StringRef text = schedule.getValue();
  if (text.empty())
    return std::vector<std::optional<uint64_t>>{std::nullopt};
  constexpr uint64_t most = 100000;
  uint64_t number = 0;
  const bool single = text.consume_front("seed=");
  if (text.getAsInteger(10, number) || (!single && (number == 0 || number > most)))
    return tlc::Error{
        ErrorKind::invalidArgument,
        formatv("expected --schedule to be a count from 1 to {0}, or seed= and a number, but got '{1}'", most,
                schedule.getValue())
            .str()};
  if (single)
    return std::vector<std::optional<uint64_t>>{number};
  std::vector<std::optional<uint64_t>> seeds;
  for (uint64_t seed = 1; seed <= number; ++seed)
    seeds.push_back(seed);
  return seeds;
}

Result<std::vector<std::unique_ptr<Device>>> tlc::driver::openGpus(int first, int64_t ranks) {
  std::vector<std::unique_ptr<Device>> gpus;
  while (int64_t(gpus.size()) < ranks) {
    Result<std::unique_ptr<Device>> gpu = createCudaDevice(first + int(gpus.size()));
    if (!gpu)
      return gpu.error();
    gpus.push_back(std::move(*gpu));
  }
  return gpus;
}

DeviceFlags::DeviceFlags(cl::SubCommand &command)
    : device("device", cl::sub(command), cl::value_desc("auto|emulator|cuda"), cl::init("auto"),
             cl::desc("Where to run; auto: on the GPU if there is one")),
      ordinal("gpu", cl::sub(command), cl::value_desc("ordinal"), cl::init(0), cl::desc("Which GPU")),
      emulator(command), schedule(command) {}

Result<ChosenDevice> DeviceFlags::create(const Target *emulated, Findings &findings,
                                         std::optional<uint64_t> scheduleSeed, int64_t ranks) const {
  if (device != "auto" && device != "emulator" && device != "cuda")
    return tlc::Error{ErrorKind::invalidArgument,
                      "expected --device to be one of auto, emulator, cuda, but got '" + excerpt(device) +
                          "'"};
  Result<EmulatorOptions> options = emulator.options();
  if (!options)
    return options.error();
  if (device == "emulator" && ordinal.getNumOccurrences())
    return tlc::Error{ErrorKind::invalidArgument,
                      "expected no --gpu because of --device emulator, but got --gpu " +
                          std::to_string(ordinal)};
  if (device != "emulator") {
    Result<std::vector<std::unique_ptr<Device>>> gpus = openGpus(ordinal, ranks);
    if (gpus)
      return ChosenDevice{DeviceKind::cuda, std::move(*gpus)};
    if (device == "cuda" || ordinal.getNumOccurrences()) // who names a GPU means no emulator
      return gpus.error();
  }
  options->target = emulated;
  options->scheduleSeed = scheduleSeed;
  options->onFindings = [&findings](const Findings &found) { findings.add(found); };
  return ChosenDevice{DeviceKind::emulator, createEmulatorDevices(unsigned(ranks), std::move(*options))};
}
