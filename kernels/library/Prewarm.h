// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs by name and parameters, as lines of text, compiled before they are needed:
///
///     gemm m=4096 n=4096 k=4096 dtype=bf16 --target=sm_90a
///     softcap.cpp:softcap tile=32 --static=m,n --disable=tma --bounded-waits=10 --multicast
///
/// What follows '#' is a comment.
#pragma once

#include "kernels/library/Library.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::kernels {

struct ListedProgram {
  Request request;
  CompileOptions options;
  Definitions given = {}; ///< in the line
};

/// The line of a program: it gives the same program again.
std::string lineOf(const Request &request, const CompileOptions &options);

using FindKernel = std::function<Result<const Kernel *>(const std::string &name)>;

/// The programs of a list. `target` is that of lines without one. An error names the line.
Result<std::vector<ListedProgram>> parseList(std::string_view text, const FindKernel &find,
                                             std::string_view target);

/// One that is done.
struct PrewarmStep {
  const ListedProgram &program;
  size_t done = 0, all = 0; ///< how many, this one among them
  Result<void> result;
  bool isCompiled = false; ///< or it was there already
  double milliseconds = 0;
};

/// Compiles the programs missing from the library's cache: first those of files, one after the other, then
/// the others on `threads` threads (0: one per core). Calls `onStep` for each program, one call at a time.
/// Returns the number of failures.
size_t prewarm(Library &library, std::span<const ListedProgram> programs, unsigned threads,
               const std::function<void(const PrewarmStep &)> &onStep);

} // namespace tlc::kernels
