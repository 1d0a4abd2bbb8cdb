// SPDX-License-Identifier: Apache-2.0
/// \file
/// The copy instructions of each target, as rows: from where to where, how
/// many bytes at once, with which alignment, who executes them and when the
/// copy is complete.
#pragma once

#include "runtime/target/Target.h"

#include <span>
#include <vector>

namespace tlc {

enum class CopyKind : uint8_t {
  tmaLoad,     ///< cp.async.bulk.tensor, global to shared
  tmaStore,    ///< cp.async.bulk.tensor, shared to global
  cpAsync,     ///< cp.async, global to shared
  vectorLoad,  ///< ld.global, ld.shared
  vectorStore, ///< st.global, st.shared
  ldmatrix,
  stmatrix,
};

enum class MemoryScope : uint8_t { global, shared, registers };

/// How one learns that a copy is complete.
enum class CopyCompletion : uint8_t {
  synchronous,  ///< in program order
  cpAsyncGroup, ///< cp.async.commit_group and wait_group, or an mbarrier arrive
  mbarrier,     ///< transaction bytes of an mbarrier
  bulkGroup,    ///< cp.async.bulk.commit_group and wait_group
};

/// Who executes one instruction of the row.
enum class CopyExecutor : uint8_t { everyThread, oneThread, warp };

struct CopyAtom {
  CopyKind kind = CopyKind::vectorLoad;
  MemoryScope from = MemoryScope::global;
  MemoryScope to = MemoryScope::registers;
  CopyExecutor executor = CopyExecutor::everyThread;
  CopyCompletion completion = CopyCompletion::synchronous;
  /// Bytes that one executor moves with one instruction: a power of two between
  /// these. TMA moves a box of any size within `Target::tma`; both are 0.
  unsigned minBytes = 0;
  unsigned maxBytes = 0;
  /// Required of every address, in bytes; 0 means the bytes moved.
  unsigned alignment = 0;
  /// Element sizes in bytes that the instruction can handle: a power of two between these.
  unsigned minElementBytes = 1;
  unsigned maxElementBytes = 8;
  int minSm = 0;

  bool asynchronous() const { return completion != CopyCompletion::synchronous; }
  bool isTma() const { return kind == CopyKind::tmaLoad || kind == CopyKind::tmaStore; }
  /// Alignment that a copy of `bytes` per executor asks for.
  unsigned alignmentFor(unsigned bytes) const { return alignment ? alignment : bytes; }
};

std::span<const CopyAtom> allCopyAtoms();
bool supports(const Target &target, const CopyAtom &atom);
/// The rows between two scopes on this target, the most preferable first.
std::vector<const CopyAtom *> findCopyAtoms(const Target &target, MemoryScope from, MemoryScope to);
/// Widest width in bytes, a power of two of at most `maxBytes` of the row, that
/// addresses aligned to `alignment` and runs of `contiguousBytes` permit; 0 if none.
unsigned widestCopy(const CopyAtom &atom, unsigned alignment, unsigned contiguousBytes);
std::string_view toString(CopyKind kind);

} // namespace tlc
