// SPDX-License-Identifier: Apache-2.0
/// \file
/// The one binary form of an artifact, for the disk cache:
/// a header (magic, version, size, checksum) and the fields in order, little
/// endian. Equal artifacts give equal bytes. Reading trusts nothing: truncated,
/// altered or foreign bytes give an `Error`.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/support/Result.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tlc {

/// Raised whenever the form changes.
inline constexpr uint32_t artifactFormatVersion = 16;
/// Versions from here on are read, so that archives of an earlier tlc link with a later runtime; others are
/// refused.
inline constexpr uint32_t oldestArtifactVersion = 14;

/// As an earlier version has it, without what that lacks, or as this one.
std::vector<std::byte> serialize(const Artifact &artifact, uint32_t version = artifactFormatVersion);
/// The result has passed `verify`.
Result<Artifact> deserialize(std::span<const std::byte> bytes);

/// Length of the artifact that the data begins with, as its header has it; at most all of the data.
size_t artifactBytes(std::span<const std::byte> bytes);

} // namespace tlc
