// SPDX-License-Identifier: Apache-2.0
#include "tools/aot/ObjectFile.h"

#include "runtime/aot/Image.h"
#include "runtime/aot/Kernel.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFTypes.h"
#include "llvm/Support/Alignment.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::aot;

namespace {

using ELFT = object::ELF64LE;

template <class T> void append(std::string &bytes, const T &value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
}
void append32(std::string &bytes, uint32_t value) { append(bytes, support::little32_t(int32_t(value))); }

class ElfObject {
public:
  using Section = unsigned;
  using Symbol = unsigned;

  explicit ElfObject(uint16_t machine) : machine(machine) { symbols.emplace_back(); }

  Section addSection(StringRef name, unsigned type, unsigned flags, uint64_t alignment,
                     std::string content = {}) {
    sections.push_back({name, type, flags, alignment, std::move(content), {}});
    return Section(sections.size()); // section 0 is the null one
  }
  std::string &contentOf(Section section) { return sections[section - 1].content; }

  /// For relocations into the section. All come before global symbols.
  Symbol addSectionSymbol(Section section) {
    firstGlobal = unsigned(symbols.size()) + 1;
    return addSymbol("", ELF::STB_LOCAL, ELF::STT_SECTION, section, 0, 0);
  }
  Symbol addFunction(StringRef name, Section section, uint64_t offset, uint64_t size) {
    return addSymbol(name, ELF::STB_GLOBAL, ELF::STT_FUNC, section, offset, size);
  }
  Symbol addUndefined(StringRef name) {
    return addSymbol(name, ELF::STB_GLOBAL, ELF::STT_NOTYPE, ELF::SHN_UNDEF, 0, 0);
  }

  void relocate(Section section, uint64_t offset, unsigned type, Symbol symbol, int64_t addend) {
    ELFT::Rela relocation;
    relocation.r_offset = offset;
    relocation.setSymbolAndType(symbol, type, /*IsMips64EL=*/false);
    relocation.r_addend = addend;
    append(sections[section - 1].relocations, relocation);
  }

  std::string write();

private:
  struct Content {
    StringRef name;
    unsigned type = 0, flags = 0;
    uint64_t alignment = 1;
    std::string content, relocations;
  };

  Symbol addSymbol(StringRef name, uint8_t binding, uint8_t type, Section section, uint64_t value,
                   uint64_t size) {
    ELFT::Sym symbol;
    symbol.st_name = name.empty() ? 0 : uint32_t(strings.size());
    symbol.setBindingAndType(binding, type);
    symbol.st_other = ELF::STV_DEFAULT;
    symbol.st_shndx = uint16_t(section);
    symbol.st_value = value;
    symbol.st_size = size;
    symbols.push_back(symbol);
    if (!name.empty())
      (strings += name) += '\0';
    return Symbol(symbols.size() - 1);
  }

