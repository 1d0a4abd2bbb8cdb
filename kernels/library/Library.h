// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a kernel's name and parameters to its compiled program, through caches.
#pragma once

#include "compiler/dsl/Module.h"
#include "compiler/pipeline/Compiler.h"
#include "kernels/Registry.h"
#include "kernels/library/call/ArtifactCache.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/support/Result.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::kernels {

/// Which sizes a problem has where none are given.
enum class DefaultSizes : uint8_t {
  usual,    ///< the parameters' own: a GPU's work
  emulator, ///< those of `Kernel::emulatorSizes` where they suit what is given, else the usual ones
};

/// One program of one kernel: everything about it but the compiler's options.
struct Request {
  const Kernel *kernel = nullptr;
  Parameters values;
  std::vector<std::string> fixedDimensions =
      {};                      ///< specialised for their values, which are sizes among `values`
  Definitions ofEmulator = {}; ///< those of `values` that took the place of the usual defaults
  Definitions given = {};      ///< those of `values` that were asked for

  /// An error names what does not exist or is not allowed, and what is.
  static Result<Request> parse(std::string_view kernel, const Definitions &given,
                               std::span<const std::string> fixedDimensions = {},
                               DefaultSizes sizes = DefaultSizes::usual);
  /// The same for a kernel that need not be in the registry and outlives the request.
  static Result<Request> parse(const Kernel &kernel, const Definitions &given,
                               std::span<const std::string> fixedDimensions = {},
                               DefaultSizes sizes = DefaultSizes::usual);
  /// The same of what is launched: an error if a scalar has no value.
  static Result<Request> parseLaunch(const Kernel &kernel, const Definitions &given,
                                     std::span<const std::string> fixedDimensions = {},
                                     DefaultSizes sizes = DefaultSizes::usual);
};

/// What compiling had to say and how long it took.
struct CompileLog {
  std::vector<Diagnostic> diagnostics;
  std::vector<PhaseTime> times;
  std::optional<double> foundAfter; ///< milliseconds, if a cache had the answer; then there are no times
};

/// The program for `target` in phase `input`. An error if it does not trace; the log has the diagnostics,
/// remarks of the kernel among them.
Result<dsl::ProgramModule> trace(const Request &request, const Target &target, CompileLog &log);

/// Compiled programs, kept in memory and on disk. Safe to use from several threads.
class Library {
public:
  explicit Library(CacheOptions options = {}) : artifacts(std::move(options)) {}
  /// With a cache that others use, too.
  explicit Library(std::shared_ptr<ProgramCache> programs) : artifacts(std::move(programs)) {}

  /// The same request with the same options gives the same object, at once, as long as that is kept. Options
  /// that ask for dumps always compile. For a device that runs machine code (`DeviceProperties::code`) the
  /// cache adds that. From now on the cache has what is compiled for the device under `given`, the parameters
  /// from which the request was made, where that is not null (`ProgramCache::find`).
  Result<std::shared_ptr<const Artifact>> compile(const Request &request, const CompileOptions &options,
                                                  CompileLog &log, ProgramCode code = ProgramCode::ptx,
                                                  const Definitions *given = nullptr);

  /// What decides a program but this build of the compiler.
  static KeyBuilder keyOf(const Request &request, const CompileOptions &options);
  ArtifactCache &cache() { return artifacts; }

private:
  Result<std::shared_ptr<const Artifact>> compileAnew(const Request &request, const CompileOptions &options,
                                                      CompileLog &log);
  ArtifactCache artifacts;
};

} // namespace tlc::kernels
