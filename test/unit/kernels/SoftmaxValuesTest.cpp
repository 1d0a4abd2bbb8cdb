// SPDX-License-Identifier: Apache-2.0
/// \file
/// The softmax of values that random inputs do not have: infinities, large
/// differences, rows of one value; in one pass and in two.
#include "kernels/library/Library.h"
#include "kernels/reference/Reference.h"
#include "runtime/emulator/EmulatorDevice.h"

#include <catch2/catch.hpp>
#include <limits>
#include <numeric>

using namespace tlc;
using namespace tlc::kernels;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

/// The result of the program of these definitions.
std::vector<float> softmaxOf(const std::vector<float> &x, int64_t columns, Definitions definitions) {
  definitions["dtype"] = "f32";
  Result<Request> request = Request::parse("softmax", definitions);
  REQUIRE(request);
  Library library;
  CompileLog log;
  Result<std::shared_ptr<const Artifact>> artifact = library.compile(*request, {}, log);
  REQUIRE(artifact);
  std::unique_ptr<Device> device = createEmulatorDevice({.multiprocessors = 3});
  Result<std::shared_ptr<const LoadedProgram>> program = device->load(**artifact);
  REQUIRE(program);
  size_t bytes = x.size() * sizeof(float);
  Result<void *> from = device->allocate(bytes), to = device->allocate(bytes);
  REQUIRE(from);
  REQUIRE(to);
  REQUIRE(device->copyToDevice(*from, x.data(), bytes));
  std::vector<float> y(x.size(), std::numeric_limits<float>::quiet_NaN());
  REQUIRE(device->copyToDevice(*to, y.data(), bytes));
  std::vector<int64_t> shape = {int64_t(x.size()) / columns, columns}, strides = {columns, 1};
  LaunchArguments arguments{
      .tensors = {{*from, ElementType::f32, shape, strides}, {*to, ElementType::f32, shape, strides}}};
  Result<void> launched = device->launch(**program, arguments);
  INFO((launched ? "" : launched.error().message));
  REQUIRE(launched);
  REQUIRE(device->synchronize());
  REQUIRE(device->copyToHost(y.data(), *to, bytes));
  REQUIRE(device->free(*from));
  REQUIRE(device->free(*to));
  return y;
}

struct Case {
  int64_t columns;
  Definitions definitions;
};

} // namespace

TEST_CASE("rows with infinities and large differences follow the reference, in one pass and in two",
          "[kernels][softmax]") {
  for (const auto &[columns, definitions] : std::initializer_list<Case>{
           {100, {{"columns", "100"}}},
           {100, {{"columns", "32"}}}, // fit a tile of this program, so that a row takes two passes
           {101, {{"columns", "101"}}},
           {2051, {{"columns", "2051"}, {"warps", "1"}}}, // two passes, with a maximum for each lane
           {2052, {{"columns", "2052"}, {"warps", "1"}}}}) {
    CAPTURE(columns, definitions.size());
    auto row = [columns = columns](std::vector<float> first, float rest) {
      first.resize(size_t(columns), rest);
      return first;
    };
    std::vector<float> last(size_t(columns), -inf);
    last.back() = 3; // only the last tile of the second pass sees something
    std::vector<float> x;
    for (const std::vector<float> &r : {row({}, -inf), row({5}, -inf), last, row({1e30f, 1e30f}, -1e30f),
                                        row({}, -88), row({-inf, 3, -inf, 4}, 2), row({0, 1000}, 0)})
      x.insert(x.end(), r.begin(), r.end());

    std::vector<int64_t> elements(x.size());
    std::iota(elements.begin(), elements.end(), 0);
    std::vector<double> expected =
        referenceSoftmax(columns, std::vector<double>(x.begin(), x.end()), elements);
    std::vector<float> y = softmaxOf(x, columns, definitions);
    for (size_t i = 0; i < x.size(); ++i) {
      INFO("row " << int64_t(i) / columns << " column " << int64_t(i) % columns);
      REQUIRE(errorOf(y[i], expected[i], {.limit = 1e-5, .floor = 1e-3}) < 1e-5);
    }
  }
}
