// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels, roles, grids, tile loops: checks and text form.
#include "dialects/tile/Tile.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/target/BlockBudget.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

//===----------------------------------------------------------------------===//
// kernel
//===----------------------------------------------------------------------===//

namespace {
/// Limits of the module's target, or those common to all where none was chosen.
Target targetOf(Operation *op) {
  const Target *target = program::findTarget(op);
  return target ? *target : Target();
}
} // namespace

Attribute KernelOp::getArgument(unsigned index) {
  return getArgAttr(index, program::ProgramDialect::argumentAttrName);
}

StringRef KernelOp::getArgumentName(unsigned index) { return program::nameOf(getArgument(index)); }

void KernelOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  if (region.empty())
    return;
  for (BlockArgument argument : region.getArguments())
    if (argument.getArgNumber() < getNumArguments())
      setName(argument, getArgumentName(argument.getArgNumber()));
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(inputs, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  function_interface_impl::printFunctionSignature(printer, *this, getArgumentTypes(), /*isVariadic=*/false,
                                                  getResultTypes());
  SmallVector<StringRef> elided = {getSymNameAttrName(), getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                   getResAttrsAttrName()};
  if (getLaunch() == program::LaunchAttr::get(getContext()))
    elided.push_back(getLaunchAttrName());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), elided);
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
}

namespace {
/// kernel_c2
LogicalResult verifyTensorArgument(KernelOp kernel, program::TensorAttr tensor, GlobalType type) {
  ArrayRef<int64_t> shape = type.getShape(), dims = tensor.getDims();
  if (dims.size() != shape.size())
    return kernel.emitOpError() << "expected 'dims' of '" << tensor.getName() << "' to have " << shape.size()
                                << " entries because the tensor is " << type << ", but got " << dims.size();
  if (tensor.getStrided() && isPacked(type.getElementType()))
    return kernel.emitOpError() << "expected '" << tensor.getName()
                                << "' to have a last stride of 1 because elements of "
                                << type.getElementType() << " share bytes, but it is strided";
  if (tensor.getMembers() && !type.getElementType().isSignlessInteger(64))
    return kernel.emitOpError() << "expected '" << tensor.getName()
                                << "' to have elements of i64 because it holds addresses, but got "
                                << type.getElementType();
  for (auto [axis, extent, dim] : llvm::enumerate(shape, dims)) {
    if (!ShapedType::isDynamic(extent)) {
      if (dim != -1)
        return kernel.emitOpError() << "expected -1 in 'dims' for axis " << axis << " of '"
                                    << tensor.getName() << "' because its extent is fixed at " << extent
                                    << ", but got " << dim;
      continue;
    }
    if (dim < 0 || dim >= int64_t(kernel.getNumArguments()) ||
        !isa_and_present<program::DimensionAttr>(kernel.getArgument(dim)))
      return kernel.emitOpError() << "expected the number of a dimension argument in 'dims' for axis " << axis
                                  << " of '" << tensor.getName()
                                  << "' because its extent is a runtime value, "
                                  << "but got " << dim;
  }
  return success();
}

/// kernel_c2: the launcher computes dimensions in their order, before it knows the device.
LogicalResult verifyComputed(KernelOp kernel, unsigned index, program::DimensionAttr dimension) {
  if (!dimension.getComputed())
    return success();
  int64_t before =
      llvm::count_if(kernel.getArgumentTypes().take_front(index), [](Type type) { return type.isIndex(); });
  for (const HostExpr::Step &step : dimension.getComputed().getExpr().steps)
    if (step.op == HostExpr::Op::multiprocessors ||
        (step.op == HostExpr::Op::dimension && step.operand >= before))
      return kernel.emitOpError() << "expected dimension '" << dimension.getName()
                                  << "' to be computed from the " << before << " before it alone, but got "
                                  << dimension.getComputed();
  return success();
}

/// kernel_c1, kernel_c2
LogicalResult verifyArgument(KernelOp kernel, unsigned index) {
  Type type = kernel.getArgumentTypes()[index];
  Attribute argument = kernel.getArgument(index);
  auto report = [&](StringRef what) -> LogicalResult {
    InFlightDiagnostic diagnostic = kernel.emitOpError()
                                    << "expected '" << program::ProgramDialect::argumentAttrName
                                    << "' of argument " << index << " to be a #program." << what
                                    << " because its type is " << type << ", but got ";
    return argument ? diagnostic << argument : diagnostic << "none";
  };
  if (auto global = dyn_cast<GlobalType>(type)) {
    auto tensor = dyn_cast_if_present<program::TensorAttr>(argument);
    return tensor ? verifyTensorArgument(kernel, tensor, global) : report("tensor");
  }
  if (type.isIndex()) {
    auto dimension = dyn_cast_if_present<program::DimensionAttr>(argument);
    return dimension ? verifyComputed(kernel, index, dimension) : report("dimension");
  }
  if (!toElementType(type) || !isComputed(type))
    return kernel.emitOpError() << "expected argument " << index
                                << " to be an index, a global tensor or a number that the machine computes "
                                << "with, but got " << type;
  return isa_and_present<program::ScalarAttr>(argument) ? success() : report("scalar");
}

/// kernel_c3
LogicalResult verifySameArguments(KernelOp kernel) {
  auto module = kernel->getParentOfType<ModuleOp>();
  KernelOp first = *module.getOps<KernelOp>().begin();
  if (first.getFunctionType() == kernel.getFunctionType() &&
      first.getArgAttrsAttr() == kernel.getArgAttrsAttr())
    return success();
  InFlightDiagnostic diagnostic = kernel.emitOpError()
                                  << "expected the arguments of '" << first.getName()
                                  << "' because kernels of one module are one program, but '"
                                  << kernel.getName() << "' has others";
  diagnostic.attachNote(first.getLoc()) << "the first kernel is here";
  return diagnostic;
}
} // namespace

