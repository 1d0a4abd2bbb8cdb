// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the registry lists, each defined beside its program.
#pragma once

#include "kernels/Registry.h"

namespace tlc::kernels {

const Kernel &allGatherGemmKernel();
const Kernel &allReduceKernel();
const Kernel &attentionBackwardKernel();
const Kernel &attentionDecodeKernel();
const Kernel &attentionForwardKernel();
const Kernel &fp8AttentionForwardKernel();
const Kernel &gemmAllReduceKernel();
const Kernel &gemmKernel();
const Kernel &gemmReduceScatterKernel();
const Kernel &moeCombineKernel();
const Kernel &moeDispatchKernel();
const Kernel &shardedAttentionBackwardKernel();
const Kernel &shardedAttentionForwardKernel();
const Kernel &softmaxKernel();

} // namespace tlc::kernels
