#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch on a GPU: gradients, torch.compile, export, graphs, streams, threads and devices. run_on_gpu.sh runs it; what a
version of PyTorch lacks is skipped by name."""

import ctypes
import faulthandler
import gc
import threading
import unittest
import warnings

import test_gradients as gradients
from support import Case, attend, tlc, torch

HAS_GPU = torch is not None and torch.cuda.is_available() and torch.cuda.get_device_capability()[0] >= 9


def lacks(name):
    """Whether a dotted name of torch does not exist."""
    at = torch
    for part in name.split("."):
        at = getattr(at, part, None)
        if at is None:
            return True
    return False


def needs(name):
    return unittest.skipIf(torch is not None and lacks(name), f"this PyTorch has no torch.{name}")


def sdpa(q, k, v, causal=False):
    """b x s x h x d."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    return torch.nn.functional.scaled_dot_product_attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1),
                                                            is_causal=causal).transpose(1, 2)


def exact(q, k, v, causal=False):
    """b x s x h x d in float64, of contiguous copies."""
    q, k, v = (x.double().transpose(1, 2).contiguous() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], device=q.device).tril() == 0, float("-inf"))
    return (scores.softmax(-1) @ v).transpose(1, 2)


@unittest.skipUnless(HAS_GPU, "no GPU of compute capability 9.0, or no PyTorch that uses it")
class Gpu(Case):
    def setUp(self):
        torch.manual_seed(1)
        if hasattr(torch, "_dynamo"):
            torch._dynamo.reset()

    def tearDown(self):
        torch.cuda.synchronize()
        self.assertEqual(tlc.softmax(torch.zeros(1, 64, device="cuda")).sum().item(), 1.0)  # the context lives on

    def inputs(self, s=256, h=4, hkv=2, d=64, dtype=None, requires_grad=False):
        dtype = dtype or torch.bfloat16
        return [torch.randn(2, s, heads, d, dtype=dtype, device="cuda", requires_grad=requires_grad) for heads in (h, hkv, hkv)]

    def close_tensors(self, actual, expected, limit=3e-2):
        self.assertEqual(actual.shape, expected.shape)
        self.assertLessEqual((actual.double() - expected.double()).abs().max().item(), limit * max(1.0, expected.abs().max().item()))


