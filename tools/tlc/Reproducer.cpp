// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads, writes and runs reproducers.
#include "tools/tlc/Reproducer.h"

#include "compiler/pipeline/Compiler.h"
#include "compiler/pipeline/Register.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "runtime/support/ChildProcess.h"
#include "runtime/support/Excerpt.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/ReportRun.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

constexpr StringRef resourceName = "mlir_reproducer"; // MLIR's
constexpr StringRef anchor = "builtin.module";

/// Takes "a{x=1}, tile.kernel(b,c)" apart: "a{x=1}", "tile.kernel(b)", "tile.kernel(c)". False if brackets do
/// not match.
bool flatten(StringRef pipeline, const std::string &before, const std::string &after,
             std::vector<std::string> &passes) {
  const auto add = [&](StringRef item) {
    item = item.trim();
    const size_t open = item.find_first_of("({");
    if (open == StringRef::npos || item[open] == '{') {
      if (!item.empty())
        passes.push_back(before + item.str() + after);
      return true;
    }
    return item.ends_with(")") && flatten(item.drop_front(open + 1).drop_back(),
                                          before + item.take_front(open + 1).str(), ")" + after, passes);
  };
  size_t begin = 0;
  SmallVector<char> closing;
  for (size_t at = 0; at != pipeline.size(); ++at)
    switch (pipeline[at]) {
    case '(':
      closing.push_back(')');
      break;
    case '{':
      closing.push_back('}');
      break;
    case ')':
    case '}':
      if (closing.empty() || closing.pop_back_val() != pipeline[at])
        return false;
      break;
    case ',':
      if (!closing.empty())
        break;
      if (!add(pipeline.slice(begin, at)))
        return false;
      begin = at + 1;
      break;
    default:
      break;
    }
  return closing.empty() && add(pipeline.drop_front(begin));
}

/// "tile-select-products" of "tile.kernel(tile-select-products{wgmma=true})".
StringRef nameOfPass(StringRef pipeline) {
  const StringRef withoutOptions = pipeline.split('{').first;
  return withoutOptions.substr(withoutOptions.rfind('(') + 1).split(')').first;
}

/// Of what MLIR says about a pipeline: the message in the first line.
StringRef messageOf(StringRef complaint) {
  const StringRef line = complaint.trim().split('\n').first;
  return line.substr(line.contains("error: ") ? line.find("error: ") + 7 : 0);
}

/// What is in the resource.
struct Resource {
  Reproducer &reproducer;
  bool hasPipeline = false;

  mlir::LogicalResult parse(mlir::AsmParsedResourceEntry &entry) {
    if (entry.getKey() == "pipeline")
      return parsePipeline(entry);
    if (entry.getKey() == "verify_each") {
      mlir::FailureOr<bool> value = entry.parseAsBool();
      reproducer.verifiesEach = mlir::succeeded(value) && *value;
      return value;
    }
    if (entry.getKey() == "disable_threading") // there are none
      return mlir::success();
    return entry.emitError() << "expected pipeline, verify_each or disable_threading, but got '"
                             << excerpt(entry.getKey()) << "'";
  }

  mlir::LogicalResult parsePipeline(mlir::AsmParsedResourceEntry &entry) {
    mlir::FailureOr<std::string> text = entry.parseAsString();
    if (mlir::failed(text))
      return mlir::failure();
    StringRef pipeline = StringRef(*text).trim();
    hasPipeline = true;
    if (!pipeline.consume_front(anchor) || !pipeline.consume_front("(") || !pipeline.consume_back(")") ||
        !flatten(pipeline, "", "", reproducer.passes))
      return entry.emitError() << "expected a pipeline of passes, " << anchor << "(...), but got '"
                               << excerpt(*text) << "'";
    for (const std::string &pass : reproducer.passes) {
      mlir::OpPassManager passes(anchor, mlir::OpPassManager::Nesting::Explicit);
      std::string complaint;
      raw_string_ostream os(complaint);
      if (mlir::failed(mlir::parsePassPipeline(pass, passes, os)))
        return entry.emitError() << "cannot run the pass '" << excerpt(pass) << "': " << messageOf(complaint);
    }
    return mlir::success();
  }
};

