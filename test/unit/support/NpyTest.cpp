// SPDX-License-Identifier: Apache-2.0
/// \file
/// .npy files: what numpy writes is read, what is written is what numpy would,
/// and what is damaged is an error.
#include "runtime/support/Npy.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

using namespace tlc;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

/// A file of version `major`, its header padded to `headerBytes` as numpy does, then `elements` bytes.
std::string file(std::string header, size_t elements, unsigned major = 1) {
  header.resize(118, ' ');
  header.back() = '\n';
  std::string text = "\x93NUMPY";
  text += {char(major), 0, char(header.size()), 0};
  if (major > 1)
    text += {0, 0};
  return text + header + std::string(elements, '\x7');
}

std::string dictionary(std::string_view type, std::string_view shape, std::string_view order = "False") {
  return "{'descr': '" + std::string(type) + "', 'fortran_order': " + std::string(order) +
         ", 'shape': " + std::string(shape) + ", }";
}

std::string failure(std::string_view text) {
  auto array = parseNpy(bytesOf(text));
  return array ? std::string() : array.error().message;
}

} // namespace

TEST_CASE("headers are those of numpy") {
  const std::vector<int64_t> matrix = {3, 4}, vector = {5}, none;
  const std::string header = npyHeader({'f', 4}, matrix);
  CHECK(header.size() == 128);
  CHECK(header == std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" + std::string(58, ' ') +
                      "\n");
  CHECK_THAT(npyHeader({'u', 1}, vector),
             Contains("{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }"));
  CHECK_THAT(npyHeader({'i', 8}, none), Contains("'<i8', 'fortran_order': False, 'shape': (), }"));
  CHECK_THAT(npyHeader({'V', 2}, none), Contains("'|V2'"));
}

