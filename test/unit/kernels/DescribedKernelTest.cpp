// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a kernel of a file keeps of it.
#include "kernels/file/DescribedKernel.h"

#include "compiler/dsl/Program.h"
#include "compiler/dsl/Scope.h"
#include "kernels/file/Transport.h"
#include "kernels/library/Library.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

using namespace tlc;
using namespace tlc::kernels;

namespace {

/// Y = rate X, where each element of X is the rate, too.
class ScaleSource final : public KernelSource {
public:
  Result<std::string> trace(size_t, const ParameterTexts &, const dsl::TraceOptions &options) const override {
    ++traces;
    return packTrace({0, packProgram(dsl::Program::trace("scale", options, [](dsl::Scope &k) {
                        dsl::Scalar rate = k.scalar("rate", ElementType::f32);
                        dsl::Global X = k.input("X", ElementType::f32, {64});
                        dsl::Global Y = k.output("Y", ElementType::f32, {64});
                        k.grid(1);
                        dsl::Fragment x = k.fragment(ElementType::f32, {64});
                        copy(X.tile({0}, {64}), x);
                        copy(x * rate, Y.tile({0}, {64}));
                      }))});
  }
  Result<std::string> numbers(size_t, const ParameterTexts &values,
                              const NumbersQuestion &question) const override {
    const std::vector<double> numbers(question.elements.size(), std::stod(values.front().second));
    std::string bytes(numbers.size() * sizeof(double), '\0');
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes;
  }

  mutable int traces = 0;
};

} // namespace

TEST_CASE("a launch with other numbers has other contents, of the same program", "[file]") {
  const ScaleSource source;
  const auto kernels = kernelsOf(source, {{.name = "scale",
                                           .summary = "Y = rate X",
                                           .position = "scale.cpp:3:5",
                                           .parameters = {{.name = "rate",
                                                           .description = "",
                                                           .kind = Parameter::Kind::scalar,
                                                           .least = std::numeric_limits<int64_t>::min(),
                                                           .most = std::numeric_limits<int64_t>::max(),
                                                           .element = ElementType::f32}},
                                           .contents = {"X"}}});
  for (const double rate : {0.5, 2.0}) {
    auto request = Request::parseLaunch(*kernels.front(), {{"rate", std::to_string(rate)}});
    REQUIRE(request);
    const std::vector<TensorSpec> tensors = kernels.front()->tensors(request->values);
    REQUIRE(tensors.size() == 2);
    REQUIRE(tensors.front().derived);
    const std::vector<std::vector<double>> none(2);
    const Result<std::vector<double>> contents = tensors.front().derived(none);
    REQUIRE(contents);
    CHECK(*contents == std::vector<double>(64, rate));
  }
  CHECK(source.traces == 1);
}

TEST_CASE("a scalar of floats without limits takes each number of its type", "[file]") {
  Parameter rate = {.name = "rate",
                    .description = "",
                    .kind = Parameter::Kind::scalar,
                    .least = std::numeric_limits<int64_t>::min(),
                    .most = std::numeric_limits<int64_t>::max(),
                    .element = ElementType::f32};
  CHECK(rate.check("scale", "1e30"));
  CHECK(rate.check("scale", "-3e38"));
  CHECK_FALSE(rate.check("scale", "1e39"));
  for (const char *text : {"inf", "-inf", "nan"})
    CHECK_FALSE(rate.check("scale", text));
  rate.least = 0;
  CHECK(rate.check("scale", "1e30"));
  CHECK_FALSE(rate.check("scale", "-1"));
}
