// RUN: %tlc-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-lower-channels))' -split-input-file -verify-diagnostics | FileCheck %s
// RUN: %tlc-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-lower-channels{tma=false}))' -split-input-file -verify-diagnostics | FileCheck %s --check-prefix=THREADS

// The role that loads expects the bytes of both copies, before the first. The one that multiplies releases each slot
// before it gets the next: one variable says both.
// CHECK-LABEL: tile.kernel @loads
// THREADS-LABEL: tile.kernel @loads
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @loads(%X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[1, -1], alignment = 16>},
                   %n: index {program.argument = #program.dimension<"n">})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared "a" : !tile.shared<2x16x64xf32>
  %b = tile.alloc_shared "b" : !tile.shared<2x8x64xf32>
  // CHECK: %[[RING:.*]] = tile.alloc_ring "ab" : !tile.ring<2>
  %ab = tile.channel "ab" : !tile.channel<2>
  tile.roles {
    // CHECK: tile.role "load"
    tile.role "load" warps(4) {
      // CHECK: %[[FIRST:.*]] = tile.cursor
      // CHECK: %[[PUTS:.*]] = tile.variable %[[FIRST]]
      scf.for %i = %c0 to %n step %c1 {
        // CHECK:      %[[AT:.*]] = tile.read %[[PUTS]]
        // CHECK-NEXT: tile.acquire %[[RING]][%[[AT]]]
        // CHECK:      tile.expect %[[RING]][%[[AT]]] bytes(6144)
        // CHECK:      tile.copy_async %{{.*}}, %{{.*}}, %[[RING]][%[[AT]]]
        // CHECK:      tile.copy_async %{{.*}}, %{{.*}}, %[[RING]][%[[AT]]]
        // CHECK-NOT:  tile.publish
        // CHECK:      %[[NEXT:.*]] = tile.advance %[[AT]]
        // CHECK-NEXT: tile.write %[[NEXT]], %[[PUTS]]
        // THREADS-NOT: tile.expect
        // THREADS:     tile.copy %
        // THREADS:     tile.copy %
        // THREADS:     tile.publish
        %filled = tile.put %ab(%slot) : !tile.channel<2> {
          %as = tile.slot %a[%slot] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
          %bs = tile.slot %b[%slot] : !tile.shared<2x8x64xf32>, !tile.cursor<2> -> !tile.shared<8x64xf32>
          %s = tile.slice %X[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
          %t = tile.slice %X[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<8x64xf32>
          tile.copy %s, %as : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
          tile.copy %t, %bs : !tile.slice<8x64xf32>, !tile.shared<8x64xf32>
        }
      }
    }
    // CHECK: tile.role "math"
    tile.role "math" warps(4) {
      // CHECK: %[[GETS:.*]] = tile.variable
      // CHECK-NOT: = tile.variable
      scf.for %i = %c0 to %n step %c1 {
        // CHECK:      %[[AT:.*]] = tile.read %[[GETS]]
        // CHECK-NEXT: tile.await %[[RING]][%[[AT]]]
        // CHECK:      %[[OLDEST:.*]] = tile.read %[[GETS]]
        // CHECK-NEXT: tile.release %[[RING]][%[[OLDEST]]]
        // CHECK-NEXT: %[[NEXT:.*]] = tile.advance %[[OLDEST]]
        // CHECK-NEXT: tile.write %[[NEXT]], %[[GETS]]
        %slot = tile.get %ab : !tile.channel<2>
        tile.release_oldest %ab : !tile.channel<2>
      }
    }
  }
  tile.return
}
}

// -----

// A role that gets a slot before it releases the one before counts both by themselves.
// CHECK-LABEL: tile.kernel @held
// THREADS-LABEL: tile.kernel @held
tile.kernel @held(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[RING:.*]] = tile.alloc_ring "ab" : !tile.ring<2>
  %ab = tile.channel "ab" : !tile.channel<2>
  tile.roles {
    // CHECK: tile.role "load"
    tile.role "load" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        // A signal.
        // CHECK:      tile.acquire %[[RING]][%[[AT:.*]]]
        // CHECK-NEXT: tile.publish %[[RING]][%[[AT]]] : !tile.ring<2>
        // CHECK-NEXT: tile.advance %[[AT]]
        %filled = tile.put %ab(%slot) : !tile.channel<2> {
        }
      }
    }
    // CHECK: tile.role "math"
    tile.role "math" warps(4) {
      // CHECK: %[[RELEASES:.*]] = tile.variable
      // CHECK: %[[GETS:.*]] = tile.variable
      scf.for %i = %c0 to %n step %c1 {
        // CHECK:      %[[AT:.*]] = tile.read %[[GETS]]
        // CHECK-NEXT: tile.await %[[RING]][%[[AT]]]
        // CHECK-NEXT: %[[NEXT:.*]] = tile.advance %[[AT]]
        // CHECK-NEXT: tile.write %[[NEXT]], %[[GETS]]
        %slot = tile.get %ab : !tile.channel<2>
        %more = arith.cmpi sgt, %i, %c0 : index
        // CHECK:      scf.if
        // CHECK-NEXT: %[[OLDEST:.*]] = tile.read %[[RELEASES]]
        // CHECK-NEXT: tile.release %[[RING]][%[[OLDEST]]] after_products
        // CHECK-NEXT: %[[LATER:.*]] = tile.advance %[[OLDEST]]
        // CHECK-NEXT: tile.write %[[LATER]], %[[RELEASES]]
        scf.if %more {
          tile.release_oldest %ab after_products : !tile.channel<2>
        }
      }
      // CHECK: tile.read %[[RELEASES]]
      tile.release_oldest %ab : !tile.channel<2>
    }
  }
  tile.return
}

