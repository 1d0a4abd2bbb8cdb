// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters that several attention kernels of the registry have.
#pragma once

#include "kernels/Parameters.h"
#include "kernels/attention/problem/Options.h"

namespace tlc::kernels {

/// A parameter with choices, of which the first one is the default.
Parameter choiceParameter(std::string name, std::string description, std::vector<std::string> choices);
Parameter typeParameter();
/// Which keys a query sees.
std::vector<Parameter> maskParameters();
Parameter valueLengthParameter();
Parameter scaleParameter();
Parameter softCapParameter();
Parameter sinkParameter();
Parameter logBaseParameter();

CausalAlignment causalOf(const Parameters &values);
MaskConfig maskOf(const Parameters &values);
/// 1 / sqrt(d) if none is given.
double scaleOf(const Parameters &values);
int64_t valueLengthOf(const Parameters &values);
double softCapOf(const Parameters &values);
AttentionSink sinkOf(const Parameters &values);
LogBase logBaseOf(const Parameters &values);

/// Of a weight, because sums of d products of numbers up to 1 are rounded before they are scaled and become
/// exponents.
double scoreError(const Parameters &values);

/// What is wrong with the numbers of heads, with scale and soft cap, and with the mask; empty if nothing is.
std::string headsConflict(int64_t h, int64_t hkv);
std::string scaleConflict(const Parameters &values);
std::string maskConflict(const Parameters &values);
/// Likewise with the mask and a sequence.
std::string maskConflict(const Parameters &values, size_t sequence, int64_t queries, int64_t keys);

} // namespace tlc::kernels
