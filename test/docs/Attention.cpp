// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention as a call of the library.
// [attention]
#include "kernels/library/Attention.h"

#include "kernels/library/Compile.h"
#include "runtime/device/LaunchPlan.h"

using namespace tlc;

/// Causal attention of Q, K and V in one tensor of bf16, b x s x 3 x h x d.
Result<void> attendCausally(attention::Programs &programs, Stream stream, std::byte *qkv, void *o, void *lse,
                            int64_t b, int64_t s, int64_t h, int64_t d) {
  constexpr ElementType type = ElementType::bf16;
  auto third = [&](int64_t n) -> TensorView {
    int64_t row = h * d;
    return {qkv + n * row * sizeInBytes(type), type, {b, s, h, d}, {s * 3 * row, 3 * row, d, 1}};
  };
  attention::ForwardTensors tensors{.q = third(0),
                                    .k = third(1),
                                    .v = third(2),
                                    .o = contiguousView(o, type, {b, s, h, d}),
                                    .lse = contiguousView(lse, ElementType::f32, {b, h, s})};
  attention::ForwardOptions options{.mask = {.causal = attention::CausalAlignment::right}};

  // Compiles and loads the program the first time; `forward` only launches then.
  Result<size_t> bytes = workspaceSize(programs, tensors, options);
  if (!bytes)
    return bytes.error();
  Result<void *> memory = programs.device().allocate(*bytes);
  if (!memory)
    return memory.error();
  Result<void> done = forward(programs, stream, tensors, {*memory, *bytes}, options);
  if (done)
    done = programs.device().synchronize(stream);
  Result<void> freed = programs.device().free(*memory);
  return done ? freed : done;
}
// [attention]

#include "kernels/attention/backward/Backward.h"
#include "kernels/harness/ElementBits.h"

#include <catch2/catch.hpp>

namespace {
// [attention-packed]
/// Sequences one after the other, t rows in all; sequence n has the rows from begins[n] to before begins[n +
/// 1].
attention::ForwardTensors packed(void *q, void *k, void *v, void *o, void *lse, void *begins, int64_t t,
                                 int64_t sequences, int64_t h, int64_t hkv, int64_t d) {
  constexpr ElementType type = ElementType::bf16;
  TensorView rows = contiguousView(begins, ElementType::i32, {sequences + 1});
  return {.q = contiguousView(q, type, {t, h, d}),
          .k = contiguousView(k, type, {t, hkv, d}),
          .v = contiguousView(v, type, {t, hkv, d}),
          .o = contiguousView(o, type, {t, h, d}),
          .lse = contiguousView(lse, ElementType::f32, {h, t}),
          .queryLengths = rows,
          .keyLengths = rows};
}
// Half of each sequence is noisy, half is clean, in blocks of 32 positions.
const attention::ForwardOptions blockDiffusion{.mask = {.blockCausal = 32},
                                               .lengths = attention::Lengths::packed};
// [attention-packed]

// [attention-documents]
/// Causal attention within the documents of a sequence. `begins` has the first position of each token's
/// document.
kernels::Mask withinDocuments(const kernels::MaskScope &scope) {
  using namespace kernels;
  dsl::Global begins = scope.k.input("begins", dsl::i32, {scope.batches, scope.queries});
  return Mask::derived([=](const Sequence &s, auto query,
                           auto key) { return key <= query && key >= lookUp(begins, {s.batch, 0}, query); },
                       RowOrder::lastFirst);
}
dsl::Program attendWithinDocuments(const kernels::ForwardConfig &config) {
  return forwardProgram(config, withinDocuments);
}
// [attention-documents]

// [attention-documents-backward]
/// The gradients of `attendWithinDocuments`. The program takes any extents; these guide its choices.
dsl::Program gradientsWithinDocuments(const kernels::AttentionProblem &problem,
                                      const kernels::BackwardExtents &extents) {
  kernels::BackwardConfig config{.problem = problem};
  chooseSchedule(config, {.isDeterministic = true}, extents, *findTarget("sm_90a"));
  return backwardProgram(config, withinDocuments);
}
// [attention-documents-backward]

// [attention-prefixes]
/// A prefix that everybody sees, of a length for each sequence, and a causal rest.
dsl::Program attendToPrefixes(const kernels::ForwardConfig &config) {
  using namespace kernels;
  return forwardProgram(config, [](const MaskScope &scope) {
    dsl::Global lengths = scope.k.input("prefix_lengths", dsl::i32, {scope.batches});
    return Mask::derived([=](const Sequence &s, auto query,
                             auto key) { return key <= query || key < lengths.read({s.batch}); },
                         RowOrder::lastFirst);
  });
}
// [attention-prefixes]

// [attention-kinds]
/// Queries see keys of their own kind, in any order. The caller says in which range of keys those of a tile
/// of queries lie: from `first_keys` of its first query to before `last_keys` of its last one.
dsl::Program attendWithinKinds(const kernels::ForwardConfig &config) {
  using namespace kernels;
  return forwardProgram(config, [](const MaskScope &scope) {
    auto numbers = [&](const char *name, const dsl::Index &rows) {
      return scope.k.input(name, dsl::i32, {scope.batches, rows});
    };
    dsl::Global ofQueries = numbers("query_kinds", scope.queries), ofKeys = numbers("key_kinds", scope.keys);
    dsl::Global firstKeys = numbers("first_keys", scope.queries),
                lastKeys = numbers("last_keys", scope.queries);
    return Mask(
        [=](const Sequence &s, const ScorePosition &query, const ScorePosition &key) {
          return lookUp(ofQueries, {s.batch, 0}, query) == lookUp(ofKeys, {s.batch, 0}, key);
        },
        [=](const Sequence &s, const TileSpan &queries) {
          PositionPart part;
          part.some = {firstKeys.read({s.batch, queries.first}), lastKeys.read({s.batch, queries.last})};
          part.all.end = 0; // no key that all of them see is known
          return PositionSet{{part}};
        });
  });
}
// [attention-kinds]
} // namespace

