// SPDX-License-Identifier: Apache-2.0
/// \file
/// Makes the device that the command line asks for.
#include "tools/tlc/DeviceChoice.h"

#include "runtime/cuda/CudaDevice.h"
#include "runtime/emulator/EmulatorDevice.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

DeviceFlags::DeviceFlags(cl::SubCommand &command)
    : device("device", cl::sub(command), cl::value_desc("auto|emulator|cuda"), cl::init("auto"),
             cl::desc("Where to run; auto: on the GPU if there is one")),
      ordinal("gpu", cl::sub(command), cl::value_desc("ordinal"), cl::init(0), cl::desc("Which GPU")),
      multiprocessors("multiprocessors", cl::sub(command), cl::value_desc("count"),
                      cl::init(EmulatorOptions().multiprocessors),
                      cl::desc("Multiprocessors that the emulator stands for")),
      raceCheck("race-check", cl::sub(command), cl::value_desc("on|off"), cl::init("on"),
                cl::desc("Whether the emulator reports races in shared memory")) {}

Result<ChosenDevice> DeviceFlags::create(const Target *emulated, Findings &findings) const {
  if (device != "auto" && device != "emulator" && device != "cuda")
    return tlc::Error{ErrorKind::invalidArgument,
                      "expected --device to be one of auto, emulator, cuda, but got '" + device + "'"};
  if (raceCheck != "on" && raceCheck != "off")
    return tlc::Error{ErrorKind::invalidArgument,
                      "expected --race-check to be one of on, off, but got '" + raceCheck + "'"};
  if (multiprocessors < 1 || multiprocessors > 1024)
    return tlc::Error{ErrorKind::invalidArgument, "expected --multiprocessors from 1 to 1024, but got " +
                                                      std::to_string(multiprocessors)};
  if (device != "emulator") {
    Result<std::unique_ptr<Device>> gpu = createCudaDevice(ordinal);
    if (gpu)
      return ChosenDevice{DeviceKind::cuda, std::move(*gpu)};
    if (device == "cuda")
      return gpu.error();
  }
  EmulatorOptions options;
  options.target = emulated;
  options.multiprocessors = multiprocessors;
  options.raceCheck = raceCheck == "on" ? RaceCheck::on : RaceCheck::off;
  options.onFindings = [&findings](const Findings &found) { findings.add(found); };
  return ChosenDevice{DeviceKind::emulator, createEmulatorDevice(std::move(options))};
}
