// SPDX-License-Identifier: Apache-2.0
/// \file
/// Evaluation, composition and inversion of maps made of digits.
#include "dialects/layout/LayoutMap.h"

#include "runtime/support/Math.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <functional>
#include <iterator>

using namespace tlc;

namespace {

/// A mode, where it stands: the digit of index i is `i / stride % mode.extent`.
struct Digit {
  size_t input;
  LayoutMode mode;
  int64_t stride;
};

/// Calls visit(Digit) for each mode, input after input, the fastest first.
template <class Visit> void forEachDigit(const std::vector<LayoutMap::Input> &inputs, Visit visit) {
  for (size_t input = 0; input < inputs.size(); ++input) {
    int64_t stride = 1;
    for (const LayoutMode &mode : inputs[input].modes) {
      visit(Digit{input, mode, stride});
      stride *= mode.extent;
    }
  }
}

/// The digits that move an output, by increasing step.
std::vector<Digit> digitsAlong(const std::vector<LayoutMap::Input> &inputs, int output) {
  std::vector<Digit> digits;
  forEachDigit(inputs, [&](const Digit &digit) {
    if (digit.mode.axis == output)
      digits.push_back(digit);
  });
  std::sort(digits.begin(), digits.end(),
            [](const Digit &a, const Digit &b) { return a.mode.step < b.mode.step; });
  return digits;
}

std::string print(const LayoutMode &mode, const std::string &output) {
  if (mode.isReplicated())
    return fmt::format("{}@*", mode.extent);
  std::string text = fmt::format("{}@{}:{}", mode.extent, output, mode.step);
  return mode.flip == 0 ? text : fmt::format("{} ^ {}", text, mode.flip);
}

/// What `modes`, which read an index, make of a digit that adds multiples of `mode.step` to it: a digit for
/// each part that one of them sees. Nothing if these do not divide one another.
std::optional<Modes> throughModes(const LayoutMode &mode, const Modes &modes) {
  Modes parts;
  int64_t step = mode.step, open = mode.extent, weight = 1;
  for (size_t i = 0; i < modes.size() && open > 1; ++i) {
    const LayoutMode &next = modes[i];
    int64_t end = weight * next.extent;
    bool isLast = i + 1 == modes.size();
    if (step < end || isLast) {
      if (step % weight != 0)
        return std::nullopt;
      int64_t extent = open;
      if (!isLast && step * open > end) {
        if (end % step != 0 || open % (end / step) != 0)
          return std::nullopt;
        extent = end / step;
      }
      int64_t units = step / weight;
      // Flips of parts add up to the whole digit's only where the parts are bits.
      if (next.flip != 0 && (!isPowerOf2(extent) || !isPowerOf2(units)))
        return std::nullopt;
      parts.push_back(next.isReplicated()
                          ? LayoutMode::replicated(extent)
                          : LayoutMode{extent, next.axis, next.step * units, next.flip * units});
      step *= extent;
      open /= extent;
    }
    weight = end;
  }
  if (open > 1)
    return std::nullopt;
  return parts;
}

} // namespace

int64_t tlc::numIndices(const Modes &modes) {
  int64_t result = 1;
  for (const LayoutMode &mode : modes)
    result *= mode.extent;
  return result;
}

Modes tlc::canonical(const Modes &modes) {
  Modes result;
  for (const LayoutMode &mode : modes) {
    if (mode.extent == 1)
      continue;
    if (!result.empty() && result.back().axis == mode.axis &&
        mode.step == result.back().step * result.back().extent &&
        mode.flip == result.back().flip * result.back().extent)
      result.back().extent *= mode.extent;
    else
      result.push_back(mode);
  }
  return result;
}

std::string tlc::toString(Dim dim) {
  constexpr const char *names[] = {"reg", "lane", "warp", "block", "bit", "tensor lane", "tensor bit"};
  if (dim < Dim::axis0)
    return names[size_t(dim)];
  return fmt::format("axis {}", int(dim) - int(Dim::axis0));
}

LayoutMap::LayoutMap(std::vector<Input> inputs, std::vector<Dim> outputs)
    : ins(std::move(inputs)), outs(std::move(outputs)) {
  for (Input &input : ins)
    input.modes = canonical(input.modes);
}

std::string LayoutMap::problem() const {
  for (int output = 0; output < int(outs.size()); ++output) {
    int64_t covered = 1, flipped = 1;
    for (const Digit &digit : digitsAlong(ins, output)) {
      const LayoutMode &mode = digit.mode;
      std::string text = print(mode, toString(outs[size_t(output)]));
      if (mode.step < covered)
        return fmt::format(
            "expected a step of at least {} because the modes with smaller steps cover as much, "
            "but got {}",
            covered, text);
      if (!isMultipleOf(mode.step, flipped))
        return fmt::format(
            "expected a step that is a multiple of {} because bits below it are flipped, but got {}", flipped,
            text);
      covered = mode.end();
      if (mode.flip == 0)
        continue;
      if (!isPowerOf2(mode.extent) || !isPowerOf2(mode.flip) || !isPowerOf2(mode.step) ||
          mode.flip * mode.extent > mode.step)
        return fmt::format("expected powers of two where a mode flips, and flips below its step, but got {}",
                           text);
      flipped = mode.step;
    }
  }
  return "";
}

