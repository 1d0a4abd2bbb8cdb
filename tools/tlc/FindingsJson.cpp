// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/FindingsJson.h"

using namespace llvm;
using namespace tlc;

namespace {

void writeSite(json::OStream &os, StringRef name, const FindingSite &site) {
  os.attributeObject(name, [&] {
    if (!site.what.empty())
      os.attribute("what", site.what);
    os.attribute("instruction", site.instruction);
    if (site.line != 0) {
      os.attribute("file", site.file);
      os.attribute("line", site.line);
      os.attribute("column", site.column);
    }
    os.attribute("ptx_line", site.ptxLine);
    if (!site.kernel.empty())
      os.attribute("kernel", site.kernel);
    if (site.device)
      os.attribute("device", *site.device);
    os.attributeArray("block", [&] {
      for (uint32_t index : site.block)
        os.value(index);
    });
    os.attribute("warp", site.warp);
    if (!site.role.empty())
      os.attribute("role", site.role);
    if (site.lane)
      os.attribute("lane", *site.lane);
    if (site.repeat)
      os.attribute("repeat", int64_t(*site.repeat));
  });
}

void writeSites(json::OStream &os, StringRef name, const std::vector<FindingSite> &sites) {
  if (!sites.empty())
    os.attributeArray(name, [&] {
      for (const FindingSite &site : sites)
        os.object([&] { writeSite(os, "site", site); });
    });
}

void writeWaiting(json::OStream &os, const WaitingWarp &waiting) {
  os.object([&] {
    writeSite(os, "site", waiting.site);
    os.attribute("text", waiting.text);
    if (waiting.barrier)
      os.attribute("barrier", *waiting.barrier);
    if (waiting.mbarrier) {
      os.attribute("mbarrier", *waiting.mbarrier);
      os.attribute("mbarrier_rank", waiting.mbarrierRank);
      os.attribute("phase", waiting.phase);
      os.attribute("missing_bytes", waiting.missingBytes);
    }
    if (waiting.barrier || waiting.mbarrier) {
      os.attribute("missing", waiting.missing);
      os.attribute("expected", waiting.expected);
    }
    writeSites(os, "arrived", waiting.arrived);
    writeSites(os, "earlier", waiting.earlier);
    writeSites(os, "arrivers", waiting.arrivers);
  });
}

} // namespace

void tlc::driver::writeFindings(json::OStream &os, const Findings &findings) {
  os.attribute("errors", int64_t(findings.count(FindingLevel::error)));
  os.attribute("warnings", int64_t(findings.count(FindingLevel::warning)));
  os.attributeArray("findings", [&] {
    for (const Finding &finding : findings.all())
      os.object([&] {
        os.attribute("kind", llvm::StringRef(toString(finding.kind)));
        os.attribute("level", llvm::StringRef(toString(finding.level)));
        os.attribute("kernel", finding.kernel);
        os.attribute("message", finding.message);
        writeSite(os, "site", finding.site);
        if (finding.before)
          writeSite(os, "before", *finding.before);
        if (!finding.memory.empty())
          os.attribute("memory", finding.memory);
        if (!finding.missing.empty())
          os.attribute("missing", finding.missing);
        if (!finding.waiting.empty())
          os.attributeArray("waiting", [&] {
            for (const WaitingWarp &waiting : finding.waiting)
              writeWaiting(os, waiting);
          });
        os.attribute("count", int64_t(finding.count));
      });
  });
}
