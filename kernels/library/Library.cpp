// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tracing, compiling and caching of registered kernels.
#include "kernels/library/Library.h"

#include "kernels/library/Prewarm.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::kernels;

namespace {

std::string textOf(const dsl::Position &position) {
  return fmt::format("{}:{}:{}", position.file, position.line, position.column);
}

Diagnostic convert(const dsl::Diagnostic &diagnostic) {
  Diagnostic converted{
      Diagnostic::Severity::error, textOf(diagnostic.position), diagnostic.message, {}, diagnostic.count};
  for (const dsl::Note &note : diagnostic.notes)
    converted.notes.push_back({Diagnostic::Severity::note, textOf(note.position), note.message, {}});
  return converted;
}

/// The errors as one message, for callers without the log.
Error failureOf(const Request &request, const CompileLog &log) {
  Error error{ErrorKind::invalidArgument,
              fmt::format("kernel '{}' does not compile", request.kernel->name())};
  for (const Diagnostic &diagnostic : log.diagnostics)
    if (diagnostic.severity == Diagnostic::Severity::error)
      error.message += '\n' + toString(diagnostic);
  return error;
}

} // namespace

Result<Request> Request::parse(std::string_view kernel, const Definitions &given,
                               std::span<const std::string> fixedDimensions, DefaultSizes defaults) {
  Result<const Kernel *> found = findKernel(kernel);
  return found ? parse(**found, given, fixedDimensions, defaults) : found.error();
}

Result<Request> Request::parse(const Kernel &kernel, const Definitions &given,
                               std::span<const std::string> fixedDimensions, DefaultSizes defaults) {
  Definitions ofEmulator;
  if (defaults == DefaultSizes::emulator)
    for (const auto &[name, value] : kernel.emulatorSizes())
      if (!given.contains(name))
        ofEmulator[name] = value;
  Result<Parameters> values = kernel.parse(given, ofEmulator);
  if (!values) { // lengths of sequences, for example, that the small sizes have no room for
    ofEmulator.clear();
    values = kernel.parse(given);
  }
  if (!values)
    return values.error();
  std::string sizes;
  for (const Parameter &parameter : kernel.parameters())
    if (parameter.isDimension())
      sizes += (sizes.empty() ? "" : ", ") + parameter.name;
  for (const std::string &dimension : fixedDimensions) {
    auto isIt = [&](const Parameter &parameter) {
      return parameter.name == dimension && parameter.isDimension();
    };
    if (std::ranges::none_of(kernel.parameters(), isIt))
      return Error{ErrorKind::invalidArgument,
                   fmt::format("expected a dimension of kernel '{}' to fix ({}), but got '{}'", kernel.name(),
                               sizes, excerpt(dimension))};
  }
  Request request{&kernel,
                  std::move(*values),
                  {fixedDimensions.begin(), fixedDimensions.end()},
                  std::move(ofEmulator),
                  given};
  std::ranges::sort(request.fixedDimensions);
  auto repeated = std::ranges::unique(request.fixedDimensions);
  request.fixedDimensions.erase(repeated.begin(), repeated.end());
  return request;
}

Result<Request> Request::parseLaunch(const Kernel &kernel, const Definitions &given,
                                     std::span<const std::string> fixedDimensions, DefaultSizes sizes) {
  Result<Request> request = parse(kernel, given, fixedDimensions, sizes);
  if (!request)
    return request;
  if (Result<void> complete = request->values.checkScalars(kernel.name(), kernel.parameters()); !complete)
    return complete.error();
  return request;
}

