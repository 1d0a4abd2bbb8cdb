// SPDX-License-Identifier: Apache-2.0
/// \file
/// The functions of an ELF file for GPUs, and of files that are none.
#include "tools/wrap/Cubin.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <elf.h>

using namespace tlc;
using namespace tlc::wrap;

namespace {

/// Two symbols, the second one a function, between a header and three sections.
std::string sampleCubin() {
  constexpr std::string_view names("\0data\0saxpy\0", 12);
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_CUDA;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  Elf64_Sym symbols[2] = {};
  symbols[0].st_name = 1;
  symbols[1].st_name = 6;
  symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  Elf64_Shdr sections[3] = {};
  const size_t namesAt = sizeof(header), symbolsAt = namesAt + names.size();
  header.e_shoff = symbolsAt + sizeof(symbols);
  sections[1].sh_type = SHT_STRTAB, sections[1].sh_offset = namesAt, sections[1].sh_size = names.size();
  sections[2].sh_type = SHT_SYMTAB, sections[2].sh_offset = symbolsAt;
  sections[2].sh_size = sizeof(symbols), sections[2].sh_link = 1;
  std::string bytes;
  const auto append = [&](const void *data, size_t size) {
    bytes.append(static_cast<const char *>(data), size);
  };
  append(&header, sizeof(header));
  append(names.data(), names.size());
  append(symbols, sizeof(symbols));
  append(sections, sizeof(sections));
  return bytes;
}

std::string mistake(std::string_view bytes) {
  Result<std::vector<std::string>> functions = functionsOfCubin(bytes);
  return functions ? "" : functions.error().message;
}

} // namespace

TEST_CASE("the functions of a cubin are found", "[wrap][cubin]") {
  Result<std::vector<std::string>> functions = functionsOfCubin(sampleCubin());
  REQUIRE(functions);
  CHECK(*functions == std::vector<std::string>{"saxpy"});
}

TEST_CASE("what is no cubin says so", "[wrap][cubin]") {
  const std::string expected =
      "expected a cubin, which is an ELF file for GPUs, but the file does not begin like one";
  CHECK(mistake("") == expected);
  CHECK(mistake("#!/bin/sh") == expected);
  CHECK(mistake("\x50\xed\x55\xba and more") ==
        "expected a cubin, but got a fatbin; 'nvcc -cubin' makes one for one target");
}

TEST_CASE("a cubin that is cut short or damaged is an error or another list", "[wrap][cubin]") {
  const std::string bytes = sampleCubin();
  for (size_t size = 0; size != bytes.size(); ++size)
    CHECK(mistake(std::string_view(bytes).substr(0, size)) != "");
  for (size_t at = 0; at != bytes.size(); ++at)
    for (const int value : {0, 1, 127, 128, 255}) {
      std::string changed = bytes;
      changed[at] = char(value);
      (void)functionsOfCubin(changed);
    }
}
