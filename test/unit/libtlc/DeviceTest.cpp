// SPDX-License-Identifier: Apache-2.0
/// \file
/// The C interface on an emulated device.
#include "tools/libtlc/tlc.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using Catch::StartsWith;

namespace {

struct Release {
  void operator()(tlc_device *device) const { tlc_device_release(device); }
  void operator()(tlc_program *program) const { tlc_release(program); }
  void operator()(tlc_bound *bound) const { tlc_bound_release(bound); }
};
template <class Handle> using Owned = std::unique_ptr<Handle, Release>;

Owned<tlc_device> emulator() {
  tlc_emulator_options options = {};
  options.size = sizeof(options);
  options.multiprocessors = 4;
  Owned<tlc_device> device(tlc_device_emulator(&options));
  INFO(tlc_last_error());
  REQUIRE(device);
  return device;
}

constexpr int64_t m = 48, n = 40, k = 64;

Owned<tlc_program> compileGemm(tlc_device *device) {
  const char *names[] = {"m", "n", "k", "dtype", "out"}, *values[] = {"48", "40", "64", "f16", "f32"};
  tlc_compile_options options = {sizeof(options), nullptr, 0, device, nullptr};
  Owned<tlc_program> program(tlc_compile_with("gemm", names, values, 5, &options));
  INFO(tlc_last_error());
  REQUIRE(program);
  return program;
}

/// Memory of a device.
class Memory {
public:
  Memory(tlc_device *device, size_t bytes) : device(device), bytes(bytes) {
    REQUIRE(tlc_device_allocate(device, bytes, &address) == TLC_OK);
  }
  Memory(const Memory &) = delete;
  ~Memory() { CHECK(tlc_device_free(device, address) == TLC_OK); }
  template <class T> void fill(const std::vector<T> &values) const {
    REQUIRE(tlc_device_copy_in(device, address, values.data(), bytes) == TLC_OK);
  }
  std::vector<float> floats() const {
    std::vector<float> values(bytes / sizeof(float));
    REQUIRE(tlc_device_copy_out(device, values.data(), address, bytes) == TLC_OK);
    return values;
  }
  void *address = nullptr;

private:
  tlc_device *device;
  size_t bytes;
};

constexpr uint16_t one = 0x3c00, two = 0x4000; // of f16

/// A, B and C of a product of ones, whose sums are k.
struct Product {
  explicit Product(tlc_device *device)
      : a(device, size_t(m * k) * 2), b(device, size_t(n * k) * 2), c(device, size_t(m * n) * 4) {
    a.fill(std::vector<uint16_t>(size_t(m * k), one));
    b.fill(std::vector<uint16_t>(size_t(n * k), one));
    c.fill(std::vector<float>(size_t(m * n), -1));
  }
  std::vector<tlc_tensor> tensors() const {
    static const int64_t shapeA[] = {m, k}, shapeB[] = {n, k}, shapeC[] = {m, n};
    static const int64_t rowsOfK[] = {k, 1}, rowsOfN[] = {n, 1};
    return {{a.address, TLC_F16, 2, shapeA, rowsOfK},
            {b.address, TLC_F16, 2, shapeB, rowsOfK},
            {c.address, TLC_F32, 2, shapeC, rowsOfN}};
  }
  bool isAll(float value) const {
    for (float found : c.floats())
      if (found != value)
        return false;
    return true;
  }
  Memory a, b, c;
};

} // namespace

TEST_CASE("a program is compiled for an emulated device and launched there", "[libtlc][device]") {
  const Owned<tlc_device> device = emulator();
  CHECK(std::string(tlc_device_target(device.get())) == "sm_90a");
  CHECK(std::string(tlc_device_name(device.get())) == "emulator (sm_90a)");
  const Product product(device.get());
  const Owned<tlc_program> program = compileGemm(device.get());
  const std::vector<tlc_tensor> tensors = product.tensors();
  CHECK(tlc_workspace(program.get(), tensors.data(), 3, nullptr, 0) == 0);
  const int launched = tlc_launch(program.get(), tensors.data(), 3, nullptr, 0, nullptr, 0, nullptr);
  INFO(tlc_last_error());
  CHECK(launched == TLC_OK);
  CHECK(tlc_device_synchronize(device.get(), nullptr) == TLC_OK);
  CHECK(product.isAll(k));
}

