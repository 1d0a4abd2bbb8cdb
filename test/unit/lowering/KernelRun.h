// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs kernels on the emulator: text in, tensors out.
#pragma once

#include "compiler/pipeline/Options.h"
#include "dialects/layout/Layout.h"
#include "dialects/layout/LayoutText.h"
#include "dialects/layout/SharedLayout.h"
#include "runtime/support/ElementType.h"

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tlc::test {

/// A tensor on the host, as numbers; rows may be further apart than they are long.
struct HostTensor {
  ElementType element = ElementType::f32;
  std::vector<int64_t> shape;
  int64_t rowPitch = 0;       ///< elements from one of the last axis' rows to the next; 0: its extent
  std::vector<double> values; ///< without what lies between the rows

  int64_t elements() const;
  double &at(int64_t row, int64_t column) { return values[size_t(row * shape.back() + column)]; }
};

/// Random integers from -4 to 4, which all formats hold exactly.
HostTensor randomTensor(ElementType element, std::vector<int64_t> shape, std::mt19937 &random);
/// Poison that no kernel computes.
HostTensor poisoned(ElementType element, std::vector<int64_t> shape);
inline constexpr double poison = -77;

/// Options for modules of phase `planned`.
CompileOptions fromPlanned();

/// Compiles the module and launches its kernels; the tensors, in the order of the schema, come back changed.
/// Fails the running test with what the compiler or the emulator said. What lies between rows must not
/// change.
void runKernels(const std::string &module, std::vector<HostTensor *> tensors,
                const CompileOptions &options = fromPlanned());

/// The same of a module that compiles; what the emulator said, or nothing.
std::string runErrors(const std::string &module, std::vector<HostTensor *> tensors,
                      const CompileOptions &options = fromPlanned());

/// What compiling the module says; the empty string if it succeeds.
std::string compileErrors(const std::string &module);

/// "tensor<64x16xf32, #tile.layout<...>>"
std::string fragment(std::vector<int64_t> shape, const std::string &element, const FragmentLayout &layout);
/// "!tile.shared<64x16xf32, #tile.shared_layout<...>>", with leading slots and the mark of a view.
std::string shared(const SharedLayout &layout, const std::string &element, int64_t slots = 0);
std::string transposedShared(const SharedLayout &layout, const std::string &element);
/// The text with each `$name` replaced.
std::string substitute(std::string text, const std::vector<std::pair<std::string, std::string>> &values);

} // namespace tlc::test
