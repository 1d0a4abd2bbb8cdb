// SPDX-License-Identifier: Apache-2.0
/// \file
/// The binary form of artifacts: round trip, and what damaged input gets.
#include "runtime/artifact/Serialize.h"

#include "runtime/support/Hash.h"
#include "test/unit/artifact/SampleArtifact.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <random>

using namespace tlc;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr size_t headerBytes = 8 + 4 + 8 + 16;

/// Replaces the checksum by the right one for the payload, as a program would
/// that writes the format but gets a field wrong.
void resign(std::vector<std::byte> &bytes) {
  Hash128 hash;
  hash.update(std::span(bytes).subspan(headerBytes));
  for (size_t i = 0; i < 8; ++i) {
    bytes[20 + i] = std::byte((hash.high >> (8 * i)) & 0xff);
    bytes[28 + i] = std::byte((hash.low >> (8 * i)) & 0xff);
  }
}

std::string failureOf(std::span<const std::byte> bytes) {
  Result<Artifact> result = deserialize(bytes);
  return result ? "" : result.error().message;
}

} // namespace

TEST_CASE("transfers survive serialization", "[artifact][serialize]") {
  std::vector<std::byte> bytes = serialize(test::sampleTransfers());
  Result<Artifact> read = deserialize(bytes);
  REQUIRE(read);
  CHECK(serialize(*read) == bytes);
  REQUIRE(read->variants[1].transfers.size() == 1);
  const Transfer &transfer = read->variants[1].transfers[0];
  CHECK(transfer.name == "gather");
  CHECK(transfer.until == 1);
  REQUIRE(transfer.sets);
  CHECK(transfer.sets->count.position == std::vector{HostExpr::dimension(3)});
  CHECK(transfer.sets->count.rank == HostExpr::constant(0));
}

TEST_CASE("an artifact survives serialization", "[artifact][serialize]") {
  Artifact sample = test::sampleArtifact();
  sample.dimensions[0].fixed = 4096;
  sample.dimensions[1].least = 16;
  sample.dimensions[1].most = 256;
  sample.tensors[2].strided = true;
  sample.tensors[1].contiguous = true;
  sample.variants[0].cubin = "machine code";
  sample.variants[0].launches[0].parameters[0].bytes = 8;
  const TensorWindow window = {{3}, {2}, {4}, {1}, {0}};
  sample.tensors[0].shape.insert(sample.tensors[0].shape.begin(), {.constant = 1});
  sample.variants[0].launches[0].tensorMaps[0].box = {128, 1, 64};
  sample.variants[0].launches[0].tensorMaps[0].window = window;
  sample.variants[1].reports = {{ReportSite::Kind::check, "got {}", "gemm.cpp:7:3", {ElementType::i64}, 2}};
  sample.variants[0].launches[0].names.marks = {{ProfileMark::Kind::wait, "products", "gemm.cpp:9:5"}};
  std::vector<std::byte> bytes = serialize(sample);
  Result<Artifact> read = deserialize(bytes);
  REQUIRE(read);
  CHECK(serialize(*read) == bytes);
  CHECK(read->name == "gemm");
  CHECK(read->dimensions[0].fixed == 4096);
  const LaunchNames &names = read->variants[0].launches[0].names;
  REQUIRE(names.roles.size() == 2);
  CHECK(names.roles[1].name == "math");
  REQUIRE(names.marks.size() == 1);
  CHECK(names.marks[0].awaited == "products");
  CHECK(names.marks[0].place == "gemm.cpp:9:5");
  REQUIRE(names.shared.size() == 4);
  CHECK(names.shared[1].kind == SharedObject::Kind::ring);
  CHECK(read->dimensions[1].fixed == std::nullopt);
  CHECK(read->dimensions[1].multipleOf == 8);
  CHECK(read->dimensions[1].least == 16);
  CHECK(read->dimensions[1].most == 256);
  CHECK(read->tensors[3].access == Access::workspace);
  CHECK(read->tensors[2].strided);
  CHECK_FALSE(read->tensors[1].strided);
  CHECK(read->tensors[1].contiguous);
  CHECK_FALSE(read->tensors[2].contiguous);
  CHECK(read->variants[0].cubin == "machine code");
  CHECK(read->variants[0].launches[0].parameters[0].bytes == 8);
  CHECK(read->variants[0].launches[0].grid == sample.variants[0].launches[0].grid);
  CHECK(read->variants[0].launches[0].tensorMaps[1].box == std::vector<int64_t>{64, 64});
  CHECK(read->variants[0].launches[0].tensorMaps[0].limitedAxis == -1);
  CHECK(read->variants[0].launches[0].tensorMaps[1].limitedAxis == 0);
  CHECK(read->variants[0].launches[0].tensorMaps[1].before == 64);
  CHECK(read->variants[0].launches[0].tensorMaps[0].window == window);
  CHECK(read->variants[0].launches[0].tensorMaps[1].window == std::nullopt);
  CHECK(read->variants[0].ptx == sample.variants[0].ptx);
  CHECK(read->variants[0].reports.empty());
  REQUIRE(read->variants[1].reports.size() == 1);
  const ReportSite &site = read->variants[1].reports[0];
  CHECK(site.kind == ReportSite::Kind::check);
  CHECK(site.text == "got {}");
  CHECK(site.place == "gemm.cpp:7:3");
  CHECK(site.values == std::vector{ElementType::i64});
  CHECK(site.axes == 2);
  CHECK(read->remarks[0].location == "gemm.cpp:12:3");
  CHECK(read->nvrtc == "13.0");
}

