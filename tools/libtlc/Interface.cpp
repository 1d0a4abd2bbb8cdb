// SPDX-License-Identifier: Apache-2.0
/// \file
/// The functions of the C interface.
#include "tools/libtlc/Boundary.h"
#include "tools/libtlc/Calls.h"
#include "tools/libtlc/DlpackTensor.h"
#include "tools/libtlc/ErrorPlace.h"
#include "tools/libtlc/ExchangeLaunch.h"
#include "tools/tlc/Driver.h"
#include "tools/tlc/ExitCode.h"

#include <cstdio>

using namespace tlc;

namespace {

/// The interface asks for an error of its own on every thread.
thread_local LastError lastError;
thread_local tlc_status lastStatus = TLC_OK;
thread_local std::string lastFile; ///< where `tlc_last_error_info` was asked for it

template <class Body> tlc_status run(Body &&body) {
  const tlc_status status = guarded(body, [](const char *reason) noexcept { lastError.remember(reason); });
  if (status != TLC_OK)
    lastStatus = status;
  return status;
}

/// The number that `body() -> Result<int>` gives, or minus a tlc_status.
template <class Body> int number(Body &&body) {
  int found = 0;
  tlc_status status = run([&]() -> Result<void> {
    Result<int> result = body();
    if (!result)
      return result.error();
    found = *result;
    return {};
  });
  return status == TLC_OK ? found : -static_cast<int>(status);
}

/// A tlc_status, or -1 if `body() -> Result<bool>` gives false.
template <class Body> int launched(Body &&body) {
  bool isLaunched = true;
  const tlc_status status = run([&]() -> Result<void> {
    Result<bool> result = body();
    if (!result)
      return result.error();
    isLaunched = *result;
    return {};
  });
  return isLaunched ? status : -1;
}

/// The object that `body() -> Result<std::unique_ptr<Object>>` gives, or null.
template <class Object, class Body> Object *object(Body &&body) {
  Object *made = nullptr;
  run([&]() -> Result<void> {
    Result<std::unique_ptr<Object>> result = body();
    if (!result)
      return result.error();
    made = result->release();
    return {};
  });
  return made;
}

int launchGuarded(const tlc_exchange &exchange, const tlc_exchange::Addresses &addresses) {
  return launched([&] { return exchange.launchOn(addresses); });
}

void *callExchange(void *address, void *given) {
  return static_cast<const tlc_exchange *>(calls::addressOf(address))->call(given, launchGuarded);
}

void *callBound(void *address, void *) {
  auto *bound = static_cast<tlc_bound *>(calls::addressOf(address));
  return calls::resultOf(*bound, tlc_bound_launch_current(bound, bound->function.api));
}

/// A function of Python, or null.
template <class Body> void *function(Body &&body) {
  void *made = nullptr;
  run([&]() -> Result<void> {
    Result<void *> result = body();
    if (!result)
      return result.error();
    made = *result;
    return {};
  });
  return made;
}

} // namespace

int tlc_version(void) { return TLC_INTERFACE_VERSION; }

const char *tlc_last_error(void) { return lastError.get(); }

int tlc_last_status(void) { return lastStatus; }

int tlc_last_error_info(tlc_error_info *info) {
  return run([&]() -> Result<void> {
    if (Result<void> valid = calls::checkRoom(info); !valid)
      return valid;
    const std::optional<ErrorPlace> place = placeOf(lastError.get());
    lastFile = place ? place->file : "";
    *info = {sizeof(*info),           lastStatus,
             lastError.get(),         place ? lastFile.c_str() : nullptr,
             place ? place->line : 0, place ? place->column : 0};
    return {};
  });
}

int tlc_element_of_dlpack(int code, int bits) {
  return number([&] { return calls::elementOfDlpack(code, bits); });
}

tlc_device *tlc_device_gpu(int ordinal) {
  return object<tlc_device>([&] { return calls::openGpu(ordinal); });
}