TEST_CASE("a launch is made again where its tensors are then", "[libtlc][device]") {
  const Owned<tlc_device> device = emulator();
  const Product first(device.get()), second(device.get());
  const Owned<tlc_program> program = compileGemm(device.get());
  std::vector<tlc_tensor> tensors = first.tensors();
  auto launch = [&] { return tlc_launch(program.get(), tensors.data(), 3, nullptr, 0, nullptr, 0, nullptr); };
  CHECK(launch() == TLC_OK);
  CHECK(first.isAll(k));
  tensors = second.tensors();
  second.a.fill(std::vector<uint16_t>(size_t(m * k), two));
  CHECK(launch() == TLC_OK);
  CHECK(second.isAll(2 * k));
  tensors[0] = first.tensors()[0];
  CHECK(launch() == TLC_OK);
  CHECK(second.isAll(k));

  tensors[0].data = tensors[2].data;
  CHECK(launch() == TLC_INVALID_ARGUMENT);
  CHECK_THAT(tlc_last_error(), StartsWith("argument 'C': expected memory of its own"));
  {
    const Memory freed(device.get(), size_t(m * k) * 2);
    freed.fill(std::vector<uint16_t>(size_t(m * k), one));
    tensors[0].data = freed.address;
    CHECK(launch() == TLC_OK);
  }
  CHECK(launch() == TLC_INVALID_ARGUMENT);
  CHECK_THAT(tlc_last_error(), StartsWith("argument 'A': "));
}

TEST_CASE("a bound launch runs again, at other addresses, and outlives its program", "[libtlc][device]") {
  const Owned<tlc_device> device = emulator();
  const Product product(device.get());
  Owned<tlc_program> program = compileGemm(device.get());
  const std::vector<tlc_tensor> tensors = product.tensors();
  const Owned<tlc_bound> bound(tlc_bind(program.get(), tensors.data(), 3, nullptr, 0, nullptr, 0));
  REQUIRE(bound);
  program.reset();
  CHECK(tlc_bound_launch(bound.get(), nullptr) == TLC_OK);
  CHECK(product.isAll(k));

  const Memory twos(device.get(), size_t(m * k) * 2);
  twos.fill(std::vector<uint16_t>(size_t(m * k), two));
  CHECK(tlc_bound_set_address(bound.get(), 0, twos.address) == TLC_OK);
  CHECK(tlc_bound_launch(bound.get(), nullptr) == TLC_OK);
  CHECK(product.isAll(2 * k));

  CHECK(tlc_bound_set_address(bound.get(), -1, twos.address) == TLC_INVALID_ARGUMENT);
  CHECK(tlc_bound_set_address(bound.get(), 3, twos.address) == TLC_INVALID_ARGUMENT);
  CHECK_THAT(tlc_last_error(), StartsWith("'gemm' has 3 tensors"));
  CHECK(tlc_bound_set_address(bound.get(), 0, nullptr) == TLC_INVALID_ARGUMENT);
  CHECK(tlc_bound_set_address(bound.get(), 2, twos.address) == TLC_INVALID_ARGUMENT);
  CHECK_THAT(tlc_last_error(), StartsWith("argument 'C': expected memory of its own"));
  product.c.fill(std::vector<float>(size_t(m * n), -1));
  CHECK(tlc_bound_launch(bound.get(), nullptr) == TLC_OK); // as before the failures
  CHECK(product.isAll(2 * k));

  const Memory elsewhere(device.get(), size_t(m * n) * sizeof(float));
  elsewhere.fill(std::vector<float>(size_t(m * n), -1));
  void *const all[] = {tensors[0].data, tensors[1].data, elsewhere.address};
  CHECK(tlc_bound_set_addresses(bound.get(), 0, all, 4) == TLC_INVALID_ARGUMENT);
  CHECK_THAT(tlc_last_error(), StartsWith("'gemm' has 3 tensors, so there is no tensor 3"));
  CHECK(tlc_bound_set_addresses(bound.get(), 4, all, 0) == TLC_INVALID_ARGUMENT);
  CHECK(tlc_bound_set_addresses(bound.get(), 0, nullptr, 1) == TLC_INVALID_ARGUMENT);
  CHECK(tlc_bound_set_addresses(bound.get(), 0, all, -1) == TLC_INVALID_ARGUMENT);
  CHECK(tlc_bound_set_addresses(bound.get(), 0, all, 3) == TLC_OK);
  CHECK(tlc_bound_launch(bound.get(), nullptr) == TLC_OK);
  CHECK(elsewhere.floats() == std::vector<float>(size_t(m * n), float(k)));
}

