// SPDX-License-Identifier: Apache-2.0
/// \file
/// Captures of streams and their graphs, on the device that this is linked with.
#include "test/unit/device/StreamCases.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>

using namespace tlc;
using namespace tlc::test;
using Catch::Matchers::Contains;

namespace {

struct OnGraphs : ScaleOnStreams {
  using ScaleOnStreams::ScaleOnStreams;
  std::unique_ptr<Graph> capture(const std::function<Result<void>()> &enqueue) const {
    return expectValue(device->capture(*stream, enqueue));
  }
  void run(Graph &graph) const {
    expectSuccess(graph.launch(*stream));
    expectSuccess(device->synchronize(*stream));
  }
};

std::string errorOf(const Result<void> &done) {
  REQUIRE_FALSE(done);
  return done.error().message;
}

} // namespace

TEST_CASE("a captured stream does nothing until its graph is launched, then all in order", "[graph]") {
  OnGraphs on(3);
  auto *pinned = static_cast<float *>(expectValue(on.device->allocateHost(on.bytes)));
  const std::unique_ptr<Graph> graph = on.capture([&]() -> Result<void> {
    if (auto done = on.device->copyToDevice(on.memory[0], pinned, on.bytes, *on.stream); !done)
      return done;
    if (auto done = on.device->launch(*on.program, on.scale(0, 1, 3), *on.stream); !done)
      return done;
    if (auto done = on.device->launch(*on.program, on.scale(1, 2, 5), *on.stream); !done)
      return done;
    if (auto done = on.device->clear(on.memory[1], on.bytes, *on.stream); !done)
      return done;
    return on.device->copyToHost(pinned, on.memory[2], on.bytes, *on.stream);
  });
  CHECK(on.read(on.memory[2]) == on.all(3));
  std::fill_n(pinned, on.elements, 1.0f);
  for (float expected : {15.0f, 225.0f}) { // what it has copied back it copies there
    on.run(*graph);
    CHECK(on.read(on.memory[2]) == on.all(expected));
    CHECK(on.read(on.memory[1]) == on.all(0));
    CHECK(std::vector<float>(pinned, pinned + on.elements) == on.all(expected));
  }
  expectSuccess(on.device->freeHost(pinned));
}

TEST_CASE("a tensor that moves after the capture moves in the graph", "[graph]") {
  OnGraphs on(4);
  const auto launch = expectValue(on.device->prepare(*on.program, on.scale(0, 1, 10)));
  const std::unique_ptr<Graph> graph = on.capture([&] { return launch->enqueue(*on.stream); });
  on.run(*graph);
  CHECK(on.read(on.memory[1]) == on.all(10));
  expectSuccess(launch->setAddress(0, on.memory[2]));
  expectSuccess(launch->setAddress(1, on.memory[3]));
  CHECK(on.read(on.memory[3]) == on.all(4));
  for (int launches = 0; launches < 2; ++launches)
    on.run(*graph);
  CHECK(on.read(on.memory[3]) == on.all(30));
  CHECK(on.read(on.memory[1]) == on.all(10));
}

TEST_CASE("each place in a graph has the addresses of when it was captured", "[graph]") {
  OnGraphs on(4);
  const auto launch = expectValue(on.device->prepare(*on.program, on.scale(0, 1, 10)));
  const std::unique_ptr<Graph> graph = on.capture([&]() -> Result<void> {
    for (size_t output : {1, 2}) {
      if (auto done = launch->setAddress(1, on.memory[output]); !done)
        return done;
      if (auto done = launch->enqueue(*on.stream); !done)
        return done;
    }
    return {};
  });
  on.run(*graph);
  CHECK(on.read(on.memory[1]) == on.all(10));
  CHECK(on.read(on.memory[2]) == on.all(10));
  expectSuccess(launch->setAddress(0, on.memory[3]));
  on.run(*graph);
  CHECK(on.read(on.memory[1]) == on.all(10)); // both places move
  CHECK(on.read(on.memory[2]) == on.all(40));
}

TEST_CASE("a tensor that is set to where it is already does not move in a graph", "[graph]") {
  OnGraphs on(3);
  const auto launch = expectValue(on.device->prepare(*on.program, on.scale(0, 1, 10)));
  const std::unique_ptr<Graph> graph = on.capture([&]() -> Result<void> {
    if (auto done = launch->enqueue(*on.stream); !done)
      return done;
    if (auto done = launch->setAddress(1, on.memory[2]); !done)
      return done;
    return launch->enqueue(*on.stream);
  });
  expectSuccess(launch->setAddress(1, on.memory[2]));
  on.run(*graph);
  CHECK(on.read(on.memory[1]) == on.all(10));
  CHECK(on.read(on.memory[2]) == on.all(10));
}

