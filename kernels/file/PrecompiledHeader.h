// SPDX-License-Identifier: Apache-2.0
/// \file
/// `tlc/kernel.h` as the C++ compiler of this machine has compiled it, which takes it most of the time of a
/// file of kernels. An entry of the cache keeps it by its preprocessed text, the bytes of our headers, the
/// compiler and its flags.
#pragma once

#include "kernels/file/CompilerCall.h"
#include "runtime/cache/EntryStore.h"

namespace tlc::kernels {

/// A file and how it is compiled.
struct HeaderUse {
  const HostCompiler &compiler;
  const CommandLine &flags;
  const std::string &headers; ///< the folder with `tlc/kernel.h`
  const std::string &source;
  const std::string &text; ///< what `preprocess` makes of the source
};

/// The flags, to be put before the others, by which the compiler takes the header from `temporaries`, where
/// this function puts it: from the store, or compiled and then kept there. None where the file does not begin
/// with the header of that folder, or where the compiler fails to precompile it. `onKill` as `runCompiler`
/// takes it.
CommandLine precompiledHeader(const HeaderUse &use, const EntryStore &store,
                              const std::filesystem::path &temporaries, const std::function<void()> &onKill);

/// Whether a source has nothing but comments, standard headers and other headers of tlc before
/// `#include <tlc/kernel.h>`: neither macros nor declarations that the header might depend on.
bool beginsWithHeader(std::string_view source);

} // namespace tlc::kernels
