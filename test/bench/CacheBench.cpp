// SPDX-License-Identifier: Apache-2.0
/// \file
/// What an answer of the cache takes: in memory by a ready key, as typed calls have one, and by name, for
/// which the key is made; on disk by name, as the first answer in a process.
#include "kernels/library/Library.h"

#include <benchmark/benchmark.h>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace tlc::kernels {

namespace {

Result<Request> gemm() { return Request::parse("gemm", {{"m", "512"}, {"n", "512"}, {"k", "512"}}); }

void inMemoryByKey(benchmark::State &state) {
  const Result<Request> request = gemm();
  ArtifactCache cache(CacheOptions::inMemory());
  const auto program = std::make_shared<const Artifact>();
  const CacheRequest asked = {.key = Library::keyOf(*request, {}),
                              .program = "gemm",
                              .target = "sm_90a",
                              .remedy = [] { return std::string(); }};
  for (auto _ : state)
    benchmark::DoNotOptimize(
        cache.getOrCompile(asked, [&]() -> Result<ArtifactCache::Pointer> { return program; }));
}

/// A library that has the program, in a folder or in memory only.
void byName(benchmark::State &state, const CacheOptions &options, bool isNewProcess) {
  const Result<Request> request = gemm();
  std::optional<Library> library(options);
  CompileLog log;
  if (auto compiled = library->compile(*request, {}, log, ProgramCode::cubin); !compiled)
    return state.SkipWithError(compiled.error().message.c_str());
  for (auto _ : state) {
    if (isNewProcess)
      library.emplace(options);
    CompileLog found;
    benchmark::DoNotOptimize(library->compile(*request, {}, found, ProgramCode::cubin));
    if (!found.foundAfter)
      return state.SkipWithError("expected a hit");
  }
}

void inMemoryByName(benchmark::State &state) { byName(state, CacheOptions::inMemory(), false); }

void onDisk(benchmark::State &state, ProgramCode code) {
  std::string folder = std::filesystem::temp_directory_path() / "tlc-bench-XXXXXX";
  if (!::mkdtemp(folder.data()))
    return state.SkipWithError("expected a temporary folder");
  CacheOptions options = CacheOptions::in(folder);
  options.code = code;
  byName(state, options, true);
  std::filesystem::remove_all(folder);
}

/// With machine code where ptxas is found.
void onDiskByName(benchmark::State &state) { onDisk(state, ProgramCode::cubin); }
void onDiskByNamePtx(benchmark::State &state) { onDisk(state, ProgramCode::ptx); }

BENCHMARK(inMemoryByKey);
BENCHMARK(inMemoryByName);
BENCHMARK(onDiskByName)->Unit(benchmark::kMicrosecond);
BENCHMARK(onDiskByNamePtx)->Unit(benchmark::kMicrosecond);

} // namespace

} // namespace tlc::kernels
