// SPDX-License-Identifier: Apache-2.0
#include "tools/wrap/Description.h"

#include "runtime/support/NearestName.h"
#include "tools/aot/ArgumentText.h"
#include "tools/wrap/Expression.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

using namespace tlc;
using namespace tlc::wrap;

namespace {

constexpr std::array<std::string_view, 13> statements = {
    "kernel", "dimension", "input",   "output",  "inout",  "workspace", "scalar",
    "launch", "grid",      "threads", "cluster", "shared", "parameters"};

class Parser {
public:
  explicit Parser(std::string_view file) {
    description.file = file;
    description.artifact.variants.push_back({.name = "general"});
  }

  /// False if the line has a mistake.
  bool parse(Line &line) {
    statement(line);
    if (!line.atEnd())
      line.fail(formatMessage("expected the end of the line, but got {}", line.described()));
    if (line.failure)
      failure = line.failure;
    return !failure;
  }
  Result<Description> finish(Place end) {
    if (!failure)
      checkWhole(end);
    if (failure)
      return description.at(failure->place, failure->message);
    return std::move(description);
  }

private:
  Artifact &artifact() { return description.artifact; }
  std::vector<Launch> &launches() { return artifact().variants.front().launches; }

  void statement(Line &line) {
    const Place place = line.place();
    const std::string_view word = line.word("a statement");
    if (line.failure)
      return;
    if (artifact().name.empty() != (word == "kernel"))
      return line.failAt(place,
                         artifact().name.empty()
                             ? formatMessage("expected 'kernel' and its name first, but got '{}'", word)
                             : "expected one 'kernel', but got another one");
    if (word == "kernel")
      artifact().name = line.word("the name of the kernel");
    else if (word == "dimension")
      dimension(line);
    else if (word == "scalar")
      scalar(line);
    else if (word == "launch")
      launch(line, place);
    else if (const std::optional<Access> access = accessOf(word))
      tensor(line, *access);
    else
      ofLaunch(line, place, word);
  }

  static std::optional<Access> accessOf(std::string_view word) {
    for (unsigned number = 0; number <= unsigned(Access::last); ++number)
      if (toString(Access(number)) == word)
        return Access(number);
    return std::nullopt;
  }

  /// A name that is new, of a dimension, tensor or scalar.
  std::string newName(Line &line) {
    const Place place = line.place();
    std::string name(line.word("a name"));
    if (name == "multiprocessors")
      line.failAt(place, "expected another name, because 'multiprocessors' is their number on the device");
    if (const auto [found, isNew] = names.try_emplace(name, place); !isNew)
      line.failAt(place,
                  formatMessage("expected a new name, but line {} has '{}'", found->second.line, name));
    return name;
  }

  std::optional<int64_t> dimensionOf(std::string_view name) {
    const auto found = std::ranges::find(artifact().dimensions, name, &Dimension::name);
    if (found == artifact().dimensions.end())
      return std::nullopt;
    return found - artifact().dimensions.begin();
  }

  void dimension(Line &line) {
    if (line.peek(1).text == "=")
      return computed(line);
    std::optional<int64_t> index = dimensionOf(line.peek().text);
    if (index) {
      line.take();
    } else {
      index = int64_t(artifact().dimensions.size());
      artifact().dimensions.push_back({.name = newName(line)});
    }
    facts(line, artifact().dimensions[size_t(*index)]);
  }

  /// Of dimensions before it.
  void computed(Line &line) {
    Dimension made = {.name = newName(line)};
    line.expect("=");
    const Place place = line.place();
    made.computed = expression(line);
    if (std::ranges::find(made.computed->steps, HostExpr::Op::multiprocessors, &HostExpr::Step::op) !=
        made.computed->steps.end())
      line.failAt(place, "expected an extent that does not depend on 'multiprocessors'");
    facts(line, made);
    artifact().dimensions.push_back(std::move(made));
  }

  static void facts(Line &line, Dimension &dimension) {
    while (line.takeIf(","))
      fact(line, dimension);
    if (dimension.least > dimension.most)
      line.fail(formatMessage("expected limits of '{}' in ascending order, but got {} and {}", dimension.name,
                              dimension.least, dimension.most));
  }

