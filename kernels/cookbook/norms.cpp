// SPDX-License-Identifier: Apache-2.0
/// \file
/// RMS and layer normalisation, forward and backward.
///
/// A row of X becomes z, which has a mean square of 1, and is scaled by a weight for each column. Layer
/// normalisation takes the row's mean away before, and adds a bias b:
///
///     rms_norm      r = 1 / sqrt(mean(x^2) + epsilon)       z = x r                y = z w
///     layer_norm    r = 1 / sqrt(variance + epsilon)        z = (x - mean) r       y = z w + b
///
/// The forward kernels also write r, and mean, which the backward kernels read. With g = w dy,
///
///     dx = r (g - z mean(g z))     less r mean(g) in layer_norm_bwd
///     dw = sum over rows of dy z                         db = sum over rows of dy
///
/// X, Y and their gradients are row-major, bf16; the rest and all arithmetic are f32. A thread has 8
/// neighbours of a row at a time: one load of 16 bytes. It adds up its own elements, and only the last sums
/// cross threads. n is a multiple of `vector`, by default of 8 where the given n is. So no vector lies
/// across the end of a row; where one may, tiles at the end of rows go element by element.
///
/// There is a launch for each range of lengths of rows, of which one has blocks: how many warps a block has
/// and how many rows, and how many blocks a multiprocessor, depends on the length.
///
/// Forward, a block holds its rows in registers. From there layer_norm takes the mean and then the variance,
/// so that a mean far from 0 costs no digits. A thread has the same columns of two rows, so that a weight is
/// loaded once for both. Rows beyond 16384 columns are read in tiles of 4096. Each element of a tile keeps
/// the mean and the sum of squares of its column over the tiles; then those of all elements are merged. So
/// one pass gives both, and rows may have any length. They are read once more, from the L2 cache, for the
/// result.
///
/// The gradients of w and b are sums over rows. Backward blocks, of which as many run at a time as the device
/// holds, take a few rows at a time. Copies of the next rows to shared memory run ahead, so that enough bytes
/// are under way whatever the sums wait for; there rows are read twice. Threads add up what is of their
/// columns in registers. What is beyond 16384 columns is read again from memory, and a launch of its own adds
/// up its weights. All leave their sums in a workspace, which the last launch adds up: the result has the
/// same bits in every run.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

enum class Norm { rms, layer };
constexpr double epsilonOf(Norm norm) { return norm == Norm::rms ? 1e-6 : 1e-5; }
constexpr int64_t segment = 256; ///< elements of a row that a warp loads at a time, 8 by each thread

/// What a forward launch is for: rows of up to `longest` columns. A block has `rows` of them, and a thread
/// the same columns of `each` rows.
struct ForwardForm {
  int64_t longest, warps, residents, rows, each;
};
constexpr ForwardForm rmsForward[] = {
    {512, 8, 4, 8, 1},  {1024, 8, 4, 8, 1}, {1536, 8, 4, 4, 1}, {2048, 8, 4, 4, 1},  {3072, 8, 4, 2, 1},
    {4096, 8, 4, 2, 1}, {6144, 8, 4, 1, 1}, {8192, 8, 4, 1, 1}, {12288, 8, 3, 1, 1}, {16384, 8, 2, 1, 1}};
constexpr ForwardForm layerForward[] = {
    {768, 4, 6, 8, 2},   {1024, 4, 7, 4, 2}, {1536, 6, 5, 4, 2}, {2048, 4, 7, 2, 2},  {2560, 5, 6, 2, 2},
    {5120, 10, 3, 2, 2}, {6144, 8, 3, 2, 2}, {8192, 8, 4, 1, 1}, {12288, 8, 3, 1, 1}, {16384, 8, 2, 1, 1}};