  uint16_t machine;
  std::vector<Content> sections;
  std::vector<ELFT::Sym> symbols;
  unsigned firstGlobal = 1;
  std::string strings = std::string(1, '\0');
};

std::string ElfObject::write() {
  std::string file(sizeof(ELFT::Ehdr), '\0'), names(1, '\0');
  std::vector<ELFT::Shdr> headers(1);
  headers[0] = {};
  const auto addHeader = [&](const Twine &name, unsigned type, unsigned flags, uint64_t alignment,
                             StringRef content) -> ELFT::Shdr & {
    file.resize(alignTo(file.size(), Align(alignment)));
    ELFT::Shdr header = {};
    header.sh_name = uint32_t(names.size());
    header.sh_type = type;
    header.sh_flags = flags;
    header.sh_offset = file.size();
    header.sh_size = content.size();
    header.sh_addralign = alignment;
    (names += name.str()) += '\0';
    file += content;
    return headers.emplace_back(header);
  };
  for (const Content &section : sections)
    addHeader(section.name, section.type, section.flags, section.alignment, section.content);
  const auto symbolTable = uint32_t(sections.size() + 1);
  std::string table;
  for (const ELFT::Sym &symbol : symbols)
    append(table, symbol);
  ELFT::Shdr &symbolHeader = addHeader(".symtab", ELF::SHT_SYMTAB, 0, 8, table);
  symbolHeader.sh_link = symbolTable + 1;
  symbolHeader.sh_info = firstGlobal;
  symbolHeader.sh_entsize = sizeof(ELFT::Sym);
  addHeader(".strtab", ELF::SHT_STRTAB, 0, 1, strings);
  for (const auto &[number, section] : enumerate(sections)) {
    if (section.relocations.empty())
      continue;
    ELFT::Shdr &header =
        addHeader(".rela" + section.name, ELF::SHT_RELA, ELF::SHF_INFO_LINK, 8, section.relocations);
    header.sh_link = symbolTable;
    header.sh_info = uint32_t(number + 1);
    header.sh_entsize = sizeof(ELFT::Rela);
  }
  names += ".shstrtab"; // ends with the section
  names += '\0';
  const auto nameOfNames = uint32_t(names.size() - sizeof(".shstrtab"));
  ELFT::Shdr nameHeader = {};
  nameHeader.sh_name = nameOfNames;
  nameHeader.sh_type = ELF::SHT_STRTAB;
  nameHeader.sh_offset = file.size();
  nameHeader.sh_size = names.size();
  nameHeader.sh_addralign = 1;
  headers.push_back(nameHeader);
  file += names;
  file.resize(alignTo(file.size(), Align(8)));

  ELFT::Ehdr header = {};
  std::copy_n(ELF::ElfMagic, 4, header.e_ident);
  header.e_ident[ELF::EI_CLASS] = ELF::ELFCLASS64;
  header.e_ident[ELF::EI_DATA] = ELF::ELFDATA2LSB;
  header.e_ident[ELF::EI_VERSION] = ELF::EV_CURRENT;
  header.e_type = ELF::ET_REL;
  header.e_machine = machine;
  header.e_version = ELF::EV_CURRENT;
  header.e_shoff = file.size();
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(ELFT::Shdr);
  header.e_shnum = uint16_t(headers.size());
  header.e_shstrndx = uint16_t(headers.size() - 1);
  file.replace(0, sizeof(header), reinterpret_cast<const char *>(&header), sizeof(header));
  for (const ELFT::Shdr &each : headers)
    append(file, each);
  return file;
}

/// Appends a forwarder to `text`: the address of the kernel, at the begin of a section, to register number
/// `function.arguments` of those that have arguments, and a jump.
void forwardX86(ElfObject &object, ElfObject::Section text, const Forwarder &function,
                std::optional<ElfObject::Symbol> kernel, ElfObject::Symbol callee) {
  static constexpr uint8_t registers[] = {7, 6, 2}; // rdi, rsi, rdx
  std::string &code = object.contentOf(text);
  if (kernel) { // lea register, [rip + kernel]
    code += '\x48';
    code += '\x8d';
    code += char(registers[function.arguments] << 3 | 5);
    object.relocate(text, code.size(), ELF::R_X86_64_PC32, *kernel, -4);
    append32(code, 0);
  }
  code += '\xe9'; // jmp callee
  object.relocate(text, code.size(), ELF::R_X86_64_PLT32, callee, -4);
  append32(code, 0);
}

void forwardAarch64(ElfObject &object, ElfObject::Section text, const Forwarder &function,
                    std::optional<ElfObject::Symbol> kernel, ElfObject::Symbol callee) {
  std::string &code = object.contentOf(text);
  const unsigned number = function.arguments; // x0, x1, x2
  if (kernel) {
    object.relocate(text, code.size(), ELF::R_AARCH64_ADR_PREL_PG_HI21, *kernel, 0);
    append32(code, 0x90000000 | number); // adrp
    object.relocate(text, code.size(), ELF::R_AARCH64_ADD_ABS_LO12_NC, *kernel, 0);
    append32(code, 0x91000000 | number << 5 | number); // add
  }
  object.relocate(text, code.size(), ELF::R_AARCH64_JUMP26, callee, 0);
  append32(code, 0x14000000); // b
}

} // namespace

Machine aot::hostMachine() {
#if defined(__aarch64__)
  return Machine::aarch64;
#else
  return Machine::x86_64;
#endif
}

std::string aot::writeObject(Machine machine, ArrayRef<Forwarder> functions,
                             const std::optional<KernelData> &kernel) {
  const bool isX86 = machine == Machine::x86_64;
  ElfObject object(isX86 ? ELF::EM_X86_64 : ELF::EM_AARCH64);
  const unsigned alloc = ELF::SHF_ALLOC;
  const auto text = object.addSection(".text", ELF::SHT_PROGBITS, alloc | ELF::SHF_EXECINSTR, 16);
  std::optional<ElfObject::Symbol> data;
  if (kernel) {
    const std::vector<std::byte> &bytes = kernel->image;
    const auto image = object.addSection(imageSection, ELF::SHT_PROGBITS, alloc, imageAlignment,
                                         {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
    const auto name = object.addSection(".rodata", ELF::SHT_PROGBITS, alloc, 1, kernel->function + '\0');
    // With the addresses of name and image 0 until they are relocated.
    const tlc_aot_kernel value = {kernelVersion, nullptr, nullptr, bytes.size(), nullptr};
    const auto values =
        object.addSection(".data", ELF::SHT_PROGBITS, alloc | ELF::SHF_WRITE, alignof(tlc_aot_kernel),
                          {reinterpret_cast<const char *>(&value), sizeof(value)});
    const auto address = isX86 ? unsigned(ELF::R_X86_64_64) : unsigned(ELF::R_AARCH64_ABS64);
    data = object.addSectionSymbol(values);
    object.relocate(values, offsetof(tlc_aot_kernel, function), address, object.addSectionSymbol(name), 0);
    object.relocate(values, offsetof(tlc_aot_kernel, image), address, object.addSectionSymbol(image), 0);
  }
  // No stack of the program needs to be executable.
  object.addSection(".note.GNU-stack", ELF::SHT_PROGBITS, 0, 1);
  for (const Forwarder &function : functions) {
    std::string &code = object.contentOf(text);
    code.resize(alignTo(code.size(), Align(16)));
    const size_t begin = code.size();
    const auto callee = object.addUndefined(function.callee);
    (isX86 ? forwardX86 : forwardAarch64)(object, text, function, data, callee);
    object.addFunction(function.name, text, begin, object.contentOf(text).size() - begin);
  }
  return object.write();
}
