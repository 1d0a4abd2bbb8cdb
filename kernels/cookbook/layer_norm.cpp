// SPDX-License-Identifier: Apache-2.0
/// \file
/// Layer normalisation, forward and backward.
///
/// With the mean and the variance of a row of X,
///
///     r = 1 / sqrt(variance + epsilon)      z = (x - mean) r      y = z w + b
///
/// The forward kernel also writes mean and r, which the backward kernel reads. With g = w dy,
///
///     dx = r (g - mean(g) - z mean(g z))     dw = sum over rows of dy z     db = sum over rows of dy
///
/// X, Y and their gradients are row-major, bf16; the rest and all arithmetic are f32. A block of 128 threads
/// has 4 rows, in tiles of 1024 columns, so that a thread has 8 neighbours of each row: one load of 16 bytes.
/// In the forward kernel each element of a tile keeps the mean and the sum of squares of its column over the
/// tiles; then those of all elements are merged. So one pass gives both, rows may have any length, and a mean
/// far from 0 costs no digits. The rows are read once more, from the L2 cache, for the result: of rows of
/// more than 4096 columns a block has one, in tiles of 4096, so that these rows fit the cache. In the
/// backward kernel a thread adds up its own elements over the tiles, and only the last sums cross threads.
///
/// The gradients of w and b are sums over rows. The backward kernel reads X and dY from memory once: 264
/// blocks, two for each of 132 multiprocessors, take some rows each time, and threads add up what is of their
/// columns, for the first 8192 columns in registers. A second launch does so for the other columns. All leave
/// their sums in workspaces, which the last launch adds up: the result has the same bits in every run.
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr double epsilon = 1e-5;
constexpr int64_t rows = 4, width = 1024;       ///< of a tile
constexpr int64_t longestShared = rows * width; ///< rows that share a block are at most so long

void forward(Scope &k) {
  Index m = k.dim("m"), n = k.dim("n");
  Global X = k.input("X", bf16, {m, n}), W = k.input("W", f32, {n}), B = k.input("B", f32, {n});
  Global Y = k.output("Y", bf16, {m, n}), Mean = k.output("Mean", f32, {m}), R = k.output("R", f32, {m});
  k.residents(4); // so that loads of some run while others compute
  auto [block] =
      k.grid(ceilDiv(m, 1 + (rows - 1) * min(longestShared / max(n, 1), 1))); // of several rows or of one
  auto normalise = [&, block = block](int64_t rows, int64_t width) {
    Index row = block * rows;
    Fragment x = k.fragment(bf16, {rows, width}), w = k.fragment(f32, {1, width}),
             b = k.fragment(f32, {1, width});
    Fragment means = k.fragment(f32, {rows, width}), squares = k.fragment(f32, {rows, width});
    k.loop(ceilDiv(n, width), [&](Index j) {
      copy(X.tile({row, j * width}, {rows, width}), x);
      FragmentValue step =
          where([&](Index, Index column) { return j * width + column < n; }, x.to(f32) - means, 0);
      means += step / (j + 1).to(f32);
      squares += step * (x.to(f32) - means);
    });
    FragmentValue count = ((n + (width - 1)).to(i32) - k.positions({1, width}, 1)) / width;
    FragmentValue mean = rowSum(means * count.to(f32)) / n.to(f32), d = means - mean;
    FragmentValue r = rsqrt(rowSum(squares + d * d * count.to(f32)) / n.to(f32) + epsilon);
    copy(mean, Mean.tile({row}, {rows}));
    copy(r, R.tile({row}, {rows}));
    k.loop(ceilDiv(n, width), [&](Index j) {
      copy(X.tile({row, j * width}, {rows, width}), x);
      copy(W.tile({j * width}, {width}), w);
      copy(B.tile({j * width}, {width}), b);
      copy(((x.to(f32) - mean) * r * w + b).to(bf16), Y.tile({row, j * width}, {rows, width}));
    });
  };
  k.when(n <= longestShared, [&] { normalise(rows, width); }, [&] { normalise(1, rows * width); });
}

