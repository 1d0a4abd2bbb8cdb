// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stages by longest paths, order by a simulated round of one in-order thread and the
/// units that it feeds.
#include "compiler/solvers/ListScheduler.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <tuple>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

/// stage(to) >= stage(from) + gap.
struct StageEdge {
  int from, to;
  int64_t gap;
};

std::vector<StageEdge> stageEdges(const ScheduleProblem &problem) {
  std::vector<StageEdge> edges;
  for (const ScheduleDependence &d : problem.dependences) {
    edges.push_back({d.from, d.to, d.delay - d.distance});
    if ((d.kind == DependenceKind::accumulator && d.distance == 0) || d.kind == DependenceKind::sameRound)
      edges.push_back({d.to, d.from, 0});
  }
  return edges;
}

/// "a, b, c" along the edges that last raised a stage, back from `op`: a cycle.
std::string cycleNames(const ScheduleProblem &problem, const std::vector<int> &raisedBy, int op) {
  for (size_t i = 0; i < raisedBy.size(); ++i)
    op = raisedBy[size_t(op)]; // surely on the cycle now
  std::string names;
  int at = op;
  do {
    at = raisedBy[size_t(at)];
    names = fmt::format("'{}'{}{}", problem.ops[size_t(at)].name, names.empty() ? "" : ", ", names);
  } while (at != op);
  return names;
}

/// The least stages that satisfy all edges, or the cycle that none satisfy.
Result<std::vector<int64_t>> leastStages(const ScheduleProblem &problem) {
  std::vector<StageEdge> edges = stageEdges(problem);
  std::vector<int64_t> stages(problem.ops.size(), 0);
  std::vector<int> raisedBy(stages.size(), -1);
  for (size_t pass = 0; pass <= stages.size(); ++pass) {
    int raised = -1;
    for (const StageEdge &edge : edges)
      if (stages[size_t(edge.from)] + edge.gap > stages[size_t(edge.to)]) {
        stages[size_t(edge.to)] = stages[size_t(edge.from)] + edge.gap;
        raisedBy[size_t(edge.to)] = edge.from;
        raised = edge.to;
      }
    if (raised < 0)
      return stages;
    if (pass == stages.size())
      return invalid(
          fmt::format("expected delays that the loop's recurrences leave room for, but those along {} "
                      "add up to more than the distance",
                      cycleNames(problem, raisedBy, raised)));
  }
  return stages;
}

/// Moves immediate operations to the stage of their first user, the next iterations' among them.
void sinkImmediates(const ScheduleProblem &problem, std::vector<int64_t> &stages) {
  std::vector<StageEdge> edges = stageEdges(problem);
  bool moved = true;
  while (moved) { // stages only grow, and never past the last one
    moved = false;
    for (size_t op = stages.size(); op-- > 0;) {
      if (problem.ops[op].latencyClass != LatencyClass::immediate)
        continue;
      std::optional<int64_t> first;
      for (const StageEdge &edge : edges)
        if (edge.from == int(op) && edge.to != int(op)) {
          int64_t bound = stages[size_t(edge.to)] - std::max<int64_t>(edge.gap, 0);
          first = first ? std::min(*first, bound) : bound;
        }
      if (first && *first > stages[op]) {
        stages[op] = *first;
        moved = true;
      }
    }
  }
}

/// The simulated round.
class RoundOrder {
public:
  RoundOrder(const ScheduleProblem &problem, const std::vector<int64_t> &stages)
      : problem(problem), height(stages.size(), 0), readyAt(stages.size(), 0), openInputs(stages.size(), 0),
        users(stages.size()) {
    // What the round itself must order; the rest comes from earlier rounds.
    for (const ScheduleDependence &d : problem.dependences)
      if (stages[size_t(d.to)] + d.distance == stages[size_t(d.from)]) {
        users[size_t(d.from)].push_back(&d);
        ++openInputs[size_t(d.to)];
      }
    computeHeights();
  }

  std::vector<int> run() {
    std::vector<int> order;
    std::vector<bool> placed(problem.ops.size(), false);
    while (order.size() < problem.ops.size()) {
      int best = -1;
      for (int op = 0; op < int(problem.ops.size()); ++op)
        if (!placed[size_t(op)] && openInputs[size_t(op)] == 0 && (best < 0 || rank(op) < rank(best)))
          best = op;
      placed[size_t(best)] = true;
      order.push_back(best);
      issue(best);
    }
    return order;
  }

private:
  const ScheduleOp &opAt(int op) const { return problem.ops[size_t(op)]; }

