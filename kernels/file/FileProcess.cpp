// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loads a file's shared object and calls its functions.
#define TLC_READS_KERNEL_FILES
#include "kernels/file/FileProcess.h"

#include "kernels/file/Description.h"
#include "kernels/file/Pack.h"
#include "kernels/file/Transport.h"
#include "kernels/file/kernel.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <cmath>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

using namespace tlc;
using namespace tlc::kernels;

namespace {

Error wrong(std::string message) { return {ErrorKind::execution, std::move(message)}; }

std::string textOf(dsl::Loc place) {
  return fmt::format("{}:{}:{}", place.file_name(), place.line(), place.column());
}

/// A file whose kernels are registered.
struct Loaded {
  const KernelFileInterface *interface = nullptr;
  KernelFile kernels = {};

  /// What `body` throws is what is wrong.
  Result<void> call(std::string_view what, const std::function<void()> &body) const {
    std::string thrown;
    if (interface->guard(body, thrown))
      return {};
    return wrong(fmt::format("{} has thrown: {}", what, thrown));
  }
};

Result<Loaded> load(const ObjectFile &object) {
  const std::string path = fmt::format("/proc/self/fd/{}", object.descriptor);
  // An object for another interface may call functions that are not here: then it is asked for its version
  // alone.
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string missing = library ? "" : ::dlerror();
  if (!library)
    library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!library)
    return wrong(fmt::format("{}: cannot load what it was compiled to: {}", object.source, ::dlerror()));
  Loaded loaded;
  loaded.interface = static_cast<const KernelFileInterface *>(::dlsym(library, "tlc_kernel_file"));
  if (!loaded.interface)
    return wrong(
        fmt::format("{}: expected a file of kernels, but it does not include <tlc/kernel.h>; 'tlc new "
                    "file.cpp' writes one to begin with",
                    object.source));
  if (loaded.interface->version != kernelFileVersion)
    return wrong(
        fmt::format("{}: expected a file compiled for interface {} of tlc, but it is for interface {}: "
                    "<tlc/kernel.h> is of another version than this tlc",
                    object.source, kernelFileVersion, loaded.interface->version));
  if (loaded.interface->layout != tlc::detail::sharedLayout)
    return wrong(
        fmt::format("{}: expected data of the same layout as in tlc, but it differs: <tlc/kernel.h> is "
                    "of another build, or the file is compiled with flags that change the C++ "
                    "library, such as -D_GLIBCXX_DEBUG",
                    object.source));
  if (!missing.empty())
    return wrong(fmt::format("{}: it calls what is neither in it nor in tlc: {}", object.source, missing));
  if (!loaded.interface->registerKernels)
    return wrong(
        fmt::format("{}: expected the function void registerKernels(tlc::KernelFile &), which registers "
                    "the kernels, but it has none",
                    object.source));
  if (Result<void> done = loaded.call(object.source + ": registering its kernels",
                                      [&] { loaded.interface->registerKernels(loaded.kernels); });
      !done)
    return done.error();
  return loaded;
}

constexpr int64_t maxExtent = std::numeric_limits<int32_t>::max(); ///< of a tensor

/// The first mistake in what a kernel says of itself; empty if there is none.
std::string mistakeOf(const KernelEntry &kernel) {
  if (kernel.name.empty())
    return "expected a name for each kernel, but got none";
  if (!kernel.body)
    return fmt::format(
        "expected kernel '{}' to have a program because nothing else says what it does, but got "
        "none; call .program(...)",
        kernel.name);
  std::set<std::string> names;
  for (const Parameter &parameter : kernel.parameters) {
    if (parameter.name.empty() || !names.insert(parameter.name).second)
      return fmt::format("expected each parameter of kernel '{}' to have a name of its own, but got '{}'{}",
                         kernel.name, parameter.name, parameter.name.empty() ? "" : " twice");
    if (parameter.multipleOf < 1 || parameter.least > parameter.most)
      return fmt::format(
          "expected limits of parameter '{}' of kernel '{}' that a number meets, but got {} to {} "
          "in steps of {}",
          parameter.name, kernel.name, parameter.least, parameter.most, parameter.multipleOf);
    if (parameter.kind == Parameter::Kind::size && (parameter.least < 0 || parameter.most > maxExtent))
      return fmt::format(
          "expected limits of size '{}' of kernel '{}' from 0 to {} because it is an extent, but "
          "got {} to {}",
          parameter.name, kernel.name, maxExtent, parameter.least, parameter.most);
    if (Result<void> valid = parameter.check(kernel.name, parameter.fallback); !valid)
      return valid.error().message;
  }
  std::vector<Definitions> given = kernel.suite;
  given.push_back(kernel.emulatorSizes);
  for (const Definitions &definitions : given)
    for (const auto &[name, value] : definitions) {
      auto parameter = std::ranges::find(kernel.parameters, name, &Parameter::name);
      if (parameter == kernel.parameters.end())
        return fmt::format("expected .bench of kernel '{}' to set parameters of it ({}), but got '{}'",
                           kernel.name, fmt::join(names, ", "), excerpt(name));
      if (Result<void> valid = parameter->check(kernel.name, value); !valid)
        return valid.error().message;
    }
  for (const auto &[tensor, range] : kernel.ranges)
    if (!std::isfinite(range.first) || !std::isfinite(range.second) || range.first >= range.second)
      return fmt::format("expected a range of random numbers for '{}' of kernel '{}' that ends above its "
                         "beginning, but got [{}, {})",
                         tensor, kernel.name, range.first, range.second);
  for (const auto &[tensor, tolerance] : kernel.tolerances)
    if (!(tolerance.limit >= 0) || !(tolerance.floor >= 0))
      return fmt::format(
          "expected a tolerance for '{}' of kernel '{}' of numbers from 0 on, but got limit {} and "
          "floor {}",
          tensor, kernel.name, tolerance.limit, tolerance.floor);
  return {};
}

