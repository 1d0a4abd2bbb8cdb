// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a GPU computed, in a small text file: of each program its fingerprint,
/// of each column a hash of its values, or the values themselves where an error
/// bound has to be applied.
#pragma once

#include "runtime/support/Result.h"
#include "tools/conformance/Program.h"

#include <map>
#include <string>
#include <vector>

namespace tlc::conformance {

struct RecordedColumn {
  uint64_t hash = 0;                 ///< of an exact column
  std::vector<uint64_t> values = {}; ///< of an approximate one: the first `recordedValues`
};
inline constexpr size_t recordedValues = 96;

struct RecordedProgram {
  uint64_t fingerprint = 0;
  std::vector<RecordedColumn> columns = {};
};

/// One group's.
struct Recording {
  std::string device; ///< "NVIDIA H200"
  std::map<std::string, RecordedProgram> programs = {};
};

RecordedProgram record(const Program &program, const std::vector<std::byte> &output);
std::string toText(const std::string &group, const Recording &recording);
Result<Recording> parseRecording(const std::string &group, std::string_view text);

/// Where a column differs; the first places only.
struct Difference {
  std::string column;
  std::string text; ///< what is there and what was recorded
};
/// An Error where the recording is of another program.
Result<std::vector<Difference>> compare(const Program &program, const std::vector<std::byte> &output,
                                        const RecordedProgram &recorded);
/// Two devices in the same process: each difference names its first elements.
std::vector<Difference> compareOutputs(const Program &program, const std::vector<std::byte> &ours,
                                       const std::vector<std::byte> &theirs);

} // namespace tlc::conformance
