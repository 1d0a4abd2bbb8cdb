// SPDX-License-Identifier: Apache-2.0
/// \file
/// #program attributes become the artifact's plain data.
#include "compiler/codegen/ArtifactBuilder.h"

#include "dialects/program/Program.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/target/Target.h"

#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;
using namespace tlc;
using namespace tlc::program;

namespace {

/// Where the entries of a schema are in the artifact: each kind counts on its own, and workspaces come after
/// the other tensors.
class Schema {
public:
  explicit Schema(LaunchAttr launch) : entries(launch.getSchema()), types(launch.getSchemaTypes()) {
    for (bool workspaces : {false, true})
      for (auto [number, entry] : llvm::enumerate(entries))
        if (auto tensor = dyn_cast<TensorAttr>(entry); tensor && isWorkspace(tensor) == workspaces)
          order.push_back(number);
  }

  static bool isWorkspace(TensorAttr tensor) { return tensor.getAccess() == program::Access::workspace; }

  Attribute entry(unsigned number) const { return entries[number]; }
  Type type(unsigned number) const { return cast<TypeAttr>(types[number]).getValue(); }
  unsigned size() const { return entries.size(); }
  /// Numbers of the tensor entries in the artifact's order.
  ArrayRef<unsigned> tensorOrder() const { return order; }

  /// Index of dimension entry `number` among the dimensions.
  int64_t dimensionIndex(unsigned number) const {
    return llvm::count_if(entries.getValue().take_front(number), llvm::IsaPred<DimensionAttr>);
  }
  /// Index in the artifact of the schema's tensor `ordinal`.
  int64_t tensorIndex(int64_t ordinal) const {
    unsigned number = 0;
    for (;; ++number)
      if (isa<TensorAttr>(entries[number]) && ordinal-- == 0)
        break;
    return llvm::find(order, number) - order.begin();
  }

private:
  ArrayAttr entries, types;
  SmallVector<unsigned> order;
};

std::optional<ElementType> elementOf(Type type) {
  return TypeSwitch<Type, std::optional<ElementType>>(type)
      .Case<Float16Type>([](auto) { return ElementType::f16; })
      .Case<BFloat16Type>([](auto) { return ElementType::bf16; })
      .Case<Float32Type>([](auto) { return ElementType::f32; })
      .Case<Float64Type>([](auto) { return ElementType::f64; })
      .Case<IntegerType>([](IntegerType integer) -> std::optional<ElementType> {
        switch (integer.getWidth()) {
        case 8:
          return ElementType::i8;
        case 32:
          return ElementType::i32;
        case 64:
          return ElementType::i64;
        }
        return std::nullopt;
      })
      .Default([](Type) { return std::nullopt; });
}

FailureOr<TensorArgument> describeTensor(const Schema &schema, unsigned number, Location location) {
  auto attribute = cast<TensorAttr>(schema.entry(number));
  auto type = cast<RankedTensorType>(schema.type(number));
  std::optional<ElementType> element = elementOf(type.getElementType());
  if (!element)
    return emitError(location) << "expected tensor '" << attribute.getName()
                               << "' to have elements that a device holds, but got " << type.getElementType();
  TensorArgument tensor;
  tensor.name = attribute.getName().str();
  tensor.element = *element;
  tensor.access = static_cast<tlc::Access>(attribute.getAccess());
  tensor.zeroFill = attribute.getZeroFill();
  for (auto [extent, dimension] : llvm::zip_equal(type.getShape(), attribute.getDims())) {
    Extent described;
    if (dimension >= 0)
      described.dimension = schema.dimensionIndex(dimension);
    else
      described.constant = extent;
    if (Schema::isWorkspace(attribute))
      tensor.workspaceShape.push_back(dimension >= 0 ? HostExpr::dimension(described.dimension)
                                                     : HostExpr::constant(extent));
    else
      tensor.shape.push_back(described);
  }
  return tensor;
}

Launch describeLaunch(LLVM::LLVMFuncOp function, LaunchAttr attribute) {
  Schema schema(attribute);
  Launch launch;
  launch.entry = function.getSymName().str();
  launch.grid.fill(HostExpr::constant(1));
  for (auto [axis, extent] : llvm::enumerate(attribute.getGrid()))
    launch.grid[axis] = cast<HostExprAttr>(extent).getExpr();
  launch.threads = attribute.getThreads();
  launch.cluster = {unsigned(attribute.getCluster()), 1, 1};
  launch.sharedBytes = attribute.getSharedBytes();
  launch.ordered = attribute.getOrdered();
  for (auto map : attribute.getTensorMaps().getAsRange<TensorMapAttr>())
    launch.tensorMaps.push_back({schema.tensorIndex(map.getTensor()), map.getBox().vec(),
                                 static_cast<tlc::Swizzle>(map.getSwizzle())});
  for (auto attribute : attribute.getParameters().getAsRange<ParameterAttr>()) {
    KernelParameter parameter;
    parameter.kind = static_cast<KernelParameter::Kind>(attribute.getKind());
    bool isOfTensor = attribute.getKind() == ParameterKind::tensor_pointer ||
                      attribute.getKind() == ParameterKind::tensor_stride;
    parameter.index = isOfTensor ? schema.tensorIndex(attribute.getIndex()) : attribute.getIndex();
    parameter.axis = attribute.getAxis();
    launch.parameters.push_back(parameter);
  }
  return launch;
}

/// The kernels of a module with their launch facts.
SmallVector<std::pair<LLVM::LLVMFuncOp, LaunchAttr>> kernelsOf(ModuleOp module) {
  SmallVector<std::pair<LLVM::LLVMFuncOp, LaunchAttr>> kernels;
  for (LLVM::LLVMFuncOp function : module.getOps<LLVM::LLVMFuncOp>())
    if (auto launch = function->getAttrOfType<LaunchAttr>(ProgramDialect::launchAttrName))
      kernels.emplace_back(function, launch);
  return kernels;
}

} // namespace

