// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the launcher is told: arguments, launches and conditions as the kernels' attributes say.
#include "compiler/codegen/ArtifactBuilder.h"

#include "compiler/pipeline/Compiler.h"
#include "runtime/artifact/Verify.h"

#include <catch2/catch.hpp>

using namespace tlc;

namespace {

/// Two launches of one program; the workspace is declared before the output.
constexpr llvm::StringLiteral program = R"mlir(
#schema = [#program.dimension<"m", multiple_of = 8>, #program.dimension<"k", fixed = 64>,
           #program.tensor<"A", input, dims[0, 1], alignment = 16>,
           #program.tensor<"partial", workspace, dims[0, -1], zero_fill = true>,
           #program.tensor<"C", output, dims[0, -1]>, #program.scalar<"scale">]
#types = [index, index, tensor<?x?xbf16>, tensor<?x4xf32>, tensor<?x32xf16>, f32]
module attributes {program.target = #program.target<"sm_90a">} {
  llvm.func @first(%map: !llvm.ptr, %partial: !llvm.ptr<1>, %m: i32, %scale: f32) attributes {
    program.entry = #program.entry<schema = #schema, schema_types = #types,
      grid = [#program.host_expr<"d0 128 ceildiv">, #program.host_expr<"2">],
      tensor_maps = [#program.tensor_map<0, box[128, 64], bytes128, limited_axis = 0, before = 128>],
      parameters = [#program.parameter<tensor_map, 0>, #program.parameter<tensor_pointer, 1>,
                    #program.parameter<dimension, 0>, #program.parameter<scalar, 0>],
      launch = <warps = 12, cluster = 2, shared_bytes = 4096>,
      roles = [#program.role<"load", first_warp = 0, warps = 4>, #program.role<"math", first_warp = 4, warps = 8>],
      shared = [#program.shared<"a", buffer, offset = 0, slots = 2, slot_bytes = 1024>,
                #program.shared<"tiles", ring, offset = 2048, slots = 2, slot_bytes = 16>]>} {
    llvm.return
  }
  llvm.func @second(%c: !llvm.ptr<1>, %stride: i64) attributes {
    program.entry = #program.entry<schema = #schema, schema_types = #types, grid = [#program.host_expr<"sms">],
      tensor_maps = [],
      parameters = [#program.parameter<tensor_pointer, 2>, #program.parameter<tensor_stride, 2, axis = 0>],
      launch = <warps = 4>>} {
    llvm.return
  }
})mlir";

struct Parsed {
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;

  explicit Parsed(llvm::StringRef text) {
    Compiler compiler({});
    module = compiler.parse(text, "test.mlir", context.get());
    for (const Diagnostic &diagnostic : compiler.diagnostics())
      UNSCOPED_INFO(toString(diagnostic));
    REQUIRE(module);
  }
};

} // namespace

TEST_CASE("the schema becomes the artifact's arguments, workspaces last", "[codegen]") {
  Parsed parsed(program);
  mlir::FailureOr<Artifact> artifact = describeProgram(*parsed.module, "split");
  REQUIRE(mlir::succeeded(artifact));
  CHECK(artifact->name == "split");
  CHECK(artifact->target == "sm_90a");

  REQUIRE(artifact->dimensions.size() == 2);
  CHECK(artifact->dimensions[0].name == "m");
  CHECK(artifact->dimensions[0].multipleOf == 8);
  CHECK_FALSE(artifact->dimensions[0].fixed);
  CHECK(artifact->dimensions[1].fixed == 64);

  REQUIRE(artifact->tensors.size() == 3);
  const TensorArgument &a = artifact->tensors[0], &c = artifact->tensors[1], &partial = artifact->tensors[2];
  CHECK(a.name == "A");
  CHECK(a.access == Access::input);
  CHECK(a.element == ElementType::bf16);
  REQUIRE(a.shape.size() == 2);
  CHECK(a.shape[0].dimension == 0);
  CHECK(a.shape[1].dimension == 1);
  CHECK(c.name == "C");
  CHECK(c.access == Access::output);
  CHECK(c.element == ElementType::f16);
  REQUIRE(c.shape.size() == 2);
  CHECK(c.shape[1].dimension == -1);
  CHECK(c.shape[1].constant == 32);
  CHECK(partial.name == "partial");
  CHECK(partial.zeroFill);
  REQUIRE(partial.workspaceShape.size() == 2);
  CHECK(partial.workspaceShape[0] == HostExpr::dimension(0));
  CHECK(partial.workspaceShape[1] == HostExpr::constant(4));

  REQUIRE(artifact->scalars.size() == 1);
  CHECK(artifact->scalars[0].name == "scale");
  CHECK(artifact->scalars[0].element == ElementType::f32);
}

TEST_CASE("launches come in the order of the module and count the artifact's tensors", "[codegen]") {
  Parsed parsed(program);
  mlir::FailureOr<std::vector<Launch>> launches = describeLaunches(*parsed.module);
  REQUIRE(mlir::succeeded(launches));
  REQUIRE(launches->size() == 2);
  const Launch &first = (*launches)[0], &second = (*launches)[1];
  CHECK(first.entry == "first");
  CHECK(first.grid[0].evaluate({300, 64}, 132) == 3);
  CHECK(first.grid[1].evaluate({300, 64}, 132) == 2);
  CHECK(first.grid[2].evaluate({300, 64}, 132) == 1);
  CHECK(first.threads == 384);
  CHECK(first.cluster == std::array<unsigned, 3>{2, 1, 1});
  CHECK(first.sharedBytes == 4096);
  REQUIRE(first.names.roles.size() == 2);
  CHECK(first.names.roles[1].name == "math");
  CHECK(first.names.roles[1].firstWarp == 4);
  CHECK(first.names.roles[1].warps == 8);
  CHECK(first.names.nameOf(1024) == "a[1]");
  CHECK(first.names.nameOf(2048 + 16) == "tiles.empty[0]");
  REQUIRE(first.tensorMaps.size() == 1);
  CHECK(first.tensorMaps[0].tensor == 0);
  CHECK(first.tensorMaps[0].box == std::vector<int64_t>{128, 64});
  CHECK(first.tensorMaps[0].swizzle == Swizzle::bytes128);
  CHECK(first.tensorMaps[0].limitedAxis == 0);
  CHECK(first.tensorMaps[0].before == 128);
  REQUIRE(first.parameters.size() == 4);
  CHECK(first.parameters[0].kind == KernelParameter::Kind::tensorMap);
  CHECK(first.parameters[1].kind == KernelParameter::Kind::tensorPointer);
  CHECK(first.parameters[1].index == 2); // "partial", which the artifact has last
  CHECK(first.parameters[2].kind == KernelParameter::Kind::dimension);
  CHECK(first.parameters[3].kind == KernelParameter::Kind::scalar);

  CHECK(second.entry == "second");
  CHECK(second.grid[0].evaluate({300, 64}, 132) == 132);
  REQUIRE(second.parameters.size() == 2);
  CHECK(second.parameters[0].index == 1); // "C"
  CHECK(second.parameters[1].kind == KernelParameter::Kind::tensorStride);
  CHECK(second.parameters[1].index == 1);
  CHECK(second.parameters[1].axis == 0);
}

TEST_CASE("conditions are the alignment that the schema still states", "[codegen]") {
  Parsed parsed(program);
  mlir::FailureOr<std::vector<AlignmentCondition>> conditions = describeConditions(*parsed.module);
  REQUIRE(mlir::succeeded(conditions));
  REQUIRE(conditions->size() == 1);
  CHECK((*conditions)[0].tensor == 0);
  CHECK((*conditions)[0].bytes == 16);
}

TEST_CASE("attributes that contradict each other are errors", "[codegen]") {
  auto [launch, message] = GENERATE(table<std::string, std::string>({
      {"schema = [], schema_types = [index], grid = [], tensor_maps = [], parameters = []",
       "expected one type per entry of the schema, but got 1 for 0"},
      {R"(schema = [1], schema_types = [i32], grid = [], tensor_maps = [], parameters = [])",
       "expected a schema of #program.dimension, #program.tensor and #program.scalar, but got 1 : i64"},
      {R"(schema = [#program.tensor<"A", input, dims[4]>], schema_types = [tensor<?xf32>], grid = [], tensor_maps = [],
          parameters = [])",
       "expected 'dims' of tensor 'A' to name a dimension for every '?' of 'tensor<?xf32>', but got 4"},
      {R"(schema = [#program.tensor<"A", input, dims[-1]>], schema_types = [tensor<?xf32>], grid = [], tensor_maps = [],
          parameters = [])",
       "expected 'dims' of tensor 'A' to name a dimension for every '?' of 'tensor<?xf32>', but got -1"},
      {R"(schema = [#program.tensor<"A", input, dims[-1]>], schema_types = [f32], grid = [], tensor_maps = [],
          parameters = [])",
       "expected tensor 'A' to have one entry of 'dims' per axis of 'f32'"},
      {"schema = [], schema_types = [], grid = [1], tensor_maps = [], parameters = []",
       "expected a grid of up to three #program.host_expr"},
      {"schema = [], schema_types = [], grid = [], tensor_maps = [#program.tensor_map<0, box[8], none>], "
       "parameters = []",
       "expected tensor maps of the 0 tensors, but got #program.tensor_map<0, box[8], none>"},
      {"schema = [], schema_types = [], grid = [], tensor_maps = [], parameters = [1]",
       "expected one entry of 'parameters' per argument because the launcher fills them, but got 1 for 0"},
  }));
  Parsed parsed("module attributes {program.target = #program.target<\"sm_90a\">} {\n"
                "llvm.func @kernel() attributes {program.entry = #program.entry<" +
                launch + ", launch = <warps = 1>>} { llvm.return }\n}");
  std::vector<Diagnostic> diagnostics;
  DiagnosticCollector collector(parsed.context.get(), diagnostics);
  CHECK(mlir::failed(describeLaunches(*parsed.module)));
  REQUIRE(diagnostics.size() == 1);
  CHECK(diagnostics[0].message == "'program.entry': " + message);
}

TEST_CASE("a module without kernels is no program", "[codegen]") {
  Parsed parsed(R"mlir(module attributes {program.target = #program.target<"sm_90a">} {})mlir");
  std::vector<Diagnostic> diagnostics;
  DiagnosticCollector collector(parsed.context.get(), diagnostics);
  CHECK(mlir::failed(describeProgram(*parsed.module, "nothing")));
  REQUIRE(diagnostics.size() == 1);
  CHECK(diagnostics[0].message == "expected at least one kernel because a program without any does nothing");
}
