// SPDX-License-Identifier: Apache-2.0
/// \file
/// The part of the C interface that is about the cache and about tuning.
#include "runtime/cache/BuildId.h"
#include "tools/libtlc/Calls.h"
#include "tools/libtlc/CompilerFacts.h"

#include <cstddef>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <string>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

/// Of compiled programs.
struct ProcessCache {
  std::mutex mutex;
  calls::SharedCache programs;
};
ProcessCache &processCache() {
  static ProcessCache cache;
  return cache;
}

/// Has the entries of the compiler that is opened where they are missing.
calls::SharedCache makeCache(CacheOptions options) {
  return std::make_shared<ProgramCache>(std::move(options), buildOfPrograms(calls::compilerBuild));
}

// The numbers of both are one.
static_assert(TLC_CACHE_COMPILED == int(CacheEvent::Kind::compiled) &&
              TLC_CACHE_FOUND_IN_MEMORY == int(CacheEvent::Kind::foundInMemory) &&
              TLC_CACHE_FOUND_ON_DISK == int(CacheEvent::Kind::foundOnDisk) &&
              TLC_CACHE_LOADED == int(CacheEvent::Kind::loaded) && TLC_CODE_PTX == int(ProgramCode::ptx) &&
              TLC_CODE_CUBIN == int(ProgramCode::cubin));

} // namespace

calls::SharedCache calls::cache() {
  ProcessCache &cache = processCache();
  std::lock_guard lock(cache.mutex);
  if (!cache.programs)
    cache.programs = makeCache({});
  return cache.programs;
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
  SharedCache programs = makeCache(std::move(options));
  ProcessCache &cache = processCache();
  std::lock_guard lock(cache.mutex);
  cache.programs = std::move(programs);
  return {};
}

namespace {
struct ProcessTuning {
  std::mutex mutex;
  std::shared_ptr<const kernels::Tuning> lines;
};
ProcessTuning &processTuning() {
  static ProcessTuning tuning;
  return tuning;
}
} // namespace

std::shared_ptr<const kernels::Tuning> calls::tuning() {
  ProcessTuning &tuning = processTuning();
  std::lock_guard lock(tuning.mutex);
  return tuning.lines;
}

Result<void> calls::setTuning(const char *folder) {
  std::shared_ptr<const kernels::Tuning> lines;
  if (folder) {
    Result<std::shared_ptr<const kernels::Tuning>> read = ask(&Compiler::readTuning, folder);
    if (!read)
      return read.error();
    lines = std::move(*read);
  }
  ProcessTuning &tuning = processTuning();
  std::lock_guard lock(tuning.mutex);
  tuning.lines = std::move(lines);
  return {};
}

Result<void> calls::prewarm(const char *lines, const char *target) {
  if (!lines)
    return invalid("expected lines of programs, but got a null pointer");
  if (Result<std::string> known = calls::targetOf(target); !known)
    return known.error();
  return ask(&Compiler::prewarm, cache(), lines, target);
}
