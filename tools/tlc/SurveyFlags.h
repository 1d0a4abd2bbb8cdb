// SPDX-License-Identifier: Apache-2.0
/// \file
/// The flags of subcommands that try mutants, and what these print.
#pragma once

#include "tools/mutate/Survey.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"

namespace tlc::driver {

/// The contents of a file or a pipe, or of standard input as "-"; the error says why it cannot be read.
Result<std::string> readTextFile(const std::string &path);
/// The error of what a file says, with its name in front.
Error inFile(const std::string &path, const Error &error);

/// What came of mutants.
struct Tally {
  size_t mutants = 0, equivalent = 0, wrong = 0;

  Tally &operator+=(const Tally &other);
  void print() const;
  /// Of all programs of `report`.
  void printJson(uint64_t seed, llvm::json::Array report) const;
};

class SurveyFlags {
public:
  explicit SurveyFlags(llvm::cl::SubCommand &command);

  /// What is wrong with the numbers among them.
  Result<void> check() const;
  /// The list that was asked for, or none.
  Result<std::vector<mutate::Equivalent>> equivalents() const;
  /// Tries all mutants of a module, and prints what found them or appends it to `report`.
  Result<Tally> run(mutate::Origin origin, std::string_view ptx, const mutate::Trial &trial,
                    std::span<const mutate::Equivalent> equivalents, llvm::json::Array *report) const;

private:
  llvm::cl::opt<std::string> equivalentFile;
  llvm::cl::opt<std::string> sourceFolder;
  llvm::cl::opt<bool> verbose;
  llvm::cl::opt<unsigned> threads;
};

} // namespace tlc::driver