int64_t LayoutMap::size(int output) const {
  int64_t size = 1;
  for (const Input &input : ins)
    for (const LayoutMode &mode : input.modes)
      if (mode.axis == output)
        size = std::max(size, mode.end());
  return size;
}

void LayoutMap::addSums(std::span<const int64_t> indices, std::span<int64_t> sums) const {
  for (size_t input = 0; input < ins.size(); ++input) {
    int64_t rest = indices[input];
    const Modes &modes = ins[input].modes;
    for (size_t i = 0; i < modes.size() && rest != 0; ++i) {
      int64_t digit = i + 1 == modes.size() ? rest : rest % modes[i].extent;
      rest /= modes[i].extent;
      if (!modes[i].isReplicated())
        sums[size_t(modes[i].axis)] += digit * modes[i].step;
    }
  }
}

std::vector<int64_t> LayoutMap::operator()(std::span<const int64_t> indices) const {
  std::vector<int64_t> result(outs.size(), 0);
  addSums(indices, result);
  forEachDigit(ins, [&](const Digit &digit) {
    if (digit.mode.flip != 0)
      result[size_t(digit.mode.axis)] ^=
          indices[digit.input] / digit.stride % digit.mode.extent * digit.mode.flip;
  });
  return result;
}

std::optional<std::vector<int64_t>> LayoutMap::find(std::span<const int64_t> outputs) const {
  std::vector<int64_t> indices(ins.size(), 0);
  for (int output = 0; output < int(outs.size()); ++output) {
    int64_t rest = outputs[size_t(output)];
    std::vector<Digit> digits = digitsAlong(ins, output);
    for (size_t i = digits.size(); i-- > 0;) {
      const LayoutMode &mode = digits[i].mode;
      int64_t value = rest / mode.step;
      if (rest < 0 || value >= mode.extent)
        return std::nullopt;
      indices[digits[i].input] += value * digits[i].stride;
      rest = (rest - value * mode.step) ^ (value * mode.flip);
    }
    if (rest != 0)
      return std::nullopt;
  }
  return indices;
}

bool LayoutMap::hasFlips() const {
  bool flips = false;
  forEachDigit(ins, [&](const Digit &digit) { flips |= digit.mode.flip != 0; });
  return flips;
}

LayoutMap LayoutMap::withoutFlips() const {
  std::vector<Input> inputs = ins;
  for (Input &input : inputs)
    for (LayoutMode &mode : input.modes)
      mode.flip = 0;
  return {std::move(inputs), outs};
}

std::optional<LayoutMap> LayoutMap::then(const LayoutMap &next) const {
  assert(outs.size() == next.ins.size() && "a map's inputs are the outputs of the one before");
  if (hasFlips())
    return std::nullopt;
  std::vector<Input> inputs;
  for (const Input &input : ins) {
    Modes modes;
    for (const LayoutMode &mode : input.modes) {
      if (mode.isReplicated()) {
        modes.push_back(mode);
        continue;
      }
      std::optional<Modes> parts = throughModes(mode, next.modes(size_t(mode.axis)));
      if (!parts)
        return std::nullopt;
      modes.insert(modes.end(), parts->begin(), parts->end());
    }
    inputs.push_back({input.dim, std::move(modes)});
  }
  return LayoutMap(std::move(inputs), next.outs);
}

std::optional<LayoutMap> LayoutMap::inverse() const {
  if (hasFlips())
    return std::nullopt;
  bool hasReplicas = false;
  forEachDigit(ins, [&](const Digit &digit) { hasReplicas |= digit.mode.isReplicated(); });
  if (hasReplicas)
    return std::nullopt;
  std::vector<Input> inputs;
  for (int output = 0; output < int(outs.size()); ++output) {
    Modes modes;
    int64_t covered = 1;
    for (const Digit &digit : digitsAlong(ins, output)) {
      if (digit.mode.step % covered != 0)
        return std::nullopt;
      modes.push_back(LayoutMode::replicated(digit.mode.step / covered));
      covered = digit.mode.end();
      modes.push_back({digit.mode.extent, int(digit.input), digit.stride});
    }
    inputs.push_back({outs[size_t(output)], std::move(modes)});
  }
  std::vector<Dim> outputs;
  for (const Input &input : ins)
    outputs.push_back(input.dim);
  return LayoutMap(std::move(inputs), std::move(outputs));
}

std::string tlc::printMap(const LayoutMap &map) {
  std::vector<std::string> inputs;
  for (const LayoutMap::Input &input : map.inputs()) {
    std::vector<std::string> modes;
    for (const LayoutMode &mode : input.modes)
      modes.push_back(print(mode, mode.isReplicated() ? "" : toString(map.outputs()[size_t(mode.axis)])));
    inputs.push_back(fmt::format("{}({})", toString(input.dim), fmt::join(modes, ", ")));
  }
  return fmt::format("{}", fmt::join(inputs, " "));
}

size_t tlc::hashOf(const LayoutMap &map) {
  size_t hash = map.outputs().size();
  auto mix = [&](int64_t value) { hash = (hash ^ std::hash<int64_t>()(value)) * 0x9E3779B97F4A7C15u; };
  for (const LayoutMap::Input &input : map.inputs()) {
    mix(int64_t(input.dim));
    for (const LayoutMode &mode : input.modes)
      for (int64_t value : {mode.extent, int64_t(mode.axis), mode.step, mode.flip})
        mix(value);
  }
  return hash;
}
