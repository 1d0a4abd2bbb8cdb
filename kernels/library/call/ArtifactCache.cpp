// SPDX-License-Identifier: Apache-2.0
/// \file
/// Looks in memory, then in the folder.
#include "kernels/library/call/ArtifactCache.h"

#include "kernels/library/call/BuildId.h"
#include "runtime/nvrtc/Nvrtc.h"

using namespace tlc;
using namespace tlc::kernels;

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

Result<ArtifactCache::Pointer>
ArtifactCache::getOrCompile(const KeyBuilder &key, const std::function<Result<Pointer>()> &compile,
                            const std::function<void(const Error &)> &onWarning) {
  const auto warn = [&](const Error &error) {
    if (onWarning && isNew(error.message))
      onWarning(error);
  };
  return memory.getOrCompute(key.finish(), [&]() -> Result<Pointer> {
    // Entries outlive this build of the compiler; without a name for it nothing may be kept.
    std::string build = disk ? buildId() : "";
    if (build.empty())
      return compile();
    Key lasting = KeyBuilder(key).add(build).finish();
    Result<std::optional<Artifact>> found = disk->load(lasting);
    if (!found)
      warn(found.error());
    else if (*found && isCurrent(**found))
      return std::make_shared<const Artifact>(std::move(**found));
    Result<Pointer> compiled = compile();
    if (compiled)
      if (Result<void> stored = disk->store(lasting, **compiled); !stored)
        warn(stored.error());
    return compiled;
  });
}
