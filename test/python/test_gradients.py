#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gradients of products, softmax and kernels by name, against PyTorch's in double precision: here on the emulator, and on a GPU by
test_torch_gpu.py. Those of attention are in test_torch.py."""

import os
import unittest
import unittest.mock

from support import ROOT, Case, needs_torch, tlc, torch

FILE, GRADIENTS = (os.path.join(ROOT, "test", "files", name) for name in ("squares.cpp", "gradients.cpp"))


def gelu(x):
    return torch.nn.functional.gelu(x)


def silu(x):
    return x * torch.sigmoid(x)


class Gradients:
    """On `device`."""

    device = "cpu"

    def make(self, *shape, dtype=None):
        return torch.randn(*shape).to(dtype or torch.bfloat16).to(self.device)

    def check(self, call, exact, *tensors, limit=1e-2, wanted=None):
        """Results, and gradients of the `wanted` tensors (all), against a function of tensors in double precision."""
        ours = [x.detach().requires_grad_(wanted is None or number in wanted) for number, x in enumerate(tensors)]
        theirs = [x.detach().double().requires_grad_(x.requires_grad) for x in ours]
        y, z = call(*ours), exact(*theirs)
        dy = torch.randn(y.shape).to(y.dtype).to(self.device)
        self.assertTrue(y.requires_grad)
        y.backward(dy)
        z.backward(dy.double())
        self.near(y, z, limit)
        for x, e in zip(ours, theirs):
            self.assertEqual(x.grad is None, e.grad is None)
            if x.grad is not None:
                self.assertEqual((x.grad.dtype, x.grad.shape), (x.dtype, x.shape))
                self.near(x.grad, e.grad, limit)

    def near(self, actual, exact, limit):
        self.assertEqual(actual.shape, exact.shape)
        self.assertLessEqual((actual.double() - exact).abs().max().item(), limit * max(exact.abs().max().item(), 1e-3))

    def test_products(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            a, w = self.make(20, 24, dtype=dtype), self.make(40, 24, dtype=dtype)
            self.check(lambda a, w: tlc.gemm(a, w.t()), lambda a, w: a @ w.t(), a, w)

    def test_layouts_of_factors(self):
        a, b = self.make(20, 24), self.make(24, 40)
        self.check(tlc.gemm, lambda a, b: a @ b, a, b)
        self.check(lambda a, b: tlc.gemm(a.t(), b.t()), lambda a, b: a.t() @ b.t(), self.make(24, 20), self.make(40, 24))
        self.check(lambda a, b: tlc.gemm(a, b).t(), lambda a, b: (a @ b).t(), a, b)
        self.check(lambda a, b: tlc.gemm(a, b).sum(), lambda a, b: (a @ b).sum(), a, b, limit=2e-2)  # of an expanded gradient
        self.check(lambda a, b: tlc.gemm(a[:, 1:], b[1:, 3:]), lambda a, b: a[:, 1:] @ b[1:, 3:], a, b)  # rows that begin anywhere

    def test_products_of_one_row_or_column(self):
        """An axis of extent 1 has any stride, so that both orders of axes fit."""
        for dtype in (torch.float32, torch.bfloat16):
            for m, n, k in ((1, 8, 16), (4, 1, 16), (4, 8, 1), (1, 1, 1)):
                self.check(lambda a, w: tlc.gemm(a, w.t()), lambda a, w: a @ w.t(), self.make(m, k, dtype=dtype), self.make(n, k, dtype=dtype))
        a, w = self.make(3, 1, 16, dtype=torch.float32), self.make(3, 8, 16, dtype=torch.float32)
        self.check(lambda a, w: tlc.gemm(a, w.transpose(1, 2)), lambda a, w: a @ w.transpose(1, 2), a, w)
        a, b = self.make(4, 5, dtype=torch.float32), self.make(1, 8, dtype=torch.float32)
        self.check(lambda a, b: tlc.gemm(a[:, 2:3], b), lambda a, b: a[:, 2:3] @ b, a, b)

    def test_views_of_factors_and_gradients(self):
        """Rows of any length that begin anywhere, also those of the gradient."""
        x, w = self.make(4, 16), self.make(8, 4)
        self.check(lambda x, w: tlc.gemm(x[:, 1:5], w.t()), lambda x, w: x[:, 1:5] @ w.t(), x, w)
        self.check(lambda x, w: tlc.gemm(w, x[:, 1:5].t()), lambda x, w: w @ x[:, 1:5].t(), x, w)
        for n in (2, 4, 8, 12):
            for offset in (1, 2):
                zeros, w = torch.zeros(4, offset, dtype=x.dtype, device=self.device), self.make(n, 16)
                self.check(lambda x, w: torch.cat([zeros, tlc.gemm(x, w.t())], 1), lambda x, w: torch.cat([zeros, x @ w.t()], 1), x, w)

    def test_some_gradients_of_products(self):
        a, b, bias = self.make(20, 24), self.make(24, 40), self.make(40, dtype=torch.float32)
        for wanted in ((0,), (1,), (2,)):
            for activation in ("none", "silu"):
                self.check(lambda a, b, bias: tlc.gemm(a, b, bias=bias, activation=activation),
                           lambda a, b, bias: silu(a @ b + bias) if activation == "silu" else a @ b + bias, a, b, bias, wanted=wanted)

    def test_epilogues(self):
        a, w = self.make(20, 24), self.make(40, 24)
        bias, residual = self.make(40, dtype=torch.float32), self.make(20, 40)
        for name, function in (("none", lambda x: x), ("relu", torch.relu), ("gelu", gelu), ("silu", silu)):
            self.check(lambda a, w, bias, residual: tlc.gemm(a, w.t(), bias=bias, residual=residual, activation=name),
                       lambda a, w, bias, residual: function(a @ w.t() + bias) + residual, a, w, bias, residual)
            self.check(lambda a, w: tlc.gemm(a, w.t(), activation=name, out_dtype="f32"), lambda a, w: function(a @ w.t()), a, w)

    def test_transposed_gradients_of_epilogues(self):
        for name, function in (("relu", torch.relu), ("gelu", gelu), ("silu", silu)):
            self.check(lambda a, w: tlc.gemm(a, w.t(), activation=name).t(), lambda a, w: function(a @ w.t()).t(), self.make(7, 16), self.make(8, 16))

    def test_batches(self):
        a, b, bias = self.make(3, 20, 24), self.make(3, 24, 40), self.make(40, dtype=torch.float32)
        self.check(lambda a, b, bias: tlc.gemm(a, b, bias=bias), lambda a, b, bias: a @ b + bias, a, b, bias)
        self.check(lambda a, b: tlc.gemm(a, b[:1].expand(3, -1, -1)), lambda a, b: a @ b[:1], a, b, wanted=(0, 1))

    def test_softmax(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            for shape in ((5, 33), (2, 3, 64), (17,)):
                self.check(tlc.softmax, lambda x: x.softmax(-1), self.make(*shape, dtype=dtype))
        self.check(lambda x: tlc.softmax(x).t(), lambda x: x.softmax(-1).t(), self.make(9, 70))
        self.check(lambda x: tlc.softmax(x).float().square().sum(), lambda x: x.softmax(-1).square().sum(), self.make(3, 5000))
        x = torch.full((1, 8), -float("inf"), device=self.device, requires_grad=True)
        tlc.softmax(x).sum().backward()
        self.assertEqual(x.grad.abs().max().item(), 0)

    def test_norms(self):
        x, w, b = self.make(5, 64), self.make(64, dtype=torch.float32), self.make(64, dtype=torch.float32)
        self.check(lambda x, w: tlc.ops.rms_norm(x, w).Y, lambda x, w: x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * w, x, w)
        self.check(lambda x, w, b: tlc.ops.layer_norm(x, w, B=b).Y,
                   lambda x, w, b: torch.nn.functional.layer_norm(x, (64,), w, b, 1e-5), x, w, b)
        self.check(lambda x: tlc.ops.rms_norm(x, w)[0].sum(), lambda x: (x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * w).sum(), x,
                   limit=2e-2)
        y, r = tlc.ops.rms_norm(x.requires_grad_(), w)
        self.assertTrue(y.requires_grad and not r.requires_grad)

    def test_losses(self):
        labels = torch.tensor([1, 2, -100, 5, 63], dtype=torch.int32, device=self.device)
        self.check(lambda x: tlc.ops.cross_entropy(x, labels).Loss,
                   lambda x: torch.nn.functional.cross_entropy(x, labels.long(), reduction="none"), self.make(5, 64))

    def test_other_kernels(self):
        x = self.make(5, 64)
        self.check(lambda x: tlc.ops.swiglu(x.view(5, 2, 32)), lambda x: silu(x[:, :32]) * x[:, 32:], x)
        self.check(tlc.ops.softmax, lambda x: x.softmax(-1), x)
        for columns in (33, 37, 100):
            self.check(tlc.ops.softmax, lambda x: x.softmax(-1), self.make(3, columns))
        kept = (tlc.ops.dropout(torch.ones_like(x), drop=30, seed=5) != 0).double() / 0.7
        self.check(lambda x: tlc.ops.dropout(x, drop=30, seed=5), lambda x: x * kept, x)
        words = torch.tensor([1, 2, 2, 5, -1], dtype=torch.int32, device=self.device)
        self.check(lambda e: tlc.ops.embedding(words, e), lambda e: e[words.long()] * (words >= 0)[:, None], self.make(9, 16))

    def test_rotary(self):
        heads, position = self.make(6, 2, 32), torch.tensor([3, 1, 4, 1, 5, 2], dtype=torch.int32, device=self.device)
        angles = torch.randn(8, 16).to(self.device)
        cosine, sine = angles.cos(), angles.sin()

        def turned(x, sign):
            c, s = (table.double()[position.long()][:, None] for table in (cosine, sign * sine))
            return torch.cat([x[..., :16] * c - x[..., 16:] * s, x[..., 16:] * c + x[..., :16] * s], -1)

        self.check(lambda x: tlc.ops.rotary(x, position, cosine, sine, d=32), lambda x: turned(x, 1), heads)
        self.check(lambda x: tlc.ops.rotary(x, position, cosine, sine, d=32, direction="backward"), lambda x: turned(x, -1), heads)
        self.refused("rotary: argument 'Cos' requires a gradient, but rotary computes no gradient of it; pass Cos.detach()",
                     lambda: tlc.ops.rotary(heads, position, cosine.clone().requires_grad_(), sine, d=32))

    def test_options_of_calls_with_gradients(self):
        """Are those of calls without, also of types that a graph could not have as constants."""
        class Number(int):
            def __repr__(self):
                return f"Number({self})"

            __str__ = int.__repr__

        x = self.make(8, 64).requires_grad_()
        self.near(tlc.gemm(x, x.t(), bm=Number(64)), x.double() @ x.double().t(), 1e-2)
        self.near(tlc.softmax(x, warps=Number(1)), x.double().softmax(-1), 1e-2)
        for call in (lambda: tlc.gemm(x, x.t(), activation="relu;x=1"), lambda: tlc.gemm(x.detach(), x.detach().t(), activation="relu;x=1")):
            self.refused("activation", call)

    def test_second_derivatives_are_refused(self):
        x = self.make(16, 16).requires_grad_()
        for name, call in (("gemm", lambda: tlc.gemm(x, x.t())), ("softmax", lambda: tlc.softmax(x)),
                           ("swiglu", lambda: tlc.ops.swiglu(x.view(8, 2, 16)))):
            self.refused(f"{name}: second derivatives are not supported", lambda: torch.autograd.grad(call().sum(), x, create_graph=True))

    def test_gradients_that_are_refused(self):
        x = self.make(16, 16).requires_grad_()
        y, words = torch.empty_like(x), torch.zeros(16, dtype=torch.int32, device=self.device)
        self.refused("softmax: out= is for calls without gradients; use the result", lambda: tlc.softmax(x, out=y))
        self.refused("gemm: out= is for calls without gradients; use the result", lambda: tlc.gemm(x, x, out=y))
        self.refused("gemm: expected accumulate=True with out and without a residual, but there is no out", lambda: tlc.gemm(x, x, accumulate=True))
        self.refused("gemm: expected accumulate=True with out and without a residual, but got a residual",
                     lambda: tlc.gemm(x, x, accumulate=True, out=y, residual=y))
        self.refused("swiglu: out= is for calls without gradients", lambda: tlc.ops.swiglu(x.view(8, 2, 16), out=y[:8]))
        q = self.make(1, 8, 1, 16)
        self.refused("attention: out= is for calls without gradients", lambda: tlc.attention(q, q, q, out=q.clone().requires_grad_()))
        self.refused("softmax.bind: argument 'x' requires a gradient", lambda: tlc.softmax.bind(x))
        self.refused("swiglu.bind: argument 'X' requires a gradient", lambda: tlc.ops.swiglu.bind(x.view(8, 2, 16)))
        self.refused("gemv: argument 'A' requires a gradient, but there is no kernel gemv_bwd; pass A.detach(), call it under torch.no_grad(), "
                     "or use tlc.gemm", lambda: tlc.ops.gemv(x, x.detach()[0]))
        self.refused("embedding_bwd: argument 'dY' requires a gradient, but this kernel changes 'dE' in place",
                     lambda: tlc.ops.embedding_bwd(words, x, dE=torch.zeros(4, 16, device=self.device)))
        i8, scale = torch.ones(16, 16, dtype=torch.int8, device=self.device), torch.ones(1, device=self.device, requires_grad=True)
        self.refused("gemm: expected a and b of f16, bf16 or f32 without scales, because a tensor requires a gradient, but got torch.int8 with scales",
                     lambda: tlc.gemm(i8, i8.t(), scale_a=scale, scale_b=scale))
        self.refused("gemm: expected out_dtype among f16, bf16, f32, because a tensor requires a gradient, but got e4m3",
                     lambda: tlc.gemm(x, x, out_dtype="e4m3"))
        q = self.make(1, 1, 2, 16).requires_grad_()
        self.refused("attention_decode: argument 'q' requires a gradient, which this call does not have; pass q.detach(), call it under "
                     "torch.no_grad(), or use tlc.attention", lambda: tlc.attention_decode(q, q, q, words[:1]))
        with torch.no_grad():
            self.assertFalse(tlc.softmax(x, out=y).requires_grad or tlc.gemm(x, x).requires_grad or tlc.ops.gemv(x, x[0]).requires_grad)

    def test_writes_of_saved_tensors(self):
        """A tensor that tlc writes after an operation saved it is an error of backward, as one that PyTorch writes."""
        x, ones = self.make(8, 16), self.make(16, dtype=torch.float32)
        words = torch.zeros(8, dtype=torch.int32, device=self.device)
        q = self.make(1, 8, 1, 16)
        begins, lengths = (torch.tensor(values, dtype=torch.int32, device=self.device) for values in ([0, 8], [8]))

        def bound(bind, written):
            launch = bind()
            self.assertEqual(written._version, 0)
            return launch

        def repeated(call):
            for _ in range(3):
                call()

        def bits(saved):
            tlc.gemm(x, x.t(), out=tlc.view(saved.view(torch.int16), "bf16"))

        def bound_result():
            launch = tlc.softmax.bind(x)
            y = launch.outputs[0] @ self.make(16, 16).requires_grad_()
            launch()
            return y

        for shape, write in (((8, 16), lambda saved: tlc.softmax(x, out=saved)), ((8, 8), bits),
                             ((8, 8), lambda saved: tlc.gemm(x, x.t(), out=saved)),
                             ((8, 8), lambda saved: tlc.gemm(x, x.t(), out=saved, accumulate=True)),
                             ((8, 8), lambda saved: tlc.gemm(x, x.t(), out=saved.detach())),
                             ((8, 16), lambda saved: tlc.ops.rms_norm(x, ones, out={"Y": saved})),
                             ((8, 16), lambda saved: tlc.ops.swiglu(self.make(8, 2, 16), out=saved)),
                             ((8, 16), lambda saved: repeated(lambda: tlc.ops.swiglu(self.make(8, 2, 16), out=saved))),
                             ((1, 8, 1, 16), lambda saved: tlc.attention(q, q, q, out=saved)),
                             ((8, 1, 16), lambda saved: tlc.attention_varlen(q[0], q[0], q[0], begins, out=saved)),
                             ((1, 8, 1, 16), lambda saved: tlc.attention_decode(q, q, q, lengths, out=saved)),
                             ((8, 16), lambda saved: bound(lambda: tlc.softmax.bind(x, out=saved), saved)()),
                             ((8, 16), lambda saved: bound(lambda: tlc.ops.swiglu.bind(self.make(8, 2, 16), out=saved), saved)())):
            with self.subTest(shape):
                saved = torch.zeros(shape, dtype=x.dtype, device=self.device)
                y = saved * self.make(*shape).requires_grad_()
                with torch.no_grad():
                    write(saved)
                with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                    y.sum().backward()
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            bound_result().sum().backward()
        table = torch.zeros(4, 16, device=self.device)
        y = table * self.make(4, 16).requires_grad_()
        tlc.ops.embedding_bwd(words, x, dE=table)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.sum().backward()

    def test_writes_count_nothing_else(self):
        x = self.make(8, 16)
        y = torch.zeros_like(x)
        view = y[2:6]
        tlc.softmax(x[:4], out=view)
        self.assertEqual((x._version, y._version, view._version), (0, 1, 1))
        self.near(y[2:6], x[:4].double().softmax(-1), 1e-2)
        self.assertEqual((y[:2].abs().max().item(), y[6:].abs().max().item(), tlc.softmax(x)._version), (0, 0, 0))
        with torch.inference_mode():
            made = torch.zeros(8, 16, dtype=x.dtype, device=self.device)
            tlc.softmax(x, out=made)
            tlc.softmax(x, out=y)
        self.assertEqual((tlc.softmax(x, out=made) is made, y._version), (True, 2))

    def test_tensors_of_several_libraries(self):
        """Gradients are of tensors of PyTorch alone; without gradients any that are on one device mix."""
        x, y = self.make(8, 16).requires_grad_(), tlc.tensor([[1.0] * 16] * 8, "bf16")
        q, other = self.make(1, 8, 1, 16).requires_grad_(), tlc.tensor([[[[1.0] * 16]] * 8], "bf16")
        text = "expected a tensor of PyTorch because another one requires a gradient, but got tlc.Tensor; convert it"
        for name, call in (("gemm: argument 'b'", lambda: tlc.gemm(x, y.permute(1, 0))), ("gemm: argument 'a'", lambda: tlc.gemm(y, x.t())),
                           ("gemm: argument 'bias'", lambda: tlc.gemm(x, x.t(), bias=tlc.tensor([1.0] * 8))),
                           ("rms_norm: argument 'W'", lambda: tlc.ops.rms_norm(x, tlc.tensor([1.0] * 16))),
                           ("rms_norm: argument 'W'", lambda: tlc.ops.rms_norm(x, W=tlc.tensor([1.0] * 16))),
                           ("rms_norm: argument 'X'", lambda: tlc.ops.rms_norm(y, self.make(16, dtype=torch.float32).requires_grad_())),
                           ("attention: argument 'k'", lambda: tlc.attention(q, other, q)), ("attention: argument 'q'", lambda: tlc.attention(other, q, q)),
                           ("attention: argument 'v'", lambda: tlc.attention(q.detach(), q, other))):
            with self.subTest(name):
                self.refused(f"{name}: {text}", call)
        if self.device == "cpu":
            x, q = x.detach(), q.detach()
            for one, same in ((tlc.gemm(x, y.permute(1, 0)), x.double().sum(1, keepdim=True).expand(8, 8)),
                              (tlc.attention(q, other, q), q.double().mean(1, keepdim=True).expand(q.shape))):
                self.assertIsInstance(one, torch.Tensor)
                self.near(one, same, 2e-2)

    def test_errors_name_the_tensors_of_kernels(self):
        x, w = self.make(8, 16), self.make(16, dtype=torch.float32)
        self.refused("rms_norm: argument 'X': expected an element type among", lambda: tlc.ops.rms_norm(x.to(torch.complex64), w))
        self.refused("rms_norm: argument 'W': expected a tensor with __dlpack__", lambda: tlc.ops.rms_norm(x, "w"))
        self.refused("rms_norm: argument 'Y': expected a tensor with __dlpack__", lambda: tlc.ops.rms_norm(x, w, out={"Y": "y"}))

    def test_integers_require_no_gradient(self):
        """PyTorch refuses them; where an argument takes integers alone, a tensor with a gradient is refused by name."""
        for dtype in (torch.int32, torch.int8, torch.uint8, torch.bool):
            with self.assertRaisesRegex(RuntimeError, "floating point"):
                torch.zeros(4, 16, dtype=dtype, device=self.device).requires_grad_()
        x = self.make(4, 16).requires_grad_()
        self.refused("cross_entropy: argument 'Labels' requires a gradient, but cross_entropy_bwd computes no gradient of it",
                     lambda: tlc.ops.cross_entropy(self.make(4, 16), x[:, 0].contiguous()))
        begins = torch.tensor([0.0, 4.0], device=self.device, requires_grad=True)
        self.refused("argument 'begins_q': expected element type i32, but got f32", lambda: tlc.attention_varlen(*[self.make(4, 1, 16)] * 3, begins))


@needs_torch
class Emulated(Gradients, Case):
    def setUp(self):
        torch.manual_seed(1)

    def test_operators_have_the_same_gradients(self):
        """What tracing takes instead of launches; PyTorch before 2.1 has operators, too, but none that it can trace."""
        from tlc import _gradients, _torch
        library, taken = _torch._library, []
        if library is None:
            library = torch.library.Library("tlc", "DEF")
            for name, (schema, kernel, _) in _torch._OPERATORS.items():
                library.define(name + schema)
                library.impl(name, kernel, "CPU")
        with unittest.mock.patch.object(_gradients, "is_compiling", lambda: taken.append(1) or True):
            for test in (self.test_products, self.test_layouts_of_factors, self.test_epilogues, self.test_batches, self.test_softmax):
                test()
        self.assertTrue(taken)

    def test_kernels_of_a_file(self):
        if not os.path.exists(FILE):
            self.skipTest("no file of kernels")
        os.environ.setdefault("CXX", "clang++-22")
        mine = tlc.load(FILE)
        self.check(lambda x: mine.squares(x, factor=3.0), lambda x: 3 * x * x, torch.randn(200))
        self.refused("squares_bwd: argument 'X' requires a gradient, but there is no kernel squares_bwd_bwd; pass X.detach(), call it under "
                     "torch.no_grad(), or add a kernel squares_bwd_bwd to its file",
                     lambda: mine.squares_bwd(torch.ones(8, requires_grad=True), torch.ones(8)))

    def mine(self):
        if not os.path.exists(GRADIENTS):
            self.skipTest("no file of kernels")
        os.environ.setdefault("CXX", "clang++-22")
        return tlc.load(GRADIENTS)

    def test_gradients_without_a_gradient(self):
        """What looks like the gradient of a kernel and cannot be it is an error that names the kernel."""
        mine, x = self.mine(), torch.randn(200).requires_grad_()
        for name, text in (("unread", "unread_bwd: expected an input with the gradient of a result, dY, because it is the gradient of unread, but got none"),
                           ("uncomputed", "uncomputed_bwd: expected a result with the gradient of an input, dX")):
            self.refused(text, lambda: getattr(mine, name)(x))
        self.refused("ambiguous_bwd: argument 'dY' may be an input of ambiguous or the gradient of its result 'Y'; rename the input",
                     lambda: mine.ambiguous(x, torch.randn(200)))

    def test_gradients_of_other_shapes_and_types(self):
        """Are found when the forward kernel is called, but for computed extents, of which launches tell."""
        mine, x = self.mine(), torch.randn(200).requires_grad_()
        self.refused("of_f16_bwd: argument 'dY': expected elements of f32, as 'Y' of of_f16, but got f16", lambda: mine.of_f16(x))
        self.refused("of_two_axes_bwd: argument 'X': expected 1 axis, as 'X' of of_two_axes, but got 2", lambda: mine.of_two_axes(x))
        self.refused("column_bwd: argument 'dX': expected the extent n on axis 1, as 'X' of column, but got m",
                     lambda: mine.column(torch.randn(5, 7).requires_grad_()))
        y = mine.longer(x)
        self.refused("longer_bwd: argument 'dX': expected the shape (200,) of 'X', but got (201,)", lambda: y.sum().backward())

    def test_gradients_have_the_types_of_the_call(self):
        """Also where the first tensor of the gradient is of another one, and where it adds to a gradient of another one."""
        mine = self.mine()
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            self.check(mine.square, lambda x: x * x, torch.randn(200).to(dtype))
        self.refused("square_bwd: expected a number 'factor', because the call of square has one, but this kernel takes none; declare it, or call "
                     "square under torch.no_grad()", lambda: mine.square(torch.randn(8).half().requires_grad_(), factor=3.0))
        self.check(lambda x: mine.square(x, dtype="f16"), lambda x: x * x, torch.randn(200).half())
        self.check(mine.added, lambda x: x * x, torch.randn(200))


if __name__ == "__main__":
    unittest.main()
