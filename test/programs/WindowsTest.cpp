// SPDX-License-Identifier: Apache-2.0
/// \file
/// What windows see of images: by the TMA in im2col mode, by cp.async and by threads.
#include "kernels/library/Compile.h"
#include "test/programs/ProgramRun.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::dsl;
using namespace tlc::test;

namespace {

Memory numbers(ElementType type, std::vector<int64_t> shape, int64_t padding = 0) {
  Memory memory = Memory::filled(type, std::move(shape), 0, padding);
  for (size_t i = 0; i < memory.values.size(); ++i)
    memory.values[i] = double((int64_t(i) * 37 + 11) % 9 - 4);
  return memory;
}

int64_t count(const Window &window, size_t axis, int64_t extent) {
  auto number = [&](const Shape &given, int64_t otherwise) {
    return given.empty() ? otherwise : given[axis];
  };
  int64_t room = extent + number(window.before, 0) + number(window.after, 0) -
                 (window.taps[axis] - 1) * number(window.dilations, 1) - 1;
  return room < 0 ? 0 : room / number(window.strides, 1) + 1;
}

/// The element of X that a position of the window sees; `fill` where there is none.
double seen(Memory &x, const Window &window, int64_t position, std::vector<int64_t> taps, int64_t channel,
            double fill) {
  auto number = [](const Shape &given, size_t axis, int64_t otherwise) {
    return given.empty() ? otherwise : given[axis];
  };
  std::vector<int64_t> at(taps.size() + 2);
  at.back() = channel;
  bool inside = channel < x.shape.back();
  for (size_t axis = taps.size(); axis-- > 0;) {
    int64_t positions = count(window, axis, x.shape[axis + 1]);
    if (positions == 0)
      return fill;
    at[axis + 1] = position % positions * number(window.strides, axis, 1) +
                   taps[axis] * number(window.dilations, axis, 1) - number(window.before, axis, 0);
    position /= positions;
    inside = inside && taps[axis] >= 0 && taps[axis] < window.taps[axis] && at[axis + 1] >= 0 &&
             at[axis + 1] < x.shape[axis + 1];
  }
  at.front() = position;
  return inside && position < x.shape.front() ? x.at(at) : fill;
}

/// How a tile comes to a fragment: by the TMA and a channel, in a loop that copies ahead, or at once.
enum class Way : uint8_t { channel, pipelined, fragment };

/// `store` of what `tile` gives, for each tap.
void forTaps(Scope &k, Way way, int64_t taps, Shape extents, const std::function<Slice(Index)> &tile,
             const std::function<Slice(Index)> &to) {
  if (way == Way::fragment) {
    Fragment x = k.fragment(bf16, extents);
    k.loop(taps, [&](Index tap) {
      copy(tile(tap), x);
      copy(x, to(tap));
    });
    return;
  }
  if (way == Way::pipelined) {
    Shared x = k.shared("x", bf16, extents);
    k.pipelined(taps, {.stages = 2}, [&](Index tap) {
      copy(tile(tap), x);
      Fragment y = k.fragment(bf16, extents);
      copy(x, y);
      copy(y, to(tap));
    });
    return;
  }
  Shared x = k.shared("x", bf16, extents, {.slots = 2});
  Channel loaded = k.channel("r", {.slots = 2});
  k.roles([&] {
    k.role("load", {.warps = 4}, [&] {
      k.loop(taps, [&](Index tap) { loaded.put([&](const Slot &at) { copy(tile(tap), x.slot(at)); }); });
    });
    k.role("store", {.warps = 4}, [&] {
      k.loop(taps, [&](Index tap) {
        Fragment y = k.fragment(bf16, extents);
        Slot at = loaded.get();
        copy(x.slot(at), y);
        loaded.release();
        copy(y, to(tap));
      });
    });
  });
}

/// Y = the columns of X at each tap in turn, in tiles of 32 positions and 16 channels.
Program columns(const Window &window, const TensorFacts &facts, Way way, double fill) {
  return Program::trace("columns", [=](Scope &k) {
    std::vector<Index> shape = {k.dim("images")};
    Index positions = shape[0];
    int64_t taps = 1;
    for (size_t axis = 0; axis < window.taps.size(); ++axis) {
      shape.push_back(k.dim("e" + std::to_string(axis)));
      positions = positions * window.count(axis, shape.back());
      taps *= window.taps[axis];
    }
    Index channels = k.dim("channels");
    shape.push_back(channels);
    Global X = k.input("X", bf16, shape, facts), Y = k.output("Y", bf16, {taps, positions, channels});
    auto [i, j] = k.grid(ceilDiv(positions, 32), ceilDiv(channels, 16));
    Global seen = X.windows(window);
    auto tileAt = [&, i = i, j = j](Index tap) {
      std::vector<Index> origin(window.taps.size() + 2, 0);
      Shape extents(origin.size(), 1);
      origin.front() = i * 32;
      origin.back() = j * 16;
      for (size_t axis = window.taps.size(); axis-- > 0; tap = tap / window.taps[axis])
        origin[axis + 1] = tap % window.taps[axis];
      extents.front() = 32, extents.back() = 16;
      Slice slice = seen.tile(origin, extents);
      return fill == 0 ? slice : slice.fill(fill);
    };
    auto toY = [&, i = i, j = j](const Index &tap) { return Y.tile({tap, i * 32, j * 16}, {1, 32, 16}); };
    forTaps(k, way, taps, {32, 16}, tileAt, toY);
  });
}

bool hasIm2col(const Artifact &artifact) {
  return artifact.variants.front().ptx.find(".im2col") != std::string::npos;
}

/// Runs it on images of these extents, and compares every element of Y.
void check(const Artifact &artifact, const Window &window, std::vector<int64_t> shape, double fill,
           int64_t padding = 0) {
  Memory x = numbers(bf16, shape, padding);
  int64_t positions = shape.front(), taps = 1;
  for (size_t axis = 0; axis < window.taps.size(); ++axis) {
    positions *= count(window, axis, shape[axis + 1]);
    taps *= window.taps[axis];
  }
  Memory y = Memory::filled(bf16, {taps, positions, shape.back()}, 99);
  run(artifact, {&x, &y});
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t p = 0; p < positions; ++p)
      for (int64_t c = 0; c < shape.back(); ++c) {
        std::vector<int64_t> at(window.taps.size());
        for (size_t axis = at.size(), rest = size_t(tap); axis-- > 0; rest /= size_t(window.taps[axis]))
          at[axis] = int64_t(rest) % window.taps[axis];
        double expected = seen(x, window, p, at, c, fill);
        if (y.at({tap, p, c}) != expected)
          FAIL("tap " << tap << ", position " << p << ", channel " << c << ": " << y.at({tap, p, c})
                      << " instead of " << expected);
      }
}

