// SPDX-License-Identifier: Apache-2.0
/// \file
/// Structs of DLPack (dlpack.h), by their layout in memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tlc::dlpack {

/// Of DLDeviceType.
inline constexpr int32_t cuda = 2;

struct Device {
  int32_t type, id;
  bool operator==(const Device &) const = default;
};

struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
  bool operator==(const DataType &) const = default;
};

/// DLTensor, since version 0.2.
struct Tensor {
  void *data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t *shape;
  int64_t *strides; ///< null: contiguous
  uint64_t byte_offset;

  void *address() const {
    return data ? reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(data) + byte_offset) : nullptr;
  }
};

struct Version {
  uint32_t major, minor;
};

/// DLManagedTensorVersioned, since version 1.0.
struct ManagedTensor {
  Version version;
  void *context;
  void (*deleter)(ManagedTensor *self); ///< may be null
  uint64_t flags;
  Tensor tensor;
};

/// DLPackExchangeAPI, since version 1.2. What returns an int returns 0, or -1 with an exception of Python;
/// the allocator tells its errors by the function that it is given. Pointers may be null.
struct ExchangeApi {
  Version version;
  const ExchangeApi *previous; ///< of an older version
  int (*allocate)(Tensor *prototype, ManagedTensor **made, void *context,
                  void (*tellError)(void *context, const char *kind, const char *message));
  int (*ownTensor)(void *object, ManagedTensor **made);
  int (*objectOf)(ManagedTensor *tensor, void **object);
  int (*describe)(void *object, Tensor *tensor); ///< valid until the object changes
  int (*currentStream)(int32_t deviceType, int32_t device, void **stream);
};

/// The first one of major version 1, or null.
inline const ExchangeApi *findExchangeApi(const void *given) {
  const auto *api = static_cast<const ExchangeApi *>(given);
  while (api && api->version.major != 1)
    api = api->previous;
  return api;
}

} // namespace tlc::dlpack
