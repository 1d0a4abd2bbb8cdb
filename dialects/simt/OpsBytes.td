// SPDX-License-Identifier: Apache-2.0
// Bytes in registers, and the floats of 8 or 4 bits that they may be. The machine computes with none of these: it converts.
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

class Simt_SmallFloatOp<string mnemonic> : Simt_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<Program_UnitOpInterface>,
    AllShapesMatch<["source", "result"]>]> {
  let assemblyFormat = "$source `as` $element attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Simt_EncodeOp : Simt_SmallFloatOp<"encode"> {
  let summary = "cvt: the bytes of the nearest floats of 8 or 4 bits; what is too large becomes the largest";
  let description = [{
    A byte holds one code. Where the type has no NaN, that of NaN is the positive largest number's (PTX ISA, cvt: satfinite).

    Constraints
    - encode_c1: `element` is a float of 8 bits, or f4E2M1FN.
  }];
  let arguments = (ins VectorOfRankAndType<[1], [F32]>:$source, TypeAttr:$element);
  let results = (outs VectorOfRankAndType<[1], [I8]>:$result);
}

def Simt_DecodeOp : Simt_SmallFloatOp<"decode"> {
  let summary = "cvt: the numbers that bytes stand for as floats of 8 or 4 bits";
  let description = [{
    Constraints
    - decode_c1: as encode_c1.
  }];
  let arguments = (ins VectorOfRankAndType<[1], [I8]>:$source, TypeAttr:$element);
  let results = (outs VectorOfRankAndType<[1], [F32]>:$result);
}

#endif
