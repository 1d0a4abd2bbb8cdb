#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the CPU, eagerly: also its old versions. test_torch_gpu.py has what needs a newer one."""

import math
import unittest
import unittest.mock

from support import Case, attend, needs_torch, tlc, torch


def reference(q, k, v, causal, scale=None):
    """b x s x h x d in double precision."""
    q, k, v = (x.double().transpose(1, 2) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.transpose(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).tril().logical_not(), -math.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2)


@needs_torch
class Torch(Case):
    def setUp(self):
        torch.manual_seed(1)

    def inputs(self, dtype=None, requires_grad=False):
        dtype = dtype or torch.float16
        return [torch.randn(2, s, h, 16).to(dtype).requires_grad_(requires_grad) for s, h in ((5, 4), (9, 2), (9, 2))]

    def close_tensors(self, actual, expected, limit):
        self.assertEqual(actual.shape, expected.shape)
        self.assertLessEqual((actual.double() - expected.double()).abs().max().item(), limit)

    def test_attention(self):
        for dtype in (torch.float16, torch.bfloat16):
            q, k, v = self.inputs(dtype)
            o = tlc.attention(q, k, v, causal="left")
            self.assertEqual((o.dtype, o.device.type), (dtype, "cpu"))
            self.close_tensors(o, reference(q, k, v, True), 2e-2)
        q, k, v = (x.transpose(1, 2) for x in self.inputs())
        out = torch.empty_like(q.contiguous())
        self.assertIs(tlc.attention(q, k, v, layout="bhsd", out=out), out)
        self.close_tensors(out.transpose(1, 2), reference(*(x.transpose(1, 2) for x in (q, k, v)), False), 2e-2)

    def test_gradients(self):
        q, k, v = self.inputs(requires_grad=True)
        o, lse = tlc.attention(q, k, v, causal="left", return_lse=True)
        self.assertTrue(o.requires_grad and not lse.requires_grad)
        do = torch.randn(o.shape).half()
        o.backward(do)
        exact = [x.detach().double().requires_grad_() for x in (q, k, v)]
        reference(*exact, True).backward(do.double())
        for x, e in zip((q, k, v), exact):
            self.close_tensors(x.grad, e.grad, 3e-2)

    def test_the_gradient_of_a_sum_is_expanded(self):
        q, k, v = self.inputs(requires_grad=True)
        tlc.attention(q, k, v).sum().backward()
        exact = [x.detach().double().requires_grad_() for x in (q, k, v)]
        reference(*exact, False).sum().backward()
        self.close_tensors(v.grad, exact[2].grad, 2e-2)

    def test_packed_sequences_and_a_sink_have_gradients(self):
        q = torch.randn(7, 2, 16).half().requires_grad_()
        sink = torch.zeros(2, requires_grad=True)
        begins = torch.tensor([0, 3, 7], dtype=torch.int32)
        o = tlc.attention_varlen(q, q, q, begins, sink=sink, deterministic=True)
        o.sum().backward()
        self.assertEqual(q.grad.shape, q.shape)
        self.assertNotEqual(sink.grad.abs().sum().item(), 0)

    def test_dropout(self):
        """The mask is read back by V = 1, and O and gradients are those with this mask in double precision."""
        p, state = 0.3, torch.tensor([7, 2**40 + 1])
        for s, hkv in ((16, 2), (24, 4)):
            q, k, v = (torch.randn(2, n, h, 16).half().requires_grad_() for n, h in ((9, 4), (s, hkv), (s, hkv)))
            unit = torch.eye(s).half()[None, :, None].expand(2, -1, hkv, -1)
            with torch.no_grad():
                mask = (tlc.attention(q, k, unit, dropout_p=p, philox=state) != 0).transpose(1, 2).double()
            self.assertLess(abs(mask.mean().item() - (1 - p)), 0.05)
            o = tlc.attention(q, k, v, dropout_p=p, philox=state)
            do = torch.randn(o.shape).half()
            o.backward(do)
            exact = [x.detach().double().requires_grad_() for x in (q, k, v)]
            eq, ek, ev = (x.transpose(1, 2) for x in exact)
            ek, ev = (x.repeat_interleave(4 // hkv, 1) for x in (ek, ev))
            weights = (eq @ ek.transpose(-1, -2) / 4).softmax(-1) * mask / (1 - p)
            expected = (weights @ ev).transpose(1, 2)
            expected.backward(do.double())
            self.close_tensors(o, expected, 2e-2)
            for x, e in zip((q, k, v), exact):
                self.close_tensors(x.grad, e.grad, 4e-2)

    def test_dropout_is_drawn_by_a_generator(self):
        q, k, v = (torch.randn(1, 2, 32, 16).half() for _ in range(3))

        def call(seed, **options):
            return tlc.scaled_dot_product_attention(q, k, v, dropout_p=0.5, generator=torch.Generator().manual_seed(seed), **options)

        self.assertTrue(torch.equal(call(1), call(1)))
        self.assertFalse(torch.equal(call(1), call(2)))
        torch.manual_seed(5)
        one, other = (tlc.attention(q, k, v, layout="bhsd", dropout_p=0.5) for _ in range(2))
        self.assertFalse(torch.equal(one, other))
        torch.manual_seed(5)
        self.assertTrue(torch.equal(tlc.attention(q, k, v, layout="bhsd", dropout_p=0.5), one))
        begins = torch.tensor([0, 5, 32], dtype=torch.int32)
        rows = q[0].transpose(0, 1).contiguous().requires_grad_()
        tlc.attention_varlen(rows, rows, rows, begins, dropout_p=0.5).sum().backward()
        self.assertEqual(rows.grad.shape, rows.shape)

    def test_calls_without_gradients_after_one_with(self):
        q = torch.randn(1, 8, 2, 16).half()
        given = q.clone().requires_grad_()
        self.assertTrue(tlc.attention(given, given, given).requires_grad)
        with unittest.mock.patch.object(tlc._calls.TORCH, "_apply_eager", side_effect=AssertionError):
            self.assertFalse(tlc.attention(q, q, q).requires_grad)

    def test_without_gradients_there_is_no_graph(self):
        q, k, v = self.inputs(requires_grad=True)
        with torch.no_grad():
            self.assertFalse(tlc.attention(q, k, v).requires_grad)
        self.refused("out= is for calls without gradients", lambda: tlc.attention(q, k, v, out=torch.empty_like(q)))

    def test_second_derivatives_are_refused(self):
        q, k, v = self.inputs(requires_grad=True)
        o = tlc.attention(q, k, v)
        self.refused("second derivatives are not supported", lambda: torch.autograd.grad(o.sum(), q, create_graph=True))

    def test_sdpa(self):
        q, k, v = (torch.randn(3, 2, 6, 16).half() for _ in range(3))
        found = tlc.scaled_dot_product_attention(q, k, v, is_causal=True)
        self.close_tensors(found, reference(*(x.transpose(1, 2) for x in (q, k, v)), True).transpose(1, 2), 2e-2)
        three = tlc.scaled_dot_product_attention(q[0], k[0], v[0], scale=0.5)
        self.close_tensors(three, reference(*(x[:1].transpose(1, 2) for x in (q, k, v)), False, 0.5).transpose(1, 2)[0], 2e-2)

    def test_sdpa_falls_back_with_one_warning(self):
        if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            self.skipTest("PyTorch has no scaled_dot_product_attention")
        q = torch.randn(1, 2, 6, 16)
        with self.assertWarns(RuntimeWarning):
            found = tlc.scaled_dot_product_attention(q, q, q, fallback=True)
        self.close_tensors(found, torch.nn.functional.scaled_dot_product_attention(q, q, q), 1e-5)

    def test_tensors_of_another_process(self):
        """Memory that PyTorch's processes share is memory like any other."""
        q, k, v = self.inputs()
        o = torch.zeros_like(q)
        process = torch.multiprocessing.get_context("spawn").Process(target=attend, args=[x.share_memory_() for x in (q, k, v, o)])
        process.start()
        process.join(120)
        self.assertEqual(process.exitcode, 0)
        self.close_tensors(o, reference(q, k, v, False), 2e-2)

    def test_autocast(self):
        """Of the factors that PyTorch's products would convert: those of gemm as those of attention."""
        a, b, c = torch.randn(9, 16), torch.randn(16, 24).bfloat16(), torch.randn(9, 24)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = tlc.gemm(a.requires_grad_(), b, residual=c)
            self.assertEqual((found.dtype, tlc.gemm(b.t(), a.detach().t()).dtype), (torch.bfloat16, torch.bfloat16))
            self.assertEqual(tlc.attention(*[torch.randn(1, 2, 1, 16)] * 3).dtype, torch.bfloat16)
        self.close_tensors(found, a.double() @ b.double() + c.double(), 5e-2)
        found.sum().backward()
        self.assertEqual(a.grad.dtype, torch.float32)
        self.close_tensors(a.grad, b.double().sum(1).expand(9, 16), 5e-2)
        self.assertEqual(tlc.gemm(a.detach(), torch.randn(24, 16).t()).dtype, torch.float32)

    def test_autocast_of_what_is_added(self):
        """The residual is converted to the type of the result and the bias to f32, also where the factors are in the type of autocast."""
        a, b, c = torch.randn(9, 16).bfloat16(), torch.randn(16, 24).bfloat16(), torch.randn(9, 24).requires_grad_()
        exact = a.double() @ b.double()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for residual in (c, c.detach(), c.detach().double(), c.detach().half()):
                for out_dtype, dtype in ((None, torch.bfloat16), ("f32", torch.float32), ("f16", torch.float16)):
                    found = tlc.gemm(a, b, residual=residual, out_dtype=out_dtype)
                    self.assertEqual(found.dtype, dtype)
                    self.close_tensors(found, exact + residual.double(), 1e-1)
            tlc.gemm(a, b, residual=c).sum().backward()
            out = torch.empty(9, 24)
            self.close_tensors(tlc.gemm(a.float(), b, residual=c.detach().bfloat16(), out=out), exact + c.double(), 1e-1)
            for bias in (torch.randn(24).bfloat16(), torch.randn(24).double()):
                self.close_tensors(tlc.gemm(a, b, bias=bias), exact + bias.double(), 1e-1)
        self.assertEqual((c.grad.dtype, c.grad.min().item(), c.grad.max().item()), (torch.float32, 1, 1))

    def test_products_and_kernels(self):
        a, b = torch.randn(9, 16).bfloat16(), torch.randn(24, 16).bfloat16()
        self.close_tensors(tlc.gemm(a, b.t(), out_dtype="f32"), a.double() @ b.double().t(), 1e-3)
        x, w = torch.randn(3, 64).bfloat16(), torch.ones(64)
        y, r = tlc.ops.rms_norm(x, w)
        self.close_tensors(y, x.double() * r.double()[:, None], 3e-2)
        self.assertIsInstance(y, torch.Tensor)


if __name__ == "__main__":
    unittest.main()
