// SPDX-License-Identifier: Apache-2.0
/// \file
/// Translation, a short pass pipeline, code generation.
#include "compiler/codegen/NvptxBackend.h"

#include "compiler/codegen/DebugLocations.h"
#include "compiler/codegen/LoopStarts.h"
#include "compiler/codegen/PtxasFaults.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/CodeGen/CodeGenTargetMachineImpl.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <algorithm>
#include <mutex>

using namespace mlir;
using namespace tlc;

NvptxBackend::NvptxBackend(std::unique_ptr<llvm::TargetMachine> machine) : machine(std::move(machine)) {}
NvptxBackend::NvptxBackend(NvptxBackend &&) = default;
NvptxBackend::~NvptxBackend() = default;

/// Registers the backend, once in the life of the process.
static void initializeNvptx() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Addresses in shared memory have 32 bits. The backend knows no other way to be asked for that.
    auto shortPointers = llvm::cl::getRegisteredOptions().find("nvptx-short-ptr");
    assert(shortPointers != llvm::cl::getRegisteredOptions().end() && "LLVM 22 has this option");
    shortPointers->second->addOccurrence(/*pos=*/0, shortPointers->first, "true");
  });
}

FailureOr<NvptxBackend> NvptxBackend::create(const Target &target, Location location) {
  initializeNvptx();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *nvptx = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!nvptx)
    return emitError(location) << "expected an LLVM with the NVPTX backend, but got: " << error;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast; // a * b + c is one instruction, as in CUDA
  std::string features = "+ptx" + std::to_string(target.ptxVersion);
  std::unique_ptr<llvm::TargetMachine> machine(
      nvptx->createTargetMachine(triple, target.llvmCpu, features, options, llvm::Reloc::PIC_, std::nullopt,
                                 llvm::CodeGenOptLevel::Default));
  return NvptxBackend(std::move(machine));
}

// A file of phase `nvvm` may say anything: what follows is taken for granted by LLVM, and by the translation.

static LogicalResult verifyElementTypes(ModuleOp module) {
  WalkResult walked = module.walk([](Operation *op) {
    auto element = op->getAttrOfType<TypeAttr>("elem_type"); // of llvm.getelementptr and llvm.alloca
    if (!element || LLVM::isCompatibleType(element.getValue()))
      return WalkResult::advance();
    op->emitOpError() << "expected elements of a type that LLVM has, but got " << element.getValue();
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

static LogicalResult verifyLlvm(const llvm::Function &function, Location location) {
  if (llvm::verifyFunction(function))
    return emitError(location) << "expected '" << function.getName()
                               << "' to be valid LLVM IR, but LLVM's verifier rejects it";
  for (const llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm()) {
      auto *assembly = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
      StringRef constraints = assembly->getConstraintString();
      if (llvm::Error error = llvm::InlineAsm::verify(assembly->getFunctionType(), constraints))
        return emitError(location) << "expected constraints that fit the operands of the assembly '"
                                   << assembly->getAsmString() << "', but got '" << constraints
                                   << "': " << llvm::toString(std::move(error));
    }
  return success();
}

std::unique_ptr<llvm::Module> NvptxBackend::translate(ModuleOp module, llvm::LLVMContext &context) const {
  if (failed(verifyElementTypes(module)))
    return nullptr;
  attachDebugScopes(module);
  // Verified below: its own verification prints what it finds, or crashes on it, instead of reporting it.
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context, "LLVMDialectModule", /*disableVerification=*/true);
  if (!llvmModule)
    return nullptr;
  for (const llvm::Function &function : *llvmModule) {
    Operation *source = module.lookupSymbol(function.getName());
    if (failed(verifyLlvm(function, source ? source->getLoc() : module.getLoc())))
      return nullptr;
  }
  llvmModule->setTargetTriple(machine->getTargetTriple());
  llvmModule->setDataLayout(machine->createDataLayout());
  // The LLVM dialect cannot say that the threads of a warp must execute a piece of assembly together. Ours
  // do: some of it is an instruction of the whole warp, none of it may be duplicated into branches.
  for (llvm::Function &function : *llvmModule)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm())
        call->setConvergent();
  return llvmModule;
}

void NvptxBackend::optimize(llvm::Module &module) const {
  llvm::PassBuilder builder(machine.get());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::ADCEPass());
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
}

namespace {
/// Skips passes of code generation that take too long for a module. LLVM's n-ary reassociation and straight
/// line strength reduction search a whole function for each of their candidates: seconds in one of 8,000
/// instructions, where they find one in a thousand.
class SlowPassGate : public llvm::OptPassGate {
public:
  explicit SlowPassGate(const llvm::Module &module)
      : context(module.getContext()), outer(context.getOptPassGate()) {
    for (const llvm::Function &function : module)
      mostInstructions = std::max(mostInstructions, function.getInstructionCount());
    context.setOptPassGate(*this);
  }
  ~SlowPassGate() override { context.setOptPassGate(outer); }

  bool isEnabled() const override { return mostInstructions > limit; }
  bool shouldRunPass(StringRef pass, StringRef) const override {
    return pass != "nary-reassociate" && pass != "slsr";
  }

private:
  static constexpr unsigned limit = 5000;

  llvm::LLVMContext &context;
  llvm::OptPassGate &outer;
  unsigned mostInstructions = 0;
};
} // namespace

std::string NvptxBackend::emitPtx(llvm::Module &module) const {
  avoidPtxasFaults(module); // last: what LLVM's passes make of it comes from them, too
  SlowPassGate gate(module);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager passes;
  // As TargetMachine::addPassesToEmitFile, and createLoopStartsPass.
  auto &target = static_cast<llvm::CodeGenTargetMachineImpl &>(*machine);
  llvm::TargetPassConfig *generation = target.createPassConfig(passes);
  generation->setDisableVerify(true);
  generation->insertPass(&llvm::PHIEliminationID, createLoopStartsPass());
  passes.add(generation);
  auto *machineModule = new llvm::MachineModuleInfoWrapperPass(&target);
  passes.add(machineModule);
  bool unsupported = generation->addISelPasses();
  generation->addMachinePasses();
  generation->setInitialized();
  unsupported |= target.addAsmPrinter(passes, os, /*DwoOut=*/nullptr, llvm::CodeGenFileType::AssemblyFile,
                                      machineModule->getMMI().getContext());
  passes.add(llvm::createFreeMachineFunctionPass());
  assert(!unsupported && "the NVPTX backend emits text");
  (void)unsupported;
  passes.run(module);
  return std::string(text);
}

std::string tlc::joinPtx(std::string ptx, unsigned version, StringRef declarations) {
  constexpr StringRef versionLine = ".version ", lastLine = ".address_size 64\n";
  size_t begin = ptx.find(versionLine) + versionLine.size(), end = ptx.find('\n', begin);
  auto [major, minor] = StringRef(ptx).substr(begin, end - begin).split('.');
  unsigned own[2] = {};
  bool known = !major.getAsInteger(10, own[0]) && !minor.getAsInteger(10, own[1]);
  assert(known && "LLVM writes a header");
  (void)known;
  if (own[0] * 10 + own[1] < version)
    ptx.replace(begin, end - begin, std::to_string(version / 10) + "." + std::to_string(version % 10));
  ptx.insert(ptx.find(lastLine) + lastLine.size(), declarations.str() + "\n");
  return ptx;
}

std::string tlc::printLlvm(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, /*AAW=*/nullptr);
  return text;
}
