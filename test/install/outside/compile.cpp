// SPDX-License-Identifier: Apache-2.0
/// \file
/// Traces and compiles a program, and writes it to a file. compile FILE
#include <cstdio>
#include <fstream>
#include <tlc/kernels/library/Compile.h>
#include <tlc/runtime/artifact/Serialize.h>
#include <utility>
#include <vector>

using namespace tlc;

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  Result<Artifact> artifact = compile(dsl::Program::trace("add_scaled", [](dsl::Scope &k) {
    dsl::Index n = k.dim("n");
    dsl::Scalar factor = k.scalar("a", dsl::f32);
    dsl::Global X = k.input("X", dsl::f32, {n}), Y = k.inout("Y", dsl::f32, {n});
    auto [block] = k.grid(ceilDiv(n, 256));
    dsl::Fragment x = k.fragment(dsl::f32, {256}), y = k.fragment(dsl::f32, {256});
    copy(X.tile({block * 256}, {256}), x);
    copy(Y.tile({block * 256}, {256}), y);
    copy(factor * x + y, Y.tile({block * 256}, {256}));
  }));
  if (!artifact) {
    std::printf("%s\n", artifact.error().message.c_str());
    return 1;
  }
  const std::vector<std::byte> bytes = serialize(*artifact);
  std::ofstream(argv[1], std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
  // A mistake is an error with its line, and not the end of the process.
  Result<Artifact> wrong = compile(dsl::Program::trace("wrong", [](dsl::Scope &k) {
    dsl::Fragment x = k.fragment(dsl::f32, {256}), y = k.fragment(dsl::f32, {128});
    x = x + y;
  }));
  if (wrong || wrong.error().message.find("compile.cpp:") == std::string::npos) {
    std::printf("expected an error with its line\n");
    return 1;
  }
  return 0;
}