TEST_CASE("all versions and types are read") {
  for (unsigned major : {1, 2, 3}) {
    INFO("version " << major);
    auto array = parseNpy(bytesOf(file(dictionary("<f2", "(2, 3)"), 12, major)));
    REQUIRE(array);
    CHECK(array->type == NpyType{'f', 2});
    CHECK(array->shape == std::vector<int64_t>{2, 3});
    CHECK(array->bytes == std::vector<std::byte>(12, std::byte(7)));
  }
  for (const char *type :
       {"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "|V2", "=f4"}) {
    INFO(type);
    auto array = parseNpy(bytesOf(file(dictionary(type, "()"), size_t(type[2] - '0'))));
    REQUIRE(array);
    CHECK(array->shape.empty());
    CHECK(array->type == NpyType{type[1], unsigned(type[2] - '0')});
  }
  CHECK(parseNpy(bytesOf(file(dictionary("<f4", "(0, 7)"), 0))));
  CHECK(parseNpy(bytesOf(file(dictionary("<f4", "(4611686018427387904, 4611686018427387904, 0)"), 0))));
  CHECK(parseNpy(bytesOf(file(dictionary(">u1", "(3,)", "True"), 3)))); // orders mean nothing here
  CHECK(parseNpy(bytesOf(file("{\"shape\":(3,),\"descr\":\"<f4\",\"fortran_order\":False}", 12))));
}

TEST_CASE("what cannot be read is said") {
  CHECK(failure("PK\x03\x04") == "not a .npy file that can be read: it does not begin with numpy's mark");
  CHECK_THAT(failure(std::string("\x93NUMPY\x01", 7)), EndsWith("it ends inside its header"));
  CHECK_THAT(failure(file("", 0).substr(0, 100)), EndsWith("it ends inside its header"));
  CHECK_THAT(failure(file(dictionary("<f4", "(1,)"), 4, 4)),
             EndsWith("its format has version 4, expected 1 to 3"));
  CHECK_THAT(failure(file("[]", 0)), EndsWith("its header is no dictionary"));
  CHECK_THAT(failure(file("{'descr': '<f4'}", 0)),
             EndsWith("its header lacks 'descr', 'fortran_order' or 'shape'"));
  CHECK_THAT(failure(file("{'colour': 'red'}", 0)), EndsWith("unknown key 'colour' in its header"));
  CHECK_THAT(failure(file(dictionary("<f4", "(2, 3)", "True"), 24)),
             EndsWith("its elements are in Fortran order; save numpy.ascontiguousarray(x)"));
  CHECK_THAT(failure(file(dictionary(">f4", "(1,)"), 4)),
             EndsWith("its elements '>f4' are big endian; save x.astype('<f4')"));
  for (const char *type : {"<c8", "<U3", "|O", "<f", "<f0", "<f99999999999", "<f4x", "f4", ""})
    CHECK_THAT(failure(file(dictionary(type, "(1,)"), 8)),
               EndsWith("its elements are of type '" + std::string(type) + "'"));
  CHECK_THAT(failure(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", 4)),
             EndsWith("its elements are structures"));
  CHECK_THAT(failure(file(dictionary("<f4", "(-1,)"), 4)),
             EndsWith("'shape' has an entry that is no extent"));
  CHECK_THAT(failure(file(dictionary("<f4", "(99999999999999999999,)"), 4)),
             EndsWith("'shape' has an entry that is no extent"));
  CHECK_THAT(failure(file(dictionary("<f4", "(3"), 4)), EndsWith("'shape' has an entry that is no extent"));
  CHECK_THAT(failure(file(dictionary("<f4", "(2, 3)"), 23)),
             EndsWith("its shape needs 24 bytes of elements, but it has 23"));
  CHECK_THAT(failure(file(dictionary("<f4", "(2, 3)"), 25)),
             EndsWith("its shape needs 24 bytes of elements, but it has 25"));
  CHECK_THAT(failure(file(dictionary("<f4", "(4611686018427387904, 4611686018427387904)"), 8)),
             EndsWith("its shape needs more than 2^64 bytes of elements, but it has 8"));
}

TEST_CASE("no damage to a file is worse than an error") {
  const std::string whole = file(dictionary("<f4", "(2, 3)"), 24);
  for (size_t length = 0; length < whole.size(); ++length)
    CHECK_FALSE(parseNpy(bytesOf(whole.substr(0, length))));
  const unsigned seed = Catch::rngSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    for (unsigned changes = 1 + random() % 3; changes != 0; --changes)
      damaged[random() % 80] = char(random());
    if (auto array = parseNpy(bytesOf(damaged))) {
      uint64_t count = array->type.bytes;
      for (int64_t extent : array->shape)
        count *= uint64_t(extent);
      CHECK(array->bytes.size() == count);
    }
  }
}

TEST_CASE("files go round, and errors name them") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("npy-" + std::to_string(std::random_device()()));
  std::filesystem::create_directory(folder);
  const std::string path = folder / "x.npy", text = folder / "text.npy";
  const std::vector<int64_t> shape = {2, 2};
  const float values[] = {1, -2, 3.5f, 0};
  REQUIRE(writeNpy(path, {'f', 4}, shape, std::as_bytes(std::span(values))));
  auto array = readNpy(path);
  REQUIRE(array);
  CHECK(array->shape == shape);
  REQUIRE(array->bytes.size() == sizeof(values));
  CHECK(std::memcmp(array->bytes.data(), values, sizeof(values)) == 0);

  FILE *other = std::fopen(text.c_str(), "wb");
  std::fputs("hello", other);
  std::fclose(other);
  CHECK(readNpy(text).error().message ==
        "'" + text + "': not a .npy file that can be read: it does not begin with numpy's mark");
  CHECK(readNpy(folder / "none.npy").error().message ==
        "cannot open '" + std::string(folder / "none.npy") + "': No such file or directory");
  CHECK(readNpy(folder).error().message == "cannot read '" + std::string(folder) + "': it is no file");
  CHECK(writeNpy(folder, {'f', 4}, shape, std::as_bytes(std::span(values))).error().message ==
        "cannot open '" + std::string(folder) + "': Is a directory");
  std::filesystem::remove_all(folder);
}
