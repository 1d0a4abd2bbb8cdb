// SPDX-License-Identifier: Apache-2.0
/// \file
/// Counts.
#include "tools/tlc/InstructionMix.h"

#include "compiler/codegen/PtxFlow.h"
#include "compiler/codegen/PtxWarps.h"
#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <functional>
#include <map>
#include <numeric>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

InstructionKind kindOfMemory(StringRef opcode) {
  if (opcode.contains(".shared"))
    return InstructionKind::shared;
  if (opcode.contains(".local"))
    return InstructionKind::local;
  return opcode.contains(".param") || opcode.contains(".const") ? InstructionKind::move
                                                                : InstructionKind::global;
}

InstructionKind kindOfCopy(StringRef opcode) {
  if (opcode.contains("commit_group") || opcode.contains("wait_") || opcode.contains("mbarrier.arrive"))
    return InstructionKind::sync;
  return opcode.contains("bulk") ? InstructionKind::bulkCopy : InstructionKind::asyncCopy;
}

InstructionKind kindOfTensorMemory(StringRef opcode) {
  if (opcode.starts_with("tcgen05.mma"))
    return InstructionKind::product;
  return opcode.starts_with("tcgen05.ld") || opcode.starts_with("tcgen05.st") ||
                 opcode.starts_with("tcgen05.cp") || opcode.starts_with("tcgen05.shift")
             ? InstructionKind::tensorMemory
             : InstructionKind::sync;
}

InstructionKind kindOfArithmetic(StringRef opcode) {
  SmallVector<StringRef> parts;
  opcode.split(parts, '.');
  const bool isFloat = any_of(drop_begin(parts), [](StringRef part) {
    return part.starts_with("f16") || part.starts_with("bf16") || part.starts_with("f32") ||
           part.starts_with("f64");
  });
  return isFloat ? InstructionKind::floating : InstructionKind::integer;
}

bool isOfWarp(StringRef opcode) { return opcode.starts_with("bar.warp"); }

/// The warps of a role.
WarpSet warpsOf(unsigned first, unsigned count) {
  WarpSet set;
  for (unsigned warp = first; warp < first + count && warp < set.size(); ++warp)
    set.set(warp);
  return set;
}

void addLines(InstructionMix &mix, std::map<std::pair<unsigned, unsigned>, KindCounts> ofLines,
              const PtxText &text) {
  for (auto &[line, kinds] : ofLines) {
    std::string place;
    for (const auto &[number, name] : text.files)
      if (line.second != 0 && number == line.first)
        place = (name + ":" + Twine(line.second)).str();
    mix.lines.push_back({std::move(place), kinds});
  }
  sort(mix.lines, [](const auto &a, const auto &b) {
    return std::pair(b.kinds.total(), StringRef(a.place)) < std::pair(a.kinds.total(), StringRef(b.place));
  });
}

} // namespace

unsigned KindCounts::total() const { return std::accumulate(counts.begin(), counts.end(), 0u); }

InstructionKind driver::kindOf(StringRef opcode) {
  const StringRef name = opcode.split('.').first;
  using Kind = InstructionKind;
  if (name == "wgmma")
    return opcode.starts_with("wgmma.mma_async") ? Kind::product : Kind::sync;
  if (name == "cp")
    return kindOfCopy(opcode);
  if (name == "tcgen05")
    return kindOfTensorMemory(opcode);
  return StringSwitch<std::function<Kind()>>(name)
      .Case("mma", [] { return Kind::product; })
      .Cases({"ld", "ldu", "st", "atom", "red", "multimem", "ldmatrix", "stmatrix"},
             [&] { return kindOfMemory(opcode); })
      .Cases({"bar", "barrier", "mbarrier", "fence", "membar", "griddepcontrol", "setmaxnreg", "nanosleep"},
             [] { return Kind::sync; })
      .Cases({"shfl", "vote", "match", "redux", "activemask", "elect", "movmatrix"},
             [] { return Kind::exchange; })
      .Cases({"ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh", "div"},
             [] { return Kind::special; })
      .Case("cvt", [] { return Kind::conversion; })
      .Cases({"mov", "cvta", "prefetch"}, [] { return Kind::move; })
      .Cases({"bra", "brx", "call", "ret", "exit", "trap"}, [] { return Kind::control; })
      .Default([&] { return kindOfArithmetic(opcode); })();
}

InstructionMix driver::mixOf(StringRef ptx, const Launch &launch) {
  const PtxText text = readPtx(ptx);
  const auto function =
      find_if(text.functions, [&](const PtxFunction &each) { return each.name == launch.entry; });
  InstructionMix mix;
  if (function == text.functions.end())
    return mix;
  const auto warps = unsigned(ceilDiv(launch.threads, lanesPerWarp));
  const std::vector<WarpSet> executing = warpsOfBlocks(*function, warps);
  for (const WarpRole &role : launch.names.roles)
    mix.roles.push_back({role.name, {}, 0});
  mix.roles.push_back({});
  std::map<std::pair<unsigned, unsigned>, KindCounts> ofLines;
  for (const auto &[block, executed] : zip(function->blocks, executing)) {
    // The role whose warps alone come here.
    size_t role = 0;
    while (role < launch.names.roles.size() &&
           (executed.none() ||
            (executed & ~warpsOf(launch.names.roles[role].firstWarp, launch.names.roles[role].warps)).any()))
      ++role;
    for (unsigned i = block.first; i < block.end; ++i) {
      const PtxInstruction &instruction = function->instructions[i];
      const InstructionKind kind = kindOf(instruction.opcode);
      ++mix.all[kind];
      ++mix.roles[role].kinds[kind];
      ++ofLines[{instruction.file, instruction.sourceLine}][kind];
      unsigned number = 0;
      const StringRef name = instruction.opcode.split('.').first,
                      first = instruction.operands.split(',').first.trim();
      if (name == "setmaxnreg" && !first.getAsInteger(10, number))
        for (size_t other = 0; other < launch.names.roles.size(); ++other)
          if ((executed & warpsOf(launch.names.roles[other].firstWarp, launch.names.roles[other].warps))
                  .any())
            mix.roles[other].registers = number;
      if ((name != "bar" && name != "barrier") || isOfWarp(instruction.opcode))
        continue;
      if (first.getAsInteger(10, number))
        mix.computesBarriers = true;
      else if (!is_contained(mix.barriers, number))
        mix.barriers.push_back(number);
    }
  }
  sort(mix.barriers);
  addLines(mix, std::move(ofLines), text);
  return mix;
}

LaunchBounds driver::boundsOf(StringRef ptx, StringRef entry) {
  LaunchBounds bounds;
  StringRef header = ptx;
  while (true) { // an entry's name may begin like another's
    const size_t at = header.find((".entry " + entry).str());
    if (at == StringRef::npos)
      return bounds;
    header = header.drop_front(at + StringRef(".entry ").size() + entry.size());
    if (header.ltrim().starts_with("("))
      break;
  }
  header = header.take_until([](char c) { return c == '{'; });
  const auto number = [&](StringRef directive) {
    unsigned value = 0;
    if (const size_t at = header.find(directive); at != StringRef::npos)
      header.drop_front(at + directive.size()).ltrim().take_while(isDigit).getAsInteger(10, value);
    return value;
  };
  bounds.threads = number(".maxntid ");
  bounds.residents = number(".minnctapersm ");
  return bounds;
}
