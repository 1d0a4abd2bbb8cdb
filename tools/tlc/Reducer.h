// SPDX-License-Identifier: Apache-2.0
/// \file
/// Makes a reproducer as small as it still fails in the same way.
#pragma once

#include "tools/tlc/Reproducer.h"

#include <atomic>

namespace tlc::driver {

/// Tries smaller reproducers, each as its file would be: printed, parsed and run in a process of its own.
/// Those that fail in the same way are kept: with passes left out, or run before the file is written; without
/// operations, with other values in their place, or with the content of their region; without attributes and
/// arguments. MLIR's own reduction pass (`mlir-reduce`) runs a script for each module, and leaves out only
/// operations without users.
class Reducer {
public:
  /// `reproducer` fails by `failure`; each run may take `limit`.
  Reducer(Reproducer &reproducer, const PassFailure &failure, std::chrono::seconds limit)
      : reproducer(reproducer), failure(failure), limit(limit) {}

  /// An error if there is no room for a process.
  Result<void> reduce();

  /// How many were tried, and how many operations are left; other threads may ask.
  size_t runs() const { return numRuns; }
  size_t operations() const { return numOperations; }

private:
  /// Changes the module, or gives back false.
  using Edit = std::function<bool()>;

  bool fails(const std::function<std::optional<Reproducer>()> &make);
  /// Edits the module if it fails in the same way afterwards.
  bool attempt(const Edit &edit);

  void reducePasses();
  bool startAt(size_t pass);
  void eraseOperations();
  void simplifyOperations();
  void removeAttributes();
  void eraseArguments();

  std::vector<mlir::Operation *> listOperations();

  Reproducer &reproducer;
  const PassFailure &failure;
  std::chrono::seconds limit;
  std::optional<Error> trouble;
  std::atomic<size_t> numRuns = 0, numOperations = 0;
};

} // namespace tlc::driver