/// In a process of its own: runs the passes one by one, and writes the name of each as it begins, a line
/// each. After an error: "!", its location, a line break and its message.
void runAndReport(const std::function<std::optional<Reproducer>()> &make, int pipe, PassOutput output) {
  if (output == PassOutput::hide)
    if (const int nowhere = ::open("/dev/null", O_WRONLY); nowhere >= 0) {
      ::dup2(nowhere, STDOUT_FILENO);
      ::dup2(nowhere, STDERR_FILENO);
    }
  const std::optional<Reproducer> reproducer = make();
  if (!reproducer)
    return;
  mlir::MLIRContext *context = reproducer->module.get().getContext();
  std::vector<tlc::Diagnostic> diagnostics;
  DiagnosticCollector collector(context, diagnostics);
  for (const std::string &pass : reproducer->passes) {
    writeToPipe(pipe, nameOfPass(pass).str() + '\n');
    mlir::PassManager passes(context);
    passes.enableVerifier(reproducer->verifiesEach);
    if (mlir::succeeded(mlir::parsePassPipeline(pass, passes)) &&
        mlir::succeeded(passes.run(reproducer->module.get())))
      continue;
    print(diagnostics, Remarks::hide);
    const auto error = find_if(diagnostics, [](const tlc::Diagnostic &each) {
      return each.severity == tlc::Diagnostic::Severity::error;
    });
    tlc::Diagnostic none{tlc::Diagnostic::Severity::error, "", "it fails without an error", {}};
    const tlc::Diagnostic &first = error == diagnostics.end() ? none : *error;
    writeToPipe(pipe, "!" + first.location + '\n' + first.message);
    return;
  }
}

} // namespace

StringRef driver::nameOf(PassFailure::Kind kind) {
  switch (kind) {
  case PassFailure::Kind::error:
    return "error";
  case PassFailure::Kind::crash:
    return "crash";
  case PassFailure::Kind::timeout:
    return "timeout";
  }
  llvm_unreachable("a kind of failure");
}

bool PassFailure::isLike(const PassFailure &other) const {
  const auto withoutNumbers = [](StringRef message) {
    std::string text;
    for (char c : message)
      if (!isDigit(c))
        text += c;
      else if (text.empty() || text.back() != '0')
        text += '0';
    return text;
  };
  return kind == other.kind && pass == other.pass && withoutNumbers(message) == withoutNumbers(other.message);
}

std::string PassFailure::text() const {
  const StringRef verb = kind == Kind::error   ? "reports an error"
                         : kind == Kind::crash ? "crashes"
                                               : "does not end";
  return ("pass " + pass + " " + verb + ": " + message).str();
}

std::optional<Reproducer> Reproducer::parse(StringRef text, StringRef name, mlir::MLIRContext *context) {
  Reproducer reproducer;
  Resource resource{reproducer};
  mlir::ParserConfig config(context);
  config.attachResourceParser(resourceName,
                              [&](mlir::AsmParsedResourceEntry &entry) { return resource.parse(entry); });
  reproducer.module = parseModule(text, name, config);
  if (!reproducer.module)
    return std::nullopt;
  if (!resource.hasPipeline || reproducer.passes.empty()) {
    mlir::emitError(mlir::FileLineColLoc::get(context, name, 1, 1))
        << "expected a reproducer, which ends with the passes to run (" << resourceName
        << "), but this file has none; 'tlc compile ... --crash-reproducer FILE' writes one";
    return std::nullopt;
  }
  return reproducer;
}

