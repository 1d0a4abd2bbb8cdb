// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs by name, through the cache of the process.
#include "kernels/cookbook/Cookbook.h"
#include "kernels/library/Library.h"
#include "kernels/library/Prewarm.h"
#include "kernels/tuning/Tuning.h"
#include "runtime/cuda/CudaDevice.h"
#include "tools/libtlc/compiler/Calls.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace tlc;

namespace {

Result<kernels::Request> requestOf(const calls::ProgramRequest &asked) {
  Result<const kernels::Kernel *> kernel = calls::findKernel(asked.file, asked.kernel);
  return kernel ? kernels::Request::parse(**kernel, asked.given) : kernel.error();
}

} // namespace

Result<void> calls::checkProgram(const ProgramRequest &asked) {
  Result<kernels::Request> request = requestOf(asked);
  return request ? Result<void>() : request.error();
}

Result<ProgramCache::Named> calls::compileProgram(const SharedCache &cache, const ProgramRequest &asked) {
  Result<kernels::Request> request = requestOf(asked);
  if (!request)
    return request.error();
  if (asked.tuning) {
    kernels::Tuned tuned = asked.tuning->apply(*request, {asked.device, asked.options});
    for (const std::string &remark : tuned.remarks)
      fmt::print(stderr, "tlc: remark: {}\n", remark);
    *request = std::move(tuned.request);
  }
  kernels::CompileLog log;
  // What is found by name is what the kernel chooses itself.
  Result<std::shared_ptr<const Artifact>> program = kernels::Library(cache).compile(
      *request, asked.options, log, asked.code, asked.tuning ? nullptr : &asked.given);
  if (!program)
    return program.error();
  return ProgramCache::Named{std::move(*program),
                             cache->keyOf(kernels::Library::keyOf(*request, asked.options))};
}

Result<std::shared_ptr<const kernels::Tuning>> calls::readTuning(const char *folder) {
  Result<kernels::Tuning> tuning = kernels::Tuning::read(folder);
  if (!tuning)
    return tuning.error();
  return std::make_shared<const kernels::Tuning>(std::move(*tuning));
}

Result<void> calls::prewarmPrograms(const SharedCache &cache, const char *lines, const char *target) {
  Result<std::vector<kernels::ListedProgram>> programs = kernels::parseList(
      lines, [](const std::string &name) { return kernels::findShippedKernel(name); },
      target ? std::string_view(target) : "");
  if (!programs)
    return programs.error();
  const auto isOpen = [](const kernels::ListedProgram &program) { return program.options.target.empty(); };
  if (std::ranges::any_of(*programs, isOpen)) {
    Result<int> ordinal = currentCudaOrdinal();
    if (!ordinal)
      return ordinal.error();
    Result<std::unique_ptr<Device>> device = createCudaDevice(*ordinal);
    if (!device)
      return device.error();
    for (kernels::ListedProgram &program : *programs)
      if (isOpen(program))
        program.options.target = (*device)->properties().target;
  }
  std::optional<Error> first;
  kernels::Library library(cache);
  kernels::prewarm(library, *programs, 0, [&](const kernels::PrewarmStep &step) {
    if (!step.result && !first)
      first = step.result.error();
  });
  return first ? Result<void>(*first) : Result<void>();
}
