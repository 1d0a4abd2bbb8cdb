// SPDX-License-Identifier: Apache-2.0
/// \file
/// The functions of the C interface.
#include "tools/libtlc/Boundary.h"
#include "tools/libtlc/Calls.h"

#include <string>

using namespace tlc;

namespace {

/// The interface asks for an error of its own on every thread.
thread_local std::string lastError;

template <class Body> tlc_status run(Body &&body) {
  return guarded(body, [](const char *reason) noexcept {
    try {
      lastError = reason;
    } catch (...) {
      lastError = "out of memory"; // short enough to need none
    }
  });
}

} // namespace

int tlc_version(void) { return TLC_INTERFACE_VERSION; }

const char *tlc_last_error(void) { return lastError.c_str(); }

int tlc_element_of_dlpack(int code, int bits) {
  int element = 0;
  tlc_status status = run([&]() -> Result<void> {
    Result<int> found = calls::elementOfDlpack(code, bits);
    if (!found)
      return found.error();
    element = *found;
    return {};
  });
  return status == TLC_OK ? element : -static_cast<int>(status);
}

tlc_program *tlc_compile(const char *kernel, const char *const *names, const char *const *values, int count,
                         const char *target) {
  tlc_program *program = nullptr;
  run([&]() -> Result<void> {
    Result<std::unique_ptr<tlc_program>> compiled = calls::compile(kernel, names, values, count, target);
    if (!compiled)
      return compiled.error();
    program = compiled->release();
    return {};
  });
  return program;
}

int tlc_workspace(const tlc_program *program, const tlc_tensor *tensors, int tensor_count, size_t *sizes,
                  int capacity) {
  return tlc_rank_workspace(program, 0, 1, tensors, tensor_count, sizes, capacity);
}

int tlc_rank_workspace(const tlc_program *program, int rank, int ranks, const tlc_tensor *tensors,
                       int tensor_count, size_t *sizes, int capacity) {
  int workspaces = 0;
  tlc_status status = run([&]() -> Result<void> {
    Result<int> counted = calls::workspace(program, rank, ranks, tensors, tensor_count, sizes, capacity);
    if (!counted)
      return counted.error();
    workspaces = *counted;
    return {};
  });
  return status == TLC_OK ? workspaces : -static_cast<int>(status);
}

int tlc_launch(const tlc_program *program, const tlc_tensor *tensors, int tensor_count,
               const tlc_scalar *scalars, int scalar_count, void *const *workspaces, int workspace_count,
               void *stream) {
  return run([&] {
    return calls::launch(program, tensors, tensor_count, scalars, scalar_count, workspaces, workspace_count,
                         stream);
  });
}

int tlc_connect(tlc_program *const *programs, int count) {
  return run([&] { return calls::connect(programs, count); });
}

int tlc_launch_ranks(const tlc_rank *ranks, int count, int tensor_count, const tlc_scalar *scalars,
                     int scalar_count, int workspace_count) {
  return run(
      [&] { return calls::launchRanks(ranks, count, tensor_count, scalars, scalar_count, workspace_count); });
}

void tlc_release(tlc_program *program) { delete program; }
