// SPDX-License-Identifier: Apache-2.0
/// \file
/// A kernel in an archive of `tlc build`: its program for each of several targets, as the object of the
/// kernel has it in its section `imageSection`. Equal kernels give equal bytes. Reading trusts nothing.
#pragma once

#include "runtime/support/Math.h"
#include "runtime/support/Result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::aot {

/// Raised whenever the form changes. Older ones from the first on are read; artifacts are not compressed
/// before 3.
inline constexpr uint32_t imageVersion = 3, firstImageVersion = 2;
inline constexpr std::string_view imageSection = ".tlc.image";
/// What the address of an image is a multiple of.
inline constexpr size_t imageAlignment = 16;

/// The program for one target.
struct ProgramImage {
  std::string target;
  std::vector<std::byte> artifact; ///< serialized
};

struct KernelImage {
  std::string function; ///< of the header
  std::vector<ProgramImage> programs;
};

std::vector<std::byte> serialize(const KernelImage &image);

/// The same in memory that outlives it.
struct ProgramView {
  std::string_view target;
  std::span<const std::byte> stored; ///< the artifact, as a block of Compression.h where that is shorter
  uint64_t artifactBytes = 0;
};

struct KernelView {
  std::string_view function;
  std::vector<ProgramView> programs;
  size_t bytes = 0; ///< of the whole image
};

/// The image at the begin of `bytes`, which may be followed by others. Artifacts are not looked into.
Result<KernelView> viewImage(std::span<const std::byte> bytes);
/// The serialized artifact.
Result<std::vector<std::byte>> artifactOf(const ProgramView &program);

/// Bytes from the begin of an image of that size to the next one.
constexpr size_t imageStride(size_t bytes) { return alignTo(bytes, imageAlignment); }

} // namespace tlc::aot
