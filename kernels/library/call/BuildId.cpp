// SPDX-License-Identifier: Apache-2.0
/// \file
/// Finds the notes of the linker in the loaded images.
#include "kernels/library/call/BuildId.h"

#include "runtime/artifact/Serialize.h"

#include <cstring>
#include <fmt/format.h>
#include <link.h>
#include <span>
#include <string_view>

using namespace tlc;

namespace {

constexpr size_t alignUp(size_t bytes) { return (bytes + 3) & ~size_t(3); }

/// The identifier among the notes of one segment.
std::string findIdentifier(const char *notes, size_t bytes) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof(note));
    size_t size = sizeof(note) + alignUp(note.n_namesz) + alignUp(note.n_descsz);
    if (size > bytes)
      break;
    const char *name = notes + sizeof(note);
    if (note.n_type == NT_GNU_BUILD_ID &&
        std::string_view(name, note.n_namesz) == std::string_view("GNU\0", 4)) {
      std::string text;
      for (char byte : std::string_view(name + alignUp(note.n_namesz), note.n_descsz))
        text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      return text;
    }
    notes += size;
    bytes -= size;
  }
  return "";
}

struct Search {
  ElfW(Addr) code;        ///< of a function in the image
  std::string identifier; ///< of that image
};

/// Called for each loaded image.
int visitImage(dl_phdr_info *image, size_t, void *argument) {
  auto &search = *static_cast<Search *>(argument);
  std::string identifier;
  bool hasCode = false;
  for (const ElfW(Phdr) &segment : std::span(image->dlpi_phdr, image->dlpi_phnum)) {
    ElfW(Addr) begin = image->dlpi_addr + segment.p_vaddr;
    hasCode |= segment.p_type == PT_LOAD && search.code >= begin && search.code - begin < segment.p_memsz;
    if (segment.p_type == PT_NOTE && identifier.empty())
      identifier = findIdentifier(reinterpret_cast<const char *>(begin), segment.p_memsz);
  }
  if (hasCode)
    search.identifier = identifier;
  return hasCode;
}

/// Of the image that has this function.
template <class Function> std::string identifierOf(Function *function) {
  Search search = {reinterpret_cast<ElfW(Addr)>(function), ""};
  dl_iterate_phdr(visitImage, &search);
  return search.identifier;
}

} // namespace

std::string kernels::buildId() {
  // The runtime has facts about targets and the form of artifacts.
  const std::string compiler = identifierOf(&visitImage), runtime = identifierOf(&serialize);
  if (compiler == runtime || compiler.empty() || runtime.empty())
    return compiler.empty() ? "" : runtime;
  return compiler + runtime;
}
