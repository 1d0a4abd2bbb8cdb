// SPDX-License-Identifier: Apache-2.0
#include "tools/libtlc/ExchangeLaunch.h"

#include "runtime/device/TensorGeometry.h"
#include "runtime/support/Math.h"
#include "tools/libtlc/PythonApi.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

using namespace tlc;
using calls::Python, calls::WithoutLock;

namespace {

constexpr uintptr_t addressUnit = 16; ///< alignment of addresses by which programs are chosen
constexpr size_t scratchAlignment = 256;
constexpr int64_t mostKept = 1 << 16; ///< bytes; launches that need more take longer than an allocation does

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

bool isDense(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (strides[axis] != stride)
      return false;
    stride *= std::max<int64_t>(shape[axis], 1);
  }
  return true;
}

bool isOfType(const Python &python, void *object, const std::vector<void *> &types) {
  void *type = python.typeOf(object);
  const bool found = std::ranges::find(types, type) != types.end();
  python.release(type);
  return found;
}

} // namespace

bool tlc_exchange::Scratch::allocate(const dlpack::ExchangeApi &api, dlpack::Device device, int64_t bytes) {
  dlpack::Tensor prototype = {nullptr, device, 1, {.code = 1, .bits = 8, .lanes = 1}, &bytes, nullptr, 0};
  dlpack::ManagedTensor *made = nullptr;
  if (api.allocate(&prototype, &made, nullptr, [](void *, const char *, const char *) {}) != 0 || !made)
    return false;
  memory.reset(made);
  return true;
}

std::byte *tlc_exchange::Scratch::begin() const {
  return reinterpret_cast<std::byte *>(
      alignTo(reinterpret_cast<uintptr_t>(memory->tensor.address()), uintptr_t(scratchAlignment)));
}

bool tlc_exchange::Description::fits(const dlpack::Tensor &tensor) const {
  const size_t rank = shape.size();
  return tensor.dtype == dtype && tensor.ndim >= 0 && static_cast<size_t>(tensor.ndim) == rank &&
         reinterpret_cast<uintptr_t>(tensor.address()) % addressUnit == remainder &&
         std::equal(shape.begin(), shape.end(), tensor.shape) &&
         (tensor.strides ? std::equal(strides.begin(), strides.end(), tensor.strides)
                         : isDense(shape, strides));
}

bool tlc_exchange::read(void *object, dlpack::Tensor &tensor) const {
  return isOfType(*Python::find(), object, types) && api->describe(object, &tensor) == 0 &&
         tensor.device == device;
}

bool tlc_exchange::readAll(void *tuple, size_t first, size_t count, void **addresses) const {
  const Python &python = *Python::find();
  if (python.sizeOfTuple(tuple) != static_cast<ptrdiff_t>(count))
    return false;
  for (size_t i = 0; i != count; ++i) {
    void *object = python.itemOfTuple(tuple, static_cast<ptrdiff_t>(i));
    const Description &expected = objects[first + i];
    if (expected.isNone != (object == python.none))
      return false;
    if (expected.isNone)
      continue;
    dlpack::Tensor tensor = {};
    if (!read(object, tensor) || !expected.fits(tensor))
      return false;
    addresses[first + i] = tensor.address();
  }
  return true;
}

Result<bool> tlc_exchange::launch(void *given, void *made) const {
  Addresses read = {};
  if (!readGiven(given, read) || !readMade(made, read))
    return false;
  return launchOn(read);
}

Result<bool> tlc_exchange::launchOn(const Addresses &read) const {
  void *stream = nullptr;
  if (api->currentStream(device.type, device.id, &stream) != 0)
    return false;
  const bool keepsMemory = room != 0 && room <= mostKept && !isCaptured(stream);
  std::unique_ptr<Prepared> launch =
      prepared.take([&](const Prepared &one) { return !keepsMemory || one.stream == stream; });
  if (!launch)
    launch = std::make_unique<Prepared>();
  if (keepsMemory)
    launch->stream = stream;
  Result<bool> launched = launchAt(*launch, read, stream, keepsMemory);
  prepared.keep(std::move(launch));
  return launched;
}

