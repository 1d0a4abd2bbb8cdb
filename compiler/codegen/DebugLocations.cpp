// SPDX-License-Identifier: Apache-2.0
/// \file
/// MLIR's locations become LLVM's scopes and lines.
#include "compiler/codegen/DebugLocations.h"

#include "dialects/tile/Names.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/Dwarf.h"

using namespace mlir;
using namespace tlc;

namespace {

/// The name between the quotation marks of PTX's `.file`, which has no escapes: percent signs and hexadecimal
/// digits for a quotation mark, a backslash and control characters.
std::string nameInPtx(StringRef file) {
  std::string name;
  for (const char c : file)
    if (c == '"' || c == '\\' || (llvm::isASCII(c) && !llvm::isPrint(c)))
      name += "%" + llvm::toHex(StringRef(&c, 1));
    else
      name += c;
  return name;
}

/// The scope of one function, and one for each further file whose lines were traced into it.
class FunctionScopes {
public:
  FunctionScopes(LLVM::LLVMFuncOp function, FileLineColLoc location) : context(function.getContext()) {
    LLVM::DIFileAttr file = fileOf(location);
    // Directives alone: more debug information would ask for a debug target, which the optimiser of the
    // machine compiler refuses.
    auto unit = LLVM::DICompileUnitAttr::get(
        DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C_plus_plus_14, file,
        StringAttr::get(context, "tlc"), /*isOptimized=*/true, LLVM::DIEmissionKind::DebugDirectivesOnly);
    auto type = LLVM::DISubroutineTypeAttr::get(context, llvm::dwarf::DW_CC_normal, {});
    StringAttr name = function.getSymNameAttr();
    subprogram = LLVM::DISubprogramAttr::get(
        context, DistinctAttr::create(UnitAttr::get(context)), unit, file, name, name, file,
        location.getLine(), location.getLine(),
        LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized, type,
        /*retainedNodes=*/{}, /*annotations=*/{});
    function->setLoc(FusedLoc::get(context, {Location(location)}, subprogram));
  }

  /// `location` where it is in the function's own file, else with the scope of its file.
  Location scoped(FileLineColLoc location) {
    LLVM::DIFileAttr file = fileOf(location);
    if (file == subprogram.getFile())
      return location;
    return FusedLoc::get(context, {Location(location)},
                         LLVM::DILexicalBlockFileAttr::get(context, subprogram, file, /*discriminator=*/0));
  }

private:
  LLVM::DIFileAttr fileOf(FileLineColLoc location) {
    LLVM::DIFileAttr &file = files[location.getFilename()];
    if (!file)
      file = LLVM::DIFileAttr::get(context, nameInPtx(location.getFilename()), /*directory=*/"");
    return file;
  }

  MLIRContext *context;
  llvm::SmallDenseMap<StringAttr, LLVM::DIFileAttr> files;
  LLVM::DISubprogramAttr subprogram;
};

} // namespace

void tlc::attachDebugScopes(ModuleOp module) {
  for (LLVM::LLVMFuncOp function : module.getOps<LLVM::LLVMFuncOp>()) {
    FileLineColLoc location = tile::findSourceLocation(function.getLoc());
    if (!location || function.isExternal())
      continue;
    FunctionScopes scopes(function, location);
    DenseMap<Location, Location> scoped; // many operations have the same
    function.getBody().walk([&](Operation *op) {
      auto [known, isNew] = scoped.try_emplace(op->getLoc(), op->getLoc());
      if (FileLineColLoc inner = isNew ? tile::findSourceLocation(op->getLoc()) : FileLineColLoc())
        known->second = scopes.scoped(inner);
      op->setLoc(known->second);
    });
  }
}
