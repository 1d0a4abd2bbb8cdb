// SPDX-License-Identifier: Apache-2.0
/// \file
/// Makes the calls that Print.cpp writes.
#include "test/differential/Trace.h"

#include "compiler/dsl/dsl.h"

#include <map>

using namespace tlc;
using namespace tlc::differential;
using dsl::Fragment, dsl::FragmentValue, dsl::Index, dsl::Operand, dsl::Predicate, dsl::Scalar;

namespace {

/// An operand: a fragment or a number.
struct Value {
  std::optional<FragmentValue> fragment = {};
  Scalar number = 0;

  operator Operand() const { return fragment ? Operand(*fragment) : Operand(number); }
};

/// Applies `f` so that overload resolution sees a fragment.
auto apply(auto &&f, const Value &a, const Value &b) {
  return b.fragment && !a.fragment ? f(Operand(a.number), *b.fragment)
                                   : f(a.fragment.value_or(FragmentValue()), Operand(b));
}

template <class A, class B> Predicate compare(Comparison comparison, const A &a, const B &b) {
  switch (comparison) {
  case Comparison::less:
    return a < b;
  case Comparison::lessOrEqual:
    return a <= b;
  case Comparison::greater:
    return a > b;
  case Comparison::greaterOrEqual:
    return a >= b;
  case Comparison::equal:
    return a == b;
  case Comparison::different:
    return a != b;
  }
  return {};
}

class Tracer {
public:
  Tracer(const ProgramTree &tree, dsl::Scope &k) : tree(tree), k(k) {}

  void run() {
    for (const DimensionInfo &dimension : tree.dimensions)
      dimensions.push_back(k.dim(dimension.name, {.multipleOf = dimension.multipleOf}));
    for (const TensorInfo &tensor : tree.tensors)
      tensors.push_back(declare(tensor));
    for (const ScalarInfo &scalar : tree.scalars)
      scalars.push_back(k.scalar(scalar.name, scalar.element));
    if (tree.launches.size() == 1)
      return launch(tree.launches.front());
    for (const LaunchTree &each : tree.launches)
      k.launch(each.name, [&] { launch(each); });
  }

private:
  dsl::Global declare(const TensorInfo &tensor) {
    std::vector<Index> shape;
    for (const TensorExtent &extent : tensor.shape)
      shape.push_back(extent.dimension >= 0 ? dimensions[size_t(extent.dimension)]
                                            : Index(tree.valueOf(extent.size)));
    dsl::TensorFacts facts = {.alignment = tensor.alignment};
    switch (tensor.access) {
    case Access::input:
      return k.input(tensor.name, tensor.element, shape, facts);
    case Access::output:
      return k.output(tensor.name, tensor.element, shape, facts);
    case Access::inout:
      return k.inout(tensor.name, tensor.element, shape, facts);
    case Access::workspace:
      break;
    }
    auto initial = tensor.zeroFill ? dsl::Initial::zero : dsl::Initial::undefined;
    return k.workspace(tensor.name, tensor.element, shape, {.initial = initial});
  }

  void launch(const LaunchTree &launch) {
    if (launch.warps != 0)
      k.warps(launch.warps);
    if (launch.cluster != 1)
      k.cluster(launch.cluster);
    if (launch.residents != 1)
      k.residents(launch.residents);
    std::vector<Index> extents;
    for (const IndexNode &extent : launch.extents)
      extents.push_back(index(extent));
    auto at = [&](auto... position) {
      size_t axis = 0;
      ((positions[launch.positions[axis++]] = position), ...);
    };
    auto inTile = [&](auto... position) {
      at(position...);
      body(launch.body);
    };
    if (launch.grid == LaunchTree::Grid::persistent) {
      if (extents.size() == 1)
        k.persistent({extents[0]}, launch.persistent, inTile);
      else if (extents.size() == 2)
        k.persistent({extents[0], extents[1]}, launch.persistent, inTile);
      else
        k.persistent({extents[0], extents[1], extents[2]}, launch.persistent, inTile);
      return;
    }
    if (launch.grid == LaunchTree::Grid::grid) {
      if (extents.size() == 1)
        std::apply(at, k.grid(extents[0]));
      else if (extents.size() == 2)
        std::apply(at, k.grid(extents[0], extents[1]));
      else
        std::apply(at, k.grid(extents[0], extents[1], extents[2]));
    }
    body(launch.body);
  }

  //===--------------------------------------------------------------------===//
  // Positions
  //===--------------------------------------------------------------------===//

  std::vector<Index> indices(const std::vector<IndexNode> &nodes, size_t from = 0) {
    std::vector<Index> values;
    for (size_t i = from; i < nodes.size(); ++i)
      values.push_back(index(nodes[i]));
    return values;
  }

