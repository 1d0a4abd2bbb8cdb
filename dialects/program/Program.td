// SPDX-License-Identifier: Apache-2.0
// The program dialect: attributes only, what the launcher must know. They mirror runtime/artifact/Artifact.h
// and are carried unchanged by tile and simt kernels.
#ifndef TLC_DIALECTS_PROGRAM_PROGRAM_TD
#define TLC_DIALECTS_PROGRAM_PROGRAM_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Program_Dialect : Dialect {
  let name = "program";
  let cppNamespace = "::tlc::program";
  let summary = "What the launcher must know of a program: arguments, grids, tensor maps, target";
  let description = [{
    Attributes alone. Both kernel dialects carry them, so that a program can be launched whatever phase it was
    stopped and resumed at; `compiler/codegen` turns them into the artifact.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Argument attribute of type DimensionAttr, TensorAttr or ScalarAttr.
    static constexpr llvm::StringLiteral argumentAttrName = "program.argument";
    /// Argument attribute of type ParameterAttr of a lowered kernel.
    static constexpr llvm::StringLiteral parameterAttrName = "program.parameter";
    /// Function attribute of type EntryAttr of a kernel that has left the dialects of kernels.
    static constexpr llvm::StringLiteral entryAttrName = "program.entry";
    /// Module attribute of type TargetAttr.
    static constexpr llvm::StringLiteral targetAttrName = "program.target";
    /// Module attribute, a string: the phase that the compiler has brought the module to.
    static constexpr llvm::StringLiteral phaseAttrName = "program.phase";
    /// Module attribute of type PtxAttr.
    static constexpr llvm::StringLiteral ptxAttrName = "program.ptx";
    /// Module attribute, an array of ReportAttr: where lowered kernels print and check. Records have the index.
    static constexpr llvm::StringLiteral reportsAttrName = "program.reports";
    /// Module attribute, an array of TransferAttr: what copy engines do between launches, in stream order.
    static constexpr llvm::StringLiteral transfersAttrName = "program.transfers";
  }];
}

class Program_Enum<string name, string summary, list<I32EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::tlc::program";
}
class Program_Attr<string name, string attrMnemonic> : AttrDef<Program_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Program_AccessEnum : Program_Enum<"Access", "how a program uses a tensor argument", [
  I32EnumCase<"input", 0>, I32EnumCase<"output", 1>, I32EnumCase<"inout", 2>, I32EnumCase<"workspace", 3>]>;

def Program_SwizzleEnum : Program_Enum<"Swizzle", "the exclusive-or pattern of a tensor map", [
  I32EnumCase<"none", 0>, I32EnumCase<"bytes32", 1>, I32EnumCase<"bytes64", 2>, I32EnumCase<"bytes128", 3>]>;

def Program_SwizzleAttr : EnumAttr<Program_Dialect, Program_SwizzleEnum, "swizzle"> {
  let assemblyFormat = "$value";
}

def Program_TensorOrderEnum : Program_Enum<"TensorOrder", "in which order a tensor keeps its elements", [
  I32EnumCase<"natural", 0>, I32EnumCase<"interleaved", 1>, I32EnumCase<"accumulator", 2>]>;

def Program_EvictionEnum : Program_Enum<"Eviction", "when L2 gives up the lines of an access", [
  I32EnumCase<"first", 0>, I32EnumCase<"last", 1>]>;

def Program_EvictionAttr : EnumAttr<Program_Dialect, Program_EvictionEnum, "eviction"> {
  let description = "A hint of an access in both kernel dialects: `first` or `last` among all lines. No result depends on it.";
  let assemblyFormat = "$value";
}

class Program_DefaultedEnum<EnumInfo info, string value> : EnumParameter<info> {
  let defaultValue = value;
}

def Program_ParameterKindEnum : Program_Enum<"ParameterKind", "where the value of a lowered kernel's parameter comes from", [
  I32EnumCase<"tensorPointer", 0, "tensor_pointer">, I32EnumCase<"tensorStride", 1, "tensor_stride">,
  I32EnumCase<"dimension", 2>, I32EnumCase<"scalar", 3>, I32EnumCase<"tensorMap", 4, "tensor_map">,
  I32EnumCase<"tensorPointers", 5, "tensor_pointers">, I32EnumCase<"tensorMaps", 6, "tensor_maps">,
  I32EnumCase<"multicastPointer", 7, "multicast_pointer">]>;

