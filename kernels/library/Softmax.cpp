// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks the tensors of a softmax, chooses the program, and launches it.
#include "kernels/library/Softmax.h"

#include "kernels/softmax/Describe.h"
#include "runtime/device/TensorGeometry.h"
#include "runtime/target/Hardware.h"

using namespace tlc;
using kernels::Programs;
using kernels::Schema;

Result<void> softmax::normalize(Programs &programs, Stream stream, const TensorView &x, const TensorView &y,
                                RowLengths lengths) {
  constexpr std::string_view callName = "softmax::normalize";
  Schema schema(callName);
  schema.add("x", x.element, Access::input, {"rows", "columns"}, x);
  schema.add("y", x.element, Access::output, {"rows", "columns"}, y);
  if (Result<void> valid = schema.check(); !valid)
    return valid;
  if (Result<void> valid = schema.checkMemory(); !valid)
    return valid;
  bool isInPlace = x.data == y.data && effectiveStride(x, 0) == effectiveStride(y, 0);
  if (Result<void> apart = schema.checkApart(); !isInPlace && !apart)
    return apart;
  Result<const Target *> target = programs.target();
  if (!target)
    return target.error();
  int64_t alignment = maxSharedVectorBytes;
  while (!isAligned(x, alignment) || !isAligned(y, alignment))
    alignment /= 2;
  std::optional<bool> isForLength; // where rows are unaligned
  if (lengths == RowLengths::any)
    isForLength = false;
  kernels::SoftmaxConfig config = kernels::chooseSoftmaxConfig({.rows = schema.extent("rows"),
                                                                .columns = schema.extent("columns"),
                                                                .dtype = x.element,
                                                                .alignment = alignment,
                                                                .isForLength = isForLength},
                                                               **target);
  return programs.launch(kernels::callProgram(callName, config, [config] { return softmaxProgram(config); }),
                         schema, {}, stream);
}
