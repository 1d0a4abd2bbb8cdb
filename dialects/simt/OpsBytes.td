// SPDX-License-Identifier: Apache-2.0
// Bytes in registers, and the floats of 8 bits that they may be. The machine computes with none of these: it converts.
#ifndef TLC_DIALECTS_SIMT_OPSBYTES_TD
#define TLC_DIALECTS_SIMT_OPSBYTES_TD

include "dialects/simt/Dialect.td"

def Simt_PermuteBytesOp : Simt_Op<"permute_bytes", [Pure]> {
  let summary = "prmt: a word of any four of the eight bytes of `low` and `high`";
  let description = "Bits 4i to 4i+2 of `selector` say which byte becomes byte i: 0 to 3 are those of `low`, 4 to 7 those of `high`.";
  let arguments = (ins I32:$low, I32:$high, I32:$selector);
  let results = (outs I32:$result);
  let assemblyFormat = "$low `,` $high `,` $selector attr-dict";
}

def Simt_EncodeE4M3Op : Simt_Op<"encode_e4m3", [Pure, AllShapesMatch<["source", "result"]>]> {
  let summary = "The nearest e4m3 of each number: what is too large becomes +-448";
  let arguments = (ins VectorOfRankAndType<[1], [F32]>:$source);
  let results = (outs VectorOfRankAndType<[1], [I8]>:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def Simt_DecodeE4M3Op : Simt_Op<"decode_e4m3", [Pure, AllShapesMatch<["source", "result"]>]> {
  let summary = "The numbers that e4m3 bytes stand for";
  let arguments = (ins VectorOfRankAndType<[1], [I8]>:$source);
  let results = (outs VectorOfRankAndType<[1], [F32]>:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

#endif
