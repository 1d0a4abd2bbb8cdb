// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards a role that only issues what goes on by itself, and waits, is one thread: it needs no election
/// around each operation, and no meetings.

#include "compiler/transforms/Passes.h"

namespace tlc::tile {
#define GEN_PASS_DEF_ELECTTHREADS
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

/// Whether the operation starts a copy by an engine or a product of the matrix unit, or announces such
/// copies.
bool issues(Operation *op) {
  return synchronisationOf(op).event == SlotEvent::announced ||
         llvm::any_of(memoryAccessesOf(op), [](const MemoryAccess &access) {
           return access.agent == Agent::copyEngine ||
                  (access.agent == Agent::oneThread && access.isAsynchronous());
         });
}

/// Whether one thread can do all that the role does, and the role does something for which one is elected.
bool isForOneThread(RoleOp role) {
  bool anyIssues = false;
  WalkResult walked = role.getBody().walk([&](Operation *op) {
    anyIssues |= issues(op);
    return suitsOneThread(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return anyIssues && !walked.wasInterrupted();
}

struct ElectThreads : impl::ElectThreadsBase<ElectThreads> {
  void runOnOperation() override {
    getOperation().walk([](RoleOp role) {
      if (isForOneThread(role))
        role.setOneThread(true);
    });
  }
};

} // namespace
} // namespace tlc::tile
