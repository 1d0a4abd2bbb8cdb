// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `layout`.
#include "tools/tlc/Layout.h"

#include "runtime/support/Excerpt.h"
#include "tools/tlc/Heartbeat.h"
#include "tools/tlc/LayoutList.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/Output.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

/// Layouts have been inferred and buffers placed.
constexpr Phase shownPhase = Phase::planned;
constexpr int64_t rowsOfDrawing = 32, cellsOfDrawing = 16;

/// "16:32" of an axis of `extent` elements; nothing where the flag is not there.
Result<std::optional<Range>> parseRange(StringRef flag, const cl::opt<std::string> &text, int64_t extent) {
  if (text.getNumOccurrences() == 0)
    return std::optional<Range>();
  const auto [begin, end] = StringRef(text).split(':');
  Range range;
  if (begin.getAsInteger(10, range.begin) || end.getAsInteger(10, range.end) || range.begin < 0 ||
      range.begin >= range.end || range.end > extent)
    return tlc::Error{ErrorKind::invalidArgument,
                      fmt::format("expected {} of two positions like 0:{}, from 0 to {}, but got '{}'",
                                  flag.str(), extent, extent, excerpt(text))};
  return std::optional(range);
}

/// How the user may call a tile.
std::string titleOf(const PlacedTile &tile) { return tile.name.empty() ? tile.place : tile.name; }

/// Whether `text` is the tile's name, or the beginning of its place that ends with a number.
bool isCalled(const PlacedTile &tile, StringRef text) {
  SmallVector<StringRef> names;
  StringRef(tile.name).split(names, ", ");
  StringRef place(tile.place);
  return is_contained(names, text) || (!tile.name.empty() && text == tile.name) || text == place ||
         (place.consume_front(text) && place.starts_with(":"));
}

void printList(ArrayRef<PlacedTile> tiles) {
  std::vector<std::array<std::string, 5>> lines = {{"number", "name", "kind", "type", "layout"}};
  for (const auto &[number, tile] : enumerate(tiles)) {
    std::string type = tile.type();
    if (tile.slots > 1)
      type = fmt::format("{} slots of {}", tile.slots, type);
    lines.push_back(
        {std::to_string(number), titleOf(tile), std::string(tile.kind()), type, tile.layoutText()});
  }
  std::array<size_t, 5> widths{};
  for (const auto &line : lines)
    for (size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], line[i].size());
  for (const auto &line : lines) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i)
      text += fmt::format("{:<{}}  ", line[i], widths[i]);
    outs() << StringRef(text).rtrim() << '\n';
  }
}

/// A line for each row; colours tell warps, or banks, on a terminal.
void printGrid(const PlacedTile &tile, const LayoutGrid &grid) {
  constexpr raw_ostream::Colors colours[] = {raw_ostream::BLUE,  raw_ostream::YELLOW,    raw_ostream::GREEN,
                                             raw_ostream::RED,   raw_ostream::MAGENTA,   raw_ostream::CYAN,
                                             raw_ostream::WHITE, raw_ostream::SAVEDCOLOR};
  outs() << titleOf(tile) << ": " << tile.kind() << ' ' << tile.type() << " of " << tile.kernel;
  if (!tile.place.empty())
    outs() << " (" << tile.place << ')';
  outs() << '\n';
  if (const std::string layout = tile.layoutText(); !layout.empty())
    outs() << "  " << layout << '\n';
  for (const std::string &fact : tile.facts())
    outs() << "  " << fact << '\n';
  outs() << "  " << grid.legend << '\n';
  if (const std::string left = grid.omitted(tile.shape); !left.empty())
    outs() << "  shown: " << left << '\n';

  size_t width = 0;
  for (const LayoutCell &cell : grid.cells)
    width = std::max(width, cell.text.size());
  const size_t labels = std::to_string(grid.rows.end).size() + 2;
  std::string header(labels, ' ');
  int64_t row = -1;
  size_t padding = 0; // after the cell before
  const bool hasColours = showsColours(outs());
  for (const LayoutCell &cell : grid.cells)
    if (cell.row == grid.cells.front().row)
      header += fmt::format("  {:<{}}", cell.column, width);
  outs() << StringRef(header).rtrim();
  for (const LayoutCell &cell : grid.cells) {
    if (cell.row != row) {
      row = cell.row;
      outs() << '\n' << fmt::format("{:>{}}", row, labels);
      padding = 0;
    }
    outs() << std::string(padding, ' ');
    outs() << "  ";
    if (hasColours)
      outs().changeColor(colours[size_t(cell.colour) % std::size(colours)]);
    outs() << cell.text;
    if (hasColours)
      outs().resetColor();
    padding = width - cell.text.size();
  }
  outs() << '\n';
}

void describe(json::OStream &os, const PlacedTile &tile) {
  os.attribute("kernel", tile.kernel);
  os.attribute("name", tile.name);
  os.attribute("place", tile.place);
  os.attribute("kind", StringRef(tile.kind()));
  os.attributeArray("shape", [&] {
    for (int64_t extent : tile.shape)
      os.value(extent);
  });
  os.attribute("element", tile.element);
  os.attribute("layout", tile.layoutText());
  os.attribute("slots", tile.slots);
  if (tile.offset)
    os.attribute("offset", *tile.offset);
}

