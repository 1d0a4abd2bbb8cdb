# SPDX-License-Identifier: Apache-2.0
"""tlc for Python: kernels for the tensors of NumPy, PyTorch, CuPy and JAX, on their GPU or, for those of the CPU, on an emulated
GPU whose checker finds races. docs/python.md is the guide.

    import torch, tlc
    q = k = v = torch.randn(1, 4096, 32, 128, dtype=torch.bfloat16, device="cuda")
    o = tlc.attention(q, k, v, causal="left")
"""

from ._arrays import Tensor, empty, tensor, view
from ._attention import (Attended, Gradients, attention, attention_backward, attention_decode, attention_varlen)
from ._calls import torch_route
from ._cache import CacheEvent, cache_folder, compile_events, hits_only, prewarm, set_cache, set_tuning
from ._devices import emulator
from ._interface import Error, Kind, Place, RaceError, use_library
from ._kernels import gemm, load, ops, softmax
from ._programs import Bound, Option
from ._sdpa import scaled_dot_product_attention
from ._version import __version__

torch_route(None)  # so that torch.compile finds operators where PyTorch is imported before

__all__ = ["Attended", "Bound", "CacheEvent", "Error", "Gradients", "Kind", "Option", "Place", "RaceError", "Tensor", "__version__",
           "attention", "attention_backward", "attention_decode", "attention_varlen", "cache_folder", "compile_events", "emulator", "empty",
           "gemm", "hits_only", "load", "ops", "prewarm", "scaled_dot_product_attention", "set_cache", "set_tuning", "softmax", "tensor", "use_library", "view"]
