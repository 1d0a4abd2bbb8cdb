// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/ReadyLaunch.h"

#include "runtime/emulator/math/TensorMap.h"

#include <algorithm>

using namespace tlc;

namespace {

Result<void> placeTensorMap(const PlannedTensorMap &planned, std::vector<std::byte> &parameters) {
  const emulator::EmulatedTensorMap map = emulator::tensorMapOf(planned.values);
  if (auto ok = emulator::checkTensorMap(map); !ok)
    return ok;
  const auto bytes = emulator::encodeTensorMap(map);
  std::copy(bytes.begin(), bytes.end(), parameters.begin() + ptrdiff_t(planned.offset));
  return {};
}

} // namespace

Result<std::shared_ptr<const ReadyLaunch>> ReadyLaunch::create(const EmulatedProgram &program,
                                                               LaunchPlan plan, LaunchArguments arguments) {
  for (PlannedLaunch &planned : plan.launches)
    for (const PlannedTensorMap &map : planned.tensorMaps)
      if (auto placed = placeTensorMap(map, planned.parameters); !placed)
        return placed.error();
  std::vector<emulator::NamedTensor> tensors = emulator::namedTensors(program.artifact(), arguments);
  std::vector<emulator::MulticastRange> multicast = emulator::multicastRanges(arguments);
  return std::make_shared<const ReadyLaunch>(program, std::move(plan), std::move(arguments),
                                             std::move(tensors), std::move(multicast));
}
