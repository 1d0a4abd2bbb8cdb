// RUN: %tile-opt %s | %tile-opt | FileCheck %s
// RUN: %tile-opt %s --mlir-print-op-generic | %tile-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @channels()
tile.kernel @channels() attributes {launch = #program.launch<warps = 8, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %numbers = tile.alloc_shared "numbers" : !tile.shared<2x1xi32>
  // CHECK: %kv = tile.channel "kv" : !tile.channel<2>
  %kv = tile.channel "kv" : !tile.channel<2>
  // CHECK: %both = tile.channel "both" multicast : !tile.channel<3>
  %both = tile.channel "both" multicast : !tile.channel<3>
  // A signal.
  // CHECK: %{{.*}} = tile.put %both(%{{.*}}) : !tile.channel<3> {
  // CHECK-NEXT: }
  %signal = tile.put %both(%at) : !tile.channel<3> {
  }
  // CHECK: %[[FILLED:.*]] = tile.put %kv(%[[SLOT:.*]]) : !tile.channel<2> {
  // CHECK-NEXT: %[[NUMBER:.*]] = tile.slot %numbers[%[[SLOT]]] : !tile.shared<2x1xi32>, !tile.cursor<2> -> !tile.shared<1xi32>
  // CHECK-NEXT: tile.store_index %{{.*}}, %[[NUMBER]][%{{.*}}] : !tile.shared<1xi32>
  // CHECK-NEXT: }
  %filled = tile.put %kv(%slot) : !tile.channel<2> {
    %number = tile.slot %numbers[%slot] : !tile.shared<2x1xi32>, !tile.cursor<2> -> !tile.shared<1xi32>
    tile.store_index %c0, %number[%c0] : !tile.shared<1xi32>
  }
  // CHECK: tile.slot %numbers[%[[FILLED]]]
  %own = tile.slot %numbers[%filled] : !tile.shared<2x1xi32>, !tile.cursor<2> -> !tile.shared<1xi32>
  // A put into one channel may get from another one.
  // CHECK: tile.put %kv
  // CHECK-NEXT: tile.get %both : !tile.channel<3>
  // CHECK-NEXT: tile.release_oldest %both : !tile.channel<3>
  // CHECK-NEXT: }
  %passed = tile.put %kv(%next) : !tile.channel<2> {
    %from = tile.get %both : !tile.channel<3>
    tile.release_oldest %both : !tile.channel<3>
  }
  // CHECK: %[[GOT:.*]] = tile.get %kv : !tile.channel<2>
  // CHECK-NEXT: tile.slot %numbers[%[[GOT]]]
  %got = tile.get %kv : !tile.channel<2>
  %read = tile.slot %numbers[%got] : !tile.shared<2x1xi32>, !tile.cursor<2> -> !tile.shared<1xi32>
  // CHECK: tile.reclaim %kv : !tile.channel<2>
  %mine = tile.reclaim %kv : !tile.channel<2>
  // CHECK: %[[OLDEST:.*]] = tile.oldest %kv : !tile.channel<2>
  // CHECK-NEXT: tile.slot %numbers[%[[OLDEST]]]
  %oldest = tile.oldest %kv : !tile.channel<2>
  %again = tile.slot %numbers[%oldest] : !tile.shared<2x1xi32>, !tile.cursor<2> -> !tile.shared<1xi32>
  // CHECK: tile.release_oldest %kv : !tile.channel<2>
  tile.release_oldest %kv : !tile.channel<2>
  // CHECK: tile.release_oldest %kv after_products : !tile.channel<2>
  tile.release_oldest %kv after_products : !tile.channel<2>
  // CHECK: tile.release_oldest %kv by_others : !tile.channel<2>
  tile.release_oldest %kv by_others : !tile.channel<2>
  tile.return
}
