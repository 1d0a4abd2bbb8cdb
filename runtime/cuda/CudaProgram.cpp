// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/CudaProgram.h"

#include "runtime/cuda/CudaLaunch.h"
#include "runtime/device/DeliverReports.h"
#include "runtime/target/Target.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>

using namespace tlc;

CudaProgram::CudaProgram(std::shared_ptr<const CudaContext> context, Artifact artifact)
    : cuda(std::move(context)), content(std::move(artifact)),
      launchLabel(std::make_shared<const LaunchLabel>(content)) {}

Result<std::shared_ptr<const CudaProgram>> CudaProgram::load(std::shared_ptr<const CudaContext> context,
                                                             Artifact artifact) {
  // Owned from the start, so that a failure unloads what was loaded before it.
  std::shared_ptr<CudaProgram> program(new CudaProgram(std::move(context), std::move(artifact)));
  CurrentContext scope(*program->cuda);
  for (const Variant &variant : program->content.variants) {
    std::vector<CUfunction> &functions = program->functions.emplace_back();
    CUmodule &loaded = program->modules.emplace_back();
    if (variant.launches.empty())
      continue;
    const auto number = size_t(&variant - program->content.variants.data());
    Result<CUmodule> module = program->loadModule(variant);
    if (!module)
      return module.error();
    loaded = *module;
    for (const Launch &launch : variant.launches) {
      Result<CUfunction> function = program->prepare(*module, launch);
      if (!function)
        return function.error();
      functions.push_back(*function);
    }
    if (variant.reports.empty())
      continue;
    Result<CUdeviceptr> buffer = program->findReportBuffer(*module);
    if (!buffer)
      return buffer.error();
    program->reportBuffers.push_back({number, *buffer});
  }
  return std::shared_ptr<const CudaProgram>(std::move(program));
}

CudaProgram::~CudaProgram() {
  CurrentContext scope(*cuda);
  for (CUmodule module : modules)
    if (module)
      cuda->driver.cuModuleUnload(module);
}

