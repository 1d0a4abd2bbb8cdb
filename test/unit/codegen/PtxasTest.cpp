// SPDX-License-Identifier: Apache-2.0
/// \file
/// The machine compiler as a subprocess: what it reports, and what it refuses.
#include "compiler/codegen/Ptxas.h"

#include "runtime/target/MmaAtoms.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace tlc;

namespace {

/// Path of ptxas, or a warning that the test is skipped.
std::optional<std::string> ptxasOrSkip() {
  std::optional<std::string> ptxas = findPtxas();
  if (!ptxas)
    WARN("skipped: no ptxas on this machine");
  return ptxas;
}

} // namespace

TEST_CASE("ptxas reports the resources of every kernel", "[codegen]") {
  std::optional<std::string> ptxas = ptxasOrSkip();
  if (!ptxas)
    return;
  llvm::Expected<MachineCode> code = assemble(*ptxas, R"(
.version 8.7
.target sm_90a
.address_size 64
.visible .entry one() { ret; }
.visible .entry two() .maxntid 32, 1, 1 { ret; }
)",
                                              *findTarget("sm_90a"));
  REQUIRE(bool(code));
  CHECK(code->cubin.starts_with("\x7f"
                                "ELF"));
  CHECK(code->messages.empty());
  REQUIRE(code->kernels.size() == 2);
  for (const KernelResources &kernel : code->kernels) {
    CHECK((kernel.entry == "one" || kernel.entry == "two"));
    CHECK(kernel.registers > 0);
    CHECK(kernel.stackBytes == 0);
    CHECK(kernel.spillStoreBytes == 0);
    CHECK(kernel.spillLoadBytes == 0);
  }
}

TEST_CASE("ptxas's objections are the error's text", "[codegen]") {
  std::optional<std::string> ptxas = ptxasOrSkip();
  if (!ptxas)
    return;
  llvm::Expected<MachineCode> code = assemble(
      *ptxas, ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry bad() { nonsense; }\n",
      *findTarget("sm_90a"));
  REQUIRE_FALSE(bool(code));
  std::string message = llvm::toString(code.takeError());
  CHECK_THAT(message, Catch::Contains("ptxas refuses the code (exit status"));
  CHECK_THAT(message, Catch::Contains("nonsense"));
}

TEST_CASE("a path that is no program is an error", "[codegen]") {
  llvm::Expected<MachineCode> code = assemble("/nonexistent/ptxas", "", *findTarget("sm_90a"));
  REQUIRE_FALSE(bool(code));
  CHECK_THAT(llvm::toString(code.takeError()), Catch::StartsWith("cannot run '/nonexistent/ptxas': "));
}

TEST_CASE("ptxas wants as many registers as the table says", "[codegen]") {
  std::optional<std::string> ptxas = ptxasOrSkip();
  if (!ptxas)
    return;
  using enum ElementType;
  const Target &target = *findTarget("sm_90a");
  struct Product {
    ElementType a, b, sums;
    std::string types, flags;
    bool mayTranspose = false, isSparse = false;
  };
  auto [a, b, accumulator, types, flags, mayTranspose, isSparse] = GENERATE(
      Product{bf16, bf16, f32, "k16.f32.bf16.bf16", ", 1, 1", true},
      Product{f32, f32, f32, "k8.f32.tf32.tf32", ", 1, 1"}, Product{i8, u8, i32, "k32.s32.s8.u8", ""},
      Product{bf16, bf16, f32, "k32.f32.bf16.bf16", ", 1, 1", true, true},
      Product{e4m3, e4m3, f32, "k64.f32.e4m3.e4m3", ", 1, 1", false, true});
  const MmaAtom &atom =
      *findMmaAtom(target, isSparse ? MmaKind::sparseWgmma : MmaKind::wgmma, a, b, accumulator);
  for (unsigned columns : {16u, 48u, 256u})
    for (bool aInRegisters : {false, true}) {
      if (isSparse && aInRegisters)
        continue;
      std::string sums, transposes = !mayTranspose ? "" : aInRegisters ? ", 0" : ", 0, 0";
      for (unsigned i = 0; i < columns / 2; ++i)
        sums += fmt::format("{}%f{}", i == 0 ? "" : ", ", i);
      std::string ptx = fmt::format(
          ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry few()\n.maxntid 128\n.maxnreg "
          "24\n{{\n"
          ".reg .pred p; .reg .b32 %f<128>, %r<4>; .reg .b64 %d;\n"
          "wgmma.mma_async{}.sync.aligned.m64n{}{} {{{}}}, {}, %d,{} p{};\nret;\n}}\n",
          isSparse ? ".sp" : "", columns, types, sums, aInRegisters ? "{%r0, %r1, %r2, %r3}" : "%d",
          isSparse ? " %r0, 0," : "", flags + transposes);
      llvm::Expected<MachineCode> code = assemble(*ptxas, ptx, target);
      REQUIRE_FALSE(bool(code));
      CHECK_THAT(
          llvm::toString(code.takeError()),
          Catch::Contains(fmt::format("register target of {} or", atom.registersFor(columns, aInRegisters))));
    }
}
