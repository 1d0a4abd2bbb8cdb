// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a register holds, from the instructions that a lane executed before.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/math/Float.h"
#include "runtime/emulator/origin/SearchState.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <set>

namespace tlc::emulator {

namespace {

/// Instructions of one line of the source that a value may go through.
constexpr size_t mostOfLine = 256;
/// Operands of a step that its text names.
constexpr size_t mostNamed = 4;

/// The last part of a name, "f32" of "add.rn.f32"; of conversions the part before it, which is their
/// result's, of products that of the accumulators.
std::string_view typeOf(std::string_view name) {
  if (name.starts_with("wgmma.") || name.starts_with("mma."))
    for (std::string_view type : {"f32", "s32", "f64", "f16"}) // the accumulators' comes first
      if (hasPart(name, "." + std::string(type) + "."))
        return type;
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos)
    return {};
  if (name.starts_with("cvt.")) {
    name = name.substr(0, dot);
    dot = name.rfind('.');
  }
  return name.substr(dot + 1);
}

bool startsWithOneOf(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view each) { return name.starts_with(each); });
}

/// An operand as an instruction of the log reads it.
struct Use {
  size_t at = 0;     ///< in the log
  unsigned slot = 0; ///< of its instruction
  std::optional<unsigned> half = {};
};

class Explanation {
public:
  Explanation(OriginState &state, const OperandQuestion &question, const Block &block)
      : state(state), question(question), block(block), warp(block.warps[question.place.thread.warp]) {}

  void run() {
    const auto &log = question.log;
    if (log.empty() || log.back().moment != question.place.moment || log.back().pc != question.place.pc)
      return; // the lane only gives its registers
    follow({log.size() - 1, question.place.slot, question.place.half}, question.reader);
    for (size_t next = 0; next < pending.size() && !state.isFull(); ++next) {
      const auto [use, reader] = pending[next];
      follow(use, reader);
    }
  }

private:
  const Instruction &code(size_t at) const { return warp.code[question.log[at].pc]; }
  uint64_t value(const Use &use) const { return question.values[question.log[use.at].values + use.slot]; }

  FindingSite siteAt(size_t at) const {
    FindingSite site = siteOf(warp, code(at));
    site.lane = question.place.thread.lane;
    return site;
  }

  uint32_t offsetOf(const Use &use) const { return code(use.at).slots[use.slot].offset; }

  /// Of an instruction that packs two values, whether an operand is not the half that is asked for.
  bool isOtherHalf(size_t at, unsigned slot, std::optional<unsigned> half) const {
    const std::string_view name = code(at).name;
    if (!half || code(at).slotCount != 3)
      return false;
    if (name.starts_with("cvt.") && typeOf(name).ends_with("x2")) // the high half first
      return slot == 1 + *half;
    return name == "mov.b32" && slot == 2 - *half;
  }

  /// The last instruction before that has written the operand.
  std::optional<size_t> writerOf(const Use &use) const {
    const Slot &read = code(use.at).slots[use.slot];
    if (read.constant)
      return std::nullopt;
    for (size_t at = use.at; at-- > 0;) {
      const Instruction &instruction = code(at);
      for (const Slot &slot : std::span(instruction.slots, instruction.slotCount))
        if (slot.written && slot.offset == read.offset)
          return at;
      if (std::ranges::find(question.log[at].results, read.offset) != question.log[at].results.end())
        return at;
    }
    return std::nullopt;
  }

  void follow(const Use &use, size_t reader) {
    const std::optional<size_t> writer = writerOf(use);
    if (!writer)
      return;
    if (!explained.emplace(*writer, offsetOf(use)).second)
      return;
    const std::string_view name = code(*writer).name;
    if (startsWithOneOf(name, {"ld.", "ldu."}))
      return load(*writer, use, reader);
    if (startsWithOneOf(name, {"wgmma.", "mma.", "wmma.", "tcgen05."}))
      return add(*writer,
                 "has the sum of a matrix product, whose factors are not followed: " + text(*writer, use),
                 reader);
    if (code(*writer).flow == Flow::lanes ||
        startsWithOneOf(name, {"ldmatrix", "movmatrix", "shfl.", "redux.", "vote.", "match."}))
      return add(*writer, "has values of other lanes, which are not followed: " + text(*writer, use), reader);
    if (startsWithOneOf(name, {"atom.", "red.", "multimem."}))
      return add(*writer, "has what an atomic access found: " + text(*writer, use), reader);
    compute(*writer, use, reader);
  }

