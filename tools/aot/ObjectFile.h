// SPDX-License-Identifier: Apache-2.0
/// \file
/// ELF objects of `tlc build`: a kernel's image, its `tlc_aot_kernel`, and functions that pass that on to the
/// runtime. They need no compiler: each function is two or three instructions.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tlc::aot {

/// The machine that the program runs on.
enum class Machine : uint8_t { x86_64, aarch64 };
/// That of this process.
Machine hostMachine();

/// A function that jumps to `callee`, a function of the runtime, with the same arguments, and the kernel
/// after the first `arguments` of them, if the object has one.
struct Forwarder {
  std::string name;
  llvm::StringRef callee;
  unsigned arguments = 0; ///< at most 2
};

struct KernelData {
  std::string function;
  std::vector<std::byte> image;
};

/// `kernel` may be missing.
std::string writeObject(Machine machine, llvm::ArrayRef<Forwarder> functions,
                        const std::optional<KernelData> &kernel);

} // namespace tlc::aot
