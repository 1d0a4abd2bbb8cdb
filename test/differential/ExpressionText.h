// SPDX-License-Identifier: Apache-2.0
/// \file
/// The text of what statements are about: positions, values, places.
#pragma once

#include "test/differential/ProgramTree.h"

#include <string>
#include <vector>

namespace tlc::differential {

/// A number as C++ has it.
std::string numberText(double number);

class ExpressionText {
public:
  explicit ExpressionText(const ProgramTree &tree) : tree(tree) {}

  std::string index(const IndexNode &node) const;
  /// Positions from number `from` on, with commas between them.
  std::string list(const std::vector<IndexNode> &nodes, size_t from = 0) const;
  /// That all tests hold.
  std::string holds(const std::vector<PositionTest> &tests) const;
  std::string value(const Expression &expression) const;
  std::string view(const View &view) const;
  std::string place(const Place &place) const;
  /// The extents of a tensor as the program says them.
  std::vector<std::string> extentsOf(const TensorInfo &tensor) const;
  /// A tensor, or a member of a table.
  std::string tensor(int number) const;

private:
  std::string infix(std::string_view symbol, const IndexNode &node) const;
  std::string slice(const Box &box) const;

  const ProgramTree &tree;
};

} // namespace tlc::differential
