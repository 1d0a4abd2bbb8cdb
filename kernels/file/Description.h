// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a file says of one of its kernels, without its functions.
#pragma once

#include "kernels/Parameter.h"
#include "kernels/Tolerance.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tlc::kernels {

struct KernelDescription {
  std::string name, summary, position; ///< file:line:column of its registration
  std::vector<Parameter> parameters = {};
  Definitions emulatorSizes = {};
  std::vector<Definitions> suite = {};
  std::map<std::string, std::pair<double, double>> ranges = {};
  std::set<std::string> contents = {}, references = {}; ///< tensors that have functions
  std::map<std::string, Tolerance> tolerances = {};
  std::map<std::string, std::vector<std::string>> tables = {}; ///< of addresses: the members' sizes
  bool hasRanks = false; ///< the parameter `ranks` says on how many devices the program runs
  /// Of its calls, by name and what they describe: file:line:column.
  std::map<std::pair<std::string, std::string>, std::string> positions = {};
};

std::string pack(const std::vector<KernelDescription> &kernels);
/// At least one; nothing if `pack` did not write the bytes.
std::optional<std::vector<KernelDescription>> unpackDescriptions(std::string_view bytes);

} // namespace tlc::kernels
