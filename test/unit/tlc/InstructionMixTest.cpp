// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the instructions of a kernel are.
#include "tools/tlc/InstructionMix.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::driver;

namespace {

using Kind = InstructionKind;

const char *const twoRoles = R"(.version 8.7
.target sm_90a
.visible .entry other_f()
.maxntid 64
{
ret;
}
.visible .entry f(
	.param .u32 f_param_0
)
.maxntid 256
.minnctapersm 2
{
	.reg .pred %p<4>;
	.reg .b32 %r<9>;
	.loc 1 10 3
	mov.u32 %r1, %tid.x;
	setp.gt.u32 %p1, %r1, 127;
	@%p1 bra $math;
	setmaxnreg.dec.sync.aligned.u32 40;
	.loc 1 20 5
	cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd1, {%r3, %r4}], [%r5];
	bra $end;
$math:
	setmaxnreg.inc.sync.aligned.u32 232;
	.loc 1 30 5
	wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1}, %rd1, %rd2, 1, 1, 1, 0, 0;
	bar.sync 3, 128;
	bar.warp.sync -1;
	bar.sync %r6, 128;
$end:
	bar.sync 0;
	ret;
}
.file 1 "kernels/a.cpp"
)";

Launch launch() {
  Launch launch;
  launch.entry = "f";
  launch.threads = 256;
  launch.names.roles = {{"load", 0, 4}, {"math", 4, 4}};
  return launch;
}

} // namespace

TEST_CASE("opcodes have kinds", "[mix]") {
  CHECK(kindOf("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16") == Kind::product);
  CHECK(kindOf("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") == Kind::product);
  CHECK(kindOf("multimem.ld_reduce.weak.global.add.acc::f32.v4.bf16x2") == Kind::global);
  CHECK(kindOf("tcgen05.mma.cta_group::1.kind::f16") == Kind::product);
  CHECK(kindOf("wgmma.commit_group.sync.aligned") == Kind::sync);
  CHECK(kindOf("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes") ==
        Kind::bulkCopy);
  CHECK(kindOf("cp.async.cg.shared.global") == Kind::asyncCopy);
  CHECK(kindOf("cp.async.bulk.wait_group.read") == Kind::sync);
  CHECK(kindOf("cp.async.wait_group") == Kind::sync);
  CHECK(kindOf("ld.shared.v4.b32") == Kind::shared);
  CHECK(kindOf("ldmatrix.sync.aligned.m8n8.x4.shared.b16") == Kind::shared);
  CHECK(kindOf("ld.global.nc.v4.b32") == Kind::global);
  CHECK(kindOf("st.local.b32") == Kind::local);
  CHECK(kindOf("ld.param.b64") == Kind::move);
  CHECK(kindOf("tcgen05.ld.sync.aligned.32x32b.x8.b32") == Kind::tensorMemory);
  CHECK(kindOf("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64") == Kind::sync);
  CHECK(kindOf("mbarrier.try_wait.parity.shared.b64") == Kind::sync);
  CHECK(kindOf("shfl.sync.bfly.b32") == Kind::exchange);
  CHECK(kindOf("ex2.approx.ftz.f32") == Kind::special);
  CHECK(kindOf("fma.rn.f32") == Kind::floating);
  CHECK(kindOf("mul.bf16x2") == Kind::floating);
  CHECK(kindOf("cvt.rn.bf16x2.f32") == Kind::conversion);
  CHECK(kindOf("add.s32") == Kind::integer);
  CHECK(kindOf("bra.uni") == Kind::control);
}

TEST_CASE("instructions are counted by the role whose warps alone execute them", "[mix]") {
  const InstructionMix mix = mixOf(twoRoles, launch());
  REQUIRE(mix.roles.size() == 3);
  CHECK(mix.all.total() == 13);
  CHECK(mix.roles[0].name == "load");
  CHECK(mix.roles[0].registers == 40);
  CHECK(mix.roles[0].kinds[Kind::bulkCopy] == 1);
  CHECK(mix.roles[0].kinds[Kind::product] == 0);
  CHECK(mix.roles[1].registers == 232);
  CHECK(mix.roles[1].kinds[Kind::product] == 1);
  CHECK(mix.roles[1].kinds.total() == 5);
  CHECK(mix.roles[2].name.empty());
  CHECK(mix.roles[2].kinds[Kind::control] == 2); // a branch, and the return
  CHECK(mix.barriers == std::vector<unsigned>{0, 3});
  CHECK(mix.computesBarriers);
}

TEST_CASE("instructions are counted by line", "[mix]") {
  const InstructionMix mix = mixOf(twoRoles, launch());
  REQUIRE(mix.lines.size() == 3);
  CHECK(mix.lines[0].place == "kernels/a.cpp:30");
  unsigned total = 0;
  for (const InstructionMix::OfLine &line : mix.lines)
    total += line.kinds.total();
  CHECK(total == mix.all.total());
}

TEST_CASE("launch bounds are those of the entry of that name", "[mix]") {
  CHECK(boundsOf(twoRoles, "f").threads == 256);
  CHECK(boundsOf(twoRoles, "f").residents == 2);
  CHECK(boundsOf(twoRoles, "other_f").threads == 64);
  CHECK(boundsOf(twoRoles, "other_f").residents == 0);
  CHECK(boundsOf(twoRoles, "g").threads == 0);
}

TEST_CASE("a launch without its entry has no instructions", "[mix]") {
  Launch other = launch();
  other.entry = "g";
  CHECK(mixOf(twoRoles, other).all.total() == 0);
}
