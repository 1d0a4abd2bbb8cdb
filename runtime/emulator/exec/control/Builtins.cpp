// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulator/exec/decode/Builtins.h"

#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/core/Observer.h"
#include "runtime/emulator/exec/decode/Call.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

namespace tlc::emulator {

namespace {

constexpr size_t maximumText = 64 * 1024;

/// Reads what a builtin's pointers lead to, with the checks of any access.
class LaneReader {
public:
  LaneReader(Warp &warp, const Instruction &instruction, unsigned lane)
      : warp(warp), instruction(instruction), lane(lane) {}

  std::optional<uint64_t> value(uint64_t address, unsigned bytes) {
    const std::byte *at = touch(
        warp, instruction, {Space::generic, AccessKind::read, Proxy::generic, lane, address, bytes, bytes});
    if (!at)
      return std::nullopt;
    uint64_t result = 0;
    std::memcpy(&result, at, bytes);
    return result;
  }

  std::optional<std::string> text(uint64_t address) {
    std::string result;
    while (true) {
      const auto character = value(address++, 1);
      if (!character)
        return std::nullopt;
      if (*character == 0)
        return result;
      if (result.size() == maximumText) {
        fault(warp, instruction, fmt::format("a text has no end within {} characters", maximumText));
        return std::nullopt;
      }
      result += char(*character);
    }
  }

  uint64_t parameter(const BuiltinCall &call, size_t i) {
    uint64_t result = 0;
    std::memcpy(&result, place(call, call.parameters[i].offset), call.parameters[i].bytes);
    return result;
  }

  void setResult(const BuiltinCall &call, uint64_t result) {
    if (call.results.empty())
      return;
    std::byte *to = place(call, call.results[0].offset);
    std::memcpy(to, &result, call.results[0].bytes);
    if (Observer *observer = clusterOf(warp).observer.get())
      observer->fillLocal(warp, lane,
                          uint64_t(to - warp.local.data()) - uint64_t(lane) * gridOf(warp).kernel->localBytes,
                          call.results[0].bytes);
  }

private:
  std::byte *place(const BuiltinCall &call, uint32_t offset) {
    uint64_t base = 0;
    if (call.callerFrame)
      base = lanesOf<uint64_t>(warp, call.callerFrame->base)[lane];
    return warp.local.data() + size_t(lane) * gridOf(warp).kernel->localBytes + base + offset;
  }

  Warp &warp;
  const Instruction &instruction;
  unsigned lane;
};

/// One conversion of a format: "%-5.2f" and its length modifier.
struct Conversion {
  std::string flags; ///< flags, width, precision
  bool isLong = false;
  char letter = 0;
};

/// The arguments lie one after the other, each aligned to its size.
class Formatter {
public:
  Formatter(LaneReader &reader, uint64_t arguments) : reader(reader), next(arguments) {}

  /// False with the error set.
  bool run(std::string_view format, std::string &out) {
    for (size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        out += format[i];
        continue;
      }
      ++i; // after the percent sign
      if (i < format.size() && format[i] == '%') {
        out += '%';
        continue;
      }
      Conversion conversion;
      if (!parse(format, i, conversion) || !print(conversion, out))
        return false;
    }
    return true;
  }

  unsigned count = 0; ///< arguments used

private:
  std::optional<uint64_t> take(unsigned bytes) {
    next = (next + bytes - 1) & ~uint64_t(bytes - 1);
    const auto value = reader.value(next, bytes);
    next += bytes;
    ++count;
    return value;
  }

  bool parse(std::string_view format, size_t &i, Conversion &conversion) {
    unsigned longs = 0;
    for (; i < format.size(); ++i) {
      const char c = format[i];
      if (c == '*') {
        const auto width = take(4);
        if (!width)
          return false;
        conversion.flags += std::to_string(std::clamp(int32_t(*width), -1000, 1000));
      } else if (std::string_view("-+ #0123456789.").find(c) != std::string_view::npos) {
        if (conversion.flags.size() < 8) // a width of a thousand characters is enough
          conversion.flags += c;
      } else if (c == 'l' || c == 'j' || c == 'z' || c == 't') {
        longs += c == 'l' ? 1 : 2;
      } else if (c != 'h' && c != 'L') {
        conversion.letter = c;
        break;
      }
    }
    conversion.isLong = longs != 0;
    return true;
  }

  template <class T>
  void append(const Conversion &conversion, std::string_view length, T value, std::string &out) {
    const std::string format = fmt::format("%{}{}{}", conversion.flags, length, conversion.letter);
    char buffer[2048];
    const int size = std::snprintf(buffer, sizeof(buffer), format.c_str(), value);
    out.append(buffer, size < 0 ? 0 : std::min(size_t(size), sizeof(buffer) - 1));
  }

