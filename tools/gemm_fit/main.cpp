// SPDX-License-Identifier: Apache-2.0
/// \file
/// tlc-gemm-fit: the constants of the GEMM's time model for which it ranks measured configurations best.
#include "kernels/gemm/TimeModel.h"
#include "runtime/target/Timing.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

using namespace tlc;
using namespace tlc::kernels;

namespace {

constexpr const char *help =
    R"(tlc-gemm-fit [--memory <TB/s>] <lines of gemm_sweep.py>... [--keep]: fits the constants of the GEMM's time
model. --memory: the files after it are of a device with a memory of that rate.
tlc-gemm-fit --candidates <count> <m,n,k>...: prints configurations of each shape to be timed by
gemm_sweep.py --candidates, one to a line: so many for which the model's time is shortest, and the first two
of each kind, up to 1.6 times the shortest time.

Only times of one shape are compared with each other. Prints the constants, and for each shape the fastest
configuration, the one that the model takes among those measured, and its regret. --keep: with the constants as
they are.
)";

struct Constant {
  const char *name;
  double GemmTimeConstants::*member;
  double least, most;
};
constexpr Constant constants[] = {
    {"copyLatency", &GemmTimeConstants::copyLatency, 500, 6000},
    {"tileCycles", &GemmTimeConstants::tileCycles, 100, 8000},
    {"storeShare", &GemmTimeConstants::storeShare, 0.05, 1},
    {"threadStores", &GemmTimeConstants::threadStores, 0.02, 1},
    {"turnedStores", &GemmTimeConstants::turnedStores, 0.02, 1},
    {"clusterLoss", &GemmTimeConstants::clusterLoss, 0.005, 0.2},
    {"clusterSumCycles", &GemmTimeConstants::clusterSumCycles, 100, 8000},
    {"clusterSumShare", &GemmTimeConstants::clusterSumShare, 0.02, 1},
    {"l2Share", &GemmTimeConstants::l2Share, 0.2, 1},
    {"sharedLines", &GemmTimeConstants::sharedLines, 0.2, 1},
    {"dividedSectors", &GemmTimeConstants::dividedSectors, 1, 3},
    {"memoryShare", &GemmTimeConstants::memoryShare, 0.8, 1},
    {"zeroRows", &GemmTimeConstants::zeroRows, 0.01, 5},
    {"idleLoss", &GemmTimeConstants::idleLoss, 0.01, 2},
    {"partialShare", &GemmTimeConstants::partialShare, 0.2, 1},
    {"memoryLoss", &GemmTimeConstants::memoryLoss, 0.001, 4},
    // Of small problems, of which there are few lines: with 711 a second launch was taken that lost a
    // quarter.
    {"launchCycles", &GemmTimeConstants::launchCycles, 1380, 3500},
};

struct Measured {
  GemmConfig config;
  double us = 0;
};
struct Shape {
  GemmExtents extents = {};
  double memory = 1; ///< rate of the memory of the device that it was measured on, over the model's
  std::vector<Measured> times = {};
  double fastest = std::numeric_limits<double>::infinity();
};

std::string textOf(const GemmConfig &c) {
  std::string text = fmt::format("{} x {}", c.bm, c.bn);
  if (c.split > 1)
    text += fmt::format(" split {}{}", c.split, c.sum == GemmSum::cluster ? "c" : "");
  if (c.bk != GemmConfig().bk)
    text += fmt::format(" bk {}", c.bk);
  if (c.swapped)
    text += " swapped";
  if (c.residents > 1)
    text += fmt::format(" residents {}", c.residents);
  if (c.cluster > 1)
    text += fmt::format(" cluster {}{}", c.cluster, c.clusterAxis == dsl::ClusterAxis::rows ? "b" : "a");
  return text;
}

/// Adds the lines that are of a configuration which the model tells from others.
bool read(const char *path, double memory, std::vector<Shape> &shapes) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return false;
  std::map<std::tuple<int64_t, int64_t, int64_t>, size_t> places;
  llvm::StringRef rest = (*file)->getBuffer();
  while (!rest.empty()) {
    auto [line, after] = rest.split('\n');
    rest = after;
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
    if (!value) {
      llvm::consumeError(value.takeError());
      continue; // the last one of a run that was ended
    }
    const llvm::json::Object *object = value->getAsObject();
    auto number = [&](const char *name) { return object->getInteger(name).value_or(0); };
    std::optional<double> us = object ? object->getNumber("us") : std::nullopt;
    if (!us || number("group") != GemmConfig().group || number("cluster") > 4 || number("split") > 8)
      continue;
    GemmExtents extents{number("m"), number("n"), number("k")};
    auto [place, isNew] = places.try_emplace({extents.m, extents.n, extents.k}, shapes.size());
    if (isNew)
      shapes.push_back({.extents = extents, .memory = memory});
    GemmConfig config{.bm = number("bm"),
                      .bn = number("bn"),
                      .bk = object->getInteger("bk").value_or(GemmConfig().bk),
                      .split = number("split"),
                      .sum = object->getString("sum") == "cluster" ? GemmSum::cluster : GemmSum::launch,
                      .cluster = number("cluster"),
                      .residents = object->getInteger("residents").value_or(1),
                      .swapped = object->getString("swap") == "yes"};
    if (object->getString("share") == "a")
      config.clusterAxis = dsl::ClusterAxis::columns;
    bool isUsual = config.bk == GemmConfig().bk && config.sum == GemmSum::launch;
    fitGemmStages(config, *findTarget("sm_90a"));
    if (((!isUsual || config.cluster > 1) && config.stages < leastStages) ||
        (config.swapped && config.split > 1 && config.bn > leastProductRows) ||
        (!config.swapped && config.residents > 1))
      continue; // the heuristic does not take it
    Shape &shape = shapes[place->second];
    shape.times.push_back({config, *us});
    shape.fastest = std::min(shape.fastest, *us);
  }
  return true;
}

