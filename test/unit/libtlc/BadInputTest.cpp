// SPDX-License-Identifier: Apache-2.0
/// \file
/// What wrong arguments of launches get through the C interface: a status and a text, and the next call
/// works.
#include "test/fuzz/ByteMutator.h"
#include "tools/libtlc/tlc.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using Catch::Contains;

namespace {

struct Release {
  void operator()(tlc_device *device) const { tlc_device_release(device); }
  void operator()(tlc_program *program) const { tlc_release(program); }
  void operator()(tlc_bound *bound) const { tlc_bound_release(bound); }
};
using Device = std::unique_ptr<tlc_device, Release>;
using Program = std::unique_ptr<tlc_program, Release>;
using Bound = std::unique_ptr<tlc_bound, Release>;

constexpr int64_t rows = 4, columns = 64;
constexpr size_t bytes = rows * columns * sizeof(float);

Program softmaxOn(tlc_device *device) {
  const char *names[] = {"columns", "dtype"}, *values[] = {"64", "f32"};
  tlc_compile_options options = {sizeof(options), nullptr, 0, device, nullptr};
  Program program(tlc_compile_with("softmax", names, values, 2, &options));
  INFO(tlc_last_error());
  REQUIRE(program);
  return program;
}

void *allocated(tlc_device *device) {
  void *address = nullptr;
  REQUIRE(tlc_device_allocate(device, bytes, &address) == TLC_OK);
  const std::vector<float> zeros(rows * columns);
  REQUIRE(tlc_device_copy_in(device, address, zeros.data(), bytes) == TLC_OK);
  return address;
}

void *shifted(void *address, size_t by) { return static_cast<std::byte *>(address) + by; }

/// X and Y of a softmax, which launches after each refusal.
struct Launch {
  Device device{tlc_device_emulator(nullptr)};
  Program program = softmaxOn(device.get());
  int64_t shapes[2][2] = {{rows, columns}, {rows, columns}}, strides[2][2] = {{columns, 1}, {columns, 1}};
  tlc_tensor tensors[2] = {{allocated(device.get()), TLC_F32, 2, shapes[0], strides[0]},
                           {allocated(device.get()), TLC_F32, 2, shapes[1], strides[1]}};

  ~Launch() {
    for (const tlc_tensor &tensor : tensors)
      CHECK(tlc_device_free(device.get(), tensor.data) == TLC_OK);
  }
  int launch(const tlc_tensor *given, int count = 2) const {
    return tlc_launch(program.get(), given, count, nullptr, 0, nullptr, 0, nullptr);
  }
  /// The error after `change(tensors, shapes, strides)`.
  template <class Change> std::string refusal(const Change &change) const {
    int64_t otherShapes[2][2] = {{rows, columns}, {rows, columns}},
            otherStrides[2][2] = {{columns, 1}, {columns, 1}};
    tlc_tensor other[2] = {tensors[0], tensors[1]};
    for (int i = 0; i != 2; ++i)
      other[i].shape = otherShapes[i], other[i].strides = otherStrides[i];
    change(other, otherShapes, otherStrides);
    CHECK(launch(other) == TLC_INVALID_ARGUMENT);
    CHECK(tlc_last_status() == TLC_INVALID_ARGUMENT);
    std::string text = tlc_last_error();
    const int right = launch(tensors);
    INFO(tlc_last_error());
    CHECK(right == TLC_OK);
    return text;
  }
};

} // namespace

TEST_CASE("a tensor at a wrong address is named, and the next launch works", "[libtlc][bad]") {
  const Launch launch;
  CHECK(launch.refusal([](auto *tensors, auto &, auto &) { tensors[1].data = nullptr; }) ==
        "argument 'Y': expected the address of 1024 bytes, but got null");
  CHECK_THAT(
      launch.refusal([](auto *tensors, auto &, auto &) { tensors[0].data = shifted(tensors[0].data, 2); }),
      Contains("argument 'X': expected an address that is a multiple of 4 because its elements are f32"));
  CHECK_THAT(
      launch.refusal([](auto *tensors, auto &, auto &) { tensors[1].data = shifted(tensors[0].data, 64); }),
      Contains("argument 'Y': expected memory of its own because softmax writes it, but it overlaps "
               "argument 'X'"));
  CHECK_THAT(launch.refusal([](auto *tensors, auto &, auto &) {
    tensors[1].data = reinterpret_cast<void *>(UINTPTR_MAX - 63);
  }),
             Contains("'Y'"));
}

