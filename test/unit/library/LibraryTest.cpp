// SPDX-License-Identifier: Apache-2.0
/// \file
/// Requests, compilation and caches.
#include "kernels/library/Library.h"

#include "kernels/library/call/BuildId.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace tlc;
using namespace tlc::kernels;

namespace {

Request request(const Definitions &definitions, std::vector<std::string> fixed = {}) {
  Result<Request> parsed = Request::parse("gemm", definitions, fixed);
  REQUIRE(parsed);
  return std::move(*parsed);
}

std::string errorOf(std::string_view kernel, const Definitions &definitions,
                    std::vector<std::string> fixed = {}) {
  Result<Request> parsed = Request::parse(kernel, definitions, fixed);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().kind == ErrorKind::invalidArgument);
  return parsed.error().message;
}

const Definitions small = {{"m", "64"}, {"n", "64"}, {"k", "64"}};

/// A folder that is gone with the object.
class CacheFolder {
public:
  CacheFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tlc-library-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()));
    path = pattern;
  }
  ~CacheFolder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

} // namespace

TEST_CASE("a request names what does not exist and what does", "[library]") {
  CHECK(errorOf("gem", {}) ==
        "expected one of the kernels gemm, softmax, attention_fwd, attention_fwd_fp8, "
        "attention_bwd, attention_decode, all_reduce, all_gather_gemm, "
        "gemm_reduce_scatter, gemm_all_reduce, moe_dispatch, moe_combine, attention_fwd_sharded, "
        "attention_bwd_sharded, but got 'gem'; the nearest name is 'gemm'");
  CHECK_THAT(errorOf("gemm", {{"q", "3"}}),
             Catch::StartsWith("expected a parameter of kernel 'gemm' (m, n, k, batch, dtype") &&
                 Catch::EndsWith("but got 'q'"));
  CHECK(
      errorOf("gemm", {{"dtype", "f64"}}) ==
      "expected parameter 'dtype' of kernel 'gemm' to be f16 | bf16 | f32 | e4m3 | e5m2 | i8, but got 'f64'");
  CHECK(errorOf("gemm", {{"m", "-1"}}) ==
        "expected parameter 'm' of kernel 'gemm' to be 0 to 2147483647, but got '-1'");
  CHECK(errorOf("gemm", {{"m", "9223372036854775808"}}) ==
        "expected parameter 'm' of kernel 'gemm' to be 0 to 2147483647, but got '9223372036854775808'");
  CHECK(errorOf("gemm", {}, {"dtype"}) ==
        "expected a dimension of kernel 'gemm' to fix (m, n, k), but got 'dtype'");
}

TEST_CASE("what a target's form does not have is refused where the target is known", "[library]") {
  Definitions definitions = {{"unseen", "own_launch"}, {"dkv", "loop"}};
  CompileOptions options;
  options.target = "sm_80";
  CompileLog log;
  Result<Request> parsed = Request::parse("attention_bwd", definitions);
  REQUIRE(parsed);
  auto compiled = Library().compile(*parsed, options, log);
  REQUIRE(!compiled);
  CHECK(compiled.error().kind == ErrorKind::invalidArgument);
  CHECK(compiled.error().message ==
        "kernel 'attention_bwd': expected unseen = loop or auto because form = plain computes them like "
        "others, but got own_launch; the form is plain because sm_80 has no wgmma");
}

TEST_CASE("the same request is compiled once", "[library]") {
  Library library;
  CompileLog first, second, other;
  auto one = library.compile(request(small), {}, first);
  auto two = library.compile(request(small), {}, second);
  REQUIRE(one);
  REQUIRE(two);
  CHECK(one->get() == two->get());
  CHECK_FALSE(first.times.empty());
  CHECK(second.times.empty());

  CompileOptions without;
  without.optimizations.tma = false;
  auto three = library.compile(request(small), without, other);
  REQUIRE(three);
  CHECK(three->get() != one->get());
  auto four = library.compile(request(small, {"m"}), {}, other);
  REQUIRE(four);
  CHECK(four->get() != one->get());
  CHECK((*four)->dimensions[0].fixed == 64);
}

TEST_CASE("a program in the folder of the cache is not compiled again", "[library]") {
  REQUIRE_FALSE(buildId().empty());
  CacheFolder folder;
  CompileLog first, second;
  auto one = Library(folder.path).compile(request(small), {}, first);
  REQUIRE(one);
  CHECK_FALSE(first.times.empty());
  auto two = Library(folder.path).compile(request(small), {}, second);
  REQUIRE(two);
  CHECK(second.times.empty());
  REQUIRE((*one)->variants.size() == (*two)->variants.size());
  CHECK((*one)->variants[0].ptx == (*two)->variants[0].ptx);
}

TEST_CASE("a folder that cannot hold the cache gives a warning, not a failure", "[library]") {
  CacheFolder folder;
  std::ofstream(folder.path / "file") << "in the way";
  CompileLog log;
  auto artifact = Library(folder.path / "file").compile(request(small), {}, log);
  CHECK(artifact);
  bool warned = false;
  for (const Diagnostic &diagnostic : log.diagnostics)
    warned |= diagnostic.severity == Diagnostic::Severity::warning;
  CHECK(warned);
}

TEST_CASE("a configuration that does not compile is an error at the kernel's line", "[library]") {
  Library library;
  CompileLog log;
  auto artifact = library.compile(request({{"m", "256"},
                                           {"n", "256"},
                                           {"k", "256"},
                                           {"bm", "256"},
                                           {"bn", "256"},
                                           {"bk", "256"},
                                           {"stages", "8"}}),
                                  {}, log);
  REQUIRE_FALSE(artifact);
  CHECK_THAT(artifact.error().message, Catch::StartsWith("kernel 'gemm' does not compile") &&
                                           Catch::Contains("Gemm.cpp:") && Catch::Contains("shared memory"));
  REQUIRE_FALSE(log.diagnostics.empty());
}
