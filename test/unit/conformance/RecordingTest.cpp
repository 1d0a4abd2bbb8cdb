// SPDX-License-Identifier: Apache-2.0
/// \file
/// Recordings: what they notice, and what they say when they do not fit.
#include "tools/conformance/Recording.h"

#include "tools/conformance/Runner.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>

using namespace tlc;
using namespace tlc::conformance;
using Catch::Matchers::Contains;

namespace {

template <class T> void put(std::vector<std::byte> &bytes, size_t at, T value) {
  std::memcpy(&bytes[at], &value, sizeof(value));
}

/// Two words that must be equal, and two floats within a bound.
Program sample() {
  Program program = {.name = "sample.0", .ptx = "text"};
  program.output.resize(16);
  program.columns = {{"exact", Format::f32, 0, 2}, {"near", Format::f32, 8, 2, {.relative = 0x1p-20}}};
  return program;
}

std::vector<std::byte> sampleOutput() {
  std::vector<std::byte> bytes(16);
  put(bytes, 0, 1.5f);
  put(bytes, 4, uint32_t(0x7FC00001)); // some NaN
  put(bytes, 8, 3.0f);
  put(bytes, 12, -1e-30f);
  return bytes;
}

std::vector<Difference> differences(const std::vector<std::byte> &output) {
  auto result = compare(sample(), output, record(sample(), sampleOutput()));
  REQUIRE(result);
  return *result;
}

} // namespace

TEST_CASE("a recording survives its text") {
  Recording recording = {.device = "a GPU", .programs = {{"sample.0", record(sample(), sampleOutput())}}};
  const std::string text = toText("sample", recording);
  auto parsed = parseRecording("sample", text);
  REQUIRE(parsed);
  CHECK(parsed->device == "a GPU");
  CHECK(toText("sample", *parsed) == text);
  auto result = compare(sample(), sampleOutput(), parsed->programs.at("sample.0"));
  REQUIRE(result);
  CHECK(result->empty());
}

TEST_CASE("differing values are found, and the bits of a NaN do not count") {
  std::vector<std::byte> output = sampleOutput();
  put(output, 4, uint32_t(0x7FFFFFFF));
  put(output, 8, 3.0f * (1 + 0x1p-21f));
  CHECK(differences(output).empty());
  put(output, 8, 3.0f * (1 + 0x1p-18f));
  REQUIRE(differences(output).size() == 1);
  CHECK(differences(output)[0].column == "near");
  CHECK_THAT(differences(output)[0].text,
             Contains("value 0 is 0x40400") && Contains("but expected 0x40400000 (3)"));
  put(output, 0, std::bit_cast<uint32_t>(1.5f) + 1);
  CHECK(differences(output)[0].column == "exact");
}

TEST_CASE("a recording of another program is refused") {
  Program changed = sample();
  changed.ptx = "other text";
  auto result = compare(changed, sampleOutput(), record(sample(), sampleOutput()));
  REQUIRE_FALSE(result);
  CHECK(result.error().message == "'sample.0' is not the program that was recorded; the suite has changed "
                                  "since; record it again on a GPU "
                                  "with 'tlc-conformance record'");
}

TEST_CASE("damaged recordings are refused with their line") {
  const auto failure = [](std::string_view text) {
    auto parsed = parseRecording("sample", text);
    return parsed ? "" : parsed.error().message;
  };
  CHECK(failure("tlc-conformance 1 other\n") == "recording of 'sample', line 1: expected 'tlc-conformance 1 "
                                                "sample', but got 'tlc-conformance 1 other'");
  CHECK(failure("tlc-conformance 1 sample\nprogram a\n") ==
        "recording of 'sample', line 2: expected a program's name and fingerprint, but got 'program a'");
  CHECK(failure("tlc-conformance 1 sample\n12ab\n") ==
        "recording of 'sample', line 2: expected a program or a column, but got '12ab'");
  CHECK(failure("tlc-conformance 1 sample\nprogram a 12\n=1 2 z\n") ==
        "recording of 'sample', line 3: expected values in hexadecimal, but got '=1 2 z'");
}

TEST_CASE("programs are the same each time, and have names of their own") {
  for (const std::string &group : groupNames()) {
    INFO(group);
    const std::vector<Program> first = programsOf(group), again = programsOf(group);
    REQUIRE(!first.empty());
    REQUIRE(first.size() == again.size());
    for (size_t i = 0; i < first.size(); ++i) {
      CHECK(first[i].name == group + "." + std::to_string(i));
      CHECK(fingerprint(first[i]) == fingerprint(again[i]));
    }
  }
}
