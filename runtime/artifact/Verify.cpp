// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/Verify.h"

#include "runtime/artifact/LinearExtent.h"
#include "runtime/artifact/Reports.h"
#include "runtime/support/Math.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <set>

using namespace tlc;

namespace {

/// Walks the artifact and keeps the first inconsistency.
class Verifier {
public:
  Verifier(const Artifact &artifact) : artifact(artifact), target(findTarget(artifact.target)) {}

  Result<void> run() {
    if (!target)
      return Error{.message = fmt::format("artifact '{}': unknown target '{}'; expected one of {}",
                                          artifact.name, artifact.target, targetNames())};
    checkDimensions();
    checkTensors();
    checkScalars();
    checkVariants();
    if (failure)
      return Error{.message = fmt::format("artifact '{}': {}", artifact.name, *failure)};
    return {};
  }

private:
  template <class... Values>
  void require(bool holds, fmt::format_string<Values...> text, Values &&...values) {
    if (!holds && !failure)
      failure = fmt::format(text, std::forward<Values>(values)...);
  }

  /// Whether `expr` is one complete expression over existing dimensions, and so many more.
  bool wellFormed(const HostExpr &expr, size_t more = 0) const {
    size_t depth = 0;
    for (const HostExpr::Step &step : expr.steps) {
      if (step.op == HostExpr::Op::dimension &&
          (step.operand < 0 || step.operand >= int64_t(artifact.dimensions.size() + more)))
        return false;
      if (step.op <= HostExpr::Op::multiprocessors) {
        ++depth;
        if (depth > HostExpr::maxDepth)
          return false;
      } else {
        if (depth < 2)
          return false;
        --depth;
      }
    }
    return depth == 1;
  }

  size_t rankOf(const TensorArgument &tensor) const {
    return tensor.access == Access::workspace ? tensor.workspaceShape.size() : tensor.shape.size();
  }

  void checkDimensions() {
    std::set<std::string> names;
    for (size_t i = 0; i < artifact.dimensions.size(); ++i) {
      const Dimension &dimension = artifact.dimensions[i];
      require(!dimension.name.empty() && names.insert(dimension.name).second,
              "the name '{}' of dimension {} is empty or taken", dimension.name, i);
      require(dimension.multipleOf >= 1, "dimension '{}' is said to be a multiple of {}", dimension.name,
              dimension.multipleOf);
      require(dimension.least >= 0 && dimension.least <= dimension.most && dimension.most <= maxExtent,
              "dimension '{}' is said to be from {} to {}, but expected limits from 0 to {}", dimension.name,
              dimension.least, dimension.most, maxExtent);
      if (failure)
        return;
      if (dimension.source != DimensionSource::shapes)
        require((!dimension.fixed || dimension.source == DimensionSource::ranks) && !dimension.computed &&
                    dimension.multipleOf == 1 && dimension.least == 0 && dimension.most == maxExtent,
                "dimension '{}' is said to be something, but the launch says what it is", dimension.name);
      if (dimension.fixed)
        require(*dimension.fixed >= dimension.least && *dimension.fixed <= dimension.most &&
                    *dimension.fixed % dimension.multipleOf == 0,
                "dimension '{}' is fixed to {}, but expected a multiple of {} from {} to {}", dimension.name,
                *dimension.fixed, dimension.multipleOf, dimension.least, dimension.most);
      if (dimension.computed) {
        require(!dimension.fixed && wellFormed(*dimension.computed) && dependsOnlyOnThoseBefore(i),
                "the expression of dimension '{}' is malformed", dimension.name);
        continue;
      }
      require(dimension.fixed || dimension.source != DimensionSource::shapes || namedByTensor(i),
              "no tensor's shape gives the value of dimension '{}'", dimension.name);
    }
  }

  /// The launcher computes dimensions in their order, before it knows the device.
  bool dependsOnlyOnThoseBefore(size_t dimension) const {
    return std::ranges::all_of(
        artifact.dimensions[dimension].computed->steps, [&](const HostExpr::Step &step) {
          return step.op != HostExpr::Op::multiprocessors &&
                 (step.op != HostExpr::Op::dimension || step.operand < int64_t(dimension));
        });
  }

