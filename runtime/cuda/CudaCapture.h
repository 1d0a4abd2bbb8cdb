// SPDX-License-Identifier: Apache-2.0
/// \file
/// Captures of streams of a GPU, and the graphs that they make.
#pragma once

#include "runtime/cuda/CudaContext.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace tlc {

class CudaLaunch;
class ReportingPrograms;

/// What one `enqueue` of a prepared launch has become in a graph.
struct CapturedLaunch {
  std::shared_ptr<const CudaLaunch> launch;
  size_t variant = 0;
  uint64_t moves = 0; ///< of the launch, of which the graph knows
  std::vector<CUgraphNode> fills = {}, kernels = {};
};

/// One that a graph notes in the log of its device whenever it makes it.
struct NotedLaunch {
  std::shared_ptr<const CudaContext> cuda;
  LaunchRecord record;
};

/// A capture under way, of one thread.
struct CudaCapture {
  cuuint64_t id = 0;
  std::thread::id thread = std::this_thread::get_id();
  std::vector<CapturedLaunch> launches = {};
  std::vector<NotedLaunch> noted = {};          ///< all launches
  std::set<ReportingPrograms *> reporting = {}; ///< of devices whose programs report in it
};

/// The captures under way, whichever `Device` began them: those of one GPU share its context, and the driver
/// forbids a thread that captures calls of all of them. So there is one for the process. Safe to use from
/// several threads.
class CaptureRegistry {
public:
  static CaptureRegistry &ofProcess();

  void add(CudaCapture &capture);
  void remove(CudaCapture &capture);
  /// The one of this id, by which the driver knows it, or null.
  CudaCapture *find(cuuint64_t id);
  bool isOfThisThread();
  /// Costs next to nothing.
  bool isEmpty() const { return count.load(std::memory_order_acquire) == 0; }

private:
  std::atomic<int> count = 0;
  std::mutex mutex;
  std::vector<CudaCapture *> underWay;
};

/// Captures by `Device::capture` of one device. Safe to use from several threads.
class CudaCaptures {
public:
  explicit CudaCaptures(std::shared_ptr<const CudaContext> context) : cuda(std::move(context)) {}

  /// `Device::capture`.
  Result<std::unique_ptr<Graph>> capture(CUstream stream, const std::function<Result<void>()> &enqueue);

  /// The one that the stream belongs to, or null. Costs next to nothing where there is none.
  Result<CudaCapture *> find(CUstream stream) const;
  /// The node that was captured last on the stream.
  Result<CUgraphNode> lastNode(CUstream stream) const;

private:
  class UnderWay;
  struct Place {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    CUgraphNode last = nullptr; ///< null where several or none come before what is captured next
  };
  Result<Place> placeOf(CUstream stream) const;
  Result<std::unique_ptr<Graph>> instantiate(CUgraph captured, CudaCapture &&of) const;

  std::shared_ptr<const CudaContext> cuda;
};

} // namespace tlc
