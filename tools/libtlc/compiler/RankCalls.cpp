// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of ranks that do not reach each other's memory.
#include "kernels/library/Collectives.h"
#include "runtime/device/LaunchRanks.h"
#include "tools/libtlc/compiler/Calls.h"

using namespace tlc;

struct calls::RankPrograms {
  RankPrograms(const SharedCache &cache, Device &device) : artifacts(cache), programs(device, artifacts) {}

  kernels::ArtifactCache artifacts;
  kernels::Programs programs;
};

namespace {

Error ofThisRank(const Communicator &communicator, const Error &error) {
  return ofRank(size_t(communicator.rank()), error);
}

} // namespace

Result<std::shared_ptr<calls::RankPrograms>> calls::makeRankPrograms(const SharedCache &cache,
                                                                     Device &device) {
  return std::make_shared<RankPrograms>(cache, device);
}

Result<size_t> calls::rankWorkspace(RankPrograms &programs, const Communicator &communicator,
                                    const RankWork &work) {
  Result<collectives::RankKernel> kernel = collectives::findRankKernel(work.kernel);
  if (!kernel)
    return kernel.error();
  Result<size_t> bytes = collectives::workspaceSize(programs.programs, communicator, *kernel, work.tensors);
  return bytes ? bytes : ofThisRank(communicator, bytes.error());
}

Result<void> calls::launchRank(RankPrograms &programs, Communicator &communicator, const RankWork &work,
                               void *workspace, size_t bytes, void *stream) {
  Result<collectives::RankKernel> kernel = collectives::findRankKernel(work.kernel);
  if (!kernel)
    return kernel.error();
  Result<void> done = collectives::launch(programs.programs, communicator, *kernel, work.tensors,
                                          {workspace, bytes}, {stream});
  return done ? done : ofThisRank(communicator, done.error());
}

Result<bool> calls::isRankFaster(const Communicator &communicator, const RankWork &work) {
  Result<collectives::RankKernel> kernel = collectives::findRankKernel(work.kernel);
  if (!kernel)
    return kernel.error();
  Result<bool> is = collectives::isFaster(communicator, *kernel, work.tensors);
  return is ? is : ofThisRank(communicator, is.error());
}
