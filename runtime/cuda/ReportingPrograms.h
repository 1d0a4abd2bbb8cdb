// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which programs of a GPU may have reported something since their reports were read.
#pragma once

#include "runtime/cuda/CudaProgram.h"

#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace tlc {

/// Programs that print or check. Safe to use from several threads.
class ReportingPrograms {
public:
  explicit ReportingPrograms(std::shared_ptr<const CudaContext> context) : cuda(std::move(context)) {}

  /// Remembers that the program is launched on the stream, or captured, if it reports. Reports are not read
  /// while the result is held. The context is current.
  Result<std::unique_lock<std::mutex>> note(const CudaProgram &program, CUstream stream);
  /// Likewise for a graph that has some.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex); }
  /// What they have reported since the last call. Waits for all streams, which may run them.
  Result<void> take(Reports &reports);

private:
  std::shared_ptr<const CudaContext> cuda;
  std::mutex mutex;
  /// Since their reports were read, in the order of the first launches; kept until then.
  std::vector<std::shared_ptr<const CudaProgram>> launched;
  /// In graphs, which may run at any time.
  std::set<std::weak_ptr<const CudaProgram>, std::owner_less<>> captured;
};

} // namespace tlc
