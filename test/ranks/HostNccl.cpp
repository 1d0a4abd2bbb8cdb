// SPDX-License-Identifier: Apache-2.0
/// \file
/// A libnccl.so.2 for ranks on the driver without a GPU (HostDriver.cpp). An id names memory of the process
/// that made it, in which ranks leave bytes for each other. What is asked for goes on when the call has
/// returned.
#include "runtime/nccl/Nccl.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

using tlc::NcclConfig;
using tlc::NcclUniqueId;

namespace {

constexpr int mostRanks = 8, systemError = 2, invalidArgument = 4, f32 = 7, success = tlc::Nccl::success,
              inProgress = tlc::Nccl::inProgress;

/// Of all ranks.
struct Meetings {
  static constexpr size_t mostBytes = 1 << 16;
  std::atomic<uint64_t> came[mostRanks]; ///< to so many of them
  char bytes[2][mostRanks][mostBytes];   ///< to a meeting and the one after it
};

/// What an id has in it.
struct Id {
  int process, file;
};

CUresult synchronize(void *stream) {
  void *driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *function = nullptr;
  auto lookUp = reinterpret_cast<decltype(&cuGetProcAddress)>(::dlsym(driver, "cuGetProcAddress_v2"));
  lookUp("cuStreamSynchronize", &function, 7000, 0, nullptr);
  return reinterpret_cast<decltype(&cuStreamSynchronize)>(function)(static_cast<CUstream>(stream));
}

} // namespace

namespace tlc {

struct NcclComm {
  NcclComm(Meetings *meetings, int rank, int ranks) : meetings(meetings), rank(rank), ranks(ranks) {}
  ~NcclComm() { finish(); }
  void finish() {
    if (thread.joinable())
      thread.join();
  }
  void begin(std::function<void()> work) {
    finish();
    status = inProgress;
    thread = std::thread([this, work] {
      work();
      if (status == inProgress)
        status = success;
    });
  }
  /// Leaves bytes, and takes those of all ranks when these have come.
  void meet(const void *send, void *receive, size_t bytes) {
    auto &places = meetings->bytes[count % 2];
    std::memcpy(places[rank], send, bytes);
    meetings->came[rank] = ++count;
    for (int other = 0; other < ranks; ++other) {
      while (meetings->came[other] < count && !isAborted)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      if (isAborted)
        return;
      std::memcpy(static_cast<char *>(receive) + size_t(other) * bytes, places[other], bytes);
    }
  }

  /// The sums of some of the numbers of each rank.
  void sum(const void *send, float *receive, size_t all, size_t begin, size_t count) {
    std::vector<float> numbers(all * size_t(ranks));
    meet(send, numbers.data(), all * sizeof(float));
    for (size_t i = 0; i < count; ++i) {
      receive[i] = 0;
      for (size_t rank = 0; rank < size_t(ranks); ++rank)
        receive[i] += numbers[rank * all + begin + i];
    }
  }

  Meetings *const meetings;
  const int rank, ranks;
  uint64_t count = 0;
  std::atomic<int> status = success;
  std::atomic<bool> isAborted = false;
  std::thread thread;
};

} // namespace tlc

using tlc::NcclComm;

extern "C" {

int ncclGetVersion(int *version) {
  *version = 21903;
  return success;
}

int ncclGetUniqueId(NcclUniqueId *id) {
  const Id values = {::getpid(), ::memfd_create("nccl", 0)};
  if (values.file < 0 || ::ftruncate(values.file, sizeof(Meetings)) != 0)
    return systemError;
  std::memcpy(id->bytes.data(), &values, sizeof(values));
  return success;
}

const char *ncclGetErrorString(int status) {
  return status == systemError ? "unhandled system error" : "no error";
}

const char *ncclGetLastError(NcclComm *) { return "no such id"; }

int ncclCommInitRankConfig(NcclComm **comm, int ranks, NcclUniqueId id, int rank, NcclConfig *config) {
  Id values;
  std::memcpy(&values, id.bytes.data(), sizeof(values));
  const std::string path = "/proc/" + std::to_string(values.process) + "/fd/" + std::to_string(values.file);
  const int file = ::open(path.c_str(), O_RDWR);
  if (file < 0 || config->blocking != 0)
    return systemError;
  void *meetings = ::mmap(nullptr, sizeof(Meetings), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  *comm = new NcclComm(static_cast<Meetings *>(meetings), rank, ranks);
  (*comm)->begin([comm = *comm] { comm->meet("", nullptr, 0); });
  return inProgress;
}

int ncclCommGetAsyncError(NcclComm *comm, int *status) {
  *status = comm->status;
  return success;
}

int ncclAllGather(const void *send, void *receive, size_t count, int, NcclComm *comm, void *stream) {
  comm->begin([=] {
    synchronize(stream);
    comm->meet(send, receive, count);
  });
  return inProgress;
}

int ncclReduceScatter(const void *send, void *receive, size_t count, int type, int, NcclComm *comm,
                      void *stream) {
  if (type != f32)
    return invalidArgument;
  comm->begin([=] {
    synchronize(stream);
    comm->sum(send, static_cast<float *>(receive), count * size_t(comm->ranks), size_t(comm->rank) * count,
              count);
  });
  return inProgress;
}

int ncclAllReduce(const void *send, void *receive, size_t count, int type, int, NcclComm *comm,
                  void *stream) {
  if (type != f32)
    return invalidArgument;
  comm->begin([=] {
    synchronize(stream);
    comm->sum(send, static_cast<float *>(receive), count, 0, count);
  });
  return inProgress;
}

int ncclCommFinalize(NcclComm *comm) {
  comm->begin([=] { comm->meet("", nullptr, 0); });
  return inProgress;
}

int ncclCommDestroy(NcclComm *comm) {
  delete comm;
  return success;
}

int ncclCommAbort(NcclComm *comm) {
  comm->isAborted = true;
  delete comm;
  return success;
}

} // extern "C"
