// SPDX-License-Identifier: Apache-2.0
/// \file
/// One description of the fields (`fields`) serves writing and reading, so the
/// two cannot drift apart.
#include "runtime/artifact/Serialize.h"

#include "runtime/artifact/Verify.h"
#include "runtime/support/Hash.h"

#include <algorithm>
#include <concepts>
#include <fmt/format.h>
#include <type_traits>

using namespace tlc;

namespace {

// The line ends notice a file that went through a text-mode copy.
constexpr std::array<uint8_t, 8> magic = {'t', 'l', 'c', 'a', 'r', 't', '\r', '\n'};

/// `T` or `const T`: writing sees constant fields, reading mutable ones.
template <class Field, class T>
concept Of = std::same_as<std::remove_const_t<Field>, T>;

/// A field that artifacts have from a version on. Reading an earlier version leaves its default.
template <class T> struct Since {
  uint32_t version;
  T &field;
};
template <class T> Since<T> since(uint32_t version, T &field) { return {version, field}; }

void fields(auto &archive, Of<HostExpr::Step> auto &step) { archive(step.op, step.operand); }
void fields(auto &archive, Of<HostExpr> auto &expr) { archive(expr.steps); }
void fields(auto &archive, Of<Dimension> auto &dimension) {
  archive(dimension.name, dimension.multipleOf, dimension.least, dimension.most, dimension.fixed,
          dimension.computed, dimension.source);
}
void fields(auto &archive, Of<Extent> auto &extent) { archive(extent.dimension, extent.constant); }
void fields(auto &archive, Of<TensorArgument> auto &tensor) {
  archive(tensor.name, tensor.element, tensor.access, tensor.shape, tensor.workspaceShape, tensor.zeroFill,
          tensor.alignment, tensor.symmetric, tensor.strided, since(15, tensor.contiguous));
}
void fields(auto &archive, Of<ScalarArgument> auto &scalar) { archive(scalar.name, scalar.element); }
void fields(auto &archive, Of<TensorWindow> auto &window) {
  archive(window.taps, window.strides, window.dilations, window.before, window.after);
}
void fields(auto &archive, Of<TensorMapRecipe> auto &map) {
  archive(map.tensor, map.box, map.swizzle, map.limitedAxis, map.before, map.window);
}
void fields(auto &archive, Of<KernelParameter> auto &parameter) {
  archive(parameter.kind, parameter.index, parameter.axis, since(15, parameter.bytes));
}
void fields(auto &archive, Of<WarpRole> auto &role) { archive(role.name, role.firstWarp, role.warps); }
void fields(auto &archive, Of<SharedObject> auto &object) {
  archive(object.name, object.kind, object.offset, object.slots, object.slotBytes);
}
void fields(auto &archive, Of<ProfileMark> auto &mark) { archive(mark.kind, mark.awaited, mark.place); }
void fields(auto &archive, Of<LaunchNames> auto &names) {
  archive(names.roles, names.shared, since(16, names.marks));
}
void fields(auto &archive, Of<Launch> auto &launch) {
  archive(launch.entry, launch.grid, launch.threads, since(15, launch.threadsY), since(15, launch.threadsZ),
          launch.cluster, launch.sharedBytes, launch.ordered, launch.tensorMaps, launch.parameters,
          launch.names);
}
void fields(auto &archive, Of<AlignmentCondition> auto &condition) {
  archive(condition.tensor, condition.bytes);
}
void fields(auto &archive, Of<ReportSite> auto &site) {
  archive(site.kind, site.text, site.place, site.values, site.axes);
}
void fields(auto &archive, Of<TensorPlace> auto &place) { archive(place.tensor, place.rank, place.position); }
void fields(auto &archive, Of<TransferCopy> auto &copy) { archive(copy.from, copy.to, copy.extents); }
void fields(auto &archive, Of<TransferSignal> auto &signal) { archive(signal.count, signal.value); }
void fields(auto &archive, Of<Transfer> auto &transfer) {
  archive(transfer.name, transfer.after, transfer.until, transfer.rounds, transfer.copies, transfer.sets);
}
void fields(auto &archive, Of<Variant> auto &variant) {
  archive(variant.name, variant.conditions, variant.launches, variant.ptx, since(15, variant.cubin),
          variant.reports, variant.transfers);
}
void fields(auto &archive, Of<Remark> auto &remark) { archive(remark.id, remark.location, remark.message); }
void fields(auto &archive, Of<Artifact> auto &artifact) {
  archive(artifact.name, artifact.target, artifact.dimensions, artifact.tensors, artifact.scalars,
          artifact.variants, artifact.remarks, artifact.nvrtc);
}

/// Reading refuses what is beyond.
template <class Enum> constexpr Enum lastOf = Enum::last;
template <> constexpr ElementType lastOf<ElementType> = allElementTypes.back();

class Writer {
public:
  explicit Writer(uint32_t version = artifactFormatVersion) : version(version) {}

  std::vector<std::byte> bytes;

