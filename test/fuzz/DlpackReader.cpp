// SPDX-License-Identifier: Apache-2.0
/// \file
/// A reader of DLTensors: a byte that says which of the arrays are null, the struct, and what is in the
/// arrays.
#include "test/fuzz/ReaderParts.h"
#include "tools/libtlc/DlpackStructs.h"
#include "tools/libtlc/DlpackTensor.h"

#include <algorithm>
#include <cstring>

using namespace tlc;
using namespace tlc::fuzz;

namespace {

enum : uint8_t { noShape = 1, noStrides = 2, noTensor = 4, noRoom = 8 };

std::string seedOf(uint8_t nulls, const dlpack::Tensor &tensor, std::initializer_list<int64_t> numbers) {
  std::string bytes(1, char(nulls));
  bytes.append(reinterpret_cast<const char *>(&tensor), sizeof(tensor));
  for (const int64_t number : numbers)
    bytes.append(reinterpret_cast<const char *>(&number), sizeof(number));
  return bytes;
}

/// The next bytes, or zeros where they end.
template <class T> T take(std::string_view &bytes) {
  T value = {};
  const size_t size = std::min(sizeof(value), bytes.size());
  if (size != 0)
    std::memcpy(&value, bytes.data(), size);
  bytes.remove_prefix(size);
  return value;
}

} // namespace

std::vector<std::string> fuzz::dlpackSeeds(const Folder &) {
  void *const data = reinterpret_cast<void *>(uintptr_t(1) << 32);
  const dlpack::DataType f32 = {2, 32, 1}, bf16 = {4, 16, 1};
  return {seedOf(0, {data, {dlpack::cuda, 0}, 2, f32, nullptr, nullptr, 64}, {4, 8, 16, 1}),
          seedOf(noStrides, {data, {1, 0}, 3, bf16, nullptr, nullptr, 0}, {2, 3, 8}),
          seedOf(noShape | noStrides, {data, {dlpack::cuda, 1}, 0, f32, nullptr, nullptr, 0}, {})};
}

bool fuzz::readDlpack(std::string_view bytes, const Folder &) {
  const auto nulls = take<uint8_t>(bytes);
  auto source = take<dlpack::Tensor>(bytes);
  // Memory of exactly as many numbers as may be read or written, for the sanitizer to see.
  std::vector<int64_t> shape(size_t(std::clamp(source.ndim, 0, TLC_MOST_AXES))), strides(shape.size());
  for (std::vector<int64_t> *numbers : {&shape, &strides})
    for (int64_t &number : *numbers)
      number = take<int64_t>(bytes);
  source.shape = nulls & noShape ? nullptr : shape.data();
  source.strides = nulls & noStrides ? nullptr : strides.data();
  std::vector<int64_t> room(TLC_MOST_AXES);
  tlc_tensor tensor = {};
  const Result<void> taken = calls::tensorOfDlpack(nulls & noTensor ? nullptr : &source, &tensor,
                                                   nulls & noRoom ? nullptr : room.data());
  if (!taken) {
    require(taken.error().kind == ErrorKind::invalidArgument, "a mistake of the caller");
    return false;
  }
  require(tensor.rank >= 0 && size_t(tensor.rank) == shape.size() && tensor.element >= 0,
          "the tensor's rank and an element type");
  for (int axis = 0; axis != tensor.rank; ++axis)
    require(tensor.shape[axis] == shape[size_t(axis)] &&
                (source.strides ? tensor.strides[axis] == strides[size_t(axis)] : tensor.strides[axis] > 0),
            "the tensor's extents, and its strides or those of a contiguous one");
  return true;
}
