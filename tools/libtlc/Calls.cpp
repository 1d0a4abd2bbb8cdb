// SPDX-License-Identifier: Apache-2.0
/// \file
/// The C interface over the library of kernels and the CUDA device.
#include "tools/libtlc/Calls.h"

#include "compiler/pipeline/WaitLimit.h"
#include "kernels/library/Library.h"
#include "runtime/cache/SharedValues.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaPeers.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/device/LaunchRanks.h"
#include "runtime/device/TensorGeometry.h"
#include "runtime/support/Excerpt.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Target.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

// The numbers of both are one.
#define TLC_ELEMENT_TYPE(name, C, ...) static_assert(TLC_##C == int(ElementType::name));
#include "runtime/support/ElementTypes.def"

Result<ElementType> elementOf(int32_t element) {
  if (element < 0 || element >= static_cast<int32_t>(allElementTypes.size()))
    return invalid(
        fmt::format("expected a tlc_element from 0 to {}, but got {}", allElementTypes.size() - 1, element));
  return static_cast<ElementType>(element);
}

/// Which of how many launches of a program this is.
struct Place {
  int64_t rank = 0, ranks = 1;
};

/// What a launch of one rank needs; symmetric tensors have no addresses of other ranks yet.
Result<LaunchArguments> argumentsOf(const tlc_program *program, const tlc_tensor *tensors, int tensorCount,
                                    const tlc_scalar *scalars, int scalarCount, void *const *workspaces,
                                    int workspaceCount, Place place) {
  if (!program)
    return invalid("expected a program, but got a null pointer");
  if (scalarCount < 0 || (scalarCount > 0 && !scalars))
    return invalid("expected an array of scalars, but got a null pointer or a negative number");
  if (workspaceCount < 0 || (workspaceCount > 0 && !workspaces))
    return invalid("expected an array of workspaces, but got a null pointer or a negative number");
  Result<std::vector<TensorView>> views = calls::viewsOf(tensors, tensorCount);
  if (!views)
    return views.error();
  LaunchArguments arguments{std::move(*views), {}, place.rank, place.ranks};
  for (const tlc_scalar &scalar : std::span(scalars, static_cast<size_t>(scalarCount))) {
    Result<ElementType> element = elementOf(scalar.element);
    if (!element)
      return invalid(fmt::format("scalar {}: {}", arguments.scalars.size(), element.error().message));
    arguments.scalars.push_back({*element, scalar.bits});
  }
  Result<std::vector<WorkspaceRequest>> requests = workspacesOf(
      program->loaded->artifact(), arguments.tensors, program->device->properties(), place.rank, place.ranks);
  if (!requests)
    return requests.error();
  const Artifact &artifact = program->loaded->artifact();
  for (size_t i = 0; i != arguments.tensors.size(); ++i)
    if (Result<void> valid = checkMemory(artifact.tensors[i], arguments.tensors[i]); !valid)
      return valid.error();
  if (Result<void> apart = checkWrittenApart(artifact, arguments.tensors, artifact.name); !apart)
    return apart.error();
  if (requests->size() != static_cast<size_t>(workspaceCount))
    return invalid(fmt::format("expected {} workspaces for '{}', but got {}; {} tells their sizes",
                               requests->size(), program->loaded->artifact().name, workspaceCount,
                               place.ranks == 1 ? "tlc_workspace" : "tlc_rank_workspace"));
  for (size_t i = 0; i != requests->size(); ++i)
    arguments.tensors.push_back((*requests)[i].view(workspaces[i]));
  return arguments;
}

/// An address on each of so many ranks.
Result<SymmetricMemory> memoryOf(void *const *addresses, int64_t ranks, size_t bytes) {
  if (!addresses)
    return invalid(fmt::format("expected addresses on {} ranks, but got a null pointer", ranks));
  return SymmetricMemory{{addresses, addresses + ranks}, bytes};
}

Error noBound() { return invalid("expected a bound launch, but got a null pointer"); }

Error noHandle() {
  return invalid("expected a handle and room for what is asked for, but got a null pointer");
}

