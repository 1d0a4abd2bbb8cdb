// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ranks that are threads, on the driver without a GPU and its NCCL (test/ranks): what they share by the C
/// interface.
#include "tools/libtlc/tlc.h"

#include <array>
#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <string>
#include <thread>

namespace {

/// Memory of the driver without a GPU.
void *allocate(size_t bytes) {
  using LookUp = int(const char *, void **, int, uint64_t, void *);
  using Allocate = int(void **, size_t);
  auto *lookUp =
      reinterpret_cast<LookUp *>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2"));
  void *function = nullptr, *address = nullptr;
  lookUp("cuMemAlloc", &function, 3020, 0, nullptr);
  reinterpret_cast<Allocate *>(function)(&address, bytes);
  return address;
}

/// What a rank does, and each status and error that it sees.
std::string runRank(int rank, const void *id) {
  std::string said;
  auto say = [&](int status) {
    said += std::to_string(status) + (status == TLC_OK ? "" : std::string(" ") + tlc_last_error()) + "\n";
  };
  tlc_communicator *communicator = tlc_communicator_create(nullptr, rank, 2, id, 10);
  if (!communicator)
    return tlc_last_error();
  say(tlc_communicator_check_peers(communicator));
  tlc_group *group = tlc_communicator_group(communicator);
  if (!group)
    return tlc_last_error();
  void *memory = allocate(4096);
  say(tlc_group_share(group, memory, 4096));
  say(tlc_group_share(group, memory, 4096));
  say(tlc_group_synchronize(group, nullptr, 1));
  say(tlc_group_unshare(group, memory));
  auto *numbers = static_cast<float *>(memory);
  const int64_t shape[] = {3}, strides[] = {1};
  const tlc_tensor tensors[] = {{numbers, TLC_F32, 1, shape, strides},
                                {numbers + 64, TLC_F32, 1, shape, strides}};
  size_t bytes = 1;
  say(tlc_communicator_workspace(communicator, "all_reduce", tensors, 2, &bytes));
  for (int i = 0; i < 3; ++i)
    numbers[i] = float(10 * i + rank);
  say(tlc_communicator_launch(communicator, "all_reduce", tensors, 2, nullptr, bytes, nullptr));
  say(tlc_communicator_synchronize(communicator, nullptr));
  for (int i = 0; i < 3; ++i)
    said += std::to_string(int(numbers[64 + i])) + "\n";
  int faster = 0;
  say(tlc_communicator_is_faster(communicator, "all_reduce", tensors, 2, &faster));
  said += std::to_string(faster) + "\n";
  say(tlc_communicator_is_faster(communicator, "all_reduce", tensors, 2, nullptr));
  say(tlc_communicator_launch(communicator, "gemm", tensors, 2, nullptr, bytes, nullptr));
  say(tlc_communicator_workspace(communicator, "all_reduce", tensors, 2, nullptr));
  say(tlc_group_unshare(group, memory));
  tlc_group_release(group);
  tlc_communicator_release(communicator);
  return said;
}

} // namespace

TEST_CASE("threads that NCCL connects share memory", "[.host-driver]") {
  CHECK(tlc_nccl_version(nullptr) == 21903);
  std::array<char, TLC_NCCL_ID_BYTES> id = {};
  REQUIRE(tlc_nccl_create_id(nullptr, id.data()) == TLC_OK);
  std::array<std::string, 2> said;
  std::thread other([&] { said[1] = runRank(1, id.data()); });
  said[0] = runRank(0, id.data());
  other.join();
  CHECK_THAT(said[0],
             Catch::StartsWith("0\n0\n1 rank 0: expected memory that the group does not have yet, but the "
                               "4096 bytes at 0x"));
  CHECK_THAT(said[0], Catch::Contains("\n0\n0\n0\n0\n0\n1\n21\n41\n0\n1\n"
                                      "1 expected room for the answer, but got a null pointer\n"
                                      "1 expected a kernel of ranks among all_reduce, all_gather_gemm, "
                                      "gemm_reduce_scatter, gemm_all_reduce, but got 'gemm'\n"
                                      "1 expected room for a size, but got a null pointer\n"
                                      "1 rank 0: expected the address of memory that is shared, but got 0x"));
  CHECK(said[0] == said[1]);
}

TEST_CASE("a rank whose others never come gives up after the limit", "[.host-driver]") {
  std::array<char, TLC_NCCL_ID_BYTES> id = {};
  REQUIRE(tlc_nccl_create_id(nullptr, id.data()) == TLC_OK);
  CHECK(tlc_communicator_create(nullptr, 1, 3, id.data(), 0.1) == nullptr);
  CHECK(tlc_last_error() ==
        std::string("rank 1: NCCL 2.19.3 cannot make a communicator: not all of 3 ranks have "
                    "come within 0.1 s"));
  id = {};
  CHECK(tlc_communicator_create(nullptr, 1, 3, id.data(), 0.1) == nullptr);
  CHECK(tlc_last_error() ==
        std::string("rank 1: NCCL 2.19.3 cannot make a communicator: unhandled system error: no such id"));
}
