// SPDX-License-Identifier: Apache-2.0
/// \file
/// wmma and the forms of mma.sync beside its common ones, against sums taken
/// here of small integers, which every element holds exactly.
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <functional>
#include <random>

using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

struct Form {
  std::string shape, a, b, c, d; ///< element types
  unsigned m, n, k;
  unsigned registersA, registersB, registersC, registersD;
  std::string rowA = "row", rowB = "col", rowD = "row";
};

unsigned bitsOf(const std::string &type) {
  if (type == "f64")
    return 64;
  if (type == "f16" || type == "bf16")
    return 16;
  if (type == "s8" || type == "u8")
    return 8;
  if (type == "s4" || type == "u4")
    return 4;
  return type == "b1" ? 1 : 32;
}

bool isSigned(const std::string &type) { return type[0] != 'u' && type != "b1"; }

/// The bits of a small integer.
uint64_t encode(const std::string &type, int value) {
  if (type == "f64")
    return bits(double(value));
  if (type == "f32" || type == "tf32")
    return bits(float(value));
  if (type == "bf16")
    return bits(float(value)) >> 16;
  if (type == "f16") { // below 2048 in magnitude: exact
    if (value == 0)
      return 0;
    const unsigned magnitude = unsigned(std::abs(value)), exponent = 31 - unsigned(__builtin_clz(magnitude));
    return (value < 0 ? 0x8000u : 0u) | (exponent + 15) << 10 | ((magnitude << (10 - exponent)) & 0x3FF);
  }
  return uint64_t(value) & (bitsOf(type) == 64 ? ~uint64_t(0) : (uint64_t(1) << bitsOf(type)) - 1);
}

/// A matrix in memory, in words.
std::vector<uint32_t> pack(const std::string &type, const std::string &layout, unsigned rows,
                           unsigned columns, const std::vector<int> &values) {
  const unsigned each = bitsOf(type);
  std::vector<uint32_t> words((rows * columns * each + 31) / 32);
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned column = 0; column < columns; ++column) {
      const unsigned at = layout == "row" ? row * columns + column : column * rows + row;
      const uint64_t element = encode(type, values[row * columns + column]);
      for (unsigned bit = 0; bit < each; bit += 32)
        words[(at * each + bit) / 32] |= uint32_t(element >> bit) << (at * each % 32);
    }
  return words;
}

std::string registers(char name, unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("{}%{}{}", i ? ", " : "", name, first + i);
  return text + "}";
}

/// Copies words between shared memory at `at` and global memory.
std::string copy(unsigned words, unsigned at, bool toShared) {
  std::string text;
  for (unsigned i = 0; i < words; i += 32)
    text +=
        fmt::format("setp.lt.u32 %p1, %t, {};\n", words - i) +
        (toShared ? fmt::format("@%p1 ld.global.b32 %r99, [%d49+{}]; @%p1 st.shared.b32 [%r98+{}], %r99;\n",
                                4 * (at + i), 4 * (at + i))
                  : fmt::format("@%p1 ld.shared.b32 %r99, [%r98+{}]; @%p1 st.global.b32 [%mine+{}], %r99;\n",
                                4 * (at + i), 4 * i));
  return text;
}

