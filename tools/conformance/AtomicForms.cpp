// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every operation of atom and red on every type, in memory of the thread's own
/// and in memory that all threads of a block change at once. Integers have the
/// first 32 of a thread's 80 bytes; floating-point numbers are stored anew by
/// each instruction after them, so that no NaN's bits are read as an integer.
#include "tools/conformance/Forms.h"

namespace tlc::conformance {
namespace {

using enum Format;

/// Addresses of a thread's 80 bytes: by their space, and generic ones.
struct Place {
  std::string_view space;   ///< ".shared"
  std::string_view address; ///< "$s"
  std::string_view before;  ///< what makes the address
};
constexpr Place places[] = {
    {".shared", "$s", ""},
    {".shared::cta", "$s", ""},
    {".global", "$g", ""},
    {"", "$y1", "cvta.global.u64 $y1, $g; "},
    {"", "$y1", "cvt.u64.u32 $y1, $s; cvta.shared.u64 $y1, $y1; "},
};

constexpr std::string_view orders[] = {"", ".relaxed.cta", ".acquire.gpu", ".release.sys",
                                       ".acq_rel.cluster"};

/// The operation as atom, and as red with what it leaves.
void addInteger(FormList &list, const Place &place, std::string_view order, std::string_view operation,
                Format format) {
  const unsigned bytes = registerBits(format) / 8, count = 32 / bytes;
  list.add(format, {format}, "{}atom{}{}.{} $d, [{}+#{}*{}], $a;", place.before, order, place.space,
           operation, place.address, count, bytes);
  if (operation.starts_with("exch") || order == ".acquire.gpu" || order == ".acq_rel.cluster")
    return; // red has none of these
  list.add(format, {format, format},
           "{0}st{1}.b{4} [{2}+{5}], $b; red{6}{1}.{3} [{2}+{5}], $a; ld{1}.b{4} $d, [{2}+{5}];",
           place.before, place.space, place.address, operation, bytes * 8, bytes, order);
}

void addIntegers(FormList &list) {
  size_t turn = 0;
  for (const Place &place : places) {
    const auto order = [&] { return orders[turn++ % std::size(orders)]; };
    for (std::string_view operation : {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32",
                                       "inc.u32", "dec.u32", "and.b32", "or.b32", "xor.b32", "exch.b32"})
      addInteger(list, place, order(), operation, b32);
    for (std::string_view operation :
         {"add.u64", "min.u64", "min.s64", "max.u64", "max.s64", "and.b64", "or.b64", "xor.b64", "exch.b64"})
      addInteger(list, place, order(), operation, b64);
    // With what is there, and with something else.
    for (Format format : {b16, b32, b64}) {
      const unsigned bits = registerBits(format);
      list.add(format, {format, format}, "{0}st{1}.b{3} [{2}], $a; atom{4}{1}.cas.b{3} $d, [{2}], $b, $a;",
               place.before, place.space, place.address, bits, order());
      list.add(format, {format, format},
               "{0}st{1}.b{3} [{2}], $a; atom{1}.cas.b{3} $d, [{2}], $a, $b; ld{1}.b{3} $d, [{2}];",
               place.before, place.space, place.address, bits);
    }
    // 128 bits: one half of what was there, then of what is.
    for (unsigned half : {0, 8}) {
      list.add(
          b64, {b64, b64, b64},
          "{0}{{ .reg .b128 n, p; .reg .b64 low, high; mov.b128 n, {{$a, $b}}; st{1}.v2.b64 [{2}], {{$b, "
          "$c}}; atom{1}.exch.b128 p, [{2}], n; mov.b128 {{low, high}}, p; ld{1}.b64 $d, [{2}+{3}]; "
          "add.u64 $d, $d, {4}; }}",
          place.before, place.space, place.address, half, half ? "high" : "low");
      list.add(
          b64, {b64, b64, b64},
          "{0}{{ .reg .b128 n, o, p; .reg .b64 low, high; mov.b128 n, {{$a, $b}}; mov.b128 o, {{$b, $c}}; "
          "st{1}.v2.b64 [{2}], {{$b, $c}}; atom{1}.cas.b128 p, [{2}], o, n; mov.b128 {{low, high}}, p; "
          "ld{1}.b64 $d, [{2}+{3}]; add.u64 $d, $d, {4}; }}",
          place.before, place.space, place.address, half, half ? "high" : "low");
    }
  }
}

struct Number {
  std::string_view type, modifiers; ///< "f16", ".noftz"
  Format format;
};
constexpr Number numbers[] = {{"f32", "", f32},           {"f64", "", f64},
                              {"f16", ".noftz", f16},     {"bf16", ".noftz", bf16},
                              {"f16x2", ".noftz", f16x2}, {"bf16x2", ".noftz", bf16x2}};

void addNumbers(FormList &list) {
  for (const Place &place : places)
    for (const Number &number : numbers) {
      const unsigned bits = registerBits(number.format);
      list.add(number.format, {number.format, number.format},
               "{0}st{1}.b{2} [{3}+48], $b; atom{1}.add{4}.{5} $d, [{3}+48], $a;", place.before, place.space,
               bits, place.address, number.modifiers, number.type);
      list.add(number.format, {number.format, number.format},
               "{0}st{1}.b{2} [{3}+48], $b; red{1}.add{4}.{5} [{3}+48], $a; ld{1}.b{2} $d, [{3}+48];",
               place.before, place.space, bits, place.address, number.modifiers, number.type);
    }
}

/// Element `element` of a vector, which alone is not $b.
std::string operands(unsigned count, unsigned element) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("{}{}", i ? ", " : "", i == element ? "$a" : "$b");
  return text;
}

void addVectors(FormList &list) {
  for (const Number &number : numbers) {
    if (number.type == "f64")
      continue;
    const unsigned bytes = registerBits(number.format) / 8;
    for (std::string_view operation : {"add", "min", "max"}) {
      if (number.type == "f32" && operation != "add")
        continue;
      for (unsigned count : {2u, 4u, 8u}) {
        if (count * bytes > 16)
          continue;
        const unsigned element = count - 1 - (count == 8 ? 3 : 0);
        std::string stores;
        for (unsigned i = 0; i < count; ++i)
          stores += fmt::format("st.global.b{} [$g+{}], $c; ", bytes * 8, 64 + i * bytes);
        std::string results;
        for (unsigned i = 0; i < count; ++i)
          results += fmt::format("{}{}", i ? ", " : "", i == element ? "$d" : "_");
        list.add(number.format, {number.format, number.format, number.format},
                 "{}atom.global.v{}.{}.{}{} {{{}}}, [$g+64], {{{}}};", stores, count, number.type, operation,
                 number.modifiers, results, operands(count, element));
        list.add(number.format, {number.format, number.format, number.format},
                 "{}red.relaxed.gpu.global.v{}.{}.{}{} [$g+64], {{{}}}; ld.global.b{} $d, [$g+{}];", stores,
                 count, number.type, operation, number.modifiers, operands(count, element), bytes * 8,
                 64 + element * bytes);
      }
    }
  }
}

/// All 128 threads of a block on the same four words, in an order that the result does not tell.
void addContended(FormList &list) {
  for (std::string_view operation : {"add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32"})
    for (std::string_view instruction : {"red.shared.{} [at]", "atom.shared.{} old, [at]"})
      list.add(b32, {b32},
               "{{ .reg .b32 at, old; mad.lo.u32 at, %x1, -80, $s; and.b32 old, %x1, 3; mad.lo.u32 at, old, "
               "4, at; "
               "barrier.sync 1; {}, $a; barrier.sync 1; ld.shared.b32 $d, [at]; barrier.sync 1; }}",
               fmt::format(fmt::runtime(instruction), operation));
}

} // namespace

void addAtomicForms(FormList &list) {
  addIntegers(list);
  addNumbers(list);
  addVectors(list);
  addContended(list);
}

} // namespace tlc::conformance
