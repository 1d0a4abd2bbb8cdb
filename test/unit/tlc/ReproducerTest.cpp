// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reproducers of passes that report errors, crash and never end.
#include "tools/tlc/Reproducer.h"

#include "compiler/pipeline/Compiler.h"
#include "compiler/pipeline/Register.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Pass/Pass.h"
#include "tools/tlc/Reducer.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <unistd.h>

using namespace tlc;
using namespace tlc::driver;
using std::chrono::seconds;

namespace {

/// Fails on constants: how depends on the number.
struct FailOnConstants : mlir::PassWrapper<FailOnConstants, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FailOnConstants)
  llvm::StringRef getArgument() const override { return "test-fail-on-constants"; }
  void runOnOperation() override {
    getOperation().walk([&](mlir::arith::ConstantIndexOp constant) {
      if (constant.value() == 1) {
        constant.emitError() << "a number that is " << constant->getName() << " with "
                             << getOperation()->getNumRegions() << " region";
        signalPassFailure();
      } else if (constant.value() == 2) {
        std::raise(SIGSEGV);
      } else if (constant.value() == 3) {
        for (;;)
          pause();
      }
    });
  }
};

/// What the failing pass looks for is there after another one.
struct IncrementConstants : mlir::PassWrapper<IncrementConstants, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(IncrementConstants)
  llvm::StringRef getArgument() const override { return "test-increment-constants"; }
  void runOnOperation() override {
    getOperation().walk([&](mlir::arith::ConstantIndexOp constant) {
      constant.setValueAttr(mlir::IntegerAttr::get(constant.getType(), constant.value() + 1));
    });
  }
};

void registerTestPasses() {
  static const bool once = [] {
    registerPasses();
    mlir::PassRegistration<FailOnConstants>();
    mlir::PassRegistration<IncrementConstants>();
    return true;
  }();
  (void)once;
}

/// A module with the constant `number - 1` in a loop, and passes that add one and fail.
std::string textWith(int number) {
  return R"mlir(
module attributes {test.left = "out"} {
  tile.kernel @k(%X: !tile.global<16xf32> {program.argument = #program.tensor<"X", output, dims[-1]>}) {
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c9 = arith.constant 9 : index
    %sum = scf.for %i = %c4 to %c9 step %c8 iter_args(%s = %c4) -> (index) {
      %n = arith.constant )mlir" +
         std::to_string(number - 1) + R"mlir( : index
      %t = arith.addi %s, %n : index
      scf.yield %t : index
    }
    %more = arith.muli %sum, %c9 : index
    tile.return
  }
}
{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(test-increment-constants,tile.kernel(cse),test-fail-on-constants,cse)",
      verify_each: true
    }
  }
#-}
)mlir";
}

struct Opened {
  explicit Opened(const std::string &text) : context(createContext()) {
    registerTestPasses();
    std::optional<Reproducer> parsed = Reproducer::parse(text, "test.mlir", context.get());
    REQUIRE(parsed);
    reproducer = std::move(*parsed);
  }
  std::optional<PassFailure> run(seconds limit = seconds(60)) const {
    Result<std::optional<PassFailure>> failure =
        runPasses([&] { return reproducer.copy(); }, limit, PassOutput::hide);
    REQUIRE(failure);
    return *failure;
  }
  std::unique_ptr<mlir::MLIRContext> context;
  Reproducer reproducer;
};

} // namespace

TEST_CASE("how passes fail", "[reproducer]") {
  CHECK_FALSE(Opened(textWith(0)).run());

  std::optional<PassFailure> error = Opened(textWith(1)).run();
  REQUIRE(error);
  CHECK(error->text() ==
        "pass test-fail-on-constants reports an error: a number that is arith.constant with 1 region");
  CHECK(error->location == "test.mlir:8:12");
  std::optional<PassFailure> crash = Opened(textWith(2)).run();
  REQUIRE(crash);
  CHECK(crash->text() == "pass test-fail-on-constants crashes: ended by signal 11 (Segmentation fault)");
  std::optional<PassFailure> endless = Opened(textWith(3)).run(seconds(1));
  REQUIRE(endless);
  CHECK(endless->text() == "pass test-fail-on-constants does not end: has not ended after 1 s");
  CHECK_FALSE(crash->isLike(*error));
  CHECK_FALSE(crash->isLike(*endless));
}

TEST_CASE("failures are alike whatever numbers they state", "[reproducer]") {
  const PassFailure failure{.pass = "p", .message = "expected 16 rows, but got 128"};
  PassFailure other = failure;
  other.message = "expected 4 rows, but got 2";
  other.location = "elsewhere";
  CHECK(failure.isLike(other));
  other.message = "expected 4 columns, but got 2";
  CHECK_FALSE(failure.isLike(other));
  other = failure;
  other.pass = "q";
  CHECK_FALSE(failure.isLike(other));
}

TEST_CASE("reproducers are reduced to what fails in the same way", "[reproducer]") {
  for (int number : {1, 2, 3}) {
    CAPTURE(number);
    const seconds limit(number == 3 ? 1 : 60); // the third does not end
    Opened opened(textWith(number));
    std::optional<PassFailure> failure = opened.run(limit);
    REQUIRE(failure);
    Reducer reducer(opened.reproducer, *failure, limit);
    REQUIRE(reducer.reduce());
    CHECK(reducer.operations() == 3); // the kernel and its end are left
    CHECK(opened.reproducer.passes == std::vector<std::string>{"test-fail-on-constants"});
    // The file fails as well.
    Opened again(opened.reproducer.print());
    std::optional<PassFailure> same = again.run(limit);
    REQUIRE(same);
    CHECK(same->isLike(*failure));
    CHECK(again.reproducer.print() == "module {\n  tile.kernel @k() {\n    %c" + std::to_string(number) +
                                          " = arith.constant " + std::to_string(number) + R"mlir( : index
    tile.return
  }
}

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(test-fail-on-constants)",
      disable_threading: true,
      verify_each: true
    }
  }
#-}
)mlir");
  }
}
