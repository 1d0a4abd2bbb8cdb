// SPDX-License-Identifier: Apache-2.0
/// \file
/// Looks in memory, then in the folder.
#include "kernels/library/call/ArtifactCache.h"

#include "kernels/library/call/BuildId.h"
#include "kernels/library/call/MachineCode.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <chrono>

using namespace tlc;
using namespace tlc::kernels;

ArtifactCache::ArtifactCache(CacheOptions options) : given(std::move(options)) {
  if (given.folder)
    disk.emplace(*given.folder, given.bytes);
}

bool ArtifactCache::isNew(const std::string &warning) {
  std::lock_guard lock(mutex);
  return warnings.insert(warning).second;
}

/// Whether another NVRTC than now made a part of it. Where there is none now, what there is runs.
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

bool ArtifactCache::complete(CachedProgram &program, const CacheRequest &request, const Key &key) const {
  if (std::min(given.code, request.code) == ProgramCode::ptx || !lacksMachineCode(program))
    return false;
  // Where nothing can be stored, the driver's compiler is enough.
  Result<TemporaryFolder> folder = disk->makeTemporaryFolder(key);
  if (!folder)
    return false;
  addMachineCode(program, folder->path());
  return true;
}

Result<ArtifactCache::Pointer> ArtifactCache::getOrCompile(const CacheRequest &request,
                                                           const std::function<Result<Pointer>()> &compile,
                                                           const CacheObserver &observer) {
  const auto warn = [&](const Error &error) {
    if (observer.onWarning && isNew(error.message))
      observer.onWarning(error);
  };
  const auto begin = std::chrono::steady_clock::now();
  auto kind = CacheEvent::Kind::foundInMemory;
  const auto store = [&](const Key &key, const CachedProgram &program) {
    if (Result<void> stored = disk->store(key, program); !stored)
      warn(stored.error());
  };
  Result<Pointer> result = memory.getOrCompute(request.key.finish(), [&]() -> Result<Pointer> {
    // Entries outlive this build of the compiler; without a name for it nothing may be kept.
    const std::string build = disk ? buildId() : "";
    const Key lasting = KeyBuilder(request.key).add(build).finish();
    if (!build.empty()) {
      Result<std::optional<CachedProgram>> found = disk->load(lasting);
      if (!found)
        warn(found.error());
      else if (*found && isCurrent((*found)->artifact)) {
        kind = CacheEvent::Kind::foundOnDisk;
        if (given.policy == CachePolicy::compile && complete(**found, request, lasting))
          store(lasting, **found);
        return std::make_shared<const Artifact>(std::move((*found)->artifact));
      }
    }
    if (given.policy == CachePolicy::hitsOnly)
      return missing(request);
    kind = CacheEvent::Kind::compiled;
    Result<Pointer> compiled = compile();
    if (!compiled || build.empty())
      return compiled;
    CachedProgram program{**compiled};
    complete(program, request, lasting);
    store(lasting, program);
    return std::make_shared<const Artifact>(std::move(program.artifact));
  });
  if (result && (given.onEvent || observer.onEvent)) {
    const CacheEvent event{kind, request.program, request.target, millisecondsSince(begin), codeOf(**result)};
    if (given.onEvent)
      given.onEvent(event);
    if (observer.onEvent)
      observer.onEvent(event);
  }
  return result;
}

Result<std::shared_ptr<const LoadedProgram>> ArtifactCache::load(Device &device,
                                                                 const Artifact &artifact) const {
  const auto begin = std::chrono::steady_clock::now();
  Result<std::shared_ptr<const LoadedProgram>> program = device.load(artifact);
  if (program && given.onEvent)
    given.onEvent({CacheEvent::Kind::loaded, artifact.name, artifact.target, millisecondsSince(begin),
                   (*program)->code()});
  return program;
}
