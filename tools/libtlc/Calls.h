// SPDX-License-Identifier: Apache-2.0
/// \file
/// The calls of the C interface, with results instead of a last error.
#pragma once

#include "runtime/cuda/ConnectedGroup.h"
#include "runtime/device/Device.h"
#include "runtime/device/RankGroup.h"
#include "runtime/device/RecentlyUsed.h"
#include "runtime/support/Result.h"
#include "tools/libtlc/Compiler.h"
#include "tools/libtlc/tlc.h"

#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <span>
#include <vector>

namespace tlc::calls {

/// What programs of equal requests share.
struct Loaded {
  std::shared_ptr<Device> device; // outlives what is loaded on it
  std::shared_ptr<const LoadedProgram> program;
};

/// The device that is given, or for null the current GPU.
Result<std::shared_ptr<Device>> deviceOr(tlc_device *given);

/// The cache of this process.
SharedCache cache();
/// What fills open parameters; null: nothing does.
std::shared_ptr<const kernels::Tuning> tuning();

/// Kernels of a file, which the compiler knows.
class KernelList;

} // namespace tlc::calls

struct tlc_device {
  std::shared_ptr<tlc::Device> device;
  int64_t number; ///< its own in this process
};

struct tlc_file {
  std::shared_ptr<const tlc::calls::KernelList> kernels;
};

struct tlc_program {
  explicit tlc_program(const std::shared_ptr<tlc::calls::Loaded> &shared)
      : device(shared, shared->device.get()), loaded(shared, shared->program.get()) {}

  std::shared_ptr<tlc::Device> device;
  std::shared_ptr<const tlc::LoadedProgram> loaded;
  /// Of `tlc_launch`; have passed its checks that `Device::launch` does not make.
  mutable tlc::RecentlyUsed<tlc::LaunchArguments> arguments = {};
};

struct tlc_bound {
  std::shared_ptr<tlc::Device> device;
  std::shared_ptr<const tlc::LoadedProgram> loaded;
  std::vector<tlc::TensorView> tensors; ///< without workspaces
  std::vector<void *> former;           ///< room for the address of each
  std::unique_ptr<tlc::PreparedLaunch> launch;
  struct {
    const void *api = nullptr;
    void *refused = nullptr;
    std::vector<void *> after;
  } function = {}; ///< of Python, whose objects are borrowed
};

struct tlc_communicator {
  tlc::calls::SharedCache cache; ///< that has its programs
  std::unique_ptr<tlc::Device> device;
  std::shared_ptr<tlc::calls::RankPrograms> programs; ///< made by the first call that needs them
  /// Ends first: to unload programs the driver waits for streams, which may wait for ranks until then.
  std::shared_ptr<tlc::Communicator> communicator;
};

struct tlc_group {
  int64_t rank = 0, ranks = 1;
  std::shared_ptr<tlc::RankGroup> group;
  std::shared_ptr<tlc::ConnectedGroup> connected = {}; ///< whose `group` it is, of a communicator
};

