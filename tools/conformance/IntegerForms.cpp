// SPDX-License-Identifier: Apache-2.0
/// \file
/// Forms of instructions on integers and bits.
#include "tools/conformance/Forms.h"

namespace tlc::conformance {
namespace {

using enum Format;

Format bitsFormat(unsigned bits) { return bits == 16 ? b16 : bits == 32 ? b32 : b64; }
Format divisorFormat(unsigned bits) { return bits == 16 ? half16 : bits == 32 ? half32 : half64; }

void addComparisons(FormList &list) {
  for (unsigned bits : {16, 32, 64}) {
    const Format b = bitsFormat(bits);
    for (char sign : {'u', 's'})
      for (std::string_view op : {"lt", "le", "gt", "ge", "eq", "ne"})
        list.add(predicate, {b, b}, "setp.{}.{}{} $d, $a, $b;", op, sign, bits);
    for (std::string_view op : {"lo", "ls", "hi", "hs"})
      list.add(predicate, {b, b}, "setp.{}.u{} $d, $a, $b;", op, bits);
    list.add(predicate, {b, b}, "setp.eq.b{} $d, $a, $b;", bits);
    list.add(predicate, {b, b, predicate}, "setp.lt.and.s{} $d, $a, $b, $c;", bits);
    list.add(predicate, {b, b, predicate}, "setp.gt.or.u{} $d|$q, $a, $b, !$c;", bits);
    list.add(predicate, {b, b, predicate}, "setp.ne.xor.b{} $q|$d, $a, $b, $c;", bits);
    list.add(b32, {b, b}, "set.le.u32.s{} $d, $a, $b;", bits);
    list.add(f32, {b, b}, "set.ge.f32.u{} $d, $a, $b;", bits);
    list.add(b32, {b, b, predicate}, "set.ne.and.s32.b{} $d, $a, $b, $c;", bits);
    list.add(b, {b, b, predicate}, "selp.b{} $d, $a, $b, $c;", bits);
    list.add(b, {b, b, b32}, "slct.s{}.s32 $d, $a, $b, $c;", bits);
    list.add(b, {b, b, f32}, "slct.u{}.f32 $d, $a, $b, $c;", bits);
    list.add(b, {b, b, f32}, "slct.ftz.b{}.f32 $d, $a, $b, $c;", bits);
  }
}

void addPairs(FormList &list) {
  for (char sign : {'u', 's'}) {
    list.add(b32, {b32, b32}, "add.{}16x2 $d, $a, $b;", sign);
    for (std::string_view op : {"min", "max"})
      list.add(b32, {b32, b32}, "{}.{}16x2 $d, $a, $b;", op, sign);
  }
  for (std::string_view op : {"min", "max"}) {
    list.add(b32, {b32, b32}, "{}.relu.s16x2 $d, $a, $b;", op);
    list.add(b32, {b32, b32}, "{}.relu.s32 $d, $a, $b;", op);
  }
}

void addDotProducts(FormList &list) {
  for (char a : {'u', 's'})
    for (char b : {'u', 's'}) {
      list.add(b32, {word8, word8, b32}, "dp4a.{}32.{}32 $d, $a, $b, $c;", a, b);
      for (std::string_view half : {"lo", "hi"})
        list.add(b32, {b32, word8, b32}, "dp2a.{}.{}32.{}32 $d, $a, $b, $c;", half, a, b);
    }
}

} // namespace

// Left out are a saturated half in place of another (d.h1 with .sat) and vmad's .shr15: what ptxas makes of
// them is not what the manual says.
void addVideoForms(FormList &list) {
  for (std::string_view op : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"}) {
    list.add(b32, {b32, b32}, "{}.s32.u32.s32 $d, $a.b1, $b.h1;", op);
    list.add(b32, {b32, b32}, "{}.u32.s32.s32.sat $d, $a, $b.b3;", op);
    list.add(b32, {b32, b32, b32}, "{}.s32.s32.s32.add $d, $a.h0, $b, $c;", op);
    list.add(b32, {b32, b32, b32}, "{}2.s32.s32.s32 $d, $a, $b, $c;", op);
    list.add(b32, {b32, b32, b32}, "{}2.u32.u32.u32.sat $d.h10, $a.h32, $b.h02, $c;", op);
    list.add(b32, {word8, word8, b32}, "{}4.u32.u32.u32 $d, $a, $b, $c;", op);
    list.add(b32, {word8, word8, b32}, "{}4.s32.s32.s32.add $d, $a, $b, $c;", op);
  }
  for (std::string_view mode : {"clamp", "wrap"}) {
    list.add(b32, {b32, count32}, "vshl.u32.u32.u32.{} $d, $a, $b;", mode);
    list.add(b32, {b32, count32}, "vshr.s32.s32.u32.{} $d, $a, $b;", mode);
  }
  list.add(b32, {b32, b32, b32}, "vmad.s32.s32.s32 $d, $a.h0, $b.h1, $c;");
  list.add(b32, {b32, b32}, "vset.s32.u32.lt $d, $a, $b.h0;");
  list.add(b32, {b32, b32, b32}, "vset2.u32.s32.ge $d, $a, $b, $c;");
  list.add(b32, {word8, word8, b32}, "vset4.u32.u32.ne.add $d, $a, $b, $c;");
}

void addIntegerForms(FormList &list) {
  for (unsigned bits : {16, 32, 64}) {
    const Format b = bitsFormat(bits), divisor = divisorFormat(bits);
    for (char sign : {'u', 's'}) {
      for (std::string_view op : {"add", "sub", "mul.lo", "mul.hi", "min", "max"})
        list.add(b, {b, b}, "{}.{}{} $d, $a, $b;", op, sign, bits);
      for (std::string_view op : {"mad.lo", "mad.hi", "sad"})
        list.add(b, {b, b, b}, "{}.{}{} $d, $a, $b, $c;", op, sign, bits);
      for (std::string_view op : {"div", "rem"})
        list.add(b, {b, divisor}, "{}.{}{} $d, $a, $b;", op, sign, bits);
      if (bits < 64) {
        const Format wide = bitsFormat(2 * bits);
        list.add(wide, {b, b}, "mul.wide.{}{} $d, $a, $b;", sign, bits);
        list.add(wide, {b, b, wide}, "mad.wide.{}{} $d, $a, $b, $c;", sign, bits);
      }
    }
    // The most negative number has no absolute value.
    list.add(b, {b}, "max.s{0} $d, $a, {1}; abs.s{0} $d, $d;", bits,
             -int64_t((uint64_t(1) << (bits - 1)) - 1));
    list.add(b, {b}, "neg.s{} $d, $a;", bits);
  }
  for (std::string_view op : {"add", "sub"})
    list.add(b32, {b32, b32}, "{}.sat.s32 $d, $a, $b;", op);
  list.add(b32, {b32, b32, b32}, "mad.hi.sat.s32 $d, $a, $b, $c;");
  for (char sign : {'u', 's'})
    for (std::string_view half : {"lo", "hi"}) {
      list.add(b32, {b32, b32}, "mul24.{}.{}32 $d, $a, $b;", half, sign);
      list.add(b32, {b32, b32, b32}, "mad24.{}.{}32 $d, $a, $b, $c;", half, sign);
    }
  list.add(b32, {b32, b32, b32}, "mad24.hi.sat.s32 $d, $a, $b, $c;");

  for (unsigned bits : {32, 64}) {
    const Format b = bitsFormat(bits);
    const char scratch = bits == 32 ? 'x' : 'y';
    for (char sign : {'u', 's'})
      for (std::string_view op : {"add", "sub"}) {
        list.add(b, {b, b, b}, "{0}.cc.{1}{2} ${3}0, $a, $b; {0}c.{1}{2} $d, $c, 0;", op, sign, bits,
                 scratch);
        list.add(b, {b, b, b, b},
                 "{0}.cc.{1}{2} ${3}0, $a, $b; {0}c.cc.{1}{2} ${3}0, $a, $c; {0}c.{1}{2} $d, $b, $e;", op,
                 sign, bits, scratch);
      }
    for (char sign : {'u', 's'}) {
      list.add(b, {b, b, b, b}, "mad.lo.cc.{1}{0} ${2}0, $a, $b, $c; madc.hi.{1}{0} $d, $a, $b, $e;", bits,
               sign, scratch);
      list.add(b, {b, b, b},
               "mad.hi.cc.{1}{0} ${2}0, $a, $b, $c; madc.lo.cc.{1}{0} ${2}0, $b, $c, $a; "
               "addc.{1}{0} $d, $b, $c;",
               bits, sign, scratch);
    }
  }
  addComparisons(list);
  addPairs(list);
  addDotProducts(list);
}

void addBitForms(FormList &list) {
  for (unsigned bits : {16, 32, 64}) {
    const Format b = bitsFormat(bits);
    for (std::string_view op : {"and", "or", "xor"})
      list.add(b, {b, b}, "{}.b{} $d, $a, $b;", op, bits);
    for (std::string_view op : {"not", "cnot"})
      list.add(b, {b}, "{}.b{} $d, $a;", op, bits);
    list.add(b, {b, count32}, "shl.b{} $d, $a, $b;", bits);
    for (char sign : {'u', 's', 'b'})
      list.add(b, {b, count32}, "shr.{}{} $d, $a, $b;", sign, bits);
    list.add(b, {b}, "mov.b{} $d, $a;", bits);
  }
  for (std::string_view op : {"and", "or", "xor"})
    list.add(predicate, {predicate, predicate}, "{}.pred $d, $a, $b;", op);
  list.add(predicate, {predicate}, "not.pred $d, $a;");
  list.add(predicate, {predicate}, "mov.pred $d, $a;");
  for (unsigned bits : {32, 64}) {
    const Format b = bitsFormat(bits);
    for (std::string_view op : {"popc", "clz"})
      list.add(b32, {b}, "{}.b{} $d, $a;", op, bits);
    list.add(b, {b}, "brev.b{} $d, $a;", bits);
    for (char sign : {'u', 's'}) {
      list.add(b32, {b}, "bfind.{}{} $d, $a;", sign, bits);
      list.add(b32, {b}, "bfind.shiftamt.{}{} $d, $a;", sign, bits);
      list.add(b, {b, count32, count32},
               "and.b32 $x0, $b, 255; and.b32 $x1, $c, 255; bfe.{}{} $d, $a, $x0, $x1;", sign, bits);
    }
    list.add(b, {b, b, count32, count32},
             "and.b32 $x0, $c, 255; and.b32 $x1, $e, 255; bfi.b{} $d, $a, $b, $x0, $x1;", bits);
  }
  for (std::string_view mode : {"clamp", "wrap"}) {
    for (char direction : {'l', 'r'})
      list.add(b32, {b32, b32, count32}, "shf.{}.{}.b32 $d, $a, $b, $c;", direction, mode);
    list.add(b32, {count32, count32}, "bmsk.{}.b32 $d, $a, $b;", mode);
    for (char sign : {'u', 's'})
      list.add(b32, {b32, count32}, "szext.{}.{}32 $d, $a, $b;", mode, sign);
  }
  for (unsigned i = 0; i < 4; ++i)
    list.add(b32, {b32, b32, b32}, "lop3.b32 $d, $a, $b, $c, #256;");
  for (std::string_view op : {"or", "and"})
    list.add(predicate, {b32, b32, b32, predicate}, "lop3.{}.b32 $x0|$d, $a, $b, $c, #256, $e;", op);
  list.add(b32, {b32, b32, b32}, "prmt.b32 $d, $a, $b, $c;");
  for (std::string_view mode : {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})
    list.add(b32, {b32, b32, b32}, "prmt.b32.{} $d, $a, $b, $c;", mode);
  for (int offset : {1, -1, 3, -2, 0, 20})
    list.add(b32, {b32, b32}, "and.b32 $x0, $b, 31; fns.b32 $d, $a, $x0, {};", offset);
  list.add(b64, {b32, b32}, "mov.b64 $d, {{$a, $b}};");
  list.add(b32, {b64, b32}, "mov.b64 {{$x0, $x1}}, $a; xor.b32 $d, $x0, $x1;");
  list.add(b32, {b16, b16}, "mov.b32 $d, {{$a, $b}};");
  list.add(b64, {b16, b16, b16, b16}, "mov.b64 $d, {{$a, $b, $c, $e}};");
}

} // namespace tlc::conformance