TEST_CASE("huge extents and strides are errors", "[libtlc][bad]") {
  const Launch launch;
  for (const int64_t extent : {int64_t(-1), int64_t(1) << 31, INT64_MAX, INT64_MIN})
    CHECK_THAT(launch.refusal([&](auto *, auto &shapes, auto &) { shapes[0][0] = shapes[1][0] = extent; }),
               Contains("argument 'X' axis 0: expected an extent from 0 to 2147483647, but got " +
                        std::to_string(extent)));
  for (const int64_t stride : {int64_t(-1), INT64_MAX, INT64_MIN})
    CHECK_THAT(launch.refusal([&](auto *, auto &, auto &strides) { strides[0][0] = stride; }),
               Contains("'X'"));
  CHECK_THAT(
      launch.refusal([](auto *, auto &, auto &strides) { strides[1][0] = 0; }),
      Contains("argument 'Y' axis 0: expected a stride of at least 1 because elements that are written "
               "must not overlap, but got 0"));
  CHECK_THAT(launch.refusal([](auto *tensors, auto &, auto &) { tensors[0].rank = INT32_MAX; }),
             Contains("tensor 0: expected a rank from 0 to 8, but got 2147483647"));
  CHECK_THAT(launch.refusal([](auto *tensors, auto &, auto &) { tensors[0].shape = nullptr; }),
             Contains("null"));
  CHECK_THAT(launch.refusal([](auto *tensors, auto &, auto &) { tensors[0].element = 99; }), Contains("99"));
}

TEST_CASE("memory of another device, and memory that was freed, are errors", "[libtlc][bad]") {
  const Launch launch;
  const Device other(tlc_device_emulator(nullptr));
  void *const theirs = allocated(other.get());
  CHECK_THAT(launch.refusal([&](auto *tensors, auto &, auto &) { tensors[1].data = theirs; }),
             Contains("'Y'"));
  CHECK(tlc_device_free(launch.device.get(), theirs) == TLC_INVALID_ARGUMENT);
  CHECK(tlc_device_free(other.get(), theirs) == TLC_OK);
  CHECK(tlc_device_free(other.get(), theirs) == TLC_INVALID_ARGUMENT);

  void *const freed = allocated(launch.device.get());
  REQUIRE(tlc_device_free(launch.device.get(), freed) == TLC_OK);
  CHECK_THAT(launch.refusal([&](auto *tensors, auto &, auto &) { tensors[0].data = freed; }),
             Contains("'X'"));
}

TEST_CASE("a bound launch moves to no address that a launch refuses", "[libtlc][bad]") {
  const Launch launch;
  const Bound bound(tlc_bind(launch.program.get(), launch.tensors, 2, nullptr, 0, nullptr, 0));
  REQUIRE(bound);
  const Device other(tlc_device_emulator(nullptr));
  void *const theirs = allocated(other.get()), *const freed = allocated(launch.device.get());
  REQUIRE(tlc_device_free(launch.device.get(), freed) == TLC_OK);
  const auto refusal = [&](int tensor, void *address) {
    int status = tlc_bound_set_address(bound.get(), tensor, address);
    if (status == TLC_OK)
      status = tlc_bound_launch(bound.get(), nullptr);
    CHECK(status == TLC_INVALID_ARGUMENT);
    std::string text = tlc_last_error();
    CHECK(tlc_bound_set_address(bound.get(), tensor, launch.tensors[tensor].data) == TLC_OK);
    CHECK(tlc_bound_launch(bound.get(), nullptr) == TLC_OK);
    return text;
  };
  CHECK_THAT(refusal(1, nullptr), Contains("argument 'Y'"));
  CHECK_THAT(refusal(0, shifted(launch.tensors[0].data, 2)), Contains("argument 'X'"));
  CHECK_THAT(refusal(1, shifted(launch.tensors[0].data, 64)), Contains("it overlaps argument 'X'"));
  CHECK_THAT(refusal(0, freed), Contains("'X'"));
  CHECK_THAT(refusal(1, theirs), Contains("'Y'"));
  CHECK(tlc_device_free(other.get(), theirs) == TLC_OK);
}

