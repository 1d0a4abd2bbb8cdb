// SPDX-License-Identifier: Apache-2.0
#include "runtime/aot/Image.h"

#include "runtime/aot/Compression.h"

#include <array>
#include <cstring>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::aot;

namespace {

constexpr std::string_view magic = "tlc-aot\n";

/// Little endian, as all hosts are.
class Writer {
public:
  std::vector<std::byte> bytes;

  void number(uint64_t value) { append(&value, sizeof(value)); }
  void text(std::string_view text) {
    number(text.size());
    append(text.data(), text.size());
  }
  void append(const void *data, size_t size) {
    const auto *begin = static_cast<const std::byte *>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  }
};

/// After the first failure reads zeros and empty texts.
class Reader {
public:
  explicit Reader(std::span<const std::byte> bytes) : bytes(bytes) {}

  uint64_t number() {
    uint64_t value = 0;
    if (const std::string_view raw = take(sizeof(value)); !raw.empty())
      std::memcpy(&value, raw.data(), sizeof(value));
    return value;
  }
  std::string_view text() { return take(number()); }
  /// Of elements that take a number each at least.
  uint64_t count() {
    const uint64_t value = number();
    hasFailed |= value > (bytes.size() - position) / sizeof(uint64_t);
    return hasFailed ? 0 : value;
  }
  std::string_view take(uint64_t size) {
    hasFailed |= size > bytes.size() - position;
    if (hasFailed)
      return {};
    const auto *begin = reinterpret_cast<const char *>(bytes.data()) + position;
    position += size;
    return {begin, size};
  }

  size_t position = 0;
  bool hasFailed = false;

private:
  std::span<const std::byte> bytes;
};

} // namespace

std::vector<std::byte> aot::serialize(const KernelImage &image) {
  Writer writer;
  writer.append(magic.data(), magic.size());
  writer.number(imageVersion);
  const size_t sizeAt = writer.bytes.size();
  writer.number(0);
  writer.text(image.function);
  writer.number(image.programs.size());
  for (const ProgramImage &program : image.programs) {
    writer.text(program.target);
    const std::vector<std::byte> compressed = compress(program.artifact);
    const std::vector<std::byte> &stored =
        compressed.size() < program.artifact.size() ? compressed : program.artifact;
    writer.number(program.artifact.size());
    writer.text({reinterpret_cast<const char *>(stored.data()), stored.size()});
  }
  const uint64_t size = writer.bytes.size();
  std::memcpy(writer.bytes.data() + sizeAt, &size, sizeof(size));
  return std::move(writer.bytes);
}

Result<KernelView> aot::viewImage(std::span<const std::byte> bytes) {
  Reader header(bytes);
  const std::string_view begin = header.take(magic.size());
  const uint64_t version = header.number();
  const uint64_t size = header.number();
  if (header.hasFailed || begin != magic)
    return Error{.message = "expected a kernel of 'tlc build', but the data does not begin like one"};
  if (version < firstImageVersion || version > imageVersion)
    return Error{.message = fmt::format("expected a version from {} to {} of the format of 'tlc build', but "
                                        "got version {}; build the archive again, with the tlc that "
                                        "libtlc_runtime is from",
                                        firstImageVersion, imageVersion, version)};
  if (size > bytes.size())
    return Error{.message = fmt::format("expected {} bytes of a kernel of 'tlc build', but got {}", size,
                                        bytes.size())};
  Reader reader(bytes.first(size));
  reader.take(header.position);
  KernelView view{.function = reader.text(), .programs = {}, .bytes = size};
  for (uint64_t programs = reader.count(); programs != 0 && !reader.hasFailed; --programs) {
    ProgramView &program = view.programs.emplace_back();
    program.target = reader.text();
    const bool mayBeCompressed = version > firstImageVersion;
    if (mayBeCompressed)
      program.artifactBytes = reader.number();
    const std::string_view stored = reader.text();
    program.stored = std::as_bytes(std::span(stored));
    if (!mayBeCompressed)
      program.artifactBytes = stored.size();
    // A reader allocates this size: it is bounded by what the block can decompress to.
    reader.hasFailed |=
        program.artifactBytes < stored.size() || program.artifactBytes / mostCompressed > stored.size();
  }
  if (reader.hasFailed || reader.position != size || view.programs.empty())
    return Error{.message =
                     fmt::format("the kernel of 'tlc build' is malformed at byte {}", reader.position)};
  return view;
}

Result<std::vector<std::byte>> aot::artifactOf(const ProgramView &program) {
  if (program.stored.size() == program.artifactBytes)
    return std::vector(program.stored.begin(), program.stored.end());
  std::vector<std::byte> artifact(program.artifactBytes);
  if (!decompress(program.stored, artifact))
    return Error{.message = fmt::format("expected a block of {} compressed bytes for {}, but it is malformed",
                                        program.artifactBytes, program.target)};
  return artifact;
}
