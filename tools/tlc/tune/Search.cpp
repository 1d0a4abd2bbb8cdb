// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compiles all candidates, then times them in rounds.
#include "tools/tlc/tune/Search.h"

#include "kernels/tuning/Tuning.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <mutex>
#include <random>
#include <thread>
#include <tuple>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Search {
public:
  Search(const kernels::Request &request, const kernels::TuningSetting &setting, const SearchSteps &steps,
         const TuningFiles &files, const SearchOptions &options, std::vector<Candidate> all)
      : steps(steps), files(files), options(options), measured(problemOf(request, setting)),
        random(options.seed), isPrepared(all.size()) {
    result.candidates = std::move(all);
  }

  Result<SearchResult> run() {
    resume();
    if (Result<void> done = prepare(); !done)
      return done.error();
    if (Result<void> done = timeAll(); !done)
      return done.error();
    chooseBest();
    result.seconds = secondsSince(begin);
    if (!result.best)
      return std::move(result);
    kernels::TuningLine line = measured;
    line.values = result.candidates[*result.best].values;
    line.microseconds = result.candidates[*result.best].time();
    if (Result<void> added = files.addResult(line); !added)
      return added.error();
    return std::move(result);
  }

private:
  /// Others than the fastest by more are timed once.
  static constexpr double closeBy = 1.1;
  /// By what a candidate is faster than the kernel's own choice, or that stays.
  static constexpr double leastGain = 1.01;
  /// By the model as many times as slow as the fastest: not timed.
  static constexpr double hopeless = 3;

  bool isOver(double share = 1) const {
    return options.budget && secondsSince(begin) * 1000 >= share * double(options.budget->count());
  }

  /// What an earlier tuning has measured.
  void resume() {
    for (const kernels::TuningLine &line : files.measured()) {
      if (!line.isSameProblem(measured))
        continue;
      auto found =
          find_if(result.candidates, [&](const Candidate &each) { return each.values == line.values; });
      if (found == result.candidates.end())
        continue;
      if (line.modelled > 0)
        found->modelled = line.modelled;
      if (!line.skipped.empty())
        found->skipped = line.skipped;
      else if (int(found->times.size()) < options.rounds)
        found->times.push_back(line.microseconds);
    }
    result.resumed = size_t(count_if(result.candidates, [](const Candidate &each) {
      return !each.skipped.empty() || !each.times.empty();
    }));
  }

  /// What a later tuning need not ask again is in the log.
  Result<void> log(Candidate &candidate, const TuneAnswer &answer) {
    candidate.skipped = answer.skipped;
    if (answer.skipped.empty())
      candidate.times.push_back(answer.microseconds);
    if (answer.isPassing)
      return {};
    kernels::TuningLine line = measured;
    line.values = candidate.values;
    line.microseconds = answer.microseconds;
    line.modelled = candidate.modelled;
    line.skipped = answer.skipped;
    return files.addMeasurement(line);
  }

  void progress(const char *what, size_t done, size_t all) {
    constexpr double apart = 2; // seconds
    if (secondsSince(told) < apart)
      return;
    told = Clock::now();
    const size_t skipped =
        size_t(count_if(result.candidates, [](const Candidate &each) { return !each.skipped.empty(); }));
    errs() << fmt::format("tlc: {}: {} {} of {} candidates, {} skipped, {:.0f} s so far\n", measured.kernel,
                          what, done, all, skipped, secondsSince(begin));
  }

  /// Compiles those that are not measured yet, the kernel's own choice first, the others in any order.
  Result<void> prepare() {
    std::vector<size_t> order;
    for (size_t i = 0; i != result.candidates.size(); ++i)
      if (const Candidate &each = result.candidates[i]; each.skipped.empty() && each.times.empty())
        order.push_back(i);
    if (order.empty())
      return {};
    std::shuffle(order.begin() + (order.front() == 0 ? 1 : 0), order.end(), random);
    constexpr double share = 0.5; // of the budget
    std::atomic<size_t> next = 0;
    size_t done = 0;
    Result<void> all;
    std::mutex mutex; // of what follows
    // Each thread waits for one process at a time, and holds no lock while it starts one.
    const auto work = [&] {
      for (size_t i; (i = next++) < order.size() && (i == 0 || !isOver(share));) {
        Candidate &candidate = result.candidates[order[i]];
        const Result<TuneAnswer> answer = steps.prepare(candidate.values);
        std::lock_guard lock(mutex);
        if (!answer)
          all = answer.error();
        if (!all)
          return;
        isPrepared[order[i]] = answer->skipped.empty();
        candidate.modelled = answer->microseconds;
        if (!answer->skipped.empty())
          all = log(candidate, *answer);
        progress("compiled", ++done, order.size());
      }
    };
    std::vector<std::thread> threads;
    const unsigned jobs = options.jobs ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
    for (unsigned i = 1; i < std::min<size_t>(jobs, order.size()); ++i)
      threads.emplace_back(work);
    work();
    for (std::thread &thread : threads)
      thread.join();
    return all;
  }

  /// Whether the model calls it hopeless next to those that have turned out right. The emulator has no other
  /// time, and compares all.
  bool prune(Candidate &candidate) {
    if (options.isModelled || candidate.modelled <= 0)
      return false;
    double fastest = 0;
    for (const Candidate &each : result.candidates)
      if (each.isTimed() && each.modelled > 0 && (fastest == 0 || each.modelled < fastest))
        fastest = each.modelled;
    if (fastest == 0 || candidate.modelled <= hopeless * fastest)
      return false;
    candidate.skipped = fmt::format("by the model it takes {:.1f} us, {:.1f} times as long as the fastest",
                                    candidate.modelled, candidate.modelled / fastest);
    return true;
  }

  Result<void> timeAll() {
    std::vector<size_t> first;
    for (size_t i = 0; i != result.candidates.size(); ++i)
      if (const Candidate &each = result.candidates[i];
          isPrepared[i] && each.skipped.empty() && each.times.empty())
        first.push_back(i);
    std::shuffle(first.begin(), first.end(), random);
    // The kernel's own choice, then those that the model favours, in case time runs out.
    std::vector<size_t> position(result.candidates.size());
    for (size_t i = 0; i != first.size(); ++i)
      position[first[i]] = i;
    std::ranges::sort(
        first, {}, [&](size_t i) { return std::tuple(i != 0, result.candidates[i].modelled, position[i]); });
    if (Result<void> done = timeThose(first, TuneCheck::compare); !done)
      return done;
    if (options.isModelled)
      return {}; // its times do not vary
    for (int round = 1; round < options.rounds; ++round) {
      chooseBest();
      if (!result.best)
        return {};
      const double limit = closeBy * result.candidates[*result.best].time();
      std::vector<size_t> close;
      for (size_t i = 0; i != result.candidates.size(); ++i)
        if (const Candidate &each = result.candidates[i];
            each.isTimed() && int(each.times.size()) <= round && (i == 0 || each.time() <= limit))
          close.push_back(i);
      std::shuffle(close.begin(), close.end(), random);
      if (Result<void> done = timeThose(close, TuneCheck::skip); !done)
        return done;
    }
    return {};
  }

  Result<void> timeThose(const std::vector<size_t> &which, TuneCheck check) {
    size_t done = 0;
    for (size_t i : which) {
      Candidate &candidate = result.candidates[i];
      const bool isOwn = i == 0 && candidate.times.empty();
      if (isOver() && !isOwn)
        return {};
      if (check == TuneCheck::compare && !isOwn && prune(candidate))
        continue;
      Result<TuneAnswer> answer = steps.time(candidate.values, check);
      if (!answer)
        return answer.error();
      if (options.isModelled)
        answer->microseconds = candidate.modelled;
      if (Result<void> logged = log(candidate, *answer); !logged)
        return logged;
      progress(check == TuneCheck::compare ? "timed" : "timed again", ++done, which.size());
    }
    return {};
  }

  void chooseBest() {
    const auto &all = result.candidates;
    result.best.reset();
    for (size_t i = 0; i != all.size(); ++i)
      if (all[i].isTimed() && (!result.best || all[i].time() < all[*result.best].time()))
        result.best = i;
    if (result.best && all.front().isTimed() && all.front().time() <= leastGain * all[*result.best].time())
      result.best = 0;
  }

  const SearchSteps &steps;
  const TuningFiles &files;
  const SearchOptions &options;
  const kernels::TuningLine measured;
  std::mt19937_64 random;
  std::vector<char> isPrepared; ///< by candidate; of several threads
  SearchResult result;
  const Clock::time_point begin = Clock::now();
  Clock::time_point told = begin;
};

} // namespace

bool SearchResult::isComplete() const {
  return all_of(candidates,
                [](const Candidate &each) { return !each.skipped.empty() || !each.times.empty(); });
}

Result<SearchResult> driver::search(const kernels::Request &request, const kernels::TuningSetting &setting,
                                    const SearchSteps &steps, const TuningFiles &files,
                                    const SearchOptions &options) {
  Result<std::vector<Candidate>> all = candidatesOf(request);
  if (!all)
    return all.error();
  return Search(request, setting, steps, files, options, std::move(*all)).run();
}
