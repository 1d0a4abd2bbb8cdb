// SPDX-License-Identifier: Apache-2.0
/// \file
/// The compiler as a library: variants, diagnostics, times, options.
#include "compiler/pipeline/Compiler.h"

#include "runtime/support/WaitLimit.h"

#include <catch2/catch.hpp>

using namespace tlc;

namespace {

/// Copies a 64x64 tile through shared memory into a tensor: by TMA if the tensors are aligned.
constexpr llvm::StringLiteral copyProgram = R"mlir(
tile.kernel @through(
    %m: index {program.argument = #program.dimension<"m">},
    %x: !tile.global<?x64xbf16> {program.argument = #program.tensor<"X", input, dims[0, -1]>},
    %y: !tile.global<?x64xbf16> {program.argument = #program.tensor<"Y", output, dims[0, -1]>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.ceildivsi %m, %c64 : index
  %i = tile.grid %blocks : index
  %row = arith.muli %i, %c64 : index
  %s = tile.alloc_shared "s" : !tile.shared<64x64xbf16>
  %from = tile.slice %x[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %from, %s : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16>
  %v = tile.load %s : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
  %to = tile.slice %y[%row, %c0] : !tile.global<?x64xbf16> -> !tile.slice<64x64xbf16>
  tile.store %v, %to : tensor<64x64xbf16>, !tile.slice<64x64xbf16>
  tile.return
}
)mlir";

/// Does nothing with its tensor.
constexpr llvm::StringLiteral emptyProgram = R"mlir(
tile.kernel @nothing(%m: index {program.argument = #program.dimension<"m">},
                     %x: !tile.global<?xf32> {program.argument = #program.tensor<"X", input, dims[0]>}) {
  tile.return
}
)mlir";

struct Compilation {
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  Compiler compiler;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  Compilation(llvm::StringRef text, CompileOptions options = {}) : compiler(std::move(options)) {
    module = compiler.parse(text, "test.mlir", context.get());
    showDiagnostics();
    REQUIRE(module);
  }
  Artifact artifact() {
    mlir::FailureOr<Artifact> compiled = compiler.compile(*module, "test");
    showDiagnostics();
    REQUIRE(mlir::succeeded(compiled));
    return std::move(*compiled);
  }
  void showDiagnostics() {
    for (const Diagnostic &diagnostic : compiler.diagnostics())
      UNSCOPED_INFO(toString(diagnostic));
  }
};

} // namespace

TEST_CASE("a program that relies on alignment has a variant for any tensors, too", "[pipeline]") {
  Compilation compilation(copyProgram);
  Artifact artifact = compilation.artifact();
  REQUIRE(artifact.variants.size() == 2);
  const Variant &aligned = artifact.variants[0], &general = artifact.variants[1];
  CHECK(aligned.name == "aligned");
  CHECK_FALSE(aligned.conditions.empty());
  for (const AlignmentCondition &condition : aligned.conditions)
    CHECK(condition.bytes == 16);
  CHECK(general.name == "general");
  CHECK(general.conditions.empty());
  CHECK_THAT(general.ptx, !Catch::Contains("ld.global.v"));
  // Nothing that the general variant misses is held against the program.
  for (const Remark &remark : artifact.remarks)
    CHECK_THAT(remark.message, !Catch::Contains("aligned"));
}

TEST_CASE("what a place says again is counted, in errors and remarks alike", "[pipeline]") {
  // Three copies of one line and one of the next, as a loop of C++ leaves them.
  constexpr llvm::StringLiteral unrolled = R"mlir(
#line = loc("loop.cpp":7:5)
#next = loc("loop.cpp":8:5)
tile.kernel @unrolled(%x: !tile.global<64x64xbf16> {program.argument = #program.tensor<"X", input, dims[-1, -1]>}) {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %from = tile.slice %x[%c0, %c0] : !tile.global<64x64xbf16> -> !tile.slice<64x64xbf16>
  tile.copy %from, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16> loc(#line)
  tile.copy %from, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16> loc(#line)
  tile.copy %from, %a : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16> loc(#line)
  tile.copy %from, %b : !tile.slice<64x64xbf16>, !tile.shared<64x64xbf16> loc(#next)
  tile.return
}
)mlir";
  Artifact artifact = Compilation(unrolled).artifact();
  REQUIRE(artifact.remarks.size() == 2);
  CHECK(artifact.remarks[0].location == "loop.cpp:7:5");
  CHECK_THAT(artifact.remarks[0].message, Catch::EndsWith(" (3 times)"));
  CHECK(artifact.remarks[1].location == "loop.cpp:8:5");
  CHECK_THAT(artifact.remarks[1].message, !Catch::Contains("times"));
  // A second compilation begins to count anew.
  Compilation twice(unrolled);
  twice.artifact();
  CHECK_THAT(twice.artifact().remarks[0].message, Catch::EndsWith(" (3 times)"));
}

TEST_CASE("a program that does not rely on alignment has one variant", "[pipeline]") {
  Compilation compilation(emptyProgram);
  Artifact artifact = compilation.artifact();
  REQUIRE(artifact.variants.size() == 1);
  CHECK(artifact.variants[0].name == "general");
  CHECK(artifact.variants[0].conditions.empty());
  CHECK(artifact.target == "sm_90a");
}

TEST_CASE("compiling leaves the module as it was", "[pipeline]") {
  Compilation compilation(copyProgram);
  std::string before, after;
  llvm::raw_string_ostream(before) << *compilation.module;
  compilation.artifact();
  llvm::raw_string_ostream(after) << *compilation.module;
  CHECK(before == after);
}

TEST_CASE("two compilations give the same code", "[pipeline]") {
  Compilation one(copyProgram), other(copyProgram);
  CHECK(one.artifact().variants[0].ptx == other.artifact().variants[0].ptx);
}

TEST_CASE("times are told phase by phase", "[pipeline]") {
  Compilation compilation(emptyProgram);
  compilation.artifact();
  REQUIRE(compilation.compiler.times().size() == phaseNames.size());
  for (size_t i = 0; i != phaseNames.size(); ++i) {
    CHECK(compilation.compiler.times()[i].phase == static_cast<Phase>(i));
    CHECK(compilation.compiler.times()[i].milliseconds >= 0);
  }
}

TEST_CASE("an unknown target is an error that names the known ones", "[pipeline]") {
  CompileOptions options;
  options.target = "sm_17";
  Compilation compilation(emptyProgram, options);
  CHECK(mlir::failed(compilation.compiler.compile(*compilation.module, "test")));
  REQUIRE(compilation.compiler.diagnostics().size() == 1);
  std::string message = compilation.compiler.diagnostics()[0].message;
  CHECK_THAT(message, Catch::StartsWith("expected a target that code can be generated for ("));
  CHECK_THAT(message, Catch::Contains("sm_90a"));
  CHECK_THAT(message, Catch::EndsWith("but got 'sm_17'"));
}

TEST_CASE("a limit of waits is from a millisecond to a day", "[pipeline]") {
  for (auto limit : {std::chrono::nanoseconds(1), std::chrono::nanoseconds(-1),
                     std::chrono::nanoseconds(std::chrono::hours(25))}) {
    CompileOptions options;
    options.waitLimit = limit;
    Compilation compilation(emptyProgram, options);
    CHECK(mlir::failed(compilation.compiler.compile(*compilation.module, "test")));
    REQUIRE(compilation.compiler.diagnostics().size() == 1);
    CHECK(compilation.compiler.diagnostics()[0].message ==
          waitLimitOf(std::chrono::duration<double>(limit).count(), "a limit of waits").error().message);
  }
}

TEST_CASE("text that is no module is an error with its place", "[pipeline]") {
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  Compiler compiler({});
  CHECK_FALSE(compiler.parse("tile.nothing", "wrong.mlir", context.get()));
  REQUIRE_FALSE(compiler.diagnostics().empty());
  CHECK_THAT(toString(compiler.diagnostics()[0]), Catch::StartsWith("wrong.mlir:1:1: error: "));
}

TEST_CASE("compilation cannot stop before it starts", "[pipeline]") {
  CompileOptions options;
  options.startFrom = Phase::simt;
  Compilation compilation("module {}", options);
  CHECK(mlir::failed(compilation.compiler.emit(*compilation.module, Phase::atoms, Alignment::aligned)));
  REQUIRE(compilation.compiler.diagnostics().size() == 1);
  CHECK(compilation.compiler.diagnostics()[0].message ==
        "expected to stop at phase 'simt' or later because compilation starts there, but got 'atoms'");
}

TEST_CASE("every phase has a name that leads back to it", "[pipeline]") {
  for (size_t i = 0; i != phaseNames.size(); ++i)
    CHECK(parsePhase(phaseNames[i]) == static_cast<Phase>(i));
  CHECK_FALSE(parsePhase("laidOut"));
}

TEST_CASE("the fingerprint tells apart what decides the result, and nothing else", "[pipeline]") {
  CompileOptions options;
  std::string standard = fingerprint(options);
  options.dumpDirectory = "elsewhere";
  CHECK(fingerprint(options) == standard);
  std::vector<std::string> all = {standard};
  for (bool Optimizations::*flag :
       {&Optimizations::tma, &Optimizations::wgmma, &Optimizations::warpSpecialization,
        &Optimizations::overlap, &Optimizations::loopSplitting, &Optimizations::deferredStores}) {
    CompileOptions changed;
    changed.optimizations.*flag = false;
    all.push_back(fingerprint(changed));
  }
  CompileOptions other;
  other.target = "sm_100a";
  all.push_back(fingerprint(other));
  for (auto limit : {std::chrono::milliseconds(100), std::chrono::milliseconds(1000)}) {
    CompileOptions limited;
    limited.waitLimit = limit;
    all.push_back(fingerprint(limited));
  }
  for (size_t i = 0; i != all.size(); ++i)
    for (size_t j = 0; j != i; ++j)
      CHECK(all[i] != all[j]);
}

TEST_CASE("operations that replace many keep a few of their locations", "[pipeline]") {
  std::string text = "tile.kernel @k(%n: index {program.argument = #program.dimension<\"n\">}) {\n"
                     "%x0 = arith.addi %n, %n : index\n";
  constexpr int count = 100;
  for (int i = 0; i < count; ++i)
    text += "%c" + std::to_string(i) + " = arith.constant " + std::to_string(7 * i + 1) + " : index\n%x" +
            std::to_string(i + 1) + " = arith.addi %x" + std::to_string(i) + ", %c" + std::to_string(i) +
            " : index\n";
  text += "%p = tile.grid %x" + std::to_string(count) + " : index\ntile.return\n}\n";
  Compilation compilation(text);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      compilation.compiler.lower(*compilation.module, Phase::input, Alignment::general);
  compilation.showDiagnostics();
  REQUIRE(module);
  size_t additions = 0, mostParts = 0;
  module->walk([&](mlir::Operation *op) {
    additions += op->getName().getStringRef() == "arith.addi";
    if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(op->getLoc()))
      mostParts = std::max(mostParts, fused.getLocations().size());
  });
  CHECK(additions == 2); // n + n, and the sum of the constants
  CHECK(mostParts <= 8);
}