TEST_CASE("a program is saved as bytes and loaded from them", "[libtlc][device]") {
  const Owned<tlc_device> device = emulator();
  const Product product(device.get());
  const std::vector<tlc_tensor> tensors = product.tensors();
  std::vector<char> bytes;
  {
    const Owned<tlc_program> program = compileGemm(device.get());
    size_t size = 0;
    REQUIRE(tlc_program_save(program.get(), nullptr, 0, &size) == TLC_OK);
    bytes.resize(size);
    REQUIRE(tlc_program_save(program.get(), bytes.data(), size, &size) == TLC_OK);
    CHECK(size == bytes.size());
  }
  const Owned<tlc_program> program(tlc_program_load(device.get(), bytes.data(), bytes.size()));
  REQUIRE(program);
  CHECK(tlc_launch(program.get(), tensors.data(), 3, nullptr, 0, nullptr, 0, nullptr) == TLC_OK);
  CHECK(product.isAll(k));

  CHECK_FALSE(Owned<tlc_program>(tlc_program_load(device.get(), bytes.data(), bytes.size() / 2)));
  CHECK_THAT(tlc_last_error(), !Catch::Equals(""));
  CHECK_FALSE(Owned<tlc_program>(tlc_program_load(device.get(), nullptr, 0)));
  CHECK(tlc_program_save(nullptr, nullptr, 0, nullptr) == TLC_INVALID_ARGUMENT);
}

/// As dlpack.h has it, whose struct has no tag.
typedef struct {
  void *data;
  int32_t deviceType, deviceId, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byteOffset;
} DLTensor;

TEST_CASE("tensors of DLPack are arguments", "[libtlc][device]") {
  int64_t shape[] = {3, 4, 5}, strides[] = {40, 10, 2}, room[TLC_MOST_AXES];
  DLTensor source = {reinterpret_cast<void *>(uintptr_t(0x1000)), 2, 0, 3, 2, 16, 1, shape, strides, 32};
  tlc_tensor tensor = {};
  REQUIRE(tlc_tensor_of_dlpack(&source, &tensor, room) == TLC_OK);
  CHECK(tensor.data == reinterpret_cast<void *>(uintptr_t(0x1020)));
  CHECK(tensor.element == TLC_F16);
  CHECK(tensor.rank == 3);
  CHECK(tensor.shape == shape);
  CHECK(tensor.strides == strides);
  source.strides = nullptr;
  REQUIRE(tlc_tensor_of_dlpack(&source, &tensor, room) == TLC_OK);
  CHECK(std::vector<int64_t>(tensor.strides, tensor.strides + 3) == std::vector<int64_t>{20, 5, 1});

  auto refusal = [&](auto change) {
    DLTensor wrong = source;
    change(wrong);
    CHECK(tlc_tensor_of_dlpack(&wrong, &tensor, room) == TLC_INVALID_ARGUMENT);
    return std::string(tlc_last_error());
  };
  CHECK(refusal([](DLTensor &wrong) { wrong.lanes = 2; }) == "expected a DLTensor of one lane, but got 2");
  CHECK(refusal([](DLTensor &wrong) { wrong.ndim = 9; }) == "expected a DLTensor of 0 to 8 axes, but got 9");
  CHECK(refusal([](DLTensor &wrong) { wrong.bits = 17; }) ==
        "expected a DLPack type of tensors, but got code 2 with 17 bits");
  CHECK(refusal([](DLTensor &wrong) { wrong.byteOffset = UINT64_MAX; }) ==
        "expected a DLTensor in the address space, but its offset of 18446744073709551615 bytes leaves it");
  CHECK(refusal([](DLTensor &wrong) { wrong.shape = nullptr; }) ==
        "expected a DLTensor with a shape, but got a null pointer");
  CHECK(tlc_tensor_of_dlpack(nullptr, &tensor, room) == TLC_INVALID_ARGUMENT);
}

