// SPDX-License-Identifier: Apache-2.0
/// \file
/// Forms of instructions on floating-point numbers.
#include "tools/conformance/Forms.h"

namespace tlc::conformance {
namespace {

using enum Format;

constexpr std::string_view roundings[] = {"rn", "rz", "rm", "rp"};
constexpr std::string_view ordered[] = {"eq", "ne", "lt", "le", "gt", "ge"};
constexpr std::string_view comparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                            "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

void addSingle(FormList &list) {
  for (std::string_view rounding : roundings)
    for (std::string_view flush : {"", ".ftz"})
      for (std::string_view saturate : {"", ".sat"}) {
        for (std::string_view op : {"add", "sub", "mul"})
          list.add(f32, {f32, f32}, "{}.{}{}{}.f32 $d, $a, $b;", op, rounding, flush, saturate);
        list.add(f32, {f32, f32, f32}, "fma.{}{}{}.f32 $d, $a, $b, $c;", rounding, flush, saturate);
        if (!saturate.empty())
          continue;
        list.add(f32, {f32, f32}, "div.{}{}.f32 $d, $a, $b;", rounding, flush);
        list.add(f32, {f32}, "rcp.{}{}.f32 $d, $a;", rounding, flush);
        list.add(f32, {f32}, "sqrt.{}{}.f32 $d, $a;", rounding, flush);
      }
  for (std::string_view flush : {"", ".ftz"}) {
    list.add(f32, {f32}, "abs{}.f32 $d, $a;", flush);
    list.add(f32, {f32}, "neg{}.f32 $d, $a;", flush);
    for (std::string_view op : {"min", "max"})
      for (std::string_view nan : {"", ".NaN"})
        for (std::string_view sign : {"", ".xorsign.abs"})
          list.add(f32, {f32, f32}, "{}{}{}{}.f32 $d, $a, $b;", op, flush, nan, sign);
  }
  for (std::string_view op : comparisons) {
    list.add(predicate, {f32, f32}, "setp.{}.f32 $d, $a, $b;", op);
    list.add(predicate, {f32, f32, predicate}, "setp.{}.and.ftz.f32 $d|$q, $a, $b, $c;", op);
  }
  list.add(b32, {f32, f32}, "set.ltu.u32.f32 $d, $a, $b;");
  list.add(f32, {f32, f32, predicate}, "set.ge.or.ftz.f32.f32 $d, $a, $b, !$c;");
  list.add(f32, {f32, f32, predicate}, "selp.f32 $d, $a, $b, $c;");
  list.add(f32, {f32, f32, b32}, "slct.f32.s32 $d, $a, $b, $c;");
  list.add(f32, {f32, f32}, "copysign.f32 $d, $a, $b;");
  for (std::string_view kind : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
    list.add(predicate, {f32}, "testp.{}.f32 $d, $a;", kind);
    list.add(predicate, {f64}, "testp.{}.f64 $d, $a;", kind);
  }
}

void addDouble(FormList &list) {
  for (std::string_view rounding : roundings) {
    for (std::string_view op : {"add", "sub", "mul", "div"})
      list.add(f64, {f64, f64}, "{}.{}.f64 $d, $a, $b;", op, rounding);
    list.add(f64, {f64, f64, f64}, "fma.{}.f64 $d, $a, $b, $c;", rounding);
    list.add(f64, {f64}, "rcp.{}.f64 $d, $a;", rounding);
    list.add(f64, {f64}, "sqrt.{}.f64 $d, $a;", rounding);
  }
  list.add(f64, {f64}, "abs.f64 $d, $a;");
  list.add(f64, {f64}, "neg.f64 $d, $a;");
  list.add(f64, {f64, f64}, "min.f64 $d, $a, $b;");
  list.add(f64, {f64, f64}, "max.f64 $d, $a, $b;");
  list.add(f64, {f64, f64}, "copysign.f64 $d, $a, $b;");
  for (std::string_view op : comparisons)
    list.add(predicate, {f64, f64}, "setp.{}.f64 $d, $a, $b;", op);
  list.add(f64, {f64, f64, predicate}, "selp.f64 $d, $a, $b, $c;");
}

} // namespace

void addFloatForms(FormList &list) {
  addSingle(list);
  addDouble(list);
}

void addHalfForms(FormList &list) {
  for (auto [name, format] : {std::pair("f16", f16), {"f16x2", f16x2}}) {
    for (std::string_view flush : {"", ".ftz"})
      for (std::string_view saturate : {"", ".sat"}) {
        for (std::string_view op : {"add", "sub", "mul"})
          list.add(format, {format, format}, "{}.rn{}{}.{} $d, $a, $b;", op, flush, saturate, name);
        list.add(format, {format, format, format}, "fma.rn{}{}.{} $d, $a, $b, $c;", flush, saturate, name);
      }
    for (std::string_view flush : {"", ".ftz"})
      list.add(format, {format, format, format}, "fma.rn{}.relu.{} $d, $a, $b, $c;", flush, name);
    for (std::string_view op : {"abs", "neg"})
      for (std::string_view flush : {"", ".ftz"})
        list.add(format, {format}, "{}{}.{} $d, $a;", op, flush, name);
    for (std::string_view op : {"min", "max"})
      for (std::string_view flush : {"", ".ftz"})
        for (std::string_view nan : {"", ".NaN"})
          for (std::string_view sign : {"", ".xorsign.abs"})
            list.add(format, {format, format}, "{}{}{}{}.{} $d, $a, $b;", op, flush, nan, sign, name);
  }
  for (auto [name, format] : {std::pair("bf16", bf16), {"bf16x2", bf16x2}}) {
    for (std::string_view op : {"add", "sub", "mul"})
      list.add(format, {format, format}, "{}.rn.{} $d, $a, $b;", op, name);
    list.add(format, {format, format, format}, "fma.rn.{} $d, $a, $b, $c;", name);
    list.add(format, {format, format, format}, "fma.rn.relu.{} $d, $a, $b, $c;", name);
    for (std::string_view op : {"abs", "neg"})
      list.add(format, {format}, "{}.{} $d, $a;", op, name);
    for (std::string_view op : {"min", "max"})
      for (std::string_view nan : {"", ".NaN"})
        for (std::string_view sign : {"", ".xorsign.abs"})
          list.add(format, {format, format}, "{}{}{}.{} $d, $a, $b;", op, nan, sign, name);
  }
  for (std::string_view op : comparisons) {
    list.add(predicate, {f16, f16}, "setp.{}.f16 $d, $a, $b;", op);
    list.add(predicate, {f16x2, f16x2}, "setp.{}.f16x2 $d|$q, $a, $b;", op);
    list.add(predicate, {bf16, bf16}, "setp.{}.bf16 $d, $a, $b;", op);
  }
  for (std::string_view op : ordered) {
    list.add(predicate, {f16x2, f16x2}, "setp.{}.ftz.f16x2 $q|$d, $a, $b;", op);
    list.add(predicate, {bf16x2, bf16x2}, "setp.{}.bf16x2 $q|$d, $a, $b;", op);
    list.add(f16x2, {f16x2, f16x2}, "set.{}.f16x2.f16x2 $d, $a, $b;", op);
    list.add(b32, {f16, f16}, "set.{}.u32.f16 $d, $a, $b;", op);
    list.add(bf16x2, {bf16x2, bf16x2}, "set.{}.bf16x2.bf16x2 $d, $a, $b;", op);
  }
}

void addApproximateForms(FormList &list) {
  // The bounds are the PTX manual's; an ulp is at most 2^-23 of the value.
  const double ulp = 0x1p-23;
  for (std::string_view flush : {"", ".ftz"}) {
    list.approximate({2 * ulp, 0}, f32, {moderate, moderate}, "div.approx{}.f32 $d, $a, $b;", flush);
    list.approximate({2 * ulp, 0}, f32, {moderate, moderate}, "div.full{}.f32 $d, $a, $b;", flush);
    list.approximate({ulp, 0}, f32, {f32}, "rcp.approx{}.f32 $d, $a;", flush);
    list.approximate({ulp, 0}, f32, {f32}, "sqrt.approx{}.f32 $d, $a;", flush);
    list.approximate({2 * ulp, 0}, f32, {f32}, "rsqrt.approx{}.f32 $d, $a;", flush);
    list.approximate({0, 0x1p-20}, f32, {angle}, "sin.approx{}.f32 $d, $a;", flush);
    list.approximate({0, 0x1p-20}, f32, {angle}, "cos.approx{}.f32 $d, $a;", flush);
    list.approximate({2 * ulp, 0}, f32, {f32}, "ex2.approx{}.f32 $d, $a;", flush);
    list.approximate({0x1p-22, 0x1p-22}, f32, {f32}, "lg2.approx{}.f32 $d, $a;", flush);
  }
  list.approximate({0x1p-11, 0}, f32, {f32}, "tanh.approx.f32 $d, $a;");
  list.approximate({0x1p-20, 0}, f64, {f64}, "rcp.approx.ftz.f64 $d, $a;");
  list.approximate({0x1p-20, 0}, f64, {f64}, "rsqrt.approx.ftz.f64 $d, $a;");
  list.approximate({0x1p-9, 0x1p-24}, f16, {f16}, "ex2.approx.f16 $d, $a;");
  list.approximate({0x1p-9, 0x1p-24}, f16x2, {f16x2}, "ex2.approx.f16x2 $d, $a;");
  list.approximate({0x1p-7, 0}, bf16, {bf16}, "ex2.approx.ftz.bf16 $d, $a;");
  list.approximate({0x1p-7, 0}, bf16x2, {bf16x2}, "ex2.approx.ftz.bf16x2 $d, $a;");
  list.approximate({0, 0x1p-10}, f16, {f16}, "tanh.approx.f16 $d, $a;");
  list.approximate({0, 0x1p-8}, bf16, {bf16}, "tanh.approx.bf16 $d, $a;");
}

} // namespace tlc::conformance