void backward(Scope &k) {
  constexpr int64_t parts = 264, elements = 4096; // blocks; elements of a tile
  constexpr int64_t held = 8192, tall = 32, narrow = 128;
  Index m = k.dim("m"), n = k.dim("n");
  Global X = k.input("X", bf16, {m, n}), W = k.input("W", f32, {n}), dY = k.input("dY", bf16, {m, n});
  Global Mean = k.input("Mean", f32, {m}), R = k.input("R", f32, {m});
  Global dX = k.output("dX", bf16, {m, n}), dW = k.output("dW", f32, {n}), dB = k.output("dB", f32, {n});
  Global partW = k.workspace("part_w", f32, {parts, n}), partB = k.workspace("part_b", f32, {parts, n});
  k.launch("layer_norm_bwd_rows", [&] {
    k.warps(8);
    k.residents(2);
    auto [block] = k.grid(parts);
    auto differentiate = [&, block = block](int64_t rows, int64_t tiles) {
      const int64_t width = elements / rows;
      std::vector<Fragment> dw, db;
      for (int64_t j = 0; j < tiles; ++j) {
        dw.push_back(k.fragment(f32, {1, width}));
        db.push_back(k.fragment(f32, {1, width}));
      }
      k.loop({block, ceilDiv(m, rows), parts}, [&](Index i) {
        Fragment x = k.fragment(bf16, {rows, width}), dy = k.fragment(bf16, {rows, width});
        Fragment w = k.fragment(f32, {1, width}), mean = k.fragment(f32, {rows, 1}),
                 r = k.fragment(f32, {rows, 1});
        Fragment sumG = k.fragment(f32, {rows, width}), sumGz = k.fragment(f32, {rows, width});
        auto load = [&](const Index &j) {
          copy(X.tile({i * rows, j * width}, {rows, width}), x);
          copy(dY.tile({i * rows, j * width}, {rows, width}), dy); // 0 beyond the end, and so is g
          copy(W.tile({j * width}, {width}), w);
        };
        copy(Mean.tile({i * rows}, {rows}), mean);
        copy(R.tile({i * rows}, {rows}), r);
        k.loop(ceilDiv(n, width), [&](Index j) {
          load(j);
          FragmentValue g = w * dy.to(f32);
          sumG += g;
          sumGz += g * (x.to(f32) - mean);
        });
        FragmentValue meanG = rowSum(sumG) / n.to(f32), meanGz = rowSum(sumGz) * r / n.to(f32);
        auto finish = [&](const Index &j) {
          load(j);
          FragmentValue z = (x.to(f32) - mean) * r;
          copy((r * (w * dy.to(f32) - meanG - z * meanGz)).to(bf16),
               dX.tile({i * rows, j * width}, {rows, width}));
        };
        for (size_t j = 0; j < dw.size(); ++j)
          k.when(int64_t(j) * width < n, [&] {
            finish(int64_t(j));
            dw[j] += reduce(Reduction::sum, dy.to(f32) * (x.to(f32) - mean) * r, 0);
            db[j] += reduce(Reduction::sum, dy.to(f32), 0);
          });
        k.loop({int64_t(dw.size()), ceilDiv(n, width)}, finish);
      });
      for (size_t j = 0; j < dw.size(); ++j) {
        copy(dw[j], partW.tile({block, int64_t(j) * width}, {1, width}));
        copy(db[j], partB.tile({block, int64_t(j) * width}, {1, width}));
      }
    };
    k.when(
        n <= elements / 4, [&] { differentiate(4, 1); },
        [&] {
          k.when(n <= elements / 2, [&] { differentiate(2, 1); }, [&] { differentiate(1, held / elements); });
        });
  });
  k.launch("layer_norm_bwd_weights", [&] { // of the columns that are not held
    auto [j, part] = k.grid(max(ceilDiv(n, narrow) - held / narrow, 0), parts);
    Index column = held + j * narrow;
    Fragment x = k.fragment(bf16, {tall, narrow}), dy = k.fragment(bf16, {tall, narrow});
    Fragment mean = k.fragment(f32, {tall, 1}), r = k.fragment(f32, {tall, 1});
    Fragment dw = k.fragment(f32, {tall, narrow}), db = k.fragment(f32, {tall, narrow});
    k.loop({part, ceilDiv(m, tall), parts}, [&](Index i) {
      copy(X.tile({i * tall, column}, {tall, narrow}), x);
      copy(dY.tile({i * tall, column}, {tall, narrow}), dy);
      copy(Mean.tile({i * tall}, {tall}), mean);
      copy(R.tile({i * tall}, {tall}), r);
      dw += dy.to(f32) * (x.to(f32) - mean) * r;
      db += dy.to(f32);
    });
    copy(reduce(Reduction::sum, dw, 0), partW.tile({part, column}, {1, narrow}));
    copy(reduce(Reduction::sum, db, 0), partB.tile({part, column}, {1, narrow}));
  });
  k.launch("layer_norm_bwd_sum", [&] {
    constexpr int64_t some = 32; // columns of a block
    auto [j] = k.grid(ceilDiv(n, some));
    Fragment dw = k.fragment(f32, {parts, some}), db = k.fragment(f32, {parts, some});
    copy(partW.tile({0, j * some}, {parts, some}), dw);
    copy(partB.tile({0, j * some}, {parts, some}), db);
    copy(reduce(Reduction::sum, dw, 0), dW.tile({j * some}, {some}));
    copy(reduce(Reduction::sum, db, 0), dB.tile({j * some}, {some}));
  });
}

