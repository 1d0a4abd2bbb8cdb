// SPDX-License-Identifier: Apache-2.0
/// \file
/// A timeline as a drawing: a row for each role and engine, a box for what each does or waits for.
#include "runtime/support/Svg.h"

#include "runtime/emulator/trace/Export.h"
#include "runtime/target/Hardware.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tlc::emulator {

namespace {

using Kind = TraceSpan::Kind;

constexpr double pageWidth = 1600, margin = 24, labelWidth = 190, rightEdge = pageWidth - margin;
constexpr double characterWidth = 6.1; ///< of the small font
/// More spans than this are too many for one picture; a panel then shows so many.
constexpr size_t mostSpans = 1500, spansOfPanel = 500;

// Fills. A lane's products have the colour of the warps that issued them, copies that of their tensor.
constexpr std::string_view runFill = "#4c78a8", stallFill = "#f2b877", fillingFill = "#bfe3c0",
                           fullFill = "#5aa469";
constexpr std::string_view productFills[] = {"#7b5ea7", "#b07aa1", "#5d4a8a", "#c9a0c0"};
constexpr std::string_view copyFills[] = {"#59a14f", "#2a9d8f", "#8cb369", "#76b7b2", "#a3b18a", "#3d7a5a"};
constexpr std::string_view waitStroke = "#d9534f", arrowStroke = "#c0392b";

/// 12 345 678
std::string grouped(uint64_t value) {
  std::string digits = fmt::format("{}", value);
  for (size_t i = digits.size(); i > 3; i -= 3)
    digits.insert(i - 3, "\u202f");
  return digits;
}

/// A row of the picture: some tracks, of which the first is drawn.
struct Row {
  std::string label;
  std::vector<uint32_t> tracks;
  double height = 24;
  double gap = 4; ///< above
  double y = 0;
};

class Picture : public SvgDrawing {
public:
  explicit Picture(const Timeline &timeline) : trace(timeline.trace), summary(timeline.summary) {}

  /// Returns its height.
  double draw(std::optional<TraceWindow> wanted) {
    makeRows();
    heading();
    shares();
    legend();
    if (wanted) {
      panel({std::min(wanted->begin, trace.cycles), std::min(wanted->end, trace.cycles)}, "");
    } else if (drawnSpans() <= mostSpans) {
      panel({0, trace.cycles}, "");
    } else {
      const uint64_t length = panelLength();
      panel({0, length}, "The beginning");
      const uint64_t middle = (trace.cycles - length) / 2;
      if (trace.cycles > 3 * length)
        panel({middle, middle + length}, "Halfway");
      panel({trace.cycles - length, trace.cycles}, "The end");
    }
    return y + 10;
  }

private:
  /// The most of a text that a width holds; nothing rather than a letter or two.
  static std::string fitting(std::string_view content, double width) {
    const size_t room = size_t(std::max(0.0, (width - 6) / characterWidth));
    if (content.size() <= room)
      return std::string(content);
    return room < 4 ? "" : fmt::format("{}\u2026", content.substr(0, room - 1));
  }