template <class Function> std::set<std::string> namesOf(const std::map<std::string, Function> &functions) {
  std::set<std::string> names;
  for (const auto &[name, function] : functions)
    names.insert(name);
  return names;
}

} // namespace

Result<std::string> kernels::describeKernels(const ObjectFile &object) {
  Result<Loaded> loaded = load(object);
  if (!loaded)
    return loaded.error();
  if (loaded->kernels.entries.empty())
    return wrong(fmt::format("{}: expected registerKernels to register a kernel, but it registers none; call "
                             "file.kernel(...)",
                             object.source));
  std::map<std::string, dsl::Loc> places;
  std::vector<KernelDescription> descriptions;
  for (const std::unique_ptr<KernelEntry> &kernel : loaded->kernels.entries) {
    std::string mistake = mistakeOf(*kernel);
    auto [other, isNew] = places.try_emplace(kernel->name, kernel->where);
    if (mistake.empty() && !isNew)
      mistake =
          fmt::format("expected each kernel to have a name of its own, but '{}' is registered twice, first "
                      "at {}",
                      kernel->name, textOf(other->second));
    if (!mistake.empty())
      return wrong(fmt::format("{}: {}", textOf(kernel->where), mistake));
    descriptions.push_back({kernel->name, kernel->summary, textOf(kernel->where), kernel->parameters,
                            kernel->emulatorSizes, kernel->suite, kernel->ranges, namesOf(kernel->inputs),
                            namesOf(kernel->outputs), kernel->tolerances});
  }
  return pack(descriptions);
}

Result<std::string> kernels::traceKernel(const ObjectFile &object, size_t number, const ParameterTexts &texts,
                                         const dsl::TraceOptions &options) {
  Result<Loaded> loaded = load(object);
  if (!loaded)
    return loaded.error();
  KernelEntry &kernel = *loaded->kernels.entries[number];
  const Values values(texts);
  double operations = 0;
  std::string program;
  Result<void> done = loaded->call("tracing it", [&] {
    program = packProgram(dsl::Program::trace(
        kernel.name, options, [&](dsl::Scope &k) { kernel.body(k, values); }, kernel.where));
  });
  if (done && kernel.operations)
    done = loaded->call("its function of operations", [&] { operations = kernel.operations(values); });
  if (!done)
    return done.error();
  return Packer().add(operations).add(program).take();
}

Result<std::string> kernels::numbersOfKernel(const ObjectFile &object, size_t number,
                                             const ParameterTexts &texts, const NumbersQuestion &question) {
  Result<Loaded> loaded = load(object);
  if (!loaded)
    return loaded.error();
  KernelEntry &kernel = *loaded->kernels.entries[number];
  const Values values(texts);
  HostInputs inputs{values, {}};
  for (const NamedNumbers &input : question.inputs)
    inputs.tensors.try_emplace(input.name, input.name, input.shape, input.numbers);
  const HostFunction &function =
      (question.isOutput ? kernel.outputs : kernel.inputs).find(question.tensor)->second;
  std::string bytes(question.elements.size() * sizeof(double), '\0');
  const std::string what =
      fmt::format("the {} of '{}'", question.isOutput ? "reference" : "contents", question.tensor);
  Result<void> done = loaded->call(what, [&] {
    const HostElement numberAt = function(inputs);
    std::vector<int64_t> at(question.shape.size());
    for (size_t i = 0; i != question.elements.size(); ++i) {
      int64_t rest = question.elements[i];
      for (size_t axis = at.size(); axis-- > 0; rest /= question.shape[axis])
        at[axis] = rest % question.shape[axis];
      const double value = numberAt(at);
      std::memcpy(&bytes[i * sizeof(double)], &value, sizeof(value));
    }
  });
  if (!done)
    return done.error();
  return bytes;
}
