# SPDX-License-Identifier: Apache-2.0
"""PyTorch: its tensors and streams, gradients, and operators for torch.compile, torch.export and all that looks at graphs.

Eager calls on plain tensors launch at once. Tracing, fake tensors, subclasses and dispatch modes take operators of torch.library,
which have the same code below them; gradients are those of an autograd.Function around them. Versions are probed, none is
required: operators need torch.library.register_fake or impl_abstract (2.1), and without them only eager calls work."""

import ast
import functools
import math
from typing import Any, Dict, NamedTuple, Optional, Tuple

import torch

from . import _arrays as arrays
from . import _attention
from . import _calls as calls
from ._arrays import BY_NAME, CPU, ELSEWHERE, Array, Element, Framework
from ._exchange import Tracking
from ._interface import Error

ELEMENTS = {getattr(torch, theirs): BY_NAME[ours] for theirs, ours in ELSEWHERE.items() if hasattr(torch, theirs)}
ELEMENTS[torch.bool] = BY_NAME["u8"]
DTYPES = {element.number: dtype for dtype, element in ELEMENTS.items() if dtype is not torch.bool}
_BITS = {torch.int16: arrays.I16, **({torch.uint16: arrays.U16} if hasattr(torch, "uint16") else {})}


def _describe(tensor, name: str) -> Array:
    element = ELEMENTS.get(tensor.dtype) or _BITS.get(tensor.dtype)
    if element is None:
        raise Error(f"argument '{name}': expected an element type among {', '.join(str(dtype) for dtype in ELEMENTS)}, but got {tensor.dtype}")
    device = tensor.get_device() if tensor.is_cuda else CPU
    if device == CPU and tensor.device.type != "cpu":
        raise Error(f"argument '{name}': expected a tensor on cuda or cpu, but got one on {tensor.device}; move it by .to('cuda')")
    return Array(tensor.data_ptr(), element, tensor.shape, tensor.stride(), device, tensor)


def _read(tensor, name: str):
    address = tensor.data_ptr()
    return (tensor.dtype, tensor.shape, tensor.stride(), tensor.device, address % 16), address, tensor


_devices: Dict[int, Any] = {}


def _device(number: int):
    found = _devices.get(number)
    if found is None:
        found = _devices[number] = torch.device("cpu") if number == CPU else torch.device("cuda", number)
    return found


def _empty(shape, element: Element, device: int):
    return torch.empty(shape, dtype=DTYPES[element.number], device=_devices.get(device) or _device(device))


_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


def _stream(device: int) -> Optional[int]:
    if device == CPU:
        return None
    if _raw_stream is not None:
        return _raw_stream(device)
    return torch.cuda.current_stream(device).cuda_stream


def _maker(shape, element: Element, device: int):
    """A tensor without memory tells all that `torch.empty_like` asks for, in less time than `torch.empty` takes arguments."""
    with torch.inference_mode(False):
        template = torch.empty(tuple(shape), dtype=DTYPES[element.number], device=_device(device))
    storage = template.untyped_storage() if hasattr(template, "untyped_storage") else template.storage()
    storage.resize_(0)
    return functools.partial(torch.empty_like, template)


if hasattr(torch, "compiler") and hasattr(torch.compiler, "is_compiling"):
    is_compiling = torch.compiler.is_compiling
else:

    def is_compiling() -> bool:
        return False


#: The same of torch.compile alone, in less time: whatever else traces has a mode or fake tensors.
is_compiled = getattr(getattr(torch, "compiler", None), "is_dynamo_compiling", is_compiling)
_dispatch_modes = getattr(torch._C, "_len_torch_dispatch_stack", None) or (lambda: 0)
_functorch = getattr(torch._C, "_functorch", None)
_transforms = getattr(_functorch, "maybe_current_level", None) or (lambda: None)


TENSOR = torch.Tensor
#: Types of tensors on which a launch is all that a call has to do, where no mode sees it.
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_PLAIN_OR_NONE = frozenset((*_PLAIN, type(None)))


is_grad_enabled = torch.is_grad_enabled


_increment_version = getattr(torch.autograd.graph, "increment_version", None)  # from 2.1
_increment_versions = getattr(torch._C, "_increment_version", None)  # what that calls, of several tensors from 2.4 on
try:
    _increment_versions((torch.empty(0),))  # type: ignore[misc]
except Exception:
    _increment_versions = None


def _note_write(tensor) -> None:
    """Autograd refuses then to use it where an earlier operation saved it. Tensors of inference mode have no count of writes."""
    if tensor.is_inference():
        return
    if _increment_versions is not None:
        _increment_versions((tensor,))
    elif _increment_version is not None:
        _increment_version(tensor)
    else:
        tensor.detach().as_strided((0,), (1,)).zero_()  # shares the count, and writes nothing


