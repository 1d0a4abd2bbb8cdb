// SPDX-License-Identifier: Apache-2.0
/// \file
/// The program dialect: registration, checks of its attributes, host expressions as text.
#include "dialects/program/Program.h"

#include "dialects/program/Elements.h"
#include "dialects/program/Interfaces.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Reports.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::program;

#include "dialects/program/Dialect.cpp.inc"
#include "dialects/program/Enums.cpp.inc"
#include "dialects/program/Interfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/program/Attrs.cpp.inc"

void ProgramDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/program/Attrs.cpp.inc"
      >();
}

std::optional<Unit> program::missingUnit(Operation *op, const Target &target) {
  auto needing = dyn_cast<UnitOpInterface>(op);
  std::optional<Unit> unit = needing ? needing.getNeededUnit() : std::nullopt;
  return unit && !hasUnit(target, *unit) ? unit : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Where the attributes may stand
//===----------------------------------------------------------------------===//

LogicalResult ProgramDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == entryAttrName) {
    if (isa<FunctionOpInterface>(op) && isa<EntryAttr>(attribute.getValue()))
      return success();
    return op->emitError() << "expected '" << entryAttrName
                           << "' to be a #program.entry of a function, but got " << attribute.getValue()
                           << " of '" << op->getName() << "'";
  }
  if (attribute.getName() == phaseAttrName) {
    if (isa<ModuleOp>(op) && isa<StringAttr>(attribute.getValue()))
      return success();
    return op->emitError() << "expected '" << phaseAttrName << "' to be a string on the module, but got "
                           << attribute.getValue() << " of '" << op->getName() << "'";
  }
  if (attribute.getName() == ptxAttrName) {
    if (isa<ModuleOp>(op) && isa<PtxAttr>(attribute.getValue()))
      return success();
    return op->emitError() << "expected '" << ptxAttrName << "' to be a #program.ptx on the module, but got "
                           << attribute.getValue() << " of '" << op->getName() << "'";
  }
  if (attribute.getName() == reportsAttrName) {
    auto reports = dyn_cast<ArrayAttr>(attribute.getValue());
    if (isa<ModuleOp>(op) && reports && llvm::all_of(reports, llvm::IsaPred<ReportAttr>))
      return success();
    return op->emitError() << "expected '" << reportsAttrName
                           << "' to be an array of #program.report on the module, but got "
                           << attribute.getValue() << " of '" << op->getName() << "'";
  }
  if (attribute.getName() == transfersAttrName) {
    auto transfers = dyn_cast<ArrayAttr>(attribute.getValue());
    if (isa<ModuleOp>(op) && transfers && llvm::all_of(transfers, llvm::IsaPred<TransferAttr>))
      return success();
    return op->emitError() << "expected '" << transfersAttrName
                           << "' to be an array of #program.transfer on the module, but got "
                           << attribute.getValue() << " of '" << op->getName() << "'";
  }
  if (attribute.getName() != targetAttrName)
    return op->emitError() << "expected '" << targetAttrName << "', '" << phaseAttrName << "', '"
                           << ptxAttrName << "', '" << reportsAttrName << "', '" << transfersAttrName
                           << "' or '" << entryAttrName << "', but the program dialect has no attribute '"
                           << attribute.getName().getValue() << "' of operations";
  if (!isa<TargetAttr>(attribute.getValue()))
    return op->emitError() << "expected '" << targetAttrName << "' to be a #program.target, but got "
                           << attribute.getValue();
  if (!isa<ModuleOp>(op))
    return op->emitError() << "expected '" << targetAttrName
                           << "' on the module because all its kernels are compiled for it, but got '"
                           << op->getName() << "'";
  return success();
}

LogicalResult ProgramDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index,
                                                       NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == argumentAttrName) {
    if (isa<DimensionAttr, TensorAttr, ScalarAttr>(value))
      return success();
    return op->emitError() << "expected '" << name << "' of argument " << index
                           << " to be a #program.dimension, #program.tensor or #program.scalar, but got "
                           << value;
  }
  if (name == parameterAttrName) {
    if (isa<ParameterAttr>(value))
      return success();
    return op->emitError() << "expected '" << name << "' of argument " << index
                           << " to be a #program.parameter, but got " << value;
  }
  return op->emitError() << "expected '" << argumentAttrName << "' or '" << parameterAttrName
                         << "' on argument " << index << ", but the program dialect has no attribute '"
                         << name << "'";
}

