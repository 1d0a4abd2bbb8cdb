// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compiled programs, kept in memory and in a folder. Who compiles them is the caller's matter.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/cache/CacheOptions.h"
#include "runtime/cache/DiskCache.h"
#include "runtime/cache/MemoryCache.h"
#include "runtime/cache/ProgramName.h"
#include "runtime/device/Device.h"
#include "runtime/support/Result.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tlc {

/// A program that is asked for.
struct CacheRequest {
  KeyBuilder key; ///< of everything that decides the result but this build of the compiler
  std::string_view program, target;
  /// How an entry is made, for the error of a cache that only has hits: the end of a sentence.
  std::function<std::string()> remedy;
  ProgramCode code = ProgramCode::cubin; ///< that the program is wanted for (`DeviceProperties::code`)
  const ProgramName *name = nullptr;     ///< by which `ProgramCache::find` finds it from now on
};

/// Who is told of one request, beside `CacheOptions::onEvent`.
struct CacheObserver {
  std::function<void(const Error &)> onWarning = {};
  std::function<void(const CacheEvent &)> onEvent = {};
};

/// Safe to use from several threads.
class ProgramCache {
public:
  using Pointer = std::shared_ptr<const Artifact>;
  using Compile = std::function<Result<Pointer>()>;
  /// Adds machine code to a program, or a note that says why it cannot; files are written to the folder.
  using AddMachineCode = std::function<void(CachedProgram &, const std::filesystem::path &)>;

  /// Entries of the folder are those of one build (`buildOfPrograms`); without its name nothing is kept
  /// there.
  ProgramCache(CacheOptions options, std::string build);

  /// A program and the key that it is kept by.
  struct Named {
    Pointer program;
    Key key;
  };
  /// The program of this name, where it is kept as it is wanted; nothing if only the compiler can say. Like a
  /// hit of `getOrCompile`.
  std::optional<Named> find(const ProgramName &name, ProgramCode code);

  /// The program; the same object for the same key as long as that is kept in memory. `compile` makes it
  /// where there is none; of concurrent requests for one key one compiles, and the others wait for it. A
  /// folder that cannot be used costs time only: `onWarning` is told, once for each reason. An entry of the
  /// folder gets machine code when it is made, or at the first hit by a request that wants it.
  Result<Pointer> getOrCompile(const CacheRequest &request, const Compile &compile,
                               const AddMachineCode &addMachineCode, const CacheObserver &observer = {});

  /// The key by which a program of this build is kept.
  Key keyOf(const KeyBuilder &request) const;

  /// Loads a program of this cache, which tells of it.
  Result<std::shared_ptr<const LoadedProgram>> load(Device &device, const Artifact &artifact) const;

  const CacheOptions &options() const { return given; }

private:
  /// In memory; an artifact takes about 150 KB.
  static constexpr size_t mostPrograms = 256;
  static constexpr size_t mostNames = 4096;

  bool isNew(const std::string &warning);
  bool isWanted(const CachedProgram &program, ProgramCode code) const;
  /// Which program has a name, as far as this process knows.
  std::optional<Key> recall(const Key &name);
  void remember(const Key &name, const Key &program);
  /// The same in the folder, too.
  Result<void> keep(const ProgramName &name, const Key &program);
  /// Adds machine code where it is wanted and may be had. True if the program has changed.
  bool complete(CachedProgram &program, const CacheRequest &request, const Key &key,
                const AddMachineCode &addMachineCode) const;

  CacheOptions given;
  std::string build;
  Key buildKey;
  MemoryCache<Artifact> memory{mostPrograms};
  std::optional<DiskCache> disk; ///< only where there is a build
  std::mutex mutex;
  std::set<std::string> warnings; ///< that were told
  std::unordered_map<Key, Key, KeyHash> names;
};

} // namespace tlc
