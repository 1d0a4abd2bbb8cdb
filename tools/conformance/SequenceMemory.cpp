// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stages in which the threads of a block share memory: exchanges in every
/// width, addresses of several spaces, atomics whose order does not show.
#include "tools/conformance/SequenceWriter.h"

#include <array>

namespace tlc::conformance {
namespace {

using enum Format;

void meet(SequenceWriter &writer) {
  constexpr std::string_view barriers[] = {
      "bar.sync 0;",         "barrier.sync 1;",     "barrier.sync.aligned 2;", "bar.sync 3, 64;",
      "barrier.sync 4, 64;", "barrier.cta.sync 5;", "bar.cta.sync 0;"};
  writer.emit("bar.warp.sync -1;");
  writer.emit("{}", writer.random.pick(barriers));
}

/// The address of `name` or of global memory, in a register: of its space or generic.
struct Place {
  std::string space;   ///< ".shared", "" for a generic address
  std::string address; ///< a register
};

Place placeOf(SequenceWriter &writer, size_t bytes) {
  Random &random = writer.random;
  const bool isGeneric = random.oneIn(3);
  if (random.oneIn(3)) {
    const std::string address = writer.fresh(b64);
    writer.emit("add.u64 {}, %out, {};", address, writer.globalMemory(bytes));
    if (isGeneric)
      writer.emit("cvta.global.u64 {0}, {0};", address);
    return {isGeneric ? "" : ".global", address};
  }
  const std::string name = writer.sharedMemory(bytes);
  const std::string address = writer.fresh(isGeneric ? b64 : b32);
  writer.emit("mov.u{} {}, {};", isGeneric ? 64 : 32, address, name);
  if (isGeneric)
    writer.emit("cvta.shared.u64 {0}, {0};", address);
  return {isGeneric ? "" : random.oneIn(3) ? ".shared::cta" : ".shared", address};
}

/// The address of the thread's element, the threads in some order.
std::string elementOf(SequenceWriter &writer, const Place &place, unsigned bytes) {
  const bool isWide = place.space != ".shared" && place.space != ".shared::cta";
  const std::string at = writer.fresh(isWide ? b64 : b32);
  const unsigned odd = 2 * unsigned(writer.random.below(32)) + 1, shift = unsigned(writer.random.below(64));
  writer.emit("mad.lo.u32 %x0, %thread, {}, {}; and.b32 %x0, %x0, 63;", odd, shift);
  if (isWide)
    writer.emit("mad.wide.u32 {}, %x0, {}, {};", at, bytes, place.address);
  else
    writer.emit("mad.lo.u32 {}, %x0, {}, {};", at, bytes, place.address);
  return at;
}

/// Each thread stores 16 bytes, and loads some of another's.
void exchange(SequenceWriter &writer) {
  Random &random = writer.random;
  const Place place = placeOf(writer, SequenceWriter::threads * 16);
  const std::string_view space = place.space;
  const unsigned rounds = unsigned(random.between(1, 3));
  for (unsigned round = 0; round < rounds; ++round) {
    const std::string to = elementOf(writer, place, 16);
    std::array<std::string, 4> values;
    const auto take = [&](Format format) {
      for (std::string &value : values)
        value = writer.source(format);
    };
    switch (random.below(4)) {
    case 0:
      take(b32);
      writer.emit("st{}.v4.b32 [{}], {{{}}};", space, to, fmt::join(values, ", "));
      break;
    case 1:
      take(b64);
      writer.emit("st{}.v2.b64 [{}], {{{}, {}}};", space, to, values[0], values[1]);
      break;
    case 2:
      take(b16);
      for (unsigned at = 0; at < 16; at += 8)
        writer.emit("st{}.v4.b16 [{}+{}], {{{}}};", space, to, at, fmt::join(values, ", "));
      break;
    default: // in pieces, some of them twice
      take(b32);
      for (unsigned at = 0; at < 16; at += 4)
        writer.emit("st{}.b32 [{}+{}], {};", space, to, at, values[at / 4]);
      writer.emit("st{}.b8 [{}+{}], {};", space, to, random.below(16), values[0]);
      const std::string guard = writer.source(predicate);
      writer.emit("@{} st{}.b16 [{}+{}], {};", guard, space, to, 2 * random.below(8), values[1]);
    }
    meet(writer);
    const std::string from = elementOf(writer, place, 16);
    const unsigned loads = unsigned(random.between(1, 3));
    for (unsigned i = 0; i < loads; ++i)
      switch (random.below(7)) {
      case 0:
        writer.add(b32, {}, "ld{}.b32 $d, [{}+{}];", space, from, 4 * random.below(4));
        break;
      case 1:
        writer.add(b64, {}, "ld{}.b64 $d, [{}+{}];", space, from, 8 * random.below(2));
        break;
      case 2:
        writer.add(b32, {}, "ld{}.s8 $d, [{}+{}];", space, from, random.below(16));
        break;
      case 3:
        writer.add(b64, {}, "ld{}.s16 $d, [{}+{}];", space, from, 2 * random.below(8));
        break;
      case 4:
        writer.add(b16, {}, "ld{}.u8 $d, [{}+{}];", space, from, random.below(16));
        break;
      case 5:
        writer.add(b32, {},
                   "ld{}.v4.b32 {{$x0, $d, $x1, _}}, [{}]; xor.b32 $d, $d, $x0; add.u32 $d, $d, $x1;", space,
                   from);
        break;
      default: // where the predicate does not hold, what was there
        writer.apply({fmt::format("ld{}.b16 $d, [{}+{}];", space, from, 2 * random.below(8)), b16, {}},
                     Guarding::sometimes);
      }
    meet(writer);
  }
}

/// One half of the block tells the other.
void handOver(SequenceWriter &writer) {
  const std::string memory = writer.sharedMemory(128);
  const unsigned barrier = unsigned(writer.random.between(6, 9)),
                 first = unsigned(writer.random.below(2)) * 32;
  const std::string value = writer.source(b32), result = writer.fresh(b32);
  const std::string other = writer.label(), end = writer.label();
  writer.emit("bar.warp.sync -1;");
  writer.emit("mov.u32 %x0, {}; mad.lo.u32 %x0, %lane, 4, %x0; mov.b32 {}, {};", memory, result, value);
  writer.emit("and.b32 %x1, %thread, 32; setp.ne.u32 %q, %x1, {};", first);
  writer.emit("@%q bra {};", other);
  writer.emit("st.shared.b32 [%x0], {};", value);
  writer.emit("barrier.arrive {}, 64;", barrier);
  writer.emit("bra {};", end);
  writer.emit("{}: barrier.sync {}, 64;", other, barrier);
  writer.emit("ld.shared.b32 {}, [%x0];", result);
  writer.emit("{}:", end);
  meet(writer);
  writer.keep(result, b32);
}

/// The lanes of one instruction in several spaces.
void spaces(SequenceWriter &writer) {
  Random &random = writer.random;
  const unsigned count = unsigned(random.between(1, 3));
  for (unsigned i = 0; i < count; ++i) {
    const unsigned at = 4 * unsigned(random.below(8));
    // $s, $l and $g are the thread's own.
    const std::string_view mixed = "{{ .reg .b64 a, b; cvt.u64.u32 a, {0}; cvta.{1}.u64 a, a; mov.b64 b, $g; "
                                   "cvta.global.u64 b, b; selp.b64 a, a, b, $a; {2} }}";
    const auto [space, address] =
        random.pick(std::array{std::pair("shared", "$s"), std::pair("local", "$l")});
    switch (random.below(std::string_view(space) == "shared" ? 5 : 3)) {
    case 0:
      writer.add(b32, {predicate, b32}, fmt::runtime(mixed), address, space,
                 fmt::format("st.b32 [a+{0}], $b; ld.b32 $d, [a+{0}];", at));
      break;
    case 1:
      writer.add(b32, {predicate}, fmt::runtime(mixed), address, space,
                 fmt::format("ld.b32 $d, [a+{}];", at));
      break;
    case 2: {
      const std::string_view asked = random.pick(std::array{"shared", "local", "global", "shared::cta"});
      writer.add(predicate, {predicate}, fmt::runtime(mixed), address, space,
                 fmt::format("isspacep.{} $d, a;", asked));
      break;
    }
    case 3: {
      const std::string_view operation =
          random.pick(std::array{"add.u32", "min.s32", "max.u32", "exch.b32", "xor.b32", "inc.u32"});
      writer.add(b32, {predicate, b32}, fmt::runtime(mixed), address, space,
                 fmt::format("atom.{} $d, [a+{}], $b;", operation, at));
      break;
    }
    default:
      writer.add(b32, {predicate, b32, b32}, fmt::runtime(mixed), address, space,
                 fmt::format("atom.cas.b32 $d, [a+{}], $b, $c;", at));
    }
  }
}

/// Words that several threads change at once, and read when all have.
void contended(SequenceWriter &writer) {
  Random &random = writer.random;
  const unsigned count = unsigned(random.between(1, 3));
  for (unsigned i = 0; i < count; ++i) {
    const bool isLong = random.oneIn(4);
    const unsigned bytes = isLong ? 8 : 4;
    const Format b = isLong ? b64 : b32;
    const Place place = placeOf(writer, SequenceWriter::threads * bytes);
    const bool isWide = place.space != ".shared" && place.space != ".shared::cta";
    if (place.space != ".global") { // global memory is zero from the start
      const std::string own = elementOf(writer, place, bytes);
      const std::string value = writer.source(b);
      writer.emit("st{}.b{} [{}], {};", place.space, bytes * 8, own, value);
    }
    meet(writer);
    const std::string chosen = writer.source(b32), value = writer.source(b), guard = writer.source(predicate);
    const std::string at = writer.fresh(isWide ? b64 : b32);
    writer.emit("and.b32 %x0, {}, {}; mad.{}.u32 {}, %x0, {}, {};", chosen,
                random.pick(std::array{1, 3, 15, 63}), isWide ? "wide" : "lo", at, bytes, place.address);
    const unsigned kind = unsigned(random.below(isLong ? 7 : 10));
    const std::string_view order = random.pick(std::array{"", ".relaxed.cta", ".relaxed.gpu"});
    const auto change = [&](std::string_view operation, const std::string &operand) {
      if (random.oneIn(2))
        writer.emit("@{} red{}{}.{} [{}], {};", guard, order, place.space, operation, at, operand);
      else
        writer.emit("@{} atom{}{}.{} {}, [{}], {};", guard, order, place.space, operation,
                    isLong ? "%y0" : "%x0", at, operand);
    };
    constexpr std::string_view shorts[] = {"add.u32", "min.u32", "max.s32", "and.b32", "or.b32",
                                           "xor.b32", "max.u32", "add.s32", "min.s32"};
    constexpr std::string_view longs[] = {"add.u64", "min.u64", "max.s64", "and.b64",
                                          "or.b64",  "xor.b64", "max.u64"};
    if (kind == 9) { // of the same bound
      change(random.oneIn(2) ? "inc.u32" : "dec.u32", std::to_string(random.between(1, 20)));
    } else {
      change(isLong ? longs[kind] : shorts[kind], value);
      if (random.oneIn(3)) // others of its kind do not show their order either
        change(isLong ? longs[kind] : shorts[kind], value);
    }
    meet(writer);
    const std::string from = elementOf(writer, place, bytes);
    writer.add(b, {}, "ld{}.b{} $d, [{}];", place.space, bytes * 8, from);
    meet(writer);
  }
}

/// Tickets: which thread has which is not told, but that each is given once.
void tickets(SequenceWriter &writer) {
  const std::string memory = writer.sharedMemory(16);
  const std::string guard = writer.source(predicate);
  writer.emit("mov.u32 %x0, {}; setp.eq.u32 %q, %thread, 0; @%q st.shared.v4.b32 [%x0], {{0, 0, 0, 0}};",
              memory);
  meet(writer);
  writer.emit("@{} atom.shared.add.u32 %x1, [%x0], {};", guard, writer.random.between(1, 9));
  writer.emit("@{} mul.lo.u32 %x1, %x1, 40503;", guard);
  writer.emit("@{} red.shared.xor.b32 [%x0+4], %x1;", guard);
  writer.emit("@{} red.shared.max.u32 [%x0+8], %x1;", guard);
  const std::string begin = writer.label(), end = writer.label();
  const std::string value = writer.source(b32);
  // An addition by compare and swap.
  writer.emit("{{ .reg .b32 old, next, seen; ld.relaxed.cta.shared.b32 old, [%x0+12];");
  writer.emit("{}: add.u32 next, old, {};", begin, value);
  writer.emit("atom.relaxed.cta.shared.cas.b32 seen, [%x0+12], old, next; setp.eq.u32 %q, seen, old;");
  writer.emit("@%q bra {}; mov.b32 old, seen; bra {};", end, begin);
  writer.emit("{}: }}", end);
  meet(writer);
  for (unsigned at = 0; at < 16; at += 4) {
    writer.emit("mov.u32 %x0, {};", memory);
    writer.add(b32, {}, "ld.shared.b32 $d, [%x0+{}];", at);
  }
  meet(writer);
}

} // namespace

std::span<const Stage> memoryStages() {
  static constexpr Stage stages[] = {{"exchange", 3, exchange},
                                     {"hand over", 1, handOver},
                                     {"addresses of several spaces", 1, spaces},
                                     {"contended atomics", 2, contended},
                                     {"tickets", 1, tickets}};
  return stages;
}

} // namespace tlc::conformance