Result<bool> tlc_exchange::launchAt(Prepared &launch, const Addresses &read, void *stream,
                                    bool keepsMemory) const {
  Scratch own;
  Scratch &scratch = keepsMemory ? launch.scratch : own;
  if (room != 0 && !scratch && !scratch.allocate(*api, device, room))
    return false;
  std::byte *const begin = scratch ? scratch.begin() : nullptr;
  std::array<void *, 2 * mostObjects> addresses;
  size_t count = 0;
  for (const Argument &argument : arguments)
    addresses[count++] =
        argument.object < 0 ? begin + argument.offset : read[static_cast<size_t>(argument.object)];
  for (size_t offset : workspaces)
    addresses[count++] = begin + offset;
  const WithoutLock unlocked(*Python::find());
  Result<void> launched = enqueueAt(launch.bound, std::span(addresses).first(count), stream);
  if (!launched)
    return launched.error();
  return true;
}

bool tlc_exchange::isCaptured(void *stream) const {
  const Result<bool> captured = program->device->isCaptured({stream});
  return !captured || *captured;
}

Result<void> tlc_exchange::enqueueAt(std::unique_ptr<tlc_bound> &launch, std::span<void *const> addresses,
                                     void *stream) const {
  if (launch && calls::setAddresses(*launch, 0, addresses))
    return launch->launch->enqueue({stream});
  std::vector<tlc_tensor> tensors;
  for (const Argument &argument : arguments)
    tensors.push_back({addresses[tensors.size()], argument.element,
                       static_cast<int32_t>(argument.shape.size()), argument.shape.data(),
                       argument.strides.data()});
  const auto tensorCount = static_cast<int>(tensors.size()), scalarCount = static_cast<int>(scalars.size()),
             workspaceCount = static_cast<int>(workspaces.size());
  void *const *const inScratch = addresses.data() + tensors.size();
  if (launch) // for the error of a first launch
    return calls::launch(program, tensors.data(), tensorCount, scalars.data(), scalarCount, inScratch,
                         workspaceCount, stream);
  Result<std::unique_ptr<tlc_bound>> bound = calls::bind(program, tensors.data(), tensorCount, scalars.data(),
                                                         scalarCount, inScratch, workspaceCount);
  if (!bound)
    return bound.error();
  launch = std::move(*bound);
  return launch->launch->enqueue({stream});
}

Result<void> tlc_exchange::describe(const tlc_exchange_options &options) {
  const Python &python = *Python::find();
  const ptrdiff_t typeCount = python.sizeOfTuple(options.types);
  for (ptrdiff_t i = 0; i < typeCount; ++i)
    types.push_back(python.itemOfTuple(options.types, i));
  for (void *tuple : {options.given, options.made}) {
    const ptrdiff_t count = python.sizeOfTuple(tuple);
    if (count < 0 || objects.size() + static_cast<size_t>(count) > mostObjects)
      return invalid(fmt::format("expected tuples of at most {} objects", mostObjects));
    for (ptrdiff_t i = 0; i < count; ++i) {
      Description &description = objects.emplace_back();
      void *object = python.itemOfTuple(tuple, i);
      description.isNone = object == python.none;
      if (description.isNone)
        continue;
      dlpack::Tensor tensor = {};
      if (!read(object, tensor) || tensor.ndim < 0 || tensor.ndim > TLC_MOST_AXES)
        return invalid(fmt::format("expected tensors on GPU {} of the given types, but object {} is none",
                                   device.id, objects.size() - 1));
      description.dtype = tensor.dtype;
      description.remainder = reinterpret_cast<uintptr_t>(tensor.address()) % addressUnit;
      description.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
      description.strides.resize(description.shape.size());
      if (tensor.strides) {
        std::ranges::copy_n(tensor.strides, tensor.ndim, description.strides.begin());
      } else {
        int64_t stride = 1;
        for (size_t axis = description.shape.size(); axis-- > 0;) {
          description.strides[axis] = stride;
          stride *= std::max<int64_t>(description.shape[axis], 1);
        }
      }
    }
    if (tuple == options.given)
      givenCount = objects.size();
  }
  return {};
}

