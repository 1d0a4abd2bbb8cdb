// SPDX-License-Identifier: Apache-2.0
#include "kernels/roles/TakenTiles.h"

#include "runtime/target/Hardware.h"

namespace tlc::kernels {

using namespace dsl;

TakenTiles::TakenTiles(Scope &k, int64_t slots)
    : k(k), numbers(k.shared("taken_tile", i32, {1}, {.slots = slots})),
      ring(k.ring("taken", {.slots = slots})) {}

void TakenTiles::take(const Index &most, const Index &count,
                      const std::function<void(const Shared &number, const Index &n)> &write,
                      const Body &body) const {
  forEach(
      most, count,
      [&](const Cursor &at, const Index &n) {
        Shared slot = numbers.slot(at);
        ring.acquire(at);
        write(slot, n);
        Index number = slot.read({0});
        ring.publish(at);
        return number;
      },
      body);
}

void TakenTiles::follow(const Index &most, const Index &count, const Body &body) const {
  forEach(
      most, count,
      [&](const Cursor &at, const Index &) {
        ring.wait(at);
        Index number = numbers.slot(at).read({0});
        ring.release(at);
        return number;
      },
      body);
}

void TakenTiles::forEach(const Index &most, const Index &count,
                         const std::function<Index(const Cursor &at, const Index &n)> &next,
                         const Body &body) const {
  Cursor at = ring.cursor();
  k.loopWhile(most, [&](Index n) -> Predicate {
    Index number = next(at, n);
    at.advance();
    Predicate exists = number < count;
    k.when(exists, [&] { body(number); });
    return exists;
  });
}

void addTakenTiles(BlockBudget &block, int64_t slots) {
  SharedBytes number{.bytes = int64_t(sizeof(int32_t)), .alignment = int64_t(TmaFacts().sharedAlignment)};
  block.addBuffer(number, slots);
  block.addBuffer(number); // what was taken from the count
  block.addRing(slots);
}

} // namespace tlc::kernels
