// RUN: %tlc-opt %s -pass-pipeline='builtin.module(tile.kernel(tile-lower-channels))' -split-input-file -verify-diagnostics

tile.kernel @nobody_gets() attributes {launch = #program.launch<warps = 8>} {
  // expected-note @below {{the channel is declared here}}
  %ab = tile.channel "ab" : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      // expected-error @below {{expected a role that gets from channel 'ab' because this one puts into it, but none does; call get() in the role that uses the slots}}
      %filled = tile.put %ab(%slot) : !tile.channel<2> {
      }
    }
    tile.role "use" warps(4) {
      tile.release_oldest %ab : !tile.channel<2>
    }
  }
  tile.return
}

// -----

tile.kernel @nobody_puts() attributes {launch = #program.launch<warps = 4>} {
  // expected-note @below {{the channel is declared here}}
  %ab = tile.channel "ab" : !tile.channel<2>
  tile.roles {
    tile.role "use" warps(4) {
      // expected-error @below {{expected a role that puts into channel 'ab' because this one waits for its slots, but none does; call put() in the role that fills them}}
      %slot = tile.get %ab : !tile.channel<2>
      tile.release_oldest %ab : !tile.channel<2>
    }
  }
  tile.return
}

// -----

tile.kernel @only_releases() attributes {launch = #program.launch<warps = 4>} {
  // expected-note @below {{the channel is declared here}}
  %ab = tile.channel "ab" : !tile.channel<2>
  tile.roles {
    tile.role "use" warps(4) {
      // expected-error @below {{expected a role that gets from channel 'ab' because this one releases its slots, but none does; call get() in the role that uses the slots}}
      tile.release_oldest %ab : !tile.channel<2>
    }
  }
  tile.return
}

// -----

tile.kernel @oldest_of_none() attributes {launch = #program.launch<warps = 8>} {
  // expected-note @below {{the channel is declared here}}
  %ab = tile.channel "ab" : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      %filled = tile.put %ab(%slot) : !tile.channel<2> {
      }
    }
    tile.role "look" warps(4) {
      %slot = tile.get %ab : !tile.channel<2>
      // expected-error @below {{expected this role to release slots of channel 'ab' because oldest() is the one that it releases or passes next, but it does neither; use what get() returned}}
      %oldest = tile.oldest %ab : !tile.channel<2>
    }
  }
  tile.return
}

// -----

// How often the device loops is not known where the bytes are said.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @loop(%X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[1, -1], alignment = 16>},
                  %n: index {program.argument = #program.dimension<"n">})
    attributes {launch = #program.launch<warps = 8, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc_shared "a" : !tile.shared<2x16x64xf32>
  %ab = tile.channel "ab" multicast : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      // expected-note @below {{the put is here}}
      %filled = tile.put %ab(%slot) : !tile.channel<2> {
        %as = tile.slot %a[%slot] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
        // expected-error @below {{expected the copies in a put into channel 'ab' to bring the same bytes whatever the device does because the blocks of the cluster fill its slots together, by the TMA, and an mbarrier expects its bytes before they come, but here they depend on it; let both branches of a condition copy the same bytes, and loop in C++}}
        scf.for %i = %c0 to %n step %c1 {
          %s = tile.slice %X[%i, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
          tile.copy %s, %as : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
        }
      }
    }
    tile.role "use" warps(4) {
      %slot = tile.get %ab : !tile.channel<2>
    }
  }
  tile.return
}
}

// -----