LogicalResult KernelOp::verify() {
  if (!getResultTypes().empty())
    return emitOpError() << "expected no results because a kernel writes to its tensors, but got "
                         << getResultTypes().size();
  for (unsigned i = 0, e = getNumArguments(); i != e; ++i)
    if (failed(verifyArgument(*this, i)))
      return failure();
  if (failed(program::verifyLaunch(*this, getLaunch()))) // kernel_c4
    return failure();
  return verifySameArguments(*this);
}

//===----------------------------------------------------------------------===//
// grid, persistent
//===----------------------------------------------------------------------===//

namespace {
constexpr size_t maxGridAxes = 3;

LogicalResult verifyGridAxes(Operation *op, size_t axes) {
  if (axes >= 1 && axes <= maxGridAxes)
    return success();
  return op->emitOpError() << "expected one to three axes because a launch has that many, but got " << axes;
}

/// grid_c2, persistent_c3
LogicalResult verifyOnlyGrid(Operation *op) {
  for (Operation &other : *op->getBlock()) {
    if (&other == op)
      return success();
    if (!isa<GridOp, PersistentOp>(other))
      continue;
    InFlightDiagnostic diagnostic = op->emitOpError()
                                    << "expected one 'tile.grid' or 'tile.persistent' per kernel because it "
                                    << "decides the number of blocks, but got another";
    diagnostic.attachNote(other.getLoc()) << "the first is here";
    return diagnostic;
  }
  return success();
}
} // namespace

LogicalResult GridOp::verify() {
  if (failed(verifyGridAxes(*this, getExtents().size()))) // grid_c1
    return failure();
  if (getPosition().size() != getExtents().size())
    return emitOpError() << "expected as many positions as extents, but got " << getPosition().size()
                         << " and " << getExtents().size();
  return verifyOnlyGrid(*this);
}