FailureOr<Artifact> tlc::describeProgram(ModuleOp module, StringRef name) {
  auto kernels = kernelsOf(module);
  if (kernels.empty())
    return emitError(module.getLoc())
           << "expected at least one kernel because a program without any does nothing";
  const Target *target = program::findTarget(module);
  if (!target)
    return emitError(module.getLoc()) << "expected '" << ProgramDialect::targetAttrName << "' on the module";
  Artifact artifact;
  artifact.name = name.str();
  artifact.target = target->name;
  Schema schema(kernels.front().second);
  for (unsigned number = 0; number != schema.size(); ++number) {
    if (auto attribute = dyn_cast<DimensionAttr>(schema.entry(number))) {
      Dimension dimension{attribute.getName().str(), attribute.getMultipleOf(), std::nullopt};
      if (attribute.getFixed() >= 0)
        dimension.fixed = attribute.getFixed();
      artifact.dimensions.push_back(std::move(dimension));
    } else if (auto attribute = dyn_cast<ScalarAttr>(schema.entry(number))) {
      std::optional<ElementType> element = elementOf(schema.type(number));
      if (!element)
        return emitError(module.getLoc())
               << "expected scalar '" << attribute.getName()
               << "' to have a type that a launch can pass, but got " << schema.type(number);
      artifact.scalars.push_back({attribute.getName().str(), *element});
    }
  }
  for (unsigned number : schema.tensorOrder()) {
    FailureOr<TensorArgument> tensor = describeTensor(schema, number, module.getLoc());
    if (failed(tensor))
      return failure();
    artifact.tensors.push_back(std::move(*tensor));
  }
  return artifact;
}

std::vector<Launch> tlc::describeLaunches(ModuleOp module) {
  std::vector<Launch> launches;
  for (auto [function, launch] : kernelsOf(module))
    launches.push_back(describeLaunch(function, launch));
  return launches;
}

std::vector<AlignmentCondition> tlc::describeConditions(ModuleOp module) {
  std::map<int64_t, int64_t> bytesOfTensor;
  for (auto [function, launch] : kernelsOf(module)) {
    Schema schema(launch);
    for (auto [index, number] : llvm::enumerate(schema.tensorOrder())) {
      int64_t &bytes = bytesOfTensor.try_emplace(index, 1).first->second;
      bytes = std::max(bytes, cast<TensorAttr>(schema.entry(number)).getAlignment());
    }
  }
  std::vector<AlignmentCondition> conditions;
  for (auto [tensor, bytes] : bytesOfTensor)
    if (bytes > 1)
      conditions.push_back({tensor, bytes});
  return conditions;
}
