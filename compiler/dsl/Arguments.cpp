// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arguments of a program: dimensions, tensors, numbers, workspaces.
#include "compiler/dsl/Trace.h"
#include "dialects/tile/HostExpressions.h"
#include "dialects/tile/Names.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/support/Excerpt.h"

#include <numeric>

using namespace mlir;

namespace tlc::dsl::inline v1 {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

bool Trace::checkName(StringRef what, StringRef name, Loc loc) {
  auto isLetter = [](char c) { return llvm::isAlpha(c) || c == '_'; };
  if (name.empty() || !isLetter(name.front()) ||
      !llvm::all_of(name, [&](char c) { return isLetter(c) || llvm::isDigit(c); })) {
    error(loc, "expected the name of " + what +
                   " to be letters, digits and underscores, a letter first, but got '" + excerpt(name) + "'");
    return false;
  }
  if (name.size() > mostQuoted) {
    error(loc, "expected the name of " + what + " to have at most " + Twine(mostQuoted) +
                   " characters, but got '" + excerpt(name) + "'");
    return false;
  }
  return true;
}

bool Trace::claimName(StringRef what, StringRef name, Loc loc) {
  if (!checkName(what, name, loc))
    return false;
  auto [known, isNew] = names.try_emplace(name, loc);
  if (isNew)
    return true;
  Diagnostic &diagnostic = error(loc, "expected different names for arguments and launches, but got '" +
                                          excerpt(name) + "' twice");
  diagnostic.notes.push_back({positionOf(at(known->second)), "the first is here"});
  return false;
}

BlockArgument Trace::addArgument(StringRef name, Type type, Attribute argument, Loc loc) {
  if (!checkCurrent(loc) || !argument || !claimName("an argument", name, loc))
    return {};
  return addClaimedArgument(name, type, argument, loc);
}

BlockArgument Trace::addClaimedArgument(StringRef name, Type type, Attribute argument, Loc loc) {
  if (!launches.empty() || !transfers.empty()) {
    error(loc, "expected argument '" + excerpt(name) +
                   "' before the first launch because all launches have the same arguments");
    return {};
  }
  arguments.push_back(argument);
  BlockArgument added = outer.getBody().front().addArgument(type, at(loc));
  setSignature(outer);
  return added;
}

program::DimensionAttr Trace::dimensionOf(Value value) {
  auto argument = dyn_cast_if_present<BlockArgument>(value);
  if (!argument || argument.getOwner() != &outer.getBody().front())
    return {};
  return dyn_cast<program::DimensionAttr>(arguments[argument.getArgNumber()]);
}

program::DimensionAttr Trace::dimension(int64_t number) {
  auto dimensions = llvm::make_filter_range(arguments, llvm::IsaPred<program::DimensionAttr>);
  return cast<program::DimensionAttr>(*std::next(dimensions.begin(), number));
}

BlockArgument Trace::dimensionOfLaunch(program::DimensionSource source) {
  for (auto [number, attribute] : llvm::enumerate(arguments))
    if (auto dimension = dyn_cast<program::DimensionAttr>(attribute);
        dimension && dimension.getSource() == source)
      return outer.getBody().front().getArgument(unsigned(number));
  return {};
}

BlockArgument Trace::computedDimension(program::HostExprAttr computed) {
  for (auto [number, attribute] : llvm::enumerate(arguments))
    if (auto dimension = dyn_cast<program::DimensionAttr>(attribute);
        dimension && dimension.getComputed() == computed)
      return outer.getBody().front().getArgument(unsigned(number));
  return {};
}

program::TensorAttr Trace::tensorOf(Value value) {
  if (auto member = value ? value.getDefiningOp<tile::MemberOp>() : tile::MemberOp())
    return member.getFacts();
  if (auto windows = value ? value.getDefiningOp<tile::WindowsOp>() : tile::WindowsOp())
    return tensorOf(windows.getSource());
  auto argument = dyn_cast_if_present<BlockArgument>(value);
  if (!argument || argument.getOwner() != &currentKernel.getBody().front())
    return {};
  return dyn_cast<program::TensorAttr>(arguments[argument.getArgNumber()]);
}

std::optional<int64_t> Trace::fixedValue(StringRef dimension) {
  auto found = options.fixedDimensions.find(std::string_view(dimension));
  return found == options.fixedDimensions.end() ? std::nullopt : std::optional(found->second);
}

//===----------------------------------------------------------------------===//
// Dimensions and numbers
//===----------------------------------------------------------------------===//

Index Scope::dim(std::string_view name, DimensionFacts facts, Loc loc) {
  StringRef text = name;
  if (facts.multipleOf < 1) {
    trace->error(loc, "expected dimension '" + excerpt(text) + "' to be a multiple of at least 1, but got " +
                          Twine(facts.multipleOf));
    return trace->poison<Index>();
  }
  int64_t most = facts.most.value_or(maxExtent);
  if (facts.least < 0 || facts.least > most || most > maxExtent) {
    trace->error(loc, "expected limits of dimension '" + excerpt(text) + "' from 0 to " + Twine(maxExtent) +
                          ", but got least " + Twine(facts.least) + " and most " + Twine(most));
    return trace->poison<Index>();
  }
  std::optional<int64_t> fixed = trace->fixedValue(text);
  if (fixed && (*fixed < 1 || *fixed > maxExtent)) {
    trace->error(loc, "expected the fixed value of dimension '" + excerpt(text) + "' to be from 1 to " +
                          Twine(maxExtent) + ", but got " + Twine(*fixed));
    return trace->poison<Index>();
  }
  if (fixed && *fixed % facts.multipleOf != 0) {
    trace->error(loc, "expected the fixed value of dimension '" + excerpt(text) + "' to be a multiple of " +
                          Twine(facts.multipleOf) + " because the program relies on it, but got " +
                          Twine(*fixed));
    return trace->poison<Index>();
  }
  if (fixed && (*fixed < facts.least || *fixed > most)) {
    trace->error(loc, "expected the fixed value of dimension '" + excerpt(text) + "' to be from " +
                          Twine(facts.least) + " to " + Twine(most) +
                          " because the program relies on it, but got " + Twine(*fixed));
    return trace->poison<Index>();
  }
  Builder &builder = trace->builder;
  auto attr = program::DimensionAttr::get(builder.getContext(), text, facts.multipleOf, facts.least, most,
                                          fixed.value_or(-1), program::HostExprAttr(),
                                          program::DimensionSource::shapes);
  BlockArgument argument = trace->addArgument(text, builder.getIndexType(), attr, loc);
  if (argument && fixed)
    return *fixed;
  return trace->make<Index>(argument);
}

namespace {
/// What the launch says: one argument, however often it is asked for.
Index ofLaunch(Trace &trace, StringRef call, program::DimensionSource source, Loc loc) {
  if (!trace.checkCurrent(loc))
    return trace.poison<Index>();
  std::optional<int64_t> fixed = trace.fixedValue(call);
  if (BlockArgument known = trace.dimensionOfLaunch(source))
    return fixed ? Index(*fixed) : trace.make<Index>(known);
  if (fixed && source != program::DimensionSource::ranks) {
    trace.error(loc, "expected '" + call +
                         "' not to be fixed because each rank has a number of its own, but got " +
                         Twine(*fixed));
    return trace.poison<Index>();
  }
  if (fixed && (*fixed < 1 || *fixed > maxRanks)) {
    trace.error(loc, "expected the fixed value of '" + call + "' to be from 1 to " + Twine(maxRanks) +
                         ", but got " + Twine(*fixed));
    return trace.poison<Index>();
  }
  auto attr = program::DimensionAttr::get(trace.builder.getContext(), call, /*multiple_of=*/1, /*least=*/0,
                                          maxExtent, fixed.value_or(-1), program::HostExprAttr(), source);
  BlockArgument argument = trace.addClaimedArgument(call, trace.builder.getIndexType(), attr, loc);
  return argument && fixed ? Index(*fixed) : trace.make<Index>(argument);
}
} // namespace

Index Scope::rank(Loc loc) { return ofLaunch(*trace, "k.rank", program::DimensionSource::rank, loc); }
Index Scope::ranks(Loc loc) { return ofLaunch(*trace, "k.ranks", program::DimensionSource::ranks, loc); }

Scalar Scope::scalar(std::string_view name, ElementType element, Loc loc) {
  if (!isComputed(element)) {
    trace->error(loc, "expected argument '" + excerpt(name) +
                          "' to be a number that the machine computes with, but got " +
                          llvm::StringRef(toString(element)) + "; pass it as " +
                          llvm::StringRef(toString(computedType(element))));
    return trace->poison<Scalar>();
  }
  auto attr = program::ScalarAttr::get(trace->builder.getContext(), name);
  return trace->make<Scalar>(trace->addArgument(name, trace->typeOf(element), attr, loc));
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

namespace {
/// What a position that the host computes is a multiple of, known from its dimensions.
int64_t divisorOf(Trace &trace, const HostExpr &expr) {
  SmallVector<int64_t> pending;
  for (const HostExpr::Step &step : expr.steps) {
    if (step.op == HostExpr::Op::constant || step.op == HostExpr::Op::dimension) {
      pending.push_back(step.op == HostExpr::Op::constant ? std::abs(std::max(step.operand, -INT64_MAX))
                                                          : trace.dimension(step.operand).getMultipleOf());
      continue;
    }
    int64_t right = pending.pop_back_val(), left = pending.pop_back_val(), product = 1;
    switch (step.op) {
    case HostExpr::Op::multiply:
      pending.push_back(__builtin_mul_overflow(left, right, &product) ? std::max(left, right) : product);
      break;
    case HostExpr::Op::add:
    case HostExpr::Op::subtract:
    case HostExpr::Op::remainder:
    case HostExpr::Op::min:
    case HostExpr::Op::max:
      pending.push_back(std::gcd(left, right));
      break;
    default:
      pending.push_back(1);
    }
  }
  return std::clamp<int64_t>(pending.back(), 1, maxExtent);
}

/// The argument that is the extent of an axis: a dimension, or one that the host computes from dimensions.
BlockArgument extentArgument(Trace &trace, StringRef tensor, size_t axis, Value extent, Loc loc) {
  if (trace.dimensionOf(extent))
    return cast<BlockArgument>(extent);
  auto fail = [&](StringRef what, Value culprit) -> BlockArgument {
    Diagnostic &diagnostic = trace.error(
        loc, "expected the extents of tensor '" + excerpt(tensor) +
                 "' to be dimensions, constants or computed from these by integer arithmetic because "
                 "the launcher compares them with the actual shape, but axis " +
                 Twine(axis) + " " + what);
    if (culprit)
      diagnostic.notes.push_back({positionOf(culprit.getLoc()), "here"});
    return {};
  };
  auto computed = tile::hostExpressionOf(extent);
  if (const auto *problem = std::get_if<tile::NoHostExpression>(&computed))
    return problem->culprit ? fail("is computed from another value", problem->culprit)
                            : fail(("takes more than " + Twine(tile::maxHostTerms) + " terms").str(), extent);
  const HostExpr &expr = std::get<HostExpr>(computed);
  if (llvm::is_contained(llvm::map_range(expr.steps, [](const HostExpr::Step &step) { return step.op; }),
                         HostExpr::Op::multiprocessors))
    return fail("depends on the number of multiprocessors", extent);
  MLIRContext *context = trace.builder.getContext();
  auto attr = program::HostExprAttr::get(context, expr);
  if (BlockArgument known = trace.computedDimension(attr))
    return known;
  std::string name = (tensor + "." + Twine(axis)).str();
  return trace.addClaimedArgument(name, trace.builder.getIndexType(),
                                  program::DimensionAttr::get(context, name, divisorOf(trace, expr), 0,
                                                              maxExtent, -1, attr,
                                                              program::DimensionSource::shapes),
                                  loc);
}

struct TensorDeclaration {
  StringRef name;
  ElementType element;
  const std::vector<Index> &shape;
  program::Access access;
  int64_t alignment = 1;
  bool zeroFill = false;
  program::TensorOrder order = program::TensorOrder::natural;
  bool symmetric = false;
  LastStride lastStride = LastStride::one;
  program::MembersAttr members = {};
};

template <class Handle = Global>
Handle declareTensor(Trace &trace, const TensorDeclaration &tensor, Loc loc) {
  std::string what = "tensor '" + excerpt(tensor.name) + "'";
  if (tensor.shape.empty()) {
    trace.error(loc, "expected " + what + " to have at least one extent, but got none");
    return trace.poison<Handle>();
  }
  if (tensor.alignment < 1 || !llvm::isPowerOf2_64(tensor.alignment)) {
    trace.error(loc, "expected the alignment of " + what + " to be a power of two, but got " +
                         Twine(tensor.alignment));
    return trace.poison<Handle>();
  }
  SmallVector<int64_t> extents, dimensions;
  for (auto [axis, extent] : llvm::enumerate(tensor.shape)) {
    if (std::optional<int64_t> constant = extent.constant()) {
      if (*constant < 1 || *constant > maxExtent) {
        trace.error(loc, "expected the extents of " + what + " to be from 1 to " + Twine(maxExtent) +
                             ", but axis " + Twine(axis) + " has " + Twine(*constant));
        return trace.poison<Handle>();
      }
      extents.push_back(*constant);
      dimensions.push_back(-1);
      continue;
    }
    Value value = trace.use(extent.ref(), ("the extent of axis " + Twine(axis) + " of " + what).str(), loc);
    if (!value)
      return trace.poison<Handle>();
    BlockArgument argument = extentArgument(trace, tensor.name, axis, value, loc);
    if (!argument)
      return trace.poison<Handle>();
    extents.push_back(ShapedType::kDynamic);
    dimensions.push_back(argument.getArgNumber());
  }
  if (!trace.checkPacking(what, extents, trace.typeOf(tensor.element), loc))
    return trace.poison<Handle>();
  if (tensor.lastStride == LastStride::any && bitsOf(tensor.element) < 8) {
    trace.error(loc, "expected " + what + " to have a last stride of 1 because elements of " +
                         StringRef(toString(tensor.element)) + " share bytes, but got LastStride::any");
    return trace.poison<Handle>();
  }
  MLIRContext *context = trace.builder.getContext();
  auto attr = program::TensorAttr::get(context, tensor.name, tensor.access, dimensions, tensor.alignment,
                                       tensor.zeroFill, tensor.order, tensor.symmetric,
                                       tensor.lastStride == LastStride::any, tensor.members);
  auto type = tile::GlobalType::get(context, extents, trace.typeOf(tensor.element));
  return trace.make<Handle>(trace.addArgument(tensor.name, type, attr, loc));
}

Global declareArgument(Trace &trace, StringRef name, ElementType element, const std::vector<Index> &shape,
                       program::Access access, TensorFacts facts, Loc loc) {
  return declareTensor(trace,
                       {.name = name,
                        .element = element,
                        .shape = shape,
                        .access = access,
                        .alignment = facts.alignment,
                        .lastStride = facts.lastStride},
                       loc);
}
} // namespace

Global Scope::input(std::string_view name, ElementType element, const std::vector<Index> &shape,
                    TensorFacts facts, Loc loc) {
  return declareArgument(*trace, name, element, shape, program::Access::input, facts, loc);
}

Global Scope::output(std::string_view name, ElementType element, const std::vector<Index> &shape,
                     TensorFacts facts, Loc loc) {
  return declareArgument(*trace, name, element, shape, program::Access::output, facts, loc);
}

Global Scope::inout(std::string_view name, ElementType element, const std::vector<Index> &shape,
                    TensorFacts facts, Loc loc) {
  return declareArgument(*trace, name, element, shape, program::Access::inout, facts, loc);
}

namespace {
TLC_ENUM_CONVERSION(orderOf, TensorOrder, program::TensorOrder, TLC_TENSOR_ORDERS)

/// Whether a workspace of these elements may have the order; else there is an error.
bool checkOrder(Trace &trace, std::string_view name, ElementType element, const std::vector<Index> &shape,
                TensorOrder order, Loc loc) {
  std::string what = "'" + excerpt(name) + "'";
  std::optional<int64_t> row = shape.empty() ? std::nullopt : shape.back().constant();
  constexpr int64_t together = 16; // elements that are interleaved
  if (order == TensorOrder::interleaved && (bitsOf(element) != 8 || !row || *row % together != 0)) {
    trace.error(loc, "expected elements of 8 bits in rows of a constant multiple of " + Twine(together) +
                         " because " + what + " is interleaved, but got " +
                         (bitsOf(element) != 8 ? "larger elements" : "other rows"));
    return false;
  }
  int64_t bits = bitsOf(element);
  if (order == TensorOrder::accumulator && ((bits != 16 && bits != 32) || shape.size() < 2)) {
    trace.error(loc, "expected rows and columns of elements of 16 or 32 bits because " + what +
                         " keeps them in the order of accumulators, but got " + Twine(bits) + " bits and " +
                         Twine(shape.size()) + (shape.size() == 1 ? " axis" : " axes"));
    return false;
  }
  return true;
}
} // namespace

namespace {
/// Whether a workspace may have the alignment; else there is an error.
bool checkAlignment(Trace &trace, std::string_view name, int64_t alignment, Loc loc) {
  if (alignment >= 1 && alignment <= int64_t(workspaceAlignment) && llvm::isPowerOf2_64(alignment))
    return true;
  trace.error(loc, "expected the alignment of '" + excerpt(name) + "' to be a power of two up to " +
                       Twine(workspaceAlignment) + " because no more is known of workspaces, but got " +
                       Twine(alignment));
  return false;
}

/// The alignment of a workspace of these rows: what is asked for, or 16 bytes where rows fill them anyway.
int64_t workspaceRowAlignment(ElementType element, const std::vector<Index> &shape, int64_t asked) {
  constexpr int64_t vectorBytes = 16; // that the TMA wants aligned, and that a thread moves at once
  std::optional<int64_t> row = shape.empty() ? std::nullopt : shape.back().constant();
  bool hasWholeVectors = row && *row * bitsOf(element) % (8 * vectorBytes) == 0;
  return std::max(asked, hasWholeVectors ? vectorBytes : int64_t(1));
}

TLC_ENUM_CONVERSION(accessOf, TensorUse, program::Access, TLC_TENSOR_USES)
} // namespace

Global Scope::workspace(std::string_view name, ElementType element, const std::vector<Index> &shape,
                        WorkspaceOptions options, Loc loc) {
  if (!checkAlignment(*trace, name, options.alignment, loc) ||
      !checkOrder(*trace, name, element, shape, options.order, loc))
    return trace->poison<Global>();
  constexpr int64_t pieceBytes = 16; // of orders other than the natural one
  int64_t asked =
      options.order == TensorOrder::natural ? options.alignment : std::max(options.alignment, pieceBytes);
  return declareTensor(*trace,
                       {name, element, shape, program::Access::workspace,
                        workspaceRowAlignment(element, shape, asked), options.initial == Initial::zero,
                        orderOf(options.order)},
                       loc);
}

Symmetric Scope::symmetric(std::string_view name, ElementType element, const std::vector<Index> &shape,
                           SymmetricOptions options, Loc loc) {
  bool isWorkspace = options.use == TensorUse::workspace;
  if (isWorkspace && !checkAlignment(*trace, name, options.alignment, loc))
    return trace->poison<Symmetric>();
  if (!isWorkspace && options.initial != Initial::undefined) {
    trace->error(loc, "expected symmetric tensor '" + excerpt(name) +
                          "' to be a workspace because the launcher clears no others, but it is the "
                          "caller's; declare it with .use = TensorUse::workspace");
    return trace->poison<Symmetric>();
  }
  return declareTensor<Symmetric>(*trace,
                                  {.name = name,
                                   .element = element,
                                   .shape = shape,
                                   .access = accessOf(options.use),
                                   .alignment = isWorkspace
                                                    ? workspaceRowAlignment(element, shape, options.alignment)
                                                    : options.alignment,
                                   .zeroFill = options.initial == Initial::zero,
                                   .symmetric = true},
                                  loc);
}

Addresses Scope::addresses(std::string_view name, ElementType element, const Index &count, MemberFacts facts,
                           Loc loc) {
  std::string what = "the members of '" + excerpt(name) + "'";
  auto fail = [&](const Twine &message) {
    trace->error(loc, message);
    return trace->poison<Addresses>();
  };
  int64_t bytes = bitsOf(element) / 8;
  if (bytes == 0)
    return fail("expected " + what + " to have elements of whole bytes because nothing is known of where " +
                "their rows end, but got " + StringRef(toString(element)));
  if (facts.axes < 1)
    return fail("expected " + what + " to have at least one axis, but got " + Twine(facts.axes));
  if (facts.use == TensorUse::workspace)
    return fail("expected " + what + " to be the caller's because the launcher makes workspaces, but got " +
                "TensorUse::workspace");
  int64_t alignment = facts.alignment == 0 ? bytes : facts.alignment;
  if (alignment < bytes || !llvm::isPowerOf2_64(alignment))
    return fail("expected the alignment of " + what + " to be a power of two of at least the " +
                Twine(bytes) + " bytes of an element, but got " + Twine(alignment));
  return declareTensor<Addresses>(
      *trace,
      {.name = name,
       .element = ElementType::i64,
       .shape = {count},
       .access = program::Access::input,
       .members = program::MembersAttr::get(trace->builder.getContext(), accessOf(facts.use),
                                            trace->typeOf(element), facts.axes, alignment)},
      loc);
}

} // namespace tlc::dsl::inline v1
