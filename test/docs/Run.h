// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs the programs of docs/dsl.md on the emulator.
#pragma once

#include "compiler/dsl/dsl.h"
#include "compiler/pipeline/Options.h"
#include "runtime/device/Device.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tlc::docs {

using Values = std::map<std::string, int64_t, std::less<>>;

/// What tensors of integers hold, by name.
using Indices = std::map<std::string, std::vector<int32_t>, std::less<>>;

/// The tensors whose addresses a table holds.
struct Members {
  ElementType element = ElementType::f32;
  Access access = Access::input;
  std::vector<std::vector<int64_t>> shapes = {};
};
/// By name of the table.
using Tables = std::map<std::string, Members, std::less<>>;

/// A tensor's elements, row by row.
struct Array {
  std::vector<int64_t> shape;
  std::vector<double> values;

  double operator()(int64_t i) const { return values[size_t(i)]; }
  double operator()(int64_t i, int64_t j) const { return values[size_t(i * shape[1] + j)]; }
};

/// A program that was compiled and launched once, with random inputs, but those given, and poisoned outputs.
class Run {
public:
  /// Fails the running test if the program has errors, does not compile or misbehaves.
  Run(dsl::Program program, const Values &dimensions, std::vector<ScalarValue> scalars = {},
      const Indices &indices = {}, const CompileOptions &options = {}, const Tables &tables = {});

  /// What the compiler chose, and why not better.
  const std::vector<Remark> &remarks() const { return program->artifact().remarks; }
  /// Members of tables are tensors, too: "X.of(2)".
  const Array &after(std::string_view tensor) const { return last.find(tensor)->second; }
  const Array &before(std::string_view tensor) const { return first.find(tensor)->second; }

private:
  friend std::string launchErrors(dsl::Program program, const Values &dimensions);
  Run() = default;
  Result<void> execute(dsl::Program traced, const Values &dimensions, std::vector<ScalarValue> scalars,
                       const Indices &indices = {}, const CompileOptions &options = {},
                       const Tables &tables = {});

  std::string printed; ///< by the program
  std::shared_ptr<const LoadedProgram> program;
  std::map<std::string, Array, std::less<>> first, last;
};

/// What tracing and compiling say about a program; "" if it compiles.
std::string compileErrors(dsl::Program program);
/// What the emulator says about a launch: what it prints, and its error; "" if there is neither.
std::string launchErrors(dsl::Program program, const Values &dimensions);

/// What a launch of the program with these arguments is refused for; "" if it is not.
std::string argumentErrors(dsl::Program program, const LaunchArguments &arguments);

/// A scalar argument of f32.
ScalarValue number(float value);

/// Checks every element of a matrix: |actual - expected(i, j)| <= relative (1 + |expected(i, j)|).
void checkMatrix(const Array &actual, double relative,
                 const std::function<double(int64_t, int64_t)> &expected);
void checkVector(const Array &actual, double relative, const std::function<double(int64_t)> &expected);

} // namespace tlc::docs
