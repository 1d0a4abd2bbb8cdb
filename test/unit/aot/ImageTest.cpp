// SPDX-License-Identifier: Apache-2.0
/// \file
/// Images of kernels: what is written is read, and nothing is read beyond the end.
#include "runtime/aot/Image.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::aot;

namespace {

KernelImage sampleImage() {
  return {"fa_kernel",
          {{"sm_80", std::vector<std::byte>(5, std::byte(7))},
           {"sm_90a", std::vector<std::byte>(3, std::byte(9))}}};
}

std::string errorOf(std::span<const std::byte> bytes) {
  Result<KernelView> view = viewImage(bytes);
  return view ? "" : view.error().message;
}

} // namespace

TEST_CASE("a view has what was written", "[aot][unit]") {
  std::vector<std::byte> bytes = serialize(sampleImage());
  const size_t size = bytes.size();
  bytes.resize(size + 100); // others may follow
  Result<KernelView> view = viewImage(bytes);
  REQUIRE(view);
  CHECK(view->function == "fa_kernel");
  CHECK(view->bytes == size);
  REQUIRE(view->programs.size() == 2);
  CHECK(view->programs[0].target == "sm_80");
  CHECK(view->programs[0].artifact.size() == 5);
  CHECK(view->programs[1].artifact[0] == std::byte(9));
}

TEST_CASE("equal images give equal bytes", "[aot][unit]") {
  CHECK(serialize(sampleImage()) == serialize(sampleImage()));
}

TEST_CASE("an image that is cut short is an error at each length", "[aot][unit]") {
  const std::vector<std::byte> bytes = serialize(sampleImage());
  for (size_t size = 0; size != bytes.size(); ++size) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + ptrdiff_t(size));
    CHECK(errorOf(cut) != "");
  }
  CHECK(errorOf(std::span(bytes).first(10)) ==
        "expected a kernel of 'tlc build', but the data does not begin like one");
  CHECK(errorOf(std::span(bytes).first(60)) ==
        "expected " + std::to_string(bytes.size()) + " bytes of a kernel of 'tlc build', but got 60");
}

TEST_CASE("any byte of an image may be another one", "[aot][unit]") {
  const std::vector<std::byte> bytes = serialize(sampleImage());
  for (size_t at = 0; at != bytes.size(); ++at)
    for (const int value : {0, 1, 127, 255}) {
      std::vector<std::byte> changed = bytes;
      changed[at] = std::byte(value);
      if (Result<KernelView> view = viewImage(changed))
        for (const ProgramView &program : view->programs)
          CHECK(program.artifact.data() + program.artifact.size() <= changed.data() + changed.size());
    }
}

TEST_CASE("an image of another version says so", "[aot][unit]") {
  std::vector<std::byte> bytes = serialize(sampleImage());
  bytes[8] = std::byte(9);
  CHECK(errorOf(bytes) ==
        "expected version 2 of the format of 'tlc build', but got version 9; build the archive "
        "again, with the tlc that libtlc_runtime is from");
}