Result<dsl::ProgramModule> kernels::trace(const Request &request, const Target &target, CompileLog &log) {
  if (std::string problem = request.kernel->conflictOn(target, request.values); !problem.empty())
    return Error{ErrorKind::invalidArgument, fmt::format("kernel '{}': {}", request.kernel->name(), problem)};
  dsl::TraceOptions options;
  for (const std::string &dimension : request.fixedDimensions)
    options.fixedDimensions[dimension] = request.values.size(dimension);
  dsl::Program program = request.kernel->build(request.values, target, options);
  if (!program.ok()) {
    std::ranges::transform(program.errors(), std::back_inserter(log.diagnostics), convert);
    return failureOf(request, log);
  }
  for (const Remark &remark : request.kernel->remarks(request.values, target))
    log.diagnostics.push_back({Diagnostic::Severity::remark,
                               remark.location,
                               fmt::format("[{}] {}", remark.id, remark.message),
                               {}});
  dsl::ProgramModule module = dsl::ProgramModule::take(std::move(program));
  prepareContext(*module.context);
  return module;
}

KeyBuilder Library::keyOf(const Request &request, const CompileOptions &options) {
  KeyBuilder key;
  key.add(request.kernel->name()).add(request.kernel->code()).add(fingerprint(options));
  for (const auto &[name, value] : request.values.programValues())
    key.add(name).add(value);
  for (const std::string &dimension : request.fixedDimensions)
    key.add(dimension);
  return key;
}

/// Whether a name tells all of what is asked for: the kernel is one of ours, and the options are usual ones.
static bool hasName(const Request &request, const CompileOptions &options) {
  CompileOptions named;
  named.target = options.target;
  named.waitLimit = options.waitLimit;
  const Result<const Kernel *> ours = findKernel(request.kernel->name());
  return ours && *ours == request.kernel && request.fixedDimensions.empty() && request.ofEmulator.empty() &&
         fingerprint(options) == fingerprint(named);
}

Result<std::shared_ptr<const Artifact>> Library::compile(const Request &request,
                                                         const CompileOptions &options, CompileLog &log,
                                                         ProgramCode code, const Definitions *given) {
  if (options.showsPasses())
    return compileAnew(request, options, log);
  const CacheObserver observer = {.onWarning =
                                      [&](const Error &error) {
                                        log.diagnostics.push_back(
                                            {Diagnostic::Severity::warning, "", error.message, {}});
                                      },
                                  .onEvent =
                                      [&](const CacheEvent &event) {
                                        if (event.kind != CacheEvent::Kind::compiled)
                                          log.foundAfter = event.milliseconds;
                                      }};
  std::optional<ProgramName> name;
  if (given && hasName(request, options))
    name.emplace(request.kernel->name(), *given, options.target, options.waitLimit);
  const CacheRequest asked = {
      .key = keyOf(request, options),
      .program = request.kernel->name(),
      .target = options.target,
      .remedy = [&] { return "'tlc prewarm' makes it from the line '" + lineOf(request, options) + "'"; },
      .code = code,
      .name = name ? &*name : nullptr};
  return artifacts.getOrCompile(asked, [&] { return compileAnew(request, options, log); }, observer);
}

Result<std::shared_ptr<const Artifact>> Library::compileAnew(const Request &request,
                                                             const CompileOptions &options, CompileLog &log) {
  const Target *target = findTarget(options.target);
  if (!target)
    return Error{ErrorKind::invalidArgument,
                 fmt::format("expected a target that code can be generated for ({}), but got '{}'",
                             targetNames(), excerpt(options.target))};
  size_t firstOwn = log.diagnostics.size();
  Result<dsl::ProgramModule> program = trace(request, *target, log);
  if (!program)
    return program.error();
  size_t traced = log.diagnostics.size();
  Compiler compiler(options);
  auto artifact = compiler.compile(*program->module, request.kernel->name());
  const std::vector<Diagnostic> &said = compiler.diagnostics();
  log.diagnostics.insert(log.diagnostics.end(), said.begin(), said.end());
  log.times = compiler.times();
  if (mlir::failed(artifact))
    return failureOf(request, log);
  for (size_t i = firstOwn; i < traced; ++i)
    if (std::optional<Remark> remark = toRemark(log.diagnostics[i]))
      artifact->remarks.push_back(std::move(*remark));
  return std::make_shared<const Artifact>(std::move(*artifact));
}
