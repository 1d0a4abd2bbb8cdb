// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/ChildProcess.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <unistd.h>

using namespace tlc;
using std::chrono::seconds;

namespace {
std::string complaintOf(const std::function<std::string()> &body) {
  Result<std::string> answer = answerOfChild(seconds(600), body);
  return answer ? "" : answer.error().message;
}
} // namespace

TEST_CASE("a child answers with any bytes, and leaves this process as it is") {
  int here = 1;
  const std::string large(size_t(3) << 20, '\0');
  Result<std::string> answer = answerOfChild(seconds(600), [&] {
    here = 2;
    return large + "end";
  });
  REQUIRE(answer);
  CHECK(*answer == large + "end");
  CHECK(here == 1);
  CHECK(*answerOfChild(seconds(600), [] { return std::string(); }) == "");
}

TEST_CASE("how a child ended that has not answered") {
  CHECK(complaintOf([]() -> std::string { std::exit(0); }) == "ended by exit status 0");
  CHECK(complaintOf([]() -> std::string { _exit(9); }) == "ended by exit status 9");
  CHECK(complaintOf([]() -> std::string { std::abort(); }) == "ended by signal 6 (Aborted)");
  CHECK(complaintOf([]() -> std::string {
          std::raise(SIGSEGV);
          return "not reached";
        }) == "ended by signal 11 (Segmentation fault)");
  Result<std::string> late = answerOfChild(seconds(1), []() -> std::string {
    for (;;)
      pause();
  });
  CHECK(late.error().message == "has not ended after 1 s");
  CHECK(late.error().kind == ErrorKind::execution);
  late = answerOfChild(seconds(1), []() -> std::string {
    for (int file = 0; file < 64; ++file)
      close(file);
    for (;;)
      pause();
  });
  CHECK(late.error().message == "has not ended after 1 s");
}

TEST_CASE("a child that nobody waits for is ended") {
  pid_t process = 0;
  {
    std::optional<ChildProcess> child = ChildProcess::start([](int pipe) {
      const pid_t own = getpid();
      writeToPipe(pipe, {reinterpret_cast<const char *>(&own), sizeof(own)});
      for (;;)
        pause();
      return 0;
    });
    REQUIRE(child);
    REQUIRE(read(child->pipe(), &process, sizeof(process)) == sizeof(process));
    CHECK(kill(process, 0) == 0);
  }
  CHECK(kill(process, 0) != 0);
}
