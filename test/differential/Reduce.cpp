// SPDX-License-Identifier: Apache-2.0
/// \file
/// Removes statements, replaces expressions by their operands, makes extents smaller, drops options.
#include "test/differential/Reduce.h"

#include "test/differential/Print.h"
#include "test/differential/Processes.h"

#include <algorithm>
#include <chrono>
#include <functional>

using namespace tlc;
using namespace tlc::differential;

namespace {

constexpr double secondsInAll = 90;

/// Calls `visit` for each body, outer ones first; it may change them.
void forEachBody(Body &body, const std::function<void(Body &)> &visit) {
  visit(body);
  for (Statement &statement : body)
    for (Body &inner : statement.bodies)
      forEachBody(inner, visit);
}

void forEachBody(ProgramTree &tree, const std::function<void(Body &)> &visit) {
  for (LaunchTree &launch : tree.launches)
    forEachBody(launch.body, visit);
}

void forEachExpression(Expression &expression, const std::function<void(Expression &)> &visit) {
  visit(expression);
  for (Expression &operand : expression.operands)
    forEachExpression(operand, visit);
}

void forEachExpression(ProgramTree &tree, const std::function<void(Expression &)> &visit) {
  forEachBody(tree, [&](Body &body) {
    for (Statement &statement : body)
      for (Expression &value : statement.values)
        forEachExpression(value, visit);
  });
}

/// Boxes that are read. Those that are written tell blocks apart.
void forEachBox(ProgramTree &tree, const std::function<void(Box &)> &visit) {
  forEachBody(tree, [&](Body &body) {
    for (Statement &statement : body)
      if (statement.from.kind == Place::Kind::slice)
        visit(statement.from.box);
  });
}

/// Whether variables and tiles are declared before they are used.
bool declaresAll(const Expression &expression, const std::set<int> &variables) {
  if (expression.kind == Expression::Kind::variable && !variables.contains(expression.id))
    return false;
  for (const PositionTest &test : expression.positions)
    if (test.b.kind == IndexKind::elements && !variables.contains(test.b.id))
      return false;
  return std::ranges::all_of(expression.operands,
                             [&](const Expression &operand) { return declaresAll(operand, variables); });
}

bool declaresAll(const Body &body, std::set<int> variables, std::set<int> tiles) {
  using Kind = Statement::Kind;
  std::function<bool(const IndexNode &)> isDeclared = [&](const IndexNode &node) {
    return (node.kind != IndexKind::elements || variables.contains(node.id)) &&
           std::ranges::all_of(node.operands, isDeclared);
  };
  auto holds = [&](const Place &place) {
    if (place.kind == Place::Kind::slice &&
        (!std::ranges::all_of(place.box.origin, isDeclared) ||
         (place.box.tensor < 0 && !tiles.contains(place.box.tile.shared))))
      return false;
    if (place.kind == Place::Kind::shared)
      return tiles.contains(place.view.shared);
    return place.kind == Place::Kind::slice || place.variable < 0 || variables.contains(place.variable);
  };
  for (const Statement &s : body) {
    if (!std::ranges::all_of(s.values,
                             [&](const Expression &value) { return declaresAll(value, variables); }))
      return false;
    bool names = s.kind == Kind::assign || s.kind == Kind::update || s.kind == Kind::gemm ||
                 s.kind == Kind::gemmAsync || s.kind == Kind::gemmWait || s.kind == Kind::fetch ||
                 s.kind == Kind::exchange;
    if ((names && !variables.contains(s.id)) || !holds(s.to) || !holds(s.from))
      return false;
    if (s.kind == Kind::declareVariable)
      variables.insert(s.id);
    if (s.kind == Kind::declareShared)
      tiles.insert(s.id);
    if (s.kind == Kind::writeIndex && !tiles.contains(s.id))
      return false;
    for (const PositionTest &test : s.tests)
      if (test.a.kind == IndexKind::readShared && !tiles.contains(test.a.id))
        return false;
    for (const Body &inner : s.bodies)
      if (!declaresAll(inner, variables, tiles))
        return false;
  }
  return true;
}

bool declaresAll(const ProgramTree &tree) {
  return std::ranges::all_of(tree.launches,
                             [](const LaunchTree &launch) { return declaresAll(launch.body, {}, {}); });
}

class Reducer {
public:
  Reducer(const ProgramTree &tree, const CompareOptions &options) : options(options), best{tree, {}} {}

