// RUN: %tlc-opt %s --simt-to-nvvm | FileCheck %s

module attributes {program.target = #program.target<"sm_90a">} {

// CHECK-LABEL: llvm.func @memory(
// CHECK-SAME:    %[[X:[^:]*]]: !llvm.ptr<1>, %[[N:[^:]*]]: i32
simt.kernel @memory(%x: !llvm.ptr<1> {program.parameter = #program.parameter<tensor_pointer, 0>},
                    %n: i32 {program.parameter = #program.parameter<dimension, 0>})
    attributes {launch = #program.launch<warps = 1, shared_bytes = 1024>,
      schema = [#program.dimension<"n">, #program.tensor<"X", inout, dims[0], alignment = 16>],
      schema_types = [index, tensor<?xf32>], grid = [#program.host_expr<"1">], tensor_maps = []} {
  %shared = simt.shared_base
  %zero = arith.constant 0 : i32
  // CHECK: %[[IN:.*]] = llvm.icmp
  %in = arith.cmpi sgt, %n, %zero : i32

  // Without a predicate it is LLVM's own access, aligned to the whole vector.
  // CHECK: llvm.load %[[X]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
  %v = simt.load %x : !llvm.ptr<1> -> vector<8xbf16>
  // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<3>
  simt.store %v, %shared : vector<8xbf16>, !llvm.ptr<3>

  // With one it is a predicated instruction of the same width; a load that does not happen gives zeros.
  // CHECK: llvm.inline_asm has_side_effects "mov.b32 $0, 0;{{.*}}mov.b32 $3, 0;\0A\09@$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];",
  // CHECK-SAME: "=&r,=&r,=&r,=&r,l,b,~{memory}" %[[X]], %[[IN]]
  %w = simt.load %x if %in : !llvm.ptr<1> -> vector<4xf32>
  // CHECK: llvm.inline_asm has_side_effects "@$1 st.shared.v4.b32 [$0], {$2, $3, $4, $5};", "r,b,r,r,r,r,~{memory}"
  simt.store %w, %shared if %in : vector<4xf32>, !llvm.ptr<3>

  // Wider values are several accesses.
  // CHECK: llvm.inline_asm has_side_effects "{{.*}}ld.global.v4.b32
  // CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[X]][16]
  // CHECK: llvm.inline_asm has_side_effects "{{.*}}ld.global.v4.b32 {{.*}} %[[NEXT]], %[[IN]]
  %wide = simt.load %x if %in : !llvm.ptr<1> -> vector<8xf32>
  simt.store %wide, %x : vector<8xf32>, !llvm.ptr<1>

  // Narrow ones use the registers there are.
  // CHECK: llvm.inline_asm has_side_effects "mov.b16 $0, 0;\0A\09@$2 ld.global.b16 $0, [$1];", "=&h,l,b,~{memory}"
  %half = simt.load %x if %in : !llvm.ptr<1> -> f16
  // CHECK: llvm.inline_asm has_side_effects "@$1 st.global.b16 [$0], $2;", "l,b,h,~{memory}"
  simt.store %half, %x if %in : f16, !llvm.ptr<1>
  // CHECK: llvm.inline_asm has_side_effects "mov.b16 $0, 0;\0A\09@$2 ld.global.b8 $0, [$1];", "=&h,l,b,~{memory}"
  %byte = simt.load %x if %in : !llvm.ptr<1> -> i8
  // CHECK: llvm.inline_asm has_side_effects "@$1 st.global.b8 [$0], $2;", "l,b,h,~{memory}"
  simt.store %byte, %x if %in : i8, !llvm.ptr<1>

  // CHECK: llvm.inline_asm has_side_effects "red.relaxed.gpu.global.add.f32 [$0], $1;", "l,f,~{memory}"
  %f = vector.extract %w[0] : f32 from vector<4xf32>
  simt.atomic addf %f, %x : f32, !llvm.ptr<1>
  // CHECK: llvm.inline_asm has_side_effects "red.relaxed.gpu.global.add.u32 [$0], $1;", "l,r,~{memory}"
  simt.atomic addi %n, %x : i32, !llvm.ptr<1>
  // CHECK: llvm.inline_asm has_side_effects "red.relaxed.gpu.global.min.s32 [$0], $1;", "l,r,~{memory}"
  simt.atomic mins %n, %x : i32, !llvm.ptr<1>
  // CHECK: llvm.inline_asm has_side_effects "red.relaxed.gpu.global.max.u32 [$0], $1;", "l,r,~{memory}"
  simt.atomic maxu %n, %x : i32, !llvm.ptr<1>
  // CHECK: llvm.inline_asm has_side_effects "red.relaxed.gpu.global.and.b32 [$0], $1;", "l,r,~{memory}"
  simt.atomic andi %n, %x : i32, !llvm.ptr<1>
  // CHECK: llvm.inline_asm has_side_effects "red.relaxed.gpu.global.xor.b64 [$0], $1;", "l,l,~{memory}"
  %n64 = arith.extsi %n : i32 to i64
  simt.atomic xori %n64, %x : i64, !llvm.ptr<1>
  // CHECK: llvm.inline_asm has_side_effects "red.relaxed.gpu.global.add.v4.f32 [$0], {$1, $2, $3, $4};", "l,f,f,f,f,~{memory}"
  simt.atomic addf %w, %x : vector<4xf32>, !llvm.ptr<1>
  // CHECK: llvm.inline_asm has_side_effects "red.relaxed.gpu.global.add.v2.f32 [$0], {$1, $2};", "l,f,f,~{memory}"
  %pair = vector.from_elements %f, %f : vector<2xf32>
  simt.atomic addf %pair, %x : vector<2xf32>, !llvm.ptr<1>
  // In shared memory at the scope of the block.
  // CHECK: llvm.inline_asm has_side_effects "red.relaxed.cta.shared.add.f32 [$0], $1;", "r,f,~{memory}"
  simt.atomic addf %f, %shared : f32, !llvm.ptr<3>

  // CHECK: nvvm.vote.sync any %{{.*}}, %{{.*}} -> i1
  %any = simt.vote_any %in
  // A shuffle moves words, whatever is in them.
  // CHECK: nvvm.shfl.sync bfly
  %s = simt.shuffle_xor %f mask(1) : f32
  // CHECK-COUNT-2: nvvm.shfl.sync bfly
  %p = simt.shuffle_xor %v mask(2) : vector<8xbf16>
  // CHECK: llvm.zext %{{.*}} : i16 to i32
  // CHECK: nvvm.shfl.sync bfly
  // CHECK: llvm.trunc %{{.*}} : i32 to i16
  %h = simt.shuffle_xor %half mask(4) : f16
  simt.atomic addf %s, %x : f32, !llvm.ptr<1>
  simt.store %s, %x if %any : f32, !llvm.ptr<1>
  simt.store %p, %x : vector<8xbf16>, !llvm.ptr<1>
  simt.store %h, %x : f16, !llvm.ptr<1>
  simt.return
}
}
