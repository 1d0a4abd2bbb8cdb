// SPDX-License-Identifier: Apache-2.0
// Kernels, roles, grids, tile loops, variables.
#ifndef TLC_DIALECTS_TILE_OPSCONTROL_TD
#define TLC_DIALECTS_TILE_OPSCONTROL_TD

include "dialects/program/Program.td"
include "dialects/tile/Interfaces.td"
include "dialects/tile/Types.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Tile_KernelOp : Tile_Op<"kernel", [Tile_AccessesNothing, FunctionOpInterface, IsolatedFromAbove, SingleBlock, HasParent<"::mlir::ModuleOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "The program of one thread block";
  let description = [{
    All kernels of a module have the same arguments: they are one program, launched in the order of the
    module. Every argument carries `program.argument`: an `index` a `#program.dimension`, a `!tile.global` a
    `#program.tensor`, anything else a `#program.scalar`. The warps of `launch` execute what is outside roles; with
    roles they are the roles' together. Its shared memory is set by `tile-plan-shared-memory`. With `store_role`
    `tile-assign-roles` plans a role that stores tiles, where that is possible, and with `load_role` one that loads ahead of
    what is no product, too.

    Constraints
    - kernel_c1: every argument has a `program.argument` attribute of the kind its type asks for.
    - kernel_c2: a tensor's `dims` has one entry per axis; entries of `?` axes name `index` arguments, others are -1. A `strided` tensor has elements of whole bytes, one with `members` i64.
    - kernel_c3: the arguments are those of the module's first kernel.
    - kernel_c4: those of `#program.launch`.

        tile.kernel @scale(%m: index {program.argument = #program.dimension<"m">},
            %X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", inout, dims[0, -1]>}) attributes {launch = #program.launch<warps = 4>} {
          tile.return
        }
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
    DefaultValuedAttr<Program_LaunchAttr, "::tlc::program::LaunchAttr::get($_builder.getContext())">:$launch,
    UnitAttr:$load_role,
    UnitAttr:$store_role,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = !strconcat(launchedKernelMembers, [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// The `program.argument` attribute of argument `index`.
    ::mlir::Attribute getArgument(unsigned index);
    /// The user's name of argument `index`.
    ::llvm::StringRef getArgumentName(unsigned index);
  }]);
}

def Tile_ReturnOp : Tile_Op<"return", [Terminator, HasParent<"KernelOp">, Pure]> {
  let summary = "End of a kernel";
  let assemblyFormat = "attr-dict";
}

// Not pure: without it there is one block, so it stays even if its position is not used.
def Tile_GridOp : Tile_Op<"grid", [MemoryEffects<[MemWrite]>, HasParent<"KernelOp">, Tile_AccessesNothing, Tile_OfLaunch]> {
  let summary = "Sets the number of blocks and gives this block's position";
  let description = [{
    The operands are evaluated on the host at launch: they may depend only on the kernel's dimensions, constants and
    `tile.multiprocessors` through integer arithmetic. At most one per kernel; without it there is one block.

    Constraints
    - grid_c1: one to three axes, as many results as operands.
    - grid_c2: the only `tile.grid` or `tile.persistent` of its kernel.
  }];
  let arguments = (ins Variadic<Index>:$extents);
  let results = (outs Variadic<Index>:$position);
  let assemblyFormat = "$extents attr-dict `:` type($position)";
  let hasVerifier = 1;
}

def Tile_MultiprocessorsOp : Tile_Op<"multiprocessors", [Pure]> {
  let summary = "Number of multiprocessors of the device, known to the host only";
  let results = (outs Index:$count);
  let assemblyFormat = "attr-dict";
}

def Tile_BlocksOp : Tile_Op<"blocks", [Pure]> {
  let summary = "Number of blocks of the launch along the first axis of the grid";
  let results = (outs Index:$count);
  let assemblyFormat = "attr-dict";
}

def Tile_BlockRankOp : Tile_Op<"block_rank", [Pure]> {
  let summary = "Number of this block in its cluster";
  let results = (outs Index:$rank);
  let assemblyFormat = "attr-dict";
}

def Tile_PersistentOp : Tile_Op<"persistent", [SingleBlock, NoTerminator, HasParent<"KernelOp">, Tile_AccessesNothing,
    Tile_TracedOpInterface]> {
  let summary = "Runs the body for every tile, by `residents` blocks for each multiprocessor, or fewer tiles";
  let description = [{
    Blocks take tiles in turn. Consecutive tiles walk down `group` rows (first axis) before they move to the next
    column (second axis), so that concurrent blocks share rows and columns in L2; a third axis is outermost.
    The blocks of a cluster take neighbouring tiles along `cluster_axis` together: rows of one column (0), or columns
    of one row (1).
    With `dynamic` there is a block for each tile. A block that has computed its tile takes the place of one that has not started
    (`tile.next_block`).
    One per kernel, at its top level. `tile-expand-tile-loops` rewrites it into `tile.grid` and `scf.for`.

    Constraints
    - persistent_c1: one to three axes, one block argument of type `index` each.
    - persistent_c2: `group` is at least 1.
    - persistent_c3: as grid_c2.
    - persistent_c4: `cluster_axis` is 0 or 1 and one of the axes.

        tile.persistent (%i, %j) in (%rows, %columns) group(16) { ... }
  }];
  let arguments = (ins Variadic<Index>:$extents, DefaultValuedAttr<I64Attr, "8">:$group,
    DefaultValuedAttr<I64Attr, "0">:$cluster_axis, UnitAttr:$dynamic);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    static ::llvm::StringRef getTracedName() { return "persistent tile loops"; }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_RolesOp : Tile_Op<"roles", [SingleBlock, NoTerminator, Tile_AccessesNothing]> {
  let summary = "The block's warps part: each role runs its own program";
  let description = [{
    Contains only `tile.role` operations. Warps are dealt out in order: the first role has warps 0..n-1.
    Values defined before are visible in every role. All warps of the kernel meet again at the end.
    `automatic` roles come from `tile-warp-specialize`: what runs under which product is the compiler's to decide. In
    others it is as their author wrote it.

    Constraints
    - roles_c1: at least one role, with different names, and nothing else inside.
    - roles_c2: the sum of the roles' warps is the kernel's `warps`, and within the target's threads per block.
    - roles_c3: roles that set `registers` set the same number as others of their warpgroup, the warps of all roles add up
      to whole warpgroups, and the sum of 128 * registers over the warpgroups fits the registers the launch gets (or
      setmaxnreg hangs); roles that set none count with the least there is.
  }];
  let arguments = (ins UnitAttr:$automatic);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`automatic` $automatic^)? attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Tile_RoleOp : Tile_Op<"role", [SingleBlock, NoTerminator, HasParent<"RolesOp">, Tile_AccessesNothing]> {
  let summary = "The program of some of the block's warps";
  let description = [{
    `registers` is the budget per thread, set by `setmaxnreg` on entry. Left out, `tile-assign-registers` chooses it.
    With `one_thread`, set by `tile-elect-threads`, a thread of the first warp executes the whole role, and its other
    threads do nothing.

    Constraints
    - role_c1: `warps` is at least 1 and within the target's threads per block.
    - role_c2: `registers` is a multiple of 8 within the target's limits.
    - role_c3: with `one_thread`, every operation is one that one thread may execute for its role: it has no fragments, and
      its effect does not depend on the number of threads.

        tile.role "load" warps(4) registers(40) one_thread { ... }
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$warps, OptionalAttr<I64Attr>:$registers, UnitAttr:$one_thread);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name `warps` `(` $warps `)` (`registers` `(` $registers^ `)`)? (`one_thread` $one_thread^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

class Tile_ValueOfVariable<string value> : TypesMatchWith<"value and variable have the same type", "variable", value,
    "::llvm::cast<VariableType>($_self).getValueType()">;

/// Of variables, which are no memory on the device.
class Tile_VariableAccess<string mnemonic, list<Trait> traits>
    : Tile_Op<mnemonic, !listconcat(traits, [Tile_AccessesNothing, Tile_TracedOpInterface])> {
  let extraClassDeclaration = [{
    static ::llvm::StringRef getTracedName() { return "variables"; }
  }];
}

def Tile_VariableOp : Tile_VariableAccess<"variable", [Tile_ValueOfVariable<"init">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Declares a variable of the traced program";
  let description = "Removed by `tile-promote-variables`, which turns reads and writes into values carried by loops and branches.";
  let arguments = (ins AnyType:$init, OptionalAttr<StrAttr>:$name);
  let results = (outs Res<Tile_VariableType, "", [MemAlloc]>:$variable);
  let assemblyFormat = "$init ($name^)? attr-dict `:` qualified(type($variable))";
}

def Tile_ReadOp : Tile_VariableAccess<"read", [Tile_ValueOfVariable<"value">]> {
  let summary = "The value a variable has now";
  let arguments = (ins Arg<Tile_VariableType, "", [MemRead]>:$variable);
  let results = (outs AnyType:$value);
  let assemblyFormat = "$variable attr-dict `:` qualified(type($variable))";
}

def Tile_WriteOp : Tile_VariableAccess<"write", [Tile_ValueOfVariable<"value">]> {
  let summary = "Assigns to a variable";
  let arguments = (ins AnyType:$value, Arg<Tile_VariableType, "", [MemWrite]>:$variable);
  let assemblyFormat = "$value `,` $variable attr-dict `:` qualified(type($variable))";
}

def Tile_RematerialiseOp : Tile_Op<"rematerialise", [MemoryEffects<[MemWrite]>, Tile_AccessesNothing]> {
  let summary = "From here to the end of the block, values are computed anew instead of kept in registers";
  let description = [{
    Those that follow from the kernel's dimensions; with `warp` also those that follow from the number of the executing
    warp, such as its rows of a tile. It changes no value. Placed by `tile-rematerialise-values` where fragments leave no
    registers for them.

        tile.rematerialise dimensions
        tile.rematerialise dimensions, warp
  }];
  let arguments = (ins UnitAttr:$warp);
  let assemblyFormat = "`dimensions` (`,` `warp` $warp^)? attr-dict";
}

def Tile_RequireOp : Tile_Op<"require", [MemoryEffects<[MemWrite]>, Tile_AccessesNothing, Tile_OfLaunch]> {
  let summary = "Turns a remark about a missed instruction into an error";
  let description = "For the whole kernel: `tma` for its global to shared copies, `wgmma` or `tcgen05` for its gemms, `warp_specialized` for its pipelined loops.";
  let arguments = (ins Tile_Requirement:$what);
  let assemblyFormat = "`` $what attr-dict";
}

#endif
