// SPDX-License-Identifier: Apache-2.0
/// \file
/// Drives one module through the phases.
#include "compiler/pipeline/Compiler.h"

#include "compiler/analysis/Remarks.h"
#include "compiler/codegen/ArtifactBuilder.h"
#include "compiler/codegen/NvptxBackend.h"
#include "compiler/codegen/VerifyProducts.h"
#include "compiler/pipeline/Dump.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Register.h"
#include "compiler/transforms/StagedLoop.h"
#include "dialects/support/TextLimits.h"
#include "dialects/tile/Counts.h"
#include "dialects/tile/Names.h"
#include "dialects/tile/Tile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "runtime/artifact/Verify.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/WaitLimit.h"
#include "runtime/target/Target.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

#include <chrono>
#include <ctime>

using namespace mlir;
using namespace tlc;

namespace {

/// Adds the time since it was made, or since the last call, to a phase.
class Stopwatch {
public:
  explicit Stopwatch(std::vector<PhaseTime> &times) : times(times) {}

  void reached(Phase phase) {
    auto now = std::chrono::steady_clock::now();
    std::clock_t cpuNow = std::clock();
    auto entry = llvm::find_if(times, [&](const PhaseTime &time) { return time.phase == phase; });
    if (entry == times.end())
      entry = times.insert(times.end(), {phase, 0, 0});
    entry->milliseconds += std::chrono::duration<double, std::milli>(now - last).count();
    entry->cpuMilliseconds += double(cpuNow - cpuLast) * 1e3 / CLOCKS_PER_SEC;
    last = now;
    cpuLast = cpuNow;
  }

private:
  std::vector<PhaseTime> &times;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
  std::clock_t cpuLast = std::clock();
};

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << '\n';
  return text;
}

/// The tensors of a kernel, with the number of the argument that each is.
template <class F> void forEachTensor(tile::KernelOp kernel, F &&f) {
  for (unsigned i = 0, e = kernel.getNumArguments(); i != e; ++i)
    if (auto tensor = dyn_cast<program::TensorAttr>(kernel.getArgument(i)))
      f(i, tensor);
}

/// States what may be relied on about every tensor of the module's kernels: what the program declares, or, in
/// the aligned variant, what its launch condition will say.
void setAlignment(ModuleOp module, Alignment alignment) {
  if (alignment == Alignment::aligned)
    for (tile::KernelOp kernel : module.getOps<tile::KernelOp>())
      forEachTensor(kernel, [&](unsigned i, program::TensorAttr tensor) {
        if (tensor.getAlignment() == 1)
          kernel.setArgAttr(i, program::ProgramDialect::argumentAttrName,
                            tensor.withAlignment(program::findTarget(module)->tma.globalAlignment));
      });
  // What the author requires is about the best variant; the general one is there for tensors that rule it
  // out.
  if (alignment == Alignment::general)
    module.walk([](tile::RequireOp require) { require.erase(); });
}

/// Gives every wait for a count a limit, and every kernel one for its waits on mbarriers.
void setWaitLimit(ModuleOp module, std::chrono::nanoseconds limit) {
  for (tile::KernelOp kernel : module.getOps<tile::KernelOp>())
    kernel->setAttr(tile::waitLimitAttrName, Builder(module).getI64IntegerAttr(limit.count()));
  module.walk([&](tile::WaitForOp wait) { wait.setLimit(limit.count()); });
}