/// What a backward launch is for: rows of up to `longest` columns. A block takes `rows` of them at a time,
/// and `stages` such groups are under way.
struct BackwardForm {
  int64_t longest, warps, residents, rows, stages;
};
constexpr BackwardForm rmsBackward[] = {
    {1024, 2, 8, 1, 4}, {2048, 4, 4, 1, 3}, {4096, 8, 3, 1, 3}, {8192, 8, 2, 1, 2}, {16384, 16, 1, 1, 2}};
constexpr BackwardForm layerBackward[] = {{1024, 4, 5, 4, 2}, {1536, 6, 4, 2, 2}, {2560, 5, 3, 2, 2},
                                          {4096, 8, 2, 2, 2}, {8192, 8, 2, 1, 2}, {16384, 16, 1, 1, 3}};

/// 1 if n is in the range from after `shorter`, or from 0, to `longest`, otherwise 0.
Index isMeant(const Index &n, int64_t shorter, int64_t longest) {
  Index isShort = min(Index(longest) / max(n, 1), 1);
  return shorter == 0 ? isShort : min(n / (shorter + 1), 1) * isShort;
}

std::string launchName(Norm norm, const char *suffix) {
  return std::string(norm == Norm::rms ? "rms_norm" : "layer_norm") + suffix;
}

/// What n is a multiple of.
int64_t vectorOf(const Values &v) { return v["vector"] > 0 ? v["vector"] : v["n"] % 8 == 0 ? 8 : 1; }

void forward(Scope &k, const Values &v, Norm norm, std::span<const ForwardForm> forms) {
  const bool centred = norm == Norm::layer;
  Index m = k.dim("m"), n = k.dim("n", {.multipleOf = vectorOf(v)});
  Global X = k.input("X", bf16, {m, n}), W = k.input("W", f32, {n});
  std::optional<Global> B, Mean;
  if (centred)
    B = k.input("B", f32, {n});
  Global Y = k.output("Y", bf16, {m, n});
  if (centred)
    Mean = k.output("Mean", f32, {m});
  Global R = k.output("R", f32, {m});
  auto noteFactors = [&](const Index &row, int64_t rows, const FragmentValue &mean, const FragmentValue &r) {
    if (centred)
      copy(mean, Mean->tile({row}, {rows}));
    copy(r, R.tile({row}, {rows}));
  };
  auto finish = [&](const Index &row, const Index &column, const FragmentValue &x, const FragmentValue &mean,
                    const FragmentValue &r) {
    const int64_t rows = x.shape()[0], width = x.shape()[1];
    Fragment w = k.fragment(f32, {1, width}), b = k.fragment(f32, {1, width});
    copy(W.tile({column}, {width}), w);
    if (centred)
      copy(B->tile({column}, {width}), b);
    FragmentValue y = centred ? fma(fma(x, r, -mean * r), w, b) : x * r * w;
    copy(y.to(bf16), Y.tile({row, column}, {rows, width}));
  };

  int64_t shorter = 0;
  for (const ForwardForm &form : forms) {
    k.launch(launchName(norm, "_") + std::to_string(form.longest), [&] {
      k.warps(form.warps);
      k.residents(form.residents);
      const int64_t rows = form.rows, width = form.warps * segment * form.each / rows;
      const int64_t tiles = form.longest / width;
      auto [block] = k.grid(ceilDiv(m, rows) * isMeant(n, shorter, form.longest));
      Index row = block * rows;
      std::vector<Fragment> x;
      for (int64_t j = 0; j < tiles; ++j) {
        x.push_back(k.fragment(bf16, {rows, width}));
        copy(X.tile({row, j * width}, {rows, width}), x.back()); // 0 beyond the end
      }
      FragmentValue mean = k.fragment(f32, {rows, 1});
      if (centred) {
        Fragment sum = k.fragment(f32, {rows, width});
        for (const Fragment &tile : x)
          sum += tile.to(f32);
        mean = rowSum(sum) / n.to(f32);
      }
      Fragment squares = k.fragment(f32, {rows, width});
      for (int64_t j = 0; j < tiles; ++j) {
        FragmentValue d = x[size_t(j)].to(f32);
        if (centred)
          d = d - mean;
        if (centred && (j + 1) * width > shorter)
          d = where([&](Index, Index column) { return (j * width + column) / vectorOf(v) < n / vectorOf(v); },
                    d, 0);
        squares = fma(d, d, squares);
      }
      FragmentValue r = rsqrt(rowSum(squares) / n.to(f32) + epsilonOf(norm));
      noteFactors(row, rows, mean, r);
      for (int64_t j = 0; j < tiles; ++j)
        finish(row, j * width, x[size_t(j)].to(f32), mean, r);
    });
    shorter = form.longest;
  }
  k.launch(launchName(norm, "_streamed"), [&] {
    constexpr int64_t width = 16 * segment;
    k.warps(8);
    k.residents(3);
    auto [row] = k.grid(m * min(n / (shorter + 1), 1));
    Fragment x = k.fragment(bf16, {1, width});
    Fragment means = k.fragment(f32, {1, width}), squares = k.fragment(f32, {1, width});
    FragmentValue mean = k.fragment(f32, {1, 1});
    k.loop(ceilDiv(n, width), [&, row = row](Index j) {
      copy(X.tile({row, j * width}, {1, width}), x);
      if (!centred) {
        squares = fma(x.to(f32), x.to(f32), squares);
        return;
      }
      FragmentValue step =
          where([&](Index, Index column) { return j * width + column < n; }, x.to(f32) - means, 0);
      means += step / (j + 1).to(f32);
      squares = fma(step, x.to(f32) - means, squares);
    });
    if (centred) {
      FragmentValue count = (((n + (width - 1)).to(i32) - k.positions({1, width}, 1)) / width).to(f32);
      mean = rowSum(means * count) / n.to(f32);
      squares += (means - mean) * (means - mean) * count;
    }
    FragmentValue r = rsqrt(rowSum(squares) / n.to(f32) + epsilonOf(norm));
    noteFactors(row, 1, mean, r);
    k.loop(ceilDiv(n, width), [&, row = row](Index j) {
      copy(X.tile({row, j * width}, {1, width}), x);
      finish(row, j * width, x.to(f32), mean, r);
    });
  });
}

