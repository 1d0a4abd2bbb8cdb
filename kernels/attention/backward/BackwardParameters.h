// SPDX-License-Identifier: Apache-2.0
/// \file
/// What entries of the registry on gradients of attention have in common: options of the schedule, the choice
/// of one, limits, accuracy.
#pragma once

#include "kernels/attention/backward/Backward.h"
#include "kernels/attention/registry/SequenceParameters.h"

#include <string>
#include <vector>

namespace tlc::kernels {

/// Outputs, in their order.
enum class Gradient : uint8_t { ofQueries, ofKeys, ofValues, ofSinks };

/// Options of the problem, then `ofSequences`, then those of the schedule.
std::vector<Parameter> backwardParameters(const std::vector<Parameter> &ofSequences);

// `problem` has the values and what is no parameter: how sequences lie in tensors.

/// The program's configuration: what is given, and what is chosen for about these extents.
BackwardConfig backwardConfig(const Parameters &values, const BackwardConfig &problem,
                              const BackwardExtents &extents, const Target &target);
/// What is wrong with options of the schedule; empty if nothing is.
std::string conflictOfSchedule(const Parameters &values, const BackwardConfig &problem);
/// The same on a target that may have only the plain form, which `form = auto` takes there.
std::string conflictOfScheduleOn(const Target &target, const Parameters &values,
                                 const BackwardConfig &problem);

/// The tensors of one rank that come after `inputSpecs`: O, dO, LSE, which have no contents yet, and
/// gradients.
std::vector<TensorSpec> gradientSpecs(const BackwardConfig &problem, const AttentionExtents &extents);

/// Of sequences with so many rows. Gradients of keys are the sum of terms of so many ranks.
Tolerance gradientTolerance(const BackwardConfig &problem, const AttentionExtents &extents, Gradient output,
                            int64_t ranks = 1);

double backwardFlops(const AttentionShape &shape);

} // namespace tlc::kernels
