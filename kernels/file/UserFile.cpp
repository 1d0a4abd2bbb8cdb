// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files, and their kernels as kernels of the registry.
#include "kernels/file/UserFile.h"

#include "kernels/file/DescribedKernel.h"
#include "kernels/file/Description.h"
#include "kernels/file/FileProcess.h"
#include "runtime/support/ChildProcess.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/NearestName.h"

#include <fmt/format.h>
#include <unistd.h>

using namespace tlc;
using namespace tlc::kernels;

/// Each question is one to a process of its own.
class UserFile::Source final : public KernelSource {
public:
  explicit Source(const UserFile &file) : itsFile(file) {}

  std::string code() const override { return itsFile.object.code; }
  std::string file() const override { return itsFile.path(); }
  Result<std::string> trace(size_t kernel, const ParameterTexts &values,
                            const dsl::TraceOptions &options) const override {
    return itsFile.ask("tracing it", mostAnswerBytes,
                       [&] { return traceKernel(objectFile(), kernel, values, options); });
  }
  Result<std::string> numbers(size_t kernel, const ParameterTexts &values,
                              const NumbersQuestion &question) const override {
    return itsFile.ask(question.what(), question.elements.size() * sizeof(double) + mostErrorBytes,
                       [&] { return numbersOfKernel(objectFile(), kernel, values, question); });
  }

private:
  static constexpr size_t mostErrorBytes = size_t(1) << 20; ///< of an answer that says what is wrong

  ObjectFile objectFile() const { return {itsFile.object.file.get(), itsFile.path()}; }

  const UserFile &itsFile;
};

UserFile::UserFile(std::string source, SharedObject object, std::chrono::seconds limit)
    : source(std::move(source)), object(std::move(object)), limit(limit),
      functions(std::make_unique<Source>(*this)) {}

Result<std::string> UserFile::ask(std::string_view what, size_t most,
                                  const std::function<Result<std::string>()> &body) const {
  constexpr char answered = '+', refused = '-';
  Result<std::string> answer = answerOfChild(
      limit,
      [&] {
        ::dup2(STDERR_FILENO,
               STDOUT_FILENO); // where what the file prints does not mix with what is asked for
        Result<std::string> own = body();
        return own ? answered + *own : refused + own.error().message;
      },
      most);
  if (!answer)
    return Error{answer.error().kind, fmt::format("{} {}", what, answer.error().message)};
  std::string text = answer->substr(1);
  if (answer->front() == refused)
    return Error{ErrorKind::execution, std::move(text)};
  return text;
}

Result<std::unique_ptr<UserFile>> UserFile::open(const std::string &path, const UserFileOptions &options) {
  Result<SharedObject> object = compileFile(path, options.compiler);
  if (!object)
    return object.error();
  std::unique_ptr<UserFile> file(new UserFile(path, std::move(*object), options.limit));
  constexpr size_t mostBytes = size_t(64) << 20;
  Result<std::string> answer = file->ask(excerpt(path) + ": registering its kernels", mostBytes,
                                         [&] { return describeKernels({file->object.file.get(), path}); });
  if (!answer)
    return answer.error();
  std::optional<std::vector<KernelDescription>> descriptions = unpackDescriptions(*answer);
  if (!descriptions)
    return Error{ErrorKind::execution,
                 formatMessage("{}: expected descriptions of its kernels, but got other bytes", path)};
  file->owned = kernelsOf(*file->functions, std::move(*descriptions));
  for (const auto &kernel : file->owned)
    file->listed.push_back(kernel.get());
  return file;
}

UserFile::~UserFile() = default;

Result<const Kernel *> UserFile::find(std::string_view name) const {
  if (name.empty() && listed.size() == 1)
    return listed.front();
  std::vector<std::string> names;
  std::vector<std::string_view> ofKernels;
  for (const Kernel *kernel : listed) {
    if (kernel->name() == name)
      return kernel;
    names.push_back(fmt::format("{}:{}", source, kernel->name()));
    ofKernels.push_back(kernel->name());
  }
  return Error{ErrorKind::invalidArgument,
               fmt::format("expected one of the kernels {}, but got {}", fmt::join(names, ", "),
                           name.empty()
                               ? "none of them"
                               : fmt::format("'{}'{}", excerpt(name), nearestText(name, ofKernels)))};
}

std::optional<FileKernelName> FileKernelName::parse(std::string_view text) {
  for (std::string_view suffix : {".cpp", ".cc", ".cxx"}) {
    if (text.ends_with(suffix))
      return FileKernelName{std::string(text), {}};
    if (const size_t at = text.rfind(std::string(suffix) + ":"); at != text.npos)
      return FileKernelName{std::string(text.substr(0, at + suffix.size())),
                            std::string(text.substr(at + suffix.size() + 1))};
  }
  return std::nullopt;
}
