// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arrays in memory, the bytes of parameters, and files.
#include "tools/emulate/Arguments.h"

#include "runtime/support/Npy.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>

using namespace tlc;
using namespace tlc::emulate;

namespace {

Result<Arguments> make(const std::vector<std::string> &arguments, const std::vector<std::string> &arrays = {},
                       uint64_t seed = 1) {
  auto spec = parseLaunch(arrays, arguments);
  REQUIRE(spec);
  return Arguments::create(*spec, seed);
}

/// The entry's parameters, or what is wrong with them.
struct Filled {
  std::vector<std::byte> bytes;
  std::string error;
  template <class T> T at(size_t offset) const {
    T value;
    REQUIRE(offset + sizeof(T) <= bytes.size());
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }
};
Filled fill(const Arguments &arguments, std::string_view parameters) {
  auto program = emulator::loadProgram(".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(" +
                                       std::string(parameters) + ") { ret; }");
  REQUIRE(program);
  auto bytes = arguments.parametersOf(*(*program)->kernels.begin()->second);
  return bytes ? Filled{*bytes, ""} : Filled{{}, bytes.error().message};
}
std::string failure(const std::vector<std::string> &arguments, std::string_view parameters,
                    const std::vector<std::string> &arrays = {}) {
  auto made = make(arguments, arrays);
  REQUIRE(made);
  return fill(*made, parameters).error;
}

template <class T> std::vector<T> elements(const Array &array) {
  std::vector<T> values(array.bytes / sizeof(T));
  std::memcpy(values.data(), array.memory.get(), values.size() * sizeof(T));
  return values;
}

std::string temporary(std::string_view name) {
  return std::filesystem::temp_directory_path() /
         ("emulate-" + std::to_string(std::random_device()()) + "-" + std::string(name));
}

} // namespace

TEST_CASE("arguments lie where the entry has its parameters") {
  auto made = make({"i8:-2", "x=zero:f32:4", "f32:0.5", "struct:i8:1,i32:2,@x+8,u16:3", "@x+16"});
  REQUIRE(made);
  const uint64_t x = made->arrays()[0].address();
  CHECK(x % 256 == 0);
  const Filled filled =
      fill(*made, ".param .u8 a, .param .u64 b, .param .f32 c, .param .align 8 .b8 d[24], .param .u64 e");
  INFO(filled.error);
  REQUIRE(filled.bytes.size() == 56);
  CHECK(filled.at<uint8_t>(0) == 0xFE);
  CHECK(filled.at<uint64_t>(8) == x);
  CHECK(filled.at<float>(16) == 0.5f);
  CHECK(filled.at<uint8_t>(24) == 1);
  CHECK(filled.at<uint32_t>(28) == 2);
  CHECK(filled.at<uint64_t>(32) == x + 8);
  CHECK(filled.at<uint16_t>(40) == 3);
  CHECK(filled.at<uint64_t>(48) == x + 16);
}

TEST_CASE("arguments that do not fit the parameters are refused") {
  CHECK(failure({"i32:1"}, ".param .u64 x, .param .u32 n") ==
        "'k' takes 2 arguments (x: .u64, n: .u32), but got 1");
  CHECK(failure({"i32:1"}, "") == "'k' takes 0 arguments (), but got 1");
  CHECK(failure({"i64:1"}, ".param .u32 n") ==
        "'i64:1' does not fit parameter 'n: .u32' of 'k': it has 8 bytes");
  CHECK(failure({"zero:f32:1"}, ".param .u32 n") ==
        "'zero:f32:1' does not fit parameter 'n: .u32' of 'k': it has 8 bytes");
  CHECK(failure({"struct:i32:1,i64:2"}, ".param .align 4 .b8 s[12]") ==
        "'struct:i32:1,i64:2' does not fit parameter 's: 12 bytes' of 'k': it has 16 bytes");
  CHECK(failure({"bytes:0102"}, ".param .align 4 .b8 s[12]") ==
        "'bytes:0102' does not fit parameter 's: 12 bytes' of 'k': it has 2 bytes");
  CHECK(failure({"i32:1"}, ".param .f32 x") ==
        "'i32:1' does not fit parameter 'x: .f32' of 'k': one is a floating-point number, the other is not; "
        "b32:0x... passes bits");
  CHECK(failure({"f32:1"}, ".param .u32 x") ==
        "'f32:1' does not fit parameter 'x: .u32' of 'k': one is a floating-point number, the other is not; "
        "b32:0x... passes bits");
  CHECK(failure({"b32:1"}, ".param .f32 x") == "");
  CHECK(failure({"f32:1"}, ".param .b32 x") == "");
  CHECK(failure({"@x+17"}, ".param .u64 x", {"x=zero:f32:4"}) ==
        "expected an offset of at most 16 bytes, the size of 'x', in '@x+17'");
}

