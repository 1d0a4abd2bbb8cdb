// RUN: %tile-opt %s --tile-schedule-loops -split-input-file -verify-diagnostics | FileCheck %s
// RUN: %tile-opt %s --tile-schedule-loops=overlap=false -split-input-file 2> %t.remarks | FileCheck %s --check-prefix=OFF
// RUN: FileCheck %s --check-prefix=OFF-REMARK --allow-empty --input-file=%t.remarks

// Without the overlap, nothing is decided and nothing remarked on.
// OFF-NOT: tile.stage
// OFF-REMARK-NOT: remark: [

// The accumulator only travels around the loop: its completion, and the release of what the product reads, slip
// into the next round, after the next product. The cursor moves on at once.
// CHECK-LABEL: tile.kernel @chain(
// CHECK:       tile.await {{.*}} {tile.stage = #tile.stage<stage = 0, order = 0>}
// CHECK:       tile.slot {{.*}} {tile.stage = #tile.stage<stage = 0, order = 1>}
// CHECK:       tile.gemm_async {{.*}} {tile.stage = #tile.stage<stage = 0, order = 2>}
// CHECK:       tile.gemm_wait {{.*}} {tile.stage = #tile.stage<stage = 1, order = 3>}
// CHECK:       tile.release {{.*}} {tile.stage = #tile.stage<stage = 1, order = 4>}
// CHECK:       tile.advance {{.*}} {tile.stage = #tile.stage<stage = 0, order = 5>}
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
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// Two independent chains: both products are issued before either is waited for, and waits come in the order of issue.
// CHECK-LABEL: tile.kernel @two_chains(
// CHECK:       tile.await %r{{.*}} {tile.stage = #tile.stage<stage = 0, order = 0>}
// CHECK:       tile.gemm_async {{.*}} {tile.stage = #tile.stage<stage = 0, order = 2>}
// CHECK:       tile.gemm_wait {{.*}} {tile.stage = #tile.stage<stage = 1, order = 6>}
// CHECK:       tile.release %r{{.*}} {tile.stage = #tile.stage<stage = 1,
// CHECK:       tile.await %s{{.*}} {tile.stage = #tile.stage<stage = 0, order = 3>}
// CHECK:       tile.gemm_async {{.*}} {tile.stage = #tile.stage<stage = 0, order = 5>}
// CHECK:       tile.gemm_wait {{.*}} {tile.stage = #tile.stage<stage = 1, order = 7>}
// CHECK:       tile.release %s{{.*}} {tile.stage = #tile.stage<stage = 1,
tile.kernel @two_chains(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  %s = tile.alloc_ring "s" : !tile.ring<2>
  %s_buffer = tile.alloc_shared "s" : !tile.shared<2x64x64xbf16>
  %s_first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end:4 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %acc2 = %zero, %c = %r_first, %d = %s_first) -> (tensor<64x64xf32>, tensor<64x64xf32>, !tile.cursor<2>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        tile.await %s[%d] : !tile.ring<2>
        %b = tile.slot %s_buffer[%d] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started2 = tile.gemm_async %b, %b, %acc2 atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done2 = tile.gemm_wait %started2 pending(0) : tensor<64x64xf32>
        tile.release %s[%d] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        %next2 = tile.advance %d : !tile.cursor<2>
        scf.yield %done, %done2, %next, %next2 : tensor<64x64xf32>, tensor<64x64xf32>, !tile.cursor<2>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// A ring that only ordinary reads use is released in its own round. A product in flight reads its left factor's
// registers, so that it completes before the next iteration loads to them.
// CHECK-LABEL: tile.kernel @other_reads(
// CHECK:       tile.await %s{{.*}} {tile.stage = #tile.stage<stage = 0,
// CHECK:       tile.load {{.*}} {tile.stage = #tile.stage<stage = 0, order = 3>}
// CHECK:       tile.release %s{{.*}} {tile.stage = #tile.stage<stage = 0,
// CHECK:       tile.await %r{{.*}} {tile.stage = #tile.stage<stage = 0,
// CHECK:       tile.gemm_async {{.*}} {tile.stage = #tile.stage<stage = 0, order = 6>}
// CHECK:       tile.gemm_wait {{.*}} {tile.stage = #tile.stage<stage = 1, order = 2>}
// CHECK:       tile.release %r{{.*}} {tile.stage = #tile.stage<stage = 1,
tile.kernel @other_reads(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  %s = tile.alloc_ring "s" : !tile.ring<1>
  %s_buffer = tile.alloc_shared "s" : !tile.shared<1x64x64xbf16>
  %s_first = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first, %d = %s_first) -> (tensor<64x64xf32>, !tile.cursor<2>, !tile.cursor<1>) {
        tile.await %s[%d] : !tile.ring<1>
        %b = tile.slot %s_buffer[%d] : !tile.shared<1x64x64xbf16>, !tile.cursor<1> -> !tile.shared<64x64xbf16>
        %f = tile.load %b : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        tile.release %s[%d] : !tile.ring<1>
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %f, %a, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        %next2 = tile.advance %d : !tile.cursor<1>
        scf.yield %done, %next, %next2 : tensor<64x64xf32>, !tile.cursor<2>, !tile.cursor<1>
      }
    }
  }
  tile.return
}

