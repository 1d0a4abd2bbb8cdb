// SPDX-License-Identifier: Apache-2.0
/// \file
/// A run finds a wrong result, and says where.
#include "kernels/harness/KernelRun.h"

#include "runtime/emulator/EmulatorDevice.h"

#include <catch2/catch.hpp>
#include <random>

using namespace tlc;
using namespace tlc::kernels;

namespace {

/// A registered kernel with another opinion of what it computes.
class MisjudgedKernel final : public Kernel {
public:
  MisjudgedKernel(const Kernel &kernel, double offset)
      : Kernel(kernel.name(), kernel.summary(), {kernel.parameters().begin(), kernel.parameters().end()}),
        kernel(kernel), offset(offset) {}
  dsl::Program build(const Parameters &values, const Target &target,
                     const dsl::TraceOptions &options) const override {
    return kernel.build(values, target, options);
  }
  std::vector<TensorSpec> tensors(const Parameters &values) const override { return kernel.tensors(values); }
  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    return
        [this, right = kernel.reference(values, inputs)](size_t output, std::span<const int64_t> elements) {
          ++references;
          Result<std::vector<double>> expected = right(output, elements);
          if (expected && !expected->empty())
            expected->back() += offset;
          return expected;
        };
  }
  Tolerance tolerance(const Parameters &values, size_t output) const override {
    return kernel.tolerance(values, output);
  }
  double flops(const Parameters &values) const override { return kernel.flops(values); }
  Definitions emulatorSizes() const override { return {}; }
  std::vector<Definitions> suite() const override { return {}; }

  mutable int references = 0; ///< how often one was computed

private:
  const Kernel &kernel;
  double offset;
};

Result<Verdict> verify(Request request, double offset, const ProblemOptions &options = {}) {
  Library library;
  CompileLog log;
  auto artifact = library.compile(request, {}, log);
  REQUIRE(artifact);
  MisjudgedKernel misjudged(*request.kernel, offset);
  request.kernel = &misjudged;
  std::unique_ptr<Device> device = createEmulatorDevice();
  Result<KernelRun> run = KernelRun::create(*device, request, *artifact, options);
  REQUIRE(run);
  return run->verify();
}

Request softmax(const char *rows, const char *columns) {
  Result<Request> request = Request::parse("softmax", {{"rows", rows}, {"columns", columns}});
  REQUIRE(request);
  return std::move(*request);
}

} // namespace

TEST_CASE("a right result has no complaint", "[library][run]") {
  Result<Verdict> verdict = verify(softmax("5", "33"), 0);
  REQUIRE(verdict);
  CHECK(verdict->correct());
  CHECK(verdict->elements == 5 * 33);
  CHECK(verdict->compared == verdict->elements);
  CHECK(verdict->largestError <= verdict->limit);
}

TEST_CASE("an element that is off is named with its value", "[library][run]") {
  Result<Verdict> verdict = verify(softmax("5", "33"), 1.5);
  REQUIRE(verdict);
  CHECK_FALSE(verdict->correct());
  CHECK(verdict->largestError > verdict->limit);
  CHECK_THAT(verdict->complaint, Catch::StartsWith("element [4, 32] of 'Y' is ") &&
                                     Catch::Contains("was expected: the error") &&
                                     Catch::EndsWith("; the other 164 compared elements are right"));
}

TEST_CASE("of a large result a sample is compared, its last element always", "[library][run]") {
  Result<Verdict> verdict = verify(softmax("64", "512"), 1.5, {.referenceOperations = 1000});
  REQUIRE(verdict);
  CHECK_FALSE(verdict->correct());
  CHECK(verdict->compared < verdict->elements / 4);
  CHECK_THAT(verdict->complaint, Catch::StartsWith("element [63, 511] of 'Y' is "));
}

TEST_CASE("the aligned variant cannot be had for tensors that are not", "[library][run]") {
  Result<Request> request = Request::parse("gemm", {{"m", "64"}, {"n", "64"}, {"k", "64"}});
  REQUIRE(request);
  Library library;
  CompileLog log;
  auto artifact = library.compile(*request, {}, log);
  REQUIRE(artifact);
  std::unique_ptr<Device> device = createEmulatorDevice();
  Result<KernelRun> run =
      KernelRun::create(*device, *request, *artifact, {.placement = {.rowPadding = 1}}, Alignment::aligned);
  REQUIRE_FALSE(run);
  CHECK(run.error().message ==
        "expected tensors aligned to 16 bytes because the aligned variant of 'gemm' was asked "
        "for, but for these the launcher takes the general one");
}

TEST_CASE("runs of one problem share its reference, and each is judged by itself", "[library][run]") {
  Request request = softmax("5", "33");
  Library library;
  CompileLog log;
  auto right = library.compile(request, {}, log);
  REQUIRE(right);
  auto wrong = std::make_shared<Artifact>(**right);
  for (auto &variant : wrong->variants) {
    const size_t place = variant.ptx.find("ex2.approx");
    REQUIRE(place != std::string::npos);
    variant.ptx.replace(place, 3, "lg2");
  }
  MisjudgedKernel counted(*request.kernel, 0);
  request.kernel = &counted;
  auto problem = Problem::create(request, {.seed = 1});
  REQUIRE(problem);
  for (const auto &[artifact, isRight] :
       {std::pair(*right, true), {std::shared_ptr<const Artifact>(wrong), false}, {*right, true}}) {
    std::unique_ptr<Device> device = createEmulatorDevice();
    Result<KernelRun> run = KernelRun::create(*device, *problem, artifact);
    REQUIRE(run);
    for (int repetition = 0; repetition != 2; ++repetition) {
      Result<Verdict> verdict = run->verify();
      REQUIRE(verdict);
      CHECK(verdict->correct() == isRight);
      CHECK(verdict->compared == 5 * 33);
    }
  }
  CHECK(counted.references == 1);
}