TEST_CASE("random elements are reproducible and within their range") {
  const uint64_t seed = Catch::rngSeed();
  INFO("seed " << seed);
  const std::vector<std::string> text = {
      "random:f32:1000", "random:f16:1000:range=0..2", "random:i32:1000:range=-3..4",
      "random:u8:1000",  "random:f64:1000:seed=5",     "random:e4m3:1000",
      "random:bf16:1000"};
  auto one = make(text, {}, seed), two = make(text, {}, seed), other = make(text, {}, seed + 1);
  REQUIRE((one && two && other));
  for (size_t i = 0; i < text.size(); ++i) {
    INFO(text[i]);
    CHECK(elements<uint8_t>(one->arrays()[i]) == elements<uint8_t>(two->arrays()[i]));
    CHECK((elements<uint8_t>(one->arrays()[i]) == elements<uint8_t>(other->arrays()[i])) == (i == 4));
  }
  const auto floats = elements<float>(one->arrays()[0]);
  CHECK(std::all_of(floats.begin(), floats.end(), [](float x) { return x >= -1 && x <= 1; }));
  CHECK(std::any_of(floats.begin(), floats.end(), [](float x) { return x < -0.5f; }));
  CHECK(std::any_of(floats.begin(), floats.end(), [](float x) { return x > 0.5f; }));
  const auto halves = elements<uint16_t>(one->arrays()[1]);
  CHECK(std::all_of(halves.begin(), halves.end(), [](uint16_t x) { return x <= 0x4000; }));
  auto whole = elements<int32_t>(one->arrays()[2]);
  std::sort(whole.begin(), whole.end());
  whole.erase(std::unique(whole.begin(), whole.end()), whole.end());
  CHECK(whole == std::vector<int32_t>{-3, -2, -1, 0, 1, 2, 3});
}

TEST_CASE("arrays that cannot be are refused") {
  auto message = [](std::string text) {
    auto made = make({std::move(text)});
    return made ? std::string() : made.error().message;
  };
  CHECK(message("random:u8:4:range=0..257") ==
        "expected a range within 0 to 256 in 'random:u8:4:range=0..257'");
  CHECK(message("random:i8:4:range=-129..0") ==
        "expected a range within -128 to 128 in 'random:i8:4:range=-129..0'");
  for (const char *shape : {"4611686018427387904x4611686018427387904", "1000000000000000"})
    CHECK_THAT(message("zero:f64:" + std::string(shape)),
               Catch::Matchers::StartsWith("expected arrays that fit into this machine's memory (") &&
                   Catch::Matchers::EndsWith(" MiB), but got 'zero:f64:" + std::string(shape) + "'"));
  CHECK(message("zero:f64:0x1000000000000000") == "");
}

TEST_CASE("outputs are poisoned, zeros are zero") {
  auto made = make({"out:f32:3", "zero:f64:2", "out:i16:2"});
  REQUIRE(made);
  CHECK(elements<uint32_t>(made->arrays()[0]) == std::vector<uint32_t>(3, 0xFFFFFFFF));
  CHECK(made->arrays()[0].elementText(1) == "nan");
  CHECK(made->arrays()[1].elementText(1) == "0");
  CHECK(made->arrays()[2].elementText(0) == "-1");
}

