// SPDX-License-Identifier: Apache-2.0
/// \file
/// Flags to a library.
#include "tools/tlc/CacheFlags.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

CacheFlags::CacheFlags(cl::SubCommand &command)
    : directory("cache-dir", cl::sub(command), cl::value_desc("folder"),
                cl::desc("Keep compiled kernels in this folder, which must be yours alone")),
      mebibytes("cache-size", cl::sub(command), cl::value_desc("MiB"),
                cl::init(unsigned(DiskCache::defaultCapacity >> 20)),
                cl::desc("Of the kernels in that folder, at most; the least recently used go first")) {}

kernels::Library CacheFlags::library() const {
  return namesFolder() ? kernels::Library(folder(), capacity()) : kernels::Library();
}
