// SPDX-License-Identifier: Apache-2.0
/// \file
/// RMS normalisation, forward and backward.
///
/// A row of X is divided by the root of its mean square and multiplied by a weight for each column:
///
///     r = 1 / sqrt(mean(x^2) + epsilon)        y = x r w
///
/// The forward kernel also writes r, one number for each row, which the backward kernel reads:
///
///     dx = r (w dy - x r^2 mean(x w dy))       dw = sum over rows of dy x r
///
/// X, Y and the gradients are row-major, bf16; the weights and all arithmetic are f32. A block of 128 threads
/// has 4 rows, in tiles of 1024 columns, so that a thread has 8 neighbours of each row: one load of 16 bytes.
/// It adds up its own elements over the tiles, and only the last sum crosses threads. Then it reads the rows
/// once more, from the L2 cache, for the result: so rows may have any length. Of rows of more than 4096
/// columns a forward block has one, in tiles of 4096, so that the rows that are read twice fit the cache.
///
/// The gradient of the weights is a sum over rows. The backward kernel reads X and dY from memory once: 264
/// blocks, two for each of 132 multiprocessors, take some rows each time, and threads add up what is of their
/// columns, for the first 8192 columns in registers. A second launch does so for the other columns. All leave
/// their sums in a workspace, which the last launch adds up: the result has the same bits in every run.
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr double epsilon = 1e-6;
constexpr int64_t width = 1024;              ///< columns of a tile
constexpr int64_t longestShared = 4 * width; ///< rows that share a block are at most so long

void forward(Scope &k) {
  Index m = k.dim("m"), n = k.dim("n");
  Global X = k.input("X", bf16, {m, n}), W = k.input("W", f32, {n});
  Global Y = k.output("Y", bf16, {m, n}), R = k.output("R", f32, {m});
  k.residents(6); // so that loads of some run while others compute
  auto [block] = k.grid(ceilDiv(m, 1 + 3 * min(longestShared / max(n, 1), 1))); // of 4 rows or of one
  auto normalise = [&, block = block](int64_t rows, int64_t width) {
    Index row = block * rows;
    Fragment x = k.fragment(bf16, {rows, width}), w = k.fragment(f32, {1, width});
    Fragment squares = k.fragment(f32, {rows, width});
    k.loop(ceilDiv(n, width), [&](Index j) {
      copy(X.tile({row, j * width}, {rows, width}), x); // 0 beyond the end
      squares += x.to(f32) * x.to(f32);
    });
    FragmentValue r = rsqrt(rowSum(squares) / n.to(f32) + epsilon);
    copy(r, R.tile({row}, {rows}));
    k.loop(ceilDiv(n, width), [&](Index j) {
      copy(X.tile({row, j * width}, {rows, width}), x);
      copy(W.tile({j * width}, {width}), w);
      copy((x.to(f32) * r * w).to(bf16), Y.tile({row, j * width}, {rows, width}));
    });
  };
  k.when(n <= longestShared, [&] { normalise(4, width); }, [&] { normalise(1, 4 * width); });
}

