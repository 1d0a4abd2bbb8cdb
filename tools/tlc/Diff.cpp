// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `diff`.
#include "tools/tlc/Diff.h"

#include "runtime/support/Excerpt.h"
#include "tools/tlc/Heartbeat.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/TextDiff.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

/// A pass that changed the module, or all passes of a phase.
struct Step {
  std::string name;   ///< "infer-layouts of @gemm", "phase laid-out"
  std::string before; ///< texts of the module
  std::string after;
};

std::string print(mlir::ModuleOp module) {
  std::string text;
  raw_string_ostream(text) << module << '\n';
  return text;
}

/// Keeps the texts around what is asked for: passes, or phases.
class Recorder {
public:
  Recorder(ArrayRef<std::string> passes, ArrayRef<Phase> phases) : passes(passes), phases(phases) {}

  void operator()(StringRef pass, mlir::Operation *anchor, mlir::ModuleOp module) {
    std::string now = print(module);
    if (pass.empty()) { // before the first one
      ofPhase = now;
    } else if (pass == "finish-phase") {
      if (is_contained(phases, *declaredPhase(module)))
        record("phase " + std::string(toString(*declaredPhase(module))), ofPhase, now);
      ofPhase = now;
    } else if (phases.empty()) {
      if (!is_contained(ran, pass))
        ran.push_back(pass.str());
      if (passes.empty() || is_contained(passes, pass))
        record(pass.str() + nameOf(anchor), last, now);
    }
    last = std::move(now);
  }

  std::vector<Step> steps;
  std::vector<std::string> ran; ///< passes, in order

private:
  static std::string nameOf(mlir::Operation *anchor) {
    auto symbol = dyn_cast<mlir::SymbolOpInterface>(anchor);
    return symbol && !isa<mlir::ModuleOp>(anchor) ? " of @" + symbol.getName().str() : "";
  }
  void record(std::string name, const std::string &before, const std::string &after) {
    if (before != after)
      steps.push_back({std::move(name), before, after});
  }

  ArrayRef<std::string> passes;
  ArrayRef<Phase> phases;
  std::string last, ofPhase;
};

class Printer {
public:
  explicit Printer(bool stat) : stat(stat), hasColours(showsColours(outs())) {}

  void print(const Step &step) {
    const ModuleDiff diff = diffModules(step.before, step.after);
    if (diff.hunks.empty())
      return;
    if (!isFirst && !stat)
      outs() << '\n';
    isFirst = false;
    line(raw_ostream::WHITE,
         fmt::format("{}: {} lines removed, {} added", step.name, diff.removed, diff.added));
    if (stat)
      return;
    line(raw_ostream::WHITE, "--- before " + step.name);
    line(raw_ostream::WHITE, "+++ after " + step.name);
    for (const DiffHunk &hunk : diff.hunks) {
      line(raw_ostream::CYAN,
           fmt::format("@@ -{},{} +{},{} @@", hunk.before, hunk.numBefore, hunk.after, hunk.numAfter));
      for (const DiffLine &each : hunk.lines)
        switch (each.kind) {
        case DiffLine::Kind::context:
          outs() << ' ' << each.text << '\n';
          break;
        case DiffLine::Kind::removed:
          line(raw_ostream::RED, "-" + each.text.str());
          break;
        case DiffLine::Kind::added:
          line(raw_ostream::GREEN, "+" + each.text.str());
          break;
        }
    }
  }

private:
  void line(raw_ostream::Colors colour, StringRef text) {
    if (hasColours)
      outs().changeColor(colour, /*Bold=*/colour == raw_ostream::WHITE);
    outs() << text;
    if (hasColours)
      outs().resetColor();
    outs() << '\n';
  }

  bool stat, hasColours, isFirst = true;
};

