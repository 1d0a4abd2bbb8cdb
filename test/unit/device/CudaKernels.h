// SPDX-License-Identifier: Apache-2.0
/// \file
/// Small PTX programs by hand, one per thing that the CUDA device has to get right.
#pragma once

#include <string_view>

namespace tlc::test {

/// y[row, column] = a * x[row, column] for all columns; a block per row.
inline constexpr std::string_view scalePtx = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 xStride, .param .u64 y, .param .u64 yStride,
                      .param .u32 columns, .param .f32 a)
{
  .reg .pred %done;
  .reg .b32 %column, %count, %step;
  .reg .b64 %row, %offset, %xRow, %yRow, %stride, %at;
  .reg .f32 %value, %factor;
  ld.param.u64 %xRow, [x];
  ld.param.u64 %yRow, [y];
  ld.param.u32 %count, [columns];
  ld.param.f32 %factor, [a];
  cvta.to.global.u64 %xRow, %xRow;
  cvta.to.global.u64 %yRow, %yRow;
  mov.u32 %column, %ctaid.x;
  cvt.u64.u32 %row, %column;
  ld.param.u64 %stride, [xStride];
  mul.lo.u64 %offset, %row, %stride;
  shl.b64 %offset, %offset, 2;
  add.u64 %xRow, %xRow, %offset;
  ld.param.u64 %stride, [yStride];
  mul.lo.u64 %offset, %row, %stride;
  shl.b64 %offset, %offset, 2;
  add.u64 %yRow, %yRow, %offset;
  mov.u32 %column, %tid.x;
  mov.u32 %step, %ntid.x;
loop:
  setp.ge.u32 %done, %column, %count;
  @%done bra end;
  cvt.u64.u32 %offset, %column;
  shl.b64 %offset, %offset, 2;
  add.u64 %at, %xRow, %offset;
  ld.global.f32 %value, [%at];
  mul.f32 %value, %value, %factor;
  add.u64 %at, %yRow, %offset;
  st.global.f32 [%at], %value;
  add.u32 %column, %column, %step;
  bra loop;
end:
  ret;
}
)";

/// Copies a box of 8 x 32 floats per block by TMA to y, which is padded to whole boxes.
inline constexpr std::string_view boxPtx = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry box(.param .u32 unused, .param .align 64 .b8 map[128], .param .u64 y, .param .u64 yStride)
{
  .reg .pred %p;
  .reg .b32 %tile, %bar, %thread, %x0, %y0, %address, %i;
  .reg .b64 %mapAddress, %state, %out, %stride, %row, %offset;
  .reg .f32 %value;
  .shared .align 128 .b8 buffer[1024];
  .shared .align 8 .b64 full;
  mov.u32 %tile, buffer;
  mov.u32 %bar, full;
  mov.u32 %thread, %tid.x;
  mov.u32 %x0, %ctaid.x;
  shl.b32 %x0, %x0, 5;
  mov.u32 %y0, %ctaid.y;
  shl.b32 %y0, %y0, 3;
  mov.b64 %mapAddress, map;
  cvta.param.u64 %mapAddress, %mapAddress;
  setp.ne.u32 %p, %thread, 0;
  @%p bra ready;
  mbarrier.init.shared::cta.b64 [%bar], 1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%bar], 1024;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
      [%tile], [%mapAddress, {%x0, %y0}], [%bar];
ready:
  bar.sync 0;
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%bar], 0;
  @!%p bra wait;
  ld.param.u64 %out, [y];
  cvta.to.global.u64 %out, %out;
  ld.param.u64 %stride, [yStride];
  // 128 threads, 256 elements: thread i takes elements i and i + 128.
  mov.u32 %i, %thread;
