// SPDX-License-Identifier: Apache-2.0
/// \file
/// The constants of a kernel, each once, laid out as registers are.
#pragma once

#include "runtime/emulator/exec/core/Program.h"

#include <utility>

namespace tlc::emulator {

class ConstantPool {
public:
  explicit ConstantPool(Kernel &kernel) : kernel(kernel) {}

  /// `bytes` 0: a predicate.
  Slot value(uint64_t bits, unsigned bytes);
  /// The address of a shared variable as a value.
  Slot sharedAddress(uint64_t address, unsigned bytes);

private:
  Slot append(uint64_t bits, unsigned bytes);

  Kernel &kernel;
  std::map<std::pair<uint64_t, unsigned>, Slot> values, sharedAddresses;
};

} // namespace tlc::emulator
