// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards threads meet before one of them releases a slot that another may still read, or has yet to see
/// full.

#include "compiler/analysis/ReleaseMeetings.h"
#include "compiler/transforms/Passes.h"

namespace tlc::tile {
#define GEN_PASS_DEF_PLACERELEASEMEETINGS
#include "compiler/transforms/Passes.h.inc"

namespace {

struct PlaceReleaseMeetings : impl::PlaceReleaseMeetingsBase<PlaceReleaseMeetings> {
  void runOnOperation() override {
    for (ReleaseOp release : releasesThatNeedMeetings(getOperation())) {
      if (!release.getAfterProducts()) {
        release.setAfterMeeting(true);
        continue;
      }
      // A tensor core arrives, which meets nobody.
      mlir::OpBuilder builder(release);
      SyncOp::create(builder, release.getLoc());
    }
  }
};

} // namespace
} // namespace tlc::tile
