// SPDX-License-Identifier: Apache-2.0
/// \file
/// The C interface over the cache of programs and the CUDA device.
#include "tools/libtlc/Calls.h"

#include "runtime/cache/SharedValues.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/CudaPeers.h"
#include "runtime/device/LaunchRanks.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/WaitLimit.h"
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

/// An address on each of so many ranks.
Result<SymmetricMemory> memoryOf(void *const *addresses, int64_t ranks, size_t bytes) {
  if (!addresses)
    return invalid(fmt::format("expected addresses on {} ranks, but got a null pointer", ranks));
  return SymmetricMemory{{addresses, addresses + ranks}, bytes};
}

Error noHandle() {
  return invalid("expected a handle and room for what is asked for, but got a null pointer");
}

MemoryHandle handleOf(const tlc_memory_handle &given) {
  MemoryHandle handle{.offset = given.offset};
  std::memcpy(handle.allocation.data(), given.allocation, sizeof(given.allocation));
  return handle;
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

Result<std::unique_ptr<tlc_program>> calls::compile(const char *kernel, const char *const *names,
                                                    const char *const *values, int count,
                                                    const tlc_compile_options *given) {
  if (!kernel)
    return invalid("expected the name of a kernel, but got a null pointer");
  constexpr size_t version6 = offsetof(tlc_compile_options, device);
  static_assert(version6 == 2 * sizeof(void *) + sizeof(double));
  Result<tlc_compile_options> asked = todays(given, version6);
  if (!asked)
    return asked.error();
  Result<CompileOptions> options = optionsOf(*asked);
  if (!options)
    return options.error();
  Result<kernels::Definitions> definitions = definitionsOf(names, values, count);
  if (!definitions)
    return definitions.error();
  ProgramRequest request = {
      .file = asked->file, .kernel = kernel, .given = *definitions, .options = *options};
  Result<Home> home = homeOf(*asked);
  if (!home) {
    if (compiler()) // which tells what is wrong on any device
      if (Result<void> valid = ask(&Compiler::check, request); !valid)
        return valid.error();
    return home.error();
  }
  if (!asked->target)
    request.options.target = home->device->properties().target;
  request.code = home->device->properties().code;
  const std::shared_ptr<const kernels::Tuning> tuned = calls::tuning();
  request.tuning = tuned.get();
  request.device = home->device->properties();
  const SharedCache programs = calls::cache();
  const ProgramName name = {kernel, *definitions, request.options.target, request.options.waitLimit};
  std::optional<ProgramCache::Named> found;
  // Those of files, and by tuning, are known by what the compiler knows.
  if (!request.file && !tuned)
    found = programs->find(name, request.code);
  if (!found) {
    Result<const Compiler *> opened = compiler();
    if (opened) {
      Result<ProgramCache::Named> compiled = ask(&Compiler::compile, programs, request);
      if (!compiled)
        return compiled.error();
      found = std::move(*compiled);
    } else if (!request.file && !tuned) { // machine code cannot be added
      found = programs->find(name, ProgramCode::ptx);
    }
    if (!found)
      return Error{opened.error().kind,
                   formatMessage("the cache does not have '{}', and there is no compiler: ", name.text()) +
                       opened.error().message};
  }
  KeyBuilder key;
  key.add(int64_t(found->key.hash.high)).add(int64_t(found->key.hash.low)).add(home->kind).add(home->number);
  static SharedValues<Loaded> shared;
  Result<std::shared_ptr<Loaded>> loaded =
      shared.getOrMake(key.finish(), [&]() -> Result<std::shared_ptr<Loaded>> {
        Result<std::shared_ptr<const LoadedProgram>> program = programs->load(*home->device, *found->program);
        if (!program)
          return program.error();
        return std::make_shared<Loaded>(home->device, std::move(*program));
      });
  if (!loaded)
    return loaded.error();
  return std::make_unique<tlc_program>(*loaded);
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

Result<void> calls::synchronize(tlc_group *group, void *stream, double seconds) {
  if (!group)
    return calls::noGroup();
  using Limit = std::optional<std::chrono::duration<double>>;
  return group->group->synchronize({stream}, seconds < 0 ? std::nullopt : Limit(seconds));
}
