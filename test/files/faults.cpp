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
  add(file, "misspelt").program([](Scope &, const Values &v) { (void)v["tyle"]; });
  add(file, "truncated").number("cap", 0.5, {.help = "of X"}).program([](Scope &, const Values &v) {
    (void)v["cap"];
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
    Index n = k.dim("length");
    Global X = k.input("X", f32, {n});
  });
  add(file, "scalar").program([](Scope &k) {
    copyOnce(k);
    (void)k.scalar("factor", f32);
  });
  add(file, "unknown_output").reference("Z", [](const HostInputs &) { return [](int64_t) { return 0.0; }; });
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
  add(file, "wrong").reference("Y", [](const HostInputs &in) {
    return [X = in.tensor("X")](int64_t i) { return X(i) + 1; };
  });
}
