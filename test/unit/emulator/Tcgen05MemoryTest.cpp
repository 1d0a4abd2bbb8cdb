// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensor memory: allocation, and which cell each register of tcgen05.ld and
/// st means. The maps stand here as tables of what each bit of the thread's and
/// the register's number adds.
#include "test/unit/emulator/Tcgen05Text.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;

namespace {

struct Cell {
  unsigned lane = 0, column = 0;
};

struct ShapeTable {
  std::string_view name;
  unsigned maximum; ///< .xN
  unsigned each;    ///< registers of x1
  unsigned lanes;
  Cell thread[5]; ///< what bit i of the thread adds
  Cell register_[7];
};
constexpr ShapeTable shapes[] = {
    {"32x32b",
     128,
     1,
     32,
     {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {16, 0}},
     {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {0, 32}, {0, 64}}},
    {"16x64b",
     128,
     1,
     16,
     {{8, 0}, {0, 1}, {1, 0}, {2, 0}, {4, 0}},
     {{0, 2}, {0, 4}, {0, 8}, {0, 16}, {0, 32}, {0, 64}, {0, 128}}},
    {"16x128b",
     64,
     2,
     16,
     {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}},
     {{8, 0}, {0, 4}, {0, 8}, {0, 16}, {0, 32}, {0, 64}, {0, 128}}},
    {"16x256b",
     32,
     4,
     16,
     {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}},
     {{0, 1}, {8, 0}, {0, 8}, {0, 16}, {0, 32}, {0, 64}, {0, 128}}},
    // The second half of the threads has an offset of its own.
    {"16x32bx2",
     128,
     1,
     16,
     {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {0, 0}},
     {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {0, 32}, {0, 64}}},
};

constexpr unsigned warps = 4, columns = 512;

struct Form {
  const ShapeTable *shape;
  unsigned repeat;
  bool packed;
  unsigned split = 0;  ///< of 16x32bx2
  unsigned lane = 0;   ///< 16: the upper half of the quarter
  unsigned column = 0; ///< of the address
  unsigned registers() const { return shape->each * repeat; }
};

Cell cellOf(const Form &form, unsigned thread, unsigned reg) {
  Cell cell;
  for (unsigned i = 0; i < 5; ++i)
    if (thread >> i & 1)
      cell.lane += form.shape->thread[i].lane, cell.column += form.shape->thread[i].column;
  for (unsigned i = 0; i < 7; ++i)
    if (reg >> i & 1)
      cell.lane += form.shape->register_[i].lane, cell.column += form.shape->register_[i].column;
  if (form.packed)
    cell.column *= 2;
  if (thread >= 16)
    cell.column += form.split;
  return {cell.lane + form.lane, cell.column + form.column};
}

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const ShapeTable &shape : shapes)
    for (unsigned repeat = 1; repeat <= shape.maximum; repeat *= 4)
      for (bool packed : {false, true})
        for (unsigned lane = 0; lane < 32; lane += shape.lanes) {
          const unsigned split = shape.name == "16x32bx2" ? repeat * (packed ? 2 : 1) : 0;
          const unsigned width = repeat * shape.each * 32 / shape.lanes * (packed ? 2 : 1);
          all.push_back({&shape, repeat, packed, split, lane, width <= columns - 8 ? 8u : 0u});
        }
  return all;
}

std::string textOf(const Form &form, bool isStore) {
  const std::string address = fmt::format("[%r1+{}]", form.lane << 16 | form.column),
                    split = form.split != 0 ? fmt::format(", {}", form.split) : "",
                    registers = registerList(form.registers());
  return isStore ? fmt::format("tcgen05.st.sync.aligned.{}.x{}{}.b32 {}{}, {};\n", form.shape->name,
                               form.repeat, form.packed ? ".unpack::16b" : "", address, split, registers)
                 : fmt::format("tcgen05.ld.sync.aligned.{}.x{}{}.b32 {}, {}{};\n", form.shape->name,
                               form.repeat, form.packed ? ".pack::16b" : "", registers, address, split);
}

KernelText kernel(std::string body, unsigned allocated = columns) {
  return {.body = tensorProlog(allocated) + body + tensorEpilog(allocated),
          .target = "sm_100a",
          .threads = warps * 32};
}

/// %r1 is the address with the warp's quarter; %r0 counts columns.
const std::string quarter = "shl.b32 %r1, %w, 21; add.u32 %r1, %r1, %tm;\n";

/// Every cell becomes lane << 16 | column.
const std::string fill = quarter + R"(
    mov.b32 %r0, 0; shl.b32 %r2, %t, 16;
  $fill:
    or.b32 %r3, %r2, %r0; add.u32 %r4, %r1, %r0;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4], {%r3};
    add.u32 %r0, %r0, 1; setp.lt.u32 %p2, %r0, 512; @%p2 bra $fill;
    tcgen05.wait::st.sync.aligned;
)";

} // namespace

