// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes the calls that Trace.cpp makes.
#include "test/differential/Print.h"

#include "test/differential/ExpressionText.h"

#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace tlc;
using namespace tlc::differential;

namespace {

class Printer : ExpressionText {
public:
  explicit Printer(const ProgramTree &tree) : ExpressionText(tree), tree(tree) {}

  std::string run() {
    describeLaunch();
    line("Program drawn() {{");
    ++depth;
    line("return Program::trace(\"drawn\"{}, [](Scope &k) {{", fixedDimensions());
    ++depth;
    for (const DimensionInfo &dimension : tree.dimensions)
      line("Index {0} = k.dim(\"{0}\"{1});", dimension.name,
           dimension.multipleOf == 1 ? "" : fmt::format(", {{.multipleOf = {}}}", dimension.multipleOf));
    if (tree.ranks > 1)
      line("Index rank = k.rank(), ranks = k.ranks();");
    for (const TensorInfo &tensor : tree.tensors) {
      std::string_view kind = tensor.shift ? "Symmetric" : tensor.table ? "Addresses" : "Global";
      line("{} {} = {};", kind, handleOf(tensor), declaration(tensor));
      if (tensor.table && tensor.table->readsNumbers)
        line("Global {0}_numbers = k.input(\"{0}_numbers\", i32, {{{1}}});", tensor.name,
             2 * tensor.shape.size());
    }
    for (const ScalarInfo &scalar : tree.scalars)
      line("Scalar {0} = k.scalar(\"{0}\", {1});", scalar.name, toString(scalar.element));
    if (tree.ranks > 1)
      declareCopies();
    if (tree.ranks > 1 && tree.launches.size() > 1)
      line("Symmetric ended = k.symmetric(\"ended\", i32, {{{}}}, {{.use = TensorUse::workspace, .initial = "
           "Initial::zero}});",
           tree.launches.size());
    if (tree.ranks > 1)
      printTransfers();
    for (size_t number = 0; number < tree.launches.size(); ++number)
      print(tree.launches[number], number);
    --depth;
    line("}});");
    --depth;
    line("}}");
    return std::move(text);
  }

private:
  template <class... Arguments> void line(fmt::format_string<Arguments...> format, Arguments &&...arguments) {
    text.append(size_t(2 * depth), ' ');
    fmt::format_to(std::back_inserter(text), format, std::forward<Arguments>(arguments)...);
    text += '\n';
  }

  //===--------------------------------------------------------------------===//
  // Declarations
  //===--------------------------------------------------------------------===//

  void describeLaunch() {
    line("// seed {}; {} multiprocessors{}", tree.seed, tree.multiprocessors,
         tree.ranks == 1 ? "" : fmt::format(", {} ranks", tree.ranks));
    for (const DimensionInfo &dimension : tree.dimensions)
      line("// {} = {}", dimension.name, dimension.value);
    for (const TensorInfo &tensor : tree.tensors) {
      std::string values =
          tensor.access == Access::output || tensor.access == Access::workspace ? "" : valuesText(tensor);
      line("// {}: [{}]{}{}{}{}{}", tensor.name, fmt::join(tree.shapeOf(tensor), ", "), values,
           tensor.table ? fmt::format(", member of ({})", fmt::join(tree.memberNumbersOf(tensor), ", ")) : "",
           tensor.step == 1 ? "" : fmt::format(", elements {} apart", tensor.step),
           tensor.rowPadding == 0 ? "" : fmt::format(", rows {} elements apart", tensor.rowPadding),
           tensor.offset == 0 ? "" : fmt::format(", {} elements after an aligned address", tensor.offset));
    }
    for (const ScalarInfo &scalar : tree.scalars)
      line("// {} = {}", scalar.name, numberText(scalar.value));
    std::vector<std::string_view> off;
    for (const OptimizationSwitch &one : optimizationSwitches())
      if (!(tree.optimizations.*one.member))
        off.push_back(one.name);
    line("// compiled for {}", tree.target);
    line("// optimisations off in the second run: {}",
         off.empty() ? "none" : fmt::format("{}", fmt::join(off, ", ")));
    if (tree.optimizations.sharesAllPlaces)
      line("// tiles share their places in the second run");
  }

