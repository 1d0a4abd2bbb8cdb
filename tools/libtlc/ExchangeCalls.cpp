// SPDX-License-Identifier: Apache-2.0
/// \file
/// The part of the C interface that takes tensors of other libraries, and programs as bytes.
#include "runtime/artifact/Serialize.h"
#include "runtime/support/Dlpack.h"
#include "tools/libtlc/Calls.h"
#include "tools/libtlc/DlpackStructs.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <span>
#include <vector>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

} // namespace

Result<int> calls::elementOfDlpack(int code, int bits) {
  if (const std::optional<ElementType> element = tlc::elementOfDlpack(code, bits))
    return static_cast<int>(*element);
  return invalid(fmt::format("expected a DLPack type of tensors, but got code {} with {} bits", code, bits));
}

Result<void> calls::tensorOfDlpack(const void *given, tlc_tensor *tensor, int64_t *strides) {
  const auto *source = static_cast<const dlpack::Tensor *>(given);
  if (!source || !tensor || !strides)
    return invalid("expected a DLTensor, a tlc_tensor and room for strides, but got a null pointer");
  if (source->ndim < 0 || source->ndim > TLC_MOST_AXES)
    return invalid(
        fmt::format("expected a DLTensor of 0 to {} axes, but got {}", TLC_MOST_AXES, source->ndim));
  if (source->ndim > 0 && !source->shape)
    return invalid("expected a DLTensor with a shape, but got a null pointer");
  if (source->data && source->byte_offset > UINTPTR_MAX - reinterpret_cast<uintptr_t>(source->data))
    return invalid(
        fmt::format("expected a DLTensor in the address space, but its offset of {} bytes leaves it",
                    source->byte_offset));
  if (source->dtype.lanes != 1)
    return invalid(fmt::format("expected a DLTensor of one lane, but got {}", source->dtype.lanes));
  Result<int> element = elementOfDlpack(source->dtype.code, source->dtype.bits);
  if (!element)
    return element.error();
  if (!source->strides) {
    int64_t stride = 1;
    for (int axis = source->ndim; axis-- > 0;) {
      strides[axis] = stride;
      if (__builtin_mul_overflow(stride, std::max<int64_t>(source->shape[axis], 1), &stride))
        return invalid("expected a DLTensor of less than 2^63 elements");
    }
  }
  *tensor = {source->address(), *element, source->ndim, source->shape,
             source->strides ? source->strides : strides};
  return {};
}

Result<void> calls::save(const tlc_program *program, void *bytes, size_t capacity, size_t *size) {
  if (!program)
    return invalid("expected a program, but got a null pointer");
  if (!size || (capacity > 0 && !bytes))
    return invalid("expected room for bytes and for their number, but got a null pointer");
  const std::vector<std::byte> all = serialize(program->loaded->artifact());
  if (const size_t count = std::min(all.size(), capacity); count > 0)
    std::memcpy(bytes, all.data(), count);
  *size = all.size();
  return {};
}

Result<std::unique_ptr<tlc_program>> calls::load(tlc_device *device, const void *bytes, size_t size) {
  if (!bytes)
    return invalid("expected bytes of a program, but got a null pointer");
  Result<Artifact> artifact = deserialize(std::span(static_cast<const std::byte *>(bytes), size));
  if (!artifact)
    return artifact.error();
  Result<std::shared_ptr<Device>> home = deviceOr(device);
  if (!home)
    return home.error();
  Result<std::shared_ptr<const LoadedProgram>> loaded = (*home)->load(std::move(*artifact));
  if (!loaded)
    return loaded.error();
  return std::make_unique<tlc_program>(std::make_shared<Loaded>(*home, std::move(*loaded)));
}
