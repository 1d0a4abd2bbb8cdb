// SPDX-License-Identifier: Apache-2.0
/// \file
/// The C interface: what it says about bad arguments, with or without a GPU.
#include "tools/libtlc/Boundary.h"
#include "tools/libtlc/tlc.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string errorOfCompile(const char *kernel, const char *name, const char *value,
                           const char *target = nullptr) {
  CHECK(tlc_compile(kernel, &name, &value, 1, target) == nullptr);
  return tlc_last_error();
}

} // namespace

TEST_CASE("the library has the version of its header", "[libtlc]") {
  CHECK(tlc_version() == TLC_INTERFACE_VERSION);
}

TEST_CASE("element types have DLPack's numbers", "[libtlc]") {
  CHECK(tlc_element_of_dlpack(/*kDLInt*/ 0, 32) == TLC_I32);
  CHECK(tlc_element_of_dlpack(/*kDLBfloat*/ 4, 16) == TLC_BF16);
  CHECK(tlc_element_of_dlpack(/*kDLFloat8_e4m3fn*/ 10, 8) == TLC_E4M3);
  CHECK(tlc_element_of_dlpack(/*kDLComplex*/ 5, 64) == -TLC_INVALID_ARGUMENT);
  CHECK(std::string(tlc_last_error()) == "expected a DLPack type of tensors, but got code 5 with 64 bits");
}

TEST_CASE("compiling says what does not exist", "[libtlc]") {
  CHECK(errorOfCompile("gem", "m", "64") ==
        "expected one of the kernels gemm, softmax, attention_fwd, "
        "attention_fwd_fp8, attention_bwd, attention_decode, all_reduce, "
        "all_gather_gemm, gemm_reduce_scatter, gemm_all_reduce, "
        "moe_dispatch, moe_combine, attention_fwd_sharded, attention_bwd_sharded, but got "
        "'gem'; the nearest name is 'gemm'; 'tlc list' shows those of the cookbook, too");
  CHECK(errorOfCompile("gemm", "layout", "rc") ==
        "expected parameter 'layout' of kernel 'gemm' to be tn | nn | tt | nt, but got 'rc'");
  CHECK_THAT(errorOfCompile("gemm", "rows", "64"), Catch::EndsWith("but got 'rows'"));
  CHECK_THAT(errorOfCompile("gemm", "m", "64", "sm_20"),
             Catch::StartsWith("expected a target among") && Catch::EndsWith("but got 'sm_20'"));
}

TEST_CASE("null pointers and negative numbers are errors, not crashes", "[libtlc]") {
  CHECK(errorOfCompile(nullptr, "m", "64") == "expected the name of a kernel, but got a null pointer");
  CHECK(errorOfCompile("gemm", nullptr, "64") ==
        "parameter 0: expected a name and a value, but got a null pointer");
  CHECK(tlc_compile("gemm", nullptr, nullptr, 2, nullptr) == nullptr);
  CHECK(tlc_last_error() == std::string("expected names and values of 2 parameters, but got a null pointer"));
  CHECK(tlc_compile("gemm", nullptr, nullptr, -1, nullptr) == nullptr);
  CHECK(tlc_last_error() ==
        std::string("expected names and values of -1 parameters, but got a negative number"));
  CHECK(tlc_workspace(nullptr, nullptr, 0, nullptr, 0) == -TLC_INVALID_ARGUMENT);
  CHECK(tlc_last_error() == std::string("expected a program, but got a null pointer"));
  CHECK(tlc_launch(nullptr, nullptr, 0, nullptr, 0, nullptr, 0, nullptr) == TLC_INVALID_ARGUMENT);
  CHECK(tlc_bind(nullptr, nullptr, 0, nullptr, 0, nullptr, 0) == nullptr);
  CHECK(std::string(tlc_last_error()) == "expected a program, but got a null pointer");
  CHECK(tlc_bound_set_address(nullptr, 0, nullptr) == TLC_INVALID_ARGUMENT);
  CHECK(std::string(tlc_last_error()) == "expected a bound launch, but got a null pointer");
  CHECK(tlc_bound_launch(nullptr, nullptr) == TLC_INVALID_ARGUMENT);
  tlc_bound_release(nullptr);
  tlc_release(nullptr);
}

