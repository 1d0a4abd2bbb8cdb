// SPDX-License-Identifier: Apache-2.0
/// \file
/// The user's names of values and words for operations, and their places, for messages.
#include "dialects/tile/Names.h"

#include "dialects/program/Elements.h"
#include "dialects/tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::tile;

namespace {
/// As a word, or after the extents in a tensor's type.
void replaceType(std::string &text, Type type, StringRef name) {
  std::string word;
  llvm::raw_string_ostream(word) << type;
  if (word == name)
    return;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += name.size()) {
    size_t end = at + word.size();
    bool begins = at == 0 || !llvm::isAlnum(text[at - 1]) || text[at - 1] == 'x';
    if (begins && (end == text.size() || !llvm::isAlnum(text[end])))
      text.replace(at, word.size(), name);
  }
}
} // namespace

Value tile::declarationOf(Value value) {
  for (;;) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return value;
    Value viewed = TypeSwitch<Operation *, Value>(op)
                       .Case([](ViewOpInterface view) { return view->getOperand(0); })
                       .Case([](SliceOp slice) { return slice.getTensor(); })
                       .Case([](MemberOp member) { return member.getAddresses(); })
                       .Case([](WindowsOp windows) { return windows.getSource(); })
                       .Case([](ReadOp read) { return read.getVariable(); })
                       .Default([](Operation *) { return Value(); });
    if (!viewed)
      return value;
    value = viewed;
  }
}

StringRef tile::nameOf(Value value) {
  Value declaration = declarationOf(value);
  if (auto argument = dyn_cast<BlockArgument>(declaration)) {
    auto kernel = dyn_cast<KernelOp>(argument.getOwner()->getParentOp());
    return kernel ? kernel.getArgumentName(argument.getArgNumber()) : StringRef();
  }
  return TypeSwitch<Operation *, StringRef>(declaration.getDefiningOp())
      .Case([](AllocationOpInterface allocation) { return allocation.getName(); })
      .Case([](ChannelOp channel) { return channel.getName(); })
      .Case([](VariableOp variable) { return variable.getName().value_or(""); })
      .Default([](Operation *) { return StringRef(); });
}

std::string tile::describe(Value value, StringRef otherwise) {
  StringRef name = nameOf(value);
  return name.empty() ? otherwise.str() : ("'" + name + "'").str();
}

void tile::noteDeclaration(InFlightDiagnostic &diagnostic, Value value) {
  StringRef name = nameOf(value);
  if (!name.empty())
    diagnostic.attachNote(declarationOf(value).getLoc()) << "'" << name << "' is declared here";
}

namespace {
/// gemm_async -> gemmAsync
std::string camelCase(StringRef name) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i)
    text += name[i] != '_' ? name[i] : llvm::toUpper(name[++i]);
  return text;
}

/// "shared tile 'ds'", "'Y'"; empty for what has no name.
std::string describeMemory(Value memory) {
  StringRef name = nameOf(memory);
  if (name.empty())
    return "";
  return ((isa<SharedType>(memory.getType()) ? "shared tile '" : "'") + name + "'").str();
}
} // namespace

std::string tile::callOf(StringRef operation) {
  if (operation == "scf.for")
    return "k.loop";
  if (operation == "scf.if")
    return "k.when";
  if (operation.starts_with("arith.") || operation.starts_with("math."))
    return "arithmetic";
  operation.consume_front("tile.");
  std::string name = camelCase(operation);
  return llvm::StringSwitch<std::string>(operation)
      .Cases({"grid", "persistent", "roles", "role", "require", "blocks", "multiprocessors", "block_rank",
              "named_barrier"},
             "k." + name)
      .Cases({"begin_role", "end_role"}, "k.role")
      .Case("alloc_shared", "k.shared")
      .Case("alloc_tensor_memory", "k.tensorMemory")
      .Cases({"alloc_ring", "channel"}, "k.channel")
      .Case("release_oldest", "release")
      .Case("alloc_barrier", "k.barrier")
      .Case("variable", "k.fragment")
      .Case("convert", "to")
      .Case("report", "k.print or k.check")
      .Case("any_in_warp", "k.whenAny")
      .Cases({"take_turn", "pass_turn"}, "k.inTurn")
      .Cases({"load", "store", "copy_async", "load_from_block", "store_to_block"}, "copy")
      .Case("slice_shared", "slice")
      .Case("copy_reduce", "atomic copy")
      .Cases({"atomic", "atomic_fetch"}, "atomic operation")
      .Case("load_index", "read")
      .Case("member", "of")
      .Case("store_index", "write")
      .Case("gemm_in_place", "gemmAsync")
      .Case("await", "wait")
      .Case("write", "an assignment")
      .Default(name);
}

std::string tile::describeStatement(Operation *op) {
  std::string call = callOf(op->getName().getStringRef());
  auto with = [&](StringRef preposition, Value memory) {
    std::string described = describeMemory(memory);
    return described.empty() ? call : (Twine(call) + " " + preposition + " " + described).str();
  };
  return TypeSwitch<Operation *, std::string>(op)
      .Case([](ProductOpInterface product) {
        return "product of " + describe(product.getA(), "a fragment") + " and " +
               describe(product.getB(), "a fragment");
      })
      .Case<CopyOp, CopyReduceOp, CopyAsyncOp, StoreOp, AtomicOp>(
          [&](auto written) { return with("to", written.getDestination()); })
      .Case([&](scf::IfOp) { return "branch of " + call; })
      .Case([&](scf::ForOp) { return "loop of " + call; })
      .Case([&](LoadOp load) { return with("from", load.getSource()); })
      .Default([&](Operation *) { return call; });
}

std::string tile::inUsersWords(MLIRContext *context, StringRef message) {
  std::string text;
  while (!message.empty()) {
    size_t quote = message.size();
    for (StringRef dialect : {"'tile.", "'scf.", "'arith.", "'math."})
      quote = std::min(quote, message.find(dialect));
    text += message.take_front(quote);
    message = message.drop_front(quote);
    if (!message.consume_front("'"))
      break;
    auto [operation, rest] = message.split('\'');
    bool isOperation = RegisteredOperationName::lookup(operation, context).has_value();
    text += isOperation ? callOf(operation) : ("'" + operation + "'").str();
    message = rest;
    if (message.consume_front(" op "))
      text += ": ";
  }
  for (ElementType element : allElementTypes)
    replaceType(text, toMlirType(element, context), toString(element));
  return text;
}

FileLineColLoc tile::findSourceLocation(Location location) {
  FileLineColLoc found;
  location->walk([&](Location part) {
    found = dyn_cast<FileLineColLoc>(part);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

std::string tile::placeOf(Operation *op) {
  FileLineColLoc place = findSourceLocation(op->getLoc());
  if (!place)
    return "";
  return (" at " + place.getFilename().strref() + ":" + Twine(place.getLine()) + ":" +
          Twine(place.getColumn()))
      .str();
}