/// As the lines that `Printer` prints.
void writeJson(json::OStream &os, const Step &step, bool stat) {
  const ModuleDiff diff = diffModules(step.before, step.after);
  if (diff.hunks.empty())
    return;
  os.object([&] {
    os.attribute("name", step.name);
    os.attribute("removed", uint64_t(diff.removed));
    os.attribute("added", uint64_t(diff.added));
    if (stat)
      return;
    os.attributeArray("hunks", [&] {
      for (const DiffHunk &hunk : diff.hunks)
        os.object([&] {
          os.attribute("before", uint64_t(hunk.before));
          os.attribute("after", uint64_t(hunk.after));
          os.attributeArray("lines", [&] {
            for (const DiffLine &line : hunk.lines)
              os.value(json::fixUTF8((line.kind == DiffLine::Kind::context   ? " "
                                      : line.kind == DiffLine::Kind::removed ? "-"
                                                                             : "+") +
                                     line.text.str()));
          });
        });
    });
  });
}

} // namespace

DiffCommand::DiffCommand()
    : command("diff", "Show what each pass changed"), programs(command),
      passes("pass", cl::sub(command), cl::CommaSeparated, cl::value_desc("pass"),
             cl::desc("Only what this pass changed")),
      phases("phase", cl::sub(command), cl::CommaSeparated, cl::value_desc("phase"),
             cl::desc("What all passes on the way to this phase changed together")),
      stat("stat", cl::sub(command), cl::desc("Only how many lines each changed")),
      json("json", cl::sub(command), cl::desc("One JSON object")) {}

ExitCode DiffCommand::execute() const {
  if (!passes.empty() && !phases.empty())
    return failUsage("expected --pass or --phase, but got both");
  SmallVector<Phase> wanted;
  for (const std::string &name : phases) {
    std::optional<Phase> phase = parsePhase(name);
    if (!phase || *phase > Phase::nvvm)
      return failUsage(unknownValue("--phase", name,
                                    map_to_vector(ArrayRef(phaseNames).take_front(size_t(Phase::nvvm) + 1),
                                                  [](std::string_view each) { return StringRef(each); }))
                           .message);
    wanted.push_back(*phase);
  }
  std::variant<SourceProgram, ExitCode> opened = programs.open(json ? Format::json : Format::text);
  if (const ExitCode *code = std::get_if<ExitCode>(&opened))
    return *code;
  SourceProgram &program = *std::get_if<SourceProgram>(&opened);
  const Phase start = program.options.startFrom;
  if (start == Phase::nvvm)
    return failUsage("expected a program in a phase before nvvm because no pass comes after, but '" +
                     excerpt(program.source) + "' is in that phase");
  for (Phase phase : wanted)
    if (start != Phase::input && phase <= start)
      return failUsage("expected --phase to come after " + std::string(toString(start)) + " because '" +
                       excerpt(program.source) + "' is in that phase, but got " +
                       std::string(toString(phase)));

  const Heartbeat heartbeat([&] { return "compiling " + program.source; });
  Recorder recorder(passes, wanted);
  Compiler compiler(program.options);
  compiler.observe(std::ref(recorder));
  const mlir::OwningOpRef<mlir::ModuleOp> module =
      compiler.lower(*program.input.module, Phase::nvvm, program.alignment);
  for (const std::string &name : passes)
    if (module && !is_contained(recorder.ran, name))
      return failUsage(
          unknownValue("--pass", name,
                       map_to_vector(recorder.ran, [](const std::string &each) { return StringRef(each); }))
              .message);
  if (json) {
    json::OStream os(outs());
    os.object([&] {
      os.attribute("program", json::fixUTF8(program.source));
      os.attribute("compiles", bool(module));
      os.attributeArray("steps", [&] {
        for (const Step &step : recorder.steps)
          writeJson(os, step, stat);
      });
    });
    outs() << '\n';
  } else {
    Printer printer(stat);
    for (const Step &step : recorder.steps)
      printer.print(step);
  }
  outs().flush();
  programs.report(compiler);
  if (!module)
    program.explainFailure();
  return module ? ExitCode::success : ExitCode::failure;
}
