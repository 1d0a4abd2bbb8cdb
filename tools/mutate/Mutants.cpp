// SPDX-License-Identifier: Apache-2.0
/// \file
/// What can be taken away from each instruction that synchronises.
#include "tools/mutate/Mutants.h"

#include "runtime/emulator/ptx/Parser.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"
#include "tools/mutate/Reordering.h"
#include "tools/mutate/StatementText.h"

#include <fmt/format.h>
#include <fstream>
#include <map>
#include <tuple>

using namespace tlc;
using namespace tlc::mutate;
using emulator::Function;
using emulator::Module;
using emulator::Statement;

namespace {

constexpr std::string_view names[] = {
    "removed",
    "not awaited",
    "other parity",
    "one arrival more",
    "one arrival less",
    "more bytes",
    "fewer bytes",
    "no bytes",
    "one more pending",
    "reads only",
    "narrowed",
    "relaxed",
    "arrives only",
    "other barrier",
    "all lanes",
    "access moved after",
    "access moved before",
};

/// Bytes that an expectation is wrong by: what the smallest bulk copy moves.
constexpr int leastBulkBytes = TmaFacts().innerBoxGranularity;

class Generator {
public:
  Generator(std::string_view ptx, const Module &module, const Sources &sources)
      : ptx(ptx), module(module), sources(sources) {}

  std::vector<Mutant> run() {
    for (const Function &each : module.functions) {
      function = &each;
      location = place = "?";
      occurrences.clear();
      for (const Statement &statement : each.body)
        visit(statement);
    }
    return std::move(mutants);
  }

private:
  void visit(const Statement &next);
  void visitBarrier();
  void visitClusterBarrier();
  void visitMbarrier();
  void visitArrival();
  void visitCopyGroup();
  void visitFence();
  void visitStrongAccess();
  void narrow();

  /// Counts the statement as one that synchronises.
  void found();
  void add(Change change, std::string text) {
    add(change, std::vector<Edit>{{statement->begin, statement->end, std::move(text)}});
  }
  void add(Change change, std::vector<Edit> edits) {
    mutants.push_back({function->name, location, place, instruction, occurrence, change, statement->line,
                       std::move(edits)});
  }
  void remove() { add(Change::removed, ""); }
  void morePending() {
    if (!text.operands.empty())
      add(Change::morePending, text.withSum(text.operands.size() - 1, 1));
  }