// -----

// What follows from the factor's source runs under the product; only the operation that writes the factor's registers
// waits.
// CHECK-LABEL: tile.kernel @dequantized(
// CHECK:       tile.load {{.*}} {tile.stage = #tile.stage<stage = 0, order = 2>}
// CHECK:       tile.convert {{.*}} {tile.stage = #tile.stage<stage = 0, order = 3>}
// CHECK:       arith.mulf {{.*}} {tile.stage = #tile.stage<stage = 0, order = 4>}
// CHECK:       tile.convert {{.*}} {tile.stage = #tile.stage<stage = 0, order = 6>}
// CHECK:       tile.gemm_async {{.*}} {tile.stage = #tile.stage<stage = 0, order = 7>}
// CHECK:       tile.gemm_wait {{.*}} {tile.stage = #tile.stage<stage = 1, order = 5>}
tile.kernel @dequantized(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
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
        %w = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        %x = tile.convert %w : tensor<64x64xbf16> to tensor<64x64xf32>
        %y = arith.mulf %x, %x : tensor<64x64xf32>
        %f = tile.convert %y : tensor<64x64xf32> to tensor<64x64xbf16>
        %started = tile.gemm_async %f, %a, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// The sums of the second product begin with the registers of the first one's left factor, so that the first is complete
// before: nothing is left to overlap.
// CHECK-LABEL: tile.kernel @factor_begins_sums(
// CHECK-NOT:   tile.stage
tile.kernel @factor_begins_sums(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xf32>
  %r_first = tile.cursor : !tile.cursor<2>
  %s = tile.alloc_ring "s" : !tile.ring<1>
  %s_buffer = tile.alloc_shared "s" : !tile.shared<1x64x64xf32>
  %s_first = tile.cursor : !tile.cursor<1>
  %y = tile.alloc_shared "y" : !tile.shared<64x64xf32>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-remark @below {{[sequential-products] the products of this loop do not overlap: the result of a product is used in the iteration that starts it}}
      %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first, %d = %s_first) -> (tensor<64x64xf32>, !tile.cursor<2>, !tile.cursor<1>) {
        tile.await %s[%d] : !tile.ring<1>
        %b = tile.slot %s_buffer[%d] : !tile.shared<1x64x64xf32>, !tile.cursor<1> -> !tile.shared<64x64xf32>
        %f = tile.load %b : !tile.shared<64x64xf32> -> tensor<64x64xf32>
        tile.release %s[%d] : !tile.ring<1>
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xf32>, !tile.cursor<2> -> !tile.shared<64x64xf32>
        %first = tile.gemm_async %f, %a, %acc atom wgmma : tensor<64x64xf32>, !tile.shared<64x64xf32>, tensor<64x64xf32>
        %done = tile.gemm_wait %first pending(0) : tensor<64x64xf32>
        %second = tile.gemm_async %a, %a, %f atom wgmma : !tile.shared<64x64xf32>, !tile.shared<64x64xf32>, tensor<64x64xf32>
        %other = tile.gemm_wait %second pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        tile.store %other, %y : tensor<64x64xf32>, !tile.shared<64x64xf32>
        %next = tile.advance %c : !tile.cursor<2>
        %next2 = tile.advance %d : !tile.cursor<1>
        scf.yield %done, %next, %next2 : tensor<64x64xf32>, !tile.cursor<2>, !tile.cursor<1>
      }
    }
  }
  tile.return
}

