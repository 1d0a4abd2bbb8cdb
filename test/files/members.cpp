// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tensors by a table of addresses.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {
void add(Scope &k) {
  Index groups = k.dim("groups"), m = k.dim("m"), n = k.dim("n");
  Addresses X = k.addresses("X", f32, groups), Y = k.addresses("Y", f32, groups, {.use = TensorUse::output});
  Global Z = k.input("Z", f32, {m, n});
  auto [g, i, j] = k.grid(groups, ceilDiv(m, 16), ceilDiv(n, 64));
  Fragment x = k.fragment(f32, {16, 64}), z = k.fragment(f32, {16, 64});
  copy(X.of(g, {m, n}, {n}).tile({i * 16, j * 64}, {16, 64}), x);
  copy(Z.tile({i * 16, j * 64}, {16, 64}), z);
  copy(x + z, Y.of(g, {m, n}, {n}).tile({i * 16, j * 64}, {16, 64}));
}

/// Y[g] = 2 X[g] of M[g] rows and N[g] columns.
void twice(Scope &k) {
  Index groups = k.dim("groups");
  Addresses X = k.addresses("X", f32, groups), Y = k.addresses("Y", f32, groups, {.use = TensorUse::output});
  Global M = k.input("M", i32, {groups}), N = k.input("N", i32, {groups}),
         Stride = k.input("Stride", i32, {1});
  auto [g] = k.grid(groups);
  Index m = M.read({g}), n = N.read({g}), stride = Stride.read({0});
  Global from = X.of(g, {m, n}, {stride}), to = Y.of(g, {m, n}, {stride});
  k.loop(ceilDiv(m, 16), [&](Index i) {
    k.loop(ceilDiv(n, 64), [&](Index j) {
      Fragment x = k.fragment(f32, {16, 64});
      copy(from.tile({i * 16, j * 64}, {16, 64}), x);
      copy(x * 2, to.tile({i * 16, j * 64}, {16, 64}));
    });
  });
}

/// Y[g] += 1.
void increment(Scope &k, const Values &v) {
  Index groups = k.dim("groups");
  Addresses Y = k.addresses("Y", v.type("dtype"), groups, {.axes = 1, .use = TensorUse::inout});
  Global N = k.input("N", i32, {groups});
  auto [g] = k.grid(groups);
  Slice all = Y.of(g, {N.read({g})}, {}).tile({0}, {128});
  Fragment y = k.fragment(v.type("dtype"), {128});
  copy(all, y);
  copy(y + 1, all);
}

int64_t rowsOf(const Values &v, int64_t g) { return v["m"] * g / (v["groups"] - 1); }
int64_t columnsOf(const Values &v, int64_t g) { return v["n"] - g; }

MemberExtents extents(const Values &v) {
  MemberExtents members;
  for (int64_t g = 0; g < v["groups"]; ++g)
    members.push_back({rowsOf(v, g), columnsOf(v, g)});
  return members;
}

/// Tables of as many members, and each of those extents.
KernelEntry &entry(KernelFile &file, std::string name) {
  return file.kernel(std::move(name), "Y[g] = 2 X[g]")
      .size("groups", 4)
      .size("m", 33)
      .size("n", 70)
      .program(twice)
      .members("Y", {"m", "n"}, extents)
      .contents("M",
                [](const HostInputs &in) { return [&](int64_t g) { return double(rowsOf(in.values, g)); }; })
      .contents(
          "N",
          [](const HostInputs &in) { return [&](int64_t g) { return double(columnsOf(in.values, g)); }; })
      .contents("Stride",
                [](const HostInputs &in) { return [&](int64_t) { return double(in.values["n"]); }; })
      .reference("Y", [](const HostInputs &in) {
        return [X = in.tensor("X")](int64_t g, int64_t i, int64_t j) { return 2 * X(g, i, j); };
      });
}
} // namespace

void registerKernels(KernelFile &file) {
  file.kernel("add", "Y[g] = X[g] + Z")
      .size("groups", 3)
      .size("m", 33)
      .size("n", 70)
      .program(add)
      .members("X", {"m", "n"})
      .members("Y", {"m", "n"})
      .random("X", 2, 3)
      .reference("Y", [](const HostInputs &in) {
        return [X = in.tensor("X"), Z = in.tensor("Z")](int64_t g, int64_t i, int64_t j) {
          return X(g, i, j) + Z(i, j);
        };
      });
  file.kernel("without", "Y[g] = X[g] + Z")
      .size("groups", 3)
      .size("m", 33)
      .size("n", 70)
      .program(add)
      .members("X", {"m"});
  file.kernel("of_tensor", "Y[g] = X[g] + Z")
      .size("groups", 3)
      .size("m", 33)
      .size("n", 70)
      .program(add)
      .members("X", {"m", "n"})
      .members("Y", {"m", "n"})
      .members("Z", {"m", "n"});
  entry(file, "twice").members("X", {"m", "n"}, extents);
  entry(file, "writes_more").members("X", {"m", "n"}, extents).contents("M", [](const HostInputs &) {
    return [](int64_t) { return 2.0; };
  });
  file.kernel("increment", "Y[g] += 1")
      .size("groups", 3)
      .size("n", 70, {.most = 128})
      .type("dtype", {f32, bf16, i32, u8})
      .program(increment)
      .members("Y", {"n"},
               [](const Values &v) {
                 return MemberExtents{{columnsOf(v, 0)}, {columnsOf(v, 1)}, {columnsOf(v, 2)}};
               })
      .contents(
          "N",
          [](const HostInputs &in) { return [&](int64_t g) { return double(columnsOf(in.values, g)); }; })
      .random("Y", 0, 8)
      .reference("Y", [](const HostInputs &in) {
        return [Y = in.tensor("Y")](int64_t g, int64_t i) { return Y(g, i) + 1; };
      });
  entry(file, "too_few").members("X", {"m", "n"}, [](const Values &) { return MemberExtents(3, {1, 1}); });
  entry(file, "too_long").members("X", {"m", "n"}, [](const Values &v) {
    return MemberExtents(4, {v["m"], v["n"] + 1});
  });
  entry(file, "thrown").members("X", {"m", "n"}, [](const Values &v) {
    return MemberExtents(4, {v["rows"], v["n"]});
  });
}