MemoryHandle handleOf(const tlc_memory_handle &given) {
  MemoryHandle handle{.offset = given.offset};
  std::memcpy(handle.allocation.data(), given.allocation, sizeof(given.allocation));
  return handle;
}

/// The options as this version has them, 0 where an older one has none.
Result<tlc_compile_options> todays(const tlc_compile_options *given) {
  if (!given)
    return invalid("expected options, but got a null pointer");
  constexpr size_t version6 = offsetof(tlc_compile_options, device);
  static_assert(version6 == 2 * sizeof(void *) + sizeof(double));
  if (given->size != version6 && given->size != sizeof(*given))
    return invalid(fmt::format(
        "expected options of {} bytes, as version {} of the interface has them, or of {}, but got {}",
        sizeof(*given), TLC_INTERFACE_VERSION, version6, given->size));
  tlc_compile_options options = {};
  std::memcpy(&options, given, given->size);
  return options;
}

/// With the usual target where none is given.
Result<CompileOptions> optionsOf(const tlc_compile_options &given) {
  CompileOptions options;
  if (given.wait_limit != 0) {
    Result<std::chrono::nanoseconds> limit = waitLimitOf(given.wait_limit, "wait_limit");
    if (!limit)
      return limit.error();
    options.waitLimit = *limit;
  }
  Result<std::string> target = calls::targetOf(given.target);
  if (!target)
    return target.error();
  options.target = *target;
  return options;
}

/// Where a program is loaded; programs of one home share what is.
struct Home {
  std::shared_ptr<Device> device;
  std::string_view kind;
  int64_t number = 0;
};

/// The device that is given, or the current GPU.
Result<Home> homeOf(const tlc_compile_options &given) {
  Result<std::shared_ptr<Device>> device = calls::deviceOr(given.device);
  if (!device)
    return device.error();
  return given.device ? Home{*device, "device", given.device->number}
                      : Home{*device, "current", (*device)->properties().ordinal};
}

Result<kernels::Definitions> definitionsOf(const char *const *names, const char *const *values, int count) {
  kernels::Definitions definitions;
  if (count < 0 || (count > 0 && (!names || !values)))
    return invalid(fmt::format("expected names and values of {} parameters, but got a {}", count,
                               count < 0 ? "negative number" : "null pointer"));
  for (int i = 0; i != count; ++i) {
    if (!names[i] || !values[i])
      return invalid(fmt::format("parameter {}: expected a name and a value, but got a null pointer", i));
    if (!definitions.try_emplace(names[i], values[i]).second)
      return invalid(fmt::format("expected each parameter once, but '{}' is given twice", excerpt(names[i])));
  }
  return definitions;
}

} // namespace

Result<std::string> calls::targetOf(const char *name) {
  if (!name)
    return CompileOptions().target;
  if (findTarget(name))
    return std::string(name);
  std::string known;
  for (const Target &row : allTargets())
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  return invalid(fmt::format("expected a target among {}, but got '{}'", known, excerpt(name)));
}

Result<std::vector<TensorView>> calls::viewsOf(const tlc_tensor *tensors, int count) {
  constexpr int32_t mostAxes = TLC_MOST_AXES;
  if (count < 0 || (count > 0 && !tensors))
    return invalid(fmt::format("expected {} tensors, but got {}",
                               count < 0 ? "no negative number of" : "an array of",
                               count < 0 ? std::to_string(count) : "a null pointer"));
  std::vector<TensorView> views;
  for (const tlc_tensor &tensor : std::span(tensors, static_cast<size_t>(count))) {
    Result<ElementType> element = elementOf(tensor.element);
    if (!element)
      return invalid(fmt::format("tensor {}: {}", views.size(), element.error().message));
    if (tensor.rank < 0 || tensor.rank > mostAxes)
      return invalid(fmt::format("tensor {}: expected a rank from 0 to {}, but got {}", views.size(),
                                 mostAxes, tensor.rank));
    if (tensor.rank > 0 && (!tensor.shape || !tensor.strides))
      return invalid(
          fmt::format("tensor {}: expected shape and strides, but got a null pointer", views.size()));
    views.push_back({tensor.data,
                     *element,
                     {tensor.shape, tensor.shape + tensor.rank},
                     {tensor.strides, tensor.strides + tensor.rank}});
  }
  return views;
}

