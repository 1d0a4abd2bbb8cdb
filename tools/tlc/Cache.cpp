// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `cache`.
#include "tools/tlc/Cache.h"

#include "kernels/file/CompiledFiles.h"
#include "runtime/cache/DiskCache.h"
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

/// An entry in words.
struct Description {
  std::string program = {}, target = {}; ///< of a compiled kernel
  ProgramCode code = ProgramCode::ptx;
  std::string note = {}; ///< why it has PTX alone
  std::string file = {}; ///< of a compiled file: its source
  /// Of the name of a program: the request, and the program's entry.
  std::optional<CachedAlias> alias = {};

  std::string text() const {
    if (!file.empty())
      return "compiled from '" + file + "'";
    if (alias)
      return "'" + alias->text + "' is " + alias->program.toHex();
    return program + " for " + target + (code == ProgramCode::cubin ? ", PTX and cubin" : ", PTX") +
           (note.empty() ? "" : ": " + note);
  }
};

tlc::Result<Description> describe(std::span<const std::byte> content) {
  if (kernels::isCompiledFile(content)) {
    Result<kernels::CompiledFile> file = kernels::deserializeCompiledFile(content);
    return file ? Result<Description>({.file = file->source}) : file.error();
  }
  if (isAlias(content)) {
    Result<CachedAlias> alias = deserializeAlias(content);
    return alias ? Result<Description>({.alias = *alias}) : alias.error();
  }
  Result<CachedProgram> program = deserializeCachedProgram(content);
  if (!program)
    return program.error();
  return Description{.program = program->artifact.name,
                     .target = program->artifact.target,
                     .code = codeOf(program->artifact),
                     .note = program->note};
}

tlc::Result<Description> describe(const EntryStore &store, const CacheEntry &entry) {
  Result<EntryStore::Bytes> content = store.read(entry.key);
  return content ? describe(*content) : content.error();
}

} // namespace

CacheCommand::CacheCommand()
    : command("cache", "List, check, clean or copy what is kept of compiled kernels and files"),
      action(cl::sub(command), cl::Positional, cl::value_desc("action"),
             cl::desc("<list | verify | prune | export | import>")),
      file(cl::sub(command), cl::Positional, cl::value_desc("file"), cl::desc("[file of export or import]")),
      json("json", cl::sub(command), cl::desc("Report as one JSON object")), flags(command) {}

ExitCode CacheCommand::execute() const {
  struct Action {
    StringRef name;
    ExitCode (CacheCommand::*execute)(const EntryStore &) const;
    bool takesFile = false;
  };
  const Action actions[] = {{"list", &CacheCommand::list},
                            {"verify", &CacheCommand::verify},
                            {"prune", &CacheCommand::prune},
                            {"export", &CacheCommand::exportTo, true},
                            {"import", &CacheCommand::importFrom, true}};
  const auto *chosen = find_if(actions, [&](const Action &each) { return each.name == action; });
  if (chosen == std::end(actions))
    return failUsage("expected list, verify, prune, export or import, but got '" + excerpt(action) + "'");
  if (chosen->takesFile && file.empty())
    return failUsage("expected a file after '" + chosen->name.str() + "', but got none");
  if (!chosen->takesFile && !file.empty())
    return failUsage("expected nothing after '" + chosen->name.str() + "', but got '" + excerpt(file) + "'");
  const Result<EntryStore> store = flags.store();
  if (!store)
    return failUsage(store.error().message);
  return (this->*chosen->execute)(*store);
}

/// Whether an entry is one that is used.
static Result<void> checkContent(std::span<const std::byte> content) {
  Result<Description> described = describe(content);
  return described ? Result<void>() : described.error();
}

ExitCode CacheCommand::exportTo(const EntryStore &store) const {
  return report(store, "exported", exportEntries(store, file.getValue(), checkContent));
}

ExitCode CacheCommand::importFrom(const EntryStore &store) const {
  return report(store, "imported", importEntries(store, file.getValue(), checkContent));
}

ExitCode CacheCommand::report(const EntryStore &store, StringRef did,
                              const Result<Archived> &archived) const {
  if (!archived)
    return fail(archived.error().message);
  if (json) {
    json::OStream os(outs());
    os.object([&] {
      os.attribute("folder", store.folder().native());
      os.attribute("file", json::fixUTF8(file));
      os.attribute("entries", archived->entries);
      os.attribute("bytes", archived->bytes);
      os.attribute("unreadable", archived->unreadable);
    });
    outs() << '\n';
    return ExitCode::success;
  }
  outs() << did << ' ' << archived->entries << " entries of " << archived->bytes << " bytes";
  if (archived->unreadable)
    outs() << ", without " << archived->unreadable << " unreadable ones";
  outs() << '\n';
  return ExitCode::success;
}

ExitCode CacheCommand::list(const EntryStore &store) const {
  Result<std::vector<CacheEntry>> entries = store.entries();
  if (!entries)
    return fail(entries.error().message);
  if (!json) {
    for (const CacheEntry &entry : *entries) {
      Result<Description> described = describe(store, entry);
      outs() << entry.key.toHex() << formatv(" {0,9} bytes, ", entry.bytes) << toText(entry.lastUse) << ", "
             << (described ? described->text() : "unreadable") << '\n';
    }
    outs() << entries->size() << " entries, " << sumOf(*entries) << " bytes of " << flags.options().bytes
           << '\n';
    return ExitCode::success;
  }
  json::OStream os(outs());
  os.object([&] {
    os.attribute("folder", store.folder().native());
    os.attribute("capacity", flags.options().bytes);
    os.attribute("bytes", sumOf(*entries));
    os.attributeArray("entries", [&] {
      for (const CacheEntry &entry : *entries)
        os.object([&] {
          os.attribute("key", entry.key.toHex());
          os.attribute("bytes", entry.bytes);
          os.attribute("last_use", toText(entry.lastUse));
          Result<Description> described = describe(store, entry);
          if (!described)
            return os.attribute("error", described.error().message);
          if (!described->file.empty())
            return os.attribute("file", described->file);
          if (described->alias) {
            os.attribute("request", json::fixUTF8(described->alias->text));
            return os.attribute("of", described->alias->program.toHex());
          }
          os.attribute("program", described->program);
          os.attribute("target", described->target);
          os.attribute("code", described->code == ProgramCode::cubin ? "cubin" : "ptx");
          if (!described->note.empty())
            os.attribute("note", json::fixUTF8(described->note));
        });
    });
  });
  outs() << '\n';
  return ExitCode::success;
}

ExitCode CacheCommand::verify(const EntryStore &store) const {
  Result<std::vector<CacheEntry>> entries = store.entries();
  if (!entries)
    return fail(entries.error().message);
  std::vector<std::pair<std::string, std::string>> unreadable; // keys and reasons
  for (const CacheEntry &entry : *entries)
    if (Result<Description> described = describe(store, entry); !described)
      unreadable.emplace_back(entry.key.toHex(), described.error().message);
  if (json) {
    json::OStream os(outs());
    os.object([&] {
      os.attribute("folder", store.folder().native());
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

ExitCode CacheCommand::prune(const EntryStore &store) const {
  Result<EntryStore::Pruned> pruned = store.prune([&](std::span<const std::byte> content) {
    Result<Description> described = describe(content);
    if (!described)
      return Result<void>(described.error());
    return described->alias ? checkProgramOf(store, *described->alias) : Result<void>();
  });
  if (!pruned)
    return fail(pruned.error().message);
  if (json) {
    json::OStream os(outs());
    os.object([&] {
      os.attribute("folder", store.folder().native());
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