  bool namedByTensor(size_t dimension) const {
    for (const TensorArgument &tensor : artifact.tensors) {
      for (const Extent &extent : tensor.shape) {
        if (extent.dimension == int64_t(dimension) || solvesFor(extent, int64_t(dimension)))
          return true;
      }
    }
    return false;
  }

  /// True if the extent is computed from the dimension such that it gives its value.
  bool solvesFor(const Extent &extent, int64_t dimension) const {
    if (extent.dimension <= dimension || extent.dimension >= int64_t(artifact.dimensions.size()))
      return false;
    const std::optional<HostExpr> &computed = artifact.dimensions[size_t(extent.dimension)].computed;
    const std::optional<LinearExtent> linear = computed ? linearExtentOf(*computed) : std::nullopt;
    return linear && linear->dimension == dimension;
  }

  void checkTensors() {
    bool workspaces = false;
    for (const TensorArgument &tensor : artifact.tensors) {
      checkArgumentName(tensor.name);
      require(tensor.alignment >= 1 &&
                  (tensor.access != Access::workspace || tensor.alignment <= int64_t(workspaceAlignment)),
              "tensor '{}' has the alignment {}", tensor.name, tensor.alignment);
      if (tensor.access == Access::workspace) {
        workspaces = true;
        require(tensor.shape.empty(), "workspace '{}' has the shape of an argument", tensor.name);
        for (const HostExpr &extent : tensor.workspaceShape)
          require(wellFormed(extent), "an extent of workspace '{}' is malformed", tensor.name);
        continue;
      }
      require(!workspaces, "tensor '{}' comes after a workspace", tensor.name);
      require(tensor.workspaceShape.empty(), "tensor '{}' has the shape of a workspace", tensor.name);
      require(!tensor.contiguous || !tensor.strided, "tensor '{}' is contiguous and has any innermost stride",
              tensor.name);
      require(!tensor.zeroFill || tensor.access == Access::output,
              "tensor '{}' is filled with zeros, but it is no output", tensor.name);
      for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
        const Extent &extent = tensor.shape[axis];
        require(extent.dimension >= -1 && extent.dimension < int64_t(artifact.dimensions.size()),
                "tensor '{}' axis {} names dimension {}, but there are {}", tensor.name, axis,
                extent.dimension, artifact.dimensions.size());
        require(extent.dimension >= 0 || (extent.constant >= 0 && extent.constant <= maxExtent),
                "tensor '{}' axis {} has the extent {}", tensor.name, axis, extent.constant);
      }
    }
  }

  void checkScalars() {
    for (const ScalarArgument &scalar : artifact.scalars)
      checkArgumentName(scalar.name);
  }

  void checkArgumentName(const std::string &name) {
    require(!name.empty() && argumentNames.insert(name).second, "the argument name '{}' is empty or taken",
            name);
  }

  void checkVariants() {
    require(!artifact.variants.empty(), "it has no variant");
    for (size_t i = 0; i < artifact.variants.size() && !failure; ++i) {
      const Variant &variant = artifact.variants[i];
      require((i + 1 == artifact.variants.size()) == variant.conditions.empty(),
              "variant '{}' is number {} of {}, but only the last has no conditions", variant.name, i + 1,
              artifact.variants.size());
      for (const AlignmentCondition &condition : variant.conditions) {
        require(hasTensor(condition.tensor), "a condition of variant '{}' names tensor {}, but there are {}",
                variant.name, condition.tensor, artifact.tensors.size());
        require(condition.bytes > 0 && std::has_single_bit(uint64_t(condition.bytes)),
                "a condition of variant '{}' asks for an alignment to {} bytes", variant.name,
                condition.bytes);
      }
      require(variant.launches.empty() || !variant.ptx.empty() || !variant.cubin.empty(),
              "variant '{}' has neither PTX nor machine code", variant.name);
      for (const Launch &launch : variant.launches)
        checkLaunch(launch);
      for (const ReportSite &site : variant.reports)
        checkReport(site);
      checkTransfers(variant);
    }
  }

  bool hasTensor(int64_t index) const { return index >= 0 && index < int64_t(artifact.tensors.size()); }

