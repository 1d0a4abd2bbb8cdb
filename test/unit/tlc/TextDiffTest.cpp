// SPDX-License-Identifier: Apache-2.0
/// \file
/// What changed between two texts.
#include "tools/tlc/TextDiff.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

using namespace tlc::driver;

namespace {

/// A diff as `diff -u` writes it.
std::string diffOf(llvm::StringRef before, llvm::StringRef after) {
  std::string text;
  for (const DiffHunk &hunk : diffModules(before, after).hunks) {
    text += "@@ -" + std::to_string(hunk.before) + "," + std::to_string(hunk.numBefore) + " +" +
            std::to_string(hunk.after) + "," + std::to_string(hunk.numAfter) + " @@\n";
    for (const DiffLine &line : hunk.lines)
      text += (line.kind == DiffLine::Kind::context   ? " "
               : line.kind == DiffLine::Kind::removed ? "-"
                                                      : "+") +
              line.text.str() + "\n";
  }
  return text;
}

/// The length of a longest common subsequence, by the table.
size_t longest(const std::vector<unsigned> &a, const std::vector<unsigned> &b) {
  std::vector<std::vector<size_t>> best(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b.size(); ++j)
      best[i + 1][j + 1] = a[i] == b[j] ? best[i][j] + 1 : std::max(best[i][j + 1], best[i + 1][j]);
  return best.back().back();
}

} // namespace

TEST_CASE("as many elements are common as can be", "[diff]") {
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    std::vector<unsigned> a(random() % 12), b(random() % 12);
    for (std::vector<unsigned> *each : {&a, &b})
      for (unsigned &element : *each)
        element = unsigned(random() % 4);
    const auto pairs = longestCommon(a, b);
    REQUIRE(pairs.size() == longest(a, b));
    for (size_t i = 0; i < pairs.size(); ++i) {
      REQUIRE(a[pairs[i].first] == b[pairs[i].second]);
      REQUIRE((i == 0 || (pairs[i - 1].first < pairs[i].first && pairs[i - 1].second < pairs[i].second)));
    }
  }
}

TEST_CASE("equal texts have no differences", "[diff]") {
  CHECK(diffOf("a\nb\n", "a\nb\n").empty());
  CHECK(diffOf("", "").empty());
}

TEST_CASE("lines are removed before they are added, with three lines around", "[diff]") {
  CHECK(diffOf("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n") ==
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
  CHECK(diffOf("", "a\n") == "@@ -1,0 +1,1 @@\n+a\n");
}

TEST_CASE("changes far from each other are hunks of their own", "[diff]") {
  std::string before, after;
  for (int i = 0; i < 20; ++i) {
    before += std::to_string(i) + "\n";
    after += (i == 2 || i == 17 ? "new" : std::to_string(i)) + "\n";
  }
  CHECK(diffModules(before, after).hunks.size() == 2);
  CHECK(diffModules(before, after).removed == 2);
}

TEST_CASE("values that only have other numbers are equal", "[diff]") {
  CHECK(diffOf("%0 = a\n%1 = b %0\n%2 = c %1, %0\n", "%0 = new\n%1 = a\n%2 = b %1\n%3 = c %2, %1\n") ==
        "@@ -1,3 +1,4 @@\n+%0 = new\n %1 = a\n %2 = b %1\n %3 = c %2, %1\n");
  CHECK(diffOf("#l = #t.x<1>\n#l1 = #t.x<2>\n%0 = a : #l1\n", "#l = #t.x<2>\n%0 = a : #l\n") ==
        "@@ -1,3 +1,2 @@\n-#l = #t.x<1>\n #l = #t.x<2>\n %0 = a : #l\n");
}

TEST_CASE("values that are others are different", "[diff]") {
  CHECK(diffOf("%0 = a\n%1 = b\n%2 = c %0, %1\n", "%0 = a\n%1 = b\n%2 = c %1, %0\n") ==
        "@@ -1,3 +1,3 @@\n %0 = a\n %1 = b\n-%2 = c %0, %1\n+%2 = c %1, %0\n");
  // What used a value that is gone uses another one.
  CHECK(diffOf("%0 = a\n%1 = convert %0\nuse %1\n", "%0 = a\nuse %0\n") ==
        "@@ -1,3 +1,2 @@\n %0 = a\n-%1 = convert %0\n-use %1\n+use %0\n");
}
