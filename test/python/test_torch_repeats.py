#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls on a GPU that are like earlier ones, and calls that only seem to be. run_on_gpu.sh runs it."""

import faulthandler
import gc
import unittest
import warnings

import test_torch_gpu as gpu
from support import launches_worked_out, tlc, torch


class Repeated(gpu.Gpu):
    """Calls like earlier ones, which libtlc compares and launches, if this PyTorch lets it."""

    def warm(self, *tensors, **options):
        for _ in range(3):
            o = tlc.attention(*tensors, causal="left", **options)
        return o

    def repeats(self, call):
        with launches_worked_out() as found:
            result = call()
        self.assertEqual(found, [])
        return result

    @gpu.needs("Tensor.__dlpack_c_exchange_api__")
    def test_calls(self):
        self.warm(*self.inputs())
        q, k, v = self.inputs()
        self.close_tensors(self.repeats(lambda: tlc.attention(q, k, v, causal="left")), gpu.sdpa(q, k, v, True))
        x, w = torch.randn(33, 1024, dtype=torch.bfloat16, device="cuda"), torch.nn.Parameter(torch.rand(1024, device="cuda"), False)
        for call in (tlc.softmax, lambda x: tlc.gemm(x, x.t()), lambda x: tlc.ops.rms_norm(x, w)[0]):
            expected = [call(x) for _ in range(3)][0]
            self.close_tensors(self.repeats(lambda: call(x)), expected, 1e-2)

    @gpu.needs("Tensor.__dlpack_c_exchange_api__")
    def test_gradients(self):
        for _ in range(4):
            ours = self.inputs(requires_grad=True)
            theirs = [x.detach().clone().requires_grad_() for x in ours]
            with launches_worked_out() as found:
                tlc.attention(*ours, causal="left").sum().backward()
                tlc.attention(*ours, causal="left")
            gpu.sdpa(*theirs, True).sum().backward()
            for a, b in zip(ours, theirs):
                self.close_tensors(a.grad, b.grad)
        self.assertEqual(found, [])

    def test_gradients_are_not_missed(self):
        q, k, v = self.inputs()
        self.assertFalse(self.warm(q, k, v).requires_grad)
        for one in (q, k, v):
            one.requires_grad_()
            self.assertTrue(tlc.attention(q, k, v, causal="left").requires_grad)
            with torch.no_grad():
                self.assertFalse(tlc.attention(q, k, v, causal="left").requires_grad)
            one.requires_grad_(False)
        x = torch.randn(33, 64, dtype=torch.bfloat16, device="cuda")
        for call in (tlc.softmax, lambda x: tlc.gemm(x, x.t())):
            for _ in range(3):
                call(x)
            self.assertTrue(call(x.clone().requires_grad_()).requires_grad)

    def test_views(self):
        q, k, v = self.inputs()
        self.warm(q, k, v)
        turned = q.transpose(1, 2).contiguous().transpose(1, 2)
        moved = torch.randn(q.numel() + 8, dtype=q.dtype, device="cuda")[1:1 + q.numel()].view_as(q)
        for other in (turned, moved, q[:1].expand(2, -1, -1, -1), q[..., :32].repeat(1, 1, 1, 2), q.half().bfloat16()):
            self.close_tensors(tlc.attention(other, k, v, causal="left"), gpu.exact(other, k, v, True))
        self.close_tensors(tlc.attention(q.half(), k.half(), v.half(), causal="left"), gpu.sdpa(q, k, v, True))
        freed = q.clone()
        freed.untyped_storage().resize_(0)
        self.refused("argument 'Q'", lambda: tlc.attention(freed, k, v, causal="left"))

    def test_subclasses_modes_and_transforms(self):
        from torch.utils._python_dispatch import TorchDispatchMode
        q, k, v = self.inputs()
        expected = self.warm(q, k, v)

        class Derived(torch.Tensor):
            pass

        seen = []

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                seen.append(str(function))
                return function(*args, **(kwargs or {}))

        for place in range(3):
            given = [q, k, v]
            given[place] = given[place].as_subclass(Derived)
            self.close_tensors(tlc.attention(*given, causal="left").as_subclass(torch.Tensor), expected, 1e-2)
        with Mode():
            self.close_tensors(tlc.attention(q, k, v, causal="left"), expected, 1e-2)
        self.assertTrue(any("tlc.attention" in one for one in seen), seen)
        self.refused("vmap", lambda: torch.func.vmap(lambda *x: tlc.attention(*x, causal="left"))(*(x[None] for x in (q, k, v))))
        with torch.inference_mode():
            self.assertTrue(tlc.attention(q, k, v, causal="left").is_inference())
        with torch.autocast("cuda", dtype=torch.bfloat16):
            self.assertEqual(tlc.attention(q.float(), k.float(), v.float(), causal="left").dtype, torch.bfloat16)
        self.refused("expected an element type", lambda: tlc.attention(q.float(), k.float(), v.float(), causal="left"))

    @gpu.needs("compile")
    def test_compiled_calls_are_traced(self):
        q, k, v = self.inputs()
        expected = self.warm(q, k, v)
        f = torch.compile(lambda *x: tlc.attention(*x, causal="left"), fullgraph=True)
        for _ in range(4):
            self.close_tensors(f(q, k, v), expected, 1e-2)
        with launches_worked_out() as found:
            f(q, k, v)
        if not gpu.lacks("Tensor.__dlpack_c_exchange_api__"):
            self.assertEqual(found, [])

    def test_memory_is_given_back(self):
        q, k, v = self.inputs()
        self.warm(q, k, v)
        before = torch.cuda.memory_allocated()
        for _ in range(50):
            tlc.attention(q, k, v, causal="left")
        self.assertEqual(torch.cuda.memory_allocated(), before)

    def test_streams(self):
        q, k, v = self.inputs(s=4096)
        expected = self.warm(q, k, v)
        side = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(50_000_000)
            q2 = q.clone()
            o = tlc.attention(q2, k, v, causal="left")
        side.synchronize()
        self.close_tensors(o, expected, 1e-2)
        bound = tlc.attention.bind(q, k, v, causal="left", out=torch.empty_like(q))
        graph, out = torch.cuda.CUDAGraph(), torch.zeros_like(q)
        with torch.cuda.graph(graph):
            captured = tlc.attention(q, k, v, causal="left")
            out.copy_(captured)
            bound()
        q.copy_(q.flip(1))
        graph.replay()
        self.close_tensors(out, gpu.sdpa(q, k, v, True))

    def test_a_graph_outlives_the_calls_like_it(self):
        """Memory that calls keep is not that of a graph."""
        q, k, v = self.inputs()
        self.warm(q, k, v)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            o = tlc.attention(q, k, v, causal="left")
        self.warm(q, k, v)
        tlc.attention.forget()
        gc.collect()
        torch.cuda.empty_cache()
        filled = [torch.full((1 << 16,), 7, dtype=torch.uint8, device="cuda") for _ in range(64)]
        for _ in range(2):
            q.copy_(q.flip(1))
            graph.replay()
            self.close_tensors(o, gpu.sdpa(q, k, v, True))
        self.assertTrue(all(bool((one == 7).all()) for one in filled))

    def test_several_devices(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("one GPU")
        self.warm(*self.inputs())
        q, k, v = (x.to("cuda:1") for x in self.inputs())
        for _ in range(3):
            self.close_tensors(tlc.attention(q, k, v, causal="left"), gpu.sdpa(q, k, v, True))
        self.refused("expected a tensor on the device of 'q'", lambda: tlc.attention(q, k, v.to("cuda:0"), causal="left"))


if __name__ == "__main__":
    if not gpu.HAS_GPU:
        warnings.warn("no GPU of compute capability 9.0, or no PyTorch that uses it: all is skipped")
    faulthandler.dump_traceback_later(570, exit=True)  # of a test that hangs
    unittest.main(verbosity=2)