  std::string text(size_t writer, const Use &use) const { return valueText(code(writer).name, value(use)); }
  void add(size_t at, std::string text, size_t reader) {
    state.add({.site = siteAt(at), .text = std::move(text), .reader = reader});
  }

  /// All instructions of the line that the value goes through are one step.
  void compute(size_t writer, const Use &use, size_t reader) {
    const uint32_t location = code(writer).location;
    std::vector<size_t> open = {writer};
    std::set<size_t> inside = {writer};
    std::vector<Use> operands;
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      const Instruction &instruction = code(at);
      for (unsigned i = 0; i != instruction.slotCount; ++i) {
        const Slot &slot = instruction.slots[i];
        if (slot.written || slot.constant || slot.bytes == 0 ||
            (at == writer && isOtherHalf(at, i, use.half)))
          continue;
        const std::optional<size_t> source = writerOf({at, i});
        if (!source)
          continue;
        const bool isOfLine =
            code(*source).location == location && inside.size() < mostOfLine &&
            !startsWithOneOf(code(*source).name, {"ld", "wgmma.", "mma.", "tcgen05.", "shfl."});
        if (!isOfLine)
          operands.push_back({at, i});
        else if (inside.insert(*source).second)
          open.push_back(*source);
      }
    }
    std::string what = "computes " + text(writer, use);
    if (inside.size() > 1)
      what += fmt::format(" by {} instructions", inside.size());
    std::set<std::pair<size_t, uint32_t>> named;
    for (const Use &operand : operands) {
      const size_t source = *writerOf(operand);
      if (!named.emplace(source, offsetOf(operand)).second || named.size() > mostNamed)
        continue;
      what += fmt::format("{}{} of {}", named.size() == 1 ? " from " : ", ", text(source, operand),
                          siteAt(source).location());
    }
    if (named.size() > mostNamed)
      what += fmt::format(" and {} more", named.size() - mostNamed);
    const std::optional<size_t> step =
        state.add({.site = siteAt(writer), .text = std::move(what), .reader = reader});
    if (!step)
      return;
    for (const Use &operand : operands)
      pending.push_back({operand, *step});
  }

  void load(size_t at, const Use &use, size_t reader) {
    const Instruction &instruction = code(at);
    const unsigned bytes = elementBytesOf(instruction.name);
    const Slot &read = code(use.at).slots[use.slot];
    unsigned number = 0;
    while (number + 1 < instruction.slotCount && instruction.slots[1 + number].offset != read.offset)
      ++number;
    const uint64_t address =
        question.values[question.log[at].values] + uint64_t(instruction.immediate) + uint64_t(number) * bytes;
    const std::string what = "reads " + text(at, use);
    const unsigned known = std::min(bytes, 8u);
    if (isSharedAddress(hasPart(instruction.name, ".shared") ? Space::shared : Space::generic, address)) {
      const std::optional<size_t> step = state.add(
          {.site = siteAt(at),
           .text = what + " from " + describeShared(block, uint32_t(address & ((1u << sharedRankShift) - 1))),
           .reader = reader});
      if (!step)
        return;
      const ThreadPlace &thread = question.place.thread;
      state.nextWriters.push_back({.place = {.launch = thread.launch,
                                             .cluster = thread.cluster,
                                             .rank = uint32_t(sharedRank(address & 0xFFFFFFFF, thread.rank)),
                                             .address = uint32_t(address & ((1u << sharedRankShift) - 1)),
                                             .bytes = known,
                                             .before = question.log[at].moment},
                                   .reader = *step});
      return;
    }
    const Grid &grid = gridOf(warp);
    std::optional<TensorBytes> tensor;
    if (!hasPart(instruction.name, ".param") && !hasPart(instruction.name, ".local") &&
        !hasPart(instruction.name, ".const"))
      tensor = tensorAt(grid, inMemory(grid, address), known);
    if (!tensor)
      return add(at, what, reader);
    MemoryPlace place = {.global = std::move(tensor), .bytes = known, .before = question.log[at].moment};
    const uint64_t bits = known == 8 ? value(use) : value(use) & ((uint64_t(1) << 8 * known) - 1);
    state.askAfterRead(std::move(place), siteAt(at), reader, what + " from", bits);
  }

  OriginState &state;
  const OperandQuestion &question;
  const Block &block;
  const Warp &warp;
  std::set<std::pair<size_t, uint32_t>> explained; ///< instructions of the log, and their results
  std::vector<std::pair<Use, size_t>> pending;
};

