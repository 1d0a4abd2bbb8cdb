// SPDX-License-Identifier: Apache-2.0
/// \file
/// Executes what depends on %tid.x alone, for one warp after the other.
#include "compiler/codegen/PtxWarps.h"

#include "runtime/target/Hardware.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <array>
#include <functional>
#include <optional>

using namespace llvm;
using namespace tlc;

namespace {

/// A register of 32 bits in every lane; predicates are 0 and 1. Nothing if it is unknown.
using Lanes = std::optional<std::array<uint32_t, lanesPerWarp>>;

Lanes apply(const Lanes &a, const Lanes &b, function_ref<uint32_t(uint32_t, uint32_t)> compute) {
  if (!a || !b)
    return std::nullopt;
  Lanes result(std::in_place);
  for (size_t lane = 0; lane < size_t(lanesPerWarp); ++lane)
    (*result)[lane] = compute((*a)[lane], (*b)[lane]);
  return result;
}

Lanes all(uint32_t value) {
  Lanes result(std::in_place);
  result->fill(value);
  return result;
}

/// `a` compared with `b`, as setp does; nothing for comparisons of other types.
Lanes compare(StringRef opcode, const Lanes &a, const Lanes &b) {
  SmallVector<StringRef> parts;
  opcode.split(parts, '.');
  if (parts.size() != 3 || (parts[2] != "u32" && parts[2] != "s32" && parts[2] != "b32"))
    return std::nullopt;
  const bool isSigned = parts[2] == "s32";
  const auto below = [isSigned](uint32_t x, uint32_t y) {
    return isSigned ? int32_t(x) < int32_t(y) : x < y;
  };
  return apply(a, b, [&](uint32_t x, uint32_t y) -> uint32_t {
    return StringSwitch<bool>(parts[1])
        .Case("eq", x == y)
        .Case("ne", x != y)
        .Cases({"lt", "lo"}, below(x, y))
        .Cases({"le", "ls"}, !below(y, x))
        .Cases({"gt", "hi"}, below(y, x))
        .Default(!below(x, y));
  });
}

/// What depends on the number of the thread, for one warp.
class WarpValues {
public:
  WarpValues(const PtxFunction &function, ArrayRef<int> definitions, unsigned warp)
      : function(function), definitions(definitions), warp(warp), known(function.registers.size()),
        isKnown(function.registers.size()) {}

  /// What all lanes agree on.
  std::optional<uint32_t> uniform(unsigned reg) {
    const Lanes value = of(reg);
    if (!value || !all_equal(*value))
      return std::nullopt;
    return value->front();
  }

private:
  Lanes of(unsigned reg) {
    if (!isKnown[reg]) {
      isKnown[reg] = true; // of a cycle nothing is known
      if (definitions[reg] >= 0)
        known[reg] = compute(function.instructions[size_t(definitions[reg])]);
    }
    return known[reg];
  }

  Lanes operand(const PtxInstruction &instruction, unsigned number) {
    SmallVector<StringRef> operands;
    instruction.operands.split(operands, ',');
    if (number >= operands.size())
      return std::nullopt;
    StringRef text = operands[number].trim();
    if (text == "%tid.x") {
      Lanes thread(std::in_place);
      for (size_t lane = 0; lane < size_t(lanesPerWarp); ++lane)
        (*thread)[lane] = uint32_t(int64_t(warp) * lanesPerWarp + int64_t(lane));
      return thread;
    }
    int64_t constant = 0;
    if (!text.getAsInteger(0, constant))
      return all(uint32_t(constant));
    for (unsigned i = instruction.firstAccess; i < instruction.endAccess; ++i) {
      const PtxAccess &access = function.accesses[i];
      if (access.operand == number && !access.isWrite && !access.inVector &&
          function.registers[access.reg] == text)
        return of(access.reg);
    }
    return std::nullopt;
  }

