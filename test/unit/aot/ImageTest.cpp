// SPDX-License-Identifier: Apache-2.0
/// \file
/// Images of kernels: what is written is read, and nothing is read beyond the end.
#include "runtime/aot/Image.h"

#include "test/Expect.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::aot;
using namespace tlc::test;

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
  CHECK(expectValue(artifactOf(view->programs[0])) == std::vector<std::byte>(5, std::byte(7)));
  CHECK(expectValue(artifactOf(view->programs[1])) == std::vector<std::byte>(3, std::byte(9)));
}

TEST_CASE("artifacts are compressed where that makes them shorter", "[aot][unit]") {
  const std::vector<std::byte> artifact(100000, std::byte(7));
  const std::vector<std::byte> bytes = serialize({"fa_kernel", {{"sm_90a", artifact}}});
  CHECK(bytes.size() < 1000);
  const KernelView view = expectValue(viewImage(bytes));
  CHECK(expectValue(artifactOf(view.programs[0])) == artifact);
}

TEST_CASE("an artifact of more bytes than its block may hold is an error", "[aot][unit]") {
  std::vector<std::byte> bytes = serialize(sampleImage());
  const std::vector<std::byte> artifact(5, std::byte(7));
  const auto stored = std::ranges::search(bytes, artifact);
  REQUIRE(!stored.empty());
  // Two numbers of eight bytes come before it: how many bytes it has, and is stored in.
  std::byte *size = &*stored.begin() - 16;
  REQUIRE(*size == std::byte(5));
  size[0] = std::byte(200);
  size[1] = std::byte(4); // 1224 of 1275
  const Result<std::vector<std::byte>> none = artifactOf(expectValue(viewImage(bytes)).programs[0]);
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "expected a block of 1224 compressed bytes for sm_80, but it is malformed");
  size[5] = std::byte(1); // a terabyte
  CHECK(errorOf(bytes).starts_with("the kernel of 'tlc build' is malformed at byte "));
}

TEST_CASE("an image of the version before is read", "[aot][unit]") {
  std::string image = "tlc-aot\n";
  const auto number = [&](uint64_t value) {
    image.append(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  const auto text = [&](std::string_view each) {
    number(each.size());
    image += each;
  };
  number(2);
  number(8 + 8 + 8 + 8 + 1 + 8 + 8 + 6 + 8 + 3);
  text("f");
  number(1);
  text("sm_90a");
  text("abc");
  const KernelView view = expectValue(viewImage(std::as_bytes(std::span(image))));
  CHECK(view.function == "f");
  CHECK(view.programs.at(0).target == "sm_90a");
  CHECK(expectValue(artifactOf(view.programs[0])) ==
        std::vector<std::byte>{std::byte('a'), std::byte('b'), std::byte('c')});
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
          CHECK(program.stored.data() + program.stored.size() <= changed.data() + changed.size());
    }
}

TEST_CASE("an image of another version says so", "[aot][unit]") {
  std::vector<std::byte> bytes = serialize(sampleImage());
  bytes[8] = std::byte(9);
  CHECK(errorOf(bytes) ==
        "expected a version from 2 to 3 of the format of 'tlc build', but got version 9; build the archive "
        "again, with the tlc that libtlc_runtime is from");
}