TEST_CASE("masks that read tensors", "[docs]") {
  for (auto *program : {attendWithinDocuments, attendToPrefixes, attendWithinKinds}) {
    dsl::Program traced = program({.problem = {.d = 64, .dv = 64}});
    INFO(traced.errorText());
    REQUIRE(traced.ok());
    REQUIRE(bool(compile(std::move(traced))));
  }
}

TEST_CASE("gradients of a mask that reads a tensor", "[docs]") {
  Result<Artifact> artifact = compile(gradientsWithinDocuments(
      {.d = 64, .dv = 64}, {.sequences = 1, .queries = 200, .keys = 200, .heads = 2, .kvHeads = 1}));
  INFO((artifact ? "" : artifact.error().message));
  REQUIRE(bool(artifact));
  std::vector<std::string> names;
  for (const TensorArgument &tensor : artifact->tensors)
    if (tensor.access != Access::workspace)
      names.push_back(tensor.name);
  CHECK(names == std::vector<std::string>{"Q", "K", "V", "O", "dO", "LSE", "begins", "dQ", "dK", "dV"});
}

TEST_CASE("attention called from C++", "[docs]") {
  std::unique_ptr<Device> device = createEmulatorDevice({.multiprocessors = 3});
  attention::ArtifactCache artifacts;
  attention::Programs programs(*device, artifacts);
  constexpr int64_t s = 20, h = 2, d = 64;
  // Each key weighs the same where Q is 0, and V counts its rows.
  std::vector<std::byte> qkv(size_t(s * 3 * h * d * 2));
  for (int64_t row = 0; row < s; ++row)
    for (int64_t i = 0; i < h * d; ++i)
      kernels::storeElement(ElementType::bf16, &qkv[size_t(((row * 3 + 2) * h * d + i) * 2)], double(row));
  std::byte *memory = static_cast<std::byte *>(*device->allocate(qkv.size()));
  void *o = *device->allocate(s * h * d * 2), *lse = *device->allocate(h * s * 4);
  REQUIRE(bool(device->copyToDevice(memory, qkv.data(), qkv.size())));
  Result<void> done = attendCausally(programs, {}, memory, o, lse, 1, s, h, d);
  INFO((done ? "" : done.error().message));
  REQUIRE(bool(done));
  std::vector<std::byte> rows(s * h * d * 2);
  REQUIRE(bool(device->copyToHost(rows.data(), o, rows.size())));
  for (int64_t row = 0; row < s; ++row)
    CHECK(kernels::loadElement(ElementType::bf16, &rows[size_t(row * h * d * 2)]) ==
          Approx(double(row) / 2).epsilon(0.01));

  Result<size_t> bytes =
      workspaceSize(programs, packed(memory, memory, memory, o, lse, lse, s, 2, h, h, d), blockDiffusion);
  INFO((bytes ? "" : bytes.error().message));
  REQUIRE(bool(bytes));
  for (void *allocated : {static_cast<void *>(memory), o, lse})
    REQUIRE(bool(device->free(allocated)));
}
