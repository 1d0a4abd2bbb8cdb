// SPDX-License-Identifier: Apache-2.0
/// \file
/// The cookbook: files of kernels as users write them, compiled into tlc. Each page of it also works as
/// `tlc run kernels/cookbook/NAME.cpp`.
#pragma once

#include "kernels/Registry.h"

namespace tlc::kernels {

/// In the order of the pages.
std::span<const Kernel *const> cookbookKernels();

/// A registered kernel or one of the cookbook, by name.
Result<const Kernel *> findShippedKernel(std::string_view name);

} // namespace tlc::kernels
