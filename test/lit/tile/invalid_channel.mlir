// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{expected a channel of 1 to 2147483647 slots, but got 0}}
tile.kernel @slots() attributes {t = !tile.channel<0>} { tile.return }

// -----

// put_c1
tile.kernel @argument() {
  %ab = tile.channel "ab" : !tile.channel<2>
  // expected-error @below {{expected one cursor of 2 slots as its region's argument and as its result because it fills a slot of 'ab'}}
  %filled = "tile.put"(%ab) ({
  ^bb0(%slot: !tile.cursor<3>):
  }) : (!tile.channel<2>) -> !tile.cursor<2>
  tile.return
}

// -----

// put_c1
tile.kernel @result() {
  %ab = tile.channel "ab" : !tile.channel<2>
  // expected-error @below {{expected one cursor of 2 slots as its region's argument and as its result because it fills a slot of 'ab'}}
  %filled = "tile.put"(%ab) ({
  ^bb0(%slot: !tile.cursor<2>):
  }) : (!tile.channel<2>) -> !tile.cursor<3>
  tile.return
}

// -----

// put_c2
tile.kernel @put_in_put() {
  %ab = tile.channel "ab" : !tile.channel<2>
  // expected-error @below {{expected no other put within a put into channel 'ab' because a role fills one slot at a time; put before or after it}}
  %filled = tile.put %ab(%slot) : !tile.channel<2> {
    // expected-note @below {{this one is within it}}
    %inner = tile.put %ab(%at) : !tile.channel<2> {
    }
  }
  tile.return
}

// -----

// put_c2
tile.kernel @get_in_put() {
  %ab = tile.channel "ab" : !tile.channel<2>
  // expected-error @below {{expected no get of channel 'ab' within a put into it because the slot is full once the put ends; get it after the put}}
  %filled = tile.put %ab(%slot) : !tile.channel<2> {
    %true = arith.constant true
    scf.if %true {
      // expected-note @below {{this one is within it}}
      %inner = tile.get %ab : !tile.channel<2>
    }
  }
  tile.return
}

// -----

tile.kernel @get() {
  %ab = tile.channel "ab" : !tile.channel<2>
  // expected-error @below {{slot and channel have the same number of slots}}
  %slot = "tile.get"(%ab) : (!tile.channel<2>) -> !tile.cursor<3>
  tile.return
}

// -----

tile.kernel @oldest() {
  %ab = tile.channel "ab" : !tile.channel<2>
  // expected-error @below {{slot and channel have the same number of slots}}
  %slot = "tile.oldest"(%ab) : (!tile.channel<2>) -> !tile.cursor<1>
  tile.return
}

// -----

// release_oldest_c1
tile.kernel @release() {
  %ab = tile.channel "ab" : !tile.channel<2>
  // expected-error @below {{expected one of 'after_products' and 'by_others' because a slot that others give back gets no arrival, but got both}}
  tile.release_oldest %ab after_products by_others : !tile.channel<2>
  tile.return
}
