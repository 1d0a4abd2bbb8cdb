// SPDX-License-Identifier: Apache-2.0
/// \file
/// Small programs, evaluated on numbers written down in the test.
#pragma once

#include "compiler/dsl/Module.h"
#include "compiler/dsl/dsl.h"
#include "compiler/evaluator/Evaluator.h"

#include <catch2/catch.hpp>

namespace tlc::evaluator {

/// A tensor of these numbers.
inline Tensor given(ElementType type, std::vector<int64_t> extents, const std::vector<double> &numbers) {
  Tensor tensor{type, std::move(extents), {}};
  for (double number : numbers)
    tensor.elements.push_back(elementOf(type, number));
  return tensor;
}

/// A tensor that nobody has written.
inline Tensor unwritten(ElementType type, std::vector<int64_t> extents) {
  size_t count = 1;
  for (int64_t extent : extents)
    count *= static_cast<size_t>(extent);
  return {type, std::move(extents), std::vector<Element>(count)};
}

/// 0, 1, 2, ...
inline std::vector<double> counting(size_t count) {
  std::vector<double> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<double>(i));
  return numbers;
}

inline Result<Report> tryProgram(Arguments &arguments, const std::function<void(dsl::Scope &)> &body,
                                 const Options &options = {}) {
  dsl::Program program = dsl::Program::trace("test", body);
  INFO(program.errorText());
  REQUIRE(program.ok());
  dsl::ProgramModule traced = dsl::ProgramModule::take(std::move(program));
  return evaluate(*traced.module, arguments, options);
}

/// The last tensor after the program.
inline Tensor run(Arguments arguments, const std::function<void(dsl::Scope &)> &body,
                  const Options &options = {}) {
  Result<Report> report = tryProgram(arguments, body, options);
  INFO((report ? "" : report.error().message));
  REQUIRE(report);
  return arguments.tensors.back();
}

/// What is wrong with the program, without the place.
inline std::string errorOf(Arguments arguments, const std::function<void(dsl::Scope &)> &body) {
  Result<Report> report = tryProgram(arguments, body);
  REQUIRE(!report);
  std::string message = report.error().message;
  size_t error = message.find("error: ");
  CHECK(message.find("Test.cpp:") < error); // located
  return error == std::string::npos ? message : message.substr(error + 7);
}

inline std::vector<double> values(const Tensor &tensor) {
  std::vector<double> values;
  for (const Element &element : tensor.elements) {
    values.push_back(isInteger(tensor.type) ? static_cast<double>(element.integer) : element.value);
  }
  return values;
}

/// All numbers, which the compiled program has bit for bit.
inline std::vector<double> exactValues(const Tensor &tensor) {
  for (const Element &element : tensor.elements) {
    CHECK(element.defined);
    CHECK(element.bound == 0);
  }
  return values(tensor);
}

} // namespace tlc::evaluator
