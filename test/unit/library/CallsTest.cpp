// SPDX-License-Identifier: Apache-2.0
/// \file
/// Typed calls of the kernels beside attention forward on 16-bit elements, and programs of one's own, kept.
#include "kernels/Tolerance.h"
#include "kernels/library/Compile.h"
#include "kernels/library/Decode.h"
#include "kernels/library/Gemm.h"
#include "kernels/library/Softmax.h"
#include "kernels/reference/Decode.h"
#include "kernels/reference/Reference.h"
#include "kernels/softmax/Describe.h"
#include "runtime/device/LaunchPlan.h"
#include "test/Expect.h"
#include "test/unit/cache/TemporaryDirectory.h"
#include "test/unit/library/AttentionCall.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::test;
using Catch::StartsWith;

namespace {

struct Fixture : CallFixture {
  using CallFixture::CallFixture;
  void checkDecoding();
  void finish(const Result<void> &done, const Slice &result) {
    require(done);
    REQUIRE(bool(device.synchronize({})));
    result.block->download();
  }
  static std::vector<int64_t> all(const Slice &slice) {
    std::vector<int64_t> elements(size_t(slice.count()));
    std::iota(elements.begin(), elements.end(), 0);
    return elements;
  }
  static void compare(const Slice &actual, const std::vector<double> &expected, const Tolerance &tolerance) {
    for (int64_t i = 0; i < actual.count(); ++i) {
      INFO("element " << i << " is " << actual.at(i) << ", expected " << expected[size_t(i)]);
      REQUIRE(errorOf(actual.at(i), expected[size_t(i)], tolerance) <= tolerance.limit);
    }
  }
};

struct BlackwellFixture : Fixture {
  BlackwellFixture() : Fixture("sm_100a") {}
};

} // namespace

TEST_CASE_METHOD(Fixture, "a product is a call", "[calls]") {
  for (GemmLayout layout : {GemmLayout::tn, GemmLayout::nn, GemmLayout::tt, GemmLayout::nt})
    for (auto [m, padding] : {std::pair(5, 8), {70, 8}, {70, 3}, {500, 3}}) {
      constexpr int64_t n = 40, k = 600;
      kernels::GemmConfig problem{.layout = layout};
      auto shape = [&](int64_t count, bool runsAlongK) {
        return runsAlongK ? std::vector{count, k} : std::vector{k, count};
      };
      Slice a = input(ElementType::bf16, shape(m, problem.aRunsAlongK()), padding),
            b = input(ElementType::bf16, shape(n, problem.bRunsAlongK())),
            c = output(ElementType::f32, {m, n});
      gemm::GemmTensors tensors{a.view(), b.view(), c.view()};
      Workspace memory = workspace(workspaceSize(programs, tensors, {layout}));
      finish(multiply(programs, {}, tensors, memory, {layout}), c);
      compare(c, referenceGemm(layout, m, n, k, a.values(), b.values(), all(c)), {.limit = 1e-4, .floor = 8});
    }
  // Rows of four and eight bytes' alignment, that end anywhere and begin at other addresses, too.
  for (auto [k, padding, first] :
       {std::array<int64_t, 3>{597, 7, 0}, {598, 2, 0}, {600, 4, 1}, {602, 2, 2}}) {
    CAPTURE(k, padding, first);
    constexpr int64_t m = 70, n = 40;
    Slice a = input(ElementType::bf16, {m, k + padding}).part(1, first, k);
    Slice b = input(ElementType::bf16, {n, k}, padding), c = output(ElementType::f32, {m, n});
    gemm::GemmTensors tensors{a.view(), b.view(), c.view()};
    Workspace memory = workspace(workspaceSize(programs, tensors));
    finish(multiply(programs, {}, tensors, memory), c);
    compare(c, referenceGemm(GemmLayout::tn, m, n, k, a.values(), b.values(), all(c)),
            {.limit = 1e-4, .floor = 8});
  }
  int loads = device.loads;
  Slice a = input(ElementType::bf16, {5, 600}), b = input(ElementType::bf16, {40, 600}),
        c = output(ElementType::f32, {5, 40});
  gemm::GemmTensors tensors{a.view(), b.view(), c.view()};
  Workspace memory = workspace(workspaceSize(programs, tensors));
  REQUIRE(bool(multiply(programs, {}, tensors, memory)));
  CHECK(device.loads == loads); // the same program
  tensors.b = contiguousView(tensors.b.data, ElementType::bf16, {40, 599});
  CHECK(
      multiply(programs, {}, tensors, memory).error().message ==
      "argument 'b' axis 1: expected extent 600 because dimension 'k' is 600 in argument 'a' axis 1, but got "
      "599; expected a[m, k] of bf16, b[n, k] of bf16, c[m, n] of f32");
  Slice wideA = input(ElementType::f64, {5, 600}), wideB = input(ElementType::f64, {40, 600});
  tensors = {wideA.view(), wideB.view(), c.view()};
  CHECK(multiply(programs, {}, tensors, memory).error().message ==
        "expected parameter 'dtype' of kernel 'gemm::multiply' to be f16 | bf16 | f32 | e4m3 | e5m2 | i8, "
        "but got "
        "'f64'");
}

