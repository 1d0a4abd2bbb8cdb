// RUN: %tile-opt %s --tile-put-ahead -split-input-file | FileCheck %s
// RUN: %tile-opt %s --tile-put-ahead=enable=false -split-input-file | FileCheck %s --check-prefix=OFF

// The role that multiplies waits for the weights of these keys after it has started the scores of the next ones.
// CHECK-LABEL: tile.kernel @scores_and_output(
// CHECK:         tile.role "matrix" warps(4) {
// CHECK:           %[[ANY:.*]] = arith.cmpi slt, %c0, %n
// CHECK-NEXT:      scf.if %[[ANY]] {
// CHECK-NEXT:        %[[K:.*]] = tile.get %keys
// CHECK-NEXT:        %[[KEYS:.*]] = tile.slot %k[%[[K]]]
// CHECK-NEXT:        tile.put %scores
// CHECK:               tile.gemm_in_place %q, %[[KEYS]]
// CHECK:             tile.release_oldest %keys after_products
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.for %[[I:.*]] = %c0 to %n step %c1 {
// CHECK-NEXT:        %[[LEFT:.*]] = arith.subi %n, %[[I]]
// CHECK-NEXT:        %[[NEXT:.*]] = arith.addi %[[I]], %c1
// CHECK-NEXT:        %[[IS_NEXT:.*]] = arith.cmpi sgt, %[[LEFT]], %c1
// CHECK-NEXT:        scf.if %[[IS_NEXT]] {
// CHECK-NEXT:          tile.get %keys
// CHECK:               tile.put %scores
// CHECK:               tile.release_oldest %keys after_products
// CHECK-NEXT:        }
// CHECK-NOT:         tile.get %keys
// CHECK:             tile.get %weights
// CHECK:             tile.gemm_in_place
// CHECK:             tile.release_oldest %weights after_products
// OFF-LABEL: tile.kernel @scores_and_output(
// OFF:         tile.role "matrix" warps(4) {
// OFF-NEXT:      scf.for
// OFF-NEXT:        tile.get %keys
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @scores_and_output(%n: index {program.argument = #program.dimension<"n">}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %false = arith.constant false
  %q = tile.alloc_shared "q" : !tile.shared<128x64xbf16>
  %k = tile.alloc_shared "k" : !tile.shared<2x64x64xbf16>
  %v = tile.alloc_shared "v" : !tile.shared<64x64xbf16>
  %s = tile.alloc_tensor_memory "s" : !tile.tensor_memory<2x128x64xf32>
  %p = tile.alloc_tensor_memory "p" : !tile.tensor_memory<1x128x64xbf16>
  %o = tile.alloc_tensor_memory "o" : !tile.tensor_memory<128x64xf32>
  %keys = tile.channel "keys" : !tile.channel<2>
  %scores = tile.channel "scores" : !tile.channel<2>
  %weights = tile.channel "weights" : !tile.channel<1>
  tile.roles {
    tile.role "load" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %filled = tile.put %keys(%slot) : !tile.channel<2> {
        }
      }
    }
    tile.role "matrix" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %at = tile.get %keys : !tile.channel<2>
        %ks = tile.slot %k[%at] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %filled = tile.put %scores(%slot) : !tile.channel<2> {
          %ss = tile.slot %s[%slot] : !tile.tensor_memory<2x128x64xf32>, !tile.cursor<2> -> !tile.tensor_memory<128x64xf32>
          tile.gemm_in_place %q, %ks, %ss if %false : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
        }
        tile.release_oldest %keys after_products : !tile.channel<2>
        %got = tile.get %weights : !tile.channel<1>
        %ps = tile.slot %p[%got] : !tile.tensor_memory<1x128x64xbf16>, !tile.cursor<1> -> !tile.tensor_memory<128x64xbf16>
        tile.gemm_in_place %ps, %v, %o if %false : !tile.tensor_memory<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
        tile.release_oldest %weights after_products : !tile.channel<1>
      }
    }
    tile.role "math" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %got = tile.get %scores : !tile.channel<2>
        tile.release_oldest %scores : !tile.channel<2>
        %filled = tile.put %weights(%slot) : !tile.channel<1> {
        }
      }
    }
  }
  tile.return
}
}

// -----