// A copy that always comes beside one that may not.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @branch(%X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[1, -1], alignment = 16>},
                    %n: index {program.argument = #program.dimension<"n">})
    attributes {launch = #program.launch<warps = 8, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared "a" : !tile.shared<2x16x64xf32>
  %b = tile.alloc_shared "b" : !tile.shared<2x16x64xf32>
  %ab = tile.channel "ab" multicast : !tile.channel<2>
  %exists = arith.cmpi sgt, %n, %c0 : index
  tile.roles {
    tile.role "load" warps(4) {
      // expected-note @below {{the put is here}}
      %filled = tile.put %ab(%slot) : !tile.channel<2> {
        %as = tile.slot %a[%slot] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
        %bs = tile.slot %b[%slot] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
        %s = tile.slice %X[%c0, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
        tile.copy %s, %as : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
        // expected-error @below {{expected the copies in a put into channel 'ab' to bring the same bytes whatever the device does}}
        scf.if %exists {
          tile.copy %s, %bs : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
        }
      }
    }
    tile.role "use" warps(4) {
      %slot = tile.get %ab : !tile.channel<2>
    }
  }
  tile.return
}
}

// -----

// Two branches.
module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @branches(%X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[1, -1], alignment = 16>},
                      %n: index {program.argument = #program.dimension<"n">})
    attributes {launch = #program.launch<warps = 8, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared "a" : !tile.shared<2x16x64xf32>
  %ab = tile.channel "ab" multicast : !tile.channel<2>
  %exists = arith.cmpi sgt, %n, %c0 : index
  tile.roles {
    tile.role "load" warps(4) {
      // expected-note @below {{the put is here}}
      %filled = tile.put %ab(%slot) : !tile.channel<2> {
        %as = tile.slot %a[%slot] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
        %s = tile.slice %X[%c0, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
        // expected-error @below {{to bring the same bytes whatever the device does}}
        scf.if %exists {
          tile.copy %s, %as : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
        }
        scf.if %exists {
        } else {
          tile.copy %s, %as : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
        }
      }
    }
    tile.role "use" warps(4) {
      %slot = tile.get %ab : !tile.channel<2>
    }
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @shares(%X: !tile.global<?x24xbf16> {program.argument = #program.tensor<"X", input, dims[1, -1], alignment = 2>},
                    %n: index {program.argument = #program.dimension<"n">})
    attributes {launch = #program.launch<warps = 8, cluster = 2>} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared "a" : !tile.shared<2x16x24xbf16>
  %channel = tile.channel "a" multicast : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      %filled = tile.put %channel(%slot) : !tile.channel<2> {
        %as = tile.slot %a[%slot] : !tile.shared<2x16x24xbf16>, !tile.cursor<2> -> !tile.shared<16x24xbf16>
        %s = tile.slice %X[%c0, %c0] : !tile.global<?x24xbf16> -> !tile.slice<16x24xbf16>
        // expected-error @below {{expected a copy that the TMA can make because the blocks of the cluster fill the slots of channel 'a' together, but}}
        tile.copy %s, %as : !tile.slice<16x24xbf16>, !tile.shared<16x24xbf16>
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

tile.kernel @fills_what_it_does_not_hold() attributes {launch = #program.launch<warps = 12>} {
  // expected-note @below {{the channel is declared here}}
  %q = tile.channel "q" : !tile.channel<2>
  %o = tile.channel "o" of %q : !tile.channel<2> : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      %filled = tile.put %q(%slot) : !tile.channel<2> {
      }
      // expected-error @below {{expected this role to get and to release or pass slots of channel 'q' because it fills the oldest one that it holds, but it does not}}
      %again = tile.put %o(%slot) : !tile.channel<2> {
      }
    }
    tile.role "look" warps(4) {
      %seen = tile.get %q : !tile.channel<2>
    }
    tile.role "use" warps(4) {
      %got = tile.get %o : !tile.channel<2>
      tile.release_oldest %q : !tile.channel<2>
    }
  }
  tile.return
}

// -----

tile.kernel @two_gets() attributes {launch = #program.launch<warps = 12>} {
  %q = tile.channel "q" : !tile.channel<2>
  %o = tile.channel "o" of %q : !tile.channel<2> : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      %filled = tile.put %q(%slot) : !tile.channel<2> {
      }
    }
    tile.role "math" warps(4) {
      %got = tile.get %q : !tile.channel<2>
      %again = tile.put %o(%slot) : !tile.channel<2> {
      }
      tile.release_oldest %q by_others : !tile.channel<2>
    }
    tile.role "use" warps(4) {
      // expected-note @below {{the other get is here}}
      %first = tile.get %q : !tile.channel<2>
      // expected-error @below {{expected a role to get each slot from one channel, but channels 'o' and 'q' hand over the same slots}}
      %second = tile.get %o : !tile.channel<2>
      tile.release_oldest %q : !tile.channel<2>
    }
  }
  tile.return
}

// -----

tile.kernel @releases_the_second() attributes {launch = #program.launch<warps = 12>} {
  // expected-note @below {{the channel is declared here}}
  %q = tile.channel "q" : !tile.channel<2>
  %o = tile.channel "o" of %q : !tile.channel<2> : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      %filled = tile.put %q(%slot) : !tile.channel<2> {
      }
    }
    tile.role "math" warps(4) {
      %got = tile.get %q : !tile.channel<2>
      %again = tile.put %o(%slot) : !tile.channel<2> {
      }
      tile.release_oldest %q by_others : !tile.channel<2>
    }
    tile.role "store" warps(4) {
      %result = tile.get %o : !tile.channel<2>
      // expected-error @below {{expected a release of channel 'q' because 'o' hands over its slots; release that channel}}
      tile.release_oldest %o : !tile.channel<2>
    }
  }
  tile.return
}

// -----

tile.kernel @never_released(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @below {{the channel is declared here}}
  %q = tile.channel "q" : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        // expected-error @below {{expected a role that releases slots of channel 'q' because this one fills them in a loop, but none does; call release() in the role that gets them, once it is done with the slot}}
        %filled = tile.put %q(%slot) : !tile.channel<2> {
        }
      }
    }
    tile.role "use" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %got = tile.get %q : !tile.channel<2>
      }
    }
  }
  tile.return
}

