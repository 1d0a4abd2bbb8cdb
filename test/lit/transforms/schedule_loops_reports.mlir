// RUN: %tile-opt %s --tile-schedule-loops -verify-diagnostics | FileCheck %s

// A report keeps no product from running under the next, nor does one in a branch: it waits for what it shows alone.
// CHECK-LABEL: tile.kernel @chain(
// CHECK:       tile.gemm_async {{.*}} {tile.stage = #tile.stage<stage = 0, order = {{[0-9]+}}>}
// CHECK:       tile.report unless {{.*}} {tile.stage = #tile.stage<stage = 0,
// CHECK:       scf.if {{.*}} {
// CHECK:         tile.report "at {}"
// CHECK:       } {tile.stage = #tile.stage<stage = 0,
// CHECK:       tile.gemm_wait {{.*}} {tile.stage = #tile.stage<stage = 1,
// CHECK:       tile.release {{.*}} {tile.stage = #tile.stage<stage = 1,
tile.kernel @chain(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %holds = arith.cmpi slt, %i, %n : index
        tile.report unless %holds : i1, "never"
        scf.if %holds {
          %at = arith.index_cast %i : index to i32
          tile.report "at {}", %at : i32
        }
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}
