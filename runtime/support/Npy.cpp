// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/Npy.h"

#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <sys/stat.h>

namespace tlc {

static_assert(std::endian::native == std::endian::little, "elements are copied as they are");

namespace {

constexpr std::string_view mark("\x93NUMPY", 6);
/// Elements begin at a multiple of it, as numpy wants to map files.
constexpr size_t headerMultiple = 64;
constexpr size_t maximumRank = 64;

Error malformed(std::string what) {
  return {ErrorKind::invalidArgument, "not a .npy file that can be read: " + std::move(what)};
}

/// The header: a dictionary in Python's notation.
class HeaderParser {
public:
  HeaderParser(std::string_view text, NpyArray &array) : text(text), array(array) {}

  Result<void> run() {
    if (!accept('{'))
      return malformed("its header is no dictionary");
    bool hasType = false, hasOrder = false, hasShape = false;
    while (!accept('}')) {
      const auto key = string();
      if (!key || !accept(':'))
        return malformed("its header lacks a key");
      Result<void> done;
      if (*key == "descr")
        hasType = true, done = type();
      else if (*key == "fortran_order")
        hasOrder = true, done = order();
      else if (*key == "shape")
        hasShape = true, done = shape();
      else
        done = malformed(formatMessage("unknown key '{}' in its header", *key));
      if (!done)
        return done;
      if (!accept(',') && peek() != '}')
        return malformed("its header does not end");
    }
    if (!hasType || !hasOrder || !hasShape)
      return malformed("its header lacks 'descr', 'fortran_order' or 'shape'");
    if (transposed && array.shape.size() > 1)
      return malformed("its elements are in Fortran order; save numpy.ascontiguousarray(x)");
    return {};
  }

private:
  char peek() {
    while (position < text.size() && (text[position] == ' ' || text[position] == '\n'))
      ++position;
    return position < text.size() ? text[position] : '\0';
  }
  bool accept(char c) {
    if (peek() != c)
      return false;
    ++position;
    return true;
  }
  bool accept(std::string_view word) {
    peek();
    if (!text.substr(position).starts_with(word))
      return false;
    position += word.size();
    return true;
  }

  std::optional<std::string_view> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"')
      return std::nullopt;
    const size_t close = text.find(quote, position + 1);
    if (close == std::string_view::npos)
      return std::nullopt;
    const std::string_view inner = text.substr(position + 1, close - position - 1);
    position = close + 1;
    return inner;
  }

  Result<void> type() {
    const auto name = string();
    if (!name)
      return malformed("its elements are structures");
    const auto unknown = [&] { return malformed(formatMessage("its elements are of type '{}'", *name)); };
    if (name->size() < 3 || std::string_view("<>=|").find((*name)[0]) == std::string_view::npos ||
        std::string_view("biufV").find((*name)[1]) == std::string_view::npos)
      return unknown();
    array.type.kind = (*name)[1];
    const std::string_view size = name->substr(2);
    const auto [rest, error] = std::from_chars(size.data(), size.data() + size.size(), array.type.bytes);
    if (error != std::errc() || rest != size.data() + size.size() || array.type.bytes == 0 ||
        array.type.bytes > 16)
      return unknown();
    if ((*name)[0] == '>' && array.type.bytes > 1)
      return malformed(
          formatMessage("its elements '{}' are big endian; save x.astype('<{}')", *name, name->substr(1)));
    return {};
  }

  Result<void> order() {
    transposed = accept("True");
    if (!transposed && !accept("False"))
      return malformed("'fortran_order' is neither True nor False");
    return {};
  }

  Result<void> shape() {
    if (!accept('('))
      return malformed("'shape' is no tuple");
    while (!accept(')')) {
      peek();
      int64_t extent = 0;
      const char *begin = text.data() + position, *end = text.data() + text.size();
      const auto [rest, error] = std::from_chars(begin, end, extent);
      if (error != std::errc() || extent < 0)
        return malformed("'shape' has an entry that is no extent");
      position += size_t(rest - begin);
      array.shape.push_back(extent);
      if (array.shape.size() > maximumRank)
        return malformed(fmt::format("'shape' has more than {} axes", maximumRank));
      if (!accept(',') && peek() != ')')
        return malformed("'shape' does not end");
    }
    return {};
  }

