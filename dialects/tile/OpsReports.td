// SPDX-License-Identifier: Apache-2.0
// Prints and checks. Generated apart from the other operations: Reports.h declares them for the few who use them.
#ifndef TLC_DIALECTS_TILE_OPSREPORTS_TD
#define TLC_DIALECTS_TILE_OPSREPORTS_TD

include "dialects/tile/Interfaces.td"
include "dialects/tile/Types.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// The program's report buffer. No other operation accesses it.
def Tile_ReportBuffer : Resource<"::tlc::tile::ReportBuffer">;

def Tile_ReportOp : Tile_Op<"report", [AttrSizedOperandSegments, MemoryEffects<[MemWrite<Tile_ReportBuffer>]>,
    DeclareOpInterfaceMethods<Tile_AccessOpInterface, ["suitsOneThread"]>, Tile_StatesLayouts]> {
  let summary = "Prints values, or reports that a condition does not hold";
  let description = [{
    Adds records to the program's report buffer (runtime/artifact/Reports.h), from which the launcher makes texts when it
    synchronises: `text`, in which each `{}` stands for the next of the values. Execution goes on; the buffer is
    bounded, and what is lost is counted. Nothing is ordered by it, and it waits for nothing.

    With a condition it is a check: it reports where the condition is false. Without one it is a print. Without fragments one
    thread of those that execute it makes one record. With fragments each thread reports its own elements, with their
    positions; replicas of an element report once: of a check the first of the thread's elements that fails, of a
    print those whose position along each axis is below `maxPrintedExtent`.

    Constraints
    - report_c1: the text has one `{}` for each value, of which there are at most `maxReportValues`.
    - report_c2: a value is of i32, i64, f32 or f64, or a fragment of those.
    - report_c3: all fragments have the same extents, and at most `maxReportAxes` axes.
    - report_c4: a condition is one truth value, without fragments among the values, or a fragment of them.

        tile.report "row {} has {}", %row, %count : i32, i32
        tile.report unless %isFinite : tensor<64x64xi1>, "expected a finite score, but got {}", %s : tensor<64x64xf32>
  }];
  let arguments = (ins Optional<AnyTypeOf<[I1, Tile_AnyFragment]>>:$condition, StrAttr:$text,
    Variadic<Tile_FragmentOrNumber>:$values);
  let assemblyFormat = "(`unless` $condition^ `:` type($condition) `,`)? $text (`,` $values^ `:` type($values))? attr-dict";
  let extraClassDeclaration = [{
    bool isCheck() { return bool(getCondition()); }
    /// The fragments among its operands, the condition first.
    ::llvm::SmallVector<::mlir::OpOperand *> getFragments();
  }];
  let hasVerifier = 1;
}

#endif