tlc_device *tlc_device_emulator(const tlc_emulator_options *options) {
  return object<tlc_device>([&] { return calls::openEmulator(options); });
}

const char *tlc_device_target(const tlc_device *device) {
  return device ? device->device->properties().target.c_str() : "";
}

const char *tlc_device_name(const tlc_device *device) {
  return device ? device->device->properties().name.c_str() : "";
}

int tlc_device_allocate(tlc_device *device, size_t bytes, void **address) {
  return run([&] { return calls::allocate(device, bytes, address); });
}

int tlc_device_free(tlc_device *device, void *address) {
  return run([&] { return calls::free(device, address); });
}

int tlc_device_copy_in(tlc_device *device, void *to, const void *host, size_t bytes) {
  return run([&] { return calls::copyIn(device, to, host, bytes); });
}

int tlc_device_copy_out(tlc_device *device, void *host, const void *from, size_t bytes) {
  return run([&] { return calls::copyOut(device, host, from, bytes); });
}

int tlc_device_synchronize(tlc_device *device, void *stream) {
  return run([&] { return calls::synchronize(device, stream); });
}

void tlc_device_release(tlc_device *device) { delete device; }

int tlc_tensor_of_dlpack(const void *dl_tensor, tlc_tensor *tensor, int64_t strides[TLC_MOST_AXES]) {
  return run([&] { return calls::tensorOfDlpack(dl_tensor, tensor, strides); });
}

int tlc_program_save(const tlc_program *program, void *bytes, size_t capacity, size_t *size) {
  return run([&] { return calls::save(program, bytes, capacity, size); });
}

tlc_program *tlc_program_load(tlc_device *device, const void *bytes, size_t size) {
  return object<tlc_program>([&] { return calls::load(device, bytes, size); });
}

tlc_file *tlc_file_open(const char *path, const tlc_file_options *options) {
  return object<tlc_file>(
      [&] { return calls::ask(&calls::Compiler::openFile, calls::cache()->options(), path, options); });
}

void tlc_file_release(tlc_file *file) { delete file; }

int tlc_kernel_count(const tlc_file *file) {
  return number([&] { return calls::kernelCount(file); });
}

int tlc_kernel_of(const tlc_file *file, int kernel, tlc_kernel_info *info) {
  return run([&] { return calls::kernelOf(file, kernel, info); });
}

int tlc_parameter_of(const tlc_file *file, int kernel, int parameter, tlc_parameter_info *info) {
  return run([&] { return calls::parameterOf(file, kernel, parameter, info); });
}

int tlc_argument_count(const tlc_program *program) {
  return number([&] { return calls::countArguments(program); });
}

int tlc_argument_of(const tlc_program *program, int argument, tlc_argument_info *info) {
  return run([&] { return calls::describe(program, argument, info); });
}

int tlc_extent_of(const tlc_program *program, int argument, int axis, tlc_extent_info *info) {
  return run([&] { return calls::describe(program, argument, axis, info); });
}

int tlc_shape_of(const tlc_program *program, int argument, const char *const *names, const int64_t *values,
                 int count, int64_t *shape, int capacity) {
  return number([&] { return calls::shapeOf(program, argument, names, values, count, shape, capacity); });
}

tlc_program *tlc_compile(const char *kernel, const char *const *names, const char *const *values, int count,
                         const char *target) {
  const tlc_compile_options options = {sizeof(options), target, 0, nullptr, nullptr};
  return tlc_compile_with(kernel, names, values, count, &options);
}

tlc_program *tlc_compile_with(const char *kernel, const char *const *names, const char *const *values,
                              int count, const tlc_compile_options *options) {
  return object<tlc_program>([&] { return calls::compile(kernel, names, values, count, options); });
}

int tlc_set_cache(const tlc_cache_options *options) {
  return run([&] { return calls::setCache(options); });
}

