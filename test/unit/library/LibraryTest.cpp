// SPDX-License-Identifier: Apache-2.0
/// \file
/// Requests, compilation and caches.
#include "kernels/library/Library.h"

#include "kernels/library/Prewarm.h"
#include "kernels/library/call/BuildId.h"
#include "test/unit/cache/TemporaryDirectory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <mutex>
#include <thread>

using namespace tlc;
using namespace tlc::kernels;
using tlc::test::TemporaryDirectory;

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
  auto compiled = Library(CacheOptions::inMemory()).compile(*parsed, options, log);
  REQUIRE(!compiled);
  CHECK(compiled.error().kind == ErrorKind::invalidArgument);
  CHECK(compiled.error().message ==
        "kernel 'attention_bwd': expected unseen = loop or auto because form = plain computes them like "
        "others, but got own_launch; the form is plain because sm_80 has no wgmma");
}

TEST_CASE("the same request is compiled once", "[library]") {
  Library library(CacheOptions::inMemory());
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
  TemporaryDirectory folder;
  CompileLog first, second;
  auto one = Library(CacheOptions::in(folder.path)).compile(request(small), {}, first);
  REQUIRE(one);
  CHECK_FALSE(first.times.empty());
  CHECK_FALSE(first.foundAfter);
  auto two = Library(CacheOptions::in(folder.path)).compile(request(small), {}, second);
  REQUIRE(two);
  CHECK(second.times.empty());
  CHECK(second.foundAfter);
  REQUIRE((*one)->variants.size() == (*two)->variants.size());
  CHECK((*one)->variants[0].ptx == (*two)->variants[0].ptx);
}

TEST_CASE("a folder that cannot hold the cache gives a warning, not a failure", "[library]") {
  TemporaryDirectory folder;
  std::ofstream(folder.path / "file") << "in the way";
  CompileLog log;
  auto artifact = Library(CacheOptions::in(folder.path / "file")).compile(request(small), {}, log);
  CHECK(artifact);
  bool warned = false;
  for (const Diagnostic &diagnostic : log.diagnostics)
    warned |= diagnostic.severity == Diagnostic::Severity::warning;
  CHECK(warned);
}

namespace {

/// A kernel of the registry that counts how often it is traced.
class CountedKernel final : public Kernel {
public:
  explicit CountedKernel(const Kernel &kernel)
      : Kernel(kernel.name(), kernel.summary(), {kernel.parameters().begin(), kernel.parameters().end()}),
        kernel(kernel) {}

  dsl::Program build(const Parameters &values, const Target &target,
                     const dsl::TraceOptions &options) const override {
    ++traced;
    return kernel.build(values, target, options);
  }
  std::vector<TensorSpec> tensors(const Parameters &values) const override { return kernel.tensors(values); }
  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    return kernel.reference(values, inputs);
  }
  Tolerance tolerance(const Parameters &values, size_t output) const override {
    return kernel.tolerance(values, output);
  }
  double flops(const Parameters &values) const override { return kernel.flops(values); }
  Definitions emulatorSizes() const override { return kernel.emulatorSizes(); }
  std::vector<Definitions> suite() const override { return kernel.suite(); }

  mutable std::atomic<int> traced = 0;

private:
  const Kernel &kernel;
};

} // namespace

TEST_CASE("a hit by name traces nothing, and the caller is told of each compilation and hit", "[library]") {
  TemporaryDirectory folder;
  const CountedKernel kernel(**findKernel("softmax"));
  const Result<Request> asked = Request::parse(kernel, {{"rows", "8"}, {"columns", "64"}});
  REQUIRE(asked);
  std::mutex mutex;
  std::vector<CacheEvent::Kind> events;
  CacheOptions options = CacheOptions::in(folder.path);
  options.onEvent = [&](const CacheEvent &event) {
    std::lock_guard lock(mutex);
    CHECK(event.program == "softmax");
    CHECK(event.target == "sm_90a");
    CHECK(event.milliseconds >= 0);
    events.push_back(event.kind);
  };
  {
    Library library(options);
    std::vector<std::thread> threads; // one of them compiles, and the others wait for it
    std::array<std::shared_ptr<const Artifact>, 4> artifacts;
    for (std::shared_ptr<const Artifact> &artifact : artifacts)
      threads.emplace_back([&] {
        CompileLog log;
        if (auto compiled = library.compile(*asked, {}, log))
          artifact = *compiled;
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const std::shared_ptr<const Artifact> &artifact : artifacts)
      CHECK((artifact && artifact == artifacts[0]));
    CHECK(kernel.traced == 1);
    using enum CacheEvent::Kind;
    CHECK(std::ranges::count(events, compiled) == 1);
    CHECK(std::ranges::count(events, foundInMemory) == 3);
  }
  events.clear();
  CompileLog log;
  REQUIRE(Library(options).compile(*asked, {}, log)); // as in another process
  CHECK(kernel.traced == 1);
  CHECK(events == std::vector{CacheEvent::Kind::foundOnDisk});
}

TEST_CASE("where only hits are wanted, a miss is an error with the line that makes the entry", "[library]") {
  TemporaryDirectory folder;
  CacheOptions hitsOnly = CacheOptions::in(folder.path);
  hitsOnly.policy = CachePolicy::hitsOnly;
  CompileOptions options;
  options.target = "sm_100a";
  options.optimizations.overlap = false;
  options.waitLimit = std::chrono::nanoseconds(1'100'000);
  const Request asked = request(small, {"m", "k"});
  CompileLog log;
  auto missing = Library(hitsOnly).compile(asked, options, log);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().kind == ErrorKind::environment);
  const std::string line =
      "gemm m=64 n=64 k=64 --target=sm_100a --static=k,m --disable=overlap --bounded-waits=0.0011";
  CHECK(missing.error().message ==
        "expected the program 'gemm' for sm_100a in the cache, which is used for hits only, but it has none; "
        "'tlc prewarm' makes it from the line '" +
            line + "'");

  Result<std::vector<ListedProgram>> list = parseList(
      "# what is served\n\n" + line + " # at night\ngemm n=64 m=64 k=64\n",
      [](const std::string &name) { return findKernel(name); }, "sm_90a");
  REQUIRE(list);
  REQUIRE(list->size() == 2);
  CHECK(lineOf((*list)[0].request, (*list)[0].options) == line);
  CHECK(lineOf((*list)[1].request, (*list)[1].options) == "gemm m=64 n=64 k=64 --target=sm_90a");
  std::vector<std::pair<size_t, bool>> steps;
  const auto onStep = [&](const PrewarmStep &step) {
    CHECK(step.result);
    CHECK(step.all == 2);
    steps.emplace_back(step.done, step.isCompiled);
  };
  Library library(CacheOptions::in(folder.path));
  CHECK(prewarm(library, *list, 2, onStep) == 0);
  CHECK(prewarm(library, *list, 2, onStep) == 0);
  CHECK(steps == std::vector<std::pair<size_t, bool>>{{1, true}, {2, true}, {1, false}, {2, false}});
  CHECK(Library(hitsOnly).compile(asked, options, log));
  CHECK(Library(hitsOnly).compile(request(small), {}, log));
}

