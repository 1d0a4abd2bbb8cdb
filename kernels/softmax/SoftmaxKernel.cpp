// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of the softmax.
#include "kernels/KernelList.h"
#include "kernels/reference/Reference.h"
#include "kernels/softmax/Describe.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace tlc::kernels {

namespace {

Parameter lengthParameter() {
  Parameter length =
      describedChoice("length",
                      "lengths of rows that the program takes: any, or this one, which makes it "
                      "faster where rows are unaligned; auto: one there, any otherwise",
                      {"auto", "any", "one"});
  length.fallback = length.choices.front();
  return length;
}

Parameter alignmentParameter() {
  Parameter alignment = describedInteger(
      "alignment", "bytes of which addresses and strides are multiples; auto: as of rows without gaps", 1,
      16);
  alignment.fallback = "auto";
  return alignment;
}

std::vector<Parameter> allParameters() {
  std::vector<Parameter> list = {{"rows", "rows of X and Y", Parameter::Kind::size, "4096", 0, maxExtent},
                                 {"columns", "their length", Parameter::Kind::size, "4096", 0, maxExtent},
                                 lengthParameter(),
                                 alignmentParameter()};
  std::ranges::move(parametersOf(SoftmaxConfig()), std::back_inserter(list));
  return list;
}

class SoftmaxKernel final : public Kernel {
public:
  SoftmaxKernel()
      : Kernel("softmax", "Y = softmax of X[rows,columns] along rows; a row of -inf alone gives zeros",
               allParameters()) {}

  std::string conflict(const Parameters &values) const override {
    const PiecesOfTile all = piecesOfTile(values.size("columns"), values.integer("warps"));
    const std::optional<int64_t> piece = values.integer("piece");
    return piece && *piece < all.least
               ? fmt::format(
                     "expected a piece of at least {} columns because a tile of {} has at most {} pieces, "
                     "but got piece = {}",
                     all.least, all.columns, all.most, *piece)
               : "";
  }

  dsl::Program build(const Parameters &values, const Target &target,
                     const dsl::TraceOptions &options) const override {
    SoftmaxProblem problem = {.rows = values.size("rows"),
                              .columns = values.size("columns"),
                              .dtype = values.element("dtype"),
                              .alignment = values.integer("alignment").value_or(maxSharedVectorBytes)};
    if (std::string_view length = values.choice("length"); length != "auto")
      problem.isForLength = length == "one";
    SoftmaxConfig config = chooseSoftmaxConfig(problem, target);
    config.piece = 0;
    read(values, config); // what is given
    fitTile(config, problem.columns);
    return softmaxProgram(config, options);
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const override {
    std::vector<int64_t> shape = {values.size("rows"), values.size("columns")};
    ElementType dtype = values.element("dtype");
    return {{"X", dtype, Access::input, shape, -8, 8}, {"Y", dtype, Access::output, shape}};
  }

  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    int64_t columns = values.size("columns");
    return [=](size_t, std::span<const int64_t> elements) {
      return referenceSoftmax(columns, inputs[0], elements);
    };
  }

  Tolerance tolerance(const Parameters &values, size_t) const override {
    constexpr double sums = 2e-5; // approximate exponentials of |x| <= 16, and their sum in f32
    double mean = 1 / double(std::max<int64_t>(values.size("columns"), 1));
    ElementType dtype = values.element("dtype");
    return {.limit = roundingError(dtype) + sums, .floor = std::max(mean, smallestNormal(dtype))};
  }

  double flops(const Parameters &values) const override {
    constexpr double perElement = 5; // maximum, subtraction, exponential, sum, division
    return perElement * double(values.size("rows")) * double(values.size("columns"));
  }

  Definitions emulatorSizes() const override { return {{"rows", "64"}}; }

  std::vector<Definitions> suite() const override {
    auto shape = [](const char *rows, const char *columns) {
      return Definitions{{"rows", rows}, {"columns", columns}};
    };
    return {shape("65536", "128"), shape("16384", "1024"), shape("8192", "4096"), shape("4096", "8192"),
            shape("1024", "50257")};
  }
};

} // namespace

const Kernel &softmaxKernel() {
  static const SoftmaxKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