int tlc_set_tuning(const char *folder) {
  return run([&] { return calls::setTuning(folder); });
}

int tlc_prewarm(const char *lines, const char *target) {
  return run([&] { return calls::prewarm(lines, target); });
}

int tlc_workspace(const tlc_program *program, const tlc_tensor *tensors, int tensor_count, size_t *sizes,
                  int capacity) {
  return tlc_rank_workspace(program, 0, 1, tensors, tensor_count, sizes, capacity);
}

int tlc_rank_workspace(const tlc_program *program, int rank, int ranks, const tlc_tensor *tensors,
                       int tensor_count, size_t *sizes, int capacity) {
  return number(
      [&] { return calls::workspace(program, rank, ranks, tensors, tensor_count, sizes, capacity); });
}

int tlc_launch(const tlc_program *program, const tlc_tensor *tensors, int tensor_count,
               const tlc_scalar *scalars, int scalar_count, void *const *workspaces, int workspace_count,
               void *stream) {
  return run([&] {
    return calls::launch(program, tensors, tensor_count, scalars, scalar_count, workspaces, workspace_count,
                         stream);
  });
}

tlc_bound *tlc_bind(const tlc_program *program, const tlc_tensor *tensors, int tensor_count,
                    const tlc_scalar *scalars, int scalar_count, void *const *workspaces,
                    int workspace_count) {
  return object<tlc_bound>([&] {
    return calls::bind(program, tensors, tensor_count, scalars, scalar_count, workspaces, workspace_count);
  });
}

int tlc_bound_set_address(tlc_bound *bound, int tensor, void *address) {
  return run([&] { return calls::setAddresses(bound, tensor, &address, 1); });
}

int tlc_bound_set_addresses(tlc_bound *bound, int first, void *const *addresses, int count) {
  return run([&] { return calls::setAddresses(bound, first, addresses, count); });
}

int tlc_bound_launch(tlc_bound *bound, void *stream) {
  return run([&] { return calls::launch(bound, stream); });
}

int tlc_connect(tlc_program *const *programs, int count) {
  return run([&] { return calls::connect(programs, count); });
}

int tlc_launch_ranks(const tlc_rank *ranks, int count, int tensor_count, const tlc_scalar *scalars,
                     int scalar_count, int workspace_count) {
  return run(
      [&] { return calls::launchRanks(ranks, count, tensor_count, scalars, scalar_count, workspace_count); });
}

int tlc_symmetric_arguments(const tlc_program *program, int *symmetric, int capacity) {
  return number([&] { return calls::symmetricArguments(program, symmetric, capacity); });
}

int tlc_export_memory(const void *address, tlc_memory_handle *handle) {
  return run([&] { return calls::exportMemory(address, handle); });
}

int tlc_import_memory(const tlc_memory_handle *handle, void **address) {
  return run([&] { return calls::importMemory(handle, address); });
}

int tlc_close_memory(const tlc_memory_handle *handle, void *address) {
  return run([&] { return calls::closeMemory(handle, address); });
}

tlc_group *tlc_group_create(int rank, int ranks, void *const *flags, size_t bytes) {
  return object<tlc_group>([&] { return calls::createGroup(rank, ranks, flags, bytes); });
}

int tlc_group_add(tlc_group *group, void *const *addresses, size_t bytes) {
  return run([&] { return calls::add(group, addresses, bytes); });
}

int tlc_group_remove(tlc_group *group, const void *address) {
  return run([&] { return calls::remove(group, address); });
}

int tlc_group_launch(tlc_group *group, const tlc_program *program, const tlc_tensor *tensors,
                     int tensor_count, const tlc_scalar *scalars, int scalar_count, void *const *workspaces,
                     int workspace_count, void *stream) {
  return run([&] {
    return calls::launch(group, program, tensors, tensor_count, scalars, scalar_count, workspaces,
                         workspace_count, stream);
  });
}

