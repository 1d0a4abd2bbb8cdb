// SPDX-License-Identifier: Apache-2.0
#include "tools/report/ReportFile.h"

#include "kernels/file/Pack.h"
#include "runtime/aot/Compression.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/Hash.h"

#include <algorithm>
#include <charconv>
#include <limits>

using namespace tlc;
using namespace tlc::report;
using kernels::Packer;
using kernels::Unpacker;

namespace {

constexpr std::string_view magic = "tlc-report ";
/// Of the first line.
constexpr size_t mostHeaderBytes = 128;

Error refuse(std::string_view name, const std::string &why) {
  return {ErrorKind::invalidArgument, fmt::format("'{}': {}", excerpt(name), why)};
}

std::string hashOf(std::string_view bytes) {
  Hash128 hash;
  hash.update(std::as_bytes(std::span(bytes)));
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

//===----------------------------------------------------------------------===//
// Content
//===----------------------------------------------------------------------===//

std::optional<ElementType> elementNamed(std::string_view name) {
  const auto *found = std::ranges::find(elementTable, name, &ElementFacts::name);
  return found == elementTable.end() ? std::nullopt : std::optional(found->type);
}

void add(Packer &packer, const Tensor &tensor) {
  packer.add(tensor.name).add(toString(tensor.element)).add(tensor.access).add(tensor.shape.size());
  for (int64_t extent : tensor.shape)
    packer.add(extent);
  packer.add(tensor.low).add(tensor.high).add(tensor.isTable).add(tensor.hasContents).add(tensor.contents);
  packer.add(tensor.padding.size());
  for (auto [begin, end] : tensor.padding)
    packer.add(begin).add(end);
}

/// Whether the tensor is one: sizes fit each other.
bool isValid(const Tensor &tensor) {
  int64_t elements = 1;
  for (int64_t extent : tensor.shape)
    if (extent < 0 || extent > maxExtent || __builtin_mul_overflow(elements, extent, &elements))
      return false;
  constexpr int64_t most = std::numeric_limits<int64_t>::max() / 64;
  if (elements > most || (tensor.isTable && tensor.shape.empty()))
    return false;
  if (int64_t(tensor.contents.size()) != (tensor.hasContents ? bytesOf(tensor.element, elements) : 0))
    return false;
  int64_t last = 0;
  for (auto [begin, end] : tensor.padding) {
    if (begin < last || end <= begin || end > elements)
      return false;
    last = end;
  }
  return true;
}

std::optional<Tensor> tensorOf(Unpacker &unpacker) {
  Tensor tensor;
  tensor.name = unpacker.text();
  const std::optional<ElementType> element = elementNamed(unpacker.text());
  tensor.element = element.value_or(ElementType::f32);
  tensor.access = unpacker.get(Access::inout);
  for (size_t left = unpacker.count(); left > 0; --left)
    tensor.shape.push_back(unpacker.get<int64_t>());
  tensor.low = unpacker.get<double>();
  tensor.high = unpacker.get<double>();
  tensor.isTable = unpacker.get<bool>();
  tensor.hasContents = unpacker.get<bool>();
  tensor.contents = unpacker.text();
  for (size_t left = unpacker.count(2 * sizeof(int64_t)); left > 0; --left) {
    const auto begin = unpacker.get<int64_t>();
    tensor.padding.emplace_back(begin, unpacker.get<int64_t>());
  }
  return element && isValid(tensor) ? std::optional(std::move(tensor)) : std::nullopt;
}

std::string contentOf(const Report &report) {
  Packer packer;
  packer.add(report.version).add(report.llvm).add(report.build);
  packer.add(report.kernel).add(report.summary).add(report.isShipped).add(report.parameters.size());
  for (const auto &[name, value] : report.parameters)
    packer.add(name).add(value);
  packer.add(report.scalars.size());
  for (const auto &[name, type] : report.scalars)
    packer.add(name).add(toString(type));
  packer.add(report.module).add(report.target).add(report.disabled.size());
  for (const std::string &name : report.disabled)
    packer.add(name);
  packer.add(report.strategy).add(report.waitLimit).add(report.multicast).add(report.variant);
  packer.add(report.device).add(report.isEmulated).add(report.multiprocessors).add(report.raceCheck);
  packer.add(report.maximumSteps).add(report.scheduleSeed.has_value()).add(report.scheduleSeed.value_or(0));
  packer.add(report.seed).add(report.ranks).add(report.rowPadding).add(report.offset);
  packer.add(report.lastStrides.size());
  for (const auto &[name, stride] : report.lastStrides)
    packer.add(name).add(stride);
  packer.add(report.tensors.size());
  for (const Tensor &tensor : report.tensors)
    add(packer, tensor);
  packer.add(report.tolerances.size());
  for (const kernels::Tolerance &tolerance : report.tolerances)
    packer.add(tolerance.limit).add(tolerance.floor);
  packer.add(report.flops).add(report.outcome).add(report.error).add(report.digest).add(report.complaint);
  packer.add(report.findings);
  return packer.take();
}

std::optional<Report> unpack(std::string_view content) {
  Unpacker unpacker(content);
  Report report;
  report.version = unpacker.text();
  report.llvm = unpacker.text();
  report.build = unpacker.text();
  report.kernel = unpacker.text();
  report.summary = unpacker.text();
  report.isShipped = unpacker.get<bool>();
  for (size_t left = unpacker.count(2 * sizeof(uint64_t)); left > 0; --left) {
    std::string name = unpacker.text();
    report.parameters[std::move(name)] = unpacker.text();
  }
  for (size_t left = unpacker.count(2 * sizeof(uint64_t)); left > 0; --left) {
    std::string name = unpacker.text();
    const std::optional<ElementType> type = elementNamed(unpacker.text());
    if (!type || !isComputed(*type) || !report.parameters.contains(name))
      return std::nullopt;
    report.scalars[std::move(name)] = *type;
  }
  report.module = unpacker.text();
  report.target = unpacker.text();
  for (size_t left = unpacker.count(); left > 0; --left)
    report.disabled.push_back(unpacker.text());
  report.strategy = unpacker.text();
  report.waitLimit = unpacker.get<int64_t>();
  report.multicast = unpacker.get<bool>();
  report.variant = unpacker.text();
  report.device = unpacker.text();
  report.isEmulated = unpacker.get<bool>();
  report.multiprocessors = unpacker.get<int64_t>();
  report.raceCheck = unpacker.text();
  report.maximumSteps = unpacker.get<uint64_t>();
  const bool hasSchedule = unpacker.get<bool>();
  if (const auto schedule = unpacker.get<uint64_t>(); hasSchedule)
    report.scheduleSeed = schedule;
  report.seed = unpacker.get<uint64_t>();
  report.ranks = unpacker.get<int64_t>();
  report.rowPadding = unpacker.get<int64_t>();
  report.offset = unpacker.get<int64_t>();
  for (size_t left = unpacker.count(2 * sizeof(uint64_t)); left > 0; --left) {
    std::string name = unpacker.text();
    report.lastStrides[std::move(name)] = unpacker.get<int64_t>();
  }
  size_t outputs = 0;
  for (size_t left = unpacker.count(); left > 0; --left) {
    std::optional<Tensor> tensor = tensorOf(unpacker);
    if (!tensor)
      return std::nullopt;
    outputs += tensor->access != Access::input;
    report.tensors.push_back(std::move(*tensor));
  }
  for (size_t left = unpacker.count(2 * sizeof(double)); left > 0; --left) {
    const auto limit = unpacker.get<double>();
    report.tolerances.push_back({limit, unpacker.get<double>()});
  }
  report.flops = unpacker.get<double>();
  report.outcome = unpacker.get(Outcome::ran);
  report.error = unpacker.text();
  report.digest = unpacker.text();
  report.complaint = unpacker.text();
  report.findings = unpacker.text();
  constexpr int64_t mostRanks = 64, mostRoom = 1 << 20, mostMultiprocessors = 1024;
  const auto isRoom = [](int64_t elements) { return elements >= 0 && elements <= mostRoom; };
  const bool isValid =
      unpacker.isWhole() && report.tolerances.size() == outputs && report.waitLimit >= 0 &&
      report.ranks >= 1 && report.ranks <= mostRanks && report.tensors.size() % size_t(report.ranks) == 0 &&
      isRoom(report.rowPadding) && isRoom(report.offset) && report.multiprocessors >= 1 &&
      report.multiprocessors <= mostMultiprocessors && report.maximumSteps >= 1 &&
      (report.raceCheck == "on" || report.raceCheck == "off" || report.raceCheck == "strict") &&
      (report.variant.empty() || report.variant == "aligned" || report.variant == "general") &&
      std::ranges::all_of(report.lastStrides, [&](const auto &each) { return isRoom(each.second); });
  return isValid ? std::optional(std::move(report)) : std::nullopt;
}

/// The next word of a line, and the rest.
std::pair<std::string_view, std::string_view> nextWord(std::string_view line) {
  const size_t end = std::min(line.find(' '), line.size());
  return {line.substr(0, end), line.substr(std::min(end + 1, line.size()))};
}

std::optional<uint64_t> numberOf(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

} // namespace

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

Result<std::string> tlc::report::write(const Report &report) {
  const std::string content = contentOf(report);
  const std::vector<std::byte> block = aot::compress(std::as_bytes(std::span(content)));
  std::string file =
      fmt::format("{}{} {} {} {}\n", magic, formatVersion, block.size(), content.size(), hashOf(content));
  file.append(reinterpret_cast<const char *>(block.data()), block.size());
  if (file.size() <= mostBytes && content.size() <= mostContentBytes)
    return file;
  const auto largest = std::ranges::max_element(report.tensors, {},
                                                [](const Tensor &tensor) { return tensor.contents.size(); });
  std::string message =
      fmt::format("expected a report of at most {} bytes, but got {}", mostBytes, file.size());
  if (largest != report.tensors.end() && !largest->contents.empty())
    message += fmt::format("; the contents of '{}' alone are {} bytes: choose smaller sizes (-D)",
                           largest->name, largest->contents.size());
  return Error{ErrorKind::invalidArgument, message};
}

bool tlc::report::isReport(std::string_view bytes) { return bytes.starts_with(magic); }

Result<Report> tlc::report::read(std::string_view bytes, std::string_view name) {
  if (!isReport(bytes))
    return refuse(name, "expected a file of 'tlc report', but it does not begin as one");
  const std::string_view line =
      bytes.substr(magic.size(), std::min(bytes.find('\n'), mostHeaderBytes) - magic.size());
  const auto [format, sizes] = nextWord(line);
  const auto [size, more] = nextWord(sizes);
  const auto [whole, hash] = nextWord(more);
  if (format != fmt::to_string(formatVersion))
    return refuse(name, fmt::format("expected a report of format {}, but got format '{}'; the version of tlc "
                                    "that wrote it reads it",
                                    formatVersion, excerpt(format)));
  const std::optional<uint64_t> blockBytes = numberOf(size), contentBytes = numberOf(whole);
  const size_t begin = magic.size() + line.size() + 1;
  if (!blockBytes || !contentBytes || begin > bytes.size())
    return refuse(name, "the first line is cut short or was changed");
  const std::string_view block = bytes.substr(begin);
  if (*blockBytes != block.size())
    return refuse(name, fmt::format("expected {} bytes after the first line, but got {}: the file {}",
                                    *blockBytes, block.size(),
                                    block.size() < *blockBytes ? "is cut short" : "has more than a report"));
  if (bytes.size() > mostBytes || *contentBytes > mostContentBytes ||
      *contentBytes / aot::mostCompressed > block.size())
    return refuse(name, fmt::format("expected a report of at most {} bytes, but it is larger", mostBytes));
  std::string content(*contentBytes, '\0');
  if (!aot::decompress(std::as_bytes(std::span(block)), std::as_writable_bytes(std::span(content))) ||
      hashOf(content) != hash)
    return refuse(name, "the content does not match the checksum in the first line: the file was changed");
  std::optional<Report> report = unpack(content);
  if (!report)
    return refuse(name, "expected the content of a report, but got other bytes");
  return std::move(*report);
}
