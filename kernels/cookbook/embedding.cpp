// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows of a table by their numbers, and the gradient of the table.
///
/// Forward, Y[i] = E[Words[i]]; backward, dE[Words[i]] += dY[i]. E, Y and dY are bf16, [words, d] and
/// [tokens, d]; dE is f32, as it is a sum, and is added to, so that it begins with zeros or with the gradient
/// so far. Words are i32; numbers outside of the table give rows of zeros, and no gradient.
///
/// A block has 32 tokens and 256 columns. One row of 256 columns is 512 bytes: the rows of a tile are
/// anywhere in the table, but each is read in whole sectors. Equal words in a tile are no problem: additions
/// are atomic, in vectors of up to four elements. Their order differs from run to run, and so may the last
/// bits.
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
  Index tokens = k.dim("tokens"), words = k.dim("words"), d = k.dim("d");
  Global Words = k.input("Words", i32, {tokens}), dY = k.input("dY", bf16, {tokens, d});
  Global dE = k.inout("dE", f32, {words, d});
  auto [i, j] = k.grid(ceilDiv(tokens, rows), ceilDiv(d, width));
  Fragment word = k.fragment(i32, {rows, 1}), dy = k.fragment(bf16, {rows, width});
  copy(Words.tile({i * rows}, {rows}).fill(-1), word); // beyond the last token: no row
  copy(dY.tile({i * rows, j * width}, {rows, width}), dy);
  atomicAdd(dy.to(f32), dE.tile({word.toIndex(), j * width}, {rows, width}));
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