  Index index(const IndexNode &node) {
    switch (node.kind) {
    case IndexKind::constant:
      return node.number;
    case IndexKind::size:
      return tree.sizes[size_t(node.id)];
    case IndexKind::dimension:
      return dimensions[size_t(node.id)];
    case IndexKind::position:
      return positions[node.id];
    case IndexKind::coordinate:
      return size_t(node.id) < coordinates.size() ? coordinates[size_t(node.id)] : Index();
    case IndexKind::elements:
      return FragmentValue(variable(node.id)).toIndex();
    case IndexKind::blocks:
      return k.blocks();
    case IndexKind::blockRank:
      return k.blockRank();
    case IndexKind::read:
      return tensors[size_t(node.id)].read(indices(node.operands));
    case IndexKind::readShared:
      return shared[node.id].read(indices(node.operands));
    default:
      break;
    }
    Index a = index(node.operands[0]), b = index(node.operands[1]);
    switch (node.kind) {
    case IndexKind::add:
      return a + b;
    case IndexKind::subtract:
      return a - b;
    case IndexKind::multiply:
      return a * b;
    case IndexKind::divide:
      return a / b;
    case IndexKind::remainder:
      return a % b;
    case IndexKind::ceilDiv:
      return ceilDiv(a, b);
    case IndexKind::min:
      return min(a, b);
    case IndexKind::max:
      return max(a, b);
    default:
      return {};
    }
  }

  Predicate holds(const std::vector<PositionTest> &tests) {
    Predicate all = true;
    for (const PositionTest &test : tests) {
      Index a = index(test.a), b = index(test.b);
      Predicate one = compare(test.comparison, a, b);
      all = all.constant() == true ? one : one.constant() == true ? all : all && one;
    }
    return all;
  }

  //===--------------------------------------------------------------------===//
  // Expressions
  //===--------------------------------------------------------------------===//

  Fragment &variable(int id) { return variables.try_emplace(id).first->second; }

  FragmentValue fragment(const Expression &expression) {
    return value(expression).fragment.value_or(FragmentValue());
  }

  Value value(const Expression &expression) {
    using Kind = Expression::Kind;
    switch (expression.kind) {
    case Kind::variable:
      return {FragmentValue(variable(expression.id))};
    case Kind::number:
      return {{}, expression.number};
    case Kind::scalar:
      return {{}, scalars[size_t(expression.id)]};
    case Kind::position:
      return {{}, index(expression.positions.front().a).to(expression.type)};
    case Kind::apply:
      return {isOfTwo(expression.function) ? ofTwo(expression) : ofOne(expression)};
    case Kind::convert:
      return {fragment(expression.operands[0]).to(expression.type)};
    case Kind::reduce:
      return {reduce(expression.reduction, fragment(expression.operands[0]), expression.axis)};
    case Kind::where: {
      Predicate condition = elementTest(expression.comparison, expression.operands);
      Value x = value(expression.operands[2]), y = value(expression.operands[3]);
      return {where(condition, Operand(x), Operand(y))};
    }
    case Kind::wherePlace:
      return {wherePlace(expression)};
    }
    return {};
  }

  Predicate elementTest(Comparison comparison, const std::vector<Expression> &operands) {
    Value a = value(operands[0]), b = value(operands[1]);
    return apply([&](const auto &x, const auto &y) { return compare(comparison, x, y); }, a, b);
  }

  FragmentValue wherePlace(const Expression &expression) {
    Value x = value(expression.operands[0]), y = value(expression.operands[1]);
    auto with = [&](auto... at) {
      coordinates = {at...};
      Predicate condition = holds(expression.positions);
      coordinates.clear();
      return condition;
    };
    size_t axes = x.fragment ? x.fragment->shape().size() : y.fragment ? y.fragment->shape().size() : 0;
    if (axes == 1)
      return where([&](Index a) { return with(a); }, Operand(x), Operand(y));
    if (axes == 2)
      return where([&](Index a, Index b) { return with(a, b); }, Operand(x), Operand(y));
    return where([&](Index a, Index b, Index c) { return with(a, b, c); }, Operand(x), Operand(y));
  }

  FragmentValue ofOne(const Expression &expression) {
    FragmentValue x = fragment(expression.operands[0]);
    switch (expression.function) {
    case Function::negate:
      return -x;
    case Function::abs:
      return abs(x);
    case Function::exp:
      return exp(x);
    case Function::exp2:
      return exp2(x);
    case Function::log:
      return log(x);
    case Function::log2:
      return log2(x);
    case Function::sqrt:
      return sqrt(x);
    case Function::rsqrt:
      return rsqrt(x);
    case Function::tanh:
      return tanh(x);
    case Function::floor:
      return floor(x);
    case Function::ceil:
      return ceil(x);
    case Function::finiteOrZero:
      return finiteOrZero(x);
    default:
      return {};
    }
  }

