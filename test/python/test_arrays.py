#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors of tlc and of other libraries."""

import ctypes
import gc
import math
import struct
import unittest
import weakref

from support import Case, Foreign, needs_numpy, needs_torch, numbers, numpy, tlc, torch
from tlc import _arrays as arrays


class Own(Case):
    def test_numbers_survive(self):
        for dtype in ("f16", "bf16", "f32", "f64"):
            self.assertEqual(tlc.tensor([[0.5, -2.0], [1.5, math.inf]], dtype).tolist(), [[0.5, -2.0], [1.5, math.inf]])
        self.assertEqual(tlc.tensor([-1, 2**40], "i64").tolist(), [-1, 2**40])
        self.assertEqual(tlc.tensor(3.0).tolist(), 3.0)
        self.assertEqual(tlc.tensor([], "i32").shape, (0,))

    def test_bf16_rounds_to_even(self):
        self.assertEqual(tlc.tensor([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-16], "bf16").tolist(), [1.0, 1 + 2**-6, 1 + 2**-7])
        self.assertTrue(math.isnan(tlc.tensor([math.nan], "bf16").tolist()[0]))

    def test_small_floats(self):
        bits = tlc.tensor([0x00, 0x01, 0x38, 0xC0, 0x7E, 0x7F], "u8")
        *found, last = tlc.view(bits, "e4m3").tolist()
        self.assertEqual(found, [0.0, 2.0**-9, 1.0, -2.0, 448.0])
        self.assertTrue(math.isnan(last))
        self.assertEqual(tlc.view(tlc.tensor([0x3C, 0xC0], "u8"), "e5m2").tolist(), [1.0, -2.0])
        packed = tlc.view(tlc.tensor([[0x21, 0xF7]], "u8"), "e2m1")
        self.assertEqual(packed.shape, (1, 4))
        self.assertEqual(packed.tolist(), [[0.5, 1.0, 6.0, -6.0]])
        self.assertEqual(tlc.view(tlc.tensor([0x8F], "u8"), "i4").tolist(), [-1, -8])

    def test_axes_move_without_copies(self):
        x = tlc.tensor([[1, 2, 3], [4, 5, 6]], "i32")
        self.assertEqual(x.permute(1, 0).tolist(), [[1, 4], [2, 5], [3, 6]])
        self.assertEqual(x.permute(1, 0).strides, (1, 3))

    def test_what_is_wrong(self):
        self.refused("expected an element type among i8, i32", lambda: tlc.tensor([1.0], "half"))
        self.refused("expected 2 values along axis 1, but got 1", lambda: tlc.tensor([[1.0, 2.0], [3.0]]))
        self.refused("tlc.view takes bits of others", lambda: tlc.tensor([1.0], "e4m3"))
        self.refused("view: expected elements of 16 bits for bf16, but got f32[1] on the CPU", lambda: tlc.view(tlc.tensor([1.0]), "bf16"))
        self.refused("expected a tensor with __dlpack__", lambda: tlc.softmax([1.0, 2.0]))
        self.refused("but got str", lambda: tlc.softmax("x"))


