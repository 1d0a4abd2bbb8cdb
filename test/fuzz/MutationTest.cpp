// SPDX-License-Identifier: Apache-2.0
/// \file
/// The seeds of the corpus load and run; what random changes make of them does
/// no worse than to be refused. The fuzz target searches longer (CMakeLists.txt).
#include "test/fuzz/LoadAndRun.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using namespace tlc::emulator::fuzz;

namespace {

struct Seed {
  std::string name, text;
};

std::vector<Seed> seeds() {
  std::vector<Seed> all;
  for (const auto &entry : std::filesystem::directory_iterator(TLC_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    all.push_back({entry.path().filename(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::sort(all.begin(), all.end(), [](const Seed &a, const Seed &b) { return a.name < b.name; });
  return all;
}

/// What is at the edge of something.
constexpr std::string_view odd[] = {"0",
                                    "-1",
                                    "4294967295",
                                    "18446744073709551615",
                                    "9223372036854775808",
                                    "0x",
                                    "%p1",
                                    "%r1",
                                    "%d1",
                                    "%f1",
                                    "_",
                                    "{",
                                    "}",
                                    "(",
                                    ")",
                                    "[",
                                    "]",
                                    ";",
                                    ",",
                                    "!",
                                    "|",
                                    ".v4",
                                    ".b128",
                                    ".pred",
                                    ".shared",
                                    ".global",
                                    ".param",
                                    ".align 3",
                                    "<4000000000>",
                                    "[99999999999]",
                                    "0f7FC00000",
                                    "1e999",
                                    "\"",
                                    "/*",
                                    "@",
                                    "\xFF",
                                    std::string_view("\0", 1)};

class Mutator {
public:
  Mutator(unsigned seed, const std::vector<Seed> &seeds) : random(seed), seeds(seeds) {}

  std::string next() {
    std::string text = seeds[random() % seeds.size()].text;
    for (unsigned changes = 1 + random() % 2; changes != 0 && !text.empty(); --changes)
      change(text);
    return text;
  }

private:
  void change(std::string &text) {
    const size_t at = random() % text.size(), length = std::min<size_t>(random() % 40, text.size() - at);
    const std::string &other = seeds[random() % seeds.size()].text;
    const size_t from = random() % other.size();
    switch (random() % 14) {
    case 0:
      text[at] = char(random());
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(at, length));
      break;
    case 3:
      text.insert(at, other.substr(from, length));
      break;
    case 4:
      replaceWord(text, at, std::string(odd[random() % std::size(odd)]));
      break;
    case 5:
      replaceWord(text, at, word(other, from));
      break;
    case 6:
      text.resize(at);
      break;
    case 7:
      swapLines(text, at, random() % text.size());
      break;
    default:
      // Of the same kind, so that it often still loads.
      for (int tries = 0; tries < 100; ++tries) {
        const std::string here = word(text, at), there = word(text, random() % text.size());
        if (here != there && here.substr(0, 2) == there.substr(0, 2) && !here.empty())
          return replaceWord(text, at, there);
      }
    }
  }

  static bool isWord(char c) {
    return std::isalnum(uint8_t(c)) || c == '%' || c == '_' || c == '.' || c == ':';
  }
  /// Begin and length of the word around a position; no length where there is none.
  static std::pair<size_t, size_t> wordAt(const std::string &text, size_t at) {
    size_t begin = at, end = at;
    while (begin > 0 && isWord(text[begin - 1]))
      --begin;
    while (end < text.size() && isWord(text[end]))
      ++end;
    return {begin, end - begin};
  }
  static std::string word(const std::string &text, size_t at) {
    const auto [begin, length] = wordAt(text, at);
    return text.substr(begin, length);
  }
  static void replaceWord(std::string &text, size_t at, const std::string &by) {
    const auto [begin, length] = wordAt(text, at);
    text.replace(begin, length, by);
  }
  static std::pair<size_t, size_t> line(const std::string &text, size_t at) {
    const size_t before = at == 0 ? std::string::npos : text.rfind('\n', at - 1), after = text.find('\n', at);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    return {begin, (after == std::string::npos ? text.size() : after) - begin};
  }
  static void swapLines(std::string &text, size_t a, size_t b) {
    const auto [aBegin, aLength] = line(text, std::min(a, b));
    const auto [bBegin, bLength] = line(text, std::max(a, b));
    if (aBegin + aLength > bBegin)
      return;
    const std::string first = text.substr(aBegin, aLength), second = text.substr(bBegin, bLength);
    text.replace(bBegin, bLength, first);
    text.replace(aBegin, aLength, second);
  }

  std::mt19937 random;
  const std::vector<Seed> &seeds;
};

} // namespace

TEST_CASE("all seeds load") {
  REQUIRE_FALSE(seeds().empty());
  for (const Seed &seed : seeds()) {
    const auto loaded = loadAndRun(seed.text);
    INFO(seed.name << ": " << (loaded ? "" : loaded.error().message));
    CHECK(loaded);
  }
}

TEST_CASE("every part of a seed is at most refused") {
  for (const Seed &seed : seeds())
    for (size_t length = 0; length < seed.text.size(); length += 7)
      static_cast<void>(loadAndRun(std::string_view(seed.text).substr(0, length)));
}

TEST_CASE("every change of a seed is at most refused") {
  const std::vector<Seed> all = seeds();
  const unsigned first = Catch::rngSeed();
  // A crash loses what INFO holds.
  WARN("changes of seed " << first);
  Mutator mutator(first, all);
  size_t loaded = 0;
  for (int i = 0; i < 20000; ++i)
    loaded += bool(loadAndRun(mutator.next()));
  // Otherwise nothing but the parser is tried.
  CHECK(loaded > 1000);
}
