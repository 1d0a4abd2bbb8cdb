// SPDX-License-Identifier: Apache-2.0
/// \file
/// Machine code of an artifact's variants, with a driver that notes what it loads.
#include "test/unit/device/CudaFixture.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;

namespace {

std::vector<std::string> loaded; ///< the begin of each
bool refusesCubins = false;

std::shared_ptr<const CudaContext> context() {
  loaded.clear();
  refusesCubins = false;
  Driver driver = notingDriver();
  driver.cuModuleLoadDataEx = [](CUmodule *, const void *data, unsigned, CUjit_option *, void **) {
    loaded.push_back(std::string(static_cast<const char *>(data), 5));
    return refusesCubins && loaded.back() == "cubin" ? CUDA_ERROR_INVALID_IMAGE : CUDA_SUCCESS;
  };
  return std::make_shared<const CudaContext>(driver, 0, 1, 0, nullptr);
}

Artifact artifact(std::string first = "", std::string second = "") {
  Artifact artifact = sampleArtifact();
  artifact.variants[0].ptx = ".version aligned";
  artifact.variants[1].ptx = ".version general";
  artifact.variants[0].cubin = std::move(first);
  artifact.variants[1].cubin = std::move(second);
  return artifact;
}

ProgramCode codeOfLoaded(std::shared_ptr<const CudaContext> context, Artifact artifact) {
  Result<std::shared_ptr<const CudaProgram>> program =
      CudaProgram::load(std::move(context), std::move(artifact));
  REQUIRE(program);
  return (*program)->code();
}

} // namespace

TEST_CASE("the driver loads machine code instead of PTX where there is some", "[device][cubin]") {
  CHECK(codeOfLoaded(context(), artifact("cubin of the first")) == ProgramCode::ptx);
  CHECK(loaded == std::vector<std::string>{"cubin", ".vers"});
  CHECK(codeOfLoaded(context(), artifact("cubin of the first", "cubin of the second")) == ProgramCode::cubin);
  CHECK(loaded == std::vector<std::string>{"cubin", "cubin"});
  CHECK(codeOfLoaded(context(), artifact()) == ProgramCode::ptx);
  CHECK(loaded == std::vector<std::string>{".vers", ".vers"});
}

TEST_CASE("the driver compiles the PTX where it refuses the machine code", "[device][cubin]") {
  const auto refusing = context();
  refusesCubins = true;
  CHECK(codeOfLoaded(refusing, artifact("cubin of the first", "cubin of the second")) == ProgramCode::ptx);
  CHECK(loaded == std::vector<std::string>{"cubin", ".vers", "cubin", ".vers"});
}

TEST_CASE("machine code without PTX is loaded, or the error says that it has none", "[device][cubin]") {
  Artifact alone = artifact("cubin of the first", "cubin of the second");
  for (Variant &variant : alone.variants)
    variant.ptx.clear();
  CHECK(CudaProgram::load(context(), alone));
  CHECK(loaded == std::vector<std::string>{"cubin", "cubin"});
  const auto refusing = context();
  refusesCubins = true;
  Result<std::shared_ptr<const CudaProgram>> program = CudaProgram::load(refusing, alone);
  REQUIRE_FALSE(program);
  CHECK(program.error().message.starts_with(
      "cannot load the machine code of 'gemm', which has no PTX besides: "));
}
