// SPDX-License-Identifier: Apache-2.0
/// \file
/// For owners of memory from malloc and its kind. A lambda in a header would be
/// another type in each file.
#pragma once

#include <cstdlib>

namespace tlc {

struct FreeDeleter {
  void operator()(void *memory) const { std::free(memory); }
};

} // namespace tlc
