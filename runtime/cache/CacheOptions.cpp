// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/CacheOptions.h"

#include <cstdlib>

using namespace tlc;

std::optional<std::filesystem::path> tlc::defaultCacheFolder() {
  // The environment of a setuid program must not choose the folder.
  const char *cache = ::secure_getenv("XDG_CACHE_HOME"), *home = ::secure_getenv("HOME");
  if (cache && *cache == '/')
    return std::filesystem::path(cache) / "tlc";
  if (home && *home == '/')
    return std::filesystem::path(home) / ".cache/tlc";
  return std::nullopt;
}
