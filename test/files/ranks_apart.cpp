// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of ranks whose tensors differ from rank to rank, and mistakes about ranks.
#include <tlc/compiler/dsl/Counts.h>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

/// Row r of Y is the row of rank r, which ranks store to all ranks at once.
void gathered(Scope &k) {
  constexpr int64_t tile = 128;
  Index n = k.dim("n"), rank = k.rank(), ranks = k.ranks();
  Global X = k.input("X", i32, {n});
  Symmetric Y = k.symmetric("Y", i32, {ranks, n}, {.use = TensorUse::output});
  Symmetric ended = k.symmetric("ended", i32, {1}, {.use = TensorUse::workspace, .initial = Initial::zero});
  k.launch("gather", [&] {
    auto [block] = k.grid(ceilDiv(n, tile));
    Fragment x = k.fragment(i32, {1, tile});
    copy(X.tile({block * tile}, {tile}), x);
    copy(x, Y.ofAll().tile({rank, block * tile}, {1, tile}));
  });
  k.launch("end", [&] {
    [[maybe_unused]] auto [block] = k.grid(1);
    announce(ended.ofAll(), {0});
    waitFor(ended.of(rank), {0}, ranks);
  });
}

/// A rank's X has as many rows as ranks come before it.
void own(Scope &k) {
  Index n = k.dim("n"), rank = k.rank();
  Global X = k.input("X", f32, {rank, n}), Y = k.output("Y", f32, {rank, n});
  auto [row, block] = k.grid(rank, ceilDiv(n, 32));
  Fragment x = k.fragment(f32, {1, 32});
  copy(X.tile({row, block * 32}, {1, 32}), x);
  copy(x * 2, Y.tile({row, block * 32}, {1, 32}));
}

void sum(Scope &k) {
  Index n = k.dim("n");
  Global X = k.input("X", f32, {n}), Z = k.input("Z", f32, {n}), Y = k.output("Y", f32, {n});
  auto [block] = k.grid(ceilDiv(n, 32));
  Fragment x = k.fragment(f32, {32}), z = k.fragment(f32, {32});
  copy(X.tile({block * 32}, {32}), x);
  copy(Z.tile({block * 32}, {32}), z);
  copy(x + z, Y.tile({block * 32}, {32}));
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("gathered", "row r of Y is the X of rank r")
      .ranks(3)
      .size("n", 200)
      .program(gathered)
      .contents("X", [](const HostInputs &in) { return [&in](int64_t i) { return 1000 * in.rank + i; }; })
      .reference("Y", [](const HostInputs &in) {
        return [&in](int64_t row, int64_t i) { return in.tensor("X", row)(i); };
      });
  file.kernel("own", "Y = 2 X, of as many rows as ranks come before")
      .ranks(2)
      .size("n", 50)
      .program(own)
      .reference("Y", [](const HostInputs &in) {
        return [&in](int64_t row, int64_t i) { return 2 * in.tensor("X")(row, i); };
      });
  file.kernel("nobody", "asks for a rank that there is not")
      .ranks(2)
      .size("n", 50)
      .program(own)
      .reference("Y", [](const HostInputs &in) {
        return [&in](int64_t row, int64_t i) { return in.tensor("X", in.ranks)(row, i); };
      });
  file.kernel("wrong", "a reference that is wrong on rank 1")
      .ranks(3)
      .size("n", 50)
      .program(own)
      .reference("Y", [](const HostInputs &in) {
        return [&in](int64_t row, int64_t i) { return 2 * in.tensor("X")(row, i) + (in.rank == 1); };
      });
  file.kernel("asks_others", "contents from another rank")
      .ranks(2)
      .size("n", 50)
      .program(sum)
      .contents("Z", [](const HostInputs &in) {
        return [&in](int64_t i) { return in.tensor("X", 1 - in.rank)(i); };
      });
  file.kernel("alone", "asks for its rank, but is of one").size("n", 50).program(own);
}
