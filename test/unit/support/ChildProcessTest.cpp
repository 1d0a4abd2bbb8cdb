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

TEST_CASE("bytes of others are no answer") {
  const char *foreign =
      " bytes to a file descriptor that it has not opened, through which tlc waits for an answer; "
      "write to files that the code opens, or to standard error";
  const auto everywhere = [](std::string_view bytes) {
    for (int file = 3; file < 64; ++file)
      (void)!write(file, bytes.data(), bytes.size());
  };
  CHECK_THAT(complaintOf([&] {
               everywhere("other bytes");
               return std::string("answer");
             }),
             Catch::StartsWith("has written ") && Catch::EndsWith(foreign));
  CHECK(complaintOf([&]() -> std::string {
          everywhere("+");
          std::exit(0);
        }) == std::string("has written 1") + foreign);
  Result<std::string> large = answerOfChild(seconds(20), [] { return std::string(1001, 'x'); }, 1000);
  CHECK(large.error().message == "has answered more than 1032 bytes");
  large = answerOfChild(seconds(20), [] { return std::string(1000, 'x'); }, 1000);
  CHECK(large);
}

TEST_CASE("what a child starts ends with it, and what leaves its group keeps no answer waiting") {
  const auto begun = std::chrono::steady_clock::now();
  Result<std::string> answer = answerOfChild(seconds(20), [] {
    int ready[2];
    (void)!pipe(ready);
    pid_t background = fork();
    if (background == 0) {
      if (fork() == 0)
        setsid(); // holds the pipe
      else
        (void)!write(ready[1], "r", 1);
      sleep(60);
      _exit(0);
    }
    char byte = 0;
    (void)!read(ready[0], &byte, 1);
    return std::to_string(background);
  });
  REQUIRE(answer);
  CHECK(std::chrono::steady_clock::now() - begun < seconds(20));
  for (int i = 0; i < 1000 && kill(std::stoi(*answer), 0) == 0; ++i) // a zombie until it is waited for
    usleep(10'000);
  CHECK(kill(std::stoi(*answer), 0) != 0);
}

TEST_CASE("a child has no signals and no input of this process") {
  std::signal(SIGUSR1, SIG_IGN);
  Result<std::string> answer = answerOfChild(seconds(20), [] {
    struct sigaction action = {};
    sigaction(SIGUSR1, nullptr, &action);
    char byte = 0;
    return std::string(action.sa_handler == SIG_DFL ? "default " : "ignored ") +
           std::to_string(read(STDIN_FILENO, &byte, 1));
  });
  std::signal(SIGUSR1, SIG_DFL);
  REQUIRE(answer);
  CHECK(*answer == "default 0");
}

TEST_CASE("the watcher is told that it killed a child") {
  int told[2];
  REQUIRE(pipe(told) == 0);
  {
    std::optional<ChildProcess> child = ChildProcess::start(
        [](int) {
          for (;;)
            pause();
          return 0;
        },
        [&] { (void)!write(told[1], "k", 1); });
    REQUIRE(child);
    CHECK(child->id() > 0);
    CHECK_FALSE(child->hasEnded());
  }
  char byte = 0;
  CHECK(read(told[0], &byte, 1) == 1);
  close(told[0]);
  close(told[1]);
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
