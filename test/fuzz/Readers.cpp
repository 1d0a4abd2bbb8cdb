// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/Readers.h"

#include "kernels/file/Description.h"
#include "runtime/aot/Image.h"
#include "runtime/artifact/Serialize.h"
#include "runtime/device/LaunchPlan.h"
#include "test/fuzz/ReaderParts.h"
#include "test/unit/artifact/SampleArtifact.h"
#include "tools/wrap/Cubin.h"
#include "tools/wrap/Wrap.h"

#include <array>
#include <cstring>
#include <elf.h>

using namespace tlc;
using namespace tlc::fuzz;

namespace {

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
  signArtifact(own);
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
    if (const Result<std::vector<std::byte>> artifact = aot::artifactOf(program))
      static_cast<void>(deserialize(*artifact));
  return true;
}

constexpr std::string_view ptx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry saxpy(.param .u64 n, .param .f32 a, .param .u64 x, .param .u64 y) { ret; }
.visible .entry flip(.param .u32 m, .param .u32 n, .param .u32 s, .param .align 64 .b8 map[128]) { ret; }
)";

std::vector<std::string> fileSeeds(const Folder &) {
  kernels::KernelDescription kernel = {.name = "softcap",
                                       .summary = "Y = cap tanh(X / cap)",
                                       .position = "softcap.cpp:3:5",
                                       .parameters = {{.name = "n",
                                                       .description = "",
                                                       .kind = kernels::Parameter::Kind::choice,
                                                       .choices = {"a", "b"}}},
                                       .emulatorSizes = {{"n", "8"}},
                                       .suite = {{{"n", "16"}}},
                                       .ranges = {{"X", {-1, 1}}},
                                       .contents = {"X"},
                                       .references = {"Y"},
                                       .tolerances = {{"Y", {.limit = 1}}},
                                       .tables = {{"T", {"n"}}},
                                       .hasRanks = true,
                                       .positions = {{{"input", "X"}, "softcap.cpp:4:9"}}};
  return {kernels::pack({kernel}), kernels::pack({kernel, kernel})};
}
bool readFileDescription(std::string_view bytes, const Folder &) {
  const auto described = kernels::unpackDescriptions(bytes);
  if (!described)
    return false;
  require(!described->empty() && kernels::unpackDescriptions(kernels::pack(*described)).has_value(),
          "what was unpacked to be packed");
  return true;
}

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

constexpr std::array all = {
    Reader{"artifact", artifactSeeds, readArtifact},
    Reader{"kernel of an archive", imageSeeds, readImage},
    Reader{"entry of the cache", entrySeeds, readEntryFile},
    Reader{"export of the cache", exportSeeds, readExport},
    Reader{"tensor of DLPack", dlpackSeeds, readDlpack},
    Reader{"description of a file", fileSeeds, readFileDescription},
    Reader{"description for tlc wrap", descriptionSeeds, readDescription},
    Reader{"cubin", cubinSeeds, readCubin},
    Reader{"report", reportSeeds, readReport},
#ifdef TLC_FUZZ_TUNING
    Reader{"line of tuning", tuningSeeds, readTuning},
#endif
};

} // namespace

std::span<const Reader> fuzz::readers() { return all; }
