// SPDX-License-Identifier: Apache-2.0
/// \file
/// Traces a program with the installed headers and library, and asks the C interface for its version.
#include <cstdio>
#include <tlc/compiler/dsl/dsl.h>
#include <tlc/tlc.h>

using namespace tlc::dsl;

int main() {
  Program program = Program::trace("copied", [](Scope &k) {
    Index n = k.dim("n");
    Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n});
    auto [block] = k.grid(ceilDiv(n, 128));
    Fragment x = k.fragment(f32, {128});
    copy(X.tile({block * 128}, {128}), x);
    copy(x, Y.tile({block * 128}, {128}));
  });
  std::printf("%s%s", program.errorText().c_str(), program.text().c_str());
  return program.ok() && tlc_version() == TLC_INTERFACE_VERSION ? 0 : 1;
}