  static void fact(Line &line, Dimension &dimension) {
    if (line.takeIf("multiple")) {
      line.expect("of");
      dimension.multipleOf = line.integer(1, maxExtent);
    } else if (line.takeIf("at")) {
      const bool isLeast = line.takeIf("least");
      if (!isLeast)
        line.expect("most");
      (isLeast ? dimension.least : dimension.most) = line.integer(0, maxExtent);
    } else if (line.peek().kind == Token::Kind::number) {
      dimension.least = line.integer(0, maxExtent);
      line.expect("to");
      dimension.most = line.integer(0, maxExtent);
    } else {
      line.fail(
          formatMessage("expected '<least> to <most>', 'at least', 'at most' or 'multiple of', but got {}",
                        line.described()));
    }
  }

  ElementType element(Line &line) {
    const Place place = line.place();
    const std::string_view name = line.word("an element type");
    const std::optional<ElementType> found = parseElementType(name);
    if (!found)
      line.failAt(place, formatMessage("expected an element type, such as f32 or bf16, but got '{}'", name));
    return found.value_or(ElementType::f32);
  }

  void scalar(Line &line) {
    const Place place = line.place();
    const ElementType type = element(line);
    if (bitsOf(type) < 8)
      line.failAt(place, formatMessage("expected a type of whole bytes, but got '{}'", toString(type)));
    artifact().scalars.push_back({newName(line), type});
  }

  void tensor(Line &line, Access access) {
    TensorArgument tensor;
    tensor.access = access;
    tensor.contiguous = access != Access::workspace;
    const Place place = line.place();
    if (!artifact().tensors.empty() && artifact().tensors.back().access == Access::workspace &&
        access != Access::workspace)
      line.failAt(place, "expected workspaces after the other tensors, but got one before");
    tensor.element = element(line);
    tensor.name = newName(line);
    line.expect("[");
    for (bool first = true; !line.failure && !line.has("]"); first = false) {
      if (!first)
        line.expect(",");
      if (access == Access::workspace)
        tensor.workspaceShape.push_back(expression(line));
      else
        tensor.shape.push_back(extent(line));
    }
    line.expect("]");
    while (line.takeIf(","))
      modifier(line, tensor);
    if (!tensor.contiguous && access != Access::workspace)
      strided.emplace_back(int64_t(artifact().tensors.size()), place);
    artifact().tensors.push_back(std::move(tensor));
  }

  static void modifier(Line &line, TensorArgument &tensor) {
    const Place place = line.place();
    const bool isWorkspace = tensor.access == Access::workspace;
    if (line.takeIf("aligned")) {
      tensor.alignment = line.integer(1, int64_t(workspaceAlignment));
    } else if (line.takeIf("zeros")) {
      tensor.zeroFill = true;
      if (!isWorkspace && tensor.access != Access::output)
        line.failAt(place, "expected 'zeros' for a workspace or an output alone");
    } else if (!isWorkspace && (line.has("outer") || line.has("any"))) {
      tensor.strided = line.takeIf("any");
      if (!tensor.strided)
        line.expect("outer");
      line.expect("strides");
      tensor.contiguous = false;
    } else {
      line.fail(formatMessage("expected 'aligned', 'zeros', 'outer strides' or 'any strides', but got {}",
                              line.described()));
    }
  }

  Extent extent(Line &line) {
    if (line.peek().kind == Token::Kind::number)
      return {.constant = line.integer(0, maxExtent)};
    if (line.peek().kind == Token::Kind::word)
      if (const std::optional<int64_t> known = dimensionOf(line.peek().text)) {
        line.take();
        return {.dimension = *known};
      }
    artifact().dimensions.push_back({.name = newName(line)});
    return {.dimension = int64_t(artifact().dimensions.size()) - 1};
  }

  HostExpr expression(Line &line) { return parseExpression(line, artifact().dimensions); }

  void launch(Line &line, Place place) {
    checkLaunch();
    if (failure)
      return line.failAt(failure->place, failure->message);
    description.launches.emplace_back();
    description.launches.back().entry = line.place();
    launches().push_back({.entry = std::string(line.word("the name of an entry")), .grid = {}});
    said.clear();
    launchPlace = place;
  }

