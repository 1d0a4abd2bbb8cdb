// SPDX-License-Identifier: Apache-2.0
/// \file
/// The part of the C interface that is about the cache.
#include "kernels/cookbook/Cookbook.h"
#include "kernels/library/Prewarm.h"
#include "runtime/cuda/CudaDevice.h"
#include "tools/libtlc/Calls.h"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

/// Of compiled programs.
struct ProcessCache {
  std::mutex mutex;
  std::shared_ptr<kernels::Library> library;
  CacheOptions options;
};
ProcessCache &processCache() {
  static ProcessCache cache;
  return cache;
}

// The numbers of both are one.
static_assert(TLC_CACHE_COMPILED == int(CacheEvent::Kind::compiled) &&
              TLC_CACHE_FOUND_IN_MEMORY == int(CacheEvent::Kind::foundInMemory) &&
              TLC_CACHE_FOUND_ON_DISK == int(CacheEvent::Kind::foundOnDisk) &&
              TLC_CACHE_LOADED == int(CacheEvent::Kind::loaded) && TLC_CODE_PTX == int(ProgramCode::ptx) &&
              TLC_CODE_CUBIN == int(ProgramCode::cubin));

} // namespace

std::shared_ptr<kernels::Library> calls::library() {
  ProcessCache &cache = processCache();
  std::lock_guard lock(cache.mutex);
  if (!cache.library)
    cache.library = std::make_shared<kernels::Library>();
  return cache.library;
}

CacheOptions calls::cacheOptions() {
  ProcessCache &cache = processCache();
  std::lock_guard lock(cache.mutex);
  return cache.options;
}

Result<void> calls::setCache(const tlc_cache_options *all) {
  constexpr size_t version8 = offsetof(tlc_cache_options, ptx_only);
  static_assert(version8 == 6 * sizeof(void *));
  const Result<tlc_cache_options> given = todays(all, version8);
  if (!given)
    return given.error();
  if (given->use < TLC_CACHE_USUAL || given->use > TLC_CACHE_HITS_ONLY)
    return invalid(fmt::format("expected a tlc_cache_use from {} to {}, but got {}", int(TLC_CACHE_USUAL),
                               int(TLC_CACHE_HITS_ONLY), given->use));
  CacheOptions options;
  if (given->folder)
    options.folder = given->folder;
  if (given->use == TLC_CACHE_MEMORY)
    options.folder.reset();
  if (given->bytes != 0)
    options.bytes = given->bytes;
  if (given->use == TLC_CACHE_HITS_ONLY)
    options.policy = CachePolicy::hitsOnly;
  if (given->ptx_only)
    options.code = ProgramCode::ptx;
  if (given->on_event)
    options.onEvent = [onEvent = given->on_event, user = given->user](const CacheEvent &event) {
      const std::string program(event.program), target(event.target);
      const tlc_cache_event told = {sizeof(told),   int32_t(event.kind), program.c_str(),
                                    target.c_str(), event.milliseconds,  int32_t(event.code)};
      onEvent(&told, user);
    };
  ProcessCache &cache = processCache();
  auto library = std::make_shared<kernels::Library>(options);
  std::lock_guard lock(cache.mutex);
  cache.library = std::move(library);
  cache.options = std::move(options);
  return {};
}

Result<void> calls::prewarm(const char *lines, const char *target) {
  if (!lines)
    return invalid("expected lines of programs, but got a null pointer");
  Result<std::string> ofOthers = calls::targetOf(target);
  if (!ofOthers)
    return ofOthers.error();
  Result<std::vector<kernels::ListedProgram>> programs = kernels::parseList(
      lines, [](const std::string &name) { return kernels::findShippedKernel(name); },
      target ? std::string_view(*ofOthers) : "");
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
  kernels::prewarm(*library(), *programs, 0, [&](const kernels::PrewarmStep &step) {
    if (!step.result && !first)
      first = step.result.error();
  });
  return first ? Result<void>(*first) : Result<void>();
}