TEST_CASE("ranks that are not there are errors, not crashes", "[libtlc]") {
  auto errorOf = [](int status) {
    CHECK(std::abs(status) == TLC_INVALID_ARGUMENT);
    return std::string(tlc_last_error());
  };
  CHECK(errorOf(tlc_connect(nullptr, 2)) ==
        "expected an array of programs, but got a null pointer or a negative number");
  tlc_program *none[] = {nullptr};
  CHECK(errorOf(tlc_connect(none, 1)) == "rank 0: expected a program, but got a null pointer");
  CHECK(errorOf(tlc_rank_workspace(nullptr, 0, 1, nullptr, 0, nullptr, 0)) ==
        "expected a program, but got a null pointer");
  CHECK(errorOf(tlc_launch_ranks(nullptr, 2, 0, nullptr, 0, 0)) ==
        "expected an array of 1 to 8 ranks, but got a null pointer");
  const tlc_rank ranks[2] = {};
  CHECK(errorOf(tlc_launch_ranks(ranks, 9, 0, nullptr, 0, 0)) ==
        "expected an array of 1 to 8 ranks, but got 9");
  CHECK(errorOf(tlc_launch_ranks(ranks, 2, 0, nullptr, 0, 0)) ==
        "rank 0: expected a program, but got a null pointer");
}

TEST_CASE("groups of ranks and memory of processes that are not there are errors, not crashes", "[libtlc]") {
  auto errorOf = [](int status) {
    CHECK(std::abs(status) == TLC_INVALID_ARGUMENT);
    return std::string(tlc_last_error());
  };
  auto errorOfGroup = [](int rank, int ranks, void *const *flags, size_t bytes) {
    CHECK(tlc_group_create(rank, ranks, flags, bytes) == nullptr);
    return std::string(tlc_last_error());
  };
  alignas(4) char memory[2][TLC_GROUP_FLAG_BYTES];
  void *const flags[] = {memory[0], memory[1]}, *const one[] = {memory[0], nullptr},
              *const odd[] = {memory[0], memory[1] + 1};
  CHECK(errorOfGroup(2, 2, flags, sizeof(memory[0])) ==
        "expected 1 to 8 ranks and the number of one of them, but got rank 2 of 2");
  CHECK(errorOfGroup(-1, 2, flags, sizeof(memory[0])) ==
        "expected 1 to 8 ranks and the number of one of them, but got rank -1 of 2");
  CHECK(errorOfGroup(0, 9, flags, sizeof(memory[0])) ==
        "expected 1 to 8 ranks and the number of one of them, but got rank 0 of 9");
  CHECK(errorOfGroup(0, 2, nullptr, sizeof(memory[0])) ==
        "expected addresses on 2 ranks, but got a null pointer");
  CHECK(errorOfGroup(0, 2, one, sizeof(memory[0])) ==
        "rank 1: expected the address of 128 bytes, but got null");
  CHECK(errorOfGroup(0, 2, flags, 127) == "expected 128 bytes for the flags of a rank, but got 127");
  CHECK_THAT(errorOfGroup(0, 2, odd, sizeof(memory[0])),
             Catch::StartsWith("rank 1: expected flags at a multiple of 4, but got 0x"));

  CHECK(errorOf(tlc_group_add(nullptr, flags, 1)) == "expected a group, but got a null pointer");
  CHECK(errorOf(tlc_group_remove(nullptr, memory)) == "expected a group, but got a null pointer");
  CHECK(errorOf(tlc_group_launch(nullptr, nullptr, nullptr, 0, nullptr, 0, nullptr, 0, nullptr)) ==
        "expected a group, but got a null pointer");
  CHECK(errorOf(tlc_group_synchronize(nullptr, nullptr, 1)) == "expected a group, but got a null pointer");
  tlc_group_release(nullptr);
  CHECK(errorOf(tlc_symmetric_arguments(nullptr, nullptr, 0)) ==
        "expected a program, but got a null pointer");

  tlc_memory_handle handle = {};
  void *address = nullptr;
  for (int status : {tlc_export_memory(memory, nullptr), tlc_import_memory(nullptr, &address),
                     tlc_import_memory(&handle, nullptr), tlc_close_memory(nullptr, memory)})
    CHECK(errorOf(status) == "expected a handle and room for what is asked for, but got a null pointer");
}

