// SPDX-License-Identifier: Apache-2.0
/// \file
/// TileExtents of tiles as arguments: C++ integers, and a message for what is known on the device only.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace tlc::dsl::inline v1 {

class Handle;

/// TileExtents of a tile, outermost first.
using Shape = std::vector<int64_t>;

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

namespace detail {
template <class> inline constexpr bool never = false;
} // namespace detail

/// One extent of a tile.
class TileExtent {
public:
  template <Integer T> TileExtent(T value) : extent(int64_t(value)) {}
  template <std::derived_from<Handle> T> TileExtent(const T &) {
    static_assert(
        detail::never<T>,
        "extents of tiles are compile-time constants, but this value is known on the device only: take "
        "a C++ integer, such as a constant of the kernel; elements beyond a tensor's end are masked");
  }

  int64_t value() const { return extent; }

private:
  int64_t extent = 0;
};

/// A shape as an argument.
class TileExtents : public Shape {
public:
  TileExtents(std::initializer_list<TileExtent> extents) {
    for (const TileExtent &extent : extents)
      push_back(extent.value());
  }
  TileExtents(Shape shape) : Shape(std::move(shape)) {}
};

} // namespace tlc::dsl::inline v1
