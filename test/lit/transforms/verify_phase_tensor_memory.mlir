// RUN: %tile-opt %s --tile-verify-phase="phase=pipelined" -split-input-file -verify-diagnostics

// Products that add in tensor memory are in flight until an arrival after products; a slot that they read is released by one.
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @right() attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %a = tile.alloc_shared "a" : !tile.shared<2x128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %done = tile.alloc_barrier "done" count(1)
  %at = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "multiply" warps(4) {
      tile.await %ring[%at] : !tile.ring<2>
      %slot = tile.slot %a[%at] : !tile.shared<2x128x64xbf16>, !tile.cursor<2> -> !tile.shared<128x64xbf16>
      tile.gemm_in_place %slot, %b, %acc if %true : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
      tile.gemm_in_place %slot, %b, %acc if %true : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
      tile.release %ring[%at] after_products : !tile.ring<2>
      tile.arrive %done after_products
      tile.wait %done phase(%c0)
      %sum = tile.load %acc : !tile.tensor_memory<128x64xf32> -> tensor<128x64xf32>
    }
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @released(%A: !tile.global<128x64xbf16> {program.argument = #program.tensor<"A", input, dims[-1, -1]>}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %a = tile.alloc_shared "a" : !tile.shared<2x128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %at = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "load" warps(4) {
      %slot = tile.slot %a[%at] : !tile.shared<2x128x64xbf16>, !tile.cursor<2> -> !tile.shared<128x64xbf16>
      %s = tile.slice %A[%c0, %c0] : !tile.global<128x64xbf16> -> !tile.slice<128x64xbf16>
      tile.copy_async %s, %slot, %ring[%at] : !tile.slice<128x64xbf16>, !tile.shared<128x64xbf16>, !tile.ring<2>
    }
    tile.role "multiply" warps(4) {
      tile.await %ring[%at] : !tile.ring<2>
      %slot = tile.slot %a[%at] : !tile.shared<2x128x64xbf16>, !tile.cursor<2> -> !tile.shared<128x64xbf16>
      // expected-note @below {{the product is started here}}
      tile.gemm_in_place %slot, %b, %acc if %true : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
      // expected-error @below {{expected Arrival::afterProducts before the slot of 'a' is released because a product in flight reads it}}
      tile.release %ring[%at] : !tile.ring<2>
    }
  }
  tile.return
}
}

// -----

// An arrival, and no wait for it; a wait for another barrier.
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @read() attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  %done = tile.alloc_barrier "done" count(1)
  %other = tile.alloc_barrier "other" count(1)
  // expected-note @below {{the product is started here}}
  tile.gemm_in_place %a, %b, %acc if %true : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
  tile.arrive %done after_products
  tile.wait %other phase(%c0)
  // expected-error @below {{expected a wait for Arrival::afterProducts before 'acc' is read because a product in flight adds to it}}
  %sum = tile.load %acc : !tile.tensor_memory<128x64xf32> -> tensor<128x64xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @published() attributes {launch = #program.launch<warps = 4>} {
  %true = arith.constant true
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %accs = tile.alloc_tensor_memory "accs" : !tile.tensor_memory<2x128x64xf32>
  %ring = tile.alloc_ring "ring" : !tile.ring<2>
  %at = tile.cursor : !tile.cursor<2>
  tile.roles {
    tile.role "multiply" warps(4) {
      tile.acquire %ring[%at] : !tile.ring<2>
      %acc = tile.slot %accs[%at] : !tile.tensor_memory<2x128x64xf32>, !tile.cursor<2> -> !tile.tensor_memory<128x64xf32>
      // expected-note @below {{the product is started here}}
      tile.gemm_in_place %a, %b, %acc if %true : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
      // expected-error @below {{expected Arrival::afterProducts before the slot of 'accs' is published because a product in flight adds to it}}
      tile.publish %ring[%at] : !tile.ring<2>
    }
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @written(%x: bf16 {program.argument = #program.scalar<"x">}) attributes {launch = #program.launch<warps = 4>} {
  %true = arith.constant true
  %a = tile.alloc_tensor_memory "a" : !tile.tensor_memory<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x64xbf16>
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  tile.roles {
    tile.role "multiply" warps(4) {
      // expected-note @below {{the product is started here}}
      tile.gemm_in_place %a, %b, %acc if %true : !tile.tensor_memory<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
      %f = tile.splat %x : bf16 -> tensor<128x64xbf16>
      // expected-error @below {{expected a wait for Arrival::afterProducts before 'a' is written because a product in flight reads it}}
      tile.store %f, %a atom simt : tensor<128x64xbf16>, !tile.tensor_memory<128x64xbf16>
    }
  }
  tile.return
}
}
