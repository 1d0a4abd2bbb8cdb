// SPDX-License-Identifier: Apache-2.0
/// \file
/// Finds the notes of the linker, in loaded images and in files.
#include "runtime/cache/BuildId.h"

#include "runtime/cache/EntryFile.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <span>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

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

/// An object of the file's type at an offset; false where the file has none.
template <class Object> bool readAt(const Descriptor &file, uint64_t offset, Object &object) {
  return ::pread(file.get(), &object, sizeof(object), off_t(offset)) == ssize_t(sizeof(object));
}

/// Longer notes are none of ours.
constexpr size_t mostNotes = size_t(1) << 16;

struct FileNotes {
  std::string identifier;
  uint64_t bytes = 0; ///< that the file should have, for what is mapped
};

FileNotes notesIn(const Descriptor &file) {
  FileNotes found;
  ElfW(Ehdr) header = {};
  if (!readAt(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_phentsize != sizeof(ElfW(Phdr)))
    return found;
  for (unsigned i = 0; i != header.e_phnum; ++i) {
    ElfW(Phdr) segment = {};
    if (!readAt(file, header.e_phoff + i * sizeof(segment), segment))
      return {};
    if (segment.p_type == PT_LOAD)
      found.bytes = std::max<uint64_t>(found.bytes, segment.p_offset + segment.p_filesz);
    if (segment.p_type != PT_NOTE || segment.p_filesz > mostNotes || !found.identifier.empty())
      continue;
    std::string notes(segment.p_filesz, '\0');
    if (::pread(file.get(), notes.data(), notes.size(), off_t(segment.p_offset)) == ssize_t(notes.size()))
      found.identifier = findIdentifier(notes.data(), notes.size());
  }
  return found;
}

} // namespace

std::string tlc::buildIdOf(const void *code) {
  Search search = {reinterpret_cast<ElfW(Addr)>(code), ""};
  dl_iterate_phdr(visitImage, &search);
  return search.identifier;
}

Result<std::string> tlc::buildIdOfFile(const std::filesystem::path &path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file)
    return fileError("open", path, errno);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0)
    return fileError("examine", path, errno);
  if (!S_ISREG(status.st_mode))
    return Error{ErrorKind::environment, formatMessage("'{}' is no regular file", path.native())};
  FileNotes notes = notesIn(file);
  // The loader maps what is missing, too: the process would end where that is read.
  if (uint64_t(status.st_size) < notes.bytes)
    return Error{ErrorKind::environment,
                 formatMessage("expected {} bytes of a shared object in '{}', but it has {}", notes.bytes,
                               path.native(), status.st_size)};
  return std::move(notes.identifier);
}

std::string tlc::buildOfPrograms(std::string_view compiler) {
  const std::string runtime = buildIdOf(reinterpret_cast<const void *>(&visitImage));
  if (compiler.empty() || runtime.empty())
    return "";
  return compiler == runtime ? runtime : std::string(compiler) + runtime;
}
