// SPDX-License-Identifier: Apache-2.0
#include "test/ranks/RankProcess.h"

#include "runtime/support/ChildProcess.h"
#include "test/ranks/RankRun.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <thread>
#include <unistd.h>

using namespace tlc;
using namespace tlc::test;
namespace fs = std::filesystem;

namespace {

constexpr const char *rankVariable = "TLC_TEST_RANK", *ranksVariable = "TLC_TEST_RANKS",
                     *folderVariable = "TLC_TEST_FOLDER", *modeVariable = "TLC_TEST_MODE";

std::string valueOf(const char *variable) {
  const char *value = std::getenv(variable);
  REQUIRE(value);
  return value;
}

} // namespace

fs::path Exchange::path(std::string_view name, size_t of) const {
  return folder / fmt::format("{}-{}", name, of);
}

std::vector<std::string> Exchange::of(std::string_view name, const std::string &bytes) const {
  const fs::path unfinished = path(fmt::format("{}-unfinished", name), rank);
  std::ofstream(unfinished, std::ios::binary) << bytes;
  fs::rename(unfinished, path(name, rank));
  std::vector<std::string> all;
  for (size_t other = 0; other < ranks; ++other) {
    for (int tries = 0; !fs::exists(path(name, other)); ++tries) {
      REQUIRE(tries < 3000);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::ifstream file(path(name, other), std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return all;
}

RankProcess RankProcess::current() {
  return {valueOf(modeVariable),
          {valueOf(folderVariable), std::stoul(valueOf(rankVariable)), std::stoul(valueOf(ranksVariable))}};
}

void RankProcess::end(std::string_view outcome) const {
  std::ofstream(exchange.path("outcome", exchange.rank)) << outcome;
  std::fflush(nullptr);
  ::_exit(0);
}

std::vector<std::string> tlc::test::outcomesOf(const std::string &test, const std::string &mode,
                                               size_t ranks) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("tlc-ranks-{}-{}", ::getpid(), mode);
  fs::create_directory(folder);
  std::vector<ChildProcess> processes;
  for (size_t rank = 0; rank < ranks; ++rank) {
    std::vector<std::string> variables = {
        fmt::format("{}={}", rankVariable, rank), fmt::format("{}={}", ranksVariable, ranks),
        fmt::format("{}={}", folderVariable, folder.string()), fmt::format("{}={}", modeVariable, mode)};
    for (char **variable = environ; *variable; ++variable)
      variables.emplace_back(*variable);
    std::vector<char *> environment;
    for (std::string &variable : variables)
      environment.push_back(variable.data());
    environment.push_back(nullptr);
    std::string program = "/proc/self/exe", filter = test;
    char *const words[] = {program.data(), filter.data(), nullptr};
    std::optional<ChildProcess> process = ChildProcess::start([&](int) {
      ::execve(words[0], words, environment.data()); // a fork alone could not use the driver
      return 127;
    });
    REQUIRE(process);
    processes.push_back(std::move(*process));
  }
  // A busy machine needs a multiple of the seconds that an idle one does; a process that hangs needs more.
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  for (ChildProcess &process : processes) {
    std::optional<ProcessEnd> ended = process.waitUntil(end);
    CHECK((ended ? ended->text() : "has not ended") == "exit status 0");
  }
  std::vector<std::string> outcomes;
  for (size_t rank = 0; rank < ranks; ++rank) {
    std::ifstream file(Exchange{folder}.path("outcome", rank));
    outcomes.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  fs::remove_all(folder);
  return outcomes;
}

bool tlc::test::lacksGpus() {
  if (mostRanks() > 1)
    return false;
  WARN("skipped, this test needs two GPUs that reach each other's memory");
  return true;
}
