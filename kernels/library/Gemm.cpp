// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks the tensors of a product, chooses the program, and launches it.
#include "kernels/library/Gemm.h"

#include "kernels/gemm/Describe.h"
#include "runtime/device/TensorGeometry.h"

#include <fmt/format.h>

using namespace tlc;
using namespace tlc::gemm;
using kernels::CallProgram;
using kernels::GemmConfig;
using kernels::Schema;
using namespace std::string_view_literals;

namespace {

constexpr std::string_view callName = "gemm::multiply";

GemmConfig problemOf(const GemmTensors &tensors, const GemmOptions &options) {
  using namespace kernels;
  GemmConfig problem{.dtype = tensors.a.element,
                     .dtypeOfB = tensors.b.element != tensors.a.element ? std::optional(tensors.b.element)
                                                                        : std::nullopt,
                     .out = tensors.c.element,
                     .layout = options.layout,
                     .activation = options.activation,
                     .isBatched = tensors.a.shape.size() == 3};
  if (tensors.scaleA || tensors.scaleB)
    problem.scales = options.scalesAreOfRows ? GemmScales::row : GemmScales::tensor;
  if (tensors.bias)
    problem.bias = GemmBias::column;
  if (options.addsToC)
    problem.residual = GemmResidual::inPlace;
  else if (tensors.residual)
    problem.residual = GemmResidual::tensor;
  return problem;
}

Result<Schema> checkCall(const GemmTensors &tensors, const GemmOptions &options) {
  auto invalid = [](std::string_view text) {
    return Error{ErrorKind::invalidArgument, fmt::format("{}: {}", callName, text)};
  };
  if (tensors.scaleA.has_value() != tensors.scaleB.has_value())
    return invalid("expected scales of both factors, or of none");
  if (tensors.residual && options.addsToC)
    return invalid("expected a residual, or c to be added to, but got both");
  GemmConfig problem = problemOf(tensors, options);
  auto images = [&](std::vector<std::string_view> extents) {
    if (problem.isBatched)
      extents.insert(extents.begin(), "batch");
    return extents;
  };
  auto factor = [&](std::string_view count, bool runsAlongK) {
    return images(runsAlongK ? std::vector{count, "k"sv} : std::vector{"k"sv, count});
  };
  Schema schema(callName);
  schema.add("a", tensors.a.element, Access::input, factor("m", problem.aRunsAlongK()), tensors.a);
  schema.add("b", tensors.b.element, Access::input, factor("n", problem.bRunsAlongK()), tensors.b);
  auto scales = [&](std::string_view count) {
    return options.scalesAreOfRows ? images({count}) : std::vector{Schema::unit};
  };
  if (tensors.scaleA) {
    schema.add("scaleA", ElementType::f32, Access::input, scales("m"), *tensors.scaleA);
    schema.add("scaleB", ElementType::f32, Access::input, scales("n"), *tensors.scaleB);
  }
  if (tensors.bias)
    schema.add("bias", ElementType::f32, Access::input, {"n"}, *tensors.bias);
  if (tensors.residual)
    schema.add("residual", tensors.c.element, Access::input, images({"m", "n"}), *tensors.residual);
  schema.add("c", tensors.c.element, options.addsToC ? Access::inout : Access::output, images({"m", "n"}),
             tensors.c);
  if (Result<void> valid = schema.check(); !valid)
    return valid.error();
  if (isPacked(problem.dtype) || isPacked(problem.out)) // of whose elements the heuristic counts no bytes
    return kernels::checkOptions(callName, problem).error();
  if (std::string conflict = gemmConflict(problem); !conflict.empty())
    return invalid(conflict);
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
  kernels::GemmConfig problem = problemOf(tensors, options);
  kernels::GemmConfig config =
      kernels::chooseGemmConfig({.m = schema.extent("m"),
                                 .n = schema.extent("n"),
                                 .k = schema.extent("k"),
                                 .batch = problem.isBatched ? schema.extent("batch") : 1},
                                problem, **target,
                                {.a = alignmentOfStrides(tensors.a),
                                 .b = alignmentOfStrides(tensors.b),
                                 .c = alignmentOfStrides(tensors.c)});
  if (config.rowsOfA != kernels::GemmRows::any)
    config.alignmentOfA = alignmentOf(tensors.a);
  if (config.rowsOfB != kernels::GemmRows::any)
    config.alignmentOfB = alignmentOf(tensors.b);
  return kernels::callProgram(callName, config, [config] { return kernels::gemmProgram(config); });
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
