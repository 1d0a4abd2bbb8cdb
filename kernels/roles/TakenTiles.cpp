// SPDX-License-Identifier: Apache-2.0
#include "kernels/roles/TakenTiles.h"

#include "runtime/target/Hardware.h"

namespace tlc::kernels {

using namespace dsl;

TakenTiles::TakenTiles(Scope &k, int64_t slots)
    : k(k), numbers(k.shared("taken_tile", i32, {1}, {.slots = slots})),
      taken(k.channel("taken", {.slots = slots})) {}

void TakenTiles::take(const Index &most, const Index &count,
                      const std::function<void(const Shared &number, const Index &n)> &write,
                      const Body &body) const {
  forEach(
      most, count,
      [&](const Index &n) {
        Slot filled = taken.put([&](const Slot &at) { write(numbers.slot(at), n); });
        return numbers.slot(filled).read({0});
      },
      body);
}

void TakenTiles::follow(const Index &most, const Index &count, const Body &body) const {
  forEach(
      most, count,
      [&](const Index &) {
        Index number = numbers.slot(taken.get()).read({0});
        taken.release();
        return number;
      },
      body);
}

void TakenTiles::forEach(const Index &most, const Index &count,
                         const std::function<Index(const Index &n)> &next, const Body &body) const {
  k.loopWhile(most, [&](Index n) -> Predicate {
    Index number = next(n);
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
