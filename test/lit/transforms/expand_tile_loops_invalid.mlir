// RUN: %tile-opt %s --tile-expand-tile-loops -split-input-file -verify-diagnostics

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @hopper(%rows: index {program.argument = #program.dimension<"rows">}) {
  // expected-error @below {{expected static tile scheduling because sm_90a has no cluster launch control, which begins with sm_100, but got TileScheduling::dynamic; use TileScheduling::fixed, or take numbers of tiles from a count (take)}}
  tile.persistent (%i) in (%rows) group(8) attributes {dynamic} {
  }
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @cluster(%rows: index {program.argument = #program.dimension<"rows">})
    attributes {launch = #program.launch<cluster = 2>} {
  // expected-error @below {{expected static tile scheduling with clusters because a canceled block's tile is one block's work, but got TileScheduling::dynamic and a cluster of 2 blocks; use TileScheduling::fixed, or k.cluster(1)}}
  tile.persistent (%i) in (%rows) group(8) attributes {dynamic} {
  }
  tile.return
}
}