  static std::string valuesText(const TensorInfo &tensor) {
    std::string scale = tensor.exponent == 0 ? "" : fmt::format(" times 2^{}", tensor.exponent);
    return fmt::format(", {}numbers from {} to {}{}", tensor.whole ? "whole " : "",
                       numberText(tensor.smallest), numberText(tensor.largest), scale);
  }

  std::string fixedDimensions() const {
    std::vector<std::string> fixed;
    for (const DimensionInfo &dimension : tree.dimensions)
      if (dimension.fixed)
        fixed.push_back(fmt::format("{{\"{}\", {}}}", dimension.name, dimension.value));
    return fixed.empty() ? "" : fmt::format(", {{.fixedDimensions = {{{}}}}}", fmt::join(fixed, ", "));
  }

  static std::string workspaceFacts(const dsl::WorkspaceOptions &options) {
    std::vector<std::string> facts;
    if (options.initial == dsl::Initial::zero)
      facts.push_back(".initial = Initial::zero");
    if (options.order != dsl::TensorOrder::natural)
      facts.push_back(options.order == dsl::TensorOrder::interleaved ? ".order = TensorOrder::interleaved"
                                                                     : ".order = TensorOrder::accumulator");
    if (options.alignment != 1)
      facts.push_back(fmt::format(".alignment = {}", options.alignment));
    return facts.empty() ? "" : fmt::format(", {{{}}}", fmt::join(facts, ", "));
  }

  std::string declaration(const TensorInfo &tensor) const {
    std::vector<std::string> extents = extentsOf(tensor);
    std::string_view kinds[] = {"input", "output", "inout", "workspace"};
    if (tensor.shift)
      return fmt::format("k.symmetric(\"{}\", {}, {{{}}}, {{.use = TensorUse::{}{}, .alignment = {}}})",
                         tensor.name, toString(tensor.element), fmt::join(extents, ", "),
                         kinds[size_t(tensor.access)],
                         tensor.workspace.initial == dsl::Initial::zero ? ", .initial = Initial::zero" : "",
                         tensor.access == Access::workspace ? tensor.workspace.alignment : tensor.alignment);
    if (tensor.table)
      return fmt::format("k.addresses(\"{}\", {}, {}, {{.axes = {}, .use = TensorUse::{}, .alignment = {}}})",
                         tensor.name, toString(tensor.element), tensor.table->count, extents.size(),
                         kinds[size_t(tensor.access)], memberAlignmentOf(tensor));
    std::vector<std::string> said;
    if (tensor.alignment != 1)
      said.push_back(fmt::format(".alignment = {}", tensor.alignment));
    if (tensor.lastStride == dsl::LastStride::any)
      said.push_back(".lastStride = LastStride::any");
    std::string facts = said.empty() ? "" : fmt::format(", {{{}}}", fmt::join(said, ", "));
    if (tensor.access == Access::workspace)
      facts = workspaceFacts(tensor.workspace);
    return fmt::format("k.{}(\"{}\", {}, {{{}}}{})", kinds[size_t(tensor.access)], tensor.name,
                       toString(tensor.element), fmt::join(extents, ", "), facts);
  }

  /// A symmetric tensor has its name with an s before it: each launch calls one rank's by its own. So has one
  /// that is copied, whose copy has its name.
  static std::string handleOf(const TensorInfo &tensor) {
    return (tensor.shift || tensor.transfer ? "s" : "") + tensor.name;
  }

  void declareCopies() {
    for (const TensorInfo &tensor : tree.tensors) {
      if (!tensor.transfer)
        continue;
      line("Global {0} = k.workspace(\"{0}_here\", {1}, {{{2}}}, {{.alignment = {3}}});", tensor.name,
           toString(tensor.element), fmt::join(extentsOf(tensor), ", "), tensor.alignment);
      if (tensor.transfer->counted)
        line("Symmetric {0}_arrived = k.symmetric(\"{0}_arrived\", i32, {{{1}}}, {{.use = "
             "TensorUse::workspace, "
             ".initial = Initial::zero}});",
             tensor.name, tensor.transfer->rounds);
    }
  }

