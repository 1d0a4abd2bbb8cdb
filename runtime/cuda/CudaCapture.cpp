// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/CudaCapture.h"

#include "runtime/cuda/CudaLaunch.h"
#include "runtime/cuda/CudaStreams.h"
#include "runtime/device/StreamChecks.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;

namespace {

class CudaGraph final : public Graph {
public:
  CudaGraph(std::shared_ptr<const CudaContext> context, CUgraph captured, CudaCapture &&of)
      : cuda(std::move(context)), captured(captured), launches(std::move(of.launches)),
        noted(std::move(of.noted)), reporting(std::move(of.reporting)) {}
  ~CudaGraph() override {
    CurrentContext scope(*cuda);
    if (executable)
      cuda->driver.cuGraphExecDestroy(executable); // the driver frees it when its launches have ended
    cuda->driver.cuGraphDestroy(captured);
  }

  Result<void> create() {
    CurrentContext scope(*cuda);
    if (CUresult status = cuda->driver.cuGraphInstantiateWithFlags(&executable, captured, 0);
        status != CUDA_SUCCESS)
      return cuda->error(status, "cannot make a graph of what was captured", ErrorKind::execution);
    return {};
  }

  Result<void> launch(Stream stream) override {
    CurrentContext scope(*cuda);
    Result<bool> isCaptured = cuda->isCaptured(asStream(stream));
    if (!isCaptured)
      return isCaptured.error();
    if (*isCaptured)
      return errorOfCapturedStream("launch a graph on");
    for (CapturedLaunch &one : launches)
      if (Result<void> moved = one.launch->moveIn(executable, one); !moved)
        return moved;
    std::vector<std::unique_lock<std::mutex>> locks; // reports are not read meanwhile
    for (ReportingPrograms *programs : reporting)
      locks.push_back(programs->lock());
    if (CUresult status = cuda->driver.cuGraphLaunch(executable, asStream(stream)); status != CUDA_SUCCESS)
      return cuda->error(status, "cannot launch a graph", ErrorKind::execution);
    for (NotedLaunch &one : noted) {
      one.record.stream = stream.handle;
      one.cuda->log.add(one.record);
    }
    return {};
  }

private:
  std::shared_ptr<const CudaContext> cuda;
  CUgraph captured; ///< has the nodes that are changed
  CUgraphExec executable = nullptr;
  std::vector<CapturedLaunch> launches;
  std::vector<NotedLaunch> noted;
  std::set<ReportingPrograms *> reporting;
};

} // namespace

CaptureRegistry &CaptureRegistry::ofProcess() {
  static CaptureRegistry registry;
  return registry;
}

void CaptureRegistry::add(CudaCapture &capture) {
  const std::lock_guard lock(mutex);
  underWay.push_back(&capture);
  ++count;
}

void CaptureRegistry::remove(CudaCapture &capture) {
  const std::lock_guard lock(mutex);
  --count;
  std::erase(underWay, &capture);
}

CudaCapture *CaptureRegistry::find(cuuint64_t id) {
  const std::lock_guard lock(mutex);
  const auto found = std::ranges::find(underWay, id, &CudaCapture::id);
  return found == underWay.end() ? nullptr : *found;
}

bool CaptureRegistry::isOfThisThread() {
  if (isEmpty())
    return false;
  const std::lock_guard lock(mutex);
  return std::ranges::find(underWay, std::this_thread::get_id(), &CudaCapture::thread) != underWay.end();
}

Result<CudaCaptures::Place> CudaCaptures::placeOf(CUstream stream) const {
  CurrentContext scope(*cuda);
  Place place;
  CUgraph graph = nullptr;
  const CUgraphNode *nodes = nullptr;
  size_t nodeCount = 0;
  if (CUresult status =
          cuda->driver.cuStreamGetCaptureInfo(stream, &place.status, &place.id, &graph, &nodes, &nodeCount);
      status != CUDA_SUCCESS)
    return cuda->error(status, "cannot query the capture of a stream", ErrorKind::execution);
  if (place.status == CU_STREAM_CAPTURE_STATUS_ACTIVE && nodeCount == 1)
    place.last = nodes[0];
  return place;
}

Result<CudaCapture *> CudaCaptures::find(CUstream stream) const {
  CaptureRegistry &registry = CaptureRegistry::ofProcess();
  if (registry.isEmpty())
    return nullptr;
  const Result<Place> place = placeOf(stream);
  if (!place)
    return place.error();
  return place->status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? registry.find(place->id) : nullptr;
}

Result<CUgraphNode> CudaCaptures::lastNode(CUstream stream) const {
  Result<Place> place = placeOf(stream);
  if (!place)
    return place.error();
  if (!place->last)
    return Error{ErrorKind::execution, "the driver reports no single graph node for a launch"};
  return place->last;
}

/// A capture that ends with the object, also where the caller's code throws.
class CudaCaptures::UnderWay {
public:
  UnderWay(CudaCaptures &captures, CUstream stream) : captures(captures), stream(stream) {}
  UnderWay(const UnderWay &) = delete;
  ~UnderWay() {
    if (!isBegun)
      return;
    CUgraph captured = nullptr;
    end(captured);
    if (captured)
      captures.cuda->driver.cuGraphDestroy(captured);
  }

  Result<void> begin() {
    // Other threads may load and allocate meanwhile.
    if (CUresult status =
            captures.cuda->driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        status != CUDA_SUCCESS)
      return captures.cuda->error(status, "cannot capture a stream", ErrorKind::execution);
    isBegun = true;
    const Result<Place> place = captures.placeOf(stream);
    if (!place)
      return place.error();
    capture.id = place->id;
    CaptureRegistry::ofProcess().add(capture);
    isKnown = true;
    return {};
  }

  CUresult end(CUgraph &captured) {
    isBegun = false;
    if (isKnown)
      CaptureRegistry::ofProcess().remove(capture);
    return captures.cuda->driver.cuStreamEndCapture(stream, &captured);
  }

  CudaCapture capture;

private:
  CudaCaptures &captures;
  CUstream stream;
  bool isBegun = false, isKnown = false;
};

Result<std::unique_ptr<Graph>> CudaCaptures::capture(CUstream stream,
                                                     const std::function<Result<void>()> &enqueue) {
  CurrentContext scope(*cuda);
  if (CaptureRegistry::ofProcess().isOfThisThread())
    return errorOfSecondCapture();
  if (!stream)
    return errorOfDefaultStream();
  UnderWay underWay(*this, stream);
  if (Result<void> begun = underWay.begin(); !begun)
    return begun.error();
  if (Result<void> enqueued = enqueue(); !enqueued)
    return enqueued.error();
  CUgraph captured = nullptr;
  if (CUresult status = underWay.end(captured); status != CUDA_SUCCESS) {
    if (captured)
      cuda->driver.cuGraphDestroy(captured);
    return cuda->error(status, "cannot capture a stream", ErrorKind::execution);
  }
  CudaCapture &ended = underWay.capture;
  // At each place the launch has the addresses of its `enqueue` until a tensor moves again.
  for (CapturedLaunch &one : ended.launches)
    one.moves = one.launch->moveCount();
  return instantiate(captured, std::move(ended));
}

Result<std::unique_ptr<Graph>> CudaCaptures::instantiate(CUgraph captured, CudaCapture &&of) const {
  auto graph = std::make_unique<CudaGraph>(cuda, captured, std::move(of));
  if (Result<void> created = graph->create(); !created)
    return created.error();
  return std::unique_ptr<Graph>(std::move(graph));
}