  Reduced run() {
    best.outcome = outcomeOf(best.tree);
    if (!isFailure(best.outcome.verdict))
      return best;
    for (bool changed = true; changed && !isLate();) {
      changed = removeLaunches();
      changed |= removeStatements();
      changed |= unwrapBodies();
      changed |= simplifyExpressions();
      changed |= dropOptions();
      changed |= shrinkSizes();
    }
    removeUnused();
    return best;
  }

private:
  bool isLate() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() > secondsInAll;
  }

  Outcome outcomeOf(const ProgramTree &tree) {
    Outcome outcome;
    double limit = best.outcome.verdict == Verdict::hang ? 20 : 60;
    runInProcesses(
        0, 1, {.jobs = 1, .hangSeconds = limit}, [&](uint64_t) { return compare(tree, options); },
        [&](uint64_t, const Outcome &done, double) { outcome = done; });
    return outcome;
  }

  /// Whether the failure is of the kind that is looked for.
  bool isSame(const Outcome &outcome) const {
    if (outcome.verdict != best.outcome.verdict)
      return false;
    if (outcome.verdict == Verdict::wrong || outcome.verdict == Verdict::strayWrite)
      return true;
    return gist(outcome.message) == gist(best.outcome.message);
  }

  /// The words of a message, without names and numbers.
  static std::string gist(const std::string &message) {
    std::string text;
    bool inQuotes = false;
    size_t begin = message.find(": ");
    for (char c : message.substr(begin == std::string::npos ? 0 : begin, 160)) {
      inQuotes ^= c == '\'';
      if (!inQuotes && (c == ' ' || (c >= 'a' && c <= 'z')))
        text += c;
    }
    return text.substr(0, 60);
  }

  bool accept(ProgramTree candidate) {
    if (isLate() || !declaresAll(candidate))
      return false;
    Outcome outcome = outcomeOf(candidate);
    if (!isSame(outcome))
      return false;
    best = {std::move(candidate), std::move(outcome)};
    return true;
  }

  /// Tries `change` with each number of a place, from the last to the first, until it says that there is
  /// none.
  bool tryEach(const std::function<bool(ProgramTree &, size_t)> &change) {
    size_t places = 0;
    for (;;) {
      ProgramTree copy = best.tree;
      if (!change(copy, places))
        break;
      ++places;
    }
    bool any = false;
    while (places-- > 0) {
      ProgramTree copy = best.tree;
      if (change(copy, places))
        any |= accept(std::move(copy));
    }
    return any;
  }

  bool removeLaunches() {
    return tryEach([](ProgramTree &tree, size_t number) {
      if (tree.launches.size() < 2 || number >= tree.launches.size())
        return false;
      tree.launches.erase(tree.launches.begin() + int64_t(number));
      return true;
    });
  }

  bool removeStatements() {
    return tryEach([](ProgramTree &tree, size_t number) {
      bool done = false;
      forEachBody(tree, [&](Body &body) {
        if (done)
          return;
        if (number >= body.size()) {
          number -= body.size();
          return;
        }
        if (!body[number].isFixed)
          body.erase(body.begin() + int64_t(number));
        done = true;
      });
      return done;
    });
  }

  /// What stands in a loop or branch stands for itself.
  bool unwrapBodies() {
    return tryEach([](ProgramTree &tree, size_t number) {
      bool done = false;
      forEachBody(tree, [&](Body &body) {
        for (size_t i = 0; i < body.size() && !done; ++i) {
          bool wraps = (body[i].kind == Statement::Kind::when || body[i].kind == Statement::Kind::whenAny) &&
                       !body[i].isFixed;
          if (!wraps || number-- != 0)
            continue;
          Body inner = std::move(body[i].bodies[0]);
          body.erase(body.begin() + int64_t(i));
          body.insert(body.begin() + int64_t(i), inner.begin(), inner.end());
          done = true;
        }
      });
      return done;
    });
  }

  bool simplifyExpressions() {
    return tryEach([](ProgramTree &tree, size_t number) {
      bool done = false;
      forEachExpression(tree, [&](Expression &expression) {
        if (done)
          return;
        if (number >= expression.operands.size()) {
          number -= expression.operands.size();
          return;
        }
        Expression operand = expression.operands[number];
        expression = std::move(operand);
        done = true;
      });
      return done;
    });
  }