_TRACKING = Tracking((_dispatch_modes, _transforms), is_grad_enabled, "requires_grad")
FRAMEWORK = Framework(_describe, _read, _empty, _stream, torch.Tensor.data_ptr, _maker, (_PLAIN, _TRACKING, torch.empty_like), _note_write)


def is_plain(*tensors) -> bool:
    """Whether a launch is all that a call on these has to do."""
    if _dispatch_modes() != 0:
        return False
    for tensor in tensors:
        if type(tensor) not in _PLAIN_OR_NONE:
            return False
    if _transforms() is not None:
        raise Error("expected tensors outside of torch.func's transforms and of vmap, which tlc does not have; give the call a batch axis, and "
                    "take gradients by backward() or torch.autograd.grad")
    return True


def packed_options(options: Dict[str, Any]) -> str:
    """Options as a constant of a graph."""
    return ";".join([f"{name}={value!r}" for name, value in options.items()])


@functools.lru_cache(maxsize=1024)
def options_of(text: str) -> Dict[str, Any]:
    found = {}
    for part in text.split(";") if text else ():
        name, _, value = part.partition("=")
        found[name] = ast.literal_eval(value)
    return found


if hasattr(torch, "get_autocast_dtype"):

    def _autocast_dtype(kind: str):
        return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None  # type: ignore
else:  # before 2.4

    def _autocast_dtype(kind: str):
        if kind == "cuda":
            return torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else None
        return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None


WIDE = (torch.float32, torch.float64)
HALF = (torch.float16, torch.bfloat16)


def autocast(*tensors):
    """Floats of more than 16 bits in the type of autocast, where that is on."""
    dtype = _autocast_dtype(tensors[0].device.type)
    if dtype is None:
        return tensors
    return tuple([tensor.to(dtype) if tensor is not None and tensor.dtype in WIDE else tensor for tensor in tensors])


def autocast_product(a, b, bias, residual, out, out_dtype: Optional[str]):
    """Operands of a product, where autocast is on: factors as above, and what is added in the type that the product adds it in."""
    from ._kernels import result_of
    if _autocast_dtype(a.device.type) is None:
        return a, b, bias, residual
    a, b = (autocast(one)[0] if isinstance(one, TENSOR) else one for one in (a, b))
    if isinstance(bias, TENSOR) and bias.is_floating_point():
        bias = bias.float()
    if isinstance(residual, TENSOR) and residual.is_floating_point() and a.dtype in ELEMENTS:
        like = BY_NAME.get(out_dtype or result_of(ELEMENTS[a.dtype].name))
        dtype = out.dtype if isinstance(out, TENSOR) else None if like is None else DTYPES.get(like.number)
        residual = residual if dtype is None else residual.to(dtype)
    return a, b, bias, residual


# Attention.

_NO_OTHERS = (None,) * 8  # after q, k and v
_SEQUENCES = "Tensor? sink, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, Tensor? lengths_q, Tensor? lengths_k, Tensor? philox"


def draw(q, generator):
    """A seed and an offset, on the device, where a graph draws them again."""
    return torch.randint(-2**63, 2**63 - 1, (2,), dtype=torch.int64, device=q.device, generator=generator)


def _forward_kernel(q, k, v, sink, cu_q, cu_k, lengths_q, lengths_k, philox, scale_q, scale_k, scale_v, layout, options):
    if cu_q is None:
        return tuple(_attention.attention.run((q, k, v, sink, lengths_q, lengths_k, scale_q, scale_k, scale_v, philox, None), layout, True,
                                              options_of(options)))
    return tuple(_attention.attention_varlen.run((q, k, v, sink, cu_q, cu_k, scale_q, scale_k, scale_v, philox, None), layout, True,
                                                 options_of(options)))


def _run_backward(do, q, k, v, o, lse, sink, cu_q, cu_k, lengths_q, lengths_k, philox, layout, options):
    return _attention.attention_backward.run((q, k, v, lengths_q, lengths_k, cu_q, cu_k, sink, o, do, lse, philox), layout, options)


def _plain_kernel(q, k, v, layout, options):
    return _attention.attention.run((q, k, v, *_NO_OTHERS), layout, False, options_of(options))


def _plain_fake(q, k, v, layout, options):
    return q.new_empty((*q.shape[:-1], v.shape[-1]))


