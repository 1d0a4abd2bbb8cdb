// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels whose own code goes wrong, each in another way.
#include <csignal>
#include <cstdlib>
#include <tlc/kernel.h>
#include <unistd.h>

using namespace tlc;
using namespace tlc::dsl;

namespace {
void copyOnce(Scope &k) {
  Index n = k.dim("n");
  Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n});
  Fragment x = k.fragment(f32, {128});
  copy(X.tile({0}, {128}), x);
  copy(x, Y.tile({0}, {128}));
}

KernelEntry &add(KernelFile &file, const char *name, Loc where = Loc::current()) {
  return file.kernel(name, "", where).size("n", 128).program(copyOnce);
}
} // namespace

void registerKernels(KernelFile &file) {
  add(file, "segfault").program([](Scope &) { std::raise(SIGSEGV); });
  add(file, "exits").program([](Scope &) { std::exit(0); });
  add(file, "throws").program([](Scope &k) {
    k.loop(4, [](Index) { throw std::runtime_error("no such thing"); });
  });
  add(file, "throws_a_number").program([](Scope &) { throw 3; });
  add(file, "hangs").program([](Scope &) {
    for (;;)
      pause();
  });
  add(file, "misspelt").constant("tile", 64).program([](Scope &, const Values &v) {
    (void)v["tiel"]; // of a tile
  });
  add(file, "truncated").number("cap", 0.5, {.help = "of X"}).program([](Scope &, const Values &v) {
    (void)v["cap"]; // as an integer
  });
  // Ends its pipe, and goes on.
  add(file, "closes").program([](Scope &) {
    for (int file = 0; file < 64; ++file)
      close(file);
    for (;;)
      pause();
  });
  add(file, "mistaken").program([](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", f32, {n}), Y = k.output("Y", f16, {n});
    Fragment x = k.fragment(f32, {128});
    copy(X.tile({0}, {128}), x);
    copy(x, Y.tile({0}, {128})); // f32 is no f16
  });
  add(file, "no_size").program([](Scope &k) {
    Index n = k.dim("length"); // has no size
    Global X = k.input("X", f32, {n});
  });
  add(file, "scalar").program([](Scope &k) {
    copyOnce(k);
    (void)k.scalar("factor", f32); // is not declared
  });
  add(file, "scalar_type").scalar("factor", f32, 2).program([](Scope &k) {
    copyOnce(k);
    (void)k.scalar("factor", i32); // is of f32
  });
  add(file, "scalar_and_size").size("factor", 2).program([](Scope &k) {
    copyOnce(k);
    (void)k.scalar("factor", i32); // is a size
  });
  add(file, "scalar_and_extent").scalar("m", i32, 2).program([](Scope &k) {
    copyOnce(k);
    (void)k.input("Z", f32, {k.dim("m")}); // is a scalar
  });
  add(file, "scalar_traced").scalar("factor", f32, 2).program([](Scope &k, const Values &v) {
    copyOnce(k);
    (void)v.number("factor"); // before a launch
  });
  const auto zeros = [](const HostInputs &) { return [](int64_t) { return 0.0; }; };
  add(file, "unknown_output")
      .tolerance("Y", {.limit = 1})
      .reference("Y", zeros)
      .reference("YY", zeros); // is no output
  add(file, "no_reference");
  add(file, "reference_aborts").reference("Y", [](const HostInputs &) -> HostElement { std::abort(); });
  add(file, "reference_outside").reference("Y", [](const HostInputs &in) {
    return [X = in.tensor("X")](int64_t i) { return X(i + 1); };
  });
  add(file, "reference_rank").reference("Y", [](const HostInputs &) {
    return [](int64_t i, int64_t j) { return double(i + j); };
  });
  add(file, "contents_exit").contents("X", [](const HostInputs &) {
    return [](int64_t) -> double { std::exit(7); };
  });
  add(file, "flops_throw").flops([](const Values &) -> double { throw std::runtime_error("not counted"); });
  add(file, "reference_tensor").reference("Y", [](const HostInputs &in) {
    return [X = in.tensor("Z")](int64_t i) { return X(i); };
  });
  add(file, "wrong").tolerance("Y", {.limit = 1e-4, .floor = 1000}).reference("Y", [](const HostInputs &in) {
    return [X = in.tensor("X")](int64_t i) { return X(i) + (i == 5 ? 1 : i == 70 ? 2 : 0); };
  });
  // Errors and limits of different sizes: each output has its own.
  const auto same = [](const HostInputs &in) { return [X = in.tensor("X")](int64_t i) { return X(i); }; };
  add(file, "two_outputs")
      .program([](Scope &k) {
        Index n = k.dim("n");
        Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n}), Z = k.output("Z", f32, {n});
        Fragment x = k.fragment(f32, {128});
        copy(X.tile({0}, {128}), x);
        copy(x + 0.5, Y.tile({0}, {128}));
        copy(x, Z.tile({0}, {128}));
      })
      .reference("Y", same)
      .reference("Z", same)
      .tolerance("Y", {.limit = 0.625, .floor = 1})
      .tolerance("Z", {.limit = 1e6, .floor = 1});
}
