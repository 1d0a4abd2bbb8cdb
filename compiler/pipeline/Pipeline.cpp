// SPDX-License-Identifier: Apache-2.0
/// \file
/// One function per phase, in order.
#include "compiler/pipeline/Pipeline.h"

#include "compiler/lowering/Passes.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Canonicalizer.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tlc;

namespace {

void simplify(OpPassManager &passes) {
  passes.addPass(tile::createCanonicalizer());
  passes.addPass(createCSEPass());
}

/// The DSL leaves the order of pure operations to the C++ compiler; afterwards equal programs are equal.
void toInput(PassManager &passes, const Optimizations &) { simplify(passes); }

void toPromoted(PassManager &passes, const Optimizations &on) {
  passes.addPass(tile::createCompileCuda());
  OpPassManager &kernels = passes.nest<tile::KernelOp>();
  kernels.addPass(tile::createCheckSteps()); // before: it adds reports
  if (!on.reports)
    kernels.addPass(tile::createRemoveReports());
  kernels.addPass(tile::createExpandTileLoops()); // first: the loop it makes carries variables like any other
  kernels.addPass(tile::createLowerChannels({/*tma=*/on.tma})); // before: roles count slots in variables
  kernels.addPass(tile::createPromoteVariables());
  kernels.addPass(tile::createMergeCursors()); // after: loops carry what variables counted
  simplify(kernels);
  kernels.addPass(tile::createCheckPackedSlices()); // last: of positions as they are simplest
}

/// The best first.
SmallVector<std::string> strategiesOf(const Optimizations &on) {
  if (!on.strategy.empty())
    return {on.strategy};
  SmallVector<std::string> strategies;
  if (on.tcgen05 && on.warpSpecialization)
    strategies.push_back("load-matrix-math"); // first: what keeps a kernel from the last one is said
  if (on.warpSpecialization) {
    strategies.push_back("load-math");
    strategies.push_back("load-compute");
  }
  if (on.asyncCopies)
    strategies.push_back("copies");
  return strategies;
}

void toAtoms(PassManager &passes, const Optimizations &on) {
  OpPassManager &kernels = passes.nest<tile::KernelOp>();
  const bool byMatrixRole = llvm::is_contained(strategiesOf(on), "load-matrix-math");
  kernels.addPass(tile::createExpandSparseFactors({/*wgmma=*/on.wgmma}));
  kernels.addPass(tile::createSplitRows({/*enable=*/on.rowSplitting && byMatrixRole}));
  kernels.addPass(tile::createSelectProducts({/*wgmma=*/on.wgmma, /*tcgen05=*/byMatrixRole,
                                              /*factors=*/on.tensorMemoryFactors}));
  kernels.addPass(tile::createPromoteVariables()); // after: products that roles start are counted
  kernels.addPass(tile::createPlaceSums(
      {/*factors=*/on.tensorMemoryFactors})); // before: what adds in tensor memory is a role's
  kernels.addPass(tile::createSplitStores());
  kernels.addPass(tile::createReloadSums()); // before: a slot is held until its last load
  kernels.addPass(tile::createAssignRoles(
      {strategiesOf(on), /*tma=*/on.tma,
       /*storeRole=*/on.storeRole})); // after: the strategies ask for the atoms of products
  kernels.addPass(
      tile::createSelectCopies({/*tma=*/on.tma})); // after: the plan says which role waits for a copy
}

void toSpecialized(PassManager &passes, const Optimizations &on) {
  OpPassManager &kernels = passes.nest<tile::KernelOp>();
  kernels.addPass(tile::createWarpSpecialize());
  kernels.addPass(tile::createPutAhead({/*enable=*/on.overlap})); // before: it moves puts with their gets
  kernels.addPass(tile::createLowerChannels({/*tma=*/on.tma})); // those of the plan, as authors' ones before
  kernels.addPass(tile::createPromoteVariables());
  kernels.addPass(tile::createMergeCursors());
  kernels.addPass(tile::createPipelineCopies());  // after: its two cursors stay apart
  kernels.addPass(tile::createAssignRegisters()); // after: now every kernel has the roles that it will have
  simplify(kernels);                              // each role keeps only the arithmetic it needs
}

void toScheduled(PassManager &passes, const Optimizations &on) {
  passes.addNestedPass<tile::KernelOp>(tile::createScheduleLoops({/*overlap=*/on.overlap}));
}

void toPipelined(PassManager &passes, const Optimizations &on) {
  OpPassManager &kernels = passes.nest<tile::KernelOp>();
  kernels.addPass(tile::createExpandPipeline());
  kernels.addPass(
      tile::createSplitLoops({/*enable=*/on.loopSplitting})); // after: there are rounds to split now
  kernels.addPass(
      tile::createDeferStores({/*enable=*/on.deferredStores})); // after: it looks for first products
  simplify(kernels);
}

/// After pipelining, so that inference sees the loops as they will run.
void toLaidOut(PassManager &passes, const Optimizations &) {
  OpPassManager &kernels = passes.nest<tile::KernelOp>();
  kernels.addPass(tile::createInferLayouts());
  kernels.addPass(tile::createFoldRelayouts());
  kernels.addPass(tile::createMaterializeRelayouts()); // after folding: scratch memory only for what is left
  kernels.addPass(tile::createReportLayouts());        // last: of layouts as they will be
}

void toPlanned(PassManager &passes, const Optimizations &on) {
  OpPassManager &kernels = passes.nest<tile::KernelOp>();
  kernels.addPass(tile::createRemoveProvenGuards());
  kernels.addPass(tile::createPlanTensorMemory());  // first: its address takes a word of shared memory
  kernels.addPass(tile::createPlaceClusterSyncs()); // before it: a role's barrier takes shared memory
  kernels.addPass(tile::createPlanSharedMemory({/*always=*/on.sharesAllPlaces}));
  kernels.addPass(tile::createPlaceFences());             // it orders the accesses of what the others left
  kernels.addPass(tile::createPlaceTensorMemoryFences()); // after: they stand at barriers
  kernels.addPass(tile::createRemoveTurns());             // after: now it is known where warpgroups meet
  kernels.addPass(tile::createRelaxCopies());
  kernels.addPass(tile::createSettleCopies());
  kernels.addPass(tile::createElectThreads());         // after: fences are each thread's own
  kernels.addPass(tile::createPlaceReleaseMeetings()); // after: one thread needs none
  kernels.addPass(tile::createRematerialiseValues());
}

void toSimt(PassManager &passes, const Optimizations &) {
  passes.addPass(createTileToSimt());
  // From the uses to the definitions: the other way the patterns for results of branches, which are as many
  // as a thread loads vectors, take quadratic time.
  GreedyRewriteConfig fromUses;
  fromUses.setUseTopDownTraversal(false);
  passes.addPass(tile::createCanonicalizer(fromUses));
  passes.addPass(createCSEPass());
  passes.addNestedPass<simt::KernelOp>(createPruneAlignment());
}

void toNvvm(PassManager &passes, const Optimizations &) { passes.addPass(createSimtToNvvm()); }

using AddPasses = void (*)(PassManager &, const Optimizations &);
constexpr AddPasses phases[] = {toInput,     toPromoted, toAtoms,   toSpecialized, toScheduled,
                                toPipelined, toLaidOut,  toPlanned, toSimt,        toNvvm};

/// Ends a phase. It is a pass, so that crash reproducers name it.
struct FinishPhase : PassWrapper<FinishPhase, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FinishPhase)

  FinishPhase() = default;
  FinishPhase(Phase phase, const PhaseReached &reached) : reached(reached) {
    phaseName = std::string(toString(phase));
  }
  FinishPhase(const FinishPhase &other) : PassWrapper(other), reached(other.reached) {}

  StringRef getName() const override { return "FinishPhase"; }
  StringRef getArgument() const override { return "finish-phase"; }
  StringRef getDescription() const override { return "Verify the module and record the phase that it is in"; }
  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<Phase> phase = parsePhase(phaseName.getValue());
    if (!phase) {
      module.emitError("expected the name of a phase, but got '") << phaseName << "'";
      return signalPassFailure();
    }
    if (failed(verify(module)))
      return signalPassFailure();
    module->setAttr(program::ProgramDialect::phaseAttrName, StringAttr::get(&getContext(), phaseName));
    if (reached && failed(reached(*phase, module)))
      signalPassFailure();
  }

  Option<std::string> phaseName{*this, "phase", llvm::cl::desc("The phase that ends")};
  PhaseReached reached;
};

} // namespace

void tlc::addPhase(PassManager &passes, Phase phase, const CompileOptions &options,
                   const PhaseReached &reached) {
  if (const Profiling &profiling = options.profiling; phase == Phase::nvvm && profiling.records != 0)
    passes.addPass(createRecordTimes({profiling.records, profiling.block, profiling.launch}));
  phases[size_t(phase)](passes, phase <= lastOptionalPhase ? options.optimizations : Optimizations());
  addVerification(passes, phase);
  passes.addPass(std::make_unique<FinishPhase>(phase, reached));
}

void tlc::addVerification(PassManager &passes, Phase phase) {
  if (phase <= Phase::simt)
    passes.addPass(tile::createVerifyPhase({std::string(toString(phase))}));
}

void tlc::registerPhasePasses() { PassRegistration<FinishPhase>(); }
