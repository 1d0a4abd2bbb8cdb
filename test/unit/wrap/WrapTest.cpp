// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of nvcc become artifacts, which run on the emulator.
#include "tools/wrap/Wrap.h"

#include "runtime/artifact/Serialize.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/emulator/EmulatorDevice.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace tlc;
using namespace tlc::wrap;

namespace {

std::string textOf(const std::string &name) {
  std::ifstream file(std::string(TLC_WRAPPED) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<Artifact> wrapped(std::string_view text, std::string target = "") {
  Result<Description> description = parseDescription(text, "k.txt");
  INFO((description ? "" : description.error().message));
  REQUIRE(description);
  return wrap::wrap(*description,
                    {.ptx = CodeFile{"k.ptx", textOf("kernels.ptx")}, .target = std::move(target)});
}

std::string mistake(std::string_view text, std::string target = "") {
  Result<Artifact> artifact = wrapped(text, std::move(target));
  return artifact ? "" : artifact.error().message;
}

/// saxpy's description with some text instead of another.
std::string saxpyWith(const std::string &text, const std::string &instead) {
  std::string description = textOf("saxpy.txt");
  const size_t at = description.find(text);
  REQUIRE(at != std::string::npos);
  return description.replace(at, text.size(), instead);
}

/// On an emulator, with tensors in its memory and the checker on.
std::vector<float> run(const Artifact &artifact, std::vector<std::vector<float>> contents,
                       std::vector<TensorView> views, std::vector<ScalarValue> scalars, size_t result) {
  const std::unique_ptr<Device> device = createEmulatorDevice();
  for (size_t i = 0; i != contents.size(); ++i) {
    views[i].data = *device->allocate(contents[i].size() * sizeof(float));
    REQUIRE(device->copyToDevice(views[i].data, contents[i].data(), contents[i].size() * sizeof(float)));
  }
  Result<std::shared_ptr<const LoadedProgram>> program = device->load(artifact);
  INFO((program ? "" : program.error().message));
  REQUIRE(program);
  const Result<void> launched = device->launch(**program, {views, std::move(scalars)});
  INFO((launched ? "" : launched.error().message));
  REQUIRE(launched);
  std::vector<float> values(contents[result].size());
  REQUIRE(device->copyToHost(values.data(), views[result].data, values.size() * sizeof(float)));
  for (const TensorView &view : views)
    REQUIRE(device->free(view.data));
  return values;
}

} // namespace

TEST_CASE("a kernel of nvcc runs on the emulator", "[wrap]") {
  Result<Artifact> artifact = wrapped(textOf("saxpy.txt"));
  INFO((artifact ? "" : artifact.error().message));
  REQUIRE(artifact);
  CHECK(artifact->target == "sm_80");
  Result<Artifact> read = deserialize(serialize(*artifact));
  REQUIRE(read);
  constexpr int64_t n = 1000;
  std::vector<float> x(n), y(n, 1);
  for (size_t i = 0; i != x.size(); ++i)
    x[i] = float(i);
  const float factor = 3;
  uint32_t bits = 0;
  std::memcpy(&bits, &factor, sizeof(bits));
  const TensorView view = contiguousView(nullptr, ElementType::f32, {n});
  const std::vector<float> values = run(*read, {x, y}, {view, view}, {{ElementType::f32, bits}}, 1);
  for (size_t i = 0; i != values.size(); ++i)
    REQUIRE(values[i] == 3 * x[i] + 1);
}

TEST_CASE("blocks of two axes, shared memory and strides are those of the description", "[wrap]") {
  Result<Artifact> artifact = wrapped(textOf("transpose.txt"), "sm_90a");
  INFO((artifact ? "" : artifact.error().message));
  REQUIRE(artifact);
  CHECK(artifact->target == "sm_90a");
  constexpr int64_t m = 20, n = 37, stride = 40;
  std::vector<float> x(m * stride), y(m * n);
  for (size_t i = 0; i != x.size(); ++i)
    x[i] = float(i);
  TensorView in = contiguousView(nullptr, ElementType::f32, {m, n});
  in.strides[0] = stride;
  const std::vector<float> values =
      run(*artifact, {x, y}, {in, contiguousView(nullptr, ElementType::f32, {n, m})}, {}, 1);
  for (size_t i = 0; i != size_t(m); ++i)
    for (size_t j = 0; j != size_t(n); ++j)
      REQUIRE(values[j * m + i] == x[i * stride + j]);
}

TEST_CASE("what the entry does not take is named with its place", "[wrap]") {
  CHECK(
      mistake(saxpyWith("launch saxpy", "launch sxpy")) ==
      "k.txt:7:8: expected an entry of 'k.ptx', but got 'sxpy'; it has saxpy, transpose; the nearest name is "
      "'saxpy'");
  CHECK(mistake(saxpyWith("i64(n)", "n")) ==
        "k.txt:10:14: expected 8 bytes, aligned to 8, because parameter 1 of "
        "'saxpy' has them, but 'n' has 4; write it in i64(...)");
  CHECK(
      mistake(saxpyWith("a, X", "X, a")) ==
      "k.txt:10:22: expected 4 bytes, aligned to 4, because parameter 2 of 'saxpy' has them, but 'X' has 8");
  CHECK(mistake(saxpyWith(", Y", "")) ==
        "k.txt:7:8: expected 4 parameters, as 'saxpy' of 'k.ptx' takes, but got 3");
  CHECK(mistake(saxpyWith(", Y", ", Y, a")) ==
        "k.txt:10:31: expected 4 parameters, as 'saxpy' of 'k.ptx' takes, but got 5");
  std::string large = textOf("transpose.txt");
  large.replace(large.find("threads 16, 16"), 14, "threads 32, 16");
  CHECK(mistake(large) ==
        "k.txt:7:11: expected at most 256 threads, for which 'transpose' is compiled, but got 512");
}

TEST_CASE("code that does not run on the target, and files of another kind, are errors", "[wrap]") {
  Result<Description> description = parseDescription(textOf("saxpy.txt"), "k.txt");
  REQUIRE(description);
  const auto with = [&](Code code) {
    Result<Artifact> artifact = wrap::wrap(*description, std::move(code));
    return artifact ? "" : artifact.error().message;
  };
  CHECK_THAT(with({.ptx = CodeFile{"k.ptx", "int main() {}"}}), Catch::StartsWith("'k.ptx': "));
  std::string later = textOf("kernels.ptx");
  later.replace(later.find(".target sm_80"), 13, ".target sm_90");
  CHECK(with({.ptx = CodeFile{"k.ptx", later}, .target = "sm_80"}) ==
        "'k.ptx': expected PTX that runs on sm_80, but its target is 'sm_90'");
  CHECK(with({.cubin = CodeFile{"k.cubin", "text"}, .target = "sm_80"}) ==
        "'k.cubin': expected a cubin, which is an ELF file for GPUs, but the file does not begin like one");
  CHECK(with({.cubin = CodeFile{"k.cubin", "text"}}) ==
        "expected a target, because machine code without PTX does not say one, but got none");
}