  std::string_view ptx;
  const Module &module;
  const Sources &sources;
  const Function *function = nullptr;
  const Statement *statement = nullptr;
  StatementText text;
  // Of the last line that is known: code that the compiler adds in between has none.
  std::string location, place;
  std::string instruction;
  unsigned occurrence = 0;
  bool isFound = false;
  std::map<std::pair<std::string, std::string>, unsigned> occurrences;
  std::vector<Mutant> mutants;
};

void Generator::found() {
  isFound = true;
  instruction = statement->fullName();
  occurrence = ++occurrences[{place, instruction}];
}

void Generator::visit(const Statement &next) {
  statement = &next;
  isFound = false;
  text = StatementText::of(ptx, next);
  if (const emulator::SourceLocation &from = module.locations[next.location]; from.line != 0) {
    location = fmt::format("{}:{}:{}", from.file, from.line, from.column);
    const std::string_view text = sources.line(from.file, from.line);
    place = text.empty() ? location : fmt::format("{} `{}`", from.file, text);
  }
  const std::string &name = next.name;
  if ((name == "barrier" || name == "bar") && text.has("cluster"))
    visitClusterBarrier();
  else if (name == "barrier" || name == "bar")
    visitBarrier();
  else if (name == "mbarrier")
    visitMbarrier();
  else if (name == "fence" || name == "membar")
    visitFence();
  else if (name == "cp" && text.has("async"))
    visitCopyGroup();
  else if (name == "ld" || name == "st" || name == "atom" || name == "red" || name == "multimem")
    visitStrongAccess();
  else if (name == "griddepcontrol" && text.has("wait"))
    found(), remove();
  else if (name == "wgmma" && (text.has("fence") || text.has("commit_group")))
    found(), remove();
  else if (name == "wgmma" && text.has("wait_group"))
    found(), remove(), morePending();
  else if (name == "tcgen05" &&
           (text.has("commit") || text.has("wait::ld") || text.has("wait::st") ||
            text.has("fence::before_thread_sync") || text.has("fence::after_thread_sync")))
    found(), remove();
  else if (name == "elect")
    found(), add(Change::allLanes, text.electAll());
  if (isFound)
    for (Reordering &order : reorderings(ptx, *function, size_t(&next - function->body.data())))
      add(order.change, std::move(order.edits));
}

void Generator::visitBarrier() {
  found();
  remove();
  if (text.has("warp") || text.operands.empty())
    return;
  const bool waits = text.has("sync");
  if (!waits && !text.has("arrive"))
    return; // a reduction: its result is missing, too
  // A number that nobody else uses would be as good as the right one; a register may not be written yet.
  for (const Statement &other : function->body)
    if (const StatementText with = StatementText::of(ptx, other);
        (other.name == "bar" || other.name == "barrier") && !with.has("cluster") && !with.has("warp") &&
        !with.operands.empty() && isdigit(with.operands[0][0]) && with.operands[0] != text.operands[0]) {
      StatementText changed = text;
      changed.operands[0] = with.operands[0];
      add(Change::otherBarrier, changed.text());
      break;
    }
  constexpr int warp = lanesPerWarp;
  if (text.operands.size() > 1) {
    add(Change::moreArrivals, text.withSum(1, warp));
    add(Change::fewerArrivals, text.withSum(1, -warp));
  }
  if (!waits)
    return;
  StatementText arrive = text;
  arrive.replace("sync", "arrive");
  if (arrive.operands.size() == 1 && function->requiredThreads) {
    const auto &[x, y, z] = *function->requiredThreads;
    arrive.operands.push_back(std::to_string(x * y * z));
  }
  if (arrive.operands.size() > 1)
    add(Change::arrivesOnly, arrive.text());
}

void Generator::visitClusterBarrier() {
  found();
  remove();
  if (!text.has("arrive") || text.has("relaxed"))
    return;
  StatementText relaxed = text;
  relaxed.drop("release");
  relaxed.insertAfter("arrive", "relaxed");
  add(Change::relaxed, relaxed.text());
}

void Generator::visitMbarrier() {
  if (text.has("pending_count"))
    return;
  found();
  if (text.has("arrive") || text.has("arrive_drop"))
    return visitArrival();
  if (text.has("test_wait") || text.has("try_wait")) {
    add(Change::notAwaited, text.guard + "setp.eq.u32 " + text.operands[0] + ", 0, 0;");
    if (text.has("parity"))
      add(Change::otherParity, text.withOperation("xor.b32", 2, 1));
    return;
  }
  remove();
  if (text.has("init")) {
    add(Change::moreArrivals, text.withSum(1, 1));
    add(Change::fewerArrivals, text.withSum(1, -1));
  } else if (text.has("expect_tx")) {
    add(Change::moreBytes, text.withSum(1, leastBulkBytes));
    add(Change::fewerBytes, text.withSum(1, -leastBulkBytes));
  }
}

void Generator::visitArrival() {
  remove();
  const size_t last = text.operands.size() - 1;
  if (text.has("expect_tx")) {
    add(Change::moreBytes, text.withSum(last, leastBulkBytes));
    add(Change::fewerBytes, text.withSum(last, -leastBulkBytes));
    StatementText plain = text;
    plain.drop("expect_tx");
    plain.operands.pop_back();
    add(Change::noBytes, plain.text());
  } else if (text.operands[last].starts_with('[')) {
    StatementText twice = text;
    twice.operands.push_back("2");
    add(Change::moreArrivals, twice.text());
  } else {
    add(Change::moreArrivals, text.withSum(last, 1));
  }
  if (!text.has("relaxed") && !text.has("noComplete")) {
    // Release at the scope of the block is what an arrival does by itself.
    StatementText relaxed = text;
    relaxed.drop("release");
    const bool scoped = relaxed.has("cta") || relaxed.has("cluster");
    const std::string_view after = text.has("expect_tx")     ? "expect_tx"
                                   : text.has("arrive_drop") ? "arrive_drop"
                                                             : "arrive";
    relaxed.insertAfter(after, scoped                        ? "relaxed"
                               : text.has("shared::cluster") ? "relaxed.cluster"
                                                             : "relaxed.cta");
    add(Change::relaxed, relaxed.text());
  }
  narrow();
}

void Generator::visitCopyGroup() {
  const bool waits = text.has("wait_group") || text.has("wait_all");
  const bool reports = text.has("mbarrier") && text.has("arrive"); // cp.async.mbarrier.arrive
  if (!waits && !reports && !text.has("commit_group"))
    return;
  found();
  remove();
  if (!waits)
    return;
  morePending();
  if (text.has("bulk") && !text.has("read")) {
    StatementText read = text;
    read.insertAfter("wait_group", "read");
    add(Change::readOnly, read.text());
  }
}

void Generator::visitFence() {
  found();
  remove();
  narrow();
  if (text.has("proxy") && text.has("async") && !text.has("global")) {
    StatementText other = text;
    other.drop("shared::cta");
    other.drop("shared::cluster");
    other.insertAfter("async", "global");
    add(Change::narrowed, other.text());
  }
}

void Generator::visitStrongAccess() {
  for (std::string_view semantics : {"acquire", "release", "acq_rel"})
    if (text.has(semantics)) {
      found();
      StatementText relaxed = text;
      relaxed.replace(semantics, "relaxed");
      add(Change::relaxed, relaxed.text());
      narrow();
      return;
    }
}

void Generator::narrow() {
  constexpr std::pair<std::string_view, std::string_view> scopes[] = {
      {"sys", "gpu"}, {"gpu", "cta"}, {"gl", "cta"}, {"cluster", "cta"}};
  if (text.has("mbarrier_init")) // knows no other scope
    return;
  for (const auto &[wide, narrow] : scopes)
    if (text.has(wide)) {
      StatementText narrowed = text;
      narrowed.replace(wide, wide == "sys" && text.opcode.starts_with("membar") ? "gl" : narrow);
      return add(Change::narrowed, narrowed.text());
    }
}

} // namespace