TEST_CASE_METHOD(Fixture, "products of a batch share a factor whose stride is 0", "[calls]") {
  constexpr int64_t batch = 3, m = 70, n = 40, k = 72;
  Slice a = input(ElementType::bf16, {batch, m, k}), b = input(ElementType::bf16, {n, k}),
        c = output(ElementType::f32, {batch, m, n});
  gemm::GemmTensors tensors{a.view(), b.view(), c.view()};
  tensors.b.shape.insert(tensors.b.shape.begin(), batch);
  tensors.b.strides.insert(tensors.b.strides.begin(), 0);
  Workspace memory = workspace(workspaceSize(programs, tensors));
  finish(multiply(programs, {}, tensors, memory), c);
  std::vector<double> shared, one = b.values();
  for (int64_t image = 0; image != batch; ++image)
    shared.insert(shared.end(), one.begin(), one.end());
  compare(c, referenceGemm(GemmLayout::tn, m, n, k, a.values(), shared, all(c)), {.limit = 1e-4, .floor = 3});
}

TEST_CASE_METHOD(Fixture, "the epilogue of a product is a call's", "[calls]") {
  constexpr int64_t m = 70, n = 40, k = 72;
  Slice a = input(ElementType::bf16, {m, k}), b = input(ElementType::bf16, {n, k});
  Slice scaleA = input(ElementType::f32, {m}), scaleB = input(ElementType::f32, {n}),
        bias = input(ElementType::f32, {n}), residual = input(ElementType::f32, {m, n}),
        c = output(ElementType::f32, {m, n});
  gemm::GemmTensors tensors{a.view(),      b.view(),    c.view(),       scaleA.view(),
                            scaleB.view(), bias.view(), residual.view()};
  gemm::GemmOptions options{.scalesAreOfRows = true, .activation = gemm::GemmActivation::relu};
  Workspace memory = workspace(workspaceSize(programs, tensors, options));
  finish(multiply(programs, {}, tensors, memory, options), c);
  std::vector<double> expected = referenceGemm(GemmLayout::tn, m, n, k, a.values(), b.values(), all(c));
  for (int64_t i = 0; i != m * n; ++i) {
    double x = expected[size_t(i)] * scaleA.at(i / n) * scaleB.at(i % n) + bias.at(i % n);
    expected[size_t(i)] = std::max(x, 0.0) + residual.at(i);
  }
  compare(c, expected, {.limit = 1e-4, .floor = 3});

  options.addsToC = true;
  CHECK(multiply(programs, {}, tensors, memory, options).error().message ==
        "gemm::multiply: expected a residual, or c to be added to, but got both");
  tensors.residual.reset();
  std::vector<double> before = c.values();
  finish(multiply(programs, {}, tensors, memory, options), c);
  for (int64_t i = 0; i != m * n; ++i)
    expected[size_t(i)] += before[size_t(i)] - residual.at(i);
  compare(c, expected, {.limit = 1e-4, .floor = 3});

  tensors.scaleB.reset();
  CHECK(multiply(programs, {}, tensors, memory, options).error().message ==
        "gemm::multiply: expected scales of both factors, or of none");
  tensors = {a.view(), b.view(), c.view()};
  tensors.c.element = ElementType::i32;
  CHECK(multiply(programs, {}, tensors, memory).error().message ==
        "gemm::multiply: expected out=i32 with dtype=i8 and sums as they are, but got dtype=bf16");
}

