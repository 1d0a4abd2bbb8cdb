// SPDX-License-Identifier: Apache-2.0
/// \file
/// #program attributes become the artifact's plain data.
#include "compiler/codegen/ArtifactBuilder.h"

#include "dialects/layout/AccumulatorOrder.h"
#include "dialects/program/Elements.h"
#include "dialects/program/Program.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;
using namespace tlc;
using namespace tlc::program;

namespace {

TLC_ENUM_CONVERSION(accessOf, program::Access, tlc::Access, TLC_ACCESSES)
TLC_ENUM_CONVERSION(dimensionSourceOf, program::DimensionSource, tlc::DimensionSource, TLC_DIMENSION_SOURCES)
TLC_ENUM_CONVERSION(parameterKindOf, ParameterKind, KernelParameter::Kind, TLC_PARAMETER_KINDS)
TLC_ENUM_CONVERSION(profileKindOf, ProfileKind, ProfileMark::Kind, TLC_PROFILE_KINDS)
TLC_ENUM_CONVERSION(reportKindOf, ReportKind, ReportSite::Kind, TLC_REPORT_KINDS)
TLC_ENUM_CONVERSION(sharedKindOf, SharedKind, SharedObject::Kind, TLC_SHARED_KINDS)

/// Where the entries of a schema are in the artifact: each kind counts on its own, and workspaces come after
/// the other tensors.
class Schema {
public:
  explicit Schema(EntryAttr entry) : entries(entry.getSchema()), types(entry.getSchemaTypes()) {
    for (bool workspaces : {false, true})
      for (auto [number, entry] : llvm::enumerate(entries))
        if (auto tensor = dyn_cast<TensorAttr>(entry); tensor && isWorkspace(tensor) == workspaces)
          order.push_back(number);
  }

  static bool isWorkspace(TensorAttr tensor) { return tensor.getAccess() == program::Access::workspace; }