// -----

tile.kernel @holds_all(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = tile.channel "q" : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %filled = tile.put %q(%slot) : !tile.channel<2> {
        }
      }
    }
    tile.role "use" warps(4) {
      // expected-note @below {{the oldest is got here}}
      %a = tile.get %q : !tile.channel<2>
      %b = tile.get %q : !tile.channel<2>
      // expected-error @below {{expected this role to release a slot of channel 'q' before it gets one more because it holds all 2, so no role can fill another; call release() before, or give the channel more slots}}
      %c = tile.get %q : !tile.channel<2>
      tile.release_oldest %q : !tile.channel<2>
    }
  }
  tile.return
}

// -----

tile.kernel @holds_all_in_a_loop(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %q = tile.channel "q" : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %filled = tile.put %q(%slot) : !tile.channel<2> {
        }
      }
    }
    tile.role "use" warps(4) {
      scf.for %i = %c0 to %c3 step %c1 {
        // expected-error @below {{because it holds all 2, so no role can fill another}}
        // expected-note @below {{the oldest is got here}}
        %a = tile.get %q : !tile.channel<2>
      }
      tile.release_oldest %q : !tile.channel<2>
    }
  }
  tile.return
}

// -----

tile.kernel @fills_too_many(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  // expected-note @below {{the channel is declared here}}
  %q = tile.channel "q" : !tile.channel<1>
  tile.roles {
    tile.role "both" warps(4) {
      %first = tile.put %q(%slot) : !tile.channel<1> {
      }
      // expected-error @below {{expected this role to release a slot of channel 'q' before it fills one more because it has filled and not released all 1, so it waits for itself; call release() before, or give the channel more slots}}
      %second = tile.put %q(%slot) : !tile.channel<1> {
      }
      %a = tile.get %q : !tile.channel<1>
      tile.release_oldest %q : !tile.channel<1>
    }
  }
  tile.return
}

// -----

tile.kernel @gets_before_it_fills(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = tile.channel "q" : !tile.channel<2>
  tile.roles {
    tile.role "both" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        // expected-error @below {{expected this role to put into channel 'q' before it gets the slot because a slot is full once all roles that put have filled it, so it waits for itself; call put() before}}
        %a = tile.get %q : !tile.channel<2>
        // expected-note @below {{it puts here}}
        %first = tile.put %q(%slot) : !tile.channel<2> {
        }
        tile.release_oldest %q : !tile.channel<2>
      }
    }
  }
  tile.return
}

// -----

tile.kernel @after_release(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = tile.alloc_shared "tile" : !tile.shared<2x1xi32>
  %q = tile.channel "q" : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %filled = tile.put %q(%slot) : !tile.channel<2> {
        }
      }
    }
    tile.role "use" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %a = tile.get %q : !tile.channel<2>
        %part = tile.slot %tile[%a] : !tile.shared<2x1xi32>, !tile.cursor<2> -> !tile.shared<1xi32>
        %before = tile.load_index %part[%c0] : !tile.shared<1xi32>
        // expected-note @below {{it is given back here}}
        tile.release_oldest %q : !tile.channel<2>
        // expected-error @below {{expected no use of a slot of channel 'q' after the role has given it back because it may be filled again; call release() later}}
        %after = tile.load_index %part[%c0] : !tile.shared<1xi32>
      }
    }
  }
  tile.return
}

// -----

tile.kernel @oldest_after_pass(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 12>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = tile.alloc_shared "tile" : !tile.shared<2x1xi32>
  %q = tile.channel "q" : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %filled = tile.put %q(%slot) : !tile.channel<2> {
        }
      }
    }
    tile.role "look" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %got = tile.get %q : !tile.channel<2>
        %a = tile.oldest %q : !tile.channel<2>
        // expected-note @below {{it is given back here}}
        tile.release_oldest %q by_others : !tile.channel<2>
        %part = tile.slot %tile[%a] : !tile.shared<2x1xi32>, !tile.cursor<2> -> !tile.shared<1xi32>
        // expected-error @below {{expected no use of a slot of channel 'q' after the role has given it back because it may be filled again; call pass() later}}
        %after = tile.load_index %part[%c0] : !tile.shared<1xi32>
      }
    }
    tile.role "use" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %a = tile.get %q : !tile.channel<2>
        tile.release_oldest %q : !tile.channel<2>
      }
    }
  }
  tile.return
}

