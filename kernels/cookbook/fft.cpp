// SPDX-License-Identifier: Apache-2.0
/// \file
/// The discrete Fourier transform of rows of 4096 complex numbers, by products of matrices.
///
/// X and Y are [rows, 2, 64, 64], f16 and f32: the real parts of a row, then the imaginary ones, each of 4096
/// numbers as 64 x 64. With the positions n = 64 a + b and k = c + 64 d,
///
///     Y[d][c] = sum over b of w64^(b d) (w4096^(b c) (sum over a of w64^(a c) X[a][b])),     wn = exp(-2 pi
///     i / n)
///
/// so that with the matrix F = w64^(i j) a row is F X, multiplied by w4096^(b c) element by element, times F,
/// and turned round. A complex product is four real ones.
///
/// A block of four warps keeps F, and F with the imaginary part negated, in shared memory as f16, and the
/// factors w4096^(b c). It transforms every so many-th row, and the next two rows are loaded while it
/// computes. The first product's result is the left factor of the second one without leaving its registers.
/// Two blocks share a multiprocessor: while one multiplies, the other one stores. f16 gives three digits.
#include <cmath>
#include <numbers>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

constexpr int64_t n = 64;

void fft(Scope &k) {
  constexpr int64_t residents = 2; // one computes while the other stores
  k.residents(residents);
  Index rows = k.dim("rows");
  Global X = k.input("X", f16, {rows, 2, n, n}), Y = k.output("Y", f32, {rows, 2, n, n});
  auto [block] = k.grid(min(rows, k.multiprocessors() * residents));
  Shared fr = k.shared("fr", f16, {n, n}), fi = k.shared("fi", f16, {n, n}),
         minus = k.shared("minus", f16, {n, n});
  Shared xr = k.shared("xr", f16, {n, n}), xi = k.shared("xi", f16, {n, n});
  Shared turned = k.shared("turned", f32, {n, n});
  FragmentValue product = (k.positions({n, n}, 0) * k.positions({n, n}, 1)).to(f32);
  FragmentValue coarse = product * (2 * std::numbers::pi / double(n)), fine = coarse * (1.0 / double(n));
  copy(cos(coarse).to(f16), fr);
  copy((-sin(coarse)).to(f16), fi);
  copy(sin(coarse).to(f16), minus);
  Shared factorR = k.shared("wr", f16, {n, n}), factorI = k.shared("wi", f16, {n, n});
  copy(cos(fine).to(f16), factorR);
  copy((-sin(fine)).to(f16), factorI);
  k.pipelined({block, rows, k.blocks()}, {.stages = 2}, [&](Index row) {
    copy(X.tile({row, 0, 0, 0}, {1, 1, n, n}), xr);
    copy(X.tile({row, 1, 0, 0}, {1, 1, n, n}), xi);
    Fragment tr = k.fragment(f32, {n, n}), ti = k.fragment(f32, {n, n});
    gemm(fr, xr, tr);
    gemm(minus, xi, tr);
    gemm(fr, xi, ti);
    gemm(fi, xr, ti);
    Fragment r = k.fragment(f16, {n, n}), i = k.fragment(f16, {n, n});
    copy(factorR, r);
    copy(factorI, i);
    FragmentValue wr = r.to(f32), wi = i.to(f32);
    FragmentValue ur = (tr * wr - ti * wi).to(f16), ui = (tr * wi + ti * wr).to(f16);
    Fragment yr = k.fragment(f32, {n, n}), yi = k.fragment(f32, {n, n}), y = k.fragment(f32, {n, n});
    gemm(ur, fr, yr);
    gemm(ui, minus, yr);
    gemm(ur, fi, yi);
    gemm(ui, fr, yi);
    copy(yr, turned);
    copy(turned.t(), y);
    copy(y, Y.tile({row, 0, 0, 0}, {1, 1, n, n}));
    copy(yi, turned);
    copy(turned.t(), y);
    copy(y, Y.tile({row, 1, 0, 0}, {1, 1, n, n}));
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("fft", "Fourier transform of rows of 4096 complex numbers, by products")
      .size("rows", 1024, {.onEmulator = 5})
      .program(fft)
      .reference("Y",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X");
                   std::vector<double> cosines(n * n);
                   for (int64_t i = 0; i < n * n; ++i)
                     cosines[size_t(i)] = std::cos(2 * std::numbers::pi * double(i) / double(n * n));
                   // The inner sums over a of the row asked for last, for each b and c.
                   std::vector<double> real(n * n), imaginary(n * n);
                   auto w = [cosines](int64_t i) { // the real and the imaginary part of w4096^i
                     return std::pair(cosines[size_t(i % (n * n))],
                                      cosines[size_t((i + n * n / 4) % (n * n))]);
                   };
                   return [=, last = int64_t(-1)](int64_t row, int64_t part, int64_t d, int64_t c) mutable {
                     if (row != last) {
                       last = row;
                       for (int64_t b = 0; b < n; ++b)
                         for (int64_t c = 0; c < n; ++c) {
                           double re = 0, im = 0;
                           for (int64_t a = 0; a < n; ++a) {
                             auto [wr, wi] = w((n * a + b) * c);
                             re += X(row, 0, a, b) * wr - X(row, 1, a, b) * wi;
                             im += X(row, 0, a, b) * wi + X(row, 1, a, b) * wr;
                           }
                           real[size_t(b * n + c)] = re;
                           imaginary[size_t(b * n + c)] = im;
                         }
                     }
                     double sum = 0;
                     for (int64_t b = 0; b < n; ++b) {
                       auto [wr, wi] = w(n * b * d);
                       const double re = real[size_t(b * n + c)], im = imaginary[size_t(b * n + c)];
                       sum += part ? re * wi + im * wr : re * wr - im * wi;
                     }
                     return sum;
                   };
                 })
      .tolerance("Y", {.limit = 0.01, .floor = 50}) // sums of 8192 terms, of the order of 50
      .flops([](const Values &v) { return double(v["rows"]) * 16.0 * double(n * n * n); })
      .bench({{"rows", "65536"}});
}
