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
/// X, Y and the gradients are row-major, bf16; the weights and all arithmetic are f32. A thread has 8
/// neighbours of a row at a time: one load of 16 bytes. It adds up its own elements, and only the last sum
/// crosses threads.
///
/// A forward block of 128 threads has 4 rows, in tiles of 1024 columns, and reads them once more, from the L2
/// cache, for the result: so rows may have any length. Of rows of more than 4096 columns it has one, in tiles
/// of 4096, so that the rows that are read twice fit the cache.
///
/// The gradient of the weights is a sum over rows. Backward blocks, of which as many run at a time as the
/// device holds, take one row after the other. Copies of the next rows to shared memory run ahead, so that
/// enough bytes are under way whatever a row's sums wait for; there a row is read twice. Threads add up what
/// is of their columns in registers. How many threads a block has, and how many blocks a multiprocessor,
/// depends on the length of a row: there is a launch for each, of which one has blocks. What is beyond 16384
/// columns is read again from memory, and a launch of its own adds up its weights. All leave their sums in a
/// workspace, which the last launch adds up: the result has the same bits in every run.
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t segment = 256; ///< elements of a row that a warp loads at a time, 8 by each thread
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

/// What a backward launch is for: rows of up to `longest` columns. `stages` rows are under way in a block.
struct Form {
  int64_t longest, warps, residents, stages;
};
constexpr std::array<Form, 5> forms{
    {{1024, 2, 8, 4}, {2048, 4, 4, 3}, {4096, 8, 3, 3}, {8192, 8, 2, 2}, {16384, 16, 1, 2}}};

void backward(Scope &k) {
  constexpr int64_t multiprocessors = 132, tall = 32, narrow = 128, held = forms.back().longest;
  constexpr int64_t mostParts = 8 * multiprocessors;
  Index m = k.dim("m"), n = k.dim("n");
  Global X = k.input("X", bf16, {m, n}), W = k.input("W", f32, {n}), R = k.input("R", f32, {m});
  Global dY = k.input("dY", bf16, {m, n});
  Global dX = k.output("dX", bf16, {m, n}), dW = k.output("dW", f32, {n});
  Global partial = k.workspace("partial", f32, {mostParts, n});
  Index parts = forms.back().residents * multiprocessors;
  for (size_t f = forms.size() - 1; f-- > 0;)
    parts = where(n <= forms[f].longest, Index(forms[f].residents * multiprocessors), parts);

  int64_t shorter = 0;
  for (const Form &form : forms) {
    k.launch("rms_norm_bwd_" + std::to_string(form.longest), [&] {
      const bool isLongest = &form == &forms.back();
      k.warps(form.warps);
      k.residents(form.residents);
      const int64_t parts = form.residents * multiprocessors;
      Index isLonger = min(n / (shorter + 1), 1), isShort = min(Index(form.longest) / max(n, 1), 1);
      auto [block] = k.grid(parts * (isLongest ? isLonger : isLonger * isShort));
      const int64_t width = form.warps * segment, tiles = form.longest / width;
      struct Tile { // of a row
        Shared x, dy, w;
        Fragment dw;
      };
      std::vector<Tile> held;
      for (int64_t j = 0; j < tiles; ++j) {
        held.push_back({k.shared("x", bf16, {width}), k.shared("dy", bf16, {width}),
                        k.shared("w", f32, {width}), k.fragment(f32, {1, width})});
        copy(W.tile({j * width}, {width}), held.back().w);
      }
      Fragment nextR = k.fragment(f32, {1, 1});
      copy(R.tile({block}, {1}), nextR);
      k.pipelined({block, m, parts}, {.stages = form.stages}, [&](Index i) {
        auto sliceOf = [&](const Global &tensor, const Index &j) {
          return tensor.tile({i, j * width}, {1, width});
        };
        for (int64_t j = 0; j < tiles; ++j) {
          copy(sliceOf(X, j), held[size_t(j)].x);
          copy(sliceOf(dY, j), held[size_t(j)].dy);
        }
        Fragment r = nextR, sum = k.fragment(f32, {1, width});
        copy(R.tile({i + parts}, {1}), nextR); // which need not be waited for
        Fragment x = k.fragment(bf16, {1, width}), dy = k.fragment(bf16, {1, width});
        Fragment w = k.fragment(f32, {1, width});
        auto ofHeld = [&](const std::function<void(int64_t)> &body) { // with x, dy and w of each tile
          for (int64_t j = 0; j < tiles; ++j) {
            copy(held[size_t(j)].x, x);
            copy(held[size_t(j)].dy, dy);
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
        auto add = [&](const Index &) { sum += x.to(f32) * dy.to(f32) * w; };
        ofHeld(add);
        ofOthers(add);
        FragmentValue mean = rowSum(sum) * r * r / n.to(f32);
        auto finish = [&](const Index &j) {
          copy((r * (w * dy.to(f32) - x.to(f32) * mean)).to(bf16), sliceOf(dX, j));
        };
        ofHeld([&](int64_t j) {
          finish(j);
          held[size_t(j)].dw += x.to(f32) * dy.to(f32) * r;
        });
        ofOthers(finish);
      });
      for (int64_t j = 0; j < tiles; ++j)
        copy(held[size_t(j)].dw, partial.tile({block, j * width}, {1, width}));
    });
    shorter = form.longest;
  }
  k.launch("rms_norm_bwd_weights", [&] { // of the columns that are not held
    auto [j, part] = k.grid(max(ceilDiv(n, narrow) - held / narrow, 0), multiprocessors);
    Index column = held + j * narrow;
    Fragment x = k.fragment(bf16, {tall, narrow}), dy = k.fragment(bf16, {tall, narrow});
    Fragment r = k.fragment(f32, {tall, 1}), sum = k.fragment(f32, {tall, narrow});
    k.loop({part, ceilDiv(m, tall), multiprocessors}, [&](Index i) {
      copy(X.tile({i * tall, column}, {tall, narrow}), x);
      copy(dY.tile({i * tall, column}, {tall, narrow}), dy);
      copy(R.tile({i * tall}, {tall}), r);
      sum += x.to(f32) * dy.to(f32) * r;
    });
    copy(reduce(Reduction::sum, sum, 0), partial.tile({part, column}, {1, narrow}));
  });
  k.launch("rms_norm_bwd_sum", [&] {
    constexpr int64_t some = 32,
                      together = 4 * multiprocessors; // columns of a block, and rows that it adds at a time
    k.warps(16);
    auto [j] = k.grid(ceilDiv(n, some));
    Fragment sums = k.fragment(f32, {together, some}), part = k.fragment(f32, {together, some});
    k.loop(ceilDiv(parts, together), [&, j = j](Index p) {
      copy(partial.tile({p * together, j * some}, {together, some}).limited(0, parts), part);
      sums += part;
    });
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
