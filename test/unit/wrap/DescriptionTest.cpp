// SPDX-License-Identifier: Apache-2.0
/// \file
/// What descriptions of kernels say, and the messages for mistakes in them.
#include "tools/wrap/Description.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::wrap;

namespace {

Description parsed(std::string_view text) {
  Result<Description> description = parseDescription(text, "k.txt");
  INFO((description ? "" : description.error().message));
  REQUIRE(description);
  return std::move(*description);
}

std::string mistake(std::string_view text) {
  Result<Description> description = parseDescription(text, "k.txt");
  return description ? "" : description.error().message;
}

/// The message for a line after a tensor.
std::string mistakeIn(std::string_view line) {
  const std::string begin = "kernel k\ninput f32 X [n]\n";
  return mistake(begin + std::string(line) + "\nlaunch e\ngrid n\nthreads 32\nparameters X");
}

const Launch &launchOf(const Description &description, size_t number = 0) {
  return description.artifact.variants.front().launches[number];
}

} // namespace

TEST_CASE("a description says what an artifact has", "[wrap]") {
  const Description description = parsed(R"(# of a library
kernel k
dimension n, 8 to 4096, multiple of 8     # of the columns
input bf16 X [m, n], any strides, aligned 4
input f32 table [16, m]
output f32 Y [m, half], zeros
)"
                                         "dimension half2 = (n + 1) / 2 * min(m, 4)\n"
                                         R"(scalar f32 a
scalar i64 b
workspace f32 partial [multiprocessors, ceilDiv(n, 64)], zeros, aligned 16
launch _Z1kPfS_
  grid multiprocessors, ceilDiv(m, 2) - 1, max(1, m % 3)
  threads 8, 4, 2
  cluster 2
  shared 4096
  parameters X, X.stride[0], i32(X.stride[1]), n, i64(m), half2, a, b, map(table, [16, 8], swizzle 32), partial
launch second
  grid 1
  threads 128
)");
  const Artifact &artifact = description.artifact;
  CHECK(artifact.name == "k");
  REQUIRE(artifact.dimensions.size() == 4);
  CHECK(artifact.dimensions[0].name == "n");
  CHECK(artifact.dimensions[0].least == 8);
  CHECK(artifact.dimensions[0].most == 4096);
  CHECK(artifact.dimensions[0].multipleOf == 8);
  CHECK(artifact.dimensions[1].name == "m");
  CHECK(artifact.dimensions[3].computed->evaluate({7, 9, 0}, 1) == 16);
  REQUIRE(artifact.tensors.size() == 4);
  CHECK(artifact.tensors[0].strided);
  CHECK_FALSE(artifact.tensors[0].contiguous);
  CHECK(artifact.tensors[0].alignment == 4);
  CHECK(artifact.tensors[1].contiguous);
  CHECK(artifact.tensors[1].shape[0].constant == 16);
  CHECK(artifact.tensors[2].access == Access::output);
  CHECK(artifact.tensors[2].zeroFill);
  CHECK(artifact.tensors[3].workspaceShape[1].evaluate({65, 0, 0, 0}, 1) == 2);
  CHECK(artifact.tensors[3].zeroFill);
  CHECK(artifact.scalars[1].element == ElementType::i64);
  const Launch &launch = launchOf(description);
  CHECK(launch.entry == "_Z1kPfS_");
  CHECK(launch.grid[1].evaluate({0, 9, 0, 0}, 1) == 4);
  CHECK(launch.grid[2].evaluate({0, 8, 0, 0}, 1) == 2);
  CHECK(launch.threads == 64);
  CHECK(launch.block() == std::array<unsigned, 3>{8, 4, 2});
  CHECK(launch.cluster == std::array<unsigned, 3>{2, 1, 1});
  CHECK(launch.sharedBytes == 4096);
  using Kind = KernelParameter::Kind;
  std::vector<Kind> kinds;
  std::vector<unsigned> widths;
  for (const KernelParameter &parameter : launch.parameters)
    kinds.push_back(parameter.kind), widths.push_back(parameter.bytes);
  CHECK(kinds == std::vector{Kind::tensorPointer, Kind::tensorStride, Kind::tensorStride, Kind::dimension,
                             Kind::dimension, Kind::dimension, Kind::scalar, Kind::scalar, Kind::tensorMap,
                             Kind::tensorPointer});
  CHECK(widths == std::vector<unsigned>{0, 0, 4, 0, 8, 0, 0, 0, 0, 0});
  REQUIRE(launch.tensorMaps.size() == 1);
  CHECK(launch.tensorMaps[0].box == std::vector<int64_t>{16, 8});
  CHECK(launch.tensorMaps[0].swizzle == Swizzle::bytes32);
  CHECK(launchOf(description, 1).parameters.empty());
  CHECK(description.launches[0].texts[2] == "i32(X.stride[1])");
  CHECK(description.launches[0].parameters[1].column == 17);
}

