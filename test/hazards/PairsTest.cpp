// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products into tensor memory, by one block and by pairs of blocks: kernels for
/// sm_100a, and every synchronisation of them taken away.
#include "test/unit/emulator/Tcgen05Gemm.h"
#include "tools/mutate/Survey.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::mutate;
using namespace tlc::emulator::test;

namespace {

/// Fails the test for each mutant that is neither found nor in the list.
void checkMutants(const std::string &ptx, const std::function<Result<void>(Problem &, std::string_view)> &run,
                  std::string_view equivalents) {
  Result<std::vector<Equivalent>> list = parseEquivalents(equivalents);
  REQUIRE(list);
  const Trial trial = [&](const std::string &module) -> Outcome {
    Problem problem;
    if (Result<void> done = run(problem, module); !done)
      return {Detection::checker, done.error().message};
    return problem.isRight() ? Outcome{} : Outcome{Detection::wrongResult, "wrong"};
  };
  Result<Survey> survey = Survey::make({"tcgen05", {}}, ptx, trial, *list, {}, /*threads=*/1);
  INFO((survey ? survey->summary() : survey.error().message));
  REQUIRE(survey);
  for (const Survey::Entry *entry : survey->wrong())
    FAIL_CHECK(survey->complaint(*entry));
}

/// What all three kernels have in common.
const std::string common =
    "tcgen05 | gemm ? mbarrier.arrive.expect_tx.shared.b64#1 | relaxed | who waits reads nothing of this "
    "thread\n"
    "tcgen05 | gemm ? tcgen05.fence::before_thread_sync#1 | removed | nothing in tensor memory is under way "
    "yet\n"
    "tcgen05 | gemm ? tcgen05.fence::after_thread_sync#1 | removed, access moved before | likewise\n";

/// Of the GEMMs: the loads before the last barrier have been waited for.
const std::string gemms = common +
                          "tcgen05 | gemm ? tcgen05.fence::after_thread_sync#3 | removed | what is waited "
                          "for is a copy to shared memory\n"
                          "tcgen05 | gemm ? tcgen05.fence::before_thread_sync#2 | removed | the loads are "
                          "complete, wait::ld says so\n"
                          "tcgen05 | gemm ? tcgen05.fence::after_thread_sync#4 | removed | likewise\n";

} // namespace

TEST_CASE("tl#2644: a pair of blocks meets before it uses the tensor memory of both") {
  checkMutants(
      gemmText(2), [](Problem &problem, std::string_view ptx) { return runGemm(problem, ptx, 2); },
      gemms +
          "tcgen05 | gemm ? bar.sync#* | removed, arrives only | the cluster's barrier is of all threads, "
          "too\n"
          "tcgen05 | gemm ? barrier.cluster.arrive.aligned#1 | relaxed | the fence of the mbarriers before "
          "it counts "
          "as one of all writes\n");
}

TEST_CASE("cut#3643: every wait and fence of a product into tensor memory is needed") {
  checkMutants(
      gemmText(1), [](Problem &problem, std::string_view ptx) { return runGemm(problem, ptx, 1); }, gemms);
  checkMutants(tensorOperandText(), runTensorOperand,
               common +
                   "tcgen05 | gemm ? tcgen05.fence::before_thread_sync#3 | removed | the loads are complete\n"
                   "tcgen05 | gemm ? tcgen05.fence::after_thread_sync#4 | removed | likewise\n");
}
