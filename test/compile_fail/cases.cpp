// SPDX-License-Identifier: Apache-2.0
/// \file
/// Misuse of the language that must not compile; see check_cases.py.
#include "compiler/dsl/dsl.h"

using namespace tlc::dsl;

void program(Scope &k) {
  Index m = k.dim("m"), n = k.dim("n");
  Scalar s = k.scalar("s", f32);
  Fragment x = k.fragment(f32, {16, 8}), y = k.fragment(f32, {16, 8});
  Shared a = k.shared("a", f32, {16, 8});
  Global A = k.input("A", f32, {m, n});

#if CASE == correct
  // expected: none
  k.when(m < n && !(m == 3), [&] { x = y; });
  x = where(x < y || m > 2, x + 1, max(y, 2.f) * s);
  copy(A.tile({m, 0}, {16, 8}), a);
#endif

#if CASE == if_predicate
  // expected: a traced predicate has no C++ truth value: use k.when(cond, body) or where()
  if (m < n)
    x = y;
#endif

#if CASE == bool_predicate
  // expected: a traced predicate has no C++ truth value: use k.when(cond, body) or where()
  bool less = m < n;
  (void)less;
#endif

#if CASE == ternary_predicate
  // expected: a traced predicate has no C++ truth value: use k.when(cond, body) or where()
  x = x < y ? 1 : 2;
#endif

#if CASE == while_predicate
  // expected: a traced predicate has no C++ truth value: use k.when(cond, body) or where()
  while (s > 0)
    x = y;
#endif

#if CASE == transposed_tensor_memory
  // expected: a factor in tensor memory is read along k only: store it transposed, or use a shared tile
  TensorMemory p = k.tensorMemory("p", bf16, {128, 64}), sums = k.tensorMemory("sums", f32, {64, 64});
  gemmAsync(p.t(), k.shared("v", bf16, {128, 64}), sums);
#endif

// cut#2595: comparisons do not chain.
#if CASE == chained_index
  // expected: a comparison cannot be compared again: write a < b && b < c
  k.when(0 < m < n, [] {});
#endif

#if CASE == chained_index_number
  // expected: a comparison cannot be compared again: write a < b && b < c
  k.when(m < n <= 5, [] {});
#endif

#if CASE == chained_fragment
  // expected: a comparison cannot be compared again: write a < b && b < c
  x = where(x > y > 0, x, y);
#endif

#if CASE == chained_scalar
  // expected: a comparison cannot be compared again: write a < b && b < c
  k.when(s >= 0 >= s, [] {});
#endif

#if CASE == if_index
  // expected: a traced index has no C++ truth value: compare it and use k.when(cond, body)
  if (m)
    x = y;
#endif

#if CASE == if_scalar
  // expected: a traced number has no C++ truth value: compare it and use k.when(cond, body)
  if (s)
    x = y;
#endif

#if CASE == if_fragment
  // expected: a fragment has no C++ truth value: compare its elements in where()
  if (x)
    x = y;
#endif

#if CASE == if_value
  // expected: a fragment has no C++ truth value: compare its elements in where()
  if (x + y)
    x = y;
#endif

#if CASE == add_kinds
  // expected: a position is no element of a fragment: convert it to a number, index.to(f32), or compute
  x = x + m;
#endif

#if CASE == add_a_fragment_to_an_index
  // expected: a position is no element of a fragment: convert it to a number
  x = m * (x + y);
#endif

#if CASE == compare_with_an_index
  // expected: or compute with each element's own position, k.positions({m, n}, axis)
  x = where(k.positions({16, 8}, 0) < m, x, y);
#endif

#if CASE == assign_sum_with_an_index
  // expected: a position is no element of a fragment: convert it to a number
  x += m;
#endif

#if CASE == numbers_of_an_index
  // expected: none
  x = x + m.to(f32);
  x = where(k.positions({16, 8}, 0) < m.to(i32), x, y);
#endif

#if CASE == fragment_of_an_index
  // expected: extents of tiles are compile-time constants, but this value is known on the device only
  k.fragment(f32, {16, n});
#endif

#if CASE == shared_tile_of_an_index
  // expected: take a C++ integer, such as a constant of the kernel; elements beyond a tensor's end are masked
  k.shared("b", f32, {n, 16});
#endif

#if CASE == slice_of_an_index
  // expected: extents of tiles are compile-time constants, but this value is known on the device only
  copy(A.tile({0, 0}, {16, n}), a);
#endif

#if CASE == reshape_to_an_index
  // expected: extents of tiles are compile-time constants, but this value is known on the device only
  x = reshape(x, {m, 8});
#endif

#if CASE == positions_of_an_index
  // expected: extents of tiles are compile-time constants, but this value is known on the device only
  k.positions({m, 8}, 0);
#endif

#if CASE == extents_of_integers
  // expected: none
  int rows = 16;
  const unsigned long columns = 8;
  std::vector<int64_t> shape = {rows, 8};
  Fragment z = k.fragment(f32, {rows, columns}), w = k.fragment(f32, shape);
  copy(A.tile({m, 0}, shape), a);
  x = reshape(z + w, {128});
#endif

#if CASE == gemm_on_global
  // expected: no matching function for call to 'gemm
  gemm(A, a, x);
#endif

#if CASE == copy_a_tensor
  // expected: no matching function for call to 'copy
  copy(A, a);
#endif

#if CASE == copy_a_reshaped_tile
  // expected: none
  copy(a.reshape({128}), x);
  copy(x, a.reshape({128}));
  copy(x + y, a.reshape({128}));
#endif

#if CASE == gemm_on_a_reshaped_tile
  // expected: a reshaped tile is copied from and to fragments only: use the tile itself
  gemm(a.reshape({128}), a, x);
#endif

#if CASE == copy_a_reshaped_tile_to_another
  // expected: a reshaped tile is copied from and to fragments only: use the tile itself
  copy(a.reshape({128}), a);
#endif

#if CASE == removed_ring
  // expected: k.ring is now k.channel
  k.ring("ab", {.slots = 2});
#endif

#if CASE == declared_ring
  // expected: is now Channel
  Ring ab = k.ring("ab", {.slots = 2});
#endif

#if CASE == put_what_takes_no_slot
  // expected: no matching
  k.channel("tiles").put([&](Index) {});
#endif

#if CASE == persistent_axes
  // expected: a persistent loop has one to three extents
  k.persistent({m, m, m, m}, {}, [](Index, Index, Index, Index) {});
#endif
}