// -----

// Where no role releases, none waits for an empty slot. A role that looks counts what it gets.
// CHECK-LABEL: tile.kernel @looks
// THREADS-LABEL: tile.kernel @looks
tile.kernel @looks() attributes {launch = #program.launch<warps = 8>} {
  // CHECK: %[[RING:.*]] = tile.alloc_ring "once" : !tile.ring<2>
  %once = tile.channel "once" : !tile.channel<2>
  tile.roles {
    // CHECK: tile.role "load"
    tile.role "load" warps(4) {
      // CHECK-NOT: tile.acquire
      // CHECK:     tile.publish %[[RING]]
      %filled = tile.put %once(%slot) : !tile.channel<2> {
      }
    }
    // CHECK: tile.role "look"
    tile.role "look" warps(4) {
      // CHECK:      %[[GETS:.*]] = tile.variable
      // CHECK-NEXT: %[[AT:.*]] = tile.read %[[GETS]]
      // CHECK-NEXT: tile.await %[[RING]][%[[AT]]]
      // CHECK-NEXT: %[[NEXT:.*]] = tile.advance %[[AT]]
      // CHECK-NEXT: tile.write %[[NEXT]], %[[GETS]]
      // CHECK-NOT:  tile.release
      %slot = tile.get %once : !tile.channel<2>
    }
  }
  tile.return
}

// -----

// A role passes the slots that another one releases: it counts them, and does not arrive.
// CHECK-LABEL: tile.kernel @passes
// THREADS-LABEL: tile.kernel @passes
tile.kernel @passes() attributes {launch = #program.launch<warps = 12>} {
  %numbers = tile.alloc_shared "numbers" : !tile.shared<2x1xi32>
  // CHECK: %[[RING:.*]] = tile.alloc_ring "numbers" : !tile.ring<2>
  %channel = tile.channel "numbers" : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      // CHECK: tile.acquire %[[RING]]
      %filled = tile.put %channel(%slot) : !tile.channel<2> {
      }
    }
    // CHECK: tile.role "pass"
    tile.role "pass" warps(4) {
      // CHECK:      %[[SLOTS:.*]] = tile.variable
      // CHECK-NEXT: %[[AT:.*]] = tile.read %[[SLOTS]]
      // CHECK-NEXT: tile.await %[[RING]][%[[AT]]]
      // CHECK-NEXT: %[[OLDEST:.*]] = tile.read %[[SLOTS]]
      // CHECK-NEXT: tile.slot %{{.*}}[%[[OLDEST]]]
      // CHECK-NEXT: %[[PASSED:.*]] = tile.read %[[SLOTS]]
      // CHECK-NEXT: %[[NEXT:.*]] = tile.advance %[[PASSED]]
      // CHECK-NEXT: tile.write %[[NEXT]], %[[SLOTS]]
      %slot = tile.get %channel : !tile.channel<2>
      %oldest = tile.oldest %channel : !tile.channel<2>
      %number = tile.slot %numbers[%oldest] : !tile.shared<2x1xi32>, !tile.cursor<2> -> !tile.shared<1xi32>
      tile.release_oldest %channel by_others : !tile.channel<2>
    }
    // CHECK: tile.role "release"
    tile.role "release" warps(4) {
      // CHECK: tile.release %[[RING]][%{{.*}}] : !tile.ring<2>
      %slot = tile.get %channel : !tile.channel<2>
      tile.release_oldest %channel : !tile.channel<2>
    }
  }
  tile.return
}