TEST_CASE("what an earlier version wrote is read", "[artifact][serialize]") {
  const Artifact sample = test::sampleArtifact();
  const std::vector<std::byte> then = serialize(sample, oldestArtifactVersion), now = serialize(sample);
  CHECK(then.size() < now.size());
  Result<Artifact> read = deserialize(then);
  REQUIRE(read);
  CHECK(serialize(*read) == now);
  // The fields that it lacks have their defaults.
  Artifact later = sample;
  later.variants[0].cubin = "machine code";
  read = deserialize(serialize(later, oldestArtifactVersion));
  REQUIRE(read);
  CHECK(read->variants[0].cubin.empty());
  CHECK(read->variants[0].launches[0].block() == sample.variants[0].launches[0].block());
  for (uint32_t version : {oldestArtifactVersion - 1, artifactFormatVersion + 1})
    CHECK(failureOf(serialize(sample, version)) ==
          fmt::format("expected a version of the artifact format from 14 to 16, but got version {}; compile "
                      "the program again",
                      version));
}

TEST_CASE("every enumerator survives serialization", "[artifact][serialize]") {
  Artifact sample = test::sampleArtifact();
  auto each = [&]<class Enum>(Enum last, auto set) {
    for (unsigned number = 0; number <= unsigned(last); ++number) {
      CAPTURE(number);
      set(Enum(number));
      std::vector<std::byte> bytes = serialize(sample);
      Result<Artifact> read = deserialize(bytes);
      INFO((read ? "" : read.error().message));
      CHECK((read && serialize(*read) == bytes));
    }
  };
  Launch &aligned = sample.variants[0].launches[0], &general = sample.variants[1].launches[0];
  SECTION("element types") {
    each(allElementTypes.back(), [&](ElementType type) { sample.tensors[2].element = type; });
  }
  SECTION("accesses") {
    sample = {.name = "none", .target = "sm_90a", .tensors = {{.name = "A"}}, .variants = {{.name = "all"}}};
    each(Access::last, [&](Access access) { sample.tensors[0].access = access; });
  }
  SECTION("sources of dimensions") {
    each(DimensionSource::last, [&](DimensionSource source) { sample.dimensions[0].source = source; });
  }
  SECTION("swizzles") {
    aligned.tensorMaps[0].box = {64, 8};
    each(Swizzle::last, [&](Swizzle swizzle) { aligned.tensorMaps[0].swizzle = swizzle; });
  }
  SECTION("operations of the host") {
    using Op = HostExpr::Op;
    const HostExpr one = HostExpr::constant(1);
    each(Op::last, [&](Op op) {
      general.grid[0] = op <= Op::multiprocessors ? HostExpr{{{op}}} : HostExpr::apply(op, one, one);
    });
  }
  SECTION("parameters") {
    using Kind = KernelParameter::Kind;
    aligned.parameters.clear();
    general.tensorMaps = {{.tensor = 0, .box = {8, 64}}};
    each(Kind::last, [&](Kind kind) {
      sample.tensors[0].symmetric =
          kind == Kind::tensorPointers || kind == Kind::tensorMaps || kind == Kind::multicastPointer;
      general.parameters = {{.kind = kind, .index = 0}};
    });
  }
  SECTION("shared objects") {
    each(SharedObject::Kind::last, [&](SharedObject::Kind kind) { aligned.names.shared[0].kind = kind; });
  }
  SECTION("marks") {
    aligned.names.marks = {{}};
    each(ProfileMark::Kind::last, [&](ProfileMark::Kind kind) { aligned.names.marks[0].kind = kind; });
  }
  SECTION("reports") {
    sample.variants[1].reports = {{.text = "here", .place = "gemm.cpp:7:3"}};
    each(ReportSite::Kind::last, [&](ReportSite::Kind kind) { sample.variants[1].reports[0].kind = kind; });
  }
}

