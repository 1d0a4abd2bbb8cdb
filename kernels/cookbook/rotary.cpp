// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rotary position embedding: pairs of elements, half a head apart, are turned by an angle that depends on
/// the token's position and the pair.
///
///     y[i] = x[i] cos - x[i + d/2] sin        y[i + d/2] = x[i + d/2] cos + x[i] sin
///
/// X is [tokens, heads, d], bf16. Cos and Sin are tables [positions, d/2], f32, which a model computes once,
/// in double precision if the positions are large; Position says for each token which row of them counts. The
/// gradient is the same turn backwards: direction=backward.
/// A block has 16 tokens of one head. Its 16 rows of the tables are gathered by the tokens' positions; they
/// are few and stay in the L2 cache for the other heads. With d = 128 a thread has 8 pairs, so that loads and
/// stores are vectors of 16 bytes.
#include <cmath>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

void rotary(Scope &k, const Values &v) {
  const int64_t d = v["d"], half = d / 2, rows = 16;
  Index tokens = k.dim("tokens"), heads = k.dim("heads"), positions = k.dim("positions");
  Global X = k.input("X", bf16, {tokens, heads, d}), Position = k.input("Position", i32, {tokens});
  Global Cos = k.input("Cos", f32, {positions, half}), Sin = k.input("Sin", f32, {positions, half});
  Global Y = k.output("Y", bf16, {tokens, heads, d});
  Index tiles = ceilDiv(tokens, rows);
  auto [block] = k.grid(tiles * heads);
  Index row = block % tiles * rows, head = block / tiles;
  auto part = [&](const Global &tensor, int64_t first) {
    return tensor.tile({row, head, first}, {rows, 1, half});
  };
  Fragment position = k.fragment(i32, {rows, 1});
  Fragment cosine = k.fragment(f32, {rows, half}), sine = k.fragment(f32, {rows, half});
  Fragment x = k.fragment(bf16, {rows, half}), other = k.fragment(bf16, {rows, half});
  copy(Position.tile({row}, {rows}), position);
  copy(Cos.tile({position.toIndex(), 0}, {rows, half}), cosine);
  copy(Sin.tile({position.toIndex(), 0}, {rows, half}), sine);
  if (v.text("direction") == "backward")
    sine = -sine;
  copy(part(X, 0), x);
  copy(part(X, half), other);
  copy((x.to(f32) * cosine - other.to(f32) * sine).to(bf16), part(Y, 0));
  copy((other.to(f32) * cosine + x.to(f32) * sine).to(bf16), part(Y, half));
}

double angle(int64_t position, int64_t pair, int64_t d) {
  return double(position) * std::pow(10000.0, -2.0 * double(pair) / double(d));
}

} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("rotary", "rotary position embedding of heads, by tables of cosines and sines")
      .size("tokens", 8192, {.onEmulator = 37})
      .size("heads", 32, {.onEmulator = 3})
      .size("positions", 8192, {.least = 1, .onEmulator = 100})
      .constant("d", 128, {.least = 16, .most = 256, .multipleOf = 16, .help = "elements of a head"})
      .choice("direction", {"forward", "backward"}, "backward: of the gradient")
      .program(rotary)
      .contents("Position",
                [](const HostInputs &in) {
                  return [n = in.values["positions"]](int64_t i) { return double(i * 7 % n); };
                })
      .contents("Cos",
                [](const HostInputs &in) {
                  return [d = in.values["d"]](int64_t p, int64_t i) { return std::cos(angle(p, i, d)); };
                })
      .contents("Sin",
                [](const HostInputs &in) {
                  return [d = in.values["d"]](int64_t p, int64_t i) { return std::sin(angle(p, i, d)); };
                })
      .reference("Y",
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X"), P = in.tensor("Position"), C = in.tensor("Cos"),
                             S = in.tensor("Sin");
                   const int64_t half = in.values["d"] / 2;
                   const double sign = in.values.text("direction") == "backward" ? -1 : 1;
                   return [=](int64_t t, int64_t h, int64_t i) {
                     const int64_t p = int64_t(P(t)), pair = i % half;
                     const double c = C(p, pair), s = sign * S(p, pair);
                     return i < half ? X(t, h, i) * c - X(t, h, i + half) * s
                                     : X(t, h, i) * c + X(t, h, i - half) * s;
                   };
                 })
      .flops([](const Values &v) { return 3.0 * double(v["tokens"] * v["heads"] * v["d"]); })
      .bench({{"d", "64"}, {"heads", "64"}});
}