double meanOf(const HostArray &X, int64_t row) {
  double sum = 0;
  for (int64_t j = 0; j < X.shape()[1]; ++j)
    sum += X(row, j);
  return sum / double(X.shape()[1]);
}

double factorOf(const HostArray &X, int64_t row) {
  double sum = 0, mean = meanOf(X, row);
  for (int64_t j = 0; j < X.shape()[1]; ++j)
    sum += (X(row, j) - mean) * (X(row, j) - mean);
  return 1 / std::sqrt(sum / double(X.shape()[1]) + epsilon);
}

/// A number of each row, computed once.
template <class F> std::vector<double> ofRows(int64_t count, F function) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(function(i));
  return numbers;
}

} // namespace

void registerKernels(KernelFile &file) {
  auto mean = [](const HostInputs &in) { return [X = in.tensor("X")](int64_t i) { return meanOf(X, i); }; };
  auto factor = [](const HostInputs &in) {
    return [X = in.tensor("X")](int64_t i) { return factorOf(X, i); };
  };
  file.kernel("layer_norm", "Y = (X - mean) / sqrt(variance) W + B, row by row, and both numbers of each row")
      .size("m", 4096, {.onEmulator = 11})
      .size("n", 4096, {.least = 1, .onEmulator = 1504})
      .program(forward)
      .random("X", 99, 101)
      .reference("Y",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X"), W = in.tensor("W"), B = in.tensor("B");
                   auto means = ofRows(X.shape()[0], [&](int64_t i) { return meanOf(X, i); });
                   auto factors = ofRows(X.shape()[0], [&](int64_t i) { return factorOf(X, i); });
                   return [=](int64_t i, int64_t j) {
                     return (X(i, j) - means[size_t(i)]) * factors[size_t(i)] * W(j) + B(j);
                   };
                 })
      .reference("Mean", mean)
      .reference("R", factor)
      .flops([](const Values &v) { return 9.0 * double(v["m"]) * double(v["n"]); })
      .bench({{"m", "16384"}, {"n", "8192"}});

  file.kernel("layer_norm_bwd", "Gradients dX, dW and dB of layer_norm from dY, X, Mean and R")
      .size("m", 4096, {.onEmulator = 37})
      .size("n", 4096, {.least = 1, .onEmulator = 1304})
      .program(backward)
      .contents("Mean", mean)
      .contents("R", factor)
      .reference("dX",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X"), W = in.tensor("W"), dY = in.tensor("dY");
                   HostArray Mean = in.tensor("Mean"), R = in.tensor("R");
                   const int64_t n = in.values["n"];
                   auto z = [=](int64_t i, int64_t j) { return (X(i, j) - Mean(i)) * R(i); };
                   auto meanG = ofRows(in.values["m"], [&](int64_t i) {
                     double sum = 0;
                     for (int64_t j = 0; j < n; ++j)
                       sum += W(j) * dY(i, j);
                     return sum / double(n);
                   });
                   auto meanGz = ofRows(in.values["m"], [&](int64_t i) {
                     double sum = 0;
                     for (int64_t j = 0; j < n; ++j)
                       sum += W(j) * dY(i, j) * z(i, j);
                     return sum / double(n);
                   });
                   return [=](int64_t i, int64_t j) {
                     return R(i) * (W(j) * dY(i, j) - meanG[size_t(i)] - z(i, j) * meanGz[size_t(i)]);
                   };
                 })
      .reference("dW",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X"), dY = in.tensor("dY");
                   HostArray Mean = in.tensor("Mean"), R = in.tensor("R");
                   return [=, m = in.values["m"]](int64_t j) {
                     double sum = 0;
                     for (int64_t i = 0; i < m; ++i)
                       sum += dY(i, j) * (X(i, j) - Mean(i)) * R(i);
                     return sum;
                   };
                 })
      .reference("dB",
                 [](const HostInputs &in) {
                   return [dY = in.tensor("dY"), m = in.values["m"]](int64_t j) {
                     double sum = 0;
                     for (int64_t i = 0; i < m; ++i)
                       sum += dY(i, j);
                     return sum;
                   };
                 })
      .flops([](const Values &v) { return 16.0 * double(v["m"]) * double(v["n"]); })
      .bench({{"m", "16384"}, {"n", "8192"}});
}
