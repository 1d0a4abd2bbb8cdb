// SPDX-License-Identifier: Apache-2.0
/// \file
/// What libFuzzer calls for files: the first byte says which reader gets the others.
#include "test/fuzz/Readers.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace tlc::fuzz;

namespace {

struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "tlc-fuzz-XXXXXX";
    path = ::mkdtemp(pattern.data());
    for (const Reader &reader : readers())
      reader.seeds(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Folder folder;
  if (size != 0)
    readers()[data[0] % readers().size()].read({reinterpret_cast<const char *>(data) + 1, size - 1},
                                               folder.path);
  return 0;
}
