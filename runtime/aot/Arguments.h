// SPDX-License-Identifier: Apache-2.0
/// \file
/// The struct of arguments that a header of `tlc build` declares for a kernel, by the rules of C:
///
///     struct { void *data; int64_t shape[rank], strides[rank]; }   for each tensor but workspaces
///     the scalars, in their own width
///     void *workspace; size_t workspace_bytes;                     if a program has workspaces
///
/// Shape and strides of a tensor with rank 0 do not exist. Strides that are all 0 are those of a contiguous
/// tensor.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/device/Device.h"
#include "runtime/device/LaunchPlan.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tlc::aot {

/// Memory for all workspaces of a launch.
struct Workspace {
  void *address = nullptr;
  size_t bytes = 0;
};

/// Where the struct has its members.
class ArgumentLayout {
public:
  explicit ArgumentLayout(const Artifact &artifact);

  size_t tensors() const { return tensorOffsets.size(); }
  /// The arguments without workspaces.
  LaunchArguments read(const Artifact &artifact, const void *given) const;
  void *address(const void *given, size_t tensor) const;
  /// Nothing if the program has no workspaces.
  Workspace workspace(const void *given) const;
  /// Shapes, strides and scalars are those of `kept`, of which `read` made the first tensors.
  bool fits(const LaunchArguments &kept, const void *given) const;

private:
  TensorView tensor(const TensorArgument &argument, size_t index, const void *given) const;

  std::vector<size_t> tensorOffsets, scalarOffsets;
  std::optional<size_t> workspaceOffset;
};

/// Where each workspace is in that memory.
struct WorkspaceBlock {
  std::vector<size_t> offsets = {};
  size_t bytes = 0;

  static constexpr size_t mostBytes = size_t(INT64_MAX) / workspaceAlignment * workspaceAlignment;
  /// An error if they take more than that together.
  static Result<WorkspaceBlock> of(std::span<const WorkspaceRequest> requests);
};

} // namespace tlc::aot
