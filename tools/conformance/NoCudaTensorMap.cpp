// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/Runner.h"

namespace tlc::conformance {

Result<TensorMapBytes> encodeForCuda(const emulator::EmulatedTensorMap &) {
  return Error{ErrorKind::environment, "this build has no CUDA headers"};
}

} // namespace tlc::conformance