  void printTransfers() {
    for (const TensorInfo &tensor : tree.tensors) {
      if (!tensor.transfer)
        continue;
      std::vector<std::string> position(tensor.shape.size(), "0"), extents = extentsOf(tensor);
      const std::string rows = extents[0];
      position[0] = "first";
      extents[0] = fmt::format("min(each, {} - first)", rows);
      line("k.transfer(\"copy_{}\", {}, [&](const auto &transfer, const Index &round) {{", tensor.name,
           tensor.transfer->rounds);
      ++depth;
      line("Index each = ceilDiv(Index({0}), {1}), first = min(round * each, {0});", rows,
           tensor.transfer->rounds);
      line("transfer.copy({{{}{}, {{{}}}}}, {{{}, {{{}}}}}, {{{}}});", handleOf(tensor),
           tensor.shift ? fmt::format(".of((rank + {}) % ranks)", tensor.transfer->shift) : "",
           fmt::join(position, ", "), tensor.name, fmt::join(position, ", "), fmt::join(extents, ", "));
      if (tensor.transfer->counted)
        line("transfer.set({}_arrived.of(rank), {{round}});", tensor.name);
      --depth;
      line("}});");
    }
  }

  void awaitTransfers() {
    for (const TensorInfo &tensor : tree.tensors)
      if (tensor.transfer && tensor.transfer->counted)
        line("k.loop({}, [&](Index round) {{ waitFor({}_arrived.of(rank), {{round}}, 1); }});",
             tensor.transfer->rounds, tensor.name);
  }

  void print(const LaunchTree &launch, size_t number) {
    bool several = tree.launches.size() > 1, isNamed = tree.namesLaunches();
    if (isNamed) {
      line("k.launch(\"{}\", [&] {{", launch.name);
      ++depth;
    }
    for (const TensorInfo &tensor : tree.tensors)
      if (tensor.shift && !tensor.transfer)
        line("Global {} = {}.of((rank + {}) % ranks);", tensor.name, handleOf(tensor),
             *tensor.shift + int64_t(number));
    if (launch.warps != 0)
      line("k.warps({});", launch.warps);
    if (launch.cluster != 1)
      line("k.cluster({});", launch.cluster);
    if (launch.residents != 1)
      line("k.residents({});", launch.residents);
    if (launch.loadRole)
      line("k.loadRole();");
    if (launch.storeRole)
      line("k.storeRole();");
    if (launch.requirement) {
      std::string_view names[] = {"tma", "wgmma", "warpSpecialized", "tcgen05"};
      line("k.require(Requirement::{});", names[size_t(*launch.requirement)]);
    }
    std::vector<std::string> extents, positions;
    for (const IndexNode &extent : launch.extents)
      extents.push_back(index(extent));
    bool persistent = launch.grid == LaunchTree::Grid::persistent;
    for (int id : launch.positions)
      positions.push_back((persistent ? "Index " : "") + tree.positions[size_t(id)].name);
    if (launch.grid == LaunchTree::Grid::grid)
      line("auto [{}] = k.grid({});", fmt::join(positions, ", "), fmt::join(extents, ", "));
    if (persistent) {
      line("k.persistent({{{}}}, {{.group = {}{}}}, [&]({}) {{", fmt::join(extents, ", "),
           launch.persistent.group,
           launch.persistent.cluster == dsl::ClusterAxis::columns ? ", .cluster = ClusterAxis::columns" : "",
           fmt::join(positions, ", "));
      ++depth;
    }
    if (number == 0 && tree.ranks > 1)
      awaitTransfers();
    body(launch.body);
    bool announces = several && tree.ranks > 1 && tree.announcesItsEnd(launch);
    if (announces)
      announceEnd(number);
    for (bool opened : {persistent, isNamed}) {
      if (!opened)
        continue;
      --depth;
      line("}});");
    }
    if (tree.ranks > 1 && number + 1 < tree.launches.size())
      printMeeting(launch, number, announces ? extents : std::vector<std::string>());
  }