int tlc_group_synchronize(tlc_group *group, void *stream, double seconds) {
  return run([&] { return calls::synchronize(group, stream, seconds); });
}

int tlc_nccl_version(const char *library) {
  return number([&] { return calls::ncclVersion(library); });
}

int tlc_nccl_create_id(const char *library, void *id) {
  return run([&] { return calls::createNcclId(library, id); });
}

tlc_communicator *tlc_communicator_create(const char *library, int rank, int ranks, const void *id,
                                          double seconds) {
  return object<tlc_communicator>(
      [&] { return calls::createCommunicator(library, rank, ranks, id, seconds); });
}

int tlc_communicator_check_peers(tlc_communicator *communicator) {
  return run([&] { return calls::checkPeers(communicator); });
}

tlc_group *tlc_communicator_group(tlc_communicator *communicator) {
  return object<tlc_group>([&] { return calls::createGroup(communicator); });
}

int tlc_communicator_workspace(tlc_communicator *communicator, const char *kernel, const tlc_tensor *tensors,
                               int tensor_count, size_t *bytes) {
  return run([&] { return calls::workspace(communicator, kernel, tensors, tensor_count, bytes); });
}

int tlc_communicator_launch(tlc_communicator *communicator, const char *kernel, const tlc_tensor *tensors,
                            int tensor_count, void *workspace, size_t bytes, void *stream) {
  return run(
      [&] { return calls::launch(communicator, kernel, tensors, tensor_count, workspace, bytes, stream); });
}

int tlc_communicator_is_faster(tlc_communicator *communicator, const char *kernel, const tlc_tensor *tensors,
                               int tensor_count, int *faster) {
  return run([&] { return calls::isFaster(communicator, kernel, tensors, tensor_count, faster); });
}

int tlc_communicator_synchronize(tlc_communicator *communicator, void *stream) {
  return run([&] { return calls::synchronize(communicator, stream); });
}

int tlc_group_share(tlc_group *group, void *address, size_t bytes) {
  return run([&] { return calls::share(group, address, bytes); });
}

int tlc_group_unshare(tlc_group *group, void *address) {
  return run([&] { return calls::unshare(group, address); });
}

void tlc_communicator_release(tlc_communicator *communicator) { delete communicator; }

void tlc_group_release(tlc_group *group) { delete group; }

void tlc_bound_release(tlc_bound *bound) { delete bound; }

tlc_exchange *tlc_exchange_create(const tlc_program *program, const tlc_tensor *tensors, int tensor_count,
                                  const tlc_scalar *scalars, int scalar_count,
                                  const tlc_exchange_options *options) {
  return object<tlc_exchange>(
      [&] { return calls::createExchange(program, tensors, tensor_count, scalars, scalar_count, options); });
}

int tlc_exchange_launch(const tlc_exchange *exchange, void *given, void *made) {
  return launched([&] { return calls::launch(exchange, given, made); });
}

void *tlc_exchange_function(tlc_exchange *exchange, const tlc_exchange_function_options *options) {
  return function([&] { return calls::functionOf(exchange, options, callExchange); });
}

void *tlc_bound_function(tlc_bound *bound, const tlc_bound_function_options *options) {
  return function([&] { return calls::functionOf(bound, options, callBound); });
}

void tlc_exchange_release(tlc_exchange *exchange) { delete exchange; }

int tlc_bound_launch_current(tlc_bound *bound, const void *api) {
  return run([&] { return calls::launchOnCurrent(bound, api); });
}

void tlc_release(tlc_program *program) { delete program; }

int tlc_main(int argc, char **argv) {
  const Result<const calls::Compiler *> compiler = calls::compiler();
  if (compiler)
    return (*compiler)->main(argc, argv);
  std::fprintf(stderr, "tlc: error: %s\n", compiler.error().message.c_str());
  return int(driver::ExitCode::failure);
}
