// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/MemoryCheck.h"

#include "runtime/device/TensorGeometry.h"

#include <array>
#include <fmt/format.h>

using namespace tlc;

void MemoryCheck::addPeer(int ordinal) {
  const std::lock_guard lock(mutex);
  peers.insert(ordinal);
}

Result<void> MemoryCheck::check(const TensorArgument &argument, const TensorView &tensor) const {
  if (isEmpty(tensor))
    return {};
  for (void *address : addressesOf(tensor))
    if (Result<void> valid = check(argument, reinterpret_cast<CUdeviceptr>(address)); !valid)
      return valid;
  return {};
}

Result<void> MemoryCheck::check(const TensorArgument &argument, CUdeviceptr address) const {
  unsigned type = 0, managed = 0;
  int owner = 0;
  std::array attributes = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                           CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  std::array<void *, 3> values = {&type, &managed, &owner};
  const CUresult status = cuda->driver.cuPointerGetAttributes(unsigned(attributes.size()), attributes.data(),
                                                              values.data(), address);
  auto fail = [&](std::string_view what) -> Result<void> {
    return Error{.message = fmt::format("argument '{}': expected memory of GPU {}, but {:#x} is {}",
                                        argument.name, cuda->ordinal, address, what)};
  };
  if (status == CUDA_SUCCESS && managed)
    return {};
  if (status != CUDA_SUCCESS || type != CU_MEMORYTYPE_DEVICE)
    return fail("an address of the host");
  if (!reaches(owner) && !isMapped(address))
    return fail(fmt::format("memory of GPU {}, to which peer access is not enabled", owner));
  return {};
}

bool MemoryCheck::reaches(int ordinal) const {
  if (ordinal == cuda->ordinal)
    return true;
  const std::lock_guard lock(mutex);
  return peers.contains(ordinal);
}

/// Whether kernels of this GPU reach it, as memory of another process or another library's mapping. What this
/// process has allocated on another GPU says that it is accessible, too, but belongs to that GPU's context.
bool MemoryCheck::isMapped(CUdeviceptr address) const {
  CUcontext owner = nullptr; // of a mapping by virtual memory management: none
  if (cuda->driver.cuPointerGetAttribute(static_cast<void *>(&owner), CU_POINTER_ATTRIBUTE_CONTEXT,
                                         address) == CUDA_SUCCESS &&
      owner && owner != cuda->context)
    return false;
  unsigned access = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
  return cuda->driver.cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address) ==
             CUDA_SUCCESS &&
         access == CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
}
