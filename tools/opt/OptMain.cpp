// SPDX-License-Identifier: Apache-2.0
#include "tools/opt/OptMain.h"

#include "dialects/support/TextLimits.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

/// Whether the text can be parsed; if not, says why.
static bool isWithinLimits(const llvm::MemoryBuffer &input) {
  std::optional<tlc::TextProblem> problem = tlc::findExcess(input.getBuffer());
  if (!problem)
    return true;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(input.getMemBufferRef()), llvm::SMLoc());
  // Without the line, which may be the whole text.
  auto [line, column] =
      sources.getLineAndColumn(llvm::SMLoc::getFromPointer(input.getBufferStart() + problem->offset));
  llvm::errs() << input.getBufferIdentifier() << ':' << line << ':' << column
               << ": error: " << problem->message << '\n';
  return false;
}

int tlc::optMain(int argc, char **argv, llvm::StringRef title, DialectRegistry &registry) {
  auto [inputFile, outputFile] = registerAndParseCLIOptions(argc, argv, title, registry);
  llvm::InitLLVM init(argc, argv);
  const MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, inputFile, outputFile, registry));

  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(inputFile, &error);
  if (!input) {
    llvm::errs() << error << '\n';
    return EXIT_FAILURE;
  }
  if (!isWithinLimits(*input))
    return EXIT_FAILURE;
  std::unique_ptr<llvm::ToolOutputFile> output = openOutputFile(outputFile, &error);
  if (!output) {
    llvm::errs() << error << '\n';
    return EXIT_FAILURE;
  }
  if (failed(MlirOptMain(output->os(), std::move(input), registry, config)))
    return EXIT_FAILURE;
  output->keep();
  return EXIT_SUCCESS;
}
