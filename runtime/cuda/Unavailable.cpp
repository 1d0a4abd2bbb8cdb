// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stands in for the CUDA device where the build found no CUDA headers.
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaPeers.h"
#include "runtime/cuda/NcclCommunicator.h"

using namespace tlc;

namespace {

Error unavailable() {
  return {ErrorKind::environment,
          "built without CUDA headers; install a CUDA toolkit of version 12.0 or later and build again"};
}

} // namespace

Result<std::unique_ptr<Device>> tlc::createCudaDevice(int, CudaDeviceOptions) { return unavailable(); }
Result<int> tlc::currentCudaOrdinal() { return unavailable(); }
const CudaCompilation *tlc::cudaCompilationOf(const LoadedProgram &) { return nullptr; }
Result<MemoryHandle> tlc::exportMemory(int, const void *, size_t) { return unavailable(); }
Result<void *> tlc::importMemory(int, const MemoryHandle &) { return unavailable(); }
Result<void> tlc::closeMemory(int, const MemoryHandle &, void *) { return unavailable(); }
Result<std::string> tlc::busIdOf(int) { return unavailable(); }
Result<void> tlc::checkReach(int, const std::string &) { return unavailable(); }
Result<void *> tlc::createFlagMemory(int) { return unavailable(); }
Result<std::unique_ptr<StreamFlags>> tlc::createCudaFlags(int) { return unavailable(); }
Result<std::unique_ptr<Communicator>> tlc::createCommunicator(const Nccl &, int, int64_t, int64_t,
                                                              const NcclUniqueId &, Communicator::Limit) {
  return unavailable();
}
