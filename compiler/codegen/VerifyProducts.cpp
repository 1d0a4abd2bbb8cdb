// SPDX-License-Identifier: Apache-2.0
/// \file
/// A forward data flow. A state says for each register of products whether one may be in flight that reads
/// it as a factor or has it as an accumulator, and how many groups have been committed since at least.
#include "compiler/codegen/VerifyProducts.h"

#include "compiler/codegen/PtxFlow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>
#include <vector>

using namespace llvm;
using namespace tlc;

namespace {

constexpr StringRef productName = "wgmma.mma_async", commitName = "wgmma.commit_group",
                    waitName = "wgmma.wait_group";

/// How a register is used by the youngest product in flight.
struct Use {
  static constexpr int none = std::numeric_limits<int>::max();
  static constexpr int uncommitted = -1;
  int groups = none;    ///< committed since, at least; its own is not counted
  unsigned product = 0; ///< the instruction

  bool isInFlight() const { return groups != none; }
  bool operator<(const Use &other) const {
    return groups != other.groups ? groups < other.groups : product < other.product;
  }
};

struct State {
  std::vector<Use> factors, accumulators; ///< by slot

  /// Whether that changed anything.
  bool merge(const State &other) {
    bool changed = false;
    auto mergeAll = [&](std::vector<Use> &into, const std::vector<Use> &from) {
      for (auto [mine, theirs] : zip_equal(into, from))
        if (theirs < mine) {
          mine = theirs;
          changed = true;
        }
    };
    mergeAll(factors, other.factors);
    mergeAll(accumulators, other.accumulators);
    return changed;
  }
};

/// `m64n128k16.f32` of a product's name: products add to the same accumulators if they have one shape, and
/// sums of one type.
StringRef shapeOf(const PtxInstruction &product) {
  StringRef shape = product.opcode.substr(product.opcode.find(".m64n")).drop_front();
  size_t afterShape = shape.find('.');
  return shape.take_front(shape.find('.', afterShape + 1));
}

class ProductFlow {
public:
  explicit ProductFlow(const PtxFunction &function) : function(function) {
    slots.assign(function.registers.size(), untracked);
    for (const PtxInstruction &instruction : function.instructions)
      if (instruction.opcode.starts_with(productName))
        for (const PtxAccess &access : accessesOf(instruction))
          if (isProductRegister(instruction, access) && slots[access.reg] == untracked)
            slots[access.reg] = numSlots++;
  }

  struct Hazard {
    std::string message;
    const PtxInstruction *at, *product; ///< in flight
  };

  std::optional<Hazard> run() {
    if (numSlots == 0)
      return std::nullopt;
    State nothing{std::vector<Use>(numSlots), std::vector<Use>(numSlots)};
    std::vector<State> states(function.blocks.size(), nothing);
    std::vector<bool> reached(function.blocks.size(), false), waiting(function.blocks.size(), false);
    reached[0] = waiting[0] = true;
    for (bool again = true; again;) {
      again = false;
      for (size_t number = 0; number < states.size(); ++number) {
        if (!waiting[number])
          continue;
        waiting[number] = false;
        State after = states[number];
        walk(function.blocks[number], after);
        for (unsigned next : function.blocks[number].successors)
          if (bool isNew = !reached[next]; states[next].merge(after) || isNew) {
            reached[next] = waiting[next] = true;
            again |= next <= number;
          }
      }
    }
    isFinal = true;
    for (size_t number = 0; number < states.size() && !found; ++number)
      if (reached[number])
        walk(function.blocks[number], states[number]);
    return found;
  }

private:
  static constexpr unsigned untracked = ~0u;

  ArrayRef<PtxAccess> accessesOf(const PtxInstruction &instruction) const {
    return ArrayRef(function.accesses)
        .slice(instruction.firstAccess, instruction.endAccess - instruction.firstAccess);
  }

  /// The accumulators are the first operand, a factor in registers the second, metadata the fourth.
  static bool isProductRegister(const PtxInstruction &product, const PtxAccess &access) {
    bool isSparse = product.opcode.drop_front(productName.size()).starts_with(".sp.");
    return access.inVector ? access.operand < 2 : isSparse && access.operand == 3;
  }

