// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the .target directive of a PTX module means: on which devices its code
/// runs, and which instructions it may use. Targets without a row in Target.h
/// count too, as PTX for older devices runs on newer ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tlc {

struct CodeTarget {
  /// Devices besides its own: all later ones; with an "f" later ones of its major
  /// version; with an "a" none.
  enum class Reach : uint8_t { later, family, exact };
  int sm = 0; ///< 90 for sm_90, sm_90a
  Reach reach = Reach::later;

  bool runsOn(int major, int minor) const;
};

/// "sm_90a"; nothing for what is no target.
std::optional<CodeTarget> parseCodeTarget(std::string_view name);

/// Which targets have an instruction, in words, if `target` has it not.
/// Modifiers come without their dots. `operand` is one that only some targets take: "scale-input-d".
std::optional<std::string> missingInstruction(const CodeTarget &target, std::string_view name,
                                              std::span<const std::string> modifiers,
                                              std::string_view operand = {});

} // namespace tlc
