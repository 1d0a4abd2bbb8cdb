// RUN: %tile-opt %s --tile-place-tensor-memory-fences -split-input-file | FileCheck %s

// A fence between what a thread waits for and its next access, and one between accesses and what lets others go on. An
// arrival after products is such a fence itself. The barrier after the last roles is that of the kernel's end.
// CHECK-LABEL: tile.kernel @roles(
// CHECK:         tile.role "store"
// CHECK-NEXT:      tile.await
// CHECK-NEXT:      tile.tensor_memory_fence after
// CHECK-NEXT:      %{{.*}} = tile.load
// CHECK-NEXT:      tile.tensor_memory_fence{{$}}
// CHECK-NEXT:      tile.release
// CHECK-NEXT:    }
// CHECK:         tile.role "multiply"
// CHECK-NEXT:      tile.acquire
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        tile.await
// CHECK-NEXT:        tile.tensor_memory_fence after
// CHECK-NEXT:        tile.gemm_in_place
// CHECK-NEXT:        tile.gemm_in_place
// CHECK-NEXT:        tile.release %{{.*}} after_products
// CHECK-NEXT:      }
// CHECK-NEXT:      tile.publish %{{.*}} after_products
// CHECK-NEXT:    }
tile.kernel @roles(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  %ab = tile.alloc_ring "ab" : !tile.ring<1>
  %sums = tile.alloc_ring "sums" : !tile.ring<1>
  %at = tile.cursor : !tile.cursor<1>
  tile.roles {
    tile.role "store" warps(4) {
      tile.await %sums[%at] : !tile.ring<1>
      %f = tile.load %acc : !tile.tensor_memory<128x64xf32> -> tensor<128x64xf32>
      tile.release %sums[%at] : !tile.ring<1>
    }
    tile.role "multiply" warps(4) {
      tile.acquire %sums[%at] : !tile.ring<1>
      scf.for %i = %c0 to %n step %c1 {
        tile.await %ab[%at] : !tile.ring<1>
        tile.gemm_in_place %a, %b, %acc if %true : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
        tile.gemm_in_place %a, %b, %acc if %true : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
        tile.release %ab[%at] after_products : !tile.ring<1>
      }
      tile.publish %sums[%at] after_products : !tile.ring<1>
    }
  }
  tile.return
}

// -----

// Around the back edge: the load follows the wait of the round before. A branch may have waited.
// CHECK-LABEL: tile.kernel @loop(
// CHECK:         scf.for
// CHECK-NEXT:      tile.tensor_memory_fence after
// CHECK-NEXT:      %{{.*}} = tile.load
// CHECK-NEXT:      tile.tensor_memory_fence{{$}}
// CHECK-NEXT:      tile.arrive
// CHECK-NEXT:      tile.wait
// CHECK-NEXT:    }
// CHECK:         scf.if
// CHECK-NEXT:      tile.wait
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.tensor_memory_fence after
// CHECK-NEXT:    %[[F:.*]] = tile.load
// CHECK-NEXT:    tile.tensor_memory_fence{{$}}
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.tensor_memory_fence after
// CHECK-NEXT:    tile.store %[[F]]
// CHECK-NEXT:    tile.return
tile.kernel @loop(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  %bar = tile.alloc_barrier "bar" count(128)
  %last = arith.cmpi eq, %n, %c1 : index
  scf.for %i = %c0 to %n step %c1 {
    %f = tile.load %acc : !tile.tensor_memory<128x64xf32> -> tensor<128x64xf32>
    tile.arrive %bar
    tile.wait %bar phase(%i)
  }
  scf.if %last {
    tile.wait %bar phase(%c0)
  }
  %f = tile.load %acc : !tile.tensor_memory<128x64xf32> -> tensor<128x64xf32>
  tile.sync
  tile.store %f, %acc : tensor<128x64xf32>, !tile.tensor_memory<128x64xf32>
  tile.return
}

// -----

// Roles that more follows: all warps meet, so that each role ends with a fence.
// CHECK-LABEL: tile.kernel @after_roles(
// CHECK:         tile.role "store"
// CHECK:           tile.store
// CHECK-NEXT:      tile.tensor_memory_fence{{$}}
// CHECK-NEXT:    }
// CHECK:         tile.tensor_memory_fence after
// CHECK-NEXT:    %{{.*}} = tile.load
// CHECK-NEXT:    tile.return
tile.kernel @after_roles(%x: f32 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  tile.roles {
    tile.role "store" warps(4) {
      %f = tile.splat %x : f32 -> tensor<128x64xf32>
      tile.store %f, %acc : tensor<128x64xf32>, !tile.tensor_memory<128x64xf32>
    }
  }
  %g = tile.load %acc : !tile.tensor_memory<128x64xf32> -> tensor<128x64xf32>
  tile.return
}
