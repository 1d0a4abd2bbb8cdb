// SPDX-License-Identifier: Apache-2.0
#include "kernels/file/CompiledFiles.h"

#include "llvm/Support/xxhash.h"

#include <fmt/format.h>

using namespace tlc;
using namespace tlc::kernels;

namespace {

constexpr std::string_view mark = "tlc compiled file 4\n";

/// It finds damage, and takes no time beside reading a precompiled header of 90 MB.
std::string hashOf(std::string_view bytes) {
  const llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string_view textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

} // namespace

std::vector<std::byte> kernels::serialize(const CompiledFile &file) {
  const std::string rest = file.source + '\0' + file.object, text = std::string(mark) + hashOf(rest) + rest;
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Result<std::string_view> kernels::objectIn(std::span<const std::byte> bytes, std::string_view *source) {
  std::string_view rest = textOf(bytes);
  const size_t digits = hashOf("").size();
  if (!rest.starts_with(mark) || rest.size() < mark.size() + digits)
    return Error{ErrorKind::environment, "it is no compiled file of this version"};
  rest.remove_prefix(mark.size());
  const std::string_view hash = rest.substr(0, digits);
  rest.remove_prefix(digits);
  const size_t end = rest.find('\0');
  if (hash != hashOf(rest) || end == rest.npos)
    return Error{ErrorKind::environment, "it is a compiled file that is damaged"};
  if (source)
    *source = rest.substr(0, end);
  return rest.substr(end + 1);
}

Result<CompiledFile> kernels::deserializeCompiledFile(std::span<const std::byte> bytes) {
  std::string_view source;
  const Result<std::string_view> object = objectIn(bytes, &source);
  if (!object)
    return object.error();
  return CompiledFile{std::string(source), std::string(*object)};
}

bool kernels::isCompiledFile(std::span<const std::byte> bytes) { return textOf(bytes).starts_with(mark); }
