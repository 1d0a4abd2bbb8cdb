# SPDX-License-Identifier: Apache-2.0
"""Gradients of products and of softmax for tensors of PyTorch, each an autograd.Function around the call. Those of attention are in
_torch.py, those of kernels by name in _kernel_gradients.py. Plain tensors are launched on; tracing, modes and subclasses take
operators."""

from typing import Any, Dict, Optional, Tuple, Union

import torch

from . import _calls as calls
from . import _kernels
from ._interface import Error
from ._kernel_gradients import kernel
from ._torch import apply_of, is_compiling, is_traced, options_of, packed_options, refuse_second_derivatives, softmax_backward

__all__ = ["gemm", "kernel", "softmax"]

FACTORS = (torch.float16, torch.bfloat16, torch.float32)


def _needs(ctx) -> Tuple[bool, ...]:
    """Which tensors require a gradient. A graph leaves out by itself what nothing uses."""
    return (True, True, True, True) if is_compiling() else ctx.needs_input_grad


def _name_of(dtype) -> str:
    return "f16" if dtype == torch.float16 else "bf16" if dtype == torch.bfloat16 else "f32"


def _refuse_out(name: str, out) -> None:
    if out is not None:
        raise Error(f"{name}: out= is for calls without gradients; use the result, or call it under torch.no_grad()")


# Products.


Options = Union[str, Dict[str, Any]]  # packed where a graph has them


def _packed(options: Options) -> str:
    return options if isinstance(options, str) else packed_options(options)


def _unpacked(options: Options) -> Dict[str, Any]:
    return options_of(options) if isinstance(options, str) else options


def _product(a, b, bias=None, residual=None, out_dtype: Optional[str] = None, options: Options = ""):
    if is_traced(a, b, bias, residual):
        return torch.ops.tlc.gemm(a, b, bias, residual, None, None, out_dtype, _packed(options))
    return _kernels.gemm.launch((a, b, None, None, bias, residual, None), _unpacked(options), (out_dtype, False))[0]


def _factor(x, axis: int):
    """The factor, copied unless its rows or columns are contiguous. Matrix units read f32 along k only, which is `axis`, and there it has
    to be contiguous."""
    if x.dtype == torch.float32:
        return x.contiguous() if axis == -1 else x.transpose(-1, -2).contiguous().transpose(-1, -2)
    rows, columns = x.stride(-2), x.stride(-1)
    return x if (columns == 1 and rows >= x.shape[-1]) or (rows == 1 and columns >= x.shape[-2]) else x.contiguous()


def _of_preactivation(activation: str, dc, z):
    """The gradient before the activation."""
    if activation == "relu":
        return dc.masked_fill(z <= 0, 0)
    backward = torch.ops.aten.gelu_backward if activation == "gelu" else torch.ops.aten.silu_backward
    return backward(dc.float().contiguous(), z)  # gelu_backward of PyTorch 1.13 is wrong on the CPU where strides differ


class _Gemm(torch.autograd.Function):
    """dA = dZ Bᵀ, dB = Aᵀ dZ and the sum of dZ over rows, where dZ is the gradient before the activation. Backward computes
    the product before the activation again, so that nothing else is kept; relu without a residual needs the result alone."""

    @staticmethod
    def forward(ctx, a, b, bias, residual, out_dtype, activation, options):
        c = _product(a, b, bias, residual, out_dtype, options)
        needs = ctx.needs = _needs(ctx)
        is_again = activation != "none" and not (activation == "relu" and residual is None) and any(needs[:3])
        kept = [("a", a if needs[1] or is_again else None), ("b", b if needs[0] or is_again else None),
                ("bias", bias if is_again else None), ("c", c if activation == "relu" and residual is None else None)]
        ctx.kept = [name for name, one in kept if one is not None]
        ctx.save_for_backward(*[one for _, one in kept if one is not None])
        ctx.activation, ctx.dtype, ctx.has = activation, a.dtype, (bias is not None, residual is not None)
        return c

    @staticmethod
    def backward(ctx, dc):
        if not is_compiling():
            refuse_second_derivatives("gemm")
        kept, needs, dz = dict(zip(ctx.kept, ctx.saved_tensors)), ctx.needs, dc
        da = db = dbias = None
        if ctx.activation != "none" and any(needs[:3]):
            z = kept["c"] if "c" in kept else _product(kept["a"], kept["b"], kept.get("bias"), None, "f32")
            dz = _of_preactivation(ctx.activation, dc, z)
        if ctx.has[0] and needs[2]:
            dbias = dz.sum(tuple(range(dz.dim() - 1)), dtype=torch.float32)
        if needs[0] or needs[1]:
            dz = dz.to(ctx.dtype)
        if needs[0]:
            da = _product(_factor(dz, -1), _factor(kept["b"].transpose(-1, -2), -2), None, None, _name_of(ctx.dtype))
        if needs[1]:
            db = _product(_factor(kept["a"].transpose(-1, -2), -1), _factor(dz, -2), None, None, _name_of(ctx.dtype))
        return da, db, dbias, dc if ctx.has[1] and needs[3] else None, None, None, None


_apply_gemm = apply_of(_Gemm)


def gemm(given: tuple, options: Dict[str, Any], out_dtype: Optional[str]):
    """`tlc.gemm` with gradients."""
    a, b, scale_a, scale_b, bias, residual, out = given
    _refuse_out("gemm", out)
    calls.refuse_others("gemm", _kernels.gemm.tensors, given)
    if a.dtype not in FACTORS or scale_a is not None or scale_b is not None:
        raise Error(f"gemm: expected a and b of f16, bf16 or f32 without scales, because a tensor requires a gradient, but got {a.dtype}"
                    f"{' with scales' if scale_a is not None or scale_b is not None else ''}; convert them, as by .bfloat16(), or call it under "
                    "torch.no_grad()")
    if out_dtype not in (None, "f16", "bf16", "f32"):
        raise Error(f"gemm: expected out_dtype among f16, bf16, f32, because a tensor requires a gradient, but got {out_dtype}; "
                    "call it under torch.no_grad()")
    is_eager = not is_traced(a, b, bias, residual)
    return (_apply_gemm if is_eager else _Gemm.apply)(a, b, bias, residual, out_dtype, options.get("activation") or "none",
                                                     options if is_eager else packed_options(options))


# Softmax.


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, options):
        if is_traced(x):
            y = torch.ops.tlc.softmax(x, _packed(options))
        else:
            y = _kernels.softmax.launch((x, None), _unpacked(options), ())[0]
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        if not is_compiling():
            refuse_second_derivatives("softmax")
        y, = ctx.saved_tensors
        return (torch.ops.tlc.softmax_backward if is_traced(dy, y) else softmax_backward)(dy, y), None


_apply_softmax = apply_of(_Softmax)


def softmax(x, out, options: Dict[str, Any]):
    """`tlc.softmax` with gradients."""
    _refuse_out("softmax", out)
    calls.refuse_others("softmax", _kernels.softmax.tensors, (x,))
    return _Softmax.apply(x, packed_options(options)) if is_traced(x) else _apply_softmax(x, options)