const Window windows[] = {
    {.taps = {3, 3}, .before = {1, 1}, .after = {1, 1}},
    {.taps = {3, 2}, .strides = {2, 3}, .dilations = {2, 1}, .before = {0, 1}, .after = {3, 0}},
    {.taps = {1, 1}},
    {.taps = {3}, .strides = {2}, .before = {2}, .after = {1}},
    {.taps = {2, 3, 2}, .strides = {1, 2, 1}, .before = {1, 1, 0}, .after = {0, 1, 1}},
};

} // namespace

TEST_CASE("columns of images by the TMA, by cp.async and by threads", "[windows]") {
  for (const Window &window : windows)
    for (Way way : {Way::channel, Way::pipelined, Way::fragment}) {
      const size_t axes = window.taps.size();
      CAPTURE(axes, window.taps, int(way));
      Artifact artifact = compiled(columns(window, {.alignment = way == Way::channel ? 16 : 1}, way, 0));
      CHECK(hasIm2col(artifact) == (way == Way::channel));
      std::vector<int64_t> inner = axes == 1   ? std::vector<int64_t>{29}
                                   : axes == 2 ? std::vector<int64_t>{5, 7}
                                               : std::vector<int64_t>{3, 4, 5};
      for (int64_t channels : {16, 24, 5}) { // whole tiles, in vectors, one by one
        if (way == Way::channel && channels % 8 != 0)
          continue;
        std::vector<int64_t> shape = {3};
        shape.insert(shape.end(), inner.begin(), inner.end());
        shape.push_back(channels);
        check(artifact, window, shape, 0);
      }
    }
  check(compiled(columns(windows[0], {}, Way::pipelined, 0), compilingFor("sm_80")), windows[0],
        {2, 5, 7, 24}, 0);
}

TEST_CASE("windows of images that leave no room for one, and of none", "[windows]") {
  const Window window = {.taps = {4, 4}, .before = {1, 0}, .after = {0, 0}};
  for (Way way : {Way::channel, Way::pipelined, Way::fragment}) {
    Artifact artifact = compiled(columns(window, {.alignment = 16}, way, 0));
    check(artifact, window, {2, 2, 9, 16}, 0);
    check(artifact, window, {2, 3, 3, 16}, 0);
    check(artifact, window, {0, 5, 5, 16}, 0);
    check(artifact, window, {2, 3, 4, 16}, 0);
  }
}