  // --- what is drawn ---------------------------------------------------------------------
  void makeRows() {
    for (const LaneSummary &lane : summary.lanes)
      laneRows(lane.lane);
    for (uint32_t track = 0; track < trace.tracks.size(); ++track) {
      const TraceTrack &info = trace.tracks[track];
      if (info.kind == TraceTrack::Kind::warp || !isUsed(track))
        continue;
      const bool slot = info.kind == TraceTrack::Kind::slot;
      const bool first = track == 0 || trace.tracks[track - 1].kind != info.kind;
      rows.push_back(
          {blockPrefix(info.block) + info.name, {track}, slot ? 13.0 : 22.0, slot && !first ? 1.0 : 8.0});
      rowOf[track] = rows.size() - 1;
    }
    // Blocks one below the other, each in the order of its tracks.
    std::sort(rows.begin(), rows.end(), [&](const Row &a, const Row &b) {
      const uint32_t blockA = trace.tracks[a.tracks.front()].block,
                     blockB = trace.tracks[b.tracks.front()].block;
      return std::pair(blockA, a.tracks.front()) < std::pair(blockB, b.tracks.front());
    });
    for (size_t i = 0; i < rows.size(); ++i)
      for (uint32_t track : rows[i].tracks)
        rowOf[track] = i;
  }
  void laneRows(const TraceLane &lane) {
    rows.push_back({blockPrefix(lane.block) + lane.name, lane.tracks, 24, 5});
  }
  std::string blockPrefix(uint32_t block) const {
    return trace.blocks > 1 ? fmt::format("block {}: ", block) : "";
  }
  bool hasSpan(auto &&isIt) const { return std::any_of(trace.spans.begin(), trace.spans.end(), isIt); }
  bool isUsed(uint32_t track) const {
    return hasSpan([&](const TraceSpan &span) { return span.track == track; });
  }
  /// Of a row's tracks only the first is drawn.
  bool isDrawn(const TraceSpan &span) const {
    auto row = rowOf.find(span.track);
    return row != rowOf.end() && rows[row->second].tracks.front() == span.track;
  }
  size_t drawnSpans() const {
    return size_t(std::count_if(trace.spans.begin(), trace.spans.end(),
                                [&](const TraceSpan &span) { return isDrawn(span); }));
  }
  uint64_t panelLength() const {
    size_t seen = 0;
    for (const TraceSpan &span : trace.spans)
      if (isDrawn(span) && ++seen == spansOfPanel)
        return std::max<uint64_t>(1, span.begin);
    return trace.cycles;
  }

  double share(uint64_t cycles) const { return double(cycles) / double(std::max<uint64_t>(1, trace.cycles)); }

  // --- parts of the page -----------------------------------------------------------------
  void heading() {
    text(margin, 38, trace.kernel, "title");
    text(margin, 60,
         fmt::format("block ({}, {}, {}) of {} x {} x {}{}, {} threads, {} {}", trace.block[0],
                     trace.block[1], trace.block[2], trace.grid[0], trace.grid[1], trace.grid[2],
                     trace.blocks > 1 ? fmt::format(" with the other {} of its cluster", trace.blocks - 1)
                                      : "",
                     trace.threads[0] * trace.threads[1] * trace.threads[2],
                     trace.device.empty() ? "modelled for" : "measured on",
                     trace.device.empty() ? trace.target : trace.device),
         "note");
    std::vector<std::pair<std::string, std::string>> figures;
    figures.emplace_back(fmt::format("{:.2f} \u00b5s", microseconds(trace, trace.cycles)),
                         fmt::format("{} cycles at {} GHz", grouped(trace.cycles), trace.clockGhz));
    if (const uint64_t floor = floorCycles(trace, summary); trace.device.empty())
      figures.emplace_back(fmt::format("{:.0f} %", 100 * share(floor)),
                           fmt::format("of the time is the floor: {} cycles", grouped(floor)));
    if (summary.phases) {
      figures.emplace_back(fmt::format("{:.0f} %", 100 * share(summary.productCycles)), "tensor cores busy");
      figures.emplace_back(grouped((*summary.phases)[0]), "cycles before the first product");
      figures.emplace_back(grouped((*summary.phases)[2]), "cycles after the last product");
    }
    if (trace.device.empty())
      figures.emplace_back(
          fmt::format("{:.0f} %", 100 * share(summary.bytesIn / trace.blocks / trace.loadBytesPerCycle)),
          fmt::format("of the way in: {} bytes", grouped(summary.bytesIn)));
    const double width = (rightEdge - margin) / double(figures.size());
    for (size_t i = 0; i < figures.size(); ++i) {
      text(margin + double(i) * width, 100, figures[i].first, "figure");
      text(margin + double(i) * width, 118, figures[i].second, "note");
    }
    y = 150;
  }

