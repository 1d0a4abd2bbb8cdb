// SPDX-License-Identifier: Apache-2.0
/// \file
/// What prints and checks say.
#include "test/unit/evaluator/Evaluated.h"

using namespace tlc;
using namespace tlc::evaluator;
using namespace tlc::dsl;

using Lines = std::vector<std::string>;

namespace {

/// Without the places, which are checked to be there.
Lines withoutPlaces(const Lines &lines) {
  Lines texts;
  for (const std::string &line : lines) {
    CHECK(line.find("test/unit/evaluator/ReportsTest.cpp:") != std::string::npos);
    texts.push_back(line.substr(line.find(": ") + 2));
  }
  return texts;
}

Report reportOf(const std::function<void(Scope &)> &body, Arguments arguments = {}) {
  Result<Report> report = tryProgram(arguments, body);
  INFO((report ? "" : report.error().message));
  REQUIRE(report);
  return *report;
}

} // namespace

TEST_CASE("blocks print numbers one after the other", "[evaluator][unit]") {
  Report report = reportOf([](Scope &k) {
    auto [x] = k.grid(2);
    k.print("block {} of {}", x, 0.5);
  });
  CHECK(withoutPlaces(report.prints) ==
        Lines{"block (0, 0, 0): block 0 of 0.5", "block (1, 0, 0): block 1 of 0.5"});
  CHECK(report.failures.empty());
}

TEST_CASE("a print shows the first elements of a tile", "[evaluator][unit]") {
  Report report = reportOf([](Scope &k) {
    Shared tile = k.shared("tile", i32, {2, 16});
    copy(k.positions({2, 16}, 0) * 16 + k.positions({2, 16}, 1), tile);
    k.print("{}", tile);
  });
  CHECK(report.prints.size() == 16);
  CHECK(withoutPlaces(report.prints)[9] == "block (0, 0, 0), element (1, 1): 17");
}

TEST_CASE("checks that fail are named, each element that does", "[evaluator][unit]") {
  Report report = reportOf([](Scope &k) {
    auto [x] = k.grid(2);
    k.check(x < 1, "got {}", x);
    FragmentValue at = k.positions({4}, 0);
    k.check(at < 2, "at {} of {}", at, x);
  });
  CHECK(withoutPlaces(report.failures) == Lines{"check failed in block (0, 0, 0), element (2): at 2 of 0",
                                                "check failed in block (0, 0, 0), element (3): at 3 of 0",
                                                "check failed in block (1, 0, 0): got 1",
                                                "check failed in block (1, 0, 0), element (2): at 2 of 1",
                                                "check failed in block (1, 0, 0), element (3): at 3 of 1"});
}

TEST_CASE("a check that inexact numbers decide is no failure", "[evaluator][unit]") {
  Arguments arguments{{given(f32, {1}, {1})}, {}};
  Report report = reportOf(
      [](Scope &k) {
        Global X = k.input("X", f32, {1});
        Fragment x = k.fragment(f32, {1});
        copy(X.tile({0}, {1}), x);
        FragmentValue e = exp(x);
        k.check(e > 2.718281828, "got {}", e);
        k.check(e > 3, "got {}", e);
      },
      arguments);
  CHECK(report.ambiguities.size() == 1);
  CHECK(report.failures.size() == 1);
}

TEST_CASE("a report of an unknown place says so", "[evaluator][unit]") {
  dsl::ProgramModule traced =
      dsl::ProgramModule::take(dsl::Program::trace("nowhere", [](Scope &k) { k.print("here"); }));
  traced.module->walk([](mlir::Operation *op) { op->setLoc(mlir::UnknownLoc::get(op->getContext())); });
  Arguments arguments;
  Result<Report> report = evaluate(*traced.module, arguments, {});
  REQUIRE(report);
  CHECK(report->prints == Lines{"an unknown place: block (0, 0, 0): here"});
}
