// SPDX-License-Identifier: Apache-2.0
/// \file
/// What text that is not PTX, and launches that no device takes, are told.
#include "runtime/emulator/ptx/Parser.h"
#include "test/unit/emulator/Harness.h"

#include <catch2/catch.hpp>
#include <random>
#include <unistd.h>

using namespace tlc::emulator;
using namespace tlc::emulator::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

const std::string head = ".version 8.7\n.target sm_90a\n.address_size 64\n";

/// What loading the text says, with the usual lines in front of it.
std::string loadError(const std::string &text) {
  auto program = loadProgram(head + text);
  return program ? std::string() : program.error().message;
}
std::string bodyError(const std::string &body) { return loadError(".entry k() { " + body + " ret; }"); }

std::string repeated(std::string_view text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i)
    all += text;
  return all;
}

} // namespace

TEST_CASE("binary data is refused with its first character") {
  auto message = [](std::string_view text) {
    auto program = loadProgram(text);
    return program ? std::string() : program.error().message;
  };
  CHECK(message("\x7F"
                "ELF\x02\x01") == "PTX line 1: unexpected character with code 127");
  CHECK(message("\xEF\xBB\xBF.version 8.7") == "PTX line 1: unexpected character with code 239");
  CHECK(message("text") == "PTX line 1: unknown directive 'text'");
  CHECK(message(std::string_view("\0\0\0\0", 4)) == "PTX line 1: the module has no .target");
  CHECK(message(head + ".entry k\xC3\xA4() { ret; }") == "PTX line 4: unexpected character with code 195");
  const unsigned seed = Catch::rngSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::string noise(random() % 200, ' ');
    for (char &c : noise)
      c = char(random());
    CHECK(message(noise) != "");
  }
}

