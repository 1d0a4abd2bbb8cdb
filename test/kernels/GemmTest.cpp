// SPDX-License-Identifier: Apache-2.0
/// \file
/// GEMMs of a batch, and what an epilogue does.
#include "test/kernels/KernelRuns.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::kernels::test;

namespace {

const Kernel &gemm() { return **findKernel("gemm"); }

Definitions joined(Definitions all, const Definitions &others) {
  for (const auto &[name, value] : others)
    all[name] = value;
  return all;
}

} // namespace

TEST_CASE("products of a batch are right at sizes that tiles do not divide", "[kernels][gemm]") {
  for (const Definitions &choices : std::initializer_list<Definitions>{
           {},
           {{"layout", "nt"}},
           {{"split", "3"}, {"layout", "tt"}},
           {{"cluster", "2"}, {"share", "a"}},
           {{"unaligned", "ab"}, {"repack", "yes"}, {"split", "2"}},
           {{"dtype", "e4m3"}, {"dtype_b", "e5m2"}, {"scales", "row"}},
           {{"residual", "in_place"}, {"activation", "silu"}, {"scales", "row"}},
       }) {
    Compiled compiled(gemm(), joined(choices, {{"batch", "3"}, {"bm", "64"}, {"bn", "64"}, {"k", "77"}}));
    for (const char *batch : {"0", "1", "3"})
      compiled.check({{"batch", batch}, {"m", "70"}, {"n", "72"}, {"k", "136"}});
    if (compiled.acceptsAnyAlignment())
      compiled.check({{"batch", "2"}, {"m", "65"}, {"n", "63"}, {"k", "77"}});
  }
}

TEST_CASE("every part of an epilogue is right by itself, with one sum and with several", "[kernels][gemm]") {
  for (const Definitions &choices : std::initializer_list<Definitions>{{{"scales", "tensor"}},
                                                                       {{"scales", "row"}},
                                                                       {{"bias", "column"}},
                                                                       {{"activation", "relu"}},
                                                                       {{"activation", "gelu"}},
                                                                       {{"activation", "silu"}},
                                                                       {{"residual", "tensor"}},
                                                                       {{"residual", "in_place"}}})
    for (const char *split : {"1", "2"})
      Compiled(gemm(), joined(choices, {{"split", split}, {"out", "f32"}, {"bm", "64"}, {"bn", "64"}}))
          .check({{"m", "70"}, {"n", "72"}, {"k", "200"}});
}

TEST_CASE("a cluster sums its parts at sizes that tiles do not divide", "[kernels][gemm]") {
  for (const Definitions &choices : std::initializer_list<Definitions>{
           {{"split", "2"}},
           {{"split", "4"}, {"layout", "nn"}, {"dtype", "f16"}},
           {{"split", "8"}, {"out", "f32"}},
           {{"split", "8"}, {"bm", "128"}, {"group", "1"}, {"stages", "2"}},
           {{"split", "2"}, {"dtype", "i8"}, {"out", "i32"}},
           {{"split", "4"}, {"dtype", "e4m3"}, {"scales", "row"}, {"bias", "column"}},
           {{"split", "2"}, {"activation", "gelu"}, {"residual", "in_place"}},
           {{"split", "4"}, {"residual", "tensor"}, {"dtype", "f32"}, {"out", "f32"}},
           {{"split", "2"}, {"unaligned", "ab"}, {"repack", "yes"}},
           {{"split", "4"}, {"unaligned", "abc"}, {"repack", "no"}},
       }) {
    Compiled compiled(
        gemm(),
        joined(choices, {{"sum", "cluster"}, {"bm", choices.contains("bm") ? "128" : "64"}, {"bn", "64"}}));
    compiled.check({{"m", "1"}, {"n", "72"}, {"k", "520"}});
    compiled.check({{"m", "150"}, {"n", "200"}, {"k", "136"}}); // parts without a step
    compiled.check({{"m", "70"}, {"n", "64"}, {"k", "0"}});
    if (compiled.acceptsAnyAlignment())
      compiled.check({{"m", "65"}, {"n", "63"}, {"k", "777"}});
  }
  Compiled(gemm(), {{"split", "2"}, {"sum", "cluster"}, {"batch", "3"}, {"bm", "64"}, {"bn", "64"}})
      .check({{"batch", "3"}, {"m", "70"}, {"n", "72"}, {"k", "200"}});
}

