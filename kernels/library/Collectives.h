// SPDX-License-Identifier: Apache-2.0
/// \file
/// What kernels of ranks compute (kernels/collectives), for ranks that do not reach each other's memory: a
/// product of each rank alone, and a collective of a communicator before or after it.
#pragma once

#include "kernels/library/call/Programs.h"
#include "runtime/device/Communicator.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace tlc::collectives {

using kernels::Programs;
using kernels::Workspace;

enum class RankKernel : uint8_t { allReduce, allGatherGemm, gemmReduceScatter, gemmAllReduce };
/// Its name in the registry.
std::string_view toString(RankKernel kernel);
/// By its name.
Result<RankKernel> findRankKernel(std::string_view name);

/// Bytes of workspace that `launch` needs. Loads the program for these sizes.
Result<size_t> workspaceSize(Programs &programs, const Communicator &communicator, RankKernel kernel,
                             std::span<const TensorView> tensors);

/// Enqueues it on this rank's tensors, which are those of the kernel: X and Y, or A, B and C. What the
/// communicator sends, receives or sums has no gaps: X and Y, A of `all_gather_gemm`, C of the others; and
/// the matrices of ranks follow one another. All ranks call it with the same shapes and types, which nobody
/// checks. Terms are rounded to the type of C before they are added. The stream is not captured.
Result<void> launch(Programs &programs, Communicator &communicator, RankKernel kernel,
                    std::span<const TensorView> tensors, Workspace workspace, Stream stream);

/// Whether `launch` is likely to take less time than the kernel of ranks, for ranks that reach each other's
/// memory and can take either: where the product or the collective is so short that there is little to hide.
/// An estimate from the shapes alone, the same on all ranks, by what GPUs of sm_90 on NVLink take
/// (docs/performance/several-gpus.md, Small products).
Result<bool> isFaster(const Communicator &communicator, RankKernel kernel,
                      std::span<const TensorView> tensors);

} // namespace tlc::collectives