TEST_CASE("communicators that are not there, and an NCCL that is not, are errors, not crashes", "[libtlc]") {
  auto errorOf = [](int status, int expected = TLC_INVALID_ARGUMENT) {
    CHECK(std::abs(status) == expected);
    return std::string(tlc_last_error());
  };
  auto errorOfCreate = [](const char *library, int rank, int ranks, const void *id) {
    CHECK(tlc_communicator_create(library, rank, ranks, id, 10) == nullptr);
    return std::string(tlc_last_error());
  };
  const char *nowhere = "/nowhere/libnccl.so.2",
             *missing = "expected NCCL 2.19 or later, but cannot open /nowhere/";
  char id[TLC_NCCL_ID_BYTES] = {};
  CHECK_THAT(errorOf(tlc_nccl_version(nowhere), TLC_ENVIRONMENT), Catch::StartsWith(missing));
  CHECK_THAT(errorOf(tlc_nccl_create_id(nowhere, id), TLC_ENVIRONMENT), Catch::StartsWith(missing));
  CHECK(errorOf(tlc_nccl_create_id(nowhere, nullptr)) ==
        "expected 128 bytes of an id, but got a null pointer");
  CHECK_THAT(errorOfCreate(nowhere, 1, 2, id), Catch::StartsWith(std::string("rank 1: ") + missing));
  CHECK(errorOfCreate(nowhere, 1, 2, nullptr) == "expected 128 bytes of an id, but got a null pointer");
  CHECK(errorOf(tlc_communicator_check_peers(nullptr)) == "expected a communicator, but got a null pointer");
  CHECK(tlc_communicator_group(nullptr) == nullptr);
  CHECK(std::string(tlc_last_error()) == "expected a communicator, but got a null pointer");
  size_t bytes = 0;
  CHECK(errorOf(tlc_communicator_workspace(nullptr, "all_reduce", nullptr, 0, &bytes)) ==
        "expected a communicator, but got a null pointer");
  CHECK(errorOf(tlc_communicator_launch(nullptr, "all_reduce", nullptr, 0, nullptr, 0, nullptr)) ==
        "expected a communicator, but got a null pointer");
  int faster = 0;
  CHECK(errorOf(tlc_communicator_is_faster(nullptr, "all_reduce", nullptr, 0, &faster)) ==
        "expected a communicator, but got a null pointer");
  CHECK(errorOf(tlc_communicator_synchronize(nullptr, nullptr)) ==
        "expected a communicator, but got a null pointer");
  CHECK(errorOf(tlc_group_share(nullptr, id, 1)) == "expected a group, but got a null pointer");
  CHECK(errorOf(tlc_group_unshare(nullptr, id)) == "expected a group, but got a null pointer");
  tlc_communicator_release(nullptr);
}

