// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks on emulated devices.
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/target/Hardware.h"
#include "test/ranks/RankRun.h"

std::vector<std::unique_ptr<tlc::Device>> tlc::test::openRanks(size_t count, const RankOptions &options) {
  return createEmulatorDevices(
      unsigned(count), {.multiprocessors = options.multiprocessors,
                        .raceCheck = RaceCheck::strict,
                        .scheduleSeed = options.scheduleSeed,
                        .transfers = options.lateTransfers ? TransferTime::late : TransferTime::early});
}

int64_t tlc::test::mostRanks() { return maxRanks; }
