// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tensors of a call, and what they have to be.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/device/Device.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::kernels {

/// In the order of the program's arguments.
class Schema {
public:
  explicit Schema(std::string_view call) { artifact.name = call; }

  /// The name of the extent 1.
  static constexpr std::string_view unit = "1";

  /// An extent is the name of a dimension, or `unit`; those of one name are equal.
  void add(std::string_view name, ElementType element, Access access,
           const std::vector<std::string_view> &extents, const TensorView &view);

  /// Element types, ranks, and extents that agree; strides.
  Result<void> check();
  /// Addresses.
  Result<void> checkMemory() const;
  /// After `checkMemory`: that outputs overlap no other tensor.
  Result<void> checkApart() const;

  /// After `check`.
  int64_t extent(std::string_view name) const { return extents[size_t(find(name))]; }
  /// The first of these arguments whose address or outer strides are not multiples of so many bytes, in
  /// words; empty if there is none. Arguments that the call lacks are aligned.
  std::string unaligned(std::initializer_list<std::string_view> arguments, int64_t bytes) const;

  const std::vector<TensorView> &views() const { return tensors; }
  const std::string &call() const { return artifact.name; }

private:
  int64_t find(std::string_view name) const;
  /// "q[b, sq, h, d] of bf16, ..."
  std::string text() const;

  Artifact artifact; ///< the schema alone
  std::vector<TensorView> tensors;
  std::vector<int64_t> extents;
};

} // namespace tlc::kernels
