// SPDX-License-Identifier: Apache-2.0
#ifndef TLC_DIALECTS_TILE_ATTRS_TD
#define TLC_DIALECTS_TILE_ATTRS_TD

include "dialects/tile/Dialect.td"
include "mlir/IR/TensorEncoding.td"

class Tile_Enum<string name, string summary, list<I32EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::tlc::tile";
}
class Tile_EnumAttr<EnumInfo info, string mnemonic> : EnumAttr<Tile_Dialect, info, mnemonic> {
  let assemblyFormat = "$value";
}

def Tile_ReduceKindEnum : Tile_Enum<"ReduceKind", "the operation of a reduction", [
  I32EnumCase<"sum", 0>, I32EnumCase<"max", 1>, I32EnumCase<"min", 2>, I32EnumCase<"product", 3>,
  I32EnumCase<"maxOrNaN", 4, "max_or_nan">, I32EnumCase<"minOrNaN", 5, "min_or_nan">,
  I32EnumCase<"bitAnd", 6, "bit_and">, I32EnumCase<"bitOr", 7, "bit_or">, I32EnumCase<"bitXor", 8, "bit_xor">]>;
def Tile_ReduceKind : Tile_EnumAttr<Tile_ReduceKindEnum, "reduce_kind"> {
  let description = [{
    `max` and `min` propagate no NaN: a NaN operand loses against a number (IEEE maximumNumber). `max_or_nan` and
    `min_or_nan` propagate it (IEEE maximum).
  }];
}

def Tile_CombineKindEnum : Tile_Enum<"CombineKind", "what becomes of an element that is combined with another number", [
  I32EnumCase<"add", 0>, I32EnumCase<"min", 1>, I32EnumCase<"max", 2>,
  I32EnumCase<"bitAnd", 3, "bit_and">, I32EnumCase<"bitOr", 4, "bit_or">, I32EnumCase<"bitXor", 5, "bit_xor">]>;
def Tile_CombineKind : Tile_EnumAttr<Tile_CombineKindEnum, "combine_kind"> {
  let description = "`add`: the sum. `min`, `max`: the smaller or the larger one; a number is preferred to NaN, and -0 is below 0.";
}

def Tile_WarpPolicyEnum : Tile_Enum<"WarpPolicy", "how the warps of a gemm share its tile", [
  I32EnumCase<"square", 0>, I32EnumCase<"fullRow", 1, "full_row">, I32EnumCase<"fullColumn", 2, "full_col">]>;
def Tile_WarpPolicy : Tile_EnumAttr<Tile_WarpPolicyEnum, "warp_policy"> {
  let description = [{
    `full_row`: all warps along M, so that a row belongs to one warp (what row-wise
    softmax wants). `full_col`: all along N. `square`: as square as the instruction allows.
  }];
}

def Tile_MatrixAtomEnum : Tile_Enum<"MatrixAtom", "the instruction a gemm is made of", [
  I32EnumCase<"mma_sync", 0>, I32EnumCase<"wgmma", 1>, I32EnumCase<"fma", 2>, I32EnumCase<"tcgen05", 3>]>;
def Tile_MatrixAtom : Tile_EnumAttr<Tile_MatrixAtomEnum, "matrix_atom"> {
  let description = "`fma` multiplies element by element: always possible, for tiles that no matrix instruction fits.";
}

def Tile_CopyAtomEnum : Tile_Enum<"CopyAtom", "the instruction a copy is made of", [
  I32EnumCase<"simt", 0>, I32EnumCase<"tma", 1>, I32EnumCase<"cp_async", 2>]>;
def Tile_CopyAtom : Tile_EnumAttr<Tile_CopyAtomEnum, "copy_atom"> {
  let description = [{
    `simt`: ordinary loads and stores, vectors where alignment allows. `tma`: the tensor memory accelerator. `cp_async`:
    each thread starts its part of a copy to shared memory, and goes on.
  }];
}

def Tile_RequirementEnum : Tile_Enum<"Requirement", "what the author insists on", [
  I32EnumCase<"tma", 0>, I32EnumCase<"wgmma", 1>, I32EnumCase<"warpSpecialized", 2, "warp_specialized">,
  I32EnumCase<"tcgen05", 3>]>;
def Tile_Requirement : Tile_EnumAttr<Tile_RequirementEnum, "requirement">;

def Tile_RoundingEnum : Tile_Enum<"Rounding", "which of the two numbers around it a number becomes", [
  I32EnumCase<"nearest", 0>, I32EnumCase<"zero", 1>, I32EnumCase<"down", 2>, I32EnumCase<"up", 3>]>;
