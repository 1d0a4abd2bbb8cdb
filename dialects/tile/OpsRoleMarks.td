// SPDX-License-Identifier: Apache-2.0
// Marks of an author's role in a program whose other roles the compiler makes. Generated apart from the other
// operations: RoleMarks.h declares them for the few who use them.
#ifndef TLC_DIALECTS_TILE_OPSROLEMARKS_TD
#define TLC_DIALECTS_TILE_OPSROLEMARKS_TD

include "dialects/tile/Interfaces.td"
include "dialects/tile/Types.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// It orders nothing.
class Tile_RoleMark<string mnemonic> : Tile_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>, Tile_AccessesNothing]>;

def Tile_BeginRoleOp : Tile_RoleMark<"begin_role"> {
  let summary = "A role executes the operations up to the next `tile.end_role` of the block";
  let description = [{
    The program is one of all warps, and means the same without the marks. `tile-assign-roles` makes the role, and those of
    a strategy for the other operations. It removes the marks, also where the kernel gets no roles.

    Constraints
    - begin_role_c1: as role_c1.

        tile.begin_role "store" warps(4)
        tile.store %sum, %slice : tensor<64x64xf32>, !tile.slice<64x64xf32>
        tile.end_role
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$warps);
  let assemblyFormat = "$name `warps` `(` $warps `)` attr-dict";
  let hasVerifier = 1;
}

def Tile_EndRoleOp : Tile_RoleMark<"end_role"> {
  let summary = "Ends what `tile.begin_role` begins";
  let assemblyFormat = "attr-dict";
}

#endif
