// SPDX-License-Identifier: Apache-2.0
#include "kernels/library/call/BuildId.h"

#include "runtime/cache/BuildId.h"

namespace {
void inThisLibrary() {}
} // namespace

std::string tlc::kernels::buildId() {
  return buildOfPrograms(buildIdOf(reinterpret_cast<const void *>(&inThisLibrary)));
}