def _forward_fake(q, k, v, sink, cu_q, cu_k, lengths_q, lengths_k, philox, scale_q, scale_k, scale_v, layout, options):
    dtype = q.dtype
    if dtype not in (torch.float16, torch.bfloat16):
        dtype = torch.float16 if options_of(options).get("out") == "f16" else torch.bfloat16
    o = q.new_empty((*q.shape[:-1], v.shape[-1]), dtype=dtype)
    if cu_q is not None:
        heads = (q.shape[1], q.shape[0])
    else:
        heads = (q.shape[0], q.shape[1], q.shape[2]) if layout == "bhsd" else (q.shape[0], q.shape[2], q.shape[1])
    return o, q.new_empty(heads, dtype=torch.float32)


def _backward_kernel(do, q, k, v, o, lse, sink, cu_q, cu_k, lengths_q, lengths_k, philox, layout, options):
    made = _run_backward(do, q, k, v, o, lse, sink, cu_q, cu_k, lengths_q, lengths_k, philox, layout, options_of(options))
    # An operator returns no None.
    return (*made[:3], made.dsink if made.dsink is not None else q.new_empty((0,), dtype=torch.float32))


def _backward_fake(do, q, k, v, o, lse, sink, cu_q, cu_k, lengths_q, lengths_k, philox, layout, options):
    dtype = torch.float32 if options_of(options).get("gradients") == "f32" else q.dtype
    gradients = [x.new_empty(x.shape, dtype=dtype) for x in (q, k, v)]
    return (*gradients, q.new_empty(sink.shape if sink is not None else (0,), dtype=torch.float32))


class _Traced(torch.autograd.Function):
    """Gradients of attention by operators. Options of backward, such as `deterministic`, come apart from those of forward."""

    @staticmethod
    def forward(ctx, q, k, v, sink, cu_q, cu_k, lengths_q, lengths_k, philox, layout, options, of_backward):
        call = (q, k, v, sink, cu_q, cu_k, lengths_q, lengths_k, philox)
        o, lse = torch.ops.tlc.attention_forward(*call, None, None, None, layout, options)
        optional = call[3:]
        ctx.save_for_backward(q, k, v, o, lse, *[tensor for tensor in optional if tensor is not None])
        ctx.given = [tensor is not None for tensor in optional]
        ctx.layout, ctx.options = layout, of_backward
        if not is_compiling():
            ctx.set_materialize_grads(False)  # of LSE, which has none
        ctx.mark_non_differentiable(lse)
        return o, lse

    @staticmethod
    def backward(ctx, do, _):
        if not is_compiling():
            refuse_second_derivatives("attention")
        if do is None:
            return (None,) * 12
        saved = ctx.saved_tensors
        q, k, v, o, lse = saved[:5]
        optional, at = [], 5
        for given in ctx.given:
            optional.append(saved[at] if given else None)
            at += 1 if given else 0
        dq, dk, dv, dsink = torch.ops.tlc.attention_backward(do.to(o.dtype), q, k, v, o, lse, *optional, ctx.layout, ctx.options)
        return dq, dk, dv, dsink if ctx.given[0] else None, None, None, None, None, None, None, None, None


class _Record(NamedTuple):
    """What is not a tensor in an eager call with gradients, the same object for calls of the same options."""

    kind: Any  # _attention.attention or attention_varlen
    settings: tuple
    options: Dict[str, Any]
    of_backward: Dict[str, Any]
    return_lse: bool
    is_known: bool  # nothing is looked at beside what a repeated launch does


class _Unlike(Exception):
    """No launch to repeat."""


class _Eager(torch.autograd.Function):
    """The same for plain tensors, by launches. Optional tensors come if there are any."""

    @staticmethod
    def forward(ctx, record, given, q, k, v, *optional):
        made = record.kind.again(given, record.options, record.settings)
        if made is None:
            if record.is_known:
                raise _Unlike
            made = record.kind.anew(given, record.options, record.settings)
        o, lse = made
        ctx.save_for_backward(q, k, v, o, lse, *optional)
        ctx.record = record
        if not record.return_lse:
            return o
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(lse)
        return o, lse

    @staticmethod
    def backward(ctx, do, *_):
        q, k, v, o, lse, *optional = ctx.saved_tensors
        record = ctx.record
        kind, options, layout = record.kind, record.of_backward, record.settings[0]
        if deterministic() and "deterministic" not in options:
            options = {**options, "deterministic": True}
        if not optional:
            made = _attention.attention_backward.again((q, k, v, None, None, None, None, None, o, do, lse, None), options, (layout,))
            if made is not None:
                return (None, None, *made)
        compiling = is_compiling()  # what of the graph is left of eager calls
        if not compiling:
            refuse_second_derivatives("attention")
        if do is None:
            return (None,) * len(ctx.needs_input_grad)
        if do.dtype != o.dtype:
            do = do.to(o.dtype)
        sequences = _sequences(kind, *optional) if optional else _NO_SEQUENCES
        if not compiling and is_plain(do, q, k, v, o, lse, *optional):
            found = _run_backward(do, q, k, v, o, lse, *sequences, layout, options)
        else:  # under a dispatch mode, or what hooks make of saved tensors
            found = torch.ops.tlc.attention_backward(do, q, k, v, o, lse, *sequences, layout, packed_options(options))
        if not optional:
            return (None, None, *found[:3])
        return (None, None, *found[:3], found[3] if optional[0] is not None else None, None, None, None)