def Program_DimensionSourceEnum : Program_Enum<"DimensionSource", "where the launcher gets a dimension from", [
  I32EnumCase<"shapes", 0>, I32EnumCase<"rank", 1>, I32EnumCase<"ranks", 2>]>;

def Program_TargetAttr : Program_Attr<"Target", "target"> {
  let summary = "The architecture a module is compiled for: a row of runtime/target";
  let parameters = (ins StringRefParameter<"name of the target">:$name);
  let assemblyFormat = "`<` $name `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = "const ::tlc::Target &getTarget() const;";
}

def Program_PtxAttr : Program_Attr<"Ptx", "ptx"> {
  let summary = "Variables in PTX that inline assembly of the module refers to";
  let parameters = (ins "unsigned":$version, StringRefParameter<"version of the NVRTC that made them">:$nvrtc,
    StringRefParameter<"one after the other">:$declarations);
  let assemblyFormat = "`<` $version `,` $nvrtc `,` $declarations `>`";
}

def Program_HostExprAttr : Program_Attr<"HostExpr", "host_expr"> {
  let summary = "An integer the host computes at launch, in postfix text";
  let description = [{
    Tokens: integers, `d0 d1 ...` (dimensions in order of the schema), `sms` (the device's multiprocessors), and the
    operators `add sub mul ceildiv div rem min max`, each of two operands.

        #program.host_expr<"d0 128 ceildiv d1 256 ceildiv mul sms min">
  }];
  let parameters = (ins StringRefParameter<"postfix text">:$text);
  let assemblyFormat = "`<` $text `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::tlc::HostExpr getExpr() const;
    static HostExprAttr get(::mlir::MLIRContext *context, const ::tlc::HostExpr &expr);
  }];
}

def Program_DimensionAttr : Program_Attr<"Dimension", "dimension"> {
  let summary = "An argument that is a runtime extent";
  let description = [{
    `multiple_of`, `least` and `most` are facts that the launcher checks. A `fixed` dimension was specialised: its value is known. A
    `computed` one is an expression of dimensions before it, which the launcher evaluates; `multiple_of` follows from it.
    The `source` of a dimension that no shape has is the launch itself: the number of the executing `rank`, or how many
    `ranks` there are.

        #program.dimension<"m", multiple_of = 8, most = 256>
        #program.dimension<"k.ranks", source = ranks>
        #program.dimension<"partial.0", computed = #program.host_expr<"d0 64 ceildiv">>
  }];
  let parameters = (ins StringRefParameter<"user's name">:$name,
    DefaultValuedParameter<"int64_t", "1">:$multiple_of,
    DefaultValuedParameter<"int64_t", "0">:$least,
    DefaultValuedParameter<"int64_t", "::tlc::maxExtent">:$most,
    DefaultValuedParameter<"int64_t", "-1", "known value, or -1">:$fixed,
    OptionalParameter<"HostExprAttr">:$computed,
    Program_DefaultedEnum<Program_DimensionSourceEnum, "::tlc::program::DimensionSource::shapes">:$source);
  let assemblyFormat = "`<` $name (`,` struct($multiple_of, $least, $most, $fixed, $computed, $source)^)? `>`";
  let genVerifyDecl = 1;
}

def Program_MembersAttr : Program_Attr<"Members", "members"> {
  let summary = "What is known of the tensors whose addresses an argument holds";
  let description = [{
    The members of a table of addresses: how the program uses them, their element type and number of axes, and a fact in
    bytes about each address and every outer stride, which the launcher cannot check. Their innermost stride is 1.

        #program.members<output, bf16, axes = 2, alignment = 16>
  }];
  let parameters = (ins EnumParameter<Program_AccessEnum>:$access, "::mlir::Type":$element, "int64_t":$axes, "int64_t":$alignment);
  let assemblyFormat = "`<` $access `,` $element `,` struct($axes, $alignment) `>`";
  let genVerifyDecl = 1;
}