  std::string_view copyNameOf(const Statement &copy) const {
    if (copy.from.kind != Place::Kind::slice || !tree.isOfAll(copy.from.box))
      return "copy";
    return copy.from.box.ofAll == Function::add   ? "loadSum"
           : copy.from.box.ofAll == Function::min ? "loadMin"
                                                  : "loadMax";
  }

  void announceEnd(size_t number) {
    if (tree.announcesToAll)
      line("announce(ended.ofAll(), {{{}}});", number);
    else
      line("k.loop(ranks, [&](Index other) {{ announce(ended.of(other), {{{}}}); }});", number);
  }

  /// The launch that waits until this one is done on all ranks: for its blocks, or for one of each rank.
  void printMeeting(const LaunchTree &launch, size_t number, const std::vector<std::string> &extents) {
    line("k.launch(\"after_{}\", [&] {{", launch.name);
    ++depth;
    if (!tree.announcesItsEnd(launch))
      announceEnd(number);
    std::string count = "ranks";
    for (const std::string &extent : extents)
      count += fmt::format(" * ({})", extent);
    line("waitFor(ended.of(rank), {{{}}}, {});", number, count);
    --depth;
    line("}});");
  }

  //===--------------------------------------------------------------------===//
  // Statements
  //===--------------------------------------------------------------------===//

  void body(const Body &statements) {
    for (const Statement &each : statements)
      statement(each);
  }

  void bodyOf(const Statement &s, size_t number = 0) {
    ++depth;
    body(s.bodies[number]);
    --depth;
  }

  std::string range(const Statement &loop) const {
    return fmt::format("{}, {}, {}", index(loop.index[0]), index(loop.index[1]), index(loop.index[2]));
  }

  /// A loop far from 0 has a counter besides its position.
  std::string counter(const Statement &loop) const {
    return tree.positions[size_t(loop.id)].name + (loop.index.size() > 3 ? "_far" : "");
  }

  void bodyOfLoop(const Statement &loop) {
    if (loop.index.size() > 3) {
      ++depth;
      line("Index {} = {} - ({});", tree.positions[size_t(loop.id)].name, counter(loop),
           index(loop.index[3]));
      --depth;
    }
    bodyOf(loop);
  }

  std::string extents(const Sizes &shape) const {
    return fmt::format("{{{}}}", fmt::join(tree.extentsOf(shape), ", "));
  }