  FragmentValue ofTwo(const Expression &expression) {
    Value a = value(expression.operands[0]), b = value(expression.operands[1]);
    switch (expression.function) {
    case Function::add:
      return apply([](const auto &x, const auto &y) { return x + y; }, a, b);
    case Function::subtract:
      return apply([](const auto &x, const auto &y) { return x - y; }, a, b);
    case Function::multiply:
      return apply([](const auto &x, const auto &y) { return x * y; }, a, b);
    case Function::divide:
      return apply([](const auto &x, const auto &y) { return x / y; }, a, b);
    case Function::min:
      return min(Operand(a), Operand(b));
    case Function::max:
      return max(Operand(a), Operand(b));
    case Function::divideOrZero:
      return divideOrZero(Operand(a), Operand(b));
    default:
      return {};
    }
  }

  //===--------------------------------------------------------------------===//
  // Places
  //===--------------------------------------------------------------------===//

  dsl::Slice slice(const Box &box) {
    dsl::Slice slice = tensors[size_t(box.tensor)].tile(indices(box.origin), tree.extentsOf(box.extents));
    if (box.limit)
      slice = slice.limited(box.limit->axis, index(box.limit->end));
    if (box.fill)
      slice = slice.fill(*box.fill);
    if (box.unchecked)
      slice = slice.unchecked("it lies inside");
    return slice;
  }

  dsl::Shared view(const View &view) {
    dsl::Shared tile = shared[view.shared];
    if (view.cursor >= 0)
      tile = tile.slot(cursors[view.cursor]);
    if (view.firstRow)
      tile = tile.rows(*view.firstRow, tree.valueOf(view.rows));
    return view.transposed ? tile.t() : tile;
  }

  void copyBetween(const Place &from, const Place &to) {
    using Kind = Place::Kind;
    if (from.kind == Kind::slice) {
      if (to.kind == Kind::slice)
        copy(slice(from.box), slice(to.box));
      else if (to.kind == Kind::shared)
        copy(slice(from.box), view(to.view));
      else
        copy(slice(from.box), variable(to.variable));
    } else if (from.kind == Kind::shared) {
      if (to.kind == Kind::slice)
        copy(view(from.view), slice(to.box));
      else if (to.kind == Kind::shared)
        copy(view(from.view), view(to.view));
      else
        copy(view(from.view), variable(to.variable));
    } else {
      store(FragmentValue(variable(from.variable)), to);
    }
  }

  void store(const FragmentValue &value, const Place &to) {
    if (to.kind == Place::Kind::slice)
      copy(value, slice(to.box));
    else if (to.kind == Place::Kind::shared)
      copy(value, view(to.view));
    else
      copy(value, variable(to.variable));
  }

  //===--------------------------------------------------------------------===//
  // Statements
  //===--------------------------------------------------------------------===//

  void body(const Body &statements) {
    for (const Statement &each : statements)
      statement(each);
  }

  void declareVariable(const Statement &s) {
    const VariableInfo &info = tree.variables[size_t(s.id)];
    variables.erase(s.id);
    if (s.values.empty())
      variables.emplace(s.id,
                        k.fragment(info.element, tree.extentsOf(info.shape), info.initial).named(info.name));
    else
      variables.emplace(s.id, Fragment(fragment(s.values[0])).named(info.name));
  }

  void update(const Statement &s) {
    Fragment &x = variable(s.id);
    Value value = this->value(s.values[0]);
    auto with = [&](const auto &operand) {
      if (s.function == Function::add)
        x += operand;
      else if (s.function == Function::subtract)
        x -= operand;
      else if (s.function == Function::multiply)
        x *= operand;
      else
        x /= operand;
    };
    value.fragment ? with(*value.fragment) : with(value.number);
  }

  void product(const Statement &s) {
    Fragment &sum = variable(s.id);
    bool isAsync = s.kind == Statement::Kind::gemmAsync;
    dsl::Shared right = view(s.to.view);
    if (s.values.empty()) {
      dsl::Shared left = view(s.from.view);
      isAsync ? gemmAsync(left, right, sum) : gemm(left, right, sum, s.policy);
    } else {
      FragmentValue left = fragment(s.values[0]);
      isAsync ? gemmAsync(left, right, sum) : gemm(left, right, sum, s.policy);
    }
  }

  void loop(const Statement &s) {
    dsl::Range range(index(s.index[0]), index(s.index[1]), index(s.index[2]));
    auto inside = [&](Index at) {
      positions[s.id] = at;
      body(s.bodies[0]);
    };
    if (s.kind == Statement::Kind::pipelined)
      k.pipelined(range, {.stages = int64_t(s.number)}, inside);
    else
      k.loop(range, inside);
  }

