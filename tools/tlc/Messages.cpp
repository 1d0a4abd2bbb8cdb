// SPDX-License-Identifier: Apache-2.0
/// \file
/// Text on standard error.
#include "tools/tlc/Messages.h"

#include "tools/tlc/FailureJson.h"
#include "tools/tlc/SourcePlace.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

/// "error", in its colour on a terminal.
void printSeverity(StringRef name) {
  const bool isColoured = showsColours(errs());
  if (isColoured)
    errs().changeColor(name == "error"     ? raw_ostream::RED
                       : name == "warning" ? raw_ostream::MAGENTA
                       : name == "remark"  ? raw_ostream::BLUE
                                           : raw_ostream::CYAN,
                       /*Bold=*/true);
  errs() << name;
  if (isColoured)
    errs().resetColor();
}

/// The line, or the part around the column if it is long, and below it a caret. Nothing if the file cannot be
/// read or is shorter.
void printSource(StringRef location) {
  std::optional<SourcePlace> place = parsePlace(location);
  if (!place || place->line == 0)
    return;
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(place->file, /*IsText=*/true);
  if (!buffer)
    return;
  StringRef rest = (*buffer)->getBuffer();
  for (unsigned line = 1; line != place->line; ++line)
    rest = rest.split('\n').second;
  StringRef text = rest.split('\n').first.rtrim("\r");
  if (text.empty())
    return;
  constexpr size_t widest = 240;
  if (text.size() > widest) {
    const size_t begin =
        std::min<size_t>(place->column, text.size()) - std::min<size_t>(place->column, widest / 2);
    text = text.substr(begin, widest);
    place->column -= unsigned(begin);
  }
  errs() << "  " << text << '\n';
  if (place->column == 0 || place->column > text.size() + 1)
    return;
  // Tabs stay tabs, so that the caret stands right whatever their width.
  errs() << "  ";
  for (char c : text.take_front(place->column - 1))
    errs() << (c == '\t' ? '\t' : ' ');
  errs() << "^\n";
}

} // namespace

void tlc::driver::print(ArrayRef<Diagnostic> diagnostics, Remarks remarks) {
  for (const Diagnostic &diagnostic : diagnostics) {
    if (diagnostic.severity == Diagnostic::Severity::remark && remarks == Remarks::hide)
      continue;
    Diagnostic head = diagnostic;
    head.notes.clear();
    const std::string text = toString(head);
    StringRef rest = text;
    if (!head.location.empty() && rest.consume_front(head.location))
      errs() << head.location << rest.take_front(2); // ": "
    const auto [severity, message] = rest.ltrim(": ").split(':');
    printSeverity(severity);
    errs() << ':' << message << '\n';
    printSource(head.location);
    print(diagnostic.notes, remarks);
  }
}

void tlc::driver::printRemarks(const Artifact &artifact) {
  for (const Remark &remark : artifact.remarks)
    print(
        Diagnostic{
            Diagnostic::Severity::remark, remark.location, "[" + remark.id + "] " + remark.message, {}},
        Remarks::show);
}

void tlc::driver::printEmulatorSizes(const kernels::Request &request) {
  if (request.ofEmulator.empty())
    return;
  errs() << "tlc: sizes for the emulator, where -D gives none:";
  for (const auto &[name, value] : request.values.values())
    if (request.ofEmulator.contains(name))
      errs() << ' ' << name << '=' << value;
  errs() << '\n';
}

ExitCode tlc::driver::failCompile(const tlc::Error &error, ArrayRef<Diagnostic> diagnostics, Format format) {
  if (format == Format::json)
    printFailureJson(error, diagnostics);
  print(diagnostics, Remarks::hide);
  const auto isError = [](const tlc::Diagnostic &each) {
    return each.severity == tlc::Diagnostic::Severity::error;
  };
  return any_of(diagnostics, isError) ? ExitCode::failure : fail(error.message);
}

ExitCode tlc::driver::fail(StringRef message) {
  errs() << "tlc: ";
  printSeverity("error");
  errs() << ": " << message << '\n';
  return ExitCode::failure;
}

ExitCode tlc::driver::failUsage(StringRef message) {
  fail(message);
  return ExitCode::usage;
}

ExitCode tlc::driver::failBy(const tlc::Error &error, ArrayRef<Diagnostic> ofFile, Format format) {
  if (format == Format::json)
    printFailureJson(error, ofFile);
  return error.kind == ErrorKind::invalidArgument ? failUsage(error.message) : fail(error.message);
}

void tlc::driver::printWarnings(const Findings &findings) {
  Findings warnings;
  for (const Finding &finding : findings.all())
    if (finding.level == FindingLevel::warning)
      warnings.add(finding);
  if (warnings.empty())
    return;
  errs() << warnings.text() << "\ntlc: ";
  printSeverity("warning");
  const size_t count = warnings.count(FindingLevel::warning);
  errs() << formatv(": the checker has {0} warning{1} and no errors; --strict makes them errors\n", count,
                    count == 1 ? "" : "s");
}

bool tlc::driver::showsColours(raw_ostream &os) {
  const char *none = std::getenv("NO_COLOR");
  return os.has_colors() && !(none && *none);
}

std::string tlc::driver::joinNames(ArrayRef<StringRef> names) { return join(names, ", "); }
