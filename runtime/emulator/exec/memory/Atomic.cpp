// SPDX-License-Identifier: Apache-2.0
/// \file
/// atom and red.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/memory/AtomicOps.h"
#include "runtime/emulator/exec/memory/MemoryModifiers.h"
#include "runtime/emulator/math/Float.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tlc::emulator {

namespace {

double extreme(bool maximum, double a, double b) {
  if (a != a || b != b)
    return a != a ? b : a;
  if (a == b)
    return std::signbit(a) == maximum ? b : a;
  return (a < b) == maximum ? b : a;
}

/// f16, bf16, f32, f64 through double: sums of two f32 rounded to double and
/// then to f32 are right, as 53 >= 2 * 24 + 2.
uint64_t applyFloat(AtomicOp op, Type type, uint64_t old, uint64_t operand, Subnormals subnormals) {
  const bool flush = subnormals == Subnormals::flush && op == AtomicOp::add && type == Type::f32;
  const auto flushed = [&](float v) {
    return flush && std::fabs(v) < 0x1p-126f ? std::copysign(0.0f, v) : v;
  };
  auto load = [&](uint64_t bits) {
    switch (type) {
    case Type::f64:
      return std::bit_cast<double>(bits);
    case Type::f32:
      return double(flushed(std::bit_cast<float>(uint32_t(bits))));
    case Type::f16:
      return toDouble(FloatFormat::f16, uint32_t(bits));
    default:
      return toDouble(FloatFormat::bf16, uint32_t(bits));
    }
  };
  const double a = load(old), b = load(operand);
  const double result = op == AtomicOp::add ? a + b : extreme(op == AtomicOp::maximum, a, b);
  switch (type) {
  case Type::f64:
    return std::bit_cast<uint64_t>(result);
  case Type::f32:
    return fromDouble(FloatFormat::f32, flushed(std::bit_cast<float>(fromDouble(FloatFormat::f32, result))));
  case Type::f16:
    return fromDouble(FloatFormat::f16, result);
  default:
    return fromDouble(FloatFormat::bf16, result);
  }
}

template <class U, class S> uint64_t applyInteger(AtomicOp op, Type type, U old, U operand, U swap) {
  switch (op) {
  case AtomicOp::add:
    return U(old + operand);
  case AtomicOp::minimum:
    return isSigned(type) ? U(std::min(S(old), S(operand))) : std::min(old, operand);
  case AtomicOp::maximum:
    return isSigned(type) ? U(std::max(S(old), S(operand))) : std::max(old, operand);
  case AtomicOp::inc:
    return old >= operand ? U(0) : U(old + 1);
  case AtomicOp::dec:
    return old == 0 || old > operand ? operand : U(old - 1);
  case AtomicOp::bitAnd:
    return old & operand;
  case AtomicOp::bitOr:
    return old | operand;
  case AtomicOp::bitXor:
    return old ^ operand;
  case AtomicOp::exchange:
    return operand;
  case AtomicOp::compareSwap:
    return old == operand ? swap : old;
  }
  return old;
}

template <class U>
uint64_t update(std::byte *at, AtomicOp op, Type type, uint64_t operand, uint64_t swap,
                Subnormals subnormals) {
  U *word = reinterpret_cast<U *>(at);
  U old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(word, &old, U(applyAtomic(op, type, old, operand, swap, subnormals)),
                                      false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}

using Word128 = unsigned __int128;

struct Atomic {
  AtomicOp op = AtomicOp::add;
  Type type = Type::u32;
  Space space = Space::generic;
  uint8_t count = 1;
  bool returns = false;
  MemoryOrder order;
};

/// A 16-byte lane lies in two runs of 8 bytes.
Word128 load128(const Warp &warp, Slot slot, unsigned lane) {
  const In<uint64_t> words = lanesOf<uint64_t>(warp, slot);
  return Word128(words[lane + warpSize]) << 64 | words[lane];
}

void store128(Warp &warp, Slot slot, unsigned lane, Word128 value) {
  const uint64_t words[] = {uint64_t(value), uint64_t(value >> 64)};
  std::memcpy(warp.at(slot) + lane * 8, &words[0], 8);
  std::memcpy(warp.at(slot) + (lane + warpSize) * 8, &words[1], 8);
}

/// exch, or cas with `operand` as what to compare with; returns the old value. By __sync, since GCC makes
/// calls of libatomic of __atomic on 16 bytes.
Word128 exchange128(std::byte *at, AtomicOp op, Word128 operand, Word128 swap) {
  Word128 *word = reinterpret_cast<Word128 *>(at);
  if (op == AtomicOp::compareSwap)
    return __sync_val_compare_and_swap(word, operand, swap);
  Word128 old = operand;
  for (Word128 expected = ~old; old != expected;) {
    expected = old;
    old = __sync_val_compare_and_swap(word, expected, operand);
  }
  return old;
}

/// slots: address, operands..., swap, results...
Step atomic(Warp &warp, uint32_t active, const Instruction &instruction) {
  const Atomic &how = instruction.payloadAs<Atomic>();
  const unsigned bytes = sizeInBytes(how.type);
  const LaneAddresses64 addresses =
      laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate);
  const Slot *operands = instruction.slots + 1, *results = operands + how.count + 1;
  const std::byte *swaps = warp.read(operands[how.count]);
  bool changes = false;
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const uint64_t total = uint64_t(bytes) * how.count;
    std::byte *host = touch(warp, instruction,
                            {how.space, AccessKind::atomic, Proxy::generic, l, addresses.lane[l], total,
                             total, how.order.ordering, how.order.scope});
    if (!host)
      return Step::fault;
    if (bytes == 16) {
      const Word128 operand = load128(warp, operands[0], l), swap = load128(warp, operands[1], l);
      const Word128 old = exchange128(host, how.op, operand, swap);
      changes |= how.op == AtomicOp::compareSwap ? old == operand && swap != operand : old != operand;
      if (how.returns)
        store128(warp, results[0], l, old);
      continue;
    }
    const Subnormals subnormals =
        isSharedAddress(how.space, addresses.lane[l]) ? Subnormals::keep : Subnormals::flush;
    for (unsigned i = 0; i < how.count; ++i) {
      uint64_t operand = 0, swap = 0;
      std::memcpy(&operand, warp.read(operands[i]) + l * bytes, bytes);
      if (how.op == AtomicOp::compareSwap)
        std::memcpy(&swap, swaps + l * bytes, bytes);
      const uint64_t old = updateAtomically(host + i * bytes, how.op, how.type, operand, swap, subnormals);
      changes |= applyAtomic(how.op, how.type, old, operand, swap, subnormals) != old;
      if (how.returns)
        std::memcpy(warp.at(results[i]) + l * bytes, &old, bytes);
    }
  }
  // One that changes nothing polls.
  if (!changes)
    return poll(warp, instruction, addresses.lane[std::countr_zero(active)]);
  ++clusterOf(warp).progress;
  return Step::next;
}

