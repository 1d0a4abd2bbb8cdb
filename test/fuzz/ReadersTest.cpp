// SPDX-License-Identifier: Apache-2.0
/// \file
/// What random changes make of files is read or refused, and does no harm.
#include "test/fuzz/Readers.h"

#include "test/fuzz/ByteMutator.h"
#include "test/unit/cache/TemporaryDirectory.h"

#include <catch2/catch.hpp>

using namespace tlc::fuzz;

namespace {

void readChanged(int executions) {
  const unsigned seed = Catch::rngSeed();
  WARN("changes of seed " << seed); // a crash loses what INFO holds
  for (const Reader &reader : readers()) {
    DYNAMIC_SECTION(reader.name) {
      const tlc::test::TemporaryDirectory folder;
      const std::vector<std::string> seeds = reader.seeds(folder.path);
      for (const std::string &bytes : seeds)
        CHECK(reader.read(bytes, folder.path));
      ByteMutator mutator(seed, seeds);
      int taken = 0;
      for (int i = 0; i != executions; ++i)
        taken += reader.read(mutator.next(), folder.path);
      CHECK(taken > 0); // changes are not lost on a checksum
      CHECK(taken < executions);
    }
  }
}

} // namespace

TEST_CASE("changed files are at most refused") { readChanged(3000); }

TEST_CASE("changed files are at most refused, a million of each", "[.long]") { readChanged(1'000'000); }
