// SPDX-License-Identifier: Apache-2.0
/// \file
/// Value-or-error for the runtime, which uses no exceptions across its
/// interfaces. A user's mistake and a broken environment both arrive as an
/// `Error`; its kind tells them apart. Our own bugs assert.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tlc {

enum class ErrorKind {
  invalidArgument, ///< the caller passed something wrong; the message says what
  environment,     ///< something is missing or too old: driver, device, file
  execution,       ///< the kernel misbehaved: deadlock, out of bounds, trap
};

/// A failure. `message` is a sentence for the user: lower case, no final
/// period, naming the argument, its value and the limit.
struct [[nodiscard]] Error {
  ErrorKind kind = ErrorKind::invalidArgument;
  std::string message;
};

/// Either a `T` or an `Error`. `Result<void>` carries success or an `Error`.
template <class T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() { return value(); }
  const T &operator*() const { return value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  const Error &error() const {
    assert(state.index() == 1 && "error() of a successful result");
    return *std::get_if<1>(&state); // throws nothing
  }

private:
  T &value() {
    assert(state.index() == 0 && "value of a failed result");
    return *std::get_if<0>(&state);
  }
  const T &value() const {
    assert(state.index() == 0 && "value of a failed result");
    return *std::get_if<0>(&state);
  }
  std::variant<T, Error> state;
};

template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : failure(std::move(error)) {}

  explicit operator bool() const { return !failure; }
  const Error &error() const {
    assert(failure && "error() of a successful result");
    return *failure;
  }

private:
  std::optional<Error> failure;
};

} // namespace tlc