TEST_CASE("what is outside of an image is the slice's fill value", "[windows]") {
  for (Way way : {Way::pipelined, Way::fragment})
    check(compiled(columns(windows[0], {}, way, -3)), windows[0], {2, 4, 5, 24}, -3);
}

TEST_CASE("rows of images of any strides", "[windows]") {
  check(compiled(columns(windows[1], {.lastStride = LastStride::any}, Way::fragment, 0)), windows[1],
        {2, 5, 6, 9}, 0);
  check(compiled(columns(windows[1], {.alignment = 16}, Way::channel, 0)), windows[1], {2, 5, 6, 16}, 0, 8);
}

TEST_CASE("positions, taps and channels that there are not are outside", "[windows]") {
  const Window window = {.taps = {2}, .before = {1}, .after = {0}};
  for (Way way : {Way::channel, Way::pipelined, Way::fragment})
    for (int64_t first : {-16, -3, 0, 9, 100}) {
      CAPTURE(int(way), first);
      Artifact artifact = compiled(Program::trace("outside", [&](Scope &k) {
        Index n = k.dim("n");
        Global X = k.input("X", bf16, {n, 5, 8}, {.alignment = 16}), Y = k.output("Y", bf16, {4, 16, 16});
        Global seen = X.windows(window);
        forTaps(
            k, way, 4, {16, 16},
            [&](Index tap) { return seen.tile({n - 2 + first, tap - 1, 0}, {16, 1, 16}); },
            [&](Index tap) { return Y.tile({tap, 0, 0}, {1, 16, 16}); });
      }));
      CHECK(hasIm2col(artifact) == (way == Way::channel));
      Memory x = numbers(bf16, {2, 5, 8}), y = Memory::filled(bf16, {4, 16, 16}, 99);
      run(artifact, {&x, &y});
      for (int64_t tap = 0; tap < 4; ++tap)
        for (int64_t p = 0; p < 16; ++p)
          for (int64_t c = 0; c < 16;
               ++c) // a tile that begins before the first position is outside as a whole
            CHECK(y.at({tap, p, c}) == (first < 0 ? 0 : seen(x, window, first + p, {tap - 1}, c, 0)));
    }
}

TEST_CASE("blocks of a cluster share what windows see, with a hint for L2 as without", "[windows]") {
  struct Case {
    Window window;
    std::vector<int64_t> shape, taps;
  };
  const Case cases[] = {
      {{.taps = {3}, .strides = {2}, .before = {1}, .after = {1}}, {5, 6, 64}, {2}},
      {{.taps = {3, 3}, .strides = {1, 2}, .before = {1, 1}, .after = {1, 1}}, {3, 5, 6, 64}, {2, 1}},
      {{.taps = {2, 3, 3}, .strides = {1, 1, 2}, .before = {0, 1, 1}, .after = {1, 1, 1}},
       {1, 3, 5, 6, 64},
       {1, 2, 1}},
      // Along the last axis there is no position, and along the first there are several.
      {{.taps = {1, 1, 2}, .dilations = {1, 1, 2}, .before = {12, 0, 0}, .after = {12, 0, 0}},
       {1, 1, 2, 2, 64},
       {0, 0, 0}}};
  for (const auto &[window, shape, taps] : cases)
    for (Eviction eviction : {Eviction::normal, Eviction::last}) {
      CAPTURE(shape, int(eviction));
      Artifact artifact = compiled(Program::trace("shared", [&](Scope &k) {
        Index n = k.dim("n");
        std::vector<Index> extents(shape.begin(), shape.end()), origin = {0};
        Index positions = extents.front() = n;
        for (size_t axis = 0; axis < taps.size(); ++axis)
          positions = positions * count(window, axis, shape[axis + 1]);
        origin.insert(origin.end(), taps.begin(), taps.end());
        origin.emplace_back(0);
        Shape tile(origin.size(), 1);
        tile.front() = tile.back() = 64;
        Global X = k.input("X", bf16, extents, {.alignment = 16});
        Global Y = k.output("Y", bf16, {2, positions, 64});
        k.cluster(2);
        auto [block] = k.grid(2);
        Shared x = k.shared("x", bf16, {64, 64}, {.slots = 1});
        Channel loaded = k.channel("r", {.slots = 1, .multicast = true});
        Global seen = X.windows(window);
        k.roles([&, block = block] {
          k.role("load", {.warps = 4}, [&] {
            loaded.put([&](const Slot &at) { copy(seen.tile(origin, tile).evict(eviction), x.slot(at)); });
          });
          k.role("store", {.warps = 4}, [&] {
            Fragment y = k.fragment(bf16, {64, 64});
            Slot at = loaded.get();
            copy(x.slot(at), y);
            loaded.release();
            copy(y, Y.tile({block, 0, 0}, {1, 64, 64}));
          });
        });
      }));
      CHECK_THAT(artifact.variants.front().ptx,
                 Catch::Contains(".im2col.mbarrier::complete_tx::bytes.multicast::cluster" +
                                 std::string(eviction == Eviction::last ? ".L2::cache_hint [" : " [")));
      int64_t positions = shape.front(), wrong = 0;
      for (size_t axis = 0; axis < taps.size(); ++axis)
        positions *= count(window, axis, shape[axis + 1]);
      Memory x = numbers(bf16, shape), y = Memory::filled(bf16, {2, positions, 64}, 99);
      run(artifact, {&x, &y});
      for (int64_t block = 0; block < 2; ++block)
        for (int64_t p = 0; p < positions; ++p)
          for (int64_t c = 0; c < 64; ++c)
            wrong += y.at({block, p, c}) != seen(x, window, p, taps, c, 0);
      CHECK(wrong == 0);
    }
}