TEST_CASE("tcgen05.ld takes each register from its cell") {
  for (const Form &form : forms()) {
    std::string body = fill + textOf(form, false) + "tcgen05.wait::ld.sync.aligned;\n";
    body += "mad.wide.u32 %d1, %t, 512, %out;\n";
    for (unsigned r = 0; r < form.registers(); ++r)
      body += fmt::format("st.global.b32 [%d1+{}], %q{};\n", 4 * r, r);
    KernelText text = kernel(body);
    text.outWords = 128 * 128;
    const std::vector<uint32_t> out = output(text);
    unsigned wrong = 0;
    for (unsigned t = 0; t < warps * 32; ++t)
      for (unsigned r = 0; r < form.registers(); ++r) {
        const Cell cell = cellOf(form, t % 32, r);
        const uint32_t lane = t / 32 * 32 + cell.lane, value = lane << 16 | cell.column;
        // Packed: the low halves of the cell and of the next.
        wrong += out[t * 128 + r] != (form.packed ? (value + 1) << 16 | (value & 0xFFFF) : value);
      }
    INFO(textOf(form, false));
    CHECK(wrong == 0);
  }
}

TEST_CASE("tcgen05.st puts each register into its cell and touches no other") {
  for (const Form &form : forms()) {
    std::string body = fill;
    // Bit 31 marks a register's value.
    for (unsigned r = 0; r < form.registers(); ++r)
      body += fmt::format("mad.lo.u32 %q{0}, %t, 128, {1};\n", r, 0x80008000u + r);
    body += textOf(form, true) + R"(
    tcgen05.wait::st.sync.aligned;
    mov.b32 %r0, 0; mad.wide.u32 %d1, %t, 2048, %out;
  $dump:
    add.u32 %r4, %r1, %r0;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r4];
    st.global.b32 [%d1], %r3; add.s64 %d1, %d1, 4;
    add.u32 %r0, %r0, 1; setp.lt.u32 %p2, %r0, 512; @%p2 bra $dump;
    tcgen05.wait::ld.sync.aligned;
)";
    KernelText text = kernel(body);
    text.outWords = 128 * columns;
    const std::vector<uint32_t> out = output(text);
    std::vector<uint32_t> expected(128 * columns);
    for (unsigned i = 0; i < expected.size(); ++i)
      expected[i] = i / columns << 16 | i % columns;
    for (unsigned t = 0; t < warps * 32; ++t)
      for (unsigned r = 0; r < form.registers(); ++r) {
        const Cell cell = cellOf(form, t % 32, r);
        const size_t at = (t / 32 * 32 + cell.lane) * columns + cell.column;
        const uint32_t value = t * 128 + 0x80008000u + r;
        expected[at] = form.packed ? value & 0xFFFF : value;
        if (form.packed)
          expected[at + 1] = value >> 16;
      }
    INFO(textOf(form, true));
    CHECK(out == expected);
  }
}

TEST_CASE("tensor memory starts as NaN, and a store shows only once it is waited for") {
  const auto out = output(kernel(quarter + R"(
    mov.b32 %r5, 7;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r5};
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r6}, [%r1];
    tcgen05.wait::st.sync.aligned;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r7}, [%r1];
    tcgen05.wait::ld.sync.aligned;
    st.global.b32 [%mine], %r6; st.global.b32 [%mine+512], %r7;
)"));
  for (unsigned t = 0; t < 128; ++t) {
    CHECK(out[t] == ~0u);
    CHECK(out[128 + t] == 7);
  }
}

TEST_CASE("a register of tcgen05.ld is used after tcgen05.wait::ld") {
  const auto text = [](const std::string &wait) {
    return check(kernel(quarter + R"(
    mov.b32 %r5, 7;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r5};
    tcgen05.wait::st.sync.aligned;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r6}, [%r1];
    )" + wait + R"(
    st.global.b32 [%mine], %r6;
)" + (wait.empty() ? "tcgen05.wait::ld.sync.aligned;\n" : "")));
  };
  CHECK(text("tcgen05.wait::ld.sync.aligned;") == "");
  CHECK_THAT(text(""),
             Contains("a register of a load under way is used: 'tcgen05.ld.sync.aligned.32x32b.x1.b32' "
                      "at PTX line") &&
                 Contains("missing: tcgen05.wait::ld between them ('st.global.b32' at PTX line"));
}

