// SPDX-License-Identifier: Apache-2.0
/// \file
/// The functions of fmt that the runtime calls, for libtlc_runtime.a: Debian has no static fmt.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
// Declared `extern template` in fmt/format.h.
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
} // namespace detail
FMT_END_NAMESPACE