// -----

// The next iteration computes %early as this one computes the factor %late: one value, if the loop goes away because it has
// only one iteration left. So %narrow, which reads it, comes after the second product's wait.
// CHECK-LABEL: tile.kernel @factor_computed_again(
// CHECK:       tile.convert {{.*}} {tile.stage = #tile.stage<stage = 0, order = 3>}
// CHECK:       tile.gemm_wait {{.*}} {tile.stage = #tile.stage<stage = 0, order = 12>}
// CHECK:       tile.gemm_wait {{.*}} {tile.stage = #tile.stage<stage = 1, order = 2>}
tile.kernel @factor_computed_again(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %f128 = arith.constant 128.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xf16>
  %r_first = tile.cursor : !tile.cursor<2>
  %s = tile.alloc_ring "s" : !tile.ring<2>
  %s_buffer = tile.alloc_shared "s" : !tile.shared<2x64x8xf32>
  %s_first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %zero8 = tile.splat %f0 : f32 -> tensor<64x8xf32>
      %end:4 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %y = %zero8, %c = %r_first, %d = %s_first) -> (tensor<64x64xf32>, tensor<64x8xf32>, !tile.cursor<2>, !tile.cursor<2>) {
        %most = tile.splat %f128 : f32 -> tensor<64x64xf32>
        %early = arith.minnumf %x, %most : tensor<64x64xf32>
        %narrow = tile.convert %early : tensor<64x64xf32> to tensor<64x64xf16>
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xf16>, !tile.cursor<2> -> !tile.shared<64x64xf16>
        %first = tile.gemm_async %narrow, %a, %x atom wgmma : tensor<64x64xf16>, !tile.shared<64x64xf16>, tensor<64x64xf32>
        %sum = tile.gemm_wait %first pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %late = arith.minnumf %sum, %most : tensor<64x64xf32>
        tile.await %s[%d] : !tile.ring<2>
        %b = tile.slot %s_buffer[%d] : !tile.shared<2x64x8xf32>, !tile.cursor<2> -> !tile.shared<64x8xf32>
        %second = tile.gemm_async %late, %b, %y atom wgmma : tensor<64x64xf32>, !tile.shared<64x8xf32>, tensor<64x8xf32>
        %other = tile.gemm_wait %second pending(0) : tensor<64x8xf32>
        tile.release %s[%d] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        %next2 = tile.advance %d : !tile.cursor<2>
        scf.yield %sum, %other, %next, %next2 : tensor<64x64xf32>, tensor<64x8xf32>, !tile.cursor<2>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// A factor from before the loop is never written while the product is in flight.
// CHECK-LABEL: tile.kernel @factor_from_outside(
// CHECK:       tile.gemm_async {{.*}} {tile.stage = #tile.stage<stage = 0, order = 2>}
// CHECK:       tile.gemm_wait {{.*}} {tile.stage = #tile.stage<stage = 1, order = 3>}
tile.kernel @factor_from_outside(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  %q = tile.alloc_shared "q" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %f = tile.load %q : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %f, %a, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// A factor that the loop carries moves to its registers between iterations: nothing is left to overlap.
// CHECK-LABEL: tile.kernel @carried_factor(
// CHECK-NOT:   tile.stage
tile.kernel @carried_factor(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  %q = tile.alloc_shared "q" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %first = tile.load %q : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
      // expected-remark @below {{[sequential-products] the products of this loop do not overlap: the result of a product is used in the iteration that starts it}}
      %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %f = %first, %c = %r_first) -> (tensor<64x64xf32>, tensor<64x64xbf16>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %f, %a, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        %later = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        tile.release %r[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %done, %later, %next : tensor<64x64xf32>, tensor<64x64xbf16>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// A constant is made again before each product that reads it from registers.
// CHECK-LABEL: tile.kernel @constant_factor(
// CHECK-NOT:   tile.stage
tile.kernel @constant_factor(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %ones = arith.constant dense<1.0> : tensor<64x64xbf16>
      // expected-remark @below {{[sequential-products] the products of this loop do not overlap: the result of a product is used in the iteration that starts it}}
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %ones, %a, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// By hand: a product whose factor is written in each iteration and that no wait of its own iteration completes.
// CHECK-LABEL: tile.kernel @in_flight_at_the_end(
// CHECK-NOT:   tile.stage
tile.kernel @in_flight_at_the_end(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-remark @below {{[sequential-products] the products of this loop do not overlap: a product whose left factor is in registers is in flight when an iteration ends}}
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %done = tile.gemm_wait %acc pending(0) : tensor<64x64xf32>
        %f = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        %started = tile.gemm_async %f, %a, %done atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %started, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// A slot that is released one round later would be waited for before: with one slot, for ever.
// CHECK-LABEL: tile.kernel @one_slot(
// CHECK-NOT:   tile.stage
tile.kernel @one_slot(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<1>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<1x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-remark @below {{[sequential-products] the products of this loop do not overlap: 'r' has 1 slots, but two iterations take 2}}
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first) -> (tensor<64x64xf32>, !tile.cursor<1>) {
        tile.await %r[%c] : !tile.ring<1>
        %a = tile.slot %r_buffer[%c] : !tile.shared<1x64x64xbf16>, !tile.cursor<1> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<1>
        %next = tile.advance %c : !tile.cursor<1>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<1>
      }
    }
  }
  tile.return
}

// -----

// The same for two slots per iteration.
// CHECK-LABEL: tile.kernel @two_slots_per_round(
// CHECK-NOT:   tile.stage
tile.kernel @two_slots_per_round(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<3>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<3x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<3>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-remark @below {{[sequential-products] the products of this loop do not overlap: 'r' has 3 slots, but two iterations take 4}}
      %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %acc2 = %zero, %c = %r_first) -> (tensor<64x64xf32>, tensor<64x64xf32>, !tile.cursor<3>) {
        tile.await %r[%c] : !tile.ring<3>
        %a = tile.slot %r_buffer[%c] : !tile.shared<3x64x64xbf16>, !tile.cursor<3> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %middle = tile.advance %c : !tile.cursor<3>
        tile.await %r[%middle] : !tile.ring<3>
        %b = tile.slot %r_buffer[%middle] : !tile.shared<3x64x64xbf16>, !tile.cursor<3> -> !tile.shared<64x64xbf16>
        %started2 = tile.gemm_async %b, %b, %acc2 atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<3>
        %done2 = tile.gemm_wait %started2 pending(0) : tensor<64x64xf32>
        tile.release %r[%middle] : !tile.ring<3>
        %next = tile.advance %middle : !tile.cursor<3>
        scf.yield %done, %done2, %next : tensor<64x64xf32>, tensor<64x64xf32>, !tile.cursor<3>
      }
    }
  }
  tile.return
}