Result<std::unique_ptr<tlc_program>> calls::compile(const char *kernel, const char *const *names,
                                                    const char *const *values, int count,
                                                    const tlc_compile_options *given) {
  if (!kernel)
    return invalid("expected the name of a kernel, but got a null pointer");
  Result<tlc_compile_options> asked = todays(given);
  if (!asked)
    return asked.error();
  Result<CompileOptions> options = optionsOf(*asked);
  if (!options)
    return options.error();
  Result<kernels::Definitions> definitions = definitionsOf(names, values, count);
  if (!definitions)
    return definitions.error();
  Result<const kernels::Kernel *> found = findKernel(asked->file, kernel);
  if (!found)
    return found.error();
  Result<kernels::Request> request = kernels::Request::parse(**found, *definitions);
  if (!request)
    return request.error();
  Result<Home> home = homeOf(*asked);
  if (!home)
    return home.error();
  if (!asked->target)
    options->target = home->device->properties().target;
  const std::shared_ptr<kernels::Library> library = calls::library();
  kernels::CompileLog log;
  Result<std::shared_ptr<const Artifact>> artifact = library->compile(*request, *options, log);
  if (!artifact)
    return artifact.error();
  KeyBuilder key = kernels::Library::keyOf(*request, *options);
  key.add(home->kind).add(home->number);
  static SharedValues<Loaded> shared;
  Result<std::shared_ptr<Loaded>> loaded =
      shared.getOrMake(key.finish(), [&]() -> Result<std::shared_ptr<Loaded>> {
        Result<std::shared_ptr<const LoadedProgram>> program =
            library->cache().load(*home->device, **artifact);
        if (!program)
          return program.error();
        return std::make_shared<Loaded>(home->device, std::move(*program));
      });
  if (!loaded)
    return loaded.error();
  return std::make_unique<tlc_program>(*loaded);
}

Result<int> calls::workspace(const tlc_program *program, int rank, int ranks, const tlc_tensor *tensors,
                             int tensorCount, size_t *sizes, int capacity) {
  if (!program)
    return invalid("expected a program, but got a null pointer");
  if (Result<void> valid = checkRank(rank, ranks); !valid)
    return valid.error();
  if (capacity < 0 || (capacity > 0 && !sizes))
    return invalid("expected room for sizes, but got a null pointer or a negative capacity");
  Result<std::vector<TensorView>> views = calls::viewsOf(tensors, tensorCount);
  if (!views)
    return views.error();
  Result<std::vector<WorkspaceRequest>> requests =
      workspacesOf(program->loaded->artifact(), *views, program->device->properties(), rank, ranks);
  if (!requests)
    return requests.error();
  for (size_t i = 0; i != requests->size() && i != static_cast<size_t>(capacity); ++i)
    sizes[i] = (*requests)[i].bytes;
  return static_cast<int>(requests->size());
}

Result<void> calls::launch(const tlc_program *program, const tlc_tensor *tensors, int tensorCount,
                           const tlc_scalar *scalars, int scalarCount, void *const *workspaces,
                           int workspaceCount, void *stream) {
  Result<LaunchArguments> arguments =
      argumentsOf(program, tensors, tensorCount, scalars, scalarCount, workspaces, workspaceCount, {});
  if (!arguments)
    return arguments.error();
  return program->device->launch(*program->loaded, *arguments, {stream});
}

Result<std::unique_ptr<tlc_bound>> calls::bind(const tlc_program *program, const tlc_tensor *tensors,
                                               int tensorCount, const tlc_scalar *scalars, int scalarCount,
                                               void *const *workspaces, int workspaceCount) {
  Result<LaunchArguments> arguments =
      argumentsOf(program, tensors, tensorCount, scalars, scalarCount, workspaces, workspaceCount, {});
  if (!arguments)
    return arguments.error();
  Result<std::unique_ptr<PreparedLaunch>> prepared = program->device->prepare(*program->loaded, *arguments);
  if (!prepared)
    return prepared.error();
  arguments->tensors.resize(static_cast<size_t>(tensorCount));
  return std::make_unique<tlc_bound>(program->device, program->loaded, std::move(arguments->tensors),
                                     std::move(*prepared));
}

