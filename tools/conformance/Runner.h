// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs a program on a device.
#pragma once

#include "runtime/device/Device.h"
#include "tools/conformance/Program.h"

#include <array>
#include <optional>

namespace tlc::conformance {

using TensorMapBytes = std::array<std::byte, emulator::EmulatedTensorMap::encodedBytes>;

/// Puts a tensor map into the form that the device reads.
using EncodeTensorMap = Result<TensorMapBytes> (*)(const emulator::EmulatedTensorMap &map);
Result<TensorMapBytes> encodeForEmulator(const emulator::EmulatedTensorMap &map);
/// By the driver's cuTensorMapEncodeTiled.
Result<TensorMapBytes> encodeForCuda(const emulator::EmulatedTensorMap &map);

struct Machine {
  std::unique_ptr<Device> device;
  EncodeTensorMap encode = encodeForEmulator;
};
/// In the usual order, or another one for each seed.
Machine emulatorMachine(std::optional<uint64_t> scheduleSeed = {});
Result<Machine> cudaMachine(int ordinal);

/// The output after the program has run.
Result<std::vector<std::byte>> runProgram(Machine &machine, const Program &program);

} // namespace tlc::conformance
