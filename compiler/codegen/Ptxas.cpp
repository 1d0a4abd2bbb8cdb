// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs ptxas on temporary files and reads what it prints.
#include "compiler/codegen/Ptxas.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc;

namespace {

/// A file that is gone with the object: in a folder, or in the one for temporary files, where it is also gone
/// if a signal ends the process. Libraries leave the handlers of signals to the program that they are part
/// of.
class TemporaryFile {
public:
  static Expected<TemporaryFile> create(StringRef folder, StringRef suffix) {
    SmallString<128> path;
    std::error_code error;
    if (folder.empty()) {
      error = sys::fs::createTemporaryFile("tlc", suffix, path);
    } else {
      SmallString<128> model(folder);
      sys::path::append(model, "tlc-%%%%%%." + suffix);
      error = sys::fs::createUniqueFile(model, path);
    }
    if (error)
      return createStringError(error, "cannot make a temporary file: " + error.message());
    if (folder.empty())
      (void)sys::RemoveFileOnSignal(path);
    return TemporaryFile(path, folder.empty());
  }
  TemporaryFile(TemporaryFile &&other)
      : path(std::exchange(other.path, {})), goesBySignal(other.goesBySignal) {}
  ~TemporaryFile() {
    if (path.empty())
      return;
    (void)sys::fs::remove(path);
    if (goesBySignal)
      sys::DontRemoveFileOnSignal(path);
  }

  StringRef name() const { return path; }

  Expected<std::string> read() const {
    ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
    if (!buffer)
      return createStringError(buffer.getError(),
                               "cannot read '" + path + "': " + buffer.getError().message());
    return (*buffer)->getBuffer().str();
  }

  Error write(StringRef text) const {
    std::error_code error;
    raw_fd_ostream os(path, error);
    if (!error) {
      os << text;
      os.close();
      error = os.error();
      os.clear_error();
    }
    if (error)
      return createStringError(error, "cannot write '" + path + "': " + error.message());
    return Error::success();
  }

private:
  TemporaryFile(StringRef path, bool goesBySignal) : path(path), goesBySignal(goesBySignal) {}
  std::string path;
  bool goesBySignal;
};

unsigned number(StringRef text) {
  unsigned value = 0;
  text.getAsInteger(10, value);
  return value;
}

void readReport(StringRef report, MachineCode &code) {
  Regex entry("Compiling entry function '([^']*)'"), registers("Used ([0-9]+) registers");
  Regex stack("([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  Regex remark("warning|\\(C7[0-9]+\\)|Potential Performance Loss", Regex::IgnoreCase);
  SmallVector<StringRef> lines, match;
  report.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    if (entry.match(line, &match)) {
      code.kernels.emplace_back();
      code.kernels.back().entry = match[1].str();
    } else if (stack.match(line, &match) && !code.kernels.empty()) {
      code.kernels.back().stackBytes = number(match[1]);
      code.kernels.back().spillStoreBytes = number(match[2]);
      code.kernels.back().spillLoadBytes = number(match[3]);
    } else if (registers.match(line, &match) && !code.kernels.empty()) {
      code.kernels.back().registers = number(match[1]);
    } else if (remark.match(line)) {
      code.messages.push_back(line.trim().str());
    }
  }
}

} // namespace

std::optional<std::string> tlc::findPtxasOfWheels(StringRef paths) {
  SmallVector<StringRef> folders;
  paths.split(folders, ':', -1, /*KeepEmpty=*/false);
  for (StringRef folder : folders) {
    // The packages are beside the folder of the interpreter, or of the one that it is a link to.
    SmallString<128> python(folder), real;
    sys::path::append(python, "python3");
    if (!sys::path::is_absolute(folder) || !sys::fs::can_execute(python))
      continue;
    SmallVector<std::string> prefixes = {sys::path::parent_path(folder).str()};
    if (!sys::fs::real_path(python, real))
      prefixes.push_back(sys::path::parent_path(sys::path::parent_path(real)).str());
    for (const std::string &prefix : prefixes) {
      std::vector<std::string> libraries;
      std::error_code error;
      for (sys::fs::directory_iterator each(prefix + "/lib", error), end; each != end && !error;
           each.increment(error))
        if (sys::path::filename(each->path()).starts_with("python3"))
          libraries.push_back(each->path());
      llvm::sort(libraries);
      for (const std::string &library : libraries)
        for (StringRef packages : {"site-packages", "dist-packages"})
          for (StringRef name :
               {"nvidia/cu13/bin/ptxas", "nvidia/cuda_nvcc/bin/ptxas", "triton/backends/nvidia/bin/ptxas"}) {
            SmallString<128> path(library);
            sys::path::append(path, packages, name);
            if (sys::fs::can_execute(path))
              return path.str().str();
          }
    }
  }
  return std::nullopt;
}

std::optional<std::string> tlc::findPtxas() {
  const char *variable = ::secure_getenv("PATH");
  const StringRef paths = variable ? variable : "";
  SmallVector<StringRef> folders;
  paths.split(folders, ':', -1, /*KeepEmpty=*/false);
  llvm::erase_if(folders, [](StringRef folder) { return !sys::path::is_absolute(folder); });
  folders.push_back("/usr/local/cuda/bin");
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas", folders))
    return *found;
  return findPtxasOfWheels(paths);
}

std::string tlc::withoutSourceLines(StringRef ptx) {
  std::string text;
  text.reserve(ptx.size());
  while (!ptx.empty()) {
    const size_t size = std::min(ptx.find('\n'), ptx.size() - 1) + 1;
    StringRef line = ptx.take_front(size), directive = line.ltrim();
    if (!directive.consume_front(".loc") || directive.empty() || !isSpace(directive.front())) // unlike .local
      text += line;
    ptx = ptx.drop_front(size);
  }
  return text;
}

Expected<MachineCode> tlc::assemble(StringRef ptxas, StringRef ptx, const Target &target, SourceLines lines,
                                    StringRef folder) {
  Expected<TemporaryFile> source = TemporaryFile::create(folder, "ptx");
  if (!source)
    return source.takeError();
  Expected<TemporaryFile> cubin = TemporaryFile::create(folder, "cubin");
  if (!cubin)
    return cubin.takeError();
  Expected<TemporaryFile> report = TemporaryFile::create(folder, "log");
  if (!report)
    return report.takeError();
  if (Error error = source->write(lines == SourceLines::keep ? ptx.str() : withoutSourceLines(ptx)))
    return std::move(error);

  std::string arch = "-arch=" + std::string(target.name);
  SmallVector<StringRef> arguments = {ptxas, arch, "-v", source->name(), "-o", cubin->name()};
  if (lines == SourceLines::keep)
    arguments.push_back("-lineinfo");
  std::optional<StringRef> redirects[] = {StringRef(""), report->name(), report->name()};
  std::string message;
  int status = sys::ExecuteAndWait(ptxas, arguments, /*Env=*/std::nullopt, redirects, /*SecondsToWait=*/0,
                                   /*MemoryLimit=*/0, &message);
  Expected<std::string> output = report->read();
  if (!output)
    return output.takeError();
  if (status < 0)
    return createStringError("cannot run '" + ptxas + "': " + message);
  if (status != 0)
    return createStringError("ptxas refuses the code (exit status " + Twine(status) + "): " + *output);

  MachineCode code;
  readReport(*output, code);
  Expected<std::string> bytes = cubin->read();
  if (!bytes)
    return bytes.takeError();
  code.cubin = std::move(*bytes);
  return code;
}
