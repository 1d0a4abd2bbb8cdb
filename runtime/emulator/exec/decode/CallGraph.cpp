// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/exec/decode/CallGraph.h"

#include "runtime/emulator/exec/decode/Builtins.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <map>

namespace tlc::emulator {

namespace {

void collectSymbols(const Operand &operand, std::set<std::string_view> &names) {
  if (operand.kind == Operand::Kind::symbol)
    names.insert(operand.name);
  for (const Operand &element : operand.elements)
    collectSymbols(element, names);
}

std::vector<const Function *> calleesOf(const Module &module, const Function &function) {
  std::vector<const Function *> callees;
  for (const Statement &call : function.body) {
    if (call.name != "call" || call.operands.empty())
      continue;
    if (isIndirectCall(call)) {
      const auto all = functionsPointedTo(module);
      callees.insert(callees.end(), all.begin(), all.end());
    } else if (const Function *callee = findFunction(module, call.operands[0].name);
               callee && callee->hasBody) {
      callees.push_back(callee);
    }
  }
  return callees;
}

} // namespace

bool isIndirectCall(const Statement &call) { return call.operands[0].kind != Operand::Kind::symbol; }

std::vector<const Function *> functionsPointedTo(const Module &module) {
  std::set<std::string_view> names;
  for (const Variable &variable : module.variables)
    for (const InitialAddress &initial : variable.initialAddresses)
      names.insert(initial.symbol);
  for (const Function &function : module.functions) {
    for (const Variable &variable : function.locals)
      for (const InitialAddress &initial : variable.initialAddresses)
        names.insert(initial.symbol);
    for (const Statement &item : function.body)
      if (item.name != "call")
        for (const Operand &operand : item.operands)
          collectSymbols(operand, names);
  }
  std::vector<const Function *> result;
  for (std::string_view name : names)
    if (const Function *function = findFunction(module, name);
        function && function->hasBody && !function->isEntry)
      if (std::find(result.begin(), result.end(), function) == result.end())
        result.push_back(function);
  return result;
}

Result<std::vector<const Function *>> functionsCalledBy(const Module &module, const Function &entry) {
  std::vector<const Function *> order;
  // Depth first without recursion of our own: call chains may be long.
  std::set<const Function *> seen{&entry};
  struct Visit {
    const Function *function;
    std::vector<const Function *> callees;
    size_t next = 0;
  };
  std::vector<Visit> open{{&entry, calleesOf(module, entry)}};
  while (!open.empty()) {
    Visit &visit = open.back();
    if (visit.next == visit.callees.size()) {
      order.push_back(visit.function);
      open.pop_back();
      continue;
    }
    const Function *callee = visit.callees[visit.next++];
    if (seen.insert(callee).second)
      open.push_back({callee, calleesOf(module, *callee)});
  }
  for (const Function *function : order)
    for (const Statement &call : function->body) {
      if (call.name != "call" || call.operands.empty() || isIndirectCall(call))
        continue;
      const std::string &name = call.operands[0].name;
      const Function *callee = findFunction(module, name);
      if ((!callee || !callee->hasBody || callee->isEntry) && !findBuiltin(name))
        return Error{
            ErrorKind::invalidArgument,
            formatMessage("PTX line {}: call of '{}', which this module does not define", call.line, name)};
    }
  return order;
}

std::set<const Function *> recursiveFunctions(const Module &module,
                                              std::span<const Function *const> functions) {
  // Take away, again and again, what calls nothing that is left: what remains
  // calls itself or leads to what does, and a frame more does no harm.
  std::map<const Function *, std::vector<const Function *>> callers;
  std::map<const Function *, size_t> left;
  for (const Function *function : functions) {
    const auto callees = calleesOf(module, *function);
    left[function] = callees.size();
    for (const Function *callee : callees)
      callers[callee].push_back(function);
  }
  std::vector<const Function *> plain;
  for (const auto &[function, callees] : left)
    if (callees == 0)
      plain.push_back(function);
  while (!plain.empty()) {
    const Function *function = plain.back();
    plain.pop_back();
    left.erase(function);
    for (const Function *caller : callers[function])
      if (--left[caller] == 0)
        plain.push_back(caller);
  }
  std::set<const Function *> result;
  for (const auto &[function, callees] : left)
    result.insert(function);
  return result;
}

} // namespace tlc::emulator