Result<void> calls::setAddress(tlc_bound *bound, int tensor, void *address) {
  if (!bound)
    return noBound();
  const Artifact &artifact = bound->loaded->artifact();
  if (tensor < 0)
    return invalid(fmt::format("expected the number of a tensor, but got {}", tensor));
  const auto index = static_cast<size_t>(tensor);
  if (index >= bound->tensors.size())
    return bound->launch->setAddress(index, address);
  TensorView &view = bound->tensors[index];
  void *const before = std::exchange(view.data, address);
  auto move = [&]() -> Result<void> {
    if (Result<void> valid = checkMemory(artifact.tensors[index], view); !valid)
      return valid;
    if (Result<void> apart = checkWrittenApart(artifact, bound->tensors, artifact.name); !apart)
      return apart;
    return bound->launch->setAddress(index, address);
  };
  Result<void> moved = move();
  if (!moved)
    view.data = before;
  return moved;
}

Result<void> calls::launch(tlc_bound *bound, void *stream) {
  if (!bound)
    return noBound();
  return bound->launch->enqueue({stream});
}

Result<void> calls::connect(tlc_program *const *programs, int count) {
  if (count < 0 || (count > 0 && !programs))
    return invalid("expected an array of programs, but got a null pointer or a negative number");
  std::vector<Device *> devices;
  for (tlc_program *program : std::span(programs, static_cast<size_t>(count))) {
    if (!program)
      return invalid(fmt::format("rank {}: expected a program, but got a null pointer", devices.size()));
    devices.push_back(program->device.get());
  }
  return tlc::connect(devices);
}

Result<void> calls::launchRanks(const tlc_rank *ranks, int count, int tensorCount, const tlc_scalar *scalars,
                                int scalarCount, int workspaceCount) {
  if (count < 1 || count > maxRanks || !ranks)
    return invalid(fmt::format("expected an array of 1 to {} ranks, but got {}", maxRanks,
                               ranks ? std::to_string(count) : "a null pointer"));
  std::vector<LaunchArguments> arguments;
  for (const tlc_rank &rank : std::span(ranks, static_cast<size_t>(count))) {
    auto number = static_cast<int64_t>(arguments.size());
    Result<LaunchArguments> own = argumentsOf(rank.program, rank.tensors, tensorCount, scalars, scalarCount,
                                              rank.workspaces, workspaceCount, {number, count});
    if (!own)
      return ofRank(arguments.size(), own.error());
    arguments.push_back(std::move(*own));
  }
  std::vector<RankLaunch> launches;
  for (size_t rank = 0; rank != arguments.size(); ++rank) {
    const Artifact &artifact = ranks[rank].program->loaded->artifact();
    for (size_t i = 0; i != std::min(artifact.tensors.size(), arguments[rank].tensors.size()); ++i)
      if (artifact.tensors[i].symmetric)
        for (const LaunchArguments &other : arguments)
          if (i < other.tensors.size()) // another number of them is refused below
            arguments[rank].tensors[i].ofRanks.push_back(other.tensors[i].data);
    launches.push_back({ranks[rank].program->device.get(),
                        ranks[rank].program->loaded.get(),
                        &arguments[rank],
                        {ranks[rank].stream}});
  }
  return tlc::launchRanks(launches);
}

Result<int> calls::symmetricArguments(const tlc_program *program, int *symmetric, int capacity) {
  if (!program)
    return invalid("expected a program, but got a null pointer");
  if (capacity < 0 || (capacity > 0 && !symmetric))
    return invalid("expected room for numbers, but got a null pointer or a negative capacity");
  const std::vector<TensorArgument> &tensors = program->loaded->artifact().tensors;
  for (size_t i = 0; i != tensors.size() && i != static_cast<size_t>(capacity); ++i)
    symmetric[i] = tensors[i].symmetric;
  return static_cast<int>(tensors.size());
}

