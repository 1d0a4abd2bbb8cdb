// SPDX-License-Identifier: Apache-2.0
/// \file
/// The part of the C interface that takes programs as bytes.
#include "runtime/artifact/Serialize.h"
#include "tools/libtlc/Calls.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

using namespace tlc;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

} // namespace

Result<void> calls::save(const tlc_program *program, void *bytes, size_t capacity, size_t *size) {
  if (!program)
    return invalid("expected a program, but got a null pointer");
  if (!size || (capacity > 0 && !bytes))
    return invalid("expected room for bytes and for their number, but got a null pointer");
  const std::vector<std::byte> all = serialize(program->loaded->artifact());
  if (const size_t count = std::min(all.size(), capacity); count > 0)
    std::memcpy(bytes, all.data(), count);
  *size = all.size();
  return {};
}

Result<std::unique_ptr<tlc_program>> calls::load(tlc_device *device, const void *bytes, size_t size) {
  if (!bytes)
    return invalid("expected bytes of a program, but got a null pointer");
  Result<Artifact> artifact = deserialize(std::span(static_cast<const std::byte *>(bytes), size));
  if (!artifact)
    return artifact.error();
  Result<std::shared_ptr<Device>> home = deviceOr(device);
  if (!home)
    return home.error();
  Result<std::shared_ptr<const LoadedProgram>> loaded = (*home)->load(std::move(*artifact));
  if (!loaded)
    return loaded.error();
  return std::make_unique<tlc_program>(std::make_shared<Loaded>(*home, std::move(*loaded)));
}
