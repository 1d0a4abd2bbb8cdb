// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `new`.
#include "tools/tlc/New.h"

#include "kernels/file/UserFile.h"
#include "runtime/support/Excerpt.h"
#include "tools/tlc/Messages.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

/// NAME stands for the file's name.
constexpr StringRef beginning = R"(// A kernel of your own. Try:
//
//   tlc run NAME --verify               on the GPU, or on the emulator with its checker
//   tlc run NAME -D n=5 -D factor=2     with other values
//   tlc compile NAME --remarks          PTX, and what the compiler chose
//   tlc bench NAME                      on a GPU
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

/// What one block does: Z = factor X + Y for some rows and columns. Boxes may extend beyond a tensor: what is
/// outside reads as 0 and is not written.
void scaledAdd(Scope &k, const Values &v) {
  const int64_t rows = v["rows"], columns = 128; // of a block, known while compiling
  Index m = k.dim("m"), n = k.dim("n");          // of the tensors, known at launch
  Global X = k.input("X", bf16, {m, n}), Y = k.input("Y", bf16, {m, n}), Z = k.output("Z", bf16, {m, n});
  auto [i, j] = k.grid(ceilDiv(m, rows), ceilDiv(n, columns));
  auto tileOf = [&](const Global &tensor) { return tensor.tile({i * rows, j * columns}, {rows, columns}); };
  Fragment x = k.fragment(bf16, {rows, columns}), y = k.fragment(bf16, {rows, columns});
  copy(tileOf(X), x);
  copy(tileOf(Y), y);
  copy((x.to(f32) * v.number("factor") + y.to(f32)).to(bf16), tileOf(Z));
}

/// What tlc is to know of it.
void registerKernels(KernelFile &file) {
  file.kernel("scaled_add", "Z = factor X + Y")
      .size("m", 4096, {.onEmulator = 100}) // -D m=...; the program runs for any
      .size("n", 4096, {.onEmulator = 300})
      .constant("rows", 32, {.least = 8, .most = 64, .multipleOf = 8, .help = "rows of a block"})
      .number("factor", 0.5)
      .program(scaledAdd)
      .reference("Z", // in double precision: from the inputs to a function of the position
                 [](const HostInputs &in) {
                   HostArray X = in.tensor("X"), Y = in.tensor("Y");
                   double factor = in.values.number("factor");
                   return [=](int64_t i, int64_t j) { return factor * X(i, j) + Y(i, j); };
                 })
      .tolerance("Z", {.limit = 0.01, .floor = 1}) // |actual - expected| / max(|expected|, floor)
      .flops([](const Values &v) { return 2.0 * double(v["m"]) * double(v["n"]); });
}
)";

} // namespace

NewCommand::NewCommand()
    : command("new", "Write a file of kernels to begin with"),
      file(cl::sub(command), cl::Positional, cl::value_desc("file.cpp"), cl::desc("<file.cpp>")),
      json("json", cl::sub(command), cl::desc("Report as one JSON object")) {}

ExitCode NewCommand::execute() const {
  auto named = kernels::FileKernelName::parse(file.getValue());
  if (!named || !named->kernel.empty())
    return failUsage("expected the name of a file that ends in .cpp, .cc or .cxx, but got '" + excerpt(file) +
                     "'");
  // Whatever is there already stays.
  std::unique_ptr<std::FILE, decltype([](std::FILE *stream) { std::fclose(stream); })> stream(
      std::fopen(file.c_str(), "wx"));
  std::string text = beginning.str();
  for (size_t at = 0; (at = text.find("NAME", at)) != std::string::npos; at += file.size())
    text.replace(at, 4, file);
  if (!stream || std::fwrite(text.data(), 1, text.size(), stream.get()) != text.size() ||
      std::fflush(stream.get()) != 0)
    return fail("cannot write '" + excerpt(file) + "': " + std::strerror(errno));
  if (json)
    outs() << json::Value(json::Object{{"file", json::fixUTF8(file)}}) << '\n';
  else
    outs() << "wrote " << file << "; now: tlc run " << file << " --verify\n";
  return ExitCode::success;
}