void backward(Scope &k) {
  constexpr int64_t parts = 264, elements = 8192; // blocks; elements of a tile
  constexpr int64_t held = 8192, tall = 32, narrow = 128;
  Index m = k.dim("m"), n = k.dim("n");
  Global X = k.input("X", bf16, {m, n}), W = k.input("W", f32, {n}), R = k.input("R", f32, {m});
  Global dY = k.input("dY", bf16, {m, n});
  Global dX = k.output("dX", bf16, {m, n}), dW = k.output("dW", f32, {n});
  Global partial = k.workspace("partial", f32, {parts, n});
  k.launch("rms_norm_bwd_rows", [&] {
    k.warps(8);
    k.residents(2);
    auto [block] = k.grid(parts);
    auto differentiate = [&, block = block](int64_t rows, int64_t tiles) {
      const int64_t width = elements / rows;
      std::vector<Fragment> dw;
      for (int64_t j = 0; j < tiles; ++j)
        dw.push_back(k.fragment(f32, {1, width}));
      k.loop({block, ceilDiv(m, rows), parts}, [&](Index i) {
        Fragment x = k.fragment(bf16, {rows, width}), dy = k.fragment(bf16, {rows, width});
        Fragment w = k.fragment(f32, {1, width}), r = k.fragment(f32, {rows, 1}),
                 sum = k.fragment(f32, {rows, width});
        auto load = [&](const Index &j) {
          copy(X.tile({i * rows, j * width}, {rows, width}), x);
          copy(dY.tile({i * rows, j * width}, {rows, width}), dy);
          copy(W.tile({j * width}, {width}), w);
        };
        copy(R.tile({i * rows}, {rows}), r);
        k.loop(ceilDiv(n, width), [&](Index j) {
          load(j);
          sum += x.to(f32) * dy.to(f32) * w;
        });
        FragmentValue mean = rowSum(sum) * r * r / n.to(f32);
        auto finish = [&](const Index &j) {
          load(j);
          FragmentValue dx = r * (w * dy.to(f32) - x.to(f32) * mean);
          copy(dx.to(bf16), dX.tile({i * rows, j * width}, {rows, width}));
        };
        for (size_t j = 0; j < dw.size(); ++j)
          k.when(int64_t(j) * width < n, [&] {
            finish(int64_t(j));
            dw[j] += reduce(Reduction::sum, x.to(f32) * dy.to(f32) * r, 0);
          });
        k.loop({int64_t(dw.size()), ceilDiv(n, width)}, finish);
      });
      for (size_t j = 0; j < dw.size(); ++j)
        copy(dw[j], partial.tile({block, int64_t(j) * width}, {1, width}));
    };
    k.when(
        n <= elements / 8, [&] { differentiate(8, 1); },
        [&] { k.when(n <= elements / 4, [&] { differentiate(4, 1); }, [&] { differentiate(2, 2); }); });
  });
  k.launch("rms_norm_bwd_weights", [&] { // of the columns that are not held
    auto [j, part] = k.grid(max(ceilDiv(n, narrow) - held / narrow, 0), parts);
    Index column = held + j * narrow;
    Fragment x = k.fragment(bf16, {tall, narrow}), dy = k.fragment(bf16, {tall, narrow});
    Fragment r = k.fragment(f32, {tall, 1}), sum = k.fragment(f32, {tall, narrow});
    k.loop({part, ceilDiv(m, tall), parts}, [&](Index i) {
      copy(X.tile({i * tall, column}, {tall, narrow}), x);
      copy(dY.tile({i * tall, column}, {tall, narrow}), dy);
      copy(R.tile({i * tall}, {tall}), r);
      sum += x.to(f32) * dy.to(f32) * r;
    });
    copy(reduce(Reduction::sum, sum, 0), partial.tile({part, column}, {1, narrow}));
  });
  k.launch("rms_norm_bwd_sum", [&] {
    constexpr int64_t some = 32; // columns of a block
    auto [j] = k.grid(ceilDiv(n, some));
    Fragment sums = k.fragment(f32, {parts, some});
    copy(partial.tile({0, j * some}, {parts, some}), sums);
    copy(reduce(Reduction::sum, sums, 0), dW.tile({j * some}, {some}));
  });
}

double rms(const HostArray &X, int64_t row) {
  double sum = 0;
  for (int64_t j = 0; j < X.shape()[1]; ++j)
    sum += X(row, j) * X(row, j);
  return 1 / std::sqrt(sum / double(X.shape()[1]) + epsilon);
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("rms_norm", "Y = X / sqrt(mean(X^2)) W, row by row, and the factor R of each row")
      .size("m", 4096, {.onEmulator = 11})
      .size("n", 4096, {.least = 1, .onEmulator = 1504})
      .program(forward)
      .reference("Y",
                 [](const HostInputs &in) {
                   std::vector<double> r;
                   HostArray X = in.tensor("X"), W = in.tensor("W");
                   for (int64_t i = 0; i < X.shape()[0]; ++i)
                     r.push_back(rms(X, i));
                   return [=](int64_t i, int64_t j) { return X(i, j) * r[size_t(i)] * W(j); };
                 })
      .reference("R",
                 [](const HostInputs &in) { return [X = in.tensor("X")](int64_t i) { return rms(X, i); }; })
      .flops([](const Values &v) { return 4.0 * double(v["m"]) * double(v["n"]); })
      .bench({{"m", "16384"}, {"n", "8192"}});

  file.kernel("rms_norm_bwd", "Gradients dX and dW of rms_norm from dY, X and the factors R")
      .size("m", 4096, {.onEmulator = 37})
      .size("n", 4096, {.least = 1, .onEmulator = 1304})
      .program(backward)
      .contents("R",
                [](const HostInputs &in) { return [X = in.tensor("X")](int64_t i) { return rms(X, i); }; })
      .reference("dX",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X"), W = in.tensor("W"), R = in.tensor("R"), dY = in.tensor("dY");
                   const int64_t n = in.values["n"];
                   std::vector<double> means;
                   for (int64_t i = 0; i < in.values["m"]; ++i) {
                     double sum = 0;
                     for (int64_t j = 0; j < n; ++j)
                       sum += X(i, j) * W(j) * dY(i, j);
                     means.push_back(sum / double(n));
                   }
                   return [=](int64_t i, int64_t j) {
                     const double r = R(i);
                     return r * (W(j) * dY(i, j) - X(i, j) * r * r * means[size_t(i)]);
                   };
                 })
      .reference("dW",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X"), R = in.tensor("R"), dY = in.tensor("dY");
                   return [=, m = in.values["m"]](int64_t j) {
                     double sum = 0;
                     for (int64_t i = 0; i < m; ++i)
                       sum += X(i, j) * dY(i, j) * R(i);
                     return sum;
                   };
                 })
      .flops([](const Values &v) { return 12.0 * double(v["m"]) * double(v["n"]); })
      .bench({{"m", "16384"}, {"n", "8192"}});
}