  bool dropOptions() {
    using Change = std::function<bool(ProgramTree &)>;
    std::vector<Change> changes;
    auto set = [&](auto member, auto value) {
      changes.push_back([=](ProgramTree &tree) {
        auto &place = member(tree);
        bool differs = !(place == value);
        place = value;
        return differs;
      });
    };
    set([](ProgramTree &tree) -> std::string & { return tree.target; }, CompileOptions().target);
    for (const OptimizationSwitch &one : optimizationSwitches())
      set([&one](ProgramTree &tree) -> bool & { return tree.optimizations.*one.member; }, true);
    set([](ProgramTree &tree) -> bool & { return tree.optimizations.sharesAllPlaces; }, false);
    changes.push_back([](ProgramTree &tree) {
      for (TensorInfo &tensor : tree.tensors)
        tensor.shift.reset(), tensor.transfer.reset();
      return std::exchange(tree.ranks, 1) != 1;
    });
    for (size_t i = 0; i < best.tree.launches.size(); ++i) {
      set([i](ProgramTree &tree) -> int64_t & { return tree.launches[i].warps; }, int64_t(0));
      set([i](ProgramTree &tree) -> int64_t & { return tree.launches[i].cluster; }, int64_t(1));
      set([i](ProgramTree &tree) -> int64_t & { return tree.launches[i].residents; }, int64_t(1));
      set([i](ProgramTree &tree) -> bool & { return tree.launches[i].loadRole; }, false);
      set([i](ProgramTree &tree) -> bool & { return tree.launches[i].storeRole; }, false);
    }
    for (size_t i = 0; i < best.tree.tensors.size(); ++i) {
      set([i](ProgramTree &tree) -> std::optional<TableInfo> & { return tree.tensors[i].table; },
          std::optional<TableInfo>());
      set([i](ProgramTree &tree) -> std::optional<TransferInfo> & { return tree.tensors[i].transfer; },
          std::optional<TransferInfo>());
      set([i](ProgramTree &tree) -> int64_t & { return tree.tensors[i].rowPadding; }, int64_t(0));
      set([i](ProgramTree &tree) -> int64_t & { return tree.tensors[i].offset; }, int64_t(0));
      set([i](ProgramTree &tree) -> int64_t & { return tree.tensors[i].alignment; }, int64_t(1));
      set([i](ProgramTree &tree) -> int64_t & { return tree.tensors[i].step; }, int64_t(1));
    }
    for (size_t i = 0; i < best.tree.dimensions.size(); ++i) {
      set([i](ProgramTree &tree) -> int64_t & { return tree.dimensions[i].multipleOf; }, int64_t(1));
      set([i](ProgramTree &tree) -> bool & { return tree.dimensions[i].fixed; }, false);
    }
    bool any = false;
    for (const Change &change : changes) {
      ProgramTree copy = best.tree;
      if (change(copy))
        any |= accept(std::move(copy));
    }
    any |= tryEach([](ProgramTree &tree, size_t number) {
      bool done = false;
      forEachBox(tree, [&](Box &box) {
        bool isPlain = !box.limit && !box.fill && !box.unchecked && box.eviction == dsl::Eviction::normal;
        if (isPlain || number-- != 0)
          return;
        box.limit.reset();
        box.fill.reset();
        box.unchecked = false;
        box.eviction = dsl::Eviction::normal;
        done = true;
      });
      return done;
    });
    any |= tryEach([](ProgramTree &tree, size_t number) {
      bool done = false;
      forEachBox(tree, [&](Box &box) {
        for (IndexNode &origin : box.origin)
          if (!done && !(origin.kind == IndexKind::constant && origin.number == 0) && number-- == 0) {
            origin = IndexNode::constant(0);
            done = true;
          }
      });
      return done;
    });
    return any;
  }

  bool shrinkSizes() {
    bool any = false;
    std::set<int64_t> values(best.tree.sizes.begin(), best.tree.sizes.end());
    for (int64_t value : values)
      for (int64_t smaller : {int64_t(1), int64_t(8), int64_t(16), value / 2}) {
        if (smaller >= value || smaller < 1)
          continue;
        ProgramTree copy = best.tree;
        for (int64_t &size : copy.sizes)
          if (size == value)
            size = smaller;
        for (DimensionInfo &dimension : copy.dimensions)
          if (dimension.value >= value && dimension.multipleOf == 1)
            dimension.value = dimension.value * smaller / value;
        if (accept(std::move(copy))) {
          any = true;
          break;
        }
      }
    return any;
  }

  /// Declarations that nothing uses any more: tensors keep their numbers, so only the last ones go.
  void removeUnused() {
    while (!best.tree.tensors.empty()) {
      ProgramTree copy = best.tree;
      copy.tensors.pop_back();
      if (!accept(std::move(copy)))
        break;
    }
    while (!best.tree.dimensions.empty()) {
      ProgramTree copy = best.tree;
      copy.dimensions.pop_back();
      if (!accept(std::move(copy)))
        break;
    }
  }

  CompareOptions options;
  Reduced best;
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
};

} // namespace

Reduced differential::reduce(const ProgramTree &tree, const CompareOptions &options) {
  return Reducer(tree, options).run();
}