// -----

// Bytes are expected where it is known that they come. A branch without a copy arrives.
// CHECK-LABEL: tile.kernel @branches
// THREADS-LABEL: tile.kernel @branches
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @branches(%X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[1, -1], alignment = 16>},
                      %n: index {program.argument = #program.dimension<"n">})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared "a" : !tile.shared<2x16x64xf32>
  // CHECK: %[[RING:.*]] = tile.alloc_ring "some" : !tile.ring<2>
  %some = tile.channel "some" : !tile.channel<2>
  // CHECK: %[[EITHER:.*]] = tile.alloc_ring "either" : !tile.ring<2>
  %either = tile.channel "either" : !tile.channel<2>
  %exists = arith.cmpi sgt, %n, %c0 : index
  tile.roles {
    // CHECK: tile.role "load"
    tile.role "load" warps(4) {
      // CHECK:      tile.acquire %[[RING]][%[[AT:.*]]] : !tile.ring<2>
      // CHECK-NOT:  tile.expect
      // CHECK:      scf.if
      // CHECK:      tile.expect %[[RING]][%[[AT]]] bytes(4096)
      // CHECK-NEXT: tile.copy_async %{{.*}}, %{{.*}}, %[[RING]][%[[AT]]]
      // CHECK-NEXT: } else {
      // CHECK-NEXT: tile.expect %[[RING]][%[[AT]]] bytes(0) : !tile.ring<2>
      // CHECK-NEXT: }
      // CHECK-NEXT: tile.advance %[[AT]]
      // THREADS:     tile.acquire
      // THREADS:     scf.if
      // THREADS-NOT: tile.publish
      // THREADS:     }
      // THREADS-NEXT: tile.publish
      %filled = tile.put %some(%slot) : !tile.channel<2> {
        %as = tile.slot %a[%slot] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
        scf.if %exists {
          %s = tile.slice %X[%c0, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
          tile.copy %s, %as : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
        }
      }
      // CHECK:      tile.acquire %[[EITHER]][%[[AT:.*]]] : !tile.ring<2>
      // CHECK:      tile.expect %[[EITHER]][%[[AT]]] bytes(4096)
      // CHECK-NEXT: scf.if
      // CHECK:      tile.copy_async %{{.*}}, %{{.*}}, %[[EITHER]][%[[AT]]]
      // CHECK:      } else {
      // CHECK:      tile.copy_async %{{.*}}, %{{.*}}, %[[EITHER]][%[[AT]]]
      // CHECK-NOT:  tile.publish
      // CHECK:      tile.advance %[[AT]]
      %both = tile.put %either(%slot) : !tile.channel<2> {
        %as = tile.slot %a[%slot] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
        scf.if %exists {
          %s = tile.slice %X[%c0, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
          tile.copy %s, %as : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
        } else {
          %s = tile.slice %X[%n, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
          tile.copy %s, %as : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
        }
      }
    }
    tile.role "use" warps(4) {
      %slot = tile.get %some : !tile.channel<2>
      tile.release_oldest %some : !tile.channel<2>
      %other = tile.get %either : !tile.channel<2>
      tile.release_oldest %either : !tile.channel<2>
    }
  }
  tile.return
}
}

// -----

// The role's threads arrive for what they store. The thread that expects the bytes has done what one thread does before.
// CHECK-LABEL: tile.kernel @stores
// THREADS-LABEL: tile.kernel @stores
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @stores(%X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[1, -1], alignment = 16>},
                    %n: index {program.argument = #program.dimension<"n">})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared "a" : !tile.shared<2x16x64xf32>
  %b = tile.alloc_shared "b" : !tile.shared<2x16x64xf32>
  %numbers = tile.alloc_shared "numbers" : !tile.shared<2x1xi32>
  // CHECK: %[[RING:.*]] = tile.alloc_ring "both" : !tile.ring<2>
  %both = tile.channel "both" : !tile.channel<2>
  // CHECK: %[[NUMBERED:.*]] = tile.alloc_ring "numbered" : !tile.ring<2>
  %numbered = tile.channel "numbered" : !tile.channel<2>
  tile.roles {
    // CHECK: tile.role "load"
    tile.role "load" warps(4) {
      // CHECK:      tile.expect %[[RING]][%[[AT:.*]]] bytes(4096)
      // CHECK-NEXT: tile.copy_async %{{.*}}, %{{.*}}, %[[RING]][%[[AT]]]
      // CHECK:      tile.store
      // CHECK-NEXT: tile.publish %[[RING]][%[[AT]]] : !tile.ring<2>
      // CHECK-NEXT: tile.advance %[[AT]]
      %filled = tile.put %both(%slot) : !tile.channel<2> {
        %as = tile.slot %a[%slot] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
        %bs = tile.slot %b[%slot] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
        %s = tile.slice %X[%c0, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
        tile.copy %s, %as : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
        %zeros = tile.splat %zero : f32 -> tensor<16x64xf32>
        tile.store %zeros, %bs : tensor<16x64xf32>, !tile.shared<16x64xf32>
      }
      // CHECK:      tile.store_index
      // CHECK:      tile.expect %[[NUMBERED]][%[[AT:.*]]] bytes(4096)
      // CHECK-NEXT: tile.copy_async
      // CHECK-NEXT: tile.advance %[[AT]]
      %next = tile.put %numbered(%slot) : !tile.channel<2> {
        %as = tile.slot %a[%slot] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
        %number = tile.slot %numbers[%slot] : !tile.shared<2x1xi32>, !tile.cursor<2> -> !tile.shared<1xi32>
        tile.store_index %n, %number[%c0] : !tile.shared<1xi32>
        %s = tile.slice %X[%c0, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
        tile.copy %s, %as : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
      }
    }
    tile.role "use" warps(4) {
      %slot = tile.get %both : !tile.channel<2>
      tile.release_oldest %both : !tile.channel<2>
      %number = tile.get %numbered : !tile.channel<2>
      tile.release_oldest %numbered : !tile.channel<2>
    }
  }
  tile.return
}
}

// -----

// Sums in tensor memory are handed over when the products are complete.
// CHECK-LABEL: tile.kernel @products
// THREADS-LABEL: tile.kernel @products
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @products() attributes {launch = #program.launch<warps = 5>} {
  %true = arith.constant true
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %sums = tile.alloc_tensor_memory "sums" : !tile.tensor_memory<2x128x64xf32>
  // CHECK: %[[RING:.*]] = tile.alloc_ring "sums" : !tile.ring<2>
  %channel = tile.channel "sums" : !tile.channel<2>
  tile.roles {
    tile.role "store" warps(4) {
      %slot = tile.get %channel : !tile.channel<2>
      tile.release_oldest %channel : !tile.channel<2>
    }
    // CHECK: tile.role "multiply"
    tile.role "multiply" warps(1) {
      // CHECK:      tile.acquire %[[RING]][%[[AT:.*]]] : !tile.ring<2>
      // CHECK:      tile.gemm_in_place
      // CHECK-NEXT: tile.publish %[[RING]][%[[AT]]] after_products : !tile.ring<2>
      // CHECK-NEXT: tile.advance %[[AT]]
      %filled = tile.put %channel(%slot) : !tile.channel<2> {
        %sum = tile.slot %sums[%slot] : !tile.tensor_memory<2x128x64xf32>, !tile.cursor<2> -> !tile.tensor_memory<128x64xf32>
        tile.gemm_in_place %a, %b, %sum if %true : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
      }
    }
  }
  tile.return
}
}

// -----

// The blocks of a cluster share the copies.
// CHECK-LABEL: tile.kernel @cluster
// THREADS-LABEL: tile.kernel @cluster
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @cluster(%X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[1, -1], alignment = 16>},
                     %n: index {program.argument = #program.dimension<"n">})
    attributes {launch = #program.launch<warps = 8, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared "a" : !tile.shared<2x16x64xf32>
  // CHECK: %[[RING:.*]] = tile.alloc_ring "a" : !tile.ring<2>
  %channel = tile.channel "a" multicast : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      // CHECK: tile.copy_async %{{.*}}, %{{.*}}, %[[RING]][%{{.*}}] multicast
      // THREADS: tile.copy %
      %filled = tile.put %channel(%slot) : !tile.channel<2> {
        %as = tile.slot %a[%slot] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
        %s = tile.slice %X[%c0, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
        tile.copy %s, %as : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
      }
    }
    tile.role "use" warps(4) {
      %slot = tile.get %channel : !tile.channel<2>
      tile.release_oldest %channel : !tile.channel<2>
    }
  }
  tile.return
}
}

// -----

// The slots of one channel are handed over once more: who holds one puts into it where it stands, and who gets it
// from the second channel releases it to the first.
// CHECK-LABEL: tile.kernel @onwards
tile.kernel @onwards() attributes {launch = #program.launch<warps = 12>} {
  // CHECK: %[[Q:.*]] = tile.alloc_ring "q" : !tile.ring<2>
  // CHECK: %[[O:.*]] = tile.alloc_ring "o" : !tile.ring<2>
  %q = tile.channel "q" : !tile.channel<2>
  %o = tile.channel "o" of %q : !tile.channel<2> : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      // CHECK: tile.acquire %[[Q]]
      // CHECK: tile.publish %[[Q]]
      %filled = tile.put %q(%slot) : !tile.channel<2> {
      }
    }
    // CHECK: tile.role "math"
    tile.role "math" warps(4) {
      // CHECK:      %[[HELD:.*]] = tile.read
      // CHECK-NEXT: tile.await %[[Q]][%[[HELD]]]
      %got = tile.get %q : !tile.channel<2>
      // CHECK-NOT:  tile.acquire
      // CHECK:      tile.publish %[[O]]
      %again = tile.put %o(%slot) : !tile.channel<2> {
      }
      // CHECK-NOT:  tile.release
      tile.release_oldest %q by_others : !tile.channel<2>
    }
    // CHECK: tile.role "store"
    tile.role "store" warps(4) {
      // CHECK: tile.await %[[O]]
      %result = tile.get %o : !tile.channel<2>
      // CHECK: tile.release %[[Q]]
      tile.release_oldest %q : !tile.channel<2>
    }
  }
  tile.return
}