constexpr int64_t multiprocessors = 132;

/// The tensors of a backward kernel. `partial` has the sums of dW, and of dB, that each block leaves.
struct Gradients {
  bool centred; ///< layer_norm_bwd
  Index m, n;
  Global X, W, R, dY, dX, dW, partial;
  std::optional<Global> Mean, dB;

  int64_t sumCount() const { return centred ? 2 : 1; }
};

/// A launch of a backward kernel, for rows of more than `shorter` columns and up to those of the form, or of
/// any more: of these it adds up the weights of as many columns as it holds.
void gradientsOfRows(Scope &k, const Gradients &t, const BackwardForm &form, int64_t shorter,
                     bool isLongest) {
  k.warps(form.warps);
  k.residents(form.residents);
  const int64_t parts = form.residents * multiprocessors, rows = form.rows;
  auto [block] =
      k.grid(parts * (isLongest ? min(t.n / (shorter + 1), 1) : isMeant(t.n, shorter, form.longest)));
  const int64_t width = form.warps * segment, tiles = form.longest / width;
  struct Tile {                // of rows
    std::vector<Shared> x, dy; // of each row
    Shared w;
    Fragment dw, db;
  };
  std::vector<Tile> held;
  for (int64_t j = 0; j < tiles; ++j) {
    held.push_back(
        {{}, {}, k.shared("w", f32, {width}), k.fragment(f32, {1, width}), k.fragment(f32, {1, width})});
    copy(t.W.tile({j * width}, {width}), held.back().w);
    for (int64_t row = 0; row < rows; ++row) {
      held.back().x.push_back(k.shared("x", bf16, {width}));
      held.back().dy.push_back(k.shared("dy", bf16, {width}));
    }
  }
  struct Row { // its factors are loaded a round ahead
    Fragment mean, r;
  };
  std::vector<Row> next;
  auto loadFactors = [&](Row &row, const Index &at) {
    if (t.centred)
      copy(t.Mean->tile({at}, {1}), row.mean);
    copy(t.R.tile({at}, {1}), row.r);
  };
  for (int64_t row = 0; row < rows; ++row) {
    next.push_back({k.fragment(f32, {1, 1}), k.fragment(f32, {1, 1})});
    loadFactors(next.back(), block * rows + row);
  }
  k.pipelined({block, ceilDiv(t.m, rows), parts}, {.stages = form.stages}, [&](Index i) {
    auto sliceOf = [&](const Global &tensor, int64_t row, const Index &j) {
      return tensor.tile({i * rows + row, j * width}, {1, width});
    };
    for (int64_t j = 0; j < tiles; ++j)
      for (int64_t row = 0; row < rows; ++row) {
        copy(sliceOf(t.X, row, j), held[size_t(j)].x[size_t(row)]);
        copy(sliceOf(t.dY, row, j), held[size_t(j)].dy[size_t(row)]);
      }
    std::vector<FragmentValue> r, shift; // z = x r - shift
    std::vector<Fragment> sumG, sumGz;
    for (int64_t row = 0; row < rows; ++row) {
      r.push_back(next[size_t(row)].r);
      shift.push_back(next[size_t(row)].mean * r.back());
      loadFactors(next[size_t(row)], (i + parts) * rows + row);
      sumG.push_back(k.fragment(f32, {1, width}));
      sumGz.push_back(k.fragment(f32, {1, width}));
    }
    Fragment x = k.fragment(bf16, {1, width}), dy = k.fragment(bf16, {1, width});
    Fragment w = k.fragment(f32, {1, width});
    auto zOf = [&](int64_t row) {
      return t.centred ? fma(x.to(f32), r[size_t(row)], -shift[size_t(row)]) : x.to(f32) * r[size_t(row)];
    };
    using Visit = std::function<void(int64_t, const Index &)>; // with x, dy and w of a row's tile
    auto ofHeld = [&](const Visit &visit) {
      for (int64_t j = 0; j < tiles; ++j) {
        copy(held[size_t(j)].w, w);
        for (int64_t row = 0; row < rows; ++row) {
          copy(held[size_t(j)].x[size_t(row)], x);
          copy(held[size_t(j)].dy[size_t(row)], dy); // 0 beyond the end, and so is g
          visit(row, j);
        }
      }
    };
    auto ofOthers = [&](const Visit &visit) {
      if (isLongest)
        k.loop({tiles, ceilDiv(t.n, width)}, [&](Index j) {
          copy(t.W.tile({j * width}, {width}), w);
          for (int64_t row = 0; row < rows; ++row) {
            copy(sliceOf(t.X, row, j), x);
            copy(sliceOf(t.dY, row, j), dy);
            visit(row, j);
          }
        });
    };
    auto add = [&](int64_t row, const Index &) {
      FragmentValue g = w * dy.to(f32);
      if (t.centred)
        sumG[size_t(row)] += g;
      sumGz[size_t(row)] = fma(g, zOf(row), sumGz[size_t(row)]);
    };
    ofHeld(add);
    ofOthers(add);
    // All sums as rows of one fragment, which cross threads together.
    const int64_t sums = rows * t.sumCount();
    FragmentValue number = k.positions({sums, 1}, 0);
    Fragment all = k.fragment(f32, {sums, width});
    for (int64_t row = 0; row < rows; ++row) {
      all = where(number == row, sumGz[size_t(row)], all);
      if (t.centred)
        all = where(number == rows + row, sumG[size_t(row)], all);
    }
    FragmentValue means = rowSum(all) / t.n.to(f32);
    auto meanOf = [&](int64_t at) { return reduce(Reduction::sum, where(number == at, means, 0), 0); };
    std::vector<FragmentValue> c, a; // dx = g r - z c - a
    for (int64_t row = 0; row < rows; ++row) {
      c.push_back(r[size_t(row)] * meanOf(row));
      a.push_back(r[size_t(row)] * (t.centred ? meanOf(rows + row) : c.back()));
    }
    auto finish = [&](int64_t row, const Index &j) {
      FragmentValue g = w * dy.to(f32);
      FragmentValue scaled = t.centred ? fma(g, r[size_t(row)], -a[size_t(row)]) : g * r[size_t(row)];
      copy(fma(-zOf(row), c[size_t(row)], scaled).to(bf16), sliceOf(t.dX, row, j));
    };
    ofHeld([&](int64_t row, const Index &j) {
      finish(row, j);
      Tile &tile = held[size_t(*j.constant())];
      tile.dw = fma(dy.to(f32), zOf(row), tile.dw);
      if (t.centred)
        tile.db += dy.to(f32);
    });
    ofOthers(finish);
  });
  for (int64_t j = 0; j < tiles; ++j) {
    copy(held[size_t(j)].dw, t.partial.tile({0, block, j * width}, {1, 1, width}));
    if (t.centred)
      copy(held[size_t(j)].db, t.partial.tile({1, block, j * width}, {1, 1, width}));
  }
}

