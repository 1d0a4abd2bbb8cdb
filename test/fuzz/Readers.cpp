// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/Readers.h"

#include "runtime/aot/Image.h"
#include "runtime/artifact/Serialize.h"
#include "runtime/cache/Archive.h"
#include "runtime/cache/DiskCache.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/support/Hash.h"
#include "test/unit/artifact/SampleArtifact.h"
#include "tools/wrap/Cubin.h"
#include "tools/wrap/Wrap.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

using namespace tlc;

namespace {

using Folder = std::filesystem::path;

std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}
void require(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "expected %s\n", what);
  std::abort();
}

/// Bytes in front of an artifact's fields, the last 16 of them a checksum.
constexpr size_t headerBytes = 8 + 4 + 8 + 16;

/// With the size and checksum of its content, as a program writes it that gets a field wrong.
void sign(std::string &bytes) {
  if (bytes.size() < headerBytes)
    return;
  Hash128 hash;
  hash.update(bytesOf(bytes).subspan(headerBytes));
  const uint64_t size = bytes.size() - headerBytes;
  std::memcpy(bytes.data() + 12, &size, sizeof(size));
  std::memcpy(bytes.data() + 20, &hash.high, sizeof(hash.high));
  std::memcpy(bytes.data() + 28, &hash.low, sizeof(hash.low));
}

/// Launches it on tensors of some extents, of which nothing is read.
void plan(const Artifact &artifact) {
  const DeviceProperties device = {.name = "test", .target = artifact.target, .multiprocessors = 4};
  LaunchArguments arguments;
  for (size_t i = 0; i != firstWorkspaceOf(artifact); ++i) {
    std::vector<int64_t> shape;
    for (const Extent &extent : artifact.tensors[i].shape)
      shape.push_back(extent.dimension >= 0 ? 64 + 8 * (extent.dimension % 64) : extent.constant);
    if (shape.size() > 64)
      return;
    // Extents of which nothing is read: their product need not be a number of bytes.
    TensorView view = {
        reinterpret_cast<void *>((i % 4096 + 1) << 32), artifact.tensors[i].element, shape, {}};
    int64_t stride = 1;
    for (size_t axis = shape.size(); axis-- > 0;) {
      view.strides.insert(view.strides.begin(), stride);
      if (__builtin_mul_overflow(stride, std::max<int64_t>(shape[axis], 1), &stride))
        stride = INT64_MAX;
    }
    arguments.tensors.push_back(std::move(view));
  }
  for (const ScalarArgument &scalar : artifact.scalars)
    arguments.scalars.push_back({scalar.element, 0});
  Result<std::vector<WorkspaceRequest>> workspaces = workspacesOf(artifact, arguments.tensors, device);
  if (!workspaces)
    return;
  for (const WorkspaceRequest &workspace : *workspaces)
    arguments.tensors.push_back(
        workspace.view(reinterpret_cast<void *>((arguments.tensors.size() + 4097) << 32)));
  static_cast<void>(planLaunch(artifact, arguments, device));
}

std::vector<std::string> artifactSeeds(const Folder &) {
  return {textOf(serialize(test::sampleArtifact())), textOf(serialize(test::sampleTransfers()))};
}
bool readArtifact(std::string_view bytes, const Folder &) {
  static_cast<void>(deserialize(bytesOf(bytes)));
  std::string own(bytes);
  sign(own);
  const Result<Artifact> artifact = deserialize(bytesOf(own));
  if (!artifact)
    return false;
  require(textOf(serialize(*artifact)) == own, "an artifact to be written as it was read");
  plan(*artifact);
  return true;
}

std::vector<std::string> imageSeeds(const Folder &) {
  const std::vector<std::byte> artifact = serialize(test::sampleArtifact());
  return {textOf(aot::serialize({"fa_kernel", {{"sm_80", artifact}, {"sm_90a", artifact}}})),
          textOf(aot::serialize({"f", {{"sm_90a", {}}}}))};
}
bool readImage(std::string_view bytes, const Folder &) {
  const Result<aot::KernelView> view = aot::viewImage(bytesOf(bytes));
  if (!view)
    return false;
  for (const aot::ProgramView &program : view->programs)
    static_cast<void>(deserialize(program.artifact));
  return true;
}

const Key &entryKey() {
  static const Key key = *Key::parse("0123456789abcdef0123456789abcdef");
  return key;
}
void write(const Folder &path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  require(file && ::write(file.get(), bytes.data(), bytes.size()) == ssize_t(bytes.size()),
          "to write a file of a test");
}
std::string contentOf(const Folder &path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const Result<std::vector<std::byte>> bytes = readEntry(file, path, 1 << 20);
  require(bool(bytes), "to read a file of a test");
  return textOf(*bytes);
}

