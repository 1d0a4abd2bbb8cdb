// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows of a table by their numbers, and the gradient of the table.
///
/// Forward, Y[i] = E[Words[i]]; backward, dE[Words[i]] += dY[i]. E, Y and dY are bf16, [words, d] and
/// [tokens, d]; dE is f32, as it is a sum, and is added to, so that it begins with zeros or with the gradient
/// so far. Words are i32; numbers outside of the table give rows of zeros, and no gradient.
///
/// A block has 32 tokens and 256 columns. One row of 256 columns is 512 bytes: the rows of a tile are
/// anywhere in the table, but each is read in whole sectors.
///
/// L2 adds to f32 atomically at about 200 thousand million elements a second, less than memory delivers. So
/// the backward kernel numbers the tokens of each word first. Those with number 0 are of different words and
/// need no atomic operations: a launch loads their rows of dE, adds and stores. Another one adds all others
/// atomically, in vectors of up to four elements, however many tokens a word has. Which token is first, and
/// the order of additions, differ from run to run, and so may the last bits.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t rows = 32, width = 256; ///< of a tile

void gather(Scope &k) {
  Index tokens = k.dim("tokens"), words = k.dim("words"), d = k.dim("d");
  Global Words = k.input("Words", i32, {tokens}), E = k.input("E", bf16, {words, d});
  Global Y = k.output("Y", bf16, {tokens, d});
  auto [i, j] = k.grid(ceilDiv(tokens, rows), ceilDiv(d, width));
  Fragment word = k.fragment(i32, {rows, 1}), y = k.fragment(bf16, {rows, width});
  copy(Words.tile({i * rows}, {rows}), word);
  copy(E.tile({word.toIndex(), j * width}, {rows, width}), y);
  copy(y, Y.tile({i * rows, j * width}, {rows, width}));
}

void scatterAdd(Scope &k) {
  constexpr int64_t some = 512;             // tokens of a block that numbers them
  constexpr int64_t rows = 16, width = 128; // of a tile
  Index tokens = k.dim("tokens"), words = k.dim("words"), d = k.dim("d");
  Global Words = k.input("Words", i32, {tokens}), dY = k.input("dY", bf16, {tokens, d});
  Global dE = k.inout("dE", f32, {words, d});
  Global counts = k.workspace("counts", i32, {words}, {.initial = Initial::zero});
  Global numbers = k.workspace("numbers", i32, {tokens});
  k.launch("embedding_bwd_number", [&] {
    auto [i] = k.grid(ceilDiv(tokens, some));
    Fragment word = k.fragment(i32, {some}), number = k.fragment(i32, {some});
    copy(Words.tile({i * some}, {some}).fill(-1), word);
    atomicAdd(1, counts.tile({word.toIndex()}, {some}), number);
    copy(number, numbers.tile({i * some}, {some}));
  });
  // Adds the rows of tokens whose number `isMeant`; others have the position -1, which is no row.
  auto launch = [&](const char *name, auto isMeant, auto add) {
    k.launch(name, [&] {
      auto [i, j] = k.grid(ceilDiv(tokens, rows), ceilDiv(d, width));
      Fragment word = k.fragment(i32, {rows, 1}), number = k.fragment(i32, {rows, 1});
      Fragment dy = k.fragment(bf16, {rows, width});
      copy(Words.tile({i * rows}, {rows}).fill(-1), word);
      copy(numbers.tile({i * rows}, {rows}), number);
      FragmentValue token = where(isMeant(number), k.positions({rows, 1}, 0) + (i * rows).to(i32), -1);
      copy(dY.tile({token.toIndex(), j * width}, {rows, width}), dy);
      add(dy.to(f32), dE.tile({where(token < 0, -1, word).toIndex(), j * width}, {rows, width}));
    });
  };
  launch(
      "embedding_bwd_first", [](const Fragment &number) { return number == 0; },
      [&](const FragmentValue &dy, const Slice &sums) {
        Fragment sum = k.fragment(f32, {rows, width});
        copy(sums, sum);
        copy(sum + dy, sums);
      });
  launch(
      "embedding_bwd_others", [](const Fragment &number) { return number > 0; },
      [](const FragmentValue &dy, const Slice &sums) { atomicAdd(dy, sums); });
}

} // namespace

void registerKernels(KernelFile &file) {
  auto words = [](const HostInputs &in) { // one in seven is no word
    return [n = in.values["words"]](int64_t i) { return i % 7 == 6 ? -1.0 : double(i * i % n); };
  };
  file.kernel("embedding", "Y[i] = E[Words[i]]")
      .size("tokens", 16384, {.onEmulator = 45})
      .size("words", 32000, {.least = 1, .onEmulator = 100})
      .size("d", 2048, {.onEmulator = 304})
      .program(gather)
      .contents("Words", words)
      .reference("Y",
                 [](const HostInputs &in) {
                   return [W = in.tensor("Words"), E = in.tensor("E")](int64_t i, int64_t j) {
                     return W(i) < 0 ? 0.0 : E(int64_t(W(i)), j);
                   };
                 })
      .tolerance("Y", {})
      .bench({{"d", "8192"}});

  file.kernel("embedding_bwd", "dE[Words[i]] += dY[i]")
      .size("tokens", 16384, {.onEmulator = 45})
      .size("words", 32000, {.least = 1, .onEmulator = 10})
      .size("d", 2048, {.onEmulator = 304})
      .program(scatterAdd)
      .contents("Words", words)
      .reference("dE",
                 [](const HostInputs &in) {
                   HostArray W = in.tensor("Words"), dY = in.tensor("dY"), dE = in.tensor("dE");
                   std::vector<std::vector<int64_t>> tokensOf(size_t(in.values["words"]));
                   for (int64_t i = 0; i < in.values["tokens"]; ++i)
                     if (W(i) >= 0)
                       tokensOf[size_t(W(i))].push_back(i);
                   return [=](int64_t w, int64_t j) {
                     double sum = dE(w, j);
                     for (int64_t i : tokensOf[size_t(w)])
                       sum += dY(i, j);
                     return sum;
                   };
                 })
      .bench({{"d", "8192"}});
}
