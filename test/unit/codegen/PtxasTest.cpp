// SPDX-License-Identifier: Apache-2.0
/// \file
/// The machine compiler as a subprocess: what it reports, and what it refuses.
#include "compiler/codegen/Ptxas.h"

#include "runtime/support/Math.h"
#include "runtime/target/MmaAtoms.h"

#include "llvm/Support/Signals.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

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

TEST_CASE("ptxas of a wheel is found beside the interpreter, or what it is a link to", "[codegen]") {
  namespace fs = std::filesystem;
  std::string pattern = fs::temp_directory_path() / "tlc-ptxas-XXXXXX";
  REQUIRE(::mkdtemp(pattern.data()));
  const fs::path root = pattern;
  const auto program = [](const fs::path &path) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/true\n";
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  };
  program(root / "usr/bin/python3.11");
  fs::create_directories(root / "venv/bin");
  fs::create_symlink(root / "usr/bin/python3.11", root / "venv/bin/python3");
  const std::string paths = ":relative:" + (root / "none").string() + ":" + (root / "venv/bin").string();
  CHECK_FALSE(findPtxasOfWheels(paths));
  CHECK_FALSE(findPtxasOfWheels(""));
  const std::string ofSystem = program(root / "usr/lib/python3/dist-packages/nvidia/cuda_nvcc/bin/ptxas");
  CHECK(findPtxasOfWheels(paths) == ofSystem);
  const std::string own =
      program(root / "venv/lib/python3.11/site-packages/triton/backends/nvidia/bin/ptxas");
  CHECK(findPtxasOfWheels(paths) == own);
  const std::string newer = program(root / "venv/lib/python3.11/site-packages/nvidia/cu13/bin/ptxas");
  CHECK(findPtxasOfWheels(paths) == newer);
  fs::permissions(newer, fs::perms::owner_read);
  if (::geteuid() != 0)
    CHECK(findPtxasOfWheels(paths) == own);
  fs::remove_all(root);
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

TEST_CASE("PTX without source lines keeps variables in local memory", "[codegen]") {
  CHECK(withoutSourceLines(".local .align 4 .b8 one[8];\n"
                           "\t.loc\t1 27 8\n"
                           "\t.local .align 8 .b8 \t__local_depot0[16];\n"
                           ".loc 1 2 3\n"
                           "ret;\n"
                           ".loc") == ".local .align 4 .b8 one[8];\n"
                                      "\t.local .align 8 .b8 \t__local_depot0[16];\n"
                                      "ret;\n"
                                      ".loc");
}

TEST_CASE("a path that is no program is an error", "[codegen]") {
  llvm::Expected<MachineCode> code = assemble("/nonexistent/ptxas", "", *findTarget("sm_90a"));
  REQUIRE_FALSE(bool(code));
  CHECK_THAT(llvm::toString(code.takeError()), Catch::StartsWith("cannot run '/nonexistent/ptxas': "));
}

TEST_CASE("a signal that ends the process while ptxas runs leaves no temporary files", "[codegen]") {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "tlc-ptxas-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()));
  const fs::path temporaries = fs::path(folder) / "temporaries", ptxas = fs::path(folder) / "ptxas",
                 started = fs::path(folder) / "started";
  fs::create_directory(temporaries);
  std::ofstream(ptxas) << "#!/bin/sh\ntouch " << started.string() << "\nexec sleep 600\n";
  fs::permissions(ptxas, fs::perms::owner_all);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    INFO("signal " << number);
    fs::remove(started);
    pid_t process = ::fork();
    if (process == 0) {
      ::setpgid(0, 0);
      llvm::sys::unregisterHandlers(); // which others have replaced by theirs
      for (int ending : {SIGINT, SIGTERM, SIGHUP})
        std::signal(ending, SIG_DFL);
      ::setenv("TMPDIR", temporaries.c_str(), 1);
      llvm::consumeError(assemble(ptxas.string(), "", *findTarget("sm_90a")).takeError());
      ::_exit(0);
    }
    while (!fs::exists(started) && ::waitpid(process, nullptr, WNOHANG) == 0)
      ::usleep(10'000);
    REQUIRE(fs::exists(started));
    CHECK_FALSE(fs::is_empty(temporaries));
    ::kill(-process, number); // as a terminal does: ptxas, too
    int status = 0;
    REQUIRE(::waitpid(process, &status, 0) == process);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == number));
    CHECK(fs::is_empty(temporaries));
  }
  fs::remove_all(folder);
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
    for (unsigned partsOfA : {0u, 1u}) {
      bool aInRegisters = partsOfA != 0;
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
          Catch::Contains(fmt::format("register target of {} or", atom.registersFor(columns, partsOfA))));
    }
}