TEST_CASE("options of a compilation that are none are errors, not crashes", "[libtlc]") {
  auto errorOf = [](const tlc_compile_options *options) {
    CHECK(tlc_compile_with("gemm", nullptr, nullptr, 0, options) == nullptr);
    return std::string(tlc_last_error());
  };
  tlc_compile_options options = {sizeof(options), nullptr, 0, nullptr, nullptr};
  CHECK(errorOf(nullptr) == "expected options, but got a null pointer");
  for (double limit : {-1.0, 1e-4, 86401.0}) {
    options.wait_limit = limit;
    CHECK_THAT(errorOf(&options),
               Catch::StartsWith("expected wait_limit from 0.001 to 86400 seconds, but got "));
  }
  options = {sizeof(options), "sm_1", 0, nullptr, nullptr};
  CHECK_THAT(errorOf(&options),
             Catch::StartsWith("expected a target among ") && Catch::EndsWith(", but got 'sm_1'"));
  // Versions 6 and 7 end before the device.
  options = {offsetof(tlc_compile_options, device), "sm_1", 0, reinterpret_cast<tlc_device *>(1),
             reinterpret_cast<const tlc_file *>(1)};
  CHECK_THAT(errorOf(&options), Catch::StartsWith("expected a target among "));
  options.size = 8;
  CHECK(errorOf(&options) ==
        "expected options of 40 bytes, as version 13 of the interface has them, or of 24, but got 8");
}

TEST_CASE("a cache that cannot be, and lists with mistakes, are errors, not crashes", "[libtlc]") {
  const auto errorOf = [](int status) {
    CHECK(status == TLC_INVALID_ARGUMENT);
    return std::string(tlc_last_error());
  };
  tlc_cache_options options = {sizeof(options), nullptr, 0, 3, nullptr, nullptr, 0};
  CHECK(errorOf(tlc_set_cache(nullptr)) == "expected options, but got a null pointer");
  CHECK(errorOf(tlc_set_cache(&options)) == "expected a tlc_cache_use from 0 to 2, but got 3");
  options.size = 8;
  CHECK(errorOf(tlc_set_cache(&options)) ==
        "expected options of 56 bytes, as version 13 of the interface has them, or of 48, but got 8");
  CHECK(errorOf(tlc_prewarm(nullptr, nullptr)) == "expected lines of programs, but got a null pointer");
  CHECK_THAT(errorOf(tlc_prewarm("", "sm_1")), Catch::EndsWith(", but got 'sm_1'"));
  CHECK(errorOf(tlc_prewarm("gemm\nsoftmax rows", "sm_90a")) ==
        "line 2: expected name=value, but got 'rows'");
}

TEST_CASE("options of the cache of version 8 are taken", "[libtlc]") {
  tlc_cache_options options = {
      offsetof(tlc_cache_options, ptx_only), nullptr, 0, TLC_CACHE_MEMORY, nullptr, nullptr, 1};
  CHECK(tlc_set_cache(&options) == TLC_OK);
  options = {sizeof(options), nullptr, 0, TLC_CACHE_USUAL, nullptr, nullptr, 0};
  CHECK(tlc_set_cache(&options) == TLC_OK);
}

TEST_CASE("an error has its source line as data", "[libtlc]") {
  tlc_error_info info = {};
  info.size = sizeof(info);
  const char *names[] = {"bm", "bn", "bk", "stages"}, *values[] = {"256", "256", "256", "8"};
  tlc_device *device = tlc_device_emulator(nullptr);
  REQUIRE(device);
  const tlc_compile_options options = {sizeof(options), nullptr, 0, device, nullptr};
  CHECK_FALSE(tlc_compile_with("gemm", names, values, 4, &options));
  tlc_device_release(device);
  const std::string text = tlc_last_error();
  REQUIRE(tlc_last_error_info(&info) == TLC_OK);
  CHECK(info.status == tlc_last_status());
  CHECK(info.status == TLC_INVALID_ARGUMENT);
  CHECK(info.text == text);
  REQUIRE(info.file);
  CHECK_THAT(info.file, Catch::EndsWith("Gemm.cpp"));
  CHECK_THAT(text, Catch::Contains("\n" + std::string(info.file) + ":" + std::to_string(info.line) + ":" +
                                   std::to_string(info.column) + ": "));
  CHECK(info.line > 0);
  CHECK(info.column > 0);

  CHECK(tlc_prewarm("softmax rows", "sm_90a") == TLC_INVALID_ARGUMENT);
  REQUIRE(tlc_last_error_info(&info) == TLC_OK);
  CHECK(std::string(info.text) == "line 1: expected name=value, but got 'rows'");
  CHECK(info.file == nullptr);
  CHECK(info.line == 0);
  CHECK(info.column == 0);
  info.size = 8;
  CHECK(tlc_last_error_info(&info) == TLC_INVALID_ARGUMENT);
  CHECK(std::string(tlc_last_error()) ==
        "expected room for 40 bytes, as version 13 of the interface has them, but got 8");
  CHECK(tlc_last_error_info(nullptr) == TLC_INVALID_ARGUMENT);
}

