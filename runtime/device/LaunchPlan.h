// SPDX-License-Identifier: Apache-2.0
/// \file
/// From an artifact and the actual arguments to what a device has to do:
/// which variant, which memory to clear, and for each launch the grid and the
/// bytes of the entry's parameter space. Both devices launch through it, so
/// both check arguments alike. Touches no device.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/device/Device.h"
#include "runtime/support/Result.h"
#include "runtime/target/Target.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tlc {

/// Clears `rows` runs of `rowBytes` bytes, `pitchBytes` apart.
struct ZeroFill {
  void *address = nullptr;
  size_t rowBytes = 0;
  size_t rows = 1;
  size_t pitchBytes = 0; ///< at least `rowBytes` where there is more than one row
  size_t tensor = 0;     ///< index into `Artifact::tensors`
};

/// An extent that is computed from dimensions; the error does not say whose it is.
Result<int64_t> evaluateExtent(const HostExpr &extent, const std::vector<int64_t> &dimensions,
                               int64_t multiprocessors);
/// Where a computed dimension was first an extent: 'X' axis 0.
std::string placeOfComputed(std::string_view dimension);

/// The most axes a tensor map has.
inline constexpr unsigned maxTensorMapRank = TmaFacts().maxRank;

/// What a tensor map describes, outermost axis first like the tensor. Always
/// valid for the hardware: where an extent of 1 makes a stride moot it is a
/// suitable one, and the map of an empty tensor has extents of 1 and no address.
/// With a limited axis (`TensorMapRecipe`) there is one axis more than the tensor's.
struct TensorMapValues {
  /// What a map in im2col mode has besides, of the axes but the first and the last: how far the corners of
  /// its bounding box are from the first and the last element, and the step from one pixel to the next.
  struct Im2col {
    std::array<int64_t, maxTensorMapRank - 2> lower = {}, upper = {}, stride = {};
    bool operator==(const Im2col &) const = default;
  };

  void *address = nullptr; ///< null for an empty tensor, of which all boxes lie outside
  ElementType element = ElementType::f32;
  Swizzle swizzle = Swizzle::none;
  unsigned rank = 0;
  std::array<int64_t, maxTensorMapRank> shape = {};
  std::array<int64_t, maxTensorMapRank> strideBytes = {}; ///< the last is the element's size
  std::array<int64_t, maxTensorMapRank> box = {};
  std::optional<Im2col> im2col = {}; ///< a box has as many pixels as its first extent says

  bool operator==(const TensorMapValues &) const = default;
};

/// A tensor map and where it goes in the parameter space.
struct PlannedTensorMap {
  size_t offset = 0; ///< into `PlannedLaunch::parameters`; 64-byte aligned, 128 bytes, zero until filled in
  size_t tensor = 0; ///< index into `Artifact::tensors`
  TensorMapValues values = {};
};

/// The address of a tensor in the parameter space.
struct PlannedPointer {
  size_t offset = 0; ///< into `PlannedLaunch::parameters`
  size_t tensor = 0; ///< index into `Artifact::tensors`
};

struct PlannedLaunch {
  const Launch *launch = nullptr;
  size_t index = 0; ///< of the launch in its variant
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::vector<std::byte> parameters = {}; ///< as the entry declares them, each naturally aligned
  std::vector<PlannedPointer> pointers = {};
  std::vector<PlannedTensorMap> tensorMaps = {};
};

/// Slices of rows of bytes. Rows do not overlap, and slices are whole numbers of rows apart.
struct PlannedCopy {
  const void *from = nullptr;
  void *to = nullptr;
  size_t bytes = 0; ///< of a row
  size_t rows = 1, fromPitch = 0, toPitch = 0;
  size_t slices = 1, fromRows = 1, toRows = 1; ///< rows from one slice to the next
};

/// A round of a transfer.
struct PlannedRound {
  std::vector<PlannedCopy> copies = {};
  int32_t *count = nullptr; ///< that is set to `value` after the copies; null: none
  int32_t value = 0;
  /// It is done in stream order, because it copies inside of this rank or not at all: the driver may copy
  /// inside a device by a kernel, for which launches that wait for it leave no room.
  bool isInOrder = false;
  bool reachesOthers = false; ///< copies from or to the memory of another rank
};

