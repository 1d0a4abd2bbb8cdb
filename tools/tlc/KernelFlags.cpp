// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names to kernels.
#include "tools/tlc/KernelFlags.h"

#include "kernels/cookbook/Cookbook.h"
#include "runtime/support/Excerpt.h"
#include "tools/tlc/FailureJson.h"
#include "tools/tlc/Messages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

KernelFlags::KernelFlags(cl::SubCommand &command)
    : compiler("cxx", cl::sub(command), cl::value_desc("compiler"),
               cl::desc("C++ compiler for a file of kernels instead of $CXX, clang++ or g++")),
      compilerFlags("cxx-flag", cl::sub(command), cl::value_desc("flag"),
                    cl::desc("Flag for that compiler; may be repeated")),
      seconds("file-seconds", cl::sub(command), cl::value_desc("seconds"), cl::init(60),
              cl::desc("What a call of a function in the file may take")),
      cacheFlags(command) {}

Result<const kernels::UserFile *> KernelFlags::open(const std::string &path,
                                                    std::vector<Diagnostic> *diagnostics) const {
  if (auto found = files.find(path); found != files.end())
    return found->second.get();
  if (seconds < 1)
    return tlc::Error{ErrorKind::invalidArgument, "expected --file-seconds from 1 on, but got 0"};
  Result<CacheOptions> cache = cacheFlags.options();
  if (!cache)
    return cache.error();
  kernels::UserFileOptions options;
  std::string printed;
  options.compiler = {compiler,
                      {compilerFlags.begin(), compilerFlags.end()},
                      diagnostics ? &printed : nullptr,
                      std::move(*cache)};
  options.limit = std::chrono::seconds(seconds);
  Result<std::unique_ptr<kernels::UserFile>> file = kernels::UserFile::open(path, options);
  if (diagnostics) {
    errs() << printed;
    append_range(*diagnostics, parseCompilerOutput(printed));
  }
  if (!file)
    return file.error();
  if ((*file)->remark())
    errs() << "tlc: remark: " << *(*file)->remark() << '\n';
  return (files[path] = std::move(*file)).get();
}

Result<const kernels::Kernel *> KernelFlags::find(const std::string &name,
                                                  std::vector<Diagnostic> *diagnostics) const {
  auto inFile = kernels::FileKernelName::parse(name);
  if (!inFile && StringRef(name).find_first_of("./") != StringRef::npos)
    return tlc::Error{ErrorKind::invalidArgument,
                      "expected the name of a kernel, or a file of kernels that ends in .cpp, .cc or .cxx, "
                      "but got '" +
                          excerpt(name) + "'"};
  if (!inFile)
    return kernels::findShippedKernel(name);
  Result<const kernels::UserFile *> file = open(inFile->file, diagnostics);
  return file ? (*file)->find(inFile->kernel) : file.error();
}

Result<std::vector<const kernels::Kernel *>> KernelFlags::findAll(const std::string &name) const {
  auto inFile = kernels::FileKernelName::parse(name);
  if (inFile && inFile->kernel.empty()) {
    Result<const kernels::UserFile *> file = open(inFile->file);
    if (!file)
      return file.error();
    return std::vector((*file)->kernels().begin(), (*file)->kernels().end());
  }
  Result<const kernels::Kernel *> found = find(name);
  if (!found)
    return found.error();
  return std::vector{*found};
}
