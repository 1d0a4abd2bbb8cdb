// SPDX-License-Identifier: Apache-2.0
/// \file
/// An artifact whose PTX is decoded for emulated devices.
#pragma once

#include "runtime/artifact/Reports.h"
#include "runtime/device/Device.h"
#include "runtime/emulator/exec/core/Program.h"
#include "runtime/target/Target.h"

#include <memory>
#include <mutex>
#include <vector>

namespace tlc {

class EmulatedProgram final : public LoadedProgram, public std::enable_shared_from_this<EmulatedProgram> {
public:
  using Programs = std::vector<std::shared_ptr<const emulator::Program>>;
  /// Checks the artifact, and that `target` runs it.
  static Result<std::shared_ptr<const EmulatedProgram>> load(Artifact artifact, const Target &target);
  EmulatedProgram(Artifact artifact, Programs programs, std::vector<Programs> transfers)
      : programs(std::move(programs)), transfers(std::move(transfers)), source(std::move(artifact)) {}
  const Artifact &artifact() const override { return source; }
  Result<std::vector<std::byte>> readVariable(size_t variant, std::string_view name) const override;

  /// What the launches of a variant that reports have reported, those included that failed.
  Reports takeReports(size_t variant) const;

  const Programs programs;               ///< one per variant
  const std::vector<Programs> transfers; ///< of each variant one per transfer
  mutable std::mutex reporting;          ///< launches that share a buffer of reports run one after the other

private:
  Artifact source;
};

} // namespace tlc
