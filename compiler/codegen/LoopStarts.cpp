// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/LoopStarts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/InlineAsm.h"

using namespace llvm;

namespace {

class LoopStarts : public MachineFunctionPass {
public:
  static char ID;
  LoopStarts() : MachineFunctionPass(ID) {}

  StringRef getPassName() const override { return "Starts of loops for ptxas"; }

  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    usage.addRequired<MachineLoopInfoWrapperPass>();
    usage.addPreserved<MachineLoopInfoWrapperPass>();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    loops = &getAnalysis<MachineLoopInfoWrapperPass>().getLI();
    registers = &function.getRegInfo();
    bool changed = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &instruction : make_early_inc_range(block))
        if (const char *text = moveFor(instruction)) {
          replace(instruction, text);
          changed = true;
        }
    return changed;
  }

private:
  /// The assembly that a copy is to become; null if it stays.
  const char *moveFor(const MachineInstr &copy) const {
    if (!copy.isCopy())
      return nullptr;
    const Register to = copy.getOperand(0).getReg(), from = copy.getOperand(1).getReg();
    if (!to.isVirtual() || !from.isVirtual() || registers->hasOneDef(to) || !registers->hasOneDef(from) ||
        registers->hasOneNonDBGUse(from) || isConstant(from) || !entersLoop(*copy.getParent()))
      return nullptr;
    const TargetRegisterInfo &info = *registers->getTargetRegisterInfo();
    switch (info.getRegSizeInBits(*registers->getRegClass(from)).getFixedValue()) {
    case 32:
      return "mov.b32 $0, $1;";
    case 64:
      return "mov.b64 $0, $1;";
    default: // no addresses are computed of others
      return nullptr;
    }
  }

  /// Unlike a parameter or a special register, which no register is read for either.
  bool isConstant(Register value) const {
    const MachineInstr &definition = *registers->getVRegDef(value);
    if (definition.getNumOperands() != 2)
      return false;
    const MachineOperand &source = definition.getOperand(1);
    return source.isImm() || source.isFPImm();
  }

  bool entersLoop(const MachineBasicBlock &block) const {
    return any_of(block.successors(), [&](const MachineBasicBlock *next) {
      return loops->isLoopHeader(next) && !loops->getLoopFor(next)->contains(&block);
    });
  }

  void replace(MachineInstr &copy, const char *text) const {
    const MachineOperand &to = copy.getOperand(0), &from = copy.getOperand(1);
    auto flag = [&](InlineAsm::Kind kind, Register of) {
      InlineAsm::Flag result(kind, 1);
      result.setRegClass(registers->getRegClass(of)->getID());
      return result;
    };
    const TargetInstrInfo &info = *copy.getMF()->getSubtarget().getInstrInfo();
    BuildMI(*copy.getParent(), copy, copy.getDebugLoc(), info.get(TargetOpcode::INLINEASM))
        .addExternalSymbol(text)
        .addImm(0)
        .addImm(flag(InlineAsm::Kind::RegDef, to.getReg()))
        .addReg(to.getReg(), RegState::Define)
        .addImm(flag(InlineAsm::Kind::RegUse, from.getReg()))
        .addReg(from.getReg(), getKillRegState(from.isKill()));
    copy.eraseFromParent();
  }

  const MachineLoopInfo *loops = nullptr;
  const MachineRegisterInfo *registers = nullptr;
};

char LoopStarts::ID = 0;

} // namespace

MachineFunctionPass *tlc::createLoopStartsPass() { return new LoopStarts(); }
