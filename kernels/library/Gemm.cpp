// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks the tensors of a product, chooses the program, and launches it.
#include "kernels/library/Gemm.h"

#include "kernels/gemm/Describe.h"
#include "runtime/device/TensorGeometry.h"

using namespace tlc;
using namespace tlc::gemm;
using kernels::CallProgram;
using kernels::Schema;

namespace {

constexpr std::string_view callName = "gemm::multiply";

Result<Schema> checkCall(const GemmTensors &tensors, const GemmOptions &options) {
  bool isTn = options.layout == GemmLayout::tn;
  Schema schema(callName);
  ElementType element = tensors.a.element;
  schema.add("a", element, Access::input, {"m", "k"}, tensors.a);
  schema.add("b", element, Access::input, {isTn ? "n" : "k", isTn ? "k" : "n"}, tensors.b);
  schema.add("c", tensors.c.element, Access::output, {"m", "n"}, tensors.c);
  if (Result<void> valid = schema.check(); !valid)
    return valid.error();
  return schema;
}

/// Bytes that its rows begin at multiples of.
int64_t alignmentOf(const TensorView &view) {
  int64_t bytes = kernels::GemmAlignment::ofTma;
  while (bytes > bytesOf(view.element, 1) && !isAligned(view, bytes))
    bytes /= 2;
  return bytes;
}

/// By its strides alone: a program, and its workspace, can be chosen before there is memory.
int64_t alignmentOfStrides(TensorView view) {
  view.data = nullptr;
  return alignmentOf(view);
}

Result<CallProgram> programOf(const Programs &programs, const GemmTensors &tensors,
                              const GemmOptions &options, const Schema &schema) {
  Result<const Target *> target = programs.target();
  if (!target)
    return target.error();
  kernels::GemmConfig config =
      kernels::chooseGemmConfig(schema.extent("m"), schema.extent("n"), schema.extent("k"), tensors.a.element,
                                tensors.c.element, options.layout, **target,
                                {.a = alignmentOfStrides(tensors.a),
                                 .b = alignmentOfStrides(tensors.b),
                                 .c = alignmentOfStrides(tensors.c)});
  if (config.rowsOfA != kernels::GemmRows::any)
    config.alignmentOfA = alignmentOf(tensors.a);
  if (config.rowsOfB != kernels::GemmRows::any)
    config.alignmentOfB = alignmentOf(tensors.b);
  return kernels::callProgram(callName, config, [config] { return gemmProgram(config); });
}

} // namespace

Result<size_t> gemm::workspaceSize(Programs &programs, const GemmTensors &tensors,
                                   const GemmOptions &options) {
  Result<Schema> schema = checkCall(tensors, options);
  if (!schema)
    return schema.error();
  Result<CallProgram> program = programOf(programs, tensors, options, *schema);
  if (!program)
    return program.error();
  return programs.workspaceSize(*program, *schema);
}

Result<void> gemm::multiply(Programs &programs, Stream stream, const GemmTensors &tensors,
                            Workspace workspace, const GemmOptions &options) {
  Result<Schema> schema = checkCall(tensors, options);
  if (!schema)
    return schema.error();
  Result<CallProgram> program = programOf(programs, tensors, options, *schema);
  if (!program)
    return program.error();
  if (Result<void> valid = schema->checkMemory(); !valid)
    return valid;
  if (Result<void> apart = schema->checkApart(); !apart)
    return apart;
  return programs.launch(*program, *schema, workspace, stream);
}
