// SPDX-License-Identifier: Apache-2.0
/// \file
/// The part of the C interface that is about ranks that NCCL connects.
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/NcclCommunicator.h"
#include "runtime/device/LaunchRanks.h"
#include "tools/libtlc/Calls.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <string>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

Error noCommunicator() { return invalid("expected a communicator, but got a null pointer"); }
Error noId() {
  return invalid(fmt::format("expected {} bytes of an id, but got a null pointer", TLC_NCCL_ID_BYTES));
}
Error notConnected() {
  return invalid(
      "expected a group of a communicator, but got one that was created with its flags; tlc_group_add "
      "and tlc_group_remove are for it");
}
Result<Nccl> openNccl(const char *library) { return Nccl::open(library ? library : ""); }

/// What a kernel by its name is to do on tensors.
struct GivenWork {
  static Result<GivenWork> make(const char *kernel, const tlc_tensor *tensors, int count) {
    if (!kernel)
      return invalid("expected the name of a kernel, but got a null pointer");
    Result<std::vector<TensorView>> views = calls::viewsOf(tensors, count);
    if (!views)
      return views.error();
    return GivenWork{kernel, std::move(*views)};
  }
  calls::RankWork work() const { return {kernel, tensors}; }

  const char *kernel;
  std::vector<TensorView> tensors;
};

/// One thread at a time uses a communicator.
Result<calls::RankPrograms *> programsOf(tlc_communicator &communicator) {
  if (!communicator.programs) {
    Result<std::shared_ptr<calls::RankPrograms>> made =
        calls::ask(&calls::Compiler::makeRankPrograms, communicator.cache, *communicator.device);
    if (!made)
      return made.error();
    communicator.programs = std::move(*made);
  }
  return communicator.programs.get();
}

} // namespace

Result<int> calls::ncclVersion(const char *library) {
  Result<Nccl> nccl = openNccl(library);
  return nccl ? Result<int>(nccl->versionCode) : nccl.error();
}

Result<void> calls::createNcclId(const char *library, void *id) {
  if (!id)
    return noId();
  Result<Nccl> nccl = openNccl(library);
  if (!nccl)
    return nccl.error();
  Result<NcclUniqueId> created = nccl->createUniqueId();
  if (!created)
    return created.error();
  static_assert(sizeof(created->bytes) == TLC_NCCL_ID_BYTES);
  std::memcpy(id, created->bytes.data(), TLC_NCCL_ID_BYTES);
  return {};
}

Result<std::unique_ptr<tlc_communicator>> calls::createCommunicator(const char *library, int rank, int ranks,
                                                                    const void *id, double seconds) {
  if (!id)
    return noId();
  Result<Nccl> nccl = openNccl(library);
  if (!nccl)
    return ofRank(static_cast<size_t>(std::max(rank, 0)), nccl.error());
  Result<int> ordinal = currentCudaOrdinal();
  if (!ordinal)
    return ordinal.error();
  NcclUniqueId given;
  std::memcpy(given.bytes.data(), id, TLC_NCCL_ID_BYTES);
  Result<std::unique_ptr<Communicator>> communicator =
      tlc::createCommunicator(*nccl, *ordinal, rank, ranks, given, Communicator::Limit(seconds));
  if (!communicator)
    return communicator.error();
  Result<std::unique_ptr<Device>> device = createCudaDevice(*ordinal);
  if (!device)
    return ofRank(static_cast<size_t>(rank), device.error());
  return std::make_unique<tlc_communicator>(calls::cache(), std::move(*device), nullptr,
                                            std::move(*communicator));
}

Result<void> calls::checkPeers(tlc_communicator *communicator) {
  return communicator ? tlc::checkPeers(*communicator->communicator) : noCommunicator();
}

Result<std::unique_ptr<tlc_group>> calls::createGroup(tlc_communicator *communicator) {
  if (!communicator)
    return noCommunicator();
  Result<std::unique_ptr<ConnectedGroup>> created = ConnectedGroup::create(communicator->communicator);
  if (!created)
    return created.error();
  const std::shared_ptr<ConnectedGroup> group = std::move(*created);
  return std::make_unique<tlc_group>(communicator->communicator->rank(), communicator->communicator->ranks(),
                                     std::shared_ptr<RankGroup>(group, &group->group()), group);
}

Result<void> calls::share(tlc_group *group, void *address, size_t bytes) {
  if (!group)
    return noGroup();
  if (!group->connected)
    return notConnected();
  return group->connected->share(address, bytes);
}

Result<void> calls::unshare(tlc_group *group, void *address) {
  if (!group)
    return noGroup();
  if (!group->connected)
    return notConnected();
  return group->connected->unshare(address);
}

Result<void> calls::workspace(tlc_communicator *communicator, const char *kernel, const tlc_tensor *tensors,
                              int tensorCount, size_t *bytes) {
  if (!communicator)
    return noCommunicator();
  if (!bytes)
    return invalid("expected room for a size, but got a null pointer");
  Result<GivenWork> given = GivenWork::make(kernel, tensors, tensorCount);
  if (!given)
    return given.error();
  Result<RankPrograms *> programs = programsOf(*communicator);
  if (!programs)
    return programs.error();
  Result<size_t> found =
      ask(&Compiler::rankWorkspace, **programs, *communicator->communicator, given->work());
  if (!found)
    return found.error();
  *bytes = *found;
  return {};
}

Result<void> calls::launch(tlc_communicator *communicator, const char *kernel, const tlc_tensor *tensors,
                           int tensorCount, void *workspace, size_t bytes, void *stream) {
  if (!communicator)
    return noCommunicator();
  Result<GivenWork> given = GivenWork::make(kernel, tensors, tensorCount);
  if (!given)
    return given.error();
  Result<RankPrograms *> programs = programsOf(*communicator);
  if (!programs)
    return programs.error();
  return ask(&Compiler::launchRank, **programs, *communicator->communicator, given->work(), workspace, bytes,
             stream);
}

Result<void> calls::isFaster(tlc_communicator *communicator, const char *kernel, const tlc_tensor *tensors,
                             int tensorCount, int *faster) {
  if (!communicator)
    return noCommunicator();
  if (!faster)
    return invalid("expected room for the answer, but got a null pointer");
  Result<GivenWork> given = GivenWork::make(kernel, tensors, tensorCount);
  if (!given)
    return given.error();
  Result<bool> is = ask(&Compiler::isFaster, *communicator->communicator, given->work());
  if (!is)
    return is.error();
  *faster = *is ? 1 : 0;
  return {};
}

Result<void> calls::synchronize(tlc_communicator *communicator, void *stream) {
  return communicator ? communicator->communicator->synchronize({stream}) : noCommunicator();
}
