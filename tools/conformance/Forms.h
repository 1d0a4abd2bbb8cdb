// SPDX-License-Identifier: Apache-2.0
/// \file
/// Instructions on registers, and random programs of them: every form is dealt
/// several times, each time with other operands, which are inputs or what the
/// instructions before it made.
#pragma once

#include "tools/conformance/Program.h"

#include <fmt/format.h>

namespace tlc::conformance {

/// "add.s32 $d, $a, $b;": the sources are $a $b $c $e, the result is $d, #n a
/// random constant from 0 to n - 1, #n*m a multiple of m; $x0 $x1 are 32-bit,
/// $y0 $y1 64-bit, $q a predicate for its own use. $s, $g and $l are addresses
/// of 80 bytes of the thread's own in shared, global and local memory, which
/// what comes later finds as it left them.
struct Form {
  std::string text;
  Format result = Format::b32;
  std::vector<Format> sources;
  Bound bound = {};
};

class FormList {
public:
  template <class... Arguments>
  void add(Format result, std::vector<Format> sources, fmt::format_string<Arguments...> text,
           Arguments &&...arguments) {
    forms.push_back({fmt::format(text, std::forward<Arguments>(arguments)...), result, std::move(sources)});
  }
  template <class... Arguments>
  void approximate(Bound bound, Format result, std::vector<Format> sources,
                   fmt::format_string<Arguments...> text, Arguments &&...arguments) {
    forms.push_back(
        {fmt::format(text, std::forward<Arguments>(arguments)...), result, std::move(sources), bound});
  }
  std::vector<Form> forms;
};

/// Whether the result of one instruction may be an operand of a later one.
enum class Chaining : uint8_t { no, yes };

/// The forms, `copies` times each, in programs of at most `length`.
std::vector<Program> dealPrograms(std::string_view group, const std::vector<Form> &forms, unsigned copies,
                                  unsigned length, Chaining chaining);

// Forms.cpp has what deals them, the other *Forms.cpp the instructions.
void addIntegerForms(FormList &list);
void addBitForms(FormList &list);
void addVideoForms(FormList &list);
void addFloatForms(FormList &list);
void addHalfForms(FormList &list);
void addApproximateForms(FormList &list);
void addConversionForms(FormList &list);
void addMemoryForms(FormList &list);
void addAtomicForms(FormList &list);
void addWarpForms(FormList &list);

} // namespace tlc::conformance