/// `(%i, %j) in (%rows, %columns) group(16) attributes {...} { body }`
ParseResult PersistentOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> positions;
  SmallVector<OpAsmParser::UnresolvedOperand> extents;
  Type index = parser.getBuilder().getIndexType();
  if (parser.parseArgumentList(positions, OpAsmParser::Delimiter::Paren) || parser.parseKeyword("in") ||
      parser.parseOperandList(extents, OpAsmParser::Delimiter::Paren) ||
      parser.resolveOperands(extents, index, result.operands))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("group"))) {
    int64_t group = 0;
    if (parser.parseLParen() || parser.parseInteger(group) || parser.parseRParen())
      return failure();
    result.addAttribute(getGroupAttrName(result.name), parser.getBuilder().getI64IntegerAttr(group));
  }
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  for (OpAsmParser::Argument &position : positions)
    position.type = index;
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, positions))
    return failure();
  if (body->empty()) {
    Block &block = body->emplaceBlock();
    for (OpAsmParser::Argument &position : positions)
      block.addArgument(index, position.sourceLoc.value_or(result.location));
  }
  return success();
}

void PersistentOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(getBody().getArguments(), printer, [&](BlockArgument position) {
    printer.printRegionArgument(position, {}, /*omitType=*/true);
  });
  printer << ") in (" << getExtents() << ") group(" << int64_t(getGroup()) << ")";
  SmallVector<StringRef> elided = {getGroupAttrName()};
  if (getClusterAxis() == 0)
    elided.push_back(getClusterAxisAttrName());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), elided);
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult PersistentOp::verify() {
  size_t axes = getExtents().size();
  if (failed(verifyGridAxes(*this, axes))) // persistent_c1
    return failure();
  TypeRange positions = getBody().getArgumentTypes();
  if (positions.size() != axes || !llvm::all_of(positions, [](Type type) { return type.isIndex(); }))
    return emitOpError() << "expected one position of type index per axis because there are " << axes
                         << " extents, but got " << positions.size() << " positions";
  int64_t group = getGroup();
  if (group < 1) // persistent_c2
    return emitOpError() << "expected a group of at least 1 row, but got " << group;
  int64_t clusterAxis = getClusterAxis();
  if (clusterAxis < 0 || clusterAxis > 1 || clusterAxis >= int64_t(axes)) // persistent_c4
    return emitOpError() << "expected cluster_axis 0 or 1 and among the " << axes << " axes, but got "
                         << clusterAxis;
  return verifyOnlyGrid(*this);
}

void VariableOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getName())
    setName(getVariable(), *getName());
}

//===----------------------------------------------------------------------===//
// roles
//===----------------------------------------------------------------------===//

namespace {
/// roles_c3
LogicalResult verifyRegisters(RolesOp roles, ArrayRef<RoleOp> list, int64_t warps) {
  auto sets = [](RoleOp role) { return role.getRegisters().has_value(); };
  if (llvm::none_of(list, sets))
    return success();
  int64_t end = 0;
  RoleOp previous; // that sets registers, of the same warpgroup
  for (RoleOp role : list) {
    if (end % warpsPerWarpgroup == 0)
      previous = nullptr;
    end += int64_t(role.getWarps());
    if (!sets(role))
      continue;
    if (!previous || *previous.getRegisters() == *role.getRegisters()) {
      previous = role;
      continue;
    }
    InFlightDiagnostic diagnostic =
        role.emitOpError() << "expected role '" << role.getName() << "' to set registers("
                           << *previous.getRegisters() << ") because it shares a warpgroup with role '"
                           << previous.getName() << "' and registers are set per warpgroup, but got "
                           << *role.getRegisters();
    diagnostic.attachNote(previous.getLoc()) << "set here";
    return diagnostic;
  }
  if (warps % warpsPerWarpgroup != 0)
    return roles.emitOpError() << "expected the roles' warps to add up to a multiple of " << warpsPerWarpgroup
                               << " because registers are set per warpgroup, but got " << warps;
  const Target *target = program::findTarget(roles);
  if (!target)
    return success();
  int64_t threads = warps * lanesPerWarp;
  auto kernel = roles->getParentOfType<KernelOp>();
  BlockBudget block(*target, kernel ? int64_t(kernel.getResidents()) : 1);
  SmallVector<RoleRegisters> set;
  for (RoleOp role : list) // the compiler chooses the others, which get the least at least
    set.push_back({int64_t(role.getWarps()), int64_t(role.getRegisters().value_or(target->setmaxnreg.min))});
  if (block.fits(set))
    return success();
  int64_t atLaunch = block.registersAtLaunch(warps), needed = 0;
  for (const RoleRegisters &role : set)
    needed += role.warps * lanesPerWarp * role.registers;
  InFlightDiagnostic diagnostic = roles.emitOpError()
                                  << "expected the roles' registers to be at most " << atLaunch * threads
                                  << " because a block of " << threads << " threads is launched with "
                                  << atLaunch << " per thread (more would wait forever), but got " << needed;
  for (size_t i = 0; i < list.size(); ++i) {
    RoleOp role = list[i];
    diagnostic.attachNote(role.getLoc())
        << "role '" << role.getName() << "' takes " << (sets(role) ? "" : "at least ") << set[i].registers
        << " for each of " << set[i].warps * lanesPerWarp << " threads";
  }
  return diagnostic;
}
} // namespace

