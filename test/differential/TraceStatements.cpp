// SPDX-License-Identifier: Apache-2.0
/// \file
/// Statements.
#include "compiler/dsl/Cluster.h"
#include "compiler/dsl/Counts.h"
#include "test/differential/Tracer.h"

using namespace tlc;
using namespace tlc::differential;
using dsl::Fragment, dsl::FragmentValue, dsl::Index, dsl::Operand, dsl::Predicate, dsl::Scalar;

void Tracer::body(const Body &statements) {
  for (const Statement &each : statements)
    statement(each);
}

namespace {
/// The atomic operation of that kind, of a fragment, a number or a tile; with a fragment for the old values
/// as last argument.
template <class Value, class... Old>
void combine(Function function, const Value &value, const dsl::Slice &to, Old &...old) {
  switch (function) {
  case Function::min:
    return atomicMin(value, to, old...);
  case Function::max:
    return atomicMax(value, to, old...);
  case Function::bitAnd:
    return atomicAnd(value, to, old...);
  case Function::bitOr:
    return atomicOr(value, to, old...);
  case Function::bitXor:
    return atomicXor(value, to, old...);
  default:
    return atomicAdd(value, to, old...);
  }
}
} // namespace

void Tracer::declareVariable(const Statement &s) {
  const VariableInfo &info = tree.variables[size_t(s.id)];
  variables.erase(s.id);
  if (s.values.empty())
    variables.emplace(s.id,
                      k.fragment(info.element, tree.extentsOf(info.shape), info.initial).named(info.name));
  else
    variables.emplace(s.id, Fragment(fragment(s.values[0])).named(info.name));
}

