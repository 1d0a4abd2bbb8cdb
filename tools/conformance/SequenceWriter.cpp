// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/SequenceWriter.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace tlc::conformance {
namespace {

constexpr unsigned inputsPerFormat = 3, ownBytes = 80;

bool isNumber(Format format) {
  switch (format) {
  case Format::f16:
  case Format::bf16:
  case Format::f16x2:
  case Format::bf16x2:
  case Format::f32:
  case Format::f64:
  case Format::tf32:
    return true;
  default:
    return false;
  }
}

bool has(const Form &form, std::string_view text) { return form.text.find(text) != std::string::npos; }

/// The sign of a NaN would show in the result.
bool readsSigns(const Form &form) { return has(form, "sign"); }

// What ptxas 13.0 translates otherwise than the PTX ISA says is not written, or such that it does not notice:

/// Forms whose operands must not show what made them.
/// - cvt: joined with a cvt whose result it reads, it saturates otherwise.
/// - match, redux: of a value that all lanes have in common nothing is left but the waiting for the members
///   (WARPSYNC.EXCLUSIVE), without what ends it, and the warp does not go on.
/// - red, atom of pairs in shared memory, which are loops: the upper half is taken from the upper word where
///   the pair is the lower word of 64 bits, as vmad and cvt.u32.u64 make it.
bool readsOpaque(const Form &form) {
  return form.text.starts_with("cvt") || has(form, "match.") || has(form, "redux.") ||
         (has(form, "16x2") && (has(form, "red.") || has(form, "atom.")));
}

/// Forms whose results must not show what made them. Two 8-bit numbers become the lower half of a register
/// that holds what `mov.b32 d, {them, other}` wants in its upper half; whoever reads `other` later gets all
/// of it.
bool makesOpaque(const Form &form) {
  return form.text.starts_with("cvt") && (has(form, ".e4m3x2.f") || has(form, ".e5m2x2.f"));
}

/// Forms that have an effect where their guard is false, against the PTX ISA's "Predicated Execution": testp
/// all of it; set the conversion of what is in the result's register, as though the comparison were there.
bool losesGuard(const Form &form) { return form.text.starts_with("testp.") || form.text.starts_with("set."); }

bool isVideo(const Form &form) { return form.text.starts_with("v") && !form.text.starts_with("vote"); }

/// Of one instruction, which may have a guard.
bool isSingle(const Form &form) {
  return !form.text.starts_with("{") && std::ranges::count(form.text, ';') == 1;
}

} // namespace

std::string SequenceWriter::fresh(Format format) {
  const unsigned bits = registerBits(format);
  std::string name = fmt::format("%v{}", registers++);
  declarations += fmt::format("  .reg .{} {};\n", bits == 1 ? "pred" : fmt::format("b{}", bits), name);
  return name;
}

std::string SequenceWriter::input(Format format) {
  std::vector<std::string> found;
  for (const Input &input : inputs)
    if (input.format == format)
      found.push_back(input.name);
  const size_t index = random.below(inputsPerFormat);
  if (index < found.size())
    return found[index];
  const std::string name = fresh(format);
  const size_t offset = inputs.size() * threads * 8;
  inputs.push_back({format, name});
  if (format == Format::predicate)
    loads += fmt::format("  ld.global.u32 %x0, [%mine+{}];\n  setp.ne.u32 {}, %x0, 0;\n", offset, name);
  else
    loads += fmt::format("  ld.global.b{} {}, [%mine+{}];\n", registerBits(format), name, offset);
  return name;
}

const SequenceWriter::Register *SequenceWriter::made(Format format) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i < usable.size(); ++i)
    if (registerBits(usable[i].format) == registerBits(format))
      fitting.push_back(i);
  if (fitting.empty())
    return nullptr;
  // Rather what was made lately.
  const size_t one = random.below(fitting.size()), other = random.below(fitting.size());
  return &usable[fitting[std::max(one, other)]];
}

std::string SequenceWriter::withoutPayload(const Register &number) {
  const std::string result = fresh(number.format);
  switch (number.format) {
  case Format::f64:
    emit("testp.notanumber.f64 %q, {0}; selp.b64 {1}, 0x7FFFFFFFFFFFFFFF, {0}, %q;", number.name, result);
    break;
  case Format::f16:
  case Format::bf16:
    emit("setp.nan.{2} %q, {0}, {0}; selp.b16 {1}, 0x7FFF, {0}, %q;", number.name, result,
         number.format == Format::f16 ? "f16" : "bf16");
    break;
  case Format::f16x2:
  case Format::bf16x2:
    emit("{{ .reg .b16 low, high; mov.b32 {{low, high}}, {0}; setp.nan.{2} %q, low, low; selp.b16 low, "
         "0x7FFF, "
         "low, %q; setp.nan.{2} %q, high, high; selp.b16 high, 0x7FFF, high, %q; mov.b32 {1}, {{low, high}}; "
         "}}",
         number.name, result, number.format == Format::f16x2 ? "f16" : "bf16");
    break;
  default:
    emit("testp.notanumber.f32 %q, {0}; selp.b32 {1}, 0x7FFFFFFF, {0}, %q;", number.name, result);
  }
  return result;
}

