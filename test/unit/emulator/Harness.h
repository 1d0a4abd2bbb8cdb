// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs pieces of PTX on the emulator and hands back what they stored.
#pragma once

#include "runtime/emulator/check/RaceCheck.h"
#include "runtime/emulator/exec/launch/Grid.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::emulator::test {

/// A value for a register of `bits` bits.
struct Value {
  unsigned bits = 32;
  uint64_t value = 0;
};
inline Value b16(uint64_t value) { return {16, value}; }
inline Value b32(uint64_t value) { return {32, value & 0xFFFFFFFF}; }
inline Value b64(uint64_t value) { return {64, value}; }
Value f32(float value);
Value f64(double value);
/// The bits of a float.
uint32_t bits(float value);
uint64_t bits(double value);

/// Runs one instruction, or several, on %a, %b, %c, %e and gives back %d, a
/// register of `resultBits` bits (1: a predicate). The text of an error goes to
/// the test's log and the result is poison.
uint64_t compute(std::string_view text, unsigned resultBits, std::initializer_list<Value> sources,
                 std::string target = "sm_90a");

/// A kernel `k` with parameters `out` and `in` and some registers: %r0-99 of 32
/// bits, %d0-49 of 64, %h0-29 of 16, %p0-19 predicates, %out and %in the two
/// addresses, %t the thread's number in its block, %mine the address of its
/// 32-bit word of `out`.
struct KernelText {
  std::string body;
  std::string header = "";       ///< of module scope
  std::string directives = "";   ///< of the entry
  std::string target = "sm_90a"; ///< of the module, and the device's
  uint32_t threads = 32;
  uint32_t blocks = 1;
  uint32_t cluster = 1;
  uint32_t sharedBytes = 0;
  bool ordered = false; ///< as Launch::ordered
  bool cooperative = false;
  int multiprocessors = 132;
  size_t outWords = 256;          ///< at first all 0xDDDDDDDD
  size_t writtenWords = SIZE_MAX; ///< of `out`; those after them count as never written
  std::vector<uint32_t> in = {};
  uint64_t maximumSteps = 1000000;
  RaceCheck raceCheck = RaceCheck::off;
  MakeSchedule makeSchedule = {};
  std::optional<uint64_t> scheduleSeed = {};
  LaunchNames names = {};
  std::string outName = "";       ///< of `out` in messages
  std::string *printed = nullptr; ///< gets what the kernel prints
};
struct Outcome {
  Result<void> status;
  std::vector<uint32_t> out;
  Findings findings;
};
Outcome run(const KernelText &kernel);
/// The output of a kernel that must succeed.
std::vector<uint32_t> output(const KernelText &kernel);
/// The message of a kernel that must fail; empty when it does not.
std::string failure(const KernelText &kernel);
/// What the checker finds, warnings too; empty when nothing.
std::string check(KernelText kernel);
/// The text of the module, for tests of the parser.
std::string moduleText(const KernelText &kernel);

} // namespace tlc::emulator::test
