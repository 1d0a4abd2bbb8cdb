// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/ReportRun.h"

#include "runtime/support/ChildProcess.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/Printable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

std::string driver::ownVersion() { return TLC_VERSION; }
std::string driver::llvmVersion() { return LLVM_VERSION_STRING; }

Result<void> driver::checkFree(const cl::SubCommand &command, const std::string &file) {
  // What a report does not decide.
  static constexpr StringRef free[] = {"",
                                       "verify",
                                       "json",
                                       "why",
                                       "remarks",
                                       "time",
                                       "dump-dir",
                                       "print-ir-after-all",
                                       "mlir-timing",
                                       "crash-reproducer",
                                       "cache-dir",
                                       "cache-size",
                                       "no-cache",
                                       "cached-only",
                                       "ptx-only",
                                       "forms"};
  for (const auto &[name, option] : command.OptionsMap)
    if (option->getNumOccurrences() && !is_contained(free, name))
      return tlc::Error{ErrorKind::invalidArgument,
                        formatv("expected no {0}{1} because '{2}' is a report, which decides that",
                                name.size() == 1 ? "-" : "--", name, excerpt(file))
                            .str()};
  return {};
}

/// A text of a report, which is not trusted.
static std::string shown(StringRef text) { return printable(text, 2000); }

/// "as in the report" or what that has.
static std::string outcomeOf(const report::Report &report) {
  switch (report.outcome) {
  case report::Outcome::unfinished:
    return "did not end: the process ended while the program was compiled, or ran";
  case report::Outcome::failed:
    return "failed: " + shown(StringRef(report.error).split('\n').first);
  case report::Outcome::ran:
    return report.complaint.empty() ? "ran" : "wrong result: " + shown(report.complaint);
  }
  llvm_unreachable("all outcomes are handled");
}

void driver::printHistory(const ReportedKernel &reported, bool verify) {
  const report::Report &report = reported.report();
  errs() << formatv("tlc: reported by tlc {0}, LLVM {1}, on {2}: {3}\n", shown(report.version),
                    shown(report.llvm), shown(report.device), outcomeOf(report));
  if (report.version != ownVersion() || report.llvm != llvmVersion())
    errs() << formatv("tlc: this is tlc {0}, LLVM {1}, whose programs may differ\n", ownVersion(),
                      llvmVersion());
  if (verify && reported.isEvaluated())
    errs() << "tlc: a report has no reference function; the evaluator is the reference\n";
}

void driver::printSameness(const report::Report &report, const std::string &error) {
  errs() << (report.outcome == report::Outcome::failed && report.error == error
                 ? "tlc: the report has the same error\n"
                 : "tlc: the report has another outcome: " + outcomeOf(report) + '\n');
}

ExitCode driver::checkOutputs(const ReportedKernel &reported, const std::string &digest, Format format) {
  const report::Report &report = reported.report();
  const auto say = [&](const Twine &line) {
    if (format == Format::text)
      outs() << line << '\n';
  };
  switch (report.outcome) {
  case report::Outcome::unfinished:
    say("outputs " + digest);
    return ExitCode::success;
  case report::Outcome::failed:
    say("outputs " + digest);
    return fail("expected the error of the report, but got none: " +
                shown(StringRef(report.error).split('\n').first));
  case report::Outcome::ran:
    break;
  }
  if (report.digest == digest) {
    say("outputs " + digest + ", the same bits as in the report");
    return ExitCode::success;
  }
  say("outputs " + digest);
  if (!report.isEmulated) {
    say("outputs " + shown(report.digest) + " on " + shown(report.device));
    return ExitCode::success;
  }
  return fail("expected outputs " + shown(report.digest) + " as in the report, but got " + digest);
}

tlc::Result<std::string> driver::reproducerOf(const std::string &bytes, const std::string &file,
                                              std::chrono::seconds limit) {
  Result<report::Report> report = report::read(bytes, file);
  if (!report)
    return report.error();
  const Result<ReportedKernel> reported = ReportedKernel::create(std::move(*report));
  if (!reported)
    return tlc::Error{ErrorKind::invalidArgument, "'" + excerpt(file) + "': " + reported.error().message};
  Result<CompileOptions> options = reported->options();
  if (!options)
    return options.error();
  SmallString<128> path;
  if (const std::error_code error = sys::fs::createTemporaryFile("tlc-report", "mlir", path))
    return tlc::Error{ErrorKind::environment, "cannot make a temporary file: " + error.message()};
  const FileRemover remover(path);
  options->inspection.crashReproducer = path.str();
  Result<ChildReport> compiled = reportOfChild(limit, [&](int) {
    if (const int nowhere = ::open("/dev/null", O_WRONLY); nowhere >= 0) {
      ::dup2(nowhere, STDOUT_FILENO);
      ::dup2(nowhere, STDERR_FILENO);
    }
    kernels::CompileLog log;
    (void)kernels::Library().compile(reported->request(), *options, log);
  });
  if (!compiled)
    return compiled.error();
  ErrorOr<std::unique_ptr<MemoryBuffer>> text = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!text)
    return tlc::Error{ErrorKind::environment, "cannot read a temporary file: " + text.getError().message()};
  if (!(*text)->getBuffer().empty())
    return (*text)->getBuffer().str();
  if (compiled->isTimeout)
    return tlc::Error{ErrorKind::execution, "the program of '" + excerpt(file) + "' " + compiled->trouble +
                                                "; --seconds gives it longer"};
  return tlc::Error{ErrorKind::invalidArgument,
                    "expected a report whose program does not compile, but that of '" + excerpt(file) +
                        "' does; 'tlc run' runs it"};
}
