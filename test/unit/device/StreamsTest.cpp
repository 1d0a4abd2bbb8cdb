// SPDX-License-Identifier: Apache-2.0
/// \file
/// Streams, events, copies and memory of a stream, on the device that this is linked with.
#include "test/unit/device/StreamCases.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;
using Catch::Matchers::Contains;

TEST_CASE("copies and launches of a stream are done in its order", "[streams]") {
  ScaleOnStreams on(2);
  auto *pinned = static_cast<float *>(expectValue(on.device->allocateHost(2 * on.bytes)));
  float *const result = pinned + on.elements;
  std::fill_n(pinned, on.elements, 3.0f);
  expectSuccess(on.device->copyToDevice(on.memory[0], pinned, on.bytes, *on.stream));
  expectSuccess(on.device->launch(*on.program, on.scale(0, 1, 5), *on.stream));
  expectSuccess(on.device->copyToHost(result, on.memory[1], on.bytes, *on.stream));
  expectSuccess(on.device->synchronize(*on.stream));
  CHECK(std::vector<float>(result, result + on.elements) == on.all(15));
  expectSuccess(on.device->freeHost(pinned));
}

TEST_CASE("copies of ordinary memory on a stream are done when it is", "[streams]") {
  ScaleOnStreams on(1);
  const std::vector<float> values = on.all(7);
  std::vector<float> result(on.elements);
  expectSuccess(on.device->copyToDevice(on.memory[0], values.data(), on.bytes, *on.stream));
  expectSuccess(on.device->copyToHost(result.data(), on.memory[0], on.bytes, *on.stream));
  expectSuccess(on.device->synchronize(*on.stream));
  CHECK(result == values);
}

TEST_CASE("memory of a stream is used in its order, and freed there", "[streams]") {
  ScaleOnStreams on(2);
  void *between = expectValue(on.device->allocate(on.bytes, *on.stream));
  LaunchArguments first = on.scale(0, 0, 3), second = on.scale(0, 1, 5);
  first.tensors[1] = second.tensors[0] = on.view(between);
  expectSuccess(on.device->launch(*on.program, first, *on.stream));
  expectSuccess(on.device->launch(*on.program, second, *on.stream));
  expectSuccess(on.device->free(between, *on.stream));
  expectSuccess(on.device->synchronize(*on.stream));
  CHECK(on.read(on.memory[1]) == on.all(15));
}

TEST_CASE("no bytes of a stream and of pinned memory are valid", "[streams]") {
  ScaleOnStreams on(0);
  expectSuccess(on.device->free(expectValue(on.device->allocate(0, *on.stream)), *on.stream));
  expectSuccess(on.device->freeHost(expectValue(on.device->allocateHost(0))));
  expectSuccess(on.device->free(nullptr, *on.stream));
  expectSuccess(on.device->freeHost(nullptr));
}

TEST_CASE("an event orders two streams", "[streams]") {
  ScaleOnStreams on(3);
  const std::unique_ptr<OwnedStream> other = expectValue(on.device->createStream());
  CHECK(Stream(*other).handle != Stream(*on.stream).handle);
  expectSuccess(on.device->launch(*on.program, on.scale(0, 1, 3), *on.stream));
  const std::unique_ptr<const Event> written = expectValue(on.device->record(*on.stream));
  expectSuccess(on.device->wait(*written, *other));
  expectSuccess(on.device->launch(*on.program, on.scale(1, 2, 5), *other));
  expectSuccess(on.device->synchronize(*other));
  CHECK(on.read(on.memory[2]) == on.all(15));
}

TEST_CASE("the time between two events is that of the work between them", "[streams]") {
  ScaleOnStreams on(2);
  const auto begin = expectValue(on.device->record(*on.stream, EventTime::measured));
  expectSuccess(on.device->launch(*on.program, on.scale(0, 1, 3), *on.stream));
  const auto middle = expectValue(on.device->record(*on.stream, EventTime::measured));
  expectSuccess(on.device->launch(*on.program, on.scale(0, 1, 3), *on.stream));
  const auto end = expectValue(on.device->record(*on.stream, EventTime::measured));
  const double first = expectValue(on.device->elapsed(*begin, *middle)),
               second = expectValue(on.device->elapsed(*middle, *end)),
               both = expectValue(on.device->elapsed(*begin, *end));
  CHECK(first > 0);
  CHECK(second > 0);
  CHECK(both == Approx(first + second).margin(0.01));
}

TEST_CASE("there is no time between events that were recorded without, or elsewhere", "[streams]") {
  ScaleOnStreams on(0);
  const auto with = expectValue(on.device->record(*on.stream, EventTime::measured)),
             without = expectValue(on.device->record(*on.stream));
  auto refusal = [&](const Event &from, const Event &to) {
    const Result<double> elapsed = on.device->elapsed(from, to);
    REQUIRE_FALSE(elapsed);
    CHECK(elapsed.error().kind == ErrorKind::invalidArgument);
    return elapsed.error().message;
  };
  CHECK(refusal(*without, *with) == "expected two events with times, but the first one was recorded without; "
                                    "record it with EventTime::measured");
  CHECK_THAT(refusal(*with, *without), Contains("but the second one was recorded without"));
  struct Foreign : Event {
    Foreign() : Event(EventTime::measured) {}
  };
  CHECK_THAT(refusal(*with, Foreign()), Contains("has recorded, but got one of another device"));
}

TEST_CASE("pinned memory is freed once", "[streams]") {
  ScaleOnStreams on(0);
  void *pinned = expectValue(on.device->allocateHost(16));
  expectSuccess(on.device->freeHost(pinned));
  const Result<void> again = on.device->freeHost(pinned);
  REQUIRE_FALSE(again);
  CHECK(again.error().kind == ErrorKind::invalidArgument);
  CHECK_THAT(again.error().message, Contains("cannot free pinned memory at"));
}