TEST_CASE_METHOD(Fixture, "a product refuses tensors that do not fit each other", "[calls]") {
  constexpr int64_t batch = 2, m = 5, n = 8, k = 16;
  Slice a = input(ElementType::bf16, {batch, m, k}), b = input(ElementType::bf16, {batch, n, k}),
        c = output(ElementType::f32, {batch, m, n}), scale = input(ElementType::f32, {batch, n});
  const gemm::GemmTensors fitting{a.view(), b.view(), c.view()};
  auto errorOf = [&](const gemm::GemmTensors &tensors, const gemm::GemmOptions &options = {}) {
    Result<void> done = multiply(programs, {}, tensors, {}, options);
    return done ? "" : done.error().message;
  };
  CHECK(errorOf(fitting).empty());

  gemm::GemmTensors tensors = fitting;
  tensors.b.shape.erase(tensors.b.shape.begin());
  tensors.b.strides.erase(tensors.b.strides.begin());
  CHECK_THAT(errorOf(tensors), StartsWith("argument 'b': expected rank 3, but got 2"));
  tensors = fitting;
  tensors.a.element = tensors.b.element = ElementType::i4; // two elements share a byte
  CHECK(errorOf(tensors) == "expected parameter 'dtype' of kernel 'gemm::multiply' to be f16 | bf16 | f32 | "
                            "e4m3 | e5m2 | i8, but got 'i4'");
  tensors = fitting;
  tensors.c.element = ElementType::e2m1;
  CHECK_THAT(errorOf(tensors), StartsWith("expected parameter 'out' of kernel 'gemm::multiply'"));
  tensors = fitting;
  tensors.c.strides[0] = 0;
  CHECK_THAT(errorOf(tensors), StartsWith("argument 'c' axis 0: expected a stride of at least 1"));
  tensors = fitting;
  tensors.residual = c.view();
  CHECK(errorOf(tensors) ==
        "argument 'c': expected memory of its own because gemm::multiply writes it, but it "
        "overlaps argument 'residual'");
  tensors = fitting;
  tensors.scaleA = tensors.scaleB = scale.view();
  CHECK_THAT(errorOf(tensors), StartsWith("argument 'scaleA': expected rank 1, but got 2"));
  CHECK_THAT(errorOf(tensors, {.scalesAreOfRows = true}),
             StartsWith("argument 'scaleA' axis 1: expected extent 5"));
  tensors = fitting;
  for (TensorView *view : {&tensors.a, &tensors.b, &tensors.c})
    view->shape[0] = 0;
  CHECK(errorOf(tensors).empty());
}

TEST_CASE_METHOD(Fixture, "a softmax is a call", "[calls]") {
  Slice x = input(ElementType::f32, {9, 333}, 3), y = output(ElementType::f32, {9, 333});
  finish(softmax::normalize(programs, {}, x.view(), y.view()), y);
  compare(y, referenceSoftmax(333, x.values(), all(y)), {.limit = 1e-4, .floor = 1.0 / 333});
  CHECK_THAT(
      softmax::normalize(programs, {}, x.view(), contiguousView(y.view().data, ElementType::f32, {9, 3}))
          .error()
          .message,
      StartsWith("argument 'y' axis 1: expected extent 333"));
}

TEST_CASE_METHOD(Fixture, "a call does not load its program while the stream is captured", "[calls]") {
  Slice x = input(ElementType::f32, {9, 333}, 3), y = output(ElementType::f32, {9, 333});
  const std::unique_ptr<OwnedStream> stream = expectValue(device.createStream());
  auto capture = [&] {
    return device.capture(*stream, [&] { return softmax::normalize(programs, *stream, x.view(), y.view()); });
  };
  const Result<std::unique_ptr<Graph>> early = capture();
  REQUIRE_FALSE(early);
  CHECK(
      early.error().message ==
      "cannot load 'softmax::normalize' while a stream is captured; load it before the capture, as its first "
      "call does; 'tlc prewarm' compiles it ahead of that");
  CHECK(device.loads == 0);
  require(softmax::normalize(programs, {}, x.view(), y.view()));
  const std::unique_ptr<Graph> graph = expectValue(capture());
  finish(graph->launch(*stream), y);
  compare(y, referenceSoftmax(333, x.values(), all(y)), {.limit = 1e-4, .floor = 1.0 / 333});
}