std::string floatText(FloatFormat format, uint64_t bits) {
  return fmt::format("{:.8g}", toDouble(format, uint32_t(bits)));
}

} // namespace

std::string valueText(std::string_view instruction, uint64_t bits) {
  const std::string_view type = typeOf(instruction);
  std::string value;
  if (type == "f64")
    value = fmt::format("{:.17g}", std::bit_cast<double>(bits));
  else if (type == "f32")
    value = fmt::format("{:.8g}", std::bit_cast<float>(uint32_t(bits)));
  else if (type == "f16" || type == "bf16")
    value = floatText(type == "f16" ? FloatFormat::f16 : FloatFormat::bf16, bits & 0xFFFF);
  else if (type == "f16x2" || type == "bf16x2")
    value = fmt::format(
        "({}, {})", floatText(type == "f16x2" ? FloatFormat::f16 : FloatFormat::bf16, bits & 0xFFFF),
        floatText(type == "f16x2" ? FloatFormat::f16 : FloatFormat::bf16, bits >> 16 & 0xFFFF));
  else if (type == "s32")
    value = fmt::format("{}", int32_t(bits));
  else if (type.starts_with("s") || type.starts_with("u"))
    value = fmt::format("{}", bits);
  else
    value = fmt::format("{:#x}", bits);
  if (type == "b32")
    value += fmt::format(", as f32 {:.8g}", std::bit_cast<float>(uint32_t(bits)));
  return fmt::format("{} ({})", value, type);
}

unsigned elementBytesOf(std::string_view instruction) {
  const std::string_view type = instruction.substr(instruction.rfind('.') + 1);
  unsigned bits = 0;
  for (char c : type)
    if (c >= '0' && c <= '9')
      bits = bits * 10 + unsigned(c - '0');
  return std::max(1u, bits / 8);
}

std::optional<TensorBytes> tensorAt(const Grid &grid, uint64_t address, unsigned bytes) {
  for (const NamedTensor &tensor : grid.tensors) {
    uint64_t span = tensor.elementBytes;
    bool isEmpty = false;
    for (size_t i = 0; i != tensor.shape.size(); ++i) {
      isEmpty |= tensor.shape[i] == 0;
      span += isEmpty ? 0 : uint64_t(tensor.shape[i] - 1) * uint64_t(tensor.strides[i]) * tensor.elementBytes;
    }
    if (!isEmpty && address - tensor.address < span)
      return TensorBytes{tensor.name, address - tensor.address, bytes};
  }
  return std::nullopt;
}

uint64_t inMemory(const Grid &grid, uint64_t address) {
  const MemoryRange *range = grid.memory->find(address);
  return range ? address + range->toMemory : address;
}

std::optional<size_t> OriginState::add(OriginStep step) {
  if (isFull())
    return std::nullopt;
  steps.push_back(std::move(step));
  return steps.size() - 1;
}

void OriginState::askAfterRead(MemoryPlace place, const FindingSite &site, size_t reader, std::string text,
                               std::optional<uint64_t> bits) {
  const std::optional<size_t> step = add({.site = site,
                                          .text = std::move(text),
                                          .element = place.global,
                                          .isRead = true,
                                          .bits = bits,
                                          .reader = reader});
  if (step)
    nextWriters.push_back({.place = std::move(place), .reader = *step});
}

void explain(OriginState &state, const OperandQuestion &question, const Block &block) {
  Explanation(state, question, block).run();
}

} // namespace tlc::emulator
