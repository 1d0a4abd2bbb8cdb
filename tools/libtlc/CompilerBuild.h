// SPDX-License-Identifier: Apache-2.0
/// \file
/// The build of libtlc_compiler.so that this library was linked with. CompilerBuild.cpp is generated from
/// that.
#pragma once

namespace tlc::calls {

/// What the linker has named it (runtime/cache/BuildId.h).
extern const char *const compilerBuild;

} // namespace tlc::calls
