// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of archives are loaded once on each device, whatever number of threads call them first.
#include "runtime/aot/KernelState.h"

#include "runtime/artifact/Serialize.h"
#include "test/unit/artifact/SampleArtifact.h"

#include <catch2/catch.hpp>
#include <thread>

using namespace tlc;
using namespace tlc::aot;

namespace {

class NoProgram final : public LoadedProgram {
public:
  const Artifact &artifact() const override { return content; }

private:
  Artifact content = test::sampleArtifact();
};

std::vector<std::byte> sampleBytes() {
  return aot::serialize({"fa_kernel", {{"sm_90a", tlc::serialize(test::sampleArtifact())}}});
}

/// It stays, as those of archives do, and with it what the runtime keeps of it.
tlc_aot_kernel &kernelOf(const std::vector<std::byte> &bytes) {
  static std::vector<std::unique_ptr<tlc_aot_kernel>> kernels;
  kernels.push_back(std::make_unique<tlc_aot_kernel>(
      tlc_aot_kernel{kernelVersion, "fa_kernel", bytes.data(), bytes.size(), nullptr}));
  return *kernels.back();
}

Result<std::unique_ptr<LoadedKernel>> loadNothing(const KernelView &) {
  return std::make_unique<LoadedKernel>(nullptr, std::make_shared<NoProgram>());
}

} // namespace

TEST_CASE("threads that call a kernel at once load it once", "[aot][unit]") {
  const std::vector<std::byte> bytes = sampleBytes();
  for (int repetition = 0; repetition != 20; ++repetition) {
    tlc_aot_kernel &kernel = kernelOf(bytes);
    std::atomic<int> loads = 0;
    std::array<LoadedKernel *, 8> found = {};
    std::vector<std::thread> threads;
    for (LoadedKernel *&each : found)
      threads.emplace_back([&] {
        each = *(*KernelState::of(&kernel))->on(3, [&](const KernelView &image) {
          ++loads;
          return loadNothing(image);
        });
      });
    for (std::thread &thread : threads)
      thread.join();
    CHECK(loads == 1);
    CHECK(std::ranges::count(found, found[0]) == 8);
    const KernelState *const same = *KernelState::of(&kernel);
    CHECK(same == *KernelState::of(&kernel));
    LoadedKernel *const other = *(*KernelState::of(&kernel))->on(4, loadNothing);
    CHECK(other != found[0]);
    LoadedKernel *const far = *(*KernelState::of(&kernel))->on(1000, loadNothing);
    CHECK(far != other);
    CHECK(*(*KernelState::of(&kernel))->on(1000, loadNothing) == far);
  }
}

TEST_CASE("a kernel that cannot be loaded is loaded by a later call", "[aot][unit]") {
  const std::vector<std::byte> bytes = sampleBytes();
  tlc_aot_kernel &kernel = kernelOf(bytes);
  KernelState &state = **KernelState::of(&kernel);
  Result<LoadedKernel *> failed =
      state.on(0, [](const KernelView &) -> Result<std::unique_ptr<LoadedKernel>> {
        return Error{ErrorKind::environment, "no luck"};
      });
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == "fa_kernel: no luck");
  CHECK(failed.error().kind == ErrorKind::environment);
  CHECK(state.on(0, loadNothing));
}

TEST_CASE("kernels of other versions and damaged ones are errors with their names", "[aot][unit]") {
  std::vector<std::byte> bytes = sampleBytes();
  tlc_aot_kernel kernel = kernelOf(bytes);
  kernel.version = 2;
  Result<KernelState *> state = KernelState::of(&kernel);
  REQUIRE_FALSE(state);
  CHECK(state.error().message ==
        "fa_kernel: expected an object of 'tlc build' of version 1, but got version 2; build "
        "the archive again, with the tlc that libtlc_runtime is from");
  kernel.version = kernelVersion;
  kernel.image_bytes = 40;
  state = KernelState::of(&kernel);
  REQUIRE_FALSE(state);
  CHECK(state.error().message == "fa_kernel: expected " + std::to_string(bytes.size()) +
                                     " bytes of a kernel of 'tlc build', but got 40");
  CHECK(tlc_aot_emulate("", &kernel) == int(CallStatus::invalidArgument));
  CHECK(std::string(tlc_aot_last_error()) == state.error().message);
}

