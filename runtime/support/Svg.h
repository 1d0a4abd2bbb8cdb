// SPDX-License-Identifier: Apache-2.0
/// \file
/// A drawing made of texts and boxes, as SVG.
#pragma once

#include <fmt/format.h>
#include <string>
#include <string_view>

namespace tlc {

/// The text with XML's special characters escaped, and control characters as spaces.
std::string escapedForXml(std::string_view text);

class SvgDrawing {
public:
  /// A line of SVG.
  template <class... A> void add(fmt::format_string<A...> format, A &&...arguments) {
    body += fmt::format(format, std::forward<A>(arguments)...);
    body += '\n';
  }
  /// `classes` are those of the page's style; `anchor` is "start", "middle" or "end".
  void text(double x, double y, std::string_view content, std::string_view classes = "",
            std::string_view anchor = "start");
  /// A filled rectangle, with a title that a browser shows under the pointer and further attributes in
  /// `extra`.
  void box(double x, double y, double width, double height, std::string_view fill, std::string_view title,
           std::string_view extra = "");

  /// What has been drawn, as elements of another drawing.
  const std::string &content() const { return body; }

  /// The file: white, in pixels, with a style sheet and definitions (`<defs>`).
  std::string page(double width, double height, std::string_view style,
                   std::string_view definitions = "") const;

private:
  std::string body;
};

} // namespace tlc