const Target *program::findTarget(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto target = op->getAttrOfType<TargetAttr>(ProgramDialect::targetAttrName))
      return &target.getTarget();
  return nullptr;
}

int64_t program::maxWarps(const Target &target, int64_t residents) {
  const int64_t threads =
      std::min<int64_t>(target.maxThreadsPerBlock, target.maxThreadsPerMultiprocessor / residents);
  return threads / lanesPerWarp;
}

StringRef program::displayName(const Target &target) {
  return target.name.empty() ? StringRef("a block") : StringRef(target.name.data(), target.name.size());
}

StringRef program::nameOf(Attribute argument) {
  return TypeSwitch<Attribute, StringRef>(argument)
      .Case<DimensionAttr, TensorAttr, ScalarAttr>([](auto named) { return named.getName(); })
      .Default([](Attribute) { return StringRef(); });
}

//===----------------------------------------------------------------------===//
// Target
//===----------------------------------------------------------------------===//

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name) {
  if (tlc::findTarget({name.data(), name.size()}))
    return success();
  InFlightDiagnostic diagnostic = emitError() << "expected one of the targets";
  for (const Target &target : allTargets())
    diagnostic << (&target == allTargets().data() ? " " : ", ") << target.name;
  return diagnostic << ", but got '" << name << "'";
}

const Target &TargetAttr::getTarget() const { return *tlc::findTarget({getName().data(), getName().size()}); }

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

LaunchAttr LaunchAttr::withWarps(int64_t warps) const {
  return get(getContext(), warps, getCluster(), getResidents(), getSharedBytes());
}
LaunchAttr LaunchAttr::withCluster(int64_t cluster) const {
  return get(getContext(), getWarps(), cluster, getResidents(), getSharedBytes());
}
LaunchAttr LaunchAttr::withResidents(int64_t residents) const {
  return get(getContext(), getWarps(), getCluster(), residents, getSharedBytes());
}
LaunchAttr LaunchAttr::withSharedBytes(int64_t bytes) const {
  return get(getContext(), getWarps(), getCluster(), getResidents(), bytes);
}

namespace {
/// launch_c4
LogicalResult verifyResidents(Operation *kernel, LaunchAttr launch, const Target &target) {
  int64_t residents = launch.getResidents(), warps = std::max<int64_t>(launch.getWarps(), 1);
  int64_t most = std::min<int64_t>(target.maxBlocksPerMultiprocessor,
                                   target.maxThreadsPerMultiprocessor / (warps * lanesPerWarp));
  StringRef name = SymbolTable::getSymbolName(kernel).getValue();
  if (residents < 1 || residents > most)
    return kernel->emitOpError() << "expected from 1 to " << most << " blocks of " << warps
                                 << " warps on a multiprocessor because " << displayName(target)
                                 << " has room for " << target.maxBlocksPerMultiprocessor << " blocks and "
                                 << target.maxThreadsPerMultiprocessor << " threads, but '" << name
                                 << "' wants " << residents;
  int64_t limit = target.sharedBytesOfBlock(unsigned(residents));
  if (target.name.empty() || launch.getSharedBytes() <= limit)
    return success();
  return kernel->emitOpError() << "expected at most " << limit << " bytes of shared memory because "
                               << residents << " blocks share a multiprocessor of " << displayName(target)
                               << ", but '" << name << "' has " << launch.getSharedBytes();
}
} // namespace

