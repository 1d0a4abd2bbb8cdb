// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program of the suite: a PTX kernel with its input, and what of its output
/// must be equal on every device.
#pragma once

#include "runtime/emulator/math/TensorMap.h"
#include "tools/conformance/Format.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tlc::conformance {

/// Within which a result of an approximate instruction differs from the exact
/// one; two devices differ by at most twice that. 0 and 0: not at all.
struct Bound {
  double relative = 0;
  double absolute = 0;
  bool exact() const { return relative == 0 && absolute == 0; }
};

/// Neighbouring elements of the output that one instruction made.
struct Column {
  std::string name; ///< the instruction, or what the values are
  Format format = Format::b32;
  size_t offset = 0; ///< bytes into the output; elements have registerBits / 8, a predicate 4
  size_t count = 0;
  Bound bound = {};
};

/// An entry `k(.param .u64 out, .param .u64 in, .param .u64 maps)`. `out` is read and
/// written and at first `output`; `maps` are 128 bytes each.
struct Program {
  std::string name; ///< "arithmetic.3": the group, and its number there
  std::string ptx;
  unsigned blocks = 1;
  unsigned threads = 32;
  unsigned cluster = 1;
  unsigned sharedBytes = 0; ///< dynamic
  std::vector<std::byte> input = {};
  std::vector<std::byte> output = {};
  /// Of tensors in `out`: `globalAddress` is an offset there.
  std::vector<emulator::EmulatedTensorMap> maps = {};
  std::vector<Column> columns = {};
};

unsigned elementBytes(Format format);
/// Element `i` of a column.
uint64_t elementOf(const std::vector<std::byte> &output, const Column &column, size_t i);

/// Everything the device gets: its PTX, input, launch.
uint64_t fingerprint(const Program &program);

/// The start of a module; `body` follows the loading of the parameters.
std::string moduleText(const std::string &declarations, const std::string &body);

/// The groups of programs that there are, and the programs of one, always the same.
std::vector<std::string> groupNames();
std::vector<Program> programsOf(const std::string &group);

// --- what makes them, by group ----------------------------------------------------
std::vector<Program> tensorPrograms();
std::vector<Program> im2colPrograms();
std::vector<Program> tensorMapPrograms();
std::vector<Program> bulkPrograms();
std::vector<Program> barrierPrograms();
std::vector<Program> clusterPrograms();
std::vector<Program> mmaPrograms();
std::vector<Program> wgmmaPrograms();
/// Random mixtures of all that the other groups try one by one; the parts can run at the same time.
std::vector<Program> sequencePrograms(unsigned part);

} // namespace tlc::conformance
