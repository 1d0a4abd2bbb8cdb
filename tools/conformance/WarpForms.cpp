// SPDX-License-Identifier: Apache-2.0
/// \file
/// What lanes do together, and lanes that part and meet again.
#include "tools/conformance/Forms.h"

namespace tlc::conformance {
namespace {

using enum Format;

void addExchanges(FormList &list) {
  for (std::string_view mode : {"up", "down", "bfly", "idx"})
    for (unsigned limits : {0x1Fu, 0u, 0x181Fu, 0x1C03u, 0x1007u, 0x0A0Bu, 0x1F1Fu}) {
      list.add(b32, {b32, count32}, "shfl.sync.{}.b32 $d|$q, $a, $b, {}, -1;", mode, limits);
      list.add(predicate, {b32, count32}, "shfl.sync.{}.b32 $x0|$d, $a, $b, {}, -1;", mode, limits);
    }
  for (std::string_view mode : {"any", "all"})
    list.add(predicate, {predicate}, "vote.sync.{}.pred $d, $a, -1;", mode);
  list.add(predicate, {predicate}, "vote.sync.uni.pred $d, !$a, -1;");
  list.add(b32, {predicate}, "vote.sync.ballot.b32 $d, $a, -1;");
  for (unsigned bits : {32, 64}) {
    const Format b = bits == 32 ? b32 : b64;
    list.add(b32, {b}, "match.any.sync.b{} $d, $a, -1;", bits);
    list.add(b32, {b}, "and.b{0} ${1}0, $a, 3; match.any.sync.b{0} $d, ${1}0, -1;", bits,
             bits == 32 ? 'x' : 'y');
    list.add(b32, {b}, "match.all.sync.b{} $d|$q, $a, -1;", bits);
    list.add(predicate, {b}, "and.b{0} ${1}0, $a, 0; match.all.sync.b{0} $x1|$d, ${1}0, -1;", bits,
             bits == 32 ? 'x' : 'y');
  }
  for (std::string_view op : {"add", "min", "max"})
    for (std::string_view type : {"u32", "s32"})
      list.add(b32, {b32}, "redux.sync.{}.{} $d, $a, -1;", op, type);
  for (std::string_view op : {"and", "or", "xor"})
    list.add(b32, {b32}, "redux.sync.{}.b32 $d, $a, -1;", op);
  list.add(predicate, {}, "elect.sync $x0|$d, -1;");
  list.add(b32, {}, "elect.sync $d|$q, -1;");
  list.add(predicate, {predicate}, "barrier.sync 1; barrier.red.or.pred $d, 2, $a; barrier.sync 1;");
  list.add(predicate, {predicate}, "barrier.red.and.pred $d, 3, !$a;");
  list.add(b32, {predicate}, "barrier.red.popc.u32 $d, 4, 128, $a;");
}

/// The lanes whose predicate $a holds run `then` with their mask in `members`;
/// the others keep $b. Afterwards the warp is together.
void addDivergent(FormList &list, Format result, std::vector<Format> sources, std::string_view then) {
  list.add(
      result, std::move(sources),
      "{{ .reg .b32 members, other; vote.sync.ballot.b32 members, $a, -1; mov.b{} $d, $b; @!$a bra Done; {} "
      "Done: bar.warp.sync -1; }}",
      registerBits(result), then);
}

void addDivergence(FormList &list) {
  addDivergent(list, b32, {predicate, b32}, "redux.sync.add.u32 $d, $b, members;");
  addDivergent(list, b32, {predicate, b32}, "redux.sync.min.s32 $d, $b, members;");
  addDivergent(list, b32, {predicate, b32}, "match.any.sync.b32 $d, $b, members;");
  addDivergent(list, b32, {predicate, b32, predicate}, "vote.sync.ballot.b32 $d, $c, members;");
  addDivergent(list, b32, {predicate, b32}, "elect.sync $d|$q, members;");
  addDivergent(list, b32, {predicate, b32},
               "bar.warp.sync members; activemask.b32 other; and.b32 $d, other, members;");
  addDivergent(list, b32, {predicate, b32, b32},
               "bfind.u32 other, members; shfl.sync.idx.b32 $d, $c, other, 31, members;");
  addDivergent(list, b64, {predicate, b64, b64}, "add.u64 $d, $c, 1; mul.lo.u64 $d, $d, $c;");

  // Two branches, and one inside.
  list.add(b32, {predicate, predicate, b32, b32},
           "{{ .reg .b32 m, n; vote.sync.ballot.b32 m, $a, -1; not.b32 n, m; @$a bra Then; "
           "redux.sync.xor.b32 $d, $c, n; bra Done; "
           "Then: vote.sync.ballot.b32 n, $b, m; @$b bra Inner; not.b32 n, n; and.b32 n, n, m; "
           "redux.sync.or.b32 $d, $e, n; bra Done; "
           "Inner: redux.sync.max.u32 $d, $e, n; Done: bar.warp.sync -1; }}");
  // A loop that each lane leaves when it is done.
  list.add(b32, {b32, b32},
           "{{ .reg .b32 n; and.b32 n, $a, 15; mov.b32 $d, $b; Loop: setp.eq.u32 $q, n, 0; @$q bra Done; "
           "mad.lo.u32 $d, $d, 1664525, n; sub.u32 n, n, 1; bra Loop; Done: bar.warp.sync -1; }}");
  // A loop in which those that are left vote.
  list.add(b32, {b32},
           "{{ .reg .b32 n, m, v; .reg .pred more; and.b32 n, $a, 7; mov.b32 $d, 0; mov.b32 m, -1; "
           "Loop: setp.ne.u32 more, n, 0; vote.sync.ballot.b32 v, more, m; @!more bra Done; mov.b32 m, v; "
           "popc.b32 v, m; mad.lo.u32 $d, $d, 33, v; sub.u32 n, n, 1; bra Loop; Done: bar.warp.sync -1; }}");
  // An indirect branch.
  list.add(b32, {b32, b32},
           "{{ .reg .b32 i; and.b32 i, $a, 3; T: .branchtargets A, B, C, D; brx.idx i, T; "
           "A: mov.b32 $d, $b; bra Done; B: not.b32 $d, $b; bra Done; C: popc.b32 $d, $b; bra Done; "
           "D: brev.b32 $d, $b; Done: bar.warp.sync -1; }}");
}

void addSpecialRegisters(FormList &list) {
  for (std::string_view name : {"tid.x",
                                "tid.y",
                                "ntid.x",
                                "ntid.z",
                                "ctaid.x",
                                "ctaid.y",
                                "nctaid.x",
                                "laneid",
                                "lanemask_eq",
                                "lanemask_le",
                                "lanemask_lt",
                                "lanemask_ge",
                                "lanemask_gt",
                                "cluster_ctaid.x",
                                "cluster_nctaid.x",
                                "cluster_ctarank",
                                "cluster_nctarank",
                                "clusterid.x",
                                "nclusterid.x",
                                "dynamic_smem_size"})
    list.add(b32, {}, "mov.u32 $d, %{};", name);
  list.add(predicate, {}, "mov.pred $d, %is_explicit_cluster;");
}

} // namespace

void addWarpForms(FormList &list) {
  addExchanges(list);
  addDivergence(list);
  addSpecialRegisters(list);
}

} // namespace tlc::conformance
