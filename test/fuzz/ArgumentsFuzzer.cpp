// SPDX-License-Identifier: Apache-2.0
/// \file
/// What libFuzzer calls for the arguments of `tlc emulate`: lines as its
/// command line has them, arrays those with an '=' before any ':'. The same
/// bytes are also taken for an .npy file.
#include "runtime/support/Npy.h"
#include "tools/emulate/Arguments.h"

#include <algorithm>

using namespace tlc;

namespace {

/// More elements take their memory without being another case.
constexpr int64_t mostElements = 1 << 12;

bool isSmall(const emulate::ArraySpec &array) {
  int64_t count = 1;
  for (const int64_t extent : array.shape)
    if (__builtin_mul_overflow(count, extent, &count) || count > mostElements)
      return false;
  return array.source != emulate::Source::file;
}

const emulator::Program &program() {
  static const auto loaded = emulator::loadProgram(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 pointer, .param .align 64 .b8 map[128], .param .f32 number) { ret; })");
  return **loaded;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static_cast<void>(parseNpy(std::as_bytes(std::span(data, size))));
  std::vector<std::string> arrays, arguments;
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  for (size_t begin = 0; begin < size;) {
    const size_t end = std::min(text.find('\n', begin), size);
    const std::string_view line = text.substr(begin, end - begin);
    (line.find('=') < line.find(':') ? arrays : arguments).emplace_back(line);
    begin = end + 1;
  }
  const auto launch = emulate::parseLaunch(arrays, arguments);
  if (!launch || !std::ranges::all_of(launch->arrays, isSmall))
    return 0;
  if (const auto made = emulate::Arguments::create(*launch, 1))
    static_cast<void>(made->parametersOf(*program().kernels.begin()->second));
  return 0;
}
