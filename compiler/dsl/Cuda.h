// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions in CUDA C++ that a program applies to fragments, element by element. NVRTC compiles them with
/// the program (libnvrtc.so of a CUDA toolkit, opened when it is needed), and they become part of the
/// kernel's code: nothing is called, and nothing is linked.
#pragma once

#include "compiler/dsl/Handles.h"

#include <memory>
#include <string>
#include <vector>

namespace tlc::dsl::inline v1 {

struct CudaOptions {
  /// Of the result; left out: that of the first operand.
  std::optional<ElementType> result = {};
  /// For NVRTC, such as "--use_fast_math" or "-I/folder".
  std::vector<std::string> options = {};
};

/// Made by Scope::cuda. Called with fragments whose extents are equal, or 1 where one is repeated, and with
/// numbers, which are f32 if they are numbers of C++: each element of the result is the function of the
/// elements at its position. Their types are float, double, int, unsigned, long long, __half and
/// __nv_bfloat16 for f32, f64, i32, u32, i64, f16 and bf16.
class CudaFunction {
public:
  CudaFunction() = default;
  CudaFunction(std::string name, std::string source, CudaOptions options)
      : name(std::move(name)), source(std::move(source)), options(std::move(options)) {}

  FragmentValue operator()(At<Operand> a) const { return call({a.value}, a.loc); }
  FragmentValue operator()(At<Operand> a, At<Operand> b) const { return call({a.value, b.value}, a.loc); }
  FragmentValue operator()(At<Operand> a, At<Operand> b, At<Operand> c) const {
    return call({a.value, b.value, c.value}, a.loc);
  }
  FragmentValue operator()(At<Operand> a, At<Operand> b, At<Operand> c, At<Operand> d) const {
    return call({a.value, b.value, c.value, d.value}, a.loc);
  }

private:
  FragmentValue call(const std::vector<Operand> &operands, Loc loc) const;

  std::string name, source;
  CudaOptions options;
};

} // namespace tlc::dsl::inline v1