/// Every element of the last two axes that is asked for, all of them unless rows or columns are.
void printElements(json::OStream &os, const PlacedTile &tile, const GridPart &part) {
  const Range rows = part.rows.value_or(Range{0, tile.rows()}),
              columns = part.columns.value_or(Range{0, tile.columns()});
  os.attributeArray("elements", [&] {
    for (int64_t row = rows.begin; row < rows.end; ++row)
      for (int64_t column = columns.begin; column < columns.end; ++column)
        os.object([&] {
          os.attribute("row", row);
          os.attribute("column", column);
          for (const auto &[name, number] : placeOf(tile, tile.elementAt(row, column)).numbers)
            os.attribute(name, number);
        });
  });
}

} // namespace

LayoutCommand::LayoutCommand()
    : command("layout", "Show which thread, byte or column holds each element of a tile"), programs(command),
      name(cl::sub(command), cl::Positional, cl::value_desc("name"),
           cl::desc("[<name, place or number of a fragment or buffer>]")),
      rows("rows", cl::sub(command), cl::value_desc("begin:end"), cl::desc("Rows to show")),
      columns("columns", cl::sub(command), cl::value_desc("begin:end"), cl::desc("Columns to show")),
      svg("svg", cl::sub(command), cl::value_desc("file"), cl::desc("Drawing to write")),
      json("json", cl::sub(command), cl::desc("One JSON object")) {}

ExitCode LayoutCommand::execute() const {
  if (name.empty())
    for (const cl::opt<std::string> *flag : {&svg, &rows, &columns})
      if (flag->getNumOccurrences())
        return failUsage("expected the name of a fragment or buffer because of --" + flag->ArgStr.str() +
                         ", but got none; 'tlc layout <kernel>' lists them");
  if (svg.getNumOccurrences())
    if (Result<void> writable = checkOutput(svg); !writable)
      return fail(writable.error().message);
  std::variant<SourceProgram, ExitCode> opened = programs.open(json ? Format::json : Format::text);
  if (const ExitCode *code = std::get_if<ExitCode>(&opened))
    return *code;
  SourceProgram &program = *std::get_if<SourceProgram>(&opened);
  if (program.options.startFrom > shownPhase)
    return failUsage(
        "expected a program in phase planned or before because later ones have no layouts, but '" +
        excerpt(program.source) + "' is in phase " + std::string(toString(program.options.startFrom)));
  const FragmentNames names(*program.input.module);
  const Heartbeat heartbeat([&] { return "compiling " + program.source; });
  Compiler compiler(program.options);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      compiler.lower(*program.input.module, shownPhase, program.alignment);
  programs.report(compiler);
  if (!module)
    return programs.fail(program, compiler, json ? Format::json : Format::text);
  const std::vector<PlacedTile> tiles = listTiles(*module, names);
  if (name.empty()) {
    if (!json) {
      printList(tiles);
      return ExitCode::success;
    }
    json::OStream os(outs());
    os.object([&] {
      os.attributeArray("tiles", [&] {
        for (const PlacedTile &tile : tiles)
          os.object([&] { describe(os, tile); });
      });
    });
    outs() << '\n';
    return ExitCode::success;
  }

  SmallVector<size_t> chosen;
  size_t number = 0;
  if (!StringRef(name).getAsInteger(10, number) && number < tiles.size())
    chosen.push_back(number);
  else
    for (const auto &[i, tile] : enumerate(tiles))
      if (isCalled(tile, name))
        chosen.push_back(i);
  if (chosen.empty()) {
    SmallVector<std::string> known;
    for (const PlacedTile &tile : tiles)
      if (!is_contained(known, titleOf(tile)))
        known.push_back(titleOf(tile));
    return failUsage(
        fmt::format("expected the name, place or number of a fragment or buffer of '{}' ({}), but got '{}'",
                    excerpt(program.source), fmt::join(known, ", "), excerpt(name)));
  }
  return show(tiles, chosen);
}

ExitCode LayoutCommand::show(ArrayRef<PlacedTile> tiles, ArrayRef<size_t> chosen) const {
  if (chosen.size() > 1 && (svg.getNumOccurrences() || json)) {
    const std::string numbers = fmt::format("{}", fmt::join(chosen, ", "));
    return failUsage(fmt::format("expected one tile because of {}, but '{}' is {}; say one by its number",
                                 json ? "--json" : "--svg", excerpt(name), numbers));
  }
  for (size_t i : chosen) {
    const PlacedTile &tile = tiles[i];
    Result<std::optional<Range>> ofRows = parseRange("--rows", rows, tile.rows());
    if (!ofRows)
      return failUsage(ofRows.error().message);
    Result<std::optional<Range>> ofColumns = parseRange("--columns", columns, tile.columns());
    if (!ofColumns)
      return failUsage(ofColumns.error().message);
    GridPart part{*ofRows, *ofColumns};
    if (json) {
      json::OStream os(outs());
      os.object([&] {
        describe(os, tile);
        printElements(os, tile, part);
      });
      outs() << '\n';
    } else {
      if (i != chosen.front())
        outs() << '\n';
      printGrid(tile, makeGrid(tile, part));
    }
    if (svg.getNumOccurrences()) {
      part.mostRows = rowsOfDrawing, part.mostCellColumns = cellsOfDrawing;
      if (Result<void> written = writeOutput(svg, toSvg(tile, makeGrid(tile, part))); !written)
        return fail(written.error().message);
    }
  }
  return ExitCode::success;
}
