// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes one program of random instructions: what an instruction makes is an
/// operand of later ones, whatever it is read as, and all of it is output.
#pragma once

#include "tools/conformance/Forms.h"

#include <span>

namespace tlc::conformance {

/// Whether an instruction is executed by all lanes or by those of a random predicate.
enum class Guarding : uint8_t { never, sometimes };

/// Results are defined by the PTX ISA: the bits of a NaN are made equal before they are anything but a
/// number.
class SequenceWriter {
public:
  static constexpr unsigned threads = 64;

  explicit SequenceWriter(Random &random) : random(random) {}

  Random &random;
  /// The lanes of the warp that are here together, and execute what is now written: an operand.
  std::string members = "-1";

  /// "%v7": an input, or what was made before.
  std::string source(Format format);
  /// A register that nothing has written; `keep` makes it an operand of what follows.
  std::string fresh(Format format);
  void keep(const std::string &name, Format format) { usable.push_back({name, format}); }

  /// Writes a form and keeps its result. Besides what a Form may hold: $m are the members,
  /// $p a register for an own address of 16 bytes in the shared memory `exchange`.
  std::string apply(const Form &form, Guarding guarding = Guarding::never);
  template <class... Arguments>
  std::string add(Format result, std::vector<Format> sources, fmt::format_string<Arguments...> text,
                  Arguments &&...arguments) {
    return apply({fmt::format(text, std::forward<Arguments>(arguments)...), result, std::move(sources)});
  }
  /// A line as it stands.
  template <class... Arguments> void emit(fmt::format_string<Arguments...> text, Arguments &&...arguments) {
    body += "  " + fmt::format(text, std::forward<Arguments>(arguments)...) + "\n";
  }
  std::string label() { return fmt::format("L{}", labels++); }

  /// What is kept from here on until `leave` are operands only until then: of a branch.
  size_t enter() const { return usable.size(); }
  void leave(size_t entered) { usable.resize(entered); }
  /// What was kept since `enter` changes `digest`, a b32. Otherwise ptxas would drop, say, a vote of which
  /// nobody reads the result, but not its waiting for the members, and the groups of lanes stay apart where
  /// it takes them to be together.
  void digest(size_t entered, const std::string &digest);

  /// Memory for one stage. Shared: its name, with the text that declares it. Global: an offset
  /// from %out, at first zero. Input: an offset from %in.
  std::string sharedMemory(size_t bytes);
  size_t globalMemory(size_t bytes);
  size_t inputMemory(const std::vector<std::byte> &bytes);

  /// A stage's results are one column.
  void beginStage() { stageBegin = usable.size(); }
  void endStage(std::string_view name);
  Program finish(std::string name);

private:
  struct Register {
    std::string name;
    Format format;
  };
  struct Input {
    Format format;
    std::string name;
  };
  std::string input(Format format);
  std::string sourceOf(const Form &form, Format format);
  /// One of what was made that can be read as `format`.
  const Register *made(Format format);
  /// The same bits, of which ptxas does not know where they come from, nor that the lanes have them in
  /// common.
  std::string opaque(const std::string &name, Format format);
  std::string readAs(const Register &have, Format want);
  std::string withoutPayload(const Register &number);
  /// Its bits in words, one after the other.
  template <class Function> void forWords(const Register &result, Function &&function);

  std::vector<Register> usable;
  std::vector<Input> inputs;
  std::string declarations, loads, body;
  std::vector<std::byte> inputBytes; ///< after the inputs of registers
  std::vector<Column> columns;
  size_t registers = 0, labels = 0, sharedBlocks = 0, stageBegin = 0;
  size_t globalBytes = 0, outputWords = 0;
  bool usesOwnMemory = false, usesZero = false;
};

/// One part of a program: instructions of one subject, chained with what was before.
struct Stage {
  std::string_view name;
  unsigned weight;
  void (*write)(SequenceWriter &);
};
std::span<const Stage> arithmeticStages();
std::span<const Stage> divergentStages();
std::span<const Stage> memoryStages();
std::span<const Stage> copyStages();

/// Some instructions that each thread executes by itself, also in a branch.
void writeArithmetic(SequenceWriter &writer, unsigned count);
void writeCarries(SequenceWriter &writer);

} // namespace tlc::conformance
