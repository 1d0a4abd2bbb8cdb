// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the text of an argument means, and what wrong text gets.
#include "tools/emulate/Specification.h"

#include <bit>
#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::emulate;

namespace {

LaunchSpec launch(const std::vector<std::string> &arguments, const std::vector<std::string> &arrays = {}) {
  auto spec = parseLaunch(arrays, arguments);
  INFO((spec ? std::string() : spec.error().message));
  REQUIRE(spec);
  return *spec;
}

std::string failure(const std::vector<std::string> &arguments, const std::vector<std::string> &arrays = {}) {
  auto spec = parseLaunch(arrays, arguments);
  return spec ? std::string() : spec.error().message;
}

uint64_t number(std::string text) {
  const LaunchSpec spec = launch({std::move(text)});
  return std::get<NumberSpec>(spec.arguments[0].value).bits;
}

const std::string forms = "in:FILE, random:TYPE:SHAPE, zero:TYPE:SHAPE, out:TYPE:SHAPE, @NAME, TYPE:NUMBER, "
                          "bytes:HEX, struct:FIELD,FIELD, tensormap:NAME:box=SHAPE or multicast:NAME:NAME";

} // namespace

TEST_CASE("numbers are the bits of their type") {
  CHECK(number("i32:5") == 5);
  CHECK(number("s32:5") == 5);
  CHECK(number("i32:-1") == 0xFFFFFFFF);
  CHECK(number("i8:-128") == 0x80);
  CHECK(number("i64:-9223372036854775808") == uint64_t(1) << 63);
  CHECK(number("i32:0xFFFFFFFF") == 0xFFFFFFFF);
  CHECK(number("u64:18446744073709551615") == ~uint64_t(0));
  CHECK(number("b16:0xabcd") == 0xABCD);
  CHECK(number("f32:0.5") == 0x3F000000);
  CHECK(number("f32:-inf") == 0xFF800000);
  CHECK(number("f64:1e300") == std::bit_cast<uint64_t>(1e300));
  CHECK(number("f16:1") == 0x3C00);
  CHECK(number("bf16:1") == 0x3F80);
  CHECK(number("e4m3:1") == 0x38);
  CHECK(number("e5m2:1") == 0x3C);
}

TEST_CASE("numbers that their type does not hold are refused") {
  for (const char *text :
       {"i32:", "i32:x", "i32:1.5", "i32:2147483648", "i32:-2147483649", "i8:0x100", "u32:-1", "u8:256",
        "i64:9223372036854775808", "f32:", "f32:1x", "f32:0x1", "i32:1:2"}) {
    INFO(text);
    const std::string type = std::string(text).substr(0, std::string(text).find(':'));
    CHECK(failure({text}) == "expected a number of type " + type + " in '" + text + "'");
  }
  CHECK(failure({"f17:1"}) == "expected an argument of the form " + forms + ", but got 'f17:1'");
  CHECK(failure({"pred:1"}) == "expected an argument of the form " + forms + ", but got 'pred:1'");
  CHECK(failure({"i128:1"}) == "expected an argument of the form " + forms + ", but got 'i128:1'");
  CHECK(failure({""}) == "expected an argument of the form " + forms + ", but got ''");
  CHECK(failure({"5"}) == "expected an argument of the form " + forms + ", but got '5'");
}

TEST_CASE("arrays") {
  const LaunchSpec spec = launch({"in:x.npy", "in:x.npy:bf16:y.npy", "random:f16:128x64:seed=7:range=-2..3.5",
                                  "x=zero:u8:5", "out:f32:128x64:dir/z.npy"});
  REQUIRE(spec.arrays.size() == 5);
  CHECK(spec.arrays[0].source == Source::file);
  CHECK(spec.arrays[0].readFrom == "x.npy");
  CHECK_FALSE(spec.arrays[0].type);
  CHECK(spec.arrays[0].writeTo.empty());
  CHECK(spec.arrays[1].type == Type::bf16);
  CHECK(spec.arrays[1].writeTo == "y.npy");
  CHECK(spec.arrays[2].source == Source::random);
  CHECK(spec.arrays[2].shape == std::vector<int64_t>{128, 64});
  CHECK(spec.arrays[2].seed == 7u);
  CHECK(spec.arrays[2].range == std::pair(-2.0, 3.5));
  CHECK(spec.arrays[3].name == "x");
  CHECK(spec.arrays[3].source == Source::zero);
  CHECK(spec.arrays[4].source == Source::poison);
  CHECK(spec.arrays[4].writeTo == "dir/z.npy");
  for (size_t i = 0; i < 5; ++i)
    CHECK(std::get<PointerSpec>(spec.arguments[i].value).array == spec.arrays[i].name);
}

