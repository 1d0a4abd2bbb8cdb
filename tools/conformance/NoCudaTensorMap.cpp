// SPDX-License-Identifier: Apache-2.0
/// \file
/// What stands in for the driver's encoding of tensor maps in a build without CUDA's headers.
#include "tools/conformance/Runner.h"

namespace tlc::conformance {

Result<TensorMapBytes> encodeForCuda(const emulator::EmulatedTensorMap &) {
  return Error{ErrorKind::environment, "this build has no CUDA headers"};
}

} // namespace tlc::conformance
