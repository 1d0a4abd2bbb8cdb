// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every value that `tlc list` names for a parameter makes a program or a message.
#include "kernels/Registry.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;

namespace {

/// The values that are listed; of more numbers than `few` those at both ends and some between.
std::vector<std::string> listedValues(const Parameter &parameter, int64_t few) {
  if (parameter.kind == Parameter::Kind::choice)
    return parameter.choices;
  const int64_t first = (parameter.least + parameter.multipleOf - 1) / parameter.multipleOf;
  const int64_t last = parameter.most / parameter.multipleOf, count = last - first + 1;
  std::vector<std::string> values;
  for (int64_t i = first; i <= last; i += count <= few || i < first + 2 || i + 2 > last ? 1 : count / 4)
    values.push_back(std::to_string(i * parameter.multipleOf));
  const std::string allowed = parameter.allowed();
  for (const std::string word : {"auto", "none"})
    if (allowed.ends_with(", or " + word))
      values.push_back(word);
  return values;
}

bool hasParameter(const Kernel &kernel, std::string_view name) {
  return std::ranges::find(kernel.parameters(), name, &Parameter::name) != kernel.parameters().end();
}

/// Asks for all that the registry knows of a kernel with these values, but what takes as long as the kernel
/// does work.
void useAll(const Kernel &kernel, const Parameters &values) {
  dsl::Program program = kernel.build(values, *findTarget("sm_90a"));
  CHECK((program.ok() || !program.errorText().empty()));
  size_t outputs = 0;
  for (const TensorSpec &tensor : kernel.tensors(values))
    outputs += tensor.access != Access::input;
  CHECK(outputs != 0);
  for (size_t i = 0; i != outputs; ++i)
    CHECK(kernel.tolerance(values, i).limit >= 0);
  CHECK(kernel.bytes(values) >= 0);
}

/// Every parameter with every listed value, beside `context`.
void tryAll(const Kernel &kernel, const Definitions &context, int64_t few) {
  for (const Parameter &parameter : kernel.parameters())
    for (const std::string &value : listedValues(parameter, few)) {
      Definitions definitions = context;
      definitions[parameter.name] = value;
      INFO(kernel.name() << ": " << parameter.name << "=" << value);
      Result<Parameters> values = kernel.parse(definitions);
      if (values)
        useAll(kernel, *values);
      else // allowed by itself
        CHECK_THAT(values.error().message, Catch::StartsWith("kernel '"));
    }
}

} // namespace

TEST_CASE("every listed value of every parameter makes a program or a message", "[kernels][values]") {
  for (const Kernel *kernel : allKernels())
    tryAll(*kernel, {}, 6);
}

namespace {
void tryBesideContexts(int64_t few) {
  const std::pair<std::string, std::string> contexts[] = {
      {"kv", "paged"}, {"mask", "block_causal"}, {"form", "plain"}, {"values", "keys"}, {"varlen", "5,7"}};
  for (const Kernel *kernel : allKernels())
    for (const auto &[name, value] : contexts)
      if (hasParameter(*kernel, name))
        tryAll(*kernel, {{name, value}}, few);
}
} // namespace

TEST_CASE("so does it beside what gives other parameters a meaning", "[kernels][values]") {
  tryBesideContexts(6);
}

// Of tools/test.sh long. Without [values] the filter of kernels_quick would run it, hidden or not.
TEST_CASE("so does every number, also beside what gives other parameters a meaning", "[values][.long]") {
  for (const Kernel *kernel : allKernels())
    tryAll(*kernel, {}, 40);
  tryBesideContexts(40);
}

TEST_CASE("what a program is made for is not left to the heuristic", "[kernels][values]") {
  const std::pair<const char *, const char *> constants[] = {
      {"attention_fwd", "d"},         {"attention_fwd", "block"}, {"attention_fwd_fp8", "d"},
      {"attention_fwd_fp8", "block"}, {"attention_decode", "d"},  {"attention_decode", "sq"},
      {"attention_decode", "page"}};
  for (auto [kernel, parameter] : constants) {
    Result<Parameters> values = (*findKernel(kernel))->parse({{parameter, "auto"}});
    REQUIRE_FALSE(values);
    CHECK_THAT(values.error().message, Catch::StartsWith("expected parameter '" + std::string(parameter) +
                                                         "' of kernel '" + kernel + "'") &&
                                           Catch::EndsWith(", but got 'auto'"));
    CHECK(values.error().message.find("or auto") == std::string::npos);
  }
}

TEST_CASE("mistakes repeat the beginning of a long text", "[kernels][values]") {
  const std::string longText(100'000, 'x');
  CHECK(findKernel(longText).error().message.size() < 500);
  const Kernel &gemm = **findKernel("gemm");
  CHECK(gemm.parse({{longText, "1"}}).error().message.size() < 500);
  CHECK(gemm.parse({{"m", longText}}).error().message.size() < 450);
}
