// SPDX-License-Identifier: Apache-2.0
/// \file
/// Transfers between launches. The body is traced into a kernel that is no part of the module: of it, only
/// what the host computes is kept.
#include "compiler/dsl/Trace.h"
#include "compiler/dsl/Transfer.h"
#include "dialects/program/Elements.h"
#include "dialects/tile/Counts.h"
#include "dialects/tile/HostExpressions.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Shapes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/support/Excerpt.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

void Scope::transfer(std::string_view name, const Index &rounds, const TransferBody &body, Loc loc) {
  trace->transfer(name, rounds, body, loc);
}

//===----------------------------------------------------------------------===//
// What the host computes
//===----------------------------------------------------------------------===//

program::HostExprAttr Trace::hostExpression(Value value, StringRef what, Loc loc) {
  if (!value)
    return {};
  auto computed = tile::hostExpressionOf(value);
  if (const auto *expr = std::get_if<HostExpr>(&computed))
    return program::HostExprAttr::get(builder.getContext(), *expr);
  Value culprit = std::get<tile::NoHostExpression>(computed).culprit;
  Diagnostic &diagnostic = error(
      loc, "expected " + what +
               " of a transfer to be computed from dimensions, constants and the number of the round by "
               "integer arithmetic because the host evaluates it, but it " +
               (culprit ? std::string("is computed from another value")
                        : "takes more than " + std::to_string(tile::maxHostTerms) + " terms"));
  if (culprit)
    diagnostic.notes.push_back({positionOf(culprit.getLoc()), "here"});
  return {};
}

std::optional<int64_t> Trace::tensorNumber(Value tensor, tile::KernelOp kernel) const {
  auto argument = dyn_cast_if_present<BlockArgument>(tensor);
  if (!argument || argument.getOwner() != &kernel.getBody().front())
    return std::nullopt;
  return llvm::count_if(ArrayRef(arguments).take_front(argument.getArgNumber()),
                        llvm::IsaPred<program::TensorAttr>);
}