Result<void> tlc_exchange::setTensors(const tlc_tensor *tensors, int count,
                                      const tlc_exchange_options &options) {
  Result<std::vector<TensorView>> views = calls::viewsOf(tensors, count);
  if (!views)
    return views.error();
  if (views->size() > mostObjects)
    return invalid(fmt::format("expected at most {} tensors, but got {}", mostObjects, views->size()));
  Addresses addresses = {};
  if (!readGiven(options.given, addresses) || !readMade(options.made, addresses))
    return invalid("expected objects that do not change meanwhile");
  for (size_t i = 0; i != views->size(); ++i) {
    const TensorView &view = (*views)[i];
    const int object = options.sources[i];
    if (object >= static_cast<int>(objects.size()) ||
        (object >= 0 && addresses[static_cast<size_t>(object)] != view.data))
      return invalid(fmt::format("tensor {}: expected the address of object {}", i, object));
    Argument &argument = arguments.emplace_back(
        Argument{static_cast<int32_t>(view.element), view.shape, view.strides, object});
    if (object >= 0)
      continue;
    const std::optional<int64_t> bytes = spanBytes(view);
    if (!bytes)
      return invalid(fmt::format("tensor {}: expected less than 2^63 bytes", i));
    argument.offset = static_cast<size_t>(room);
    room += alignTo(std::max<int64_t>(*bytes, 1), int64_t(scratchAlignment));
  }
  Result<std::vector<WorkspaceRequest>> requests =
      workspacesOf(program->loaded->artifact(), *views, program->device->properties(), 0, 1);
  if (!requests)
    return requests.error();
  if (requests->size() > mostObjects)
    return invalid(fmt::format("expected at most {} workspaces, but got {}", mostObjects, requests->size()));
  for (const WorkspaceRequest &request : *requests) {
    workspaces.push_back(static_cast<size_t>(room));
    room += alignTo(std::max<int64_t>(static_cast<int64_t>(request.bytes), 1), int64_t(scratchAlignment));
  }
  if (room != 0)
    room += scratchAlignment; // the library's memory may be aligned to less
  return {};
}

Result<std::unique_ptr<tlc_exchange>> tlc_exchange::create(const tlc_program *program,
                                                           const tlc_tensor *tensors, int tensorCount,
                                                           const tlc_scalar *scalars, int scalarCount,
                                                           const tlc_exchange_options &options) {
  if (!program || !options.given || !options.made || !options.types ||
      (tensorCount > 0 && !options.sources) || scalarCount < 0 || (scalarCount > 0 && !scalars))
    return invalid("expected a program, tuples, sources and scalars, but got a null pointer");
  if (!Python::find())
    return Error{ErrorKind::environment, "expected an interpreter of Python in this process, but found none"};
  const dlpack::ExchangeApi *api = dlpack::findExchangeApi(options.api);
  if (!api || !api->describe || !api->currentStream || !api->allocate)
    return Error{ErrorKind::environment, "expected DLPack's exchange API of major version 1 that describes "
                                         "objects, tells streams and allocates"};
  auto made = std::make_unique<tlc_exchange>();
  made->program = program;
  made->api = api;
  made->device = {dlpack::cuda, program->device->properties().ordinal};
  made->scalars.assign(scalars, scalars + scalarCount);
  if (Result<void> described = made->describe(options); !described)
    return described.error();
  if (Result<void> set = made->setTensors(tensors, tensorCount, options); !set)
    return set.error();
  return made;
}

Result<std::unique_ptr<tlc_exchange>> calls::createExchange(const tlc_program *program,
                                                            const tlc_tensor *tensors, int tensorCount,
                                                            const tlc_scalar *scalars, int scalarCount,
                                                            const tlc_exchange_options *options) {
  if (!options)
    return invalid("expected options, but got a null pointer");
  if (options->size != sizeof(*options))
    return invalid(
        fmt::format("expected options of {} bytes, as version {} of the interface has them, but got {}",
                    sizeof(*options), TLC_INTERFACE_VERSION, options->size));
  return tlc_exchange::create(program, tensors, tensorCount, scalars, scalarCount, *options);
}

Result<bool> calls::launch(const tlc_exchange *exchange, void *given, void *made) {
  if (!exchange || !given || !made)
    return invalid("expected an exchange and two tuples, but got a null pointer");
  return exchange->launch(given, made);
}

Result<void> calls::launchOnCurrent(tlc_bound *bound, const void *api) {
  const dlpack::ExchangeApi *found = dlpack::findExchangeApi(api);
  const Python *python = Python::find();
  if (!bound || !found || !found->currentStream || !python)
    return invalid("expected a bound launch, and DLPack's exchange API in a process with Python, but got a "
                   "null pointer");
  void *stream = nullptr;
  if (found->currentStream(dlpack::cuda, bound->device->properties().ordinal, &stream) != 0)
    return Error{ErrorKind::environment, "expected the library's current stream, but it tells none"};
  const WithoutLock unlocked(*python);
  return bound->launch->enqueue({stream});
}