namespace {
std::string namesOf(std::string_view name, unsigned first, unsigned count) {
  std::string names;
  for (unsigned i = first; i < first + count; ++i)
    names += fmt::format("{}{}{}", i == first ? "" : ", ", name, i);
  return names;
}

/// A product whose left factor is in registers, in so many instructions, and another one.
std::string twoProducts(unsigned limit, unsigned columns, unsigned instructions) {
  unsigned sums = columns / 2, words = 4 * instructions;
  std::string body, wait = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  for (unsigned i = 0; i < words; ++i)
    body += fmt::format("ld.global.b32 %a{}, [%p + {}];\n", i, 4 * i);
  for (unsigned i = 0; i < sums; ++i)
    body += fmt::format("mov.b32 %s{}, 0;\nmov.b32 %t{}, 0;\n", i, i);
  body += "wgmma.fence.sync.aligned;\n";
  for (unsigned i = 0; i < instructions; ++i)
    body += fmt::format("wgmma.mma_async.sync.aligned.m64n{}k8.f32.tf32.tf32 {{{}}}, {{{}}}, %d, 1, 1, 1;\n",
                        columns, namesOf("%s", 0, sums), namesOf("%a", 4 * i, 4));
  body += wait +
          fmt::format("wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n{}k16.f32.bf16.bf16 "
                      "{{{}}}, %d, %d, 1, 1, 1, 0, 0;\n",
                      columns, namesOf("%t", 0, sums)) +
          wait;
  for (unsigned i = 0; i < sums; ++i)
    body += fmt::format("st.global.b32 [%p + {}], %s{};\nst.global.b32 [%p + {}], %t{};\n", 4 * i, i,
                        4 * (sums + i), i);
  return fmt::format(".version 8.7\n.target sm_90a\n.address_size 64\n"
                     ".visible .entry two(.param .u64 p)\n.maxntid 128\n.maxnreg {}\n{{\n"
                     ".reg .b32 %s<{}>, %t<{}>, %a<{}>; .reg .b64 %p, %d;\n"
                     "ld.param.u64 %p, [p];\nmov.b64 %d, 0;\n{}ret;\n}}\n",
                     limit, sums, sums, words, body);
}
} // namespace

TEST_CASE("ptxas takes products with the registers that all instructions of one take", "[codegen]") {
  std::optional<std::string> ptxas = ptxasOrSkip();
  if (!ptxas)
    return;
  const Target &target = *findTarget("sm_90a");
  const MmaAtom &atom =
      *findMmaAtom(target, MmaKind::wgmma, ElementType::f32, ElementType::f32, ElementType::f32);
  for (unsigned columns : {64u, 96u, 128u})
    for (unsigned instructions : {1u, 2u, 4u, 8u, 16u}) {
      INFO(columns << " columns, " << instructions << " instructions");
      auto registers =
          unsigned(alignTo(atom.registersFor(columns, instructions), target.registerGranularity));
      llvm::Expected<MachineCode> code =
          assemble(*ptxas, twoProducts(registers, columns, instructions), target);
      CHECK((code ? "" : llvm::toString(code.takeError())) == "");
    }
  // One instruction has what it takes, eight have not.
  auto few = unsigned(alignTo(atom.registersFor(128, 1), target.registerGranularity));
  llvm::Expected<MachineCode> refused = assemble(*ptxas, twoProducts(few, 128, 8), target);
  REQUIRE_FALSE(bool(refused));
  CHECK_THAT(llvm::toString(refused.takeError()), Catch::Contains("(C7600) Register allocation failed"));
}
