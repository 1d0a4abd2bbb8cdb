// SPDX-License-Identifier: Apache-2.0
/// \file
/// Collects the kernels of all pages, whose functions run in this process.
#define TLC_READS_KERNEL_FILES
#include "kernels/cookbook/Cookbook.h"

#include "kernels/file/DescribedKernel.h"
#include "kernels/file/kernel.h"

#include <fmt/format.h>

using namespace tlc;
using namespace tlc::kernels;

// The functions that the pages define as `registerKernels` (CMakeLists.txt).
#define PAGE(name) void register_##name(KernelFile &file);
TLC_COOKBOOK_PAGES
#undef PAGE

namespace {

class Cookbook final : public KernelSource {
public:
  Cookbook() {
#define PAGE(name) register_##name(file);
    TLC_COOKBOOK_PAGES
#undef PAGE
    Result<std::vector<KernelDescription>> descriptions = describeEntries(file, "the cookbook");
    if (!descriptions) { // a mistake in a page, which no released tlc has
      fmt::print(stderr, "{}\n", descriptions.error().message);
      std::abort();
    }
    owned = kernelsOf(*this, std::move(*descriptions));
    for (const auto &kernel : owned)
      listed.push_back(kernel.get());
  }

  std::span<const Kernel *const> kernels() const { return listed; }

  Result<std::string> trace(size_t kernel, const ParameterTexts &values,
                            const dsl::TraceOptions &options) const override {
    return traceEntry(*file.entries[kernel], tlc::detail::guard, values, options);
  }
  Result<std::string> numbers(size_t kernel, const ParameterTexts &values,
                              const NumbersQuestion &question) const override {
    return numbersOfEntry(*file.entries[kernel], tlc::detail::guard, values, question);
  }

private:
  KernelFile file;
  std::vector<std::unique_ptr<const Kernel>> owned;
  std::vector<const Kernel *> listed;
};

} // namespace

std::span<const Kernel *const> kernels::cookbookKernels() {
  static const Cookbook cookbook;
  return cookbook.kernels();
}

Result<const Kernel *> kernels::findShippedKernel(std::string_view name) {
  Result<const Kernel *> found = findKernel(name);
  if (found)
    return found;
  for (const Kernel *kernel : cookbookKernels())
    if (kernel->name() == name)
      return kernel;
  return Error{found.error().kind, found.error().message + "; 'tlc list' shows those of the cookbook, too"};
}