std::string SequenceWriter::readAs(const Register &have, Format want) {
  std::string bits = isNumber(have.format) && have.format != want ? withoutPayload(have) : have.name;
  const auto derived = [&](std::string_view instruction) {
    const std::string result = fresh(want);
    emit("{}.b{} {}, {}, {};", instruction, registerBits(want), result, bits, instruction == "or" ? 1 : 63);
    return result;
  };
  switch (want) {
  case Format::half16:
  case Format::half32:
  case Format::half64:
    return derived("or");
  case Format::count32:
    return have.format == want ? bits : derived("and");
  default:
    return bits;
  }
}

std::string SequenceWriter::opaque(const std::string &name, Format format) {
  usesZero = true;
  const std::string result = fresh(format);
  emit("xor.b{0} {1}, {2}, %zero{0};", registerBits(format), result, name);
  return result;
}

std::string SequenceWriter::source(Format format) {
  if (!random.oneIn(3))
    if (const Register *have = made(format))
      return readAs(Register(*have), format);
  return input(format);
}

std::string SequenceWriter::sourceOf(const Form &form, Format format) {
  if (isVideo(form) || random.oneIn(3))
    return input(format);
  const Register *have = made(format);
  if (!have)
    return input(format);
  const Register copy = *have;
  const std::string bits =
      readsSigns(form) && isNumber(copy.format) ? withoutPayload(copy) : readAs(copy, format);
  return readsOpaque(form) ? opaque(bits, format) : bits;
}

std::string SequenceWriter::apply(const Form &form, Guarding guarding) {
  std::vector<std::string> sources;
  for (Format format : form.sources)
    sources.push_back(sourceOf(form, format));
  std::string result = fresh(form.result), computed = result;
  std::string text, then;
  if (guarding == Guarding::sometimes && isSingle(form) && random.oneIn(4)) {
    const std::string before = source(form.result);
    std::string guard = source(Format::predicate);
    guard = fmt::format("@{}{}", random.oneIn(2) ? "!" : "", guard);
    const unsigned bits = registerBits(form.result);
    const std::string move = bits == 1 ? "mov.pred" : fmt::format("mov.b{}", bits);
    emit("{} {}, {};", move, result, before);
    if (losesGuard(form)) {
      computed = fresh(form.result);
      then = fmt::format(" {} {} {}, {};", guard, move, result, computed);
    } else {
      text = guard + " ";
    }
  }
  for (size_t i = 0; i < form.text.size(); ++i) {
    const char c = form.text[i];
    if (c == '#') { // a constant
      unsigned limit = 0, scale = 1;
      const char *const last = form.text.data() + form.text.size();
      const char *end = std::from_chars(&form.text[i + 1], last, limit).ptr;
      if (end != last && *end == '*')
        end = std::from_chars(end + 1, last, scale).ptr;
      text += std::to_string(random.below(limit) * scale);
      i = size_t(end - form.text.data()) - 1;
      continue;
    }
    if (c != '$') {
      text += c;
      continue;
    }
    const char which = form.text[++i];
    if (which == 'd')
      text += computed;
    else if (which == 'm')
      text += members;
    else if (std::string_view("xyqsgl").find(which) != std::string_view::npos) {
      text += fmt::format("%{}", which);
      usesOwnMemory |= which == 's' || which == 'g' || which == 'l';
    } else
      text += sources[which == 'e' ? 3 : which - 'a'];
  }
  emit("{}{}", text, then);
  if (makesOpaque(form))
    result = opaque(result, form.result);
  usable.push_back({result, form.result});
  return result;
}

std::string SequenceWriter::sharedMemory(size_t bytes) {
  std::string name = fmt::format("shared{}", sharedBlocks++);
  declarations += fmt::format("  .shared .align 128 .b8 {}[{}];\n", name, bytes);
  return name;
}

size_t SequenceWriter::globalMemory(size_t bytes) {
  const size_t offset = globalBytes;
  globalBytes += (bytes + 127) / 128 * 128;
  return offset;
}

