#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls on the emulator, against sums in Python."""

import contextlib
import io
import math
import os
import tempfile
import threading
import unittest

from support import ROOT, Case, attention, flat, head, numbers, tlc

FILES = os.path.join(ROOT, "test", "files")


class Attention(Case):
    b, sq, sk, h, hkv, d = 2, 5, 19, 4, 2, 16

    def inputs(self, dtype="f16", layout="bshd"):
        q, k, v = numbers(1, self.b, self.sq, self.h, self.d), numbers(2, self.b, self.sk, self.hkv, self.d), numbers(3, self.b, self.sk, self.hkv,
                                                                                                                  self.d)
        tensors = [tlc.tensor(x, dtype) for x in (q, k, v)]
        if layout == "bhsd":
            tensors = [x.permute(0, 2, 1, 3) for x in tensors]
        return (q, k, v), tensors

    def expected(self, q, k, v, sees=lambda i, j: True, **options):
        o = [[[None] * self.h for _ in range(len(q[0]))] for _ in range(len(q))]
        lse = [[None] * self.h for _ in range(len(q))]
        for b in range(len(q)):
            for h in range(self.h):
                of_keys = h // (self.h // self.hkv)
                rows, lse[b][h] = attention(head(q, b, h), head(k, b, of_keys), head(v, b, of_keys), sees, **options)
                for s, row in enumerate(rows):
                    o[b][s][h] = row
        return o, lse

    def test_o_and_lse(self):
        lists, tensors = self.inputs()
        o, lse = tlc.attention(*tensors, return_lse=True)
        expected = self.expected(*lists)
        self.assertEqual((o.dtype, o.shape, lse.dtype, lse.shape), ("f16", (2, 5, 4, 16), "f32", (2, 4, 5)))
        self.close(o.tolist(), expected[0])
        self.close(lse.tolist(), expected[1], 1e-3)

    def test_options_change_the_result(self):
        lists, tensors = self.inputs()
        shift = self.sk - self.sq
        left, right = tlc.attention(*tensors, causal="left"), tlc.attention(*tensors, causal="right", window=3, scale=0.5)
        self.close(left.tolist(), self.expected(*lists, lambda i, j: j <= i)[0])
        self.close(right.tolist(), self.expected(*lists, lambda i, j: i + shift - 3 <= j <= i + shift, scale=0.5)[0])

    def test_a_layout_is_strides(self):
        lists, tensors = self.inputs(layout="bhsd")
        o = tlc.attention(*tensors, layout="bhsd", causal="left")
        self.assertEqual((o.shape, o.strides), ((2, 4, 5, 16), (320, 80, 16, 1)))
        self.close(o.permute(0, 2, 1, 3).tolist(), self.expected(*lists, lambda i, j: j <= i)[0])

    def test_a_sink_and_out(self):
        lists, tensors = self.inputs("bf16")
        out = tlc.empty((2, 5, 4, 16), "bf16")
        self.assertIs(tlc.attention(*tensors, sink=tlc.tensor([0.5] * 4), out=out), out)
        self.close(out.tolist(), self.expected(*lists, sink=0.5)[0])

    def test_padded_sequences(self):
        lists, tensors = self.inputs()
        o = tlc.attention(*tensors, lengths_q=tlc.tensor([5, 2], "i32"), lengths_k=tlc.tensor([7, 19], "i32"))
        of_first = self.expected(*lists, lambda i, j: j < 7)[0][0]
        self.close(o.tolist()[0], of_first)
        self.close(o.tolist()[1][:2], self.expected(*lists)[0][1][:2])
        self.assertEqual(set(flat(o.tolist()[1][2:])), {0.0})

    def test_dropout(self):
        """The identity as V, and as the gradient of O, shows which weights forward and backward keep."""
        n, p = 24, 0.25
        q, k = (tlc.tensor(numbers(seed, 1, n, 2, n), "f16") for seed in (1, 2))
        unit = tlc.tensor([[[[float(i == j) for j in range(n)]] * 2 for i in range(n)]], "f16")
        plain = tlc.attention(q, k, unit).tolist()[0]
        shown = {}
        for state in ((3, 4), (3, 5), (3, 4)):
            call = {"dropout_p": p, "philox": tlc.tensor(state, "i64")}
            o, lse = tlc.attention(q, k, unit, return_lse=True, **call)
            dv = tlc.attention_backward(unit, q, k, unit, o, lse, deterministic=True, **call).dv
            rows, gradients = o.tolist()[0], dv.tolist()[0]
            kept = [[[rows[i][h][j] for j in range(n)] for i in range(n)] for h in range(2)]
            self.close([[[gradients[j][h][i] for j in range(n)] for i in range(n)] for h in range(2)], kept, 1e-3)
            mask = [[[float(kept[h][i][j] != 0) for j in range(n)] for i in range(n)] for h in range(2)]
            self.close(kept, [[[plain[i][h][j] / (1 - p) * mask[h][i][j] for j in range(n)] for i in range(n)] for h in range(2)], 2e-3)
            self.assertLess(abs(sum(flat(mask)) / (2 * n * n) - (1 - p)), 0.05)
            self.assertNotEqual(mask[0], mask[1])
            self.assertEqual(shown.setdefault(state, mask), mask)
        self.assertNotEqual(shown[3, 4], shown[3, 5])
        self.assertEqual(tlc.attention(q, k, unit, dropout_p=0.0).tolist()[0], plain)
        philox = tlc.tensor([1, 0], "i64")
        bound = tlc.attention.bind(q, k, unit, dropout_p=0.0, philox=philox)
        bound()
        self.assertEqual(bound.outputs[0].tolist()[0], plain)

    def test_rows_that_begin_anywhere(self):
        (q, k, v), _ = self.inputs()
        # A row has 4 bytes more than its elements: no multiple of 16.
        padded = [tlc.tensor([[[row + [0.0, 0.0] for row in heads] for heads in rows] for rows in x], "f16") for x in (q, k, v)]
        views = [tlc.Tensor(x._array.viewed((*x.shape[:-1], 16), x.strides)) for x in padded]
        self.close(tlc.attention(*views).tolist(), self.expected(q, k, v)[0])

    def test_packed_sequences(self):
        q, k = numbers(4, 7, 2, 8), numbers(5, 9, 2, 8)
        begins_q, begins_k = [0, 3, 7], [0, 2, 9]
        o, lse = tlc.attention_varlen(*(tlc.tensor(x, "f16") for x in (q, k, k)), tlc.tensor(begins_q, "i32"), tlc.tensor(begins_k, "i32"),
                                      return_lse=True)
        self.assertEqual((o.shape, lse.shape), ((7, 2, 8), (2, 7)))
        for n in range(2):
            rows, keys = slice(begins_q[n], begins_q[n + 1]), slice(begins_k[n], begins_k[n + 1])
            for h in range(2):
                of_keys = [row[h] for row in k[keys]]
                expected = attention([row[h] for row in q[rows]], of_keys, of_keys)
                self.close([row[h] for row in o.tolist()[rows]], expected[0])
                self.close(lse.tolist()[h][rows], expected[1], 1e-3)

    def test_gradients_are_differences(self):
        _, (q, k, v) = self.inputs()
        do = tlc.tensor(numbers(6, 2, 5, 4, 16), "f16")
        o, lse = tlc.attention(q, k, v, causal="left", return_lse=True)
        dq, dk, dv, dsink = tlc.attention_backward(do, q, k, v, o, lse, causal="left", gradients="f32", deterministic=True)
        self.assertIsNone(dsink)
        lists = self.inputs()[0]
        weights = do.tolist()

        def loss():
            return sum(a * b for a, b in zip(flat(self.expected(*lists, lambda i, j: j <= i)[0]), flat(weights)))

        for which, gradient in enumerate((dq, dk, dv)):
            for b, s, h, c in ((0, 1, 1, 3), (1, 2, 0, 7)):
                row, step, kept = lists[which][b][s][h], 1e-3, lists[which][b][s][h][c]
                row[c] = kept + step
                more = loss()
                row[c] = kept - step
                self.close(gradient.tolist()[b][s][h][c], (more - loss()) / (2 * step), 2e-2)
                row[c] = kept

    def test_bound_launches_see_new_contents(self):
        lists, (q, k, v) = self.inputs()
        out = tlc.empty((2, 5, 4, 16), "f16")
        launch = tlc.attention.bind(q, k, v, out=out)
        launch()
        self.close(out.tolist(), self.expected(*lists)[0])
        raw = tlc.tensor(numbers(9, 2, 5, 4, 16), "f16")._bytes()
        tlc._arrays.ctypes.memmove(q._array.data, raw, len(raw))
        launch()
        self.close(out.tolist(), self.expected(numbers(9, 2, 5, 4, 16), *lists[1:])[0])
        self.assertEqual([lse.shape for lse in launch.outputs], [(2, 4, 5)])

    def test_empty_tensors(self):
        _, (q, k, v) = self.inputs()
        self.assertEqual(tlc.attention(tlc.empty((0, 5, 4, 16), "f16"), *[tlc.empty((0, 19, 2, 16), "f16")] * 2).shape, (0, 5, 4, 16))
        o, lse = tlc.attention(q, *[tlc.empty((2, 0, 2, 16), "f16")] * 2, return_lse=True)
        self.assertEqual((set(flat(o.tolist())), set(flat(lse.tolist()))), ({0.0}, {-math.inf}))

    def test_sdpa(self):
        lists, tensors = self.inputs(layout="bhsd")
        o = tlc.scaled_dot_product_attention(*tensors, is_causal=True, scale=0.25, enable_gqa=True)
        self.close(o.permute(0, 2, 1, 3).tolist(), self.expected(*lists, lambda i, j: j <= i, scale=0.25)[0])

    def test_options_are_data(self):
        options = {option.name: option for option in tlc.attention.options}
        self.assertEqual(options["causal"].allowed, "none | left | right")
        self.assertNotIn("d", options)
        self.assertIn("deterministic", {option.name for option in tlc.attention_backward.options})