namespace tlc::calls {

/// Options as this version has them, with 0 for what an older one lacks, whose options have `former` bytes.
template <class Options> Result<Options> todays(const Options *given, size_t former) {
  if (!given)
    return Error{ErrorKind::invalidArgument, "expected options, but got a null pointer"};
  if (given->size != former && given->size != sizeof(*given))
    return Error{
        ErrorKind::invalidArgument,
        fmt::format(
            "expected options of {} bytes, as version {} of the interface has them, or of {}, but got {}",
            sizeof(*given), TLC_INTERFACE_VERSION, former, given->size)};
  Options options = {};
  std::memcpy(&options, given, given->size);
  return options;
}

/// Whether a caller's struct, which says its size, has room for all of today's.
template <class Info> Result<void> checkRoom(const Info *info) {
  if (!info)
    return Error{ErrorKind::invalidArgument, "expected room for what is asked for, but got a null pointer"};
  if (info->size != sizeof(Info))
    return Error{
        ErrorKind::invalidArgument,
        fmt::format("expected room for {} bytes, as version {} of the interface has them, but got {}",
                    sizeof(Info), TLC_INTERFACE_VERSION, info->size)};
  return {};
}

inline Result<void> checkNumber(std::string_view what, int number, size_t count) {
  if (number < 0 || size_t(number) >= count)
    return Error{ErrorKind::invalidArgument,
                 fmt::format("expected {} from 0 to {}, but got {}", what, int64_t(count) - 1, number)};
  return {};
}

/// Of tensors that are there.
Result<std::vector<TensorView>> viewsOf(const tlc_tensor *tensors, int count);
/// The name of a target, or the usual one where it is null.
Result<std::string> targetOf(const char *name);
inline Error noGroup() { return {ErrorKind::invalidArgument, "expected a group, but got a null pointer"}; }

Result<void> save(const tlc_program *program, void *bytes, size_t capacity, size_t *size);
Result<std::unique_ptr<tlc_program>> load(tlc_device *device, const void *bytes, size_t size);

Result<std::unique_ptr<tlc_device>> openGpu(int ordinal);
Result<std::unique_ptr<tlc_device>> openEmulator(const tlc_emulator_options *options);
Result<void> allocate(tlc_device *device, size_t bytes, void **address);
Result<void> free(tlc_device *device, void *address);
Result<void> copyIn(tlc_device *device, void *to, const void *host, size_t bytes);
Result<void> copyOut(tlc_device *device, void *host, const void *from, size_t bytes);
Result<void> synchronize(tlc_device *device, void *stream);

Result<int> kernelCount(const tlc_file *file);
Result<void> kernelOf(const tlc_file *file, int kernel, tlc_kernel_info *info);
Result<void> parameterOf(const tlc_file *file, int kernel, int parameter, tlc_parameter_info *info);
Result<int> countArguments(const tlc_program *program);
Result<void> describe(const tlc_program *program, int argument, tlc_argument_info *info);
Result<void> describe(const tlc_program *program, int argument, int axis, tlc_extent_info *info);
Result<int> shapeOf(const tlc_program *program, int argument, const char *const *names, const int64_t *values,
                    int count, int64_t *shape, int capacity);

Result<std::unique_ptr<tlc_program>> compile(const char *kernel, const char *const *names,
                                             const char *const *values, int count,
                                             const tlc_compile_options *options);

Result<void> setCache(const tlc_cache_options *options);
Result<void> setTuning(const char *folder);
Result<void> prewarm(const char *lines, const char *target);

/// The number of workspaces.
Result<int> workspace(const tlc_program *program, int rank, int ranks, const tlc_tensor *tensors,
                      int tensorCount, size_t *sizes, int capacity);

Result<void> launch(const tlc_program *program, const tlc_tensor *tensors, int tensorCount,
                    const tlc_scalar *scalars, int scalarCount, void *const *workspaces, int workspaceCount,
                    void *stream);

Result<std::unique_ptr<tlc_bound>> bind(const tlc_program *program, const tlc_tensor *tensors,
                                        int tensorCount, const tlc_scalar *scalars, int scalarCount,
                                        void *const *workspaces, int workspaceCount);
Result<void> setAddresses(tlc_bound &bound, size_t first, std::span<void *const> addresses);
Result<void> setAddresses(tlc_bound *bound, int first, void *const *addresses, int count);
Result<void> launch(tlc_bound *bound, void *stream);

Result<void> connect(tlc_program *const *programs, int count);
Result<void> launchRanks(const tlc_rank *ranks, int count, int tensorCount, const tlc_scalar *scalars,
                         int scalarCount, int workspaceCount);

/// The number of arguments.
Result<int> symmetricArguments(const tlc_program *program, int *symmetric, int capacity);
Result<void> exportMemory(const void *address, tlc_memory_handle *handle);
Result<void> importMemory(const tlc_memory_handle *handle, void **address);
Result<void> closeMemory(const tlc_memory_handle *handle, void *address);

Result<std::unique_ptr<tlc_group>> createGroup(int rank, int ranks, void *const *flags, size_t bytes);
Result<int> ncclVersion(const char *library);
Result<void> createNcclId(const char *library, void *id);
Result<std::unique_ptr<tlc_communicator>> createCommunicator(const char *library, int rank, int ranks,
                                                             const void *id, double seconds);
Result<void> checkPeers(tlc_communicator *communicator);
Result<std::unique_ptr<tlc_group>> createGroup(tlc_communicator *communicator);
Result<void> workspace(tlc_communicator *communicator, const char *kernel, const tlc_tensor *tensors,
                       int tensorCount, size_t *bytes);
Result<void> launch(tlc_communicator *communicator, const char *kernel, const tlc_tensor *tensors,
                    int tensorCount, void *workspace, size_t bytes, void *stream);
Result<void> isFaster(tlc_communicator *communicator, const char *kernel, const tlc_tensor *tensors,
                      int tensorCount, int *faster);
Result<void> synchronize(tlc_communicator *communicator, void *stream);
Result<void> share(tlc_group *group, void *address, size_t bytes);
Result<void> unshare(tlc_group *group, void *address);

Result<void> add(tlc_group *group, void *const *addresses, size_t bytes);
Result<void> remove(tlc_group *group, const void *address);
Result<void> launch(tlc_group *group, const tlc_program *program, const tlc_tensor *tensors, int tensorCount,
                    const tlc_scalar *scalars, int scalarCount, void *const *workspaces, int workspaceCount,
                    void *stream);
Result<void> synchronize(tlc_group *group, void *stream, double seconds);

} // namespace tlc::calls
