// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/LinearExtent.h"

#include <array>
#include <fmt/format.h>

using namespace tlc;

std::optional<int64_t> LinearExtent::solve(int64_t extent) const {
  if (extent < 0 || extent > maxExtent) // as are a caller's; the remainder of the least number by -1 traps
    return std::nullopt;
  int64_t product = 0;
  if (__builtin_sub_overflow(extent, offset, &product) || product % factor != 0)
    return std::nullopt;
  const int64_t value = product / factor;
  return value >= 0 && value <= maxExtent ? std::optional(value) : std::nullopt;
}

std::string LinearExtent::text(std::string_view name) const {
  std::string text = factor == 1 ? std::string(name) : fmt::format("{} {}", factor, name);
  if (offset != 0)
    text += fmt::format(" {} {}", offset < 0 ? '-' : '+', offset < 0 ? -offset : offset);
  return text;
}

std::optional<LinearExtent> tlc::linearExtentOf(const HostExpr &extent) {
  constexpr int64_t none = -1, most = maxExtent;
  std::array<LinearExtent, HostExpr::maxDepth> pending; // constants have no dimension and the factor 0
  size_t depth = 0;
  for (const HostExpr::Step &step : extent.steps) {
    if (step.op == HostExpr::Op::constant || step.op == HostExpr::Op::dimension) {
      const bool isConstant = step.op == HostExpr::Op::constant;
      if (depth == pending.size() || (isConstant && (step.operand < -most || step.operand > most)))
        return std::nullopt;
      pending[depth++] = isConstant ? LinearExtent{none, 0, step.operand} : LinearExtent{step.operand, 1, 0};
      continue;
    }
    if (depth < 2)
      return std::nullopt;
    const LinearExtent right = pending[--depth];
    LinearExtent &left = pending[depth - 1];
    if (step.op == HostExpr::Op::multiply) {
      if (left.factor != 0 && right.factor != 0)
        return std::nullopt;
      const LinearExtent &variable = left.factor != 0 ? left : right;
      const int64_t scale = left.factor != 0 ? right.offset : left.offset;
      left = {variable.dimension, variable.factor * scale, variable.offset * scale};
    } else if (step.op == HostExpr::Op::add || step.op == HostExpr::Op::subtract) {
      if (left.factor != 0 && right.factor != 0 && left.dimension != right.dimension)
        return std::nullopt;
      const int64_t sign = step.op == HostExpr::Op::add ? 1 : -1;
      left = {left.factor != 0 ? left.dimension : right.dimension, left.factor + sign * right.factor,
              left.offset + sign * right.offset};
    } else {
      return std::nullopt;
    }
    // So that no product of two has more than 64 bits.
    if (left.factor < -most || left.factor > most || left.offset < -most || left.offset > most)
      return std::nullopt;
  }
  return depth == 1 && pending[0].factor != 0 ? std::optional(pending[0]) : std::nullopt;
}
