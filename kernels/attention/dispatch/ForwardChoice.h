// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which program computes a call of attention forward: one decision for calls on tensors and by name.
#pragma once

#include "kernels/attention/decode/Decode.h"
#include "kernels/attention/forward/Forward.h"

#include <string>

namespace tlc::kernels {

/// A form, and why it is not the explicit one; empty if it is.
struct ForwardChoice {
  AttentionForm form = AttentionForm::explicitRoles;
  std::string why = {};
};

/// The form for a call that leaves it open. `whyNotExplicit` says what keeps its tensors, or the device, from
/// the explicit form, and is empty if nothing does. Split keys need the same.
ForwardChoice chooseForm(const AttentionProblem &problem, const ForwardExtents &extents,
                         const std::string &whyNotExplicit, const Target &target);

/// What keeps a problem from split keys, whatever its extents; empty if nothing does. `group`: heads of Q for
/// each head of K and V.
std::string whyNotSplitKeys(const AttentionProblem &problem, int64_t group);
/// The program with split keys; best for these extents. Heads of Q stay as many for each head of K and V.
DecodeConfig splitKeys(const AttentionProblem &problem, const ForwardExtents &extents, const Target &target);

} // namespace tlc::kernels