  bool print(const Conversion &conversion, std::string &out) {
    switch (conversion.letter) {
    case 'd':
    case 'i': {
      const auto value = take(conversion.isLong ? 8 : 4);
      if (value)
        append(conversion, "ll", conversion.isLong ? (long long)(*value) : (long long)(int32_t(*value)), out);
      return value.has_value();
    }
    case 'u':
    case 'o':
    case 'x':
    case 'X': {
      const auto value = take(conversion.isLong ? 8 : 4);
      if (value)
        append(conversion, "ll", (unsigned long long)(*value), out);
      return value.has_value();
    }
    case 'c': {
      const auto value = take(4);
      if (value)
        append(conversion, "", int(*value), out);
      return value.has_value();
    }
    case 'p': {
      const auto value = take(8);
      if (value)
        append(conversion, "", reinterpret_cast<void *>(uintptr_t(*value)), out);
      return value.has_value();
    }
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A': {
      const auto value = take(8);
      if (value)
        append(conversion, "", std::bit_cast<double>(*value), out);
      return value.has_value();
    }
    case 's': {
      const auto pointer = take(8);
      const auto text = pointer ? reader.text(*pointer) : std::nullopt;
      if (text)
        append(conversion, "", text->c_str(), out);
      return text.has_value();
    }
    default: // as CUDA, which copies what it does not know
      out += '%' + conversion.flags;
      if (conversion.letter)
        out += conversion.letter;
      return true;
    }
  }

  LaneReader &reader;
  uint64_t next;
};

/// int vprintf(const char *format, void *arguments)
Step printText(Warp &warp, uint32_t active, const Instruction &instruction) {
  const BuiltinCall &call = instruction.payloadAs<BuiltinCall>();
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    LaneReader reader(warp, instruction, l);
    const auto format = reader.text(reader.parameter(call, 0));
    if (!format)
      return Step::fault;
    std::string text;
    Formatter formatter(reader, reader.parameter(call, 1));
    if (!formatter.run(*format, text))
      return Step::fault;
    gridOf(warp).print(text);
    reader.setResult(call, formatter.count);
  }
  return Step::next;
}

/// void __assertfail(const char *message, const char *file, unsigned line, const char *function, size_t)
Step failAssertion(Warp &warp, uint32_t active, const Instruction &instruction) {
  const BuiltinCall &call = instruction.payloadAs<BuiltinCall>();
  LaneReader reader(warp, instruction, unsigned(std::countr_zero(active)));
  const auto message = reader.text(reader.parameter(call, 0)), file = reader.text(reader.parameter(call, 1)),
             function = reader.text(reader.parameter(call, 3));
  if (!message || !file || !function)
    return Step::fault;
  return fault(warp, instruction,
               fmt::format("assertion '{}' failed at {}:{} in '{}', lanes {:#010x}", *message, *file,
                           reader.parameter(call, 2), *function, active));
}

/// void *malloc(size_t)
Step allocateMemory(Warp &warp, uint32_t active, const Instruction &instruction) {
  const BuiltinCall &call = instruction.payloadAs<BuiltinCall>();
  for (unsigned l = 0; l < warpSize; ++l)
    if (active >> l & 1) {
      LaneReader reader(warp, instruction, l);
      Heap &heap = *gridOf(warp).program->heap;
      const uint64_t pointer = heap.allocate(reader.parameter(call, 0));
      if (Observer *observer = clusterOf(warp).observer.get(); observer && pointer != 0)
        observer->allocated(pointer, heap.sizeOf(pointer));
      reader.setResult(call, pointer);
    }
  return Step::next;
}

/// void free(void *)
Step freeMemory(Warp &warp, uint32_t active, const Instruction &instruction) {
  const BuiltinCall &call = instruction.payloadAs<BuiltinCall>();
  for (unsigned l = 0; l < warpSize; ++l) {
    if (!(active >> l & 1))
      continue;
    const uint64_t pointer = LaneReader(warp, instruction, l).parameter(call, 0);
    // All accesses come before it, as before a write of the whole.
    if (const uint64_t bytes = gridOf(warp).program->heap->sizeOf(pointer);
        bytes != 0 && !touch(warp, instruction,
                             {.space = Space::global,
                              .kind = AccessKind::write,
                              .lane = l,
                              .address = pointer,
                              .bytes = bytes}))
      return Step::fault;
    if (!gridOf(warp).program->heap->free(pointer))
      return fault(warp, instruction,
                   fmt::format("{:#x} in lane {} is not an address that malloc returned", pointer, l));
  }
  return Step::next;
}

constexpr Builtin builtins[] = {
    {"malloc", allocateMemory, {8}, 1, 8},
    {"free", freeMemory, {8}, 1, 0},
    {"vprintf", printText, {8, 8}, 2, 4},
    {"__assertfail", failAssertion, {8, 8, 4, 8, 8}, 5, 0},
};

} // namespace

const Builtin *findBuiltin(std::string_view name) {
  for (const Builtin &builtin : builtins)
    if (builtin.name == name)
      return &builtin;
  return nullptr;
}

} // namespace tlc::emulator