/// Leaves the sums of the columns from `held` on.
void weightsOfOthers(Scope &k, const Gradients &t, int64_t held) {
  constexpr int64_t tall = 32, narrow = 128;
  auto [j, part] = k.grid(max(ceilDiv(t.n, narrow) - held / narrow, 0), multiprocessors);
  Index column = held + j * narrow;
  Fragment x = k.fragment(bf16, {tall, narrow}), dy = k.fragment(bf16, {tall, narrow});
  Fragment mean = k.fragment(f32, {tall, 1}), r = k.fragment(f32, {tall, 1});
  Fragment dw = k.fragment(f32, {tall, narrow}), db = k.fragment(f32, {tall, narrow});
  k.loop({part, ceilDiv(t.m, tall), multiprocessors}, [&](Index i) {
    copy(t.X.tile({i * tall, column}, {tall, narrow}), x);
    copy(t.dY.tile({i * tall, column}, {tall, narrow}), dy);
    copy(t.R.tile({i * tall}, {tall}), r);
    if (t.centred)
      copy(t.Mean->tile({i * tall}, {tall}), mean);
    dw += dy.to(f32) * ((x.to(f32) - mean) * r);
    db += dy.to(f32);
  });
  copy(reduce(Reduction::sum, dw, 0), t.partial.tile({0, part, column}, {1, 1, narrow}));
  if (t.centred)
    copy(reduce(Reduction::sum, db, 0), t.partial.tile({1, part, column}, {1, 1, narrow}));
}

