// SPDX-License-Identifier: Apache-2.0
/// \file
/// Convolution of images with filters of 3 x 3, with a margin of zeros: an implicit GEMM.
///
/// X is [images, height, width, channels], Y is [images, height, width, filters], W is [filters, 9,
/// channels], all bf16, with the nine taps in row-major order; sums are f32.
///
/// A tile of the result is 64 pixels of one row by 128 filters: a matrix of 64 rows, whose sum runs over nine
/// taps and the channels. For each tap and 64 channels the factors are the same pixels, moved by the tap, and
/// 128 x 64 of W. What is outside of an image reads as 0, which is the margin. So nothing is rearranged in
/// memory, and the TMA copies everything where channels are multiples of 8. A tile of several rows of pixels
/// would use each element of W more often, but its parts are no whole shared tiles, which the TMA fills.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void convolution(Scope &k) {
  constexpr int64_t bm = 64, bn = 128, bk = 64;
  Index images = k.dim("images"), height = k.dim("height"), width = k.dim("width");
  Index channels = k.dim("channels"), filters = k.dim("filters");
  Global X = k.input("X", bf16, {images, height, width, channels}),
         W = k.input("W", bf16, {filters, 9, channels});
  Global Y = k.output("Y", bf16, {images, height, width, filters});
  Index across = ceilDiv(width, bm), parts = ceilDiv(channels, bk);
  auto [pixels, j, image] = k.grid(across * height, ceilDiv(filters, bn), images);
  Index y = pixels / across, x = pixels % across * bm;
  Shared a = k.shared("a", bf16, {bm, bk}), b = k.shared("b", bf16, {bn, bk});
  Fragment acc = k.fragment(f32, {bm, bn}).named("acc");
  k.pipelined(9 * parts, {.stages = 4}, [&, j = j, image = image](Index s) {
    Index tap = s / parts, first = s % parts * bk, down = tap / 3 - 1, right = tap % 3 - 1;
    copy(X.tile({image, y + down, x + right, first}, {1, 1, bm, bk}), a);
    copy(W.tile({j * bn, tap, first}, {bn, 1, bk}), b);
    gemm(a, b.t(), acc);
  });
  copy(acc.to(bf16), Y.tile({image, y, x, j * bn}, {1, 1, bm, bn}));
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("convolution", "Y = images X with filters W of 3 x 3, with a margin of zeros")
      .size("images", 32, {.onEmulator = 2})
      .size("height", 56, {.onEmulator = 5})
      .size("width", 56, {.onEmulator = 70})
      .size("channels", 128, {.onEmulator = 72})
      .size("filters", 128, {.onEmulator = 136})
      .program(convolution)
      .reference("Y",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X"), W = in.tensor("W");
                   const int64_t height = X.shape()[1], width = X.shape()[2], channels = X.shape()[3];
                   return [=](int64_t n, int64_t y, int64_t x, int64_t f) {
                     double sum = 0;
                     for (int64_t tap = 0; tap < 9; ++tap) {
                       const int64_t v = y + tap / 3 - 1, u = x + tap % 3 - 1;
                       if (v >= 0 && v < height && u >= 0 && u < width)
                         for (int64_t c = 0; c < channels; ++c)
                           sum += X(n, v, u, c) * W(f, tap, c);
                     }
                     return sum;
                   };
                 })
      .flops([](const Values &v) {
        return 18.0 * double(v["images"]) * double(v["height"] * v["width"]) *
               double(v["channels"] * v["filters"]);
      })
      .bench({{"height", "14"}, {"width", "14"}, {"channels", "512"}, {"filters", "512"}});
}
