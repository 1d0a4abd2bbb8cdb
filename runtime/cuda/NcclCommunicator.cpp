// SPDX-License-Identifier: Apache-2.0
/// \file
/// A communicator that does not block, so that a rank that never comes is an error after a limit.
#include "runtime/cuda/NcclCommunicator.h"

#include "runtime/cuda/CudaContext.h"
#include "runtime/device/LaunchRanks.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <thread>

using namespace tlc;

namespace {

using Clock = std::chrono::steady_clock;

/// For the other ranks to end, too.
constexpr Communicator::Limit closeLimit = std::chrono::seconds(5);

class NcclCommunicator final : public Communicator {
public:
  NcclCommunicator(const Nccl &nccl, std::shared_ptr<const CudaContext> context, int64_t rank, int64_t ranks,
                   Limit limit)
      : nccl(nccl), name("NCCL " + nccl.version), cuda(std::move(context)), number(rank), count(ranks),
        limit(limit) {}
  ~NcclCommunicator() override {
    if (isAbandoned)
      return;
    CurrentContext scope(*cuda);
    close();
    if (stream)
      cuda->driver.cuStreamDestroy(stream);
    if (onHost)
      cuda->driver.cuMemFreeHost(onHost);
    if (onDevice)
      cuda->driver.cuMemFree(onDevice);
  }

  Result<void> create(const NcclUniqueId &id) {
    CurrentContext scope(*cuda);
    const size_t bytes = mostBytes * size_t(count);
    CUresult status = cuda->driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (status == CUDA_SUCCESS)
      status = cuda->driver.cuMemHostAlloc(&onHost, bytes, 0);
    if (status == CUDA_SUCCESS)
      status = cuda->driver.cuMemAlloc(&onDevice, bytes);
    if (status != CUDA_SUCCESS)
      return ofRank(size_t(number),
                    cuda->error(status, fmt::format("cannot make a stream and memory for exchanges on GPU {}",
                                                    cuda->ordinal)));
    NcclConfig config;
    config.blocking = 0;
    return finish("make a communicator",
                  nccl.ncclCommInitRankConfig(&comm, int(count), id, int(number), &config));
  }

  int ordinal() const override { return cuda->ordinal; }
  int64_t rank() const override { return number; }
  int64_t ranks() const override { return count; }
  const std::string &version() const override { return name; }

  Result<std::vector<std::byte>> exchange(std::span<const std::byte> own) override {
    assert(own.size() <= mostBytes);
    if (failure)
      return *failure;
    CurrentContext scope(*cuda);
    const std::string what = fmt::format("exchange {} bytes", own.size());
    const CUdeviceptr place = onDevice + size_t(number) * own.size(); // where NCCL would copy it to
    std::vector<std::byte> all(own.size() * size_t(count));
    std::memcpy(onHost, own.data(), own.size());
    if (CUresult status = cuda->driver.cuMemcpyHtoDAsync(place, onHost, own.size(), stream);
        status != CUDA_SUCCESS)
      return fail(what, cuda->driver.describe(status));
    if (Result<void> enqueued = finish(what, nccl.ncclAllGather(reinterpret_cast<void *>(place),
                                                                reinterpret_cast<void *>(onDevice),
                                                                own.size(), Nccl::int8, comm, stream));
        !enqueued)
      return enqueued.error();
    if (CUresult status = cuda->driver.cuMemcpyDtoHAsync(onHost, onDevice, all.size(), stream);
        status != CUDA_SUCCESS)
      return fail(what, cuda->driver.describe(status));
    if (Result<void> done = finish(what, Nccl::success, stream); !done)
      return done.error();
    std::memcpy(all.data(), onHost, all.size());
    return all;
  }

  Result<void> allGather(const void *send, void *receive, size_t bytes, Stream of) override {
    return enqueue(fmt::format("gather {} bytes of each rank", bytes), of,
                   [&] { return nccl.ncclAllGather(send, receive, bytes, Nccl::int8, comm, of.handle); });
  }
  Result<void> reduceScatter(const void *send, void *receive, size_t elements, ElementType element,
                             Stream of) override {
    Result<int> type = typeOf(element);
    if (!type)
      return type.error();
    return enqueue(
        fmt::format("sum and scatter {} elements of {} for each rank", elements, toString(element)), of,
        [&] { return nccl.ncclReduceScatter(send, receive, elements, *type, Nccl::sum, comm, of.handle); });
  }
  Result<void> allReduce(const void *send, void *receive, size_t elements, ElementType element,
                         Stream of) override {
    Result<int> type = typeOf(element);
    if (!type)
      return type.error();
    return enqueue(fmt::format("sum {} elements of {}", elements, toString(element)), of, [&] {
      return nccl.ncclAllReduce(send, receive, elements, *type, Nccl::sum, comm, of.handle);
    });
  }

