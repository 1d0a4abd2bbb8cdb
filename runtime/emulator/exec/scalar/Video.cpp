// SPDX-License-Identifier: Apache-2.0
/// \file
/// Video instructions: arithmetic on bytes and halves of registers, one value
/// at a time (vadd ...) or on two or four at once (vadd2, vadd4 ...), then a
/// second operation on the result or its merge into a third operand.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/decode/Decoder.h"

#include <algorithm>
#include <array>

namespace tlc::emulator {

namespace {

enum class Op : uint8_t {
  add,
  subtract,
  difference,
  minimum,
  maximum,
  average,
  shiftLeft,
  shiftRight,
  set,
  multiplyAdd
};
enum class Comparison : uint8_t { eq, ne, lt, le, gt, ge };
enum class Second : uint8_t { none, add, minimum, maximum, merge };

/// A byte, a half or all of a register.
struct Part {
  unsigned bits = 32, shift = 0;
};

struct Video {
  Op op = Op::add;
  Comparison comparison = Comparison::eq;
  Second second = Second::none;
  bool signedD = false, signedA = false, signedB = false;
  bool saturate = false, clampShift = false;
  // One value at a time.
  Part partD, partA, partB;
  bool minusA = false, minusB = false, minusC = false, plusOne = false;
  unsigned scale = 0; ///< vmad shifts its result to the right
  // Several: elements of {b, a} for each element of a and b, and which of d change.
  unsigned elements = 1;
  std::array<uint8_t, 4> selectA = {}, selectB = {};
  uint32_t mask = 0;
};

int64_t extract(uint32_t word, Part part, bool isSigned) {
  const uint64_t bits = word >> part.shift & ((uint64_t(1) << part.bits) - 1);
  return isSigned && bits >> (part.bits - 1) & 1 ? int64_t(bits) - (int64_t(1) << part.bits) : int64_t(bits);
}

int64_t clampTo(int64_t value, unsigned bits, bool isSigned) {
  const int64_t most = (int64_t(1) << (bits - isSigned)) - 1;
  return std::clamp<int64_t>(value, isSigned ? -most - 1 : 0, most);
}

bool holds(Comparison comparison, int64_t a, int64_t b) {
  switch (comparison) {
  case Comparison::eq:
    return a == b;
  case Comparison::ne:
    return a != b;
  case Comparison::lt:
    return a < b;
  case Comparison::le:
    return a <= b;
  case Comparison::gt:
    return a > b;
  case Comparison::ge:
    break;
  }
  return a >= b;
}

int64_t apply(const Video &how, int64_t a, int64_t b) {
  switch (how.op) {
  case Op::add:
    return a + b;
  case Op::subtract:
    return a - b;
  case Op::difference:
    return a < b ? b - a : a - b;
  case Op::minimum:
    return std::min(a, b);
  case Op::maximum:
    return std::max(a, b);
  case Op::average: // rounds halves up, below zero too
    return (a + b + (a + b >= 0)) >> 1;
  case Op::shiftLeft:
  case Op::shiftRight: {
    const int64_t by = how.clampShift ? std::min<int64_t>(b, 32) : b & 31;
    return how.op == Op::shiftLeft ? int64_t(uint64_t(a) << by) : a >> by;
  }
  case Op::set:
    return holds(how.comparison, a, b);
  case Op::multiplyAdd:
    break;
  }
  return 0;
}

uint32_t finish(const Video &how, int64_t result, uint32_t c) {
  switch (how.second) {
  case Second::none:
    break;
  case Second::add:
    return uint32_t(result) + c;
  case Second::minimum:
  case Second::maximum: {
    const bool smaller = how.signedD ? int32_t(result) < int32_t(c) : uint32_t(result) < c;
    return smaller == (how.second == Second::minimum) ? uint32_t(result) : c;
  }
  case Second::merge: {
    const uint32_t mask = uint32_t((uint64_t(1) << how.partD.bits) - 1) << how.partD.shift;
    return (c & ~mask) | (uint32_t(result) << how.partD.shift & mask);
  }
  }
  return uint32_t(result);
}

uint32_t single(const Video &how, uint32_t a, uint32_t b, uint32_t c) {
  int64_t result = apply(how, extract(a, how.partA, how.signedA), extract(b, how.partB, how.signedB));
  if (how.saturate)
    result = clampTo(result, how.partD.bits, how.signedD);
  return finish(how, result, c);
}

uint32_t multiplyAdd(const Video &how, uint32_t a, uint32_t b, uint32_t c) {
  const bool minusProduct = how.minusA != how.minusB;
  const bool isSigned = how.signedA || how.signedB || minusProduct || how.minusC;
  __int128 product = __int128(extract(a, how.partA, how.signedA)) * extract(b, how.partB, how.signedB);
  __int128 addend = isSigned ? __int128(int32_t(c)) : __int128(c);
  if (minusProduct)
    product = -product;
  else if (how.minusC)
    addend = -addend;
  const __int128 result = (product + addend + how.plusOne) >> how.scale;
  if (!how.saturate)
    return uint32_t(result);
  const __int128 most = isSigned ? INT32_MAX : UINT32_MAX, least = isSigned ? INT32_MIN : 0;
  return uint32_t(result > most ? most : result < least ? least : result);
}

uint32_t several(const Video &how, uint32_t a, uint32_t b, uint32_t c) {
  const unsigned bits = 32 / how.elements;
  const uint32_t ones = uint32_t((uint64_t(1) << bits) - 1);
  const uint64_t both = uint64_t(b) << 32 | a;
  const auto element = [&](unsigned index, bool isSigned) {
    return extract(uint32_t(both >> (index * bits)) & ones, {bits, 0}, isSigned);
  };
  uint32_t d = c;
  for (unsigned i = 0; i < how.elements; ++i) {
    if (!(how.mask >> i & 1))
      continue;
    int64_t result = apply(how, element(how.selectA[i], how.signedA), element(how.selectB[i], how.signedB));
    if (how.saturate)
      result = clampTo(result, bits, how.signedD);
    if (how.second == Second::add)
      d += uint32_t(result);
    else
      d = (d & ~(ones << (i * bits))) | (uint32_t(result) & ones) << (i * bits);
  }
  return d;
}

template <uint32_t (*f)(const Video &, uint32_t, uint32_t, uint32_t)>
Step evaluate(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Video &how = instruction.payloadAs<Video>();
  const In<uint32_t> a = lanesOf<uint32_t>(warp, instruction.slots[1]),
                     b = lanesOf<uint32_t>(warp, instruction.slots[2]),
                     c = lanesOf<uint32_t>(warp, instruction.slots[3]);
  uint32_t results[warpSize];
  for (unsigned l = 0; l < warpSize; ++l)
    results[l] = f(how, a[l], b[l], c[l]);
  store(warp, instruction.slots[0], active, results);
  return Step::next;
}

// --- decoding ---------------------------------------------------------------------

/// The register without its selector and its minus.
Operand plain(Operand operand) {
  operand.selector.clear();
  operand.minus = false;
  return operand;
}

Part takePart(Decoder &d, const Operand &operand) {
  const std::string_view selector = operand.selector;
  if (selector.empty())
    return {};
  const unsigned place = selector.size() == 2 ? unsigned(selector[1] - '0') : 9;
  if (selector[0] == 'b' && place < 4)
    return {8, 8 * place};
  if (selector[0] == 'h' && place < 2)
    return {16, 16 * place};
  d.fail("'{}' has no part '.{}' of a register", d.at().fullName(), selector);
  return {};
}

/// "b7531": element numbers, the highest element's first.
void takeSelection(Decoder &d, const Operand &operand, unsigned elements, std::array<uint8_t, 4> &selection,
                   unsigned first) {
  for (unsigned i = 0; i < elements; ++i)
    selection[i] = uint8_t(first + i);
  const std::string_view selector = operand.selector;
  if (selector.empty())
    return;
  bool known = selector.size() == elements + 1 && selector[0] == (elements == 4 ? 'b' : 'h');
  for (unsigned i = 0; known && i < elements; ++i) {
    selection[i] = uint8_t(selector[elements - i] - '0');
    known = selection[i] < 2 * elements;
  }
  if (!known)
    d.fail("'{}' has no selection '.{}'", d.at().fullName(), selector);
}

/// "b310" of d: the elements that change; nothing: all.
uint32_t takeMask(Decoder &d, const Operand &operand, unsigned elements) {
  const std::string_view selector = operand.selector;
  if (selector.empty())
    return (1u << elements) - 1;
  uint32_t mask = 0;
  bool known = selector.size() > 1 && selector[0] == (elements == 4 ? 'b' : 'h');
  for (char digit : selector.substr(1)) {
    known &= digit >= '0' && digit < char('0' + elements);
    mask |= known ? 1u << (digit - '0') : 0;
  }
  if (!known)
    d.fail("'{}' has no mask '.{}'", d.at().fullName(), selector);
  return mask;
}

bool takeSign(Decoder &d) {
  const auto isSigned = d.takeOneOf<bool>({{"u32", false}, {"s32", true}});
  if (!isSigned)
    d.fail("'{}' lacks a type .u32 or .s32", d.at().fullName());
  return isSigned.value_or(false);
}

/// What all have: types, comparison, saturation, the second operation.
Video takeVideo(Decoder &d, Op op) {
  Video how;
  how.op = op;
  how.signedD = op == Op::set ? false : takeSign(d);
  how.signedA = takeSign(d), how.signedB = takeSign(d);
  how.saturate = d.take("sat");
  if (op == Op::set) {
    const auto comparison = d.takeOneOf<Comparison>({{"eq", Comparison::eq},
                                                     {"ne", Comparison::ne},
                                                     {"lt", Comparison::lt},
                                                     {"le", Comparison::le},
                                                     {"gt", Comparison::gt},
                                                     {"ge", Comparison::ge}});
    if (!comparison)
      d.fail("'{}' lacks a comparison", d.at().fullName());
    how.comparison = comparison.value_or(Comparison::eq);
  }
  if (op == Op::shiftLeft || op == Op::shiftRight) {
    how.clampShift = d.take("clamp");
    if (!how.clampShift && !d.take("wrap"))
      d.fail("'{}' needs .clamp or .wrap", d.at().fullName());
  }
  how.second = d.takeOneOf<Second>({{"add", Second::add}, {"min", Second::minimum}, {"max", Second::maximum}})
                   .value_or(Second::none);
  return how;
}

void emitVideo(Decoder &d, Eval eval, const Video &how, bool three) {
  d.emitWith(eval,
             {d.out(plain(d.operand(0)), Type::b32), d.in(plain(d.operand(1)), Type::b32),
              d.in(plain(d.operand(2)), Type::b32),
              three ? d.in(plain(d.operand(3)), Type::b32) : d.constant(0, 4)},
             how);
}

template <Op op> void decodeSingle(Decoder &d) {
  Video how = takeVideo(d, op);
  how.partD = takePart(d, d.operand(0));
  how.partA = takePart(d, d.operand(1)), how.partB = takePart(d, d.operand(2));
  if (!d.operand(0).selector.empty()) {
    if (how.second != Second::none)
      return d.fail("'{}' either merges or has a second operation", d.at().fullName());
    how.second = Second::merge;
  }
  const bool three = how.second != Second::none;
  d.expectOperands(three ? 4 : 3);
  emitVideo(d, evaluate<single>, how, three);
}

void decodeMultiplyAdd(Decoder &d) {
  Video how;
  how.op = Op::multiplyAdd;
  takeSign(d);
  how.signedA = takeSign(d), how.signedB = takeSign(d);
  how.saturate = d.take("sat");
  how.plusOne = d.take("po");
  how.scale = d.takeOneOf<unsigned>({{"shr7", 7}, {"shr15", 15}}).value_or(0);
  d.expectOperands(4);
  how.minusA = d.operand(1).minus, how.minusB = d.operand(2).minus, how.minusC = d.operand(3).minus;
  how.partA = takePart(d, d.operand(1)), how.partB = takePart(d, d.operand(2));
  if (how.plusOne && (how.minusA || how.minusB || how.minusC))
    return d.fail("'{}' takes no minus with .po", d.at().fullName());
  emitVideo(d, evaluate<multiplyAdd>, how, true);
}

template <Op op, unsigned elements> void decodeSeveral(Decoder &d) {
  Video how = takeVideo(d, op);
  if (how.second == Second::minimum || how.second == Second::maximum)
    return d.fail("'{}' takes no second operation but .add", d.at().fullName());
  d.expectOperands(4);
  how.elements = elements;
  how.mask = takeMask(d, d.operand(0), elements);
  takeSelection(d, d.operand(1), elements, how.selectA, 0);
  takeSelection(d, d.operand(2), elements, how.selectB, elements);
  emitVideo(d, evaluate<several>, how, true);
}

constexpr DecodeEntry entries[] = {
    {"vadd", decodeSingle<Op::add>},
    {"vsub", decodeSingle<Op::subtract>},
    {"vabsdiff", decodeSingle<Op::difference>},
    {"vmin", decodeSingle<Op::minimum>},
    {"vmax", decodeSingle<Op::maximum>},
    {"vshl", decodeSingle<Op::shiftLeft>},
    {"vshr", decodeSingle<Op::shiftRight>},
    {"vset", decodeSingle<Op::set>},
    {"vmad", decodeMultiplyAdd},
    {"vadd2", decodeSeveral<Op::add, 2>},
    {"vsub2", decodeSeveral<Op::subtract, 2>},
    {"vavrg2", decodeSeveral<Op::average, 2>},
    {"vabsdiff2", decodeSeveral<Op::difference, 2>},
    {"vmin2", decodeSeveral<Op::minimum, 2>},
    {"vmax2", decodeSeveral<Op::maximum, 2>},
    {"vset2", decodeSeveral<Op::set, 2>},
    {"vadd4", decodeSeveral<Op::add, 4>},
    {"vsub4", decodeSeveral<Op::subtract, 4>},
    {"vavrg4", decodeSeveral<Op::average, 4>},
    {"vabsdiff4", decodeSeveral<Op::difference, 4>},
    {"vmin4", decodeSeveral<Op::minimum, 4>},
    {"vmax4", decodeSeveral<Op::maximum, 4>},
    {"vset4", decodeSeveral<Op::set, 4>},
};

} // namespace

std::span<const DecodeEntry> videoInstructions() { return entries; }

} // namespace tlc::emulator