// -----

// What leads from one product to the other (the softmax) runs a round ahead: the next scores are issued before the
// product with v, and while that one runs, the softmax is computed. The result is awaited where the next
// iteration looks at it.
// CHECK-LABEL: tile.kernel @attention(
// CHECK:       tile.await %k{{.*}} {tile.stage = #tile.stage<stage = 0, order = 0>}
// CHECK:       %[[S:.*]] = tile.gemm_async {{.*}} {tile.stage = #tile.stage<stage = 0, order = [[SCORES:[0-9]+]]>}
// CHECK:       tile.gemm_wait %[[S]] {{.*}} {tile.stage = #tile.stage<stage = 0, order = 8>}
// CHECK:       tile.release %k{{.*}} {tile.stage = #tile.stage<stage = 0, order = 9>}
// CHECK:       math.exp2 {{.*}} {tile.stage = #tile.stage<stage = 0, order = 10>}
// CHECK:       tile.convert {{.*}} {tile.stage = #tile.stage<stage = 0, order = 13>}
// CHECK:       arith.mulf {{.*}} {tile.stage = #tile.stage<stage = 0, order = 14>}
// CHECK:       tile.await %v{{.*}} {tile.stage = #tile.stage<stage = 1, order = 3>}
// CHECK:       %[[O:.*]] = tile.gemm_async {{.*}} {tile.stage = #tile.stage<stage = 1, order = 5>}
// CHECK:       tile.gemm_wait %[[O]] {{.*}} {tile.stage = #tile.stage<stage = 1, order = 11>}
// CHECK:       tile.release %v{{.*}} {tile.stage = #tile.stage<stage = 1, order = 12>}
tile.kernel @attention(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %k = tile.alloc_ring "k" : !tile.ring<1>
  %k_buffer = tile.alloc_shared "k" : !tile.shared<1x64x64xbf16>
  %k_first = tile.cursor : !tile.cursor<1>
  %v = tile.alloc_ring "v" : !tile.ring<1>
  %v_buffer = tile.alloc_shared "v" : !tile.shared<1x64x64xbf16>
  tile.roles automatic {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %half = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %k_first, %d = %k_first) -> (tensor<64x64xf32>, !tile.cursor<1>, !tile.cursor<1>) {
        tile.await %k[%c] : !tile.ring<1>
        %key = tile.slot %k_buffer[%c] : !tile.shared<1x64x64xbf16>, !tile.cursor<1> -> !tile.shared<64x64xbf16>
        %scores = tile.gemm_async %key, %key, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %s = tile.gemm_wait %scores pending(0) : tensor<64x64xf32>
        tile.release %k[%c] : !tile.ring<1>
        %next = tile.advance %c : !tile.cursor<1>
        %e = math.exp2 %s : tensor<64x64xf32>
        %p = tile.convert %e : tensor<64x64xf32> to tensor<64x64xbf16>
        %scaled = arith.mulf %acc, %e : tensor<64x64xf32>
        tile.await %v[%d] : !tile.ring<1>
        %value = tile.slot %v_buffer[%d] : !tile.shared<1x64x64xbf16>, !tile.cursor<1> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %p, %value, %scaled atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %v[%d] : !tile.ring<1>
        %next2 = tile.advance %d : !tile.cursor<1>
        scf.yield %done, %next, %next2 : tensor<64x64xf32>, !tile.cursor<1>, !tile.cursor<1>
      }
    }
  }
  tile.return
}

