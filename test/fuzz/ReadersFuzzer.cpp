// SPDX-License-Identifier: Apache-2.0
/// \file
/// What libFuzzer calls for files: the first byte says which reader gets the others. The readers' seeds are
/// written to the first folder that is named.
#include "test/fuzz/Readers.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>

using namespace tlc::fuzz;

namespace {

struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "tlc-fuzz-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

const Folder &folder() {
  static const Folder made;
  return made;
}

} // namespace

extern "C" int LLVMFuzzerInitialize(const int *argc, char ***argv) {
  const std::span arguments(*argv, size_t(*argc));
  std::filesystem::path corpus;
  for (const char *argument : arguments.subspan(1))
    if (corpus.empty() && argument[0] != '-' && std::filesystem::is_directory(argument))
      corpus = argument;
  // Where there is none, too: seeds make the folders that reading needs.
  for (size_t reader = 0; reader != readers().size(); ++reader) {
    unsigned number = 0;
    for (const std::string &seed : readers()[reader].seeds(folder().path))
      if (!corpus.empty())
        std::ofstream(corpus / ("seed-" + std::to_string(reader) + "-" + std::to_string(number++)))
            << char(reader) << seed;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size != 0)
    readers()[data[0] % readers().size()].read({reinterpret_cast<const char *>(data) + 1, size - 1},
                                               folder().path);
  return 0;
}