TEST_CASE("every truncation and every altered byte is noticed", "[artifact][serialize]") {
  std::vector<std::byte> bytes = serialize(test::sampleArtifact());
  for (size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(failureOf(std::span(bytes).first(size)).empty());
  for (std::byte &byte : bytes) {
    byte ^= std::byte(0x41);
    CHECK_FALSE(failureOf(bytes).empty());
    byte ^= std::byte(0x41);
  }
  CHECK(failureOf(bytes).empty());
}

TEST_CASE("altered content with a valid checksum never crashes", "[artifact][serialize]") {
  const std::vector<std::byte> original = serialize(test::sampleArtifact());
  std::mt19937_64 random(Catch::rngSeed());
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bytes = original;
    for (size_t changes = random() % 3 + 1; changes > 0; --changes)
      bytes[headerBytes + random() % (bytes.size() - headerBytes)] = std::byte(random() & 0xff);
    resign(bytes);
    Result<Artifact> read = deserialize(bytes);
    if (read)
      CHECK(serialize(*read) == bytes);
  }
}

TEST_CASE("damaged artifacts say what is wrong", "[artifact][serialize]") {
  std::vector<std::byte> bytes = serialize(test::sampleArtifact());
  SECTION("foreign data") {
    CHECK_THAT(failureOf(std::as_bytes(std::span("#!/bin/sh\necho hello, this is no artifact"))),
               Contains("does not begin like one"));
    CHECK_THAT(failureOf({}), Contains("does not begin like one"));
  }
  SECTION("another version") {
    bytes[8] = std::byte(99);
    CHECK(failureOf(bytes) ==
          "expected a version of the artifact format from 14 to 16, but got version 99; compile the program "
          "again");
  }
  SECTION("a truncated file") {
    bytes.resize(bytes.size() - 10);
    CHECK_THAT(failureOf(bytes), StartsWith("expected ") && Contains("bytes of artifact after its header"));
  }
  SECTION("an altered byte") {
    bytes.back() ^= std::byte(1);
    CHECK_THAT(failureOf(bytes), Contains("checksum does not match"));
  }
  SECTION("a huge length") {
    for (size_t i = 0; i < 8; ++i)
      bytes[headerBytes + i] = std::byte(0xff);
    resign(bytes);
    CHECK(failureOf(bytes) == "the artifact is malformed: length of a string exceeds the data at byte 8");
  }
  SECTION("more data than fields") {
    bytes.push_back(std::byte(0));
    bytes[12] = std::byte(std::to_integer<uint8_t>(bytes[12]) + 1);
    resign(bytes);
    CHECK_THAT(failureOf(bytes), StartsWith("the artifact is malformed: unexpected data at byte"));
  }
  SECTION("an inconsistent artifact") {
    Artifact artifact = test::sampleArtifact();
    artifact.variants.clear();
    CHECK(failureOf(serialize(artifact)) == "artifact 'gemm': it has no variant");
  }
}
