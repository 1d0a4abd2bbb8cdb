// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards the kernel neither prints nor checks.
#include "compiler/transforms/Passes.h"
#include "dialects/tile/Reports.h"

namespace tlc::tile {
#define GEN_PASS_DEF_REMOVEREPORTS
#include "compiler/transforms/Passes.h.inc"

namespace {
struct RemoveReports : impl::RemoveReportsBase<RemoveReports> {
  void runOnOperation() override {
    getOperation().walk([](ReportOp report) { report.erase(); });
  }
};
} // namespace
} // namespace tlc::tile
