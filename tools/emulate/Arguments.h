// SPDX-License-Identifier: Apache-2.0
/// \file
/// The memory of a launch and the bytes of its entry's parameters, made from a
/// `LaunchSpec`.
#pragma once

#include "runtime/emulator/exec/core/Program.h"
#include "runtime/emulator/report/NamedTensor.h"
#include "tools/emulate/Specification.h"

#include <memory>
#include <random>
#include <span>

namespace tlc::emulate {

/// An array in memory that kernels may touch.
struct Array {
  std::string name;
  Type type = Type::b8;
  std::vector<int64_t> shape;
  std::string writeTo;
  bool isOutput = false; ///< poisoned before the launch
  std::unique_ptr<std::byte, FreeDeleter> memory;
  size_t bytes = 0;

  uint64_t number = 0; ///< among the arrays

  uint64_t inMemory() const { return reinterpret_cast<uint64_t>(memory.get()); }
  /// As kernels get it.
  uint64_t address() const { return emulator::tensorAddress(number, inMemory()); }
  size_t count() const { return bytes / emulator::sizeInBytes(type); }
  /// Element `i` as a person reads it.
  std::string elementText(size_t i) const;
};

class Arguments {
public:
  /// Reads files, draws random elements; `seed` is for the arrays that have none of their own.
  static Result<Arguments> create(const LaunchSpec &launch, uint64_t seed);

  /// What the entry gets. An error names the argument or parameter that does not fit the other.
  Result<std::vector<std::byte>> parametersOf(const emulator::Kernel &kernel) const;

  const std::vector<Array> &arrays() const { return all; }
  std::vector<emulator::MemoryRange> ranges() const;
  std::vector<emulator::MulticastRange> multicastRanges() const;
  /// The same by their names.
  std::vector<emulator::NamedTensor> tensors() const;
  /// Writes the arrays that are to be written to files.
  Result<void> save() const;

private:
  struct Value {
    std::vector<std::byte> bytes;
    size_t alignment = 1;
  };
  Result<Value> valueOf(const ValueSpec &spec) const;
  Result<Value> pointer(const PointerSpec &spec, std::string_view text) const;
  Result<Value> multicast(const MulticastSpec &spec, std::string_view text) const;
  Result<Value> tensorMap(const TensorMapSpec &spec, std::string_view text) const;
  const Array &find(std::string_view name) const;

  std::vector<ValueSpec> specs;
  std::vector<Array> all;
};

/// Where two launches with the same arrays left something else, in words; nothing where all is the same.
std::optional<std::string> findDifference(const Arguments &first, const Arguments &second);

/// "(x: .u64, n: .u32)"
std::string parameterText(const emulator::Function &function);

} // namespace tlc::emulate
