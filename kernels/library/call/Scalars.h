// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers as scalar arguments.
#pragma once

#include "kernels/Parameters.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/device/Device.h"

#include <string>
#include <variant>
#include <vector>

namespace tlc::kernels {

using Number = std::variant<double, int64_t>;

/// The number in the scalar's type, to the nearest of floats. An error if the type is one of integers and has
/// no such number.
Result<ScalarValue> scalarOf(const ScalarArgument &scalar, const Number &number);

/// The value of a scalar among a kernel's parameters, which has one.
Number numberOf(const Parameters &values, std::string_view name, ElementType type);
/// The program's scalars, in its order, from the kernel's parameters. An error if one has no value.
Result<std::vector<ScalarValue>> scalarsOf(const Artifact &artifact, const Parameters &values);
/// The text of a number of a scalar's type, to the nearest of floats.
std::string roundedText(ElementType type, std::string_view text);

} // namespace tlc::kernels