  /// A bar for each lane: what its time goes to.
  void shares() {
    text(margin, y, "Where the time of each warp goes", "head");
    y += 12;
    const double left = margin + labelWidth, full = rightEdge - left;
    for (const LaneSummary &lane : summary.lanes) {
      const double warps = double(lane.lane.tracks.size());
      double x = left;
      text(left - 8, y + 14, fitting(blockPrefix(lane.lane.block) + lane.lane.name, labelWidth), "label",
           "end");
      const auto part = [&](uint64_t cycles, std::string_view fill, std::string name,
                            std::string_view textClass, std::string_view extra) {
        const double width = share(cycles) / warps * full;
        if (width < 0.3)
          return;
        name += fmt::format(" {:.0f} %", 100 * width / full);
        box(x, y, width, 20, fill, name, extra);
        text(x + 4, y + 14, fitting(name, width), textClass);
        x += width;
      };
      part(lane.run, runFill, "runs", "light", "");
      for (const auto &[name, cycles] : lane.waits)
        part(cycles, "url(#wait)", name, "small", waitBorder);
      part(lane.stall, stallFill, "operands", "small", "");
      part(lane.done, "#eeeeee", "done", "small", "");
      y += 25;
    }
    if (!summary.idle.empty()) {
      text(left, y + 10, fmt::format("and {} warps that leave at once", summary.idle.size()), "note");
      y += 18;
    }
    if (!summary.idleCauses.empty()) {
      std::string line =
          "Between the first product and the last the tensor cores idle while the warps that feed them";
      for (size_t i = 0; i < std::min<size_t>(4, summary.idleCauses.size()); ++i)
        line += fmt::format("{} {} ({} cycles)", i == 0 ? "" : ",", summary.idleCauses[i].first,
                            grouped(summary.idleCauses[i].second));
      text(left, y + 12, line, "note");
      y += 20;
    }
    y += 22;
  }

  void legend() {
    double x = margin + labelWidth;
    const auto entry = [&](std::string_view fill, std::string_view name, std::string_view extra = "") {
      box(x, y - 10, 22, 12, fill, name, extra);
      text(x + 27, y, name, "small");
      x += 42 + characterWidth * double(name.size());
    };
    text(margin, y, "Timeline", "head");
    entry(runFill, "runs");
    entry("url(#wait)", "waits", waitBorder);
    if (hasSpan([](const TraceSpan &span) { return span.kind == Kind::stall; }))
      entry(stallFill, "waits for operands");
    if (summary.phases)
      entry(productFills[0], "product, by who issued it");
    if (hasSpan([](const TraceSpan &span) { return span.kind == Kind::copy; }))
      entry(copyFills[0], "copy, by tensor");
    if (std::any_of(trace.tracks.begin(), trace.tracks.end(),
                    [](const TraceTrack &track) { return track.kind == TraceTrack::Kind::slot; })) {
      entry(fillingFill, "slot filling");
      entry(fullFill, "slot full until released");
    }
    if (hasSpan([](const TraceSpan &span) { return span.releasedBy.has_value(); })) {
      add("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" class=\"arrow\" "
          "marker-end=\"url(#tip)\"/>",
          x, y - 4, x + 24);
      text(x + 31, y, "from who ends a wait", "small");
    }
    y += 14;
  }

  double xOf(const TraceWindow &window, double cycle) const {
    const double left = margin + labelWidth, length = std::max(1.0, double(window.end - window.begin));
    return left + (cycle - double(window.begin)) / length * (rightEdge - left);
  }

