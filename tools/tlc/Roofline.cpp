// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/Roofline.h"

#include "runtime/support/Svg.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Timing.h"

#include <algorithm>
#include <cmath>

using namespace tlc;
using namespace tlc::driver;

namespace {

/// Of the first tensor that the program reads.
unsigned operandBits(const Artifact &artifact) {
  for (const TensorArgument &tensor : artifact.tensors)
    if (tensor.access == Access::input)
      return bitsOf(tensor.element);
  return 0;
}

/// "12.3 T"
std::string scaled(double value) {
  constexpr std::string_view prefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  for (; value >= 1000 && prefix + 1 < std::size(prefixes); ++prefix)
    value /= 1000;
  return fmt::format("{:.3g} {}", value, prefixes[prefix]);
}

/// The diagram: from intensities and rates to places.
class Diagram {
public:
  Diagram(const Roofline &roofline) : roofline(roofline) {
    const double ridge = roofline.ceilings.front().flopsPerSecond / roofline.bytesPerSecond;
    lowest = std::floor(std::log10(std::min(roofline.intensity(), ridge / 100)));
    highest = std::ceil(std::log10(std::max(roofline.intensity(), ridge) * 4));
    const double most = roofline.ceilings.front().flopsPerSecond;
    top = std::ceil(std::log10(most * 1.2));
    bottom = std::floor(std::log10(
        std::min(roofline.flops / roofline.seconds, std::pow(10, lowest) * roofline.bytesPerSecond)));
  }

  std::string draw() {
    page.text(left, 34, roofline.kernel, "title");
    page.text(left, 54, roofline.device, "note");
    grid();
    const double least = std::pow(10, lowest), most = std::pow(10, highest);
    for (const Ceiling &ceiling : roofline.ceilings) {
      const bool own = &ceiling == &roofline.ceilings[roofline.own];
      const double ridge = std::max(least, ceiling.flopsPerSecond / roofline.bytesPerSecond);
      line(ridge, ceiling.flopsPerSecond, most, ceiling.flopsPerSecond, own ? "own" : "other");
      page.text(xOf(most) - 4, yOf(ceiling.flopsPerSecond) - 5,
                fmt::format("{}: {}FLOP/s", ceiling.name, scaled(ceiling.flopsPerSecond)), "small", "end");
    }
    const double ridge = roofline.ceilings.front().flopsPerSecond / roofline.bytesPerSecond;
    line(least, least * roofline.bytesPerSecond, ridge, roofline.ceilings.front().flopsPerSecond, "own");
    page.text(xOf(least) + 6, yOf(least * roofline.bytesPerSecond) - 12,
              fmt::format("memory: {}B/s", scaled(roofline.bytesPerSecond)), "small");
    const double reached = roofline.flops / roofline.seconds;
    page.add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\" fill=\"#d9534f\"/>", xOf(roofline.intensity()),
             yOf(reached));
    page.text(
        xOf(roofline.intensity()) - 10, yOf(reached) + 18,
        fmt::format("{}FLOP/s, {:.0f} % of what is attainable", scaled(reached), 100 * roofline.share()),
        "label", "end");
    return page.page(
        width, height,
        R"css(text { font-family: "DejaVu Sans", Verdana, Arial, sans-serif; font-size: 12px; fill: #222222; }
.title { font-size: 24px; font-weight: bold; }
.note { fill: #666666; }
.small { font-size: 10px; }
.label { font-size: 11px; }
.grid { stroke: #dddddd; stroke-width: 1; }
.own { stroke: #2f5d8a; stroke-width: 2.5; }
.other { stroke: #9db4cc; stroke-width: 1.5; }
)css");
  }

private:
  static constexpr double width = 900, height = 560, left = 80, right = 870, above = 80, below = 510;

  double xOf(double intensity) const {
    return left + (std::log10(intensity) - lowest) / (highest - lowest) * (right - left);
  }
  double yOf(double rate) const {
    return below - (std::log10(rate) - bottom) / (top - bottom) * (below - above);
  }
  void line(double x1, double y1, double x2, double y2, std::string_view look) {
    page.add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>", xOf(x1), yOf(y1),
             xOf(x2), yOf(y2), look);
  }
  void grid() {
    for (double power = lowest; power <= highest; ++power) {
      const double value = std::pow(10, power);
      line(value, std::pow(10, bottom), value, std::pow(10, top), "grid");
      page.text(xOf(value), below + 18, fmt::format("{:g}", value), "small", "middle");
    }
    for (double power = bottom; power <= top; ++power) {
      const double value = std::pow(10, power);
      line(std::pow(10, lowest), value, std::pow(10, highest), value, "grid");
      page.text(left - 6, yOf(value) + 4, scaled(value) + "FLOP/s", "small", "end");
    }
    page.text((left + right) / 2, below + 38, "FLOP per byte", "label", "middle");
  }

  const Roofline &roofline;
  SvgDrawing page;
  double lowest = 0, highest = 0, bottom = 0, top = 0; ///< powers of ten
};

} // namespace

double Roofline::attainable() const {
  return std::min(ceilings[own].flopsPerSecond, intensity() * bytesPerSecond);
}

double Roofline::share() const {
  return std::max(bytes / bytesPerSecond, flops / ceilings[own].flopsPerSecond) / seconds;
}

Roofline driver::rooflineOf(const Artifact &artifact, const Variant &variant, const Target &target,
                            int multiprocessors) {
  const TimingFacts &facts = timingOf(target);
  const double cycles = facts.clockGhz * 1e9 * multiprocessors;
  const auto products = [&](unsigned bits) {
    return Ceiling{fmt::format("products of {} bits", bits),
                   2 * facts.multiplyAddsPerCycle * (16.0 / bits) * cycles};
  };
  Roofline roofline;
  roofline.bytesPerSecond = facts.memoryBytesPerSecond;
  roofline.ceilings = {
      products(8),
      products(16),
      {"arithmetic of f32", 2.0 * double(lanesPerWarp) * facts.schedulers / facts.floatCycles * cycles}};
  const bool multiplies = variant.ptx.find("mma") != std::string::npos;
  roofline.own = !multiplies ? 2 : operandBits(artifact) <= 8 ? 0 : 1;
  return roofline;
}

std::string driver::textOf(const Roofline &roofline) {
  const Ceiling &ceiling = roofline.ceilings[roofline.own];
  std::string text = fmt::format("roofline: {}FLOP, {}B: ", scaled(roofline.flops), scaled(roofline.bytes));
  text += roofline.isBoundByMemory()
              ? fmt::format("memory ({}B/s) is the limit", scaled(roofline.bytesPerSecond))
              : fmt::format("{} ({}FLOP/s) are the limit", ceiling.name, scaled(ceiling.flopsPerSecond));
  return text + fmt::format(", of which {:.0f} % is reached in {:.2f} us", 100 * roofline.share(),
                            roofline.seconds * 1e6);
}

std::string driver::toSvg(const Roofline &roofline) { return Diagram(roofline).draw(); }
