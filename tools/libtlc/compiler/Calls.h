// SPDX-License-Identifier: Apache-2.0
/// \file
/// The functions of `calls::Compiler`. Built without exceptions like all that includes MLIR; Entry.cpp
/// catches what passes through.
#pragma once

#include "kernels/Registry.h"
#include "tools/libtlc/Calls.h"
#include "tools/libtlc/Compiler.h"

namespace tlc::calls {

/// The kernel of the file, or where there is none of tlc.
Result<const kernels::Kernel *> findKernel(const tlc_file *file, std::string_view name);

Result<void> checkProgram(const ProgramRequest &request);
Result<ProgramCache::Named> compileProgram(const SharedCache &cache, const ProgramRequest &request);
Result<std::shared_ptr<const kernels::Tuning>> readTuning(const char *folder);
Result<void> prewarmPrograms(const SharedCache &cache, const char *lines, const char *target);

Result<std::unique_ptr<tlc_file>> openFile(const CacheOptions &cache, const char *path,
                                           const tlc_file_options *options);
Result<int> countKernels(const tlc_file *file);
Result<void> describeKernel(const tlc_file *file, int kernel, tlc_kernel_info *info);
Result<void> describeParameter(const tlc_file *file, int kernel, int parameter, tlc_parameter_info *info);

Result<std::shared_ptr<RankPrograms>> makeRankPrograms(const SharedCache &cache, Device &device);
Result<size_t> rankWorkspace(RankPrograms &programs, const Communicator &communicator, const RankWork &work);
Result<void> launchRank(RankPrograms &programs, Communicator &communicator, const RankWork &work,
                        void *workspace, size_t bytes, void *stream);
Result<bool> isRankFaster(const Communicator &communicator, const RankWork &work);

} // namespace tlc::calls