  Attribute entry(unsigned number) const { return entries[number]; }
  Type type(unsigned number) const { return cast<TypeAttr>(types[number]).getValue(); }
  unsigned size() const { return entries.size(); }
  ArrayAttr all() const { return entries; }
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

/// What memory needs along the axis for this extent: a tensor in the order of accumulators has whole pieces.
HostExpr wholePieces(TensorAttr tensor, size_t axis, const HostExpr &extent) {
  size_t fromLast = tensor.getDims().size() - 1 - axis;
  if (tensor.getOrder() != TensorOrder::accumulator || fromLast > 1)
    return extent;
  auto piece = HostExpr::constant((fromLast == 0 ? accumulatorColumns : accumulatorRows).extent);
  return HostExpr::apply(HostExpr::Op::multiply, HostExpr::apply(HostExpr::Op::ceilDiv, extent, piece),
                         piece);
}

FailureOr<TensorArgument> describeTensor(const Schema &schema, unsigned number, Location location) {
  auto attribute = cast<TensorAttr>(schema.entry(number));
  auto type = cast<RankedTensorType>(schema.type(number));
  std::optional<ElementType> element = toElementType(type.getElementType());
  if (!element)
    return emitError(location) << "expected tensor '" << attribute.getName()
                               << "' to have elements that a device holds, but got " << type.getElementType();
  TensorArgument tensor;
  tensor.name = attribute.getName().str();
  tensor.element = *element;
  tensor.access = accessOf(attribute.getAccess());
  tensor.zeroFill = attribute.getZeroFill();
  tensor.symmetric = attribute.getSymmetric();
  tensor.strided = attribute.getStrided();
  for (auto [axis, extent, dimension] : llvm::enumerate(type.getShape(), attribute.getDims())) {
    Extent described;
    if (dimension >= 0)
      described.dimension = schema.dimensionIndex(dimension);
    else
      described.constant = extent;
    if (Schema::isWorkspace(attribute))
      tensor.workspaceShape.push_back(wholePieces(attribute, axis,
                                                  dimension >= 0 ? HostExpr::dimension(described.dimension)
                                                                 : HostExpr::constant(extent)));
    else
      tensor.shape.push_back(described);
  }
  return tensor;
}

Launch describeLaunch(LLVM::LLVMFuncOp function, EntryAttr attribute) {
  Schema schema(attribute);
  Launch launch;
  launch.entry = function.getSymName().str();
  launch.grid.fill(HostExpr::constant(1));
  for (auto [axis, extent] : llvm::enumerate(attribute.getGrid()))
    launch.grid[axis] = cast<HostExprAttr>(extent).getExpr();
  launch.threads = attribute.getLaunch().getWarps() * lanesPerWarp;
  launch.cluster = {unsigned(attribute.getLaunch().getCluster()), 1, 1};
  launch.sharedBytes = attribute.getLaunch().getSharedBytes();
  launch.ordered = attribute.getOrdered();
  for (auto map : attribute.getTensorMaps().getAsRange<TensorMapAttr>())
    launch.tensorMaps.push_back(
        {schema.tensorIndex(map.getTensor()), map.getBox().vec(), swizzleOf(map.getSwizzle()),
         map.getLimitedAxis(), map.getBefore(),
         map.getWindow() ? std::optional(map.getWindow().getWindow()) : std::nullopt});
  for (auto attribute : attribute.getParameters().getAsRange<ParameterAttr>()) {
    KernelParameter parameter;
    parameter.kind = parameterKindOf(attribute.getKind());
    bool isOfTensor = attribute.getKind() == ParameterKind::tensorPointer ||
                      attribute.getKind() == ParameterKind::tensorPointers ||
                      attribute.getKind() == ParameterKind::multicastPointer ||
                      attribute.getKind() == ParameterKind::tensorStride;
    parameter.index = isOfTensor ? schema.tensorIndex(attribute.getIndex()) : attribute.getIndex();
    parameter.axis = attribute.getAxis();
    launch.parameters.push_back(parameter);
  }
  if (ArrayAttr roles = attribute.getRoles())
    for (auto role : roles.getAsRange<RoleAttr>())
      launch.names.roles.push_back(
          {role.getName().str(), unsigned(role.getFirstWarp()), unsigned(role.getWarps())});
  if (ArrayAttr shared = attribute.getShared())
    for (auto object : shared.getAsRange<SharedAttr>())
      launch.names.shared.push_back({object.getName().str(), sharedKindOf(object.getKind()),
                                     unsigned(object.getOffset()), unsigned(object.getSlots()),
                                     unsigned(object.getSlotBytes())});
  if (ArrayAttr marks = attribute.getMarks())
    for (auto mark : marks.getAsRange<MarkAttr>())
      launch.names.marks.push_back(
          {profileKindOf(mark.getKind()), mark.getAwaited().str(), mark.getPlace().str()});
  return launch;
}

/// Whether the numbers in an entry's attributes count what is there, so that the rest may rely on it.
LogicalResult verifyEntry(LLVM::LLVMFuncOp function, EntryAttr launch) {
  if (failed(program::verifyLaunch(function, launch.getLaunch())))
    return failure();
  ArrayAttr entries = launch.getSchema(), types = launch.getSchemaTypes();
  auto report = [&] { return function.emitError() << "'" << ProgramDialect::entryAttrName << "': "; };
  if (entries.size() != types.size() || !llvm::all_of(types, llvm::IsaPred<TypeAttr>))
    return report() << "expected one type per entry of the schema, but got " << types.size() << " for "
                    << entries.size();
  int64_t tensors = 0, dimensions = 0, scalars = 0;
  SmallVector<int64_t> ranks;
  for (auto [entry, typeAttr] : llvm::zip_equal(entries, types)) {
    Type type = cast<TypeAttr>(typeAttr).getValue();
    if (isa<DimensionAttr>(entry)) {
      ++dimensions;
    } else if (isa<ScalarAttr>(entry)) {
      ++scalars;
    } else if (auto tensor = dyn_cast<TensorAttr>(entry)) {
      ++tensors;
      auto tensorType = dyn_cast<RankedTensorType>(type);
      if (!tensorType || tensorType.getRank() != int64_t(tensor.getDims().size()))
        return report() << "expected tensor '" << tensor.getName()
                        << "' to have one entry of 'dims' per axis of " << type;
      ranks.push_back(tensorType.getRank());
      for (auto [extent, dimension] : llvm::zip_equal(tensorType.getShape(), tensor.getDims()))
        if (dimension >= int64_t(entries.size()) ||
            (dimension >= 0 && !isa<DimensionAttr>(entries[dimension])) ||
            (dimension < 0 && ShapedType::isDynamic(extent)))
          return report() << "expected 'dims' of tensor '" << tensor.getName()
                          << "' to name a dimension for every '?' of " << type << ", but got " << dimension;
    } else {
      return report()
             << "expected a schema of #program.dimension, #program.tensor and #program.scalar, but got "
             << entry;
    }
  }
  if (launch.getGrid().size() > 3 || !llvm::all_of(launch.getGrid(), llvm::IsaPred<HostExprAttr>))
    return report() << "expected a grid of up to three #program.host_expr";
  for (Attribute entry : launch.getTensorMaps()) {
    auto map = dyn_cast<TensorMapAttr>(entry);
    if (!map || map.getTensor() >= tensors)
      return report() << "expected tensor maps of the " << tensors << " tensors, but got " << entry;
  }
  if (ArrayAttr roles = launch.getRoles(); roles && !llvm::all_of(roles, llvm::IsaPred<RoleAttr>))
    return report() << "expected 'roles' to be made of #program.role, but got " << roles;
  if (ArrayAttr shared = launch.getShared(); shared && !llvm::all_of(shared, llvm::IsaPred<SharedAttr>))
    return report() << "expected 'shared' to be made of #program.shared, but got " << shared;
  if (ArrayAttr marks = launch.getMarks(); marks && !llvm::all_of(marks, llvm::IsaPred<MarkAttr>))
    return report() << "expected 'marks' to be made of #program.mark, but got " << marks;
  if (launch.getParameters().size() != function.getNumArguments())
    return report()
           << "expected one entry of 'parameters' per argument because the launcher fills them, but got "
           << launch.getParameters().size() << " for " << function.getNumArguments();
  for (Attribute entry : launch.getParameters()) {
    auto parameter = dyn_cast_or_null<ParameterAttr>(entry);
    if (!parameter)
      return report() << "expected 'parameters' to be made of #program.parameter";
    auto maps = int64_t(launch.getTensorMaps().size());
    int64_t counts[] = {tensors, tensors, dimensions, scalars, maps, tensors, maps, tensors}; // by kind
    if (parameter.getIndex() >= counts[size_t(parameter.getKind())] ||
        (parameter.getKind() == ParameterKind::tensorStride &&
         parameter.getAxis() >= ranks[parameter.getIndex()]))
      return report() << "expected parameters that are there, but got " << parameter;
  }
  return success();
}

std::vector<HostExpr> expressionsOf(ArrayRef<HostExprAttr> attributes) {
  std::vector<HostExpr> expressions;
  for (HostExprAttr each : attributes)
    expressions.push_back(each.getExpr());
  return expressions;
}

TensorPlace placeOf(const Schema &schema, PlaceAttr place) {
  return {schema.tensorIndex(place.getTensor()),
          place.getRank() ? std::optional(place.getRank().getExpr()) : std::nullopt,
          expressionsOf(place.getPosition())};
}

Transfer describeTransfer(const Schema &schema, TransferAttr attribute) {
  Transfer transfer{attribute.getName().str(), attribute.getAfter(), attribute.getUntil(),
                    attribute.getRounds().getExpr()};
  for (TransferCopyAttr copy : attribute.getCopies())
    transfer.copies.push_back(
        {placeOf(schema, copy.getFrom()), placeOf(schema, copy.getTo()), expressionsOf(copy.getExtents())});
  if (PlaceAttr sets = attribute.getSets())
    transfer.sets = {placeOf(schema, sets), attribute.getValue().getExpr()};
  return transfer;
}

/// Whether the tensors of a transfer are there. The artifact's verifier sees to the rest.
bool hasTensors(const Schema &schema, TransferAttr transfer) {
  auto tensors = llvm::count_if(schema.all(), llvm::IsaPred<TensorAttr>);
  auto isThere = [&](PlaceAttr place) { return !place || place.getTensor() < tensors; };
  return isThere(transfer.getSets()) && llvm::all_of(transfer.getCopies(), [&](TransferCopyAttr copy) {
           return isThere(copy.getFrom()) && isThere(copy.getTo());
         });
}

/// The kernels of a module with what the launcher knows of them.
using Kernels = SmallVector<std::pair<LLVM::LLVMFuncOp, EntryAttr>>;
FailureOr<Kernels> kernelsOf(ModuleOp module) {
  Kernels kernels;
  for (LLVM::LLVMFuncOp function : module.getOps<LLVM::LLVMFuncOp>()) {
    auto launch = function->getAttrOfType<EntryAttr>(ProgramDialect::entryAttrName);
    if (!launch)
      continue;
    if (failed(verifyEntry(function, launch)))
      return failure();
    kernels.emplace_back(function, launch);
  }
  if (kernels.empty())
    return emitError(module.getLoc())
           << "expected at least one kernel because a program without any does nothing";
  return kernels;
}

} // namespace

FailureOr<Artifact> tlc::describeProgram(ModuleOp module, StringRef name) {
  FailureOr<Kernels> kernels = kernelsOf(module);
  if (failed(kernels))
    return failure();
  const Target *target = program::findTarget(module);
  if (!target)
    return emitError(module.getLoc()) << "expected '" << ProgramDialect::targetAttrName << "' on the module";
  Artifact artifact;
  artifact.name = name.str();
  artifact.target = target->name;
  Schema schema(kernels->front().second);
  for (unsigned number = 0; number != schema.size(); ++number) {
    if (auto attribute = dyn_cast<DimensionAttr>(schema.entry(number))) {
      Dimension dimension{.name = attribute.getName().str(),
                          .multipleOf = attribute.getMultipleOf(),
                          .least = attribute.getLeast(),
                          .most = attribute.getMost()};
      if (attribute.getFixed() >= 0)
        dimension.fixed = attribute.getFixed();
      if (attribute.getComputed())
        dimension.computed = attribute.getComputed().getExpr();
      dimension.source = dimensionSourceOf(attribute.getSource());
      artifact.dimensions.push_back(std::move(dimension));
    } else if (auto attribute = dyn_cast<ScalarAttr>(schema.entry(number))) {
      std::optional<ElementType> element = toElementType(schema.type(number));
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

FailureOr<std::vector<Launch>> tlc::describeLaunches(ModuleOp module) {
  FailureOr<Kernels> kernels = kernelsOf(module);
  if (failed(kernels))
    return failure();
  std::vector<Launch> launches;
  for (auto [function, launch] : *kernels)
    launches.push_back(describeLaunch(function, launch));
  return launches;
}

std::vector<ReportSite> tlc::describeReports(ModuleOp module) {
  std::vector<ReportSite> sites;
  auto reports = module->getAttrOfType<ArrayAttr>(ProgramDialect::reportsAttrName);
  if (!reports)
    return sites;
  for (auto report : reports.getAsRange<ReportAttr>()) {
    ReportSite &site = sites.emplace_back(ReportSite{.kind = reportKindOf(report.getKind()),
                                                     .text = report.getText().str(),
                                                     .place = report.getPlace().str(),
                                                     .axes = unsigned(report.getAxes())});
    for (Type value : report.getValues())
      site.values.push_back(*toElementType(value));
  }
  return sites;
}

FailureOr<std::vector<Transfer>> tlc::describeTransfers(ModuleOp module) {
  std::vector<Transfer> transfers;
  auto attributes = module->getAttrOfType<ArrayAttr>(ProgramDialect::transfersAttrName);
  if (!attributes)
    return transfers;
  FailureOr<Kernels> kernels = kernelsOf(module);
  if (failed(kernels))
    return failure();
  Schema schema(kernels->front().second);
  for (auto attribute : attributes.getAsRange<TransferAttr>()) {
    if (!hasTensors(schema, attribute))
      return emitError(module.getLoc()) << "expected transfer '" << attribute.getName()
                                        << "' of tensors of the schema, but got " << attribute;
    transfers.push_back(describeTransfer(schema, attribute));
  }
  return transfers;
}

FailureOr<std::vector<AlignmentCondition>> tlc::describeConditions(ModuleOp module) {
  FailureOr<Kernels> kernels = kernelsOf(module);
  if (failed(kernels))
    return failure();
  std::map<int64_t, int64_t> bytesOfTensor;
  for (auto [function, launch] : *kernels) {
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