LogicalResult program::verifyLaunch(Operation *kernel, LaunchAttr launch) {
  const Target *chosen = findTarget(kernel);
  Target target = chosen ? *chosen : Target();
  StringRef name = SymbolTable::getSymbolName(kernel).getValue();
  int64_t warps = launch.getWarps(), cluster = launch.getCluster(), sharedBytes = launch.getSharedBytes();
  if (warps < 0 || warps > maxWarps(target)) // launch_c1
    return kernel->emitOpError() << "expected from 1 to " << maxWarps(target)
                                 << " warps, or 0 to have them chosen, because " << displayName(target)
                                 << " has at most " << target.maxThreadsPerBlock
                                 << " threads per block, but '" << name << "' has " << warps;
  if (cluster < 1 || (chosen && cluster > int64_t(target.maxClusterSize))) { // launch_c2
    InFlightDiagnostic diagnostic = kernel->emitOpError() << "expected a cluster of at least 1 block";
    if (chosen)
      diagnostic << " and at most " << target.maxClusterSize << " because that is the limit of "
                 << displayName(target);
    return diagnostic << ", but '" << name << "' has " << cluster;
  }
  if (sharedBytes < 0 || (chosen && sharedBytes > target.sharedBytesPerBlock)) { // launch_c3
    InFlightDiagnostic diagnostic = kernel->emitOpError() << "expected at least 0 bytes of shared memory";
    if (chosen)
      diagnostic << " and at most " << target.sharedBytesPerBlock << " because " << displayName(target)
                 << " has that many per block";
    return diagnostic << ", but '" << name << "' has " << sharedBytes;
  }
  return verifyResidents(kernel, launch, target);
}

//===----------------------------------------------------------------------===//
// Host expressions
//===----------------------------------------------------------------------===//

namespace {
constexpr std::pair<StringLiteral, HostExpr::Op> operators[] = {
    {"add", HostExpr::Op::add},         {"sub", HostExpr::Op::subtract}, {"mul", HostExpr::Op::multiply},
    {"ceildiv", HostExpr::Op::ceilDiv}, {"div", HostExpr::Op::divide},   {"rem", HostExpr::Op::remainder},
    {"min", HostExpr::Op::min},         {"max", HostExpr::Op::max}};

std::optional<HostExpr::Step> parseStep(StringRef token) {
  if (token == "sms")
    return HostExpr::Step{HostExpr::Op::multiprocessors};
  for (auto &[name, op] : operators)
    if (token == name)
      return HostExpr::Step{op};
  HostExpr::Op leaf = token.consume_front("d") ? HostExpr::Op::dimension : HostExpr::Op::constant;
  int64_t operand = 0;
  if (token.getAsInteger(10, operand) || (leaf == HostExpr::Op::dimension && operand < 0))
    return std::nullopt;
  return HostExpr::Step{leaf, operand};
}

bool isLeaf(HostExpr::Op op) {
  return op == HostExpr::Op::constant || op == HostExpr::Op::dimension || op == HostExpr::Op::multiprocessors;
}
} // namespace

LogicalResult HostExprAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef text) {
  SmallVector<StringRef> tokens;
  text.split(tokens, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  int64_t depth = 0;
  for (StringRef token : tokens) {
    std::optional<HostExpr::Step> step = parseStep(token);
    if (!step)
      return emitError() << "expected an integer, d0 d1 ..., sms, add, sub, mul, ceildiv, div, rem, min or "
                         << "max in '" << text << "', but got '" << token << "'";
    if (!isLeaf(step->op) && depth < 2)
      return emitError() << "expected two operands before '" << token << "' in '" << text << "', but got "
                         << depth;
    depth += isLeaf(step->op) ? 1 : -1;
  }
  if (depth != 1)
    return emitError() << "expected '" << text << "' to leave one value, but got " << depth;
  return success();
}

HostExpr HostExprAttr::getExpr() const {
  SmallVector<StringRef> tokens;
  getText().split(tokens, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  HostExpr expr;
  for (StringRef token : tokens)
    expr.steps.push_back(*parseStep(token));
  return expr;
}

HostExprAttr HostExprAttr::get(MLIRContext *context, const HostExpr &expr) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      expr.steps, os,
      [&](const HostExpr::Step &step) {
        switch (step.op) {
        case HostExpr::Op::constant:
          os << step.operand;
          return;
        case HostExpr::Op::dimension:
          os << "d" << step.operand;
          return;
        case HostExpr::Op::multiprocessors:
          os << "sms";
          return;
        default:
          os << llvm::find_if(operators, [&](auto &entry) { return entry.second == step.op; })->first;
        }
      },
      " ");
  return get(context, StringRef(text));
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

LogicalResult DimensionAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                    int64_t multipleOf, int64_t least, int64_t most, int64_t fixed,
                                    HostExprAttr computed, DimensionSource source) {
  if (multipleOf < 1)
    return emitError() << "expected 'multiple_of' of dimension '" << name << "' to be at least 1, but got "
                       << multipleOf;
  if (least < 0 || least > most || most > maxExtent)
    return emitError() << "expected limits from 0 to " << maxExtent << " of dimension '" << name
                       << "', but got 'least' " << least << " and 'most' " << most;
  if (fixed < -1)
    return emitError() << "expected 'fixed' of dimension '" << name
                       << "' to be an extent, or -1 for one that is not known, but got " << fixed;
  if (fixed != -1 && (fixed < least || fixed > most))
    return emitError() << "expected the fixed extent of dimension '" << name << "' to be from " << least
                       << " to " << most << " because 'least' and 'most' say so, but got " << fixed;
  if (fixed != -1 && fixed % multipleOf != 0)
    return emitError() << "expected the fixed extent of dimension '" << name << "' to be a multiple of "
                       << multipleOf << " because 'multiple_of' says so, but got " << fixed;
  if (fixed != -1 && computed)
    return emitError() << "expected dimension '" << name << "' to be 'fixed' or 'computed', but got both";
  if (source != DimensionSource::shapes && (multipleOf != 1 || least != 0 || most != maxExtent ||
                                            (fixed != -1 && source != DimensionSource::ranks) || computed))
    return emitError() << "expected nothing but the source of dimension '" << name
                       << "' because the launch says what it is";
  if (source == DimensionSource::ranks && fixed != -1 && (fixed < 1 || fixed > maxRanks))
    return emitError() << "expected a program for 1 to " << maxRanks
                       << " ranks, but got 'fixed' of dimension '" << name << "' = " << fixed;
  return success();
}

