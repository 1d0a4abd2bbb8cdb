// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/EmulatedProgram.h"

#include "runtime/artifact/Verify.h"
#include "runtime/device/DeliverReports.h"
#include "runtime/emulator/CopyEngine.h"
#include "runtime/emulator/exec/launch/Grid.h"

#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <span>

using namespace tlc;

namespace {

std::optional<size_t> bytesOfReportBuffer(const emulator::Program &program) {
  const auto found = program.storage.find(reportBufferName);
  return found == program.storage.end() ? std::nullopt : std::optional(found->second.variable->bytes);
}

} // namespace

Result<std::shared_ptr<const EmulatedProgram>> EmulatedProgram::load(Artifact artifact,
                                                                     const Target &target) {
  if (Result<void> valid = verify(artifact); !valid)
    return valid.error();
  if (!findTarget(artifact.target)->runsOn(target.computeMajor, target.computeMinor))
    return Error{.message = fmt::format("'{}' is compiled for {}, which the emulator of {} does not run; "
                                        "compile it for {}",
                                        artifact.name, artifact.target, target.name, target.name)};
  Programs programs;
  std::vector<Programs> transfers;
  for (const Variant &variant : artifact.variants) {
    if (variant.ptx.empty() && !variant.launches.empty())
      return Error{.message = fmt::format("expected PTX of '{}' for the emulator, but it has machine code "
                                          "alone; a GPU runs it",
                                          artifact.name)};
    auto program = emulator::loadProgram(variant.ptx);
    if (!program)
      return program.error();
    if (auto ok = emulator::checkTarget(**program, target); !ok)
      return ok.error();
    if (!variant.reports.empty())
      if (auto ok = checkReportBuffer(artifact.name, bytesOfReportBuffer(**program)); !ok)
        return ok.error();
    programs.push_back(std::move(*program));
    transfers.emplace_back();
    for (const Transfer &transfer : variant.transfers)
      transfers.back().push_back(emulator::loadCopies(transfer.name));
  }
  return std::make_shared<const EmulatedProgram>(std::move(artifact), std::move(programs),
                                                 std::move(transfers));
}

Result<std::vector<std::byte>> EmulatedProgram::readVariable(size_t variant, std::string_view name) const {
  const auto found = programs[variant]->storage.find(name);
  if (found == programs[variant]->storage.end())
    return Error{.message = fmt::format("'{}' has no variable '{}'", source.name, name)};
  const auto *bytes = reinterpret_cast<const std::byte *>(found->second.address);
  return std::vector(bytes, bytes + found->second.variable->bytes);
}

Reports EmulatedProgram::takeReports(size_t variant) const {
  auto *buffer =
      reinterpret_cast<std::byte *>(programs[variant]->storage.find(reportBufferName)->second.address);
  Reports reports =
      readReports(source.variants[variant].reports, std::span<const std::byte>(buffer, reportBufferBytes));
  std::memset(buffer, 0, sizeof(ReportBufferHeader));
  return reports;
}