class Dlpack(Case):
    def test_a_foreign_tensor_is_read(self):
        x = tlc.tensor([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]], "bf16").permute(1, 0)
        array = arrays.describe(Foreign(x), "x")
        self.assertEqual((array.element.name, array.shape, array.strides, array.device), ("bf16", (3, 2), (1, 3), arrays.CPU))
        self.assertEqual(array.data, x._array.data)

    def test_all_types_pass(self):
        for name in ("i8", "i32", "i64", "f16", "bf16", "f32", "f64", "e4m3", "e5m2", "u8", "u32"):
            array = arrays.describe(Foreign(tlc.empty((2, 3), name)), "x")
            self.assertEqual((array.element.name, array.shape, array.strides), (name, (2, 3), (3, 1)))

    def test_memory_is_held_and_freed(self):
        x = tlc.tensor([1.0, 2.0])
        before = len(arrays._exported)
        array = arrays.describe(Foreign(x), "x")
        self.assertEqual(len(arrays._exported), before + 1)
        del x
        gc.collect()
        self.assertEqual(struct.unpack("2f", arrays.ctypes.string_at(array.data, 8)), (1.0, 2.0))
        del array
        gc.collect()
        self.assertEqual(len(arrays._exported), before)

    def test_calls_keep_no_tensors(self):
        before = len(arrays._exported)
        x = tlc.tensor(numbers(1, 3, 8))
        alive = weakref.ref(x)
        y, z = tlc.softmax(Foreign(x)), tlc.gemm(x, x.permute(1, 0))
        made = weakref.ref(y), weakref.ref(z)
        del x, y, z
        gc.collect()
        self.assertEqual((alive(), made[0](), made[1]()), (None, None, None))
        self.assertEqual(len(arrays._exported), before)

    @needs_numpy
    def test_numpy_takes_ours(self):
        x = tlc.tensor([[1.0, 2.0], [3.0, 4.0]])
        taken = numpy.from_dlpack(x)
        self.assertEqual(taken.tolist(), [[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(taken.__array_interface__["data"][0], x._array.data)
        before = len(arrays._exported)
        del taken
        gc.collect()
        self.assertEqual(len(arrays._exported), before - 1)

    @needs_torch
    def test_torch_takes_ours(self):
        x = tlc.tensor([[1.0, 2.0], [3.0, 4.0]], "bf16")
        self.assertEqual(torch.utils.dlpack.from_dlpack(x.__dlpack__()).float().tolist(), [[1.0, 2.0], [3.0, 4.0]])

    def test_calls_take_foreign_tensors(self):
        values = numbers(1, 3, 8)
        y = tlc.softmax(Foreign(tlc.tensor(values)))
        self.assertIsInstance(y, tlc.Tensor)
        self.assertEqual(y.tolist(), tlc.softmax(tlc.tensor(values)).tolist())


class Managed(ctypes.Structure):
    _fields_ = [("tensor", arrays._DlTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Producer:
    """A tensor that has the two methods of DLPack and nothing else, as CuPy and JAX have them; says what it was asked for."""

    def __init__(self, values, shape, strides=None, offset=0, flags=0, version=(1, 1), name=b"dltensor_versioned", device=(1, 0), lanes=1,
                 error=None):
        self.room = (ctypes.c_float * len(values))(*values)
        self.shape_of, self.strides_of = (ctypes.c_int64 * len(shape))(*shape), (ctypes.c_int64 * len(shape))(*(strides or shape))
        pointer = ctypes.POINTER(ctypes.c_int64)
        address = ctypes.addressof(self.room) - 4 * offset
        self.tensor = arrays._DlTensor(address, *device, len(shape), arrays._DlDataType(2, 32, lanes), ctypes.cast(self.shape_of, pointer),
                                       ctypes.cast(self.strides_of, pointer) if strides else None, 4 * offset)
        self.name, self.device, self.error, self.asked = name, device, error, []
        self.managed = Managed(self.tensor) if name == b"dltensor" else arrays._DlVersioned(*version, None, None, flags, self.tensor)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked.append((stream, max_version))
        if self.error:
            raise self.error
        return arrays._new_capsule(ctypes.addressof(self.managed), self.name, None)


class Older(Producer):
    """Before DLPack 1.0 the method took a stream alone."""

    def __init__(self, *given, **options):
        super().__init__(*given, name=b"dltensor", **options)

    def __dlpack__(self, *, stream=None):
        return super().__dlpack__(stream=stream)


class Protocol(Case):
    """Tensors of libraries of which nothing is known but DLPack."""

    values = [0.5, -1.0, 2.0, 0.25, 1.0, -2.0]

    def test_capsules_of_both_kinds(self):
        expected = tlc.softmax(tlc.tensor([self.values[:3], self.values[3:]])).tolist()
        for kind, asked in ((Producer, (None, (1, 0))), (Older, (None, None))):
            with self.subTest(kind.__name__):
                x = kind(self.values, (2, 3))
                y = tlc.softmax(x)
                self.assertEqual((type(y), y.tolist()), (tlc.Tensor, expected))
                self.assertEqual(set(x.asked), {asked})
        x, y = Older(self.values, (2, 3)), Producer([0.0] * 6, (2, 3))
        self.assertIs(tlc.softmax(x, out=y), y)
        self.assertEqual(list(y.room), [one for row in expected for one in row])

    def test_strides_and_offsets(self):
        for kind in (Producer, Older):
            array = arrays.describe(kind(self.values, (2, 3), offset=5), "x")
            self.assertEqual((array.shape, array.strides, array.device, array.element.name), ((2, 3), (3, 1), arrays.CPU, "f32"))
            x = kind(self.values, (2, 2), strides=(3, 1), offset=7)
            self.assertEqual(tlc.softmax(x).tolist(), tlc.softmax(tlc.tensor([self.values[:2], self.values[3:5]])).tolist())
            self.assertEqual(arrays.describe(kind([], (0, 3)), "x").shape, (0, 3))
            self.assertEqual(arrays.describe(kind([1.0], ()), "x").strides, ())
            self.refused("argument 'x': expected strides of at least 0, but got [-3, 1] elements; copy it",
                         lambda: tlc.softmax(kind(self.values, (2, 3), strides=(-3, 1))))

    def test_what_is_on_a_gpu(self):
        """The producer is told the stream on which calls launch that know no other one."""
        for kind, asked in ((Producer, (1, (1, 0))), (Older, (1, None))):
            x = kind(self.values, (2, 3), device=(2, 3))
            self.assertEqual(arrays.describe(x, "x").device, 3)
            self.assertEqual(x.asked, [asked])

    def test_what_is_read_only(self):
        x, y = Producer(self.values, (2, 3), flags=1), Producer([0.0] * 6, (2, 3))
        tlc.softmax(x, out=y)
        for _ in range(3):
            self.refused("softmax: argument 'out': expected memory that may be written, but got f32[2, 3] on the CPU, which is read-only",
                         lambda: tlc.softmax(y, out=x))
        self.assertEqual(list(x.room), self.values)
        self.refused("argument 'out': expected memory that may be written", lambda: tlc.softmax.bind(y, out=x))

    def test_what_is_refused(self):
        for x, text in ((Producer(self.values, (2, 3), version=(2, 0)), "argument 'x': expected a tensor of DLPack 1, but got one of 2.0"),
                        (Producer(self.values, (2, 3), name=b"used_dltensor_versioned"), "argument 'x': expected a capsule of DLPack that is not used"),
                        (Producer(self.values, (2, 3), lanes=4), "argument 'x': expected elements of one lane, but got 4"),
                        (Producer(self.values, (2, 3), device=(10, 0)), "argument 'x': expected memory of the CPU or of a CUDA device"),
                        (Producer(self.values, (2, 3), error=BufferError("it is sharded")), "argument 'x': Producer does not share its memory: it is sharded")):
            with self.subTest(text):
                self.refused(text, lambda: tlc.softmax(x))


@needs_numpy
class Numpy(Case):
    def test_what_numpy_does_not_let_write(self):
        x = numpy.array(numbers(2, 4, 16), "float32")
        out = numpy.zeros((4, 16), "float32")
        out.flags.writeable = False
        self.refused("softmax: argument 'out': expected memory that may be written", lambda: tlc.softmax(x, out=out))
        self.assertEqual(out.any(), False)
        self.refused("argument 'x': expected strides of at least 0, but got [-16, 1] elements", lambda: tlc.softmax(x[::-1]))

    def test_results_are_numpy_arrays(self):
        x = numpy.array(numbers(2, 4, 16), "float16")
        y = tlc.softmax(x)
        self.assertIsInstance(y, numpy.ndarray)
        self.assertEqual((y.dtype, y.shape), (numpy.dtype("float16"), (4, 16)))
        e = numpy.exp(x.astype("float64"))
        self.close(y.tolist(), (e / e.sum(1, keepdims=True)).tolist(), 2e-3)

    def test_read_only_inputs_and_strides(self):
        base = numpy.array(numbers(3, 4, 2, 16), "float32")
        base.flags.writeable = False
        self.close(tlc.softmax(base[:, 1]).tolist(), tlc.softmax(base[:, 1].copy()).tolist(), 0)

    def test_out_with_gaps_leaves_them(self):
        x = numpy.array(numbers(4, 4, 16), "float32")
        room = numpy.full((4, 24), 7, "float32")
        self.assertIs(tlc.softmax(x, out=room[:, :16]).base, room)
        self.close(room[:, :16].tolist(), tlc.softmax(x).tolist(), 0)
        self.assertTrue((room[:, 16:] == 7).all())

    def test_bits_of_bf16(self):
        values = numbers(5, 2, 32)
        bits = (numpy.array(values, "float32").view("uint32") >> 16).astype("uint16")
        y = tlc.softmax(tlc.view(bits, "bf16"))
        self.assertEqual(y.dtype, "bf16")
        self.assertEqual(y.tolist(), tlc.softmax(tlc.tensor(values, "bf16")).tolist())
        self.assertEqual(y.numpy().dtype, numpy.dtype("float32"))
        self.refused("tlc.view(..., 'bf16') takes bits of bf16", lambda: tlc.softmax(bits))

    def test_other_types_are_named(self):
        self.refused("argument 'x': expected an element type among int8, int32", lambda: tlc.softmax(numpy.zeros((2, 2), "complex64")))
        overlapping = numpy.ndarray((4, 2), "float32", numpy.zeros(16, "uint8"), strides=(2, 4))
        self.refused("argument 'x': expected strides of whole elements", lambda: tlc.softmax(overlapping))


class Rounded(Case):
    def test_extents_that_stand_for_others(self):
        from tlc._programs import rounded
        self.assertEqual([rounded(n) for n in (0, 1, 15, 16, 17, 1000, 1001, 4096, 4097, 11008)], [0, 1, 15, 16, 19, 1032, 1025, 4096, 4609, 11264])
        for n in range(1, 5000):
            self.assertTrue(n <= rounded(n) <= 1.2 * n + 32)
            self.assertEqual(math.gcd(rounded(n), 32), math.gcd(n, 32))
        self.assertLess(len({rounded(n) for n in range(0, 65536, 16)}), 150)


if __name__ == "__main__":
    unittest.main()