/// a * b + c by wmma, for random a, b and c.
void check(const Form &form, std::string mma = "", std::function<int(int, int)> product = {}) {
  const uint32_t seed = Catch::rngSeed();
  INFO("seed " << seed << " " << form.shape << " " << form.a);
  std::mt19937 engine(seed);
  const auto fill = [&](unsigned count, const std::string &type) {
    std::vector<int> values(count);
    for (int &value : values)
      value = type == "b1" ? int(engine() & 1) : int(engine() % 8) - (isSigned(type) ? 4 : 0);
    return values;
  };
  const auto a = fill(form.m * form.k, form.a), b = fill(form.k * form.n, form.b),
             c = fill(form.m * form.n, form.c);
  std::vector<int> d(form.m * form.n);
  for (unsigned row = 0; row < form.m; ++row)
    for (unsigned column = 0; column < form.n; ++column) {
      int sum = c[row * form.n + column];
      for (unsigned k = 0; k < form.k; ++k) {
        const int x = a[row * form.k + k], y = b[k * form.n + column];
        sum += product ? product(x, y) : x * y;
      }
      d[row * form.n + column] = sum;
    }
  KernelText kernel;
  std::vector<unsigned> at;
  for (const auto &words :
       {pack(form.a, form.rowA, form.m, form.k, a), pack(form.b, form.rowB, form.k, form.n, b),
        pack(form.c, "row", form.m, form.n, c)}) {
    at.push_back(unsigned(kernel.in.size()));
    kernel.in.insert(kernel.in.end(), words.begin(), words.end());
    kernel.in.resize((kernel.in.size() + 7) / 8 * 8); // 32 bytes
  }
  const auto expected = pack(form.d, form.rowD, form.m, form.n, d);
  const unsigned result = unsigned(kernel.in.size());
  const char reg = form.a == "f64" ? 'd' : 'r';
  const std::string middle =
      mma.empty()
          ? form.a == "f16" ? form.d + "." + form.c : form.d + "." + form.a + "." + form.b + "." + form.c
          : mma;
  kernel.header = ".shared .align 128 .b8 memory[16384];";
  kernel.body = "mov.u32 %r98, memory; mad.wide.u32 %d49, %t, 4, %in; mad.lo.u32 %r98, %t, 4, %r98;\n" +
                copy(unsigned(kernel.in.size()), 0, true) + "bar.sync 0; mov.u32 %r97, memory;\n" +
                fmt::format("wmma.load.a.sync.aligned.{}.{}.shared.{} {}, [%r97+{}], {};\n", form.rowA,
                            form.shape, form.a, registers(reg, 0, form.registersA), 4 * at[0],
                            form.rowA == "row" ? form.k : form.m) +
                fmt::format("wmma.load.b.sync.aligned.{}.{}.shared.{} {}, [%r97+{}], {};\n", form.rowB,
                            form.shape, form.b, registers(reg, 10, form.registersB), 4 * at[1],
                            form.rowB == "row" ? form.n : form.k) +
                fmt::format("wmma.load.c.sync.aligned.row.{}.shared.{} {}, [%r97+{}], {};\n", form.shape,
                            form.c, registers(reg, 20, form.registersC), 4 * at[2], form.n) +
                fmt::format("wmma.mma{}.sync.aligned.{}.{}.{}.{} {}, {}, {}, {};\n",
                            product ? ".xor.popc" : "", form.rowA, form.rowB, form.shape, middle,
                            registers(reg, 30, form.registersD), registers(reg, 0, form.registersA),
                            registers(reg, 10, form.registersB), registers(reg, 20, form.registersC)) +
                fmt::format("wmma.store.d.sync.aligned.{}.{}.shared.{} [%r97+{}], {}, {};\nbar.sync 0;\n",
                            form.rowD, form.shape, form.d, 4 * result, registers(reg, 30, form.registersD),
                            form.rowD == "row" ? form.n : form.m) +
                copy(unsigned(expected.size()), result, false);
  kernel.outWords = 1024;
  auto out = output(kernel);
  out.resize(expected.size());
  CHECK(out == expected);
}

} // namespace

TEST_CASE("wmma of f16 in all shapes, layouts and accumulators") {
  const std::pair<std::string, std::array<unsigned, 2>> shapes[] = {
      {"m16n16k16", {16, 16}}, {"m8n32k16", {8, 32}}, {"m32n8k16", {32, 8}}};
  for (const auto &[shape, extents] : shapes)
    for (std::string rowA : {"row", "col"})
      for (std::string rowB : {"row", "col"})
        check({shape, "f16", "f16", "f32", "f32", extents[0], extents[1], 16, 8, 8, 8, 8, rowA, rowB, rowB});
  check({"m16n16k16", "f16", "f16", "f16", "f16", 16, 16, 16, 8, 8, 4, 4});
  check({"m32n8k16", "f16", "f16", "f16", "f32", 32, 8, 16, 8, 8, 4, 8});
  check({"m8n32k16", "f16", "f16", "f32", "f16", 8, 32, 16, 8, 8, 8, 4, "row", "col", "col"});
}

TEST_CASE("wmma of the other elements") {
  check({"m16n16k16", "bf16", "bf16", "f32", "f32", 16, 16, 16, 4, 4, 8, 8});
  check({"m8n32k16", "bf16", "bf16", "f32", "f32", 8, 32, 16, 2, 8, 8, 8});
  check({"m16n16k16", "s8", "s8", "s32", "s32", 16, 16, 16, 2, 2, 8, 8});
  check({"m32n8k16", "u8", "u8", "s32", "s32", 32, 8, 16, 4, 1, 8, 8, "col", "row"});
  check({"m16n16k8", "tf32", "tf32", "f32", "f32", 16, 16, 8, 4, 4, 8, 8});
  check({"m8n8k4", "f64", "f64", "f64", "f64", 8, 8, 4, 1, 1, 2, 2}, "rz.f64.f64.f64.f64");
  check({"m8n8k32", "s4", "s4", "s32", "s32", 8, 8, 32, 1, 1, 2, 2});
  check({"m8n8k32", "u4", "u4", "s32", "s32", 8, 8, 32, 1, 1, 2, 2});
  check({"m8n8k128", "b1", "b1", "s32", "s32", 8, 8, 128, 1, 1, 2, 2}, "",
        [](int x, int y) { return x ^ y; });
}

TEST_CASE("wmma checks its address, its registers, its types") {
  CHECK_THAT(
      failure({.body = "mov.u32 %r97, m; wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r0,%r1,%r2,%r3,"
                       "%r4,%r5,%r6,%r7}, [%r97+16];",
               .header = ".shared .align 128 .b8 m[1024];"}),
      Contains("is not a multiple of 32"));
  CHECK_THAT(failure({.body = "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r0,%r1}, [%r97];"}),
             Contains("has a fragment of 8 registers, but got 2"));
  CHECK_THAT(failure({.body = "wmma.load.a.sync.aligned.row.m8n8k4.shared.f16 {%r0}, [%r97];"}),
             Contains("is not a known form"));
}

