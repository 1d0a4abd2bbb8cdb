// SPDX-License-Identifier: Apache-2.0
/// \file
/// Bytes that no process of a file has packed are refused, whatever they are.
#include "kernels/file/CompiledFiles.h"
#include "kernels/file/Description.h"
#include "kernels/file/Pack.h"
#include "kernels/file/PrecompiledHeader.h"
#include "kernels/file/Transport.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::kernels;

namespace {

const std::vector<KernelDescription> described = {
    {.name = "softcap",
     .summary = "Y = cap tanh(X / cap)",
     .position = "softcap.cpp:3:5",
     .parameters = {{.name = "n", .description = "", .kind = Parameter::Kind::choice, .choices = {"a", "b"}}},
     .emulatorSizes = {{"n", "8"}},
     .suite = {{{"n", "16"}}},
     .ranges = {{"X", {-1, 1}}},
     .contents = {"X"},
     .references = {"Y"},
     .tolerances = {{"Y", {.limit = 1}}},
     .tables = {{"T", {"n"}}},
     .hasRanks = true}};

} // namespace

TEST_CASE("descriptions come back, and no part of them alone", "[file]") {
  const std::string bytes = pack(described);
  const auto back = unpackDescriptions(bytes);
  REQUIRE(back);
  CHECK(pack(*back) == bytes);
  CHECK(back->front().parameters.front().kind == Parameter::Kind::choice);
  for (size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(unpackDescriptions(std::string_view(bytes).substr(0, size)));
  CHECK_FALSE(unpackDescriptions(bytes + "+"));
  CHECK_FALSE(unpackDescriptions(pack({})));
}

TEST_CASE("a trace comes back, and no part of it alone", "[file]") {
  const std::string bytes = packTrace({3, "program", {{"T", {{1, 2}, {3}}}}});
  const auto back = unpackTrace(bytes);
  REQUIRE(back);
  CHECK(packTrace(*back) == bytes);
  for (size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(unpackTrace(std::string_view(bytes).substr(0, size)));
}

TEST_CASE("a count that no bytes follow takes no memory", "[file]") {
  for (const uint64_t count : {uint64_t(1) << 63, ~uint64_t(0), uint64_t(1) << 40}) {
    const std::string bytes = Packer().add(count).take();
    CHECK_FALSE(unpackDescriptions(bytes));
    CHECK_FALSE(unpackTrace(std::string(8, '\0') + bytes));
    CHECK(unpackProgram("program", bytes).ok() == false);
  }
}

TEST_CASE("any byte may be another", "[file]") {
  for (std::string bytes : {pack(described), packTrace({3, "program", {{"T", {{1, 2}, {3}}}}})})
    for (size_t i = 0; i < bytes.size(); ++i)
      for (const char other : {'\0', '\x7f', '\x80', '\xff'}) {
        std::string changed = bytes;
        changed[i] = other;
        (void)unpackDescriptions(changed);
        (void)unpackTrace(changed);
        CHECK_FALSE(unpackProgram("program", changed).ok());
      }
}

TEST_CASE("an enumerator beyond the last is refused, and a bool is one of two", "[file]") {
  Unpacker unpacker("\x07");
  CHECK(unpacker.get(Parameter::Kind::choice) == Parameter::Kind::size);
  CHECK_FALSE(unpacker.isWhole());
  CHECK(Unpacker("\x02").get<bool>());
}

TEST_CASE("a compiled file comes back unless a byte differs", "[file]") {
  std::vector<std::byte> bytes = serialize(CompiledFile{"a.cpp", std::string("\x7f"
                                                                             "ELF\0 object",
                                                                             12)});
  Result<CompiledFile> back = deserializeCompiledFile(bytes);
  REQUIRE(back);
  CHECK(back->source == "a.cpp");
  CHECK(back->object == std::string("\x7f"
                                    "ELF\0 object",
                                    12));
  for (std::byte &byte : bytes) {
    byte ^= std::byte(1);
    CHECK_FALSE(deserializeCompiledFile(bytes));
    byte ^= std::byte(1);
  }
  bytes.pop_back();
  CHECK(deserializeCompiledFile(bytes).error().message == "it is a compiled file that is damaged");
  CHECK(deserializeCompiledFile({}).error().message == "it is no compiled file of this version");
}

TEST_CASE("the header is taken as compiled before where nothing can change it", "[file]") {
  for (const char *source :
       {"#include <tlc/kernel.h>\nint x;", "// a comment\n/* another * / one */ # include \"tlc/kernel.h\"\n",
        "\r\n\n  #\tinclude <tlc/kernel.h>",
        "#include <cmath>\n#include <tlc/compiler/dsl/Counts.h>\n#include <tlc/kernel.h>"})
    CHECK(beginsWithHeader(source));
  for (const char *source :
       {"", "int x;\n#include <tlc/kernel.h>", "#define N 2\n#include <tlc/kernel.h>", "#include <vector>",
        "#include <cmath", "#include <own.h>\n#include <tlc/kernel.h>",
        "// goes on \\\n#include <tlc/kernel.h>\n", "/* never ends #include <tlc/kernel.h>",
        "#pragma once\n#include <tlc/kernel.h>"})
    CHECK_FALSE(beginsWithHeader(source));
}