TEST_CASE("a launch that is made once does not move in the graph that captured it", "[graph]") {
  OnGraphs on(4);
  const std::unique_ptr<Graph> graph =
      on.capture([&] { return on.device->launch(*on.program, on.scale(0, 1, 10), *on.stream); });
  expectSuccess(on.device->launch(*on.program, on.scale(0, 2, 10), *on.stream));
  CHECK(on.read(on.memory[2]) == on.all(10));
  on.run(*graph);
  CHECK(on.read(on.memory[1]) == on.all(10));
}

TEST_CASE("a graph needs no prepared launches", "[graph]") {
  OnGraphs on(2);
  auto launch = expectValue(on.device->prepare(*on.program, on.scale(0, 1, 10)));
  const std::unique_ptr<Graph> graph = on.capture([&] { return launch->enqueue(*on.stream); });
  launch.reset();
  on.run(*graph);
  CHECK(on.read(on.memory[1]) == on.all(10));
}

TEST_CASE("a tensor that has moved is there in a graph also when its launch has ended", "[graph]") {
  OnGraphs on(3);
  auto launch = expectValue(on.device->prepare(*on.program, on.scale(0, 1, 10)));
  const std::unique_ptr<Graph> graph = on.capture([&] { return launch->enqueue(*on.stream); });
  expectSuccess(launch->setAddress(1, on.memory[2]));
  launch.reset();
  on.run(*graph);
  CHECK(on.read(on.memory[1]) == on.all(2));
  CHECK(on.read(on.memory[2]) == on.all(10));
}

TEST_CASE("a prepared launch may end before the capture does", "[graph]") {
  OnGraphs on(2);
  const std::unique_ptr<Graph> graph = on.capture(
      [&] { return expectValue(on.device->prepare(*on.program, on.scale(0, 1, 10)))->enqueue(*on.stream); });
  on.run(*graph);
  CHECK(on.read(on.memory[1]) == on.all(10));
}

TEST_CASE("a stream that waits for an event of a captured one is captured, too", "[graph]") {
  OnGraphs on(3);
  const std::unique_ptr<OwnedStream> other = expectValue(on.device->createStream());
  const std::unique_ptr<Graph> graph = on.capture([&]() -> Result<void> {
    if (auto done = on.device->launch(*on.program, on.scale(0, 1, 3), *on.stream); !done)
      return done;
    const auto forked = expectValue(on.device->record(*on.stream));
    if (auto done = on.device->wait(*forked, *other); !done)
      return done;
    CHECK(expectValue(on.device->isCaptured(*other)));
    if (auto done = on.device->launch(*on.program, on.scale(1, 2, 5), *other); !done)
      return done;
    const auto joined = expectValue(on.device->record(*other));
    return on.device->wait(*joined, *on.stream);
  });
  CHECK_FALSE(expectValue(on.device->isCaptured(*other)));
  CHECK(on.read(on.memory[2]) == on.all(3));
  on.run(*graph);
  CHECK(on.read(on.memory[2]) == on.all(15));
}

