// SPDX-License-Identifier: Apache-2.0
/// \file
/// A file of kernels (kernels/file/kernel.h): compiled, and asked for its kernels, which are used like those
/// of the registry. Code of the file runs in processes of its own only; what it prints goes to standard
/// error.
#pragma once

#include "kernels/Registry.h"
#include "kernels/file/HostCompiler.h"

#include <chrono>
#include <functional>
#include <memory>

namespace tlc::kernels {

struct UserFileOptions {
  HostCompilerOptions compiler = {};
  std::chrono::seconds limit = std::chrono::seconds(60); ///< for each call of the file's functions
};

/// Outlives its kernels.
class UserFile {
public:
  /// An error names what is wrong, with its place.
  static Result<std::unique_ptr<UserFile>> open(const std::string &path, const UserFileOptions &options);
  ~UserFile();

  /// In the order of registration, at least one.
  std::span<const Kernel *const> kernels() const { return listed; }
  /// The kernel of that name; without a name the only one.
  Result<const Kernel *> find(std::string_view name) const;
  const std::optional<std::string> &remark() const { return object.remark; }

  const std::string &path() const { return source; }

private:
  class Source;
  UserFile(std::string source, SharedObject object, std::chrono::seconds limit);

  /// The answer, of at most `most` bytes, of a process that loads the file.
  Result<std::string> ask(std::string_view what, size_t most,
                          const std::function<Result<std::string>()> &body) const;

  std::string source;
  SharedObject object;
  std::chrono::seconds limit;
  std::unique_ptr<const Source> functions;
  std::vector<std::unique_ptr<const Kernel>> owned;
  std::vector<const Kernel *> listed;
};

/// "my.cpp", or "my.cpp:name" for one of its kernels.
struct FileKernelName {
  std::string file, kernel;
  /// Nothing for what is no C++ file's name.
  static std::optional<FileKernelName> parse(std::string_view text);
};

} // namespace tlc::kernels
