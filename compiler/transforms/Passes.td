// SPDX-License-Identifier: Apache-2.0
// The passes from tile to tile, alphabetical. The order they run in is compiler/pipeline's.
#ifndef TLC_COMPILER_TRANSFORMS_PASSES_TD
#define TLC_COMPILER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignRegisters : Pass<"tile-assign-registers", "::tlc::tile::KernelOp"> {
  let summary = "Move registers from roles that issue copies to roles that compute";
  let description = [{
    Requires: phase `atoms`; the kernel's roles are those that it will have.
    Ensures:  on targets that move registers, in a kernel of whole warpgroups, all roles set `registers` or none does. What
              the author gives stays. Of what is left, warpgroups that hold no tile in registers, but issue or make copies,
              get what that takes; those that compute share the rest, by `BlockBudget`. No role sets registers if nobody
              can give any up, or if a single warpgroup computes and none was given, but where a product takes more: it has
              as many as it can use.
    A product that takes more registers than its role has is an error where the author gives some, else a remark.

        tile.role "load" warps(4) { ... }
        tile.role "math" warps(8) { ... gemm ... }
        ==>
        tile.role "load" warps(4) registers(40) { ... }
        tile.role "math" warps(8) registers(232) { ... gemm ... }
  }];
}

def AssignRoles : Pass<"tile-assign-roles", "::tlc::tile::KernelOp"> {
  let summary = "Plan the roles of a kernel with pipelined loops";
  let description = [{
    Requires: every product has its atom.
    Ensures:  the first of the `strategies` (compiler/strategies) without an obstacle has written its plan to a kernel without roles: a
              `tile.role_plan` of the roles and the channels between them. Each operation that has effects or computes fragments
              has its `tile.role`, and what fills a channel its `tile.channel`. A copy from a tensor to shared memory that can run
              ahead of what reads it fills one, together with the others of its block whose tiles the same operation reads first;
              the channel has as many slots as the loop has stages (fewer where they do not fit, with a remark). A copy that
              cannot run ahead belongs to the role that uses its tile; its `tile.without_role` says why. A fragment that one
              role computes and another uses goes through a shared tile, except for those that every thread can make for itself.
              What comes out of a branch by `tile.any_in_warp` is one role's: another one follows the decision for the
              elements of each warp.
              An author's role has what stands between its `tile.begin_role` and `tile.end_role`; the strategy's roles have the
              rest, or one role if no strategy fits. The marks are gone.
              A position that several roles need (`tile.load_index` of a shared tile) has no `tile.role`: each reads the tile, which a
              channel hands over from the role that fills it.
              Several copies that each fill some rows of a tile run ahead together or not at all, and fill one channel.
              A kernel with `load_role` has a role that loads, whatever its products are, if the TMA can make the copies of its
              pipelined loops.
              A kernel with `store_role` has a role that stores, if a strategy with several roles fits and it can store something.
              If no strategy with several roles fits, a remark says why. A kernel with roles stays as it is.
    Leaves to others: the atoms of copies and stores (`tile-select-copies`), making roles of the plan (`tile-warp-specialize`).

        tile.kernel @k attributes {launch = #program.launch<warps = 8>, tile.role_plan = #tile.role_plan<
            roles = [<"load", warps = 4>, <"math", warps = 8>],
            channels = [<"a.b", from = "load", to = "math", slots = 4>]>}
  }];
  let options = [
    ListOption<"strategies", "strategies", "std::string",
      "What to try, the best first: load-math, load-compute (tried alone, or by kernels with `load_role`), load-scores-output, "
      "load-matrix-math, and copies (one role whose copies run ahead)",
      [{llvm::cl::list_init<std::string>({"load-math", "copies"})}]>,
    Option<"tma", "tma", "bool", /*default=*/"true", "Whether the TMA will make the copies and stores that it can">,
    Option<"storeRole", "store-role", "bool", /*default=*/"true", "`false` gives no kernel a role that stores">];
}

def CheckPackedSlices : Pass<"tile-check-packed-slices", "::tlc::tile::KernelOp"> {
  let summary = "Refuse slices that might begin or end within a byte";
  let description = [{
    Requires: variables are values (`tile-promote-variables`), so that divisors of positions are known.
    Ensures:  where several elements share a byte, each `tile.slice` provably begins with the first of one, as does what is
              beyond its limit. (That tensors and tiles hold whole bytes, their types and the launcher check.) Lowering
              then counts bytes, and no thread writes a part of one.

        %s = tile.slice %W[%i, %c3] : !tile.global<?x?xi4> -> ...   // error: a multiple of 2 is expected
  }];
}

