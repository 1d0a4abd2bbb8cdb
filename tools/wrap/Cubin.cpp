// SPDX-License-Identifier: Apache-2.0
#include "tools/wrap/Cubin.h"

#include <cstring>
#include <elf.h>
#include <optional>

using namespace tlc;

namespace {

class Elf {
public:
  explicit Elf(std::string_view bytes) : bytes(bytes) {}

  template <class T> std::optional<T> at(uint64_t offset) const {
    T value;
    if (offset > bytes.size() || bytes.size() - offset < sizeof(value))
      return std::nullopt;
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
    return value;
  }
  /// Up to the first zero; nothing if the file ends before.
  std::optional<std::string_view> text(uint64_t offset) const {
    const size_t end = offset < bytes.size() ? bytes.find('\0', offset) : std::string_view::npos;
    return end == std::string_view::npos ? std::nullopt : std::optional(bytes.substr(offset, end - offset));
  }
  /// Nothing if the number is that of no section.
  std::optional<Elf64_Shdr> section(const Elf64_Ehdr &header, uint64_t number) const {
    uint64_t offset = 0;
    if (number >= header.e_shnum ||
        __builtin_add_overflow(header.e_shoff, number * sizeof(Elf64_Shdr), &offset))
      return std::nullopt;
    return at<Elf64_Shdr>(offset);
  }

private:
  std::string_view bytes;
};

Error invalid(const char *message) { return {.message = message}; }

} // namespace

Result<std::vector<std::string>> wrap::functionsOfCubin(std::string_view bytes) {
  constexpr std::string_view fatbin = "\x50\xed\x55\xba";
  if (bytes.starts_with(fatbin))
    return invalid("expected a cubin, but got a fatbin; 'nvcc -cubin' makes one for one target");
  const Elf elf(bytes);
  const std::optional<Elf64_Ehdr> header = elf.at<Elf64_Ehdr>(0);
  if (!header || !bytes.starts_with(ELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != EM_CUDA ||
      header->e_shentsize != sizeof(Elf64_Shdr))
    return invalid("expected a cubin, which is an ELF file for GPUs, but the file does not begin like one");
  std::vector<std::string> functions;
  const auto cut = [] { return invalid("the cubin is cut short or damaged"); };
  for (unsigned number = 0; number != header->e_shnum; ++number) {
    const std::optional<Elf64_Shdr> section = elf.section(*header, number);
    if (!section)
      return cut();
    if (section->sh_type != SHT_SYMTAB)
      continue;
    const std::optional<Elf64_Shdr> names = elf.section(*header, section->sh_link);
    if (!names || section->sh_offset > bytes.size() || section->sh_size > bytes.size() - section->sh_offset)
      return cut();
    for (uint64_t at = 0; section->sh_size - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
      const std::optional<Elf64_Sym> symbol = elf.at<Elf64_Sym>(section->sh_offset + at);
      uint64_t offset = 0;
      if (!symbol || __builtin_add_overflow(names->sh_offset, uint64_t(symbol->st_name), &offset))
        return cut();
      if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
        continue;
      const std::optional<std::string_view> name = elf.text(offset);
      if (!name)
        return cut();
      functions.emplace_back(*name);
    }
    break; // a file has one
  }
  return functions;
}
