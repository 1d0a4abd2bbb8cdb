// RUN: %tlc-opt %s --simt-to-nvvm | FileCheck %s

// Without reports there is no buffer.
// CHECK-NOT: reports
module attributes {program.target = #program.target<"sm_90a">} {
simt.kernel @quiet() attributes {launch = #program.launch<warps = 1>, schema = [], schema_types = [],
    grid = [#program.host_expr<"1">], tensor_maps = []} {
  simt.return
}
}