TEST_CASE("an emulated device tells what a launch found", "[libtlc][device]") {
  tlc_emulator_options options = {};
  options.size = sizeof(options);
  std::string told;
  options.user = &told;
  options.on_findings = [](const tlc_findings *findings, void *user) {
    *static_cast<std::string *>(user) = findings->text;
    CHECK(findings->size == sizeof(tlc_findings));
    REQUIRE(findings->count > 0);
    CHECK(uint64_t(findings->count) == findings->errors + findings->warnings);
    const tlc_finding &first = findings->all[0];
    CHECK(first.kind == TLC_FINDING_FAULT);
    CHECK(first.is_warning == 0);
    CHECK_THAT(first.message, Catch::Contains("out-of-bounds write"));
    CHECK_THAT(first.file, Catch::EndsWith(".cpp"));
    CHECK(first.line > 0);
    CHECK(first.column > 0);
    CHECK(std::string(first.before_file).empty());
    CHECK(first.before_line == 0);
  };
  const Owned<tlc_device> device(tlc_device_emulator(&options));
  REQUIRE(device);
  const Product product(device.get());
  const Owned<tlc_program> program = compileGemm(device.get());
  std::vector<tlc_tensor> tensors = product.tensors();
  const Memory small(device.get(), 256); // of a C that needs more
  tensors[2].data = small.address;
  CHECK(tlc_launch(program.get(), tensors.data(), 3, nullptr, 0, nullptr, 0, nullptr) != TLC_OK);
  CHECK_THAT(told, Catch::Contains("out-of-bounds write"));
  CHECK_THAT(tlc_last_error(), Catch::Contains("'C'"));
  CHECK(tlc_last_status() == TLC_EXECUTION);
}

TEST_CASE("a program tells the shapes of its tensors", "[libtlc][device]") {
  const Owned<tlc_device> device = emulator();
  tlc_compile_options options = {sizeof(options), nullptr, 0, device.get(), nullptr};
  const Owned<tlc_program> program(tlc_compile_with("convolution", nullptr, nullptr, 0, &options));
  INFO(tlc_last_error());
  REQUIRE(program);
  const char *names[] = {"images", "height", "width", "filters", "of no meaning"};
  const int64_t values[] = {2, 9, 7, 24, 1};
  int64_t shape[2] = {};
  // X, W and Y, whose rows are the pixels: computed.
  CHECK(tlc_shape_of(program.get(), 2, names, values, 5, shape, 2) == 2);
  CHECK(shape[0] == 2 * 9 * 7);
  CHECK(shape[1] == 24);
  shape[1] = 0;
  CHECK(tlc_shape_of(program.get(), 2, names, values, 4, shape, 1) == 2);
  CHECK(shape[1] == 0);

  const auto refusal = [&](int argument, int count, int64_t *room, int capacity) {
    CHECK(tlc_shape_of(program.get(), argument, names, values, count, room, capacity) ==
          -TLC_INVALID_ARGUMENT);
    CHECK(tlc_last_status() == TLC_INVALID_ARGUMENT);
    return std::string(tlc_last_error());
  };
  CHECK(refusal(2, 3, shape, 2) ==
        "argument 'Y' axis 1: expected a value of dimension 'filters', but got none");
  CHECK_THAT(refusal(2, 1, shape, 2), StartsWith("argument 'Y' axis 0: expected a value of dimension '"));
  CHECK(refusal(3, 4, shape, 2) == "expected a tensor from 0 to 2, but got 3");
  CHECK(refusal(2, 4, nullptr, 2) ==
        "expected names, values and room for extents, but got a null pointer or a negative number");
  CHECK(refusal(2, -1, shape, 2) ==
        "expected names, values and room for extents, but got a null pointer or a negative number");
  CHECK(tlc_shape_of(nullptr, 0, names, values, 0, shape, 2) == -TLC_INVALID_ARGUMENT);
}

