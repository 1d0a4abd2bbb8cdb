// SPDX-License-Identifier: Apache-2.0
/// \file
/// The entries of a store as one file, for another machine.
#pragma once

#include "runtime/cache/EntryStore.h"

#include <cstdint>
#include <filesystem>

namespace tlc {

/// What was written or read.
struct Archived {
  uint64_t entries = 0, bytes = 0;
  uint64_t unreadable = 0; ///< entries of the store that were left out
};

/// Writes all entries that can be read and pass the check. The file appears whole.
Result<Archived> exportEntries(const EntryStore &store, const std::filesystem::path &file,
                               const EntryStore::Check &check);

/// Stores what the file has. It is read whole before anything is stored: if a part is damaged or fails the
/// check, nothing is. Whoever wrote it chooses what runs here, as whoever writes the store.
Result<Archived> importEntries(const EntryStore &store, const std::filesystem::path &file,
                               const EntryStore::Check &check);

} // namespace tlc
