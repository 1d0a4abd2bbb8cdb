// SPDX-License-Identifier: Apache-2.0
/// \file
/// A small consistent artifact that uses every feature: C = alpha * A B with a
/// workspace, an aligned variant with tensor maps and a general one.
#pragma once

#include "runtime/artifact/Artifact.h"

namespace tlc::test {

inline Artifact sampleArtifact() {
  using Kind = KernelParameter::Kind;
  using Op = HostExpr::Op;
  auto tiles = [](int64_t dimension, int64_t size) {
    return HostExpr::apply(Op::ceilDiv, HostExpr::dimension(dimension), HostExpr::constant(size));
  };
  const HostExpr one = HostExpr::constant(1);

  Launch aligned = {
      .entry = "gemm_aligned",
      .grid = {tiles(0, 128), tiles(1, 64), one},
      .threads = 384,
      .sharedBytes = 100000,
      .tensorMaps =
          {{.tensor = 0, .box = {128, 64}, .swizzle = Swizzle::bytes128},
           {.tensor = 1, .box = {64, 64}, .swizzle = Swizzle::bytes128, .limitedAxis = 0, .before = 64}},
      .parameters = {{.kind = Kind::dimension, .index = 2},
                     {.kind = Kind::tensorMap, .index = 0},
                     {.kind = Kind::tensorMap, .index = 1},
                     {.kind = Kind::scalar, .index = 0},
                     {.kind = Kind::tensorPointer, .index = 2},
                     {.kind = Kind::tensorStride, .index = 2, .axis = 0}},
      .names = {.roles = {{"load", 0, 4}, {"math", 4, 8}},
                .shared = {{"a", SharedObject::Kind::buffer, 0, 4, 16384},
                           {"tiles", SharedObject::Kind::ring, 65536, 4, 16},
                           {"staging", SharedObject::Kind::buffer, 66560, 1, 32768},
                           {"done", SharedObject::Kind::barrier, 99328, 1, 8}}}};
  Launch combine = {.entry = "combine",
                    .grid = {HostExpr::multiprocessors(), one, one},
                    .threads = 128,
                    .parameters = {{.kind = Kind::tensorPointer, .index = 3}}};
  Launch general = {.entry = "gemm_general",
                    .grid = {tiles(0, 64), tiles(1, 64), one},
                    .threads = 128,
                    .parameters = {{.kind = Kind::tensorPointer, .index = 0},
                                   {.kind = Kind::tensorStride, .index = 0, .axis = 0},
                                   {.kind = Kind::tensorPointer, .index = 1},
                                   {.kind = Kind::tensorPointer, .index = 2}}};
  return {
      .name = "gemm",
      .target = "sm_90a",
      .dimensions = {{.name = "M"}, {.name = "N", .multipleOf = 8}, {.name = "K"}},
      .tensors = {{.name = "A", .element = ElementType::bf16, .shape = {{.dimension = 0}, {.dimension = 2}}},
                  {.name = "B", .element = ElementType::bf16, .shape = {{.dimension = 1}, {.dimension = 2}}},
                  {.name = "C",
                   .element = ElementType::f32,
                   .access = Access::output,
                   .shape = {{.dimension = 0}, {.dimension = 1}},
                   .zeroFill = true},
                  {.name = "partial",
                   .element = ElementType::f32,
                   .access = Access::workspace,
                   .workspaceShape = {HostExpr::multiprocessors(), HostExpr::constant(16)},
                   .zeroFill = true}},
      .scalars = {{.name = "alpha", .element = ElementType::f32}},
      .variants = {{.name = "aligned",
                    .conditions = {{.tensor = 0, .bytes = 16}, {.tensor = 1, .bytes = 16}},
                    .launches = {aligned, combine},
                    .ptx = ".version 8.7\n.target sm_90a\n"},
                   {.name = "general", .launches = {general}, .ptx = ".version 8.7\n"}},
      .remarks = {{.id = "copy-without-tma", .location = "gemm.cpp:12:3", .message = "strides may be odd"}},
      .nvrtc = "13.0",
  };
}

/// The same, and a transfer beside the launch of the general variant: rows of A to B in rounds, and a count.
inline Artifact sampleTransfers() {
  Artifact artifact = sampleArtifact();
  artifact.tensors[1].access = Access::inout;
  artifact.tensors.push_back({.name = "there",
                              .element = ElementType::i32,
                              .access = Access::workspace,
                              .workspaceShape = {HostExpr::constant(4)},
                              .zeroFill = true,
                              .symmetric = true});
  const HostExpr zero = HostExpr::constant(0), round = HostExpr::dimension(3);
  artifact.variants[1].transfers = {
      {.name = "gather",
       .after = 0,
       .until = 1,
       .rounds = HostExpr::constant(4),
       .copies = {{.from = {.tensor = 0, .position = {round, zero}},
                   .to = {.tensor = 1, .position = {zero, zero}},
                   .extents = {HostExpr::constant(1), HostExpr::dimension(2)}}},
       .sets = TransferSignal{{.tensor = 4, .rank = zero, .position = {round}}, HostExpr::constant(1)}}};
  return artifact;
}

} // namespace tlc::test