/// Whether the program may access all ranks' tensors at once, if it does.
LogicalResult checkMulticast(ModuleOp module, bool isAllowed) {
  const Target &target = *program::findTarget(module);
  if (isAllowed && target.multimem)
    return success();
  WalkResult walked = module.walk([&](tile::SliceOp slice) {
    if (!slice.getOfAll())
      return WalkResult::advance();
    InFlightDiagnostic diagnostic = slice.emitError()
                                    << "expected no access of '" << excerpt(tile::nameOf(slice.getTensor()))
                                    << "' on all ranks at once because ";
    if (isAllowed)
      diagnostic << StringRef(target.name) << " has no multimem";
    else
      diagnostic << "NVLink multicast is off; switch it on with --multicast (CompileOptions::multicast)";
    diagnostic << (isAllowed ? "; " : ", or ") << "access one rank's tensor after the other";
    tile::noteDeclaration(diagnostic, slice.getTensor());
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

/// Hands the facts that the program declares to the launcher, which checks them.
void declareAlignment(ModuleOp module, Artifact &artifact) {
  for (tile::KernelOp kernel : module.getOps<tile::KernelOp>())
    forEachTensor(kernel, [&](unsigned, program::TensorAttr tensor) {
      for (TensorArgument &argument : artifact.tensors)
        if (argument.name == tensor.getName())
          argument.alignment = std::max(argument.alignment, tensor.getAlignment());
    });
}

/// The compiler calls itself for what is inside of an operation.
LogicalResult checkNesting(ModuleOp module) {
  constexpr unsigned most = 100;
  SmallVector<std::pair<Operation *, unsigned>> open = {{module, 0}};
  while (!open.empty()) {
    auto [op, depth] = open.pop_back_val();
    if (depth > most)
      return emitError(op->getLoc()) << "expected at most " << most
                                     << " loops, branches and roles inside each other, but here are more";
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps())
        open.emplace_back(&inner, depth + 1);
  }
  return success();
}

/// Whether the module can be compiled once for each alignment: nothing has been decided by it yet.
bool hasVariants(const CompileOptions &options) { return options.startFrom <= Phase::promoted; }

/// Tells an observer of every pass but those that only hold others.
struct PassReports : PassInstrumentation {
  explicit PassReports(const PassObserver &observer) : observer(observer) {}
  void runAfterPass(Pass *pass, Operation *anchor) override {
    auto module = dyn_cast<ModuleOp>(anchor);
    if (!pass->getArgument().empty())
      observer(pass->getArgument(), anchor, module ? module : anchor->getParentOfType<ModuleOp>());
  }
  const PassObserver &observer;
};

/// One variant of a program on its way down.
class Lowering {
public:
  Lowering(ModuleOp module, const CompileOptions &options, Alignment alignment, std::string dumpDirectory,
           std::vector<PhaseTime> &times, const PassObserver &observer)
      : source(module), module(module.clone()), options(options), alignment(alignment),
        dumpDirectory(std::move(dumpDirectory)), stopwatch(times), observer(observer) {}

  ModuleOp getModule() { return *module; }
  OwningOpRef<ModuleOp> takeModule() { return std::move(module); }

  /// Lowers the module to phase `phase`, `nvvm` at most.
  LogicalResult lowerTo(Phase phase) {
    if (phase < options.startFrom)
      return emitError(module->getLoc())
             << "expected to stop at phase '" << toString(options.startFrom)
             << "' or later because compilation starts there, but got '" << toString(phase) << "'";
    if (failed(prepare()))
      return failure();
    PassManager passes(module->getContext());
    passes.enableVerifier(false); // once per phase is enough
    inspect(passes);
    PhaseReached reached = [this](Phase phase, ModuleOp module) {
      stopwatch.reached(phase);
      return dumps() ? dump(phase, print(module)) : success();
    };
    size_t next = size_t(options.startFrom);
    // The first phase has passes of its own; a module that starts later must be what it claims to be.
    if (options.startFrom != Phase::input) {
      addVerification(passes, options.startFrom);
      if (dumps() && failed(dump(options.startFrom, print(*module))))
        return failure();
      ++next;
    }
    for (; next <= size_t(phase); ++next)
      addPhase(passes, Phase(next), options, reached);
    if (observer)
      observer("", *module, *module);
    return passes.run(*module);
  }

  /// Lowers the module to LLVM IR.
  LogicalResult lowerToLlvm() {
    if (failed(lowerTo(Phase::nvvm)))
      return failure();
    const Target *target = program::findTarget(*module);
    FailureOr<NvptxBackend> created = NvptxBackend::create(*target, module->getLoc());
    if (failed(created))
      return failure();
    backend = std::make_unique<NvptxBackend>(std::move(*created));
    llvmModule = backend->translate(*module, llvmContext);
    if (!llvmModule)
      return failure();
    backend->optimize(*llvmModule);
    stopwatch.reached(Phase::llvm);
    return dumps() ? dump(Phase::llvm, printLlvm(*llvmModule)) : success();
  }

  std::string llvmText() const { return printLlvm(*llvmModule); }

  /// The last step of all. LLVM does not know of products in flight and may copy their registers: where that
  /// is found, the products of that loop wait for one another instead.
  FailureOr<std::string> emitPtx() {
    FailureOr<std::string> ptx = emitUnverifiedPtx();
    if (failed(ptx))
      return failure();
    std::optional<ProductHazard> hazard = findProductHazard(*ptx);
    const Phase first = options.startFrom;
    for (SmallVector<ProductHazard> all; hazard && first < Phase::scheduled;) {
      all.push_back(*hazard);
      FailureOr<bool> changed = scheduleAgain(first, all);
      if (failed(changed))
        return failure();
      if (!*changed)
        break;
      ptx = emitUnverifiedPtx();
      if (failed(ptx))
        return failure();
      hazard = findProductHazard(*ptx);
    }
    stopwatch.reached(Phase::ptx);
    if (dumps() && failed(dump(Phase::ptx, *ptx)))
      return failure();
    if (hazard)
      return emitError(locationOf(*hazard)) << hazard->message;
    return ptx;
  }

private:
  FailureOr<std::string> emitUnverifiedPtx() {
    if (failed(lowerToLlvm()))
      return failure();
    auto further = (*module)->getAttrOfType<program::PtxAttr>(program::ProgramDialect::ptxAttrName);
    std::string ptx = backend->emitPtx(*llvmModule);
    return further ? joinPtx(std::move(ptx), further.getVersion(), further.getDeclarations()) : ptx;
  }

  /// Lowers the source, of phase `first`, to scheduled loops once more, of which those with a product of
  /// these hazards keep their order; all do if a product is not found. False if the last hazard adds none to
  /// them.
  FailureOr<bool> scheduleAgain(Phase first, ArrayRef<ProductHazard> hazards) {
    llvmModule.reset();
    module = source.clone();
    options.startFrom = first;
    if (failed(lowerTo(Phase::scheduled)))
      return failure();
    options.startFrom = Phase::scheduled;
    SmallVector<scf::ForOp> loops;
    for (const ProductHazard &hazard : hazards) {
      auto isInFlight = [&](tile::GemmAsyncOp product) {
        FileLineColLoc place = tile::findSourceLocation(product->getLoc());
        return place && place.getFilename().strref() == hazard.product.file &&
               place.getLine() == hazard.product.line && place.getColumn() == hazard.product.column;
      };
      loops = tile::removeStages(*module, isInFlight);
      if (loops.empty())
        loops = tile::removeStages(*module, [](tile::GemmAsyncOp) { return true; });
    }
    constexpr StringLiteral reason = "the machine code would move registers of a product in flight";
    for (scf::ForOp loop : loops) // those of the last hazard: a remark names the others already
      tile::emitRemark(loop, tile::RemarkId::sequentialProducts)
          << "the products of this loop do not overlap: " << reason;
    return !loops.empty();
  }

  Location locationOf(const ProductHazard &hazard) {
    const ProductHazard::Place &place = hazard.place;
    if (place.file.empty())
      return module->getLoc();
    return FileLineColLoc::get(module->getContext(), place.file, place.line, place.column);
  }

  /// States in the module what it is compiled for.
  LogicalResult prepare() {
    if (std::optional<Phase> own = declaredPhase(*module); own && *own != options.startFrom)
      return emitError(module->getLoc())
             << "expected to start from phase '" << toString(*own)
             << "' because the module says that it is in it ('" << program::ProgramDialect::phaseAttrName
             << "'), but got '" << toString(options.startFrom) << "'";
    if (!program::findTarget(*module)) {
      const Target *target = tlc::findTarget(options.target);
      if (!target)
        return emitError(module->getLoc()) << "expected a target that code can be generated for ("
                                           << targetNames() << "), but got '" << options.target << "'";
      (*module)->setAttr(program::ProgramDialect::targetAttrName,
                         program::TargetAttr::get(module->getContext(), options.target));
    }
    if (hasVariants(options))
      setAlignment(*module, alignment);
    if (options.waitLimit.count() != 0) {
      const auto limit =
          waitLimitOf(std::chrono::duration<double>(options.waitLimit).count(), "a limit of waits");
      if (!limit)
        return emitError(module->getLoc()) << limit.error().message;
      if (options.startFrom <= lastOptionalPhase)
        setWaitLimit(*module, options.waitLimit);
    }
    return checkMulticast(*module, options.multicast);
  }

  void inspect(PassManager &passes) const {
    const Inspection &inspection = options.inspection;
    if (inspection.printAfterPasses)
      passes.enableIRPrinting([](Pass *, Operation *) { return false; },
                              [](Pass *, Operation *) { return true; },
                              /*printModuleScope=*/true, /*printAfterOnlyOnChange=*/true);
    if (inspection.timePasses)
      passes.enableTiming();
    if (!inspection.crashReproducer.empty())
      passes.enableCrashReproducerGeneration(inspection.crashReproducer);
    if (observer)
      passes.addInstrumentation(std::make_unique<PassReports>(observer));
  }

  bool dumps() const { return !dumpDirectory.empty(); }

  LogicalResult dump(Phase phase, StringRef text) {
    if (llvm::Error error = dumpPhase(dumpDirectory, phase, text))
      return emitError(module->getLoc()) << llvm::toString(std::move(error));
    return success();
  }

  ModuleOp source;
  OwningOpRef<ModuleOp> module;
  CompileOptions options;
  Alignment alignment;
  std::string dumpDirectory;
  Stopwatch stopwatch;
  const PassObserver &observer;
  std::unique_ptr<NvptxBackend> backend;
  llvm::LLVMContext llvmContext; // outlives the module
  std::unique_ptr<llvm::Module> llvmModule;
};

FailureOr<Variant> finishVariant(Lowering &lowering, StringRef name) {
  FailureOr<std::string> ptx = lowering.emitPtx();
  if (failed(ptx))
    return failure();
  FailureOr<std::vector<Launch>> launches = describeLaunches(lowering.getModule());
  if (failed(launches))
    return failure();
  FailureOr<std::vector<Transfer>> transfers = describeTransfers(lowering.getModule());
  if (failed(transfers))
    return failure();
  return Variant{.name = name.str(),
                 .launches = std::move(*launches),
                 .ptx = std::move(*ptx),
                 .reports = describeReports(lowering.getModule()),
                 .transfers = std::move(*transfers)};
}

} // namespace

std::unique_ptr<MLIRContext> tlc::createContext() {
  auto context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  prepareContext(*context);
  return context;
}

void tlc::prepareContext(MLIRContext &context) {
  DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<program::ProgramDialect>(); // every module gets a target, an empty one too
  context.printOpOnDiagnostic(false); // a user's mistake is about the program, not about our operations
}

std::optional<Phase> tlc::declaredPhase(ModuleOp module) {
  auto phase = module->getAttrOfType<StringAttr>(program::ProgramDialect::phaseAttrName);
  return phase ? parsePhase(phase.getValue()) : std::nullopt;
}

bool tlc::isPastInput(ModuleOp module) {
  return module
      ->walk([](Operation *op) {
        bool isPast = op->hasAttr("atom") || op->hasAttr("offset") || isa<LLVM::LLVMFuncOp>(op) ||
                      (op->getDialect() && op->getDialect()->getNamespace() == "simt");
        return isPast ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

OwningOpRef<ModuleOp> tlc::parseModule(StringRef text, StringRef name, const ParserConfig &config) {
  auto sources = std::make_shared<llvm::SourceMgr>();
  unsigned buffer = sources->AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, name), llvm::SMLoc());
  if (std::optional<TextProblem> problem = findExcess(text)) {
    const char *place = sources->getMemoryBuffer(buffer)->getBufferStart() + problem->offset;
    auto [line, column] = sources->getLineAndColumn(llvm::SMLoc::getFromPointer(place), buffer);
    emitError(FileLineColLoc::get(config.getContext(), name, line, column)) << problem->message;
    return nullptr;
  }
  return parseSourceFile<ModuleOp>(sources, config);
}

OwningOpRef<ModuleOp> Compiler::parse(StringRef text, StringRef name, MLIRContext *context) {
  DiagnosticCollector collector(context, collected);
  return parseModule(text, name, context);
}

FailureOr<Artifact> Compiler::compile(ModuleOp module, StringRef name) {
  DiagnosticCollector collector(module.getContext(), collected);
  size_t firstOwn = collected.size();
  if (failed(checkNesting(module)))
    return failure();
  Lowering best(module, options, Alignment::aligned, options.dumpDirectory, measured, passObserver);
  FailureOr<Variant> variant = finishVariant(best, hasVariants(options) ? "aligned" : "general");
  if (failed(variant))
    return failure();
  FailureOr<Artifact> artifact = describeProgram(best.getModule(), name);
  if (failed(artifact))
    return failure();
  for (const Diagnostic &diagnostic : llvm::drop_begin(collected, firstOwn))
    if (std::optional<Remark> remark = toRemark(diagnostic))
      artifact->remarks.push_back(std::move(*remark));

  if (auto ptx = best.getModule()->getAttrOfType<program::PtxAttr>(program::ProgramDialect::ptxAttrName))
    artifact->nvrtc = ptx.getNvrtc().str();
  declareAlignment(module, *artifact);
  if (hasVariants(options)) {
    FailureOr<std::vector<AlignmentCondition>> conditions = describeConditions(best.getModule());
    if (failed(conditions))
      return failure();
    variant->conditions = std::move(*conditions);
    // What the program declares holds for every variant.
    std::erase_if(variant->conditions, [&](const AlignmentCondition &condition) {
      return artifact->tensors[condition.tensor].alignment % condition.bytes == 0;
    });
  }
  if (variant->conditions.empty()) {
    variant->name = "general";
    artifact->variants.push_back(std::move(*variant));
  } else {
    artifact->variants.push_back(std::move(*variant));
    std::string directory = options.dumpDirectory.empty() ? "" : options.dumpDirectory + "/general";
    Lowering rest(module, options, Alignment::general, directory, measured, passObserver);
    std::vector<Diagnostic> ofRest; // told of errors alone: what it misses follows from its alignment
    FailureOr<Variant> general = [&] {
      DiagnosticCollector collector(module.getContext(), ofRest);
      return finishVariant(rest, "general");
    }();
    if (failed(general)) {
      llvm::append_range(collected, ofRest);
      return failure();
    }
    artifact->variants.push_back(std::move(*general));
  }
  Result<void> valid = verify(*artifact);
  if (!valid)
    return emitError(module.getLoc()) << valid.error().message;
  return artifact;
}

FailureOr<std::string> Compiler::emit(ModuleOp module, Phase phase, Alignment alignment) {
  if (phase <= Phase::nvvm) {
    OwningOpRef<ModuleOp> lowered = lower(module, phase, alignment);
    if (!lowered)
      return failure();
    return print(*lowered);
  }
  DiagnosticCollector collector(module.getContext(), collected);
  if (failed(checkNesting(module)))
    return failure();
  Lowering lowering(module, options, alignment, options.dumpDirectory, measured, passObserver);
  if (phase == Phase::ptx)
    return lowering.emitPtx();
  if (failed(lowering.lowerToLlvm()))
    return failure();
  return lowering.llvmText();
}

OwningOpRef<ModuleOp> Compiler::lower(ModuleOp module, Phase phase, Alignment alignment) {
  DiagnosticCollector collector(module.getContext(), collected);
  if (failed(checkNesting(module)))
    return nullptr;
  Lowering lowering(module, options, alignment, options.dumpDirectory, measured, passObserver);
  return succeeded(lowering.lowerTo(phase)) ? lowering.takeModule() : nullptr;
}
