// SPDX-License-Identifier: Apache-2.0
/// \file
/// Takes the command line apart.
#include "tools/tlc/Driver.h"

#include "tools/tlc/Compile.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc::driver;

int tlc_main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::OptionCategory none("none");
  cl::HideUnrelatedOptions(none); // LLVM's own, which configure nothing here
  cl::SetVersionPrinter([](raw_ostream &os) {
    os << "tlc " << TLC_VERSION << ", LLVM " << LLVM_VERSION_STRING << '\n';
  });

  CompileCommand compile;
  if (!cl::ParseCommandLineOptions(argc, argv, "tlc: compiles, runs, checks and times tile programs\n", &errs()))
    return int(ExitCode::usage);
  if (compile)
    return int(compile.execute());
  cl::PrintHelpMessage();
  return int(ExitCode::usage);
}
