// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `wrap`.
#include "tools/tlc/Wrap.h"

#include "runtime/artifact/Serialize.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Target.h"
#include "tools/tlc/CompileFlags.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/Output.h"
#include "tools/wrap/Wrap.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

static Result<wrap::CodeFile> read(const std::string &path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return tlc::Error{.message = "cannot read '" + excerpt(path) + "': " + buffer.getError().message()};
  return wrap::CodeFile{path, (*buffer)->getBuffer().str()};
}

WrapCommand::WrapCommand()
    : command("wrap", "Make an artifact of PTX or machine code of another compiler"),
      description(cl::sub(command), cl::Positional, cl::value_desc("description"),
                  cl::desc("<file that says what the arguments are>")),
      ptx("ptx", cl::sub(command), cl::value_desc("file"), cl::desc("PTX, as of 'nvcc -ptx' or NVRTC")),
      cubin("cubin", cl::sub(command), cl::value_desc("file"),
            cl::desc("Machine code, as of 'nvcc -cubin' or ptxas")),
      target("target", cl::sub(command), cl::value_desc("name"),
             cl::desc("Architecture of the machine code (default: the first one that runs the PTX)")),
      output("out", cl::sub(command), cl::value_desc("name.artifact"), cl::desc("Artifact to write")) {}

ExitCode WrapCommand::execute() const {
  if (description.empty())
    return failUsage("expected a description, but got none; 'tlc wrap --help' shows how");
  if (ptx.empty() && cubin.empty())
    return failUsage("expected --ptx or --cubin with the code, but got neither");
  if (ptx.empty() && target.empty())
    return failUsage(
        "expected --target because machine code alone does not say its architecture, but got none");
  if (!target.empty() && !findTarget(target.getValue()))
    return failUsage(unknownTarget("--target", target).message);
  if (!StringRef(output).ends_with(artifactEnding))
    return failUsage("expected --out to name a file that ends in .artifact, but got '" + excerpt(output) +
                     "'");
  wrap::Code code{.target = target};
  for (const auto &[path, file] : {std::pair(&ptx, &code.ptx), std::pair(&cubin, &code.cubin)})
    if (!path->empty()) {
      Result<wrap::CodeFile> content = read(*path);
      if (!content)
        return failUsage(content.error().message);
      *file = std::move(*content);
    }
  Result<wrap::CodeFile> text = read(description);
  if (!text)
    return failUsage(text.error().message);
  Result<wrap::Description> parsed = wrap::parseDescription(text->content, excerpt(text->name));
  Result<Artifact> artifact = parsed ? wrap::wrap(*parsed, std::move(code)) : parsed.error();
  if (!artifact)
    return fail(artifact.error().message);
  if (Result<void> writable = checkOutput(output); !writable)
    return fail(writable.error().message);
  const std::vector<std::byte> bytes = serialize(*artifact);
  if (Result<void> written =
          writeOutput(output, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
      !written)
    return fail(written.error().message);
  return ExitCode::success;
}
