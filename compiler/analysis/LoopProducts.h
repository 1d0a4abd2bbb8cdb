// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the operations of a loop are to the products that it starts, and that go on beside them.
#pragma once

#include "dialects/tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tlc::tile {

/// Whether the operation starts a product that goes on beside it.
bool isProductInFlight(mlir::Operation *op);

/// Whether the operation waits for such products.
bool isProductWait(mlir::Operation *op);

/// Whether the operation gives a slot back to its producer.
bool isRelease(mlir::Operation *op);

/// A product whose accumulator only travels around the loop: the next product may be issued on it while it is
/// in flight.
struct AccumulatorChain {
  InFlightOpInterface product;
  CompletionOpInterface wait;
};

/// The chain of this product, or nothing if its result is used in other ways.
std::optional<AccumulatorChain> chainOf(InFlightOpInterface product, mlir::scf::ForOp loop);

/// The wait of the product's own iteration that completes it, or null. A product that adds to this one's
/// result completes later.
mlir::Operation *completionInRound(InFlightOpInterface product);

/// What the first of the products that add to this one's accumulator begins with.
mlir::Value startOfSums(InFlightOpInterface product);

/// Whether the operation may run while products of its own or the next iteration are in flight: its threads
/// access memory themselves, and signal nothing.
bool toleratesOverlap(mlir::Operation &op);

/// Whether the operation's threads change what memory holds.
bool writesMemory(mlir::Operation *op);

/// Whether two operations access the same memory, and one of them at least changes what is there.
bool mayConflict(mlir::Operation *a, mlir::Operation *b);

} // namespace tlc::tile
