// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is said about libraries that cannot be used.
#include "runtime/nccl/Nccl.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;

namespace {

std::string pathOf(std::string_view library) {
  return fmt::format("{}/{}/libnccl.so.2", TLC_TEST_LIBRARIES, library);
}

std::string errorOf(const std::string &path) {
  Result<Nccl> nccl = Nccl::open(path);
  REQUIRE_FALSE(nccl);
  CHECK(nccl.error().kind == ErrorKind::environment);
  return nccl.error().message;
}

} // namespace

TEST_CASE("a library that is not there is named, with the way to get it", "[nccl]") {
  CHECK(errorOf("/nowhere/libnccl.so.2") ==
        "expected NCCL 2.19 or later, but cannot open /nowhere/libnccl.so.2 (/nowhere/libnccl.so.2: cannot "
        "open shared "
        "object file: No such file or directory); install it, add its folder to LD_LIBRARY_PATH, or name the "
        "library, "
        "which PyTorch has as nvidia/nccl/lib/libnccl.so.2 beside it");
}

TEST_CASE("elements have the numbers of ncclDataType_t", "[nccl]") {
  CHECK(Nccl::typeOf(ElementType::i32) == 2);
  CHECK(Nccl::typeOf(ElementType::f16) == 6);
  CHECK(Nccl::typeOf(ElementType::f32) == 7);
  CHECK(Nccl::typeOf(ElementType::bf16) == 9);
  CHECK_FALSE(Nccl::typeOf(ElementType::e4m3));
}

TEST_CASE("a library that is too old, lacks a function, or is another one", "[nccl]") {
  const std::string old = pathOf("Old"), lacking = pathOf("Lacking"), foreign = pathOf("Foreign");
  CHECK(errorOf(old) ==
        fmt::format("expected NCCL 2.19 or later, but {} is 2.18.5; install a later one, or name its library",
                    old));
  CHECK(
      errorOf(lacking) ==
      fmt::format("expected NCCL 2.19 or later, but {}, which is 2.28.9, has no 'ncclGetUniqueId'", lacking));
  CHECK(errorOf(foreign) ==
        fmt::format("expected NCCL 2.19 or later, but {} does not tell its version", foreign));
}
