// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/Program.h"

#include "tools/conformance/Forms.h"

#include <cstring>
#include <span>

namespace tlc::conformance {

unsigned elementBytes(Format format) { return format == Format::predicate ? 4 : registerBits(format) / 8; }

uint64_t elementOf(const std::vector<std::byte> &output, const Column &column, size_t i) {
  const unsigned bytes = elementBytes(column.format);
  uint64_t bits = 0;
  std::memcpy(&bits, &output[column.offset + i * bytes], bytes);
  return bits;
}

uint64_t fingerprint(const Program &program) {
  uint64_t hash = 0xCBF29CE484222325;
  const auto add = [&hash](const void *bytes, size_t count) {
    for (const auto *byte = static_cast<const uint8_t *>(bytes); count-- > 0; ++byte)
      hash = (hash ^ *byte) * 0x100000001B3;
  };
  add(program.ptx.data(), program.ptx.size());
  for (unsigned value : {program.blocks, program.threads, program.cluster, program.sharedBytes})
    add(&value, sizeof(value));
  add(program.input.data(), program.input.size());
  add(program.output.data(), program.output.size());
  for (const emulator::EmulatedTensorMap &map : program.maps) {
    const uint64_t fields[] = {map.globalAddress, uint64_t(map.element), map.rank, uint64_t(map.swizzle),
                               uint64_t(map.fill)};
    add(fields, sizeof(fields));
    for (unsigned i = 0; i < map.rank; ++i) {
      const uint64_t axis[] = {map.dims[i], map.box[i], map.elementStrides[i], i ? map.strides[i - 1] : 0};
      add(axis, sizeof(axis));
    }
  }
  for (const Column &column : program.columns) {
    add(column.name.data(), column.name.size());
    add(&column.count, sizeof(column.count));
  }
  return hash;
}

std::string moduleText(const std::string &declarations, const std::string &body) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n"
         ".extern .shared .align 1024 .b8 dynamicShared[];\n"
         ".visible .entry k(.param .u64 out, .param .u64 in, .param .u64 maps)\n{\n"
         "  .reg .b64 %out, %in, %maps;\n" +
         declarations +
         "  ld.param.u64 %out, [out];\n  ld.param.u64 %in, [in];\n  ld.param.u64 %maps, [maps];\n"
         "  cvta.to.global.u64 %out, %out;\n  cvta.to.global.u64 %in, %in;\n" +
         body + "  ret;\n}\n";
}

namespace {

std::vector<Program> deal(std::string_view group, std::initializer_list<void (*)(FormList &)> parts,
                          unsigned copies = 3, Chaining chaining = Chaining::yes) {
  FormList list;
  for (auto *add : parts)
    add(list);
  return dealPrograms(group, list.forms, copies, 48, chaining);
}

struct Group {
  std::string_view name;
  std::vector<Program> (*make)();
};
constexpr Group groups[] = {
    {"arithmetic",
     [] {
       return deal("arithmetic",
                   {addIntegerForms, addBitForms, addFloatForms, addHalfForms, addApproximateForms});
     }},
    {"video", [] { return deal("video", {addVideoForms}, 1, Chaining::no); }},
    // Alone, because ptxas joins a conversion with the one before it and then saturates otherwise.
    {"conversion", [] { return deal("conversion", {addConversionForms}, 2, Chaining::no); }},
    {"memory", [] { return deal("memory", {addMemoryForms}, 6); }},
    {"atomic", [] { return deal("atomic", {addAtomicForms}, 2); }},
    {"warp", [] { return deal("warp", {addWarpForms}, 4); }},
    {"mma", mmaPrograms},
    {"wgmma", wgmmaPrograms},
    {"tensor", tensorPrograms},
    {"im2col", im2colPrograms},
    {"tensormap", tensorMapPrograms},
    {"bulk", bulkPrograms},
    {"mbarrier", barrierPrograms},
    {"cluster", clusterPrograms},
    {"sequence0", [] { return sequencePrograms(0); }},
    {"sequence1", [] { return sequencePrograms(1); }},
    {"sequence2", [] { return sequencePrograms(2); }},
    {"sequence3", [] { return sequencePrograms(3); }},
    {"sequence4", [] { return sequencePrograms(4); }},
    {"sequence5", [] { return sequencePrograms(5); }},
    {"sequence6", [] { return sequencePrograms(6); }},
    {"sequence7", [] { return sequencePrograms(7); }},
};
} // namespace

std::vector<std::string> groupNames() {
  std::vector<std::string> names;
  for (const Group &group : groups)
    names.emplace_back(group.name);
  return names;
}

std::vector<Program> programsOf(const std::string &name) {
  for (const Group &group : groups)
    if (group.name == name)
      return group.make();
  return {};
}

} // namespace tlc::conformance
