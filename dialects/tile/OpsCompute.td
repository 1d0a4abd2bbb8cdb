// SPDX-License-Identifier: Apache-2.0
// Products, reductions, shape changes of fragments.
#ifndef TLC_DIALECTS_TILE_OPSCOMPUTE_TD
#define TLC_DIALECTS_TILE_OPSCOMPUTE_TD

include "dialects/tile/Interfaces.td"
include "dialects/tile/Types.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

class Tile_GemmBase<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat(traits, [AllTypesMatch<["acc", "result"]>, Tile_Accesses, Tile_AtomOpInterface,
        Tile_ProductOpInterface, Tile_StatesLayouts, DeclareOpInterfaceMethods<Program_UnitOpInterface>])> {
  let arguments = (ins
    Arg<Tile_SharedOrFragment, "left factor, M x K, shared or in registers", [MemRead]>:$a,
    Arg<Tile_SharedType, "right factor, K x N, always shared", [MemRead]>:$b,
    Arg<Tile_AnyFragment, "accumulator, M x N; not modified">:$acc,
    Arg<Optional<Tile_AnyFragment>, "which elements of the left factor are stored, if it is sparse">:$metadata,
    DefaultValuedAttr<Tile_WarpPolicy, "WarpPolicy::fullRow">:$policy,
    OptionalAttr<Tile_MatrixAtom>:$atom);
  let results = (outs Res<Tile_AnyFragment, "acc + a * b">:$result);
  let assemblyFormat = "$a `,` $b `,` $acc (`metadata` $metadata^)? (`policy` `` $policy^)? (`atom` `` $atom^)? attr-dict `:` qualified(type($a)) `,` qualified(type($b)) `,` type($acc) (`,` type($metadata)^)?";
  let extraClassDeclaration = [{
    static ::llvm::StringRef getAtomUse() { return "product"; }
  }];
  let hasVerifier = 1;
}

def Tile_GemmOp : Tile_GemmBase<"gemm"> {
  let summary = "Adds the product of two tiles to an accumulator fragment";
  let description = [{
    Returns `acc + a * b`. Reads of `a` and `b` are complete when it is done.

    With `metadata` the left factor is sparse: of each 4 elements of a row (2, if they have 32 bits) half may differ from 0, and
    `a` has these alone, M x K/2. Four bits of the row of `metadata` say which they are, of the first group the lowest of the
    first byte: their two places, 0 to 3, the lower one first. Elements of 32 bits count as two of 16: 0100 is the first,
    1110 the second.

    Constraints
    - gemm_c1: `a` is M x K, or M x K/2 if it is sparse, `b` is K x N, `acc` is M x N.
    - gemm_c2: `a` and `b` have the same element type, f16, bf16 or f32 (as tf32), or each of them is f8E4M3FN or f8E5M2, and
      `acc` is f32; or each of them is i8 or ui8 and `acc` is i32, whose sums wrap around.
    - gemm_c3: the atom, once chosen, of a sparse factor is wgmma. tcgen05 adds in tensor memory: `tile-place-sums` makes
      `tile.gemm_in_place` of it.
    - gemm_c4: `metadata` is of ui8 and M x K/8, or M x K/4 where `a` is of f32; then `a` is in shared memory.

        %1 = tile.gemm %a, %b, %acc metadata %e : !tile.shared<64x32xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>, tensor<64x8xui8>
  }];
}

// Waits count started gemms: none may be merged or removed.
def Tile_GemmAsyncOp : Tile_GemmBase<"gemm_async", [MemoryEffects<[MemWrite]>,
    DeclareOpInterfaceMethods<Tile_InFlightOpInterface, ["getValueInFlight", "getContinuedOperand"]>]> {
  let summary = "Starts adding the product of two tiles to an accumulator";
  let description = [{
    As `tile.gemm`, but the products are in flight: the result may be used only by another `gemm_async` as its
    accumulator, carried by a loop, or waited for with `tile.gemm_wait`; until then `a` and `b` must not change.
    Groups complete in the order of issue.

    Constraints
    - gemm_async_c1: as gemm_c1, gemm_c2 and gemm_c4.
    - gemm_async_c2: the atom, once chosen, is wgmma.
    - gemm_async_c3: the result goes to a `gemm_async` or `gemm_wait` as accumulator, to a loop or branch, or into a variable.
  }];
}

