// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers as scalar arguments.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/device/Device.h"

#include <variant>

namespace tlc::kernels {

using Number = std::variant<double, int64_t>;

/// The number in the scalar's type, to the nearest of floats. An error if the type is one of integers and has
/// no such number.
Result<ScalarValue> scalarOf(const ScalarArgument &scalar, const Number &number);

} // namespace tlc::kernels
