// SPDX-License-Identifier: Apache-2.0
/// \file
/// Configurations that are chosen, or made smaller until they fit.
#include "kernels/attention/decode/Decode.h"
#include "kernels/gemm/Gemm.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;

namespace {
const Target &hopper() { return *findTarget("sm_90a"); }

DecodeConfig fitted(DecodeConfig config) {
  fitDecode(config, hopper());
  return config;
}
} // namespace

TEST_CASE("decoding has as many residents as shared memory allows", "[kernels][budget]") {
  DecodeConfig config{.problem = {.d = 128, .dv = 128}, .bk = 64, .stages = 8, .residents = 2};
  CHECK(fitted(config).residents == 2);
  CHECK(fitted(config).stages == 3);
  config.residents = 4;
  CHECK(fitted(config).residents == 4);
  config.problem.d = 576;
  CHECK(fitted(config).residents == 2);
}

TEST_CASE("decoding has as many residents as registers allow", "[kernels][budget]") {
  DecodeConfig config{.problem = {.d = 48, .dv = 256}, .bk = 16, .stages = 8, .residents = 2};
  CHECK(fitted(config).residents == 1); // 64 rows of 256 sums take 158 registers, and 128 are left
  config.problem.dv = 128;
  CHECK(fitted(config).residents == 2);
  config = {.problem = {.d = 24, .dv = 24}, .bk = 128, .stages = 2, .residents = 4};
  CHECK(fitted(config).residents == 4);
  CHECK(fitted(config).bk == 128);
}

TEST_CASE("a GEMM has the stages that fit beside the panels of its result", "[kernels][budget]") {
  auto stages = [](int64_t bm, int64_t bn, int64_t bk) {
    GemmConfig config;
    config.bm = bm;
    config.bn = bn;
    config.bk = bk;
    fitGemmStages(config, hopper());
    return config.stages;
  };
  CHECK(stages(128, 256, 64) == 4);
  CHECK(stages(128, 128, 64) == 6);
  CHECK(stages(64, 64, 64) == 8); // more would fit
  CHECK(stages(256, 256, 256) == 1);
}