TEST_CASE("products with B on the left are right at sizes that tiles do not divide", "[kernels][gemm]") {
  for (const Definitions &choices : std::initializer_list<Definitions>{
           {{"bm", "8"}},
           {{"bm", "24"}, {"split", "2"}},
           {{"bm", "104"}, {"bn", "128"}, {"out", "f32"}, {"dtype", "f16"}},
           {{"bm", "16"}, {"split", "3"}, {"bias", "column"}, {"activation", "gelu"}, {"residual", "tensor"}},
           {{"bm", "32"}, {"split", "4"}, {"sum", "cluster"}, {"scales", "row"}},
           {{"bm", "40"}, {"layout", "nn"}, {"residual", "in_place"}},
           {{"bm", "56"}, {"layout", "tt"}, {"cluster", "2"}, {"share", "a"}},
           {{"bm", "32"}, {"cluster", "4"}, {"share", "a"}},
           {{"bm", "8"}, {"cluster", "4"}, {"share", "b"}},
           {{"bm", "72"}, {"bn", "192"}, {"cluster", "2"}, {"share", "b"}},
           {{"bm", "16"}, {"dtype", "e5m2"}, {"dtype_b", "e4m3"}},
           {{"bm", "32"}, {"dtype", "i8"}, {"out", "i32"}},
           {{"bm", "16"}, {"unaligned", "abc"}, {"split", "2"}},
       }) {
    Compiled compiled(gemm(), joined({{"swap", "yes"}, {"bn", "64"}, {"k", "77"}}, choices));
    compiled.check({{"m", "1"}, {"n", "72"}, {"k", "136"}});
    compiled.check({{"m", "67"}, {"n", "136"}, {"k", "264"}});
    compiled.check({{"m", "9"}, {"n", "64"}, {"k", "0"}});
    if (compiled.acceptsAnyAlignment())
      compiled.check({{"m", "25"}, {"n", "63"}, {"k", "77"}});
  }
}

TEST_CASE("random factors of 8 bits are within the tolerance and do not overflow C", "[kernels][gemm]") {
  for (const char *dtype : {"e4m3", "e5m2"})
    Compiled(gemm(), {{"dtype", dtype}, {"out", "f32"}}).check({{"m", "64"}, {"n", "200"}, {"k", "64"}});
  for (const char *out : {"e4m3", "f16"})
    Compiled(gemm(), {{"dtype", "i8"}, {"out", out}, {"scales", "row"}})
        .check({{"m", "40"}, {"n", "64"}, {"k", "8192"}});
}

TEST_CASE("products without a term have an epilogue, too", "[kernels][gemm]") {
  for (const char *split : {"1", "2"})
    Compiled(gemm(), {{"split", split}, {"bias", "column"}, {"activation", "gelu"}, {"residual", "tensor"}})
        .check({{"m", "70"}, {"n", "72"}, {"k", "0"}});
}

TEST_CASE("tiles that blocks take are right at sizes that tiles do not divide", "[kernels][gemm][dynamic]") {
  for (const char *target : {"sm_100a", "sm_103a"})
    for (const Definitions &choices : std::initializer_list<Definitions>{
             {},
             {{"bm", "128"}, {"bn", "64"}, {"store_role", "yes"}},
             {{"bm", "64"}, {"bn", "64"}, {"split", "2"}, {"layout", "nt"}},
             {{"bm", "128"}, {"bn", "128"}, {"batch", "3"}, {"dtype", "f16"}},
             {{"bm", "64"}, {"bn", "64"}, {"residents", "2"}, {"bias", "column"}, {"activation", "gelu"}},
             {{"swap", "yes"}, {"bm", "24"}, {"bn", "64"}},
             {{"unaligned", "abc"}, {"repack", "yes"}, {"bm", "64"}, {"bn", "64"}},
         }) {
      CompileOptions options;
      options.target = target;
      Compiled compiled(gemm(), joined(choices, {{"tiles", "dynamic"}, {"k", "77"}}), options);
      compiled.check({{"m", "300"}, {"n", "264"}, {"k", "136"}});
      compiled.check({{"m", "1"}, {"n", "8"}, {"k", "0"}});
      compiled.check({{"m", "0"}, {"n", "64"}, {"k", "64"}});
    }
}
