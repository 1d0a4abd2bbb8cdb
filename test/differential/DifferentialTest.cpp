// SPDX-License-Identifier: Apache-2.0
/// \file
/// The generator: seeds mean what they meant, and draw all there is.
#include "compiler/dsl/Module.h"
#include "compiler/evaluator/Evaluator.h"
#include "dialects/tile/Tile.h"
#include "test/differential/Compare.h"
#include "test/differential/Generate.h"
#include "test/differential/Print.h"
#include "test/differential/Trace.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <set>

using namespace tlc;
using namespace tlc::differential;

namespace {

/// Operations that no call of the language makes: most have no rule.
bool isLeftOut(llvm::StringRef operation) {
  return !evaluator::hasRule(operation) || operation == "tile.cluster_sync" || operation == "tile.return";
}

using Kind = Statement::Kind;

void forEach(const Body &body, const std::function<void(const Statement &)> &visit) {
  for (const Statement &statement : body) {
    visit(statement);
    for (const Body &inner : statement.bodies)
      forEach(inner, visit);
  }
}

bool dependsOnBlock(const IndexNode &node) {
  return node.kind == IndexKind::position || std::ranges::any_of(node.operands, dependsOnBlock);
}

} // namespace

TEST_CASE("a seed draws one program") {
  for (uint64_t seed : {0, 1, 17, 4711})
    CHECK(print(generate(seed).tree) == print(generate(seed).tree));
}

TEST_CASE("every feature is drawn, and together with every other one") {
  std::array<FeatureSet, featureCount> drawnWith;
  auto isMissing = [](const FeatureSet &drawn) { return !drawn.all(); };
  for (uint64_t seed = 0; seed < 200'000 && std::ranges::any_of(drawnWith, isMissing); ++seed) {
    FeatureSet features = generate(seed).features;
    for (size_t number = 0; number < featureCount; ++number)
      if (features.test(number))
        drawnWith[number] |= features;
  }
  for (size_t a = 0; a < featureCount; ++a)
    for (size_t b = a; b < featureCount; ++b) {
      INFO(nameOf(Feature(a)) << " and " << nameOf(Feature(b)));
      CHECK(drawnWith[a].test(b));
    }
}

TEST_CASE("drawn programs are well typed, and have every operation of the language") {
  std::set<std::string> drawn, missing;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    dsl::Program program = trace(generate(seed).tree);
    INFO("seed " << seed << ": " << program.errorText());
    REQUIRE(program.ok());
    dsl::ProgramModule module = dsl::ProgramModule::take(std::move(program));
    module.module->walk([&](mlir::Operation *op) { drawn.insert(op->getName().getStringRef().str()); });
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  for (mlir::RegisteredOperationName operation : context.getRegisteredOperationsByDialect("tile"))
    if (!isLeftOut(operation.getStringRef()) && !drawn.contains(operation.getStringRef().str()))
      missing.insert(operation.getStringRef().str());
  CHECK(missing == std::set<std::string>());
}

TEST_CASE("blocks that fill each other's slots go round as often") {
  int rounds = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const ProgramTree tree = generate(seed, Feature::multicast).tree;
    for (const LaunchTree &launch : tree.launches) {
      bool isMulticast = false;
      forEach(launch.body, [&](const Statement &statement) {
        isMulticast |=
            statement.kind == Kind::declareChannel && tree.channels[size_t(statement.id)].isMulticast;
      });
      auto roles = std::ranges::find(launch.body, Kind::roles, &Statement::kind);
      if (!isMulticast || roles == launch.body.end())
        continue;
      for (const Statement &role : roles->bodies[0]) {
        auto loop = std::ranges::find(role.bodies[0], Kind::loop, &Statement::kind);
        REQUIRE(loop != role.bodies[0].end());
        INFO("seed " << seed);
        CHECK_FALSE(dependsOnBlock(loop->index[1]));
        ++rounds;
      }
    }
  }
  CHECK(rounds > 10);
}

TEST_CASE("a tile that is written between the factors has the numbers of the second") {
  int found = 0;
  for (uint64_t seed = 2592; found < 3 && seed < 12592; ++seed) {
    ProgramTree tree = generate(seed, Feature::report).tree;
    bool isSquare = false, isChecked = false;
    for (const LaunchTree &launch : tree.launches)
      forEach(launch.body, [&](const Statement &statement) {
        isSquare |= statement.kind == Kind::gemm && statement.values.empty() &&
                    statement.from.view.shared == statement.to.view.shared;
        isChecked |= isSquare && statement.kind == Kind::check;
      });
    if (!isChecked)
      continue;
    ++found;
    Outcome outcome = compare(tree, {}); // a check of the sum holds
    INFO("seed " << seed << ": " << outcome.message);
    CHECK(outcome.verdict == Verdict::right);
  }
  CHECK(found == 3);
}