std::vector<std::string> entrySeeds(const Folder &folder) {
  const DiskCache cache(folder);
  std::vector<std::string> seeds;
  for (const char *note : {"", "ptxas refuses the code"}) {
    require(bool(cache.store(entryKey(), {test::sampleArtifact(), note})), "to store an entry of a test");
    seeds.push_back(contentOf(cache.pathOf(entryKey())));
  }
  require(bool(cache.storeAlias(entryKey(), {entryKey(), "softmax --target=sm_90a"})),
          "to store a name of a test");
  seeds.push_back(contentOf(cache.pathOf(entryKey())));
  return seeds;
}
bool readEntryFile(std::string_view bytes, const Folder &folder) {
  const DiskCache cache(folder);
  write(cache.pathOf(entryKey()), bytes);
  const Result<std::optional<CachedProgram>> program = cache.load(entryKey());
  require(bool(program), "an entry or a miss");
  return program->has_value() || cache.findAlias(entryKey());
}

std::vector<std::string> exportSeeds(const Folder &folder) {
  const EntryStore store(folder / "store");
  for (unsigned number = 0; number != 3; ++number) {
    const std::string content(number * 10, 'x');
    require(bool(store.store(*Key::parse(std::string(31, '0') + char('1' + number)), bytesOf(content))),
            "to store an entry of a test");
  }
  const Folder file = folder / "seed";
  require(bool(exportEntries(store, file, [](std::span<const std::byte>) { return Result<void>(); })),
          "to export the entries of a test");
  return {contentOf(file)};
}
bool readExport(std::string_view bytes, const Folder &folder) {
  const Folder file = folder / "export";
  write(file, bytes);
  return bool(importEntries(EntryStore(folder / "imported"), file,
                            [](std::span<const std::byte>) { return Result<void>(); }));
}

constexpr std::string_view ptx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry saxpy(.param .u64 n, .param .f32 a, .param .u64 x, .param .u64 y) { ret; }
.visible .entry flip(.param .u32 m, .param .u32 n, .param .u32 s, .param .align 64 .b8 map[128]) { ret; }
)";

std::vector<std::string> descriptionSeeds(const Folder &) {
  return {R"(kernel saxpy
input f32 X [n]   # comment
inout f32 Y [n], aligned 16
scalar f32 a
dimension n, 1 to 1000000, multiple of 4
launch saxpy
  grid ceilDiv(n, 256) * multiprocessors
  threads 256
  parameters i64(n), a, X, Y
)",
          R"(kernel flip
input bf16 X [m, n], outer strides
dimension half = min(m, (n + 1) / 2) - m % 3
output e4m3 Y [half, 16], zeros
workspace i32 W [max(m, 4), n], zeros, aligned 256
launch flip
  grid 1, n, m
  threads 16, 16, 2
  cluster 2
  shared 1088
  parameters m, n, i32(X.stride[0]), map(X, [8, 64], swizzle 128)
)"};
}
bool readDescription(std::string_view bytes, const Folder &) {
  const Result<wrap::Description> description = wrap::parseDescription(bytes, "k.txt");
  if (!description) {
    require(description.error().message.starts_with("k.txt:"), "a mistake with its place");
    return false;
  }
  const Result<Artifact> artifact =
      wrap::wrap(*description, {.ptx = wrap::CodeFile{"k.ptx", std::string(ptx)}});
  if (artifact)
    plan(*artifact);
  return bool(artifact);
}

std::vector<std::string> cubinSeeds(const Folder &) {
  std::string bytes(sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Sym) + 3 * sizeof(Elf64_Shdr) + 16, '\0');
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64, header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_CUDA, header.e_shentsize = sizeof(Elf64_Shdr), header.e_shnum = 3;
  const size_t symbolsAt = sizeof(header), namesAt = symbolsAt + 2 * sizeof(Elf64_Sym);
  header.e_shoff = namesAt + 16;
  Elf64_Sym symbol = {};
  symbol.st_name = 1, symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  Elf64_Shdr sections[3] = {};
  sections[1].sh_type = SHT_SYMTAB, sections[1].sh_offset = symbolsAt;
  sections[1].sh_size = 2 * sizeof(Elf64_Sym), sections[1].sh_link = 2;
  sections[2].sh_type = SHT_STRTAB, sections[2].sh_offset = namesAt, sections[2].sh_size = 16;
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + symbolsAt + sizeof(symbol), &symbol, sizeof(symbol));
  std::memcpy(bytes.data() + namesAt + 1, "saxpy", 5);
  std::memcpy(bytes.data() + header.e_shoff, sections, sizeof(sections));
  return {bytes};
}
bool readCubin(std::string_view bytes, const Folder &) { return bool(wrap::functionsOfCubin(bytes)); }

constexpr std::array all = {fuzz::Reader{"artifact", artifactSeeds, readArtifact},
                            fuzz::Reader{"kernel of an archive", imageSeeds, readImage},
                            fuzz::Reader{"entry of the cache", entrySeeds, readEntryFile},
                            fuzz::Reader{"export of the cache", exportSeeds, readExport},
                            fuzz::Reader{"description", descriptionSeeds, readDescription},
                            fuzz::Reader{"cubin", cubinSeeds, readCubin}};

} // namespace

std::span<const fuzz::Reader> fuzz::readers() { return all; }
