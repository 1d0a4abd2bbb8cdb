// SPDX-License-Identifier: Apache-2.0
#include "runtime/aot/Mirror.h"

#include "runtime/device/TensorGeometry.h"

#include <algorithm>

using namespace tlc;
using namespace tlc::aot;

namespace {

/// Of memory of the host.
struct Span {
  uintptr_t begin = 0, end = 0;

  bool has(uintptr_t address) const { return begin <= address && address < end; }
};

Span spanOf(const TensorView &tensor) {
  const auto begin = reinterpret_cast<uintptr_t>(tensor.data);
  return {begin, begin + uintptr_t(*spanBytes(tensor))};
}

/// Those of the tensors, each that overlaps others with them.
std::vector<Span> joinedSpans(std::span<const TensorView> tensors) {
  std::vector<Span> spans, joined;
  for (const TensorView &tensor : tensors)
    if (!isEmpty(tensor))
      spans.push_back(spanOf(tensor));
  std::ranges::sort(spans, {}, &Span::begin);
  for (const Span &span : spans)
    if (joined.empty() || span.begin >= joined.back().end)
      joined.push_back(span);
    else
      joined.back().end = std::max(joined.back().end, span.end);
  return joined;
}

/// Calls `copy(offset, bytes) -> Result<void>` for each run of adjacent elements from axis `axis` on.
template <class Copy>
Result<void> forEachRun(const TensorView &tensor, const Copy &copy, size_t axis = 0, int64_t first = 0) {
  int64_t run = 1;
  bool isRun = true;
  for (size_t inner = tensor.shape.size(); inner-- > axis;)
    if (tensor.shape[inner] != 1) {
      isRun = isRun && tensor.strides[inner] == run;
      run *= tensor.shape[inner];
    }
  if (isRun)
    return copy(size_t(bytesOf(tensor.element, first)), size_t(bytesOf(tensor.element, run)));
  // Elements along a stride of 0 are the same ones.
  const int64_t count = tensor.strides[axis] == 0 ? 1 : tensor.shape[axis];
  for (int64_t i = 0; i != count; ++i)
    if (Result<void> done = forEachRun(tensor, copy, axis + 1, first + i * tensor.strides[axis]); !done)
      return done;
  return {};
}

} // namespace

Mirror::~Mirror() {
  for (void *each : memory)
    (void)device.free(each);
}

Result<void *> Mirror::allocate(size_t bytes) {
  Result<void *> made = device.allocate(bytes);
  if (made)
    memory.push_back(*made);
  return made;
}

Result<void> Mirror::copyIn(const Artifact &artifact, std::span<TensorView> tensors) {
  const std::vector<TensorView> given(tensors.begin(), tensors.end());
  for (const Span &span : joinedSpans(given)) {
    Result<void *> made = allocate(span.end - span.begin + workspaceAlignment);
    if (!made)
      return made.error();
    std::byte *const begin = static_cast<std::byte *>(*made) + span.begin % workspaceAlignment; // as aligned
    for (size_t i = 0; i != tensors.size(); ++i) {
      const uintptr_t address = spanOf(given[i]).begin;
      if (isEmpty(given[i]) || !span.has(address))
        continue;
      std::byte *const to = begin + (address - span.begin);
      tensors[i].data = to;
      const auto *from = static_cast<const std::byte *>(given[i].data);
      const auto copy = [&](size_t offset, size_t bytes) {
        return device.copyToDevice(to + offset, from + offset, bytes);
      };
      if (Result<void> copied = forEachRun(given[i], copy); !copied)
        return copied;
      if (artifact.tensors[i].access != Access::input)
        written.push_back({given[i], to});
    }
  }
  return {};
}

Result<void> Mirror::copyOut() {
  for (const Written &tensor : written) {
    auto *to = static_cast<std::byte *>(tensor.onHost.data);
    const auto copy = [&](size_t offset, size_t bytes) {
      return device.copyToHost(to + offset, tensor.inMemory + offset, bytes);
    };
    if (Result<void> copied = forEachRun(tensor.onHost, copy); !copied)
      return copied;
  }
  return {};
}