  void checkReport(const ReportSite &site) {
    require(site.values.size() == countPlaceholders(site.text) && site.values.size() <= maxReportValues,
            "the report at {} has {} values for '{}'", site.place, site.values.size(), site.text);
    for (ElementType value : site.values)
      require(isReportable(value), "the report at {} has a value of {}", site.place, toString(value));
    require(site.axes <= maxReportAxes, "the report at {} has {} axes", site.place, site.axes);
  }

  void checkTransfers(const Variant &variant) {
    int64_t after = 0;
    for (const Transfer &transfer : variant.transfers) {
      require(!transfer.name.empty(), "a transfer has no name");
      require(
          transfer.after >= after && transfer.until >= transfer.after &&
              transfer.until <= int64_t(variant.launches.size()),
          "transfer '{}' begins after {} launches and ends after {}, but expected numbers from {} to {} in "
          "ascending order",
          transfer.name, transfer.after, transfer.until, after, variant.launches.size());
      after = transfer.after;
      require(wellFormed(transfer.rounds), "the number of rounds of transfer '{}' is malformed",
              transfer.name);
      require(!transfer.copies.empty(), "transfer '{}' has no copy", transfer.name);
      require(transfer.sets || transfer.until == transfer.after,
              "launches run beside transfer '{}', which sets no count", transfer.name);
      for (const TransferCopy &copy : transfer.copies)
        checkTransferCopy(transfer, copy);
      if (transfer.sets && !failure)
        checkSignal(transfer, *transfer.sets);
      if (failure)
        return;
    }
  }

  /// Whether the place is one of a tensor.
  void checkPlace(const Transfer &transfer, const TensorPlace &place) {
    require(hasTensor(place.tensor), "transfer '{}' names tensor {}, but there are {}", transfer.name,
            place.tensor, artifact.tensors.size());
    if (failure)
      return;
    const TensorArgument &tensor = artifact.tensors[size_t(place.tensor)];
    require(place.position.size() == rankOf(tensor),
            "transfer '{}' names a place of {} axes in '{}', which has {}", transfer.name,
            place.position.size(), tensor.name, rankOf(tensor));
    require(place.rank.has_value() == tensor.symmetric,
            "transfer '{}' says {} rank's tensor '{}' is, which is {}symmetric", transfer.name,
            place.rank ? "which" : "no", tensor.name, tensor.symmetric ? "" : "not ");
    require(!place.rank || wellFormed(*place.rank, 1), "a rank of transfer '{}' is malformed", transfer.name);
    for (const HostExpr &position : place.position)
      require(wellFormed(position, 1), "a position of transfer '{}' is malformed", transfer.name);
  }

  void checkTransferCopy(const Transfer &transfer, const TransferCopy &copy) {
    checkPlace(transfer, copy.from);
    if (!failure)
      checkPlace(transfer, copy.to);
    if (failure)
      return;
    const TensorArgument &from = artifact.tensors[size_t(copy.from.tensor)],
                         &to = artifact.tensors[size_t(copy.to.tensor)];
    const size_t axes = copy.extents.size();
    require(
        axes >= 1 && axes <= maxTransferAxes && axes <= rankOf(from) && axes <= rankOf(to),
        "transfer '{}' copies a box of {} axes from '{}' to '{}', but expected at most as many as both have, "
        "and 1 to {}",
        transfer.name, axes, from.name, to.name, maxTransferAxes);
    require(from.element == to.element && elementsPerUnit(from.element) == 1,
            "transfer '{}' copies from {} to {}, but expected one type of whole bytes", transfer.name,
            toString(from.element), toString(to.element));
    require(!from.strided && !to.strided, "transfer '{}' copies a tensor whose innermost stride may be any",
            transfer.name);
    require(to.access != Access::input, "transfer '{}' writes '{}', which is an input", transfer.name,
            to.name);
    for (const HostExpr &extent : copy.extents)
      require(wellFormed(extent, 1), "an extent of transfer '{}' is malformed", transfer.name);
  }

  void checkSignal(const Transfer &transfer, const TransferSignal &sets) {
    checkPlace(transfer, sets.count);
    require(wellFormed(sets.value, 1), "the value that transfer '{}' sets is malformed", transfer.name);
    if (failure)
      return;
    const TensorArgument &count = artifact.tensors[size_t(sets.count.tensor)];
    require(count.symmetric && count.access == Access::workspace && count.zeroFill &&
                count.element == ElementType::i32,
            "transfer '{}' sets '{}', but expected a symmetric workspace of i32 that begins as zeros",
            transfer.name, count.name);
  }

