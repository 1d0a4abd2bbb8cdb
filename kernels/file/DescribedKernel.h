// SPDX-License-Identifier: Apache-2.0
/// \file
/// Entries as kernels like those of the registry, wherever their functions run.
#pragma once

#include "kernels/Registry.h"
#include "kernels/file/Entries.h"

#include <memory>

namespace tlc::kernels {

/// Asks the functions of entries, by the entry's number. Safe to use from several threads.
class KernelSource {
public:
  virtual ~KernelSource() = default;
  /// A name for the code, for the keys of compiled programs; empty for what is part of tlc.
  virtual std::string code() const { return {}; }
  /// The file that it is from; empty for what is part of tlc.
  virtual std::string file() const { return {}; }
  virtual Result<std::string> trace(size_t kernel, const ParameterTexts &values,
                                    const dsl::TraceOptions &options) const = 0; ///< `traceEntry`
  virtual Result<std::string> numbers(size_t kernel, const ParameterTexts &values,
                                      const NumbersQuestion &question) const = 0; ///< `numbersOfEntry`
};

/// `source` outlives the kernels, one for each description.
std::vector<std::unique_ptr<const Kernel>> kernelsOf(const KernelSource &source,
                                                     std::vector<KernelDescription> descriptions);

} // namespace tlc::kernels
