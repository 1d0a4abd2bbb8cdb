// SPDX-License-Identifier: Apache-2.0
/// \file
/// Finds the note of the linker in the loaded image.
#include "kernels/library/call/BuildId.h"

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

/// Called for each loaded image: is it the one that this function is in?
int visitImage(dl_phdr_info *image, size_t, void *result) {
  std::string identifier;
  bool isOurs = false;
  for (const ElfW(Phdr) &segment : std::span(image->dlpi_phdr, image->dlpi_phnum)) {
    ElfW(Addr) begin = image->dlpi_addr + segment.p_vaddr, here = reinterpret_cast<ElfW(Addr)>(&visitImage);
    isOurs |= segment.p_type == PT_LOAD && here >= begin && here - begin < segment.p_memsz;
    if (segment.p_type == PT_NOTE && identifier.empty())
      identifier = findIdentifier(reinterpret_cast<const char *>(begin), segment.p_memsz);
  }
  if (isOurs)
    *static_cast<std::string *>(result) = identifier;
  return isOurs;
}

} // namespace

std::string kernels::buildId() {
  std::string identifier;
  dl_iterate_phdr(visitImage, &identifier);
  return identifier;
}