TEST_CASE_METHOD(Fixture, "a softmax takes rows of any alignment", "[calls]") {
  for (ElementType element : {ElementType::f16, ElementType::f32})
    for (int64_t columns : {64, 66, 67})
      for (auto [padding, first] : {std::pair(0, 0), {8, 8}, {8, 4}, {2, 2}, {1, 0}, {8, 1}}) {
        CAPTURE(toString(element), columns, padding, first);
        Slice x = input(element, {9, columns + first}, padding).part(1, first, columns),
              y = output(element, {9, columns});
        for (softmax::RowLengths lengths : {softmax::RowLengths::any, softmax::RowLengths::one}) {
          finish(softmax::normalize(programs, {}, x.view(), y.view(), lengths), y);
          compare(
              y, referenceSoftmax(columns, x.values(), all(y)),
              {.limit = element == ElementType::f32 ? 1e-4 : 2 * roundingError(element), .floor = 1.0 / 64});
        }
      }
}

TEST_CASE_METHOD(Fixture, "a softmax in place", "[calls]") {
  for (auto [element, columns] : {std::pair(ElementType::f32, 333), {ElementType::bf16, 9001}}) {
    CAPTURE(toString(element), columns);
    Slice x = input(element, {9, columns}, 3);
    std::vector<double> before = x.values();
    finish(softmax::normalize(programs, {}, x.view(), x.view()), x);
    compare(x, referenceSoftmax(columns, before, all(x)),
            {.limit = element == ElementType::f32 ? 1e-4 : 2 * roundingError(element),
             .floor = 1.0 / double(columns)});
  }
}

TEST_CASE_METHOD(Fixture, "a softmax refuses a result that overlaps its input otherwise", "[calls]") {
  Slice x = input(ElementType::f32, {12, 64});
  auto of = [&](const Slice &from, const Slice &to) {
    return softmax::normalize(programs, {}, from.view(), to.view());
  };
  std::string expected = "argument 'y': expected memory of its own because softmax::normalize writes it, but "
                         "it overlaps argument 'x'";
  CHECK(of(x.part(0, 0, 8), x.part(0, 4, 8)).error().message == expected);
  CHECK(of(x.part(1, 0, 32), x.part(1, 31, 32)).error().message == expected);
  TensorView spread = x.part(0, 0, 6).view();
  spread.strides[0] *= 2;
  CHECK(softmax::normalize(programs, {}, spread, x.part(0, 0, 6).view()).error().message == expected);
  CHECK(of(x.part(0, 0, 6), x.part(0, 6, 6)));
  CHECK(of(x.part(1, 0, 32), x.part(1, 32, 32)));
}

