// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lines of tuning files from and to JSON.
#include "kernels/tuning/TuningLine.h"

#include "runtime/support/Excerpt.h"
#include "runtime/support/Printable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>

using namespace tlc;
using namespace tlc::kernels;

namespace json = llvm::json;

namespace {

/// A line has less. The JSON parser calls itself for each, so that more would end in a full stack.
constexpr size_t mostBrackets = 256;

json::Value valueOf(const std::string &text) {
  int64_t number = 0;
  if (!llvm::StringRef(text).getAsInteger(10, number) && std::to_string(number) == text)
    return number;
  return json::fixUTF8(text);
}

/// Reads the members of one object.
class Reader {
public:
  Reader(const json::Object &object, std::string_view place) : object(object), place(place) {}

  Error wrong(const std::string &message) const {
    return {ErrorKind::invalidArgument, fmt::format("{}: {}", place, message)};
  }

  Result<std::string> text(llvm::StringRef name) const {
    if (auto found = object.getString(name))
      return found->str();
    return wrong(fmt::format("expected a string \"{}\", but got {}", name.str(), described(name)));
  }

  Result<Definitions> definitions(llvm::StringRef name) const {
    const json::Object *members = object.getObject(name);
    if (!members)
      return wrong(fmt::format("expected an object \"{}\" of values by name, but got {}", name.str(),
                               described(name)));
    Definitions result;
    for (const auto &[key, value] : *members) {
      std::optional<std::string> text;
      if (auto number = value.getAsInteger())
        text = std::to_string(*number);
      else if (auto string = value.getAsString())
        text = string->str();
      if (!text)
        return wrong(
            fmt::format("expected \"{}\" of \"{}\" to be a string or an integer", shown(key), name.str()));
      result[key.str()] = *text;
    }
    return result;
  }

  Result<std::map<std::string, SizeRange>> sizes(llvm::StringRef name) const {
    const json::Object *members = object.getObject(name);
    if (!members)
      return wrong(fmt::format("expected an object \"{}\" of ranges by name, but got {}", name.str(),
                               described(name)));
    std::map<std::string, SizeRange> result;
    for (const auto &[key, value] : *members) {
      const std::optional<SizeRange> range = rangeOf(value);
      if (!range)
        return wrong(fmt::format("expected \"{}\" of \"{}\" to be the least, the measured and the largest "
                                 "extent, three integers from 0 on in ascending order",
                                 shown(key), name.str()));
      result[key.str()] = *range;
    }
    return result;
  }

  static std::string shown(llvm::StringRef text) {
    constexpr size_t most = 100;
    return printable(text.str(), most);
  }

private:
  static std::optional<SizeRange> rangeOf(const json::Value &value) {
    const json::Array *numbers = value.getAsArray();
    if (!numbers || numbers->size() != 3)
      return std::nullopt;
    const auto number = [&](size_t at) { return (*numbers)[at].getAsInteger().value_or(-1); };
    const SizeRange range = {number(0), number(1), number(2)};
    if (range.from < 0 || range.from > range.at || range.at > range.to)
      return std::nullopt;
    return range;
  }

  std::string described(llvm::StringRef name) const { return object.get(name) ? "something else" : "none"; }

  const json::Object &object;
  std::string_view place;
};

/// "[1:14, byte=13]: Expected ..." of the parser as a column and a text.
Error syntaxError(llvm::Error error, std::string_view place) {
  const std::string text = llvm::toString(std::move(error));
  llvm::StringRef rest = text;
  unsigned line = 0, column = 0;
  const bool hasPlace = rest.consume_front("[") && !rest.consumeInteger(10, line) &&
                        rest.consume_front(":") && !rest.consumeInteger(10, column);
  const llvm::StringRef message = hasPlace ? rest.split("]: ").second : llvm::StringRef(text);
  return {ErrorKind::invalidArgument,
          fmt::format("{}:{}: expected a line of tuning, which is one JSON object: {}", place, column,
                      message.str())};
}

/// The members that are strings, in order.
constexpr std::pair<llvm::StringLiteral, std::string TuningLine::*> texts[] = {
    {"device", &TuningLine::device},         {"build", &TuningLine::build},
    {"kernel", &TuningLine::kernel},         {"target", &TuningLine::target},
    {"options", &TuningLine::options},       {"variant", &TuningLine::variant},
    {"static", &TuningLine::fixedDimensions}};

constexpr std::string_view memberNames[] = {"tlc_tuning",      "device",  "build",  "kernel",   "target",
                                            "options",         "variant", "static", "sizes",    "parameters",
                                            "multiprocessors", "values",  "us",     "model_us", "skipped"};

} // namespace

SizeRange SizeRange::around(int64_t size) {
  constexpr double factor = 1.4142135623730951;
  return {int64_t(std::ceil(double(size) / factor)), size, int64_t(double(size) * factor)};
}

bool TuningLine::isSameSetting(const TuningLine &other) const {
  return multiprocessors == other.multiprocessors && target == other.target && options == other.options &&
         variant == other.variant && fixedDimensions == other.fixedDimensions;
}

