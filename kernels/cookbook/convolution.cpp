// SPDX-License-Identifier: Apache-2.0
/// \file
/// Convolution of images with filters of `taps` x `taps`, with a stride, a dilation and a margin of zeros: an
/// implicit GEMM.
///
/// X is [images, height, width, channels], W is [filters, taps, taps, channels], Y is [pixels, filters],
/// where the pixels are those of all results, row by row and image after image; all are bf16, sums are f32.
/// Channels are a multiple of 8, which the TMA wants.
///
/// A window of `taps` x `taps` moves over the images, and what it sees is a matrix: a row for each position,
/// of all taps and channels. It is not written anywhere: the TMA copies 128 positions at one tap and 64
/// channels from where they lie in X (im2col), and zeros for taps in the margin. So the convolution is the
/// product of this matrix with that of the filters, and tiles are full whatever the size of an image.
#include <algorithm>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void convolution(Scope &k, const Values &v) {
  constexpr int64_t bm = 128, bk = 64;
  const int64_t bn = v["columns"], taps = v["taps"], stride = v["stride"], dilation = v["dilation"],
                margin = v["margin"];
  const Window window = {.taps = {taps, taps},
                         .strides = {stride, stride},
                         .dilations = {dilation, dilation},
                         .before = {margin, margin},
                         .after = {margin, margin}};
  Index images = k.dim("images"), height = k.dim("height"), width = k.dim("width");
  Index channels = k.dim("channels", {.multipleOf = 8}), filters = k.dim("filters");
  Index pixels = images * window.count(0, height) * window.count(1, width);
  Global X = k.input("X", bf16, {images, height, width, channels}, {.alignment = 16}),
         W = k.input("W", bf16, {filters, taps, taps, channels}, {.alignment = 16});
  Global Y = k.output("Y", bf16, {pixels, filters});
  Global windows = X.windows(window); // [pixels, taps, taps, channels]
  Index parts = ceilDiv(channels, bk);
  k.persistent({ceilDiv(pixels, bm), ceilDiv(filters, bn)}, {.group = 16}, [&](Index i, Index j) {
    Shared a = k.shared("a", bf16, {bm, bk}), b = k.shared("b", bf16, {bn, bk});
    Fragment acc = k.fragment(f32, {bm, bn}).named("acc");
    k.pipelined(taps * taps * parts, {.stages = 4}, [&](Index s) {
      Index tap = s % (taps * taps), first = s / (taps * taps) * bk, row = tap / taps, column = tap % taps;
      copy(windows.tile({i * bm, row, column, first}, {bm, 1, 1, bk}), a);
      copy(W.tile({j * bn, row, column, first}, {bn, 1, 1, bk}), b);
      gemm(a, b.t(), acc);
    });
    copy(acc.to(bf16), Y.tile({i * bm, j * bn}, {bm, bn}));
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("convolution", "Y = images X with filters W, with a margin of zeros")
      .size("images", 32, {.onEmulator = 2})
      .size("height", 56, {.onEmulator = 5})
      .size("width", 56, {.onEmulator = 70})
      .size("channels", 128, {.multipleOf = 8, .onEmulator = 72})
      .size("filters", 128, {.onEmulator = 136})
      .constant("taps", 3, {.least = 1, .most = 31, .help = "of a filter, along each axis"})
      .constant("stride", 1, {.least = 1, .most = 8, .help = "pixels from one result to the next"})
      .constant("dilation", 1, {.least = 1, .most = 4, .help = "pixels from one tap to the next"})
      .constant("margin", 1, {.least = 0, .most = 127, .help = "zeros around an image"})
      .constant("columns", 128, {.least = 64, .most = 256, .multipleOf = 32, .help = "of a tile: filters"})
      .program(convolution)
      .reference("Y",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X"), W = in.tensor("W");
                   const int64_t height = X.shape()[1], width = X.shape()[2], channels = X.shape()[3];
                   const int64_t taps = in.values["taps"], stride = in.values["stride"],
                                 dilation = in.values["dilation"], margin = in.values["margin"];
                   auto count = [=](int64_t extent) {
                     return std::max<int64_t>(extent + 2 * margin - (taps - 1) * dilation - 1 + stride, 0) /
                            stride;
                   };
                   return [=, rows = count(height), columns = count(width)](int64_t p, int64_t f) {
                     double sum = 0;
                     for (int64_t tap = 0; tap < taps * taps; ++tap) {
                       const int64_t v = p / columns % rows * stride + tap / taps * dilation - margin,
                                     u = p % columns * stride + tap % taps * dilation - margin;
                       if (v >= 0 && v < height && u >= 0 && u < width)
                         for (int64_t c = 0; c < channels; ++c)
                           sum += X(p / columns / rows, v, u, c) * W(f, tap / taps, tap % taps, c);
                     }
                     return sum;
                   };
                 })
      .flops([](const Values &v) {
        auto count = [&](int64_t extent) {
          int64_t room = extent + 2 * v["margin"] - (v["taps"] - 1) * v["dilation"] - 1;
          return std::max<int64_t>(room + v["stride"], 0) / v["stride"];
        };
        return 2.0 * double(v["taps"] * v["taps"]) * double(v["images"]) * double(count(v["height"])) *
               double(count(v["width"])) * double(v["channels"]) * double(v["filters"]);
      })
      .bench({{"height", "14"}, {"width", "14"}, {"channels", "512"}, {"filters", "512"}})
      .bench({{"height", "112"}, {"width", "112"}, {"stride", "2"}, {"channels", "64"}});
}