void Fixture::checkDecoding() {
  constexpr int64_t b = 3, hkv = 2, group = 4, d = 64, dv = 32, keys = 96, page = 32, queries = 2;
  for (bool isPaged : {false, true}) {
    int64_t outer = isPaged ? b * keys / page : b, inner = isPaged ? page : keys;
    Slice q = input(ElementType::bf16, {b, queries, hkv, group, d});
    Slice k = input(ElementType::bf16, {outer, inner, hkv, d}),
          v = input(ElementType::bf16, {outer, inner, hkv, dv});
    Slice o = output(ElementType::bf16, {b, queries, hkv, group, dv});
    Slice lse = output(ElementType::f32, {b, hkv, group, queries});
    Slice lengths = newTensor(device, ElementType::i32, {b}),
          table = newTensor(device, ElementType::i32, {b, keys / page});
    lengths.fill(std::vector<int64_t>{0, 50, 96});
    table.fill(std::vector<int64_t>{2, 0, 1, 5, 3, 4, 8, 7, 6});
    lengths.block->upload();
    table.block->upload();
    Slice sink = input(ElementType::f32, {hkv, group});
    attention::DecodeTensors tensors{.q = q.view(),
                                     .k = k.view(),
                                     .v = v.view(),
                                     .o = o.view(),
                                     .lse = lse.view(),
                                     .keyLengths = lengths.view(),
                                     .sink = sink.view()};
    if (isPaged)
      tensors.table = table.view();
    attention::DecodeOptions options{.mask = {.causal = CausalAlignment::right, .windowLeft = 40}};
    Workspace memory = workspace(workspaceSize(programs, tensors, options));
    finish(decode(programs, {}, tensors, memory, options), o);
    lse.block->download();
    DecodeShape shape{.problem = {.d = d, .dv = dv, .mask = options.mask},
                      .queries = queries,
                      .kvHeads = hkv,
                      .group = group,
                      .keys = keys,
                      .pageSize = isPaged ? page : 0};
    std::vector<double> qs = q.values(), ks = k.values(), vs = v.values(), sinks = sink.values(),
                        numbers = table.values(), counts = lengths.values();
    DecodeInputs in{.q = qs, .k = ks, .v = vs, .lengths = counts, .table = numbers, .sinks = sinks};
    compare(o, referenceDecode(shape, in, all(o)),
            {.limit = 2 * roundingError(ElementType::bf16), .floor = 0.5});
    compare(lse, referenceDecodeLogSumExp(shape, in, all(lse)), {.limit = 1e-5, .floor = 1});

    options.mask = {.blockCausal = 4};
    CHECK(
        decode(programs, {}, tensors, memory, options).error().message ==
        "attention::decode: expected no block-causal mask because it is about whole sequences, but got one");
    options.mask = {.windowLeft = -1};
    CHECK(decode(programs, {}, tensors, memory, options).error().message ==
          "expected parameter 'window' of kernel 'attention::decode' to be 0 to 1073741824, or auto, but got "
          "'-1'");
  }
}

TEST_CASE_METHOD(Fixture, "decoding is a call, with a window, pages and sinks", "[calls]") {
  checkDecoding();
}

TEST_CASE_METHOD(BlackwellFixture, "decoding is a call on a device with tcgen05", "[calls]") {
  checkDecoding();
}

TEST_CASE("decoding needs roles that share registers", "[calls]") {
  CallFixture old("sm_80");
  Slice q = old.input(ElementType::bf16, {1, 1, 1, 4, 64}), k = old.input(ElementType::bf16, {1, 32, 1, 64}),
        o = old.output(ElementType::bf16, {1, 1, 1, 4, 64}), lse = old.output(ElementType::f32, {1, 1, 4, 1}),
        lengths = old.input(ElementType::i32, {1});
  attention::DecodeTensors tensors{.q = q.view(),
                                   .k = k.view(),
                                   .v = k.view(),
                                   .o = o.view(),
                                   .lse = lse.view(),
                                   .keyLengths = lengths.view()};
  CHECK(
      workspaceSize(old.programs, tensors).error().message ==
      "attention::decode: expected a target whose warpgroups can give each other registers, as the roles of "
      "decoding do (sm_90a and later), but got sm_80");
}

TEST_CASE_METHOD(Fixture, "attention forward on e4m3 is a call", "[calls]") {
  constexpr int64_t b = 2, s = 80, h = 2, d = 64;
  constexpr ElementType bytes = ElementType::e4m3, f32 = ElementType::f32;
  Slice q = input(bytes, {b, s, h, d}), k = input(bytes, {b, s, h, d}), v = input(bytes, {b, s, h, d});
  Slice o = output(ElementType::bf16, {b, s, h, d}), lse = output(f32, {b, h, s});
  Slice factors = input(f32, {b, h});
  attention::ForwardTensors tensors{
      .q = q.view(), .k = k.view(), .v = v.view(), .o = o.view(), .lse = lse.view()};
  CHECK(forward(programs, {}, tensors, {}).error().message ==
        "argument 'scaleQ': expected a factor for each sequence and head because q is of e4m3, but got none");
  tensors.scaleQ = tensors.scaleK = tensors.scaleV = factors.view();
  attention::ForwardOptions options{.mask = {.causal = CausalAlignment::right}};
  Workspace memory = workspace(workspaceSize(programs, tensors, options));
  finish(forward(programs, {}, tensors, memory, options), o);
  auto scaled = [&](const Slice &slice) {
    std::vector<double> values = slice.values();
    for (size_t i = 0; i < values.size(); ++i)
      values[i] *= factors.at(int64_t(i) / (s * h * d) * h + int64_t(i) / d % h);
    return values;
  };
  AttentionShape shape{.problem = {.d = d, .dv = d, .mask = options.mask}, .h = h, .hkv = h};
  for (int64_t i = 0; i < b; ++i)
    shape.sequences.push_back({i * s, s, i * s, s});
  compare(o, referenceAttention(shape, scaled(q), scaled(k), scaled(v), {}, all(o)),
          {.limit = roundingError(bytes), .floor = 3.0 / 4});
}