namespace {
/// A kernel of tlc, as one of a file of the user's.
struct OfFile : Kernel {
  explicit OfFile(const Kernel &kernel)
      : Kernel(kernel.name(), kernel.summary(), {kernel.parameters().begin(), kernel.parameters().end()}),
        kernel(kernel) {}

  std::string file() const override { return "mine.cpp"; }
  std::string code() const override { return "mine"; }
  dsl::Program build(const Parameters &values, const Target &target,
                     const dsl::TraceOptions &options) const override {
    return kernel.build(values, target, options);
  }
  std::vector<TensorSpec> tensors(const Parameters &values) const override { return kernel.tensors(values); }
  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    return kernel.reference(values, inputs);
  }
  Tolerance tolerance(const Parameters &values, size_t output) const override {
    return kernel.tolerance(values, output);
  }
  double flops(const Parameters &values) const override { return kernel.flops(values); }
  Definitions emulatorSizes() const override { return kernel.emulatorSizes(); }
  std::vector<Definitions> suite() const override { return kernel.suite(); }

  const Kernel &kernel;
};
} // namespace

TEST_CASE("programs of files are compiled by the calling thread, before others", "[library]") {
  TemporaryDirectory folder;
  const Kernel &softmax = **findKernel("softmax");
  const OfFile mine(softmax);
  std::vector<ListedProgram> list;
  for (const Kernel *kernel : {&softmax, static_cast<const Kernel *>(&mine)})
    for (const char *target : {"sm_80", "sm_90a"}) {
      Result<Request> asked = Request::parse(*kernel, {{"rows", "8"}, {"columns", "8"}});
      REQUIRE(asked);
      list.emplace_back(*asked).options.target = target;
    }
  Library library(CacheOptions::in(folder.path));
  const std::thread::id caller = std::this_thread::get_id();
  std::vector<std::string> files;
  CHECK(prewarm(library, list, 2, [&](const PrewarmStep &step) {
          files.push_back(step.program.request.kernel->file());
          CHECK((files.back().empty() || std::this_thread::get_id() == caller));
        }) == 0);
  CHECK(files == std::vector<std::string>{"mine.cpp", "mine.cpp", "", ""});
}

TEST_CASE("a list of programs names the line with a mistake", "[library]") {
  const auto errorOfList = [](std::string_view text) {
    auto list = parseList(text, [](const std::string &name) { return findKernel(name); }, "sm_90a");
    REQUIRE_FALSE(list);
    CHECK(list.error().kind == ErrorKind::invalidArgument);
    return list.error().message;
  };
  CHECK_THAT(errorOfList("gemm\n\ngem\n"), Catch::StartsWith("line 3: expected one of the kernels gemm, "));
  CHECK(errorOfList("gemm m") == "line 1: expected name=value, but got 'm'");
  CHECK(errorOfList("gemm =1") == "line 1: expected name=value, but got '=1'");
  CHECK(errorOfList("gemm m=1 m=2") == "line 1: expected each parameter once, but 'm' is given twice");
  CHECK_THAT(errorOfList("gemm m=x"), Catch::StartsWith("line 1: expected parameter 'm' of kernel 'gemm'"));
  CHECK_THAT(errorOfList("gemm --target=sm_1"),
             Catch::StartsWith("line 1: expected --target to be one of ") &&
                 Catch::EndsWith("but got 'sm_1'"));
  CHECK_THAT(errorOfList("gemm --disable=speed"),
             Catch::StartsWith("line 1: expected --disable to be one of tma, wgmma, ") &&
                 Catch::EndsWith("but got 'speed'"));
  CHECK(errorOfList("gemm --bounded-waits=soon") ==
        "line 1: expected --bounded-waits from 0.001 to 86400 seconds, but got 0");
  CHECK(errorOfList("gemm --fast") == "line 1: expected --target, --static, --disable, --bounded-waits or "
                                      "--multicast, but got '--fast'");
  CHECK_THAT(errorOfList("gemm --static=q"), Catch::StartsWith("line 1: expected a dimension of kernel"));
}

TEST_CASE("a configuration that does not compile is an error at the kernel's line", "[library]") {
  Library library(CacheOptions::inMemory());
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
