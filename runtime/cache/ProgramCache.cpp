// SPDX-License-Identifier: Apache-2.0
/// \file
/// Looks in memory, then in the folder.
#include "runtime/cache/ProgramCache.h"

#include "runtime/nvrtc/Nvrtc.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <chrono>

using namespace tlc;

ProgramCache::ProgramCache(CacheOptions options, std::string itsBuild)
    : given(std::move(options)), build(std::move(itsBuild)), buildKey(KeyBuilder().add(build).finish()) {
  // Entries outlive this build of the compiler; without a name for it nothing may be kept.
  if (given.folder && !build.empty())
    disk.emplace(*given.folder, given.bytes);
}

Key ProgramCache::keyOf(const KeyBuilder &request) const {
  // Both are hashes: another one of both would take longer than all else of a hit in memory.
  Key key = request.finish();
  key.hash.high ^= buildKey.hash.high;
  key.hash.low ^= buildKey.hash.low;
  return key;
}

bool ProgramCache::isNew(const std::string &warning) {
  std::lock_guard lock(mutex);
  return warnings.insert(warning).second;
}

/// Whether another NVRTC than now made a part of it. Without NVRTC the stored program is current.
static bool isCurrent(const Artifact &artifact) {
  if (artifact.nvrtc.empty())
    return true;
  Result<Nvrtc> nvrtc = Nvrtc::open();
  return !nvrtc || nvrtc->version() == artifact.nvrtc;
}

static double millisecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Of a cache that only has hits.
static Error missing(const CacheRequest &request) {
  return {ErrorKind::environment,
          formatMessage("expected the program '{}' for {} in the cache, which is used for hits only, but it "
                        "has none; ",
                        request.program, request.target) +
              request.remedy()};
}

/// It has PTX alone, and nothing says why.
static bool lacksMachineCode(const CachedProgram &program) {
  return program.note.empty() && std::ranges::any_of(program.artifact.variants, [](const Variant &variant) {
           return !variant.launches.empty() && !variant.ptx.empty() && variant.cubin.empty();
         });
}

bool ProgramCache::isWanted(const CachedProgram &program, ProgramCode code) const {
  return given.policy == CachePolicy::compile && std::min(given.code, code) != ProgramCode::ptx &&
         lacksMachineCode(program);
}

bool ProgramCache::complete(CachedProgram &program, const CacheRequest &request, const Key &key,
                            const AddMachineCode &addMachineCode) const {
  if (!isWanted(program, request.code))
    return false;
  // Where nothing can be stored, the driver's compiler is enough.
  Result<TemporaryFolder> folder = disk->makeTemporaryFolder(key);
  if (!folder)
    return false;
  addMachineCode(program, folder->path());
  return true;
}

std::optional<Key> ProgramCache::recall(const Key &name) {
  std::lock_guard lock(mutex);
  const auto known = names.find(name);
  return known != names.end() ? std::optional(known->second) : std::nullopt;
}

void ProgramCache::remember(const Key &name, const Key &program) {
  std::lock_guard lock(mutex);
  if (names.size() >= mostNames)
    names.clear();
  names[name] = program;
}

Result<void> ProgramCache::keep(const ProgramName &name, const Key &program) {
  const Key own = name.key(build);
  if (recall(own) == program)
    return {};
  remember(own, program);
  if (!disk || given.policy != CachePolicy::compile)
    return {};
  if (disk->findAlias(own) == program)
    return {};
  return disk->storeAlias(own, {program, name.text()});
}

std::optional<ProgramCache::Named> ProgramCache::find(const ProgramName &name, ProgramCode code) {
  const auto begin = std::chrono::steady_clock::now();
  const Key own = name.key(build);
  std::optional<Key> key = recall(own);
  if (!key && disk)
    key = disk->findAlias(own);
  if (!key)
    return std::nullopt;
  auto kind = CacheEvent::Kind::foundInMemory;
  Pointer program = memory.find(*key);
  if (!program) {
    if (!disk)
      return std::nullopt;
    Result<std::optional<CachedProgram>> found = disk->load(*key);
    if (!found || !*found || !isCurrent((*found)->artifact) || isWanted(**found, code) ||
        (*found)->artifact.name != name.kernel || (*found)->artifact.target != name.target)
      return std::nullopt;
    kind = CacheEvent::Kind::foundOnDisk;
    // Another thread may have it by now, or fail to compile it.
    Result<Pointer> kept = memory.getOrCompute(*key, [&]() -> Result<Pointer> {
      return std::make_shared<const Artifact>(std::move((*found)->artifact));
    });
    if (!kept)
      return std::nullopt;
    program = std::move(*kept);
  }
  remember(own, *key);
  if (given.onEvent)
    given.onEvent({kind, name.kernel, name.target, millisecondsSince(begin), codeOf(*program)});
  return Named{std::move(program), *key};
}

Result<ProgramCache::Pointer> ProgramCache::getOrCompile(const CacheRequest &request, const Compile &compile,
                                                         const AddMachineCode &addMachineCode,
                                                         const CacheObserver &observer) {
  const auto warn = [&](const Error &error) {
    if (observer.onWarning && isNew(error.message))
      observer.onWarning(error);
  };
  const auto begin = std::chrono::steady_clock::now();
  auto kind = CacheEvent::Kind::foundInMemory;
  const Key key = keyOf(request.key);
  const auto store = [&](const CachedProgram &program) {
    if (Result<void> stored = disk->store(key, program); !stored)
      warn(stored.error());
  };
  Result<Pointer> result = memory.getOrCompute(key, [&]() -> Result<Pointer> {
    if (disk) {
      Result<std::optional<CachedProgram>> found = disk->load(key);
      if (!found)
        warn(found.error());
      else if (*found && isCurrent((*found)->artifact)) {
        kind = CacheEvent::Kind::foundOnDisk;
        if (complete(**found, request, key, addMachineCode))
          store(**found);
        return std::make_shared<const Artifact>(std::move((*found)->artifact));
      }
    }
    if (given.policy == CachePolicy::hitsOnly)
      return missing(request);
    kind = CacheEvent::Kind::compiled;
    Result<Pointer> compiled = compile();
    if (!compiled || !disk)
      return compiled;
    CachedProgram program{**compiled};
    complete(program, request, key, addMachineCode);
    store(program);
    return std::make_shared<const Artifact>(std::move(program.artifact));
  });
  if (result && request.name)
    if (Result<void> kept = keep(*request.name, key); !kept)
      warn(kept.error());
  if (result && (given.onEvent || observer.onEvent)) {
    const CacheEvent event{kind, request.program, request.target, millisecondsSince(begin), codeOf(**result)};
    if (given.onEvent)
      given.onEvent(event);
    if (observer.onEvent)
      observer.onEvent(event);
  }
  return result;
}

Result<std::shared_ptr<const LoadedProgram>> ProgramCache::load(Device &device,
                                                                const Artifact &artifact) const {
  const auto begin = std::chrono::steady_clock::now();
  Result<std::shared_ptr<const LoadedProgram>> program = device.load(artifact);
  if (program && given.onEvent)
    given.onEvent({CacheEvent::Kind::loaded, artifact.name, artifact.target, millisecondsSince(begin),
                   (*program)->code()});
  return program;
}
