// RUN: %tile-opt %s -split-input-file -verify-diagnostics

// report_c1
tile.kernel @placeholders() {
  %x = arith.constant 1.0 : f32
  // expected-error @below {{expected as many values as the text has '{}', but got 1 for 2}}
  tile.report "{} and {}", %x : f32
  tile.return
}

// -----

// report_c1: no more than there is room for.
tile.kernel @many() {
  %x = arith.constant 1.0 : f32
  // expected-error @below {{expected at most 8 values because a report has room for as many, but got 9}}
  tile.report "{}{}{}{}{}{}{}{}{}", %x, %x, %x, %x, %x, %x, %x, %x, %x : f32, f32, f32, f32, f32, f32, f32, f32, f32
  tile.return
}

// -----

// report_c2
tile.kernel @narrow() {
  %x = arith.constant 1.0 : f16
  // expected-error @below {{expected values of i32, i64, f32 or f64, but got 'f16'}}
  tile.report "{}", %x : f16
  tile.return
}

// -----

// report_c3
tile.kernel @extents() {
  %x = arith.constant dense<1.0> : tensor<64x8xf32>
  %y = arith.constant dense<1.0> : tensor<8x64xf32>
  // expected-error @below {{expected fragments of the same extents because their elements are shown together, but got 64x8 and 8x64}}
  tile.report "{} {}", %x, %y : tensor<64x8xf32>, tensor<8x64xf32>
  tile.return
}

// -----

// report_c3
tile.kernel @axes() {
  %x = arith.constant dense<1.0> : tensor<1x1x1x1x1x8xf32>
  // expected-error @below {{expected a fragment of at most 5 axes because a report has room for as many positions, but got 6}}
  tile.report "{}", %x : tensor<1x1x1x1x1x8xf32>
  tile.return
}

// -----

// report_c4
tile.kernel @one_condition(%n: index {program.argument = #program.dimension<"n">}) {
  %holds = arith.cmpi sgt, %n, %n : index
  %x = arith.constant dense<1.0> : tensor<64x8xf32>
  // expected-error @below {{expected a condition with one truth value per element because the values are fragments, but got one for all}}
  tile.report unless %holds : i1, "{}", %x : tensor<64x8xf32>
  tile.return
}

// -----

// report_c4
tile.kernel @number_as_condition() {
  %x = arith.constant dense<1.0> : tensor<64x8xf32>
  // expected-error @below {{expected a condition of truth values, but got 'tensor<64x8xf32>'}}
  tile.report unless %x : tensor<64x8xf32>, "{}", %x : tensor<64x8xf32>
  tile.return
}
