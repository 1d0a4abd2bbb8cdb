// SPDX-License-Identifier: Apache-2.0
/// \file
/// Takes the command line apart.
#include "tools/tlc/Driver.h"

#include "tools/tlc/Bench.h"
#include "tools/tlc/Build.h"
#include "tools/tlc/Cache.h"
#include "tools/tlc/Compile.h"
#include "tools/tlc/Diff.h"
#include "tools/tlc/Emulate.h"
#include "tools/tlc/Evaluate.h"
#include "tools/tlc/Inspect.h"
#include "tools/tlc/Layout.h"
#include "tools/tlc/List.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/Mutate.h"
#include "tools/tlc/New.h"
#include "tools/tlc/Prewarm.h"
#include "tools/tlc/Profile.h"
#include "tools/tlc/Reduce.h"
#include "tools/tlc/Report.h"
#include "tools/tlc/Reproduce.h"
#include "tools/tlc/Run.h"
#include "tools/tlc/Trace.h"
#include "tools/tlc/Tune.h"
#include "tools/tlc/Wrap.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <optional>
#include <tuple>
#include <unistd.h>

using namespace llvm;
using namespace tlc::driver;

/// LLVM and `new` call this when memory ends. Nothing is allocated from here on.
static void failOfMemory(void *, const char *, bool) {
  constexpr StringLiteral message =
      "tlc: error: out of memory: choose smaller sizes (-D), or end other processes\n";
  [[maybe_unused]] auto written = write(STDERR_FILENO, message.data(), message.size());
  _exit(int(ExitCode::failure));
}

/// LLVM calls this where it cannot continue: where assembly in a file of the last phases names operands that
/// do not exist.
static void failInLlvm(void *, const char *reason, bool) {
  fail((StringRef("LLVM cannot compile this: ") + reason).str());
  sys::Process::Exit(int(ExitCode::failure), /*NoCleanup=*/true);
}

/// What was printed is there, or the command failed.
static ExitCode finish(ExitCode code) {
  outs().flush();
  const std::error_code error = outs().error();
  outs().clear_error();
  return error ? fail("cannot write standard output: " + error.message()) : code;
}

/// A parent may have blocked signals, or ignored SIGCHLD, without which no end of a child is seen.
static void resetSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGCHLD, SIG_DFL);
}

/// Signals that end a process and that the parent ignores, as nohup does. LLVM's handlers would end it.
static SmallVector<int> ignoredSignals() {
  SmallVector<int> ignored;
  for (int number : {SIGHUP, SIGINT, SIGTERM})
    if (struct sigaction action = {};
        sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      ignored.push_back(number);
  return ignored;
}

int tlc_main(int argc, char **argv) {
  // What is opened must not take the place of a standard stream that is closed.
  (void)sys::Process::FixupStandardFileDescriptors();
  const SmallVector<int> ignored = ignoredSignals();
  InitLLVM init(argc, argv);
  resetSignals();
  for (int number : ignored)
    std::signal(number, SIG_IGN);
  ScopedFatalErrorHandler handler(failInLlvm);
  install_bad_alloc_error_handler(failOfMemory); // of `new`, too: InitLLVM says so
  cl::OptionCategory none("none");
  cl::HideUnrelatedOptions(none); // LLVM's own, which configure nothing here
  cl::SetVersionPrinter(
      [](raw_ostream &os) { os << "tlc " << TLC_VERSION << ", LLVM " << LLVM_VERSION_STRING << '\n'; });

  std::tuple<ListCommand, CompileCommand, LayoutCommand, InspectCommand, DiffCommand, RunCommand,
             BenchCommand, MutateCommand, NewCommand, CacheCommand, PrewarmCommand, BuildCommand, WrapCommand,
             EmulateCommand, EvaluateCommand, TraceCommand, ReportCommand, ReproduceCommand, ReduceCommand,
             TuneCommand, ProfileCommand>
      commands;
  if (!cl::ParseCommandLineOptions(argc, argv, "tlc: compiles, runs, checks and times tile programs\n",
                                   &errs()))
    return int(ExitCode::usage);
  std::optional<ExitCode> code;
  const auto tryCommand = [&](const auto &command) {
    if (command)
      code = finish(command.execute());
    return code.has_value();
  };
  if (std::apply([&](const auto &...each) { return (tryCommand(each) || ...); }, commands))
    return int(*code);
  cl::PrintHelpMessage();
  return int(ExitCode::usage);
}
