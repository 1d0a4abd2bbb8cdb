// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which tensors have memory in common.
#include "runtime/device/TensorGeometry.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>

using namespace tlc;

namespace {

constexpr ElementType bf16 = ElementType::bf16, f32 = ElementType::f32;

TensorView view(int64_t address, ElementType element, std::vector<int64_t> shape,
                std::vector<int64_t> strides) {
  return {reinterpret_cast<void *>(address), element, std::move(shape), std::move(strides)};
}

/// The addresses of its bytes.
std::set<int64_t> bytesOfTensor(const TensorView &tensor) {
  std::set<int64_t> bytes;
  int64_t size = bytesOf(tensor.element, 1);
  auto visit = [&](auto &self, size_t axis, int64_t address) -> void {
    if (axis == tensor.shape.size()) {
      for (int64_t i = 0; i < size; ++i)
        bytes.insert(address + i);
      return;
    }
    for (int64_t i = 0; i < tensor.shape[axis]; ++i)
      self(self, axis + 1, address + i * tensor.strides[axis] * size);
  };
  visit(visit, 0, reinterpret_cast<intptr_t>(tensor.data));
  return bytes;
}

} // namespace

TEST_CASE("tensors within one another are apart if their rows are", "[device]") {
  constexpr int64_t b = 2, s = 5, h = 4, hkv = 2, d = 8, row = (h + 2 * hkv) * d;
  auto part = [&](int64_t first, int64_t heads, int64_t rows = s, ElementType element = bf16) {
    return view(4096 + first * d * 2, element, {b, rows, heads, d}, {s * row, row, d, 1});
  };
  CHECK_FALSE(mayOverlap(part(0, h), part(h, hkv)));
  CHECK_FALSE(mayOverlap(part(h + hkv, hkv), part(h, hkv)));
  CHECK_FALSE(mayOverlap(part(h + hkv, hkv), part(0, h, 1)));
  CHECK(mayOverlap(part(0, h), part(h - 1, hkv)));
  CHECK(mayOverlap(part(0, h), part(0, h)));
  CHECK_FALSE(mayOverlap(part(0, h, 0), part(0, h))); // has no elements
  // Heads between heads.
  auto ofHeads = [&](int64_t which) {
    return view(4096 + which * d * 2, bf16, {b, s, h, d}, {s * h * 3 * d, h * 3 * d, 3 * d, 1});
  };
  CHECK_FALSE(mayOverlap(ofHeads(0), ofHeads(2)));
  CHECK(mayOverlap(ofHeads(1), ofHeads(1)));
  // Sequences at a stride that is no multiple of the rows'.
  auto ofSequences = [&](int64_t elements, int64_t sequences) {
    return view(4096 + elements * 2, bf16, {sequences, 10, 4, 64}, {7688, 768, 64, 1});
  };
  CHECK_FALSE(mayOverlap(ofSequences(0, 2), ofSequences(256, 2)));
  CHECK_FALSE(mayOverlap(ofSequences(512, 4096), ofSequences(0, 4096)));
  CHECK(mayOverlap(ofSequences(0, 4096), ofSequences(255, 4096)));
  // Rows of unlike strides.
  CHECK_FALSE(mayOverlap(view(4096, f32, {4, 1}, {4, 1}), view(4100, f32, {3, 1}, {6, 1})));
  CHECK(mayOverlap(view(4096, f32, {4, 1}, {4, 1}), view(4104, f32, {3, 1}, {6, 1})));
  CHECK_FALSE(
      mayOverlap(view(4096, bf16, {1 << 20, 4}, {12, 1}), view(4096 + 8, bf16, {1 << 20, 2}, {18, 1})));
  // One after the other, and of other types.
  CHECK_FALSE(mayOverlap(view(4096, f32, {10, 8}, {8, 1}), view(4096 + 320, bf16, {10, 8}, {8, 1})));
  CHECK(mayOverlap(view(4096, f32, {10, 8}, {8, 1}), view(4096 + 316, bf16, {10, 8}, {8, 1})));
  // An expanded one has the memory of one element.
  CHECK(mayOverlap(view(4096, bf16, {10, 8}, {0, 0}), view(4096, bf16, {2}, {1})));
  CHECK_FALSE(mayOverlap(view(4096, bf16, {10, 8}, {0, 0}), view(4098, bf16, {2}, {1})));
}

TEST_CASE("tensors overlap if they share bytes, whatever their strides", "[device]") {
  std::mt19937_64 random(Catch::rngSeed());
  auto below = [&](int64_t end) { return int64_t(random() % uint64_t(end)); };
  auto draw = [&] {
    ElementType element = below(2) == 0 ? bf16 : f32;
    std::vector<int64_t> shape, strides;
    for (int64_t axis = below(3) + 1; axis != 0; --axis) {
      shape.push_back(below(4));
      strides.push_back(below(3) == 0 ? 12 : below(13));
    }
    return view(4096 + 4 * below(30), element, shape, strides);
  };
  for (int i = 0; i < 20000; ++i) {
    TensorView one = draw(), other = draw();
    std::set<int64_t> ofOne = bytesOfTensor(one), ofOther = bytesOfTensor(other);
    bool haveCommon = std::ranges::any_of(ofOne, [&](int64_t byte) { return ofOther.contains(byte); });
    INFO("draw " << i << " of seed " << Catch::rngSeed());
    REQUIRE(mayOverlap(one, other) == haveCommon);
    REQUIRE(mayOverlap(other, one) == haveCommon);
  }
}

TEST_CASE("what is written is apart from all else", "[device]") {
  Artifact artifact;
  artifact.tensors = {{.name = "A", .access = Access::input},
                      {.name = "B", .access = Access::input},
                      {.name = "C", .access = Access::output},
                      {.name = "D", .access = Access::inout}};
  const auto matrix = [](int64_t address) { return view(address, f32, {4, 8}, {8, 1}); };
  const auto complaint = [&](std::vector<TensorView> tensors) {
    Result<void> apart = checkWrittenApart(artifact, tensors, "'gemm'");
    return apart ? "" : apart.error().message;
  };
  CHECK(complaint({matrix(0x1000), matrix(0x1000), matrix(0x2000), matrix(0x3000)}) == "");
  CHECK(complaint({matrix(0x1000), matrix(0x2000), matrix(0x1000)}) ==
        "argument 'C': expected memory of its own because 'gemm' writes it, but it overlaps argument 'A'");
  CHECK(complaint({matrix(0x1000), matrix(0x2000), matrix(0x3000), matrix(0x3004)}) ==
        "argument 'C': expected memory of its own because 'gemm' writes it, but it overlaps argument 'D'");
  CHECK(complaint({matrix(0x1000), matrix(0x2000), matrix(0x3000), matrix(0x207c)}) ==
        "argument 'D': expected memory of its own because 'gemm' writes it, but it overlaps argument 'B'");
}
