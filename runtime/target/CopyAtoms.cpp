// SPDX-License-Identifier: Apache-2.0
#include "runtime/target/CopyAtoms.h"

#include <algorithm>
#include <array>
#include <bit>

using namespace tlc;

namespace {

using enum MemoryScope;

constexpr CopyAtom vector(CopyKind kind, MemoryScope from, MemoryScope to) {
  return {.kind = kind, .from = from, .to = to, .minBytes = 1, .maxBytes = 16};
}

/// 8x8 matrices of 16-bit elements, one to four of them; every lane gives the
/// address of a row of 16 bytes and holds 4 bytes of each matrix.
constexpr CopyAtom matrix(CopyKind kind, MemoryScope from, MemoryScope to, int minSm) {
  return {.kind = kind,
          .from = from,
          .to = to,
          .executor = CopyExecutor::warp,
          .minBytes = 128,
          .maxBytes = 512,
          .alignment = 16,
          .minElementBytes = 2,
          .maxElementBytes = 2,
          .minSm = minSm};
}

// Between two scopes the first supported row is the one to prefer.
constexpr std::array atoms = {
    CopyAtom{.kind = CopyKind::tmaLoad,
             .from = global,
             .to = shared,
             .executor = CopyExecutor::oneThread,
             .completion = CopyCompletion::mbarrier,
             .alignment = 16,
             .minSm = 90},
    CopyAtom{.kind = CopyKind::cpAsync,
             .from = global,
             .to = shared,
             .completion = CopyCompletion::cpAsyncGroup,
             .minBytes = 4,
             .maxBytes = 16,
             .minSm = 80},
    CopyAtom{.kind = CopyKind::tmaStore,
             .from = shared,
             .to = global,
             .executor = CopyExecutor::oneThread,
             .completion = CopyCompletion::bulkGroup,
             .alignment = 16,
             .minSm = 90},
    matrix(CopyKind::ldmatrix, shared, registers, 75),
    matrix(CopyKind::stmatrix, registers, shared, 90),
    vector(CopyKind::vectorLoad, global, registers),
    vector(CopyKind::vectorLoad, shared, registers),
    vector(CopyKind::vectorStore, registers, global),
    vector(CopyKind::vectorStore, registers, shared),
};

} // namespace

std::span<const CopyAtom> tlc::allCopyAtoms() { return atoms; }

bool tlc::supports(const Target &target, const CopyAtom &atom) {
  if (target.sm() < atom.minSm)
    return false;
  switch (atom.kind) {
  case CopyKind::tmaLoad:
  case CopyKind::tmaStore:
    return target.tma.available;
  case CopyKind::cpAsync:
    return target.cpAsync;
  case CopyKind::stmatrix:
    return target.stmatrix;
  case CopyKind::vectorLoad:
  case CopyKind::vectorStore:
  case CopyKind::ldmatrix:
    return true;
  }
  return false;
}

std::vector<const CopyAtom *> tlc::findCopyAtoms(const Target &target, MemoryScope from, MemoryScope to) {
  std::vector<const CopyAtom *> found;
  for (const CopyAtom &atom : atoms) {
    if (atom.from == from && atom.to == to && supports(target, atom))
      found.push_back(&atom);
  }
  return found;
}

unsigned tlc::widestCopy(const CopyAtom &atom, unsigned alignment, unsigned contiguousBytes) {
  for (unsigned bytes = atom.maxBytes; bytes >= atom.minBytes && bytes > 0; bytes /= 2) {
    if (contiguousBytes % bytes == 0 && contiguousBytes > 0 && alignment % atom.alignmentFor(bytes) == 0)
      return bytes;
  }
  return 0;
}

std::string_view tlc::toString(CopyKind kind) {
  switch (kind) {
  case CopyKind::tmaLoad:
    return "TMA load";
  case CopyKind::tmaStore:
    return "TMA store";
  case CopyKind::cpAsync:
    return "cp.async";
  case CopyKind::vectorLoad:
    return "vector load";
  case CopyKind::vectorStore:
    return "vector store";
  case CopyKind::ldmatrix:
    return "ldmatrix";
  case CopyKind::stmatrix:
    return "stmatrix";
  }
  return "";
}
