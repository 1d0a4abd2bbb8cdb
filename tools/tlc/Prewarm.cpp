// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `prewarm`.
#include "tools/tlc/Prewarm.h"

#include "kernels/library/Prewarm.h"
#include "runtime/support/Excerpt.h"
#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/SurveyFlags.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

constexpr unsigned mostThreads = 1024;

void printText(const kernels::PrewarmStep &step) {
  outs() << '[' << step.done << '/' << step.all << "] "
         << kernels::lineOf(step.program.request, step.program.options);
  if (!step.result)
    outs() << ": failed\n";
  else
    outs() << formatv(": {0} {1:f1} ms\n", step.isCompiled ? "compiled in" : "found in", step.milliseconds);
  outs().flush();
  if (!step.result)
    fail(step.result.error().message);
}

void printJson(const kernels::PrewarmStep &step) {
  json::Object object{{"program", json::fixUTF8(kernels::lineOf(step.program.request, step.program.options))},
                      {"done", int64_t(step.done)},
                      {"all", int64_t(step.all)},
                      {"compiled", step.isCompiled},
                      {"milliseconds", step.milliseconds}};
  if (!step.result)
    object["error"] = json::fixUTF8(step.result.error().message);
  outs() << json::Value(std::move(object)) << '\n';
  outs().flush();
}

} // namespace

PrewarmCommand::PrewarmCommand()
    : command("prewarm", "Compile the programs of a list into the cache"),
      list(cl::sub(command), cl::Positional, cl::value_desc("list"),
           cl::desc("<file of lines 'kernel name=value ... --target=name'>")),
      target("target", cl::sub(command), cl::value_desc("name"), cl::init(CompileOptions().target),
             cl::desc("Architecture of lines that name none")),
      threads("threads", cl::sub(command), cl::value_desc("count"), cl::init(0),
              cl::desc("How many are compiled in parallel (default: one per core)")),
      json("json", cl::sub(command), cl::desc("Report each program as one JSON object")),
      kernelNames(command) {}

ExitCode PrewarmCommand::execute() const {
  if (list.empty())
    return failUsage("expected a file of programs, but got none; 'tlc prewarm --help' shows how");
  if (!findTarget(target.getValue()))
    return failUsage(unknownTarget("--target", target).message);
  if (threads > mostThreads)
    return failUsage(
        formatv("expected --threads from 0 to {0}, but got {1}", mostThreads, threads.getValue()).str());
  Result<CacheOptions> cache = kernelNames.cache();
  if (!cache)
    return failUsage(cache.error().message);
  if (!cache->folder)
    return failUsage(
        "expected a folder to keep programs in, but --no-cache or missing XDG_CACHE_HOME and HOME "
        "leave none; --cache-dir names one");
  Result<std::string> text = readTextFile(list);
  if (!text)
    return failUsage(text.error().message);
  Result<std::vector<kernels::ListedProgram>> programs = kernels::parseList(
      *text, [&](const std::string &name) { return kernelNames.find(name); }, target.getValue());
  if (!programs)
    return failBy(inFile(list, programs.error()));
  kernels::Library library(std::move(*cache));
  const size_t failed = kernels::prewarm(library, *programs, threads, json ? printJson : printText);
  return failed == 0 ? ExitCode::success : ExitCode::failure;
}