  /// Ways to the end of the round, in an order in which users come first.
  void computeHeights() {
    std::vector<int> inputs = openInputs, topological;
    for (int op = 0; op < int(inputs.size()); ++op)
      if (inputs[size_t(op)] == 0)
        topological.push_back(op);
    for (size_t i = 0; i < topological.size(); ++i)
      for (const ScheduleDependence *d : users[size_t(topological[i])])
        if (--inputs[size_t(d->to)] == 0)
          topological.push_back(d->to);
    for (auto op = topological.rbegin(); op != topological.rend(); ++op) {
      int64_t longest = 0;
      for (const ScheduleDependence *d : users[size_t(*op)])
        longest = std::max(longest, height[size_t(d->to)]);
      height[size_t(*op)] = longest + opAt(*op).latency;
    }
  }

  int64_t startOf(int op) const { return std::max(now, readyAt[size_t(op)]); }

  std::tuple<int64_t, bool, int64_t, int> rank(int op) const {
    return {startOf(op), !isAsynchronous(opAt(op).latencyClass), -height[size_t(op)], op};
  }

  void issue(int op) {
    const ScheduleOp &it = opAt(op);
    int64_t start = startOf(op), done = start + it.latency;
    now = start;
    if (isAsynchronous(it.latencyClass)) {
      int64_t &free = unitFree[size_t(resourceOf(it.latencyClass))];
      int64_t begin = std::max(start, free);
      free = begin + it.cycles;
      done = begin + it.latency;
    } else {
      now += it.cycles;
    }
    for (const ScheduleDependence *d : users[size_t(op)]) {
      int64_t from = d->kind == DependenceKind::issue ? now : done;
      readyAt[size_t(d->to)] = std::max(readyAt[size_t(d->to)], from);
      --openInputs[size_t(d->to)];
    }
  }

  const ScheduleProblem &problem;
  std::vector<int64_t> height, readyAt;
  std::vector<int> openInputs;
  std::vector<std::vector<const ScheduleDependence *>> users;
  std::array<int64_t, numScheduleResources> unitFree{};
  int64_t now = 0;
};

bool isSynchronous(const ScheduleOp &op) { return !isAsynchronous(op.latencyClass); }

/// Whether synchronous work of the same iteration leads from a product to each operation.
std::vector<bool> followsProduct(const ScheduleProblem &problem) {
  std::vector<bool> follows(problem.ops.size(), false);
  for (int to = 0; to < int(problem.ops.size()); ++to) // program order is topological at distance 0
    for (const ScheduleDependence &d : problem.dependences) {
      if (d.to != to || d.distance != 0 || !isSynchronous(problem.ops[size_t(to)]))
        continue;
      bool fromProduct = problem.ops[size_t(d.from)].latencyClass == LatencyClass::product;
      if (d.kind != DependenceKind::issue && (fromProduct || follows[size_t(d.from)]))
        follows[size_t(to)] = true;
    }
  return follows;
}

} // namespace

std::vector<int> tlc::overlapProducts(ScheduleProblem &problem) {
  std::vector<bool> follows = followsProduct(problem);
  std::vector<int> delayed;
  for (size_t i = 0; i < problem.dependences.size(); ++i) {
    ScheduleDependence &d = problem.dependences[i];
    if (d.kind != DependenceKind::value || d.distance != 0 || d.delay != 0 || !follows[size_t(d.from)] ||
        problem.ops[size_t(d.to)].latencyClass != LatencyClass::product)
      continue;
    d.delay = 1;
    if (leastStages(problem))
      delayed.push_back(int(i));
    else
      d.delay = 0;
  }
  return delayed;
}

Result<Schedule> tlc::solveSchedule(const ScheduleProblem &problem) {
  Result<std::vector<int64_t>> stages = leastStages(problem);
  if (!stages)
    return stages.error();
  sinkImmediates(problem, *stages);

  Schedule schedule;
  for (size_t op = 0; op < stages->size(); ++op) {
    int64_t stage = (*stages)[op];
    if (stage >= problem.maxStages)
      return invalid(fmt::format("expected at most {} stages, but the delays put '{}' into stage {}",
                                 problem.maxStages, problem.ops[op].name, stage));
    schedule.slots.push_back({stage, 0});
    schedule.numStages = std::max(schedule.numStages, stage + 1);
  }
  std::vector<int> order = RoundOrder(problem, *stages).run();
  for (size_t i = 0; i < order.size(); ++i)
    schedule.slots[size_t(order[i])].order = int64_t(i);
  return schedule;
}

Schedule tlc::sequentialSchedule(const ScheduleProblem &problem) {
  Schedule schedule;
  for (size_t i = 0; i < problem.ops.size(); ++i)
    schedule.slots.push_back({0, int64_t(i)});
  return schedule;
}