  void statement(const Statement &s) {
    using Kind = Statement::Kind;
    switch (s.kind) {
    case Kind::declareVariable: {
      const VariableInfo &info = tree.variables[size_t(s.id)];
      if (s.values.empty())
        return line("Fragment {} = k.fragment({}, {}{});", info.name, toString(info.element),
                    extents(info.shape), info.initial == 0 ? "" : ", " + numberText(info.initial));
      return line("Fragment {} = {};", info.name, value(s.values[0]));
    }
    case Kind::declareShared: {
      const SharedInfo &info = tree.shared[size_t(s.id)];
      return line("Shared {0} = k.shared(\"{0}\", {1}, {2}{3});", info.name, toString(info.element),
                  extents(info.shape), info.slots == 0 ? "" : fmt::format(", {{.slots = {}}}", info.slots));
    }
    case Kind::declareTensorMemory: {
      const SharedInfo &info = tree.tensorMemory[size_t(s.id)];
      return line("TensorMemory {0} = k.tensorMemory(\"{0}\", {1}, {2}{3});", info.name,
                  toString(info.element), extents(info.shape),
                  info.slots == 0 ? "" : fmt::format(", {{.slots = {}}}", info.slots));
    }
    case Kind::gemmInPlace:
      return line("gemmAsync({}, {}, {}{});", place(s.factors[0]), place(s.factors[1]), place(s.to),
                  s.tests.empty() ? "" : fmt::format(", {{.accumulate = {}}}", holds(s.tests)));
    case Kind::assign:
      return line("{} = {};", variable(s), value(s.values[0]));
    case Kind::update:
      return line("{} {}= {};", variable(s), nameOf(s.function), value(s.values[0]));
    case Kind::copy:
      return line("{}({}, {});", copyNameOf(s), place(s.from), place(s.to));
    case Kind::store:
      return line("copy({}, {});", value(s.values[0]), place(s.to));
    case Kind::fill:
      return line("fill({}, {});", place(s.to), numberText(s.number));
    case Kind::gemm:
    case Kind::gemmAsync:
      return line("{}({}, {}, {}{});", s.kind == Kind::gemm ? "gemm" : "gemmAsync",
                  s.isSparse         ? fmt::format("Sparse{{{}, {}}}", view(s.from.view), value(s.values[0]))
                  : s.values.empty() ? view(s.from.view)
                                     : value(s.values[0]),
                  view(s.to.view), variable(s), policy(s));
    case Kind::gemmWait:
      return line("gemmWait({}, {});", variable(s), s.number);
    case Kind::atomic:
      return line("{}({}, {});", atomicNameOf(s.function), value(s.values[0]), place(s.to));
    case Kind::atomicNumber:
      return line("{}({}, {});", atomicNameOf(s.function), numberText(s.number), place(s.to));
    case Kind::atomicTile:
      return line("{}({}, {});", atomicNameOf(s.function), place(s.from), place(s.to));
    case Kind::clusterSum:
      return line("{} = cluster{}({});", variable(s), std::array{"Sum", "SumShare", "Max"}[size_t(s.number)],
                  value(s.values[0]));
    case Kind::fetch:
      return line("{}({}, {}, {});", atomicNameOf(s.function), value(s.values[0]), place(s.to), variable(s));
    case Kind::exchange:
      if (s.values.size() == 1)
        return line("atomicExchange({}, {}, {});", value(s.values[0]), place(s.to), variable(s));
      return line("atomicCompareAndSwap({}, {}, {}, {});", value(s.values[1]), value(s.values[0]),
                  place(s.to), variable(s));
    case Kind::addInTurn: {
      std::string counts = tensor(s.from.box.tensor);
      line("waitFor({0}, {{1}}, take({0}, {{0}}));", counts);
      line("copy({0} + {1}, {0});", place(s.to), value(s.values[0]));
      return line("announce({}, {{1}});", counts);
    }
    case Kind::writeIndex:
      return line("{}.write({{{}}}, {});", tree.shared[size_t(s.id)].name, list(s.index, 1),
                  index(s.index[0]));
    case Kind::loop:
    case Kind::pipelined:
      line("k.{}({{{}}}{}, [&](Index {}) {{", s.kind == Kind::loop ? "loop" : "pipelined", range(s),
           s.kind == Kind::loop ? "" : fmt::format(", {{.stages = {}}}", s.number), counter(s));
      bodyOfLoop(s);
      return line("}});");
    case Kind::loopWhile:
      line("k.loopWhile({{{}}}, [&](Index {}) -> Predicate {{", range(s), counter(s));
      bodyOfLoop(s);
      ++depth;
      line("return {};", holds(s.tests));
      --depth;
      return line("}});");
    case Kind::when:
      line("k.when({}, [&] {{", holds(s.tests));
      bodyOf(s);
      if (s.bodies.size() > 1) {
        line("}}, [&] {{");
        bodyOf(s, 1);
      }
      return line("}});");
    case Kind::whenAny:
      line("k.whenAny({} {} {}, [&] {{", value(s.values[0]), nameOf(s.comparison), value(s.values[1]));
      bodyOf(s);
      return line("}});");
    case Kind::print:
      return s.values.empty() ? line("k.print(\"at {{}}\", {});", index(s.index[0]))
                              : line("k.print(\"{{}}\", {});", value(s.values[0]));
    case Kind::check:
      if (s.values.empty())
        return line("k.check({}, \"expected another position than {{}}\", {});", holds(s.tests),
                    index(s.index[0]));
      return line("k.check({0} {1} {2}, \"expected a smaller number than {{}}\", {0});", value(s.values[0]),
                  nameOf(s.comparison), value(s.values[1]));
    case Kind::inTurn:
    case Kind::roles:
      line("k.{}([&] {{", s.kind == Kind::inTurn ? "inTurn" : "roles");
      bodyOf(s);
      return line("}});");
    case Kind::role: {
      const RoleInfo &info = tree.roles[size_t(s.id)];
      line("k.role(\"{}\", {{.warps = {}{}}}, [&] {{", info.name, info.warps,
           info.registers ? fmt::format(", .registers = {}", *info.registers) : "");
      bodyOf(s);
      return line("}});");
    }
    case Kind::declareBarrier: {
      const BarrierInfo &info = tree.barriers[size_t(s.id)];
      if (info.kind == BarrierInfo::Kind::warps)
        return line("NamedBarrier {} = k.namedBarrier({});", info.name, info.count);
      return line("Barrier {0} = k.barrier(\"{0}\", {1});", info.name, info.count);
    }
    case Kind::arrive:
      return line("{}.arrive({});", barrier(s), s.number != 0 ? "Arrival::afterProducts" : "");
    case Kind::awaitPhase:
      return line("{}.wait({});", barrier(s), index(s.index[0]));
    case Kind::meet:
      return line("{}.sync();", barrier(s));
    default:
      return atChannel(s);
    }
  }