/// Adds up what blocks have left.
void sumOfParts(Scope &k, const Gradients &t, const Index &parts) {
  constexpr int64_t width = 32, together = 4 * multiprocessors; // parts that are added at a time
  k.warps(16);
  auto [j, which] = k.grid(ceilDiv(t.n, width), t.sumCount());
  Fragment sums = k.fragment(f32, {together, width}), part = k.fragment(f32, {together, width});
  k.loop(ceilDiv(parts, together), [&, j = j, which = which](Index p) {
    copy(t.partial.tile({which, p * together, j * width}, {1, together, width}).limited(1, parts), part);
    sums += part;
  });
  auto store = [&, j = j](const Global &total) {
    copy(reduce(Reduction::sum, sums, 0), total.tile({j * width}, {width}));
  };
  if (t.centred)
    k.when(which == 0, [&] { store(t.dW); }, [&] { store(*t.dB); });
  else
    store(t.dW);
}

void backward(Scope &k, const Values &v, Norm norm, std::span<const BackwardForm> forms) {
  const bool centred = norm == Norm::layer;
  Index m = k.dim("m"), n = k.dim("n", {.multipleOf = vectorOf(v)});
  auto row = [&](const char *name) { return k.input(name, f32, {m}); };
  auto input = [&](const char *name) { return k.input(name, bf16, {m, n}); };
  // In the order in which callers pass them.
  Global X = input("X"), W = k.input("W", f32, {n});
  std::optional<Global> Mean, dY, dB;
  if (centred) {
    dY = input("dY");
    Mean = row("Mean");
  }
  Global R = row("R");
  if (!centred)
    dY = input("dY");
  Global dX = k.output("dX", bf16, {m, n}), dW = k.output("dW", f32, {n});
  if (centred)
    dB = k.output("dB", f32, {n});
  int64_t mostParts = 0;
  Index parts = 0;
  for (const BackwardForm &form : std::views::reverse(forms)) {
    const int64_t blocks = form.residents * multiprocessors;
    mostParts = std::max(mostParts, blocks);
    parts = &form == &forms.back() ? Index(blocks) : where(n <= form.longest, Index(blocks), parts);
  }
  Global partial = k.workspace("partial", f32, {centred ? 2 : 1, mostParts, n});
  const Gradients t{centred, m, n, X, W, R, *dY, dX, dW, partial, Mean, dB};

  int64_t shorter = 0;
  for (const BackwardForm &form : forms) {
    k.launch(launchName(norm, "_bwd_") + std::to_string(form.longest),
             [&] { gradientsOfRows(k, t, form, shorter, &form == &forms.back()); });
    shorter = form.longest;
  }
  k.launch(launchName(norm, "_bwd_weights"), [&] { weightsOfOthers(k, t, shorter); });
  k.launch(launchName(norm, "_bwd_sum"), [&] { sumOfParts(k, t, parts); });
}