struct Choice {
  const Measured *taken = nullptr;
  double regret = 0;   ///< its time over the fastest one's, less 1
  double residual = 0; ///< of the logarithms of times, those of fast configurations above all
};

/// What the model says of a configuration, on the device that the shape was measured on.
double cyclesOf(const GemmConfig &config, const Shape &shape, const Target &target, GemmTimeConstants by) {
  by.memoryShare *= shape.memory;
  return gemmTime(config, shape.extents, target, by).sum;
}

Choice choiceOf(const Shape &shape, const Target &target, const GemmTimeConstants &by) {
  Choice choice;
  double shortest = std::numeric_limits<double>::infinity(), weights = 0, sum = 0, squares = 0;
  for (const Measured &measured : shape.times) {
    double cycles = cyclesOf(measured.config, shape, target, by);
    if (cycles < shortest) {
      shortest = cycles;
      choice.taken = &measured;
    }
    double weight = std::exp(-4 * (measured.us / shape.fastest - 1)), ratio = std::log(measured.us / cycles);
    weights += weight;
    sum += weight * ratio;
    squares += weight * ratio * ratio;
  }
  choice.regret = choice.taken->us / shape.fastest - 1;
  choice.residual = std::sqrt(std::max(0.0, squares / weights - sum / weights * sum / weights));
  return choice;
}

/// What is made small: residuals, so that there is a slope, and regret, which is what counts.
double lossOf(const std::vector<Shape> &shapes, const Target &target, const GemmTimeConstants &by) {
  double loss = 0;
  for (const Shape &shape : shapes) {
    Choice choice = choiceOf(shape, target, by);
    loss += 0.3 * choice.residual * choice.residual + choice.regret * choice.regret + 0.3 * choice.regret;
  }
  return loss / double(shapes.size());
}

/// One constant after the other, in steps that become smaller. Returns the loss.
double improve(GemmTimeConstants &best, const std::vector<Shape> &shapes, const Target &target) {
  double least = lossOf(shapes, target, best);
  for (double factor : {1.5, 1.25, 1.1, 1.05, 1.02})
    for (bool improves = true; improves;) {
      improves = false;
      for (const Constant &constant : constants)
        for (double by : {factor, 1 / factor}) {
          GemmTimeConstants tried = best;
          tried.*constant.member = std::clamp(best.*constant.member * by, constant.least, constant.most);
          double loss = lossOf(shapes, target, tried);
          if (loss >= least - 1e-9)
            continue;
          least = loss;
          best = tried;
          improves = true;
        }
    }
  return least;
}

/// The best of several descents: there are many minima.
GemmTimeConstants fit(const std::vector<Shape> &shapes, const Target &target) {
  constexpr int starts = 48;
  std::mt19937 random(1); // NOLINT(bugprone-random-generator-seed): a fit can be repeated
  std::normal_distribution<double> exponent(0, 0.3);
  GemmTimeConstants best;
  double least = improve(best, shapes, target);
  for (int start = 1; start < starts; ++start) {
    GemmTimeConstants tried;
    for (const Constant &constant : constants)
      tried.*constant.member =
          std::clamp(tried.*constant.member * std::exp(exponent(random)), constant.least, constant.most);
    double loss = improve(tried, shapes, target);
    if (loss >= least)
      continue;
    least = loss;
    best = tried;
  }
  return best;
}

/// What tells configurations apart beside the sizes of their tiles.
auto kindOf(const GemmConfig &c) {
  return std::tuple(c.split, c.sum, c.cluster, c.clusterAxis, c.bk, c.swapped, c.residents);
}

