// SPDX-License-Identifier: Apache-2.0
#include "kernels/library/call/ArtifactCache.h"

#include "kernels/library/call/BuildId.h"
#include "kernels/library/call/MachineCode.h"

using namespace tlc;
using namespace tlc::kernels;

ArtifactCache::ArtifactCache(CacheOptions options)
    : programs(std::make_shared<ProgramCache>(std::move(options), buildId())) {}

Result<ArtifactCache::Pointer> ArtifactCache::getOrCompile(const CacheRequest &request,
                                                           const ProgramCache::Compile &compile,
                                                           const CacheObserver &observer) {
  return programs->getOrCompile(request, compile, addMachineCode, observer);
}