TEST_CASE("a description is whole", "[wrap]") {
  CHECK(mistake("") == "k.txt:1:1: expected 'kernel' and its name, but got the end");
  CHECK(mistake("\n# nothing\ninput f32 X [n]") ==
        "k.txt:3:1: expected 'kernel' and its name first, but got 'input'");
  CHECK(mistake("kernel k\nkernel l") == "k.txt:2:1: expected one 'kernel', but got another one");
  CHECK(mistake("kernel k\n") == "k.txt:2:1: expected 'launch' and the name of an entry, but got the end");
  CHECK(mistake("kernel k\nlaunch e\nthreads 1") ==
        "k.txt:2:1: expected 'grid' after 'launch e', but got none");
  CHECK(mistake("kernel k\nlaunch e\ngrid 1\nlaunch f") ==
        "k.txt:2:1: expected 'threads' after 'launch e', but got none");
  CHECK(mistake("kernel k\ngrid 1") == "k.txt:2:1: expected 'launch' before 'grid'");
  CHECK(mistake("kernel k\nlaunch e\ngrid 1\nthreads 2\ngrid 3") ==
        "k.txt:5:1: expected 'grid' once for 'e', but got another one");
  CHECK(mistake("kernel k\ndimension n\nlaunch e\ngrid n\nthreads 1") ==
        "k.txt:2:11: expected a tensor with the extent 'n', which has its value, but got none");
  CHECK(mistake("kernel k\ninput f32 X [n], outer strides\nlaunch e\ngrid n\nthreads 1\nparameters X") ==
        "k.txt:2:7: expected a parameter that is a stride or map of 'X', because it has strides of its own; "
        "without 'strides' it has no gaps");
}

TEST_CASE("mistakes in a description have their place", "[wrap]") {
  CHECK(mistakeIn("") == "");
  CHECK(mistakeIn("inptu f32 Y [n]") ==
        "k.txt:3:1: expected a statement, but got 'inptu'; the nearest name is "
        "'input'");
  CHECK(mistakeIn("input f23 Y [n]") ==
        "k.txt:3:7: expected an element type, such as f32 or bf16, but got 'f23'");
  CHECK(mistakeIn("input f32 X [n]") == "k.txt:3:11: expected a new name, but line 2 has 'X'");
  CHECK(mistakeIn("scalar f32 n") == "k.txt:3:12: expected a new name, but line 2 has 'n'");
  CHECK(mistakeIn("input f32 multiprocessors [n]") ==
        "k.txt:3:11: expected another name, because 'multiprocessors' is their number on the device");
  CHECK(mistakeIn("input f32 Y n") == "k.txt:3:13: expected '[', but got 'n'");
  CHECK(mistakeIn("input f32 Y [n") == "k.txt:3:15: expected ',', but got the end of the line");
  CHECK(mistakeIn("input f32 Y [n], zeros") ==
        "k.txt:3:18: expected 'zeros' for a workspace or an output alone");
  CHECK(mistakeIn("input f32 Y [n], aligned 3000") ==
        "k.txt:3:26: expected a number from 1 to 256, but got '3000'");
  CHECK(mistakeIn("input f32 Y [n] aligned 4") ==
        "k.txt:3:17: expected the end of the line, but got 'aligned'");
  CHECK(mistakeIn("scalar e2m1 a") == "k.txt:3:8: expected a type of whole bytes, but got 'e2m1'");
  CHECK(mistakeIn("dimension n, 5 to 4") ==
        "k.txt:3:20: expected limits of 'n' in ascending order, but got 5 and 4");
  CHECK(mistakeIn("dimension n, multiple of 0") ==
        "k.txt:3:26: expected a number from 1 to 2147483647, but got '0'");
  CHECK(mistakeIn("dimension n, about 4") ==
        "k.txt:3:14: expected '<least> to <most>', 'at least', 'at most' or "
        "'multiple of', but got 'about'");
  CHECK(mistakeIn("dimension h = m / 2") ==
        "k.txt:3:15: expected a dimension that a line before names, but got 'm'");
  CHECK(mistakeIn("dimension h = multiprocessors") ==
        "k.txt:3:15: expected an extent that does not depend on 'multiprocessors'");
  CHECK(mistakeIn("workspace f32 w [n]\ninput f32 Y [n]") ==
        "k.txt:4:7: expected workspaces after the other tensors, but got one before");
  CHECK(mistakeIn("input f32 Y [99999999999999999999]") ==
        "k.txt:3:14: expected a number from 0 to 2147483647, but got '99999999999999999999'");
  CHECK(mistakeIn(std::string("dimension h = ") + std::string(1000, '(')) ==
        "k.txt:3:32: expected at most 16 parentheses in each other");
}

TEST_CASE("mistakes of launches have their place", "[wrap]") {
  const auto of = [](std::string_view line) {
    return mistake("kernel k\ninput f32 X [n]\nscalar f32 a\nlaunch e\n" + std::string(line));
  };
  CHECK(of("grid") ==
        "k.txt:5:5: expected a number, a dimension or an expression of them, but got the end of "
        "the line");
  CHECK(of("grid 1, 2, 3, 4") == "k.txt:5:13: expected the end of the line, but got ','");
  CHECK(of("grid ceilDiv(n 4)") == "k.txt:5:16: expected ',', but got '4'");
  CHECK(of("threads 0") == "k.txt:5:9: expected a number from 1 to 1024, but got '0'");
  CHECK(of("threads n") == "k.txt:5:9: expected a number from 1 to 1024, but got 'n'");
  CHECK(of("shared -1") == "k.txt:5:8: expected a number from 0 to 1048576, but got '-'");
  CHECK(of("parameters Y") ==
        "k.txt:5:12: expected a tensor, scalar or dimension of a line before, but got 'Y'");
  CHECK(of("parameters X.stride[1]") == "k.txt:5:21: expected a number from 0 to 0, but got '1'");
  CHECK(of("parameters X.shape") == "k.txt:5:14: expected 'stride', but got 'shape'");
  CHECK(of("parameters i64(a)") == "k.txt:5:16: expected a dimension or stride in i64, but got 'a'");
  CHECK(of("parameters map(X, [8], swizzle 48)") ==
        "k.txt:5:32: expected a swizzle of 32, 64 or 128 bytes, but got 48");
  CHECK(of("parameters X;") == "k.txt:5:13: expected the end of the line, but got ';'");
}