def CheckSteps : Pass<"tile-check-steps", "::tlc::tile::KernelOp"> {
  let summary = "Let loops whose step may be below 1 report that and end";
  let description = [{
    Requires: nothing.
    Ensures:  a loop whose step is not known to be at least 1 has no iterations if the step is less. Where the step was not
              computed from numbers that are, a `tile.report` says so if the loop's range is not empty.

        scf.for %i = %from to %to step %s { ... }
        ==>
        tile.report unless %forward_or_empty : i1, "expected a step of at least 1, but got {}", %number : i32
        %end = arith.select %forward, %to, %from : index
        scf.for %i = %from to %end step %s { ... }
  }];
}

def CompileCuda : Pass<"tile-compile-cuda", "::mlir::ModuleOp"> {
  let summary = "Compile functions in CUDA C++ to text for inline assembly";
  let description = [{
    Requires: nothing but NVRTC, and that only where there are `tile.cuda` without `ptx`.
    Ensures:  each `tile.cuda` has `ptx`, a block in which operand 0 is its result; the module's `program.ptx` has the variables
              that these refer to, and the version of PTX that they need. All functions with the same options are one
              translation unit, each source in a namespace of its own.

        %y = tile.cuda "twice"(%x) {source = "float twice(float x) { return x * 2; }"} : ...
        ==>
        %y = tile.cuda "twice"(%x) {ptx = "{\n...mul.f32 ...}", source = "..."} : ...
  }];
}

