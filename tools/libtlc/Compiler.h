// SPDX-License-Identifier: Apache-2.0
/// \file
/// What libtlc asks of the compiler. That is a library of its own (libtlc_compiler.so), with LLVM, which is
/// opened when something is asked of it the first time: a program that the cache has needs none of it.
#pragma once

#include "compiler/pipeline/Options.h"
#include "kernels/Parameter.h"
#include "runtime/cache/ProgramCache.h"
#include "runtime/device/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/support/Result.h"
#include "tools/libtlc/tlc.h"

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tlc::kernels {
class Tuning; // kernels/tuning/Tuning.h
}

namespace tlc::calls {

using SharedCache = std::shared_ptr<ProgramCache>;

struct ProgramRequest {
  const tlc_file *file = nullptr; ///< null: a kernel of tlc
  std::string_view kernel;
  const kernels::Definitions &given;
  CompileOptions options = {};
  ProgramCode code = ProgramCode::ptx;     ///< that the program is wanted for
  const kernels::Tuning *tuning = nullptr; ///< by which open parameters are filled, or null
  DeviceProperties device = {};            ///< for the tuning
};

/// Programs of kernels of ranks that do not reach each other's memory.
struct RankPrograms;

/// What a kernel of ranks is to do on tensors.
struct RankWork {
  std::string_view kernel;
  std::span<const TensorView> tensors;
};

/// Nothing that is thrown passes from one library to the other: each may have a C++ library of its own.
template <class T> struct Answer {
  std::optional<Result<T>> result;
  std::string thrown = {}; ///< where there is no result
};

/// The functions of the compiler's library, of the same build as those that call them.
struct Compiler {
  /// What is wrong with a request, on whatever device.
  Answer<void> (*check)(const ProgramRequest &);
  Answer<ProgramCache::Named> (*compile)(const SharedCache &, const ProgramRequest &);
  /// Lines without a target are for `target`, or where it is null for the current GPU.
  Answer<void> (*prewarm)(const SharedCache &, const char *lines, const char *target);

  Answer<std::shared_ptr<const kernels::Tuning>> (*readTuning)(const char *folder);
  Answer<std::unique_ptr<tlc_file>> (*openFile)(const CacheOptions &, const char *path,
                                                const tlc_file_options *);
  Answer<int> (*countKernels)(const tlc_file *);
  Answer<void> (*describeKernel)(const tlc_file *, int kernel, tlc_kernel_info *);
  Answer<void> (*describeParameter)(const tlc_file *, int kernel, int parameter, tlc_parameter_info *);

  /// The device outlives them.
  Answer<std::shared_ptr<RankPrograms>> (*makeRankPrograms)(const SharedCache &, Device &);
  Answer<size_t> (*rankWorkspace)(RankPrograms &, const Communicator &, const RankWork &);
  Answer<void> (*launchRank)(RankPrograms &, Communicator &, const RankWork &, void *workspace, size_t bytes,
                             void *stream);
  Answer<bool> (*isFaster)(const Communicator &, const RankWork &);

  int (*main)(int, char **); ///< of `tlc`
};

/// Opens the library the first time. Errors are of kind `environment`, and name its path.
Result<const Compiler *> compiler();

namespace detail {
template <class T, class... Parameters, class... Arguments>
Result<T> answerOf(Answer<T> (*function)(Parameters...), Arguments &&...arguments) {
  Answer<T> answer = function(std::forward<Arguments>(arguments)...);
  if (!answer.result)
    throw std::runtime_error(answer.thrown);
  return std::move(*answer.result);
}
} // namespace detail

/// What a function of the compiler returns: `ask(&Compiler::countKernels, file)`.
template <class Function, class... Arguments>
auto ask(Function Compiler::*function, Arguments &&...arguments) {
  using Returned =
      decltype(detail::answerOf(std::declval<Function>(), std::forward<Arguments>(arguments)...));
  Result<const Compiler *> opened = compiler();
  return opened ? detail::answerOf((*opened)->*function, std::forward<Arguments>(arguments)...)
                : Returned(opened.error());
}

} // namespace tlc::calls

/// What libtlc_compiler.so has, for a libtlc that was linked with the build of that name; null for others.
extern "C" TLC_API const tlc::calls::Compiler *tlc_compiler_of(const char *build);
