// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files of `tlc report`: a traced program, what it was compiled for, the tensors it ran on, and the outcome.
/// The first line has the format, two sizes and a checksum; the content follows as a block of LZ4.
#pragma once

#include "kernels/Parameter.h"
#include "kernels/Tolerance.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/support/Result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tlc::report {

/// Raised whenever the content changes; other formats are refused.
inline constexpr unsigned formatVersion = 1;
/// No file is larger.
inline constexpr size_t mostBytes = size_t(1) << 20;
/// Nor is the content of one.
inline constexpr size_t mostContentBytes = size_t(1) << 26;

/// A tensor of the program, of one rank.
struct Tensor {
  std::string name;
  ElementType element = ElementType::f32;
  Access access = Access::input;
  std::vector<int64_t> shape = {};
  double low = -1, high = 1; ///< inputs without contents are random, uniform in [low, high)
  bool isTable = false;      ///< of the addresses of the tensor's parts along its first axis
  bool hasContents = false;  ///< also where the tensor has no elements; else they are random
  std::string contents = {}; ///< row-major and packed as the type says
  /// Elements that are padding, as [begin, end) of row-major numbers, ascending.
  std::vector<std::pair<int64_t, int64_t>> padding = {};

  int64_t elements() const;
};

/// How far a run has come.
enum class Outcome : uint8_t {
  unfinished, ///< the process ended while the program was compiled, or ran
  failed,     ///< by `Report::error`
  ran,
};

struct Report {
  // The versions that wrote the file.
  std::string version, llvm, build;

  // The program.
  std::string kernel, summary;
  bool isShipped = false; ///< part of tlc: its reference is known by its name
  kernels::Definitions parameters = {};
  std::map<std::string, ElementType> scalars = {}; ///< those of `parameters` that the launch gets
  std::string module = {};                         ///< in phase `input`, with base names in its locations

  // Options of the compiler.
  std::string target = {};
  std::vector<std::string> disabled = {}; ///< names of optimisations
  std::string strategy = {};
  int64_t waitLimit = 0; ///< nanoseconds
  bool multicast = false;
  std::string variant = {}; ///< "aligned", "general"; empty: the launcher's choice

  // The run.
  std::string device = {}; ///< its name
  bool isEmulated = true;
  int64_t multiprocessors = 0;
  std::string raceCheck = {}; ///< "on", "off", "strict"
  uint64_t maximumSteps = 0;
  std::optional<uint64_t> scheduleSeed = {};
  uint64_t seed = 0;
  int64_t ranks = 1;
  int64_t rowPadding = 0, offset = 0; ///< elements
  std::map<std::string, int64_t> lastStrides = {};
  std::vector<Tensor> tensors = {};                ///< rank by rank
  std::vector<kernels::Tolerance> tolerances = {}; ///< of each output
  double flops = 0;

  // What came of it.
  Outcome outcome = Outcome::unfinished;
  std::string error = {};     ///< of the compiler or of the launch
  std::string digest = {};    ///< of all bytes of the outputs, in hexadecimal digits
  std::string complaint = {}; ///< what differs from the reference; empty: nothing does, or none was asked
  std::string findings = {};  ///< of the emulator, as JSON
};

/// Equal reports give equal files. An error if the file is larger than `mostBytes`.
Result<std::string> write(const Report &report);
/// Trusts nothing. Errors begin with `name`, that of the file.
Result<Report> read(std::string_view bytes, std::string_view name);

/// True if a file begins as those of `tlc report` do.
bool isReport(std::string_view bytes);

} // namespace tlc::report
