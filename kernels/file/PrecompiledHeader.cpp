// SPDX-License-Identifier: Apache-2.0
#include "kernels/file/PrecompiledHeader.h"

#include "kernels/file/CompiledFiles.h"
#include "kernels/library/call/BuildId.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <iterator>

using namespace tlc;
using namespace tlc::kernels;
namespace fs = std::filesystem;

namespace {

std::string contentOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The flags but for those that name folders of headers: the preprocessed text has what comes from these.
CommandLine withoutFolders(const CommandLine &flags) {
  constexpr std::string_view names[] = {"-isystem", "-iquote", "-idirafter", "-I"};
  CommandLine others;
  for (size_t i = 0; i != flags.size(); ++i) {
    const auto *name =
        std::ranges::find_if(names, [&](std::string_view each) { return flags[i].starts_with(each); });
    if (name == std::end(names))
      others.push_back(flags[i]);
    else if (flags[i] == *name)
      ++i; // its value
  }
  return others;
}

/// The files of a folder whose lines are in preprocessed text, in the order of these.
std::vector<std::string> filesIn(std::string_view text, const std::string &folder) {
  const std::string begin = fmt::format("\n# 1 \"{}/", folder);
  std::vector<std::string> files;
  for (size_t at = text.find(begin); at != text.npos; at = text.find(begin, at + 1)) {
    const size_t name = text.find('"', at) + 1;
    files.emplace_back(text.substr(name, text.find('"', name) - name));
  }
  return files;
}

/// What the compiler makes of the header; empty if it fails.
std::string compileHeader(const HeaderUse &use, const std::string &header, const fs::path &result,
                          const fs::path &temporaries, const std::function<void()> &onKill) {
  CommandLine command = {use.compiler.path, "-x", "c++-header"};
  command.insert(command.end(), use.flags.begin(), use.flags.end());
  // The key says what it depends on: no times of files.
  if (use.compiler.isClang)
    command.insert(command.end(), {"-Xclang", "-fno-pch-timestamp", "-fpch-instantiate-templates"});
  command.insert(command.end(), {"-w", "-o", result.native(), header});
  std::string output;
  if (!runCompiler(command, temporaries, onKill, &output))
    return "";
  return contentOf(result);
}

} // namespace

bool kernels::beginsWithHeader(std::string_view source) {
  const auto skipSpaces = [&] {
    source.remove_prefix(std::min(source.find_first_not_of(" \t\r\n\v\f"), source.size()));
  };
  const auto skip = [&](std::string_view word) {
    const bool isNext = source.starts_with(word);
    source.remove_prefix(isNext ? word.size() : 0);
    return isNext;
  };
  for (;;) {
    skipSpaces();
    if (const bool isLine = source.starts_with("//"); isLine || source.starts_with("/*")) {
      const std::string_view end = isLine ? "\n" : "*/";
      const size_t at = source.find(end, 2);
      if (at == source.npos ||
          (isLine && source[at - 1] == '\\')) // a line comment that the next line continues
        return false;
      source.remove_prefix(at + end.size());
      continue;
    }
    if (!skip("#"))
      return false;
    skipSpaces();
    if (!skip("include"))
      return false;
    skipSpaces();
    if (skip("<tlc/kernel.h>") || skip("\"tlc/kernel.h\""))
      return true;
    const size_t end = std::min(source.find('>'), source.size());
    const std::string_view name = source.substr(0, end);
    const bool isStandard = name.find_first_not_of("<abcdefghijklmnopqrstuvwxyz_0123456789") == name.npos;
    if (!name.starts_with('<') || (!isStandard && !name.starts_with("<tlc/")))
      return false;
    source.remove_prefix(std::min(end + 1, source.size()));
  }
}

CommandLine kernels::precompiledHeader(const HeaderUse &use, const EntryStore &store,
                                       const fs::path &temporaries, const std::function<void()> &onKill) {
  const std::string header = use.headers + "/tlc/kernel.h";
  // A flag, or a file beside the source, may let the same line include another header.
  const bool includesIt = use.text.find(fmt::format("# 1 \"{}\" 1", header)) != std::string::npos;
  // What a flag includes comes before, and might be there twice.
  const bool includesMore = std::ranges::any_of(use.flags, [](std::string_view flag) {
    return flag.starts_with("-include") || flag.starts_with("-imacros");
  });
  if (!includesIt || includesMore || !beginsWithHeader(contentOf(use.source)))
    return {};
  const Result<std::optional<std::string>> text = preprocess(use.compiler, use.flags, header);
  if (!text || !*text)
    return {};
  KeyBuilder builder;
  builder.add("precompiled").add(identityOf(use.compiler)).add(buildId()).add(header).add(**text);
  for (const std::string &flag : withoutFolders(use.flags))
    builder.add(flag);
  // GCC tells by its bytes, comments too, that it has read a file once.
  for (const std::string &file : filesIn(**text, use.headers + "/tlc"))
    builder.add(file).add(contentOf(file));
  const Key key = builder.finish();
  // GCC takes it for a header beside it, which need not exist.
  const fs::path file = temporaries / (use.compiler.isClang ? "kernel.pch" : "tlc/kernel.h.gch");
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const Result<std::optional<EntryStore::Bytes>> content = store.load(key);
  const Result<std::string_view> known =
      content && *content ? objectIn(**content) : Error{ErrorKind::environment, "there is none"};
  if (known) {
    std::ofstream(file, std::ios::binary) << *known;
  } else {
    const std::string made = compileHeader(use, header, file, temporaries, onKill);
    if (made.empty())
      return {};
    (void)store.store(key, serialize({header, made})); // else it is compiled again
  }
  if (use.compiler.isClang)
    return {"-include-pch", file.native()};
  // GCC takes it only before everything else, and files include standard headers first.
  return {"-include", (temporaries / "tlc/kernel.h").native()};
}
