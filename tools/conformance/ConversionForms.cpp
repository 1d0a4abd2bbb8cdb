// SPDX-License-Identifier: Apache-2.0
/// \file
/// Forms of conversions between types.
#include "tools/conformance/Forms.h"

namespace tlc::conformance {
namespace {

using enum Format;

struct IntegerType {
  std::string_view name;
  unsigned bits;
  Format holder() const { return bits <= 16 ? b16 : bits == 32 ? b32 : b64; }
};
constexpr IntegerType integers[] = {{"u8", 8},   {"s8", 8},   {"u16", 16}, {"s16", 16},
                                    {"u32", 32}, {"s32", 32}, {"u64", 64}, {"s64", 64}};

struct FloatType {
  std::string_view name;
  Format format;
};
constexpr FloatType floats[] = {{"f16", f16}, {"bf16", bf16}, {"f32", f32}, {"f64", f64}};
constexpr std::string_view roundings[] = {"rn", "rz", "rm", "rp"};
constexpr std::string_view integralRoundings[] = {"rni", "rzi", "rmi", "rpi"};

bool holdsAll(const IntegerType &to, const IntegerType &from) {
  const bool toSigned = to.name[0] == 's', fromSigned = from.name[0] == 's';
  return toSigned == fromSigned ? to.bits >= from.bits : toSigned && to.bits > from.bits;
}

void addIntegerToInteger(FormList &list) {
  for (const IntegerType &from : integers)
    for (const IntegerType &to : integers) {
      list.add(to.holder(), {from.holder()}, "cvt.{}.{} $d, $a;", to.name, from.name);
      if (!holdsAll(to, from))
        list.add(to.holder(), {from.holder()}, "cvt.sat.{}.{} $d, $a;", to.name, from.name);
    }
}

void addIntegerAndFloat(FormList &list) {
  for (const IntegerType &integer : integers)
    for (const FloatType &real : floats) {
      if (real.format == bf16 && integer.bits == 8)
        continue;
      for (std::string_view rounding : roundings)
        list.add(real.format, {integer.holder()}, "cvt.{}.{}.{} $d, $a;", rounding, real.name, integer.name);
      for (std::string_view rounding : integralRoundings) {
        list.add(integer.holder(), {real.format}, "cvt.{}.{}.{} $d, $a;", rounding, integer.name, real.name);
        if (real.format == f32)
          list.add(integer.holder(), {f32}, "cvt.{}.ftz.sat.{}.f32 $d, $a;", rounding, integer.name);
      }
    }
}

void addFloatToFloat(FormList &list) {
  for (std::string_view rounding : roundings) {
    list.add(f32, {f64}, "cvt.{}.f32.f64 $d, $a;", rounding);
    list.add(f32, {f64}, "cvt.{}.ftz.sat.f32.f64 $d, $a;", rounding);
    list.add(f16, {f64}, "cvt.{}.f16.f64 $d, $a;", rounding);
    list.add(f16, {f32}, "cvt.{}.f16.f32 $d, $a;", rounding);
    list.add(f16, {f32}, "cvt.{}.ftz.f16.f32 $d, $a;", rounding);
    list.add(f16, {f32}, "cvt.{}.sat.f16.f32 $d, $a;", rounding);
    list.add(f16, {f32}, "cvt.{}.ftz.sat.f16.f32 $d, $a;", rounding);
    list.add(bf16, {f64}, "cvt.{}.bf16.f64 $d, $a;", rounding);
    list.add(bf16, {f32}, "cvt.{}.bf16.f32 $d, $a;", rounding);
  }
  for (std::string_view saturate : {"", ".sat"}) {
    list.add(f32, {f16}, "cvt{}.f32.f16 $d, $a;", saturate);
    list.add(f32, {f16}, "cvt.ftz{}.f32.f16 $d, $a;", saturate);
    list.add(f64, {f32}, "cvt{}.f64.f32 $d, $a;", saturate);
    list.add(f64, {f16}, "cvt{}.f64.f16 $d, $a;", saturate);
    for (std::string_view rounding : integralRoundings) {
      list.add(f32, {f32}, "cvt.{}{}.f32.f32 $d, $a;", rounding, saturate);
      list.add(f64, {f64}, "cvt.{}{}.f64.f64 $d, $a;", rounding, saturate);
      list.add(f16, {f16}, "cvt.{}{}.f16.f16 $d, $a;", rounding, saturate);
    }
  }
  list.add(f32, {bf16}, "cvt.f32.bf16 $d, $a;");
  list.add(f64, {bf16}, "cvt.f64.bf16 $d, $a;");
  list.add(f64, {f32}, "cvt.ftz.f64.f32 $d, $a;");
  list.add(f32, {f32}, "cvt.ftz.sat.f32.f32 $d, $a;");
}

void addPacking(FormList &list) {
  for (std::string_view rounding : {"rn", "rz"}) {
    for (std::string_view more : {"", ".relu"}) {
      list.add(f16, {f32}, "cvt.{}{}.f16.f32 $d, $a;", rounding, more);
      list.add(f16x2, {f32, f32}, "cvt.{}{}.f16x2.f32 $d, $a, $b;", rounding, more);
      list.add(bf16, {f32}, "cvt.{}{}.bf16.f32 $d, $a;", rounding, more);
      list.add(bf16x2, {f32, f32}, "cvt.{}{}.bf16x2.f32 $d, $a, $b;", rounding, more);
      list.add(tf32, {f32}, "cvt.{}{}.tf32.f32 $d, $a;", rounding, more);
    }
  }
  list.add(tf32, {f32}, "cvt.rna.tf32.f32 $d, $a;");
  for (std::string_view type : {"e4m3x2", "e5m2x2"})
    for (std::string_view more : {"", ".relu"}) {
      list.add(byte16, {f32, f32}, "cvt.rn.satfinite{}.{}.f32 $d, $a, $b;", more, type);
      list.add(byte16, {f16x2}, "cvt.rn.satfinite{}.{}.f16x2 $d, $a;", more, type);
      list.add(f16x2, {byte16}, "cvt.rn{}.f16x2.{} $d, $a;", more, type);
    }
  list.add(b32, {b32, b32}, "cvt.pack.sat.u16.s32 $d, $a, $b;");
  list.add(b32, {b32, b32}, "cvt.pack.sat.s16.s32 $d, $a, $b;");
  for (std::string_view type : {"u8", "s8", "u4", "s4", "u2", "s2"})
    list.add(b32, {b32, b32, b32}, "cvt.pack.sat.{}.s32.b32 $d, $a, $b, $c;", type);
}

} // namespace

void addConversionForms(FormList &list) {
  addIntegerToInteger(list);
  addIntegerAndFloat(list);
  addFloatToFloat(list);
  addPacking(list);
}

} // namespace tlc::conformance