  std::string_view text;
  size_t position = 0;
  bool transposed = false;
  NpyArray &array;
};

/// Nothing where it does not fit 64 bits.
std::optional<uint64_t> byteCount(const NpyArray &array) {
  uint64_t count = array.type.bytes;
  bool fits = true;
  for (int64_t extent : array.shape) {
    if (extent == 0)
      return 0;
    fits &= !__builtin_mul_overflow(count, uint64_t(extent), &count);
  }
  return fits ? std::optional(count) : std::nullopt;
}

Error fileError(std::string_view action, const std::string &path, int code) {
  return {ErrorKind::environment, formatMessage("cannot {} '{}': {}", action, path, std::strerror(code))};
}

using File = std::unique_ptr<FILE, decltype([](FILE *file) { std::fclose(file); })>;

} // namespace

std::string toString(NpyType type) {
  return fmt::format("{}{}{}", type.bytes == 1 || type.kind == 'V' ? '|' : '<', type.kind, type.bytes);
}

Result<NpyArray> parseNpy(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char *>(file.data()), file.size());
  if (!text.starts_with(mark))
    return malformed("it does not begin with numpy's mark");
  if (text.size() < mark.size() + 4)
    return malformed("it ends inside its header");
  const unsigned version = uint8_t(text[mark.size()]), lengthBytes = version == 1 ? 2 : 4;
  if (version < 1 || version > 3)
    return malformed(fmt::format("its format has version {}, expected 1 to 3", version));
  const size_t lengthAt = mark.size() + 2;
  uint32_t length = 0;
  if (text.size() < lengthAt + lengthBytes)
    return malformed("it ends inside its header");
  std::memcpy(&length, text.data() + lengthAt, lengthBytes);
  const size_t begin = lengthAt + lengthBytes;
  if (length > text.size() - begin)
    return malformed("it ends inside its header");
  NpyArray array;
  if (auto done = HeaderParser(text.substr(begin, length), array).run(); !done)
    return done.error();
  const std::span<const std::byte> elements = file.subspan(begin + length);
  const auto expected = byteCount(array);
  if (!expected || elements.size() != *expected)
    return malformed(fmt::format("its shape needs {} bytes of elements, but it has {}",
                                 expected ? fmt::to_string(*expected) : "more than 2^64", elements.size()));
  array.bytes.assign(elements.begin(), elements.end());
  return array;
}

std::string npyHeader(NpyType type, std::span<const int64_t> shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", toString(type));
  for (size_t i = 0; i < shape.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : " ", shape[i]) + (i + 1 < shape.size() || i == 0 ? "," : "");
  text += "), }";
  const size_t before = mark.size() + 4;
  text.append(headerMultiple - 1 - (before + text.size()) % headerMultiple, ' ');
  text += '\n';
  std::string header(mark);
  header += {1, 0, char(text.size() & 0xFF), char(text.size() >> 8)};
  return header + text;
}

Result<NpyArray> readNpy(const std::string &path) {
  // What is no file might never end.
  struct stat status;
  if (::stat(path.c_str(), &status) != 0)
    return fileError("open", path, errno);
  if (!S_ISREG(status.st_mode))
    return Error{ErrorKind::environment, formatMessage("cannot read '{}': it is no file", path)};
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file)
    return fileError("open", path, errno);
  std::vector<std::byte> bytes;
  std::vector<std::byte> block(size_t(1) << 16);
  while (const size_t got = std::fread(block.data(), 1, block.size(), file.get()))
    bytes.insert(bytes.end(), block.begin(), block.begin() + ptrdiff_t(got));
  if (std::ferror(file.get()))
    return fileError("read", path, errno);
  auto array = parseNpy(bytes);
  if (!array)
    return Error{array.error().kind, fmt::format("'{}': {}", excerpt(path), array.error().message)};
  return array;
}

Result<void> writeNpy(const std::string &path, NpyType type, std::span<const int64_t> shape,
                      std::span<const std::byte> bytes) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file)
    return fileError("open", path, errno);
  const std::string header = npyHeader(type, shape);
  const bool written = std::fwrite(header.data(), 1, header.size(), file.get()) == header.size() &&
                       std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  if (!written || std::fclose(file.release()) != 0)
    return fileError("write", path, errno);
  return {};
}

} // namespace tlc