void decodeAtomic(Decoder &d, bool returns) {
  // Those to global memory, which nobody can wait for, are done at once.
  const auto &left = d.remaining();
  const bool mmio = std::find(left.begin(), left.end(), "mmio") != left.end();
  if (d.take("async") && !mmio)
    return decodeReduceAsync(d);
  Atomic how;
  how.returns = returns;
  how.order = takeOrdering(d);
  if (!how.order.isStrong())
    how.order.ordering = AccessOrdering::relaxed;
  takeCacheHints(d);
  how.space = d.space();
  d.take("noftz");
  how.count = uint8_t(d.takeOneOf<unsigned>({{"v2", 2}, {"v4", 4}, {"v8", 8}}).value_or(1));
  std::optional<AtomicOp> op;
  for (std::string_view word : {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"})
    if (d.take(word)) {
      op = parseAtomicOp(word);
      break;
    }
  if (!op)
    return d.fail("'{}' lacks an operation", d.at().fullName());
  how.op = *op;
  how.type = d.type();
  if (!hasAtomic(how.op, how.type))
    return d.fail("'{}' has no form for type .{}", d.at().fullName(), toString(how.type));
  d.accesses(how.space, sizeInBytes(how.type) * how.count);
  const size_t first = returns ? 1 : 0, swaps = how.op == AtomicOp::compareSwap ? 1 : 0;
  d.expectOperands(first + 2 + swaps, first + 3 + swaps); // the last is a cache policy
  const AddressOperand address = d.address(first);
  std::vector<Slot> slots{address.base};
  const auto operands = d.elements(d.operand(first + 1));
  if (operands.size() != how.count)
    return d.fail("'{}' takes {} elements, but got {}", d.at().fullName(), how.count, operands.size());
  for (const Operand &operand : operands)
    slots.push_back(d.in(operand, how.type));
  slots.push_back(swaps ? d.in(first + 2, how.type) : d.constant(0, sizeInBytes(how.type)));
  if (returns) {
    const auto results = d.elements(d.operand(0));
    if (results.size() != how.count)
      return d.fail("'{}' gives {} elements, but got {} registers", d.at().fullName(), how.count,
                    results.size());
    for (const Operand &result : results)
      slots.push_back(d.out(result, how.type));
  }
  d.emitWith(atomic, slots, how).immediate = address.offset;
}

constexpr DecodeEntry entries[] = {
    {"atom", [](Decoder &d) { decodeAtomic(d, true); }},
    {"red", [](Decoder &d) { decodeAtomic(d, false); }},
};

} // namespace

std::optional<AtomicOp> parseAtomicOp(std::string_view word) {
  constexpr std::string_view names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (names[i] == word)
      return AtomicOp(i);
  return std::nullopt;
}

bool hasAtomic(AtomicOp op, Type type) {
  const unsigned bytes = sizeInBytes(type);
  switch (op) {
  case AtomicOp::add:
    return type == Type::u32 || type == Type::s32 || type == Type::u64 || type == Type::s64 ||
           (isFloat(type) && type <= Type::bf16x2);
  case AtomicOp::minimum:
  case AtomicOp::maximum:
    return type == Type::u32 || type == Type::s32 || type == Type::u64 || type == Type::s64 ||
           type == Type::f16 || type == Type::bf16 || type == Type::f16x2 || type == Type::bf16x2;
  case AtomicOp::inc:
  case AtomicOp::dec:
    return type == Type::u32;
  case AtomicOp::bitAnd:
  case AtomicOp::bitOr:
  case AtomicOp::bitXor:
    return type == Type::b32 || type == Type::b64;
  case AtomicOp::exchange:
    return (bytes == 4 || bytes == 8 || bytes == 16) && type != Type::f16x2 && type != Type::bf16x2;
  case AtomicOp::compareSwap:
    return !isFloat(type) && (bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
  }
  return false;
}

uint64_t applyAtomic(AtomicOp op, Type type, uint64_t old, uint64_t operand, uint64_t swap,
                     Subnormals subnormals) {
  if (type == Type::f16x2 || type == Type::bf16x2) {
    const Type half = type == Type::f16x2 ? Type::f16 : Type::bf16;
    return applyFloat(op, half, old & 0xFFFF, operand & 0xFFFF, subnormals) |
           applyFloat(op, half, old >> 16 & 0xFFFF, operand >> 16 & 0xFFFF, subnormals) << 16;
  }
  if (isFloat(type))
    return applyFloat(op, type, old, operand, subnormals);
  if (sizeInBytes(type) == 8)
    return applyInteger<uint64_t, int64_t>(op, type, old, operand, swap);
  if (sizeInBytes(type) == 2)
    return applyInteger<uint16_t, int16_t>(op, type, uint16_t(old), uint16_t(operand), uint16_t(swap));
  return applyInteger<uint32_t, int32_t>(op, type, uint32_t(old), uint32_t(operand), uint32_t(swap));
}

uint64_t updateAtomically(std::byte *at, AtomicOp op, Type type, uint64_t operand, uint64_t swap,
                          Subnormals subnormals) {
  switch (sizeInBytes(type)) {
  case 2:
    return update<uint16_t>(at, op, type, operand, swap, subnormals);
  case 4:
    return update<uint32_t>(at, op, type, operand, swap, subnormals);
  default:
    return update<uint64_t>(at, op, type, operand, swap, subnormals);
  }
}

std::span<const DecodeEntry> atomicInstructions() { return entries; }

} // namespace tlc::emulator