  /// What follows `launch`.
  void ofLaunch(Line &line, Place place, std::string_view word) {
    if (std::ranges::find(statements, word) == statements.end())
      return line.failAt(
          place, formatMessage("expected a statement, but got '{}'{}", word, nearestText(word, statements)));
    if (launches().empty())
      return line.failAt(place, formatMessage("expected 'launch' before '{}'", word));
    if (std::ranges::find(said, word) != said.end())
      return line.failAt(place, formatMessage("expected '{}' once for '{}', but got another one", word,
                                              launches().back().entry));
    said.emplace_back(word);
    Launch &launch = launches().back();
    LaunchPlaces &places = description.launches.back();
    if (word == "grid") {
      launch.grid.fill(HostExpr::constant(1));
      size_t axis = 0;
      list(line, launch.grid.size(), [&] { launch.grid[axis++] = expression(line); });
    } else if (word == "threads") {
      places.threads = line.place();
      const std::array<unsigned, 3> block = extents(line, 1024);
      launch.threads = block[0] * block[1] * block[2];
      launch.threadsY = block[1], launch.threadsZ = block[2];
    } else if (word == "cluster") {
      places.cluster = line.place();
      launch.cluster = extents(line, 16);
    } else if (word == "shared") {
      launch.sharedBytes = unsigned(line.integer(0, 1 << 20));
    } else {
      list(line, SIZE_MAX, [&] { parameter(line); });
    }
  }

  template <class Each> static void list(Line &line, size_t most, const Each &each) {
    size_t count = 0;
    do {
      each();
      ++count;
    } while (count != most && line.takeIf(","));
  }
  static std::array<unsigned, 3> extents(Line &line, int64_t most) {
    std::array<unsigned, 3> values = {1, 1, 1};
    size_t axis = 0;
    list(line, values.size(), [&] { values[axis++] = unsigned(line.integer(1, most)); });
    return values;
  }

  void parameter(Line &line) {
    LaunchPlaces &places = description.launches.back();
    places.parameters.push_back(line.place());
    std::string text;
    launches().back().parameters.push_back(parameterOf(line, text));
    places.texts.push_back(std::move(text));
  }

  KernelParameter parameterOf(Line &line, std::string &text) {
    if (line.has("map") && line.peek(1).text == "(")
      return map(line, text);
    for (const unsigned bits : {32u, 64u})
      if (line.has(bits == 32 ? "i32" : "i64") && line.peek(1).text == "(") {
        line.take(), line.take();
        const Place place = line.place();
        KernelParameter made = named(line, text);
        if (made.kind != KernelParameter::Kind::dimension && made.kind != KernelParameter::Kind::tensorStride)
          line.failAt(place,
                      formatMessage("expected a dimension or stride in i{}, but got '{}'", bits, text));
        made.bytes = bits / 8;
        line.expect(")");
        text = fmt::format("i{}({})", bits, text);
        return made;
      }
    return named(line, text);
  }

  /// A tensor, its stride, a scalar or a dimension.
  KernelParameter named(Line &line, std::string &text) {
    using Kind = KernelParameter::Kind;
    const Place place = line.place();
    const std::string_view name = line.word("a tensor, scalar or dimension");
    text = name;
    if (const std::optional<int64_t> dimension = dimensionOf(name))
      return {.kind = Kind::dimension, .index = *dimension};
    if (const auto found = std::ranges::find(artifact().scalars, name, &ScalarArgument::name);
        found != artifact().scalars.end())
      return {.kind = Kind::scalar, .index = found - artifact().scalars.begin()};
    const std::optional<int64_t> tensor = tensorOf(line, place, name);
    if (!tensor || !line.takeIf("."))
      return {.kind = Kind::tensorPointer, .index = tensor.value_or(0)};
    line.expect("stride");
    line.expect("[");
    const auto rank = int64_t(rankOf(*tensor));
    if (rank == 0)
      line.fail(formatMessage("expected no stride of '{}', which has no axes", name));
    const int64_t axis = line.integer(0, std::max<int64_t>(rank - 1, 0));
    line.expect("]");
    text += fmt::format(".stride[{}]", axis);
    takesStrides.push_back(*tensor);
    return {.kind = Kind::tensorStride, .index = *tensor, .axis = axis};
  }