TEST_CASE("launches that left something else are told apart") {
  auto one = make({"zero:u8:3", "x=zero:f32:4"}), two = make({"zero:u8:3", "x=zero:f32:4"});
  REQUIRE((one && two));
  CHECK_FALSE(findDifference(*one, *two));
  const float value = 2.5f;
  std::memcpy(two->arrays()[1].memory.get() + 8, &value, sizeof(value));
  CHECK(findDifference(*one, *two) ==
        "element 2 of 'x' is 0 after the first launch, but 2.5 after another order of "
        "warps and completions");
}

TEST_CASE("files give arrays their contents, and get them") {
  const std::string in = temporary("in.npy"), out = temporary("out.npy");
  const std::vector<int64_t> shape = {2, 2};
  const uint16_t bits[] = {0x3F80, 0xBF80, 0, 0x4000};
  REQUIRE(writeNpy(in, {'u', 2}, shape, std::as_bytes(std::span(bits))));
  {
    auto made = make({"in:" + in + ":bf16:" + out, "in:" + in});
    REQUIRE(made);
    CHECK(made->arrays()[0].elementText(1) == "-1");
    CHECK(made->arrays()[1].elementText(3) == "16384");
    CHECK(made->ranges()[0].bytes == 8);
    REQUIRE(made->save());
    auto copy = readNpy(out);
    REQUIRE(copy);
    CHECK(copy->type == NpyType{'u', 2});
    CHECK(copy->shape == shape);
    CHECK(std::memcmp(copy->bytes.data(), bits, sizeof(bits)) == 0);
  }
  CHECK(make({"in:" + in + ":f32"}).error().message ==
        "expected elements of 4 bytes in 'in:" + in + ":f32', but those of '" + in + "' are of type '<u2'");
  const uint64_t words[4] = {};
  REQUIRE(writeNpy(in, {'V', 8}, shape, std::as_bytes(std::span(words))));
  CHECK(make({"in:" + in})->arrays()[0].type == Type::b64);
  REQUIRE(writeNpy(in, {'V', 3}, std::vector<int64_t>{1}, std::as_bytes(std::span("ab"))));
  CHECK(make({"in:" + in}).error().message ==
        "'" + in + "' has elements of type '|V3', which no type here has");
  std::filesystem::remove(in);
  std::filesystem::remove(out);
}

TEST_CASE("tensor maps describe arrays") {
  auto made =
      make({"tensormap:x:box=8x32:swizzle=64B:offset=16:shape=7x50:strides=256"}, {"x=zero:f16:64x128"});
  REQUIRE(made);
  const Filled filled = fill(*made, ".param .align 64 .b8 map[128]");
  INFO(filled.error);
  REQUIRE(filled.bytes.size() == 128);
  auto map = emulator::decodeTensorMap(std::span<const std::byte, 128>(filled.bytes.data(), 128));
  REQUIRE(map);
  CHECK(map->globalAddress == made->arrays()[0].address() + 16);
  CHECK(map->rank == 2);
  CHECK(map->dims[0] == 50);
  CHECK(map->dims[1] == 7);
  CHECK(map->strides[0] == 256);
  CHECK(map->box[0] == 32);
  CHECK(map->box[1] == 8);
  CHECK(map->element == emulator::TensorElement::f16);
  CHECK(map->swizzle == Swizzle::bytes64);
  auto dense = make({"tensormap:x:box=1x8x32"}, {"x=zero:i32:2x64x128"});
  REQUIRE(dense);
  const Filled denseBytes = fill(*dense, ".param .align 64 .b8 map[128]");
  map = emulator::decodeTensorMap(std::span<const std::byte, 128>(denseBytes.bytes.data(), 128));
  REQUIRE(map);
  CHECK(map->strides[0] == 512);
  CHECK(map->strides[1] == 512 * 64);
  CHECK(map->element == emulator::TensorElement::s32);
}