TEST_CASE("a device takes the latest program that runs there, an older one none", "[aot][unit]") {
  const std::vector<std::byte> bytes =
      aot::serialize({"fa_kernel", {{"sm_90a", {}}, {"sm_80", {}}, {"sm_100a", {}}}});
  Result<KernelView> image = viewImage(bytes);
  REQUIRE(image);
  const auto chosen = [&](const char *target) {
    Result<const ProgramView *> program = chooseProgram(*image, {.name = "a GPU", .target = target});
    return program ? std::string((*program)->target) : program.error().message;
  };
  CHECK(chosen("sm_80") == "sm_80");
  CHECK(chosen("sm_89") == "sm_80");
  CHECK(chosen("sm_90a") == "sm_90a");
  CHECK(chosen("sm_100a") == "sm_100a");
  CHECK(chosen("sm_120a") == "sm_80"); // the others are for their own devices alone
  image->programs.erase(image->programs.begin() + 1);
  CHECK(chosen("sm_80") ==
        "expected a GPU that runs code for sm_90a, sm_100a, but a GPU runs sm_80; build the "
        "archive with --targets sm_80");
}

TEST_CASE("null pointers are errors that say which", "[aot][unit]") {
  const std::vector<std::byte> bytes = sampleBytes();
  tlc_aot_kernel kernel = kernelOf(bytes);
  size_t size = 0;
  CHECK(tlc_aot_launch(nullptr, nullptr, &kernel) == int(CallStatus::invalidArgument));
  CHECK(std::string(tlc_aot_last_error()) == "fa_kernel: expected arguments, but got a null pointer");
  CHECK(tlc_aot_emulate(nullptr, &kernel) == int(CallStatus::invalidArgument));
  CHECK(tlc_aot_workspace(nullptr, &size, &kernel) == int(CallStatus::invalidArgument));
  CHECK(tlc_aot_workspace(&size, nullptr, &kernel) == int(CallStatus::invalidArgument));
  CHECK(std::string(tlc_aot_last_error()) ==
        "fa_kernel: expected room for the number of bytes, but got a null pointer");
}

TEST_CASE("a workspace is large enough, aligned and apart from tensors", "[aot][unit]") {
  const Artifact artifact = {.name = "k", .target = "sm_90a", .tensors = {{.name = "X"}}};
  const auto at = [](uintptr_t address) { return reinterpret_cast<void *>(address); };
  // Rows of 4 bytes at 2048 and 2112.
  const std::vector<TensorView> tensors = {{at(2048), ElementType::u8, {2, 4}, {64, 1}}};
  const auto reason = [&](uintptr_t address, size_t bytes, size_t needed) {
    Result<void> valid = checkWorkspace(artifact, tensors, {at(address), bytes}, needed);
    return valid ? "" : valid.error().message;
  };
  CHECK(reason(0, 0, 0) == "");
  CHECK(reason(1024, 1024, 1024) == "");
  CHECK(reason(2304, 512, 512) == "");
  CHECK(reason(1024, 255, 256) == "expected a workspace of at least 256 bytes, but got 255");
  CHECK(reason(1025, 256, 256) ==
        "expected the address of a workspace that is a multiple of 256, but got 0x401");
  for (uintptr_t address : {uintptr_t(1792), uintptr_t(2048)})
    CHECK(
        reason(address, 512, 512) ==
        "argument 'workspace': expected memory of its own because k writes it, but it overlaps argument 'X'");
  CHECK(reason(1792, 512, 256) == ""); // of which the kernel takes the first 256
}
