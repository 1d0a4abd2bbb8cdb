// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/RunResult.h"

#include "runtime/support/Printable.h"
#include "tools/tlc/FindingsJson.h"
#include "tools/tlc/Verdicts.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

std::string driver::digitsOf(const Hash128 &hash) {
  return formatv("{0:x-16}{1:x-16}", hash.high, hash.low).str();
}

void driver::printText(const RunResult &result) {
  constexpr size_t most = 200; // of a name: a report is not trusted
  outs() << printable(result.request.kernel->name(), most);
  for (const auto &[name, value] : result.request.values.values())
    outs() << ' ' << printable(name, most) << '=' << printable(value, most);
  const size_t ranks = result.run.ranks();
  outs() << "\non " << (ranks == 1 ? "" : formatv("{0} ranks of ", ranks).str())
         << result.device.properties().name << ", " << result.run.variant() << " variant, seed "
         << result.seed << formatv(": {0:f3} ms\n", result.milliseconds);
  if (const auto &verdict = result.verdict)
    printVerdict(outs(), *verdict);
}

void driver::printJson(const RunResult &result) {
  json::OStream os(outs());
  os.object([&] {
    os.attribute("kernel", json::fixUTF8(StringRef(result.request.kernel->name())));
    os.attributeObject("parameters", [&] {
      for (const auto &[name, value] : result.request.values.values())
        os.attribute(json::fixUTF8(name), json::fixUTF8(value));
    });
    os.attribute("device", result.device.properties().name);
    os.attribute("target", result.run.program().artifact().target);
    os.attribute("variant", result.run.variant());
    os.attribute("seed", result.seed);
    if (result.scheduleSeed)
      os.attribute("schedule_seed", *result.scheduleSeed);
    if (result.error.empty())
      os.attribute("milliseconds", result.milliseconds);
    else
      os.attribute("error", result.error);
    if (const auto &verdict = result.verdict) {
      os.attribute("outputs", digitsOf(verdict->outputs));
      writeVerdict(os, *verdict);
    } else if (!result.outputs.empty()) {
      os.attribute("outputs", result.outputs);
    }
    writeFindings(os, result.findings);
  });
  outs() << '\n';
}
