# SPDX-License-Identifier: Apache-2.0
"""Attention, its gradients, packed sequences and decoding."""

from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple

from . import _calls as calls
from . import _programs as programs
from ._arrays import Array
from ._programs import Output, Problem, program_of, rounded

#: Which axis of the caller's tensor each of b x s x h x d is.
LAYOUTS = {"bshd": (0, 1, 2, 3), "bhsd": (0, 2, 1, 3)}
MOST_LENGTHS = 64  # of sequences that stand for those of a call
#: Extents, and what tensors say: no options.
DERIVED = frozenset(("b", "sq", "sk", "h", "hkv", "d", "dv", "dtype", "sink", "varlen", "varlen_k", "padded", "padded_k", "do_stride", "kv",
                     "page", "shortest"))

class Attended(NamedTuple):
    """The result of attention: O, and the logarithm of each row's sum of exponentials."""

    o: Any
    lse: Any


class Gradients(NamedTuple):
    """The gradients of attention; that of the sink is None where there is none."""

    dq: Any
    dk: Any
    dv: Any
    dsink: Any


class Extents(NamedTuple):
    """What the tensors of a call say."""

    axes: Tuple[int, ...]  # of the caller's tensors: LAYOUTS, or none of packed sequences
    q: Array  # as the kernel has them
    k: Array
    v: Array
    values: Dict[str, Any]


