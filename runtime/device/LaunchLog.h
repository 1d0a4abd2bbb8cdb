// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which launches may have failed: the host learns of an error when it synchronises, long after the call.
#pragma once

#include "runtime/device/LaunchPlan.h"

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tlc {

/// What errors call a program, also when it has been unloaded.
struct LaunchLabel {
  explicit LaunchLabel(const Artifact &artifact);
  std::string program;
  std::vector<std::string> dimensions; ///< their names
};

struct LaunchRecord {
  static constexpr size_t most = 8;

  LaunchRecord() = default;
  LaunchRecord(std::shared_ptr<const LaunchLabel> label, const LaunchPlan &plan, Stream stream);
  /// "'gemm' with m = 200, n = 64 on stream 0x1234".
  std::string text() const;
  bool operator==(const LaunchRecord &) const = default;

  std::shared_ptr<const LaunchLabel> label;
  std::array<int64_t, most> dimensions = {}; ///< the first ones
  void *stream = nullptr;
};

/// The last launches of a device since their streams were synchronised. Safe to use from several threads.
class LaunchLog {
public:
  static constexpr size_t capacity = 64;

  /// Allocates nothing.
  void add(LaunchRecord record);
  /// The stream has been synchronised.
  void endStream(Stream stream);
  /// All streams have been.
  void clear();
  /// Adds to the error of a synchronisation which launches it may be of.
  Error attribute(Error error) const;

private:
  mutable std::mutex mutex;
  std::array<LaunchRecord, capacity> records; ///< a ring; those that have ended have no label
  size_t next = 0;
  size_t overwritten = 0; ///< by later ones
};

} // namespace tlc
