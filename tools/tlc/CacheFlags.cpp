// SPDX-License-Identifier: Apache-2.0
/// \file
/// Flags to a cache.
#include "tools/tlc/CacheFlags.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

CacheFolderFlags::CacheFolderFlags(cl::SubCommand &command)
    : directory("cache-dir", cl::sub(command), cl::value_desc("folder"),
                cl::desc("Folder of what is compiled, which must be yours alone (default: "
                         "$XDG_CACHE_HOME/tlc or ~/.cache/tlc)")),
      mebibytes("cache-size", cl::sub(command), cl::value_desc("MiB"),
                cl::init(unsigned(EntryStore::defaultCapacity >> 20)),
                cl::desc("Of that folder, at most; the least recently used entries go first")) {}

CacheOptions CacheFolderFlags::options() const {
  CacheOptions options;
  if (namesFolder())
    options.folder = directory.getValue();
  options.bytes = uint64_t(mebibytes) << 20;
  return options;
}

Result<EntryStore> CacheFolderFlags::store() const {
  const CacheOptions given = options();
  if (given.folder)
    return EntryStore(*given.folder, given.bytes);
  return tlc::Error{
      ErrorKind::invalidArgument,
      "expected --cache-dir because neither XDG_CACHE_HOME nor HOME names a folder, but got none"};
}

CacheFlags::CacheFlags(cl::SubCommand &command)
    : folder(command), without("no-cache", cl::sub(command), cl::desc("Compile anew, and keep nothing")),
      hitsOnly("cached-only", cl::sub(command),
               cl::desc("Compile nothing: what the cache lacks is an error that tells its line for 'tlc "
                        "prewarm'")),
      ptxOnly("ptx-only", cl::sub(command),
              cl::desc("Keep PTX alone in the cache, without machine code by ptxas")) {}

Result<CacheOptions> CacheFlags::options() const {
  if (without && (hitsOnly || folder.namesFolder()))
    return tlc::Error{ErrorKind::invalidArgument, std::string("expected --no-cache or --") +
                                                      (hitsOnly ? "cached-only" : "cache-dir") +
                                                      ", but got both"};
  CacheOptions options = folder.options();
  if (without)
    options.folder.reset();
  if (hitsOnly)
    options.policy = CachePolicy::hitsOnly;
  if (ptxOnly)
    options.code = ProgramCode::ptx;
  return options;
}