// -----

// In roles by hand their author decides what overlaps.
// CHECK-LABEL: tile.kernel @attention_by_hand(
// CHECK-NOT:   tile.stage
tile.kernel @attention_by_hand(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %k = tile.alloc_ring "k" : !tile.ring<1>
  %k_buffer = tile.alloc_shared "k" : !tile.shared<1x64x64xbf16>
  %k_first = tile.cursor : !tile.cursor<1>
  %v = tile.alloc_ring "v" : !tile.ring<1>
  %v_buffer = tile.alloc_shared "v" : !tile.shared<1x64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %half = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-remark @below {{[sequential-products] the products of this loop do not overlap: the result of a product is used in the iteration that starts it}}
      %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %k_first, %d = %k_first) -> (tensor<64x64xf32>, !tile.cursor<1>, !tile.cursor<1>) {
        tile.await %k[%c] : !tile.ring<1>
        %key = tile.slot %k_buffer[%c] : !tile.shared<1x64x64xbf16>, !tile.cursor<1> -> !tile.shared<64x64xbf16>
        %scores = tile.gemm_async %key, %key, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %s = tile.gemm_wait %scores pending(0) : tensor<64x64xf32>
        tile.release %k[%c] : !tile.ring<1>
        %next = tile.advance %c : !tile.cursor<1>
        %e = math.exp2 %s : tensor<64x64xf32>
        %p = tile.convert %e : tensor<64x64xf32> to tensor<64x64xbf16>
        %scaled = arith.mulf %acc, %e : tensor<64x64xf32>
        tile.await %v[%d] : !tile.ring<1>
        %value = tile.slot %v_buffer[%d] : !tile.shared<1x64x64xbf16>, !tile.cursor<1> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %p, %value, %scaled atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %v[%d] : !tile.ring<1>
        %next2 = tile.advance %d : !tile.cursor<1>
        scf.yield %done, %next, %next2 : tensor<64x64xf32>, !tile.cursor<1>, !tile.cursor<1>
      }
    }
  }
  tile.return
}

// -----

