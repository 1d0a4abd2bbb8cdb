// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows of a table by their numbers, and the gradient of the table.
///
/// Forward, Y[i] = E[Words[i]]; backward, dE[Words[i]] += dY[i]. E, Y and dY are bf16, [words, d] and
/// [tokens, d]; dE is f32, as it is a sum, and is added to, so that it begins with zeros or with the gradient
/// so far. Words are i32; numbers outside of the table give rows of zeros, and no gradient.
///
/// Forward, a block has two tokens and 1024 columns: one load of 16 bytes of each row for a thread, and as
/// many blocks on a multiprocessor as it has room for. The rows are anywhere in the table, but each is read
/// in whole sectors.
///
/// L2 adds to f32 atomically at about 200 thousand million elements a second, less than memory delivers. So
/// the backward kernel numbers the tokens of each word first, and lists the first eight of them. A block for
/// each token with number 0 adds the rows of these to that of dE, which it loads and stores: it is the only
/// one that does. A launch after it adds the rows of all further tokens atomically, in vectors of four
/// elements, however many tokens a word has. Which tokens are first, and the order of additions, differ from
/// run to run, and so may the last bits.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t width = 1024; ///< columns of a tile

void gather(Scope &k, const Values &) {
  constexpr int64_t rows = 2; // of a tile
  Index tokens = k.dim("tokens"), words = k.dim("words"), d = k.dim("d");
  Global Words = k.input("Words", i32, {tokens}), E = k.input("E", bf16, {words, d});
  Global Y = k.output("Y", bf16, {tokens, d});
  auto [i, j] = k.grid(ceilDiv(tokens, rows), ceilDiv(d, width));
  Fragment word = k.fragment(i32, {rows, 1}), y = k.fragment(bf16, {rows, width});
  copy(Words.tile({i * rows}, {rows}), word);
  copy(E.tile({word.toIndex(), j * width}, {rows, width}), y);
  copy(y, Y.tile({i * rows, j * width}, {rows, width}));
}

void scatterAdd(Scope &k, const Values &) {
  constexpr int64_t some = 256; // tokens of a block that numbers them, or looks for further ones
  constexpr int64_t listed = 8; // tokens of a word
  Index tokens = k.dim("tokens"), words = k.dim("words"), d = k.dim("d");
  Global Words = k.input("Words", i32, {tokens}), dY = k.input("dY", bf16, {tokens, d});
  Global dE = k.inout("dE", f32, {words, d});
  Global counts = k.workspace("counts", i32, {words}, {.initial = Initial::zero});
  Global numbers = k.workspace("numbers", i32, {tokens}), list = k.workspace("list", i32, {words * listed});
  k.launch("embedding_bwd_number", [&] {
    auto [i] = k.grid(ceilDiv(tokens, some));
    Fragment word = k.fragment(i32, {some}), number = k.fragment(i32, {some});
    copy(Words.tile({i * some}, {some}).fill(-1), word);
    atomicAdd(1, counts.tile({word.toIndex()}, {some}).fill(-1), number); // -1 where there is no word
    copy(number, numbers.tile({i * some}, {some}));
    FragmentValue isListed = where(number >= 0, where(number < listed, word * listed + number, -1), -1);
    copy(k.positions({some}, 0) + (i * some).to(i32), list.tile({isListed.toIndex()}, {some}));
  });
  k.launch("embedding_bwd_listed", [&] {
    auto [i] = k.grid(tokens);
    Index word = Words.read({i}), number = numbers.read({i});
    k.when(number == 0, [&, i = i] {
      k.loop(ceilDiv(d, width), [&](Index j) {
        Slice row = dE.tile({word, j * width}, {1, width});
        Fragment sum = k.fragment(f32, {1, width}), dy = k.fragment(bf16, {1, width});
        copy(row, sum);
        copy(dY.tile({i, j * width}, {1, width}), dy);
        Index count = min(counts.read({word}), listed); // while the rows are under way
        sum += dy.to(f32);
        k.loop({1, count}, [&](Index number) {
          copy(dY.tile({list.read({word * listed + number}), j * width}, {1, width}), dy);
          sum += dy.to(f32);
        });
        copy(sum, row);
      });
    });
  });
  k.launch("embedding_bwd_others", [&] {
    auto [i] = k.grid(ceilDiv(tokens, some));
    Fragment number = k.fragment(i32, {some});
    Shared largest = k.shared("largest", i32, {1});
    copy(numbers.tile({i * some}, {some}), number);
    copy(reduce(Reduction::max, number, 0), largest);
    k.when(largest.read({0}) >= listed, [&, i = i] {
      k.loop({i * some, min((i + 1) * some, tokens)}, [&](Index token) {
        k.when(numbers.read({token}) >= listed, [&] {
          Index word = Words.read({token});
          k.loop(ceilDiv(d, width), [&](Index j) {
            Fragment dy = k.fragment(bf16, {1, width});
            copy(dY.tile({token, j * width}, {1, width}), dy);
            atomicAdd(dy.to(f32), dE.tile({word, j * width}, {1, width}));
          });
        });
      });
    });
  });
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
