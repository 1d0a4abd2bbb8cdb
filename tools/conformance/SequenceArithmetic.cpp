// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stages of what each thread does by itself: arithmetic of every kind,
/// carries over several instructions, predicates.
#include "tools/conformance/SequenceWriter.h"

#include <algorithm>

namespace tlc::conformance {
namespace {

using enum Format;

/// Those of exact results that a thread can execute alone.
std::vector<Form> formsOf(std::initializer_list<void (*)(FormList &)> parts) {
  FormList list;
  for (auto *add : parts)
    add(list);
  std::erase_if(list.forms, [](const Form &form) {
    return !form.bound.exact() || form.text.find("sync") != std::string::npos ||
           form.text.find("%x1") != std::string::npos;
  });
  // ptxas negates in 32 bits, and what reads the result as signed finds 32768 in place of -32768.
  for (Form &form : list.forms)
    if (form.text == "neg.s16 $d, $a;")
      form.text = "max.s16 $d, $a, -32767; neg.s16 $d, $d;";
  return std::move(list.forms);
}

/// Comparisons and what chooses by them.
std::vector<Form> predicateForms() {
  std::vector<Form> forms = formsOf({addIntegerForms, addBitForms, addFloatForms, addHalfForms});
  std::erase_if(forms, [](const Form &form) {
    return form.result != predicate && !form.text.starts_with("set") && !form.text.starts_with("sel") &&
           !form.text.starts_with("slct");
  });
  return forms;
}

const Form &anyForm(Random &random) {
  static const std::vector<Form> integers = formsOf({addIntegerForms, addBitForms});
  static const std::vector<Form> numbers = formsOf({addFloatForms, addHalfForms});
  static const std::vector<Form> conversions = formsOf({addConversionForms});
  static const std::vector<Form> memory = formsOf({addMemoryForms, addAtomicForms});
  static const std::vector<Form> video = formsOf({addVideoForms});
  switch (random.below(16)) {
  case 0:
    return random.pick(video);
  case 1:
  case 2:
    return random.pick(memory);
  case 3:
  case 4:
  case 5:
    return random.pick(conversions);
  case 6:
  case 7:
  case 8:
  case 9:
    return random.pick(numbers);
  default:
    return random.pick(integers);
  }
}

void arithmetic(SequenceWriter &writer) { writeArithmetic(writer, unsigned(writer.random.between(5, 10))); }

void predicates(SequenceWriter &writer) {
  static const std::vector<Form> forms = predicateForms();
  const unsigned count = unsigned(writer.random.between(5, 10));
  for (unsigned i = 0; i < count; ++i)
    writer.apply(writer.random.pick(forms), Guarding::sometimes);
}

/// Loops that each lane leaves when it is done, without a word to the others.
void loop(SequenceWriter &writer) {
  const std::string count = writer.fresh(b32), total = writer.fresh(b32), wide = writer.fresh(b64);
  const std::string from = writer.source(b32);
  writer.emit("and.b32 {}, {}, {};", count, from, writer.random.pick(std::array{3, 7, 15}));
  const std::string first = writer.source(b32);
  writer.emit("mov.b32 {}, {};", total, first);
  const std::string second = writer.source(b64);
  writer.emit("mov.b64 {}, {};", wide, second);
  const std::string begin = writer.label(), end = writer.label();
  writer.emit("{}: setp.eq.u32 %q, {}, 0;", begin, count);
  writer.emit("@%q bra {};", end);
  const size_t entered = writer.enter();
  writer.keep(total, b32);
  writer.keep(wide, b64);
  writeArithmetic(writer, unsigned(writer.random.between(1, 3)));
  const std::string more = writer.source(b32);
  writer.emit("mad.lo.u32 {0}, {0}, 33, {1};", total, more);
  const std::string moreWide = writer.source(b64);
  writer.emit("xor.b64 {0}, {0}, {1};", wide, moreWide);
  writer.digest(entered, total);
  writer.leave(entered);
  writer.emit("sub.u32 {0}, {0}, 1;", count);
  writer.emit("bra {};", begin);
  writer.emit("{}: bar.warp.sync {};", end, writer.members);
  writer.keep(total, b32);
  writer.keep(wide, b64);
}

} // namespace

void writeArithmetic(SequenceWriter &writer, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    writer.apply(anyForm(writer.random), Guarding::sometimes);
}

/// The carry is one for all of them: of 32 and 64 bits, of sums, differences and products.
void writeCarries(SequenceWriter &writer) {
  Random &random = writer.random;
  const unsigned count = unsigned(random.between(2, 8));
  unsigned bits = random.oneIn(2) ? 32 : 64;
  for (unsigned i = 0; i < count; ++i) {
    const bool reads = i > 0 && !random.oneIn(6), writes = i + 1 < count && !random.oneIn(8);
    if (random.oneIn(6))
      bits = 96 - bits;
    if (i > 0 && random.oneIn(8)) // another instruction between them
      writer.add(b32, {b32, b32}, "xor.b32 $d, $a, $b;");
    const Format b = bits == 32 ? b32 : b64;
    const char sign = random.oneIn(2) ? 'u' : 's';
    const std::string_view more = reads ? "c" : "", set = writes || i == 0 ? ".cc" : "";
    // Of lanes that skip the first there is no carry.
    const Guarding guarding = i == 0 ? Guarding::never : Guarding::sometimes;
    switch (random.below(5)) {
    case 0:
    case 1:
      writer.apply({fmt::format("add{}{}.{}{} $d, $a, $b;", more, set, sign, bits), b, {b, b}}, guarding);
      break;
    case 2:
    case 3:
      writer.apply({fmt::format("sub{}{}.{}{} $d, $a, $b;", more, set, sign, bits), b, {b, b}}, guarding);
      break;
    default: {
      const std::string_view half = random.oneIn(2) ? "lo" : "hi";
      writer.apply(
          {fmt::format("mad{}.{}{}.{}{} $d, $a, $b, $c;", more, half, set, sign, bits), b, {b, b, b}},
          guarding);
    }
    }
  }
}

std::span<const Stage> arithmeticStages() {
  static constexpr Stage stages[] = {{"arithmetic", 4, arithmetic},
                                     {"carries", 3, writeCarries},
                                     {"predicates", 2, predicates},
                                     {"loop", 1, loop}};
  return stages;
}

} // namespace tlc::conformance