/// The registers' inputs come first, and their number is known at the end.
size_t SequenceWriter::inputMemory(const std::vector<std::byte> &bytes) {
  const size_t offset = inputBytes.size();
  inputBytes.insert(inputBytes.end(), bytes.begin(), bytes.end());
  inputBytes.resize((inputBytes.size() + 127) / 128 * 128);
  return offset;
}

template <class Function> void SequenceWriter::forWords(const Register &result, Function &&function) {
  const std::string bits = isNumber(result.format) ? withoutPayload(result) : result.name;
  switch (registerBits(result.format)) {
  case 1:
    emit("selp.b32 %x0, 1, 0, {};", bits);
    function("%x0");
    break;
  case 16:
    emit("cvt.u32.u16 %x0, {};", bits);
    function("%x0");
    break;
  case 32:
    function(bits);
    break;
  default:
    emit("mov.b64 {{%x0, %x1}}, {};", bits);
    function("%x0");
    function("%x1");
  }
}

void SequenceWriter::digest(size_t entered, const std::string &digest) {
  for (size_t i = entered; i < usable.size(); ++i)
    forWords(Register(usable[i]),
             [&](const std::string &word) { emit("mad.lo.u32 {0}, {0}, 33, {1};", digest, word); });
}

void SequenceWriter::endStage(std::string_view name) {
  const size_t first = outputWords;
  for (size_t i = stageBegin; i < usable.size(); ++i)
    forWords(Register(usable[i]), [&](const std::string &word) {
      emit("st.global.b32 [%results+{}], {};", outputWords++ * threads * 4, word);
    });
  columns.push_back({fmt::format("{} {}", columns.size(), name), Format::b32, first * threads * 4,
                     (outputWords - first) * threads});
}

Program SequenceWriter::finish(std::string name) {
  declarations += "  .reg .b32 %x0, %x1, %x, %thread, %lane; .reg .b64 %y0, %y1, %y, %mine, %data, %results; "
                  ".reg .pred %q;\n";
  std::string before = "  mov.u32 %thread, %tid.x;\n  mov.u32 %lane, %laneid;\n"
                       "  mad.wide.u32 %mine, %thread, 8, %in;\n";
  if (usesOwnMemory) {
    const size_t own = globalMemory(threads * ownBytes);
    declarations += fmt::format("  .shared .align 16 .b8 ownShared[{}]; .local .align 16 .b8 ownLocal[{}];\n"
                                "  .reg .b32 %s, %l; .reg .b64 %g;\n",
                                threads * ownBytes, ownBytes);
    before +=
        fmt::format("  mov.u32 %s, ownShared;\n  mad.lo.u32 %s, %thread, {0}, %s;\n  mov.u32 %l, ownLocal;\n"
                    "  add.u64 %g, %out, {1};\n  mad.wide.u32 %g, %thread, {0}, %g;\n",
                    ownBytes, own);
    for (unsigned at = 0; at < ownBytes; at += 16)
      for (std::string_view space : {"shared", "local"})
        before += fmt::format("  st.{}.v4.b32 [%{}+{}], {{0, 0, 0, 0}};\n", space, space[0], at);
  }
  if (body.find("warpShared") != std::string::npos)
    declarations += fmt::format("  .shared .align 4 .b8 warpShared[{}];\n", threads * 4);
  size_t registerBytes = inputs.size() * threads * 8;
  if (usesZero) { // of each thread its own
    declarations += "  .reg .b16 %zero16; .reg .b32 %zero32; .reg .b64 %zero64;\n";
    for (unsigned bits : {16, 32, 64})
      loads += fmt::format("  ld.global.b{0} %zero{0}, [%mine+{1}];\n", bits, registerBytes);
    registerBytes += threads * 8;
  }
  before += fmt::format("  add.u64 %data, %in, {};\n  add.u64 %results, %out, {};\n"
                        "  mad.wide.u32 %results, %thread, 4, %results;\n",
                        registerBytes, globalBytes);
  Program program;
  program.name = std::move(name);
  program.threads = threads;
  program.ptx = moduleText(declarations, before + loads + body);
  program.input.resize(registerBytes);
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t lane = 0; lane < threads; ++lane) {
      const uint64_t value = randomValue(inputs[i].format, random);
      std::memcpy(&program.input[(i * threads + lane) * 8], &value, 8);
    }
  program.input.insert(program.input.end(), inputBytes.begin(), inputBytes.end());
  program.output.resize(globalBytes);
  program.output.resize(globalBytes + outputWords * threads * 4, std::byte(0xDD));
  for (Column &column : columns)
    column.offset += globalBytes;
  program.columns = std::move(columns);
  return program;
}

} // namespace tlc::conformance
