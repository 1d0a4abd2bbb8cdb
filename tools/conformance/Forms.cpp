// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/Forms.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>
#include <map>

namespace tlc::conformance {
namespace {

constexpr unsigned threads = 128, blocks = 2, inputsPerFormat = 3, memoryBytes = 80;
constexpr size_t lanes = threads * blocks;

/// What a register may be used as besides its own format.
bool serves(Format have, Format want) {
  if (have == want)
    return true;
  switch (want) {
  case Format::b16:
  case Format::b32:
  case Format::b64:
    // Floating-point results are left out: the bits of a NaN are the device's own.
    return registerBits(have) == registerBits(want) &&
           (have == Format::count32 || have == Format::word8 || have == Format::byte16 ||
            have == Format::half16 || have == Format::half32 || have == Format::half64);
  case Format::word8:
    return have == Format::b32;
  case Format::tf32:
    return have == Format::f32;
  default:
    return false;
  }
}

/// One program as it is written.
class Writer {
public:
  Writer(Random &random, Chaining chaining) : random(random), chaining(chaining) {}

  void append(const Form &form);
  Program finish(std::string name);

private:
  unsigned source(Format format);
  unsigned newRegister(Format format);

  struct Register {
    Format format;
    bool exact = true;
  };
  Random &random;
  Chaining chaining;
  std::vector<Register> registers;
  std::map<Format, unsigned> inputs;                   ///< of a format: its first input register
  std::vector<std::pair<Format, unsigned>> inputOrder; ///< as they lie in memory
  std::string loads, body;
  std::vector<Column> columns;
  size_t outputBytes = 0;
  bool usesMemory = false;
};

unsigned Writer::newRegister(Format format) {
  registers.push_back({format});
  return unsigned(registers.size() - 1);
}

unsigned Writer::source(Format format) {
  if (chaining == Chaining::yes && !random.oneIn(3)) {
    std::vector<unsigned> made;
    for (unsigned i = 0; i < registers.size(); ++i)
      if (registers[i].exact && serves(registers[i].format, format))
        made.push_back(i);
    if (made.size() > inputsPerFormat)
      return random.pick(made);
  }
  auto [place, isNew] = inputs.try_emplace(format, unsigned(registers.size()));
  if (isNew)
    for (unsigned i = 0; i < inputsPerFormat; ++i) {
      const unsigned index = newRegister(format);
      const size_t offset = inputOrder.size() * lanes * 8;
      inputOrder.push_back({format, index});
      if (format == Format::predicate)
        loads +=
            fmt::format("  ld.global.u32 %x0, [%mine+{}];\n  setp.ne.u32 %v{}, %x0, 0;\n", offset, index);
      else
        loads += fmt::format("  ld.global.b{} %v{}, [%mine+{}];\n", registerBits(format), index, offset);
    }
  return place->second + unsigned(random.below(inputsPerFormat));
}

void Writer::append(const Form &form) {
  std::vector<unsigned> sources;
  for (Format format : form.sources)
    sources.push_back(source(format));
  const unsigned result = newRegister(form.result);
  registers[result].exact = form.bound.exact();

  std::string text, name;
  for (size_t i = 0; i < form.text.size(); ++i) {
    const char c = form.text[i];
    if (c == '#') { // a constant
      unsigned limit = 0;
      const char *const last = form.text.data() + form.text.size();
      const char *end = std::from_chars(&form.text[i + 1], last, limit).ptr;
      unsigned scale = 1;
      if (end != last && *end == '*')
        end = std::from_chars(end + 1, last, scale).ptr;
      const std::string value = std::to_string(random.below(limit) * scale);
      text += value;
      name += value;
      i = size_t(end - form.text.data()) - 1;
      continue;
    }
    name += c;
    if (c != '$') {
      text += c;
      continue;
    }
    const char which = form.text[++i];
    name.back() = which;
    if (which == 'd')
      text += fmt::format("%v{}", result);
    else if (std::string_view("xyqsgl").find(which) != std::string_view::npos) {
      text += fmt::format("%{}", which);
      usesMemory |= which == 's' || which == 'g' || which == 'l';
    } else
      text += fmt::format("%v{}", sources[which == 'e' ? 3 : which - 'a']);
  }
  body += fmt::format("  {}\n", text);
  columns.push_back({name, form.result, outputBytes, lanes, form.bound});
  const unsigned bytes = elementBytes(form.result);
  if (form.result == Format::predicate)
    body += fmt::format("  selp.b32 %x0, 1, 0, %v{};\n  st.global.b32 [%out{}+{}], %x0;\n", result, bytes,
                        outputBytes);
  else
    body += fmt::format("  st.global.b{} [%out{}+{}], %v{};\n", bytes * 8, bytes, outputBytes, result);
  outputBytes += lanes * bytes;
}

Program Writer::finish(std::string name) {
  std::string declarations;
  for (unsigned i = 0; i < registers.size(); ++i) {
    const unsigned bits = registerBits(registers[i].format);
    declarations += fmt::format("  .reg .{} %v{};\n", bits == 1 ? "pred" : fmt::format("b{}", bits), i);
  }
  declarations +=
      "  .reg .b32 %x0, %x1, %thread; .reg .b64 %y0, %y1, %mine, %out2, %out4, %out8; .reg .pred %q;\n";
  if (usesMemory) {
    declarations +=
        fmt::format("  .shared .align 16 .b8 sharedBytes[{}]; .local .align 16 .b8 localBytes[{}];\n"
                    "  .reg .b32 %s, %l; .reg .b64 %g;\n",
                    threads * memoryBytes, memoryBytes);
    loads +=
        fmt::format("  mov.u32 %s, sharedBytes;\n  mad.lo.u32 %s, %x1, {0}, %s;\n  mov.u32 %l, localBytes;\n"
                    "  add.u64 %g, %out, {1};\n  mad.wide.u32 %g, %thread, {0}, %g;\n",
                    memoryBytes, outputBytes);
    for (unsigned at = 0; at < memoryBytes; at += 16)
      for (std::string_view space : {"shared", "local"})
        loads += fmt::format("  st.{}.v4.b32 [%{}+{}], {{0, 0, 0, 0}};\n", space, space[0], at);
  }
  Program program;
  program.name = std::move(name);
  program.blocks = blocks;
  program.threads = threads;
  program.ptx = moduleText(declarations, "  mov.u32 %x0, %ctaid.x;\n  mov.u32 %x1, %tid.x;\n"
                                         "  mad.lo.u32 %thread, %x0, 128, %x1;\n"
                                         "  mad.wide.u32 %mine, %thread, 8, %in;\n"
                                         "  mad.wide.u32 %out2, %thread, 2, %out;\n"
                                         "  mad.wide.u32 %out4, %thread, 4, %out;\n"
                                         "  mad.wide.u32 %out8, %thread, 8, %out;\n" +
                                             loads + body);
  program.input.resize(inputOrder.size() * lanes * 8);
  program.output.resize(outputBytes, std::byte(0xDD));
  if (usesMemory)
    program.output.resize(outputBytes + lanes * memoryBytes, std::byte(0));
  for (size_t i = 0; i < inputOrder.size(); ++i)
    for (size_t lane = 0; lane < lanes; ++lane) {
      const auto [format, index] = inputOrder[i];
      uint64_t value = randomValue(format, random);
      std::byte *place = &program.input[(i * lanes + lane) * 8];
      const bool related = i > 0 && inputOrder[i - 1].first == format && random.oneIn(6);
      if (related && format != Format::angle && format != Format::moderate && format != Format::predicate) {
        // The same as the input before it, but for the sign or the last place.
        std::memcpy(&value, place - lanes * 8, 8);
        const unsigned bits = registerBits(format);
        value = random.oneIn(3) ? value : value ^ (random.oneIn(2) ? uint64_t(1) << (bits - 1) : uint64_t(1));
        if ((format == Format::half16 || format == Format::half32 || format == Format::half64) && value == 0)
          value = 3;
      }
      std::memcpy(place, &value, 8);
    }
  program.columns = std::move(columns);
  return program;
}

} // namespace

std::vector<Program> dealPrograms(std::string_view group, const std::vector<Form> &forms, unsigned copies,
                                  unsigned length, Chaining chaining) {
  Random random(1, group);
  std::vector<const Form *> deck;
  for (unsigned copy = 0; copy < copies; ++copy)
    for (const Form &form : forms)
      deck.push_back(&form);
  random.shuffle(std::span(deck));
  std::vector<Program> programs;
  for (size_t begin = 0; begin < deck.size(); begin += length) {
    Writer writer(random, chaining);
    for (size_t i = begin; i < std::min(begin + length, deck.size()); ++i)
      writer.append(*deck[i]);
    programs.push_back(writer.finish(fmt::format("{}.{}", group, programs.size())));
  }
  return programs;
}

} // namespace tlc::conformance
