// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `reduce`.
#include "tools/tlc/Reduce.h"

#include "tools/tlc/Heartbeat.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/Output.h"
#include "tools/tlc/Reducer.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <fmt/format.h>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

ReduceCommand::ReduceCommand()
    : command("reduce", "Make a crash reproducer as small as it still fails in the same way"), flags(command),
      output("o", cl::sub(command), cl::value_desc("file"), cl::init("-"), cl::desc("Output file")) {}

ExitCode ReduceCommand::execute() const {
  if (flags.wantsJson() && output == "-")
    return failUsage("expected -o with --json because both would go to standard output");
  if (Result<void> writable = checkOutput(output); !writable)
    return fail(writable.error().message);
  std::variant<ReproducerFlags::Opened, ExitCode> opened = flags.open(PassOutput::hide);
  if (const ExitCode *code = std::get_if<ExitCode>(&opened))
    return *code;
  auto &[context, reproducer, failure, duration] = *std::get_if<ReproducerFlags::Opened>(&opened);
  size_t numOperations = 0;
  reproducer.module->walk([&](mlir::Operation *) { ++numOperations; });
  --numOperations; // the module
  const size_t numPasses = reproducer.passes.size();
  // A smaller module may be one on which a pass does not end: that is another failure, known long before.
  const std::chrono::seconds limit =
      failure.kind == PassFailure::Kind::timeout ? flags.limit() : std::min(flags.limit(), 10 * duration);
  Reducer reducer(reproducer, failure, limit);
  {
    const Heartbeat heartbeat([&] {
      return fmt::format("{} of {} operations are left after {} runs", reducer.operations(), numOperations,
                         reducer.runs());
    });
    if (Result<void> reduced = reducer.reduce(); !reduced)
      return fail(reduced.error().message);
  }
  if (Result<void> written = writeOutput(output, reproducer.print()); !written)
    return fail(written.error().message);
  if (!flags.wantsJson()) {
    errs() << "tlc: " << reducer.operations() << " of " << numOperations << " operations and "
           << reproducer.passes.size() << " of " << numPasses << " passes are left after " << reducer.runs()
           << " runs; still fails: " << failure.text() << '\n';
    return ExitCode::success;
  }
  json::OStream os(outs());
  os.object([&] {
    os.attribute("kind", nameOf(failure.kind));
    os.attribute("pass", failure.pass);
    os.attribute("message", json::fixUTF8(failure.message));
    os.attribute("operations", uint64_t(reducer.operations()));
    os.attribute("operations_before", uint64_t(numOperations));
    os.attribute("passes", uint64_t(reproducer.passes.size()));
    os.attribute("passes_before", uint64_t(numPasses));
    os.attribute("runs", uint64_t(reducer.runs()));
  });
  outs() << '\n';
  return ExitCode::success;
}
