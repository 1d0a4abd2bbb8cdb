// SPDX-License-Identifier: Apache-2.0
/// \file
/// Modules as bytecode, mistakes as texts.
#include "kernels/file/Transport.h"

#include "compiler/dsl/Module.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Tile.h"
#include "kernels/file/Pack.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

using namespace tlc;
using namespace tlc::kernels;

namespace {

void add(Packer &packer, const dsl::Position &position) {
  packer.add(position.file).add(position.line).add(position.column);
}

dsl::Position positionOf(Unpacker &unpacker) {
  dsl::Position position;
  position.file = unpacker.text();
  position.line = unpacker.get<unsigned>();
  position.column = unpacker.get<unsigned>();
  return position;
}

void add(Packer &packer, const dsl::Diagnostic &diagnostic) {
  add(packer, diagnostic.position);
  packer.add(diagnostic.message).add(diagnostic.count).add(diagnostic.notes.size());
  for (const dsl::Note &note : diagnostic.notes) {
    add(packer, note.position);
    packer.add(note.message);
  }
}

dsl::Diagnostic diagnosticOf(Unpacker &unpacker) {
  dsl::Diagnostic diagnostic;
  diagnostic.position = positionOf(unpacker);
  diagnostic.message = unpacker.text();
  diagnostic.count = unpacker.get<unsigned>();
  for (size_t left = unpacker.count(); left > 0; --left) {
    dsl::Note note{positionOf(unpacker), {}};
    note.message = unpacker.text();
    diagnostic.notes.push_back(std::move(note));
  }
  return diagnostic;
}

} // namespace

std::string kernels::packMistakes(const std::vector<dsl::Diagnostic> &mistakes) {
  Packer packer;
  packer.add(mistakes.size());
  for (const dsl::Diagnostic &mistake : mistakes)
    add(packer, mistake);
  return packer.take();
}

std::string kernels::packProgram(dsl::Program program) {
  if (!program.ok())
    return packMistakes(program.errors());
  std::string bytecode;
  llvm::raw_string_ostream os(bytecode);
  dsl::ProgramModule module = dsl::ProgramModule::take(std::move(program));
  (void)mlir::writeBytecodeToFile(*module.module, os); // fails for old versions of the format only
  return packMistakes({}) + Packer().add(bytecode).take();
}

std::string kernels::packTrace(const EntryTrace &trace) {
  Packer packer;
  packer.add(trace.operations).add(trace.program).add(trace.extentsOfMembers.size());
  for (const auto &[table, members] : trace.extentsOfMembers) {
    packer.add(table).add(members.size());
    for (const std::vector<int64_t> &extents : members) {
      packer.add(extents.size());
      for (int64_t extent : extents)
        packer.add(extent);
    }
  }
  return packer.take();
}

std::optional<EntryTrace> kernels::unpackTrace(std::string_view bytes) {
  Unpacker unpacker(bytes);
  EntryTrace trace;
  trace.operations = unpacker.get<double>();
  trace.program = unpacker.text();
  for (size_t left = unpacker.count(); left > 0; --left) {
    std::vector<std::vector<int64_t>> &members = trace.extentsOfMembers[unpacker.text()];
    members.resize(unpacker.count());
    for (std::vector<int64_t> &extents : members) {
      extents.resize(unpacker.count());
      for (int64_t &extent : extents)
        extent = unpacker.get<int64_t>();
    }
  }
  return unpacker.isWhole() ? std::optional(std::move(trace)) : std::nullopt;
}

dsl::Program kernels::unpackProgram(std::string_view name, std::string_view bytes) {
  Unpacker unpacker(bytes);
  std::vector<dsl::Diagnostic> mistakes;
  for (size_t left = unpacker.count(); left > 0; --left)
    mistakes.push_back(diagnosticOf(unpacker));
  if (!mistakes.empty())
    return dsl::ProgramModule::mistaken(name, std::move(mistakes));
  dsl::ProgramModule module;
  module.context = std::make_shared<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  module.context->loadDialect<tile::TileDialect, program::ProgramDialect>();
  const std::string bytecode = unpacker.text();
  {
    const mlir::ScopedDiagnosticHandler silence(module.context.get(),
                                                [](mlir::Diagnostic &) { return mlir::success(); });
    if (unpacker.isWhole())
      module.module = mlir::parseSourceString<mlir::ModuleOp>(bytecode, module.context.get());
  }
  if (!module.module)
    return dsl::ProgramModule::mistaken(
        name, {{{}, "expected a program from the process that traces it, but got other bytes"}});
  return dsl::ProgramModule::give(name, std::move(module));
}