TEST_CASE_METHOD(Fixture, "a program of one's own is compiled once and kept", "[calls]") {
  auto twice = [](int64_t factor) {
    return dsl::Program::trace("twice", [=](dsl::Scope &k) {
      dsl::Index n = k.dim("n");
      dsl::Global x = k.input("x", dsl::f32, {n}), y = k.output("y", dsl::f32, {n});
      auto [block] = k.grid(ceilDiv(n, 128));
      dsl::Fragment tile = k.fragment(dsl::f32, {128, 1});
      copy(x.tile({block * 128}, {128}), tile);
      copy(tile * double(factor), y.tile({block * 128}, {128}));
    });
  };
  CompileOptions options;
  auto one = compile(twice(2), options, artifacts), again = compile(twice(2), options, artifacts);
  REQUIRE((one && again));
  CHECK(*one == *again);
  auto other = compile(twice(3), options, artifacts);
  REQUIRE(bool(other));
  CHECK(*other != *one);
  options.target = "sm_80";
  auto older = compile(twice(2), options, artifacts);
  REQUIRE(bool(older));
  CHECK(*older != *one);
  CHECK((*older)->target == "sm_80");

  // Loaded once, too.
  auto loaded = programs.load(twice(2)), same = programs.load(twice(2));
  REQUIRE((loaded && same));
  CHECK(*loaded == *same);
  CHECK(device.loads == 1);
  auto wrong =
      compile(dsl::Program::trace("wrong", [](dsl::Scope &k) { k.fragment(dsl::f32, {}); }), {}, artifacts);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().kind == ErrorKind::invalidArgument);
}

TEST_CASE_METHOD(Fixture, "a call whose program is kept on disk traces nothing", "[calls]") {
  TemporaryDirectory folder;
  const SoftmaxConfig config = chooseSoftmaxConfig(
      {.rows = 8, .columns = 64, .dtype = ElementType::bf16, .alignment = 16}, **programs.target());
  int traced = 0;
  const CallProgram program = callProgram("softmax::normalize", config, [&] {
    ++traced;
    return softmaxProgram(config);
  });
  std::vector<CacheEvent::Kind> events;
  CacheOptions options = CacheOptions::in(folder.path);
  options.onEvent = [&](const CacheEvent &event) { events.push_back(event.kind); };
  options.policy = CachePolicy::hitsOnly;
  {
    ArtifactCache empty(options);
    Result<std::shared_ptr<const LoadedProgram>> loaded = Programs(device, empty).load(program);
    REQUIRE_FALSE(loaded);
    CHECK(
        loaded.error().message ==
        "expected the program 'softmax::normalize' for sm_90a in the cache, which is used for hits only, but "
        "it has none; make the same call where the cache may compile, on a device of sm_90a, an emulated one "
        "too, and copy that by 'tlc cache export'");
    CHECK(events.empty());
  }
  using enum CacheEvent::Kind;
  options.policy = CachePolicy::compile;
  {
    ArtifactCache filled(options);
    Programs own(device, filled), others(device, filled);
    REQUIRE(own.load(program));
    REQUIRE(own.load(program)); // is loaded, which asks no cache
    REQUIRE(others.load(program));
    CHECK(events == std::vector{compiled, loaded, foundInMemory, loaded});
    CHECK(traced == 1);
  }
  options.policy = CachePolicy::hitsOnly;
  events.clear();
  ArtifactCache again(options); // as in another process
  REQUIRE(Programs(device, again).load(program));
  CHECK(events == std::vector{foundOnDisk, loaded});
  CHECK(traced == 1);
}
