// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of any extents, types and orders of factors: of fragments, and in tensor memory.
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {

struct Product {
  explicit Product(const Values &v)
      : type(v.type("dtype")), sumType(v.type("sum")), rows(v["rows"]), columns(v["columns"]),
        depth(v["depth"]), left(v["left"] != 0), right(v["right"] != 0) {}

  ElementType type, sumType;
  int64_t rows, columns, depth;
  bool left, right; ///< rows of A, B run along rows and columns of C, not along k

  TileExtents a() const { return left ? TileExtents{depth, rows} : TileExtents{rows, depth}; }
  TileExtents b() const { return right ? TileExtents{depth, columns} : TileExtents{columns, depth}; }
};

/// `steps` parts of k follow each other along axis 0 of A and B.
void inFragments(Scope &k, const Values &v) {
  const Product p(v);
  const int64_t steps = 2;
  Global A = k.input("A", p.type, {steps * p.a()[0], p.a()[1]}, {.alignment = 16});
  Global B = k.input("B", p.type, {steps * p.b()[0], p.b()[1]}, {.alignment = 16});
  Global C = k.output("C", p.sumType, {p.rows, p.columns});
  if (v["required"])
    k.require(Requirement::tcgen05);
  k.grid(1);
  Fragment c = k.fragment(p.sumType, {p.rows, p.columns});
  k.pipelined({0, steps, 1}, {.stages = 2}, [&](Index i) {
    Shared a = k.shared("a", p.type, p.a()), b = k.shared("b", p.type, p.b());
    copy(A.tile({i * p.a()[0], 0}, p.a()), a);
    copy(B.tile({i * p.b()[0], 0}, p.b()), b);
    gemm(p.left ? a.t() : a, p.right ? b : b.t(), c);
  });
  copy(c, C.tile({0, 0}, {p.rows, p.columns}));
}

/// `others` columns beside the sum.
void inTensorMemory(Scope &k, const Values &v) {
  const Product p(v);
  const int64_t others = v["others"];
  Global A = k.input("A", p.type, {p.a()[0], p.a()[1]}, {.alignment = 16});
  Global B = k.input("B", p.type, {p.b()[0], p.b()[1]}, {.alignment = 16});
  Global C = k.output("C", p.sumType, {p.rows, p.columns});
  k.grid(1);
  k.residents(v["residents"]);
  Shared a = k.shared("a", p.type, p.a()), b = k.shared("b", p.type, p.b());
  TensorMemory sums = k.tensorMemory("sums", p.sumType, {p.rows, p.columns});
  TensorMemory more = others ? k.tensorMemory("more", f32, {128, others}) : sums;
  Barrier done = k.barrier("done", 1);
  k.roles([&] {
    k.role("math", {.warps = 4}, [&] {
      done.wait(0);
      Fragment c = k.fragment(p.sumType, {p.rows, p.columns});
      copy(sums, c);
      copy(c, C.tile({0, 0}, {p.rows, p.columns}));
      if (others)
        copy(k.fragment(f32, {128, others}), more);
    });
    k.role("matrix", {.warps = 1}, [&] {
      copy(A.tile({0, 0}, p.a()), a);
      copy(B.tile({0, 0}, p.b()), b);
      gemmAsync(p.left ? a.t() : a, p.right ? b : b.t(), sums, {.accumulate = false});
      done.arrive(Arrival::afterProducts);
    });
  });
}

/// C[i, j], whose parts along k are `steps`.
auto reference(int64_t steps) {
  return [steps](const HostInputs &in) {
    const Product p(in.values);
    HostArray A = in.tensor("A"), B = in.tensor("B");
    return [=](int64_t i, int64_t j) {
      double sum = 0;
      for (int64_t step = 0; step < steps; ++step)
        for (int64_t l = 0; l < p.depth; ++l)
          sum += (p.left ? A(step * p.depth + l, i) : A(step * p.rows + i, l)) *
                 (p.right ? B(step * p.depth + l, j) : B(step * p.columns + j, l));
      return sum;
    };
  };
}

KernelEntry &describe(KernelFile &file, const char *name, const char *help) {
  return file.kernel(name, help)
      .type("dtype", {bf16, f16, f32, e4m3, e5m2, i8, u8})
      .type("sum", {f32, i32})
      .constant("rows", 128, {.least = 8, .most = 256})
      .constant("columns", 64, {.least = 8, .most = 1024})
      .constant("depth", 64, {.least = 8, .most = 256})
      .constant("left", 0, {.least = 0, .most = 1})
      .constant("right", 0, {.least = 0, .most = 1});
}

} // namespace

void registerKernels(KernelFile &file) {
  describe(file, "fragments", "C = A B in a fragment")
      .constant("required", 0, {.least = 0, .most = 1})
      .program(inFragments)
      .reference("C", reference(2))
      .tolerance("C", {.limit = 0.01, .floor = 1});
  describe(file, "in_place", "C = A B in tensor memory")
      .constant("residents", 1, {.least = 1, .most = 4})
      .constant("others", 0, {.least = 0, .most = 1024})
      .program(inTensorMemory)
      .reference("C", reference(1))
      .tolerance("C", {.limit = 0.01, .floor = 1});
}