TEST_CASE("a tile of several taps", "[windows]") {
  const Window window = {.taps = {3}, .dilations = {2}, .before = {2}, .after = {2}};
  Artifact artifact = compiled(Program::trace("several", [&](Scope &k) {
    Index n = k.dim("n"), length = k.dim("length");
    Global X = k.input("X", f32, {n, length, 8}), Y = k.output("Y", f32, {n * length, 3, 8});
    auto [i] = k.grid(ceilDiv(n * length, 16));
    Fragment x = k.fragment(f32, {16, 3, 8});
    copy(X.windows(window).tile({i * 16, 0, 0}, {16, 3, 8}), x);
    copy(x, Y.tile({i * 16, 0, 0}, {16, 3, 8}));
  }));
  Memory x = numbers(f32, {3, 7, 8}), y = Memory::filled(f32, {21, 3, 8}, 99);
  run(artifact, {&x, &y});
  for (int64_t p = 0; p < 21; ++p)
    for (int64_t tap = 0; tap < 3; ++tap)
      for (int64_t c = 0; c < 8; ++c)
        CHECK(y.at({p, tap, c}) == seen(x, window, p, {tap}, c, 0));
}

TEST_CASE("the TMA refuses what a window is too much for, with a reason", "[windows]") {
  auto errorFor = [](const Window &window, const Shape &extents) {
    Program program = Program::trace("refused", [&](Scope &k) {
      std::vector<Index> shape(window.taps.size() + 2, k.dim("n")), origin(shape.size(), 0);
      shape.back() = 64;
      Global X = k.input("X", bf16, shape, {.alignment = 16}), Y = k.output("Y", bf16, {32, 64});
      k.require(Requirement::tma);
      Shared a = k.shared("a", bf16, {64, 64});
      Fragment acc = k.fragment(f32, {64, 64});
      k.pipelined(4, {.stages = 2}, [&](Index) {
        copy(X.windows(window).tile(origin, extents), a);
        gemm(a, a.t(), acc);
      });
      copy(acc.to(bf16), Y.tile({0, 0}, {64, 64}));
    });
    Result<Artifact> artifact = compile(std::move(program));
    return artifact ? std::string() : artifact.error().message;
  };
  using Catch::Matchers::Contains;
  CHECK(errorFor({.taps = {3}, .strides = {8}, .before = {32767}}, {64, 1, 64}) == "");
  CHECK_THAT(errorFor({.taps = {2}, .strides = {9}}, {64, 1, 64}),
             Contains("the window moves over 'X' by 9 elements along axis 1, and the TMA by at most 8"));
  CHECK_THAT(
      errorFor({.taps = {2, 1}, .dilations = {300, 1}, .after = {301, 0}}, {64, 1, 1, 64}),
      Contains(
          "the first taps of the window of 'X' begin at 0 and end 1 from the last element along axis 1"));
  CHECK_THAT(
      errorFor({.taps = {2, 1}, .before = {129, 0}}, {64, 1, 1, 64}),
      Contains("the first taps of the window of 'X' begin at -129 and end -1 from the last element along "
               "axis 1, and with 4 axes the TMA takes -128 to 127"));
  CHECK_THAT(
      errorFor({.taps = {64}}, {1, 64, 64}),
      Contains("a copy is of one tap of a window, but the slice of the windows of 'X' has 64 along axis 1"));
}
