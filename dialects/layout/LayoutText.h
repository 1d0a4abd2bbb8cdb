// SPDX-License-Identifier: Apache-2.0
/// \file
/// Text forms of fragment layouts.
///
///     reg(2@1:1, 2@0:8, 32@1:8) lane(4@1:2, 8@0:1) warp(4@0:16, 2@0:64)
///     rank 2 reg(4@0:1) lane(32@*) warp()
///
/// `extent@axis:step` is a mode and `extent@*` a replicating one. The rank is one
/// more than the highest axis named, unless the text begins with `rank N`.
/// `parseLayout(printLayout(x)) == x` for all layouts, and printing what was parsed
/// gives its canonical form.
#pragma once

#include "dialects/layout/Layout.h"

#include <string>
#include <string_view>

namespace tlc {

std::string printLayout(const FragmentLayout &layout);
Result<FragmentLayout> parseLayout(std::string_view text);

/// "64x128", "" for rank 0: shapes in messages and dumps.
std::string printShape(const Shape &shape);

} // namespace tlc