def lengths(count: int, rows: int) -> list:
    """Lengths of sequences that have so many rows together."""
    count = min(max(count, 1), MOST_LENGTHS)
    return [rounded(-(-rows // count))] * count


def extents_of(call: calls.Call, given: calls.Arrays, layout: str) -> Extents:
    """Q, K and V as kernels take them, and parameters that follow."""
    packed = "cu_seqlens_q" in given
    if packed:
        axes: Tuple[int, ...] = (0, 1, 2)
        expected: Tuple[str, ...] = ("t", "h", "d")
    elif layout in LAYOUTS:
        axes, expected = LAYOUTS[layout], tuple(layout)
    else:
        raise call.mistake(f"expected layout among {', '.join(LAYOUTS)}, but got {layout!r}")
    for name in ("q", "k", "v"):
        calls.check_rank(call.name, name, given[name], expected)
    q, k, v = (given[name].permuted(axes) for name in ("q", "k", "v"))
    values = {"d": q.shape[-1], "dv": v.shape[-1], "h": q.shape[-2], "hkv": k.shape[-2], "dtype": q.element.name,
              "sink": "sink" in given}
    if packed:
        count = given["cu_seqlens_q"].shape[0] - 1 if given["cu_seqlens_q"].shape else 1
        values.update(varlen=lengths(count, q.shape[0]), varlen_k=lengths(count, k.shape[0]))
    else:
        b, sq, sk = q.shape[0], rounded(q.shape[1]), rounded(k.shape[1])
        values.update(sq=sq, sk=sk)
        if "lengths_q" in given:
            count = min(max(b, 1), MOST_LENGTHS)
            values.update(padded=[sq] * count, padded_k=[sk] * count)
        else:
            values["b"] = rounded(b)
    if q.element.name == "e4m3":
        del values["dtype"]
    return Extents(axes, q, k, v, values)


def check_dtype(call: calls.Call, kernel: programs.Kernel, q: Array) -> None:
    """The kernel's own check does not know what a caller may do instead."""
    dtype = kernel.option("dtype")
    if dtype is not None and q.element.name not in dtype.allowed.split(" | "):
        raise call.mistake(f"argument 'q': expected an element type among {dtype.allowed}, or e4m3 with scale_q, scale_k and scale_v, but got {q}; "
                           "convert it, as by .bfloat16(), or call it under torch.autocast")


def lengths_of(given: calls.Arrays, index: Dict[str, int]) -> Dict[str, Tuple[int, Array]]:
    """The arguments of packed and padded sequences, of the sink, of scales and of dropout."""
    renamed = {"cu_seqlens_q": "begins_q", "cu_seqlens_k": "begins_k", "lengths_q": "lengths_q", "lengths_k": "lengths_k", "sink": "sink",
               "scale_q": "scaleQ", "scale_k": "scaleK", "scale_v": "scaleV", "philox": "philox"}
    return {argument: (index[name], given[name]) for name, argument in renamed.items() if name in given}


def inverse(axes: Tuple[int, ...]) -> Tuple[int, ...]:
    return tuple(axes.index(axis) for axis in range(len(axes)))


def output(argument: str, shape: Tuple[int, ...], axes: Tuple[int, ...]) -> Output:
    """An output of the kernel's shape, as the caller's layout has it."""
    back = inverse(axes)
    return Output(argument, tuple(shape[axis] for axis in back), lambda array: array.permuted(axes))


def result_of(given: tuple, made: Sequence[Any], return_lse: bool) -> Any:
    """`out` is the last one that is given."""
    o = given[-1] if given[-1] is not None else made[0]
    return Attended(o, made[-1]) if return_lse else o


def without_dropout(options: Dict[str, Any]) -> bool:
    """Whether nothing is dropped: 0 takes no other program, and needs no seed."""
    if options.get("dropout_p", 0):
        return False
    options.pop("dropout_p", None)
    return True


class _Forward(calls.Call):
    """What attention has in common with that of packed sequences."""

    kernel_name, derived = "attention_fwd", DERIVED
    #: Layout, whether LSE is returned, options, and what the route of PyTorch makes of them.
    last_with_gradient: Optional[Tuple[str, bool, Dict[str, Any], Any]] = None

    def forget(self):
        super().forget()
        self.last_with_gradient = None

    def run(self, given: tuple, layout: str, return_lse: bool, options: Dict[str, Any]):
        """Without gradients, on plain tensors."""
        return result_of(given, self.launch(given, options, (layout, return_lse)), return_lse)

    def dropped(self, route, q, philox, generator, options: Dict[str, Any]) -> Any:
        """The seed and offset of a call with dropout, which it draws where none are given; none without dropout."""
        if without_dropout(options):
            if generator is not None:
                raise self.mistake("expected dropout_p with generator, which draws the seed of dropout, but got none")
            return None
        if philox is not None:
            return philox
        if route is None:
            raise self.mistake("expected philox, a tensor of i64[2] with seed and offset, with dropout_p, because these tensors' library draws "
                               "none")
        return route.draw(q, generator)

    def solve(self, device, given, options, settings) -> Problem:
        extents = extents_of(self, given, settings[0])
        fp8 = extents.q.element.name == "e4m3"
        kernel = self.kernel("attention_fwd_fp8" if fp8 else "attention_fwd")
        check_dtype(self, kernel, extents.q)
        index = {name: number for number, name in enumerate(given)}
        inputs = {"Q": (index["q"], extents.q), "K": (index["k"], extents.k), "V": (index["v"], extents.v), **lengths_of(given, index)}
        shape = (*extents.q.shape[:-1], extents.v.shape[-1])
        values = extents.values
        operands = [extents.q, extents.k, extents.v]
        outputs = []
        if "out" in given:
            expected = tuple(shape[axis] for axis in inverse(extents.axes))
            calls.check_out(self.name, given["out"], expected)
            inputs["O"] = index["out"], given["out"].permuted(extents.axes)
            operands.append(inputs["O"][1])
            if fp8:
                values["out"] = given["out"].element.name
        else:
            outputs.append(output("O", shape, extents.axes))
        heads = (extents.q.shape[-2], extents.q.shape[0]) if len(shape) == 3 else (extents.q.shape[0], extents.q.shape[2], extents.q.shape[1])
        outputs.append(Output("LSE", heads, is_returned=settings[1]))
        if "form" not in options and not all(map(calls.is_aligned, operands)):
            values["form"] = "plain"
        program = program_of(device, kernel, self.values(kernel, values, options))
        return Problem(program, inputs, tuple(outputs))


class Attention(_Forward):
    """O = softmax(scale Q Kᵀ, masked) V, on the device of the tensors: f16, bf16, or e4m3 with `scale_q`, `scale_k` and `scale_v`.

    `layout` says what the axes are, "bshd" or "bhsd"; strides may be any that leave the last axis contiguous, and nothing is
    copied. `causal="left"` lets query i see keys up to i, as PyTorch's `is_causal` does, and `causal="right"` aligns the last
    query with the last key. `tlc.attention.options` lists this and all other options. Sequences that do not fill the tensors
    have `lengths_q` and `lengths_k`, i32 of the device. A `sink` is a further score for each head. With `return_lse` the result is
    (o, lse), where lse[b, h, s] has the logarithms of the sums to the base e, or 2 with `lse="2"`. Without `out` the tensors' library
    makes the result. `dropout_p` is the chance that a weight becomes 0; the others are divided by 1 - dropout_p. `philox`, i64[2] on the
    device, says which ones by a seed and an offset; PyTorch draws it, from `generator` or its own, where it is not given.

    With tensors of PyTorch that require gradients it is differentiable, and works under torch.compile (docs/python.md).

    >>> import tlc
    >>> q = k = v = tlc.tensor([[[[float(i == j) for j in range(8)]] for i in range(3)]], "f16")
    >>> o, lse = tlc.attention(q, k, v, causal="left", return_lse=True)
    >>> o.shape, lse.shape, o.tolist()[0][0][0][:2]
    ((1, 3, 1, 8), (1, 1, 3), [1.0, 0.0])
    """

    name = "attention"
    tensors = "q", "k", "v", "sink", "lengths_q", "lengths_k", "scale_q", "scale_k", "scale_v", "philox", "out"

    def __call__(self, q, k, v, *, layout: str = "bshd", sink=None, lengths_q=None, lengths_k=None, scale_q=None, scale_k=None,
                 scale_v=None, philox=None, generator=None, return_lse: bool = False, out=None, **options):
        given = q, k, v, sink, lengths_q, lengths_k, scale_q, scale_k, scale_v, philox, out
        if generator is None and not getattr(q, "requires_grad", False):
            made = self.again(given, options, (layout, return_lse))
            if made is not None and not return_lse:
                return made[0] if out is None else out
            if made is not None:
                return result_of(given, made, return_lse)
        route = calls.torch_route(q)
        if "dropout_p" in options or generator is not None:
            given = *given[:9], self.dropped(route, q, philox, generator, options), out
        if route is not None:
            return route.attention(self, given, layout, return_lse, options)
        calls.refuse_mixture(self.name, self.tensors, given)
        return self.run(given, layout, return_lse, options)

    def bind(self, q, k, v, *, layout: str = "bshd", sink=None, lengths_q=None, lengths_k=None, scale_q=None, scale_k=None, scale_v=None,
             philox=None, out=None, **options) -> programs.Bound:
        """A function of no arguments that computes `tlc.attention` of these tensors again, at their addresses, on the stream
        that is current then. What is not given by `out` is in `outputs`."""
        philox = None if without_dropout(options) else philox
        return calls.bind(self, dict(q=q, k=k, v=v, sink=sink, lengths_q=lengths_q, lengths_k=lengths_k, scale_q=scale_q, scale_k=scale_k,
                                     scale_v=scale_v, philox=philox, out=out), options, (layout, True))


class AttentionVarlen(_Forward):
    """Attention of packed sequences: tensors of t x h x d, in which sequence n has the rows from cu_seqlens[n] to before
    cu_seqlens[n + 1], i32 of the device of n + 1 numbers. LSE is h x t. Otherwise as `tlc.attention`.

    >>> import tlc
    >>> x = tlc.tensor([[[1.0] * 8] for _ in range(5)], "f16")
    >>> o = tlc.attention_varlen(x, x, x, tlc.tensor([0, 2, 5], "i32"), causal="left")
    >>> o.shape
    (5, 1, 8)
    """

    name = "attention_varlen"
    tensors = "q", "k", "v", "sink", "cu_seqlens_q", "cu_seqlens_k", "scale_q", "scale_k", "scale_v", "philox", "out"

    def __call__(self, q, k, v, cu_seqlens_q, cu_seqlens_k=None, *, sink=None, scale_q=None, scale_k=None, scale_v=None,
                 philox=None, generator=None, return_lse: bool = False, out=None, **options):
        cu_seqlens_k = cu_seqlens_q if cu_seqlens_k is None else cu_seqlens_k
        given = q, k, v, sink, cu_seqlens_q, cu_seqlens_k, scale_q, scale_k, scale_v, philox, out
        if generator is None and not getattr(q, "requires_grad", False):
            made = self.again(given, options, ("", return_lse))
            if made is not None and not return_lse:
                return made[0] if out is None else out
            if made is not None:
                return result_of(given, made, return_lse)
        route = calls.torch_route(q)
        if "dropout_p" in options or generator is not None:
            given = *given[:9], self.dropped(route, q, philox, generator, options), out
        if route is not None:
            return route.attention(self, given, "", return_lse, options)
        calls.refuse_mixture(self.name, self.tensors, given)
        return self.run(given, "", return_lse, options)

    def bind(self, q, k, v, cu_seqlens_q, cu_seqlens_k=None, *, sink=None, scale_q=None, scale_k=None, scale_v=None, philox=None,
             out=None, **options) -> programs.Bound:
        cu_seqlens_k = cu_seqlens_q if cu_seqlens_k is None else cu_seqlens_k
        philox = None if without_dropout(options) else philox
        return calls.bind(self, dict(q=q, k=k, v=v, sink=sink, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k, scale_q=scale_q,
                                     scale_k=scale_k, scale_v=scale_v, philox=philox, out=out), options, ("", True))


class AttentionBackward(calls.Call):
    """The gradients of `tlc.attention`, from its tensors, its results and the gradient `do` of O; options are those of forward,
    in particular `lse` and `dropout_p` with `philox`, and of backward (`tlc.attention_backward.options`). `deterministic=True` asks for the same bits in
    every run.

    >>> import tlc
    >>> q = k = v = do = tlc.tensor([[[[float(i == j) for j in range(8)]] for i in range(3)]], "f16")
    >>> o, lse = tlc.attention(q, k, v, return_lse=True)
    >>> tlc.attention_backward(do, q, k, v, o, lse).dq.shape
    (1, 3, 1, 8)
    """

    name, kernel_name, derived = "attention_backward", "attention_bwd", DERIVED
    tensors = "q", "k", "v", "lengths_q", "lengths_k", "cu_seqlens_q", "cu_seqlens_k", "sink", "o", "do", "lse", "philox"

    def __call__(self, do, q, k, v, o, lse, *, layout: str = "bshd", sink=None, lengths_q=None, lengths_k=None, cu_seqlens_q=None,
                 cu_seqlens_k=None, philox=None, **options) -> Gradients:
        philox = None if without_dropout(options) else philox
        return self.run((q, k, v, lengths_q, lengths_k, cu_seqlens_q, cu_seqlens_k, sink, o, do, lse, philox), layout, options)

    def run(self, given: tuple, layout: str, options: Dict[str, Any]) -> Gradients:
        made = self.launch(given, options, (layout,))
        return Gradients(*made, *([None] if len(made) == 3 else []))

    def solve(self, device, given, options, settings) -> Problem:
        extents = extents_of(self, given, settings[0])
        kernel = self.kernel("attention_bwd")
        check_dtype(self, kernel, extents.q)
        index = {name: number for number, name in enumerate(given)}
        for name in ("o", "do"):
            calls.check_rank(self.name, name, given[name], [str(axis) for axis in range(len(extents.axes))])
        o, do, lse = given["o"].permuted(extents.axes), given["do"].permuted(extents.axes), given["lse"]
        values = extents.values
        if do.strides[-1] != 1 and do.shape[-1] != 1 and 0 not in do.shape:
            values["do_stride"] = "any"
            do = do.viewed((*do.shape, 1), (*do.strides, 1))
        operands = [extents.q, extents.k, extents.v, o] + ([] if "do_stride" in values else [do])
        if "form" not in options and not all(map(calls.is_aligned, operands)):
            values["form"] = "plain"
        inputs = {"Q": (index["q"], extents.q), "K": (index["k"], extents.k), "V": (index["v"], extents.v), "O": (index["o"], o),
                  "dO": (index["do"], do), "LSE": (index["lse"], lse), **lengths_of(given, index)}
        outputs = [output("dQ", extents.q.shape, extents.axes), output("dK", extents.k.shape, extents.axes),
                   output("dV", extents.v.shape, extents.axes)]
        if "sink" in given:
            outputs.append(Output("dSink", given["sink"].shape))
        return Problem(program_of(device, kernel, self.values(kernel, values, options)), inputs, tuple(outputs))


class AttentionDecode(calls.Call):
    """Attention of 1 to 16 queries of each sequence, q[b, sq, h, d], to a cache of keys and values, k[b, sk, hkv, d], of which
    `lengths_k[b]`, i32, are used. With `table[b, maxpages]`, i32, the cache has pages: k[pages, page, hkv, d]. Without `v` the
    first `dv` elements of each key are its value. LSE is b x h x sq.

    >>> import tlc
    >>> q = tlc.tensor([[[[1.0] * 8] * 2]], "f16")
    >>> cache = tlc.tensor([[[[0.5] * 8]] * 32], "f16")
    >>> tlc.attention_decode(q, cache, cache, tlc.tensor([3], "i32")).tolist()[0][0][1][0]
    0.5
    """

    name, kernel_name = "attention_decode", "attention_decode"
    derived = DERIVED | {"values"}
    tensors = "q", "k", "v", "lengths_k", "table", "sink", "out"

    def __call__(self, q, k, v, lengths_k, *, table=None, sink=None, dv: Optional[int] = None, return_lse: bool = False, out=None, **options):
        given = q, k, v, lengths_k, table, sink, out
        made = self.again(given, options, (dv, return_lse))
        if made is None:
            calls.refuse_gradients(self.name, self.tensors, given, "use tlc.attention")
            route = calls.torch_route(q)
            if route is not None and out is None and route.is_traced(q, k, v):
                made = route.torch.ops.tlc.attention_decode(q, k, v, lengths_k, table, sink, dv, route.packed_options(options))
            else:
                made = self.anew(given, options, (dv, return_lse))
        return result_of(given, made, return_lse)

    def bind(self, q, k, v, lengths_k, *, table=None, sink=None, dv: Optional[int] = None, out=None, **options) -> programs.Bound:
        """As `tlc.attention.bind`."""
        return calls.bind(self, dict(q=q, k=k, v=v, lengths_k=lengths_k, table=table, sink=sink, out=out), options, (dv, True))

    def solve(self, device, given, options, settings) -> Problem:
        q, k, paged = given["q"], given["k"], "table" in given
        calls.check_rank(self.name, "q", q, ("b", "sq", "h", "d"))
        calls.check_rank(self.name, "k", k, ("pages", "page", "hkv", "d") if paged else ("b", "sk", "hkv", "d"))
        b, sq, h, d = q.shape
        hkv = k.shape[2]
        if hkv == 0 or h % hkv:
            raise self.mistake(f"argument 'q': expected a multiple of the {hkv} heads of k, but got {h}")
        group = h // hkv
        dv = given["v"].shape[-1] if "v" in given else settings[0]
        if dv is None:
            raise self.mistake("expected v, or dv, the number of elements of a key that are its value, but got neither")

        def split(array: Array) -> Array:
            """b x s x h x d with an axis for the heads that share one of k."""
            shape, strides = array.shape, array.strides
            return array.viewed((*shape[:2], hkv, group, shape[3]), (*strides[:2], group * strides[2], strides[2], strides[3]))

        values = {"b": rounded(b), "sq": sq, "h": h, "hkv": hkv, "d": d, "dv": dv, "dtype": q.element.name, "sink": "sink" in given,
                  "values": "apart" if "v" in given else "keys"}
        if paged:
            calls.check_rank(self.name, "table", given["table"], ("b", "maxpages"))
            values.update(kv="paged", page=k.shape[1], sk=rounded(k.shape[1] * given["table"].shape[1]))
        else:
            values["sk"] = rounded(k.shape[1])
        index = {name: number for number, name in enumerate(given)}
        inputs = {"Q": (index["q"], split(q)), "K": (index["k"], k), "lengths_k": (index["lengths_k"], given["lengths_k"])}
        if "v" in given:
            inputs["V"] = index["v"], given["v"]
        if paged:
            inputs["table"] = index["table"], given["table"]
        if "sink" in given:
            sink = given["sink"]
            calls.check_rank(self.name, "sink", sink, ("h",))
            inputs["sink"] = index["sink"], sink.viewed((hkv, group), (group * sink.strides[0], sink.strides[0]))
        shape, outputs = (b, sq, h, dv), []
        if "out" in given:
            calls.check_out(self.name, given["out"], shape)
            inputs["O"] = index["out"], split(given["out"])
        else:
            outputs.append(Output("O", shape, split))
        outputs.append(Output("LSE", (b, h, sq), lambda array: array.viewed((b, hkv, group, sq), (h * sq, group * sq, sq, 1)), settings[1]))
        kernel = self.kernel(self.kernel_name)
        return Problem(program_of(device, kernel, self.values(kernel, values, options)), inputs, tuple(outputs))


attention = Attention()
attention_varlen = AttentionVarlen()
attention_backward = AttentionBackward()
attention_decode = AttentionDecode()
