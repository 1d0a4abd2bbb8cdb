// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels and the runtime in one shared object.
#pragma once

#include "runtime/support/Result.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace tlc::aot {

struct SharedObject {
  std::string bytes, licences; ///< the texts for what is linked in
};

/// Links an archive of `tlc build` with the libtlc_runtime.a next to this library, whose names the result
/// does not show, by the C++ compiler `compiler`, a path or name, or by that of files of kernels where it is
/// empty. `name` is the result's own. Equal archives give equal bytes.
Result<SharedObject> linkShared(llvm::StringRef archive, const std::string &name,
                                const std::string &compiler);

} // namespace tlc::aot