class Eager(Gpu):
    def test_forward(self):
        for causal in (False, True):
            q, k, v = self.inputs()
            self.close_tensors(tlc.attention(q, k, v, causal="left" if causal else "none"), sdpa(q, k, v, causal))

    def test_views_are_not_copied(self):
        qkv = torch.randn(2, 128, 3, 4, 64, dtype=torch.float16, device="cuda")
        q, k, v = qkv.unbind(2)
        self.close_tensors(tlc.attention(q, k, v), sdpa(q, k, v))
        odd = torch.randn(2, 128, 4, 65, dtype=torch.float16, device="cuda")[..., 1:]
        expected = exact(odd, odd, odd)
        ours, theirs = ((found.double() - expected).abs().max().item() for found in (tlc.attention(odd, odd, odd), sdpa(odd, odd, odd)))
        print(f"\na view 2 bytes past alignment differs from attention in float64 by {ours:.2g}, PyTorch's of it by {theirs:.2g}")
        self.assertLessEqual(ours, 3e-2)  # PyTorch's is not this test's
        aligned = torch.randn(2, 128, 4, 64, dtype=torch.float16, device="cuda")
        for q, k, v in ((odd, aligned, aligned), (aligned, odd, aligned), (aligned, aligned, odd)):
            self.close_tensors(tlc.attention(q, k, v), exact(q, k, v))

    def test_alignment_chooses_the_program(self):
        """Tensors of the same shapes and strides, one element apart in memory, in turn."""
        memory = torch.randn(2 * 128 * 4 * 64 + 8, dtype=torch.float16, device="cuda")
        for offset in (0, 1, 8, 2, 4, 0):
            x = memory[offset:offset + 2 * 128 * 4 * 64].view(2, 128, 4, 64)
            self.close_tensors(tlc.attention(x, x, x), exact(x, x, x))
            self.close_tensors(tlc.softmax(x), x.double().softmax(-1))
            a = x.reshape(-1, 64)[:128]
            self.close_tensors(tlc.gemm(a, a.t()), a.double() @ a.double().t())

    def test_gradients(self):
        for deterministic in (False, True):
            ours = self.inputs(requires_grad=True)
            theirs = [x.detach().clone().requires_grad_() for x in ours]
            do = torch.randn(2, 256, 4, 64, dtype=torch.bfloat16, device="cuda")
            tlc.attention(*ours, causal="left", deterministic=deterministic).backward(do)
            sdpa(*theirs, True).backward(do)
            for a, b in zip(ours, theirs):
                self.close_tensors(a.grad, b.grad)

    def test_the_gradient_of_a_sum(self):
        ours = self.inputs(requires_grad=True)
        theirs = [x.detach().clone().requires_grad_() for x in ours]
        tlc.attention(*ours).sum().backward()
        sdpa(*theirs).sum().backward()
        for a, b in zip(ours, theirs):
            self.close_tensors(a.grad, b.grad)

    def test_deterministic_algorithms(self):
        q, k, v = self.inputs(s=1024, requires_grad=True)
        torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            found = [torch.autograd.grad(tlc.attention(q, k, v, causal="left").float().square().sum(), (q, k, v)) for _ in range(4)]
        finally:
            torch.use_deterministic_algorithms(False)
        for other in found[1:]:
            for a, b in zip(found[0], other):
                self.assertTrue(torch.equal(a, b))

    def test_packed_sequences(self):
        q = torch.randn(300, 4, 64, dtype=torch.bfloat16, device="cuda", requires_grad=True)
        begins = torch.tensor([0, 100, 300], dtype=torch.int32, device="cuda")
        o = tlc.attention_varlen(q, q, q, begins, causal="left")
        expected = torch.cat([sdpa(*[q[None, a:b]] * 3, True)[0] for a, b in ((0, 100), (100, 300))])
        self.close_tensors(o, expected)
        o.sum().backward()
        mine, q.grad = q.grad, None
        expected.sum().backward()
        self.close_tensors(mine, q.grad)

    def test_decoding_in_pages(self):
        q = torch.randn(2, 1, 8, 128, dtype=torch.bfloat16, device="cuda")
        cache = torch.randn(8, 64, 2, 128, dtype=torch.bfloat16, device="cuda")
        table = torch.arange(8, dtype=torch.int32, device="cuda").reshape(2, 4)
        lengths = torch.tensor([70, 256], dtype=torch.int32, device="cuda")
        o = tlc.attention_decode(q, cache, cache, lengths, table=table)
        for n in range(2):
            keys = cache[4 * n:4 * n + 4].reshape(1, 256, 2, 128)[:, :int(lengths[n])]
            self.close_tensors(o[n:n + 1], sdpa(q[n:n + 1], keys, keys))

    def test_products_and_kernels(self):
        a, b = torch.randn(300, 512, dtype=torch.bfloat16, device="cuda"), torch.randn(200, 512, dtype=torch.bfloat16, device="cuda")
        self.close_tensors(tlc.gemm(a, b.t()), a @ b.t())
        self.close_tensors(tlc.gemm(a, b.t().contiguous()), a @ b.t())
        x, w = torch.randn(33, 1024, dtype=torch.bfloat16, device="cuda"), torch.rand(1024, device="cuda")
        y, r = tlc.ops.rms_norm(x, w)
        self.close_tensors(y, x.float() * r[:, None] * w)
        self.close_tensors(tlc.softmax(x), x.float().softmax(-1))

    def test_dropout(self):
        q, k, v = self.inputs(s=128, h=2, hkv=2, requires_grad=True)
        p, unit = 0.25, torch.eye(128, dtype=q.dtype, device="cuda")[None, :, None].expand(2, -1, 2, -1)
        state = torch.tensor([11, 5], device="cuda")
        with torch.no_grad():
            mask = (tlc.attention(q, k, unit, dropout_p=p, philox=state) != 0).transpose(1, 2).double()
        self.assertLess(abs(mask.mean().item() - (1 - p)), 0.02)
        do = torch.randn_like(q)
        found = torch.autograd.grad(tlc.attention(q, k, v, dropout_p=p, philox=state), (q, k, v), do)
        exact = [x.detach().double().requires_grad_() for x in (q, k, v)]
        eq, ek, ev = (x.transpose(1, 2) for x in exact)
        o = ((eq @ ek.transpose(-1, -2) / 8).softmax(-1) * mask / (1 - p)) @ ev
        for a, b in zip(found, torch.autograd.grad(o.transpose(1, 2), exact, do.double())):
            self.close_tensors(a, b)

    def test_dropout_is_drawn_again_by_a_graph(self):
        q, k, v = self.inputs()
        tlc.attention(q, k, v, dropout_p=0.5)  # compiles
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            o = tlc.attention(q, k, v, dropout_p=0.5)
        graph.replay()
        first = o.clone()
        graph.replay()
        self.assertFalse(torch.equal(first, o))

    @needs("compile")
    def test_dropout_is_compiled(self):
        f = torch.compile(lambda *x: tlc.attention(*x, dropout_p=0.5), fullgraph=True)
        q, k, v = self.inputs(requires_grad=True)
        f(q, k, v).sum().backward()
        self.assertEqual(q.grad.shape, q.shape)

    def test_the_current_stream(self):
        q, k, v = self.inputs(s=4096)
        expected = sdpa(q, k, v)
        side = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(50_000_000)
            q2 = q.clone()
            o = tlc.attention(q2, k, v)  # waits for what is before it on this stream
        side.synchronize()
        self.close_tensors(o, expected)

    def test_bound_launches(self):
        q, k, v = self.inputs()
        out = torch.empty_like(q)
        launch = tlc.attention.bind(q, k, v, out=out)
        launch()
        self.close_tensors(out, sdpa(q, k, v))
        q.copy_(torch.randn_like(q))
        launch()
        self.close_tensors(out, sdpa(q, k, v))

    def test_threads(self):
        q, k, v = self.inputs()
        expected, results = sdpa(q, k, v), [None] * 8
        torch.cuda.synchronize()  # before other streams read

        def call(number):
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(20):
                    results[number] = tlc.attention(q, k, v)
                torch.cuda.current_stream().synchronize()

        threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            self.close_tensors(result, expected)

    def test_several_devices(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("one GPU")
        q, k, v = (x.to("cuda:1") for x in self.inputs())
        self.close_tensors(tlc.attention(q, k, v), sdpa(q, k, v))
        self.refused("expected a tensor on the device of 'q'", lambda: tlc.attention(q, k, v.to("cuda:0")))

    def test_autocast(self):
        q, k, v = self.inputs(dtype=torch.float32)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            o = tlc.attention(q, k, v)
        self.assertEqual(o.dtype, torch.bfloat16)
        self.close_tensors(o, sdpa(q, k, v))

    def test_checkpoints(self):
        from torch.utils.checkpoint import checkpoint
        q, k, v = self.inputs(requires_grad=True)
        plain = torch.autograd.grad(tlc.attention(q, k, v).sum(), (q, k, v))
        kept = torch.autograd.grad(checkpoint(lambda *x: tlc.attention(*x), q, k, v, use_reentrant=False).sum(), (q, k, v))
        for a, b in zip(plain, kept):
            self.close_tensors(a, b)

    def test_what_is_refused(self):
        q, k, v = self.inputs(requires_grad=True)
        self.refused("second derivatives are not supported",
                     lambda: torch.autograd.grad(tlc.attention(q, k, v).sum(), q, create_graph=True))
        with torch.no_grad():
            self.refused("expected a tensor on the device of 'q'", lambda: tlc.attention(q, k, v.cpu()))
            freed = torch.empty_like(q)
            freed.untyped_storage().resize_(0)
            self.refused("argument 'O'", lambda: tlc.attention(q, k, v, out=freed))
            self.refused("expected memory of its own", lambda: tlc.attention(q, k, v, out=q))
        self.refused("attention.bind: argument 'q' requires a gradient", lambda: tlc.attention.bind(q, k, v))

    def test_tensors_of_another_process(self):
        """PyTorch maps memory that a process shares into another one, which computes with it as with its own."""
        q, k, v = self.inputs()
        o = torch.zeros_like(q)
        process = torch.multiprocessing.get_context("spawn").Process(target=attend, args=(q, k, v, o))
        process.start()
        process.join(120)
        self.assertEqual(process.exitcode, 0)
        self.close_tensors(o, sdpa(q, k, v))

    def test_an_address_that_no_gpu_has(self):
        """As that of another process which is not mapped here."""
        host = ctypes.create_string_buffer(4 * 64 * 2 + 16)
        x = tlc.empty((4, 64), "bf16", "cuda:0")
        lost = tlc.Tensor(x._array.viewed((4, 64), (64, 1)))
        lost._array.data = -(-ctypes.addressof(host) // 16) * 16
        self.refused("argument 'X': expected memory of GPU 0, but", lambda: tlc.softmax(lost, out=x))
        self.refused("argument 'Y': expected memory of GPU 0, but", lambda: tlc.softmax(x, out=lost))

    @needs("func.vmap")
    def test_vmap_is_refused(self):
        q, k, v = (x[None] for x in self.inputs())
        self.refused("vmap", lambda: torch.func.vmap(tlc.attention)(q, k, v))

    def test_sdpa(self):
        q, k, v = (torch.randn(2, 4, 100, 64, dtype=torch.float16, device="cuda", requires_grad=True) for _ in range(3))
        ours = tlc.scaled_dot_product_attention(q, k, v, is_causal=True)
        theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        self.close_tensors(ours, theirs)
        for a, b in zip(torch.autograd.grad(ours.sum(), (q, k, v)), torch.autograd.grad(theirs.sum(), (q, k, v))):
            self.close_tensors(a, b)


class Gradients(gradients.Gradients, Gpu):
    device = "cuda"


class Graphs(Gpu):
    def captured(self):
        """A graph whose tensors but the first input and the output are gone, and these."""
        q, k, v = self.inputs()
        tlc.attention(q, k, v, causal="left")  # compiles
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            o = tlc.attention(q, k, v, causal="left")
        return graph, q, (k.clone(), v.clone()), (k, v), o

    def test_a_captured_call_is_replayed(self):
        graph, q, (k, v), kept, o = self.captured()
        for _ in range(3):
            q.copy_(torch.randn_like(q))
            graph.replay()
            self.close_tensors(o, sdpa(q, k, v, True))
        del kept

    def test_gradients_are_captured(self):
        q, k, v = self.inputs(requires_grad=True)
        do = torch.randn(2, 256, 4, 64, dtype=torch.bfloat16, device="cuda")

        def step():
            return torch.autograd.grad(tlc.attention(q, k, v, causal="left"), (q, k, v), do)

        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = step()
        other = torch.cuda.CUDAGraph()  # another one on the stream, which may reuse memory of calls, not of the first graph
        with torch.cuda.graph(other):
            step()
        gc.collect()
        graph.replay()
        other.replay()
        graph.replay()
        for a, b in zip(found, torch.autograd.grad(sdpa(q, k, v, True), (q, k, v), do)):
            self.close_tensors(a, b)

    def test_a_capture_that_would_compile(self):
        q, k, v = self.inputs(d=72)
        graph, said = torch.cuda.CUDAGraph(), []
        with torch.cuda.graph(graph):
            x = q + 1
            try:
                tlc.attention(q, k, v, softcap=13.25)
            except tlc.Error as error:
                said.append(error.text)
        self.assertIn("while a stream is captured; call it with these shapes and options before the capture", said[0])
        graph.replay()
        self.close_tensors(x, q + 1)


class Compiled(Gpu):
    @needs("compile")
    def test_fullgraph(self):
        @torch.compile(fullgraph=True)
        def f(q, k, v):
            return tlc.attention(q * 2, k, v, causal="left") + 1

        q, k, v = self.inputs()
        self.close_tensors(f(q, k, v), sdpa(q * 2, k, v, True) + 1)

    @needs("compile")
    def test_gradients(self):
        @torch.compile(fullgraph=True)
        def f(q, k, v):
            return tlc.attention(q, k, v, causal="left").float().square().sum()

        q, k, v = self.inputs(requires_grad=True)
        for a, b in zip(torch.autograd.grad(f(q, k, v), (q, k, v)),
                        torch.autograd.grad(sdpa(q, k, v, True).float().square().sum(), (q, k, v))):
            self.close_tensors(a, b)

    @needs("compile")
    def test_dynamic_shapes(self):
        f = torch.compile(lambda q, k, v: tlc.attention(q, k, v, causal="left"), fullgraph=True, dynamic=True)
        for s in (128, 200, 333):
            q, k, v = self.inputs(s)
            self.close_tensors(f(q, k, v), sdpa(q, k, v, True))

    @needs("compile")
    def test_reduce_overhead(self):
        f = torch.compile(lambda q, k, v: tlc.attention(q, k, v), fullgraph=True, mode="reduce-overhead")
        for _ in range(4):
            q, k, v = self.inputs()
            self.close_tensors(f(q, k, v).clone(), sdpa(q, k, v))

    @needs("compile")
    def test_other_calls(self):
        @torch.compile(fullgraph=True)
        def f(x, w):
            return tlc.softmax(tlc.gemm(x, w.t()))

        x, w = torch.randn(64, 128, dtype=torch.bfloat16, device="cuda"), torch.randn(64, 128, dtype=torch.bfloat16, device="cuda")
        self.close_tensors(f(x, w), (x @ w.t()).softmax(-1), 5e-2)

    @needs("compile")
    def test_gradients_of_other_calls(self):
        def ours(x, w, bias):
            return tlc.softmax(tlc.gemm(x, w.t(), bias=bias, activation="silu")).float().square().sum()

        def theirs(x, w, bias):
            return torch.nn.functional.silu(x @ w.t() + bias).softmax(-1).square().sum()

        x, w, bias = (torch.randn(*shape, device="cuda") for shape in ((64, 128), (72, 128), (72,)))
        w /= 128**0.5  # in bf16 scores of 30 are rounded by 0.06, and softmax of them by as much
        given = [x.bfloat16().requires_grad_(), w.bfloat16().requires_grad_(), bias.requires_grad_()]
        exact = [one.detach().double().requires_grad_() for one in given]
        expected = torch.autograd.grad(theirs(*exact), exact)
        for dynamic in (False, True):
            found = torch.autograd.grad(torch.compile(ours, fullgraph=True, dynamic=dynamic)(*given), given)
            for name, a, b in zip(("x", "w", "bias"), found, expected):
                with self.subTest(gradient=name, dynamic=dynamic):
                    self.close_tensors(a.double() / b.abs().max(), b / b.abs().max())

    @needs("compile")
    def test_kernels_by_name(self):
        """They break the graph, and have their gradients."""
        f = torch.compile(lambda x, w: tlc.ops.rms_norm(x * 2, w).Y.float() + 1)
        x, w = torch.randn(33, 128, dtype=torch.bfloat16, device="cuda", requires_grad=True), torch.rand(128, device="cuda", requires_grad=True)
        ex, ew = (one.detach().double().requires_grad_() for one in (x, w))
        expected = 2 * ex * ((2 * ex).square().mean(-1, keepdim=True) + 1e-6).rsqrt() * ew + 1
        for a, b in zip(torch.autograd.grad(f(x, w).square().sum(), (x, w)), torch.autograd.grad(expected.square().sum(), (ex, ew))):
            self.close_tensors(a, b.to(a.dtype))

    @needs("compile")
    def test_sdpa_and_packed_sequences(self):
        f = torch.compile(lambda q, k, v: tlc.scaled_dot_product_attention(q, k, v, is_causal=True), fullgraph=True)
        q, k, v = (torch.randn(2, 4, 100, 64, dtype=torch.float16, device="cuda") for _ in range(3))
        self.close_tensors(f(q, k, v), torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True))
        begins = torch.tensor([0, 60, 100], dtype=torch.int32, device="cuda")
        g = torch.compile(lambda x, begins: tlc.attention_varlen(x, x, x, begins), fullgraph=True)
        x = torch.randn(100, 4, 64, dtype=torch.bfloat16, device="cuda")
        self.close_tensors(g(x, begins), tlc.attention_varlen(x, x, x, begins), 1e-6)

    @needs("export")
    def test_export(self):
        class Module(torch.nn.Module):
            def forward(self, q, k, v):
                return tlc.attention(q, k, v, causal="right")

        q, k, v = self.inputs()
        exported = torch.export.export(Module(), (q, k, v))
        self.close_tensors(exported.module()(q, k, v), tlc.attention(q, k, v, causal="right"), 1e-6)

    @needs("library.opcheck")
    def test_operators(self):
        ops = torch.ops.tlc
        for make in (lambda x: x, lambda x: x.transpose(1, 2).contiguous().transpose(1, 2), lambda x: x[:1].expand(2, -1, -1, -1), lambda x: x[:, :0]):
            q, k, v = (make(x) for x in self.inputs(64))
            none = (None,) * 6
            torch.library.opcheck(ops.attention, (q, k, v, "bshd", "causal='left'"))
            torch.library.opcheck(ops.attention_forward, (q, k, v, *none, None, None, None, "bshd", "causal='left'"))
            o, lse = tlc.attention(q, k, v, causal="left", return_lse=True)
            torch.library.opcheck(ops.attention_backward, (torch.randn_like(o), q, k, v, o, lse, *none, "bshd", "causal='left';deterministic=True"))
            torch.library.opcheck(ops.softmax, (make(self.inputs(64)[0]).contiguous(), ""))
            torch.library.opcheck(ops.softmax_backward, (make(self.inputs(64)[0]), make(self.inputs(64)[0]).contiguous()))
        a = torch.randn(64, 128, dtype=torch.bfloat16, device="cuda")
        torch.library.opcheck(ops.gemm, (a, a.t(), None, None, None, None, "f32", ""))
        q, cache = torch.randn(2, 1, 8, 128, dtype=torch.bfloat16, device="cuda"), torch.randn(2, 64, 2, 128, dtype=torch.bfloat16, device="cuda")
        lengths = torch.tensor([33, 64], dtype=torch.int32, device="cuda")
        torch.library.opcheck(ops.attention_decode, (q, cache, cache, lengths, None, None, None, ""))

    def test_fake_tensors(self):
        try:
            from torch._subclasses.fake_tensor import FakeTensorMode
        except ImportError:
            self.skipTest("this PyTorch has no FakeTensorMode")
        with FakeTensorMode():
            q = torch.empty(2, 64, 4, 64, dtype=torch.bfloat16, device="cuda")
            self.assertEqual(tlc.attention(q, q, q).shape, q.shape)
            self.assertEqual([one.shape for one in tlc.attention(q, q, q, return_lse=True)], [q.shape, (2, 4, 64)])


if __name__ == "__main__":
    if not HAS_GPU:
        warnings.warn("no GPU of compute capability 9.0, or no PyTorch that uses it: all is skipped")
    faulthandler.dump_traceback_later(570, exit=True)  # of a test that hangs
    unittest.main(verbosity=2)
