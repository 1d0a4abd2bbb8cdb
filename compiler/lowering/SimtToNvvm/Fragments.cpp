// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fragments become single registers: every vector is taken apart into its elements, in loops and branches
/// too, which carry narrow elements in words. Vectors are left only where an operation wants one whole, and
/// are put together right before it; those that one instruction computes in pairs are pairs.
#include "compiler/lowering/SimtToNvvm/Patterns.h"
#include "dialects/program/Elements.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tlc::simt;

namespace {

bool isFragment(Value value) { return isa<VectorType>(value.getType()); }

/// The element that is extracted or inserted, where that is known; -1 stands for none.
template <class Op> std::optional<int64_t> knownPosition(Op op) {
  ArrayRef<int64_t> positions = op.getStaticPosition();
  if (positions.size() != 1 || op.hasDynamicPosition() || positions[0] < 0)
    return std::nullopt;
  return positions[0];
}

class FragmentSplitter {
public:
  FragmentSplitter(MLIRContext *context, bool hasPairsOfF32)
      : builder(context), hasPairsOfF32(hasPairsOfF32) {}

  void split(Region &region) {
    for (Block &block : region) {
      // Not those that taking arguments apart adds: their results are elements already.
      SmallVector<Operation *> ops = llvm::map_to_vector(block, [](Operation &op) { return &op; });
      splitArguments(block);
      for (Operation *op : ops)
        split(op);
    }
  }

  /// Everything that was replaced, users before definitions.
  void eraseReplaced() {
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    for (BlockArgument argument : llvm::reverse(replacedArguments))
      argument.getOwner()->eraseArgument(argument.getArgNumber());
  }

private:
  using Elements = SmallVector<Value>;

  /// The elements of a value; those of a scalar are itself.
  Elements &elementsOf(Value value) {
    auto [entry, isNew] = elements.try_emplace(value);
    if (isNew) {
      assert(!isFragment(value) && "definitions come before uses");
      entry->second.push_back(value);
    }
    return entry->second;
  }

  Elements flatten(ValueRange values) {
    Elements flat;
    for (Value value : values)
      llvm::append_range(flat, elementsOf(value));
    return flat;
  }

  /// How many elements to a register loops and branches carry of the fragment.
  static int64_t elementsPerRegister(Type type) {
    auto vector = dyn_cast<VectorType>(type);
    if (!vector || (vector.getElementTypeBitWidth() != 16 && vector.getElementTypeBitWidth() != 8))
      return 1;
    int64_t perWord = 32 / vector.getElementTypeBitWidth();
    return vector.getNumElements() % perWord == 0 ? perWord : 1;
  }

  /// The registers that carry values of these types through control flow.
  SmallVector<Type> carriedTypes(TypeRange types) {
    SmallVector<Type> carried;
    for (Type type : types) {
      auto vector = dyn_cast<VectorType>(type);
      if (int64_t perRegister = elementsPerRegister(type); perRegister > 1)
        carried.append(vector.getNumElements() / perRegister, builder.getI32Type());
      else
        carried.append(vector ? vector.getNumElements() : 1, vector ? vector.getElementType() : type);
    }
    return carried;
  }

  Elements carry(Location loc, ValueRange values) {
    Elements carried;
    for (Value value : values) {
      ArrayRef<Value> parts = elementsOf(value);
      size_t perRegister = size_t(elementsPerRegister(value.getType()));
      if (perRegister == 1) {
        llvm::append_range(carried, parts);
        continue;
      }
      for (size_t i = 0; i != parts.size(); i += perRegister)
        carried.push_back(wordOf(builder, loc, parts.slice(i, perRegister)));
    }
    return carried;
  }

  /// The elements of a fragment that arrived in registers.
  Elements arrived(Location loc, VectorType type, ValueRange registers) {
    int64_t perRegister = elementsPerRegister(type);
    if (perRegister == 1)
      return llvm::to_vector(registers);
    Elements parts;
    Type elements = VectorType::get(perRegister, type.getElementType());
    for (Value word : registers)
      llvm::append_range(parts, unpack(builder, loc, LLVM::BitcastOp::create(builder, loc, elements, word)));
    return parts;
  }

  void replace(Operation *op, Elements result) {
    elements[op->getResult(0)] = std::move(result);
    replaced.push_back(op);
  }

