// SPDX-License-Identifier: Apache-2.0
/// \file
/// What ranks in processes of their own need of a GPU, on one.
#include "runtime/cuda/CudaPeers.h"

#include "runtime/cuda/CudaContext.h"
#include "runtime/cuda/CudaDevice.h"
#include "test/Expect.h"

#include <array>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;
using Catch::Matchers::Contains;
using Kind = FlagOperation::Kind;

TEST_CASE("a handle has the place of memory in its allocation", "[cuda][processes]") {
  const std::unique_ptr<Device> device = expectValue(createCudaDevice(0));
  auto *memory = static_cast<std::byte *>(expectValue(device->allocate(4096)));
  const MemoryHandle whole = expectValue(exportMemory(0, memory)),
                     part = expectValue(exportMemory(0, memory + 1000));
  CHECK(part.allocation == whole.allocation);
  CHECK(part.offset == whole.offset + 1000);
  expectSuccess(device->free(memory));
}

TEST_CASE("other memory has no handle, and what is no handle no memory", "[cuda][processes]") {
  int ofHost = 0;
  Result<MemoryHandle> handle = exportMemory(0, &ofHost);
  REQUIRE_FALSE(handle);
  CHECK(handle.error().kind == ErrorKind::invalidArgument);
  CHECK_THAT(
      handle.error().message,
      Contains("expected memory of GPU 0 that cuMemAlloc or cudaMalloc has allocated, because no other "
               "has a handle, but got 0x"));
  Result<void *> memory = importMemory(0, {});
  REQUIRE_FALSE(memory);
  CHECK_THAT(memory.error().message, Contains("cannot reach another process's memory from GPU 0"));
  CHECK_THAT(closeMemory(0, {}, &ofHost).error().message,
             Contains("expected the address of another process's memory, but got 0x"));
}

TEST_CASE("a stream waits for a flag, which can be read meanwhile", "[cuda][processes]") {
  const std::unique_ptr<Device> device = expectValue(createCudaDevice(0));
  const std::shared_ptr<const CudaContext> cuda = expectValue(CudaContext::create(0));
  CurrentContext scope(*cuda);
  CUstream stream = nullptr;
  REQUIRE(cuda->driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  auto *words = static_cast<uint32_t *>(expectValue(device->allocate(64)));
  const std::unique_ptr<StreamFlags> flags = expectValue(createCudaFlags(0));
  CHECK(flags->ordinal() == 0);
  expectSuccess(flags->write(1, std::array{words}));
  expectSuccess(flags->write(2, std::array{words + 1, words + 2}));
  expectSuccess(
      flags->enqueue(std::array{FlagOperation{Kind::write, words, 3}, FlagOperation{Kind::wait, words + 1, 4},
                                FlagOperation{Kind::write, words + 1, 5}},
                     {stream}));
  while (expectValue(flags->read(words, 2)) != std::vector<uint32_t>{3, 2})
    ;
  CHECK_FALSE(expectValue(flags->isDone({stream})));
  expectSuccess(flags->write(4, std::array{words + 1}));
  expectSuccess(device->synchronize({stream}));
  CHECK(expectValue(flags->isDone({stream})));
  CHECK(expectValue(flags->read(words, 2)) == std::vector<uint32_t>{3, 5});
  REQUIRE(cuda->driver.cuStreamDestroy(stream) == CUDA_SUCCESS);
  expectSuccess(device->free(words));
}
