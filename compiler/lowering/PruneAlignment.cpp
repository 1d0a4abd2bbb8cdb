// SPDX-License-Identifier: Apache-2.0
/// \file
/// The pass `simt-prune-alignment`: a kernel asks of the launcher only the alignment that its instructions
/// rely on.
#include "compiler/lowering/Passes.h"

#include "llvm/ADT/SetVector.h"

namespace tlc {
#define GEN_PASS_DEF_PRUNEALIGNMENT
#include "compiler/lowering/Passes.h.inc"
} // namespace tlc

using namespace mlir;
using namespace tlc;
using namespace tlc::simt;

namespace {

/// The schema's tensors that a kernel relies on being aligned.
class Reliance {
public:
  explicit Reliance(KernelOp kernel) : kernel(kernel) {
    for (auto map : kernel.getTensorMaps().getAsRange<program::TensorMapAttr>())
      tensors.insert(map.getTensor());
    kernel.walk([&](LoadOp load) { addAccess(load.getAddress(), load.getValue().getType()); });
    kernel.walk([&](StoreOp store) { addAccess(store.getAddress(), store.getValue().getType()); });
    kernel.walk([&](AtomicOp op) { addAccess(op.getAddress(), op.getValue().getType()); });
    kernel.walk([&](MulticastLoadOp op) { addAccess(op.getAddress(), op.getValue().getType()); });
    kernel.walk([&](MulticastStoreOp op) { addAccess(op.getAddress(), op.getValue().getType()); });
    kernel.walk([&](MulticastAtomicOp op) { addAccess(op.getAddress(), op.getValue().getType()); });
    kernel.walk([&](CopyAsyncOp copy) { addTensorOf(copy.getSource()); });
  }

  bool on(int64_t tensor) const { return unknown || tensors.contains(tensor); }

private:
  /// An access of one element needs no more than the element's own alignment.
  void addAccess(Value address, Type type) {
    auto vector = dyn_cast<VectorType>(type);
    if (!vector || vector.getNumElements() == 1 ||
        cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace() !=
            unsigned(NVVM::NVVMMemorySpace::Global))
      return;
    addTensorOf(address);
  }

  void addTensorOf(Value address) {
    while (auto step = address.getDefiningOp<LLVM::GEPOp>())
      address = step.getBase();
    if (address.getDefiningOp<LLVM::IntToPtrOp>()) // of a member: the launcher sees no alignment of it
      return;
    auto argument = dyn_cast<BlockArgument>(address);
    if (!argument || argument.getOwner() != &kernel.getBody().front()) {
      unknown = true;
      return;
    }
    tensors.insert(kernel
                       .getArgAttrOfType<program::ParameterAttr>(argument.getArgNumber(),
                                                                 program::ProgramDialect::parameterAttrName)
                       .getIndex());
  }

  KernelOp kernel;
  llvm::SmallSetVector<int64_t, 8> tensors;
  bool unknown = false; ///< an address comes from where we do not look: any tensor may be meant
};

struct PruneAlignment : tlc::impl::PruneAlignmentBase<PruneAlignment> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    Reliance reliance(kernel);
    SmallVector<Attribute> schema = llvm::to_vector(kernel.getSchema());
    int64_t index = 0;
    for (Attribute &entry : schema) {
      auto tensor = dyn_cast<program::TensorAttr>(entry);
      if (tensor && !reliance.on(index++))
        entry = tensor.withAlignment(1);
    }
    kernel.setSchemaAttr(ArrayAttr::get(&getContext(), schema));
  }
};

} // namespace