bool TuningLine::isSameProblem(const TuningLine &other) const {
  const auto measured = [](const TuningLine &line) {
    std::map<std::string, int64_t> sizes;
    for (const auto &[name, range] : line.sizes)
      sizes[name] = range.at;
    return sizes;
  };
  return device == other.device && build == other.build && kernel == other.kernel && isSameSetting(other) &&
         parameters == other.parameters && measured(*this) == measured(other);
}

std::string kernels::toJson(const TuningLine &line) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream os(stream);
  const auto definitions = [&](llvm::StringRef name, const Definitions &values) {
    os.attributeObject(name, [&] {
      for (const auto &[key, value] : values)
        os.attribute(json::fixUTF8(key), valueOf(value));
    });
  };
  os.object([&] {
    os.attribute("tlc_tuning", tuningVersion);
    for (const auto &[name, member] : texts)
      os.attribute(name, json::fixUTF8(line.*member));
    os.attribute("multiprocessors", line.multiprocessors);
    os.attributeObject("sizes", [&] {
      for (const auto &[name, range] : line.sizes)
        os.attribute(json::fixUTF8(name), json::Array{range.from, range.at, range.to});
    });
    definitions("parameters", line.parameters);
    definitions("values", line.values);
    if (line.skipped.empty())
      os.attribute("us", line.microseconds);
    else
      os.attribute("skipped", json::fixUTF8(line.skipped));
    if (line.modelled > 0)
      os.attribute("model_us", line.modelled);
  });
  return text;
}

Result<std::optional<TuningLine>> kernels::parseTuningLine(std::string_view text, std::string_view place) {
  if (size_t(llvm::count_if(text, [](char each) { return each == '[' || each == '{'; })) > mostBrackets)
    return Error{
        ErrorKind::invalidArgument,
        fmt::format("{}: expected a line of tuning, which has at most {} brackets", place, mostBrackets)};
  llvm::Expected<json::Value> parsed = json::parse(llvm::StringRef(text));
  if (!parsed)
    return syntaxError(parsed.takeError(), place);
  const json::Object *object = parsed->getAsObject();
  if (!object)
    return Error{ErrorKind::invalidArgument,
                 fmt::format("{}: expected a line of tuning, which is one JSON object", place)};
  const Reader reader(*object, place);
  const std::optional<int64_t> version = object->getInteger("tlc_tuning");
  if (!version)
    return reader.wrong("expected a line of tuning, which has its version as \"tlc_tuning\", an integer");
  if (*version != tuningVersion)
    return std::optional<TuningLine>();
  for (const auto &[key, value] : *object)
    if (!llvm::is_contained(memberNames, std::string_view(key.str())))
      return reader.wrong(fmt::format("expected only the members {}, but got \"{}\"",
                                      fmt::join(memberNames, ", "), Reader::shown(key)));
  TuningLine line;
  for (const auto &[name, member] : texts) {
    Result<std::string> value = reader.text(name);
    if (!value)
      return value.error();
    line.*member = std::move(*value);
  }
  const std::optional<int64_t> multiprocessors = object->getInteger("multiprocessors");
  if (!multiprocessors || *multiprocessors < 0)
    return reader.wrong("expected \"multiprocessors\", their number, an integer from 0 on");
  line.multiprocessors = *multiprocessors;
  Result<std::map<std::string, SizeRange>> sizes = reader.sizes("sizes");
  if (!sizes)
    return sizes.error();
  line.sizes = std::move(*sizes);
  for (auto [name, member] :
       {std::pair("parameters", &TuningLine::parameters), {"values", &TuningLine::values}}) {
    Result<Definitions> values = reader.definitions(name);
    if (!values)
      return values.error();
    line.*member = std::move(*values);
  }
  const std::optional<double> time = object->getNumber("us");
  if (object->get("skipped") && !object->get("us")) {
    Result<std::string> reason = reader.text("skipped");
    if (!reason)
      return reason.error();
    if (reason->empty())
      return reader.wrong("expected a reason as \"skipped\", but got an empty string");
    line.skipped = std::move(*reason);
  } else if (object->get("skipped") || !time || !std::isfinite(*time) || *time <= 0) {
    return reader.wrong("expected either \"us\", the microseconds of a launch, above 0, or \"skipped\", why "
                        "there are none");
  } else {
    line.microseconds = *time;
  }
  if (object->get("model_us")) {
    const std::optional<double> modelled = object->getNumber("model_us");
    if (!modelled || !std::isfinite(*modelled) || *modelled <= 0)
      return reader.wrong("expected \"model_us\", microseconds by the model, to be a number above 0");
    line.modelled = *modelled;
  }
  return std::optional(std::move(line));
}

Result<TuningLines> kernels::parseTuningLines(std::string_view text, std::string_view file) {
  TuningLines result;
  for (unsigned number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (llvm::StringRef(line).trim().empty())
      continue;
    Result<std::optional<TuningLine>> parsed = parseTuningLine(line, fmt::format("{}:{}", file, number));
    if (!parsed)
      return parsed.error();
    if (*parsed)
      result.lines.push_back(std::move(**parsed));
    else
      ++result.ofOtherVersions;
  }
  return result;
}

Result<std::string> kernels::readTuningFile(const std::filesystem::path &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path.native(), /*IsText=*/true, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return Error{ErrorKind::invalidArgument,
                 formatMessage("cannot read '{}': {}", path.native(), buffer.getError().message())};
  return (*buffer)->getBuffer().str();
}