LogicalResult RolesOp::verifyRegions() {
  SmallVector<RoleOp> roles;
  llvm::StringMap<RoleOp> byName;
  int64_t warps = 0;
  for (Operation &op : getBody().front()) { // roles_c1
    auto role = dyn_cast<RoleOp>(op);
    if (!role)
      return op.emitError()
             << "expected nothing but 'tile.role' in 'tile.roles' because every warp belongs to "
             << "one role, but got '" << op.getName() << "'";
    auto [previous, isNew] = byName.try_emplace(role.getName(), role);
    if (!isNew) {
      InFlightDiagnostic diagnostic = role.emitOpError() << "expected roles of different names, but got '"
                                                         << role.getName() << "' twice";
      diagnostic.attachNote(previous->second.getLoc()) << "the first is here";
      return diagnostic;
    }
    roles.push_back(role);
    warps += role.getWarps();
  }
  if (roles.empty())
    return emitOpError() << "expected at least one role, but got none";
  // roles_c2
  auto noteRoles = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    for (RoleOp role : roles)
      diagnostic.attachNote(role.getLoc()) << "role '" << role.getName() << "' has " << role.getWarps();
    return diagnostic;
  };
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (kernel && kernel.getWarps() != 0 && int64_t(kernel.getWarps()) != warps)
    return noteRoles(emitOpError() << "expected the roles' warps to add up to " << kernel.getWarps()
                                   << " because '" << kernel.getName() << "' has that many, but got "
                                   << warps);
  Target target = targetOf(*this);
  if (warps > program::maxWarps(target))
    return noteRoles(emitOpError() << "expected the roles' warps to add up to at most "
                                   << program::maxWarps(target) << " because " << program::displayName(target)
                                   << " has at most " << target.maxThreadsPerBlock << " threads, but got "
                                   << warps);
  return verifyRegisters(*this, roles, warps);
}

LogicalResult RoleOp::verify() {
  Target target = targetOf(*this);
  int64_t warps = getWarps();
  if (warps < 1 || warps > program::maxWarps(target)) // role_c1
    return emitOpError() << "expected role '" << getName() << "' to have from 1 to "
                         << program::maxWarps(target) << " warps, but got " << warps;
  if (!getRegisters())
    return success();
  int64_t registers = *getRegisters();
  RegisterReallocationFacts limits = target.setmaxnreg; // role_c2
  if (program::findTarget(*this) && !limits.available)
    return emitOpError() << "expected no 'registers' for role '" << getName() << "' because "
                         << program::displayName(target)
                         << " cannot move registers between warpgroups, but got " << registers;
  if (registers < limits.min || registers > limits.max || registers % limits.step != 0)
    return emitOpError() << "expected 'registers' of role '" << getName() << "' to be a multiple of "
                         << limits.step << " from " << limits.min << " to " << limits.max << ", but got "
                         << registers;
  return success();
}

LogicalResult RoleOp::verifyRegions() { // role_c3
  if (!getOneThread())
    return success();
  WalkResult walked = getBody().walk([&](Operation *op) {
    if (tile::suitsOneThread(op))
      return WalkResult::advance();
    InFlightDiagnostic diagnostic =
        op->emitOpError() << "expected an operation that one thread can execute because role '" << getName()
                          << "' is one thread, but this one needs all threads of the role";
    diagnostic.attachNote(getLoc()) << "the role is here";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}