std::string Reproducer::print() const {
  mlir::AsmState state(module.get());
  state.attachResourcePrinter(resourceName, [&](mlir::Operation *, mlir::AsmResourceBuilder &builder) {
    builder.buildString("pipeline", (anchor + "(" + join(passes, ", ") + ")").str());
    builder.buildBool("disable_threading", true);
    builder.buildBool("verify_each", verifiesEach);
  });
  std::string text;
  raw_string_ostream os(text);
  module.get()->print(os, state);
  return text;
}

Reproducer Reproducer::copy() const { return {module.get().clone(), passes, verifiesEach}; }

tlc::Result<std::optional<PassFailure>>
driver::runPasses(const std::function<std::optional<Reproducer>()> &make, std::chrono::seconds limit,
                  PassOutput output) {
  Result<ChildReport> report = reportOfChild(limit, [&](int pipe) { runAndReport(make, pipe, output); });
  if (!report)
    return report.error();
  auto [begun, error] = StringRef(report->text).split('!');
  if (report->trouble.empty() && error.empty())
    return std::optional<PassFailure>();
  PassFailure failure;
  begun = begun.rtrim('\n');
  failure.pass = begun.substr(begun.rfind('\n') + 1);
  if (report->trouble.empty()) {
    auto [location, message] = error.split('\n');
    failure.location = location;
    failure.message = message;
  } else {
    failure.kind = report->isTimeout ? PassFailure::Kind::timeout : PassFailure::Kind::crash;
    failure.message = report->trouble;
  }
  return std::optional(failure);
}

ReproducerFlags::ReproducerFlags(cl::SubCommand &command)
    : commandName(command.getName()), source(cl::sub(command), cl::Positional, cl::value_desc("file.mlir"),
                                             cl::desc("<file.mlir | report.tlc | ->")),
      seconds("seconds", cl::sub(command), cl::value_desc("N"), cl::init(60),
              cl::desc("After how long the passes count as endless (default 60)")),
      json("json", cl::sub(command), cl::desc("Print JSON")) {}

std::variant<ReproducerFlags::Opened, ExitCode> ReproducerFlags::open(PassOutput output) const {
  if (source.empty())
    return failUsage("expected a reproducer, an .mlir file, or a report, but got none; 'tlc " +
                     commandName.str() + " --help' shows how");
  constexpr unsigned most = 24 * 60 * 60;
  if (seconds < 1 || seconds > most)
    return failUsage("expected --seconds from 1 to " + std::to_string(most) + ", but got " +
                     std::to_string(seconds));
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFileOrSTDIN(source);
  if (!buffer)
    return failUsage("cannot read '" + excerpt(source) + "': " + buffer.getError().message());
  registerPasses();
  std::string text = (*buffer)->getBuffer().str();
  if (report::isReport(text)) {
    Result<std::string> made = reproducerOf(text, source, limit());
    if (!made)
      return failBy(made.error());
    text = std::move(*made);
  }
  Opened opened{createContext(), {}, {}, {}};
  std::vector<tlc::Diagnostic> diagnostics;
  std::optional<Reproducer> parsed = [&] {
    DiagnosticCollector collector(opened.context.get(), diagnostics);
    return Reproducer::parse(text, (*buffer)->getBufferIdentifier(), opened.context.get());
  }();
  print(diagnostics, Remarks::hide);
  if (!parsed)
    return ExitCode::failure;
  opened.reproducer = std::move(*parsed);
  const auto begin = std::chrono::steady_clock::now();
  Result<std::optional<PassFailure>> failure =
      runPasses([&] { return opened.reproducer.copy(); }, limit(), output);
  if (!failure)
    return fail(failure.error().message);
  if (!*failure)
    return fail("expected a pass to fail, but none of those of '" + excerpt(source) + "' does (" +
                std::to_string(opened.reproducer.passes.size()) + ")");
  opened.failure = std::move(**failure);
  opened.duration = std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
  return opened;
}