  void checkLaunch(const Launch &launch) {
    require(!launch.entry.empty(), "a launch has no entry");
    for (const HostExpr &extent : launch.grid)
      require(wellFormed(extent), "the grid of '{}' is malformed", launch.entry);
    require(launch.threads >= 1 && launch.threads <= target->maxThreadsPerBlock,
            "'{}' has {} threads per block, but {} allows 1 to {}", launch.entry, launch.threads,
            target->name, target->maxThreadsPerBlock);
    if (failure)
      return;
    require(launch.threadsY >= 1 && launch.threadsY <= launch.threads && launch.threadsZ >= 1 &&
                launch.threadsZ <= target->maxBlockZ &&
                launch.threads % (launch.threadsY * launch.threadsZ) == 0,
            "'{}' has {} threads per block, but {} along y and {} along z, of which {} allows {}",
            launch.entry, launch.threads, launch.threadsY, launch.threadsZ, target->name, target->maxBlockZ);
    if (failure)
      return;
    uint64_t blocks = 1;
    for (unsigned extent : launch.cluster)
      blocks = std::min<uint64_t>(blocks * extent, UINT32_MAX);
    require(blocks >= 1 && blocks <= target->maxClusterSize,
            "'{}' has clusters of {} x {} x {} blocks, but {} allows 1 to {} blocks", launch.entry,
            launch.cluster[0], launch.cluster[1], launch.cluster[2], target->name, target->maxClusterSize);
    require(launch.sharedBytes <= target->sharedBytesPerBlock,
            "'{}' needs {} bytes of shared memory, but {} has {} per block", launch.entry, launch.sharedBytes,
            target->name, target->sharedBytesPerBlock);
    for (const TensorMapRecipe &map : launch.tensorMaps)
      checkTensorMap(launch, map);
    checkParameters(launch);
    checkNames(launch);
  }

  void checkNames(const Launch &launch) {
    const uint64_t warps = ceilDiv(launch.threads, lanesPerWarp);
    uint64_t first = 0;
    for (const WarpRole &role : launch.names.roles) {
      require(role.firstWarp >= first && role.warps >= 1 && uint64_t(role.firstWarp) + role.warps <= warps,
              "role '{}' of '{}' has {} warps from {}, but expected some from {} below {}", role.name,
              launch.entry, role.warps, role.firstWarp, first, warps);
      first = uint64_t(role.firstWarp) + role.warps;
    }
    for (const SharedObject &object : launch.names.shared) {
      // The last slot may be shorter than the distance between slots.
      const uint64_t lastSlot = object.offset + (uint64_t(object.slots) - 1) * object.slotBytes;
      require(object.slots >= 1 && object.slotBytes >= 1 && lastSlot < launch.sharedBytes,
              "'{}' in shared memory of '{}' has {} slots of {} bytes from {}, but there are {} bytes",
              object.name, launch.entry, object.slots, object.slotBytes, object.offset, launch.sharedBytes);
    }
  }