/// What the references are made of: a number of each row, computed once.
template <class F> std::vector<double> ofRows(int64_t count, F function) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(function(i));
  return numbers;
}

/// The mean of numbers of a row.
template <class F> double meanOf(int64_t n, F number) {
  double sum = 0;
  for (int64_t j = 0; j < n; ++j)
    sum += number(j);
  return sum / double(n);
}

/// The mean of each row, which rms_norm does not take away.
std::vector<double> meansOf(const HostArray &X, Norm norm) {
  return ofRows(X.shape()[0], [&](int64_t i) {
    return norm == Norm::rms ? 0 : meanOf(X.shape()[1], [&](int64_t j) { return X(i, j); });
  });
}

std::vector<double> factorsOf(const HostArray &X, Norm norm) {
  std::vector<double> means = meansOf(X, norm);
  return ofRows(X.shape()[0], [&](int64_t i) {
    auto square = [&](int64_t j) { return (X(i, j) - means[size_t(i)]) * (X(i, j) - means[size_t(i)]); };
    return 1 / std::sqrt(meanOf(X.shape()[1], square) + epsilonOf(norm));
  });
}

/// z of an element, from what the backward kernels are given.
auto zOf(const HostInputs &in, Norm norm) {
  std::optional<HostArray> Mean;
  if (norm == Norm::layer)
    Mean = in.tensor("Mean");
  return [X = in.tensor("X"), R = in.tensor("R"), Mean](int64_t i, int64_t j) {
    return (X(i, j) - (Mean ? (*Mean)(i) : 0)) * R(i);
  };
}

/// Sums over rows of the products of dY and what `factor` gives.
template <class F> auto columnSum(const HostInputs &in, F factor) {
  return [dY = in.tensor("dY"), m = in.values["m"], factor](int64_t j) {
    double sum = 0;
    for (int64_t i = 0; i < m; ++i)
      sum += dY(i, j) * factor(i, j);
    return sum;
  };
}

