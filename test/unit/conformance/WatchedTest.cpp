// SPDX-License-Identifier: Apache-2.0
/// \file
/// What one program does to its process does not keep the others from running.
#include "tools/conformance/Watched.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <unistd.h>
#include <vector>

using namespace tlc::conformance;
using namespace std::chrono_literals;

namespace {

/// Programs in a file, which all processes see: those that were begun.
class Begun {
public:
  Begun() : path(std::filesystem::temp_directory_path() / ("begun" + std::to_string(getpid()))) {}
  Begun(const Begun &) = delete;
  ~Begun() { std::filesystem::remove(path); }
  void add(const std::string &program) const { std::ofstream(path, std::ios::app) << program << "\n"; }
  std::vector<std::string> all() const {
    std::ifstream file(path);
    std::vector<std::string> programs;
    for (std::string line; std::getline(file, line);)
      programs.push_back(line);
    return programs;
  }

private:
  std::filesystem::path path;
};

} // namespace

TEST_CASE("programs that fail, hang or end their process cost only themselves") {
  const Begun begun;
  const std::vector<std::string> programs = {"works", "fails", "hangs", "ends", "works too"};
  const int status = runWatched(1s, [&](const Progress &progress) {
    for (size_t i = begun.all().size(); i < programs.size(); ++i) {
      begun.add(programs[i]);
      progress.begin(programs[i]);
      if (programs[i] == "fails")
        return programFailed;
      if (programs[i] == "hangs")
        pause();
      if (programs[i] == "ends")
        raise(SIGKILL);
    }
    return 0;
  });
  CHECK(status == 2);
  CHECK(begun.all() == programs);
}

TEST_CASE("a process that fails before its first program is the last") {
  const Begun begun;
  const auto fails = [&](int status) {
    return runWatched(1s, [&](const Progress &) {
      begun.add("process");
      return status;
    });
  };
  CHECK(fails(2) == 2);
  CHECK(fails(programFailed) == 2);
  CHECK(begun.all().size() == 2);
  CHECK(runWatched(1s, [](const Progress &) { return 0; }) == 0);
}