  Result<void> synchronize(Stream of) override {
    if (failure)
      return *failure;
    CurrentContext scope(*cuda);
    if (Result<void> valid = checkRuns(of); !valid)
      return valid;
    return finish("end what is on the stream", Nccl::success, static_cast<CUstream>(of.handle));
  }

  void abandon() override { isAbandoned = true; }

private:
  Result<int> typeOf(ElementType element) const {
    if (const std::optional<int> type = Nccl::typeOf(element))
      return *type;
    return Error{.message = fmt::format("rank {}: expected elements that NCCL sums, f16, bf16, f32, f64 or "
                                        "integers of 8, 32 or 64 bits, but got {}",
                                        number, toString(element))};
  }

  template <class Function> Result<void> enqueue(std::string_view what, Stream of, const Function &function) {
    if (failure)
      return *failure;
    CurrentContext scope(*cuda);
    if (Result<void> valid = checkRuns(of); !valid)
      return valid;
    return finish(what, function());
  }

  Result<void> checkRuns(Stream of) const {
    Result<bool> captured = cuda->isCaptured(static_cast<CUstream>(of.handle));
    if (captured && !*captured)
      return {};
    return ofRank(size_t(number),
                  captured
                      ? Error{.message = "expected a stream that is not captured, because a communicator "
                                         "waits until NCCL has enqueued its work; end the capture first"}
                      : captured.error());
  }

  /// Waits until NCCL, which has said `status`, has enqueued what it was asked for, and the stream, if there
  /// is one, has done it.
  Result<void> finish(std::string_view what, int status, std::optional<CUstream> of = {}) {
    for (const Clock::time_point begin = Clock::now();;
         std::this_thread::sleep_for(std::chrono::microseconds(100))) {
      if (status == Nccl::success || status == Nccl::inProgress)
        if (const int asked = nccl.ncclCommGetAsyncError(comm, &status); asked != Nccl::success)
          status = asked;
      if (status != Nccl::success && status != Nccl::inProgress)
        return fail(what, nccl.describe(status, comm));
      CUresult done = of && status == Nccl::success ? cuda->driver.cuStreamQuery(*of) : CUDA_SUCCESS;
      if (done != CUDA_SUCCESS && done != CUDA_ERROR_NOT_READY)
        return fail(what, cuda->driver.describe(done));
      if (status == Nccl::success && done == CUDA_SUCCESS)
        return {};
      if (Clock::now() - begin < limit)
        continue;
      const bool isOfCaller = of && *of != stream;
      isAbandoned |= isOfCaller; // it may wait for something else, and the driver for it
      return fail(what, fmt::format("not all of {} ranks have come within {:g} s{}", count, limit.count(),
                                    isOfCaller ? ", or the stream has more to do than that" : ""));
    }
  }

  Error fail(std::string_view what, std::string_view why) {
    if (comm)
      nccl.ncclCommAbort(comm); // waits for no other rank
    comm = nullptr;
    failure =
        ofRank(size_t(number), {ErrorKind::environment, fmt::format("{} cannot {}: {}", name, what, why)});
    return *failure;
  }

  void close() {
    limit = std::min(limit, closeLimit);
    if (!comm || !finish("end a communicator", nccl.ncclCommFinalize(comm)))
      return;
    nccl.ncclCommDestroy(comm);
  }

  const Nccl nccl;
  const std::string name;
  const std::shared_ptr<const CudaContext> cuda;
  const int64_t number, count;
  Limit limit;
  NcclComm *comm = nullptr;
  CUstream stream = nullptr;
  void *onHost = nullptr;
  CUdeviceptr onDevice = 0;
  bool isAbandoned = false;
  std::optional<Error> failure;
};

} // namespace

Result<std::unique_ptr<Communicator>> tlc::createCommunicator(const Nccl &nccl, int ordinal, int64_t rank,
                                                              int64_t ranks, const NcclUniqueId &id,
                                                              Communicator::Limit limit) {
  if (rank < 0 || rank >= ranks || ranks > INT_MAX)
    return Error{
        .message = fmt::format(
            "expected a number of ranks and the number of one of them, but got rank {} of {}", rank, ranks)};
  if (!(limit.count() > 0))
    return Error{.message =
                     fmt::format("rank {}: expected a limit above 0 s, but got {:g} s", rank, limit.count())};
  Result<std::shared_ptr<const CudaContext>> cuda = CudaContext::create(ordinal);
  if (!cuda)
    return ofRank(size_t(rank), cuda.error());
  auto communicator = std::make_unique<NcclCommunicator>(nccl, *cuda, rank, ranks, limit);
  if (Result<void> created = communicator->create(id); !created)
    return created.error();
  return std::unique_ptr<Communicator>(std::move(communicator));
}
