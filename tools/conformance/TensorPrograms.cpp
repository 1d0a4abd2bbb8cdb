// SPDX-License-Identifier: Apache-2.0
/// \file
/// Boxes by TMA: random tensor maps and positions, also odd ones and such that
/// lie partly or wholly outside; loads, also in im2col mode, stores and reductions.
#include "tools/conformance/MatrixValues.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tlc::conformance {
namespace {

using emulator::EmulatedTensorMap;
using emulator::TensorElement;

constexpr TensorElement elements[] = {
    TensorElement::u8,  TensorElement::u16, TensorElement::u32, TensorElement::s32, TensorElement::u64,
    TensorElement::s64, TensorElement::f16, TensorElement::f32, TensorElement::f64, TensorElement::bf16};
constexpr uint32_t maxBoxBytes = 16 * 1024, sharedBytes = 48 * 1024, poison = 0xEEEEEEEE;

Format formatOf(TensorElement element) {
  switch (element) {
  case TensorElement::u8:
  case TensorElement::u16:
    return Format::b16;
  case TensorElement::f16:
    return Format::f16;
  case TensorElement::bf16:
    return Format::bf16;
  case TensorElement::f32:
    return Format::f32;
  case TensorElement::f64:
    return Format::f64;
  case TensorElement::u64:
  case TensorElement::s64:
    return Format::b64;
  default:
    return Format::b32;
  }
}

bool isFloat(TensorElement element) {
  return element == TensorElement::f16 || element == TensorElement::bf16 || element == TensorElement::f32 ||
         element == TensorElement::f64;
}

struct Traffic {
  EmulatedTensorMap map;
  uint64_t tensorBytes = 0;
  uint32_t boxBytes = 0;  ///< that a barrier counts
  uint32_t areaBytes = 0; ///< of shared memory, whatever the rows' pitch
};

/// A map of a tensor at offset 0 of the output.
Traffic randomTraffic(TensorElement element, unsigned rank, Swizzle swizzle, bool strided, Random &random) {
  Traffic traffic;
  EmulatedTensorMap &map = traffic.map;
  map.element = element;
  map.rank = rank;
  map.swizzle = swizzle;
  if (isFloat(element) && random.oneIn(3))
    map.fill = emulator::OutOfBoundsFill::nan;
  const uint32_t size = sizeInBytes(element);
  const uint32_t span = swizzle == Swizzle::none ? 256 : emulator::swizzleSpanBytes(swizzle);
  // Full rows mostly; narrower ones leave a part of the swizzle's pattern out.
  const uint32_t rowBytes =
      swizzle != Swizzle::none && !random.oneIn(4) ? span : 16 * uint32_t(random.between(1, span / 16));
  map.box[0] = rowBytes / size;
  uint32_t rows = 1;
  uint64_t stride = 0;
  for (unsigned i = 0; i < rank; ++i) {
    if (i > 0) {
      const uint32_t room = maxBoxBytes / std::max(rowBytes, i ? span : rowBytes) / rows;
      map.box[i] = uint32_t(random.between(1, std::clamp<int64_t>(room, 1, rank > 3 ? 4 : 12)));
      rows *= map.box[i];
      if (strided)
        map.elementStrides[i] = uint32_t(random.between(1, 4));
      map.strides[i - 1] = stride;
    }
    map.dims[i] = uint64_t(random.between(1, int64_t(map.box[i]) * (rank > 3 ? 1 : 2) + 3));
    stride = i == 0 ? (map.dims[0] * size + 15) / 16 * 16 + 16 * random.below(3)
                    : stride * map.dims[i] + 16 * random.below(2);
  }
  traffic.tensorBytes = stride;
  traffic.boxBytes = uint32_t(emulator::boxBytes(map));
  traffic.areaBytes = rows * std::max(rowBytes, swizzle == Swizzle::none ? 0 : span);
  return traffic;
}

/// The same in im2col mode.
Traffic randomIm2colTraffic(TensorElement element, unsigned rank, Swizzle swizzle, Random &random) {
  Traffic traffic = randomTraffic(element, rank, swizzle, false, random);
  EmulatedTensorMap &map = traffic.map;
  emulator::Im2colBox &im2col = map.im2col.emplace();
  const uint32_t rowBytes = map.box[0] * sizeInBytes(element),
                 pitch = std::max(rowBytes, emulator::swizzleSpanBytes(swizzle));
  im2col.pixels = uint32_t(random.between(1, std::min<uint32_t>(maxBoxBytes / pitch, 100)));
  for (unsigned i = 1; i < rank; ++i) {
    map.box[i] = 1;
    if (i + 1 == rank)
      break;
    im2col.lower[i - 1] = int32_t(random.between(-3, 1));
    im2col.upper[i - 1] = int32_t(random.between(-2, 3));
    if (im2col.lower[i - 1] >= int64_t(map.dims[i]) + im2col.upper[i - 1])
      im2col.lower[i - 1] = im2col.upper[i - 1] = 0;
    map.elementStrides[i] = uint32_t(random.between(1, 3));
  }
  traffic.boxBytes = uint32_t(emulator::boxBytes(map));
  traffic.areaBytes = im2col.pixels * pitch;
  return traffic;
}

/// Of a first tap that the strides reach from the corner of the bounding box, in an image or after the last
/// one; and the offsets of a tap.
std::pair<std::string, std::string> im2colCoordinates(const EmulatedTensorMap &map, Random &random) {
  const int64_t step = 16 / sizeInBytes(map.element), box = map.box[0], dim = int64_t(map.dims[0]);
  std::string text = fmt::format("{}", random.between(1 - box, dim - 1) / step * step), offsets;
  for (unsigned i = 1; i + 1 < map.rank; ++i) {
    const int64_t lower = map.im2col->lower[i - 1], stride = map.elementStrides[i],
                  last = int64_t(map.dims[i]) + map.im2col->upper[i - 1] - 1;
    text += fmt::format(", {}", lower + stride * random.between(0, (last - lower) / stride));
    offsets += fmt::format("{}{}", i > 1 ? ", " : "", random.between(0, 4));
  }
  return {text + fmt::format(", {}", random.between(0, int64_t(map.dims[map.rank - 1]) + 1)), offsets};
}

/// The innermost coordinate stands for whole 16 bytes, those of a store are not negative: with others the
/// hardware stops the kernel.
std::string coordinates(const EmulatedTensorMap &map, emulator::BoxUse use, Random &random) {
  std::string text;
  for (unsigned i = 0; i < map.rank; ++i) {
    const int64_t step = i == 0 ? 16 / sizeInBytes(map.element) : 1;
    const int64_t box = map.box[i], dim = int64_t(map.dims[i]);
    int64_t at = random.oneIn(2)   ? random.between(0, std::max<int64_t>(dim - box, 0))
                 : random.oneIn(8) ? random.between(-2 * box - 3, dim + box + 3)
                                   : random.between(1 - box, dim - 1);
    if (use == emulator::BoxUse::store)
      at = std::abs(at);
    text += fmt::format("{}{}", i ? ", " : "", at / step * step);
  }
  return text;
}

std::vector<std::byte> randomElements(Format format, size_t bytes, Random &random) {
  std::vector<std::byte> result(bytes);
  const unsigned size = elementBytes(format);
  for (size_t at = 0; at + size <= bytes; at += size) {
    const uint64_t value = randomValue(format, random);
    std::memcpy(&result[at], &value, size);
  }
  return result;
}

std::string describe(const Traffic &traffic) {
  const EmulatedTensorMap &map = traffic.map;
  std::string text =
      fmt::format("{} swizzle {}{} dims", toString(map.element), emulator::swizzleSpanBytes(map.swizzle),
                  map.fill == emulator::OutOfBoundsFill::nan ? " nan" : "");
  for (unsigned i = 0; i < map.rank; ++i)
    text += fmt::format(" {}", map.dims[i]);
  text += " box";
  for (unsigned i = 0; i < map.rank; ++i)
    text += fmt::format(" {}/{}", map.box[i], map.elementStrides[i]);
  if (map.im2col)
    text += fmt::format(" pixels {} corners {} to {}", map.im2col->pixels, fmt::join(map.im2col->lower, " "),
                        fmt::join(map.im2col->upper, " "));
  return text;
}

constexpr std::string_view declarations =
    "  .reg .b32 %t, %base, %box, %w, %n, %v<4>; .reg .b64 %to, %from, %state; .reg .pred %p, %first;\n"
    "  .shared .align 8 .b64 bar;\n";
/// One warp. The barrier is for one arrival.
constexpr std::string_view prologue =
    "  mov.u32 %t, %tid.x;\n  mov.u32 %base, dynamicShared;\n  setp.eq.u32 %first, %t, 0;\n"
    "  @%first mbarrier.init.shared.b64 [bar], 1;\n  fence.mbarrier_init.release.cluster;\n"
    "  fence.proxy.tensormap::generic.acquire.gpu [%maps], 128;\n  bar.sync 0;\n";

/// Fills `bytes` of shared memory at `%base` with poison.
std::string poisonText(uint32_t bytes) {
  return fmt::format("  mad.lo.u32 %w, %t, 16, %base;\n  mov.u32 %n, 0;\n"
                     "{{ Fill: st.shared.v4.b32 [%w], {{{0}, {0}, {0}, {0}}};\n  add.u32 %w, %w, 512;\n"
                     "  add.u32 %n, %n, 512;\n  setp.lt.u32 %p, %n, {1};\n  @%p bra Fill; }}\n",
                     poison, bytes);
}

/// Copies `bytes` of shared memory at `%base` to `out` + offset, and back in the other direction.
std::string dumpText(uint32_t bytes, size_t offset) {
  return fmt::format(
      "  mad.lo.u32 %w, %t, 16, %base;\n  mad.wide.u32 %to, %t, 16, %out;\n  mov.u32 %n, 0;\n"
      "{{ Dump: ld.shared.v4.b32 {{%v0, %v1, %v2, %v3}}, [%w];\n"
      "  st.global.v4.b32 [%to+{}], {{%v0, %v1, %v2, %v3}};\n  add.u32 %w, %w, 512;\n"
      "  add.u64 %to, %to, 512;\n  add.u32 %n, %n, 512;\n  setp.lt.u32 %p, %n, {};\n  @%p bra Dump; }}\n",
      offset, bytes);
}
std::string fillText(uint32_t bytes, size_t offset) {
  return fmt::format("  mad.lo.u32 %w, %t, 16, %base;\n  mad.wide.u32 %from, %t, 16, %in;\n  mov.u32 %n, 0;\n"
                     "{{ Load: ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%from+{}];\n"
                     "  st.shared.v4.b32 [%w], {{%v0, %v1, %v2, %v3}};\n  add.u32 %w, %w, 512;\n"
                     "  add.u64 %from, %from, 512;\n  add.u32 %n, %n, 512;\n  setp.lt.u32 %p, %n, {};\n"
                     "  @%p bra Load; }}\n",
                     offset, bytes);
}

/// Waits for the phase, but not for ever: a wrong number of bytes is a result, not a hang.
std::string waitText(unsigned parity) {
  return fmt::format(
      "  mov.u32 %n, 20000;\n{{ Wait: mbarrier.try_wait.parity.shared.b64 %p, [bar], {}, 1000;\n"
      "  sub.u32 %n, %n, 1;\n  @%p bra Done;\n  setp.ne.u32 %p, %n, 0;\n  @%p bra Wait;\n  trap;\n"
      "Done: }}\n",
      parity);
}

/// Makes the map at `out` + `offset` from that of `%maps`: a copy in shared memory gets every field anew.
std::string replaceText(const EmulatedTensorMap &map, size_t offset) {
  // The values that the instruction has for elements, in the order of TensorElement.
  constexpr unsigned elementCodes[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10};
  std::string text =
      "  mad.lo.u32 %w, %t, 4, %base;\n"
      "  mad.wide.u32 %from, %t, 4, %maps;\n  ld.global.b32 %v0, [%from];\n"
      "  st.shared.b32 [%w], %v0;\n  bar.warp.sync -1;\n  setp.ne.u32 %p, %t, 0;\n{ @%p bra Made;\n";
  const auto replace = [&](std::string_view field, std::string_view type, std::string operands) {
    text +=
        fmt::format("  tensormap.replace.tile.{}.shared::cta.b1024.{} [%base], {};\n", field, type, operands);
  };
  replace("global_address", "b64", "%out");
  replace("rank", "b32", std::to_string(map.rank - 1));
  for (unsigned i = 0; i < map.rank; ++i) {
    replace("box_dim", "b32", fmt::format("{}, {}", i, map.box[i]));
    replace("global_dim", "b32", fmt::format("{}, {}", i, map.dims[i]));
    replace("element_stride", "b32", fmt::format("{}, {}", i, map.elementStrides[i]));
    if (i > 0)
      replace("global_stride", "b64", fmt::format("{}, {}", i - 1, map.strides[i - 1]));
  }
  replace("elemtype", "b32", std::to_string(elementCodes[unsigned(map.element)]));
  replace("interleave_layout", "b32", "0");
  replace("swizzle_mode", "b32", std::to_string(unsigned(map.swizzle)));
  replace("fill_mode", "b32", std::to_string(unsigned(map.fill)));
  text +=
      fmt::format("Made: }} bar.warp.sync -1;\n  add.u64 %maps, %out, {};\n"
                  "  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
                  "[%maps], [%base], 128;\n"
                  "  fence.proxy.tensormap::generic.acquire.gpu [%maps], 128;\n  bar.sync 0;\n",
                  offset);
  return text;
}

/// Through the map of `traffic`; where `base` is another one, made from that by the program.
Program loadProgram(std::string name, const Traffic &traffic, Random &random, const Traffic *base = nullptr) {
  constexpr unsigned boxes = 5;
  Program program;
  program.name = std::move(name);
  program.sharedBytes = sharedBytes;
  program.maps = {traffic.map};
  program.output = randomElements(formatOf(traffic.map.element), traffic.tensorBytes, random);
  program.output.resize((program.output.size() + 127) / 128 * 128);
  const uint32_t dumped = (traffic.areaBytes + 1024 + 511) / 512 * 512;
  std::string body(prologue);
  if (base) {
    program.maps = {base->map};
    body += replaceText(traffic.map, program.output.size());
    program.output.resize(program.output.size() + EmulatedTensorMap::encodedBytes);
  }
  for (unsigned i = 0; i < boxes; ++i) {
    const uint32_t place = 128 * uint32_t(random.below(8));
    const bool isIm2col = traffic.map.im2col.has_value();
    const auto [at, offsets] =
        isIm2col ? im2colCoordinates(traffic.map, random)
                 : std::pair(coordinates(traffic.map, emulator::BoxUse::load, random), std::string());
    body += poisonText(dumped);
    body += fmt::format(
        "  add.u32 %box, %base, {};\n  fence.proxy.async.shared::cta;\n  bar.sync 0;\n"
        "  @%first mbarrier.arrive.expect_tx.shared.b64 %state, [bar], {};\n"
        "  @%first cp.async.bulk.tensor.{}d.shared::cluster.global.{}.mbarrier::complete_tx::bytes "
        "[%box], [%maps, {{{}}}], [bar]{};\n",
        place, traffic.boxBytes, traffic.map.rank, isIm2col ? "im2col" : "tile", at,
        isIm2col ? fmt::format(", {{{}}}", offsets) : "");
    body += waitText(i % 2);
    body += dumpText(dumped, program.output.size()) + "  bar.sync 0;\n";
    program.columns.push_back(
        {fmt::format("load{} {} at {}{}{} to {}", base ? " through a replaced map" : "", describe(traffic),
                     at, isIm2col ? " offsets " : "", offsets, place),
         Format::b32, program.output.size(), dumped / 4});
    program.output.resize(program.output.size() + dumped, std::byte(0));
  }
  program.ptx = moduleText(std::string(declarations), body);
  return program;
}

/// op: empty for a store.
Program storeProgram(std::string name, const Traffic &traffic, std::string_view op, Random &random) {
  constexpr unsigned boxes = 3;
  const Format format = formatOf(traffic.map.element);
  Program program;
  program.name = std::move(name);
  program.sharedBytes = sharedBytes;
  program.maps = {traffic.map};
  program.output = randomElements(format, traffic.tensorBytes, random);
  const uint32_t area = (traffic.areaBytes + 1024 + 511) / 512 * 512;
  std::string body(prologue), text = fmt::format("{} {}", op.empty() ? "store" : op, describe(traffic));
  for (unsigned i = 0; i < boxes; ++i) {
    const uint32_t place = 128 * uint32_t(random.below(8));
    const std::string at = coordinates(traffic.map, emulator::BoxUse::store, random);
    body += fillText(area, program.input.size());
    const std::vector<std::byte> values = randomElements(format, area, random);
    program.input.insert(program.input.end(), values.begin(), values.end());
    const std::string instruction = op.empty() ? "cp.async.bulk.tensor" : "cp.reduce.async.bulk.tensor";
    body += fmt::format(
        "  add.u32 %box, %base, {};\n  fence.proxy.async.shared::cta;\n  bar.sync 0;\n"
        "  @%first {}.{}d.global.shared::cta{}{}.tile.bulk_group [%maps, {{{}}}], [%box];\n"
        "  @%first cp.async.bulk.commit_group;\n  @%first cp.async.bulk.wait_group 0;\n  bar.sync 0;\n",
        place, instruction, traffic.map.rank, op.empty() ? "" : ".", op, at);
    text += fmt::format("{}at {} from {}", i ? ", " : " ", at, place);
  }
  program.columns.push_back({text, format, 0, traffic.tensorBytes / elementBytes(format)});
  program.output.resize((program.output.size() + 15) / 16 * 16);
  program.ptx = moduleText(std::string(declarations), body);
  return program;
}

/// cp.async.bulk and cp.reduce.async.bulk on plain bytes.
Program bulkProgram(std::string name, std::string_view op, std::string_view type, Format format,
                    Random &random) {
  constexpr uint32_t area = 2048;
  constexpr unsigned copies = 3;
  Program program;
  program.name = std::move(name);
  program.sharedBytes = sharedBytes;
  program.output = randomElements(format, 4096, random);
  std::string body(prologue);
  unsigned phase = 0;
  std::string text = fmt::format("bulk {} {}", op.empty() ? "copy" : op, type);
  for (unsigned i = 0; i < copies; ++i) {
    const uint32_t from = 16 * uint32_t(random.below(32)), to = 16 * uint32_t(random.below(64));
    const uint32_t bytes = 16 * uint32_t(random.between(1, 64));
    body += fillText(area, program.input.size());
    const std::vector<std::byte> values = randomElements(format, area, random);
    program.input.insert(program.input.end(), values.begin(), values.end());
    body += fmt::format("  fence.proxy.async.shared::cta;\n  bar.sync 0;\n  add.u32 %box, %base, {};\n"
                        "  add.u64 %to, %out, {};\n",
                        from, to);
    if (op.empty())
      body +=
          fmt::format("  @%first cp.async.bulk.global.shared::cta.bulk_group [%to], [%box], {};\n", bytes);
    else
      body += fmt::format(
          "  @%first cp.reduce.async.bulk.global.shared::cta.bulk_group.{}.{} [%to], [%box], {};\n", op, type,
          bytes);
    body += "  @%first cp.async.bulk.commit_group;\n  @%first cp.async.bulk.wait_group 0;\n  bar.sync 0;\n";
    text += fmt::format(" {} from {} to {}", bytes, from, to);
    // And back, through the barrier.
    body += fmt::format("  add.u64 %from, %in, {};\n"
                        "  @%first mbarrier.arrive.expect_tx.shared.b64 %state, [bar], {};\n"
                        "  @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%box], "
                        "[%from], {}, [bar];\n",
                        program.input.size() - area + 16 * random.below(8), bytes, bytes);
    body += waitText(phase++ % 2) + dumpText(area, 4096 + i * area) + "  bar.sync 0;\n";
    program.columns.push_back(
        {fmt::format("{}, shared memory", text), Format::b32, 4096 + i * area, area / 4});
  }
  program.columns.push_back({text, format, 0, 4096 / elementBytes(format)});
  program.output.resize(4096 + copies * area, std::byte(0));
  program.ptx = moduleText(std::string(declarations), body);
  return program;
}

} // namespace

