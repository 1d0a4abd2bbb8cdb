// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/trace/CostModel.h"

#include "runtime/target/Hardware.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

namespace tlc::emulator {

namespace {

constexpr unsigned warpLanes = lanesPerWarp;

std::vector<std::string_view> split(std::string_view name) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t dot = name.find('.');
    parts.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos)
      return parts;
    name.remove_prefix(dot + 1);
  }
}

std::optional<unsigned> numberAfter(std::string_view text, std::string_view prefix) {
  unsigned value = 0;
  if (!text.starts_with(prefix))
    return std::nullopt;
  const char *first = text.data() + prefix.size(), *last = text.data() + text.size();
  const auto [end, error] = std::from_chars(first, last, value);
  return error == std::errc() && end == last ? std::optional(value) : std::nullopt;
}

class Name {
public:
  explicit Name(std::string_view name) : parts(split(name)) {}

  std::string_view opcode() const { return parts.front(); }
  bool has(std::string_view modifier) const {
    return std::find(parts.begin() + 1, parts.end(), modifier) != parts.end();
  }
  template <size_t count> bool isOneOf(const std::array<std::string_view, count> &opcodes) const {
    return std::find(opcodes.begin(), opcodes.end(), opcode()) != opcodes.end();
  }
  /// Bits of the last type; 32 where there is none.
  unsigned typeBits() const {
    for (size_t i = parts.size(); i-- > 1;) {
      if (parts[i] == "bf16" || parts[i] == "f16")
        return 16;
      if (parts[i] == "bf16x2" || parts[i] == "f16x2" || parts[i] == "tf32")
        return 32;
      for (std::string_view kind : {"b", "u", "s", "f"})
        if (auto bits = numberAfter(parts[i], kind); bits && *bits >= 8 && *bits <= 128)
          return *bits;
    }
    return 32;
  }
  bool has64BitType() const {
    return std::any_of(parts.begin() + 1, parts.end(), [](std::string_view part) {
      return part == "b64" || part == "u64" || part == "s64" || part == "f64";
    });
  }
  bool isFloat() const {
    return std::any_of(parts.begin() + 1, parts.end(), [](std::string_view part) {
      return part.starts_with("f16") || part.starts_with("bf16") || part.starts_with("f32");
    });
  }
  /// The count of .v2 or .x4; 1 where there is none.
  unsigned count(std::string_view prefix) const {
    for (size_t i = 1; i < parts.size(); ++i)
      if (auto number = numberAfter(parts[i], prefix))
        return *number;
    return 1;
  }
  /// m, n, k of "m16n8k16".
  std::optional<std::array<unsigned, 3>> shape() const {
    for (size_t i = 1; i < parts.size(); ++i) {
      const size_t n = parts[i].find('n'), k = parts[i].find('k');
      if (!parts[i].starts_with("m") || n == std::string_view::npos || k == std::string_view::npos || k < n)
        continue;
      auto a = numberAfter(parts[i].substr(0, n), "m"), b = numberAfter(parts[i].substr(n, k - n), "n"),
           c = numberAfter(parts[i].substr(k), "k");
      if (a && b && c)
        return std::array{*a, *b, *c};
    }
    return std::nullopt;
  }

private:
  std::vector<std::string_view> parts;
};

// Register moves and address conversions disappear when registers are assigned.
constexpr std::array<std::string_view, 2> folded = {"mov", "cvta"};
constexpr std::array<std::string_view, 10> specials = {"rcp", "rsqrt", "sqrt", "sin",  "cos",
                                                       "ex2", "lg2",   "tanh", "popc", "clz"};
constexpr std::array<std::string_view, 8> control = {"bra",  "brx", "call",    "ret",
                                                     "exit", "bar", "barrier", "setmaxnreg"};
constexpr std::array<std::string_view, 6> issuing = {"cp", "wgmma", "fence", "membar", "prefetch", "tcgen05"};
constexpr std::array<std::string_view, 7> memory = {"ld", "ldu", "st", "atom", "red", "ldmatrix", "stmatrix"};
constexpr std::array<std::string_view, 5> exchanges = {"shfl", "vote", "match", "redux", "movmatrix"};
constexpr std::array<std::string_view, 12> floating = {"add", "sub", "mul", "fma",  "mad",  "neg",
                                                       "abs", "min", "max", "setp", "selp", "copysign"};

unsigned atLeastOne(uint64_t cycles) { return unsigned(std::max<uint64_t>(1, cycles)); }