TEST_CASE("bytes of no program, or of one for another device, are errors", "[libtlc][bad]") {
  const Launch launch;
  size_t size = 0;
  REQUIRE(tlc_program_save(launch.program.get(), nullptr, 0, &size) == TLC_OK);
  std::vector<char> bytes(size);
  REQUIRE(tlc_program_save(launch.program.get(), bytes.data(), size, &size) == TLC_OK);
  const auto refusal = [](tlc_device *device, const std::vector<char> &given, size_t count) {
    CHECK_FALSE(Program(tlc_program_load(device, given.data(), count)));
    return std::string(tlc_last_error());
  };
  for (size_t cut = 0; cut < size; cut += 1 + size / 64)
    CHECK_FALSE(refusal(launch.device.get(), bytes, cut).empty());
  std::vector<char> later = bytes;
  later[8] = 99; // the version follows the mark of 8 bytes
  CHECK_THAT(refusal(launch.device.get(), later, size), Contains("version 99"));

  tlc_emulator_options options = {};
  options.size = sizeof(options);
  options.target = "sm_80";
  const Device older(tlc_device_emulator(&options));
  REQUIRE(older);
  CHECK_THAT(refusal(older.get(), bytes, size), Contains("sm_90a") && Contains("sm_80"));
  CHECK(Program(tlc_program_load(launch.device.get(), bytes.data(), size)));
}

TEST_CASE("a device is kept by its programs, and a program by nobody", "[libtlc][bad]") {
  Launch launch;
  Device second(tlc_device_emulator(nullptr));
  const Program program = softmaxOn(second.get());
  tlc_tensor tensors[2] = {launch.tensors[0], launch.tensors[1]};
  for (tlc_tensor &tensor : tensors)
    tensor.data = allocated(second.get());
  second.reset();
  CHECK(tlc_launch(program.get(), tensors, 1, nullptr, 0, nullptr, 0, nullptr) == TLC_INVALID_ARGUMENT);
  CHECK(std::string(tlc_last_error()) == "'softmax' expects 2 tensors (X, Y), but got 1");
}

namespace {

struct DlTensor {
  void *data;
  int32_t deviceType, deviceId, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byteOffset;
};

} // namespace

/// Numbers are at the edge of something. Arrays have room for the most axes.
TEST_CASE("odd structs of DLPack are taken or refused", "[libtlc][bad]") {
  constexpr int executions = 20'000;
  const std::string none;
  tlc::fuzz::ByteMutator odd(Catch::rngSeed(), {&none, 1});
  int taken = 0;
  for (int i = 0; i != executions; ++i) {
    int64_t shape[TLC_MOST_AXES], strides[TLC_MOST_AXES], room[TLC_MOST_AXES];
    for (int axis = 0; axis != TLC_MOST_AXES; ++axis)
      shape[axis] = int64_t(odd.number()), strides[axis] = int64_t(odd.number());
    const auto pick = [&](auto *pointer) { return odd.random() % 8 == 0 ? nullptr : pointer; };
    const auto either = [&](uint64_t usual) { return odd.random() % 4 == 0 ? odd.number() : usual; };
    const DlTensor tensor = {reinterpret_cast<void *>(odd.number()),
                             int32_t(either(2)),
                             int32_t(either(0)),
                             int32_t(either(odd.random() % 10)),
                             uint8_t(either(2)),
                             uint8_t(either(32)),
                             uint16_t(either(1)),
                             pick(shape),
                             pick(strides),
                             either(0)};
    tlc_tensor converted = {};
    const int status = tlc_tensor_of_dlpack(&tensor, &converted, room);
    if (status == TLC_OK) {
      ++taken;
      if (converted.rank < 0 || converted.rank > TLC_MOST_AXES || converted.element < 0)
        FAIL("expected a rank and an element type, but got " << converted.rank << " and "
                                                             << converted.element);
    } else if (status != TLC_INVALID_ARGUMENT) {
      FAIL("expected TLC_OK or TLC_INVALID_ARGUMENT, but got " << status);
    }
  }
  CHECK(taken > executions / 100);
  CHECK(taken < executions);
}