  void split(Operation *op) {
    builder.setInsertionPoint(op);
    if (op->getNumRegions() != 0 || op->hasTrait<OpTrait::IsTerminator>())
      return splitControl(op);
    if (llvm::none_of(op->getOperands(), isFragment) && llvm::none_of(op->getResults(), isFragment))
      return;
    if (std::optional<Elements> regrouped = regroup(op)) {
      if (auto toElements = dyn_cast<vector::ToElementsOp>(op)) {
        toElements->replaceAllUsesWith(*regrouped);
        replaced.push_back(op);
      } else if (!isFragment(op->getResult(0))) {
        op->getResult(0).replaceAllUsesWith(regrouped->front());
        replaced.push_back(op);
      } else {
        replace(op, std::move(*regrouped));
      }
      return;
    }
    if (auto narrowing = dyn_cast<arith::TruncFOp>(op); narrowing && narrowInPairs(narrowing))
      return;
    if (auto encode = dyn_cast<EncodeOp>(op))
      return encodeInPairs(encode);
    if (auto decode = dyn_cast<DecodeOp>(op))
      return decodeInPairs(decode);
    if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1)
      return splitElementwise(op);
    keepWhole(op);
  }

  /// The elements of a result that is made of elements which exist already.
  std::optional<Elements> regroup(Operation *op) {
    Location loc = op->getLoc();
    return TypeSwitch<Operation *, std::optional<Elements>>(op)
        .Case([&](arith::ConstantOp constant) -> std::optional<Elements> {
          auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
          if (!value)
            return std::nullopt;
          auto scalar = [&](Attribute element) -> Value {
            return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(element));
          };
          if (value.isSplat())
            return Elements(value.getNumElements(), scalar(value.getSplatValue<Attribute>()));
          return llvm::map_to_vector(value.getValues<Attribute>(), scalar);
        })
        .Case([&](ub::PoisonOp poison) {
          auto type = cast<VectorType>(poison.getType());
          return Elements(type.getNumElements(), ub::PoisonOp::create(builder, loc, type.getElementType()));
        })
        .Case([&](vector::BitCastOp cast) { return bitcast(cast); })
        .Case([&](vector::BroadcastOp broadcast) -> std::optional<Elements> {
          Elements source = elementsOf(broadcast.getSource());
          if (source.size() != 1)
            return std::nullopt;
          return Elements(broadcast.getType().getNumElements(), source.front());
        })
        .Case([&](vector::ExtractOp extract) -> std::optional<Elements> {
          std::optional<int64_t> at = knownPosition(extract);
          if (!at)
            return std::nullopt;
          return Elements{elementsOf(extract.getSource())[*at]};
        })
        .Case([&](vector::ExtractStridedSliceOp slice) -> std::optional<Elements> {
          if (slice.getSourceVectorType().getRank() != 1)
            return std::nullopt;
          SmallVector<int64_t> offset;
          slice.getOffsets(offset);
          return Elements(
              ArrayRef(elementsOf(slice.getSource())).slice(offset[0], slice.getType().getNumElements()));
        })
        .Case([&](vector::FromElementsOp from) { return flatten(from.getElements()); })
        .Case([&](vector::InsertOp insert) -> std::optional<Elements> {
          std::optional<int64_t> at = knownPosition(insert);
          if (!at)
            return std::nullopt;
          Elements result = elementsOf(insert.getDest());
          result[*at] = insert.getValueToStore();
          return result;
        })
        .Case([&](vector::InsertStridedSliceOp insert) -> std::optional<Elements> {
          if (insert.getDestVectorType().getRank() != 1)
            return std::nullopt;
          Elements result = elementsOf(insert.getDest());
          int64_t offset = cast<IntegerAttr>(insert.getOffsets()[0]).getInt();
          llvm::copy(elementsOf(insert.getValueToStore()), result.begin() + offset);
          return result;
        })
        .Case([&](vector::ShapeCastOp cast) { return Elements(elementsOf(cast.getSource())); })
        .Case([&](vector::ShuffleOp shuffle) {
          Elements sources = flatten({shuffle.getV1(), shuffle.getV2()});
          return llvm::map_to_vector(shuffle.getMask(),
                                     [&](int64_t index) { return sources[std::max<int64_t>(index, 0)]; });
        })
        .Case([&](vector::ToElementsOp to) { return Elements(elementsOf(to.getSource())); })
        .Default([](Operation *) { return std::nullopt; });
  }

  /// Element by element, if one of the types is made of whole elements of the other.
  std::optional<Elements> bitcast(vector::BitCastOp cast) {
    Location loc = cast.getLoc();
    Type from = cast.getSourceVectorType().getElementType(), to = cast.getResultVectorType().getElementType();
    unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
    ArrayRef<Value> source = elementsOf(cast.getSource());
    Elements result;
    if (fromBits == toBits) {
      for (Value element : source)
        result.push_back(LLVM::BitcastOp::create(builder, loc, to, element));
    } else if (toBits % fromBits == 0) {
      size_t count = toBits / fromBits;
      for (size_t i = 0; i != source.size(); i += count) {
        Value packed = toBits == 32
                           ? wordOf(builder, loc, source.slice(i, count))
                           : pack(builder, loc, VectorType::get(count, from), source.slice(i, count));
        result.push_back(LLVM::BitcastOp::create(builder, loc, to, packed));
      }
    } else {
      Type part = VectorType::get(fromBits / toBits, to);
      for (Value element : source)
        llvm::append_range(result,
                           unpack(builder, loc, LLVM::BitcastOp::create(builder, loc, part, element)));
    }
    return result;
  }

  /// Two numbers become one register in one instruction.
  bool narrowInPairs(arith::TruncFOp op) {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getType());
    Type element = type.getElementType();
    if (!(element.isF16() || element.isBF16()) || type.getNumElements() % 2 != 0 ||
        !getElementTypeOrSelf(op.getIn().getType()).isF32())
      return false;
    Type pair = VectorType::get(2, element);
    StringAttr intrinsic =
        builder.getStringAttr(element.isF16() ? "llvm.nvvm.ff2f16x2.rn" : "llvm.nvvm.ff2bf16x2.rn");
    ArrayRef<Value> source = elementsOf(op.getIn());
    Elements result;
    for (size_t i = 0; i != source.size(); i += 2) {
      // The instruction's first operand is the upper half.
      Value packed = LLVM::CallIntrinsicOp::create(builder, loc, pair, intrinsic, {source[i + 1], source[i]})
                         .getResults();
      llvm::append_range(result, unpack(builder, loc, packed));
    }
    replace(op, std::move(result));
    return true;
  }

  Value callIntrinsic(Location loc, Type type, StringRef name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(builder, loc, type, builder.getStringAttr(name), operands)
        .getResults();
  }

  static std::string nameOf(Type element) { return std::string(tlc::toString(*tlc::toElementType(element))); }

  void encodeInPairs(EncodeOp op) {
    Location loc = op.getLoc();
    bool share = tlc::isPacked(op.getElement()); // both codes are in the lower byte
    std::string intrinsic =
        "llvm.nvvm.ff.to." + nameOf(op.getElement()) + "x2.rn" + (share ? ".satfinite" : "");
    ArrayRef<Value> source = elementsOf(op.getSource());
    Type pair = VectorType::get(2, builder.getI8Type());
    Elements result;
    for (size_t i = 0; i < source.size(); i += 2) {
      Value low = source[i], high = i + 1 < source.size() ? source[i + 1] : low;
      Value bits = callIntrinsic(loc, builder.getI16Type(), intrinsic, {high, low});
      if (share) // each in its own byte
        bits = masked(loc, LLVM::OrOp::create(builder, loc, bits, shifted<LLVM::ShlOp>(loc, bits)), 0x0f0f);
      llvm::append_range(result, unpack(builder, loc, LLVM::BitcastOp::create(builder, loc, pair, bits)));
    }
    result.resize(source.size());
    replace(op, std::move(result));
  }

  void decodeInPairs(DecodeOp op) {
    Location loc = op.getLoc();
    bool share = tlc::isPacked(op.getElement());
    std::string intrinsic = "llvm.nvvm." + nameOf(op.getElement()) + "x2.to.f16x2.rn";
    ArrayRef<Value> source = elementsOf(op.getSource());
    Type bytes = VectorType::get(2, builder.getI8Type()), halves = VectorType::get(2, builder.getF16Type());
    Elements result;
    for (size_t i = 0; i < source.size(); i += 2) {
      Value both[] = {source[i], i + 1 < source.size() ? source[i + 1] : source[i]};
      Value bits =
          LLVM::BitcastOp::create(builder, loc, builder.getI16Type(), pack(builder, loc, bytes, both));
      if (share)
        bits = masked(loc, LLVM::OrOp::create(builder, loc, bits, shifted<LLVM::LShrOp>(loc, bits)), 0xff);
      Value pair = callIntrinsic(loc, halves, intrinsic, bits);
      for (Value half : unpack(builder, loc, pair))
        result.push_back(LLVM::FPExtOp::create(builder, loc, builder.getF32Type(), half));
    }
    result.resize(source.size());
    replace(op, std::move(result));
  }

  /// From the upper half of a byte to the lower half of the next, or back.
  template <class Shift> Value shifted(Location loc, Value bits) {
    Value by = LLVM::ConstantOp::create(builder, loc, bits.getType(), 4);
    return Shift::create(builder, loc, bits, by);
  }
  Value masked(Location loc, Value bits, int64_t mask) {
    return LLVM::AndOp::create(builder, loc, bits,
                               LLVM::ConstantOp::create(builder, loc, bits.getType(), mask));
  }

  /// Whether one instruction computes two numbers, each rounded as by itself: of 16 bits, which fill a
  /// register, or of f32, in two.
  bool isOfPairs(Operation *op) const {
    auto type = cast<VectorType>(op->getResult(0).getType());
    if (type.getNumElements() % 2 != 0)
      return false;
    bool computes = isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, math::FmaOp>(op);
    bool chooses = isa<arith::MaxNumFOp, arith::MinNumFOp, arith::MaximumFOp, arith::MinimumFOp>(op);
    return type.getElementTypeBitWidth() == 16 ? computes || chooses
                                               : computes && hasPairsOfF32 && type.getElementType().isF32();
  }

  void splitElementwise(Operation *op) {
    Location loc = op->getLoc();
    auto type = cast<VectorType>(op->getResult(0).getType());
    int64_t count = type.getNumElements(), width = isOfPairs(op) ? 2 : 1;
    Type part = width == 1 ? type.getElementType() : VectorType::get(width, type.getElementType());
    Elements result;
    for (int64_t i = 0; i != count; i += width) {
      OperationState state(loc, op->getName());
      for (Value operand : op->getOperands()) {
        if (isFragment(operand)) {
          ArrayRef<Value> own = ArrayRef(elementsOf(operand)).slice(i, width);
          operand = width == 1 ? own.front() : pack(builder, loc, part, own);
        }
        state.operands.push_back(operand);
      }
      state.addTypes(part);
      state.addAttributes(op->getAttrs());
      llvm::append_range(result, unpack(builder, loc, builder.create(state)->getResult(0)));
    }
    replace(op, std::move(result));
  }

  /// An operation that wants whole vectors, and gives them.
  void keepWhole(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (isFragment(operand.get()))
        operand.set(pack(builder, op->getLoc(), operand.get().getType(), elementsOf(operand.get())));
    builder.setInsertionPointAfter(op);
    for (OpResult result : op->getResults())
      if (isFragment(result))
        elements[result] = unpack(builder, op->getLoc(), result);
  }

  /// Loops and branches pass elements on where they passed vectors.
  void splitControl(Operation *op) {
    bool carriesFragments =
        llvm::any_of(op->getOperands(), isFragment) || llvm::any_of(op->getResults(), isFragment);
    if (!carriesFragments) {
      for (Region &region : op->getRegions())
        split(region);
      return;
    }
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(carry(op->getLoc(), op->getOperands()));
    state.addTypes(carriedTypes(op->getResultTypes()));
    state.addAttributes(op->getAttrs());
    for (Region &region : op->getRegions())
      state.addRegion()->takeBody(region);
    Operation *flat = builder.create(state);
    for (Region &region : flat->getRegions())
      split(region);
    ValueRange rest = flat->getResults();
    builder.setInsertionPointAfter(flat);
    for (OpResult result : op->getResults()) {
      if (!isFragment(result)) {
        result.replaceAllUsesWith(rest.front());
        rest = rest.drop_front();
        continue;
      }
      auto type = cast<VectorType>(result.getType());
      size_t count = carriedTypes(TypeRange(type)).size();
      elements[result] = arrived(result.getLoc(), type, rest.take_front(count));
      rest = rest.drop_front(count);
    }
    replaced.push_back(op);
  }

  void splitArguments(Block &block) {
    for (unsigned i = 0; i < block.getNumArguments();) {
      BlockArgument argument = block.getArgument(i);
      auto type = dyn_cast<VectorType>(argument.getType());
      if (!type) {
        ++i;
        continue;
      }
      Elements registers;
      for (Type carried : carriedTypes(TypeRange(type)))
        registers.push_back(block.insertArgument(i++, carried, argument.getLoc()));
      builder.setInsertionPointToStart(&block);
      elements[argument] = arrived(argument.getLoc(), type, registers);
      replacedArguments.push_back(argument);
      ++i;
    }
  }

  OpBuilder builder;
  bool hasPairsOfF32;
  DenseMap<Value, Elements> elements;
  SmallVector<Operation *> replaced;
  SmallVector<BlockArgument> replacedArguments;
};

} // namespace

void tlc::simt::splitFragments(KernelOp kernel, bool hasPairsOfF32) {
  FragmentSplitter splitter(kernel.getContext(), hasPairsOfF32);
  splitter.split(kernel.getBody());
  splitter.eraseReplaced();
}