def Program_TensorAttr : Program_Attr<"Tensor", "tensor"> {
  let summary = "An argument that is a global tensor";
  let description = [{
    `dims` gives, for each axis, the number of the kernel argument that is this dimension, and -1 for an axis of
    fixed extent. `alignment` is a fact in bytes about the base address and every outer stride. The innermost stride
    is 1, or, of a `strided` tensor, any. A `workspace` is memory of the caller, contiguous but for what the alignment leaves empty after rows;
    `zero_fill` asks for a tensor to be cleared before the program's first launch.

    Of a `symmetric` tensor every rank has its own, of the same shape and strides, and every rank reaches all of them: the
    launcher passes the addresses of all ranks.

    A tensor with `members` is a table of the addresses of other tensors: an input of one axis, which holds i64.

    The elements of a workspace may have an `order` other than the natural one, which all its accesses follow:
    - `interleaved`: of each 16 along the last axis, the pairs of the two halves alternate.
    - `accumulator`: pieces of 16 x 8 elements of the last two axes follow one another along each 16 rows. In a piece,
      element 4 l + r is what register r of lane l holds of a matrix instruction's accumulator. The memory has room for
      whole pieces.

        #program.tensor<"A", input, dims[0, 2], alignment = 16>
        #program.tensor<"dq", workspace, dims[0, -1], alignment = 16, order = accumulator>
        #program.tensor<"W", input, dims[0], members = <input, bf16, axes = 2, alignment = 16>>
  }];
  let parameters = (ins StringRefParameter<"user's name">:$name,
    EnumParameter<Program_AccessEnum>:$access,
    ArrayRefParameter<"int64_t", "argument number of each axis's dimension, or -1">:$dims,
    DefaultValuedParameter<"int64_t", "1">:$alignment,
    DefaultValuedParameter<"bool", "false">:$zero_fill,
    Program_DefaultedEnum<Program_TensorOrderEnum, "::tlc::program::TensorOrder::natural">:$order,
    DefaultValuedParameter<"bool", "false">:$symmetric,
    DefaultValuedParameter<"bool", "false">:$strided,
    OptionalParameter<"MembersAttr">:$members);
  let assemblyFormat = "`<` $name `,` $access `,` `dims` `[` $dims `]` (`,` struct($alignment, $zero_fill, $order, $symmetric, $strided, $members)^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    TensorAttr withAlignment(int64_t alignment) const {
      return get(getContext(), getName(), getAccess(), getDims(), alignment, getZeroFill(), getOrder(), getSymmetric(),
                 getStrided(), getMembers());
    }
  }];
}

def Program_ScalarAttr : Program_Attr<"Scalar", "scalar"> {
  let summary = "An argument that is a number";
  let parameters = (ins StringRefParameter<"user's name">:$name);
  let assemblyFormat = "`<` $name `>`";
}

def Program_WindowAttr : Program_Attr<"Window", "window"> {
  let summary = "How a window moves over a tensor, as the filter of a convolution does over images";
  let description = [{
    One number for each axis of the tensor between the first, of images, and the last, of channels. At position p of an
    axis tap t of the window is at p * stride + t * dilation - before. It moves as long as its last tap is at most
    `after` beyond the last element.

    Constraints
    - window_c1: as many numbers of each kind, at least one.
    - window_c2: taps, strides and dilations are at least 1, and what the window reaches beyond an axis at least 0.
    - window_c3: strides, the span from the first tap to the last, and what is beyond are at most `maxWindowReach`.

        #program.window<taps [3, 3], strides [2, 2], dilations [1, 1], before [1, 1], after [1, 1]>
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$taps, ArrayRefParameter<"int64_t">:$strides,
    ArrayRefParameter<"int64_t">:$dilations, ArrayRefParameter<"int64_t">:$before, ArrayRefParameter<"int64_t">:$after);
  let assemblyFormat = "`<` `taps` `[` $taps `]` `,` `strides` `[` $strides `]` `,` `dilations` `[` $dilations `]` `,` `before` `[` $before `]` `,` `after` `[` $after `]` `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::tlc::TensorWindow getWindow() const;
  }];
}