TEST_CASE("an address of several arrays is that of no memory") {
  const std::vector<std::string> arrays = {"x=zero:f32:8", "y=zero:f32:2x4"};
  auto made = make({"multicast:x:y", "struct:multicast:y:x,i32:5"}, arrays);
  REQUIRE(made);
  const std::vector<emulator::MulticastRange> ranges = made->multicastRanges();
  REQUIRE(ranges.size() == 2);
  const Filled filled = fill(*made, ".param .u64 a, .param .align 8 .b8 b[16]");
  CHECK(filled.error == "");
  const uint64_t x = made->arrays()[0].address(), y = made->arrays()[1].address();
  CHECK(ranges[0].members == std::vector{x, y});
  CHECK(ranges[1].members == std::vector{y, x});
  for (const emulator::MulticastRange &range : ranges) {
    CHECK(range.bytes == 32);
    for (const emulator::MemoryRange &memory : made->ranges())
      CHECK(
          (range.address + range.bytes <= memory.address || memory.address + memory.bytes <= range.address));
  }
  CHECK(filled.at<uint64_t>(0) == ranges[0].address);
  CHECK(filled.at<uint64_t>(8) == ranges[1].address);
  CHECK(ranges[0].address + ranges[0].bytes <= ranges[1].address);
}

TEST_CASE("addresses of several arrays that cannot be are refused") {
  const std::vector<std::string> arrays = {"x=zero:f32:8", "y=zero:f32:9"};
  CHECK(failure({"multicast:x:y"}, ".param .u64 a", arrays) ==
        "expected arrays of as many bytes in 'multicast:x:y', but 'x' has 32 and 'y' has 36");
  CHECK(parseLaunch(arrays, {"multicast:x:x"}).error().message ==
        "expected each array once in 'multicast:x:x', but got 'x' twice");
  CHECK(parseLaunch(arrays, {"multicast:x:z"}).error().message ==
        "expected the name of an array (x, y) in 'multicast:x:z', but got 'z'; --array NAME=... names one");
  CHECK(parseLaunch(arrays, {"multicast:"}).error().message ==
        "expected the name of an array (x, y) in 'multicast:', but got ''; --array NAME=... names one");
}

TEST_CASE("tensor maps that cannot be are refused") {
  const auto message = [](std::string options, std::string_view parameter = ".param .align 64 .b8 map[128]") {
    return failure({"tensormap:x:" + options}, parameter, {"x=zero:f16:64x128"});
  };
  CHECK(
      message("box=8x32", ".param .align 8 .b8 map[128]") ==
      "'tensormap:x:box=8x32' does not fit parameter 'map: 128 bytes' of 'k': a tensor map needs .align 64, "
      "but the parameter has 8");
  CHECK(message("box=8") == "expected box and step of 2 axes like the shape 64x128 in 'tensormap:x:box=8'");
  CHECK(message("box=1x1x1x1x1x8:shape=1x1x1x1x1x8") ==
        "expected 1 to 5 axes in 'tensormap:x:box=1x1x1x1x1x8:shape=1x1x1x1x1x8', but the shape is "
        "1x1x1x1x1x8");
  CHECK(message("box=8x32:strides=1x2") ==
        "expected strides of 1 axes, all but the innermost, in 'tensormap:x:box=8x32:strides=1x2'");
  CHECK(message("box=257x32") ==
        "tensor map: the box must be 1 to 256 along dimension 1 (innermost is 0), but is "
        "257, in 'tensormap:x:box=257x32'");
  CHECK(message("box=8x99999999999") ==
        "tensor map: the box must be 1 to 256 along dimension 0 (innermost is 0), but is "
        "4294967295, in 'tensormap:x:box=8x99999999999'");
  CHECK(message("box=8x32:shape=65x128") == "expected a tensor inside the 16384 bytes of 'x', but "
                                            "'tensormap:x:box=8x32:shape=65x128' reaches beyond");
  CHECK(message("box=8x32:shape=4294967296x4294967296:strides=1099511627760") ==
        "expected a tensor inside the 16384 bytes of 'x', but "
        "'tensormap:x:box=8x32:shape=4294967296x4294967296:strides=1099511627760' reaches beyond");
}
