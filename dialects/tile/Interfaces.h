// SPDX-License-Identifier: Apache-2.0
/// \file
/// What operations say of themselves: the data of the interfaces, and the interfaces.
#pragma once

#include "dialects/layout/LayoutRule.h"
#include "dialects/layout/SharedLayout.h"
#include "dialects/program/Interfaces.h"
#include "dialects/tile/TileTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "runtime/target/BlockBudget.h"

namespace tlc::tile {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Where a buffer lies.
enum class MemorySpace : uint8_t { shared, tensorMemory };

/// Accesses of one kind other than `write` have no order among themselves.
enum class AccessKind : uint8_t { read, write, add, min, max, bitAnd, bitOr, bitXor };

/// The way to memory: what one does another sees only after a fence between them.
enum class Proxy : uint8_t { generic, asyncCopy, matrixUnit };

/// Who accesses.
enum class Agent : uint8_t {
  eachThread, ///< each executing thread its part, or all of them the same
  oneThread,  ///< always the same one
  copyEngine,
};

/// How the elements of such a tensor follow one another, of a row or of a piece.
RowOrder rowOrderOf(program::TensorOrder order);

struct MemoryAccess {
  mlir::Value memory; ///< a tile in shared or tensor memory, or a slice
  AccessKind kind = AccessKind::read;
  Proxy proxy = Proxy::generic;
  Agent agent = Agent::eachThread;
  /// The order in which it wants the elements of a shared tile's rows, because it is faster or right only so;
  /// nothing if it finds each element in any.
  std::optional<RowOrder> order = RowOrder();
  /// The fragment whose layout tells which thread accesses what, where it does.
  mlir::Value fragment = {};
  /// Where its proxy cannot, ordinary accesses do it.
  bool mayBeGeneric = false;

  bool isShared() const { return llvm::isa<SharedType>(memory.getType()); }
  bool isTensorMemory() const { return llvm::isa<TensorMemoryType>(memory.getType()); }
  bool isAsynchronous() const { return proxy != Proxy::generic; }
};

/// What the operation accesses; nothing of one that accesses no memory of the dialect.
llvm::SmallVector<MemoryAccess, 3> memoryAccessesOf(mlir::Operation *op);

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// A step of a slot's way around its ring.
enum class SlotEvent : uint8_t {
  none,
  acquired,  ///< the producer waits until it is empty
  announced, ///< the producer says how many bytes will come
  published, ///< the producer says that it is full
  awaited,   ///< the consumer waits until it is full
  released,  ///< the consumer says that it is empty
};

struct Synchronisation {
  bool meetsFirst = false;  ///< all executing threads meet, and what they did before is over
  bool meetsWithin = false; ///< they wait for each other somewhere in it
  bool handsOn = false;     ///< others go on from here with what this role did before
  bool waits = false;       ///< this role goes on from here after what others have done
  bool fencesShared = false, fencesTensors = false;
  /// It takes place once the products are complete that the thread has started, which need not wait for them.
  bool afterProducts = false;
  /// The same of the copies by cp.async that each executing thread has started.
  bool afterCopies = false;
  SlotEvent event = SlotEvent::none;
  mlir::Value ring = {}, cursor = {}; ///< of the event, or null
};

/// All false for operations that order nothing.
Synchronisation synchronisationOf(mlir::Operation *op);

/// Whether one thread may execute the operation for its whole role, with the same effect. What is in its
/// regions is not its own.
bool suitsOneThread(mlir::Operation *op);

/// What tells that something in flight is complete.
enum class Completion : uint8_t {
  ring,         ///< its bytes have arrived at the slot of a ring
  productGroup, ///< a wait for the products that this role has started
  arrival,      ///< an arrival at a barrier after the products that its thread has started
  storeGroup,   ///< a wait for the stores that these threads have started
  copyGroup,    ///< a wait for the groups of copies that these threads have started
};

/// What completes the operation; nothing if it is complete when it is done.
std::optional<Completion> completionOf(mlir::Operation *op);
/// What the operation waits for; nothing if it waits for nothing that is in flight.
std::optional<Completion> completedBy(mlir::Operation *op);

/// Whether the operation is a product of the asynchronous matrix unit, which reads factors by itself. Whoever
/// issues it may or may not wait for it.
bool isAsynchronousProduct(mlir::Operation *op);

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// A rule for the layouts of one or two of an operation's fragments.
struct FragmentRule {
  LayoutRule rule;
  mlir::Value result, source; ///< as in ConstraintKind; no source of `fixed`
  /// Where a conversion would stand: before this use, or, if it is null, after `result`.
  mlir::OpOperand *use = nullptr;
  mlir::Operation *asker = nullptr;
  std::string reason; ///< for messages: "the accumulator of wgmma"
};

/// Takes the rules that an operation states.
class FragmentRules {
public:
  explicit FragmentRules(mlir::Operation *op) : op(op) {}

  /// The operation produces the value in this layout.
  void produces(mlir::Value result, FragmentLayout layout, Strength strength, std::string reason,
                ConversionPolicy conversion = ConversionPolicy::permitted);
  /// It takes the operand in this layout.
  void takes(mlir::OpOperand &use, FragmentLayout layout, Strength strength, std::string reason);
  void equal(mlir::Value result, mlir::OpOperand &source, std::string reason);
  /// Both are one set of registers: nothing can stand between them.
  void same(mlir::Value result, mlir::Value source);
  void reduceOf(mlir::Value result, mlir::Value source, int64_t axis, std::string reason);
  void broadcastOf(mlir::Value result, mlir::OpOperand &source, int64_t axis, std::string reason);
  void reshapeOf(mlir::Value result, mlir::OpOperand &source, std::string reason);

  llvm::ArrayRef<FragmentRule> all() const { return rules; }

private:
  FragmentRule &add(ConstraintKind kind, mlir::Value result, mlir::Value source, std::string reason);

  mlir::Operation *op;
  llvm::SmallVector<FragmentRule, 4> rules;
};

/// Number of warps that hold the fragments of this operation: its role's, or the kernel's.
int64_t executingWarps(mlir::Operation *op);

/// A fragment's layout, which it has.
FragmentLayout layoutOf(mlir::Value fragment);
Shape shapeOf(mlir::Value fragment);
/// Bits of a fragment's elements in registers.
int elementBitsOf(mlir::Value fragment);

//===----------------------------------------------------------------------===//
// Scratch memory
//===----------------------------------------------------------------------===//

struct ScratchNeed {
  SharedLayout layout;
  mlir::Type element;
  int64_t axis = -1, warps = 0; ///< the axis that so many warps share; -1 where elements just move
};

struct ScratchWords {
  llvm::StringRef name; ///< of the buffer
  llvm::StringRef noun; ///< "a reduction"
  llvm::StringRef verb; ///< "reduce", as in "reduce before ..."
};

/// What memory holds for elements of this type: no single bits and no `index`.
mlir::Type memoryTypeOf(mlir::Type element);

/// The trait of operations that say something of the launch.
template <class ConcreteOp> class OfLaunch : public mlir::OpTrait::TraitBase<ConcreteOp, OfLaunch> {};

} // namespace tlc::tile

#include "dialects/tile/Interfaces.h.inc"