// The same where both come through one ring: a slot of it is then taken in two rounds at once.
// CHECK-LABEL: tile.kernel @attention_one_ring(
// CHECK-NOT:   tile.stage
tile.kernel @attention_one_ring(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  tile.roles automatic {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-remark @below {{[sequential-products] the products of this loop do not overlap: 'r' has 2 slots, but two iterations take 4}}
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %k = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %scores = tile.gemm_async %k, %k, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %s = tile.gemm_wait %scores pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %middle = tile.advance %c : !tile.cursor<2>
        %p = tile.convert %s : tensor<64x64xf32> to tensor<64x64xbf16>
        tile.await %r[%middle] : !tile.ring<2>
        %v = tile.slot %r_buffer[%middle] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %p, %v, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%middle] : !tile.ring<2>
        %next = tile.advance %middle : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// Three products in a row would be three stages.
// CHECK-LABEL: tile.kernel @three_products(
// CHECK-NOT:   tile.stage
tile.kernel @three_products(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<64x64xbf16>
  tile.roles automatic {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-remark @below {{[sequential-products] the products of this loop do not overlap: each needs the one before, in a chain that is longer than the two iterations that may be under way}}
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
        %one = tile.gemm_async %a, %a, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %x = tile.gemm_wait %one pending(0) : tensor<64x64xf32>
        %p = tile.convert %x : tensor<64x64xf32> to tensor<64x64xbf16>
        %two = tile.gemm_async %p, %a, %zero atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %y = tile.gemm_wait %two pending(0) : tensor<64x64xf32>
        %q = tile.convert %y : tensor<64x64xf32> to tensor<64x64xbf16>
        %three = tile.gemm_async %q, %a, %acc atom wgmma : tensor<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %z = tile.gemm_wait %three pending(0) : tensor<64x64xf32>
        scf.yield %z : tensor<64x64xf32>
      }
    }
  }
  tile.return
}

// -----