InstructionCost memoryCost(const Name &name, const TimingFacts &facts) {
  const bool matrix = name.opcode() == "ldmatrix" || name.opcode() == "stmatrix";
  const unsigned bytes = matrix ? 4 * name.count("x") : name.typeBits() / 8 * name.count("v");
  const bool remote = name.has("shared::cluster");
  const bool shared = matrix || remote || name.has("shared") || name.has("shared::cta");
  InstructionCost cost{ExecutionUnit::loadStore,
                       atLeastOne(uint64_t(bytes) * warpLanes / facts.sharedBytesPerCycle),
                       shared ? facts.sharedLatency : facts.globalLatency, 0, 0};
  if (remote)
    cost.latency = facts.remoteLatency;
  if (shared || name.has("param") || name.has("const") || name.has("local")) {
    if (!shared)
      cost.latency = facts.sharedLatency; // cached near the multiprocessor
    return cost;
  }
  const bool writes = name.opcode() == "st" || name.opcode() == "red" || name.opcode() == "atom";
  (writes ? cost.storeBytes : cost.loadBytes) = bytes;
  return cost;
}

} // namespace

InstructionCost costOf(std::string_view text, const TimingFacts &facts) {
  const Name name(text);
  const unsigned arithmetic = facts.arithmeticLatency;
  if (name.opcode() == "mbarrier")
    return {ExecutionUnit::loadStore, 1, facts.sharedLatency, 0, 0};
  if (name.isOneOf(control) || name.isOneOf(issuing))
    return {ExecutionUnit::control, 1, arithmetic, 0, 0};
  if (name.opcode() == "nanosleep")
    return {ExecutionUnit::control, 32, arithmetic, 0, 0};
  if (name.isOneOf(memory)) {
    if (name.opcode() == "ld" && name.has("param"))
      return {}; // an operand of the instructions that use it
    return memoryCost(name, facts);
  }
  if (name.isOneOf(exchanges))
    return {ExecutionUnit::loadStore, 1, facts.shuffleLatency, 0, 0};
  if (name.opcode() == "mma") {
    const auto shape = name.shape().value_or(std::array{16u, 8u, 16u});
    const double rate = facts.multiplyAddsPerCycle * facts.mmaSyncShare / facts.schedulers;
    const uint64_t work = uint64_t(shape[0]) * shape[1] * shape[2];
    const double scale = name.has("f64")                    ? 16
                         : name.has("tf32")                 ? 2
                         : name.has("s8") || name.has("u8") ? 0.5
                                                            : 1;
    return {ExecutionUnit::matrix, atLeastOne(uint64_t(std::ceil(double(work) * scale / rate))),
            facts.matrixLatency, 0, 0};
  }
  if (name.isOneOf(specials))
    return {ExecutionUnit::special,
            (name.opcode() == "ex2" ? facts.exponentialCycles : facts.specialCycles) *
                (name.has64BitType() ? 4u : 1u),
            facts.specialLatency, 0, 0};
  if (name.opcode() == "cvt") {
    // Integers of 32 and 64 bits are registers already.
    if (!name.isFloat() && !name.has("f64"))
      return {};
    const bool wide = name.has64BitType();
    return {wide ? ExecutionUnit::special : ExecutionUnit::integers,
            wide ? facts.specialCycles : facts.integerCycles, arithmetic, 0, 0};
  }
  if (name.has("f64"))
    return {ExecutionUnit::doubles, facts.doubleCycles, 2 * arithmetic, 0, 0};
  if (name.opcode() == "div")
    return {ExecutionUnit::integers, 16 * facts.integerCycles, 16 * arithmetic, 0, 0};
  if (name.isOneOf(folded) || (name.opcode() == "not" && name.has("pred")))
    return {};
  if (name.isOneOf(floating) && name.isFloat())
    return {ExecutionUnit::floats, facts.floatCycles, arithmetic, 0, 0};
  return {ExecutionUnit::integers, facts.integerCycles * (name.has64BitType() ? 2u : 1u), arithmetic, 0, 0};
}

double arithmeticCycles(uint64_t multiplyAdds, unsigned operandBits, const TimingFacts &facts) {
  const double scale = operandBits == 0 ? 1 : operandBits / 16.0;
  return double(multiplyAdds) * scale / facts.multiplyAddsPerCycle;
}

uint64_t matrixCycles(uint64_t multiplyAdds, unsigned operandBits, uint64_t sharedBytes,
                      const TimingFacts &facts) {
  const double arithmetic = arithmeticCycles(multiplyAdds, operandBits, facts);
  const double reading = double(sharedBytes) / facts.sharedBytesPerCycle;
  return uint64_t(std::ceil(std::max(arithmetic, reading)));
}

} // namespace tlc::emulator
