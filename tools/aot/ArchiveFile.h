// SPDX-License-Identifier: Apache-2.0
/// \file
/// Archives of `tlc build` as bytes.
#pragma once

#include "runtime/aot/Image.h"
#include "runtime/support/Result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace tlc::aot {

struct ArchiveMember {
  std::string name, object;
};

/// A static archive with a symbol table, in the format of GNU's ar. Equal members give equal bytes.
Result<std::string> writeArchive(llvm::ArrayRef<ArchiveMember> members);

/// The kernels in a static archive, or in a shared object, that `tlc build` has written, in its order. They
/// point into `bytes`.
Result<std::vector<KernelView>> kernelsIn(llvm::StringRef bytes);

} // namespace tlc::aot