deterministic = torch.are_deterministic_algorithms_enabled


def apply_of(function: Any) -> Any:
    """`Function.apply` less what it does for torch.func's transforms, which `is_plain` refuses."""
    return super(torch.autograd.Function, function).apply


_apply_eager = apply_of(_Eager)
_NO_SEQUENCES = (None,) * 6


def _sequences(kind, sink, one, other, philox):
    """Optional tensors as operators have them."""
    return (sink, one, other, None, None, philox) if kind.name == "attention_varlen" else (sink, None, None, one, other, philox)


def refuse_second_derivatives(call: str) -> None:
    if torch.is_grad_enabled():
        raise Error(f"{call}: second derivatives are not supported; call backward() or torch.autograd.grad without create_graph")


#: Options of forward that backward needs, too, as the same.
_OF_BOTH = ("causal", "window", "window_right", "mask", "block", "scale", "softcap", "lse", "dropout_p")
_OF_BACKWARD = ("deterministic", "dq", "dkv")


def attention(call, given: tuple, layout: str, return_lse: bool, options: Dict[str, Any]):
    """`tlc.attention` and `tlc.attention_varlen` of tensors of PyTorch."""
    q, k, v, sink = given[0], given[1], given[2], given[3]
    is_alone = sink is None and given[4] is None and given[5] is None and given[9] is None
    compiling = is_compiling()
    last = call.last_with_gradient
    try:
        is_known = (last is not None and is_alone and not compiling and last[0] == layout and last[1] == return_lse and last[2] == options and
                    (q.requires_grad or k.requires_grad or v.requires_grad) and is_grad_enabled() and _transforms() is None)
    except Exception:  # of what does not compare, such as a tensor among options, and of a tensor of another library
        is_known = False
    if is_known:
        try:
            found = _apply_eager(last[3], given, q, k, v)
            return _attention.Attended(*found) if return_lse else found
        except _Unlike:
            pass
    out = given[-1]
    try:
        needs_gradient = is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad or (sink is not None and sink.requires_grad) or
                                                (out is not None and out.requires_grad))
    except AttributeError:  # of a tensor of another library
        needs_gradient = calls.wants_gradient(given)
    of_forward = options
    if "deterministic" in options or "dq" in options or "dkv" in options:
        of_forward = {name: value for name, value in options.items() if name not in _OF_BACKWARD}
    if q.dtype in WIDE or k.dtype in WIDE or v.dtype in WIDE:
        q, k, v = autocast(q, k, v)
        given = q, k, v, *given[3:]
    is_eager = not compiling and is_plain(*given)
    if not is_eager and not compiling:
        if needs_gradient:
            calls.refuse_others(call.name, call.tensors, given)
        elif not all(one is None or isinstance(one, TENSOR) for one in given):
            is_eager = not is_traced(*given)
    if is_eager and not needs_gradient:
        return _attention.result_of(given, call.launch(given, of_forward, (layout, return_lse)), return_lse)
    if given[-1] is not None:
        raise Error(f"{call.name}: out= is for calls without gradients and outside of torch.compile and of dispatch modes; use the result")
    optional, scales = (*given[3:6], given[9]), given[6:9]
    if needs_gradient:
        if scales[0] is not None:
            raise Error("attention: expected inputs that require no gradient with scales of fp8, which has no backward; detach them")
        of_backward = {name: value for name, value in options.items() if name in _OF_BOTH or name in _OF_BACKWARD} if options else {}
        if is_eager:
            record = _Record(call, (layout, True), of_forward, of_backward, return_lse, False)
            found = _apply_eager(record, given, q, k, v, *(() if is_alone else optional))
            call.last_with_gradient = layout, return_lse, options, record._replace(is_known=True)
            return _attention.Attended(*found) if return_lse else found
        if deterministic():
            of_backward.setdefault("deterministic", True)
        o, lse = _Traced.apply(q, k, v, *_sequences(call, *optional), layout, packed_options(of_forward), packed_options(of_backward))
    elif is_alone and scales[0] is None and not return_lse:
        return torch.ops.tlc.attention(q, k, v, layout, packed_options(of_forward))
    else:
        o, lse = torch.ops.tlc.attention_forward(q, k, v, *_sequences(call, *optional), *scales, layout, packed_options(of_forward))
    return _attention.Attended(o, lse) if return_lse else o


