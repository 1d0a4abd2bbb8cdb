// SPDX-License-Identifier: Apache-2.0
/// \file
/// Dropout of attention, forward and backward, against the host's Philox.
#include "kernels/attention/backward/Backward.h"
#include "kernels/attention/forward/Forward.h"
#include "test/kernels/KernelRuns.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

namespace {

void check(const char *kernel, Definitions options, std::initializer_list<Definitions> sizes) {
  options.insert({"dropout_p", "0.3"});
  Compiled compiled(**findKernel(kernel), options);
  for (const Definitions &each : sizes)
    compiled.check(each);
}

const Definitions odd = {{"b", "2"}, {"sq", "70"}, {"sk", "91"}, {"h", "2"}, {"hkv", "1"}};
const Definitions empty = {{"b", "1"}, {"sq", "3"}, {"sk", "0"}, {"h", "1"}, {"hkv", "1"}};
const Definitions packed = {{"varlen", "30,0,41"}, {"varlen_k", "17,5,60"}, {"h", "2"}, {"hkv", "1"}};
const Definitions padded = {{"sq", "70"},         {"sk", "91"}, {"padded", "30,70"},
                            {"padded_k", "80,9"}, {"h", "2"},   {"hkv", "1"}};

} // namespace

TEST_CASE("attention forward drops the weights that Philox says", "[kernels][attention][dropout]") {
  check("attention_fwd", {{"d", "40"}},
        {odd, empty, {{"sq", "200"}, {"sk", "300"}, {"h", "1"}, {"hkv", "1"}}});
  check("attention_fwd", {{"d", "128"}, {"causal", "right"}, {"sink", "yes"}, {"dtype", "f16"}}, {odd});
  check("attention_fwd", {{"d", "320"}, {"dv", "320"}}, {odd});
  check("attention_fwd", {{"d", "16"}, {"causal", "right"}, {"varlen", "1"}, {"varlen_k", "1"}}, {packed});
  check("attention_fwd", {{"d", "16"}, {"padded", "1"}, {"padded_k", "1"}, {"sink", "yes"}}, {padded});
}

TEST_CASE("attention backward drops the same weights", "[kernels][attention][dropout]") {
  for (const char *dq : {"atomic", "own_launch", "ordered"})
    check("attention_bwd", {{"d", "40"}, {"dq", dq}, {"causal", "left"}}, {odd, empty});
  check("attention_bwd", {{"d", "128"}, {"softcap", "5"}, {"sink", "yes"}}, {odd});
  check("attention_bwd", {{"d", "200"}, {"dv", "256"}, {"dtype", "f16"}}, {odd});
  check("attention_bwd", {{"d", "16"}, {"causal", "right"}, {"varlen", "1"}, {"varlen_k", "1"}}, {packed});
  check("attention_bwd", {{"d", "16"}, {"padded", "1"}, {"padded_k", "1"}}, {padded});
}

TEST_CASE("dropout takes the plain form whatever a configuration says", "[kernels][attention][dropout]") {
  ForwardConfig forward;
  forward.problem.dropout = 0.25;
  BackwardConfig backward;
  backward.problem.dropout = 0.25;
  REQUIRE(forward.form == AttentionForm::explicitRoles);
  const std::string ofForward = forwardProgram(forward).text(), ofBackward = backwardProgram(backward).text();
  forward.form = backward.form = AttentionForm::plain;
  CHECK(ofForward == forwardProgram(forward).text());
  CHECK(ofBackward == backwardProgram(backward).text());
}