  std::string variable(const Statement &s) const { return tree.variables[size_t(s.id)].name; }
  const std::string &barrier(const Statement &s) const { return tree.barriers[size_t(s.id)].name; }

  static std::string policy(const Statement &s) {
    if (s.policy == dsl::WarpPolicy::fullRow)
      return "";
    return s.policy == dsl::WarpPolicy::square ? ", WarpPolicy::square" : ", WarpPolicy::fullColumn";
  }

  void atChannel(const Statement &s) {
    using Kind = Statement::Kind;
    if (s.kind == Kind::declareChannel) {
      const ChannelInfo &info = tree.channels[size_t(s.id)];
      if (info.of >= 0)
        return line("Channel {0} = k.channel(\"{0}\", {1});", info.name, tree.channels[size_t(info.of)].name);
      return line("Channel {0} = k.channel(\"{0}\", {{.slots = {1}{2}}});", info.name, info.slots,
                  info.isMulticast ? ", .multicast = true" : "");
    }
    if (s.kind == Kind::release)
      return line("{}.release({});", tree.channels[size_t(s.id)].name,
                  s.number != 0 ? "Arrival::afterProducts" : "");
    if (s.kind == Kind::pass)
      return line("{}.pass();", tree.channels[size_t(s.id)].name);
    const SlotInfo &slot = tree.slots[size_t(s.id)];
    const std::string &channel = tree.channels[size_t(slot.channel)].name;
    switch (s.kind) {
    case Kind::put:
      line("{}.put([&](const Slot &{}) {{", channel, slot.name);
      bodyOf(s);
      return line("}});");
    case Kind::get:
      return line("Slot {} = {}.get();", slot.name, channel);
    default:
      return line("Slot {} = {}.oldest();", slot.name, channel);
    }
  }

  const ProgramTree &tree;
  std::string text;
  int depth = 0;
};

size_t countIn(const Body &body) {
  size_t count = body.size();
  for (const Statement &statement : body)
    for (const Body &inner : statement.bodies)
      count += countIn(inner);
  return count;
}

} // namespace

std::string differential::print(const ProgramTree &tree) { return Printer(tree).run(); }

size_t differential::countStatements(const ProgramTree &tree) {
  size_t count = 0;
  for (const LaunchTree &launch : tree.launches)
    count += countIn(launch.body);
  return count;
}
