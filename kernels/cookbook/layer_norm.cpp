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
/// X, Y and their gradients are row-major, bf16; the rest and all arithmetic are f32. A thread has 8
/// neighbours of a row at a time: one load of 16 bytes. It adds up its own elements, and only the last sums
/// cross threads.
///
/// A forward block of 256 threads holds 8192 elements in registers, from which it takes the mean and then
/// the variance, so that a mean far from 0 costs no digits: one row, or two, four or eight of shorter ones.
/// Of longer rows a block has one, in tiles of 4096 columns. Each element of a tile keeps the mean and the
/// sum of squares of its column over the tiles; then those of all elements are merged. So one pass gives
/// both, and rows may have any length. They are read once more, from the L2 cache, for the result.
///
/// The gradients of w and b are sums over rows. Backward blocks work as those of rms_norm_bwd do: they take
/// one row after the other, copies of the next rows to shared memory run ahead, and threads add up what is of
/// their columns in registers. There is a launch for each range of lengths, of which one has blocks. What is
/// beyond 16384 columns is read again from memory, and a launch of its own adds up its weights. All leave
/// their sums in workspaces, which the last launch adds up: the result has the same bits in every run.
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr double epsilon = 1e-5;
constexpr int64_t segment = 256; ///< elements of a row that a warp loads at a time, 8 by each thread

void forward(Scope &k) {
  constexpr int64_t together = 2048; // elements that are loaded at a time, 8 by each thread
  constexpr int64_t tiles = 4, mostRows = 8;
  Index m = k.dim("m"), n = k.dim("n");
  Global X = k.input("X", bf16, {m, n}), W = k.input("W", f32, {n}), B = k.input("B", f32, {n});
  Global Y = k.output("Y", bf16, {m, n}), Mean = k.output("Mean", f32, {m}), R = k.output("R", f32, {m});
  k.warps(8);
  k.residents(3); // so that loads of some run while others compute
  // Of a block: as many rows as fit its registers, a power of two.
  Index fit = Index(tiles * together) / max(n, 1), rowsOfBlock = 1;
  for (int64_t rows = 2; rows <= mostRows; rows *= 2)
    rowsOfBlock = rowsOfBlock + rows / 2 * min(fit / rows, 1);
  auto [block] = k.grid(ceilDiv(m, rowsOfBlock));
  auto finish = [&](const Index &row, const Index &column, const FragmentValue &x, const FragmentValue &mean,
                    const FragmentValue &r) {
    const int64_t rows = x.shape()[0], width = x.shape()[1];
    Fragment w = k.fragment(f32, {1, width}), b = k.fragment(f32, {1, width});
    copy(W.tile({column}, {width}), w);
    copy(B.tile({column}, {width}), b);
    copy(((x - mean) * r * w + b).to(bf16), Y.tile({row, column}, {rows, width}));
  };
  auto held = [&, block = block](int64_t rows) {
    const int64_t width = together / rows;
    Index row = block * rows;
    std::vector<Fragment> x;
    Fragment sum = k.fragment(f32, {rows, width}), squares = k.fragment(f32, {rows, width});
    for (int64_t j = 0; j < tiles; ++j) {
      x.push_back(k.fragment(bf16, {rows, width}));
      copy(X.tile({row, j * width}, {rows, width}), x.back()); // 0 beyond the end
    }
    for (const Fragment &tile : x)
      sum += tile.to(f32);
    FragmentValue mean = rowSum(sum) / n.to(f32);
    for (int64_t j = 0; j < tiles; ++j) {
      FragmentValue d =
          where([&](Index, Index column) { return j * width + column < n; }, x[size_t(j)].to(f32) - mean, 0);
      squares += d * d;
    }
    FragmentValue r = rsqrt(rowSum(squares) / n.to(f32) + epsilon);
    copy(mean, Mean.tile({row}, {rows}));
    copy(r, R.tile({row}, {rows}));
    for (int64_t j = 0; j < tiles; ++j)
      finish(row, j * width, x[size_t(j)].to(f32), mean, r);
  };
  auto streamed = [&, block = block] {
    constexpr int64_t width = 2 * together;
    Fragment x = k.fragment(bf16, {1, width}), means = k.fragment(f32, {1, width}),
             squares = k.fragment(f32, {1, width});
    k.loop(ceilDiv(n, width), [&](Index j) {
      copy(X.tile({block, j * width}, {1, width}), x);
      FragmentValue step =
          where([&](Index, Index column) { return j * width + column < n; }, x.to(f32) - means, 0);
      means += step / (j + 1).to(f32);
      squares += step * (x.to(f32) - means);
    });
    FragmentValue count = ((n + (width - 1)).to(i32) - k.positions({1, width}, 1)) / width;
    FragmentValue mean = rowSum(means * count.to(f32)) / n.to(f32), d = means - mean;
    FragmentValue r = rsqrt(rowSum(squares + d * d * count.to(f32)) / n.to(f32) + epsilon);
    copy(mean, Mean.tile({block}, {1}));
    copy(r, R.tile({block}, {1}));
    k.loop(ceilDiv(n, width), [&](Index j) {
      copy(X.tile({block, j * width}, {1, width}), x);
      finish(block, j * width, x.to(f32), mean, r);
    });
  };
  std::function<void(int64_t)> upTo = [&](int64_t rows) {
    k.when(
        n <= tiles * together / rows, [&] { held(rows); }, [&] { rows > 1 ? upTo(rows / 2) : streamed(); });
  };
  upTo(mostRows);
}

