// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which accesses may move where.
#include "tools/mutate/Reordering.h"

#include <algorithm>
#include <set>

using namespace tlc;
using namespace tlc::mutate;
using emulator::Function;
using emulator::Operand;
using emulator::Statement;

namespace {

using Registers = std::set<uint32_t>;

bool has(const Statement &statement, std::string_view modifier) {
  return std::ranges::find(statement.modifiers, modifier) != statement.modifiers.end();
}

bool isGroupOrWait(const Statement &statement) {
  return std::ranges::any_of(statement.modifiers, [](const std::string &modifier) {
    return modifier.starts_with("commit") || modifier.starts_with("wait") || modifier.starts_with("fence");
  });
}

bool synchronizes(const Statement &statement) {
  static const std::set<std::string_view> names = {"bar", "barrier", "mbarrier", "fence", "membar", "elect"};
  return names.contains(statement.name) ||
         ((statement.name == "cp" || statement.name == "wgmma" || statement.name == "tcgen05") &&
          (isGroupOrWait(statement) || (has(statement, "mbarrier") && has(statement, "arrive"))));
}

/// An access to shared or tensor memory, by threads or engines.
bool isAccess(const Statement &statement) {
  static const std::set<std::string_view> plain = {"ld", "st", "red", "atom"};
  if (plain.contains(statement.name))
    return has(statement, "shared") || has(statement, "shared::cta") || has(statement, "shared::cluster");
  if (statement.name == "ldmatrix" || statement.name == "stmatrix")
    return true;
  if (statement.name == "wgmma")
    return has(statement, "mma_async");
  if (statement.name == "tcgen05")
    return has(statement, "mma") || has(statement, "ld") || has(statement, "st") || has(statement, "cp");
  return statement.name == "cp" && has(statement, "async") && !synchronizes(statement);
}

bool endsBlock(const Statement &statement) {
  static const std::set<std::string_view> names = {"bra", "brx", "ret", "exit", "call", "trap"};
  return names.contains(statement.name);
}

/// Indices of statements that some branch leads to.
std::set<size_t> targetsOf(const Function &function) {
  std::set<size_t> targets;
  const auto note = [&](const Operand &operand) {
    if (operand.kind == Operand::Kind::label)
      targets.insert(operand.bits);
  };
  for (const Statement &statement : function.body)
    std::ranges::for_each(statement.operands, note);
  for (const emulator::BranchTargets &list : function.branchTargets)
    std::ranges::for_each(list.labels, note);
  return targets;
}

void collect(const Operand &operand, Registers &into) {
  if (operand.kind == Operand::Kind::reg)
    into.insert(operand.reg);
  if (operand.second)
    into.insert(*operand.second);
  for (const Operand &element : operand.elements)
    collect(element, into);
}

Registers usedBy(const Statement &statement) {
  Registers used;
  for (const Operand &operand : statement.operands)
    collect(operand, used);
  if (statement.guard)
    used.insert(*statement.guard);
  return used;
}

Registers writtenBy(const Statement &statement) {
  Registers written;
  if (!statement.operands.empty() && statement.operands[0].kind != Operand::Kind::address)
    collect(statement.operands[0], written);
  return written;
}

bool meet(const Registers &a, const Registers &b) {
  return std::ranges::any_of(a, [&](uint32_t reg) { return b.contains(reg); });
}

bool mayExchange(const Statement &a, const Statement &b) {
  return !meet(writtenBy(a), usedBy(b)) && !meet(writtenBy(b), usedBy(a));
}

/// What comes before it is published by it.
bool releases(const Statement &statement) {
  return !has(statement, "try_wait") && !has(statement, "test_wait") && !has(statement, "init") &&
         statement.name != "elect" &&
         (!isGroupOrWait(statement) ||
          std::ranges::any_of(statement.modifiers,
                              [](const std::string &modifier) { return modifier.starts_with("commit"); }));
}

/// What comes after it relies on it.
bool acquires(const Statement &statement) {
  if (statement.name == "bar" || statement.name == "barrier")
    return has(statement, "sync") || has(statement, "wait") || has(statement, "red");
  if (statement.name == "fence" || statement.name == "membar")
    return true;
  return statement.name != "mbarrier" && isGroupOrWait(statement) && !has(statement, "commit_group") &&
         !has(statement, "commit");
}

} // namespace

std::vector<Reordering> mutate::reorderings(std::string_view ptx, const Function &function, size_t sync) {
  const std::vector<Statement> &body = function.body;
  const std::set<size_t> targets = targetsOf(function);
  const Statement &fixed = body[sync];
  const auto textOf = [&](const Statement &statement) {
    return std::string(ptx.substr(statement.begin, statement.end - statement.begin));
  };
  /// Whether statement `moved` can go to the other side of `fixed`.
  const auto mayMove = [&](size_t moved) {
    for (size_t i = std::min(moved, sync); i <= std::max(moved, sync); ++i)
      if (i != moved && !mayExchange(body[moved], body[i]))
        return false;
    return true;
  };
  std::vector<Reordering> orders;
  if (!synchronizes(fixed))
    return orders;
  if (releases(fixed))
    for (size_t i = sync; i > 0 && !targets.contains(i); --i) {
      const Statement &before = body[i - 1];
      if (endsBlock(before) || synchronizes(before))
        break;
      if (!isAccess(before))
        continue;
      if (mayMove(i - 1))
        orders.push_back({Change::accessAfter,
                          {{before.begin, before.end, ""}, {fixed.end, fixed.end, " " + textOf(before)}}});
      break;
    }
  if (acquires(fixed))
    for (size_t i = sync + 1; i < body.size() && !targets.contains(i); ++i) {
      const Statement &after = body[i];
      if (endsBlock(after) || synchronizes(after))
        break;
      if (!isAccess(after))
        continue;
      if (mayMove(i))
        orders.push_back({Change::accessBefore,
                          {{fixed.begin, fixed.begin, textOf(after) + " "}, {after.begin, after.end, ""}}});
      break;
    }
  return orders;
}