TEST_CASE("programs come into the cache without a GPU, and its owner is told", "[libtlc]") {
  std::string pattern = std::filesystem::temp_directory_path() / "tlc-test-XXXXXX";
  REQUIRE(mkdtemp(pattern.data()));
  std::vector<std::string> events;
  const auto onEvent = [](const tlc_cache_event *event, void *user) {
    static_cast<std::vector<std::string> *>(user)->push_back(
        std::to_string(event->kind) + " " + event->program + " " + event->target +
        (event->size == sizeof(*event) && event->milliseconds >= 0 && event->code == TLC_CODE_PTX
             ? ""
             : " wrong"));
  };
  tlc_cache_options options = {sizeof(options), pattern.c_str(), 0, TLC_CACHE_HITS_ONLY, onEvent, &events, 1};
  const char *line = "softmax rows=8 columns=64 # one\n";
  REQUIRE(tlc_set_cache(&options) == TLC_OK);
  CHECK(tlc_prewarm(line, "sm_90a") == TLC_ENVIRONMENT);
  CHECK_THAT(tlc_last_error(),
             Catch::EndsWith("makes it from the line 'softmax rows=8 columns=64 --target=sm_90a'"));
  options.use = TLC_CACHE_USUAL;
  REQUIRE(tlc_set_cache(&options) == TLC_OK);
  CHECK(tlc_prewarm(line, "sm_90a") == TLC_OK);
  CHECK(tlc_prewarm(line, "sm_90a") == TLC_OK);
  REQUIRE(tlc_set_cache(&options) == TLC_OK); // whose memory is empty
  CHECK(tlc_prewarm(line, "sm_90a") == TLC_OK);
  CHECK(events == std::vector<std::string>{"0 softmax sm_90a", "1 softmax sm_90a", "2 softmax sm_90a"});
  options = {sizeof(options), nullptr, 0, TLC_CACHE_USUAL, nullptr, nullptr, 0};
  REQUIRE(tlc_set_cache(&options) == TLC_OK);
  std::filesystem::remove_all(pattern);
}

TEST_CASE("equal requests share what is loaded until the last is released", "[.host-driver]") {
  std::vector<int> events;
  const auto onEvent = [](const tlc_cache_event *event, void *user) {
    static_cast<std::vector<int> *>(user)->push_back(event->kind);
  };
  tlc_cache_options options = {sizeof(options), nullptr, 0, TLC_CACHE_MEMORY, onEvent, &events, 0};
  REQUIRE(tlc_set_cache(&options) == TLC_OK);
  const char *names[] = {"rows", "columns"}, *values[] = {"8", "64"};
  const auto compile = [&] {
    tlc_program *program = tlc_compile("softmax", names, values, 2, "sm_90a");
    INFO(tlc_last_error());
    REQUIRE(program);
    return program;
  };
  tlc_program *first = compile(), *second = compile();
  CHECK(events == std::vector<int>{TLC_CACHE_COMPILED, TLC_CACHE_LOADED, TLC_CACHE_FOUND_IN_MEMORY});
  tlc_release(first);
  tlc_release(compile());
  CHECK(events.back() == TLC_CACHE_FOUND_IN_MEMORY);
  tlc_release(second);
  tlc_release(compile());
  CHECK(events.back() == TLC_CACHE_LOADED);
  options = {sizeof(options), nullptr, 0, TLC_CACHE_USUAL, nullptr, nullptr, 0};
  REQUIRE(tlc_set_cache(&options) == TLC_OK);
}