Result<void> calls::exportMemory(const void *address, tlc_memory_handle *handle) {
  if (!handle)
    return noHandle();
  Result<int> ordinal = currentCudaOrdinal();
  if (!ordinal)
    return ordinal.error();
  Result<MemoryHandle> found = tlc::exportMemory(*ordinal, address);
  if (!found)
    return found.error();
  static_assert(sizeof(handle->allocation) == sizeof(found->allocation));
  std::memcpy(handle->allocation, found->allocation.data(), sizeof(handle->allocation));
  handle->offset = found->offset;
  return {};
}

Result<void> calls::importMemory(const tlc_memory_handle *handle, void **address) {
  if (!handle || !address)
    return noHandle();
  Result<int> ordinal = currentCudaOrdinal();
  if (!ordinal)
    return ordinal.error();
  Result<void *> reached = tlc::importMemory(*ordinal, handleOf(*handle));
  if (!reached)
    return reached.error();
  *address = *reached;
  return {};
}

Result<void> calls::closeMemory(const tlc_memory_handle *handle, void *address) {
  if (!handle)
    return noHandle();
  Result<int> ordinal = currentCudaOrdinal();
  if (!ordinal)
    return ordinal.error();
  return tlc::closeMemory(*ordinal, handleOf(*handle), address);
}

Result<std::unique_ptr<tlc_group>> calls::createGroup(int rank, int ranks, void *const *flags, size_t bytes) {
  static_assert(RankGroup::flagBytes == TLC_GROUP_FLAG_BYTES);
  if (Result<void> valid = checkRank(rank, ranks); !valid)
    return valid.error();
  Result<SymmetricMemory> memory = memoryOf(flags, ranks, bytes);
  if (!memory)
    return memory.error();
  if (Result<void> valid = RankGroup::checkFlags(ranks, *memory); !valid)
    return valid.error();
  Result<int> ordinal = currentCudaOrdinal();
  if (!ordinal)
    return ordinal.error();
  Result<std::unique_ptr<StreamFlags>> streamFlags = createCudaFlags(*ordinal);
  if (!streamFlags)
    return streamFlags.error();
  Result<std::unique_ptr<RankGroup>> group =
      RankGroup::create(rank, ranks, std::move(*memory), std::move(*streamFlags));
  if (!group)
    return group.error();
  return std::make_unique<tlc_group>(rank, ranks, std::move(*group));
}

Result<void> calls::add(tlc_group *group, void *const *addresses, size_t bytes) {
  if (!group)
    return calls::noGroup();
  Result<SymmetricMemory> memory = memoryOf(addresses, group->ranks, bytes);
  if (!memory)
    return memory.error();
  return group->group->add(std::move(*memory));
}

Result<void> calls::remove(tlc_group *group, const void *address) {
  if (!group)
    return calls::noGroup();
  return group->group->remove(address);
}

Result<void> calls::launch(tlc_group *group, const tlc_program *program, const tlc_tensor *tensors,
                           int tensorCount, const tlc_scalar *scalars, int scalarCount,
                           void *const *workspaces, int workspaceCount, void *stream) {
  if (!group)
    return calls::noGroup();
  Result<LaunchArguments> arguments = argumentsOf(program, tensors, tensorCount, scalars, scalarCount,
                                                  workspaces, workspaceCount, {group->rank, group->ranks});
  if (!arguments)
    return ofRank(static_cast<size_t>(group->rank), arguments.error());
  return group->group->launch(*program->device, program->loaded, std::move(*arguments), {stream});
}

Result<void> calls::synchronize(tlc_group *group, void *stream, double seconds) {
  if (!group)
    return calls::noGroup();
  using Limit = std::optional<std::chrono::duration<double>>;
  return group->group->synchronize({stream}, seconds < 0 ? std::nullopt : Limit(seconds));
}
