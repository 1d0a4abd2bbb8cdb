// SPDX-License-Identifier: Apache-2.0
/// \file
/// Options as text.
#include "compiler/pipeline/Options.h"

std::string tlc::fingerprint(const CompileOptions &options) {
  const Optimizations &o = options.optimizations;
  std::string text = options.target;
  for (bool on : {o.tma, o.wgmma, o.warpSpecialization, o.overlap, o.deferredStores})
    text += on ? '+' : '-';
  return text;
}
