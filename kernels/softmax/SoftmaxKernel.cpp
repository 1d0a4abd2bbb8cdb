// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of the softmax.
#include "kernels/softmax/SoftmaxKernel.h"

#include "kernels/reference/Reference.h"

#include <algorithm>

namespace tlc::kernels {

SoftmaxKernel::SoftmaxKernel()
    : declared{
          {"rows", "rows of X and Y", Parameter::Kind::size, "4096", 0, maxExtent},
          {"columns", "their length", Parameter::Kind::size, "4096", 0, maxExtent},
          {.name = "dtype",
           .description = "type of X and Y",
           .kind = Parameter::Kind::choice,
           .fallback = "bf16",
           .choices = {"f32", "f16", "bf16"}},
      } {}

dsl::Program SoftmaxKernel::build(const Parameters &values, const dsl::TraceOptions &options) const {
  return softmaxProgram(chooseSoftmaxConfig(values.size("columns"), values.element("dtype")), options);
}

std::vector<TensorSpec> SoftmaxKernel::tensors(const Parameters &values) const {
  std::vector<int64_t> shape = {values.size("rows"), values.size("columns")};
  ElementType dtype = values.element("dtype");
  return {{"X", dtype, Access::input, shape, -8, 8}, {"Y", dtype, Access::output, shape}};
}

std::vector<double> SoftmaxKernel::reference(const Parameters &values,
                                             std::span<const std::vector<double>> inputs, size_t,
                                             std::span<const int64_t> elements) const {
  return referenceSoftmax(values.size("columns"), inputs[0], elements);
}

Tolerance SoftmaxKernel::tolerance(const Parameters &values, size_t) const {
  constexpr double sums = 2e-5; // approximate exponentials of |x| <= 16, and their sum in f32
  double mean = 1 / double(std::max<int64_t>(values.size("columns"), 1));
  ElementType dtype = values.element("dtype");
  return {.limit = roundingError(dtype) + sums, .floor = std::max(mean, smallestNormal(dtype))};
}

double SoftmaxKernel::flops(const Parameters &values) const {
  constexpr double perElement = 5; // maximum, subtraction, exponential, sum, division
  return perElement * double(values.size("rows")) * double(values.size("columns"));
}

std::vector<Definitions> SoftmaxKernel::suite() const {
  auto shape = [](const char *rows, const char *columns) {
    return Definitions{{"rows", rows}, {"columns", columns}};
  };
  return {shape("65536", "128"), shape("16384", "1024"), shape("8192", "4096"), shape("4096", "8192"),
          shape("1024", "50257")};
}

} // namespace tlc::kernels
