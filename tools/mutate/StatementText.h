// SPDX-License-Identifier: Apache-2.0
/// \file
/// The text of one instruction, taken apart so that another one can be made of it.
#pragma once

#include "runtime/emulator/ptx/Module.h"

#include <string>
#include <string_view>
#include <vector>

namespace tlc::mutate {

struct StatementText {
  std::string guard;                 ///< "@%p1 ", or nothing
  std::string opcode;                ///< "bar.sync"
  std::vector<std::string> operands; ///< "%r1", "[%r2+8]", "{%r3, %r4}"

  static StatementText of(std::string_view ptx, const emulator::Statement &statement);
  std::string text() const;

  bool has(std::string_view modifier) const;
  /// Of modifiers; nothing happens if they are not there.
  void drop(std::string_view modifier) { replace(modifier, ""); }
  void replace(std::string_view modifier, std::string_view by);
  void insertAfter(std::string_view modifier, std::string_view other);

  /// The instruction with `addend` added to an operand that is a number or a 32-bit register.
  std::string withSum(size_t operand, int addend) const;
  /// Likewise with `operation register, operand, value` in its place.
  std::string withOperation(std::string_view operation, size_t operand, int value) const;
  /// In place of elect.sync: every lane is the elected one.
  std::string electAll() const;
};

} // namespace tlc::mutate
