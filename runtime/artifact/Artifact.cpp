// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/Artifact.h"

#include "runtime/artifact/ProgramCode.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

using namespace tlc;

ProgramCode tlc::codeOf(const Artifact &artifact) {
  const bool isCubin = std::ranges::all_of(artifact.variants, [](const Variant &variant) {
    return variant.launches.empty() || !variant.cubin.empty();
  });
  return isCubin ? ProgramCode::cubin : ProgramCode::ptx;
}

namespace {

/// What positions on the device can be.
bool isPosition(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
}

/// Whether rounding towards 0 rounded down.
bool isQuotientTooSmall(int64_t remainder, int64_t divisor) {
  return remainder != 0 && (remainder < 0) == (divisor < 0);
}

std::optional<int64_t> apply(HostExpr::Op op, int64_t lhs, int64_t rhs) {
  if (!isPosition(lhs) || !isPosition(rhs))
    return std::nullopt;
  bool divides = rhs != 0;
  switch (op) {
  case HostExpr::Op::constant:
  case HostExpr::Op::dimension:
  case HostExpr::Op::multiprocessors:
    return std::nullopt;
  case HostExpr::Op::add:
    return lhs + rhs;
  case HostExpr::Op::subtract:
    return lhs - rhs;
  case HostExpr::Op::multiply:
    return lhs * rhs;
  case HostExpr::Op::divide:
    return divides ? std::optional(lhs / rhs) : std::nullopt;
  case HostExpr::Op::ceilDiv:
    return divides ? std::optional(lhs / rhs + isQuotientTooSmall(lhs % rhs, rhs)) : std::nullopt;
  case HostExpr::Op::remainder:
    return divides ? std::optional(lhs % rhs) : std::nullopt;
  case HostExpr::Op::min:
    return std::min(lhs, rhs);
  case HostExpr::Op::max:
    return std::max(lhs, rhs);
  }
  return std::nullopt;
}

} // namespace

HostExpr HostExpr::apply(Op op, const HostExpr &lhs, const HostExpr &rhs) {
  HostExpr result = lhs;
  result.steps.insert(result.steps.end(), rhs.steps.begin(), rhs.steps.end());
  result.steps.push_back({op, 0});
  return result;
}

std::optional<int64_t> HostExpr::evaluate(const std::vector<int64_t> &dimensions,
                                          int64_t multiprocessors) const {
  // Grids and sizes are shallow; a fixed stack keeps the launch path free of allocation.
  std::array<int64_t, maxDepth> stack;
  size_t depth = 0;
  for (const Step &step : steps) {
    bool leaf = step.op <= Op::multiprocessors;
    if (leaf ? depth == stack.size() : depth < 2)
      return std::nullopt;
    switch (step.op) {
    case Op::constant:
      stack[depth++] = step.operand;
      break;
    case Op::dimension:
      if (step.operand < 0 || step.operand >= int64_t(dimensions.size()))
        return std::nullopt;
      stack[depth++] = dimensions[step.operand];
      break;
    case Op::multiprocessors:
      stack[depth++] = multiprocessors;
      break;
    default: {
      std::optional<int64_t> value = ::apply(step.op, stack[depth - 2], stack[depth - 1]);
      if (!value)
        return std::nullopt;
      stack[--depth - 1] = *value;
    }
    }
  }
  if (depth != 1)
    return std::nullopt;
  return stack[0];
}

unsigned tlc::parameterBytes(const Artifact &artifact, const KernelParameter &parameter) {
  switch (parameter.kind) {
  case KernelParameter::Kind::tensorPointer:
  case KernelParameter::Kind::multicastPointer:
    return pointerBytes;
  case KernelParameter::Kind::tensorStride:
    return parameter.bytes == 0 ? 8 : parameter.bytes;
  case KernelParameter::Kind::dimension:
    return parameter.bytes == 0 ? 4 : parameter.bytes;
  case KernelParameter::Kind::scalar:
    return unsigned(bytesOf(artifact.scalars[parameter.index].element, 1));
  case KernelParameter::Kind::tensorMap:
    return tensorMapBytes;
  case KernelParameter::Kind::tensorPointers:
    return maxRanks * pointerBytes;
  case KernelParameter::Kind::tensorMaps:
    return maxRanks * tensorMapBytes;
  }
  return 0;
}

unsigned tlc::parameterAlignment(const Artifact &artifact, const KernelParameter &parameter) {
  // Natural alignment; tensor maps and tables are aggregates with an alignment of their own.
  if (parameter.kind == KernelParameter::Kind::tensorPointers)
    return pointerBytes;
  return std::min(parameterBytes(artifact, parameter), unsigned(tensorMapAlignment));
}

const WarpRole *LaunchNames::roleOf(unsigned warp) const {
  auto found = std::ranges::find_if(roles, [&](const WarpRole &role) {
    return warp >= role.firstWarp && warp - role.firstWarp < role.warps;
  });
  return found == roles.end() ? nullptr : &*found;
}

std::string LaunchNames::nameOf(unsigned offset) const {
  auto found = std::ranges::find_if(shared, [&](const SharedObject &object) {
    return offset >= object.offset && offset - object.offset < object.bytes();
  });
  if (found == shared.end())
    return "";
  const unsigned within = offset - found->offset;
  switch (found->kind) {
  case SharedObject::Kind::ring: {
    const auto barrier = unsigned(within / mbarrierBytes);
    return fmt::format("{}.{}[{}]", found->name, barrier < found->slots ? "full" : "empty",
                       barrier % found->slots);
  }
  case SharedObject::Kind::buffer:
    if (found->slots > 1)
      return fmt::format("{}[{}]", found->name, within / found->slotBytes);
    break;
  case SharedObject::Kind::barrier:
    break;
  }
  return found->name;
}
