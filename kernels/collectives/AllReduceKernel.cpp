// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of the all-reduce.
#include "kernels/KernelList.h"
#include "kernels/collectives/Describe.h"
#include "kernels/reference/Reference.h"
#include "runtime/target/Hardware.h"

namespace tlc::kernels {

namespace {

class AllReduceKernel final : public Kernel {
public:
  AllReduceKernel()
      : Kernel("all_reduce", "Y = the sum of X[n] over all ranks, on every rank", [] {
          std::vector<Parameter> parameters = {
              {"n", "elements of X and Y", Parameter::Kind::size, "16777216", 0, maxExtent},
              {"ranks", "devices that run it together", Parameter::Kind::constant, "1", 1, maxRanks}};
          for (Parameter &each : parametersOf(AllReduceConfig()))
            parameters.push_back(std::move(each));
          return parameters;
        }()) {}

  int64_t ranks(const Parameters &values) const override { return values.constant("ranks"); }

  dsl::Program build(const Parameters &values, const Target &,
                     const dsl::TraceOptions &options) const override {
    AllReduceConfig config;
    read(values, config);
    return allReduceProgram(config, options);
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const override {
    std::vector<TensorSpec> all;
    ElementType dtype = values.element("dtype");
    for (int64_t rank = 0; rank < ranks(values); ++rank) {
      all.push_back({"X", dtype, Access::input, {values.size("n")}});
      all.push_back({"Y", dtype, Access::output, {values.size("n")}});
    }
    return all;
  }

  Reference reference(const Parameters &, std::span<const std::vector<double>> inputs) const override {
    return [=](size_t, std::span<const int64_t> elements) { return referenceSum(inputs, elements); };
  }

  Tolerance tolerance(const Parameters &values, size_t) const override {
    constexpr double sums = 1e-6; // of at most `maxRanks` numbers below 1, in f32
    ElementType dtype = values.element("dtype");
    return {.limit = roundingError(dtype) + sums, .floor = 1};
  }

  double flops(const Parameters &values) const override {
    return double(values.size("n")) * double(ranks(values)) * double(ranks(values));
  }

  Definitions emulatorSizes() const override { return {{"n", "20000"}}; }

  std::vector<Definitions> suite() const override {
    return {{{"n", "65536"}}, {{"n", "1048576"}}, {{"n", "67108864"}}};
  }
};

} // namespace

const Kernel &allReduceKernel() {
  static const AllReduceKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