  void checkTensorMap(const Launch &launch, const TensorMapRecipe &map) {
    const TmaFacts &tma = target->tma;
    require(tma.available, "'{}' uses a tensor map, but {} has no TMA", launch.entry, target->name);
    require(hasTensor(map.tensor), "a tensor map of '{}' names tensor {}, but there are {}", launch.entry,
            map.tensor, artifact.tensors.size());
    if (failure)
      return;
    const TensorArgument &tensor = artifact.tensors[map.tensor];
    require(!tensor.strided, "'{}' uses a tensor map of '{}', whose innermost stride may be any",
            launch.entry, tensor.name);
    size_t rank = rankOf(tensor);
    size_t limit = tma.maxRank - (map.limitedAxis >= 0 ? 1 : 0);
    require(map.box.size() == rank && rank >= 1 && rank <= limit,
            "the tensor map of '{}' in '{}' has a box of rank {}, but the tensor's rank is {} and the limit "
            "is {}",
            tensor.name, launch.entry, map.box.size(), rank, limit);
    require(map.limitedAxis >= -1 && map.limitedAxis < int64_t(rank) - 1,
            "the tensor map of '{}' in '{}' has limited axis {}, but expected one of the tensor's {} other "
            "than the innermost, or -1",
            tensor.name, launch.entry, map.limitedAxis, rank);
    if (failure)
      return;
    int64_t mostBefore = map.limitedAxis < 0 ? 0 : map.box[map.limitedAxis];
    require(map.before >= 0 && map.before <= mostBefore,
            "the tensor map of '{}' in '{}' begins {} rows before the tensor, but expected 0 to {}",
            tensor.name, launch.entry, map.before, mostBefore);
    if (map.window)
      checkWindow(launch, map, tensor);
    if (failure)
      return;
    for (int64_t extent : map.box)
      require(extent >= 1 && extent <= tma.maxBoxExtent,
              "the tensor map of '{}' in '{}' has a box extent of {}, but expected 1 to {}", tensor.name,
              launch.entry, extent, tma.maxBoxExtent);
    if (failure)
      return;
    int64_t innerBytes = bytesOf(tensor.element, map.box.back() * elementsPerUnit(tensor.element));
    require(innerBytes % tma.innerBoxGranularity == 0,
            "the tensor map of '{}' in '{}' has an innermost box extent of {} bytes, but expected a multiple "
            "of {}",
            tensor.name, launch.entry, innerBytes, tma.innerBoxGranularity);
    require(
        map.swizzle == Swizzle::none || innerBytes <= swizzleSpan(map.swizzle),
        "the tensor map of '{}' in '{}' has an innermost box extent of {} bytes, but its swizzle spans {}",
        tensor.name, launch.entry, innerBytes, swizzleSpan(map.swizzle));
  }

  /// What a map in im2col mode can say.
  void checkWindow(const Launch &launch, const TensorMapRecipe &map, const TensorArgument &tensor) {
    const TensorWindow &window = *map.window;
    const TmaFacts &tma = target->tma;
    const size_t rank = map.box.size(), axes = rank - 2;
    require(
        rank >= tma.minIm2colRank && map.limitedAxis < 0,
        "the tensor map of '{}' in '{}' has a window, rank {} and limited axis {}, but expected a rank of "
        "at least {} and no limited axis",
        tensor.name, launch.entry, rank, map.limitedAxis, tma.minIm2colRank);
    if (failure)
      return;
    for (const std::vector<int64_t> *numbers :
         {&window.taps, &window.strides, &window.dilations, &window.before, &window.after})
      require(numbers->size() == axes,
              "the window of '{}' in '{}' has {} numbers of a kind, but the tensor has {} inner axes",
              tensor.name, launch.entry, numbers->size(), axes);
    if (failure)
      return;
    const int64_t reach = TmaFacts::im2colReach(rank);
    for (size_t axis = 0; axis < axes && !failure; ++axis) {
      const int64_t taps = window.taps[axis], dilation = window.dilations[axis],
                    stride = window.strides[axis];
      require(
          taps >= 1 && dilation >= 1 && taps <= maxWindowReach && dilation <= maxWindowReach && stride >= 1 &&
              stride <= int64_t(tma.maxElementStride) && map.box[axis + 1] == 1,
          "the window of '{}' in '{}' has {} taps {} apart, stride {} and boxes of {} taps along axis {}, "
          "but expected at least 1, a stride of 1 to {} and boxes of one tap",
          tensor.name, launch.entry, taps, dilation, stride, map.box[axis + 1], axis + 1,
          tma.maxElementStride);
      const auto isNear = [](int64_t distance) {
        return distance >= -maxWindowReach && distance <= maxWindowReach;
      };
      require(
          isNear(window.before[axis]) && isNear(window.after[axis]),
          "the window of '{}' in '{}' begins {} before and ends {} beyond axis {}, but expected {} at most",
          tensor.name, launch.entry, window.before[axis], window.after[axis], axis + 1, maxWindowReach);
      if (failure)
        return;
      const int64_t lower = window.lowerCorner(axis), upper = window.upperCorner(axis);
      require(
          lower >= -reach && lower < reach && upper >= -reach && upper < reach &&
              window.span(axis) <= 2 * reach,
          "the window of '{}' in '{}' has corners {} and {} and a span of {} along axis {}, but expected {} "
          "to {} and at most {}",
          tensor.name, launch.entry, lower, upper, window.span(axis), axis + 1, -reach, reach - 1, 2 * reach);
    }
  }