  std::optional<int64_t> tensorOf(Line &line, Place place, std::string_view name) {
    const auto found = std::ranges::find(artifact().tensors, name, &TensorArgument::name);
    if (found != artifact().tensors.end())
      return found - artifact().tensors.begin();
    std::vector<std::string> all;
    for (const auto &[each, where] : names)
      all.push_back(each);
    line.failAt(place,
                formatMessage("expected a tensor, scalar or dimension of a line before, but got '{}'{}", name,
                              nearestText(name, all)));
    return std::nullopt;
  }
  size_t rankOf(int64_t tensor) {
    const TensorArgument &argument = artifact().tensors[size_t(tensor)];
    return std::max(argument.shape.size(), argument.workspaceShape.size());
  }

  /// map(X, [64, 32], swizzle 64)
  KernelParameter map(Line &line, std::string &text) {
    line.take(), line.take();
    const Place place = line.place();
    const std::string_view name = line.word("a tensor");
    TensorMapRecipe recipe = {.tensor = tensorOf(line, place, name).value_or(0)};
    text = fmt::format("map({})", name);
    line.expect(",");
    line.expect("[");
    list(line, SIZE_MAX, [&] { recipe.box.push_back(line.integer(1, 256)); });
    line.expect("]");
    if (line.takeIf(",")) {
      line.expect("swizzle");
      const Place at = line.place();
      const int64_t bytes = line.integer(32, 128);
      recipe.swizzle = bytes == 32 ? Swizzle::bytes32 : bytes == 64 ? Swizzle::bytes64 : Swizzle::bytes128;
      if (bytes != 32 && bytes != 64 && bytes != 128)
        line.failAt(at, formatMessage("expected a swizzle of 32, 64 or 128 bytes, but got {}", bytes));
    }
    line.expect(")");
    takesStrides.push_back(recipe.tensor);
    std::vector<TensorMapRecipe> &maps = launches().back().tensorMaps;
    maps.push_back(std::move(recipe));
    return {.kind = KernelParameter::Kind::tensorMap, .index = int64_t(maps.size()) - 1};
  }

  void fail(Place place, std::string message) {
    if (!failure)
      failure = {place, std::move(message)};
  }
  /// Whether the last launch has all that it needs.
  void checkLaunch() {
    if (launches().empty())
      return;
    for (const std::string_view needed : {"grid", "threads"})
      if (std::ranges::find(said, needed) == said.end())
        fail(launchPlace,
             formatMessage("expected '{}' after 'launch {}', but got none", needed, launches().back().entry));
  }
  void checkWhole(Place end) {
    if (artifact().name.empty())
      return fail(end, "expected 'kernel' and its name, but got the end");
    if (launches().empty())
      return fail(end, "expected 'launch' and the name of an entry, but got the end");
    checkLaunch();
    for (const auto &[tensor, place] : strided)
      if (std::ranges::find(takesStrides, tensor) == takesStrides.end())
        fail(place,
             formatMessage("expected a parameter that is a stride or map of '{0}', because it has strides of "
                           "its own; without 'strides' it has no gaps",
                           artifact().tensors[size_t(tensor)].name));
    for (size_t i = 0; i != artifact().dimensions.size(); ++i) {
      const Dimension &dimension = artifact().dimensions[i];
      const bool isNamed = std::ranges::any_of(artifact().tensors, [&](const TensorArgument &tensor) {
        return std::ranges::find(tensor.shape, int64_t(i), &Extent::dimension) != tensor.shape.end();
      });
      if (!isNamed && !dimension.computed)
        fail(names[dimension.name],
             formatMessage("expected a tensor with the extent '{}', which has its value, but got none",
                           dimension.name));
    }
  }

  Description description;
  std::map<std::string, Place, std::less<>> names;
  std::vector<std::pair<int64_t, Place>> strided; ///< tensors that have strides of their own
  std::vector<int64_t> takesStrides;              ///< tensors whose strides kernels get
  std::vector<std::string> said;                  ///< of the last launch
  Place launchPlace;
  std::optional<Line::Failure> failure;
};

} // namespace

Error Description::at(Place place, std::string_view message) const {
  return {.message = fmt::format("{}:{}:{}: {}", file, place.line, place.column, message)};
}

Result<Description> wrap::parseDescription(std::string_view text, std::string_view file) {
  Parser parser(file);
  unsigned number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    Line line(text.substr(begin, end - begin), ++number);
    if (!line.isEmpty() && !parser.parse(line))
      break;
    begin = end + 1;
  }
  return parser.finish({number + 1, 1});
}
