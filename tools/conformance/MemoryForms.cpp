// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loads, stores and atomics. Of a thread's 80 bytes integers have the first 32;
/// floating-point numbers have words of their own after them, so that no
/// NaN's bits are read as an integer.
#include "tools/conformance/Forms.h"

namespace tlc::conformance {
namespace {

using enum Format;

constexpr std::string_view spaces[] = {"shared", "global", "local"};

void addAccesses(FormList &list) {
  for (std::string_view space : spaces) {
    const char at = space[0];
    for (std::string_view volatility : {"", ".volatile"}) {
      if (space == "local" && !volatility.empty())
        continue;
      list.add(b32, {b32}, "st{0}.{1}.b32 [${2}+#8*4], $a; ld{0}.{1}.b32 $d, [${2}+#8*4];", volatility, space,
               at);
      list.add(b64, {b64}, "st{0}.{1}.u64 [${2}+#4*8], $a; ld{0}.{1}.s64 $d, [${2}+#4*8];", volatility, space,
               at);
      list.add(b16, {b16}, "st{0}.{1}.u16 [${2}+#16*2], $a; ld{0}.{1}.s16 $d, [${2}+#16*2];", volatility,
               space, at);
      list.add(b32, {b16}, "st{0}.{1}.u8 [${2}+#32], $a; ld{0}.{1}.u8 $d, [${2}+#32];", volatility, space,
               at);
    }
    list.add(b32, {b32}, "st.{0}.s8 [${1}+#32], $a; ld.{0}.s8 $d, [${1}+#32];", space, at);
    list.add(b64, {b64}, "st.{0}.b8 [${1}+#32], $a; ld.{0}.s8 $d, [${1}+#32];", space, at);
    list.add(b64, {b64}, "st.{0}.b16 [${1}+#16*2], $a; ld.{0}.s16 $d, [${1}+#16*2];", space, at);
    list.add(b64, {b64}, "st.{0}.b32 [${1}+#8*4], $a; ld.{0}.s32 $d, [${1}+#8*4];", space, at);
    list.add(b64, {b32, b32, b32, b32},
             "st.{0}.v4.b32 [${1}+#2*16], {{$a, $b, $c, $e}}; ld.{0}.b64 $d, [${1}+#4*8];", space, at);
    list.add(b32, {b64, b64},
             "st.{0}.v2.b64 [${1}+#2*16], {{$a, $b}}; ld.{0}.v2.b32 {{$x0, $d}}, [${1}+#4*8];", space, at);
    list.add(b32, {b16, b16, b16, b16},
             "st.{0}.v4.b8 [${1}+#8*4], {{$a, $b, $c, $e}}; ld.{0}.b32 $d, [${1}+#8*4];", space, at);
    list.add(b32, {b32, b32},
             "st.{0}.v2.u16 [${1}+#8*4], {{$a, $b}}; ld.{0}.v4.u8 {{$x0, $x1, $d, _}}, [${1}+#8*4];", space,
             at);
    list.add(b16, {b16, b16, b16, b16},
             "st.{0}.v4.b16 [${1}+#4*8], {{$a, $b, $c, $e}}; ld.{0}.v2.s8 {{$d, _}}, [${1}+#16*2];", space,
             at);
  }
  // The same bytes by generic addresses.
  for (std::string_view space : spaces) {
    const char at = space[0];
    const std::string generic = space == "global"
                                    ? "cvta.global.u64 $y0, $g;"
                                    : fmt::format("cvt.u64.u32 $y0, ${}; cvta.{}.u64 $y0, $y0;", at, space);
    list.add(b32, {b32}, "{} st.b32 [$y0+#8*4], $a; ld.b32 $d, [$y0+#8*4];", generic);
    list.add(b16, {b64}, "{} st.b8 [$y0+#32], $a; ld.u8 $d, [$y0+#32];", generic);
    for (std::string_view asked : spaces)
      list.add(predicate, {}, "{} isspacep.{} $d, $y0;", generic, asked);
    list.add(b64, {b64}, "{0} cvta.to.{1}.u64 $y0, $y0; st.{1}.b64 [$y0+#4*8], $a; ld.{1}.b64 $d, [$y0];",
             generic, space);
  }
  list.add(b32, {b32}, "st.global.cg.b32 [$g+#8*4], $a; ld.relaxed.gpu.global.b32 $d, [$g+#8*4];");
  list.add(b32, {b32}, "st.release.cta.shared.b32 [$s+#8*4], $a; ld.acquire.cta.shared.b32 $d, [$s+#8*4];");
}

void addAtomics(FormList &list) {
  for (std::string_view space : {"shared", "global"}) {
    const char at = space[0];
    for (std::string_view op : {"add", "min", "max"})
      for (std::string_view type : {"u32", "s32"}) {
        list.add(b32, {b32}, "atom.{}.{}.{} $d, [${}+#8*4], $a;", space, op, type, at);
        list.add(b32, {b32}, "red.{0}.{1}.{2} [${3}+#8*4], $a; ld.{0}.b32 $d, [${3}+#8*4];", space, op, type,
                 at);
      }
    list.add(b64, {b64}, "atom.{}.add.u64 $d, [${}+#4*8], $a;", space, at);
    for (std::string_view op : {"min", "max"})
      for (std::string_view type : {"u64", "s64"})
        list.add(b64, {b64}, "atom.relaxed.cta.{}.{}.{} $d, [${}+#4*8], $a;", space, op, type, at);
    for (std::string_view op : {"inc", "dec"})
      list.add(b32, {b32}, "atom.{}.{}.u32 $d, [${}+#8*4], $a;", space, op, at);
    for (unsigned bits : {32, 64}) {
      const Format b = bits == 32 ? b32 : b64;
      for (std::string_view op : {"and", "or", "xor", "exch"})
        list.add(b, {b}, "atom.acq_rel.gpu.{0}.{1}.b{2} $d, [${3}+#{4}*{5}], $a;", space, op, bits, at,
                 256 / bits, bits / 8);
      list.add(b, {b, b}, "atom.{0}.cas.b{1} $d, [${2}+#{3}*{4}], $a, $b;", space, bits, at, 256 / bits,
               bits / 8);
      // One that finds what it compares with.
      list.add(b, {b},
               "ld.{0}.b{1} ${5}0, [${2}+{6}]; atom.{0}.cas.b{1} ${5}1, [${2}+{6}], ${5}0, $a; ld.{0}.b{1} "
               "$d, [${2}+{6}];",
               space, bits, at, 256 / bits, bits / 8, bits == 32 ? 'x' : 'y', 8);
    }
    list.add(b16, {b16, b16}, "atom.{}.cas.b16 $d, [${}+#16*2], $a, $b;", space, at);
    list.add(f32, {f32}, "atom.{}.add.f32 $d, [${}+32], $a;", space, at);
    list.add(f32, {f32}, "st.{0}.f32 [${1}+36], $a; red.{0}.add.f32 [${1}+36], $a; ld.{0}.f32 $d, [${1}+36];",
             space, at);
    list.add(f64, {f64}, "atom.{}.add.f64 $d, [${}+40], $a;", space, at);
    list.add(f16x2, {f16x2}, "atom.{}.add.noftz.f16x2 $d, [${}+48], $a;", space, at);
    list.add(bf16x2, {bf16x2}, "atom.{}.add.noftz.bf16x2 $d, [${}+52], $a;", space, at);
    list.add(f16, {f16}, "atom.{}.add.noftz.f16 $d, [${}+56], $a;", space, at);
    list.add(bf16, {bf16}, "atom.{}.add.noftz.bf16 $d, [${}+58], $a;", space, at);
  }
  list.add(f32, {f32, f32}, "atom.global.v2.f32.add {{$d, _}}, [$g+64], {{$a, $b}};");
  list.add(f32, {f32, f32, f32, f32}, "atom.global.v4.f32.add {{_, _, $d, _}}, [$g+64], {{$a, $b, $c, $e}};");
  list.add(f32, {f32, f32}, "red.global.v2.f32.add [$g+72], {{$a, $b}}; ld.global.f32 $d, [$g+76];");
}

} // namespace

void addMemoryForms(FormList &list) {
  addAccesses(list);
  addAtomics(list);
}

} // namespace tlc::conformance
