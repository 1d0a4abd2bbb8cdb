// SPDX-License-Identifier: Apache-2.0
/// \file
/// mma.sync of every class, and the matrix moves.
#include "tools/conformance/MatrixValues.h"

#include <fmt/format.h>

namespace tlc::conformance {
namespace {

struct MmaClass {
  unsigned m, n, k;
  MatrixType a, b, accumulator;
  std::string_view more = ""; ///< modifiers after the types, or before them
};

std::vector<MmaClass> mmaClasses() {
  std::vector<MmaClass> classes;
  for (unsigned k : {8, 16}) {
    classes.push_back({16, 8, k, matrixF16, matrixF16, matrixF32});
    classes.push_back({16, 8, k, matrixF16, matrixF16, matrixF16});
    classes.push_back({16, 8, k, matrixBf16, matrixBf16, matrixF32});
    classes.push_back({16, 8, k / 2, matrixTf32, matrixTf32, matrixF32});
  }
  for (const MatrixType &a : {matrixE4m3, matrixE5m2})
    for (const MatrixType &b : {matrixE4m3, matrixE5m2})
      classes.push_back({16, 8, 32, a, b, matrixF32});
  for (const MatrixType &a : {matrixS8, matrixU8})
    for (const MatrixType &b : {matrixS8, matrixU8})
      for (unsigned k : {16, 32})
        for (std::string_view saturate : {"", ".satfinite"})
          classes.push_back({16, 8, k, a, b, matrixS32, saturate});
  classes.push_back({8, 8, 16, matrixS8, matrixU8, matrixS32});
  for (const MatrixType &a : {matrixS4, matrixU4})
    for (const MatrixType &b : {matrixS4, matrixU4})
      for (unsigned k : {32, 64})
        classes.push_back({16, 8, k, a, b, matrixS32});
  for (unsigned k : {128, 256})
    for (std::string_view op : {".and.popc", ".xor.popc"})
      classes.push_back({16, 8, k, matrixB1, matrixB1, matrixS32, op});
  classes.push_back({8, 8, 4, matrixF64, matrixF64, matrixF64});
  for (unsigned k : {4, 8, 16})
    classes.push_back({16, 8, k, matrixF64, matrixF64, matrixF64});
  return classes;
}

struct Words {
  unsigned count, bits;
};
Words fragmentWords(unsigned rows, unsigned columns, MatrixType type) {
  if (type.bits == 64)
    return {rows * columns / 32, 64};
  return {rows * columns * type.bits / 32 / 32, 32};
}

std::string names(char first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("{}%{}{}", i ? ", " : "", first, i);
  return text + "}";
}

/// Several products of one class; the first accumulator is an input, the others come from the product before.
Program mmaProgram(std::string name, const MmaClass &c, Values values, Random &random) {
  constexpr unsigned products = 4;
  const Words a = fragmentWords(c.m, c.k, c.a), b = fragmentWords(c.k, c.n, c.b),
              d = fragmentWords(c.m, c.n, c.accumulator);
  const auto [bits, accumulatorBits] = std::pair(a.bits, d.bits);
  std::string declarations =
      fmt::format("  .reg .b32 %t; .reg .b64 %at, %to; .reg .b{} %a<{}>, %b<{}>; .reg .b{} %c<{}>;\n", bits,
                  a.count, b.count, accumulatorBits, d.count);
  std::string body = "  mov.u32 %t, %tid.x;\n  mad.wide.u32 %at, %t, 8, %in;\n";
  body += fmt::format("  mad.wide.u32 %to, %t, {}, %out;\n", accumulatorBits / 8);
  Program program;
  size_t offset = 0, output = 0;
  const auto load = [&](char first, unsigned count, unsigned width, MatrixType type) {
    for (unsigned i = 0; i < count; ++i, offset += 256) {
      body += fmt::format("  ld.global.b{} %{}{}, [%at+{}];\n", width, first, i, offset);
      const std::vector<std::byte> elements = matrixElements(type, values, 256, random);
      program.input.insert(program.input.end(), elements.begin(), elements.end());
    }
  };
  load('c', d.count, accumulatorBits, c.accumulator);
  const bool isBit = c.a.bits == 1;
  const std::string instruction =
      fmt::format("mma.sync.aligned.m{}n{}k{}.row.col{}.{}.{}.{}.{}{}", c.m, c.n, c.k, isBit ? "" : c.more,
                  c.accumulator.name, c.a.name, c.b.name, c.accumulator.name, isBit ? c.more : "");
  for (unsigned product = 0; product < products; ++product) {
    load('a', a.count, bits, c.a);
    load('b', b.count, bits, c.b);
    body += fmt::format("  {} {}, {}, {}, {};\n", instruction, names('c', d.count), names('a', a.count),
                        names('b', b.count), names('c', d.count));
    Column column = {fmt::format("{}, {}, product {}", instruction, toString(values), product),
                     accumulatorFormat(c.accumulator), output, d.count * 32};
    program.columns.push_back(column);
    for (unsigned i = 0; i < d.count; ++i, output += 32 * accumulatorBits / 8)
      body += fmt::format("  st.global.b{} [%to+{}], %c{};\n", accumulatorBits, output, i);
  }
  program.name = std::move(name);
  program.ptx = moduleText(declarations, body);
  program.output.resize(output);
  return program;
}

/// ldmatrix and stmatrix in each form on rows in random order; movmatrix.
Program moveProgram(std::string name, Random &random) {
  constexpr unsigned sharedBytes = 4096, rounds = 3;
  std::string declarations =
      "  .reg .b32 %t, %row, %base, %r<4>; .reg .b64 %at, %to, %from; .reg .v4 .b32 %v;\n";
  declarations = "  .reg .b32 %t, %row, %base, %w, %r<4>, %v<4>; .reg .b64 %at, %to, %from;\n";
  std::string body =
      "  mov.u32 %t, %tid.x;\n  mov.u32 %base, dynamicShared;\n  mad.lo.u32 %w, %t, 16, %base;\n"
      "  mad.wide.u32 %from, %t, 16, %in;\n  mad.wide.u32 %at, %t, 4, %in;\n  mad.wide.u32 %to, %t, 16, "
      "%out;\n";
  Program program;
  program.sharedBytes = sharedBytes;
  const std::vector<std::byte> fill = matrixElements(matrixS32, Values::unit, sharedBytes, random);
  program.input = fill;
  for (unsigned at = 0; at < sharedBytes; at += 512)
    body += fmt::format("  ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%from+{0}];\n"
                        "  st.shared.v4.b32 [%w+{0}], {{%v0, %v1, %v2, %v3}};\n",
                        at);
  body += "  bar.sync 0;\n";
  size_t output = 0;
  const auto rows = [&] { // 32 different ones
    std::vector<uint32_t> order(sharedBytes / 16);
    for (uint32_t i = 0; i < order.size(); ++i)
      order[i] = i * 16;
    random.shuffle(std::span(order));
    body +=
        fmt::format("  ld.global.b32 %row, [%at+{}];\n  add.u32 %row, %row, %base;\n", program.input.size());
    const auto *bytes = reinterpret_cast<const std::byte *>(order.data());
    program.input.insert(program.input.end(), bytes, bytes + 128);
  };
  const auto store = [&](std::string text, unsigned count) {
    body += fmt::format("  st.global.v4.b32 [%to+{}], {{%r0, %r1, %r2, %r3}};\n", output);
    program.columns.push_back({std::move(text), Format::b32, output, 128});
    (void)count;
    output += 512;
  };
  for (unsigned round = 0; round < rounds; ++round)
    for (unsigned count : {1, 2, 4})
      for (std::string_view transposed : {"", ".trans"}) {
        const std::string load =
            fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16", count, transposed);
        rows();
        body += fmt::format(
            "  mov.b32 %r0, 0; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0;\n  {} {}, [%row];\n", load,
            names('r', count));
        store(load, count);
        const std::string put = fmt::format("stmatrix.sync.aligned.m8n8.x{}{}.shared.b16", count, transposed);
        rows();
        body += fmt::format("  bar.sync 0;\n  {} [%row], {};\n  bar.sync 0;\n", put, names('r', count));
      }
  body += "  movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r3;\n";
  store("movmatrix.sync.aligned.m8n8.trans.b16", 1);
  for (unsigned at = 0; at < sharedBytes; at += 512) {
    body += fmt::format("  ld.shared.v4.b32 {{%r0, %r1, %r2, %r3}}, [%w+{}];\n", at);
    store("shared memory after the stores", 4);
  }
  program.name = std::move(name);
  program.ptx = moduleText(declarations, body);
  program.output.resize(output);
  return program;
}

} // namespace

std::vector<Program> mmaPrograms() {
  std::vector<Program> programs;
  const auto name = [&] { return fmt::format("mma.{}", programs.size()); };
  for (const MmaClass &c : mmaClasses())
    for (Values values : {Values::integers, Values::unit, Values::wide, Values::special, Values::extreme})
      if (!c.a.isInteger() || values == Values::integers) {
        Random random(1, name());
        programs.push_back(mmaProgram(name(), c, values, random));
      }
  for (unsigned i = 0; i < 4; ++i) {
    Random random(1, name());
    programs.push_back(moveProgram(name(), random));
  }
  return programs;
}

} // namespace tlc::conformance