std::vector<Program> tensorPrograms() {
  std::vector<Program> programs;
  constexpr Swizzle swizzles[] = {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128};
  // What a program is does not depend on those before it.
  const auto add = [&](TensorElement element, unsigned rank, Swizzle swizzle, auto make) {
    const std::string name = fmt::format("tensor.{}", programs.size());
    Random random(1, name);
    programs.push_back(make(name, element, rank, swizzle, random));
  };
  const auto load = [](std::string name, TensorElement element, unsigned rank, Swizzle swizzle,
                       Random &random) {
    return loadProgram(std::move(name), randomTraffic(element, rank, swizzle, false, random), random);
  };
  const auto strided = [](std::string name, TensorElement element, unsigned rank, Swizzle swizzle,
                          Random &random) {
    return loadProgram(std::move(name), randomTraffic(element, rank, swizzle, true, random), random);
  };
  const auto store = [](std::string name, TensorElement element, unsigned rank, Swizzle swizzle,
                        Random &random) {
    return storeProgram(std::move(name), randomTraffic(element, rank, swizzle, false, random), "", random);
  };
  unsigned turn = 0;
  for (Swizzle swizzle : swizzles)
    for (unsigned rank = 1; rank <= 5; ++rank)
      for (unsigned i = 0; i < 4; ++i, ++turn) {
        const TensorElement element = elements[turn % std::size(elements)];
        if (rank > 1 && i == 3)
          add(element, rank, swizzle, strided);
        else
          add(element, rank, swizzle, load);
        if (i < 2)
          add(element, rank, swizzle, store);
      }
  for (TensorElement element : elements)
    for (emulator::Reduction reduction :
         {emulator::Reduction::add, emulator::Reduction::min, emulator::Reduction::max,
          emulator::Reduction::inc, emulator::Reduction::dec, emulator::Reduction::bitAnd,
          emulator::Reduction::bitOr, emulator::Reduction::bitXor})
      if (emulator::checkReduction(reduction, element)) {
        const auto reduce = [&](std::string name, TensorElement of, unsigned rank, Swizzle swizzle,
                                Random &random) {
          return storeProgram(std::move(name), randomTraffic(of, rank, swizzle, false, random),
                              emulator::toString(reduction), random);
        };
        add(element, 1 + turn % 5, swizzles[turn % 4], reduce);
        ++turn;
      }
  return programs;
}