def DeferStores : Pass<"tile-defer-stores", "::tlc::tile::KernelOp"> {
  let summary = "Let the store of a tile run under the first products of the next";
  let description = [{
    Requires: phase `scheduled` with its loops expanded.
    Ensures:  in a loop over tiles whose last effect is a `tile.store` through the TMA, the loop carries the value to be
              stored and its position; it is stored after the next tile's first `tile.gemm_async`, or after the loop.
              What is stored, and where, stays the same.
    Only in math roles whose tiles begin with asynchronous products: elsewhere there is nothing to run under. Not where
    the loop touches the tensor otherwise, too, nor where warpgroups take turns: there one's products run under the
    other's store.

        scf.for %t { %f = gemm_async ...; ...; tile.store %h, %slice }
        ==>
        %h', %at' = scf.for %t iter_args(%h, %at, %any = false) {
          %f = gemm_async ...; scf.if %any { tile.store %h, slice[%at] }; ...
        }
        scf.if %any' { tile.store %h', slice[%at'] }
  }];
  let options = [Option<"enable", "enable", "bool", /*default=*/"true",
      "`false` stores each tile before the next begins: the reference lowering">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def ElectThreads : Pass<"tile-elect-threads", "::tlc::tile::KernelOp"> {
  let summary = "Let one thread execute the roles that only issue copies or products";
  let description = [{
    Requires: barriers and fences are there (`tile-place-fences`), some of which need all threads.
    Ensures:  a role that issues copies by the TMA or products in tensor memory, and otherwise only waits, arrives, reads and
              writes positions, is marked `one_thread`: it needs no election around each operation, and no meetings.

        tile.role "load" warps(4) { tile.acquire ...; tile.expect ...; tile.copy_async ... }
        ==>
        tile.role "load" warps(4) one_thread { ... }
  }];
}

def ExpandPipeline : Pass<"tile-expand-pipeline", "::tlc::tile::KernelOp"> {
  let summary = "Rewrite scheduled loops so that their stages overlap";
  let description = [{
    Requires: phase `scheduled`: every operation of a loop that is to be rewritten has `tile.stage`.
    Ensures:  no `tile.stage` is left. Round i of the rewritten loop executes stage s for the original iteration
              i - s, in ascending order. The rounds before are peeled. A product that is in flight into a later stage
              runs in rounds that have its iteration alone, so those after the last one are peeled, too. Earlier stages
              have a test in the loop instead, and zeros for what they read, so that the last stage is there once. Any
              trip count, 0 included, gives the sequential loop's result. In a role of several warpgroups, the
              warpgroups alternate to start the products of a round with several stages (`tile.take_turn`, `tile.pass_turn`).
    Leaves to others: choosing stages (`tile-schedule-loops`).

        scf.for %j = %0 to %n iter_args(%acc, %c) {
          tile.await %r[%c] {stage 0}
          %f = tile.gemm_async %a, %b, %acc {stage 0}
          %g = tile.gemm_wait %f pending(0) {stage 1}
          tile.release %r[%c] {stage 1}
        }
        ==>
        scf.if %n > 0 {
          await, gemm_async                             // iteration 0
          scf.for %j = 1 to %n { await, gemm_async, gemm_wait pending(1), release(j - 1) }
          gemm_wait pending(0), release                 // last iteration
        }
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def ExpandSparseFactors : Pass<"tile-expand-sparse-factors", "::tlc::tile::KernelOp"> {
  let summary = "Put zeros between the elements of sparse factors where no instruction takes these";
  let description = [{
    Requires: products have no instructions yet, phase `promoted`.
    Ensures:  no product of a target without `wgmma.sp` for its elements has metadata: its left factor is a fragment of all elements, which threads
              gather from the shared tile. That is a remark. These zeros are multiplied, so that an infinity or NaN of the right factor reaches the sums.

        %1 = tile.gemm %a, %b, %acc metadata %e : !tile.shared<64x32xbf16>, ...
        ==>
        %0 = tile.gather %slice[%places] ... -> tensor<64x64xbf16>
        ...
        %1 = tile.gemm %dense, %b, %acc : tensor<64x64xbf16>, ...
  }];
  let options = [Option<"wgmma", "wgmma", "bool", /*default=*/"true", "Use `wgmma.sp` where the target has it">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ExpandTileLoops : Pass<"tile-expand-tile-loops", "::tlc::tile::KernelOp"> {
  let summary = "Turn persistent tile loops into a grid and a loop over this block's tiles";
  let description = [{
    Requires: phase `input`.
    Ensures:  no `tile.persistent` is left; `tile.grid` launches min(tiles, residents * multiprocessors) blocks. All blocks of a
              cluster run the same rounds, as they may share copies; where a block's tile does not exist, nothing is
              written to memory or variables that outlive the round. Of `dynamic` loops it launches a block for each tile, and
              the numbers of further tiles come from `tile.next_block`.
    Errors:   a `dynamic` loop on a target without cluster launch control, or with clusters.

        tile.persistent (%i, %j) in (%rows, %columns) group(8) { ... }
        ==>
        %first = tile.grid min(%rows * %columns, %multiprocessors)
        scf.for %t = %first to %rows * %columns step (tile.blocks) { %i, %j = position of tile %t ... }
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def FoldRelayouts : Pass<"tile-fold-relayouts", "::tlc::tile::KernelOp"> {
  let summary = "Compute elementwise values in the layout they are wanted in";
  let description = [{
    Requires: phase `pipelined` with layouts.
    Ensures:  a `tile.convert_layout` of a value that is cheap to compute again (constants, splats and coordinates, and what
              follows from them in a few elementwise operations and broadcasts, such as masks) is replaced by that
              computation in the wanted layout; conversions of conversions are one; a conversion that only renames
              registers, and is the only use of a branch's result, stands in the branch.
  }];
}

def InferLayouts : Pass<"tile-infer-layouts", "::tlc::tile::KernelOp"> {
  let summary = "Give every fragment and shared buffer its layout";
  let description = [{
    Requires: phase `pipelined`.
    Ensures:  every fragment type carries `#tile.layout`, every shared type `#tile.shared_layout`; where layouts that
              must differ meet there is a `tile.convert_layout` without scratch, but never of a product in flight. Constants,
              splats and coordinates are made once per use. A conversion through shared memory is a remark.
    Leaves to others: scratch memory (`tile-materialize-relayouts`), removing needless conversions
              (`tile-fold-relayouts`).

    Operations state constraints (compiler/analysis/LayoutConstraints), the solver (compiler/solvers) answers them.
  }];
}

def LowerChannels : Pass<"tile-lower-channels", "::tlc::tile::KernelOp"> {
  let summary = "Make rings of channels: who waits and arrives for which slot";
  let description = [{
    Requires: variables.
    Ensures:  no channel is left. Each role counts the slots that it puts, gets and releases in variables; one that releases each
              slot before it gets the next one counts both at once. A put waits until its slot is empty, if slots are released at
              all, expects the bytes of the copies that the TMA makes, and publishes what its threads write and what products add
              up. Copies that the TMA cannot make, or without `tma`, are made by the role's threads.

        tile.put %kv(%slot) : !tile.channel<2> {
          %k = tile.slot %keys[%slot]
          tile.copy %from, %k
        }
        ==>
        %slot = tile.read %puts
        tile.acquire %ring[%slot]
        %k = tile.slot %keys[%slot]
        tile.expect %ring[%slot] bytes(8192)
        tile.copy_async %from, %k, %ring[%slot]
        %next = tile.advance %slot
        tile.write %next, %puts
  }];
  let options = [Option<"tma", "tma", "bool", "true", "Let the TMA make the copies that it can">];
}

def MaterializeRelayouts : Pass<"tile-materialize-relayouts", "::tlc::tile::KernelOp"> {
  let summary = "Give scratch memory to the layout conversions and reductions that go through shared memory";
  let description = [{
    Requires: layouts.
    Ensures:  a `tile.convert_layout` has `scratch` if and only if its two layouts need it (dialects/layout/Relayout.h),
              a `tile.reduce` if and only if several warps share its axis.
  }];
}

def MergeCursors : Pass<"tile-merge-cursors", "::tlc::tile::KernelOp"> {
  let summary = "Carry one cursor for positions that are always the same";
  let description = [{
    Requires: no variables.
    Ensures:  no loop carries two cursors that begin with the same position and advance together. Registers of a role count
              each position once, though channels count for themselves.

        scf.for ... iter_args(%p = %first, %q = %first) {
          %p1 = tile.advance %p
          %q1 = tile.advance %q
          scf.yield %p1, %q1
        }
        ==>
        scf.for ... iter_args(%p = %first) { ... }
  }];
}

def PipelineCopies : Pass<"tile-pipeline-copies", "::tlc::tile::KernelOp"> {
  let summary = "Make the copies of pipelined loops outside of roles asynchronous";
  let description = [{
    Requires: phase `atoms`, and no plan of several roles.
    Ensures:  no `tile.pipeline` and no plan is left. The copies of a plan's channels fill slots: they are started at the beginning
              of the iteration and awaited before anything reads them.
    Leaves to others: how far copies run ahead (`tile-schedule-loops`).

        scf.for %i {tile.pipeline = #tile.pipeline<stages = 3>} { tile.copy %slice, %a atom<cp_async>; ... %a ... }
        ==>
        scf.for %i iter_args(%p, %c) {
          %s = tile.slot %a[%p]; tile.copy %slice, %s atom<cp_async>; tile.commit_copies
          tile.await_copies pending(0); tile.sync
          %r = tile.slot %a[%c]; ... %r ...
        }
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def PlaceClusterSyncs : Pass<"tile-place-cluster-syncs", "::tlc::tile::KernelOp"> {
  let summary = "Let the blocks of a cluster meet between accesses to each other's shared tiles";
  let description = [{
    Requires: roles; what one role does to a tile that blocks of the cluster share, no other role of the kernel does.
    Ensures:  between two accesses of one tile by different blocks, of which one writes, there is a `tile.cluster_sync`, also
              around the back edge of loops. It stands where all blocks of the cluster come equally often
              (compiler/analysis/ClusterUniformity): before a branch or loop that they may not take alike. In a role it
              has a `tile.alloc_barrier` of the role's own.
    A branch or loop that blocks may not take alike, and that has both accesses in it, is an error.
    Leaves to others: the beginning and the end of the kernel. `tile-to-simt` lets blocks wait until all have begun, and
              until others are done with their memory.

        tile.store %x, %tile                              tile.store %x, %tile
        %y = tile.load_from_block %tile of %block    ==>  tile.cluster_sync
                                                          %y = tile.load_from_block %tile of %block
  }];
}

def PlaceFences : Pass<"tile-place-fences", "::tlc::tile::KernelOp"> {
  let summary = "Insert the barriers and fences that accesses to shared memory and to tensors need";
  let description = [{
    Requires: layouts and scratch memory; asynchronous accesses are ordered by rings already.
    Ensures:  between two accesses of one buffer of which one writes, by threads of one role, there is a `tile.sync`, also
              around the back edge of loops (before a loop whose rounds need none among themselves), and before the
              roles for what all threads did; between an ordinary write
              and an asynchronous access (TMA, wgmma) there is a `tile.proxy_fence` before the sync, publish, release,
              arrival or named barrier that the access waits for; after `tile.publish after_copies` it stands before the
              access.
              So it is for accesses of a tensor by threads of one role, but where their boxes are disjoint
              (compiler/analysis/BoxRelation), where the same threads store the same box, and between two `tile.atomic` of one kind.
              Before that sync, or that by which another role gets to know, there is a `tile.await_stores` where fragments
              are on their way to the tensor through the TMA; at the latest before roles begin, and where a role or the kernel
              ends.
    An operation with effects whose accesses it does not know is an error.
    Of shared memory ownership decides, not addresses: what a role did to a slot before it awaits or acquires that slot again is over.
    Scratch memory is its operation's own business.
  }];
}

def PlaceReleaseMeetings : Pass<"tile-place-release-meetings", "::tlc::tile::KernelOp"> {
  let summary = "Let threads meet before one of them releases a slot for all, where they must";
  let description = [{
    Requires: barriers are there (`tile-place-fences`), and it is known which roles are one thread (`tile-elect-threads`).
    Ensures:  a `tile.release` has `after_meeting` if, on some way to it, threads of its role have read slots of its ring or
              waited for one since they last met (compiler/analysis/ReleaseMeetings.h). A product of all warps that was started
              after the wait, and is complete, is as good as a meeting for the wait, and says nothing of reads. Before a
              `tile.release` that has `after_products`, where the tensor core arrives, a `tile.sync` is placed instead.

        tile.await %ring[%c]; %v = tile.load %slot; tile.release %ring[%c]
        ==>
        tile.await %ring[%c]; %v = tile.load %slot; tile.release %ring[%c] after_meeting
  }];
}

def PlaceSums : Pass<"tile-place-sums", "::tlc::tile::KernelOp"> {
  let summary = "Let products by tcgen05 add in tensor memory";
  let description = [{
    Requires: every product has its atom, and those by tcgen05 have no neighbours that a role of its own could not wait for
              (`tile-select-products`).
    Ensures:  there is no `tile.gemm` by tcgen05: each is a `tile.gemm_in_place` whose sum is loaded. A sum that a loop with no other
              such product carries, from zeros, stays in tensor memory until the loop ends; so does one whose elements the loop
              changes before the product, by splats and numbers of rows: that is done in tensor memory, some columns at a time.
              Any other sum is loaded at once and added to its accumulator in registers. A left factor in registers goes
              through tensor memory where there are columns for it, else through shared memory.
    Leaves to others: waiting for the products. The sequence is that of the program until roles are planned (`tile-assign-roles`).

        %sum = scf.for iter_args(%acc = %zero) { %new = tile.gemm %a, %b, %acc atom tcgen05; scf.yield %new }
        ==>
        scf.for { tile.gemm_in_place %a, %b, %sum if %later }
        %loaded = scf.if %any { scf.yield (tile.load %sum) } else { scf.yield %zero }
  }];
  let options = [Option<"factors", "factors", "bool", /*default=*/"true",
      "`false`: left factors go through shared memory">];
}

def PlaceTensorMemoryFences : Pass<"tile-place-tensor-memory-fences", "::tlc::tile::KernelOp"> {
  let summary = "Insert the fences that order accesses to tensor memory with barriers";
  let description = [{
    Requires: every barrier is there (`tile-place-fences`).
    Ensures:  between an access to tensor memory (a product, a load, a store) and what then lets other threads go on there is
              a `tile.tensor_memory_fence`, and between what a thread waits for and its next access one with `after`. An
              arrival with `after_products` needs none before it.
  }];
}

def PlanSharedMemory : Pass<"tile-plan-shared-memory", "::tlc::tile::KernelOp"> {
  let summary = "Give every object in shared memory a byte offset and check the total against the target";
  let description = [{
    Requires: every shared type has a layout.
    Ensures:  every buffer, ring and barrier in shared memory has an offset, aligned as it asks;
              nothing overlaps but scratch memory of one role, whose threads meet before each use, and tiles that are never
              alive together (compiler/analysis/TileLifetimes.h): those that a block uses one after the other once, and, where
              not all fit, those that a loop does; the total fits the target.
    Leaves to others: the order of accesses to one place (`tile-place-fences`).

        %q = tile.alloc_shared "q"      : !tile.shared<128x64xf16, #L>
        ==>
        %q = tile.alloc_shared "q" at 0 : !tile.shared<128x64xf16, #L>
  }];
  let options = [Option<"always", "always", "bool", /*default=*/"false",
      "Whether tiles that a loop uses one after the other share their places even where all fit">];
}

def PlanTensorMemory : Pass<"tile-plan-tensor-memory", "::tlc::tile::KernelOp"> {
  let summary = "Give every buffer in tensor memory its columns, and reserve them";
  let description = [{
    Requires: nothing.
    Ensures:  every `tile.alloc_tensor_memory` has an offset, and of 64 rows one half of the lanes; nothing overlaps; the total
              fits the target; a kernel with such buffers begins with one `tile.reserve_tensor_memory` of as many columns. Its
              word of shared memory is placed by `tile-plan-shared-memory`, which comes after.

        %s = tile.alloc_tensor_memory "s" : !tile.tensor_memory<128x128xf32>
        %o = tile.alloc_tensor_memory "o" : !tile.tensor_memory<128x64xf32>
        ==>
        tile.reserve_tensor_memory "tensor memory" columns(256)
        %s = tile.alloc_tensor_memory "s" at 0 : !tile.tensor_memory<128x128xf32>
        %o = tile.alloc_tensor_memory "o" at 128 : !tile.tensor_memory<128x64xf32>
  }];
}

def PromoteVariables : Pass<"tile-promote-variables", "::tlc::tile::KernelOp"> {
  let summary = "Turn variables into values that loops and branches carry";
  let description = [{
    Requires: phase `input` without `tile.persistent`.
    Ensures:  no `tile.variable`, `tile.read` or `tile.write` is left.

        %v = tile.variable %zero          ==>    %r = scf.for ... iter_args(%x = %zero) {
        scf.for ... {                              %y = addf %x, %z
          %x = tile.read %v                        scf.yield %y
          %y = addf %x, %z                       }
          tile.write %y, %v
        }
        %r = tile.read %v
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def PutAhead : Pass<"tile-put-ahead", "::tlc::tile::KernelOp"> {
  let summary = "Start products of the next iteration before waiting for what becomes of this one's";
  let description = [{
    Requires: the roles' channels are there (`tile-warp-specialize`).
    Ensures:  a loop of a role that puts products into a channel, and then waits for a role that gets them, does the part
              before that wait an iteration ahead. The part consists of gets, puts and releases, releases all that it gets, and fills
              slots of which there are two at least; nothing else of the iteration needs its slots.

        scf.for %i { tile.get %keys; tile.put %scores { product }; tile.release_oldest %keys; tile.get %weights; ... }
        ==>
        scf.if %any { part of the first iteration }
        scf.for %i { scf.if %isNext { part of the next iteration }; tile.get %weights; ... }
  }];
  let options = [Option<"enable", "enable", "bool", /*default=*/"true",
      "`false` waits in program order: the reference lowering">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RelaxCopies : Pass<"tile-relax-copies", "::tlc::tile::KernelOp"> {
  let summary = "Wait for stores of tiles by the TMA only until these have been read";
  let description = [{
    Requires: every copy has its atom.
    Ensures:  a `tile.copy` to a tensor by the TMA has `until_read` if no access of the kernel, by the same copy in another
              iteration neither, may meet what it writes (compiler/analysis/TensorAccesses.h).

        tile.copy %tile, %slice atom tma
        ==>
        tile.copy %tile, %slice atom tma until_read
  }];
}

def ReloadSums : Pass<"tile-reload-sums", "::tlc::tile::KernelOp"> {
  let summary = "Load sums again in branches that few warps take";
  let description = [{
    Requires: sums lie in tensor memory (`tile-place-sums`).
    Ensures:  a branch on which each warp decides (`tile.any_in_warp`) loads the sums again that it needs as they are or after
              arithmetic without special functions, and does that arithmetic again. They need no registers where it is not taken.

        %s = tile.load %scores; %any = tile.any_in_warp ...; scf.if %any { ... %s ... }
        ==>
        %s = tile.load %scores; %any = tile.any_in_warp ...; scf.if %any { %again = tile.load %scores; ... %again ... }
  }];
}

def RematerialiseValues : Pass<"tile-rematerialise-values", "::tlc::tile::KernelOp"> {
  let summary = "Compute positions anew where fragments leave no registers to keep them";
  let description = [{
    Requires: layouts.
    Ensures:  in loops around one whose carried fragments fill a thread's registers, `tile.rematerialise` stands at the
              beginning of the body and after the inner loop: what follows from the dimensions is computed anew there; after
              the last such loop of a body, what follows from the warp's number, too.

        scf.for %tile { %sum = scf.for %step iter_args(%acc) { ... }; tile.store ... }
        ==>
        scf.for %tile {
          tile.rematerialise dimensions
          %sum = scf.for %step iter_args(%acc) { ... }
          tile.rematerialise dimensions, warp
          tile.store ...
        }
  }];
}

def RemoveProvenGuards : Pass<"tile-remove-proven-guards", "::tlc::tile::KernelOp"> {
  let summary = "Mark slices that are provably inside their tensor";
  let description = [{
    Ensures:  a `tile.slice` whose box lies inside the tensor for all values of the dimensions that the facts allow
              (fixed extents, `multiple_of`) is marked `unchecked "proven"`.
    Leaves to others: the positions of persistent tile loops, whose arithmetic it does not follow.
  }];
}

def RemoveReports : Pass<"tile-remove-reports", "::tlc::tile::KernelOp"> {
  let summary = "Remove prints and checks";
  let description = [{
    Requires: nothing.
    Ensures:  no `tile.report` is left. What was computed for them alone is dead.
  }];
}

def RemoveTurns : Pass<"tile-remove-turns", "::tlc::tile::KernelOp"> {
  let summary = "Remove turns in which warpgroups would wait for each other for ever";
  let description = [{
    Requires: scratch memory and barriers are there (`tile-materialize-relayouts`, `tile-place-fences`).
    Ensures:  no `tile.take_turn` stands with its `tile.pass_turn` around a barrier of all the role's threads, be it that
              of a conversion or reduction through shared memory: the turn's warpgroup would wait there for the others,
              and they for their turns. A turn that goes is a remark.
  }];
}

def ReportLayouts : Pass<"tile-report-layouts", "::tlc::tile::KernelOp"> {
  let summary = "Remark on layouts that take much more than elements need";
  let description = [{
    Requires: every fragment and shared type has its layout.
    Ensures:  nothing is changed. A remark names each fragment of which a thread has more than twice the registers of an
              even distribution, unless it is a row or column of a larger one; each shared tile that is mostly padding; and
              the place of a role where live fragments exceed a thread's registers, with the largest of them.
  }];
}

def ScheduleLoops : Pass<"tile-schedule-loops", "::tlc::tile::KernelOp"> {
  let summary = "Decide which stage of the pipeline each operation of a loop belongs to";
  let description = [{
    Requires: phase `specialized`.
    Ensures:  in every loop that awaits groups of copies, each operation has `tile.stage`: the copies and what tells their
              places 0, all else as many as there are slots beside the one that is read. In every other loop
              whose products can overlap, each operation has `tile.stage`. A product that only accumulates is
              issued in stage 0; what waits for it and releases its operands is in stage 1. Where work leads from one
              product to another (s -> softmax -> p v) in automatic roles, that other product is in stage 1: the next
              iteration's s is issued before it, and their work runs under it. A product whose left factor is in registers
              is complete before these are written again, also in the next iteration. Nothing is rewritten. A loop in which nothing can
              overlap, or that does more than read and await between products, or needs more than two stages, or
              whose rings have too few slots to release one round later, stays sequential, with a remark.
    Leaves to others: rewriting (`tile-expand-pipeline`).
  }];
  let options = [Option<"overlap", "overlap", "bool", /*default=*/"true",
      "Let a product run under the next one's issue; `false` is the sequential reference">];
}

def SelectCopies : Pass<"tile-select-copies", "::tlc::tile::KernelOp"> {
  let summary = "Choose the instruction of every copy and store from the target's table";
  let description = [{
    Requires: the plan of the roles, if there is one.
    Ensures:  every `tile.copy` and `tile.store` has its atom, and a store through the TMA its staging buffer. The TMA loads what
              roles hand over; what it cannot load, and what runs ahead within a role, threads load by cp.async where that can
              and else by ordinary loads.
    A choice that is not the best of the target is a remark that says why; `tile.require` makes it an error.
  }];
  let options = [
    Option<"tma", "tma", "bool", /*default=*/"true", "Use the TMA where it fits; `false` is the reference lowering">];
}

def SelectProducts : Pass<"tile-select-products", "::tlc::tile::KernelOp"> {
  let summary = "Choose the instruction of every product from the target's table";
  let description = [{
    Requires: phase `promoted`.
    Ensures:  every `tile.gemm` has its atom, and the kernel its number of warps.
    A choice that is not the best of the target is a remark that says why; `tile.require` makes it an error.
  }];
  let options = [
    Option<"wgmma", "wgmma", "bool", /*default=*/"true", "Use wgmma where it fits; `false` is the reference lowering">,
    Option<"tcgen05", "tcgen05", "bool", /*default=*/"true", "Use tcgen05 where it fits; `false` is the reference lowering">,
    Option<"factors", "factors", "bool", /*default=*/"true", "Left factors may take columns of tensor memory, as `tile-place-sums` is told">];
}

def SettleCopies : Pass<"tile-settle-copies", "::tlc::tile::KernelOp"> {
  let summary = "Announce what threads store where a buffer's layout keeps cp.async from a copy";
  let description = [{
    Requires: layouts.
    Ensures:  where the buffer of a `tile.copy` with the atom `cp_async` does not keep the bytes of such a copy together, because its
              order suits a factor in registers, threads will load and store instead: the `tile.publish after_copies` after the copy is
              `with_stores`, which tells of stores, too.

        tile.copy %slice, %slot atom cp_async
        tile.publish %ring[%c] after_copies
        ==>
        tile.copy %slice, %slot atom cp_async
        tile.publish %ring[%c] after_copies with_stores
  }];
}

def SplitLoops : Pass<"tile-split-loops", "::tlc::tile::KernelOp"> {
  let summary = "Make two loops of one whose first iterations differ";
  let description = [{
    Requires: phase `scheduled` with its loops expanded.
    Ensures:  a loop of step 1 in whose body a branch that yields fragments depends on `i < bound`, with a bound from outside
              the loop, is two loops, before the bound and from it on; in each the condition is a constant. Of several
              bounds the first counts. Any bound, outside the loop's own ones too, gives the same results. Conditions
              `i < bound` and `i == value` of iterations before the loop's first are gone. A loop in which the blocks of a cluster
              meet stays as it is if they may have different bounds.

        scf.for %i = %lb to %ub { scf.if %i < %edges -> fragment {...} }
        ==>
        scf.for %i = %lb to %middle { scf.if true -> fragment {...} }
        scf.for %i = %middle to %ub { scf.if false -> fragment {...} }
  }];
  let options = [Option<"enable", "enable", "bool", /*default=*/"true",
      "`false` asks in every iteration: the reference lowering">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SplitRows : Pass<"tile-split-rows", "::tlc::tile::KernelOp"> {
  let summary = "Compute 192 or 256 rows as two parts, each by itself";
  let description = [{
    Requires: products have no instructions yet, phase `promoted`; a target with tcgen05.
    Ensures:  if a product has 192 or 256 rows, and all operations on fragments of as many work on rows by themselves, each of these operations is
              two, on the first 128 rows and on the others. A branch on which warps decide is two, too. Nothing else
              changes. A kernel stays as it is whose author sets its warps, which counts or combines elements atomically, or in which a
              part could access what the other one stores.
    Leaves to others: roles for the parts (`tile-assign-roles`), of which one multiplies while the other computes.

        %1 = tile.gemm %a, %b, %acc : ... tensor<256x64xf32>
        ==>
        %2 = tile.rows %a[0]
        %3 = tile.gemm %2, %b, %acc0 : ... tensor<128x64xf32>
        %4 = tile.rows %a[128]
        %5 = tile.gemm %4, %b, %acc1 : ... tensor<128x64xf32>
  }];
  let options = [Option<"enable", "enable", "bool", /*default=*/"true", "`false`: they stay together">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def SplitStores : Pass<"tile-split-stores", "::tlc::tile::KernelOp"> {
  let summary = "Store long rows of sums in tensor memory some columns at a time";
  let description = [{
    Requires: sums lie in tensor memory (`tile-place-sums`), which whole warpgroups load.
    Ensures:  a store of more than 64 columns per warpgroup to a tensor is split into stores of 64 columns per warpgroup, each with its own
              load and arithmetic, which bounds the registers. It is split if elementwise operations compute the columns from loaded sums,
              from columns of inputs and from one number per row, and no other operation uses the results.

        tile.store (arith.mulf (tile.load %sum), %rows), %C[%i, %j]
        ==>
        tile.store (arith.mulf (tile.load (tile.columns %sum from 0)), %rows), %C[%i, %j]
        tile.store (arith.mulf (tile.load (tile.columns %sum from 64)), %rows), %C[%i, %j + 64]
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def VerifyPhase : Pass<"tile-verify-phase", "::mlir::ModuleOp"> {
  let summary = "Check that the kernels have what their phase promises and nothing that it forbids";
  let description = [{
    Changes nothing. The table of promises is in VerifyPhase.cpp; a violation is a bug of the compiler (or of a .mlir
    file that claims to be further than it is) and is reported with the operation and the phase.
    From `pipelined` to `planned` nothing changes what a product in flight uses (compiler/analysis/ProductsInFlight.h):
    in roles by hand that is the author's mistake.
  }];
  let options = [Option<"phase", "phase", "std::string", /*default=*/"\"input\"",
      "Name of the phase: input, promoted, atoms, specialized, scheduled, pipelined, laid-out, planned or simt">];
}

def WarpSpecialize : Pass<"tile-warp-specialize", "::tlc::tile::KernelOp"> {
  let summary = "Rewrite a kernel into the roles of its plan";
  let description = [{
    Requires: phase `atoms`.
    Ensures:  a kernel with a `tile.role_plan` of several roles consists of `tile.roles`, one for each role of the plan. Each
              repeats the kernel's control flow, and keeps its own operations and the positions that they need. Each channel of the
              plan is a `tile.channel`: the producing role puts what fills it, and the consuming one gets a slot before the
              first operation that uses it and releases it after the last. No plan is left. Another kernel stays as it is.
    A plan that its operations contradict is an error: one that needs what another role computes, say.
    Leaves to others: the plan (`tile-assign-roles`), what channels are made of (`tile-lower-channels`), the roles' registers (`tile-assign-registers`), and the order inside
                      of the roles (`tile-schedule-loops`).

        tile.copy %s, %a atom tma {tile.channel = "a", tile.role = "load"}
        %y = tile.gemm %a, %b, %x {tile.role = "math"}
        ==>
        tile.role "load" { tile.put %c(%p) { %slot = tile.slot %a[%p]; tile.copy %s, %slot atom tma } }
        tile.role "math" { %g = tile.get %c; %y = tile.gemm_async ..., tile.gemm_wait; tile.release_oldest %c }
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

#endif
