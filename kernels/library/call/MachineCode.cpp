// SPDX-License-Identifier: Apache-2.0
#include "kernels/library/call/MachineCode.h"

#include "compiler/codegen/Ptxas.h"
#include "runtime/support/Excerpt.h"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace tlc;
using namespace tlc::kernels;

namespace {

bool isMissing(const Variant &variant) {
  return !variant.launches.empty() && !variant.ptx.empty() && variant.cubin.empty();
}

/// A variant whose machine code is made.
struct Assembly {
  Variant *variant;
  std::string cubin = {}, failure = {};

  void make(const std::string &ptxas, const Target &target, const std::filesystem::path &folder) {
    llvm::Expected<MachineCode> code =
        assemble(ptxas, variant->ptx, target, SourceLines::keep, folder.native());
    if (code)
      cubin = std::move(code->cubin);
    else
      failure = llvm::toString(code.takeError());
  }
};

/// One line of ptxas's text, since `tlc cache list` has a line for each entry; files without the folder,
/// which is gone by then.
std::string noteOf(const std::string &failure, const std::filesystem::path &folder) {
  std::string note = failure.substr(0, failure.find('\n'));
  const std::string prefix = folder.native() + '/';
  for (size_t at; (at = note.find(prefix)) != note.npos;)
    note.erase(at, prefix.size());
  return excerpt(note);
}

} // namespace

void kernels::addMachineCode(CachedProgram &program, const std::filesystem::path &folder) {
  Artifact &artifact = program.artifact;
  const Target *target = findTarget(artifact.target);
  const std::optional<std::string> ptxas = findPtxas();
  if (!target || !ptxas) {
    program.note = "no ptxas was found";
    return;
  }
  std::vector<Assembly> assemblies;
  for (Variant &variant : artifact.variants)
    if (isMissing(variant))
      assemblies.push_back({&variant});
  // A process for each.
  std::vector<std::thread> threads;
  for (size_t i = 1; i < assemblies.size(); ++i)
    threads.emplace_back([&, i] { assemblies[i].make(*ptxas, *target, folder); });
  assemblies.front().make(*ptxas, *target, folder);
  for (std::thread &thread : threads)
    thread.join();
  for (const Assembly &assembly : assemblies)
    if (!assembly.failure.empty()) {
      program.note = noteOf(assembly.failure, folder);
      return;
    }
  for (Assembly &assembly : assemblies)
    assembly.variant->cubin = std::move(assembly.cubin);
}
