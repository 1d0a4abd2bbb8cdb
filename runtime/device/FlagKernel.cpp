// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/FlagKernel.h"

#include <algorithm>
#include <cstddef>

using namespace tlc;

// The layout that the text below has.
static_assert(sizeof(FlagBatch) == 520 && offsetof(FlagBatch, count) == 512 &&
              offsetof(FlagBatch, steps) == 516);
static_assert(sizeof(FlagBatch::Operation) == 16 && offsetof(FlagBatch::Operation, value) == 8 &&
              offsetof(FlagBatch::Operation, step) == 12 && offsetof(FlagBatch::Operation, waits) == 14);

const char *const tlc::flagKernelText = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry tlc_flags(.param .align 8 .b8 batch[520])
.maxntid 32, 1, 1
{
  .reg .pred %active, %waits, %other, %seen, %more;
  .reg .b16 %h<2>;
  .reg .b32 %lane, %count, %steps, %step, %mine, %value, %found;
  .reg .b64 %operation, %offset, %address;
  mov.u32 %lane, %tid.x;
  ld.param.u32 %count, [batch+512];
  ld.param.u32 %steps, [batch+516];
  mov.u32 %mine, 0xffffffff;
  mov.u32 %value, 0;
  mov.u64 %address, 0;
  mov.u16 %h1, 0;
  setp.lt.u32 %active, %lane, %count;
  @!%active bra begin;
  mov.b64 %operation, batch;
  mul.wide.u32 %offset, %lane, 16;
  add.s64 %operation, %operation, %offset;
  ld.param.u64 %address, [%operation];
  ld.param.u32 %value, [%operation+8];
  ld.param.u16 %h0, [%operation+12];
  ld.param.u16 %h1, [%operation+14];
  cvt.u32.u16 %mine, %h0;
begin:
  setp.ne.u16 %waits, %h1, 0;
  mov.u32 %step, 0;
next:
  setp.ne.u32 %other, %mine, %step;
  @%other bra joined;
  @%waits bra look;
  st.release.sys.global.u32 [%address], %value;
  bra joined;
look:
  ld.acquire.sys.global.u32 %found, [%address];
  setp.eq.u32 %seen, %found, %value;
  @%seen bra joined;
  nanosleep.u32 32;
  bra look;
joined:
  bar.warp.sync 0xffffffff;
  add.u32 %step, %step, 1;
  setp.lt.u32 %more, %step, %steps;
  @%more bra next;
  ret;
}
)";

std::vector<FlagBatch> tlc::batchesOf(std::span<const FlagOperation> operations) {
  std::vector<FlagBatch> batches;
  for (const FlagOperation &operation : operations) {
    if (batches.empty() || batches.back().count == FlagBatch::capacity)
      batches.emplace_back();
    FlagBatch &batch = batches.back();
    const auto known = std::span(batch.operations).first(batch.count);
    const uint16_t waits = operation.kind == FlagOperation::Kind::wait ? 1 : 0;
    const bool joins = !known.empty() && known.back().waits == waits &&
                       std::ranges::none_of(known, [&](const FlagBatch::Operation &other) {
                         return other.step == known.back().step && other.address == operation.address;
                       });
    if (!joins)
      ++batch.steps;
    batch.operations[batch.count++] = {operation.address, operation.value, uint16_t(batch.steps - 1), waits};
  }
  return batches;
}
