// SPDX-License-Identifier: Apache-2.0
/// \file
/// From types to layouts.
#include "tools/tlc/LayoutList.h"

#include "dialects/program/Elements.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Tile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace mlir;
using namespace tlc;
using namespace tlc::driver;

namespace {

/// A fragment's type before it had a layout.
Type withoutLayout(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? RankedTensorType::get(tensor.getShape(), tensor.getElementType()) : type;
}

std::pair<Attribute, Type> keyOf(Value value) {
  return {tile::findSourceLocation(value.getLoc()), withoutLayout(value.getType())};
}

std::string placeOf(Value value) {
  FileLineColLoc place = tile::findSourceLocation(value.getLoc());
  if (!place)
    return "";
  return (llvm::sys::path::filename(place.getFilename().getValue()) + ":" + llvm::Twine(place.getLine()) +
          ":" + llvm::Twine(place.getColumn()))
      .str();
}

std::string textOf(Type element) {
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return text;
}

int bitsOf(Type element) {
  std::optional<ElementType> type = toElementType(element);
  if (type)
    return int(factsOf(*type).bits);
  return element.isIndex() ? registerBits : int(element.getIntOrFloatBitWidth()); // positions are of 32 bits
}

class Collector {
public:
  explicit Collector(const FragmentNames &names) : names(names) {}

  void collect(tile::KernelOp kernel) {
    kernelName = kernel.getName();
    kernel.walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](tile::AllocSharedOp alloc) { addBuffer(alloc); })
          .Case([&](tile::AllocTensorMemoryOp alloc) { addBuffer(alloc); });
    });
    kernel.walk([&](Operation *op) {
      for (Value result : op->getResults())
        addFragment(result);
    });
  }

  std::vector<PlacedTile> tiles;

private:
  void addBuffer(tile::AllocSharedOp alloc) {
    auto type = cast<tile::SharedType>(alloc.getBuffer().getType());
    if (!type.getLayout())
      return;
    const SharedLayout &layout = type.getLayout().getLayout();
    PlacedTile tile = begin(alloc.getBuffer(), type.getElementType(), layout.shape());
    tile.name = alloc.getName();
    tile.layout = layout;
    if (type.getShape().size() > layout.shape().size())
      tile.slots = type.getShape().front();
    if (alloc.getOffset())
      tile.offset = int64_t(*alloc.getOffset());
    tiles.push_back(std::move(tile));
  }

  void addBuffer(tile::AllocTensorMemoryOp alloc) {
    auto type = cast<tile::TensorMemoryType>(alloc.getBuffer().getType());
    llvm::ArrayRef<int64_t> shape = type.getShape().take_back(2);
    PlacedTile tile = begin(alloc.getBuffer(), type.getElementType(), {shape.begin(), shape.end()});
    tile.name = alloc.getName();
    tile.layout = TensorMemoryLayout{shape.back(), tile.elementBits};
    tile.slots = type.numSlots();
    if (alloc.getOffset())
      tile.offset = int64_t(*alloc.getOffset());
    tiles.push_back(std::move(tile));
  }

  void addFragment(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    auto layout = type ? dyn_cast_or_null<tile::LayoutAttr>(type.getEncoding()) : tile::LayoutAttr();
    if (!layout)
      return;
    std::string name = names.of(value), place = ::placeOf(value);
    if (!seen.insert({kernelName, name, name.empty() ? place : "", type.getAsOpaquePointer()}).second)
      return;
    PlacedTile tile = begin(value, type.getElementType(), {type.getShape().begin(), type.getShape().end()});
    tile.name = std::move(name);
    tile.layout = layout.getLayout();
    tiles.push_back(std::move(tile));
  }

  PlacedTile begin(Value value, Type element, Shape shape) const {
    return {kernelName,       "", ::placeOf(value), textOf(element), std::move(shape), bitsOf(element),
            FragmentLayout(), 1,  std::nullopt};
  }

  const FragmentNames &names;
  std::string kernelName;
  std::set<std::tuple<std::string, std::string, std::string, const void *>> seen;
};

} // namespace

FragmentNames::FragmentNames(ModuleOp module) {
  const auto note = [&](Value value, tile::VariableOp variable) {
    std::optional<llvm::StringRef> name = variable.getName();
    if (!name || name->empty())
      return;
    llvm::SmallVector<llvm::StringRef> &known = names[keyOf(value)];
    if (!llvm::is_contained(known, *name))
      known.push_back(*name);
  };
  module.walk([&](tile::VariableOp variable) {
    for (Operation *user : variable->getUsers())
      if (auto write = dyn_cast<tile::WriteOp>(user))
        note(write.getValue(), variable);
  });
}

std::string FragmentNames::of(Value value) const {
  auto found = names.find(keyOf(value));
  return found == names.end() ? "" : llvm::join(found->second, ", ");
}

std::vector<PlacedTile> driver::listTiles(ModuleOp module, const FragmentNames &names) {
  Collector collector(names);
  for (tile::KernelOp kernel : module.getOps<tile::KernelOp>())
    collector.collect(kernel);
  return std::move(collector.tiles);
}