TEST_CASE("messages repeat the beginning of a long word") {
  const std::string word(100'000, 'x');
  const std::string beginning = std::string(200, 'x') + "... (100000 bytes)";
  CHECK(loadError(word) == "PTX line 4: unknown directive '" + beginning + "'");
  CHECK_THAT(bodyError(word + ";"), Contains("unknown instruction '" + beginning + "'"));
  CHECK_THAT(bodyError("bra " + word + ";"), Contains("'" + beginning + "'"));
  CHECK_THAT(bodyError(".reg .b32 %r; mov.b32 %r, " + word + ";"), Contains("'" + beginning + "'"));
  CHECK(loadError(".entry " + word + "() { x; }").size() < 500);
}

TEST_CASE("versions that nobody knows are refused") {
  auto message = [](const std::string &version) {
    auto program =
        loadProgram(".version " + version + "\n.target sm_80\n.address_size 64\n.entry k() { ret; }");
    return program ? std::string() : program.error().message;
  };
  CHECK(message("9.3") == "");
  CHECK(message("99.9") ==
        "PTX line 1: expected .version 9.x or older, which the emulator knows, but got 99.9; "
        "have the compiler emit an older one");
  for (const char *text : {"8", "8.x", "x.8", "8."})
    CHECK_THAT(message(text), StartsWith("PTX line 1: "));
}

TEST_CASE("numbers that are too large are refused where they stand") {
  CHECK(bodyError("mov.b64 %r, 99999999999999999999;") ==
        "PTX line 4: malformed or too large integer constant");
  CHECK(bodyError("mov.f64 %r, 1e999;") == "PTX line 4: malformed floating-point constant");
  CHECK(bodyError(".reg .b32 %r<4000000000>;") ==
        "PTX line 4: too many registers; the limit is 131072 of a function and 4194304 of a module");
  CHECK(bodyError(".reg .b32 %r<18446744073709551615>; .reg .b32 %q<2>;") ==
        "PTX line 4: too many registers; the limit is 131072 of a function and 4194304 of a module");
  std::string functions;
  for (int i = 0; i < 33; ++i)
    functions += ".func f" + std::to_string(i) + "() { .reg .b32 %r<130000>; ret; }\n";
  CHECK(loadError(functions) ==
        "PTX line 36: too many registers; the limit is 131072 of a function and 4194304 of a module");
  CHECK(bodyError(".reg .b128 %q<120000>;") == "");
  CHECK(loadError(".func f() { .reg .b128 %q<70000>; ret; } .func g() { .reg .b128 %q<70000>; ret; }\n"
                  ".entry k() { call.uni f; call.uni g; ret; }") ==
        "PTX line 5: 'k' and what it calls have too many registers; the limit is 2097152 bytes of a thread");
  CHECK(loadError(".entry k() .maxntid 65536, 1, 1 { ret; }") ==
        "PTX line 4: .maxntid has too many or too large values");
  CHECK(loadError(".entry k() .reqntid 1, 1, 1, 1 { ret; }") ==
        "PTX line 4: .reqntid has too many or too large values");
}

TEST_CASE("variables that are too large, or misplaced, are refused") {
  CHECK(loadError(".shared .b8 x[99999999999];") == "PTX line 4: 'x' is too large");
  CHECK(loadError(".global .b64 x[4294967296][4294967296][4294967296];") == "PTX line 4: 'x' is too large");
  CHECK(loadError(".global .v4 .b64 x[4294967295];") == "PTX line 4: 'x' is too large");
  CHECK(loadError(".global .align 3 .b8 x[4];") ==
        "PTX line 4: expected an alignment that is a power of two, but got 3");
  CHECK(loadError(".global .align 0 .b8 x[4];") ==
        "PTX line 4: expected an alignment that is a power of two, but got 0");
  CHECK(loadError(".global .align 18446744073709551615 .b8 x[4];") ==
        "PTX line 4: expected an alignment that is a power of two, but got 18446744073709551615");
  CHECK(loadError(".global .b8 x[2] = {1, 2, 3};") ==
        "PTX line 4: 'x' has more initial values than elements");
  CHECK(loadError(".global .b8 x[2] = " + std::string(100000, '{') + "1" + std::string(100000, '}') + ";") ==
        "PTX line 4: the initial value of 'x' is nested too deeply");
  CHECK(loadError(".global .b32 x = y;") == "PTX line 4: an address in an initialiser needs 64-bit elements");
  CHECK(loadError(".global .b64 x = y;") == "the initial value of 'x' names unknown 'y'");
  CHECK(loadError(".global .b128 x = 1;") ==
        "PTX line 4: elements of 16 bytes, as 'x' has, take no initial values");
  CHECK(loadError(".global .b128 x = 0d3FF0000000000000;") ==
        "PTX line 4: elements of 16 bytes, as 'x' has, take no initial values");
  CHECK(loadError(".global .b8 x[4]; .global .b8 x[8];") == "variable 'x' is defined twice");
  CHECK(loadError(".extern .global .b8 x[4]; .global .b8 x[4];") == "");
  // Of a large variable with few values only those take memory.
  CHECK(loadError(".global .b8 x[4000000000] = {1};") == "");
  CHECK_THAT(loadError(".shared .b8 x[2000000]; .entry k() { .reg .b32 %r; mov.u32 %r, x; ret; }"),
             StartsWith("'k' has 2000000 bytes of static shared memory, more than "));
  CHECK(bodyError(".local .b8 x[600000];") == "'k' needs more than 524288 bytes of local memory");
  CHECK(loadError(".entry k(.param .b8 x[40000]) { ret; }") == "'k' has more than 32764 bytes of parameters");
}

TEST_CASE("names are declared once") {
  CHECK(bodyError(".reg .b32 x; .reg .b64 x;") == "PTX line 4: register 'x' is declared twice");
  CHECK(bodyError(".reg .b32 %r<4>; .reg .b64 %r<8>;") == "PTX line 4: register '%r' is declared twice");
  CHECK(bodyError(".shared .b8 s[4]; .shared .b8 s[4];") == "PTX line 4: variable 's' is declared twice");
  CHECK(bodyError("x: x:") == "PTX line 4: label 'x' is defined twice");
  CHECK(loadError(".entry k() { ret; } .entry k() { ret; }") == "PTX line 4: 'k' is defined twice");
  // Globals of two functions may have the same name.
  CHECK(loadError(".entry k() { .global .b32 g; ret; } .entry l() { .global .b64 g; ret; }") == "");
}

TEST_CASE("nesting has an end") {
  CHECK(bodyError(repeated("{", 100000)) == "PTX line 4: the braces of 'k' are nested too deeply");
  CHECK(bodyError("mov.b32 " + repeated("!", 100000) + "x;") ==
        "PTX line 4: a constant expression is nested too deeply");
  CHECK(bodyError("mov.b32 " + repeated("[", 100000) + ";") == "PTX line 4: operands are nested too deeply");
  std::string chain = ".func f0() { ret; }\n";
  for (int i = 1; i < 2000; ++i)
    chain += ".func f" + std::to_string(i) + "() { call.uni f" + std::to_string(i - 1) + "; ret; }\n";
  CHECK(loadError(chain + ".entry k() { call.uni f1999; ret; }") == "");
}

TEST_CASE("text that ends early says what is missing") {
  CHECK(loadError(".entry k") == "PTX line 4: expected a function directive or '{', but got ''");
  CHECK(loadError(".entry k(") == "PTX line 4: expected '.param', but got ''");
  CHECK(loadError(".entry k() {") == "PTX line 4: expected '}' of 'k', but the text ends");
  CHECK(loadError(".entry k() { { ret; }") == "PTX line 4: expected '}' of 'k', but the text ends");
  CHECK(loadError(".global .b32 x") == "PTX line 4: expected ';', but the text ends");
  CHECK(loadError(".section .debug { .b8 1") == "PTX line 4: expected '}', but the text ends");
  CHECK(loadError(".pragma \"x\"") == "PTX line 4: expected ';', but the text ends");
  CHECK(loadError(".file 1 \"a") == "PTX line 4: unterminated string");
  CHECK(loadError("}") == "PTX line 4: unknown directive '}'");
  CHECK(bodyError(".nonsense 3;") == "PTX line 4: unknown directive '.nonsense'");
  CHECK(bodyError("ret; }") == "PTX line 4: unknown directive 'ret'");
}

TEST_CASE("launches beyond the limits are refused") {
  auto program = loadProgram(head + ".entry k() { ret; }");
  REQUIRE(program);
  Machine machine;
  machine.target = tlc::findTarget("sm_90a");
  const auto message = [&](LaunchConfiguration launch) {
    if (launch.entry.empty())
      launch.entry = "k";
    auto done = runGrid(**program, launch, MemoryMap({}), machine);
    return done ? std::string() : done.error().message;
  };
  CHECK(message({}) == "");
  CHECK(message({.entry = "l"}) == "the module has no entry 'l'");
  CHECK(message({.grid = {0, 1, 1}}) == "'k' is launched with a grid of (0, 1, 1) blocks, the limits are "
                                        "(2147483647, 65535, 65535) and at least 1");
  CHECK(message({.grid = {0x80000000, 1, 1}}) == "'k' is launched with a grid of (2147483648, 1, 1) blocks, "
                                                 "the limits are (2147483647, 65535, 65535) and "
                                                 "at least 1");
  CHECK(
      message({.grid = {0x7FFFFFFF, 65535, 65535}}) ==
      "'k' is launched with a grid of (2147483647, 65535, 65535) blocks, the limits are (2147483647, 65535, "
      "65535) and at least 1");
  CHECK(message({.block = {1025, 1, 1}}) ==
        "'k' is launched with blocks of (1025, 1, 1) threads, the limits are 1024 and 64 along z");
  CHECK(message({.block = {1, 1, 65}}) ==
        "'k' is launched with blocks of (1, 1, 65) threads, the limits are 1024 and 64 along z");
  CHECK(message({.block = {0xFFFFFFFF, 0xFFFFFFFF, 64}}) ==
        "'k' is launched with blocks of (4294967295, 4294967295, 64) threads, the limits are 1024 and 64 "
        "along z");
  CHECK(message({.block = {0, 1, 1}}) ==
        "'k' is launched with blocks of (0, 1, 1) threads, the limits are 1024 and 64 along z");
  CHECK(message({.grid = {64, 1, 1}, .cluster = {32, 1, 1}}) ==
        "'k' is launched with clusters of (32, 1, 1) blocks, the limit is 16");
  CHECK(failure({.body = "", .target = "sm_80", .blocks = 2, .cluster = 2}) ==
        "'k' is launched with clusters of (2, 1, 1) blocks, but sm_80 has no clusters; expected (1, 1, 1), "
        "or a "
        "device of sm_90a or later (--target)");
  CHECK(message({.cluster = {0x80000000, 0x80000000, 0x80000004}}) ==
        "'k' is launched with clusters of (2147483648, 2147483648, 2147483652) blocks, the limit is 16");
  CHECK(message({.grid = {3, 1, 1}, .cluster = {2, 1, 1}}) ==
        "the grid (3, 1, 1) of 'k' is not a multiple of its clusters (2, 1, 1)");
  CHECK(message({.dynamicSharedBytes = 0xFFFFFFFF}) ==
        "'k' needs 4294967295 bytes of shared memory, the limit is 232448");
  const std::byte parameters[4] = {};
  CHECK(message({.parameters = parameters}) == "'k' takes 0 bytes of parameters, but got 4");
}

TEST_CASE("a cluster that needs more than half of the host's memory is refused") {
  const uint64_t host = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  if (host / 2 >> 20 >= 30000) {
    WARN("no kernel may have so many registers that this host is too small");
    return;
  }
  auto program = loadProgram(head + ".entry deep() { .reg .b128 %q<120000>; ret; }");
  REQUIRE(program);
  Machine machine;
  machine.target = tlc::findTarget("sm_90a");
  auto done =
      runGrid(**program, {.entry = "deep", .grid = {16, 1, 1}, .block = {1024, 1, 1}, .cluster = {16, 1, 1}},
              MemoryMap({}), machine);
  REQUIRE(!done);
  CHECK_THAT(
      done.error().message,
      StartsWith("a cluster of 'deep' needs 30000 MiB for its registers, local and shared memory, more than "
                 "half of the host's "));
}