LogicalResult TensorAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name, Access access,
                                 ArrayRef<int64_t> dims, int64_t alignment, bool, TensorOrder order,
                                 bool symmetric, bool strided, MembersAttr members) {
  for (auto [axis, dim] : llvm::enumerate(dims))
    if (dim < -1)
      return emitError() << "expected the number of an argument, or -1, for axis " << axis << " of tensor '"
                         << name << "', but got " << dim;
  if (alignment < 1 || !llvm::isPowerOf2_64(alignment))
    return emitError() << "expected the alignment of tensor '" << name << "' to be a power of two, but got "
                       << alignment;
  if (order != TensorOrder::natural && access != Access::workspace)
    return emitError() << "expected tensor '" << name
                       << "' to keep its elements in the natural order because only a workspace's may be in "
                          "another, but got "
                       << stringifyTensorOrder(order);
  if (strided && access == Access::workspace)
    return emitError() << "expected workspace '" << name
                       << "' to have a last stride of 1 because it is contiguous, but it is strided";
  if (order == TensorOrder::accumulator && dims.size() < 2)
    return emitError() << "expected tensor '" << name
                       << "' to have at least two axes because its pieces have rows and columns, but got "
                       << dims.size();
  if (members && (access != Access::input || dims.size() != 1 || symmetric || strided))
    return emitError() << "expected '" << name
                       << "' to be an input of one axis whose elements are adjacent because it holds the "
                          "addresses of its members";
  return success();
}

LogicalResult MembersAttr::verify(function_ref<InFlightDiagnostic()> emitError, Access access, Type element,
                                  int64_t axes, int64_t alignment) {
  if (access == Access::workspace)
    return emitError() << "expected members that are the caller's because the launcher makes workspaces, but "
                          "got workspaces";
  if (!toElementType(element) || element.getIntOrFloatBitWidth() < 8)
    return emitError() << "expected members with elements of whole bytes because nothing is known of where "
                          "their rows end, but got "
                       << element;
  if (axes < 1)
    return emitError() << "expected members of at least one axis, but got " << axes;
  if (alignment < 1 || !llvm::isPowerOf2_64(alignment))
    return emitError() << "expected the alignment of members to be a power of two, but got " << alignment;
  return success();
}