def Program_TensorMapAttr : Program_Attr<"TensorMap", "tensor_map"> {
  let summary = "How the launcher builds a TMA tensor map";
  let description = [{
    `tensor` counts the tensors of the schema. The box is outermost axis first, in elements; where several share a
    byte, in bytes along the innermost axis.

    The map of a tensor with a `limited_axis` has one axis more, outermost, for boxes that end at a place of their own
    along that axis: with n of a box's r rows inside, the box at row t begins at r - n of the old axis, whose extent is r,
    and at t + n - r of the new one. Where that is negative, a map is needed that begins r rows before the tensor (`before`).

    With a `window` the map is in im2col mode: a box has so many positions of the window as its outermost extent says,
    in row-major order through positions and images, at one of its taps.

        #program.tensor_map<0, box [64, 64], bytes128>
        #program.tensor_map<0, box [64, 64], bytes128, limited_axis = 0, before = 64>
        #program.tensor_map<0, box [128, 1, 1, 64], bytes128, window = <taps [3, 3], strides [1, 1], dilations [1, 1],
          before [1, 1], after [1, 1]>>
  }];
  let parameters = (ins "int64_t":$tensor, ArrayRefParameter<"int64_t">:$box, EnumParameter<Program_SwizzleEnum>:$swizzle,
    DefaultValuedParameter<"int64_t", "-1", "axis, or -1">:$limited_axis,
    DefaultValuedParameter<"int64_t", "0", "rows of the limited axis from the map's begin to the tensor's">:$before,
    OptionalParameter<"WindowAttr", "of a map in im2col mode">:$window);
  let assemblyFormat = "`<` $tensor `,` `box` `[` $box `]` `,` $swizzle (`,` struct($limited_axis, $before, $window)^)? `>`";
  let genVerifyDecl = 1;
}

def Program_ParameterAttr : Program_Attr<"Parameter", "parameter"> {
  let summary = "What a parameter of a lowered kernel is";
  let description = "`index` counts the tensors, dimensions or scalars of the schema, or the kernel's tensor maps.";
  let parameters = (ins EnumParameter<Program_ParameterKindEnum>:$kind, "int64_t":$index, DefaultValuedParameter<"int64_t", "0">:$axis);
  let assemblyFormat = "`<` $kind `,` $index (`,` `axis` `=` $axis^)? `>`";
  let genVerifyDecl = 1;
}

def Program_RoleAttr : Program_Attr<"Role", "role"> {
  let summary = "Warps of a lowered kernel that do the same, as the source calls them";
  let description = "For reports: `#program.role<\"load\", first_warp = 0, warps = 4>`.";
  let parameters = (ins StringRefParameter<"user's name">:$name, "int64_t":$first_warp, "int64_t":$warps);
  let assemblyFormat = "`<` $name `,` struct($first_warp, $warps) `>`";
  let genVerifyDecl = 1;
}

def Program_SharedKindEnum : Program_Enum<"SharedKind", "what lies in shared memory", [
  I32EnumCase<"buffer", 0>, I32EnumCase<"ring", 1>, I32EnumCase<"barrier", 2>]>;

def Program_SharedAttr : Program_Attr<"Shared", "shared"> {
  let summary = "What lies in a lowered kernel's shared memory, as the source calls it";
  let description = [{
    For reports. A ring has 16 bytes per slot: the mbarriers "full" of all slots, then the mbarriers "empty".

        #program.shared<"a", buffer, offset = 8192, slots = 8, slot_bytes = 8192>
  }];
  let parameters = (ins StringRefParameter<"user's name">:$name, EnumParameter<Program_SharedKindEnum>:$kind,
    "int64_t":$offset, "int64_t":$slots, "int64_t":$slot_bytes);
  let assemblyFormat = "`<` $name `,` $kind `,` struct($offset, $slots, $slot_bytes) `>`";
  let genVerifyDecl = 1;
}

def Program_ProfileKindEnum : Program_Enum<"ProfileKind", "what a profiled kernel records the time of", [
  I32EnumCase<"mbarrier", 0>, I32EnumCase<"barrier", 1>, I32EnumCase<"wait", 2>, I32EnumCase<"loop", 3>]>;

def Program_MarkAttr : Program_Attr<"Mark", "mark"> {
  let summary = "A place where a profiled kernel records the time";
  let description = "`#program.mark<wait, \"products\", \"a.cpp:12:3\">`: what is waited for, and where in the source.";
  let parameters = (ins EnumParameter<Program_ProfileKindEnum>:$kind, StringRefParameter<"of a wait">:$awaited,
    StringRefParameter<"file:line:column">:$place);
  let assemblyFormat = "`<` $kind `,` $awaited `,` $place `>`";
}