// Scores of one slot alone would overwrite those that are read; keys that are kept until the output would take all slots.
// CHECK-LABEL: tile.kernel @one_slot(
// CHECK:         tile.role "matrix" warps(4) {
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        tile.get %keys
// CHECK:         tile.role "keeps" warps(4) {
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        tile.get %values
// OFF-LABEL: tile.kernel @one_slot(
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @one_slot(%n: index {program.argument = #program.dimension<"n">}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %false = arith.constant false
  %q = tile.alloc_shared "q" : !tile.shared<128x64xbf16>
  %v = tile.alloc_shared "v" : !tile.shared<64x64xbf16>
  %s = tile.alloc_tensor_memory "s" : !tile.tensor_memory<2x128x64xf32>
  %keys = tile.channel "keys" : !tile.channel<2>
  %values = tile.channel "values" : !tile.channel<2>
  %scores = tile.channel "scores" : !tile.channel<1>
  %more = tile.channel "more" : !tile.channel<2>
  %weights = tile.channel "weights" : !tile.channel<1>
  tile.roles {
    tile.role "load" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %filled = tile.put %keys(%slot) : !tile.channel<2> {
        }
        %others = tile.put %values(%slot) : !tile.channel<2> {
        }
      }
    }
    tile.role "matrix" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %at = tile.get %keys : !tile.channel<2>
        %filled = tile.put %scores(%slot) : !tile.channel<1> {
          %ss = tile.alloc_tensor_memory "one" : !tile.tensor_memory<128x64xf32>
          tile.gemm_in_place %q, %v, %ss if %false : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
        }
        tile.release_oldest %keys after_products : !tile.channel<2>
        %got = tile.get %weights : !tile.channel<1>
        tile.release_oldest %weights after_products : !tile.channel<1>
      }
    }
    tile.role "keeps" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %at = tile.get %values : !tile.channel<2>
        %filled = tile.put %more(%slot) : !tile.channel<2> {
          %ss = tile.slot %s[%slot] : !tile.tensor_memory<2x128x64xf32>, !tile.cursor<2> -> !tile.tensor_memory<128x64xf32>
          tile.gemm_in_place %q, %v, %ss if %false : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
        }
        %got = tile.get %weights : !tile.channel<1>
        tile.release_oldest %weights after_products : !tile.channel<1>
        tile.release_oldest %values after_products : !tile.channel<2>
      }
    }
    tile.role "math" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %a = tile.get %scores : !tile.channel<1>
        tile.release_oldest %scores : !tile.channel<1>
        %b = tile.get %more : !tile.channel<2>
        tile.release_oldest %more : !tile.channel<2>
        %filled = tile.put %weights(%slot) : !tile.channel<1> {
        }
      }
    }
  }
  tile.return
}
}

// -----

// Two score tiles with one slot each: the role starts the next scores of a tile after the product that reads the tile's weights.
// Both products read the same slot of keys, the oldest that the role holds.
// CHECK-LABEL: tile.kernel @turns(
// CHECK:         tile.role "matrix" warps(4) {
// CHECK:           scf.if
// CHECK:             tile.get %keys
// CHECK:             tile.put %scores
// CHECK:             tile.put %others
// CHECK:             tile.release_oldest %keys after_products
// CHECK:           scf.for
// CHECK:             %[[NEXT:.*]] = arith.cmpi sgt
// CHECK-NEXT:        tile.get %weights
// CHECK-NEXT:        tile.release_oldest %weights after_products
// CHECK-NEXT:        scf.if %[[NEXT]] {
// CHECK-NEXT:          %[[AT:.*]] = tile.get %keys
// CHECK-NEXT:          %[[KEYS:.*]] = tile.slot %k[%[[AT]]]
// CHECK-NEXT:          tile.put %scores
// CHECK-NEXT:            tile.gemm_in_place %q, %[[KEYS]], %one
// CHECK:             tile.get %changes
// CHECK-NEXT:        tile.release_oldest %changes after_products
// CHECK-NEXT:        scf.if %[[NEXT]] {
// CHECK-NEXT:          %[[HELD:.*]] = tile.oldest %keys
// CHECK-NEXT:          %[[SAME:.*]] = tile.slot %k[%[[HELD]]]
// CHECK-NEXT:          tile.put %others
// CHECK-NEXT:            tile.gemm_in_place %q, %[[SAME]], %two
// CHECK-NEXT:          }
// CHECK-NEXT:          tile.release_oldest %keys after_products
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// OFF-LABEL: tile.kernel @turns(
module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @turns(%n: index {program.argument = #program.dimension<"n">}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %false = arith.constant false
  %q = tile.alloc_shared "q" : !tile.shared<128x64xbf16>
  %k = tile.alloc_shared "k" : !tile.shared<2x64x64xbf16>
  %one = tile.alloc_tensor_memory "one" : !tile.tensor_memory<128x64xf32>
  %two = tile.alloc_tensor_memory "two" : !tile.tensor_memory<128x64xf32>
  %keys = tile.channel "keys" : !tile.channel<2>
  %scores = tile.channel "scores" : !tile.channel<1>
  %others = tile.channel "others" : !tile.channel<1>
  %weights = tile.channel "weights" : !tile.channel<1>
  %changes = tile.channel "changes" : !tile.channel<1>
  tile.roles {
    tile.role "load" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %filled = tile.put %keys(%slot) : !tile.channel<2> {
        }
      }
    }
    tile.role "matrix" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %at = tile.get %keys : !tile.channel<2>
        %ks = tile.slot %k[%at] : !tile.shared<2x64x64xbf16>, !tile.cursor<2> -> !tile.shared<64x64xbf16>
        %first = tile.put %scores(%slot) : !tile.channel<1> {
          tile.gemm_in_place %q, %ks, %one if %false : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
        }
        %second = tile.put %others(%slot) : !tile.channel<1> {
          tile.gemm_in_place %q, %ks, %two if %false : !tile.shared<128x64xbf16>, !tile.shared<64x64xbf16>, !tile.tensor_memory<128x64xf32>
        }
        tile.release_oldest %keys after_products : !tile.channel<2>
        %p = tile.get %weights : !tile.channel<1>
        tile.release_oldest %weights after_products : !tile.channel<1>
        %r = tile.get %changes : !tile.channel<1>
        tile.release_oldest %changes after_products : !tile.channel<1>
      }
    }
    tile.role "math.1" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %got = tile.get %scores : !tile.channel<1>
        tile.release_oldest %scores : !tile.channel<1>
        %filled = tile.put %weights(%slot) : !tile.channel<1> {
        }
      }
    }
    tile.role "math.2" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %got = tile.get %others : !tile.channel<1>
        tile.release_oldest %others : !tile.channel<1>
        %filled = tile.put %changes(%slot) : !tile.channel<1> {
        }
      }
    }
  }
  tile.return
}
}