TEST_CASE("memory of the host has no handle, and without a GPU a group says what is missing", "[libtlc]") {
  alignas(4) char memory[2][TLC_GROUP_FLAG_BYTES];
  void *const flags[] = {memory[0], memory[1]};
  tlc_memory_handle handle = {};
  CHECK(tlc_export_memory(memory, &handle) != TLC_OK);
  CHECK(std::string(tlc_last_error()) != "");
  CHECK(tlc_group_create(0, 2, flags, sizeof(memory[0])) == nullptr);
  CHECK(std::string(tlc_last_error()) != "");
}

TEST_CASE("values that a kernel is not made for are errors, not crashes", "[libtlc]") {
  CHECK(errorOfCompile("attention_fwd", "d", "auto") ==
        "expected parameter 'd' of kernel 'attention_fwd' to be 8 to 576 in steps of 8, but got 'auto'");
  CHECK(errorOfCompile(std::string(1'000'000, 'x').c_str(), "d", "64").size() < 600);
}

TEST_CASE("what is thrown becomes a status with a message", "[libtlc]") {
  std::string reason;
  auto statusOf = [&](auto body) {
    return tlc::guarded(
        [&]() -> tlc::Result<void> {
          body();
          return {};
        },
        [&](const char *text) { reason = text; });
  };
  CHECK(statusOf([] {}) == TLC_OK);
  CHECK(reason.empty());
  CHECK(statusOf([] { throw std::runtime_error("no luck"); }) == TLC_INTERNAL);
  CHECK(reason == "no luck");
  CHECK(statusOf([] { throw std::bad_alloc(); }) == TLC_ENVIRONMENT);
  CHECK(reason == "out of memory");
  CHECK(statusOf([] { throw 1; }) == TLC_INTERNAL);
  CHECK(reason == "something unknown was thrown");
  auto failing = [] { return tlc::Result<void>(tlc::Error{tlc::ErrorKind::execution, "trap"}); };
  CHECK(tlc::guarded(failing, [&](const char *text) { reason = text; }) == TLC_EXECUTION);
  CHECK(reason == "trap");
}

TEST_CASE("a parameter that is given twice is an error", "[libtlc]") {
  const char *names[] = {"m", "m"}, *values[] = {"64", "128"};
  CHECK(tlc_compile("gemm", names, values, 2, nullptr) == nullptr);
  CHECK(tlc_last_error() == std::string("expected each parameter once, but 'm' is given twice"));
}

TEST_CASE("each thread has its own last error", "[libtlc]") {
  errorOfCompile("gem", "m", "64");
  std::string other;
  std::thread([&] { other = tlc_last_error(); }).join();
  CHECK(other.empty());
}

TEST_CASE("without a GPU compiling says what is missing; with one, launching checks its arguments",
          "[libtlc]") {
  const char *names[] = {"m", "n", "k"}, *values[] = {"64", "64", "64"};
  tlc_program *program = tlc_compile("gemm", names, values, 3, nullptr);
  if (!program) {
    CHECK(std::string(tlc_last_error()) != "");
    return;
  }
  const int64_t shape[] = {64, 64}, strides[] = {64, 1};
  tlc_tensor tensors[] = {{nullptr, TLC_BF16, 2, shape, strides},
                          {nullptr, TLC_BF16, 2, shape, strides},
                          {nullptr, TLC_BF16, 2, shape, strides}};
  CHECK(tlc_workspace(program, tensors, 3, nullptr, 0) >= 0);
  CHECK(tlc_workspace(program, tensors, 2, nullptr, 0) == -TLC_INVALID_ARGUMENT);
  CHECK(tlc_launch(program, tensors, 3, nullptr, 0, nullptr, 0, nullptr) == TLC_INVALID_ARGUMENT);
  tensors[1].element = 99;
  CHECK(tlc_launch(program, tensors, 3, nullptr, 0, nullptr, 0, nullptr) == TLC_INVALID_ARGUMENT);
  CHECK_THAT(tlc_last_error(), Catch::StartsWith("tensor 1: expected a tlc_element"));
  tlc_release(program);
}