  Lanes compute(const PtxInstruction &instruction) {
    if (instruction.guarded)
      return std::nullopt;
    const auto [name, type] = instruction.opcode.split('.');
    const StringRef lastType = instruction.opcode.rsplit('.').second;
    if (name == "setp")
      return compare(instruction.opcode, operand(instruction, 1), operand(instruction, 2));
    if (name == "shfl") // uniform in a warp, or nothing that a branch of roles depends on
      return shuffled(instruction);
    if (!is_contained({"u32", "s32", "b32", "pred"}, lastType) || type.contains('.'))
      return std::nullopt;
    const Lanes a = operand(instruction, 1);
    if (name == "mov")
      return a;
    if (name == "not")
      return apply(a, a, [&](uint32_t x, uint32_t) { return lastType == "pred" ? uint32_t(!x) : ~x; });
    const auto binary = [&](auto compute) { return apply(a, operand(instruction, 2), compute); };
    if (name == "add")
      return binary(std::plus<uint32_t>());
    if (name == "sub")
      return binary(std::minus<uint32_t>());
    if (name == "and")
      return binary(std::bit_and<uint32_t>());
    if (name == "or")
      return binary(std::bit_or<uint32_t>());
    if (name == "xor")
      return binary(std::bit_xor<uint32_t>());
    if (name == "shl")
      return binary([](uint32_t x, uint32_t count) { return count > 31 ? 0 : x << count; });
    if (name == "shr" && lastType != "s32")
      return binary([](uint32_t x, uint32_t count) { return count > 31 ? 0 : x >> count; });
    if (name == "shr")
      return binary([](uint32_t x, uint32_t count) { return uint32_t(int32_t(x) >> std::min(count, 31u)); });
    return std::nullopt;
  }

  /// shfl.sync.idx.b32 d, a, 0, ...: the first lane's.
  Lanes shuffled(const PtxInstruction &instruction) {
    const Lanes value = operand(instruction, 1), from = operand(instruction, 2);
    if (!instruction.opcode.contains(".idx.") || !value || !from || !all_equal(*from) ||
        from->front() >= uint32_t(lanesPerWarp))
      return std::nullopt;
    return all((*value)[from->front()]);
  }

  const PtxFunction &function;
  ArrayRef<int> definitions;
  unsigned warp;
  std::vector<Lanes> known;
  std::vector<bool> isKnown;
};

/// The instruction that writes a register, for each; -1 if several do, or none.
std::vector<int> definitionsOf(const PtxFunction &function) {
  std::vector<int> definitions(function.registers.size(), -1);
  std::vector<bool> written(function.registers.size());
  for (size_t i = 0; i < function.instructions.size(); ++i)
    for (unsigned at = function.instructions[i].firstAccess; at < function.instructions[i].endAccess; ++at) {
      const PtxAccess &access = function.accesses[at];
      if (!access.isWrite)
        continue;
      definitions[access.reg] = written[access.reg] ? -1 : int(i);
      written[access.reg] = true;
    }
  return definitions;
}

/// The successors that a warp may go to.
SmallVector<unsigned> successorsOf(const PtxFunction &function, const PtxBlock &block, WarpValues &values) {
  SmallVector<unsigned> every(block.successors.begin(), block.successors.end());
  if (block.first == block.end || every.size() < 2)
    return every;
  const PtxInstruction &last = function.instructions[block.end - 1];
  if (last.firstAccess == last.endAccess)
    return every;
  const std::optional<uint32_t> value = values.uniform(function.accesses[last.firstAccess].reg);
  const StringRef name = last.opcode.split('.').first;
  if (!value)
    return every;
  if (name == "bra" && last.guarded && every.size() == 2)
    return {every[(*value != 0) != last.guardNegated ? 1 : 0]};
  if (name == "brx" && !last.guarded && *value < every.size())
    return {every[*value]};
  return every;
}

} // namespace

std::vector<WarpSet> tlc::warpsOfBlocks(const PtxFunction &function, unsigned warps) {
  const std::vector<int> definitions = definitionsOf(function);
  std::vector<WarpSet> result(function.blocks.size());
  for (unsigned warp = 0; warp < std::min<size_t>(warps, WarpSet().size()); ++warp) {
    WarpValues values(function, definitions, warp);
    SmallVector<unsigned> open = {0};
    while (!open.empty()) {
      const unsigned block = open.pop_back_val();
      if (block >= result.size() || result[block][warp])
        continue;
      result[block].set(warp);
      append_range(open, successorsOf(function, function.blocks[block], values));
    }
  }
  return result;
}
