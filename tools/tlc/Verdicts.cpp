// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/Verdicts.h"

#include "runtime/support/Printable.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <limits>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

void writeOutput(json::OStream &os, const kernels::OutputVerdict &output) {
  // JSON has no infinity.
  os.attribute("largest_error", std::min(output.largestError, std::numeric_limits<double>::max()));
  os.attribute("limit", output.limit);
  os.attribute("compared", output.compared);
  os.attribute("elements", output.elements);
  os.attribute("correct", output.correct());
  if (!output.correct())
    os.attribute("complaint", json::fixUTF8(output.complaint));
}

} // namespace

void tlc::driver::printVerdict(raw_ostream &os, const kernels::Verdict &verdict) {
  for (const kernels::OutputVerdict &output : verdict.each)
    os << (verdict.each.size() == 1 ? "" : printable(output.name, 200) + ": ")
       << formatv("largest error {0:e2}, limit {1:e2}, {2} of {3} elements compared: {4}\n",
                  output.largestError, output.limit, output.compared, output.elements,
                  output.correct() ? "ok" : "WRONG");
}

void tlc::driver::writeVerdict(json::OStream &os, const kernels::Verdict &verdict) {
  writeOutput(os, verdict);
  os.attributeArray("comparisons", [&] {
    for (const kernels::OutputVerdict &output : verdict.each)
      os.object([&] {
        os.attribute("output", json::fixUTF8(output.name));
        writeOutput(os, output);
      });
  });
}
