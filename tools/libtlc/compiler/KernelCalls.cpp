// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels, ours and those of a user's file, with what callers are told of them.
#include "kernels/cookbook/Cookbook.h"
#include "kernels/file/UserFile.h"
#include "tools/libtlc/compiler/Calls.h"

#include <fmt/format.h>
#include <memory>
#include <span>
#include <string>
#include <vector>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

} // namespace

/// Kernels with the texts that callers get.
class calls::KernelList {
public:
  explicit KernelList(std::unique_ptr<const kernels::UserFile> file) : file(std::move(file)) {
    add(this->file->kernels());
  }
  /// Those of tlc.
  KernelList() {
    add(kernels::allKernels());
    add(kernels::cookbookKernels());
  }
  static const KernelList &ours() {
    static const KernelList list;
    return list;
  }

  struct ParameterTexts {
    std::string name, allowed, fallback, description;
  };
  struct Entry {
    std::string name, summary;
    std::vector<ParameterTexts> parameters;
  };

  std::span<const Entry> all() const { return entries; }
  Result<const kernels::Kernel *> find(std::string_view name) const {
    return file ? file->find(name) : kernels::findShippedKernel(name);
  }

private:
  void add(std::span<const kernels::Kernel *const> kernels) {
    for (const kernels::Kernel *kernel : kernels) {
      Entry &entry = entries.emplace_back(std::string(kernel->name()), std::string(kernel->summary()));
      for (const kernels::Parameter &parameter : kernel->parameters())
        if (!parameter.isScalar()) // an argument of the launch
          entry.parameters.emplace_back(parameter.name, parameter.allowed(), parameter.fallback,
                                        parameter.description);
    }
  }

  std::unique_ptr<const kernels::UserFile> file;
  std::vector<Entry> entries;
};

namespace {

const calls::KernelList &listOf(const tlc_file *file) {
  return file ? *file->kernels : calls::KernelList::ours();
}

Result<const calls::KernelList::Entry *> entryOf(const tlc_file *file, int kernel) {
  const std::span<const calls::KernelList::Entry> entries = listOf(file).all();
  if (Result<void> valid = calls::checkNumber("a kernel", kernel, entries.size()); !valid)
    return valid.error();
  return &entries[size_t(kernel)];
}

} // namespace

Result<std::unique_ptr<tlc_file>> calls::openFile(const CacheOptions &cache, const char *path,
                                                  const tlc_file_options *given) {
  if (!path)
    return invalid("expected the path of a file, but got a null pointer");
  tlc_file_options asked = {};
  if (given) {
    if (Result<void> valid = calls::checkRoom(given); !valid)
      return valid.error();
    asked = *given;
  }
  if (asked.flag_count < 0 || (asked.flag_count > 0 && !asked.flags))
    return invalid(fmt::format("expected {} flags, but got {}",
                               asked.flag_count < 0 ? "no negative number of" : "an array of",
                               asked.flag_count < 0 ? std::to_string(asked.flag_count) : "a null pointer"));
  if (asked.seconds < 0)
    return invalid(fmt::format("expected seconds from 0 on, but got {}", asked.seconds));
  kernels::UserFileOptions options;
  std::string said;
  options.compiler = {.output = &said, .cache = cache};
  if (asked.compiler)
    options.compiler.compiler = asked.compiler;
  for (const char *flag : std::span(asked.flags, size_t(asked.flag_count))) {
    if (!flag)
      return invalid("expected flags of the compiler, but got a null pointer among them");
    options.compiler.flags.emplace_back(flag);
  }
  if (asked.seconds > 0)
    options.limit = std::chrono::seconds(asked.seconds);
  Result<std::unique_ptr<kernels::UserFile>> file = kernels::UserFile::open(path, options);
  if (!file)
    return Error{file.error().kind, said.empty() ? file.error().message : said + file.error().message};
  return std::make_unique<tlc_file>(std::make_shared<const KernelList>(std::move(*file)));
}

Result<const kernels::Kernel *> calls::findKernel(const tlc_file *file, std::string_view name) {
  return listOf(file).find(name);
}

Result<int> calls::countKernels(const tlc_file *file) { return int(listOf(file).all().size()); }

Result<void> calls::describeKernel(const tlc_file *file, int kernel, tlc_kernel_info *info) {
  Result<const KernelList::Entry *> entry = entryOf(file, kernel);
  if (!entry)
    return entry.error();
  if (Result<void> valid = calls::checkRoom(info); !valid)
    return valid;
  *info = {sizeof(*info), (*entry)->name.c_str(), (*entry)->summary.c_str(),
           int32_t((*entry)->parameters.size())};
  return {};
}

Result<void> calls::describeParameter(const tlc_file *file, int kernel, int parameter,
                                      tlc_parameter_info *info) {
  Result<const KernelList::Entry *> entry = entryOf(file, kernel);
  if (!entry)
    return entry.error();
  if (Result<void> valid = calls::checkNumber("a parameter", parameter, (*entry)->parameters.size()); !valid)
    return valid;
  if (Result<void> valid = calls::checkRoom(info); !valid)
    return valid;
  const KernelList::ParameterTexts &texts = (*entry)->parameters[size_t(parameter)];
  *info = {sizeof(*info), texts.name.c_str(), texts.allowed.c_str(), texts.fallback.c_str(),
           texts.description.c_str()};
  return {};
}