  /// Bytes of a row that a swizzle permutes.
  static int64_t swizzleSpan(Swizzle swizzle) { return int64_t(16) << int64_t(swizzle); }

  void checkParameters(const Launch &launch) {
    size_t bytes = 0;
    for (size_t i = 0; i < launch.parameters.size(); ++i) {
      const KernelParameter &parameter = launch.parameters[i];
      size_t limit = limitOf(launch, parameter.kind);
      require(parameter.index >= 0 && parameter.index < int64_t(limit),
              "parameter {} of '{}' has index {}, but there are {}", i, launch.entry, parameter.index, limit);
      if (failure)
        return;
      const bool isInteger = parameter.kind == KernelParameter::Kind::tensorStride ||
                             parameter.kind == KernelParameter::Kind::dimension;
      require(parameter.bytes == 0 || (isInteger && (parameter.bytes == 4 || parameter.bytes == 8)),
              "parameter {} of '{}' has {} bytes, but expected 4 or 8, of a stride or dimension", i,
              launch.entry, parameter.bytes);
      if (failure)
        return;
      if (parameter.kind == KernelParameter::Kind::tensorStride) {
        size_t rank = rankOf(artifact.tensors[parameter.index]);
        require(parameter.axis >= 0 && parameter.axis < int64_t(rank),
                "parameter {} of '{}' is a stride of axis {}, but '{}' has rank {}", i, launch.entry,
                parameter.axis, artifact.tensors[parameter.index].name, rank);
      }
      if (std::optional<int64_t> tensor = tensorOf(launch, parameter))
        require(artifact.tensors[size_t(*tensor)].symmetric == isOfRanks(parameter.kind),
                "parameter {} of '{}' is {} of '{}', which is {}symmetric", i, launch.entry,
                describe(parameter.kind), artifact.tensors[size_t(*tensor)].name,
                artifact.tensors[size_t(*tensor)].symmetric ? "" : "not ");
      size_t alignment = parameterAlignment(artifact, parameter);
      bytes = alignTo(bytes, alignment) + parameterBytes(artifact, parameter);
    }
    require(bytes <= target->maxParameterBytes, "the parameters of '{}' take {} bytes, but {} allows {}",
            launch.entry, bytes, target->name, target->maxParameterBytes);
  }

  static bool isOfRanks(KernelParameter::Kind kind) {
    return kind == KernelParameter::Kind::tensorPointers || kind == KernelParameter::Kind::tensorMaps ||
           kind == KernelParameter::Kind::multicastPointer;
  }
  static std::string_view describe(KernelParameter::Kind kind) {
    if (kind == KernelParameter::Kind::multicastPointer)
      return "a multicast address";
    return isOfRanks(kind) ? "a table" : "one address";
  }

  /// The tensor whose address, or addresses, the parameter has.
  static std::optional<int64_t> tensorOf(const Launch &launch, const KernelParameter &parameter) {
    switch (parameter.kind) {
    case KernelParameter::Kind::tensorPointer:
    case KernelParameter::Kind::tensorPointers:
    case KernelParameter::Kind::multicastPointer:
      return parameter.index;
    case KernelParameter::Kind::tensorMap:
    case KernelParameter::Kind::tensorMaps:
      return launch.tensorMaps[size_t(parameter.index)].tensor;
    default:
      return std::nullopt;
    }
  }

  size_t limitOf(const Launch &launch, KernelParameter::Kind kind) const {
    switch (kind) {
    case KernelParameter::Kind::tensorPointer:
    case KernelParameter::Kind::tensorPointers:
    case KernelParameter::Kind::multicastPointer:
    case KernelParameter::Kind::tensorStride:
      return artifact.tensors.size();
    case KernelParameter::Kind::dimension:
      return artifact.dimensions.size();
    case KernelParameter::Kind::scalar:
      return artifact.scalars.size();
    case KernelParameter::Kind::tensorMap:
    case KernelParameter::Kind::tensorMaps:
      return launch.tensorMaps.size();
    }
    return 0;
  }

  const Artifact &artifact;
  const Target *target;
  std::set<std::string> argumentNames;
  std::optional<std::string> failure;
};

} // namespace

Result<void> tlc::verify(const Artifact &artifact) { return Verifier(artifact).run(); }
