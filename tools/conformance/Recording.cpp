// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/Recording.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <sstream>

namespace tlc::conformance {
namespace {

constexpr int formatVersion = 1;
constexpr std::string_view recordAgain =
    "the suite has changed since; record it again on a GPU with 'tlc-conformance record'";

uint64_t hashOf(const Column &column, const std::vector<std::byte> &output) {
  uint64_t hash = 0xCBF29CE484222325;
  for (size_t i = 0; i < column.count; ++i) {
    const uint64_t value = withoutPayload(column.format, elementOf(output, column, i));
    for (unsigned byte = 0; byte < elementBytes(column.format); ++byte)
      hash = (hash ^ (value >> 8 * byte & 0xFF)) * 0x100000001B3;
  }
  return hash;
}

bool agree(const Column &column, uint64_t ours, uint64_t theirs) {
  if (withoutPayload(column.format, ours) == withoutPayload(column.format, theirs))
    return true;
  if (column.bound.exact())
    return false;
  const unsigned parts = column.format == Format::f16x2 || column.format == Format::bf16x2 ? 2 : 1;
  for (unsigned part = 0; part < parts; ++part) {
    const double a = numberOf(column.format, ours >> 16 * part);
    const double b = numberOf(column.format, theirs >> 16 * part);
    if (std::isnan(a) && std::isnan(b))
      continue;
    // A subnormal may have been flushed by one of them.
    const double allowed =
        2 * std::max(column.bound.absolute, column.bound.relative * std::abs(b)) + 0x1p-126;
    if (!(a == b || std::abs(a - b) <= allowed))
      return false;
  }
  return true;
}

std::string valueText(const Column &column, uint64_t bits) {
  std::string text = fmt::format("{:#0{}x}", bits, 2 * elementBytes(column.format) + 2);
  if (column.format == Format::f32 || column.format == Format::f64 || column.format == Format::f16 ||
      column.format == Format::bf16)
    text += fmt::format(" ({})", numberOf(column.format, bits));
  return text;
}

} // namespace

RecordedProgram record(const Program &program, const std::vector<std::byte> &output) {
  RecordedProgram recorded = {.fingerprint = fingerprint(program)};
  for (const Column &column : program.columns) {
    RecordedColumn &made = recorded.columns.emplace_back();
    if (column.bound.exact()) {
      made.hash = hashOf(column, output);
      continue;
    }
    for (size_t i = 0; i < std::min(recordedValues, column.count); ++i)
      made.values.push_back(elementOf(output, column, i));
  }
  return recorded;
}

std::string toText(const std::string &group, const Recording &recording) {
  std::string text =
      fmt::format("tlc-conformance {} {}\ndevice {}\n", formatVersion, group, recording.device);
  for (const auto &[name, program] : recording.programs) {
    text += fmt::format("program {} {:x}\n", name, program.fingerprint);
    for (const RecordedColumn &column : program.columns) {
      if (column.values.empty()) {
        text += fmt::format("{:x}\n", column.hash);
        continue;
      }
      text += '=';
      for (size_t i = 0; i < column.values.size(); ++i)
        text += fmt::format("{}{:x}", i ? " " : "", column.values[i]);
      text += '\n';
    }
  }
  return text;
}

Result<Recording> parseRecording(const std::string &group, std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line;
  size_t number = 1;
  const auto fail = [&](std::string_view expected) -> Result<Recording> {
    return Error{
        ErrorKind::invalidArgument,
        fmt::format("recording of '{}', line {}: expected {}, but got '{}'", group, number, expected, line)};
  };
  std::getline(lines, line);
  if (line != fmt::format("tlc-conformance {} {}", formatVersion, group))
    return fail(fmt::format("'tlc-conformance {} {}'", formatVersion, group));
  Recording recording;
  RecordedProgram *program = nullptr;
  while (std::getline(lines, line)) {
    ++number;
    std::istringstream words(line);
    words >> std::hex;
    std::string word;
    if (line.starts_with("device ")) {
      recording.device = line.substr(7);
    } else if (line.starts_with("program ")) {
      std::string name;
      uint64_t print = 0;
      if (!(words >> word >> name >> print))
        return fail("a program's name and fingerprint");
      program = &recording.programs[name];
      program->fingerprint = print;
    } else if (program && line.starts_with("=")) {
      words.ignore(1);
      RecordedColumn &column = program->columns.emplace_back();
      for (uint64_t value; words >> value;)
        column.values.push_back(value);
      if (!words.eof())
        return fail("values in hexadecimal");
    } else if (uint64_t hash = 0; program && words >> hash) {
      program->columns.push_back({hash});
    } else {
      return fail("a program or a column");
    }
  }
  return recording;
}

Result<std::vector<Difference>> compare(const Program &program, const std::vector<std::byte> &output,
                                        const RecordedProgram &recorded) {
  if (recorded.fingerprint == fingerprint(program) && recorded.columns.empty() && !program.columns.empty())
    return Error{
        ErrorKind::invalidArgument,
        fmt::format("'{}' has not ended, or not without an error, when it was recorded", program.name)};
  if (recorded.fingerprint != fingerprint(program) || recorded.columns.size() != program.columns.size())
    return Error{ErrorKind::invalidArgument,
                 fmt::format("'{}' is not the program that was recorded; {}", program.name, recordAgain)};
  std::vector<Difference> differences;
  for (size_t i = 0; i < program.columns.size(); ++i) {
    const Column &column = program.columns[i];
    const RecordedColumn &expected = recorded.columns[i];
    if (column.bound.exact()) {
      if (hashOf(column, output) != expected.hash)
        differences.push_back({column.name, fmt::format("some of its {} values differ", column.count)});
      continue;
    }
    for (size_t at = 0; at < expected.values.size(); ++at)
      if (const uint64_t value = elementOf(output, column, at); !agree(column, value, expected.values[at])) {
        differences.push_back(
            {column.name, fmt::format("value {} is {}, but expected {}", at, valueText(column, value),
                                      valueText(column, expected.values[at]))});
        break;
      }
  }
  return differences;
}

std::vector<Difference> compareOutputs(const Program &program, const std::vector<std::byte> &ours,
                                       const std::vector<std::byte> &theirs) {
  constexpr size_t shown = 4;
  std::vector<Difference> differences;
  for (const Column &column : program.columns) {
    size_t count = 0;
    std::string text;
    for (size_t i = 0; i < column.count; ++i) {
      const uint64_t a = elementOf(ours, column, i), b = elementOf(theirs, column, i);
      if (agree(column, a, b))
        continue;
      if (count++ < shown)
        text += fmt::format("; [{}] {} against {}", i, valueText(column, a), valueText(column, b));
    }
    if (count)
      differences.push_back({column.name, fmt::format("{} of {} differ{}", count, column.count, text)});
  }
  return differences;
}

} // namespace tlc::conformance