TEST_CASE("the address may say the warp's quarter or none") {
  const auto out = output(kernel(R"(
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%tm], {%t};
    tcgen05.wait::st.sync.aligned;
    shl.b32 %r1, %w, 21; add.u32 %r1, %r1, %tm;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];
    st.global.b32 [%mine], %r2;
)"));
  for (unsigned t = 0; t < 128; ++t)
    CHECK(out[t] == t);
  CHECK_THAT(failure(kernel("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%tm+0x200000];")),
             Contains("the address 0x200000 has lane 32, but warp 3 of the block reaches lanes 96 to 127 of "
                      "tensor memory"));
  CHECK_THAT(failure(kernel("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%tm+0x100000];")),
             Contains("has lane 16, which must be a multiple of 32 for this shape"));
  CHECK_THAT(failure(kernel("tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r2}, [%tm+0x80000];")),
             Contains("has lane 8, which must be a multiple of 16 for this shape"));
  CHECK_THAT(failure(kernel("add.u32 %r1, %tm, %t; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];")),
             Contains("the lanes of the warp differ in the address: 0x60 in lane 0, 0x61 in lane 1"));
}

TEST_CASE("allocations are the lowest free columns") {
  const auto out = output({.body = R"(
    .shared .align 16 .b32 a[5]; .reg .b32 %x<5>;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [a], 64;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [a+4], 256;
    cvta.shared.u64 %d1, a; mov.b64 %d1, a; cvta.shared.u64 %d1, %d1;
    tcgen05.alloc.cta_group::1.sync.aligned.b32 [%d1+8], 32;
    ld.shared.b32 %x0, [a]; ld.shared.b32 %x1, [a+4]; ld.shared.b32 %x2, [a+8];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %x0, 64;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [a+12], 128;
    mov.b32 %r5, 32;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [a+16], %r5;
    ld.shared.b32 %x3, [a+12]; ld.shared.b32 %x4, [a+16];
    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %x1, 256; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %x2, 32;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %x3, 128; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %x4, 32;
    st.global.b32 [%out], %x0; st.global.b32 [%out+4], %x1; st.global.b32 [%out+8], %x2;
    st.global.b32 [%out+12], %x3; st.global.b32 [%out+16], %x4;
)",
                           .target = "sm_100a"});
  CHECK(std::vector(out.begin(), out.begin() + 5) == std::vector<uint32_t>{0, 64, 320, 352, 0});
}

TEST_CASE("what is wrong with an allocation is said") {
  const auto wrong = [](std::string body) { return failure({.body = body, .target = "sm_100a"}); };
  const std::string slot = ".shared .align 16 .b32 a[4];\n";
  const auto alloc = [](std::string_view columns) {
    return fmt::format("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [a], {};\n", columns);
  };
  const auto dealloc = [](std::string_view at, unsigned columns) {
    return fmt::format("tcgen05.dealloc.cta_group::1.sync.aligned.b32 {}, {};\n", at, columns);
  };
  CHECK_THAT(
      wrong(slot + alloc("48")),
      Contains(
          "48 columns of tensor memory are asked for, but allocations are powers of two from 32 to 512"));
  CHECK_THAT(wrong(slot + alloc("16")), Contains("16 columns"));
  CHECK_THAT(wrong(slot + alloc("1024")), Contains("1024 columns"));
  CHECK_THAT(wrong(slot + alloc("%t")), Contains("the lanes of the warp differ in the number of columns"));
  CHECK_THAT(
      wrong(slot + alloc("64")),
      Contains("the block exits without freeing 64 columns of tensor memory at 0x0, allocated at PTX line") &&
          Contains("missing: tcgen05.dealloc"));
  CHECK_THAT(
      wrong(slot + alloc("64") + dealloc("0", 32)),
      Contains(
          "32 columns at address 0x0 of tensor memory are freed, but the block has allocated 64 at 0x0"));
  CHECK_THAT(wrong(slot + dealloc("0", 32)), Contains("but the block has allocated none"));
  CHECK_THAT(wrong(slot + alloc("64") + dealloc("0", 64) + dealloc("0", 64)),
             Contains("but the block has allocated none"));
  CHECK_THAT(wrong(slot + "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n" + alloc("32")),
             Contains("the block allocates tensor memory after it gave up the right to, at PTX line"));
  CHECK_THAT(wrong(slot + alloc("256") + alloc("512")),
             Contains("deadlock") && Contains("waits for 512 columns of tensor memory, "
                                              "256 are free"));
  CHECK_THAT(wrong(slot + alloc("32") + "tcgen05.dealloc.cta_group::2.sync.aligned.b32 0, 32;"),
             Contains("'tcgen05.dealloc.cta_group::2.sync.aligned.b32' has .cta_group::2, but line") &&
                 Contains("has .cta_group::1; all tcgen05 instructions of a kernel have the same"));
  CHECK_THAT(failure({.body = R"(
    .shared .align 16 .b32 a[4]; shr.u32 %r1, %t, 5; mad.wide.u32 %d1, %r1, 4, 0; mov.b64 %d2, a; add.s64 %d1, %d1, %d2;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%d1], 64;)",
                      .target = "sm_100a",
                      .threads = 64}),
             Contains("warp 1 allocates tensor memory of which warp 0 has allocated some; one warp makes all "
                      "allocations of a block"));
}

