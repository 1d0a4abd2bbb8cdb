// SPDX-License-Identifier: Apache-2.0
/// \file
/// wgmma of every class. Shared memory is full of random elements, and the
/// descriptors point anywhere that is aligned as the swizzle asks for, so that
/// each of their fields counts.
#include "tools/conformance/MatrixValues.h"

#include <fmt/format.h>

namespace tlc::conformance {
namespace {

constexpr unsigned sharedBytes = 96 * 1024, threads = 128;

struct WgmmaClass {
  MatrixType a, b, accumulator;
  std::string_view saturate = "";
};

constexpr WgmmaClass classes[] = {
    {matrixBf16, matrixBf16, matrixF32},
    {matrixF16, matrixF16, matrixF32},
    {matrixF16, matrixF16, matrixF16},
    {matrixTf32, matrixTf32, matrixF32},
    {matrixE4m3, matrixE4m3, matrixF32},
    {matrixE4m3, matrixE5m2, matrixF32},
    {matrixE5m2, matrixE4m3, matrixF32},
    {matrixE5m2, matrixE5m2, matrixF32},
    {matrixE4m3, matrixE4m3, matrixF16},
    {matrixE5m2, matrixE4m3, matrixF16},
    {matrixS8, matrixS8, matrixS32},
    {matrixU8, matrixS8, matrixS32},
    {matrixS8, matrixU8, matrixS32},
    {matrixU8, matrixU8, matrixS32},
    {matrixS8, matrixS8, matrixS32, ".satfinite"},
};

/// A descriptor without its start, and what the operand reaches over.
struct Operand {
  uint64_t bits = 0;
  uint32_t start = 0; ///< into dynamic shared memory
  bool transposed = false;
  std::string text;
};

/// rows: of m or n.
Operand randomOperand(MatrixType type, unsigned rows, Random &random) {
  Operand operand;
  const unsigned mode = unsigned(random.below(4)); // 0 none, 1 128, 2 64, 3 32 bytes
  const unsigned span = mode == 0 ? 16 : 256u >> mode;
  operand.transposed = type.bits == 16 && random.oneIn(2);
  const unsigned atom = mode == 0 ? 128 : 8 * span; // eight rows of the pattern
  const uint32_t unit = operand.transposed && mode != 0 ? atom : 128;
  // Spans of rows of eight, and along k, so that everything stays inside shared memory.
  const uint32_t leading = uint32_t(random.between(1, 4)) * unit;
  const uint32_t stride = uint32_t(random.between(1, rows > 128 ? 1 : 2)) * atom +
                          (mode == 0 ? 16 * unsigned(random.below(3)) : 0);
  // The start may lie inside of a row of the pattern, as it does when a loop steps along k.
  const uint32_t step = mode == 0 || operand.transposed ? 0 : uint32_t(random.below(span / 32)) * 32;
  operand.start = uint32_t(random.below(8)) * 1024 + step;
  operand.bits = uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | uint64_t(mode) << 62;
  operand.text = fmt::format("swizzle {} leading {} stride {} start {}{}", mode == 0 ? 0 : span, leading,
                             stride, operand.start, operand.transposed ? " transposed" : "");
  return operand;
}

Program wgmmaProgram(std::string name, const WgmmaClass &c, unsigned n, Values values, Random &random) {
  constexpr unsigned products = 2;
  const unsigned registers = c.accumulator.name == "f16" ? n / 4 : n / 2, k = 256 / c.a.bits;
  std::string declarations = fmt::format(
      "  .reg .b32 %t, %w, %base, %a<4>, %v<4>, %c<{}>; .reg .b64 %at, %to, %from, %da, %db, %start; "
      ".reg .pred %fill, %p;\n",
      registers);
  std::string body =
      "  mov.u32 %t, %tid.x;\n  mov.u32 %base, dynamicShared;\n  mad.lo.u32 %w, %t, 16, %base;\n"
      "  mad.wide.u32 %from, %t, 16, %in;\n  mad.wide.u32 %at, %t, 4, %in;\n"
      "  mad.wide.u32 %to, %t, 4, %out;\n"
      "  cvt.u64.u32 %start, %base;\n  shr.u64 %start, %start, 4;\n"
      "  mov.u32 %v0, 0;\n";
  std::string registerList;
  for (unsigned i = 0; i < registers; ++i)
    registerList += fmt::format("{}%c{}", i ? ", " : "", i);
  Program program;
  program.threads = threads;
  program.sharedBytes = sharedBytes;
  program.input = matrixElements(c.a, values, sharedBytes, random);
  body += fmt::format("Fill:\n  ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%from];\n"
                      "  st.shared.v4.b32 [%w], {{%a0, %a1, %a2, %a3}};\n"
                      "  add.u64 %from, %from, {0};\n  add.u32 %w, %w, {0};\n  add.u32 %v0, %v0, {0};\n"
                      "  setp.lt.u32 %fill, %v0, {1};\n  @%fill bra Fill;\n",
                      threads * 16, sharedBytes);
  const auto load = [&](char first, unsigned count, MatrixType type) {
    for (unsigned i = 0; i < count; ++i) {
      body += fmt::format("  ld.global.b32 %{}{}, [%at+{}];\n", first, i, program.input.size());
      const std::vector<std::byte> elements = matrixElements(type, values, threads * 4, random);
      program.input.insert(program.input.end(), elements.begin(), elements.end());
    }
  };
  load('c', registers, c.accumulator);
  body += "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n";
  size_t output = 0;
  for (unsigned product = 0; product < products; ++product) {
    const bool fromRegisters = random.oneIn(3);
    Operand a = randomOperand(c.a, 64, random), b = randomOperand(c.b, n, random);
    b.start += 32 * 1024;
    std::string text = fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}{}.{}.{}.{}", n, k, c.saturate,
                                   c.accumulator.name, c.a.name, c.b.name);
    if (fromRegisters)
      load('a', 4, c.a);
    body += fmt::format("  mov.b64 %da, {:#x};\n  add.u64 %da, %da, %start;\n", a.bits + (a.start >> 4));
    body += fmt::format("  mov.b64 %db, {:#x};\n  add.u64 %db, %db, %start;\n", b.bits + (b.start >> 4));
    const bool keep = !random.oneIn(4);
    body += fmt::format("  setp.{} %p, 0, 0;\n  wgmma.fence.sync.aligned;\n", keep ? "eq.u32" : "ne.u32");
    std::string signs;
    if (!c.a.isInteger()) {
      signs = fmt::format(", {}, {}", random.oneIn(4) ? -1 : 1, random.oneIn(4) ? -1 : 1);
      if (c.a.bits == 16)
        signs += fromRegisters ? fmt::format(", {}", int(b.transposed))
                               : fmt::format(", {}, {}", int(a.transposed), int(b.transposed));
    }
    body += fmt::format("  {} {{{}}}, {}, %db, %p{};\n", text, registerList,
                        fromRegisters ? "{%a0, %a1, %a2, %a3}" : "%da", signs);
    body += "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
    program.columns.push_back({fmt::format("{}, {}, a {}, b {}, keep {}{}", text, toString(values),
                                           fromRegisters ? "registers" : a.text, b.text, int(keep), signs),
                               accumulatorFormat(c.accumulator), output, registers * threads});
    for (unsigned i = 0; i < registers; ++i, output += threads * 4)
      body += fmt::format("  st.global.b32 [%to+{}], %c{};\n", output, i);
  }
  program.name = std::move(name);
  program.ptx = moduleText(declarations, body);
  program.output.resize(output);
  return program;
}

} // namespace

std::vector<Program> wgmmaPrograms() {
  Random random(1, "wgmma");
  std::vector<Program> programs;
  const auto add = [&](const WgmmaClass &c, unsigned n, Values values) {
    const std::string name = fmt::format("wgmma.{}", programs.size());
    Random own(1, name);
    programs.push_back(wgmmaProgram(name, c, n, values, own));
  };
  for (unsigned n = 8; n <= 256; n += 8) // every n once, the types in turn
    add(classes[n / 8 % 10], n, Values::integers);
  for (const WgmmaClass &c : classes) {
    for (unsigned i = 0; i < 6; ++i) {
      const unsigned n = 8 * unsigned(random.between(1, i < 3 ? 8 : 32));
      add(c, c.a.isInteger() && n > 24 ? n / 16 * 16 : n, Values::integers);
    }
    if (c.a.isInteger())
      continue;
    for (Values values : {Values::unit, Values::wide, Values::special, Values::extreme})
      add(c, 16, values);
  }
  return programs;
}

} // namespace tlc::conformance
