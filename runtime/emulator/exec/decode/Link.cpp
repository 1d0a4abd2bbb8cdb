// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a module to kernels: variables with their initial values, instructions,
/// where jumps and calls go.
#include "runtime/emulator/exec/decode/Call.h"
#include "runtime/emulator/exec/decode/CallGraph.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/ptx/Parser.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <cstring>

namespace tlc::emulator {

namespace {

constexpr uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

Error linkError(std::string message) { return Error{ErrorKind::invalidArgument, std::move(message)}; }

/// Decodes a function and fills in where its jumps go.
Result<void> decodeFunction(Decoder &decoder, FunctionLayout &layout) {
  const Function &function = *layout.function;
  decoder.begin(layout);
  if (function.isEntry && decoder.layout().usesStack()) {
    Statement start;
    start.name = "entry";
    start.line = function.line;
    decoder.emitFor(start, beginStack, decoder.layout().stackPointer(),
                    int64_t(decoder.kernel.localBytes - stackBytes));
  }
  for (const Statement &next : function.body)
    if (auto done = decoder.decode(next); !done)
      return done;
  // A body may end without ret.
  Statement end;
  end.name = "ret";
  end.line = function.body.empty() ? function.line : function.body.back().line;
  if (auto done = decoder.decode(end); !done)
    return done;
  decoder.resolveJumps();
  return {};
}

/// Lays out memory and decodes the entry and what it calls.
Result<void> decodeKernel(Program &program, Kernel &kernel, const Function &entry) {
  kernel.name = entry.name;
  kernel.function = &entry;
  const auto order = functionsCalledBy(program.module, entry);
  if (!order)
    return order.error();
  KernelLayout layout(program, kernel);
  if (auto done = layout.place(*order); !done)
    return done;
  Decoder decoder(program, kernel, layout);
  for (const Function *function : *order)
    if (auto done = decodeFunction(decoder, layout.of(*function)); !done)
      return done;
  if (auto done = layout.checkRegisters(); !done)
    return done;
  decoder.resolveCalls();
  kernel.start = layout.of(entry).pc;
  return {};
}

} // namespace

Result<std::shared_ptr<const Program>> loadProgram(std::string_view ptx) {
  auto module = parseModule(ptx);
  if (!module)
    return module.error();
  auto program = std::make_shared<Program>();
  program->module = std::move(*module);
  auto allocate = [&](const Variable &variable) -> Result<void> {
    if (variable.space != StateSpace::global && variable.space != StateSpace::constant)
      return {};
    Program::Storage &storage = program->storage[variable.name];
    if (storage.variable && (variable.isExtern || !storage.variable->isExtern))
      return variable.isExtern ? Result<void>()
                               : linkError(formatMessage("variable '{}' is defined twice", variable.name));
    storage.variable = &variable;
    const uint64_t alignment = std::max<uint64_t>(256, variable.alignment);
    // Pages that nobody touches cost nothing.
    storage.memory.reset(std::calloc(1, variable.bytes + alignment));
    if (!storage.memory)
      return Error{ErrorKind::environment,
                   formatMessage("the host has no memory left for the {} bytes of '{}'", variable.bytes,
                                 variable.name)};
    storage.address = alignUp(reinterpret_cast<uint64_t>(storage.memory.get()), alignment);
    if (!variable.initial.empty())
      std::memcpy(reinterpret_cast<void *>(storage.address), variable.initial.data(),
                  variable.initial.size());
    return {};
  };
  for (const Variable &variable : program->module.variables)
    if (auto done = allocate(variable); !done)
      return done.error();
  for (const Function &function : program->module.functions)
    for (const Variable &variable : function.locals)
      if (auto done = allocate(variable); !done)
        return done.error();
  for (auto &[name, storage] : program->storage) {
    program->ranges.push_back({storage.address, storage.variable->bytes});
    for (const InitialAddress &initial : storage.variable->initialAddresses) {
      auto target = program->storage.find(initial.symbol);
      const Function *function = findFunction(program->module, initial.symbol);
      if (target == program->storage.end() && !function)
        return linkError(formatMessage("the initial value of '{}' names unknown '{}'", name, initial.symbol));
      const uint64_t address = target != program->storage.end()
                                   ? target->second.address
                                   : codeAddress(size_t(function - program->module.functions.data()));
      const uint64_t value = (address + uint64_t(initial.addend)) >> initial.shift;
      std::memcpy(reinterpret_cast<void *>(storage.address + initial.offset), &value, initial.bytes);
    }
  }
  const auto usesHeap = [](const Statement &item) {
    return item.name == "call" && !item.operands.empty() &&
           (item.operands[0].name == "malloc" || item.operands[0].name == "free");
  };
  for (const Function &function : program->module.functions)
    if (!program->heap && std::any_of(function.body.begin(), function.body.end(), usesHeap)) {
      program->heap = std::make_unique<Heap>();
      program->ranges.push_back({program->heap->address(), Heap::bytes});
    }
  for (const Function &function : program->module.functions) {
    if (!function.isEntry || !function.hasBody)
      continue;
    auto kernel = std::make_unique<Kernel>();
    if (auto done = decodeKernel(*program, *kernel, function); !done)
      return done.error();
    program->kernels[function.name] = std::move(kernel);
  }
  return std::shared_ptr<const Program>(std::move(program));
}

} // namespace tlc::emulator