  void walk(const PtxBlock &block, State &state) {
    for (unsigned i = block.first; i < block.end && !found; ++i) {
      const PtxInstruction &instruction = function.instructions[i];
      if (!instruction.opcode.starts_with("wgmma"))
        check(instruction, state);
      else if (instruction.opcode.starts_with(productName))
        start(i, state);
      else if (instruction.guarded)
        continue; // may be left out: nothing is sure then
      else if (instruction.opcode.starts_with(commitName))
        forEachUse(state, [](Use &use) { ++use.groups; });
      else if (unsigned pending;
               instruction.opcode.starts_with(waitName) && !instruction.operands.getAsInteger(10, pending))
        forEachUse(state, [&](Use &use) {
          if (use.groups >= int(pending))
            use = {};
        });
    }
  }

  template <class F> static void forEachUse(State &state, F &&f) {
    for (std::vector<Use> *uses : {&state.factors, &state.accumulators})
      for (Use &use : *uses)
        if (use.isInFlight())
          f(use);
  }

  void check(const PtxInstruction &instruction, const State &state) {
    if (!isFinal)
      return;
    for (const PtxAccess &access : accessesOf(instruction)) {
      unsigned slot = slots[access.reg];
      if (slot == untracked)
        continue;
      if (state.accumulators[slot].isInFlight())
        return report(instruction, access, state.accumulators[slot], "is an accumulator",
                      access.isWrite ? "written" : "read");
      if (state.factors[slot].isInFlight())
        return report(instruction, access, state.factors[slot], "is a factor",
                      access.isWrite ? "written" : "read");
    }
  }

  /// A product begins to use its registers.
  void start(unsigned number, State &state) {
    const PtxInstruction &product = function.instructions[number];
    unsigned accumulator = 0;
    for (const PtxAccess &access : accessesOf(product)) {
      unsigned slot = slots[access.reg];
      if (slot == untracked)
        continue;
      Use &asFactor = state.factors[slot], &asAccumulator = state.accumulators[slot];
      if (isProductRegister(product, access) && access.operand == 0) {
        if (asFactor.isInFlight())
          report(product, access, asFactor, "is a factor", "written");
        else if (asAccumulator.isInFlight() && !addsToSame(product, accumulator, asAccumulator.product))
          report(product, access, asAccumulator, "is an accumulator", "written");
        asAccumulator = {Use::uncommitted, number};
        ++accumulator;
        continue;
      }
      if (asAccumulator.isInFlight())
        report(product, access, asAccumulator, "is an accumulator", "read");
      if (isProductRegister(product, access))
        asFactor = {Use::uncommitted, number};
    }
  }

  /// Whether the product has the register that is its accumulator `index` in the same place as the other.
  bool addsToSame(const PtxInstruction &product, unsigned index, unsigned other) const {
    const PtxInstruction &before = function.instructions[other];
    auto numberedAs = [&](const PtxInstruction &of) {
      ArrayRef<PtxAccess> accesses = accessesOf(of);
      return accesses.drop_front(of.guarded)[index].reg;
    };
    return shapeOf(product) == shapeOf(before) && numberedAs(product) == numberedAs(before);
  }

  void report(const PtxInstruction &instruction, const PtxAccess &access, const Use &use, StringRef what,
              StringRef how) {
    if (!isFinal || found)
      return;
    found = {
        formatv("internal error: '{0}' has register {1} {2} by '{3}' (PTX line {4}) while the product of "
                "line {5}, of which it {6}, is in flight: no wgmma.wait_group between them covers it",
                function.name, function.registers[access.reg], how, instruction.opcode, instruction.line,
                function.instructions[use.product].line, what)
            .str(),
        &instruction, &function.instructions[use.product]};
  }

  const PtxFunction &function;
  std::vector<unsigned> slots; ///< by register
  unsigned numSlots = 0;
  bool isFinal = false; ///< the states are complete
  std::optional<Hazard> found;
};

} // namespace

std::optional<ProductHazard> tlc::findProductHazard(StringRef ptx) {
  if (!ptx.contains(productName))
    return std::nullopt;
  PtxText text = readPtx(ptx);
  for (const PtxFunction &function : text.functions) {
    auto found = ProductFlow(function).run();
    if (!found)
      continue;
    auto placeOf = [&](const PtxInstruction *at) {
      ProductHazard::Place place{"", at->sourceLine, at->sourceColumn};
      for (auto [number, name] : text.files)
        if (number == at->file)
          place.file = name.str();
      return place;
    };
    return ProductHazard{std::move(found->message), function.name.str(), placeOf(found->at),
                         placeOf(found->product)};
  }
  return std::nullopt;
}