TEST_CASE("an allocation waits until another one is freed") {
  const auto out = output({.body = R"(
    .shared .align 16 .b32 a[2]; shr.u32 %r1, %t, 5; setp.ne.u32 %p1, %r1, 0; @%p1 bra $second;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [a], 512;
    bar.sync 0;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [a+4], 32;
    st.global.b32 [%mine], %r1; ld.shared.b32 %r2, [a+4];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32;
    bra $end;
  $second:
    bar.sync 0; ld.shared.b32 %r2, [a];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 512;
  $end:
)",
                           .target = "sm_100a",
                           .threads = 64});
  CHECK(out[0] == 0);
}

TEST_CASE("accesses stay inside what is allocated") {
  CHECK_THAT(
      failure(kernel("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%tm+63];", 64)),
      Contains("columns 63 to 64 of tensor memory are accessed, but the block has allocated 64 at 0x0"));
  CHECK_THAT(failure(kernel("tcgen05.st.sync.aligned.32x32b.x1.unpack::16b.b32 [%tm+63], {%r1};", 64)),
             Contains("columns 63 to 64"));
  CHECK_THAT(failure(kernel("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%tm+511];")),
             Contains("columns 511 to 512 of tensor memory are accessed, but it has 512"));
  CHECK_THAT(failure(kernel("tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r1}, [%tm], 64;", 64)),
             Contains("columns 64 to 64"));
  CHECK_THAT(failure(kernel("tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r1}, [%tm], 4294967288;")),
             Contains("lies 0 to 511 columns on, but got 4294967288"));
  CHECK_THAT(failure(kernel("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%tm+0xFFFF];")),
             Contains("columns 65535 to 65535 of tensor memory are accessed, but it has 512"));
  CHECK_THAT(failure({.body = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [0];", .target = "sm_100a"}),
             Contains("the block has allocated none"));
}

TEST_CASE("a pair of blocks allocates the same columns together") {
  const std::string body = R"(
    .shared .align 16 .b32 a[2]; mov.u32 %r1, %cluster_ctarank;
    tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [a], 64;
    tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [a+4], 128;
    ld.shared.b32 %r2, [a]; ld.shared.b32 %r3, [a+4]; mad.wide.u32 %d1, %r1, 8, %out;
    st.global.b32 [%d1], %r2; st.global.b32 [%d1+4], %r3;
    tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r2, 64; tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, 128;
)";
  const auto out = output({.body = body, .target = "sm_100a", .blocks = 2, .cluster = 2});
  CHECK(std::vector(out.begin(), out.begin() + 4) == std::vector<uint32_t>{0, 64, 0, 64});
  CHECK_THAT(failure({.body = body, .target = "sm_100a"}),
             Contains(".cta_group::2 needs a second block beside rank 0, but the cluster has 1"));
  const std::string one = R"(
    .shared .align 16 .b32 a[2]; mov.u32 %r1, %cluster_ctarank; setp.ne.u32 %p1, %r1, 0; @%p1 bra $end;
    tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [a], 64;
  $end:
)";
  CHECK_THAT(failure({.body = one, .target = "sm_100a", .blocks = 2, .cluster = 2}),
             Contains("deadlock") && Contains("waits for block rank 1 to allocate tensor memory too"));
  const std::string different = R"(
    .shared .align 16 .b32 a[2]; mov.u32 %r1, %cluster_ctarank; add.u32 %r1, %r1, 1; shl.b32 %r1, %r1, 6;
    tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [a], %r1;
)";
  CHECK_THAT(failure({.body = different, .target = "sm_100a", .blocks = 2, .cluster = 2}),
             Contains("block rank 1 allocates 128 columns of tensor memory, but rank 0 of its pair 64"));
}

TEST_CASE("unknown forms of tcgen05 are refused by name") {
  const auto wrong = [](std::string body) { return failure({.body = body, .target = "sm_100a"}); };
  CHECK_THAT(wrong("tcgen05.frobnicate.sync.aligned;"),
             Contains("unknown instruction 'tcgen05.frobnicate.sync.aligned'"));
  CHECK_THAT(
      wrong("tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r1}, [%r2];"),
      Contains("'tcgen05.ld.sync.aligned.16x256b.x64.b32' would need more than 128 registers of a thread"));
  CHECK_THAT(wrong("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1}, [%r2];"),
             Contains("moves 2 registers, but got 1"));
  CHECK_THAT(wrong("tcgen05.alloc.sync.aligned.b32 [%r1], 32;"),
             Contains("'tcgen05.alloc.sync.aligned.b32' needs .cta_group::1 or .cta_group::2"));
}
