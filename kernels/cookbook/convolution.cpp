// SPDX-License-Identifier: Apache-2.0
/// \file
/// Convolution of images with filters of 3 x 3, with a margin of zeros: an implicit GEMM.
///
/// X is [images, pixels, channels], Y is [images, pixels, filters], W is [filters, 9, channels], all bf16;
/// the pixels of an image are its rows of `width` pixels, one after the other, and the nine taps are in
/// row-major order; sums are f32. Channels are a multiple of 8, which the TMA wants.
///
/// A tile of the result is 128 pixels by `columns` filters: a matrix whose sum runs over nine taps and the
/// channels. For each tap and 64 channels the factors are the same pixels, moved by the tap, and 64 columns
/// of those filters. Pixels before the first row and after the last one are outside of the tensor and read as
/// 0, which is the margin. At the left and the right end of a row a moved pixel is one of another row. So the
/// taps to the left have sums of their own, from which the first pixels of rows are left out, as have those
/// to the right; the other taps are added to these. So nothing is rearranged in memory, and tiles are full
/// whatever the width.
///
/// The roles are written by hand, so that the copies of one part of the sum run during the products of the
/// part before, and those of a tile during the one before.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void convolution(Scope &k, const Values &v) {
  constexpr int64_t bm = 128, bk = 64;
  const int64_t width = v["width"], bn = v["columns"], stages = bn > 128 ? 4 : 5;
  Index images = k.dim("images"), pixels = k.dim("pixels");
  Index channels = k.dim("channels", {.multipleOf = 8}), filters = k.dim("filters");
  Global X = k.input("X", bf16, {images, pixels, channels}, {.alignment = 16}),
         W = k.input("W", bf16, {filters, 9, channels}, {.alignment = 16});
  Global Y = k.output("Y", bf16, {images, pixels, filters});
  Index across = ceilDiv(filters, bn), down = ceilDiv(pixels, bm), tiles = across * down * images;
  Index parts = ceilDiv(channels, bk);
  auto [block] = k.grid(min(tiles, k.multiprocessors()));
  Index blocks = k.blocks();
  struct Origin {
    Index image, pixel, filter;
  };
  auto originOf = [&](const Index &tile) {
    return Origin{tile / across / down, tile / across % down * bm, tile % across * bn};
  };
  Shared a = k.shared("a", bf16, {bm, bk}, {.slots = stages}),
         b = k.shared("b", bf16, {bn, bk}, {.slots = stages});
  Ring ring = k.ring("ab", {.slots = stages, .producers = 1, .consumers = 2});
  k.roles([&, block = block] {
    k.role("load", {.warps = 4}, [&] {
      Cursor at = ring.cursor();
      k.loop({block, tiles, blocks}, [&](Index tile) {
        Origin origin = originOf(tile);
        for (int64_t right : {-1, 1, 0})
          k.loop(3 * parts, [&](Index s) {
            Index row = s / parts, first = s % parts * bk, moved = (row - 1) * width + right;
            ring.acquire(at);
            ring.expect(at, a.slotBytes() + b.slotBytes());
            copy(X.tile({origin.image, origin.pixel + moved, first}, {1, bm, bk}), a.slot(at), ring.full(at));
            copy(W.tile({origin.filter, row * 3 + right + 1, first}, {bn, 1, bk}), b.slot(at), ring.full(at));
            at.advance();
          });
      });
    });
    k.role("math", {.warps = 8}, [&] {
      Cursor at = ring.cursor(), done = ring.cursor();
      auto release = [&] {
        ring.release(done);
        done.advance();
      };
      auto addTaps = [&](Fragment &sum) {
        k.loop(3 * parts, [&](Index s) {
          ring.wait(at);
          gemmAsync(a.slot(at), b.slot(at).t(), sum);
          at.advance();
          gemmWait(sum, 1); // the product before this one
          k.when(s > 0, release);
        });
        gemmWait(sum);
        k.when(parts > 0, release);
      };
      k.loop({block, tiles, blocks}, [&](Index tile) {
        Origin origin = originOf(tile);
        Fragment sum = k.fragment(f32, {bm, bn}).named("sum"),
                 right = k.fragment(f32, {bm, bn}).named("right");
        addTaps(sum);
        addTaps(right);
        FragmentValue x = (k.positions({bm, 1}, 0) + origin.pixel.to(i32)) % width;
        sum = where(x == 0, 0, sum) + where(x == width - 1, 0, right);
        addTaps(sum);
        copy(sum.to(bf16), Y.tile({origin.image, origin.pixel, origin.filter}, {1, bm, bn})
                               .disjoint("a block has a tile once"));
      });
    });
  });
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("convolution", "Y = images X with filters W of 3 x 3, with a margin of zeros")
      .size("images", 32, {.onEmulator = 2})
      .size("pixels", 3136, {.onEmulator = 350, .help = "height times width"})
      .size("channels", 128, {.multipleOf = 8, .onEmulator = 72})
      .size("filters", 128, {.onEmulator = 136})
      .constant("width", 56, {.least = 1, .most = 1 << 20, .onEmulator = 70, .help = "pixels of a row"})
      .constant("columns", 128, {.least = 64, .most = 192, .multipleOf = 32, .help = "of a tile: filters"})
      .program(convolution)
      .reference("Y",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X"), W = in.tensor("W");
                   const int64_t pixels = X.shape()[1], channels = X.shape()[2], width = in.values["width"];
                   return [=](int64_t n, int64_t p, int64_t f) {
                     double sum = 0;
                     for (int64_t tap = 0; tap < 9; ++tap) {
                       const int64_t v = p / width + tap / 3 - 1, u = p % width + tap % 3 - 1;
                       const int64_t moved = v * width + u;
                       if (v >= 0 && moved < pixels && u >= 0 && u < width)
                         for (int64_t c = 0; c < channels; ++c)
                           sum += X(n, moved, c) * W(f, tap, c);
                     }
                     return sum;
                   };
                 })
      .flops([](const Values &v) {
        return 18.0 * double(v["images"]) * double(v["pixels"]) * double(v["channels"] * v["filters"]);
      })
      .bench({{"pixels", "196"}, {"width", "14"}, {"channels", "512"}, {"filters", "512"}});
}
