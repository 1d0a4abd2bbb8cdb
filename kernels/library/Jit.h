// SPDX-License-Identifier: Apache-2.0
/// \file
/// Just-in-time compilation: a traced program becomes a function of tensors and numbers on one device.
/// Installed as <tlc/jit.h>, with the language and both devices: the only header that its caller includes.
#pragma once

#include "compiler/dsl/dsl.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/device/Device.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/support/Result.h"

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#ifdef __cpp_exceptions
#include <stdexcept>
#endif

namespace tlc {

struct CompileOptions; // compiler/pipeline/Options.h

/// The element type whose elements are of this C++ type.
template <class T> constexpr std::optional<ElementType> elementTypeOf() {
  if constexpr (std::same_as<T, float>)
    return ElementType::f32;
  else if constexpr (std::same_as<T, double>)
    return ElementType::f64;
  else if constexpr (std::same_as<T, int8_t>)
    return ElementType::i8;
  else if constexpr (std::same_as<T, uint8_t>)
    return ElementType::u8;
  else if constexpr (std::same_as<T, int32_t>)
    return ElementType::i32;
  else if constexpr (std::same_as<T, uint32_t>)
    return ElementType::u32;
  else if constexpr (std::same_as<T, int64_t>)
    return ElementType::i64;
  else
    return {};
}
template <class T>
concept DeviceElement = elementTypeOf<T>().has_value();

/// What DLPack's DLTensor has, whoever declares it.
template <class T>
concept DlpackTensor = requires(const T &tensor) {
  tensor.data;
  tensor.ndim;
  tensor.dtype.lanes;
  tensor.byte_offset;
};

/// A tensor at an address of the device. Strides are in elements, outermost first.
class Tensor {
public:
  /// Contiguous.
  template <DeviceElement T>
  Tensor(const T *data, std::vector<int64_t> shape)
      : Tensor(const_cast<T *>(data), *elementTypeOf<T>(), std::move(shape)) {}
  Tensor(void *data, ElementType element, std::vector<int64_t> shape, std::vector<int64_t> strides);
  Tensor(void *data, ElementType element, std::vector<int64_t> shape); ///< contiguous
  /// Does not own the memory. An element type that tlc lacks is an error of the call.
  template <DlpackTensor T>
  explicit Tensor(const T &tensor)
      : Tensor(ofDlpack({tensor.data, tensor.byte_offset, tensor.dtype.code, tensor.dtype.bits,
                         tensor.dtype.lanes, std::vector<int64_t>(tensor.shape, tensor.shape + tensor.ndim),
                         tensor.strides ? std::optional(std::vector<int64_t>(tensor.strides,
                                                                             tensor.strides + tensor.ndim))
                                        : std::nullopt})) {}

  /// The tensor, or what is wrong with it.
  const Result<TensorView> &view() const { return content; }

private:
  struct Dlpack {
    void *data;
    uint64_t byteOffset;
    int code, bits, lanes;
    std::vector<int64_t> shape;
    std::optional<std::vector<int64_t>> strides;
  };
  static Tensor ofDlpack(Dlpack given);
  explicit Tensor(Result<TensorView> view);
  Result<TensorView> content;
};

/// Memory of a device that holds a contiguous tensor, freed with the object, which the device outlives.
template <DeviceElement T> class Array {
public:
  static Result<Array> allocate(Device &device, std::vector<int64_t> shape) {
    Array array(device, std::move(shape));
    Result<void *> memory = device.allocate(array.size() * sizeof(T));
    if (!memory)
      return memory.error();
    array.memory = static_cast<T *>(*memory);
    return array;
  }
  /// With these elements, in row-major order.
  static Result<Array> of(Device &device, std::vector<int64_t> shape, std::span<const T> elements) {
    Result<Array> array = allocate(device, std::move(shape));
    if (array)
      if (Result<void> copied = array->copyFrom(elements); !copied)
        return copied.error();
    return array;
  }
  Array(Array &&other) noexcept
      : device(other.device), extents(std::move(other.extents)),
        memory(std::exchange(other.memory, nullptr)) {}
  Array &operator=(Array &&) = delete;
  ~Array() {
    if (memory)
      (void)device->free(memory);
  }

  size_t size() const {
    size_t count = 1;
    for (int64_t extent : extents)
      count *= size_t(extent);
    return count;
  }
  T *data() const { return memory; }
  operator Tensor() const { return Tensor(memory, extents); }

  /// All elements. Waits for nothing: `Device::synchronize` does, before what a kernel has written is read.
  Result<void> copyFrom(std::span<const T> elements) {
    if (elements.size() != size())
      return Error{.message = "expected " + std::to_string(size()) + " elements, but got " +
                              std::to_string(elements.size())};
    return device->copyToDevice(memory, elements.data(), elements.size_bytes());
  }
  Result<std::vector<T>> toHost() const {
    std::vector<T> elements(size());
    if (Result<void> copied = device->copyToHost(elements.data(), memory, elements.size() * sizeof(T));
        !copied)
      return copied.error();
    return elements;
  }

private:
  Array(Device &device, std::vector<int64_t> shape) : device(&device), extents(std::move(shape)) {}
  Device *device;
  std::vector<int64_t> extents;
  T *memory = nullptr;
};

/// What a kernel is called with: a tensor or a number, which becomes an element of the scalar's type.
using Argument = std::variant<Tensor, double, int64_t>;

/// A program on a device, which outlives it. Several threads may call it at once; it keeps a workspace for
/// each stream that it is called on. A call that is captured is an error if there are workspaces: a graph
/// would share them with later calls.
class Kernel {
public:
  struct State;
  explicit Kernel(std::shared_ptr<State> state) : state(std::move(state)) {}

  /// Enqueues the program. Tensors and numbers, each in the order in which the program declares its own. The
  /// first call on a stream, and one with larger tensors, allocates workspaces, if there are any.
  template <class... Arguments> Result<void> operator()(Stream stream, const Arguments &...arguments) const {
    const std::array<Argument, sizeof...(Arguments)> list = {argument(arguments)...};
    return call(stream, list.data(), list.size());
  }
  /// By name.
  Result<void> operator()(Stream stream,
                          std::initializer_list<std::pair<std::string_view, Argument>> arguments) const;

  const LoadedProgram &program() const;

private:
  template <class T> static Argument argument(const T &value) {
    if constexpr (std::integral<T>)
      return int64_t(value);
    else if constexpr (std::floating_point<T>)
      return double(value);
    else if constexpr (std::convertible_to<const T &, Tensor>)
      return static_cast<Tensor>(value);
    else
      return Tensor(value);
  }
  Result<void> call(Stream stream, const Argument *arguments, size_t count) const;
  std::shared_ptr<State> state;
};

/// Compiles the program for the target of the device, unless the usual cache has it, and loads it.
Result<Kernel> jit(dsl::Program program, Device &device);
/// With options of <tlc/compiler/pipeline/Options.h>, except for their target.
Result<Kernel> jit(dsl::Program program, Device &device, const CompileOptions &options);

#ifdef __cpp_exceptions
/// A `Result`'s error as an exception, for programs that have these.
class Failure : public std::runtime_error {
public:
  explicit Failure(const Error &error) : std::runtime_error(error.message), kind(error.kind) {}
  const ErrorKind kind;
};
template <class T> T orThrow(Result<T> result) {
  if (!result)
    throw Failure(result.error());
  return std::move(*result);
}
inline void orThrow(const Result<void> &result) {
  if (!result)
    throw Failure(result.error());
}
#endif

} // namespace tlc
