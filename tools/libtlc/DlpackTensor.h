// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors of DLPack as the C interface takes them.
#pragma once

#include "runtime/support/Result.h"
#include "tools/libtlc/tlc.h"

#include <cstdint>

namespace tlc::calls {

/// The number of a tlc_element.
Result<int> elementOfDlpack(int code, int bits);
/// `tlc_tensor_of_dlpack`.
Result<void> tensorOfDlpack(const void *source, tlc_tensor *tensor, int64_t *strides);

} // namespace tlc::calls