/// What a backward launch is for: rows of up to `longest` columns. `stages` rows are under way in a block.
struct Form {
  int64_t longest, warps, residents, stages;
};
constexpr std::array<Form, 5> forms{
    {{1024, 2, 8, 4}, {2048, 4, 4, 3}, {4096, 8, 2, 3}, {8192, 8, 2, 2}, {16384, 16, 1, 2}}};

void backward(Scope &k) {
  constexpr int64_t multiprocessors = 132, tall = 32, narrow = 128, held = forms.back().longest;
  constexpr int64_t mostParts = 8 * multiprocessors;
  Index m = k.dim("m"), n = k.dim("n");
  Global X = k.input("X", bf16, {m, n}), W = k.input("W", f32, {n}), dY = k.input("dY", bf16, {m, n});
  Global Mean = k.input("Mean", f32, {m}), R = k.input("R", f32, {m});
  Global dX = k.output("dX", bf16, {m, n}), dW = k.output("dW", f32, {n}), dB = k.output("dB", f32, {n});
  Global partW = k.workspace("part_w", f32, {mostParts, n}),
         partB = k.workspace("part_b", f32, {mostParts, n});
  Index parts = forms.back().residents * multiprocessors;
  for (size_t f = forms.size() - 1; f-- > 0;)
    parts = where(n <= forms[f].longest, Index(forms[f].residents * multiprocessors), parts);

  int64_t shorter = 0;
  for (const Form &form : forms) {
    k.launch("layer_norm_bwd_" + std::to_string(form.longest), [&] {
      const bool isLongest = &form == &forms.back();
      k.warps(form.warps);
      k.residents(form.residents);
      const int64_t parts = form.residents * multiprocessors;
      Index isLonger = min(n / (shorter + 1), 1), isShort = min(Index(form.longest) / max(n, 1), 1);
      auto [block] = k.grid(parts * (isLongest ? isLonger : isLonger * isShort));
      const int64_t width = form.warps * segment, tiles = form.longest / width;
      struct Tile { // of a row
        Shared x, dy, w;
        Fragment dw, db;
      };
      std::vector<Tile> held;
      for (int64_t j = 0; j < tiles; ++j) {
        held.push_back({k.shared("x", bf16, {width}), k.shared("dy", bf16, {width}),
                        k.shared("w", f32, {width}), k.fragment(f32, {1, width}),
                        k.fragment(f32, {1, width})});
        copy(W.tile({j * width}, {width}), held.back().w);
      }
      Fragment nextMean = k.fragment(f32, {1, 1}), nextR = k.fragment(f32, {1, 1});
      copy(Mean.tile({block}, {1}), nextMean);
      copy(R.tile({block}, {1}), nextR);
      k.pipelined({block, m, parts}, {.stages = form.stages}, [&](Index i) {
        auto sliceOf = [&](const Global &tensor, const Index &j) {
          return tensor.tile({i, j * width}, {1, width});
        };
        for (int64_t j = 0; j < tiles; ++j) {
          copy(sliceOf(X, j), held[size_t(j)].x);
          copy(sliceOf(dY, j), held[size_t(j)].dy);
        }
        Fragment mean = nextMean, r = nextR;
        Fragment sumG = k.fragment(f32, {1, width}), sumGz = k.fragment(f32, {1, width});
        copy(Mean.tile({i + parts}, {1}), nextMean);
        copy(R.tile({i + parts}, {1}), nextR); // which need not be waited for
        Fragment x = k.fragment(bf16, {1, width}), dy = k.fragment(bf16, {1, width});
        Fragment w = k.fragment(f32, {1, width});
        auto ofHeld = [&](const std::function<void(int64_t)> &body) { // with x, dy and w of each tile
          for (int64_t j = 0; j < tiles; ++j) {
            copy(held[size_t(j)].x, x);
            copy(held[size_t(j)].dy, dy); // 0 beyond the end, and so is g
            copy(held[size_t(j)].w, w);
            body(j);
          }
        };
        auto ofOthers = [&](const std::function<void(const Index &)> &body) {
          if (isLongest)
            k.loop({tiles, ceilDiv(n, width)}, [&](Index j) {
              copy(sliceOf(X, j), x);
              copy(sliceOf(dY, j), dy);
              copy(W.tile({j * width}, {width}), w);
              body(j);
            });
        };
        auto add = [&](const Index &) {
          FragmentValue g = w * dy.to(f32);
          sumG += g;
          sumGz += g * (x.to(f32) - mean);
        };
        ofHeld(add);
        ofOthers(add);
        FragmentValue meanG = rowSum(sumG) / n.to(f32), meanGz = rowSum(sumGz) * r / n.to(f32);
        auto finish = [&](const Index &j) {
          FragmentValue z = (x.to(f32) - mean) * r;
          copy((r * (w * dy.to(f32) - meanG - z * meanGz)).to(bf16), sliceOf(dX, j));
        };
        ofHeld([&](int64_t j) {
          finish(j);
          held[size_t(j)].dw += dy.to(f32) * ((x.to(f32) - mean) * r);
          held[size_t(j)].db += dy.to(f32);
        });
        ofOthers(finish);
      });
      for (int64_t j = 0; j < tiles; ++j) {
        copy(held[size_t(j)].dw, partW.tile({block, j * width}, {1, width}));
        copy(held[size_t(j)].db, partB.tile({block, j * width}, {1, width}));
      }
    });
    shorter = form.longest;
  }
  k.launch("layer_norm_bwd_weights", [&] { // of the columns that are not held
    auto [j, part] = k.grid(max(ceilDiv(n, narrow) - held / narrow, 0), multiprocessors);
    Index column = held + j * narrow;
    Fragment x = k.fragment(bf16, {tall, narrow}), dy = k.fragment(bf16, {tall, narrow});
    Fragment mean = k.fragment(f32, {tall, 1}), r = k.fragment(f32, {tall, 1});
    Fragment dw = k.fragment(f32, {tall, narrow}), db = k.fragment(f32, {tall, narrow});
    k.loop({part, ceilDiv(m, tall), multiprocessors}, [&](Index i) {
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
    constexpr int64_t some = 32,
                      together = 4 * multiprocessors; // columns of a block, and rows that it adds at a time
    k.warps(16);
    auto [j] = k.grid(ceilDiv(n, some));
    auto addUp = [&, j = j](const Global &sums, const Global &total) {
      Fragment sum = k.fragment(f32, {together, some}), part = k.fragment(f32, {together, some});
      k.loop(ceilDiv(parts, together), [&](Index p) {
        copy(sums.tile({p * together, j * some}, {together, some}).limited(0, parts), part);
        sum += part;
      });
      copy(reduce(Reduction::sum, sum, 0), total.tile({j * some}, {some}));
    };
    addUp(partW, dW);
    addUp(partB, dB);
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
