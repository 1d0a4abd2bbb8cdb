# SPDX-License-Identifier: Apache-2.0
"""Attention with the signature of PyTorch's function."""

import sys
import warnings
from typing import Any, Dict, List, Optional

from ._attention import attention
from ._calls import torch_route
from ._interface import Error

HALF = ("float16", "f16", "bf16")
_warned: set = set()


def _obstacles(query, key, attn_mask, dropout_p) -> List[str]:
    """What this cannot do, each with the alternative."""
    found = []
    if attn_mask is not None:
        found.append("attn_mask is not supported; use is_causal, tlc.attention(..., window=, mask=\"block_causal\"), or a mask rule in C++ "
                     "(docs/attention.md#masks-of-your-own)")
    route = torch_route(query)
    if dropout_p == 1:
        found.append(f"dropout_p is {dropout_p}, but only 0 to less than 1 is supported; the result would be 0")
    elif not 0 <= dropout_p < 1:
        found.append(f"dropout_p is {dropout_p}, but it is a chance, from 0 to less than 1")
    elif dropout_p > 0 and route is None:
        found.append(f"dropout_p is {dropout_p}, for which query's library draws no seed; use tlc.attention(..., dropout_p=, philox=)")
    if not (query.dtype in route.HALF or route.autocast(query, query, query)[0].dtype in route.HALF if route is not None
            else str(query.dtype) in HALF):
        found.append(f"query is {query.dtype}, but only float16 and bfloat16 are supported; convert it, or use torch.autocast")
    if len(query.shape) < 3 or len(key.shape) != len(query.shape):
        found.append(f"query has {len(query.shape)} axes and key {len(key.shape)}, but both need (..., L, E) with 3 axes or more")
    elif query.shape[-1] % 8 or query.shape[-1] > 576:
        found.append(f"E is {query.shape[-1]}, but only multiples of 8 up to 576 are supported; pad it with zeros and pass scale")
    return found


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p: float = 0.0, is_causal: bool = False,
                                 scale: Optional[float] = None, enable_gqa: bool = False, *, generator=None,
                                 fallback: bool = False) -> Any:
    """`torch.nn.functional.scaled_dot_product_attention` by `tlc.attention`, with the layout (..., heads, L, E). `is_causal` lets
    query i see keys up to i. Dropout is drawn from `generator`, or PyTorch's own. What it cannot do is an error, which names the
    alternative; with `fallback=True` PyTorch's function does it, with one warning for each reason. Rows that see no key are 0, where
    PyTorch's are NaN.

    >>> import tlc
    >>> q = tlc.tensor([[[[1.0] * 8] * 2]], "f16")
    >>> tlc.scaled_dot_product_attention(q, q, q, is_causal=True).shape
    (1, 1, 2, 8)
    """
    obstacles = _obstacles(query, key, attn_mask, dropout_p)
    if obstacles:
        if not fallback or "torch" not in sys.modules:
            raise Error(f"scaled_dot_product_attention: {'; '.join(obstacles)}")
        if generator is not None:
            raise Error(f"scaled_dot_product_attention: {'; '.join(obstacles)}; PyTorch's function has no generator; leave it out")
        for obstacle in obstacles:
            if obstacle not in _warned:
                _warned.add(obstacle)
                warnings.warn(f"tlc.scaled_dot_product_attention calls PyTorch's: {obstacle}", RuntimeWarning, stacklevel=2)
        further = {"enable_gqa": True} if enable_gqa else {}
        return sys.modules["torch"].nn.functional.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale,
                                                                               **further)
    if not enable_gqa and query.ndim > 3 and query.shape[-3] != key.shape[-3]:
        raise Error(f"scaled_dot_product_attention: expected {query.shape[-3]} heads of key, as query has, but got {key.shape[-3]}; "
                    "pass enable_gqa=True")
    options: Dict[str, Any] = {"causal": "left" if is_causal else None, "scale": None if scale is None else float(scale),
                               "dropout_p": float(dropout_p) if dropout_p else None, "generator": generator if dropout_p else None}
    options = {name: value for name, value in options.items() if value is not None}
    if query.ndim == 4:
        return attention(query, key, value, layout="bhsd", **options)
    outer = query.shape[:-2]
    four = [x.reshape(-1, 1, *x.shape[-2:]) if x.ndim == 3 else x.reshape(-1, *x.shape[-3:]) for x in (query, key, value)]
    o = attention(*four, layout="bhsd", **options)
    return o.reshape(*outer, *o.shape[-2:])
