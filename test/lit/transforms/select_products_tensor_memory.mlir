// RUN: %tile-opt %s --tile-select-products -split-input-file -verify-diagnostics

module attributes {program.target = #program.target<"sm_90a">} {
tile.kernel @no_tensor_memory() attributes {launch = #program.launch<warps = 4>} {
  // expected-error @below {{expected a target with tensor memory because 'acc' lies there, but got sm_90a}}
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @columns() attributes {launch = #program.launch<warps = 4>} {
  %true = arith.constant true
  %a = tile.alloc_shared "a" : !tile.shared<128x64xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<64x24xbf16>
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x24xf32>
  // expected-error @below {{expected a product that tcgen05.mma can make because it adds in tensor memory, but n = 24 is not a multiple of 16 from 16 to 512}}
  tile.gemm_in_place %a, %b, %acc if %true : !tile.shared<128x64xbf16>, !tile.shared<64x24xbf16>, !tile.tensor_memory<128x24xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @depth() attributes {launch = #program.launch<warps = 4>} {
  %true = arith.constant true
  %a = tile.alloc_tensor_memory "a" : !tile.tensor_memory<128x24xbf16>
  %b = tile.alloc_shared "b" : !tile.shared<24x64xbf16>
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<128x64xf32>
  // expected-error @below {{expected a product that tcgen05.mma can make because it adds in tensor memory, but the layout of 'b' does not fit: expected a multiple of 16 along the reduction axis 0 because one tcgen05.mma reduces that many elements of 16 bits, but got 24}}
  tile.gemm_in_place %a, %b, %acc if %true : !tile.tensor_memory<128x24xbf16>, !tile.shared<24x64xbf16>, !tile.tensor_memory<128x64xf32>
  tile.return
}
}

// -----

module attributes {program.target = #program.target<"sm_100a">} {
tile.kernel @across() attributes {launch = #program.launch<warps = 4>} {
  %true = arith.constant true
  %a = tile.alloc_shared "a" : !tile.shared<64x64xf8E4M3FN>
  %aView = tile.transpose %a : !tile.shared<64x64xf8E4M3FN> -> !tile.shared<64x64xf8E4M3FN, transposed>
  %b = tile.alloc_shared "b" : !tile.shared<64x24xf8E4M3FN>
  %acc = tile.alloc_tensor_memory "acc" : !tile.tensor_memory<64x24xf32>
  // expected-error @below {{but n = 24 is not a multiple of 16, the step for a right factor of 8 bits whose rows run along n}}
  tile.gemm_in_place %aView, %b, %acc if %true : !tile.shared<64x64xf8E4M3FN, transposed>, !tile.shared<64x24xf8E4M3FN>, !tile.tensor_memory<64x24xf32>
  tile.return
}
}