TEST_CASE("a thread that captures neither loads, allocates, copies nor synchronises", "[graph]") {
  OnGraphs on(2);
  CHECK_FALSE(expectValue(on.device->isCaptured(*on.stream)));
  void *const pinned = expectValue(on.device->allocateHost(16));
  const auto event = expectValue(on.device->record(*on.stream, EventTime::measured));
  const std::unique_ptr<Graph> graph = on.capture([&]() -> Result<void> {
    CHECK(expectValue(on.device->isCaptured(*on.stream)));
    const auto stream = on.device->createStream();
    REQUIRE_FALSE(stream);
    CHECK_THAT(stream.error().message, Contains("cannot create a stream while this thread"));
    const auto time = on.device->elapsed(*event, *event);
    REQUIRE_FALSE(time);
    CHECK_THAT(time.error().message, Contains("cannot measure a time while this thread"));
    const auto more = on.device->allocateHost(16);
    REQUIRE_FALSE(more);
    CHECK_THAT(more.error().message, Contains("cannot allocate pinned memory while this thread"));
    CHECK_THAT(errorOf(on.device->freeHost(pinned)), Contains("cannot free pinned memory while this thread"));
    const auto loaded = on.device->load(scaleArtifact());
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().message ==
          "cannot load 'scale' while a stream is captured; load it before the capture, as its first call "
          "does; 'tlc prewarm' compiles it ahead of that");
    const auto allocated = on.device->allocate(16);
    REQUIRE_FALSE(allocated);
    CHECK(allocated.error().message ==
          "cannot allocate memory while this thread captures a stream; do it before the capture");
    CHECK_FALSE(on.device->allocate(16, *on.stream));
    CHECK_THAT(errorOf(on.device->free(on.memory[0])), Contains("cannot free memory while this thread"));
    float value = 0;
    CHECK_THAT(errorOf(on.device->copyToDevice(on.memory[0], &value, sizeof(value))),
               Contains("cannot copy without a stream while this thread"));
    CHECK_THAT(errorOf(on.device->copyToHost(&value, on.memory[0], sizeof(value))),
               Contains("cannot copy without a stream while this thread"));
    CHECK_THAT(errorOf(on.device->synchronize(*on.stream)), Contains("cannot synchronize while this thread"));
    const auto second = on.device->capture(*on.stream, [] { return Result<void>(); });
    REQUIRE_FALSE(second);
    CHECK(second.error().message == "this thread already captures a stream");
    return on.device->launch(*on.program, on.scale(0, 1, 3), *on.stream);
  });
  on.run(*graph); // none of it has ended the capture
  expectSuccess(on.device->freeHost(pinned));
  CHECK(on.read(on.memory[1]) == on.all(3));
}

TEST_CASE("the default stream is not captured", "[graph]") {
  OnGraphs on(0);
  const auto graph = on.device->capture({}, [] { return Result<void>(); });
  REQUIRE_FALSE(graph);
  CHECK(graph.error().message == "cannot capture the default stream; use Device::createStream");
}

TEST_CASE("an error ends the capture, and the stream can be used", "[graph]") {
  OnGraphs on(2);
  const auto graph = on.device->capture(*on.stream, [&]() -> Result<void> {
    if (auto done = on.device->launch(*on.program, on.scale(0, 1, 3), *on.stream); !done)
      return done;
    return Error{.message = "no more"};
  });
  REQUIRE_FALSE(graph);
  CHECK(graph.error().message == "no more");
  CHECK(on.read(on.memory[1]) == on.all(2));
  expectSuccess(on.device->launch(*on.program, on.scale(0, 1, 5), *on.stream));
  expectSuccess(on.device->synchronize(*on.stream));
  CHECK(on.read(on.memory[1]) == on.all(5));
}

TEST_CASE("an exception ends the capture, and the stream and the thread can be used", "[graph]") {
  OnGraphs on(2);
  CHECK_THROWS_AS(on.device->capture(*on.stream,
                                     [&]() -> Result<void> {
                                       expectSuccess(
                                           on.device->launch(*on.program, on.scale(0, 1, 3), *on.stream));
                                       throw std::runtime_error("no more");
                                     }),
                  std::runtime_error);
  CHECK_FALSE(expectValue(on.device->isCaptured(*on.stream)));
  CHECK(on.read(on.memory[1]) == on.all(2));
  expectSuccess(on.device->launch(*on.program, on.scale(0, 1, 5), *on.stream));
  expectSuccess(on.device->synchronize(*on.stream));
  CHECK(on.read(on.memory[1]) == on.all(5));
  expectSuccess(on.device->free(expectValue(on.device->allocate(16))));
  const std::unique_ptr<Graph> graph =
      on.capture([&] { return on.device->launch(*on.program, on.scale(0, 1, 7), *on.stream); });
  on.run(*graph);
  CHECK(on.read(on.memory[1]) == on.all(7));
}

TEST_CASE("a graph is not launched on a captured stream", "[graph]") {
  OnGraphs on(2);
  const std::unique_ptr<Graph> first =
      on.capture([&] { return on.device->launch(*on.program, on.scale(0, 1, 3), *on.stream); });
  const std::unique_ptr<Graph> second = on.capture([&]() -> Result<void> {
    CHECK(errorOf(first->launch(*on.stream)) ==
          "cannot launch a graph on a captured stream; do it before or after the capture");
    return on.device->launch(*on.program, on.scale(0, 1, 5), *on.stream);
  });
  on.run(*second);
  CHECK(on.read(on.memory[1]) == on.all(5));
}