def Program_ReportKindEnum : Program_Enum<"ReportKind", "what a report is", [
  I32EnumCase<"print", 0>, I32EnumCase<"check", 1>]>;

def Program_ReportAttr : Program_Attr<"Report", "report"> {
  let summary = "A place where a program prints or checks, as the launcher must know it to make texts of its records";
  let description = [{
    `text` has one `{}` for each of the values, whose types are `values`. A report of elements of a fragment has their
    positions along so many `axes`.

        #program.report<print, "row {} has {}", "a.cpp:12:3", [i32, i32]>
        #program.report<check, "expected a finite score, but got {}", "a.cpp:14:3", [f32], axes = 2>

    Constraints
    - report_c1: the text has one `{}` for each value, of which there are at most `maxReportValues`.
    - report_c2: values are of i32, i64, f32 or f64.
    - report_c3: at most `maxReportAxes` axes.
  }];
  let parameters = (ins EnumParameter<Program_ReportKindEnum>:$kind, StringRefParameter<"with `{}` for each value">:$text,
    StringRefParameter<"file:line:column">:$place, OptionalArrayRefParameter<"::mlir::Type">:$values,
    DefaultValuedParameter<"int64_t", "0">:$axes);
  let assemblyFormat = "`<` $kind `,` $text `,` $place `,` `[` (`]`) : ($values^ `]`)? (`,` `axes` `=` $axes^)? `>`";
  let genVerifyDecl = 1;
}