TEST_CASE("wrong arrays are refused") {
  CHECK(failure({"in:"}) == "expected in:FILE, but got 'in:'");
  CHECK(failure({"out:f32"}) == "expected out:TYPE:SHAPE, for example out:f32:128x64, but got 'out:f32'");
  CHECK(failure({"zero:f33:4"}) ==
        "expected zero:TYPE:SHAPE, for example zero:f32:128x64, but got 'zero:f33:4'");
  for (const char *shape : {"", "4x", "x4", "-4", "4,4", "99999999999999999999"})
    CHECK(failure({"random:f32:" + std::string(shape)}) ==
          "expected random:TYPE:SHAPE, for example random:f32:128x64, but got 'random:f32:" +
              std::string(shape) + "'");
  CHECK(failure({"out:f32:4:y.txt"}) ==
        "expected a file to write that ends in .npy in 'out:f32:4:y.txt', but got 'y.txt'");
  CHECK(failure({"out:f32:4:seed=4"}) ==
        "expected a file to write that ends in .npy in 'out:f32:4:seed=4', but got 'seed=4'");
  CHECK(failure({"in:x.npy:y.npy:z.npy"}) ==
        "expected a type or a file to write that ends in .npy in 'in:x.npy:y.npy:z.npy', but got 'z.npy'");
  CHECK(failure({"random:f32:4:seed=x"}) ==
        "expected seed=NUMBER in 'random:f32:4:seed=x', but got 'seed=x'");
  for (const char *range : {"", "1", "1..", "2..1", "nan..1", "0..inf", "-1e308..1e308", "1..1"})
    CHECK(failure({"random:f32:4:range=" + std::string(range)}) ==
          "expected range=LOW..HIGH in 'random:f32:4:range=" + std::string(range) +
              "', but got 'range=" + range + "'");
  CHECK(failure({"x=zero:f32:4", "x=zero:f32:4"}) ==
        "expected each name once, but 'x=zero:f32:4' and 'x=zero:f32:4' have the same");
  CHECK(failure({}, {"zero:f32:4"}) == "expected --array NAME=ARRAY, but got 'zero:f32:4'");
  CHECK(failure({}, {"4=zero:f32:4"}) == "expected --array NAME=ARRAY, but got '4=zero:f32:4'");
  CHECK(failure({}, {"x=i32:4"}) == "expected an array (in:FILE, random:TYPE:SHAPE, zero:TYPE:SHAPE or "
                                    "out:TYPE:SHAPE) in 'x=i32:4'");
}

TEST_CASE("references to arrays, wherever they are described") {
  const LaunchSpec spec =
      launch({"@x+16", "struct:i32:4,@y,random:f32:4,bytes:01ff", "y=zero:f32:4"}, {"x=random:f16:64x64"});
  CHECK(std::get<PointerSpec>(spec.arguments[0].value).array == "x");
  CHECK(std::get<PointerSpec>(spec.arguments[0].value).offset == 16);
  const auto &fields = std::get<StructSpec>(spec.arguments[1].value).fields;
  REQUIRE(fields.size() == 4);
  CHECK(std::get<PointerSpec>(fields[1].value).array == "y");
  CHECK(std::get<BytesSpec>(fields[3].value).bytes == std::vector{std::byte(1), std::byte(0xFF)});

  CHECK(failure({"@x"}) ==
        "expected the name of an array (there is none) in '@x', but got 'x'; --array NAME=... names one");
  CHECK(failure({"@y", "x=zero:f32:4", "z=zero:f32:4"}) ==
        "expected the name of an array (x, z) in '@y', but got 'y'; --array NAME=... names one");
  CHECK(failure({"@#0", "zero:f32:4"}) ==
        "expected the name of an array (there is none) in '@#0', but got '#0'; --array NAME=... names one");
  CHECK(failure({"@x+", "x=zero:f32:4"}) == "expected @NAME or @NAME+BYTES, but got '@x+'");
  CHECK(failure({"bytes:"}) == "expected two hexadecimal digits for each byte in 'bytes:'");
  CHECK(failure({"bytes:123"}) == "expected two hexadecimal digits for each byte in 'bytes:123'");
  CHECK(failure({"bytes:1x"}) == "expected hexadecimal digits in 'bytes:1x'");
  CHECK(failure({"struct:i32:4,struct:i32:4"}) ==
        "expected no struct inside a struct, but got 'struct:i32:4'; list the fields of both");
}

TEST_CASE("tensor maps") {
  const LaunchSpec spec =
      launch({"tensormap:x:box=64x32:swizzle=128B:fill=nan:shape=4x8:strides=256:step=1x2:offset=32"},
             {"x=zero:f32:64x64"});
  const auto &map = std::get<TensorMapSpec>(spec.arguments[0].value);
  CHECK(map.array == "x");
  CHECK(map.box == std::vector<int64_t>{64, 32});
  CHECK(map.shape == std::vector<int64_t>{4, 8});
  CHECK(map.strideBytes == std::vector<int64_t>{256});
  CHECK(map.elementStrides == std::vector<int64_t>{1, 2});
  CHECK(map.offset == 32);
  CHECK(map.swizzle == Swizzle::bytes128);
  CHECK(map.fill == emulator::OutOfBoundsFill::nan);

  CHECK(failure({"tensormap:x"}, {"x=zero:f32:4"}) ==
        "expected tensormap:NAME:box=SHAPE, but 'tensormap:x' has no box");
  CHECK(failure({"tensormap:x:box=4"}) ==
        "expected the name of an array (there is none) in 'tensormap:x:box=4', "
        "but got 'x'; --array NAME=... names one");
  CHECK(failure({"tensormap:x:box=64x64:box=32x32"}) ==
        "expected box once in 'tensormap:x:box=64x64:box=32x32', but got 'box=32x32', too");
  CHECK(failure({"tensormap:x:box=4y"}) ==
        "expected box=NUMBERxNUMBER... in 'tensormap:x:box=4y', but got 'box=4y'");
  CHECK(failure({"tensormap:x:swizzle=128"}) ==
        "expected swizzle=none, 32B, 64B or 128B in 'tensormap:x:swizzle=128', but got 'swizzle=128'");
  CHECK(failure({"tensormap:x:offset=-1"}) ==
        "expected offset=BYTES in 'tensormap:x:offset=-1', but got 'offset=-1'");
  CHECK(
      failure({"tensormap:x:interleave=16B"}) ==
      "expected box, shape, strides, step, offset, swizzle or fill=zero|nan in 'tensormap:x:interleave=16B', "
      "but got 'interleave=16B'");
}