copy:
  shl.b32 %address, %i, 2;
  add.u32 %address, %address, %tile;
  ld.shared.f32 %value, [%address];
  shr.u32 %address, %i, 5;
  add.u32 %address, %address, %y0;
  cvt.u64.u32 %row, %address;
  mul.lo.u64 %row, %row, %stride;
  and.b32 %address, %i, 31;
  add.u32 %address, %address, %x0;
  cvt.u64.u32 %offset, %address;
  add.u64 %offset, %offset, %row;
  shl.b64 %offset, %offset, 2;
  add.u64 %offset, %offset, %out;
  st.global.f32 [%offset], %value;
  add.u32 %i, %i, 128;
  setp.lt.u32 %p, %i, 256;
  @%p bra copy;
  ret;
}
)";

/// Copies boxes of 8 x 32 floats by TMA from x to y, which end at row `limit`, and to z, which has whole
/// boxes: block i takes the rows from `first` + 8 i on. Of x and y there are the maps that begin with them
/// and those that begin 8 rows before.
inline constexpr std::string_view limitedPtx = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry limited(.param .u32 first, .param .u32 limit,
                        .param .align 64 .b8 from[128], .param .align 64 .b8 fromBefore[128],
                        .param .align 64 .b8 to[128], .param .align 64 .b8 toBefore[128],
                        .param .align 64 .b8 whole[128])
{
  .reg .pred %p, %near;
  .reg .b32 %tile, %bar, %thread, %row, %z, %last, %inside, %begin, %place, %zero;
  .reg .b64 %from, %to, %whole, %before, %state;
  .shared .align 128 .b8 buffer[1024];
  .shared .align 8 .b64 full;
  mov.u32 %thread, %tid.x;
  setp.ne.u32 %p, %thread, 0;
  @%p bra end;
  mov.u32 %tile, buffer;
  mov.u32 %bar, full;
  ld.param.u32 %row, [first];
  ld.param.u32 %inside, [limit];
  mov.u32 %z, %ctaid.x;
  shl.b32 %z, %z, 3;
  add.u32 %row, %row, %z;
  sub.s32 %inside, %inside, %row;
  max.s32 %inside, %inside, 0;
  min.s32 %inside, %inside, 8;
  add.s32 %last, %row, %inside;
  sub.s32 %begin, 8, %inside;
  add.s32 %place, %last, -8;
  setp.lt.s32 %near, %place, 0;
  setp.gt.and.s32 %near, %inside, 0, %near;
  max.s32 %place, %place, 0;
  selp.b32 %place, %last, %place, %near;
  mov.b64 %from, from;
  cvta.param.u64 %from, %from;
  mov.b64 %before, fromBefore;
  cvta.param.u64 %before, %before;
  selp.b64 %from, %before, %from, %near;
  mov.b64 %to, to;
  cvta.param.u64 %to, %to;
  mov.b64 %before, toBefore;
  cvta.param.u64 %before, %before;
  selp.b64 %to, %before, %to, %near;
  mov.b64 %whole, whole;
  cvta.param.u64 %whole, %whole;
  mov.u32 %zero, 0;
  mbarrier.init.shared::cta.b64 [%bar], 1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%bar], 1024;
  cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
      [%tile], [%from, {%zero, %begin, %place}], [%bar];
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%bar], 0;
  @!%p bra wait;
  cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%to, {%zero, %begin, %place}], [%tile];
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%whole, {%zero, %z}], [%tile];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
end:
  ret;
}
)";

/// y[block] = rank of the block in its cluster; uses 100 KiB of dynamic shared memory on the way.
inline constexpr std::string_view clusterPtx = R"(
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry cluster(.param .u64 y)
{
  .reg .b32 %rank, %block, %address;
  .reg .b64 %out, %offset;
  mov.u32 %address, dynamic;
  add.u32 %address, %address, 102396;
  mov.u32 %rank, %cluster_ctarank;
  st.shared.u32 [%address], %rank;
  ld.volatile.shared.u32 %rank, [%address];
  mov.u32 %block, %ctaid.x;
  cvt.u64.u32 %offset, %block;
  shl.b64 %offset, %offset, 2;
  ld.param.u64 %out, [y];
  cvta.to.global.u64 %out, %out;
  add.u64 %out, %out, %offset;
  st.global.u32 [%out], %rank;
  ret;
}
)";

} // namespace tlc::test