  void when(const Statement &s) {
    auto then = [&] { body(s.bodies[0]); };
    auto otherwise = [&] { body(s.bodies[1]); };
    k.when(holds(s.tests), then, s.bodies.size() > 1 ? dsl::Body(otherwise) : dsl::Body());
  }

  void statement(const Statement &s) {
    using Kind = Statement::Kind;
    switch (s.kind) {
    case Kind::declareVariable:
      return declareVariable(s);
    case Kind::declareShared: {
      const SharedInfo &info = tree.shared[size_t(s.id)];
      shared[s.id] = k.shared(info.name, info.element, tree.extentsOf(info.shape), {.slots = info.slots});
      return;
    }
    case Kind::assign: {
      Value value = this->value(s.values[0]);
      if (value.fragment)
        variable(s.id) = *value.fragment;
      else
        variable(s.id) = value.number;
      return;
    }
    case Kind::update:
      return update(s);
    case Kind::copy:
      return copyBetween(s.from, s.to);
    case Kind::store:
      return store(fragment(s.values[0]), s.to);
    case Kind::fill:
      if (s.to.kind == Place::Kind::slice)
        return dsl::fill(slice(s.to.box), s.number);
      if (s.to.kind == Place::Kind::shared)
        return dsl::fill(view(s.to.view), s.number);
      return dsl::fill(variable(s.to.variable), s.number);
    case Kind::gemm:
    case Kind::gemmAsync:
      return product(s);
    case Kind::gemmWait:
      return gemmWait(variable(s.id), int64_t(s.number));
    case Kind::atomicAdd:
      return atomicAdd(fragment(s.values[0]), slice(s.to.box));
    case Kind::atomicAddNumber:
      return atomicAdd(Scalar(s.number), slice(s.to.box));
    case Kind::writeIndex:
      return shared[s.id].write(indices(s.index, 1), index(s.index[0]));
    case Kind::loop:
    case Kind::pipelined:
      return loop(s);
    case Kind::when:
      return when(s);
    case Kind::whenAny:
      return k.whenAny(elementTest(s.comparison, s.values), [&] { body(s.bodies[0]); });
    case Kind::inTurn:
      return k.inTurn([&] { body(s.bodies[0]); });
    case Kind::roles:
      return k.roles([&] { body(s.bodies[0]); });
    case Kind::role: {
      const RoleInfo &info = tree.roles[size_t(s.id)];
      return k.role(info.name, {.warps = info.warps, .registers = info.registers},
                    [&] { body(s.bodies[0]); });
    }
    default:
      return synchronize(s);
    }
  }

  void synchronize(const Statement &s) {
    using Kind = Statement::Kind;
    if (s.kind == Kind::declareRing) {
      const RingInfo &info = tree.rings[size_t(s.id)];
      rings[s.id] =
          k.ring(info.name, {.slots = info.slots, .producers = info.producers, .consumers = info.consumers});
      return;
    }
    const dsl::Ring &ring = rings[tree.cursors[size_t(s.id)].ring];
    if (s.kind == Kind::declareCursor) {
      cursors.erase(s.id);
      cursors.emplace(s.id, ring.cursor());
      return;
    }
    dsl::Cursor &at = cursors[s.id];
    switch (s.kind) {
    case Kind::acquire:
      return ring.acquire(at);
    case Kind::expect: {
      int64_t bytes = 0;
      for (int tile : s.slots)
        bytes += shared[tile].slotBytes();
      return ring.expect(at, bytes);
    }
    case Kind::publish:
      return ring.publish(at);
    case Kind::copyAsync:
      return copy(slice(s.from.box), view(s.to.view), ring.full(at),
                  s.number != 0 ? dsl::Multicast::cluster : dsl::Multicast::off);
    case Kind::wait:
      return ring.wait(at);
    case Kind::release:
      return ring.release(at);
    default:
      return at.advance();
    }
  }

  const ProgramTree &tree;
  dsl::Scope &k;
  std::vector<Index> dimensions, coordinates;
  std::vector<dsl::Global> tensors;
  std::vector<Scalar> scalars;
  std::map<int, Index> positions;
  std::map<int, Fragment> variables;
  std::map<int, dsl::Shared> shared;
  std::map<int, dsl::Ring> rings;
  std::map<int, dsl::Cursor> cursors;
};

} // namespace

dsl::Program differential::trace(const ProgramTree &tree) {
  dsl::TraceOptions options;
  for (const DimensionInfo &dimension : tree.dimensions)
    if (dimension.fixed)
      options.fixedDimensions[dimension.name] = dimension.value;
  return dsl::Program::trace("drawn", options, [&](dsl::Scope &k) { Tracer(tree, k).run(); });
}
