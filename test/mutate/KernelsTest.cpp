// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every synchronisation of every registered kernel, taken away or weakened, is
/// missed, or tools/mutate/equivalent.txt says why not.
#include "kernels/Registry.h"
#include "test/Expect.h"
#include "tools/mutate/KernelTrial.h"
#include "tools/mutate/Survey.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

using namespace tlc;
using namespace tlc::mutate;
using test::expectValue;

namespace {

std::string contentOf(const std::string &name) {
  std::ifstream file(TLC_SOURCE_DIR "/tools/mutate/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// What is said of some of them in the GEMM.
struct Expected {
  std::string_view instruction;
  Change change;
  std::string_view words;
};
constexpr Expected expected[] = {
    {"fence.proxy.async.shared::cta", Change::removed, "missing: fence.proxy.async between them"},
    {"cp.async.bulk.wait_group.read", Change::removed, "missing: cp.async.bulk.wait_group"},
    {"mbarrier.arrive.shared.b64", Change::removed, "deadlock in 'gemm"},
};

} // namespace

// Not those of the cookbook: they are examples whose synchronisation is the compiler's, as in these programs.
TEST_CASE("every registered kernel has programs to mutate", "[mutate]") {
  std::vector<Case> cases = expectValue(parseCases(contentOf("cases.txt")));
  std::ranges::move(expectValue(parseCases(contentOf("long_cases.txt"))), std::back_inserter(cases));
  for (const kernels::Kernel *kernel : kernels::allKernels()) {
    INFO("no line of tools/mutate/cases.txt, nor of long_cases.txt, begins with '" << kernel->name() << "'");
    CHECK(std::ranges::any_of(cases, [&](const Case &each) { return each.kernel == kernel->name(); }));
  }
}

namespace {
/// Of the kernels of attention, or of the others.
void checkMutants(bool ofAttention) {
  std::vector<Case> cases = expectValue(parseCases(contentOf("cases.txt")));
  std::erase_if(cases, [&](const Case &each) { return each.kernel.starts_with("attention") != ofAttention; });
  const std::vector<Equivalent> equivalents = expectValue(parseEquivalents(contentOf("equivalent.txt")));
  std::vector<const Equivalent *> unused;
  for (const Equivalent &each : equivalents)
    unused.push_back(&each);
  std::vector<Origin> origins;
  const Sources sources(TLC_SOURCE_DIR);
  kernels::Library library;
  // One seed: lengths are inputs too, and a mutant that only some of them show would come and go.
  const TrialOptions options{.seed = 1, .schedules = 4};
  size_t mutants = 0, equivalent = 0;
  for (const Case &each : cases)
    for (const KernelTrial &trial : expectValue(KernelTrial::create(library, each, options))) {
      // Those on the list run in tools/scripts/mutate.sh alone: most of the time would be theirs.
      const Survey survey = expectValue(Survey::make(
          trial.origin(), trial.ptx(), [&](const std::string &ptx) { return trial.run(ptx); }, equivalents,
          sources, /*threads=*/0, {}, [&](const std::string &) { return Outcome{}; }));
      origins.push_back(trial.origin());
      std::cout << survey.summary() << std::endl;
      mutants += survey.entries().size();
      equivalent += survey.equivalentCount();
      for (const Survey::Entry *entry : survey.wrong())
        FAIL_CHECK(survey.complaint(*entry));
      for (const Survey::Entry &entry : survey.entries()) {
        std::erase(unused, entry.equivalent);
        for (const auto &[instruction, change, words] : expected)
          if (each.kernel == "gemm" && entry.mutant.instruction == instruction &&
              entry.mutant.change == change)
            CHECK_THAT(entry.outcome.message, Catch::Contains(std::string(words)));
      }
    }
  std::cout << mutants << " mutants, " << equivalent << " equivalent" << std::endl;
  // Others are of long_cases.txt.
  std::erase_if(unused, [&](const Equivalent *each) {
    return std::ranges::none_of(origins, [&](const Origin &origin) { return each->isOf(origin); });
  });
  for (const Equivalent *each : unused)
    FAIL_CHECK("line " << each->line << " of equivalent.txt is of no mutant");
}
} // namespace

TEST_CASE("every synchronisation of the kernels is missed when it is taken away", "[mutate]") {
  checkMutants(/*ofAttention=*/false);
}

TEST_CASE("every synchronisation of attention is missed when it is taken away", "[mutate][attention]") {
  checkMutants(/*ofAttention=*/true);
}