def Program_LaunchAttr : Program_Attr<"Launch", "launch"> {
  let summary = "What a block is launched with";
  let description = [{
    Kernels of both dialects carry it, and the lowering hands it on whole.

    - `warps` of a block, 0 as long as they are not chosen.
    - `cluster` blocks with consecutive numbers share one cluster.
    - `residents` blocks have room on one multiprocessor: registers and shared memory of a block are at most that share.
    - `shared_bytes` is the block's shared memory, 0 as long as it is not planned.

    Constraints, checked where a kernel carries it
    - launch_c1: `warps` is at least 0 and within the target's threads per block.
    - launch_c2: `cluster` is at least 1 and within the target's blocks per cluster.
    - launch_c3: `shared_bytes` is at least 0 and within the target's bytes per block.
    - launch_c4: `residents` is at least 1 and within the target's blocks per multiprocessor, and that many blocks are
      within its threads and its shared memory.

        #program.launch<warps = 12, cluster = 2, shared_bytes = 196608>
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$warps, DefaultValuedParameter<"int64_t", "1">:$cluster,
    DefaultValuedParameter<"int64_t", "1">:$residents, DefaultValuedParameter<"int64_t", "0">:$shared_bytes);
  let assemblyFormat = "`<` struct(params) `>`";
  let constBuilderCall = "$0"; // of a default value
  let extraClassDeclaration = [{
    /// One block per cluster and multiprocessor, and nothing chosen.
    static LaunchAttr get(::mlir::MLIRContext *context) { return get(context, 0, 1, 1, 0); }
    LaunchAttr withWarps(int64_t warps) const;
    LaunchAttr withCluster(int64_t cluster) const;
    LaunchAttr withResidents(int64_t residents) const;
    LaunchAttr withSharedBytes(int64_t bytes) const;
  }];
}

def Program_PlaceAttr : Program_Attr<"Place", "place"> {
  let summary = "An element of a tensor that the host names: `tensor` counts those of the schema";
  let description = [{
    `rank` says whose tensor a symmetric one is; others have none.

        #program.place<0, [<"0">, <"d1 2 mul">], rank = <"d3">>
  }];
  let parameters = (ins "int64_t":$tensor, ArrayRefParameter<"HostExprAttr">:$position,
    OptionalParameter<"HostExprAttr">:$rank);
  let assemblyFormat = "`<` $tensor `,` `[` $position `]` (`,` struct($rank)^)? `>`";
  let genVerifyDecl = 1;
}

def Program_TransferCopyAttr : Program_Attr<"TransferCopy", "transfer_copy"> {
  let summary = "Elements of a box that a transfer copies: from its first element in one tensor to that in another";
  let description = [{
        #program.transfer_copy<from = <0, [<"0">], rank = <"d3">>, to = <1, [<"d0 d3 mul">]>, extents = [<"d0">]>

    Constraints
    - transfer_copy_c1: there are 1 to `maxTransferAxes` extents, of the last axes of both places; of others it has one element.
  }];
  let parameters = (ins "PlaceAttr":$from, "PlaceAttr":$to, ArrayRefParameter<"HostExprAttr">:$extents);
  let assemblyFormat = "`<` `from` `=` $from `,` `to` `=` $to `,` `extents` `=` `[` $extents `]` `>`";
  let genVerifyDecl = 1;
}

def Program_TransferAttr : Program_Attr<"Transfer", "transfer"> {
  let summary = "What copy engines do after so many launches of the program";
  let description = [{
    `rounds` times it copies all boxes, and then sets the element `sets`, of a count, to `value`. Their numbers may be
    computed from the number of the round, as if it was one more dimension after those of the schema.

    It begins when the first `after` launches have ended. Launch `until` begins when it has ended; those between run
    beside it, and wait for what it sets. In stream order it comes before them, so that they may also run one after
    the other.

        #program.transfer<"gather", copies = [<from = <0, [<"0">], rank = <"d2">>, to = <1, [<"d0 d2 mul">]>, extents = [<"d0">]>],
            after = 0, until = 1, rounds = <"d1">, sets = <2, [<"d2">], rank = <"d3">>, value = <"1">>

    Constraints
    - transfer_c1: at least one copy.
    - transfer_c2: `after` is at least 0, and `until` at least `after`.
    - transfer_c3: `sets` and `value` come together, and launches run beside a transfer only if it sets something.
  }];
  let parameters = (ins StringRefParameter<"user's name">:$name, ArrayRefParameter<"TransferCopyAttr">:$copies,
    "int64_t":$after, "int64_t":$until, "HostExprAttr":$rounds,
    OptionalParameter<"PlaceAttr", "an element of i32">:$sets, OptionalParameter<"HostExprAttr">:$value);
  let assemblyFormat = "`<` $name `,` `copies` `=` `[` $copies `]` `,` struct($after, $until, $rounds, $sets, $value) `>`";
  let genVerifyDecl = 1;
}

/// Members of a kernel's operation, which has the attribute `launch`.
defvar launchedKernelMembers = [{
    int64_t getWarps() { return getLaunch().getWarps(); }
    int64_t getCluster() { return getLaunch().getCluster(); }
    int64_t getResidents() { return getLaunch().getResidents(); }
    int64_t getSharedBytes() { return getLaunch().getSharedBytes(); }
    void setWarps(int64_t warps) { setLaunchAttr(getLaunch().withWarps(warps)); }
    void setCluster(int64_t blocks) { setLaunchAttr(getLaunch().withCluster(blocks)); }
    void setResidents(int64_t blocks) { setLaunchAttr(getLaunch().withResidents(blocks)); }
    void setSharedBytes(int64_t bytes) { setLaunchAttr(getLaunch().withSharedBytes(bytes)); }
  }];

def Program_EntryAttr : Program_Attr<"Entry", "entry"> {
  let summary = "How the launcher enters a kernel of the LLVM dialect: what `simt.kernel` says in attributes of its own";
  let description = [{
        #program.entry<launch = <warps = 4>, schema = [#program.dimension<"m">], schema_types = [index],
            grid = [#program.host_expr<"d0">], tensor_maps = [], parameters = [#program.parameter<dimension, 0>]>
  }];
  let parameters = (ins "::tlc::program::LaunchAttr":$launch,
    "::mlir::ArrayAttr":$schema, "::mlir::ArrayAttr":$schema_types, "::mlir::ArrayAttr":$grid,
    "::mlir::ArrayAttr":$tensor_maps, "::mlir::ArrayAttr":$parameters,
    DefaultValuedParameter<"bool", "false", "the kernel waits for the launch before it by itself">:$ordered,
    OptionalParameter<"::mlir::ArrayAttr", "names of warps">:$roles,
    OptionalParameter<"::mlir::ArrayAttr", "names in shared memory">:$shared,
    OptionalParameter<"::mlir::ArrayAttr", "where times are recorded">:$marks);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif
