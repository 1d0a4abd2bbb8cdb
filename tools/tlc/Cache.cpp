// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `cache`.
#include "tools/tlc/Cache.h"

#include "runtime/support/Excerpt.h"
#include "tools/tlc/Messages.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/chrono.h>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

std::string toText(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

uint64_t sumOf(ArrayRef<CacheEntry> entries) {
  uint64_t bytes = 0;
  for (const CacheEntry &entry : entries)
    bytes += entry.bytes;
  return bytes;
}

} // namespace

CacheCommand::CacheCommand()
    : command("cache", "List, check or clean a folder of compiled kernels"),
      action(cl::sub(command), cl::Positional, cl::value_desc("action"), cl::desc("<list | verify | prune>")),
      json("json", cl::sub(command), cl::desc("Report as one JSON object")), flags(command) {}

ExitCode CacheCommand::execute() const {
  ExitCode (CacheCommand::*chosen)(const DiskCache &) const = action == "list"     ? &CacheCommand::list
                                                              : action == "verify" ? &CacheCommand::verify
                                                              : action == "prune"  ? &CacheCommand::prune
                                                                                   : nullptr;
  if (!chosen)
    return failUsage("expected list, verify or prune, but got '" + excerpt(action) + "'");
  if (!flags.namesFolder())
    return failUsage("expected --cache-dir because no folder is usual, but got none");
  return (this->*chosen)(DiskCache(flags.folder(), flags.capacity()));
}

ExitCode CacheCommand::list(const DiskCache &cache) const {
  Result<std::vector<CacheEntry>> entries = cache.entries();
  if (!entries)
    return fail(entries.error().message);
  if (!json) {
    for (const CacheEntry &entry : *entries) {
      Result<Artifact> artifact = cache.read(entry.key);
      outs() << entry.key.toHex() << formatv(" {0,9} bytes, ", entry.bytes) << toText(entry.lastUse) << ", "
             << (artifact ? artifact->name + " for " + artifact->target : "unreadable") << '\n';
    }
    outs() << entries->size() << " entries, " << sumOf(*entries) << " bytes of " << flags.capacity() << '\n';
    return ExitCode::success;
  }
  json::OStream os(outs());
  os.object([&] {
    os.attribute("folder", flags.folder());
    os.attribute("capacity", flags.capacity());
    os.attribute("bytes", sumOf(*entries));
    os.attributeArray("entries", [&] {
      for (const CacheEntry &entry : *entries)
        os.object([&] {
          os.attribute("key", entry.key.toHex());
          os.attribute("bytes", entry.bytes);
          os.attribute("last_use", toText(entry.lastUse));
          Result<Artifact> artifact = cache.read(entry.key);
          if (!artifact)
            return os.attribute("error", artifact.error().message);
          os.attribute("program", artifact->name);
          os.attribute("target", artifact->target);
        });
    });
  });
  outs() << '\n';
  return ExitCode::success;
}

ExitCode CacheCommand::verify(const DiskCache &cache) const {
  Result<std::vector<CacheEntry>> entries = cache.entries();
  if (!entries)
    return fail(entries.error().message);
  std::vector<std::pair<std::string, std::string>> unreadable; // keys and reasons
  for (const CacheEntry &entry : *entries)
    if (Result<Artifact> artifact = cache.read(entry.key); !artifact)
      unreadable.emplace_back(entry.key.toHex(), artifact.error().message);
  if (json) {
    json::OStream os(outs());
    os.object([&] {
      os.attribute("folder", flags.folder());
      os.attribute("entries", uint64_t(entries->size()));
      os.attributeArray("unreadable", [&] {
        for (const auto &[key, reason] : unreadable)
          os.object([&] {
            os.attribute("key", key);
            os.attribute("error", reason);
          });
      });
    });
    outs() << '\n';
  } else {
    for (const auto &[key, reason] : unreadable)
      outs() << key << ": " << reason << '\n';
    outs() << entries->size() << " entries, " << unreadable.size() << " unreadable\n";
  }
  return unreadable.empty() ? ExitCode::success : ExitCode::failure;
}

ExitCode CacheCommand::prune(const DiskCache &cache) const {
  Result<DiskCache::Pruned> pruned = cache.prune();
  if (!pruned)
    return fail(pruned.error().message);
  if (json) {
    json::OStream os(outs());
    os.object([&] {
      os.attribute("folder", flags.folder());
      os.attribute("removed_entries", pruned->entries);
      os.attribute("removed_bytes", pruned->bytes);
      os.attribute("removed_temporaries", pruned->temporaries);
    });
    outs() << '\n';
  } else {
    outs() << "removed " << pruned->entries << " entries of " << pruned->bytes << " bytes, and "
           << pruned->temporaries << " temporary files\n";
  }
  return ExitCode::success;
}