program::PlaceAttr Trace::placeOf(Value slice, Loc loc) {
  auto made = slice ? slice.getDefiningOp<tile::SliceOp>() : tile::SliceOp();
  if (!made)
    return {};
  std::optional<int64_t> number = tensorNumber(made.getTensor(), currentKernel);
  if (!number) {
    error(loc, "expected a transfer of arguments of the program because the host finds no others, but '" +
                   excerpt(tile::nameOf(made.getTensor())) + "' is none");
    return {};
  }
  if (made.getOfAll()) {
    error(loc, "expected the tensor of one rank because a copy engine reaches no other, but got '" +
                   excerpt(tile::nameOf(made.getTensor())) + "' on all ranks; take it with .of(rank)");
    return {};
  }
  program::HostExprAttr rank = hostExpression(made.getRank(), "a rank", loc);
  if (made.getRank() && !rank)
    return {};
  SmallVector<program::HostExprAttr> position;
  for (Value each : made.getOrigin()) {
    position.push_back(hostExpression(each, "a position", loc));
    if (!position.back())
      return {};
  }
  return program::PlaceAttr::get(builder.getContext(), *number, position, rank);
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

bool Trace::checkTransfer(StringRef call, Loc loc) {
  if (!checkCurrent(loc))
    return false;
  if (!currentTransfer) {
    error(loc, "expected " + call + " in the body of its k.transfer, but got it after that has ended");
    return false;
  }
  Block *here = builder.getInsertionBlock();
  if (here == &currentKernel.getBody().front())
    return true;
  error(loc, "expected " + call + " directly in the body of transfer '" + excerpt(currentTransfer->name) +
                 "' because every round does all of it, but got it in " +
                 tile::callOf(here->getParentOp()->getName().getStringRef()) +
                 "; extents and the number of rounds may be 0");
  return false;
}

void Trace::transfer(StringRef transferName, const Index &rounds, const TransferBody &body, Loc loc) {
  if (!checkCurrent(loc))
    return;
  if (currentKernel != outer) {
    error(loc, "expected k.transfer outside launches and other transfers because it runs between launches");
    return;
  }
  if (!claimName("a transfer", transferName, loc) || !checkOutside(loc))
    return;
  TracedTransfer &traced = transfers.emplace_back();
  traced.name = transferName;
  traced.loc = loc;
  traced.after = int64_t(launches.size());
  auto trace = [&](tile::KernelOp kernel) {
    traced.rounds =
        hostExpression(useUniform(rounds, "the number of rounds", loc), "the number of rounds", loc);
    Block &block = kernel.getBody().front();
    auto round = make<Index>(block.addArgument(builder.getIndexType(), at(loc)));
    SmallVector<Attribute> attributes = llvm::to_vector(kernel.getArgAttrsAttr());
    attributes.push_back(builder.getDictionaryAttr({}));
    kernel.setArgAttrsAttr(builder.getArrayAttr(attributes));
    currentTransfer = &traced;
    body(Transfer(shared_from_this()), round);
    currentTransfer = nullptr;
    for (Operation &op : block.without_terminator())
      if (!isMemoryEffectFree(&op)) {
        Diagnostic &diagnostic =
            error(loc, "expected nothing but calls of its Transfer in the body of transfer '" +
                           excerpt(transferName) + "' because no kernel executes it, but got " +
                           tile::callOf(op.getName().getStringRef()));
        diagnostic.notes.push_back({positionOf(op.getLoc()), "here"});
        return;
      }
  };
  tile::KernelOp kernel = traceKernel(transferName, trace, loc);
  kernel->remove();
  traced.body = kernel;
  if (traced.copies.empty() && diagnostics.empty())
    error(loc, "expected transfer '" + excerpt(transferName) + "' to copy something, but it has no copy");
}

void Trace::addCopy(Value from, Value to, ArrayRef<Value> extents, Loc loc) {
  program::PlaceAttr source = placeOf(from, loc), destination = placeOf(to, loc);
  SmallVector<program::HostExprAttr> numbers;
  for (Value extent : extents)
    numbers.push_back(hostExpression(extent, "an extent", loc));
  if (!source || !destination || llvm::is_contained(numbers, nullptr))
    return;
  auto report = [&] { return emitError(at(loc)) << "transfer '" << currentTransfer->name << "': "; };
  if (auto copy = program::TransferCopyAttr::getChecked(report, builder.getContext(), source, destination,
                                                        ArrayRef<program::HostExprAttr>(numbers)))
    currentTransfer->copies.push_back(copy);
}

void Trace::setCount(Value count, Value value, Loc loc) {
  program::PlaceAttr place = placeOf(count, loc);
  program::HostExprAttr number = hostExpression(value, "the value", loc);
  if (!place || !number)
    return;
  if (currentTransfer->sets) {
    error(loc, "expected transfer '" + excerpt(currentTransfer->name) +
                   "' to set one element in a round, but got a second one; make a transfer for each");
    return;
  }
  currentTransfer->sets = place;
  currentTransfer->value = number;
}

void Trace::addTransfers() {
  if (transfers.empty())
    return;
  if (launches.empty()) {
    error(transfers.front().loc, "expected at least one k.launch in a program with transfers, but got none");
    return;
  }
  auto waits = [&](tile::KernelOp kernel, const TracedTransfer &transfer) {
    auto isFor = [&](tile::WaitForOp wait) {
      auto slice = wait.getCount().getDefiningOp<tile::SliceOp>();
      return slice && tensorNumber(slice.getTensor(), kernel) == transfer.sets.getTensor()
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    };
    return kernel.walk(isFor).wasInterrupted();
  };
  auto uses = [&](tile::KernelOp kernel, const TracedTransfer &transfer) {
    auto isOne = [&](BlockArgument argument) {
      std::optional<int64_t> number = tensorNumber(argument, kernel);
      auto has = [&](program::PlaceAttr place) { return place.getTensor() == number; };
      return !argument.use_empty() && isa<program::TensorAttr>(arguments[argument.getArgNumber()]) &&
             (has(transfer.sets) || llvm::any_of(transfer.copies, [&](program::TransferCopyAttr copy) {
                return has(copy.getFrom()) || has(copy.getTo());
              }));
    };
    return llvm::any_of(kernel.getBody().front().getArguments(), isOne);
  };
  SmallVector<Attribute> attributes;
  for (const TracedTransfer &transfer : transfers) {
    int64_t until = transfer.after;
    if (transfer.sets)
      for (int64_t next = until; next < int64_t(launches.size()); ++next) {
        const bool isWaiting = waits(launches[size_t(next)], transfer);
        if (!isWaiting && uses(launches[size_t(next)], transfer))
          break;
        if (isWaiting)
          until = next + 1;
      }
    attributes.push_back(program::TransferAttr::get(builder.getContext(), transfer.name, transfer.copies,
                                                    transfer.after, until, transfer.rounds, transfer.sets,
                                                    transfer.value));
  }
  (*module)->setAttr(program::ProgramDialect::transfersAttrName, builder.getArrayAttr(attributes));
}

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

namespace {
/// A slice of one element there; null, silently or with an error, if a transfer cannot reach it.
Value elementAt(Trace &trace, const Global &tensor, const std::vector<Index> &position, Loc loc) {
  Value value = trace.use(tensor.ref(), "a tensor", loc);
  if (!value)
    return {};
  StringRef name = tile::nameOf(value);
  program::TensorAttr facts = trace.tensorOf(value);
  if (Type element = tile::elementTypeOf(value.getType()); element.getIntOrFloatBitWidth() < 8) {
    trace.error(loc, "expected a transfer of elements of whole bytes, but '" + excerpt(name) + "' has " +
                         textOf(element));
    return {};
  }
  if (facts && (facts.getStrided() || facts.getOrder() != program::TensorOrder::natural)) {
    trace.error(loc, "expected a transfer of tensors in the natural order whose last stride is 1, but '" +
                         excerpt(name) + "' is declared otherwise");
    return {};
  }
  Slice element = tensor.tile(position, Shape(position.size(), 1), loc);
  return trace.use(element.ref(), "an element", loc);
}
} // namespace

void Transfer::copy(const TransferPlace &from, const TransferPlace &to, const std::vector<Index> &extents,
                    Loc loc) const {
  if (!trace->checkTransfer("copy", loc))
    return;
  Value source = elementAt(*trace, from.tensor, from.position, loc),
        destination = elementAt(*trace, to.tensor, to.position, loc);
  SmallVector<Value> values;
  for (const Index &extent : extents) {
    if (extent.constant() && *extent.constant() < 0) {
      trace->error(loc, "expected the extents of a transfer to be at least 0, but got " +
                            Twine(*extent.constant()));
      return;
    }
    values.push_back(trace->useUniform(extent, "an extent", loc));
  }
  if (!source || !destination || llvm::is_contained(values, Value()))
    return;
  auto tensorOf = [](Value slice) { return slice.getDefiningOp<tile::SliceOp>().getTensor(); };
  Type ofSource = tile::elementTypeOf(source.getType()),
       ofDestination = tile::elementTypeOf(destination.getType());
  if (ofSource != ofDestination) {
    trace->error(loc, "expected a transfer between tensors of one type, but '" +
                          excerpt(tile::nameOf(tensorOf(source))) + "' has " + textOf(ofSource) + " and '" +
                          excerpt(tile::nameOf(tensorOf(destination))) + "' has " + textOf(ofDestination));
    return;
  }
  program::TensorAttr facts = trace->tensorOf(tensorOf(destination));
  if (facts && facts.getAccess() == program::Access::input) {
    trace->noteDeclaration(trace->error(loc, "expected a transfer to a tensor that may be written, but '" +
                                                 excerpt(facts.getName()) + "' is an input"),
                           tensorOf(destination));
    return;
  }
  trace->addCopy(source, destination, values, loc);
}

void Transfer::set(const Global &counts, const std::vector<Index> &position, const Index &value,
                   Loc loc) const {
  if (!trace->checkTransfer("set", loc))
    return;
  Value count = elementAt(*trace, counts, position, loc),
        number = trace->useUniform(value, "the value of a count", loc);
  if (!count || !number)
    return;
  Value tensor = count.getDefiningOp<tile::SliceOp>().getTensor();
  program::TensorAttr facts = trace->tensorOf(tensor);
  if (!facts || !facts.getSymmetric() || !facts.getZeroFill() ||
      facts.getAccess() != program::Access::workspace ||
      !tile::elementTypeOf(count.getType()).isInteger(32)) {
    trace->noteDeclaration(
        trace->error(loc, "expected the count that a transfer sets to be a symmetric workspace of i32 that "
                          "begins as zeros because every rank may wait for it, but '" +
                              excerpt(tile::nameOf(tensor)) +
                              "' is not; declare it with k.symmetric and {.use = TensorUse::workspace, "
                              ".initial = Initial::zero}"),
        tensor);
    return;
  }
  trace->setCount(count, number, loc);
}

} // namespace tlc::dsl::inline v1
