// SPDX-License-Identifier: Apache-2.0
// Shared memory and barriers of other blocks of the cluster. Generated apart from the other operations: Cluster.h
// declares them for the few who use them.
#ifndef TLC_DIALECTS_SIMT_OPSCLUSTER_TD
#define TLC_DIALECTS_SIMT_OPSCLUSTER_TD

include "dialects/simt/Dialect.td"

def Simt_AddressInBlockOp : Simt_Op<"address_in_block", [Program_Needs<"cluster">, Pure]> {
  let summary = "mapa.shared::cluster: where another block of the cluster has what this one has at an address";
  let description = "Undefined for ranks that the cluster does not have.";
  let arguments = (ins Simt_SharedPtr:$address, I32:$rank);
  let results = (outs Simt_ClusterPtr:$result);
  let assemblyFormat = "$address `of` $rank attr-dict";
}

def Simt_ClusterArriveOp : Simt_EffectOp<"cluster_arrive", [Program_Needs<"cluster">]> {
  let summary = "mbarrier.arrive.release.cluster: this thread arrives at a barrier of block `rank` of the cluster";
  let description = [{
    A thread that waits there by `simt.cluster_wait` sees what this thread did before, and what others had handed to it.
  }];
  let arguments = (ins Simt_SharedPtr:$barrier, I32:$rank);
  let assemblyFormat = "$barrier `of` $rank attr-dict";
}

def Simt_BarrierStateOp : Simt_EffectOp<"barrier_state", [Program_Needs<"mbarrier">]> {
  let summary = "mbarrier.arrive: arrives, and gives the state of the phase that the arrival is of";
  let arguments = (ins Simt_SharedPtr:$barrier);
  let results = (outs I64:$state);
  let assemblyFormat = "$barrier attr-dict";
}

def Simt_CancelBlockOp : Simt_EffectOp<"cancel_block", [Program_Needs<"launchControl">]> {
  let summary = "clusterlaunchcontrol.try_cancel: asks for a block that has not started, which then never does";
  let description = [{
    The response is written to 16 bytes by the asynchronous proxy, and counts as 16 bytes at the barrier. No request may follow
    one whose response says that there is no such block.
  }];
  let arguments = (ins Simt_SharedPtr:$response, Simt_SharedPtr:$barrier);
  let assemblyFormat = "$response `arrives` `(` $barrier `)` attr-dict";
}

def Simt_CanceledBlockOp : Simt_EffectOp<"canceled_block", [Program_Needs<"launchControl">]> {
  let summary = "clusterlaunchcontrol.query_cancel: the number of the canceled block along the grid's first axis, or -1";
  let arguments = (ins Simt_SharedPtr:$response);
  let results = (outs I32:$number);
  let assemblyFormat = "$response attr-dict";
}

def Simt_ClusterWaitOp : Simt_EffectOp<"cluster_wait", [Program_Needs<"cluster">]> {
  let summary = "Waits for the phase of a state to complete";
  let description = "A loop of mbarrier.try_wait.acquire.cluster.";
  let arguments = (ins Simt_SharedPtr:$barrier, I64:$state);
  let assemblyFormat = "$barrier `state` `(` $state `)` attr-dict";
}

#endif
