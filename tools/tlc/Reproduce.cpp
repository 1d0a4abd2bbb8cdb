// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `reproduce`.
#include "tools/tlc/Reproduce.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc::driver;

ReproduceCommand::ReproduceCommand()
    : command("reproduce", "Run the passes of a crash reproducer again"), flags(command) {}

ExitCode ReproduceCommand::execute() const {
  std::variant<ReproducerFlags::Opened, ExitCode> opened = flags.open(PassOutput::show);
  if (const ExitCode *code = std::get_if<ExitCode>(&opened))
    return *code;
  const PassFailure &failure = std::get_if<ReproducerFlags::Opened>(&opened)->failure;
  if (!flags.wantsJson()) {
    outs() << "still fails: " << failure.text() << '\n';
    return ExitCode::success;
  }
  json::OStream os(outs());
  os.object([&] {
    os.attribute("kind", nameOf(failure.kind));
    os.attribute("pass", failure.pass);
    os.attribute("message", json::fixUTF8(failure.message));
    if (!failure.location.empty())
      os.attribute("location", json::fixUTF8(failure.location));
  });
  outs() << '\n';
  return ExitCode::success;
}