def Tile_GemmWaitOp : Tile_Op<"gemm_wait", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["acc", "result"]>,
    Tile_AccessesNothing, Tile_StatesLayouts,
    DeclareOpInterfaceMethods<Tile_CompletionOpInterface, ["getNumInFlight", "getAwaitedValue", "getCompleteValue"]>]> {
  let summary = "Waits until at most `pending` started gemms of this role are in flight";
  let description = [{
    With `pending = 0` the result may be read. The waited gemms' reads of shared memory are complete.

    Constraints
    - gemm_wait_c1: `pending` is at least 0.
  }];
  let arguments = (ins Tile_AnyFragment:$acc, DefaultValuedAttr<I64Attr, "0">:$pending);
  let results = (outs Tile_AnyFragment:$result);
  let assemblyFormat = "$acc `pending` `(` $pending `)` attr-dict `:` type($acc)";
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure, Tile_StatesLayouts,
    DeclareOpInterfaceMethods<Tile_ScratchOpInterface, ["getScratchNeed", "getScratchWords"]>]> {
  let summary = "Combines a fragment along one axis, which stays with extent 1";
  let description = [{
    Warps that share the axis combine through `scratch`: shared memory of the result's shape, with the number of these
    warps in place of the 1. With it all executing threads meet, as in `tile.sync`.

    Constraints
    - reduce_c1: `axis` is an axis of the source; the result has extent 1 there and the same element type.
    - reduce_c2: bit operations are of integers, `max_or_nan` and `min_or_nan` of floats.
  }];
  let arguments = (ins Tile_AnyFragment:$source, I64Attr:$axis, Tile_ReduceKind:$kind, Optional<Tile_SharedType>:$scratch);
  let results = (outs Tile_AnyFragment:$result);
  let assemblyFormat = "`` $kind $source `axis` `(` $axis `)` (`scratch` $scratch^ `:` qualified(type($scratch)))? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ScanOp : Tile_Op<"scan", [Pure, AllTypesMatch<["source", "result"]>,
    DeclareOpInterfaceMethods<Tile_FragmentOpInterface, ["stateLayouts", "mayKeepElements"]>,
    DeclareOpInterfaceMethods<Tile_ScratchOpInterface, ["getScratchNeed", "getScratchWords"]>]> {
  let summary = "Combines each element with all that come before it along one axis";
  let description = [{
    The element itself is included. With `reverse` those that come after it are meant. As in `tile.reduce`, elements are
    combined in any order.

    Warps that share the axis tell each other their parts through `scratch`: shared memory of the source's shape, with as
    many elements along the axis as there are parts. With it all executing threads meet, as in `tile.sync`.

    Constraints
    - scan_c1: `axis` is an axis of the source.
    - scan_c2: as reduce_c2.

        %sums = tile.scan sum %x axis(1) : tensor<64x128xf32>
  }];
  let arguments = (ins Tile_AnyFragment:$source, I64Attr:$axis, Tile_ReduceKind:$kind, UnitAttr:$reverse,
    Optional<Tile_SharedType>:$scratch);
  let results = (outs Tile_AnyFragment:$result);
  let assemblyFormat = "`` $kind $source `axis` `(` $axis `)` (`reverse` $reverse^)? (`scratch` $scratch^ `:` qualified(type($scratch)))? attr-dict `:` type($source)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_AnyInWarpOp : Tile_Op<"any_in_warp", [Pure, Tile_StatesLayouts]> {
  let summary = "Whether a condition holds for some element that the warp holds";
  let description = [{
    Warps differ in the result. It lets a warp skip what changes none of its elements, so that what a branch on it
    computes must be right for elements for which the condition does not hold, too.

    Constraints
    - any_in_warp_c1: the operand is a fragment of truth values.
    - any_in_warp_c2: the result, or what arithmetic on truth values makes of it, is used only as the condition of branches,
      in which nothing touches memory but loads and stores of tensor memory, and to choose between fragments. Their results have to lie in the warps that
      decide on them (`tile-materialize-relayouts`).
  }];
  let arguments = (ins Tile_AnyFragment:$condition);
  let results = (outs I1:$result);
  let assemblyFormat = "$condition attr-dict `:` type($condition)";
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure,
    DeclareOpInterfaceMethods<Tile_FragmentOpInterface, ["stateLayouts", "getSharedRegisters"]>]> {
  let summary = "Repeats a fragment along its axes of extent 1";
  let description = [{
    Constraints
    - broadcast_c1: same rank and element type; an extent differs only where the source's is 1.
  }];
  let arguments = (ins Tile_AnyFragment:$source);
  let results = (outs Tile_AnyFragment:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure,
    DeclareOpInterfaceMethods<Tile_FragmentOpInterface, ["stateLayouts", "getSharedRegisters"]>]> {
  let summary = "The same bits with other extents or as wider or narrower elements";
  let description = [{
    The elements' bits follow one another in row-major order, of each element the lowest first: an element of 32 bits is
    two of 16, the lower half first. The result lies in the source's registers; `tile-infer-layouts` converts the source
    first where its layout does not permit that.

    Constraints
    - reshape_c1: source and result have equally many bits.
    - reshape_c2: their elements have the same type; or different widths, and each element is one or more whole bytes.

        %y = tile.reshape %x : tensor<64x64xf32> -> tensor<4x16x64xf32>
        %z = tile.reshape %w : tensor<128x16xui32> -> tensor<128x32xbf16>
  }];
  let arguments = (ins Tile_AnyFragment:$source);
  let results = (outs Tile_AnyFragment:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ConvertOp : Tile_Op<"convert", !listconcat([Pure,
    DeclareOpInterfaceMethods<Tile_FragmentOpInterface, ["stateLayouts", "mayKeepElements"]>], ElementwiseMappable.traits)> {
  let summary = "The same numbers as elements of another type";
  let description = [{
    What the type does not have is rounded; of integers, the bits that the type has are kept. With `saturate` what is
    larger than all numbers of the type becomes the largest (an infinity, too), what is less than all of them the least,
    and NaN becomes 0 in an integer. Without it, a float becomes infinite, and what integer it becomes is not specified.

    The target's instruction is used where it has one, with the same result as without.

    Constraints
    - convert_c1: the operand and the result are numbers, or fragments of the same extents; their element types are
      different ones that memory can hold.
    - convert_c2: a float of 8 bits or less saturates.
    - convert_c3: an integer that becomes a float is rounded to `nearest`.

        %p = tile.convert %x : tensor<64x64xf32> to tensor<64x64xbf16>
        %q = tile.convert %x rounding down saturate : tensor<64x64xf32> to tensor<64x64xi8>
  }];
  let arguments = (ins Tile_FragmentOrNumber:$source, DefaultValuedAttr<Tile_Rounding, "Rounding::nearest">:$rounding,
    UnitAttr:$saturate);
  let results = (outs Tile_FragmentOrNumber:$result);
  let assemblyFormat = "$source (`rounding` `` $rounding^)? (`saturate` $saturate^)? attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_SplatOp : Tile_Op<"splat", [Pure, Tile_FragmentOpInterface]> {
  let summary = "A fragment with one number everywhere";
  let description = [{
    Constraints
    - splat_c1: the result has the number's type as element type.
  }];
  let arguments = (ins AnyTypeOf<[AnyFloat, AnyInteger, Index]>:$value);
  let results = (outs Tile_AnyFragment:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_CoordinatesOp : Tile_Op<"coordinates", [Pure, Tile_FragmentOpInterface]> {
  let summary = "Each element's own position along an axis";
  let description = [{
    Constraints
    - coordinates_c1: `axis` is an axis of the result, whose element type is `index`.
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs Tile_AnyFragment:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_CudaOp : Tile_Op<"cuda", [Pure, Tile_StatesLayouts]> {
  let summary = "A function in CUDA C++ of each element by itself";
  let description = [{
    Each element of the result is `function` of the operands' elements at its position. `source` defines the function, in
    C++17 with what CUDA adds for functions of the device; it may be called any number of times, so it has no effects and keeps
    nothing. `tile-compile-cuda` adds `ptx`: the function for LLVM's inline assembly.

    Constraints
    - cuda_c1: there is an operand; the operands and the result have the same extents.
    - cuda_c2: element types are among those that CUDA C++ has and that take 16 bits or more.

        %y = tile.cuda "twice"(%x) {source = "float twice(float x) { return x * 2; }"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  }];
  let arguments = (ins Variadic<Tile_AnyFragment>:$inputs, StrAttr:$function, StrAttr:$source,
    OptionalAttr<StrArrayAttr>:$options, OptionalAttr<StrAttr>:$ptx);
  let results = (outs Tile_AnyFragment:$result);
  let assemblyFormat = "$function `(` $inputs `)` attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
}

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure,
    DeclareOpInterfaceMethods<Tile_FragmentOpInterface, ["getSharedRegisters"]>,
    DeclareOpInterfaceMethods<Tile_ScratchOpInterface, ["getScratchNeed", "getScratchWords"]>]> {
  let summary = "The same tile, spread differently over the threads";
  let description = [{
    Through registers, shuffles or `scratch` shared memory, whichever the two layouts need. With `scratch` all executing
    threads meet, as in `tile.sync`.

    Constraints
    - convert_layout_c1: both sides have the same shape and element type, and a layout.
  }];
  let arguments = (ins Tile_AnyFragment:$source, Optional<Tile_SharedType>:$scratch);
  let results = (outs Tile_AnyFragment:$result);
  let assemblyFormat = "$source (`scratch` $scratch^ `:` qualified(type($scratch)))? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif
