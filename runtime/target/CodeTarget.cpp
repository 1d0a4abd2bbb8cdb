// SPDX-License-Identifier: Apache-2.0
#include "runtime/target/CodeTarget.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

namespace tlc {

namespace {

using Reach = CodeTarget::Reach;

/// An instruction, or the part of its forms that have all these modifiers.
struct Need {
  std::string_view name;                     ///< empty: any instruction
  std::array<std::string_view, 2> modifiers; ///< or an operand
  int sm = 0;
  Reach reach = Reach::later; ///< what the target's name must have at least: nothing, f, a
  int lastSm = 1 << 16;
  int exceptSm = 0;
};

// Found by assembling every form for every target. What sm_80 has is not listed.
constexpr Need needs[] = {
    {"min", {"xorsign"}, 86},
    {"max", {"xorsign"}, 86},
    {"cvt", {"e4m3x2"}, 89},
    {"cvt", {"e5m2x2"}, 89},
    {"mma", {"e4m3"}, 89},
    {"mma", {"e5m2"}, 89},

    {"", {"cluster"}, 90},
    {"", {"shared::cluster"}, 90},
    {"add", {"bf16"}, 90},
    {"sub", {"bf16"}, 90},
    {"mul", {"bf16"}, 90},
    {"add", {"bf16x2"}, 90},
    {"sub", {"bf16x2"}, 90},
    {"mul", {"bf16x2"}, 90},
    {"ex2", {"bf16"}, 90},
    {"ex2", {"bf16x2"}, 90},
    {"tanh", {"bf16"}, 90},
    {"tanh", {"bf16x2"}, 90},
    {"set", {"bf16"}, 90},
    {"set", {"bf16x2"}, 90},
    {"setp", {"bf16"}, 90},
    {"setp", {"bf16x2"}, 90},
    {"atom", {"bf16"}, 90},
    {"atom", {"bf16x2"}, 90},
    {"red", {"bf16"}, 90},
    {"red", {"bf16x2"}, 90},
    {"add", {"u16x2"}, 90},
    {"add", {"s16x2"}, 90},
    {"min", {"u16x2"}, 90},
    {"min", {"s16x2"}, 90},
    {"max", {"u16x2"}, 90},
    {"max", {"s16x2"}, 90},
    {"min", {"relu", "s32"}, 90},
    {"max", {"relu", "s32"}, 90},
    {"fma", {"oob"}, 90},
    {"cvt", {"rn", "tf32"}, 90},
    {"cvt", {"rz", "tf32"}, 90},
    {"atom", {"b128"}, 90},
    {"atom", {"v2"}, 90},
    {"atom", {"v4"}, 90},
    {"atom", {"v8"}, 90},
    {"red", {"v2"}, 90},
    {"red", {"v4"}, 90},
    {"red", {"v8"}, 90},
    {"cp", {"bulk"}, 90},
    {"st", {"async"}, 90},
    {"red", {"async"}, 90},
    {"prefetch", {"tensormap"}, 90},
    {"elect", {}, 90},
    {"mapa", {}, 90},
    {"getctarank", {}, 90},
    {"griddepcontrol", {}, 90},
    {"multimem", {}, 90},
    {"stmatrix", {}, 90},
    {"fence", {"proxy", "async"}, 90},
    {"fence", {"proxy", "async::generic"}, 90},
    {"fence", {"proxy", "tensormap::generic"}, 90},
    {"fence", {"mbarrier_init"}, 90},
    {"fence", {"acquire"}, 90},
    {"fence", {"release"}, 90},
    {"mbarrier", {"try_wait"}, 90},
    {"mbarrier", {"expect_tx"}, 90},
    {"mbarrier", {"complete_tx"}, 90},
    {"mbarrier", {"relaxed"}, 90},
    {"setmaxnreg", {}, 90, Reach::family},
    {"tensormap", {"replace"}, 90, Reach::family},
    {"tensormap", {"cp_fenceproxy"}, 90},
    {"wgmma", {}, 90, Reach::exact, 90},

    {"", {"f32x2"}, 100},
    {"add", {"f32", "f16"}, 100},
    {"add", {"f32", "bf16"}, 100},
    {"sub", {"f32", "f16"}, 100},
    {"sub", {"f32", "bf16"}, 100},
    {"fma", {"f32", "f16"}, 100},
    {"fma", {"f32", "bf16"}, 100},
    {"ld", {"v8"}, 100},
    {"st", {"v8"}, 100},
    {"ld", {"v4", "b64"}, 100},
    {"st", {"v4", "b64"}, 100},
    {"ld", {"v4", "u64"}, 100},
    {"st", {"v4", "u64"}, 100},
    {"ld", {"v4", "s64"}, 100},
    {"st", {"v4", "s64"}, 100},
    {"ld", {"v4", "f64"}, 100},
    {"st", {"v4", "f64"}, 100},
    {"st", {"bulk"}, 100},
    {"st", {"async", "mmio"}, 100},
    {"red", {"async", "mmio"}, 100},
    {"cp", {"cp_mask"}, 100},
    {"clusterlaunchcontrol", {}, 100},
    {"clusterlaunchcontrol", {"multicast::cluster::all"}, 100, Reach::family},
    {"cp", {"tile::gather4"}, 100},
    {"cp", {"tile::gather4", "shared::cluster"}, 100, Reach::family, 110},
    {"cp", {"tile::scatter4"}, 100, Reach::family, 110},
    {"cp", {"cta_group::1"}, 100, Reach::family, 110},
    {"cp", {"cta_group::2"}, 100, Reach::family, 110},
    {"cvt", {"e2m1x2"}, 100, Reach::family},
    {"cvt", {"e2m3x2"}, 100, Reach::family},
    {"cvt", {"e3m2x2"}, 100, Reach::family},
    {"cvt", {"ue8m0x2"}, 100, Reach::family},
    {"cvt", {"rs"}, 100, Reach::exact, 103},
    {"ldmatrix", {"m16n16"}, 100, Reach::family},
    {"ldmatrix", {"m8n16"}, 100, Reach::family},
    {"stmatrix", {"m16n8"}, 100, Reach::family},
    {"redux", {"f32"}, 100, Reach::family, 103},
    {"tensormap", {"swizzle_atomicity"}, 100, Reach::family},
    {"tcgen05", {}, 100, Reach::family, 110},
    {"tcgen05", {"kind::i8"}, 100, Reach::exact, 110, 103},
    {"tcgen05", {"shift"}, 100, Reach::exact, 110},
    {"tcgen05", {"ld", "red"}, 103, Reach::family, 110},
    {"tcgen05", {"kind::f16", "scale-input-d"}, 100, Reach::family, 103},
    {"tcgen05", {"kind::tf32", "scale-input-d"}, 100, Reach::family, 103},
};

/// Of these some have a form with an f, which 90 lacks.
constexpr int architectures[] = {90, 100, 103, 110, 120, 121};

bool has(const CodeTarget &target, const Need &need) {
  return target.sm >= need.sm && target.sm <= need.lastSm && target.sm != need.exceptSm &&
         target.reach >= need.reach;
}

/// "sm_100a, sm_103a or sm_110a".
std::string namesOf(const Need &need) {
  std::vector<std::string> names;
  for (int sm : architectures)
    for (auto [reach, suffix] : {std::pair(Reach::exact, "a"), std::pair(Reach::family, "f")})
      if (has({sm, reach}, need) && (sm > 90 || reach == Reach::exact))
        names.push_back("sm_" + std::to_string(sm) + suffix);
  std::string text = names.front();
  for (size_t i = 1; i < names.size(); ++i)
    text += (i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

std::string text(const Need &need) {
  if (need.lastSm <= std::end(architectures)[-1])
    return namesOf(need);
  const std::string sm = "sm_" + std::to_string(need.sm);
  return need.reach == Reach::later ? sm + " and later" : sm + "a and later targets with an a or an f";
}

} // namespace

bool CodeTarget::runsOn(int major, int minor) const {
  const int device = major * 10 + minor;
  switch (reach) {
  case Reach::later:
    return device >= sm;
  case Reach::family:
    // 10.1 is a family by itself: Thor, which CUDA 13 calls 11.0.
    return device >= sm && major == sm / 10 && (device == 101) == (sm == 101);
  case Reach::exact:
    break;
  }
  return device == sm;
}

std::optional<CodeTarget> parseCodeTarget(std::string_view name) {
  constexpr std::string_view prefix = "sm_";
  if (!name.starts_with(prefix))
    return std::nullopt;
  CodeTarget target;
  const char *end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, target.sm);
  if (error != std::errc() || target.sm < 10)
    return std::nullopt;
  const std::string_view suffix(rest, size_t(end - rest));
  if (suffix == "a")
    target.reach = Reach::exact;
  else if (suffix == "f")
    target.reach = Reach::family;
  else if (!suffix.empty())
    return std::nullopt;
  return target;
}

std::optional<std::string> missingInstruction(const CodeTarget &target, std::string_view name,
                                              std::span<const std::string> modifiers,
                                              std::string_view operand) {
  const auto isNamed = [&](std::string_view modifier) {
    return modifier.empty() || modifier == operand ||
           std::ranges::find(modifiers, modifier) != modifiers.end();
  };
  const Need *missing = nullptr;
  for (const Need &need : needs) {
    if ((!need.name.empty() && need.name != name) || !std::ranges::all_of(need.modifiers, isNamed))
      continue;
    if (!has(target, need) && (!missing || need.sm >= missing->sm))
      missing = &need;
  }
  return missing ? std::optional(text(*missing)) : std::nullopt;
}

} // namespace tlc