def Tile_Rounding : Tile_EnumAttr<Tile_RoundingEnum, "rounding"> {
  let description = "`nearest`: of two that are equally near, the even one. `zero`: the one of smaller magnitude.";
}

class Tile_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Tile_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Tile_LayoutAttr : Tile_Attr<"Layout", "layout", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "How a fragment is spread over registers, lanes and warps";
  let description = [{
    Holds a `tlc::FragmentLayout` (dialects/layout/Layout.h explains the algebra).
    The encoding of a fragment's tensor type; written as the layout's text form.

        tensor<64x16xf32, #tile.layout<"reg(2@1:1, 2@0:8, 2@1:8) lane(4@1:2, 8@0:1) warp(4@0:16)">>
  }];
  let parameters = (ins AttrParameter<"::tlc::FragmentLayout", "the layout", "const ::tlc::FragmentLayout &">:$layout);
  let hasCustomAssemblyFormat = 1;
}

def Tile_SharedLayoutAttr : Tile_Attr<"SharedLayout", "shared_layout"> {
  let summary = "How a tile lies in shared memory";
  let description = [{
    Holds a `tlc::SharedLayout` (dialects/layout/SharedLayout.h): order, panels, swizzle, padding,
    written as its text form. Of a buffer with slots it describes one slot.
  }];
  let parameters = (ins AttrParameter<"::tlc::SharedLayout", "the layout", "const ::tlc::SharedLayout &">:$layout);
  let hasCustomAssemblyFormat = 1;
}

def Tile_PipelineAttr : Tile_Attr<"Pipeline", "pipeline"> {
  let summary = "Asks for the iterations of a loop to overlap";
  let description = "`stages` iterations' copies are in flight at once: the depth of the rings made for its buffers.";
  let parameters = (ins "int64_t":$stages);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_PlannedRoleAttr : Tile_Attr<"PlannedRole", "planned_role"> {
  let summary = "A role that a kernel will have, and its number of warps";
  let parameters = (ins StringRefParameter<"the role's name">:$name, "int64_t":$warps);
  let assemblyFormat = "`<` $name `,` `warps` `=` $warps `>`";
}

def Tile_ChannelAttr : Tile_Attr<"Channel", "channel"> {
  let summary = "Tiles that one planned role hands to others, in slots";
  let description = [{
    The tiles are those that the copies, the store or the `tile.take` with `tile.channel = "name"` fill; those of an iteration share a slot. Each of
    the roles `to` reads all of them. A channel from a role to itself is of copies that run ahead of what reads them.

        #tile.channel<"k", from = "load", to = "math", slots = 2>
        #tile.channel<"v", from = "load", to = ["scores", "output"], slots = 2>
  }];
  let parameters = (ins StringRefParameter<"the channel's name">:$name, StringRefParameter<"the producing role">:$from,
    ArrayRefParameter<"::mlir::StringAttr", "the consuming roles">:$to, "int64_t":$slots);
  let assemblyFormat = "`<` $name `,` `from` `=` $from `,` `to` `=` custom<Names>($to) `,` `slots` `=` $slots `>`";
  let extraClassDeclaration = [{
    /// Whether the role reads what the channel brings.
    bool leadsTo(::llvm::StringRef role) const;
  }];
}

def Tile_RolePlanAttr : Tile_Attr<"RolePlan", "role_plan"> {
  let summary = "The roles that a kernel will have, and the channels between them";
  let description = [{
    Hangs on a kernel as `tile.role_plan`. Each operation with effects, or of fragments, says as `tile.role` who executes it;
    all others every role repeats that needs them.

    Constraints
    - role_plan_c1: roles of different names, with at least 1 warp; channels of different names.
    - role_plan_c2: each channel leads from one of the roles to others, or to itself if it is the only one, by at least 1 slot.
  }];
  let parameters = (ins ArrayRefParameter<"::tlc::tile::PlannedRoleAttr">:$roles,
    ArrayRefParameter<"::tlc::tile::ChannelAttr">:$channels);
  let assemblyFormat = "`<` `roles` `=` `[` $roles `]` `,` `channels` `=` `[` $channels `]` `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Null if there is none of that name.
    ::tlc::tile::PlannedRoleAttr findRole(::llvm::StringRef name) const;
    ::tlc::tile::ChannelAttr findChannel(::llvm::StringRef name) const;
  }];
}

def Tile_StageAttr : Tile_Attr<"Stage", "stage"> {
  let summary = "Place of an operation in a scheduled loop";
  let description = [{
    In the rewritten loop, iteration i executes the operations of stage s for the original iteration i - s,
    in ascending `order`.
  }];
  let parameters = (ins "int64_t":$stage, "int64_t":$order);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif
