// SPDX-License-Identifier: Apache-2.0
/// \file
/// How many programs are compiled per second: variants of attention forward, by one thread and by several.
///
///     compile_bench [--json] [--threads N] [--programs N] [--rounds N]
#include "kernels/library/Prewarm.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>
#include <thread>
#include <vector>

using namespace tlc;
using namespace tlc::kernels;

namespace {

[[noreturn]] void fail(std::string_view what) {
  fmt::print(stderr, "compile_bench: {}\n", what);
  std::exit(1);
}

/// Different programs of attention forward.
std::vector<ListedProgram> variants(size_t count) {
  std::string list;
  size_t made = 0;
  for (const char *dtype : {"bf16", "f16"})
    for (const char *causal : {"left", "none", "right"})
      for (int d = 64; d <= 256 && made != count; d += 16, ++made)
        list += fmt::format("attention_fwd d={} dtype={} causal={}\n", d, dtype, causal);
  if (made != count)
    fail(fmt::format("expected --programs from 1 to {}", made));
  Result<std::vector<ListedProgram>> programs =
      parseList(list, [](const std::string &name) { return findKernel(name); }, "sm_90a");
  if (!programs)
    fail(programs.error().message);
  return std::move(*programs);
}

/// Programs per second, without a cache.
double measure(const std::vector<ListedProgram> &programs, unsigned threads) {
  Library library(CacheOptions::inMemory());
  const auto begin = std::chrono::steady_clock::now();
  prewarm(library, programs, threads, [](const PrewarmStep &step) {
    if (!step.result)
      fail(step.result.error().message);
  });
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return double(programs.size()) / taken.count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

} // namespace

int main(int count, char **arguments) {
  bool asJson = false;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency()), programs = 64, rounds = 3;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--json") {
      asJson = true;
      continue;
    }
    unsigned *number = argument == "--threads"    ? &threads
                       : argument == "--programs" ? &programs
                       : argument == "--rounds"   ? &rounds
                                                  : nullptr;
    const std::string_view value = number && i + 1 < count ? arguments[++i] : "";
    if (number)
      *number = 0;
    if (!number || std::from_chars(value.data(), value.data() + value.size(), *number).ec != std::errc() ||
        *number < 1)
      fail(fmt::format(
          "expected '--json', and '--threads N', '--programs N' and '--rounds N' with N >= 1, but got '{}'",
          argument));
  }
  const std::vector<ListedProgram> list = variants(programs);
  static_cast<void>(measure(variants(1), 1)); // not counted
  std::vector<double> one, several, ratios;
  for (unsigned round = 0; round != rounds; ++round) {
    one.push_back(measure(list, 1));
    several.push_back(measure(list, threads));
    ratios.push_back(several.back() / one.back());
  }
  if (asJson)
    fmt::print(
        R"({{"programs": {}, "threads": {}, "one_per_second": {:.3f}, "per_second": {:.3f}, "ratio": {:.3f}, )"
        R"("rounds": {}, "cores": {}}})"
        "\n",
        programs, threads, median(one), median(several), median(ratios), rounds,
        std::thread::hardware_concurrency());
  else
    fmt::print(
        "{} programs of attention forward, programs per second, medians of {} rounds: one thread {:.2f}, "
        "{} threads {:.2f}, ratio {:.2f} on {} cores\n",
        programs, rounds, median(one), threads, median(several), median(ratios),
        std::thread::hardware_concurrency());
  return 0;
}