# Calls without gradients.


def _decode_kernel(q, k, v, lengths_k, table, sink, dv, options):
    return tuple(_attention.attention_decode(q, k, v, lengths_k, table=table, sink=sink, dv=dv, return_lse=True, **options_of(options)))


def _decode_fake(q, k, v, lengths_k, table, sink, dv, options):
    last = v.shape[-1] if v is not None else dv
    return q.new_empty((*q.shape[:-1], last)), q.new_empty((q.shape[0], q.shape[2], q.shape[1]), dtype=torch.float32)


def _gemm_kernel(a, b, bias, residual, scale_a, scale_b, out_dtype, options):
    from ._kernels import gemm
    return gemm(a, b, bias=bias, residual=residual, scale_a=scale_a, scale_b=scale_b, out_dtype=out_dtype, **options_of(options))


def _gemm_fake(a, b, bias, residual, scale_a, scale_b, out_dtype, options):
    from ._kernels import result_of
    name = out_dtype or result_of(ELEMENTS[a.dtype].name)
    return a.new_empty((*a.shape[:-1], b.shape[-1]), dtype=DTYPES[BY_NAME[name].number])


def _softmax_kernel(x, options):
    from ._kernels import softmax
    return softmax(x, **options_of(options))


def _softmax_fake(x, options):
    return x.new_empty(x.shape)


def softmax_backward(dy, y):
    from ._kernels import ops
    # A program takes any rows. The next power of two stands for their length, by which the kernel chooses its tile.
    options = {"columns": 1 << max(y.shape[-1] - 1, 0).bit_length()}
    if y.dim() == 2:
        return ops.softmax_bwd(y.contiguous(), dy.contiguous(), **options)
    shape = math.prod(y.shape[:-1]), y.shape[-1]
    return ops.softmax_bwd(y.reshape(shape), dy.reshape(shape).contiguous(), **options).reshape(y.shape)


def _softmax_backward_fake(dy, y):
    return y.new_empty(y.shape)


_OPERATORS: Dict[str, Tuple[str, Any, Any]] = {
    "attention": ("(Tensor q, Tensor k, Tensor v, str layout, str options) -> Tensor", _plain_kernel, _plain_fake),
    "attention_forward": (f"(Tensor q, Tensor k, Tensor v, {_SEQUENCES}, Tensor? scale_q, Tensor? scale_k, Tensor? scale_v, str layout, "
                          "str options) -> (Tensor, Tensor)", _forward_kernel, _forward_fake),
    "attention_backward": (f"(Tensor do, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, {_SEQUENCES}, str layout, str options) -> "
                           "(Tensor, Tensor, Tensor, Tensor)", _backward_kernel, _backward_fake),
    "attention_decode": ("(Tensor q, Tensor k, Tensor? v, Tensor lengths_k, Tensor? table, Tensor? sink, int? dv, str options) -> "
                         "(Tensor, Tensor)", _decode_kernel, _decode_fake),
    "gemm": ("(Tensor a, Tensor b, Tensor? bias, Tensor? residual, Tensor? scale_a, Tensor? scale_b, str? out_dtype, str options) -> Tensor",
             _gemm_kernel, _gemm_fake),
    "softmax": ("(Tensor x, str options) -> Tensor", _softmax_kernel, _softmax_fake),
    "softmax_backward": ("(Tensor dy, Tensor y) -> Tensor", softmax_backward, _softmax_backward_fake),
}


def _define() -> Any:
    """Keeps the library alive that has the operators."""
    register_fake = getattr(torch.library, "register_fake", None) or getattr(torch.library, "impl_abstract", None)
    if register_fake is None:
        return None
    library = torch.library.Library("tlc", "DEF")
    for name, (schema, kernel, fake) in _OPERATORS.items():
        library.define(name + schema)
        for key in ("CPU", "CUDA"):
            library.impl(name, kernel, key)
        register_fake(f"tlc::{name}", fake)
    return library


_library = _define()


def is_traced(*tensors) -> bool:
    """Whether a call on these has to be an operator."""
    return is_compiling() or not is_plain(*[one for one in tensors if isinstance(one, TENSOR)])
