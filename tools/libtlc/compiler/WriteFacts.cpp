// SPDX-License-Identifier: Apache-2.0
/// \file
/// Part of the build: asks libtlc_compiler.so for what libtlc knows without it.
///
///     tlc_write_facts libtlc_compiler.so CompilerFacts.cpp
#include "runtime/cache/BuildId.h"
#include "tools/libtlc/Compiler.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <string_view>

using namespace tlc;

namespace {

[[noreturn]] void fail(std::string_view what) {
  fmt::print(stderr, "tlc_write_facts: {}\n", what);
  std::exit(1);
}

template <class T> T valueOf(calls::Answer<T> answer) {
  if (!answer.result || !*answer.result)
    fail(answer.result ? answer.result->error().message : answer.thrown);
  return **answer.result;
}
void require(const calls::Answer<void> &answer) {
  if (!answer.result || !*answer.result)
    fail(answer.result ? answer.result->error().message : answer.thrown);
}

std::string literalOf(std::string_view text) {
  std::string literal = "\"";
  for (const char each : text)
    if (each == '"' || each == '\\' || each == '?' || each < ' ' || each > '~')
      literal += fmt::format("\\{:03o}", static_cast<unsigned char>(each));
    else
      literal += each;
  return literal + '"';
}

std::string textOf(const calls::Compiler &compiler, std::string_view build) {
  std::string parameters, kernels;
  int first = 0;
  const int count = valueOf(compiler.countKernels(nullptr));
  for (int kernel = 0; kernel != count; ++kernel) {
    tlc_kernel_info info = {sizeof(info), nullptr, nullptr, 0};
    require(compiler.describeKernel(nullptr, kernel, &info));
    kernels += fmt::format("    {{{}, {}, std::span(parameters).subspan({}, {})}},\n", literalOf(info.name),
                           literalOf(info.summary), first, info.parameter_count);
    first += info.parameter_count;
    for (int parameter = 0; parameter != info.parameter_count; ++parameter) {
      tlc_parameter_info row = {sizeof(row), nullptr, nullptr, nullptr, nullptr};
      require(compiler.describeParameter(nullptr, kernel, parameter, &row));
      parameters += fmt::format("    {{{}, {}, {}, {}}},\n", literalOf(row.name), literalOf(row.allowed),
                                literalOf(row.fallback), literalOf(row.description));
    }
  }
  return fmt::format(R"(#include "tools/libtlc/CompilerFacts.h"

using namespace tlc::calls;

namespace {{
constexpr ParameterFacts parameters[] = {{
{}}};
constexpr KernelFacts kernels[] = {{
{}}};
}} // namespace

const char *const tlc::calls::compilerBuild = "{}";
constinit const std::span<const KernelFacts> tlc::calls::ourKernels = kernels;
)",
                     parameters, kernels, build);
}

} // namespace

int main(int count, char **arguments) {
  if (count != 3)
    fail("expected libtlc_compiler.so and the file to write");
  const Result<std::string> build = buildIdOfFile(arguments[1]);
  if (!build || build->empty())
    fail(build ? "expected a library with a build id" : build.error().message);
  void *library = ::dlopen(arguments[1], RTLD_LAZY | RTLD_LOCAL);
  if (!library)
    fail(::dlerror());
  const auto functions = reinterpret_cast<decltype(&tlc_compiler_of)>(::dlsym(library, "tlc_compiler_of"));
  const calls::Compiler *compiler = functions ? functions(build->c_str()) : nullptr;
  if (!compiler)
    fail("expected the functions of that build");
  std::ofstream file(arguments[2]);
  if (!(file << textOf(*compiler, *build) << std::flush))
    fail(fmt::format("cannot write '{}'", arguments[2]));
  return 0;
}
