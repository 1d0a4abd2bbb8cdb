// SPDX-License-Identifier: Apache-2.0
/// \file
/// An artifact whose PTX the driver has compiled for one GPU.
#pragma once

#include "runtime/artifact/Reports.h"
#include "runtime/cuda/CudaContext.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/device/LaunchLog.h"
#include "runtime/device/RecentlyUsed.h"

namespace tlc {

class CudaLaunch;

class CudaProgram final : public LoadedProgram, public std::enable_shared_from_this<CudaProgram> {
public:
  /// The artifact has passed `verify` and its target runs on the GPU, as the machine code of its variants
  /// does.
  static Result<std::shared_ptr<const CudaProgram>> load(std::shared_ptr<const CudaContext> context,
                                                         Artifact artifact);
  CudaProgram(const CudaProgram &) = delete;
  ~CudaProgram() override;

  const Artifact &artifact() const override { return content; }
  const std::shared_ptr<const LaunchLabel> &label() const { return launchLabel; }
  const CudaContext &context() const { return *cuda; }
  CUfunction function(size_t variant, size_t launch) const { return functions[variant][launch]; }
  ProgramCode code() const override { return loadedCode; }
  Result<std::vector<std::byte>> readVariable(size_t variant, std::string_view name) const override;
  const CudaCompilation &compilation() const { return compiled; }
  /// Its last launches by `Device::launch`.
  RecentlyUsed<CudaLaunch> &kept() const { return launches; }

  /// Whether some kernel prints or checks.
  bool hasReports() const { return !reportBuffers.empty(); }
  /// Appends what they have reported since the last call, in the order of variants, up to a buffer that
  /// cannot be read; no kernel of the program may run.
  Result<void> takeReports(Reports &reports) const;

private:
  CudaProgram(std::shared_ptr<const CudaContext> context, Artifact artifact);
  Result<CUmodule> loadModule(const Variant &variant);
  Result<CUfunction> prepare(CUmodule module, const Launch &launch);
  Result<CUdeviceptr> findReportBuffer(CUmodule module) const;

  std::shared_ptr<const CudaContext> cuda;
  Artifact content;
  std::shared_ptr<const LaunchLabel> launchLabel;
  std::vector<CUmodule> modules;                  ///< per variant; null where it makes no launch
  std::vector<std::vector<CUfunction>> functions; ///< per variant and launch
  CudaCompilation compiled;
  ProgramCode loadedCode = ProgramCode::cubin;
  struct ReportBuffer {
    size_t variant = 0;
    CUdeviceptr address = 0;
  };
  std::vector<ReportBuffer> reportBuffers;
  mutable RecentlyUsed<CudaLaunch> launches; ///< which refer to the rest
};

} // namespace tlc
