// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/Svg.h"

#include <cstdint>

namespace tlc {

std::string escapedForXml(std::string_view text) {
  std::string result;
  for (const char c : text)
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += uint8_t(c) < 0x20 ? ' ' : c;
    }
  return result;
}

void SvgDrawing::text(double x, double y, std::string_view content, std::string_view classes,
                      std::string_view anchor) {
  add("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>", x, y, classes, anchor,
      escapedForXml(content));
}

void SvgDrawing::box(double x, double y, double width, double height, std::string_view fill,
                     std::string_view title, std::string_view extra) {
  add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" "
      "{}><title>{}</title></rect>",
      x, y, width, height, fill, extra, escapedForXml(title));
}

std::string SvgDrawing::page(double width, double height, std::string_view style,
                             std::string_view definitions) const {
  return fmt::format(R"svg(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1:.0f}" viewBox="0 0 {0} {1:.0f}">
<style>
{2}</style>
<defs>
{3}</defs>
<rect width="100%" height="100%" fill="#ffffff"/>
{4}</svg>
)svg",
                     width, height, style, definitions, body);
}

} // namespace tlc