/// Prints those of a shape that are worth timing.
void printCandidates(const GemmExtents &extents, size_t count, const Target &target) {
  constexpr int ofKind = 2;
  constexpr double slowest = 1.6; // times the first one's
  std::multimap<double, GemmConfig> all;
  forEachGemmCandidate(extents, {}, target, {}, LeftFactor::any,
                       [&](const GemmConfig &config, double cycles) { all.emplace(cycles, config); });
  std::map<decltype(kindOf({})), int> printed;
  std::set<std::tuple<int64_t, int64_t, decltype(kindOf({}))>> known; // some are considered twice
  for (const auto &[cycles, c] : all) {
    if (cycles > slowest * all.begin()->first)
      break;
    if (!known.emplace(c.bm, c.bn, kindOf(c)).second ||
        (known.size() > count && printed[kindOf(c)] >= ofKind))
      continue;
    ++printed[kindOf(c)];
    fmt::print(R"({{"m": {}, "n": {}, "k": {}, "bm": {}, "bn": {}, "bk": {}, "split": {}, "sum": "{}", )"
               R"("cluster": {}, "share": "{}", "swap": "{}", "residents": {}, "cycles": {:.0f}}})"
               "\n",
               extents.m, extents.n, extents.k, c.bm, c.bn, c.bk, c.split,
               c.sum == GemmSum::cluster ? "cluster" : "launch", c.cluster,
               c.cluster == 1                               ? "auto"
               : c.clusterAxis == dsl::ClusterAxis::columns ? "a"
                                                            : "b",
               c.swapped ? "yes" : "no", c.residents, cycles);
  }
}

/// Three sizes with commas between them.
std::optional<GemmExtents> parseExtents(llvm::StringRef text) {
  GemmExtents extents;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  if (parts.size() != 3 || parts[0].getAsInteger(10, extents.m) || parts[1].getAsInteger(10, extents.n) ||
      parts[2].getAsInteger(10, extents.k) || std::min({extents.m, extents.n, extents.k}) < 1)
    return std::nullopt;
  return extents;
}

int printAllCandidates(llvm::ArrayRef<const char *> arguments, const Target &target) {
  size_t count = 0;
  if (arguments.empty() || llvm::StringRef(arguments.front()).getAsInteger(10, count)) {
    fmt::print(stderr, "tlc-gemm-fit: expected --candidates with a number, and shapes m,n,k after it\n");
    return 2;
  }
  for (const char *argument : arguments.drop_front()) {
    std::optional<GemmExtents> extents = parseExtents(argument);
    if (!extents) {
      fmt::print(stderr, "tlc-gemm-fit: expected a shape m,n,k of three numbers above 0, but got '{}'\n",
                 argument);
      return 2;
    }
    printCandidates(*extents, count, target);
  }
  return 0;
}

} // namespace

int main(int count, char **arguments) {
  std::vector<Shape> shapes;
  bool keeps = false;
  double memory = 1;
  const Target &target = *findTarget("sm_90a");
  if (count > 1 && std::string_view(arguments[1]) == "--candidates")
    return printAllCandidates({arguments + 2, size_t(count - 2)}, target);
  for (int i = 1; i < count; ++i) {
    std::string_view argument = arguments[i];
    if (argument == "--help") {
      fmt::print("{}", help);
      return 0;
    }
    if (argument == "--keep") {
      keeps = true;
    } else if (argument == "--memory" && i + 1 < count) {
      double terabytes = 0; // a second
      if (llvm::StringRef(arguments[++i]).getAsDouble(terabytes) || !(terabytes > 0)) {
        fmt::print(stderr, "tlc-gemm-fit: expected --memory with a number above 0, but got '{}'\n",
                   arguments[i]);
        return 2;
      }
      memory = terabytes * 1e12 / timingOf(target).memoryBytesPerSecond;
    } else if (!read(arguments[i], memory, shapes)) {
      fmt::print(stderr, "tlc-gemm-fit: expected a file to read, but got '{}'\n", argument);
      return 2;
    }
  }
  if (shapes.empty()) {
    fmt::print(stderr, "tlc-gemm-fit: expected files with times of configurations; --help says which\n");
    return 2;
  }
  const GemmTimeConstants fitted = keeps ? GemmTimeConstants() : fit(shapes, target);
  for (const Constant &constant : constants)
    fmt::print("{:16} {:10.4g}\n", constant.name, fitted.*constant.member);
  double regrets = 0, highest = 0, residuals = 0;
  for (const Shape &shape : shapes) {
    Choice choice = choiceOf(shape, target, fitted);
    const Measured &fastest = *std::ranges::min_element(shape.times, {}, &Measured::us);
    fmt::print("{:5} x {:5} x {:5}  {:8.1f} us {:22}  taken {:22} regret {:6.3f}  residual {:.3f}\n",
               shape.extents.m, shape.extents.n, shape.extents.k, fastest.us, textOf(fastest.config),
               textOf(choice.taken->config), choice.regret, choice.residual);
    regrets += choice.regret;
    highest = std::max(highest, choice.regret);
    residuals += choice.residual * choice.residual;
  }
  fmt::print("{} shapes: mean regret {:.4f}, highest {:.3f}; root of the mean squared residual {:.4f}\n",
             shapes.size(), regrets / double(shapes.size()), highest,
             std::sqrt(residuals / double(shapes.size())));
}