std::string_view Sources::line(const std::string &file, unsigned number) const {
  auto [found, isNew] = files.try_emplace(file);
  std::vector<std::string> &lines = found->second;
  if (isNew && !root.empty()) {
    std::ifstream stream(root / file);
    for (std::string line; std::getline(stream, line);) {
      const size_t first = line.find_first_not_of(" \t");
      lines.push_back(
          first == std::string::npos ? "" : line.substr(first, line.find_last_not_of(" \t\r") + 1 - first));
    }
  }
  return number >= 1 && number <= lines.size() ? std::string_view(lines[number - 1]) : std::string_view();
}

std::string_view mutate::toString(Change change) { return names[size_t(change)]; }

std::string Mutant::where() const {
  return fmt::format("{} {} {}#{}", entry, place, instruction, occurrence);
}
std::string Mutant::everywhere() const { return fmt::format("{} {} {}#*", entry, place, instruction); }
std::string Mutant::key() const { return fmt::format("{} {}", where(), toString(change)); }

Result<std::vector<Mutant>> mutate::mutantsOf(std::string_view ptx, const Sources &sources) {
  Result<Module> module = emulator::parseModule(ptx);
  if (!module)
    return module.error();
  return Generator(ptx, *module, sources).run();
}

std::string Mutant::applyTo(std::string_view ptx) const {
  std::string text;
  size_t from = 0;
  for (const Edit &edit : edits) {
    text += ptx.substr(from, edit.begin - from);
    text += edit.text;
    from = edit.end;
  }
  return text += ptx.substr(from);
}