// -----

// How many bytes a loop on the device brings is not known before: threads make its copies, the TMA the others.
// CHECK-LABEL: tile.kernel @loop_in_put
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @loop_in_put(%X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[1, -1], alignment = 16>},
                         %n: index {program.argument = #program.dimension<"n">})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared "a" : !tile.shared<2x16x64xf32>
  %b = tile.alloc_shared "b" : !tile.shared<2x16x64xf32>
  %q = tile.channel "q" : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      // CHECK:     tile.expect %{{.*}} bytes(4096)
      // CHECK:     tile.copy_async
      // CHECK:     scf.for
      // CHECK-NOT: tile.copy_async
      // CHECK:     tile.copy %
      // CHECK:     tile.publish
      %filled = tile.put %q(%slot) : !tile.channel<2> {
        %as = tile.slot %a[%slot] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
        %bs = tile.slot %b[%slot] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
        %s = tile.slice %X[%c0, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
        tile.copy %s, %as : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
        scf.for %i = %c0 to %n step %c1 {
          tile.copy %s, %bs : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
        }
      }
    }
    tile.role "use" warps(4) {
      %got = tile.get %q : !tile.channel<2>
      tile.release_oldest %q : !tile.channel<2>
    }
  }
  tile.return
}
}

// -----

// A role that takes its only slot back waits as for a put, and stays where it is.
// CHECK-LABEL: tile.kernel @reclaimed
// CHECK:         tile.role "math"
// CHECK:           %[[PUTS:.*]] = tile.variable
// CHECK:           scf.for
// CHECK:             tile.acquire
// CHECK:             tile.advance
// CHECK:           %[[AT:.*]] = tile.read %[[PUTS]]
// CHECK-NEXT:      tile.acquire %{{.*}}[%[[AT]]]
// CHECK-NEXT:      tile.slot %sum[%[[AT]]]
// CHECK-NOT:       tile.advance
// CHECK:         tile.role "matrix"
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @reclaimed(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = tile.alloc_tensor_memory "sum" : !tile.tensor_memory<1x128x64xf32>
  %sums = tile.channel "sums" : !tile.channel<1>
  tile.roles {
    tile.role "math" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %filled = tile.put %sums(%slot) : !tile.channel<1> {
        }
      }
      %mine = tile.reclaim %sums : !tile.channel<1>
      %all = tile.slot %sum[%mine] : !tile.tensor_memory<1x128x64xf32>, !tile.cursor<1> -> !tile.tensor_memory<128x64xf32>
      %loaded = tile.load %all : !tile.tensor_memory<128x64xf32> -> tensor<128x64xf32>
    }
    tile.role "matrix" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %slot = tile.get %sums : !tile.channel<1>
        tile.release_oldest %sums after_products : !tile.channel<1>
      }
    }
  }
  tile.return
}
}