LogicalResult WindowAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> taps,
                                 ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations,
                                 ArrayRef<int64_t> before, ArrayRef<int64_t> after) {
  size_t axes = taps.size();
  if (axes == 0) // window_c1
    return emitError() << "expected a window with taps along at least one axis, but got none";
  struct Numbers {
    StringRef what;
    ArrayRef<int64_t> of;
    int64_t least;
  };
  const Numbers kinds[] = {{"taps", taps, 1},
                           {"strides", strides, 1},
                           {"dilations", dilations, 1},
                           {"elements before the tensor", before, 0},
                           {"elements after the tensor", after, 0}};
  for (const Numbers &kind : kinds) {
    if (kind.of.size() != axes)
      return emitError() << "expected " << axes << " " << kind.what << " of a window because it has " << axes
                         << " numbers of taps, but got " << kind.of.size();
    for (int64_t number : kind.of)
      if (number < kind.least || number > maxWindowReach) // window_c2, window_c3
        return emitError() << "expected " << kind.what << " of a window to be from " << kind.least << " to "
                           << maxWindowReach << ", but got " << number;
  }
  for (auto [count, dilation] : llvm::zip(taps, dilations))
    if ((count - 1) * dilation >= maxWindowReach)
      return emitError() << "expected a window that spans at most " << maxWindowReach << " elements, but "
                         << count << " taps, each " << dilation << " after the one before, span "
                         << (count - 1) * dilation + 1;
  return success();
}

TensorWindow WindowAttr::getWindow() const {
  return {getTaps().vec(), getStrides().vec(), getDilations().vec(), getBefore().vec(), getAfter().vec()};
}

LogicalResult TensorMapAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t tensor,
                                    ArrayRef<int64_t> box, Swizzle, int64_t limitedAxis, int64_t before,
                                    WindowAttr window) {
  if (tensor < 0)
    return emitError() << "expected the number of a tensor, but got " << tensor;
  for (int64_t extent : box)
    if (extent < 1)
      return emitError() << "expected the extents of a box to be at least 1, but got " << extent;
  if (limitedAxis < -1 || limitedAxis + 1 >= int64_t(box.size()))
    return emitError() << "expected a limited axis that is one of the box's " << box.size()
                       << " but not the innermost, which has no stride, but got " << limitedAxis;
  if (int64_t most = limitedAxis < 0 ? 0 : box[size_t(limitedAxis)]; before < 0 || before > most)
    return emitError() << "expected a map that begins 0 to " << most
                       << " rows of the limited axis before the tensor, but got " << before;
  if (window && (limitedAxis >= 0 || window.getTaps().size() + 2 != box.size()))
    return emitError() << "expected a window of " << box.size() << " axes but the first and the last, and no "
                       << "limited axis, but got one of " << window.getTaps().size() << " and limited axis "
                       << limitedAxis;
  return success();
}

LogicalResult ParameterAttr::verify(function_ref<InFlightDiagnostic()> emitError, ParameterKind kind,
                                    int64_t index, int64_t axis) {
  if (index < 0 || axis < 0)
    return emitError() << "expected index and axis to be at least 0, but got " << index << " and " << axis;
  if (axis != 0 && kind != ParameterKind::tensorStride)
    return emitError() << "expected no axis because a " << stringifyParameterKind(kind)
                       << " has none, but got " << axis;
  return success();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

LogicalResult RoleAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                               int64_t firstWarp, int64_t warps) {
  if (firstWarp < 0 || warps < 1)
    return emitError() << "expected role '" << name << "' to have at least one warp from 0 on, but got "
                       << warps << " from " << firstWarp;
  return success();
}

LogicalResult ReportAttr::verify(function_ref<InFlightDiagnostic()> emitError, ReportKind, StringRef text,
                                 StringRef, ArrayRef<Type> values, int64_t axes) {
  size_t placeholders = countPlaceholders(text);
  if (placeholders != values.size() || values.size() > maxReportValues) // report_c1
    return emitError() << "expected a value for each '{}' of the text, " << maxReportValues
                       << " at most, but got " << values.size() << " for " << placeholders;
  for (Type value : values) // report_c2
    if (std::optional<ElementType> element = toElementType(value); !element || !isReportable(*element))
      return emitError() << "expected values of i32, i64, f32 or f64, but got " << value;
  if (axes < 0 || axes > int64_t(maxReportAxes)) // report_c3
    return emitError() << "expected from 0 to " << maxReportAxes << " axes, but got " << axes;
  return success();
}

LogicalResult SharedAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name, SharedKind,
                                 int64_t offset, int64_t slots, int64_t slotBytes) {
  if (offset < 0 || slots < 1 || slotBytes < 1)
    return emitError() << "expected '" << name << "' to have at least one slot of a byte from 0 on, but got "
                       << slots << " of " << slotBytes << " bytes from " << offset;
  return success();
}
