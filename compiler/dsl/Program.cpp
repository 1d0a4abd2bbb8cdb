// SPDX-License-Identifier: Apache-2.0
/// \file
/// From the body of a program to its module.
#include "compiler/dsl/Canonicalize.h"
#include "compiler/dsl/Trace.h"
#include "mlir/IR/Verifier.h"
#include "runtime/artifact/LinearExtent.h"
#include "runtime/support/Excerpt.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

Program::Program() = default;
Program::Program(Program &&) noexcept = default;
Program &Program::operator=(Program &&) noexcept = default;
Program::~Program() = default;

Program Program::trace(std::string_view name, const TraceOptions &options,
                       const std::function<void(Scope &)> &body, Loc loc) {
  auto trace = std::make_shared<Trace>(name, options, loc);
  Scope scope(trace);
  {
    Trace::Current current(*trace);
    body(scope);
  }
  Program program;
  program.programName = name;
  program.module = trace->finish();
  program.diagnostics = trace->takeDiagnostics();
  return program;
}

std::string Program::errorText() const {
  std::string text;
  for (const Diagnostic &diagnostic : diagnostics)
    text += toString(diagnostic) + "\n";
  return text;
}

std::string Program::text() const {
  std::string text;
  if (module) {
    llvm::raw_string_ostream os(text);
    module->module->print(os);
  }
  return text;
}

void Trace::checkFixedDimensions() {
  for (const auto &[dimension, value] : options.fixedDimensions) {
    bool declared = llvm::any_of(arguments, [&](Attribute argument) {
      auto attr = dyn_cast<program::DimensionAttr>(argument);
      return attr && attr.getName() == dimension;
    });
    if (declared)
      continue;
    std::string known;
    for (Attribute argument : arguments)
      if (auto attr = dyn_cast<program::DimensionAttr>(argument);
          attr && !attr.getComputed() && attr.getSource() == program::DimensionSource::shapes)
        known += (known.empty() ? "" : ", ") + attr.getName().str();
    error(began, "expected a dimension of '" + excerpt(name) + "' to fix (" +
                     (known.empty() ? "it has none" : known) + "), but got '" + excerpt(dimension) + "'");
  }
}

/// The argument whose value follows from the extent `dimension`, if that is computed and linear in it.
static std::optional<unsigned> solvedArgument(ArrayRef<Attribute> arguments, unsigned dimension) {
  auto computed = cast<program::DimensionAttr>(arguments[dimension]).getComputed();
  const std::optional<LinearExtent> linear = computed ? linearExtentOf(computed.getExpr()) : std::nullopt;
  if (!linear)
    return std::nullopt;
  int64_t left = linear->dimension;
  for (auto [number, argument] : llvm::enumerate(arguments))
    if (isa<program::DimensionAttr>(argument) && left-- == 0)
      return unsigned(number);
  return std::nullopt;
}

void Trace::checkDimensionsAreGiven() {
  llvm::SmallBitVector given(unsigned(arguments.size()));
  for (Attribute argument : arguments)
    if (auto tensor = dyn_cast<program::TensorAttr>(argument);
        tensor && tensor.getAccess() != program::Access::workspace)
      for (int64_t dimension : tensor.getDims())
        if (dimension >= 0) {
          given.set(unsigned(dimension));
          if (std::optional<unsigned> solved = solvedArgument(arguments, unsigned(dimension)))
            given.set(*solved);
        }
  for (auto [number, argument] : llvm::enumerate(arguments)) {
    auto dimension = dyn_cast<program::DimensionAttr>(argument);
    if (!dimension || dimension.getFixed() >= 0 || dimension.getComputed() || given[unsigned(number)] ||
        dimension.getSource() != program::DimensionSource::shapes)
      continue;
    StringRef text = dimension.getName();
    error(names.lookup(text), "expected dimension '" + excerpt(text) +
                                  "' to be an extent of an input, an output or an inout because the launcher "
                                  "takes its value from their shapes, but no tensor has it; give it to one, "
                                  "or pass the number with k.scalar");
  }
}

std::unique_ptr<ProgramModule> Trace::finish() {
  if (diagnostics.empty())
    checkFixedDimensions();
  if (diagnostics.empty())
    checkDimensionsAreGiven();
  if (diagnostics.empty())
    addTransfers();
  std::unique_ptr<ProgramModule> program;
  if (diagnostics.empty()) {
    if (!launches.empty())
      outer.erase();
    if (succeeded(verify(*module)) && succeeded(canonicalize(*module)) && diagnostics.empty())
      program = std::make_unique<ProgramModule>(ProgramModule{context, std::move(module)});
  }
  // Handles may outlive the program: what is done with them goes to a module that nobody reads.
  finished = true;
  handler.reset();
  launches.clear();
  transfers.clear();
  startModule();
  return program;
}

} // namespace tlc::dsl::inline v1
