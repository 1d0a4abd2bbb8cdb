// SPDX-License-Identifier: Apache-2.0
/// \file
/// Transfers between launches, by copy engines.
#pragma once

#include "runtime/cuda/CudaContext.h"
#include "runtime/device/LaunchPlan.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace tlc {

/// A stream for transfers beside each stream that programs with transfers are launched on. A common one would
/// make launches on two streams wait for each other, and could not be captured with one of them.
class TransferStreams {
public:
  explicit TransferStreams(std::shared_ptr<const CudaContext> context) : cuda(std::move(context)) {}
  TransferStreams(const TransferStreams &) = delete;
  ~TransferStreams();

  /// The one beside the stream.
  Result<CUstream> beside(CUstream stream);
  const CudaContext &context() const { return *cuda; }

private:
  std::shared_ptr<const CudaContext> cuda;
  std::mutex mutex;
  std::map<CUstream, CUstream> streams;
};

/// Enqueues transfers and launches in their order. `launch` enqueues number `number` of the plan's launches
/// on the stream; `isNext`: directly after the launch before it. Where the stream is captured, transfers end
/// before the launches that come later. The context is current.
Result<void> enqueueWithTransfers(TransferStreams &streams, const LaunchPlan &plan, CUstream stream,
                                  const std::function<Result<void>(size_t number, bool isNext)> &launch);

} // namespace tlc