std::vector<Program> im2colPrograms() {
  std::vector<Program> programs;
  for (unsigned i = 0; i < 48; ++i) {
    const std::string name = fmt::format("im2col.{}", i);
    Random random(1, name);
    const Traffic traffic =
        randomIm2colTraffic(elements[i % std::size(elements)], 3 + i % 3, Swizzle(i / 3 % 4), random);
    programs.push_back(loadProgram(name, traffic, random));
  }
  return programs;
}

std::vector<Program> tensorMapPrograms() {
  std::vector<Program> programs;
  for (unsigned i = 0; i < 20; ++i) {
    const std::string name = fmt::format("tensormap.{}", i);
    Random random(1, name);
    const auto traffic = [&] {
      return randomTraffic(random.pick(elements), 1 + (i + 2) % 5, Swizzle(random.below(4)), random.oneIn(4),
                           random);
    };
    const Traffic base = traffic(), made = traffic();
    programs.push_back(loadProgram(name, made, random, &base));
  }
  return programs;
}

std::vector<Program> bulkPrograms() {
  std::vector<Program> programs;
  const auto add = [&](std::string_view op, std::string_view type, Format format) {
    const std::string name = fmt::format("bulk.{}", programs.size());
    Random random(1, name);
    programs.push_back(bulkProgram(name, op, type, format, random));
  };
  for (unsigned i = 0; i < 4; ++i)
    add("", "b8", Format::b32);
  for (std::string_view op : {"add", "min", "max"}) {
    add(op, "u32", Format::b32);
    add(op, "s32", Format::b32);
    add(op, "u64", Format::b64);
    if (op != "add")
      add(op, "s64", Format::b64);
  }
  for (std::string_view op : {"inc", "dec"})
    add(op, "u32", Format::b32);
  for (std::string_view op : {"and", "or", "xor"}) {
    add(op, "b32", Format::b32);
    add(op, "b64", Format::b64);
  }
  for (std::string_view op : {"min", "max"}) {
    add(op, "f16", Format::f16);
    add(op, "bf16", Format::bf16);
  }
  add("add.noftz", "f16", Format::f16);
  add("add.noftz", "bf16", Format::bf16);
  add("add", "f32", Format::f32);
  add("add", "f64", Format::f64);
  return programs;
}

} // namespace tlc::conformance