TEST_CASE("mma.sync of 8 rows, of 4 bits and of bits") {
  // All lanes hold the same word, so each sum is k times one product.
  const auto sum = [](std::string form, unsigned rows, unsigned registersB, uint32_t a, uint32_t b) {
    const unsigned halves = rows / 8;
    return output({.body = fmt::format("mov.b32 %r0, {}; mov.b32 %r9, {}; mov.b32 %r20, 5;\n"
                                       "mma.sync.aligned.{} {}, {}, {}, {};\nst.global.b32 [%mine], %r30;",
                                       int32_t(a), int32_t(b), form, registers('r', 30, 2 * halves),
                                       halves * registersB == 1   ? "{%r0}"
                                       : halves * registersB == 2 ? "{%r0, %r0}"
                                                                  : "{%r0, %r0, %r0, %r0}",
                                       registersB == 1 ? "{%r9}" : "{%r9, %r9}",
                                       halves == 1 ? "{%r20, %r20}" : "{%r20, %r20, %r20, %r20}")})[7];
  };
  CHECK(sum("m8n8k16.row.col.s32.s8.u8.s32", 8, 1, 0xFFFFFFFF, 0x02020202) == uint32_t(5 - 32));
  CHECK(sum("m8n8k32.row.col.satfinite.s32.s4.s4.s32", 8, 1, 0xFFFFFFFF, 0x77777777) == uint32_t(5 - 7 * 32));
  CHECK(sum("m16n8k32.row.col.s32.u4.s4.s32", 16, 1, 0xFFFFFFFF, 0x88888888) == uint32_t(5 - 15 * 8 * 32));
  CHECK(sum("m16n8k64.row.col.s32.u4.u4.s32", 16, 2, 0x11111111, 0x33333333) == 5 + 3 * 64);
  CHECK(sum("m8n8k128.row.col.s32.b1.b1.s32.and.popc", 8, 1, 0x0F0F0F0F, 0xFF00FF00) == 5 + 32);
  CHECK(sum("m16n8k128.row.col.s32.b1.b1.s32.xor.popc", 16, 1, 0x0F0F0F0F, 0xFFFFFFFF) == 5 + 64);
  CHECK(sum("m16n8k256.row.col.s32.b1.b1.s32.and.popc", 16, 2, 0xFFFFFFFF, 0x00000001) == 5 + 8);
}

TEST_CASE("mma.sync of f64 in all shapes, and its roundings") {
  // a = lane's group + 1 where k is 0, else 0; b = 2 ^ column.
  const auto result = [](std::string form, unsigned m, unsigned k, double a, double b, double c) {
    const unsigned countA = m / 8 * (k / 4), countB = k / 4, countC = m / 4;
    std::string body =
        fmt::format("mov.b64 %d0, 0d{:016x}; mov.b64 %d1, 0d{:016x}; mov.b64 %d2, 0d{:016x};\n", bits(a),
                    bits(b), bits(c));
    const auto same = [](std::string name, unsigned count) {
      std::string text = "{" + name;
      for (unsigned i = 1; i < count; ++i)
        text += ", " + name;
      return text + "}";
    };
    body += fmt::format("mma.sync.aligned.{} {}, {}, {}, {};\nst.global.b64 [%out], %d30;", form,
                        registers('d', 30, countC), same("%d0", countA), same("%d1", countB),
                        same("%d2", countC));
    const auto out = output({.body = body});
    return uint64_t(out[1]) << 32 | out[0];
  };
  CHECK(result("m16n8k4.row.col.f64.f64.f64.f64", 16, 4, 2, 3, 1) == bits(25.0));
  CHECK(result("m16n8k8.row.col.f64.f64.f64.f64", 16, 8, 2, 3, 1) == bits(49.0));
  CHECK(result("m16n8k16.row.col.f64.f64.f64.f64", 16, 16, 2, 3, 1) == bits(97.0));
  // Each step adds less than half a unit in the last place.
  CHECK(result("m8n8k4.row.col.rn.f64.f64.f64.f64", 8, 4, 0x1p-30, 0x1p-30, 1) == bits(1.0));
  CHECK(result("m8n8k4.row.col.rz.f64.f64.f64.f64", 8, 4, 0x1p-30, 0x1p-30, 1) == bits(1.0));
  CHECK(result("m8n8k4.row.col.rp.f64.f64.f64.f64", 8, 4, 0x1p-30, 0x1p-30, 1) == bits(1 + 0x4p-52));
  CHECK(result("m8n8k4.row.col.rm.f64.f64.f64.f64", 8, 4, -0x1p-30, 0x1p-30, 1) == bits(1 - 0x4p-53));
}