struct PlannedTransfer {
  const Transfer *transfer = nullptr;
  size_t after = 0, until = 0; ///< of the planned launches
  std::vector<PlannedRound> rounds = {};
};

/// The most copies that the boxes of one round may take.
inline constexpr size_t maxTransferCopies = 64;
/// The most rounds of a transfer.
inline constexpr int64_t maxTransferRounds = 1024;

/// Points into the artifact, which must outlive it.
struct LaunchPlan {
  const Variant *variant = nullptr;
  size_t variantIndex = 0;
  std::vector<int64_t> dimensions = {};        ///< values of `Artifact::dimensions`
  std::vector<ZeroFill> zeroFills = {};        ///< before the first launch
  std::vector<PlannedLaunch> launches = {};    ///< in order; those with an empty grid are left out
  std::vector<PlannedTransfer> transfers = {}; ///< in order
};

/// The variant that is launched with these tensors, an index into `Artifact::variants`: the first one whose
/// conditions they meet.
size_t chooseVariant(const Artifact &artifact, const std::vector<TensorView> &tensors);

/// Checks the arguments against the schema and lays out the launches. The
/// artifact has passed `verify`. Errors name the argument, the axis, the value and the limit.
/// `inKernels` has the tensors by the addresses that kernels get, where those are others; empty: their own.
Result<LaunchPlan> planLaunch(const Artifact &artifact, const LaunchArguments &arguments,
                              const DeviceProperties &device, std::span<const TensorView> inKernels = {});

/// What other addresses of tensors change in a plan.
enum class PlanChange : uint8_t {
  nothing,   ///< the tensors were there already
  addresses, ///< of the tensors, in the parameters, in the values of their tensor maps and in what is cleared
  all        ///< another variant is launched, or transfers copy between other addresses
};

/// An error unless the artifact has `count` tensors from number `first` on.
Result<void> checkTensors(const Artifact &artifact, size_t first, size_t count);
/// Succeeds if a tensor of a prepared launch may move: it exists, and is not symmetric, since other ranks
/// know its address.
Result<void> checkMovable(const Artifact &artifact, size_t tensor);
/// Moves the tensors from number `first` on: changes the plan, and the arguments, which it was made of, to
/// their addresses. Checks what depends on those that are new as `planLaunch` does. On success `addresses`
/// has the former ones; on an error all is as before. Allocates nothing where addresses alone change.
Result<PlanChange> moveTensors(LaunchPlan &plan, const Artifact &artifact, LaunchArguments &arguments,
                               const DeviceProperties &device, size_t first, std::span<void *> addresses);

/// Values of `artifact.dimensions`, from the shapes of the inputs and outputs;
/// checks their number, types, axes, agreement and the facts. `tensors` may lack the workspaces. `rank` is
/// launched, of `ranks`.
Result<std::vector<int64_t>> bindDimensions(const Artifact &artifact, std::span<const TensorView> tensors,
                                            int64_t rank = 0, int64_t ranks = 1);

/// Memory that the caller provides for one workspace of the artifact: at a multiple of `workspaceAlignment`,
/// and apart from all other arguments.
struct WorkspaceRequest {
  std::string name;
  ElementType element = ElementType::f32;
  std::vector<int64_t> shape = {}, strides = {};
  size_t bytes = 0;
  bool zeroFill = false; ///< the launcher clears it; the caller need not

  /// The workspace at that address.
  TensorView view(void *data) const { return {data, element, shape, strides}; }
};

/// The index of the first workspace, which are the last tensors; their number if there is none.
size_t firstWorkspaceOf(const Artifact &artifact);
/// One request per workspace, in the order of the trailing tensors.
Result<std::vector<WorkspaceRequest>> workspaceRequests(const Artifact &artifact,
                                                        const std::vector<int64_t> &dimensions,
                                                        const DeviceProperties &device);
/// The same for a launch on these tensors, which `bindDimensions` checks.
Result<std::vector<WorkspaceRequest>> workspacesOf(const Artifact &artifact,
                                                   std::span<const TensorView> tensors,
                                                   const DeviceProperties &device, int64_t rank = 0,
                                                   int64_t ranks = 1);

/// A contiguous tensor at `data`.
TensorView contiguousView(void *data, ElementType element, std::vector<int64_t> shape);

} // namespace tlc
