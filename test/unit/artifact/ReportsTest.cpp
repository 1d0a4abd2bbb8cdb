// SPDX-License-Identifier: Apache-2.0
/// \file
/// From the records of prints and checks to texts.
#include "runtime/artifact/Reports.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <span>

using namespace tlc;
using Lines = std::vector<std::string>;

namespace {

const std::vector<ReportSite> sites = {
    {ReportSite::Kind::print, "x {} y {}", "a.cpp:1:2", {ElementType::i32, ElementType::f32}},
    {ReportSite::Kind::check, "got {}", "a.cpp:3:4", {ElementType::f64}, 2}};

ReportRecord record(uint32_t site, uint32_t blockX, uint32_t blockY, uint32_t thread,
                    std::array<uint64_t, 2> values) {
  ReportRecord record{.site = site, .thread = thread, .block = {blockX, blockY, 0}, .position = {5, 6}};
  std::ranges::copy(values, record.values);
  return record;
}

Reports read(const std::vector<ReportRecord> &records, uint32_t made, uint32_t lostChecks = 0) {
  ReportBufferHeader header{.records = made, .lostChecks = lostChecks};
  std::vector<std::byte> buffer(sizeof(header) + records.size() * sizeof(ReportRecord));
  std::memcpy(buffer.data(), &header, sizeof(header));
  std::ranges::copy(std::as_bytes(std::span(records)), buffer.begin() + sizeof(header));
  return readReports(sites, buffer);
}

} // namespace

TEST_CASE("texts have the values of their types", "[artifact][reports]") {
  constexpr uint64_t high = uint64_t(7) << 32; // no part of a value of 32 bits
  CHECK(formatReport(sites[0], record(0, 1, 2, 3, {high | uint32_t(-4), std::bit_cast<uint32_t>(0.5f)})) ==
        "a.cpp:1:2: block (1, 2, 0), thread 3: x -4 y 0.5");
  CHECK(formatReport(sites[1], record(1, 0, 0, 9, {std::bit_cast<uint64_t>(0.1), 0})) ==
        "a.cpp:3:4: check failed in block (0, 0, 0), thread 9, element (5, 6): got 0.1");
}

TEST_CASE("a value stands for each placeholder", "[artifact][reports]") {
  CHECK(countPlaceholders("") == 0);
  CHECK(countPlaceholders("{}{ }{{}}") == 2);
  CHECK(fillIn("{}{}, {x}", Lines{"a", "b"}) == "ab, {x}");
  CHECK(fillIn("{} is {}", Lines{"{}", "c"}) == "{} is c");
}

TEST_CASE("records are told by block, thread and time", "[artifact][reports]") {
  Reports reports = read({record(0, 1, 0, 0, {1, 0}), record(0, 0, 1, 0, {2, 0}), record(0, 0, 0, 7, {3, 0}),
                          record(0, 0, 0, 7, {4, 0}), record(1, 0, 0, 0, {5, 0})},
                         5);
  CHECK(reports.prints == Lines{"a.cpp:1:2: block (0, 0, 0), thread 7: x 3 y 0",
                                "a.cpp:1:2: block (0, 0, 0), thread 7: x 4 y 0",
                                "a.cpp:1:2: block (1, 0, 0), thread 0: x 1 y 0",
                                "a.cpp:1:2: block (0, 1, 0), thread 0: x 2 y 0"});
  CHECK(reports.failures.size() == 1);
  CHECK(reports.lost == 0);
}

TEST_CASE("records without room are counted, and those of no site", "[artifact][reports]") {
  Reports reports = read({record(0, 0, 0, 0, {1, 0}), record(2, 0, 0, 0, {1, 0})}, 10, 3);
  CHECK(reports.prints.size() == 1);
  CHECK(reports.lost == 9);
  CHECK(reports.lostChecks == 3);
  reports.append(read({}, 2, 2));
  CHECK(reports.lost == 11);
  CHECK(reports.lostChecks == 5);
}

TEST_CASE("that a wait has ended too early is told of all programs", "[artifact][reports]") {
  ReportBufferHeader header{.records = 0, .endsWaits = 1};
  Reports reports = readReports(sites, std::as_bytes(std::span(&header, 1)));
  CHECK(reports.endsWaits);
  Reports others = read({}, 0);
  CHECK_FALSE(others.endsWaits);
  others.append(reports);
  CHECK(others.endsWaits);
}