  template <class... Fields> void operator()(const Fields &...values) { (write(values), ...); }

private:
  template <std::integral T> void write(T value) {
    auto rest = static_cast<std::make_unsigned_t<T>>(value);
    for (size_t i = 0; i < sizeof(T); ++i)
      bytes.push_back(std::byte((uint64_t(rest) >> (8 * i)) & 0xff));
  }
  void write(bool value) { write(uint8_t(value)); }
  template <class T>
    requires std::is_enum_v<T>
  void write(T value) {
    write(static_cast<uint8_t>(value));
  }
  void write(const std::string &text) {
    write(uint64_t(text.size()));
    auto raw = std::as_bytes(std::span(text));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  }
  template <class T> void write(const std::vector<T> &values) {
    write(uint64_t(values.size()));
    for (const T &value : values)
      write(value);
  }
  template <class T, size_t count> void write(const std::array<T, count> &values) {
    for (const T &value : values)
      write(value);
  }
  template <class T> void write(const std::optional<T> &value) {
    write(value.has_value());
    if (value)
      write(*value);
  }
  template <class T>
    requires std::is_class_v<T>
  void write(const T &value) {
    fields(*this, value);
  }
  template <class T> void write(const Since<T> &added) {
    if (version >= added.version)
      write(added.field);
  }

  uint32_t version;
};

/// After the first failure reads nothing more; `failure` says where it was.
class Reader {
public:
  explicit Reader(std::span<const std::byte> bytes, uint32_t version = artifactFormatVersion)
      : bytes(bytes), version(version) {}

  template <class... Fields> void operator()(Fields &&...values) { (read(values), ...); }

  std::span<const std::byte> bytes;
  size_t position = 0;
  std::optional<std::string> failure;

private:
  size_t remaining() const { return bytes.size() - position; }
  void fail(std::string_view reason) {
    if (!failure)
      failure = fmt::format("{} at byte {}", reason, position);
  }

  template <std::integral T> void read(T &value) {
    if (failure || remaining() < sizeof(T))
      return fail("data ends early");
    uint64_t result = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
      result |= std::to_integer<uint64_t>(bytes[position + i]) << (8 * i);
    position += sizeof(T);
    value = static_cast<T>(result);
  }
  void read(bool &value) {
    uint8_t raw = 0;
    read(raw);
    if (raw > 1)
      return fail("value of a flag is out of range");
    value = raw;
  }
  template <class T>
    requires std::is_enum_v<T>
  void read(T &value) {
    uint8_t raw = 0;
    read(raw);
    if (raw > uint8_t(lastOf<T>))
      return fail("value of an enumeration is out of range");
    value = T(raw);
  }
  void read(std::string &text) {
    uint64_t size = 0;
    read(size);
    if (failure || size > remaining())
      return fail("length of a string exceeds the data");
    text.assign(reinterpret_cast<const char *>(bytes.data()) + position, size);
    position += size;
  }
  template <class T> void read(std::vector<T> &values) {
    uint64_t size = 0;
    read(size);
    // Every element takes at least a byte, so this bounds what is allocated.
    if (failure || size > remaining())
      return fail("length of a list exceeds the data");
    values.clear();
    for (uint64_t i = 0; i < size && !failure; ++i)
      read(values.emplace_back());
  }
  template <class T, size_t count> void read(std::array<T, count> &values) {
    for (T &value : values)
      read(value);
  }
  template <class T> void read(std::optional<T> &value) {
    bool present = false;
    read(present);
    if (present)
      read(value.emplace());
  }
  template <class T>
    requires std::is_class_v<T>
  void read(T &value) {
    fields(*this, value);
  }
  template <class T> void read(Since<T> &added) {
    if (version >= added.version)
      read(added.field);
  }

  uint32_t version;
};

struct Header {
  std::array<uint8_t, 8> magic = ::magic;
  uint32_t version = artifactFormatVersion;
  uint64_t payloadBytes = 0;
  Hash128 checksum;
};
void fields(auto &archive, Of<Header> auto &header) {
  archive(header.magic, header.version, header.payloadBytes, header.checksum.high, header.checksum.low);
}

} // namespace

std::vector<std::byte> tlc::serialize(const Artifact &artifact, uint32_t version) {
  Writer payload(version);
  payload(artifact);
  Header header;
  header.version = version;
  header.payloadBytes = payload.bytes.size();
  header.checksum.update(payload.bytes);
  Writer whole;
  whole(header);
  whole.bytes.insert(whole.bytes.end(), payload.bytes.begin(), payload.bytes.end());
  return std::move(whole.bytes);
}

size_t tlc::artifactBytes(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Header header;
  reader(header);
  if (reader.failure || header.payloadBytes > bytes.size() - reader.position)
    return bytes.size();
  return reader.position + size_t(header.payloadBytes);
}

Result<Artifact> tlc::deserialize(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Header header;
  reader(header);
  if (reader.failure || header.magic != magic)
    return Error{.message = "expected a tlc artifact, but the data does not begin like one"};
  if (header.version < oldestArtifactVersion || header.version > artifactFormatVersion)
    return Error{
        .message = fmt::format("expected a version of the artifact format from {} to {}, but got version {}; "
                               "compile the program again",
                               oldestArtifactVersion, artifactFormatVersion, header.version)};
  std::span<const std::byte> payload = bytes.subspan(reader.position);
  if (payload.size() != header.payloadBytes)
    return Error{.message = fmt::format("expected {} bytes of artifact after its header, but got {}",
                                        header.payloadBytes, payload.size())};
  Hash128 checksum;
  checksum.update(payload);
  if (checksum != header.checksum)
    return Error{.message = "the artifact is damaged: its checksum does not match its content"};

  Reader payloadReader(payload, header.version);
  Artifact artifact;
  payloadReader(artifact);
  if (!payloadReader.failure && payloadReader.position != payload.size())
    payloadReader.failure = fmt::format("unexpected data at byte {}", payloadReader.position);
  if (payloadReader.failure)
    return Error{.message = fmt::format("the artifact is malformed: {}", *payloadReader.failure)};
  if (Result<void> valid = verify(artifact); !valid)
    return valid.error();
  return artifact;
}