TEST_CASE("devices of the C interface say what is wrong", "[libtlc][device]") {
  auto refusal = [](auto change) {
    tlc_emulator_options options = {};
    options.size = sizeof(options);
    change(options);
    const Owned<tlc_device> device(tlc_device_emulator(&options));
    CHECK_FALSE(device);
    return std::string(tlc_last_error());
  };
  CHECK_THAT(refusal([](auto &options) { options.size = 1; }), StartsWith("expected options of "));
  CHECK(refusal([](auto &options) { options.check = 3; }) == "expected a tlc_check from 0 to 2, but got 3");
  CHECK(refusal([](auto &options) { options.multiprocessors = -1; }) ==
        "expected 0 to 65536 multiprocessors, but got -1");
  CHECK(refusal([](auto &options) { options.threads = -1; }) == "expected 0 to 4096 threads, but got -1");
  CHECK_THAT(refusal([](auto &options) { options.target = "sm_1"; }), StartsWith("expected a target among "));
  const Owned<tlc_device> device(tlc_device_emulator(nullptr));
  REQUIRE(device);
  CHECK(tlc_device_allocate(device.get(), 16, nullptr) == TLC_INVALID_ARGUMENT);
  void *none = device.get();
  CHECK(tlc_device_allocate(device.get(), 0, &none) == TLC_OK);
  CHECK(none == nullptr);
  CHECK(tlc_device_copy_in(device.get(), nullptr, nullptr, 16) == TLC_INVALID_ARGUMENT);
  CHECK(tlc_device_copy_out(device.get(), nullptr, nullptr, 16) == TLC_INVALID_ARGUMENT);
  int here = 0;
  CHECK(tlc_device_free(device.get(), &here) == TLC_INVALID_ARGUMENT);
  CHECK(tlc_device_allocate(nullptr, 16, nullptr) == TLC_INVALID_ARGUMENT);
  CHECK(tlc_last_status() == TLC_INVALID_ARGUMENT);
  CHECK(std::string(tlc_last_error()) == "expected a device, but got a null pointer");
  CHECK(std::string(tlc_device_target(nullptr)).empty());
  tlc_device_release(nullptr);
}

TEST_CASE("An exchange takes a program, tuples and an interpreter of Python", "[libtlc]") {
  const Owned<tlc_device> device = emulator();
  const Owned<tlc_program> program = compileGemm(device.get());
  const Product product(device.get());
  const std::vector<tlc_tensor> tensors = product.tensors();
  tlc_exchange_options options = {};
  auto create = [&](const tlc_program *of, const tlc_exchange_options *by) {
    CHECK_FALSE(tlc_exchange_create(of, tensors.data(), 3, nullptr, 0, by));
    return std::string(tlc_last_error());
  };
  CHECK_THAT(create(program.get(), nullptr), StartsWith("expected options, but"));
  CHECK_THAT(create(program.get(), &options), StartsWith("expected options of 48 bytes"));
  options.size = sizeof(options);
  CHECK_THAT(create(program.get(), &options), StartsWith("expected a program, tuples, sources and scalars"));
  int32_t sources[] = {0, 1, 2};
  int tuple = 0; // is not looked at
  options = {sizeof(options), nullptr, &tuple, &tuple, &tuple, sources};
  CHECK_THAT(create(nullptr, &options), StartsWith("expected a program, tuples, sources and scalars"));
  CHECK_THAT(create(program.get(), &options), StartsWith("expected an interpreter of Python"));
  CHECK(tlc_last_status() == TLC_ENVIRONMENT);
  CHECK(tlc_exchange_launch(nullptr, &tuple, &tuple) == TLC_INVALID_ARGUMENT);
  CHECK(tlc_bound_launch_current(nullptr, nullptr) == TLC_INVALID_ARGUMENT);
  tlc_exchange_release(nullptr);
}
