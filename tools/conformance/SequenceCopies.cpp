// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stages of asynchronous copies in groups and on mbarriers, and of matrices:
/// loads, products and stores of a warp.
#include "tools/conformance/MatrixValues.h"
#include "tools/conformance/SequenceWriter.h"

#include <array>

namespace tlc::conformance {
namespace {

using enum Format;
constexpr unsigned threads = SequenceWriter::threads;

std::vector<std::byte> randomBytes(Random &random, size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte &byte : bytes)
    byte = std::byte(random.next());
  return bytes;
}

void meet(SequenceWriter &writer) { writer.emit("bar.warp.sync -1; bar.sync 0;"); }

/// %x: the thread's own bytes of `memory`, which become those of a register.
void fill(SequenceWriter &writer, const std::string &memory, unsigned bytes) {
  const std::string value = writer.source(b32);
  writer.emit("mov.u32 %x, {}; mad.lo.u32 %x, %thread, {}, %x;", memory, bytes);
  for (unsigned at = 0; at < bytes; at += 16)
    writer.emit("st.shared.v4.b32 [%x+{0}], {{{1}, {1}, {1}, {1}}};", at, value);
}

void load(SequenceWriter &writer, unsigned at) {
  if (writer.random.oneIn(2))
    writer.add(b64, {}, "ld.shared.b64 $d, [%x+{}];", at + 8 * writer.random.below(2));
  else
    writer.add(b32, {},
               "ld.shared.v4.b32 {{$d, $x0, $x1, _}}, [%x+{}]; xor.b32 $d, $d, $x0; add.u32 $d, $d, $x1;",
               at);
}

/// cp.async of four chunks of the thread's own, in groups, with sizes, predicates and guards.
void groups(SequenceWriter &writer) {
  Random &random = writer.random;
  constexpr unsigned chunks = 4, bytes = 16 * chunks;
  const std::string memory = writer.sharedMemory(threads * bytes);
  const size_t data = writer.inputMemory(randomBytes(random, threads * bytes));
  fill(writer, memory, bytes);
  writer.emit("add.u64 %y, %data, {}; mad.wide.u32 %y, %thread, {}, %y;", data, bytes);
  meet(writer);
  std::vector<unsigned> group;
  unsigned committed = 0;
  for (unsigned chunk = 0; chunk < chunks; ++chunk) {
    const unsigned size = random.pick(std::array{4u, 8u, 16u, 16u});
    const unsigned at = chunk * 16 + size * unsigned(random.below(16 / size)),
                   from = size * unsigned(random.below(bytes / size));
    std::string guard;
    if (random.oneIn(4)) {
      guard = random.oneIn(2) ? "@!" : "@";
      guard += writer.source(predicate) + " ";
    }
    std::string more;
    const unsigned kind = unsigned(random.below(5));
    if (kind == 0) {
      more = fmt::format(", {}", random.below(size + 1));
    } else if (kind == 1) {
      const std::string count = writer.source(b32);
      writer.emit("rem.u32 %x0, {}, {};", count, size + 1);
      more = ", %x0";
    } else if (kind == 2) {
      more = ", " + writer.source(predicate);
    }
    const std::string_view cache = size == 16 && random.oneIn(2) ? "cg" : "ca";
    const std::string_view ahead = random.oneIn(4) ? ".L2::128B" : "";
    writer.emit("{}cp.async.{}.shared.global{} [%x+{}], [%y+{}], {}{};", guard, cache, ahead, at, from, size,
                more);
    if (chunk + 1 == chunks || random.oneIn(2)) {
      writer.emit("cp.async.commit_group;");
      ++committed;
    }
    group.push_back(committed);
  }
  // Of which only some groups have ended.
  const unsigned pending = unsigned(random.below(committed + 1));
  writer.emit("cp.async.wait_group {};", pending);
  for (unsigned chunk = 0; chunk < chunks; ++chunk)
    if (group[chunk] < committed - pending || (pending == 0 && random.oneIn(2)))
      load(writer, chunk * 16);
  if (pending > 0)
    writer.emit("{}", random.oneIn(2) ? "cp.async.wait_all;" : "cp.async.wait_group 0;");
  meet(writer);
  writer.emit("xor.b32 %x0, %thread, {}; mov.u32 %x, {}; mad.lo.u32 %x, %x0, {}, %x;", random.between(1, 63),
              memory, bytes);
  load(writer, 16 * unsigned(random.below(chunks)));
  load(writer, 16 * unsigned(random.below(chunks)));
  meet(writer);
}

void waitFor(SequenceWriter &writer, const std::string &barrier, unsigned parity) {
  const std::string begin = writer.label(), end = writer.label();
  writer.emit("{}: mbarrier.try_wait.parity.shared::cta.b64 %q, [{}], {};", begin, barrier, parity);
  writer.emit("@%q bra {}; bra {};", end, begin);
  writer.emit("{}: bar.warp.sync -1;", end);
}

/// cp.async that an mbarrier counts: of all threads, each of which then reads another's.
void counted(SequenceWriter &writer) {
  Random &random = writer.random;
  const std::string memory = writer.sharedMemory(threads * 16), barrier = writer.sharedMemory(8);
  const size_t data = writer.inputMemory(randomBytes(random, threads * 16));
  const bool isFinal = random.oneIn(2); // the copies count as the threads' only arrivals
  fill(writer, memory, 16);
  writer.emit("add.u64 %y, %data, {}; mad.wide.u32 %y, %thread, 16, %y;", data);
  writer.emit("setp.eq.u32 %q, %thread, 0; @%q mbarrier.init.shared.b64 [{}], {};", barrier, threads);
  meet(writer);
  const unsigned phases = unsigned(random.between(1, 2));
  for (unsigned phase = 0; phase < phases; ++phase) {
    const std::string guard = writer.source(predicate);
    writer.emit("@{} cp.async.ca.shared.global [%x+{}], [%y+{}], 8, {};", guard, 8 * random.below(2),
                8 * phase, phase ? 8 : 3);
    if (isFinal) {
      writer.emit("cp.async.mbarrier.arrive.noinc.shared.b64 [{}];", barrier);
    } else {
      writer.emit("cp.async.mbarrier.arrive.shared::cta.b64 [{}];", barrier);
      writer.emit("mbarrier.arrive.shared.b64 %y0, [{}];", barrier);
    }
    waitFor(writer, barrier, phase);
    const std::string value = writer.fresh(b64);
    writer.emit("xor.b32 %x0, %thread, {}; mov.u32 %x1, {}; mad.lo.u32 %x1, %x0, 16, %x1;",
                random.between(1, 63), memory);
    writer.emit("ld.shared.b64 {}, [%x1+{}];", value, 8 * random.below(2));
    writer.keep(value, b64);
    meet(writer);
  }
}

/// One thread's bulk copies: to shared memory, there something is changed, back, and added to what is there.
void bulk(SequenceWriter &writer) {
  Random &random = writer.random;
  constexpr unsigned bytes = threads * 16;
  const std::string memory = writer.sharedMemory(bytes), barrier = writer.sharedMemory(8);
  const size_t data = writer.inputMemory(randomBytes(random, 2 * bytes)), back = writer.globalMemory(bytes);
  const unsigned count = 16 * unsigned(random.between(1, 64)),
                 to = 16 * unsigned(random.below(65 - count / 16));
  fill(writer, memory, 16);
  writer.emit("setp.eq.u32 %q, %thread, {}; and.b32 %x0, %thread, 0;", random.below(threads));
  const std::string issuer = writer.fresh(predicate);
  writer.emit("mov.pred {}, %q;", issuer);
  writer.emit("@{} mbarrier.init.shared.b64 [{}], 1;", issuer, barrier);
  writer.emit("fence.mbarrier_init.release.cluster; fence.proxy.async;");
  meet(writer);
  const bool inTwo = count >= 32 && random.oneIn(2);
  const unsigned first = inTwo ? count / 32 * 16 : count;
  writer.emit("@{} mbarrier.arrive.expect_tx.shared.b64 %y0, [{}], {};", issuer, barrier, count);
  writer.emit("add.u64 %y, %data, {};", data + 16 * random.below(64));
  writer.emit(
      "@{} cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{}+{}], [%y], {}, [{}];",
      issuer, memory, to, first, barrier);
  if (inTwo)
    writer.emit(
        "@{} cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{}+{}], [%y+{}], {}, [{}];",
        issuer, memory, to + first, first, count - first, barrier);
  waitFor(writer, barrier, 0);
  load(writer, 0);
  const std::string guard = writer.source(predicate), value = writer.source(b32);
  writer.emit("@{} st.shared.b32 [%x+{}], {};", guard, 4 * random.below(4), value);
  writer.emit("fence.proxy.async.shared::cta;");
  meet(writer);
  writer.emit("add.u64 %y, %out, {};", back);
  const unsigned length = 16 * unsigned(random.between(1, 64));
  writer.emit("@{} cp.async.bulk.global.shared::cta.bulk_group [%y], [{}], {};", issuer, memory, length);
  writer.emit("@{0} cp.async.bulk.commit_group;\n  @{0} cp.async.bulk.wait_group 0;", issuer);
  if (random.oneIn(2)) {
    constexpr std::string_view operations[] = {"add.u32", "min.s32", "max.u32", "and.b32",
                                               "or.b32",  "xor.b32", "add.u64", "max.s64"};
    writer.emit("@{} cp.reduce.async.bulk.global.shared::cta.bulk_group.{} [%y], [{}], {};", issuer,
                random.pick(operations), memory, length);
    writer.emit("@{0} cp.async.bulk.commit_group;\n  @{0} cp.async.bulk.wait_group 0;", issuer);
  }
  meet(writer);
  writer.emit("mad.wide.u32 %y, %thread, 16, %y;");
  writer.add(b64, {}, "ld.global.b64 $d, [%y+{}];", 8 * random.below(2));
}

struct Product {
  std::string_view shape;
  MatrixType a, b;
  bool isHalf; ///< accumulates in f16
};

/// A warp's tile: ldmatrix, products whose sums are chained, stmatrix.
void matrix(SequenceWriter &writer) {
  Random &random = writer.random;
  const std::array products = {
      Product{"m16n8k16", matrixF16, matrixF16, false},   Product{"m16n8k16", matrixF16, matrixF16, true},
      Product{"m16n8k16", matrixBf16, matrixBf16, false}, Product{"m16n8k32", matrixS8, matrixS8, false},
      Product{"m16n8k32", matrixU8, matrixS8, false},     Product{"m16n8k32", matrixE4m3, matrixE5m2, false}};
  const Product product = random.pick(products);
  const bool isInteger = product.a.isInteger();
  const Values values = random.pick(std::array{Values::integers, Values::unit, Values::wide});
  // 64 rows of 16 bytes a warp: A in the first 32, B in the rest.
  constexpr unsigned warpBytes = 1024;
  const std::string memory = writer.sharedMemory(2 * warpBytes);
  std::vector<std::byte> elements;
  for (unsigned warp = 0; warp < 2; ++warp)
    for (MatrixType type : {product.a, product.b}) {
      const auto part = matrixElements(type, values, warpBytes / 2, random);
      elements.insert(elements.end(), part.begin(), part.end());
    }
  const size_t data = writer.inputMemory(elements);
  writer.emit("mov.u32 %x1, {}; mad.lo.u32 %x, %thread, 32, %x1;", memory);
  writer.emit("add.u64 %y, %data, {}; mad.wide.u32 %y, %thread, 32, %y;", data);
  const std::string words = "{%w0, %w1, %w2, %w3}";
  writer.emit("{{ .reg .b32 %w<4>, %a<4>, %b<2>, %c<4>, %row, %warp;");
  for (unsigned at = 0; at < 32; at += 16)
    writer.emit("ld.global.v4.b32 {0}, [%y+{1}]; st.shared.v4.b32 [%x+{1}], {0};", words, at);
  writer.emit("bar.warp.sync -1; and.b32 %warp, %thread, 32; mad.lo.u32 %warp, %warp, {}, %x1;",
              warpBytes / 32);
  const auto row = [&](unsigned first, unsigned rows) { // each of them another
    const uint64_t odd = 2 * random.below(16) + 1, shift = random.below(32);
    writer.emit(
        "mad.lo.u32 %row, %lane, {}, {}; and.b32 %row, %row, {}; add.u32 %row, %row, {}; mad.lo.u32 %row, "
        "%row, 16, %warp;",
        odd, shift, rows - 1, first);
  };
  const bool transposes = product.a.bits == 16 && random.oneIn(2);
  const unsigned accumulators = product.isHalf ? 2 : 4;
  std::string sums = product.isHalf ? "{%c0, %c1}" : "{%c0, %c1, %c2, %c3}";
  for (unsigned i = 0; i < accumulators; ++i) {
    if (isInteger) {
      const std::string from = writer.source(b32);
      writer.emit("mov.b32 %c{}, {};", i, from);
    } else {
      writer.emit("mov.b32 %c{}, 0;", i);
    }
  }
  const std::string_view accumulator = isInteger ? "s32" : product.isHalf ? "f16" : "f32";
  const unsigned steps = unsigned(random.between(1, 3));
  for (unsigned step = 0; step < steps; ++step) {
    row(0, 32);
    writer.emit("ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{%a0, %a1, %a2, %a3}}, [%row];",
                transposes ? ".trans" : "");
    row(32, 32);
    writer.emit("ldmatrix.sync.aligned.m8n8.x2{}.shared.b16 {{%b0, %b1}}, [%row];",
                transposes ? "" : ".trans");
    writer.emit("mma.sync.aligned.{}.row.col.{}.{}.{}.{} {}, {{%a0, %a1, %a2, %a3}}, {{%b0, %b1}}, {};",
                product.shape, accumulator, product.a.name, product.b.name, accumulator, sums, sums);
  }
  std::vector<std::string> results;
  for (unsigned i = 0; i < accumulators; ++i)
    results.push_back(writer.fresh(b32));
  for (unsigned i = 0; i < accumulators; ++i)
    writer.emit("mov.b32 {}, %c{};", results[i], i);
  writer.emit("bar.warp.sync -1; }}");
  for (const std::string &result : results)
    writer.keep(result, isInteger ? b32 : product.isHalf ? f16x2 : f32);
  // Other words, in other rows.
  std::array<std::string, 4> stored;
  for (std::string &word : stored)
    word = writer.source(b32);
  const unsigned count = random.pick(std::array{1u, 2u, 4u});
  writer.emit(
      "{{ .reg .b32 %row, %warp; mov.u32 %x1, {}; and.b32 %warp, %thread, 32; mad.lo.u32 %warp, %warp, {}, "
      "%x1;",
      memory, warpBytes / 32);
  row(unsigned(random.below(33)), 32);
  writer.emit("stmatrix.sync.aligned.m8n8.x{}{}.shared.b16 [%row], {{{}}};", count,
              random.oneIn(2) ? ".trans" : "", fmt::join(stored.begin(), stored.begin() + count, ", "));
  writer.emit("bar.warp.sync -1; }}");
  load(writer, 0);
  load(writer, 16);
  if (random.oneIn(3))
    writer.add(b32, {b32}, "movmatrix.sync.aligned.m8n8.trans.b16 $d, $a;");
  meet(writer);
}

} // namespace

std::span<const Stage> copyStages() {
  static constexpr Stage stages[] = {{"cp.async in groups", 2, groups},
                                     {"cp.async on an mbarrier", 1, counted},
                                     {"bulk copies", 1, bulk},
                                     {"matrices", 2, matrix}};
  return stages;
}

} // namespace tlc::conformance