Result<CUmodule> CudaProgram::loadModule(const Variant &variant) {
  if (!variant.cubin.empty()) {
    CUmodule module = nullptr;
    const CUresult status =
        cuda->driver.cuModuleLoadDataEx(&module, variant.cubin.data(), 0, nullptr, nullptr);
    if (status == CUDA_SUCCESS)
      return module;
    if (variant.ptx.empty())
      return cuda->error(status, fmt::format("cannot load the machine code of '{}', which has no PTX besides",
                                             content.name));
    // A driver that is older than the assembler may refuse its machine code.
  }
  loadedCode = ProgramCode::ptx;
  std::vector<char> information(16384), errors(16384);
  auto asValue = [](uintptr_t value) { return reinterpret_cast<void *>(value); };
  std::array options = {CU_JIT_INFO_LOG_BUFFER,  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                        CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                        CU_JIT_LOG_VERBOSE,      CU_JIT_GENERATE_LINE_INFO};
  // Line information lets profilers show the program's own source lines.
  std::array<void *, options.size()> values = {information.data(), asValue(information.size()),
                                               errors.data(),      asValue(errors.size()),
                                               asValue(1),         asValue(1)};
  CUmodule module = nullptr;
  CUresult status = cuda->driver.cuModuleLoadDataEx(&module, variant.ptx.c_str(), options.size(),
                                                    options.data(), values.data());
  // The driver puts the length it has written in place of the buffer's size.
  auto textOf = [](const std::vector<char> &buffer) {
    return std::string(buffer.data(), ::strnlen(buffer.data(), buffer.size()));
  };
  compiled.log += textOf(information);
  if (status == CUDA_SUCCESS)
    return module;

  const Target *target = findTarget(content.target);
  std::string hint;
  if (status == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
    hint = fmt::format("; expected a driver for CUDA {} or later because of the PTX of {}{}, but got {}",
                       formatDriverVersion(target->driverVersion), target->name,
                       content.nvrtc.empty() ? "" : " and that of NVRTC " + content.nvrtc,
                       formatDriverVersion(cuda->driver.version));
  std::string log = textOf(errors);
  return cuda->error(status, fmt::format("cannot load variant '{}' of '{}'{}{}{}", variant.name, content.name,
                                         hint, log.empty() ? "" : "; the driver says: ", log));
}

Result<CUfunction> CudaProgram::prepare(CUmodule module, const Launch &launch) {
  const Driver &driver = cuda->driver;
  CUfunction function = nullptr;
  if (CUresult status = driver.cuModuleGetFunction(&function, module, launch.entry.c_str());
      status != CUDA_SUCCESS)
    return cuda->error(status, fmt::format("'{}' has no entry '{}'", content.name, launch.entry));
  // Asking for attributes also makes a lazily loading driver load the kernel
  // here and not at its first launch.
  auto attributeOf = [&](CUfunction_attribute attribute) {
    int value = 0;
    return driver.cuFuncGetAttribute(&value, attribute, function) == CUDA_SUCCESS ? value : 0;
  };
  const int threads = attributeOf(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  const int staticBytes = attributeOf(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  CudaKernel kernel = {.entry = launch.entry,
                       .registers = attributeOf(CU_FUNC_ATTRIBUTE_NUM_REGS),
                       .spillBytes = attributeOf(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)};
  compiled.kernels.push_back(kernel);
  if (int(launch.threads) > threads)
    return Error{ErrorKind::environment,
                 fmt::format("'{}' is launched with {} threads per block, but compiled to {} registers it "
                             "allows {}",
                             launch.entry, launch.threads, kernel.registers, threads)};
  const int available = cuda->attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  if (int(launch.sharedBytes) + staticBytes > available)
    return Error{ErrorKind::environment,
                 fmt::format("'{}' needs {} bytes of shared memory, but this GPU has {} per block",
                             launch.entry, int(launch.sharedBytes) + staticBytes, available)};
  if (CUresult status = driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                  int(launch.sharedBytes));
      status != CUDA_SUCCESS)
    return cuda->error(status, fmt::format("cannot give '{}' {} bytes of dynamic shared memory", launch.entry,
                                           launch.sharedBytes));
  return function;
}

Result<CUdeviceptr> CudaProgram::findReportBuffer(CUmodule module) const {
  CUdeviceptr address = 0;
  size_t bytes = 0;
  CUresult status =
      cuda->driver.cuModuleGetGlobal(&address, &bytes, module, std::string(reportBufferName).c_str());
  if (status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_FOUND)
    return cuda->error(status, fmt::format("cannot find the buffer for reports of '{}'", content.name));
  auto found = status == CUDA_SUCCESS ? std::optional(bytes) : std::nullopt;
  if (Result<void> valid = checkReportBuffer(content.name, found); !valid)
    return valid.error();
  return address;
}

Result<std::vector<std::byte>> CudaProgram::readVariable(size_t variant, std::string_view name) const {
  CurrentContext scope(*cuda);
  CUdeviceptr address = 0;
  size_t size = 0;
  CUresult status = modules[variant] ? cuda->driver.cuModuleGetGlobal(&address, &size, modules[variant],
                                                                      std::string(name).c_str())
                                     : CUDA_ERROR_NOT_FOUND;
  std::vector<std::byte> bytes(status == CUDA_SUCCESS ? size : 0);
  if (status == CUDA_SUCCESS)
    status = cuda->driver.cuMemcpyDtoH(bytes.data(), address, size);
  if (status != CUDA_SUCCESS)
    return cuda->error(status, fmt::format("cannot read the variable '{}' of '{}'", name, content.name),
                       ErrorKind::execution);
  return bytes;
}

Result<void> CudaProgram::takeReports(Reports &reports) const {
  CurrentContext scope(*cuda);
  for (const ReportBuffer &buffer : reportBuffers) {
    std::vector<std::byte> bytes(sizeof(ReportBufferHeader));
    CUresult status = cuda->driver.cuMemcpyDtoH(bytes.data(), buffer.address, bytes.size());
    ReportBufferHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (status == CUDA_SUCCESS && header.records > 0) {
      bytes.resize(sizeof(header) + std::min(header.records, reportCapacity) * sizeof(ReportRecord));
      status = cuda->driver.cuMemcpyDtoH(bytes.data(), buffer.address, bytes.size());
      constexpr ReportBufferHeader empty;
      if (status == CUDA_SUCCESS)
        status = cuda->driver.cuMemcpyHtoD(buffer.address, &empty, sizeof(empty));
    }
    if (status != CUDA_SUCCESS)
      return cuda->error(status, fmt::format("cannot read what '{}' reports", content.name),
                         ErrorKind::execution);
    reports.append(readReports(content.variants[buffer.variant].reports, bytes));
  }
  return {};
}