void Tracer::update(const Statement &s) {
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

void Tracer::product(const Statement &s) {
  Fragment &sum = variable(s.id);
  bool isAsync = s.kind == Statement::Kind::gemmAsync;
  dsl::Shared right = view(s.to.view);
  if (s.isSparse) {
    dsl::Sparse left = {view(s.from.view), fragment(s.values[0])};
    isAsync ? gemmAsync(left, right, sum, s.policy) : gemm(left, right, sum, s.policy);
  } else if (s.values.empty()) {
    dsl::Shared left = view(s.from.view);
    isAsync ? gemmAsync(left, right, sum, s.policy) : gemm(left, right, sum, s.policy);
  } else {
    FragmentValue left = fragment(s.values[0]);
    isAsync ? gemmAsync(left, right, sum, s.policy) : gemm(left, right, sum, s.policy);
  }
}

void Tracer::productInPlace(const Statement &s) {
  dsl::ProductOptions options;
  if (!s.tests.empty())
    options.accumulate = holds(s.tests);
  dsl::Shared right = view(s.factors[1].view);
  if (s.factors[0].kind == Place::Kind::tensorMemory)
    gemmAsync(inTensorMemory(s.factors[0].view), right, inTensorMemory(s.to.view), options);
  else
    gemmAsync(view(s.factors[0].view), right, inTensorMemory(s.to.view), options);
}

void Tracer::clusterSum(const Statement &s) {
  FragmentValue x = fragment(s.values[0]);
  variable(s.id) = s.number == 2 ? clusterMax(x) : s.number == 1 ? clusterSumShare(x) : dsl::clusterSum(x);
}

void Tracer::addInTurn(const Statement &s) {
  const dsl::Global counts = tensor(s.from.box.tensor);
  FragmentValue added = fragment(s.values[0]);
  dsl::Slice to = slice(s.to.box);
  Index turn = take(counts, {0});
  waitFor(counts, {1}, turn);
  Fragment sum = k.fragment(tree.tensors[size_t(s.to.box.tensor)].element, added.shape());
  copy(to, sum);
  copy(sum + added, to);
  announce(counts, {1});
}

void Tracer::loop(const Statement &s) {
  dsl::Range range(index(s.index[0]), index(s.index[1]), index(s.index[2]));
  auto inside = [&](Index at) {
    positions[s.id] = s.index.size() > 3 ? at - index(s.index[3]) : at;
    body(s.bodies[0]);
  };
  auto insideWhile = [&](Index at) {
    inside(at);
    return holds(s.tests);
  };
  if (s.kind == Statement::Kind::pipelined)
    k.pipelined(range, {.stages = int64_t(s.number)}, inside);
  else if (s.kind == Statement::Kind::loopWhile)
    k.loopWhile(range, insideWhile);
  else
    k.loop(range, inside);
}

void Tracer::when(const Statement &s) {
  auto then = [&] { body(s.bodies[0]); };
  auto otherwise = [&] { body(s.bodies[1]); };
  k.when(holds(s.tests), then, s.bodies.size() > 1 ? dsl::Body(otherwise) : dsl::Body());
}

void Tracer::report(const Statement &s) {
  bool isCheck = s.kind == Statement::Kind::check;
  if (s.values.empty()) {
    Index at = index(s.index[0]);
    return isCheck ? k.check(holds(s.tests), "expected another position than {}", at) : k.print("at {}", at);
  }
  FragmentValue x = fragment(s.values[0]);
  if (isCheck)
    k.check(elementTest(s.comparison, s.values), "expected a smaller number than {}", x);
  else
    k.print("{}", x);
}

void Tracer::statement(const Statement &s) {
  using Kind = Statement::Kind;
  switch (s.kind) {
  case Kind::declareVariable:
    return declareVariable(s);
  case Kind::declareShared: {
    const SharedInfo &info = tree.shared[size_t(s.id)];
    shared[s.id] = k.shared(info.name, info.element, tree.extentsOf(info.shape), {.slots = info.slots});
    return;
  }
  case Kind::declareTensorMemory: {
    const SharedInfo &info = tree.tensorMemory[size_t(s.id)];
    tensorMemory[s.id] =
        k.tensorMemory(info.name, info.element, tree.extentsOf(info.shape), {.slots = info.slots});
    return;
  }
  case Kind::gemmInPlace:
    return productInPlace(s);
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
  case Kind::atomic:
    return combine(s.function, fragment(s.values[0]), slice(s.to.box));
  case Kind::atomicNumber:
    return combine(s.function, Scalar(s.number), slice(s.to.box));
  case Kind::atomicTile:
    return combine(s.function, view(s.from.view), slice(s.to.box));
  case Kind::clusterSum:
    return clusterSum(s);
  case Kind::fetch:
    return combine(s.function, fragment(s.values[0]), slice(s.to.box), variable(s.id));
  case Kind::exchange:
    if (s.values.size() == 1)
      return atomicExchange(fragment(s.values[0]), slice(s.to.box), variable(s.id));
    return atomicCompareAndSwap(fragment(s.values[1]), fragment(s.values[0]), slice(s.to.box),
                                variable(s.id));
  case Kind::addInTurn:
    return addInTurn(s);
  case Kind::writeIndex:
    return shared[s.id].write(indices(s.index, 1), index(s.index[0]));
  case Kind::loop:
  case Kind::loopWhile:
  case Kind::pipelined:
    return loop(s);
  case Kind::when:
    return when(s);
  case Kind::whenAny:
    return k.whenAny(elementTest(s.comparison, s.values), [&] { body(s.bodies[0]); });
  case Kind::print:
  case Kind::check:
    return report(s);
  case Kind::inTurn:
    return k.inTurn([&] { body(s.bodies[0]); });
  case Kind::roles:
    return k.roles([&] { body(s.bodies[0]); });
  case Kind::role: {
    const RoleInfo &info = tree.roles[size_t(s.id)];
    return k.role(info.name, {.warps = info.warps, .registers = info.registers}, [&] { body(s.bodies[0]); });
  }
  case Kind::declareBarrier:
  case Kind::arrive:
  case Kind::awaitPhase:
  case Kind::meet:
    return atBarrier(s);
  default:
    return atChannel(s);
  }
}

void Tracer::atChannel(const Statement &s) {
  using Kind = Statement::Kind;
  if (s.kind == Kind::declareChannel) {
    const ChannelInfo &info = tree.channels[size_t(s.id)];
    channels[s.id] = info.of >= 0
                         ? k.channel(info.name, channels[info.of])
                         : k.channel(info.name, {.slots = info.slots, .multicast = info.isMulticast});
    return;
  }
  if (s.kind == Kind::release)
    return channels[s.id].release(s.number != 0 ? dsl::Arrival::afterProducts : dsl::Arrival::now);
  if (s.kind == Kind::pass)
    return channels[s.id].pass();
  const dsl::Channel &channel = channels[tree.slots[size_t(s.id)].channel];
  switch (s.kind) {
  case Kind::put:
    channel.put([&](const dsl::Slot &at) {
      slots[s.id] = at;
      body(s.bodies[0]);
    });
    return;
  case Kind::get:
    slots[s.id] = channel.get();
    return;
  default:
    slots[s.id] = channel.oldest();
  }
}

void Tracer::atBarrier(const Statement &s) {
  using Kind = Statement::Kind;
  const BarrierInfo &info = tree.barriers[size_t(s.id)];
  bool isNamed = info.kind == BarrierInfo::Kind::warps;
  switch (s.kind) {
  case Kind::declareBarrier:
    if (isNamed)
      namedBarriers[s.id] = k.namedBarrier(info.count);
    else
      barriers[s.id] = k.barrier(info.name, info.count);
    return;
  case Kind::arrive:
    if (isNamed)
      return namedBarriers[s.id].arrive();
    return barriers[s.id].arrive(s.number != 0 ? dsl::Arrival::afterProducts : dsl::Arrival::now);
  case Kind::awaitPhase:
    return barriers[s.id].wait(index(s.index[0]));
  default:
    return namedBarriers[s.id].sync();
  }
}