  void panel(TraceWindow window, std::string_view title) {
    if (window.end <= window.begin)
      return;
    if (!title.empty())
      text(margin, y + 16, title, "head");
    y += title.empty() ? 16 : 22;
    const double top = y + 16;
    double at = top;
    for (Row &row : rows) {
      row.y = at + row.gap;
      at = row.y + row.height;
    }
    axis(window, top, at);
    for (const Row &row : rows) {
      text(margin + labelWidth - 8, row.y + row.height / 2 + 4, fitting(row.label, labelWidth), "label",
           "end");
      add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"row\"/>",
          margin + labelWidth, row.y, rightEdge - margin - labelWidth, row.height);
    }
    for (const TraceSpan &span : trace.spans)
      if (isDrawn(span) && span.end > window.begin && span.begin < window.end)
        drawSpan(window, span);
    for (const TraceSpan &span : trace.spans)
      if (span.releasedBy && isDrawn(span) && span.end > window.begin && span.end <= window.end)
        arrow(window, span);
    y = at + 26;
  }

  void axis(const TraceWindow &window, double top, double bottom) {
    const double length = double(window.end - window.begin);
    double step = std::pow(10.0, std::floor(std::log10(length / 8)));
    for (double factor : {5.0, 2.0})
      if (length / (step * factor) >= 8)
        step *= factor;
    step = std::max(1.0, step);
    const auto first = uint64_t(std::ceil(double(window.begin) / step)),
               last = uint64_t(double(window.end) / step);
    for (uint64_t line = first; line <= last; ++line) {
      const double cycle = double(line) * step;
      const double x = xOf(window, cycle);
      add("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" class=\"grid\"/>", x, top - 4,
          bottom + 4);
      text(x, top - 8, grouped(uint64_t(cycle)), "small", "middle");
      text(x, bottom + 15, fmt::format("{:.2f} \u00b5s", microseconds(trace, uint64_t(cycle))), "small",
           "middle");
    }
    text(margin + labelWidth - 8, top - 8, "cycles", "small", "end");
  }

  std::string_view fillOf(const TraceSpan &span) {
    switch (span.kind) {
    case Kind::run:
      return runFill;
    case Kind::wait:
      return "url(#wait)";
    case Kind::stall:
      return stallFill;
    case Kind::filling:
      return fillingFill;
    case Kind::full:
      return fullFill;
    case Kind::product: {
      // Every fourth warp begins a warpgroup.
      const uint32_t group = span.issued ? trace.tracks[span.issued->track].warp / warpsPerWarpgroup : 0;
      const size_t number = productColours.try_emplace(group, productColours.size()).first->second;
      return productFills[number % std::size(productFills)];
    }
    case Kind::copy: {
      const bool in = trace.tracks[span.track].kind == TraceTrack::Kind::loads;
      const size_t to = span.name.find(" to ");
      const std::string tensor =
          in ? span.name.substr(0, to) : span.name.substr(std::min(to, span.name.size()));
      const size_t number = copyColours.try_emplace(tensor, copyColours.size()).first->second;
      return copyFills[number % std::size(copyFills)];
    }
    }
    return runFill;
  }

  std::string titleOf(const TraceSpan &span) const {
    std::string what;
    switch (span.kind) {
    case Kind::run:
      what = "runs";
      break;
    case Kind::wait:
      what = "waits for " + span.name;
      break;
    case Kind::stall:
      what = "waits for operands";
      break;
    default:
      what = span.name;
    }
    std::string title =
        fmt::format("{}\n{} cycles, {} to {}", what, span.end - span.begin, span.begin, span.end);
    if (!span.location.empty())
      title += "\nat " + span.location;
    if (span.bytes != 0)
      title += fmt::format("\n{} bytes", span.bytes);
    if (span.issued)
      title += fmt::format("\nissued by {} at {}", trace.tracks[span.issued->track].name, span.issued->time);
    if (span.releasedBy)
      title += fmt::format("\nended by {} at {}", trace.tracks[span.releasedBy->track].name,
                           span.releasedBy->time);
    std::vector<std::pair<uint64_t, std::string>> lines;
    for (const auto &[line, cycles] : span.lines)
      lines.emplace_back(cycles, line);
    std::sort(lines.rbegin(), lines.rend());
    for (size_t i = 0; i < std::min<size_t>(4, lines.size()); ++i)
      title += fmt::format("\n{} cycles at {}", lines[i].first, lines[i].second);
    return title;
  }

