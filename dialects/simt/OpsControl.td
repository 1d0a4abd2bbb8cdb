// SPDX-License-Identifier: Apache-2.0
// Kernels, register budgets, barriers among threads.
#ifndef TLC_DIALECTS_SIMT_OPSCONTROL_TD
#define TLC_DIALECTS_SIMT_OPSCONTROL_TD

include "dialects/program/Program.td"
include "dialects/simt/Dialect.td"

def Simt_KernelOp : Simt_Op<"kernel", [FunctionOpInterface, IsolatedFromAbove, HasParent<"::mlir::ModuleOp">]> {
  let summary = "The program of one thread, and how to launch it";
  let description = [{
    Every argument carries `program.parameter`; a tensor map is a `!llvm.ptr` to the parameter itself. `schema` is
    the program's argument list, `schema_types` the types that go with it (`index`, `tensor<?x64xbf16>`, `f32`),
    `grid` the number of blocks (missing axes are 1). `roles` and `shared` are names for reports, `marks` the places where a profiled kernel records the time.

    Constraints
    - kernel_c1: every argument has a `program.parameter` of the kind its type asks for: pointers `!llvm.ptr<1>`,
      strides i64, dimensions i32, tensor maps `!llvm.ptr`; its index names an entry of the schema or a tensor map.
    - kernel_c2: `launch` has at least one warp, and the constraints of `#program.launch` hold.
    - kernel_c3: `schema` has one entry per type of `schema_types`: a `#program.dimension` for `index`, a
      `#program.tensor` for a tensor of as many axes as its `dims`, a `#program.scalar` for a number.
    - kernel_c4: `grid` has one to three `#program.host_expr`, `tensor_maps` has only `#program.tensor_map`,
      `roles` only `#program.role`, `shared` only `#program.shared`, `marks` only `#program.mark`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
    Program_LaunchAttr:$launch,
    ArrayAttr:$schema, TypeArrayAttr:$schema_types, ArrayAttr:$grid, ArrayAttr:$tensor_maps,
    OptionalAttr<ArrayAttr>:$roles, OptionalAttr<ArrayAttr>:$shared, OptionalAttr<ArrayAttr>:$marks,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region MinSizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = !strconcat(launchedKernelMembers, [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }]);
}

def Simt_ReturnOp : Simt_Op<"return", [Terminator, ParentOneOf<["KernelOp"]>, Pure]> {
  let summary = "End of the thread";
  let assemblyFormat = "attr-dict";
}

def Simt_SharedBaseOp : Simt_Op<"shared_base", [Pure]> {
  let summary = "Start of the block's dynamic shared memory, aligned to 1024 bytes";
  let results = (outs Simt_SharedPtr:$base);
  let assemblyFormat = "attr-dict";
}

def Simt_WarpIndexOp : Simt_Op<"warp_index", [Pure]> {
  let summary = "Number of this thread's warp in the block, known to be the same for all its lanes";
  let description = "Read from lane 0 by a shuffle, so that branches on it are uniform to the machine compiler.";
  let results = (outs I32:$index);
  let assemblyFormat = "attr-dict";
}

def Simt_OpaqueOp : Simt_Op<"opaque", [SameOperandsAndResultType]> {
  let summary = "The value, which the compiler cannot recognise";
  let description = [{
    Values that follow from the result are rematerialised after the operation, instead of kept in registers from before.
  }];
  let arguments = (ins I32:$value);
  let results = (outs Res<I32, "", [MemAlloc]>:$result);
  let assemblyFormat = "$value attr-dict";
}

def Simt_ElectOp : Simt_EffectOp<"elect"> {
  let summary = "True in one thread of the warp";
  let results = (outs I1:$elected);
  let assemblyFormat = "attr-dict";
}

def Simt_SetRegistersOp : Simt_EffectOp<"set_registers", [Program_Needs<"setmaxnreg">]> {
  let summary = "setmaxnreg: this warpgroup's registers per thread from here on";
  let description = [{
    `increase` waits until the registers are there. All warps of a warpgroup execute it.

    Constraints
    - set_registers_c1: `count` is a multiple of 8 from 24 to 256.
  }];
  let arguments = (ins I64Attr:$count, UnitAttr:$increase);
  let assemblyFormat = "$count (`increase` $increase^)? attr-dict";
  let hasVerifier = 1;
}

def Simt_SyncOp : Simt_EffectOp<"sync"> {
  let summary = "bar.sync: `threads` threads of the block meet at barrier `id`";
  let description = "With `arrive` (bar.arrive) the executing threads do not wait. Without `threads`, the whole block.";
  let arguments = (ins I32:$id, OptionalAttr<I64Attr>:$threads, UnitAttr:$arrive);
  let assemblyFormat = "$id (`threads` $threads^)? (`arrive` $arrive^)? attr-dict";
}

def Simt_WarpSyncOp : Simt_EffectOp<"warp_sync"> {
  let summary = "bar.warp.sync: the lanes of the warp meet, and what they did before is ordered";
  let assemblyFormat = "attr-dict";
}

def Simt_ClusterSyncOp : Simt_EffectOp<"cluster_sync", [Program_Needs<"cluster">]> {
  let summary = "All threads of the cluster meet; relaxed: what they did before is not ordered by that";
  let arguments = (ins UnitAttr:$relaxed);
  let assemblyFormat = "(`relaxed` $relaxed^)? attr-dict";
}

def Simt_LaunchOrderOp : Simt_EffectOp<"launch_order"> {
  let summary = "griddepcontrol: waits for the launch before this one, then lets the next one start its prologue";
  let description = [{
    Launched with programmatic stream serialization, a block may start while the launch before it drains. What
    stands before this operation touches no global memory; after it the earlier launch is complete and visible.
  }];
  let assemblyFormat = "attr-dict";
}

def Simt_ClusterRankOp : Simt_Op<"cluster_rank", [Program_Needs<"cluster">, Pure]> {
  let summary = "Number of this block in its cluster";
  let results = (outs I32:$rank);
  let assemblyFormat = "attr-dict";
}

#endif
