# SPDX-License-Identifier: Apache-2.0
"""Calls of other libraries on the tensors of calls.py, where they are installed: Triton, cuDNN's frontend and FlashInfer."""

import importlib
import importlib.util
import sys

import torch

try:
    import triton
except ImportError:
    triton = None

if triton is not None:

    @triton.jit
    def four(q, k, v, o):
        pass


def _triton(q, k, v):
    """A launch of a kernel that does nothing with as many tensors as attention has."""
    o = torch.empty_like(q)
    return {"Triton, a kernel that does nothing": lambda: four[(1,)](q, k, v, o, num_warps=1)}


def _cudnn(q, k, v):
    """A graph that is built before, as a bound call is."""
    cudnn = importlib.import_module("cudnn")
    handle = cudnn.create_handle()
    cudnn.set_stream(handle, torch.cuda.current_stream().cuda_stream)
    graph = cudnn.pygraph(io_data_type=cudnn.data_type.BFLOAT16, intermediate_data_type=cudnn.data_type.FLOAT,
                          compute_data_type=cudnn.data_type.FLOAT, handle=handle)
    # Axes are b x h x s x d there.
    given = [x.transpose(1, 2) for x in (q, k, v)]
    o = torch.empty_like(q).transpose(1, 2)
    inputs = [graph.tensor_like(x) for x in given]
    options = {"q": inputs[0], "k": inputs[1], "v": inputs[2], "attn_scale": q.shape[-1]**-0.5, "use_causal_mask": True}
    try:
        result, _ = graph.sdpa(generate_stats=False, **options)
    except TypeError:  # of older versions
        result, _ = graph.sdpa(is_inference=True, **options)
    result.set_output(True).set_dim(list(o.shape)).set_stride(list(o.stride()))
    graph.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    workspace = torch.empty(max(graph.get_workspace_size(), 1), dtype=torch.uint8, device=q.device)
    memory = {**dict(zip(inputs, given)), result: o}
    return {"cuDNN's frontend, built": lambda: graph.execute(memory, workspace, handle=handle)}


def _flashinfer(q, k, v):
    flashinfer = importlib.import_module("flashinfer")
    one = [x[0] for x in (q, k, v)]
    return {"FlashInfer": lambda: flashinfer.single_prefill_with_kv_cache(*one, causal=True)}


PEERS = {"triton": _triton, "cudnn": _cudnn, "flashinfer": _flashinfer}


def peers(q, k, v):
    """Name -> call of causal attention on b x s x h x d. What is not installed, or does not work, is said on stderr."""
    found = {}
    for module, make in PEERS.items():
        if importlib.util.find_spec(module) is None:
            print(f"not installed: {module}", file=sys.stderr)
            continue
        try:
            made = make(q, k, v)
            for call in made.values():
                call()
            torch.cuda.synchronize()
            found.update(made)
        except Exception as error:  # of another library, of any version
            print(f"not timed: {module}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", file=sys.stderr)
    return found
