// SPDX-License-Identifier: Apache-2.0
/// \file
/// Cross entropy of logits and labels, forward and backward.
///
///     l = log(sum(exp(x)))          loss = l - x[label]          dx = (exp(x - l) - [j = label]) dloss
///
/// X is [tokens, words], bf16, with one row for each token; Labels are i32, Loss and L are f32. A label
/// outside of the words, such as -100, means that its token does not count: its loss is 0, and so is its
/// gradient. A block has one row, as words are many and tokens are few: it reads the row once in tiles of
/// 4096 columns, 32 for each of 128 threads, and keeps the largest logit and the sum relative to it so far
/// (online softmax). The label's logit is one gathered element. The backward kernel needs no sums. Its blocks
/// have tiles of 8 x 1024.
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void forward(Scope &k) {
  constexpr int64_t width = 4096;
  Index tokens = k.dim("tokens"), words = k.dim("words");
  Global X = k.input("X", bf16, {tokens, words}), Labels = k.input("Labels", i32, {tokens});
  Global Loss = k.output("Loss", f32, {tokens}), L = k.output("L", f32, {tokens});
  auto [row] = k.grid(tokens);
  Fragment x = k.fragment(bf16, {1, width});
  Fragment largest = k.fragment(f32, {1, 1}, -inf), sum = k.fragment(f32, {1, 1});
  k.loop(ceilDiv(words, width), [&, row = row](Index j) {
    copy(X.tile({row, j * width}, {1, width}).fill(-inf), x);
    Fragment next = max(largest, rowMax(x.to(f32)));
    FragmentValue shift = finiteOrZero(next); // where all logits so far are -inf
    sum = sum * exp(largest - shift) + rowSum(exp(x.to(f32) - shift));
    largest = next;
  });
  Fragment l = log(sum) + finiteOrZero(largest);
  Fragment label = k.fragment(i32, {1, 1}), chosen = k.fragment(bf16, {1, 1});
  copy(Labels.tile({row}, {1}), label);
  copy(X.tile({row, label.toIndex()}, {1, 1}), chosen);
  FragmentValue counts = where(label >= 0, where(label < words.to(i32), k.fragment(f32, {1, 1}, 1), 0), 0);
  copy(where(counts > 0, l - chosen.to(f32), 0), Loss.tile({row}, {1}));
  copy(l, L.tile({row}, {1}));
}

void backward(Scope &k) {
  constexpr int64_t rows = 8, width = 1024;
  Index tokens = k.dim("tokens"), words = k.dim("words");
  Global X = k.input("X", bf16, {tokens, words}), Labels = k.input("Labels", i32, {tokens});
  Global L = k.input("L", f32, {tokens}), dLoss = k.input("dLoss", f32, {tokens});
  Global dX = k.output("dX", bf16, {tokens, words});
  auto [i, j] = k.grid(ceilDiv(tokens, rows), ceilDiv(words, width));
  Fragment x = k.fragment(bf16, {rows, width}), label = k.fragment(i32, {rows, 1});
  Fragment l = k.fragment(f32, {rows, 1}), dloss = k.fragment(f32, {rows, 1});
  copy(X.tile({i * rows, j * width}, {rows, width}), x);
  copy(Labels.tile({i * rows}, {rows}), label);
  copy(L.tile({i * rows}, {rows}), l);
  copy(dLoss.tile({i * rows}, {rows}), dloss);
  FragmentValue column = k.positions({1, width}, 1) + (j * width).to(i32);
  FragmentValue p = exp(x.to(f32) - l);
  FragmentValue dx = where(column == label, p - 1, p) * dloss;
  copy(where(label >= 0 && label < words.to(i32), dx, 0).to(bf16), // 0 times a p of NaN is none
       dX.tile({i * rows, j * width}, {rows, width}));
}

double logSum(const HostArray &X, int64_t row) {
  double sum = 0;
  for (int64_t j = 0; j < X.shape()[1]; ++j)
    sum += std::exp(X(row, j));
  return std::log(sum);
}

} // namespace

void registerKernels(KernelFile &file) {
  auto labels = [](const HostInputs &in) { // every fifth token does not count
    return [n = in.values["words"]](int64_t i) { return i % 5 == 4 ? -100.0 : double(i * 977 % n); };
  };
  auto logSums = [](const HostInputs &in) {
    return [X = in.tensor("X")](int64_t i) { return logSum(X, i); };
  };
  file.kernel("cross_entropy", "loss of each token: log(sum(exp(x))) - x[label]")
      .size("tokens", 1024, {.onEmulator = 6})
      .size("words", 128256, {.least = 1, .onEmulator = 9000})
      .program(forward)
      .random("X", -20, 20)
      .contents("Labels", labels)
      .reference("Loss",
                 [](const HostInputs &in) {
                   return [X = in.tensor("X"), Labels = in.tensor("Labels")](int64_t i) {
                     return Labels(i) < 0 ? 0 : logSum(X, i) - X(i, int64_t(Labels(i)));
                   };
                 })
      .reference("L", logSums)
      .flops([](const Values &v) { return 4.0 * double(v["tokens"]) * double(v["words"]); })
      .bench({{"tokens", "8192"}, {"words", "32000"}});

  file.kernel("cross_entropy_bwd",
              "gradient of cross_entropy from the logits, L and the gradients of the losses")
      .size("tokens", 1024, {.onEmulator = 19})
      .size("words", 128256, {.least = 1, .onEmulator = 2048})
      .program(backward)
      .random("X", -5, 5)
      .contents("Labels", labels)
      .contents("L", logSums)
      .reference("dX",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X"), Labels = in.tensor("Labels"), L = in.tensor("L");
                   return [=, dLoss = in.tensor("dLoss")](int64_t i, int64_t j) {
                     if (Labels(i) < 0)
                       return 0.0;
                     return (std::exp(X(i, j) - L(i)) - (double(j) == Labels(i) ? 1 : 0)) * dLoss(i);
                   };
                 })
      .flops([](const Values &v) { return 4.0 * double(v["tokens"]) * double(v["words"]); })
      .bench({{"tokens", "8192"}, {"words", "32000"}});
}