  void drawSpan(const TraceWindow &window, const TraceSpan &span) {
    const Row &row = rows[rowOf.at(span.track)];
    const double begin = xOf(window, double(std::max(span.begin, window.begin))),
                 end = xOf(window, double(std::min(span.end, window.end)));
    const double width = std::max(0.7, end - begin);
    const bool waits = span.kind == Kind::wait;
    const bool outlined = span.kind == Kind::product || span.kind == Kind::copy;
    box(begin, row.y, width, row.height, fillOf(span), titleOf(span),
        waits      ? waitBorder
        : outlined ? "stroke=\"#ffffff\" stroke-width=\"0.6\""
                   : "");
    if (row.height < 18)
      return;
    const std::string label = span.kind == Kind::run || span.kind == Kind::stall ? "" : span.name;
    const std::string shown = fitting(label, width);
    if (!shown.empty())
      text(begin + 4, row.y + row.height / 2 + 4, shown, waits ? "small" : "light");
  }

  void arrow(const TraceWindow &window, const TraceSpan &span) {
    auto from = rowOf.find(span.releasedBy->track);
    if (from == rowOf.end())
      return;
    const Row &source = rows[from->second], &target = rows[rowOf.at(span.track)];
    if (&source == &target)
      return;
    const double x1 = xOf(window, double(std::max(span.releasedBy->time, window.begin))),
                 x2 = xOf(window, double(span.end));
    const bool down = target.y > source.y;
    add("<path d=\"M{:.1f},{:.1f} L{:.1f},{:.1f}\" class=\"arrow\" marker-end=\"url(#tip)\"/>", x1,
        source.y + (down ? source.height : 0), x2, target.y + (down ? 0 : target.height));
  }

  const Trace &trace;
  const TraceSummary &summary;
  const std::string waitBorder = fmt::format("stroke=\"{}\" stroke-width=\"0.6\"", waitStroke);
  std::vector<Row> rows;
  std::map<uint32_t, size_t> rowOf; ///< by track
  std::map<uint32_t, size_t> productColours;
  std::map<std::string, size_t> copyColours;
  double y = 0; ///< of the next row
};

std::string pageOf(const SvgDrawing &drawing, double height) {
  return drawing.page(
      pageWidth, height,
      fmt::format(
          R"css(text {{ font-family: "DejaVu Sans", Verdana, Arial, sans-serif; font-size: 12px; fill: #222222; }}
.title {{ font-size: 24px; font-weight: bold; }}
.head {{ font-size: 14px; font-weight: bold; }}
.figure {{ font-size: 24px; fill: #2f5d8a; }}
.note {{ fill: #666666; }}
.small {{ font-size: 10px; }}
.light {{ font-size: 10px; fill: #ffffff; }}
.label {{ font-size: 11px; }}
.row {{ fill: #f7f7f7; }}
.grid {{ stroke: #dddddd; stroke-width: 1; }}
.arrow {{ stroke: {}; stroke-width: 1; fill: none; opacity: 0.65; }}
text, path {{ pointer-events: none; }}
)css",
          arrowStroke),
      fmt::format(
          R"svg(<pattern id="wait" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="6" height="6" fill="#fdf0ef"/><line x1="0" y1="0" x2="0" y2="6" stroke="#f0b7b3" stroke-width="2"/>
</pattern>
<marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto">
<path d="M0,0 L6,3 L0,6 z" fill="{}"/></marker>
)svg",
          arrowStroke));
}

} // namespace

std::string toSvg(std::span<const Timeline> timelines, std::optional<TraceWindow> window) {
  SvgDrawing all;
  double height = 0;
  for (const Timeline &timeline : timelines) {
    Picture picture(timeline);
    const double below = picture.draw(window);
    if (height == 0)
      all.add("{}", picture.content());
    else
      all.add("<g transform=\"translate(0,{:.1f})\">\n{}</g>", height, picture.content());
    height += below;
  }
  return pageOf(all, height);
}

} // namespace tlc::emulator
