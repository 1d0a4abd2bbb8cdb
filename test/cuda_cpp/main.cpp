// SPDX-License-Identifier: Apache-2.0
/// \file
/// Skips the tests where there is no toolkit, and says on what they run. `--keep <folder>`: translations are
/// kept there, as NVIDIA's compiler takes most of the time.
#define CATCH_CONFIG_RUNNER
#include "test/cuda_cpp/Run.h"
#include "test/cuda_cpp/Translate.h"

#include <catch2/catch.hpp>
#include <cstdio>

int main(int argc, char **argv) {
  constexpr int skipped = 77; // the exit status that ctest reports as skipped
  if (!tlc::test::hasToolkit()) {
    std::puts("skipped: there is no CUDA toolkit to compile with");
    return skipped;
  }
  const std::string gpu = tlc::test::gpuName();
  std::printf("on the emulator%s%s\n", gpu.empty() ? "" : " and on ", gpu.c_str());
  Catch::Session session;
  std::string folder;
  session.cli(session.cli() | Catch::clara::Opt(folder, "folder")["--keep"]("where translations are kept"));
  if (const int status = session.applyCommandLine(argc, argv); status != 0)
    return status;
  if (!folder.empty())
    tlc::test::keepTranslations(folder);
  return session.run();
}
