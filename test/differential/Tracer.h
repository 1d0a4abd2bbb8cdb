// SPDX-License-Identifier: Apache-2.0
/// \file
/// Makes the calls of a program tree.
#pragma once

#include "compiler/dsl/dsl.h"
#include "test/differential/Trace.h"

#include <map>

namespace tlc::differential {

/// An operand: a fragment or a number.
struct Value {
  std::optional<dsl::FragmentValue> fragment = {};
  dsl::Scalar number = 0;

  operator dsl::Operand() const { return fragment ? dsl::Operand(*fragment) : dsl::Operand(number); }
};

class Tracer {
public:
  Tracer(const ProgramTree &tree, dsl::Scope &k) : tree(tree), k(k) {}
  void run();

private:
  // Trace.cpp: arguments, launches, places.
  std::vector<dsl::Index> extentsOf(const TensorInfo &tensor);
  dsl::Global declare(const TensorInfo &tensor);
  dsl::Global tensor(int number);
  void transferTensors();
  void awaitTransfers(const LaunchTree &launch);
  /// What this rank works on in the launch of that number.
  void chooseRanks(int64_t launch);
  void launch(const LaunchTree &launch);
  void meetRanks(int64_t launch);
  void announceEnd(int64_t launch);
  dsl::Slice slice(const Box &box);
  dsl::Shared view(const View &view);
  dsl::ClusterTile ofBlock(const View &view);
  dsl::TensorMemory inTensorMemory(const View &view);
  void loadOfAll(Function how, const dsl::Slice &from, dsl::Fragment &to);
  void copyBetween(const Place &from, const Place &to);
  void store(const dsl::FragmentValue &value, const Place &to);

  // TraceExpressions.cpp: positions and values.
  std::vector<dsl::Index> indices(const std::vector<IndexNode> &nodes, size_t from = 0);
  dsl::Index index(const IndexNode &node);
  dsl::Predicate holds(const std::vector<PositionTest> &tests);
  dsl::Predicate elementTest(Comparison comparison, const std::vector<Expression> &operands);
  dsl::Fragment &variable(int id) { return variables.try_emplace(id).first->second; }
  Value value(const Expression &expression);
  dsl::FragmentValue fragment(const Expression &expression) {
    return value(expression).fragment.value_or(dsl::FragmentValue());
  }
  dsl::FragmentValue wherePlace(const Expression &expression);
  dsl::FragmentValue ofOne(const Expression &expression);
  dsl::FragmentValue ofTwo(const Expression &expression);
  dsl::FragmentValue ofThree(const Expression &expression);

  // TraceStatements.cpp
  void body(const Body &statements);
  void statement(const Statement &s);
  void declareVariable(const Statement &s);
  void update(const Statement &s);
  void product(const Statement &s);
  void productInPlace(const Statement &s);
  void clusterSum(const Statement &s);
  void addInTurn(const Statement &s);
  void loop(const Statement &s);
  void when(const Statement &s);
  void report(const Statement &s);
  void atChannel(const Statement &s);
  void atBarrier(const Statement &s);

  const ProgramTree &tree;
  dsl::Scope &k;
  std::vector<dsl::Index> dimensions, coordinates;
  std::vector<dsl::Global> tensors;
  // By number of the tensor.
  std::vector<dsl::Symmetric> symmetric;
  std::vector<dsl::Addresses> addresses;
  std::vector<dsl::Global> memberNumbers;
  std::vector<dsl::Symmetric> arrived; ///< rounds of a tensor's transfer
  dsl::Index rank = 0, ranks = 1;
  dsl::Symmetric ended; ///< by launch: blocks that are done, or ranks
  std::vector<dsl::Scalar> scalars;
  std::map<int, dsl::Index> positions;
  std::map<int, dsl::Fragment> variables;
  std::map<int, dsl::Shared> shared;
  std::map<int, dsl::TensorMemory> tensorMemory;
  std::map<int, dsl::Channel> channels;
  std::map<int, dsl::Slot> slots;
  std::map<int, dsl::Barrier> barriers;
  std::map<int, dsl::NamedBarrier> namedBarriers;
};

} // namespace tlc::differential
