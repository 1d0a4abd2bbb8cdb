// SPDX-License-Identifier: Apache-2.0
/// \file
/// Draws the numbers.
#include "test/differential/Inputs.h"

#include "test/differential/Draw.h"

#include <cmath>

using namespace tlc;
using namespace tlc::differential;

namespace {

std::vector<double> drawValues(const TensorInfo &info, int64_t count, Draw &draw) {
  std::vector<double> values;
  values.reserve(size_t(count));
  for (int64_t number = 0; number < count; ++number) {
    if (info.whole) {
      auto value = double(draw.between(int64_t(info.smallest), int64_t(info.largest)));
      values.push_back(std::ldexp(value, info.exponent));
    } else {
      double part = double(draw.number() >> 11) * 0x1p-53;
      values.push_back(info.smallest + (info.largest - info.smallest) * part);
    }
  }
  return values;
}

} // namespace

Result<std::vector<kernels::HostTensor>> differential::makeTensors(const ProgramTree &tree) {
  std::vector<kernels::HostTensor> tensors;
  const size_t count = tree.tensors.size();
  for (size_t number = 0; number < count * size_t(tree.ranks); ++number) {
    const TensorInfo &info = tree.tensors[number % count];
    if (info.access == Access::workspace)
      continue;
    Result<kernels::HostTensor> tensor = kernels::HostTensor::create(
        info.name, info.element, tree.shapeOf(info),
        {.rowPadding = info.rowPadding, .offset = info.offset, .lastStride = info.step});
    if (!tensor)
      return tensor.error();
    if (hasValues(info.access)) {
      Draw draw(tree.seed * 1000 + number);
      tensor->fill(drawValues(info, tensor->elementCount(), draw));
    }
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}