class Decode(Case):
    def check(self, **changed):
        b, h, hkv, d, page = 2, 4, 2, 32, 16
        lengths, q, keys = [5, 40], numbers(7, b, 1, h, d), numbers(8, b, 48, hkv, d)
        cache = tlc.tensor(keys, "f16")
        table = None
        if changed.get("paged"):  # page p of sequence n is number 2 p + n
            cache = tlc.tensor([keys[n][p * page:(p + 1) * page] for p in range(3) for n in range(b)], "f16")
            table = tlc.tensor([[2 * p + n for p in range(3)] for n in range(b)], "i32")
        o, lse = tlc.attention_decode(tlc.tensor(q, "f16"), cache, None if "dv" in changed else cache, tlc.tensor(lengths, "i32"), table=table,
                                      dv=changed.get("dv"), return_lse=True)
        self.assertEqual((o.shape, lse.shape), ((b, 1, h, changed.get("dv", d)), (b, h, 1)))
        for n in range(b):
            for i in range(h):
                of_keys = head(keys, n, i // 2)[:lengths[n]]
                expected = attention(head(q, n, i), of_keys, [row[:changed.get("dv", d)] for row in of_keys])
                self.close(head(o.tolist(), n, i), expected[0])
                self.close(lse.tolist()[n][i], expected[1], 1e-3)

    def test_a_contiguous_cache(self):
        self.check()

    def test_pages(self):
        self.check(paged=True)

    def test_values_in_keys(self):
        self.check(dv=16)


class Gemm(Case):
    def test_layouts_follow_from_strides(self):
        a, b = numbers(1, 9, 16), numbers(2, 16, 24)
        expected = [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]
        of_a = [tlc.tensor(a, "f16"), tlc.tensor([list(column) for column in zip(*a)], "f16").permute(1, 0)]
        of_b = [tlc.tensor(b, "f16"), tlc.tensor([list(column) for column in zip(*b)], "f16").permute(1, 0)]
        for x in of_a:
            for y in of_b:
                self.close(tlc.gemm(x, y, out_dtype="f32").tolist(), expected, 1e-3)

    def test_the_epilogue(self):
        a, bias, residual = numbers(3, 8, 8), numbers(4, 8), numbers(5, 8, 8)
        x = tlc.tensor(a, "bf16")
        found = tlc.gemm(x, x, bias=tlc.tensor(bias), residual=tlc.tensor(residual, "bf16"), activation="relu")
        expected = [[max(0, sum(a[i][k] * a[k][j] for k in range(8)) + bias[j]) + residual[i][j] for j in range(8)] for i in range(8)]
        self.close(found.tolist(), expected)
        out = tlc.tensor(residual)
        halves = tlc.tensor(a, "f16")
        self.assertIs(tlc.gemm(halves, halves, out=out, accumulate=True), out)
        self.close(out.tolist(), [[sum(a[i][k] * a[k][j] for k in range(8)) + residual[i][j] for j in range(8)] for i in range(8)], 1e-3)

    def test_batches_and_scales(self):
        a = numbers(6, 3, 4, 16)
        found = tlc.gemm(tlc.tensor(a, "f16"), tlc.tensor(a, "f16").permute(0, 2, 1))
        self.close(found.tolist(), [[[sum(x * y for x, y in zip(one, other)) for other in each] for one in each] for each in a])
        ones = tlc.view(tlc.tensor([[0x38] * 32] * 16, "u8"), "e4m3")
        scaled = tlc.gemm(ones, ones.permute(1, 0), scale_a=tlc.tensor(0.5), scale_b=tlc.tensor([0.25]))
        self.assertEqual((scaled.dtype, set(flat(scaled.tolist()))), ("bf16", {4.0}))
        integers = tlc.tensor([[1, -2] * 16] * 16, "i8")
        self.assertEqual(set(flat(tlc.gemm(integers, integers.permute(1, 0)).tolist())), {80})

    def test_rows_that_begin_anywhere(self):
        a = numbers(7, 8, 16)
        padded = tlc.tensor([row + [0.0] for row in a], "f16")
        x = tlc.Tensor(padded._array.viewed((8, 16), (17, 1)))
        self.close(tlc.gemm(x, x.permute(1, 0)).tolist(), [[sum(p * q for p, q in zip(one, other)) for other in a] for one in a])


class Ops(Case):
    def test_every_kernel_has_a_name(self):
        names = dir(tlc.ops)
        for name in ("rms_norm", "swiglu", "gemm", "attention_bwd", "radix_sort", "fused_moe"):
            self.assertIn(name, names)
            self.assertIn(tlc.ops.__getattr__(name)._kernel.summary, getattr(tlc.ops, name).__doc__)
        self.assertFalse(hasattr(tlc.ops, "softmx"))
        self.refused("nearest: softmax", lambda: tlc.ops.softmx)

    def test_arguments_are_data(self):
        self.assertEqual(tlc.ops.cross_entropy.arguments(), ["X: bf16[tokens, words]", "Labels: i32[tokens]", "-> Loss: f32[tokens]",
                                                             "-> L: f32[tokens]"])

    def test_results_have_names(self):
        x = numbers(1, 3, 40)
        labels = [4, 39, 0]
        result = tlc.ops.cross_entropy(tlc.tensor(x, "bf16"), tlc.tensor(labels, "i32"))
        self.assertEqual(type(result)._fields, ("Loss", "L"))
        self.close(result.Loss.tolist(), [math.log(sum(map(math.exp, row))) - row[label] for row, label in zip(x, labels)], 1e-3)

    def test_sizes_that_no_tensor_has_are_options(self):
        count = tlc.ops.histogram(tlc.tensor([3, 1, 3, 0], "i32"), bins=5)
        self.assertEqual(count.tolist(), [1, 1, 0, 2, 0])
        self.refused("expected a value of dimension 'bins', but got none", lambda: tlc.ops.histogram(tlc.tensor([3], "i32")))

    def test_extents_that_are_computed(self):
        image, filters = tlc.tensor(numbers(2, 1, 5, 4, 8), "bf16"), tlc.tensor(numbers(3, 8, 3, 3, 8), "bf16")
        y = tlc.ops.convolution(image, filters)
        self.assertEqual(y.shape, (20, 8))
        first = sum(image.tolist()[0][i][j][c] * filters.tolist()[5][i + 1][j + 1][c] for i in range(2) for j in range(2) for c in range(8))
        self.close(y.tolist()[0][5], first)

    def test_an_interface_without_tlc_shape_of(self):
        from tlc import _devices, _programs
        program = _programs.program_of(_devices.current_emulator(), _programs.our_kernels()["rms_norm"], {})
        y, sizes = next(argument for argument in program.tensors if argument.name == "Y"), {"m": 3, "n": 40}
        self.assertEqual(program._plain_shape_of(y, sizes), (3, 40))
        self.assertEqual(program.shape_of("Y", sizes), (3, 40))
        self.refused("argument 'Y' axis 1: expected a value of dimension 'n', but got none", lambda: program._plain_shape_of(y, {"m": 3}))

    def test_what_is_changed_in_place_is_returned(self):
        grown = tlc.tensor([[1.0] * 8] * 3)
        words, rows = tlc.tensor([2, 2], "i32"), tlc.tensor([[0.5] * 8] * 2, "bf16")
        self.assertIs(tlc.ops.embedding_bwd(words, rows, dE=grown), grown)
        self.assertEqual([row[0] for row in grown.tolist()], [1.0, 1.0, 2.0])

    def test_out_by_name_and_alone(self):
        x, y = tlc.tensor([[0.5] * 16], "bf16"), tlc.empty((1, 8), "bf16")
        self.assertIs(tlc.ops.swiglu(tlc.Tensor(x._array.viewed((1, 2, 8), (16, 8, 1))), out=y), y)
        self.close(y.tolist(), [[0.25 / (1 + math.exp(-0.5))] * 8])
        weights = tlc.tensor([1.0] * 8)
        rows, r = tlc.tensor([[2.0] * 8], "bf16"), tlc.empty((1,), "f32")
        self.assertIs(tlc.ops.rms_norm(rows, W=weights, out={"R": r}).R, r)
        self.close(r.tolist(), [0.5], 1e-3)

    def test_programs_are_few(self):
        with tlc.compile_events() as events:
            for rows in range(33, 41):
                tlc.ops.swiglu(tlc.empty((rows, 2, 16), "bf16"))
        self.assertLessEqual(len({event.program for event in events if event.kind != "loaded"}), 8)
        self.assertLessEqual(sum(event.kind == "loaded" for event in events), 6)


class Views(Case):
    """What decides a program beside shapes."""

    @staticmethod
    def view(dtype, shape, strides, offset=0):
        array = tlc.tensor(numbers(9, 1024), dtype)._array.viewed(shape, strides)
        array.data += offset * array.element.bits // 8
        return tlc.Tensor(array)

    def test_without_elements_any_strides_do(self):
        x = self.view("f16", (2, 0, 4, 16), (16384, 256, 16, 1))
        odd = self.view("f16", (2, 0, 4, 16), (7, 3, 5, 2))
        for one in (x, odd):
            self.assertEqual(tlc.softmax(one).shape, one.shape)
            self.assertEqual(tlc.softmax(one, out=x).shape, one.shape)
            o, lse = tlc.attention(one, one, one, return_lse=True)
            self.assertEqual((o.shape, lse.shape), ((2, 0, 4, 16), (2, 4, 0)))
            self.assertEqual(tlc.attention_backward(one, x, one, one, o, lse).dq.shape, one.shape)
            keys = tlc.tensor(numbers(1, 2, 5, 4, 16), "f16")
            self.assertEqual(tlc.attention(one, keys, keys).shape, one.shape)
            self.assertEqual(set(flat(tlc.attention(keys, one, one).tolist())), {0.0})
        for strides in ((256, 16, 1), (3, 5, 2)):
            rows = self.view("f16", (0, 4, 16), strides)
            self.assertEqual(tlc.attention_varlen(rows, rows, rows, tlc.tensor([0, 0], "i32")).shape, (0, 4, 16))
        for strides in ((7, 11, 3, 2), (64, 64, 16, 1)):
            q = self.view("f16", (0, 1, 4, 16), strides)
            cache = self.view("f16", (0, 32, 4, 16), strides)
            self.assertEqual(tlc.attention_decode(q, cache, cache, tlc.tensor([], "i32")).shape, q.shape)
        for strides in ((16, 1), (1, 16), (5, 3)):
            a, b, inner = (self.view("f16", shape, strides) for shape in ((0, 16), (16, 0), (8, 0)))
            full = tlc.tensor(numbers(2, 16, 8), "f16")
            self.assertEqual(tlc.gemm(a, full).shape, (0, 8))
            self.assertEqual(tlc.gemm(full.permute(1, 0), b).shape, (8, 0))
            self.assertEqual(set(flat(tlc.gemm(inner, self.view("f16", (0, 8), strides)).tolist())), {0.0})
            y, r = tlc.ops.rms_norm(self.view("bf16", (0, 16), strides), tlc.tensor([1.0] * 16))
            self.assertEqual((y.shape, r.shape), ((0, 16), (0,)))

    def test_alignment_of_addresses_decides(self):
        for offset in (0, 1, 0):
            x = self.view("f16", (1, 8, 2, 16), (256, 32, 16, 1), offset)
            given = x.tolist()
            for h in range(2):
                self.close(head(tlc.attention(x, x, x).tolist(), 0, h), attention(*[head(given, 0, h)] * 3)[0])
            a = self.view("f16", (8, 16), (16, 1), offset)
            self.close(tlc.gemm(a, a.permute(1, 0)).tolist(), [[sum(i * j for i, j in zip(r, s)) for s in a.tolist()] for r in a.tolist()])
            sums = [sum(map(math.exp, row)) for row in a.tolist()]
            self.close(tlc.softmax(a).tolist(), [[math.exp(value) / s for value in row] for row, s in zip(a.tolist(), sums)])

    def test_a_call_like_an_earlier_one_is_not_solved_again(self):
        from tlc import _kernels
        call, solved = _kernels.Softmax(), []
        solve = call.solve
        call.solve = lambda *given: solved.append(given) or solve(*given)

        def solves(x, **options):
            before = len(solved)
            self.close([math.fsum(row) for row in call(x, **options).tolist()], [1.0] * x.shape[0])
            return len(solved) - before

        self.assertEqual([solves(self.view("f16", (4, 16), (16, 1), offset)) for offset in (0, 8, 1, 1, 9, 0)], [1, 0, 1, 0, 0, 0])
        other = (self.view("f16", (3, 16), (16, 1)), self.view("f16", (4, 16), (32, 1)), self.view("bf16", (4, 16), (16, 1)))
        self.assertEqual([solves(x) for x in (*other, *other)], [1, 1, 1, 0, 0, 0])
        self.assertEqual([solves(other[0], length=length) for length in ("one", "any", "one")], [1, 1, 0])
        with tlc.emulator(seed=1):
            self.assertEqual([solves(other[0]), solves(other[0])], [1, 0])
        self.assertEqual(solves(other[0]), 0)


class Files(Case):
    def setUp(self):
        os.environ.setdefault("CXX", "clang++-22")

    def test_a_kernel_of_a_file(self):
        softcap = self.load("softcap.cpp").softcap
        x, bias = numbers(1, 3, 5), numbers(2, 5)
        y = softcap(tlc.tensor(x, "f16"), tlc.tensor(bias), cap=0.5)
        self.assertEqual(y.dtype, "f16")
        self.close(y.tolist(), [[0.5 * math.tanh((value + bias[j]) / 0.5) for j, value in enumerate(row)] for row in x], 2e-3)

    def test_numbers_of_a_launch(self):
        adam = self.load("adam.cpp").adam
        self.assertEqual([option.name for option in adam.options], ["n"])
        for lr in (0.5, 0.25):
            p, m, v = tlc.tensor([1.0, 1.0]), tlc.tensor([0.0, 0.0]), tlc.tensor([0.0, 0.0])
            adam(tlc.tensor([2.0, -3.0]), p, m, v, lr=lr, step=1)
            self.close(p.tolist(), [1 - lr, 1 + lr], 1e-4)  # the first step has the length lr
            self.close(m.tolist(), [0.2, -0.3], 1e-6)
        self.refused("'step'", lambda: adam(tlc.tensor([2.0, -3.0]), p, m, v, lr=0.5))

    def test_a_race_names_both_lines(self):
        scale = self.load("outside_put.cpp").scale
        with tlc.emulator(seed=1), self.assertRaises(tlc.RaceError) as caught:
            scale(tlc.tensor([[1.0] * 256] * 128), tlc.tensor([[1.0]] * 128))
        error = caught.exception
        with open(os.path.join(FILES, "outside_put.cpp"), encoding="utf-8") as file:
            lines = [line.strip() for line in file]
        self.assertEqual({lines[place.line - 1] for place in error.places},
                         {"copy(s, factors);", "copy(S.tile({i * 32, 0}, {32, 1}), s); // outside of the put"})
        self.assertEqual((os.path.basename(error.file), error.line, error.kind), ("outside_put.cpp", error.places[0].line, tlc.Kind.EXECUTION))
        self.assertIn("race between", error.text)
        # The process and the emulator live on.
        self.assertEqual(tlc.softmax(tlc.tensor([[1.0, 1.0]])).tolist(), [[0.5, 0.5]])

    def test_prints_and_checks(self):
        counting, said = self.load("reports.cpp").counting, io.StringIO()
        with contextlib.redirect_stderr(said):
            x = counting(out=tlc.empty((64,), "i32"))
        self.assertEqual(x.tolist(), list(range(64)))
        self.assertIn("block 1 of 2", said.getvalue())
        with contextlib.redirect_stderr(said):
            error = self.refused("expected less than 70, but got 70", lambda: counting(out=tlc.empty((96,), "i32")), tlc.Kind.EXECUTION)
        self.assertNotIsInstance(error, tlc.RaceError)
        self.assertEqual((os.path.basename(error.file), error.line), ("reports.cpp", 18))
        self.assertGreater(error.column, 0)
        self.refused("expected at least one tensor", lambda: counting(n=64))

    def test_a_file_that_does_not_compile(self):
        error = self.refused("error: ", lambda: tlc.load(os.path.join(FILES, "does_not_compile.cpp")))
        self.assertEqual(os.path.basename(error.file), "does_not_compile.cpp")
        with open(error.file, encoding="utf-8") as file:
            line = file.read().splitlines()[error.line - 1]
        self.assertTrue(0 < error.column <= len(line))
        self.refused("has no kernel 'softcapp'; nearest: softcap", lambda: self.load("softcap.cpp").softcapp)

    def load(self, name):
        return tlc.load(os.path.join(FILES, name))


class Cache(Case):
    def test_hits_only(self):
        x = tlc.tensor([[1.0] * 72] * 3, "f16")

        def product():
            return tlc.gemm(x, x.permute(1, 0), activation="silu", stages=3, bm=64)

        with tempfile.TemporaryDirectory() as folder:
            tlc.set_cache(folder)
            self.addCleanup(tlc.set_cache)
            self.assertEqual(tlc.cache_folder(), folder)
            with tlc.hits_only():
                error = self.refused("which is used for hits only", product)
            tlc.prewarm(error.text.split("from the line '")[1].rstrip("'"))
            self.assertTrue(os.listdir(folder))
            with tlc.hits_only(), tlc.compile_events() as events:
                product()
            self.assertEqual({event.kind for event in events} - {"found in memory", "found on disk"}, {"loaded"})

    def test_threads_share_programs(self):
        x, results = tlc.tensor(numbers(1, 6, 88)), [None] * 4

        def call(number):
            results[number] = [tlc.softmax(x).tolist() for _ in range(3)]

        threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(all(result == results[0] and result is not None for result in results))


if __name__ == "__main__":
    unittest.main()
