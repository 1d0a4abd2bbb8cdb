// SPDX-License-Identifier: Apache-2.0
/// \file
/// The part of the C interface that is about devices.
#include "runtime/cuda/CudaDevice.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/emulator/report/Finding.h"
#include "runtime/target/Target.h"
#include "tools/libtlc/Calls.h"

#include <array>
#include <atomic>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }
Error noDevice() { return invalid("expected a device, but got a null pointer"); }

std::unique_ptr<tlc_device> numbered(std::unique_ptr<Device> device) {
  static std::atomic<int64_t> made = 0;
  return std::make_unique<tlc_device>(std::move(device), ++made);
}

constexpr std::array checks = {RaceCheck::on, RaceCheck::off, RaceCheck::strict};
static_assert(TLC_CHECK_ON == 0 && TLC_CHECK_OFF == 1 && TLC_CHECK_STRICT == 2);

// The numbers of both are one.
static_assert(TLC_FINDING_RACE == int(FindingKind::race) &&
              TLC_FINDING_PROXY_RACE == int(FindingKind::proxyRace) &&
              TLC_FINDING_UNWRITTEN == int(FindingKind::unwritten) &&
              TLC_FINDING_LANES == int(FindingKind::lanes) &&
              TLC_FINDING_EARLY_EXIT == int(FindingKind::earlyExit) &&
              TLC_FINDING_PRODUCT_REGISTER == int(FindingKind::productRegister) &&
              TLC_FINDING_FAULT == int(FindingKind::fault) &&
              TLC_FINDING_DEADLOCK == int(FindingKind::deadlock));

/// The texts are those of the findings.
std::vector<tlc_finding> listOf(const Findings &findings) {
  std::vector<tlc_finding> list;
  for (const Finding &one : findings.all()) {
    static const FindingSite none;
    const FindingSite &before = one.before ? *one.before : none;
    list.push_back({int32_t(one.kind), one.level == FindingLevel::warning, one.message.c_str(),
                    one.site.file.c_str(), int32_t(one.site.line), int32_t(one.site.column),
                    before.file.c_str(), int32_t(before.line), int32_t(before.column)});
  }
  return list;
}

Result<EmulatorOptions> optionsOf(const tlc_emulator_options &given) {
  if (given.size != sizeof(given))
    return invalid(
        fmt::format("expected options of {} bytes, as version {} of the interface has them, but got {}",
                    sizeof(given), TLC_INTERFACE_VERSION, given.size));
  if (given.check < 0 || size_t(given.check) >= checks.size())
    return invalid(
        fmt::format("expected a tlc_check from 0 to {}, but got {}", checks.size() - 1, given.check));
  constexpr int32_t mostMultiprocessors = 1 << 16, mostThreads = 1 << 12;
  if (given.multiprocessors < 0 || given.multiprocessors > mostMultiprocessors)
    return invalid(fmt::format("expected 0 to {} multiprocessors, but got {}", mostMultiprocessors,
                               given.multiprocessors));
  if (given.threads < 0 || given.threads > mostThreads)
    return invalid(fmt::format("expected 0 to {} threads, but got {}", mostThreads, given.threads));
  Result<std::string> target = calls::targetOf(given.target);
  if (!target)
    return target.error();
  EmulatorOptions options;
  options.target = findTarget(*target);
  if (given.multiprocessors > 0)
    options.multiprocessors = given.multiprocessors;
  options.hostThreads = unsigned(given.threads);
  options.raceCheck = checks[size_t(given.check)];
  if (given.schedule_seed != 0)
    options.scheduleSeed = given.schedule_seed;
  if (given.print)
    options.print = [print = given.print, user = given.user](std::string_view text) {
      print(std::string(text).c_str(), user);
    };
  if (given.on_findings)
    options.onFindings = [told = given.on_findings, user = given.user](const Findings &found) {
      const std::string text = found.text();
      const std::vector<tlc_finding> all = listOf(found);
      const tlc_findings findings = {sizeof(findings),
                                     found.count(FindingLevel::error),
                                     found.count(FindingLevel::warning),
                                     text.c_str(),
                                     all.data(),
                                     int32_t(all.size())};
      told(&findings, user);
    };
  return options;
}

} // namespace

Result<std::unique_ptr<tlc_device>> calls::openGpu(int ordinal) {
  Result<std::unique_ptr<Device>> device = createCudaDevice(ordinal);
  if (!device)
    return device.error();
  return numbered(std::move(*device));
}

Result<std::unique_ptr<tlc_device>> calls::openEmulator(const tlc_emulator_options *given) {
  tlc_emulator_options usual = {};
  usual.size = sizeof(usual);
  Result<EmulatorOptions> options = optionsOf(given ? *given : usual);
  if (!options)
    return options.error();
  return numbered(createEmulatorDevice(std::move(*options)));
}

Result<std::shared_ptr<Device>> calls::deviceOr(tlc_device *given) {
  if (given)
    return given->device;
  Result<int> ordinal = currentCudaOrdinal();
  if (!ordinal)
    return ordinal.error();
  Result<std::unique_ptr<Device>> device = createCudaDevice(*ordinal);
  if (!device)
    return device.error();
  return std::shared_ptr<Device>(std::move(*device));
}

Result<void> calls::allocate(tlc_device *device, size_t bytes, void **address) {
  if (!device)
    return noDevice();
  if (!address)
    return invalid("expected room for an address, but got a null pointer");
  *address = nullptr;
  if (bytes == 0)
    return {};
  Result<void *> memory = device->device->allocate(bytes);
  if (!memory)
    return memory.error();
  *address = *memory;
  return {};
}

Result<void> calls::free(tlc_device *device, void *address) {
  if (!device)
    return noDevice();
  return device->device->free(address);
}

Result<void> calls::copyIn(tlc_device *device, void *to, const void *host, size_t bytes) {
  if (!device)
    return noDevice();
  if (bytes > 0 && !host)
    return invalid(fmt::format("expected {} bytes of the host, but got a null pointer", bytes));
  return device->device->copyToDevice(to, host, bytes);
}

Result<void> calls::copyOut(tlc_device *device, void *host, const void *from, size_t bytes) {
  if (!device)
    return noDevice();
  if (bytes > 0 && !host)
    return invalid(fmt::format("expected room for {} bytes on the host, but got a null pointer", bytes));
  return device->device->copyToHost(host, from, bytes);
}

Result<void> calls::synchronize(tlc_device *device, void *stream) {
  if (!device)
    return noDevice();
  return device->device->synchronize({stream});
}
