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
  auto ask = [&]<class First, class Second>(CUpointer_attribute first, First &one, CUpointer_attribute second,
                                            Second &other) {
    std::array attributes = {first, second};
    std::array<void *, 2> values = {static_cast<void *>(&one), static_cast<void *>(&other)};
    return cuda->driver.cuPointerGetAttributes(unsigned(attributes.size()), attributes.data(), values.data(),
                                               address) == CUDA_SUCCESS;
  };
  unsigned type = 0, managed = 0;
  int owner = 0;
  const bool isKnown =
      ask(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, type, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, owner);
  if (isKnown && type == CU_MEMORYTYPE_DEVICE && owner == cuda->ordinal)
    return {};
  CUcontext context = nullptr; // of a mapping by virtual memory management: none
  const bool isMore =
      isKnown && ask(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed, CU_POINTER_ATTRIBUTE_CONTEXT, context);
  auto fail = [&](std::string_view what) -> Result<void> {
    return Error{.message = fmt::format("argument '{}': expected memory of GPU {}, but {:#x} is {}",
                                        argument.name, cuda->ordinal, address, what)};
  };
  if (isMore && managed)
    return {};
  if (!isMore || type != CU_MEMORYTYPE_DEVICE)
    return fail("an address of the host");
  // Memory of another GPU in this context is another process's, which the driver has mapped here because this
  // GPU reaches it. In that GPU's context it is this process's, of which the driver says in any case that it
  // is accessible.
  auto isMapped = [&] { return context ? context == cuda->context : isAccessible(address); };
  if (!reaches(owner) && !isMapped())
    return fail(fmt::format("memory of GPU {}, to which peer access is not enabled", owner));
  return {};
}

bool MemoryCheck::reaches(int ordinal) const {
  if (ordinal == cuda->ordinal)
    return true;
  const std::lock_guard lock(mutex);
  return peers.contains(ordinal);
}

/// Whether a mapping by virtual memory management, whose access may change at any time, is one of this GPU.
bool MemoryCheck::isAccessible(CUdeviceptr address) const {
  unsigned access = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
  return cuda->driver.cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address) ==
             CUDA_SUCCESS &&
         access == CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
}