// -----

tile.kernel @unbalanced(%n: index {program.argument = #program.dimension<"n">}) attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @below {{the channel is declared here}}
  %q = tile.channel "q" : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      scf.for %i = %c0 to %n step %c1 {
        %filled = tile.put %q(%slot) : !tile.channel<2> {
        }
      }
    }
    tile.role "use" warps(4) {
      // expected-error @below {{expected each iteration of the loop to release as many slots of channel 'q' as it gets because there may be any number of iterations, but each gets 1 and releases 0; call release() where a slot is no longer used}}
      scf.for %i = %c0 to %n step %c1 {
        %a = tile.get %q : !tile.channel<2>
      }
      tile.release_oldest %q : !tile.channel<2>
    }
  }
  tile.return
}

// -----

tile.kernel @releases_before_it_gets() attributes {launch = #program.launch<warps = 8>} {
  // expected-note @below {{the channel is declared here}}
  %q = tile.channel "q" : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      %filled = tile.put %q(%slot) : !tile.channel<2> {
      }
    }
    tile.role "use" warps(4) {
      // expected-error @below {{expected this role to get a slot of channel 'q' before it gives back one more because it holds none; call get() before}}
      tile.release_oldest %q : !tile.channel<2>
      %a = tile.get %q : !tile.channel<2>
    }
  }
  tile.return
}

// -----

tile.kernel @more_than_slots() attributes {launch = #program.launch<warps = 8>} {
  // expected-note @below {{the channel is declared here}}
  %q = tile.channel "q" : !tile.channel<1>
  tile.roles {
    tile.role "load" warps(4) {
      %first = tile.put %q(%slot) : !tile.channel<1> {
      }
      // expected-error @below {{expected a role that releases slots of channel 'q' because this one fills more than the 1 that there are, but none does; call release() in the role that gets them, once it is done with the slot}}
      %second = tile.put %q(%slot) : !tile.channel<1> {
      }
    }
    tile.role "use" warps(4) {
      %a = tile.get %q : !tile.channel<1>
    }
  }
  tile.return
}

// -----

tile.kernel @two_roles_regions() attributes {launch = #program.launch<warps = 8>} {
  %q = tile.channel "q" : !tile.channel<2>
  // expected-note @below {{the other use is here}}
  %before = tile.put %q(%slot) : !tile.channel<2> {
  }
  tile.roles {
    tile.role "load" warps(4) {
      // expected-error @below {{expected one k.roles to use channel 'q' because each role begins at the channel's first slot, but another k.roles, or the kernel outside of roles, uses it, too; declare a channel for each}}
      %filled = tile.put %q(%slot) : !tile.channel<2> {
      }
    }
    tile.role "use" warps(4) {
      %a = tile.get %q : !tile.channel<2>
      tile.release_oldest %q : !tile.channel<2>
    }
  }
  tile.return
}

// -----

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @reads_what_comes(%X: !tile.global<?x64xf32> {program.argument = #program.tensor<"X", input, dims[1, -1], alignment = 16>},
                              %n: index {program.argument = #program.dimension<"n">})
    attributes {launch = #program.launch<warps = 8>} {
  %c0 = arith.constant 0 : index
  %a = tile.alloc_shared "a" : !tile.shared<2x16x64xf32>
  %q = tile.channel "q" : !tile.channel<2>
  tile.roles {
    tile.role "load" warps(4) {
      %filled = tile.put %q(%slot) : !tile.channel<2> {
        %as = tile.slot %a[%slot] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
        %s = tile.slice %X[%c0, %c0] : !tile.global<?x64xf32> -> !tile.slice<16x64xf32>
        // expected-note @below {{the copy is here}}
        tile.copy %s, %as : !tile.slice<16x64xf32>, !tile.shared<16x64xf32>
      }
      %own = tile.slot %a[%filled] : !tile.shared<2x16x64xf32>, !tile.cursor<2> -> !tile.shared<16x64xf32>
      // expected-error @below {{expected no use of 'a' in the role that puts it into channel 'q' after a copy by the TMA because the role does not wait for the copy; use the tile before the copy, or in a role that gets the slot}}
      %x = tile.load %own : !tile.shared<16x64xf32> -> tensor<16x64xf32>
    }
    tile.role "use" warps(4) {
      %got = tile.get %q : !tile.channel<2>
      tile.release_oldest %q : !tile.channel<2>
    }
  }
  tile.return
}
}