void registerNorm(KernelFile &file, Norm norm, const std::string &result, const std::string &numbers) {
  const bool centred = norm == Norm::layer;
  const Limits vector{.least = 0,
                      .most = 8,
                      .help = "what n is known to be a multiple of; 0: 8 if the given one is, otherwise 1"};
  auto mean = [=](const HostInputs &in) {
    return [means = meansOf(in.tensor("X"), norm)](int64_t i) { return means[size_t(i)]; };
  };
  auto factor = [=](const HostInputs &in) {
    return [factors = factorsOf(in.tensor("X"), norm)](int64_t i) { return factors[size_t(i)]; };
  };
  KernelEntry &forwardEntry =
      file.kernel(launchName(norm, ""), "Y = " + result + ", row by row, and " + numbers + " of each row")
          .size("m", 4096, {.onEmulator = 11})
          .size("n", 4096, {.least = 1, .onEmulator = 1504})
          .constant("vector", 0, vector)
          .program([=](Scope &k, const Values &v) {
            forward(k, v, norm, centred ? std::span<const ForwardForm>(layerForward) : rmsForward);
          })
          .reference("Y",
                     [=](const HostInputs &in) {
                       HostArray X = in.tensor("X"), W = in.tensor("W");
                       std::optional<HostArray> B;
                       if (centred)
                         B = in.tensor("B");
                       auto means = meansOf(X, norm), factors = factorsOf(X, norm);
                       return [=](int64_t i, int64_t j) {
                         return (X(i, j) - means[size_t(i)]) * factors[size_t(i)] * W(j) + (B ? (*B)(j) : 0);
                       };
                     })
          .reference("R", factor)
          .flops([=](const Values &v) { return (centred ? 9.0 : 4.0) * double(v["m"]) * double(v["n"]); })
          .bench({{"m", "16384"}, {"n", "8192"}});
  if (centred)
    forwardEntry.random("X", 99, 101).reference("Mean", mean);

  KernelEntry &backwardEntry =
      file.kernel(launchName(norm, "_bwd"),
                  "Gradients of " + launchName(norm, "") + " from dY, X and " + numbers)
          .size("m", 4096, {.onEmulator = 37})
          .size("n", 4096, {.least = 1, .onEmulator = 1304})
          .constant("vector", 0, vector)
          .program([=](Scope &k, const Values &v) {
            backward(k, v, norm, centred ? std::span<const BackwardForm>(layerBackward) : rmsBackward);
          })
          .contents("R", factor)
          .reference("dX",
                     [=](const HostInputs &in) {
                       HostArray W = in.tensor("W"), R = in.tensor("R"), dY = in.tensor("dY");
                       auto z = zOf(in, norm);
                       const int64_t m = in.values["m"], n = in.values["n"];
                       auto g = [=](int64_t i, int64_t j) { return W(j) * dY(i, j); };
                       auto meanG = ofRows(m, [&](int64_t i) {
                         return centred ? meanOf(n, [&](int64_t j) { return g(i, j); }) : 0;
                       });
                       auto meanGz = ofRows(m, [&](int64_t i) {
                         return meanOf(n, [&](int64_t j) { return g(i, j) * z(i, j); });
                       });
                       return [=](int64_t i, int64_t j) {
                         return R(i) * (g(i, j) - meanG[size_t(i)] - z(i, j) * meanGz[size_t(i)]);
                       };
                     })
          .reference("dW", [=](const HostInputs &in) { return columnSum(in, zOf(in, norm)); })
          .flops([=](const Values &v) { return (centred ? 16.0 : 12.0) * double(v["m"]) * double(v["n"]); })
          .bench({{"m", "16384"}, {"n", "8192"}});
  if (centred)
    backwardEntry.contents("Mean", mean).reference("dB", [](const HostInputs &in) {
      return columnSum(in, [](int64_t, int64_t) { return 1.0; });
    });
}

} // namespace

void registerKernels(KernelFile &file) {
  registerNorm(file, Norm::rms, "X / sqrt(mean(X^2)) W", "the factor R");
  registerNorm(file, Norm::layer, "(X - mean) / sqrt(variance) W + B", "Mean and the factor R");
}