// The sum so far is looked at in each round.
// CHECK-LABEL: tile.kernel @used_in_round(
// CHECK-NOT:   tile.stage
tile.kernel @used_in_round(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-remark @below {{[sequential-products] the products of this loop do not overlap: the result of a product is used in the iteration that starts it}}
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %look = arith.negf %done : tensor<64x64xf32>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// The result leaves through a branch, not by the loop itself.
// CHECK-LABEL: tile.kernel @from_branch(
// CHECK-NOT:   tile.stage
tile.kernel @from_branch(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-remark @below {{[sequential-products] the products of this loop do not overlap: the result of a product is used in the iteration that starts it}}
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %p = arith.cmpi ugt, %i, %c1 : index
        %chosen = scf.if %p -> (tensor<64x64xf32>) {
          scf.yield %done : tensor<64x64xf32>
        } else {
          scf.yield %zero : tensor<64x64xf32>
        }
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %chosen, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// What the product reads is written anew in each round: only after the product before is complete.
// CHECK-LABEL: tile.kernel @writes(
// CHECK:       tile.store {{.*}} {tile.stage = #tile.stage<stage = 0, order = 4>}
// CHECK:       tile.gemm_async {{.*}} {tile.stage = #tile.stage<stage = 0, order = 5>}
// CHECK:       tile.gemm_wait {{.*}} {tile.stage = #tile.stage<stage = 1, order = 3>}
tile.kernel @writes(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  %p = tile.alloc_shared "p" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        tile.store %x, %p atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
        %started = tile.gemm_async %p, %a, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// What the branch passes on may turn out to be the factor, once its condition is known: it is read only after
// the product is complete.
// CHECK-LABEL: tile.kernel @branch_passes_factor(
// CHECK:       tile.gemm_async
// CHECK-NEXT:  tile.gemm_wait
// CHECK-NEXT:  tile.release
// CHECK-NEXT:  arith.addf
tile.kernel @branch_passes_factor(%n: index {program.argument = #program.dimension<"n">}, %out: !tile.global<64x64xf32> {program.argument = #program.tensor<"out", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xf32>
  %r_first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-remark @below {{[sequential-products] the products of this loop do not overlap: the result of a product is used in the iteration that starts it}}
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xf32>, !tile.cursor<2> -> !tile.shared<64x64xf32>
        %x = tile.load %a : !tile.shared<64x64xf32> -> tensor<64x64xf32>
        %p = arith.cmpi ugt, %i, %c1 : index
        %chosen = scf.if %p -> (tensor<64x64xf32>) {
          %twice = arith.addf %x, %x : tensor<64x64xf32>
          scf.yield %twice : tensor<64x64xf32>
        } else {
          scf.yield %x : tensor<64x64xf32>
        }
        %t = tile.transpose %a : !tile.shared<64x64xf32> -> !tile.shared<64x64xf32, transposed>
        %started = tile.gemm_async %x, %t, %acc atom wgmma : tensor<64x64xf32>, !tile.shared<64x64xf32, transposed>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %four = arith.addf %chosen, %chosen : tensor<64x64xf32>
        %slice = tile.slice %out[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
        tile.store %four, %slice atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// So may what it passes on as the factor turn out to be a value that is read later, too.
// CHECK-LABEL: tile.kernel @branch_is_factor(
// CHECK:       tile.gemm_async
// CHECK-NEXT:  tile.gemm_wait
// CHECK-NEXT:  tile.release
// CHECK-NEXT:  arith.addf
tile.kernel @branch_is_factor(%n: index {program.argument = #program.dimension<"n">}, %out: !tile.global<64x64xf32> {program.argument = #program.tensor<"out", output, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xf32>
  %r_first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-remark @below {{[sequential-products] the products of this loop do not overlap: the result of a product is used in the iteration that starts it}}
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xf32>, !tile.cursor<2> -> !tile.shared<64x64xf32>
        %x = tile.load %a : !tile.shared<64x64xf32> -> tensor<64x64xf32>
        %p = arith.cmpi ugt, %i, %c1 : index
        %chosen = scf.if %p -> (tensor<64x64xf32>) {
          %twice = arith.addf %x, %x : tensor<64x64xf32>
          scf.yield %twice : tensor<64x64xf32>
        } else {
          scf.yield %x : tensor<64x64xf32>
        }
        %t = tile.transpose %a : !tile.shared<64x64xf32> -> !tile.shared<64x64xf32, transposed>
        %started = tile.gemm_async %chosen, %t, %acc atom wgmma : tensor<64x64xf32>, !tile.shared<64x64xf32, transposed>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %four = arith.addf %x, %x : tensor<64x64xf32>
        %slice = tile.slice %out[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
        tile.store %four, %slice atom simt : tensor<64x64xf32>, !tile.slice<64x64xf32>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// The product that reads no stored tile runs on: the store waits for the one that does, of the round before.
// CHECK-LABEL: tile.kernel @stored_between(
// CHECK:       tile.gemm_async %{{.*}}, %{{.*}}, {{.*}} {tile.stage = #tile.stage<stage = 0, order = 2>}
// CHECK:       tile.gemm_wait {{.*}} {tile.stage = #tile.stage<stage = 1, order = 7>}
// CHECK:       tile.load {{.*}} {tile.stage = #tile.stage<stage = 0, order = 3>}
// CHECK:       tile.store {{.*}} {tile.stage = #tile.stage<stage = 0, order = 5>}
// CHECK:       tile.gemm_async %p, {{.*}} {tile.stage = #tile.stage<stage = 0, order = 6>}
// CHECK:       tile.gemm_wait {{.*}} {tile.stage = #tile.stage<stage = 1, order = 4>}
tile.kernel @stored_between(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  %p = tile.alloc_shared "p" : !tile.shared<64x64xbf16>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %acc2 = %zero, %c = %r_first) -> (tensor<64x64xf32>, tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        %x = tile.load %a : !tile.shared<64x64xbf16> -> tensor<64x64xbf16>
        tile.store %x, %p atom simt : tensor<64x64xbf16>, !tile.shared<64x64xbf16>
        %started2 = tile.gemm_async %p, %a, %acc2 atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done2 = tile.gemm_wait %started2 pending(0) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %done, %done2, %next : tensor<64x64xf32>, tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// A round's own products overlap where nothing can be left to the next one: the second is started before the wait
// for the first.
// CHECK-LABEL: tile.kernel @in_round(
// CHECK:       tile.gemm_async {{.*}} {tile.stage = #tile.stage<stage = 0, order = 2>}
// CHECK:       tile.gemm_wait {{.*}} {tile.stage = #tile.stage<stage = 0, order = 6>}
// CHECK:       tile.gemm_async {{.*}} {tile.stage = #tile.stage<stage = 0, order = 3>}
// CHECK:       tile.gemm_wait {{.*}} {tile.stage = #tile.stage<stage = 0, order = 7>}
// CHECK:       tile.atomic add {{.*}} {tile.stage = #tile.stage<stage = 0,
tile.kernel @in_round(%n: index {program.argument = #program.dimension<"n">},
    %Y: !tile.global<64x64xf32> {program.argument = #program.tensor<"Y", inout, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  tile.roles automatic {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      %end = scf.for %i = %c0 to %n step %c1 iter_args(%c = %r_first) -> (!tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        %started2 = tile.gemm_async %a, %a, %zero atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done2 = tile.gemm_wait %started2 pending(0) : tensor<64x64xf32>
        %sum = arith.addf %done, %done2 : tensor<64x64xf32>
        %y = tile.slice %Y[%c0, %c0] : !tile.global<64x64xf32> -> !tile.slice<64x64xf32>
        tile.atomic add %sum, %y : tensor<64x64xf32>, !tile.slice<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %next : !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// Whoever waits for this barrier relies on the product being complete.
// CHECK-LABEL: tile.kernel @signals(
// CHECK-NOT:   tile.stage
tile.kernel @signals(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  %bar = tile.alloc_barrier "bar" count(128)
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-remark-re @below {{[sequential-products] the products of this loop do not overlap: the arrive at {{.*}}schedule_loops.mlir:{{[0-9]+}}:9 keeps its place between them}}
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        tile.arrive %bar
        tile.release %r[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// A release under a condition follows the wait as well.
// CHECK-LABEL: tile.kernel @nested_release(
// CHECK-NOT:   tile.stage
tile.kernel @nested_release(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      // expected-remark-re @below {{[sequential-products] the products of this loop do not overlap: the branch of k.when at {{.*}}schedule_loops.mlir:{{[0-9]+}}:9 keeps its place between them}}
      %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
        tile.await %r[%c] : !tile.ring<2>
        %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %started = tile.gemm_async %a, %a, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
        %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
        %p = arith.cmpi ugt, %i, %c1 : index
        scf.if %p {
          tile.release %r[%c] : !tile.ring<2>
        }
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// An author who lets products overlap by hand is left alone.
// CHECK-LABEL: tile.kernel @by_hand(
// CHECK-NOT:   tile.stage
tile.kernel @by_hand(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
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
        %done = tile.gemm_wait %started pending(1) : tensor<64x64xf32>
        tile.release %r[%c] : !tile.ring<2>
        %next = tile.advance %c : !tile.cursor<2>
        scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
      }
    }
  }
  tile.return
}

// -----

// No product, nothing to decide; the inner loop of two is decided for itself.
// CHECK-LABEL: tile.kernel @nested(
// CHECK:       scf.for
// CHECK-NOT:     tile.stage
// CHECK:         scf.for
// CHECK:           tile.gemm_async {{.*}} {tile.stage = #tile.stage<stage = 0,
tile.kernel @nested(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %r = tile.alloc_ring "r" : !tile.ring<2>
  %r_buffer = tile.alloc_shared "r" : !tile.shared<2x64x64xbf16>
  %r_first = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "math" warps(4) {
      %zero = tile.splat %f0 : f32 -> tensor<64x64xf32>
      scf.for %tile = %c0 to %n step %c1 {
        %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %c = %r_first) -> (tensor<64x64xf32>, !tile.cursor<2>) {
          tile.await %r[%c] : !tile.ring<2>
          %a = tile.slot %r_buffer[%c] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
          %started = tile.gemm_async %a, %a, %acc atom wgmma : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16>, tensor<64x64xf32>
          %done = tile.gemm_wait %started pending(0) : tensor<64x64xf32>
          tile.release %r[%c] : !tile.ring<2>
          %next = tile.advance %c : !tile.cursor<2>
          scf.yield %done, %next : tensor<64x64xf32>, !tile.cursor<2>
        }
      }
    }
  }
  tile.return
}
