// SPDX-License-Identifier: Apache-2.0
#include "tools/libtlc/DlpackTensor.h"

#include "runtime/support/Dlpack.h"
#include "tools/libtlc/DlpackStructs.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

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
