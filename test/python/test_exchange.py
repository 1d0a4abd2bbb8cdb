#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls that repeat an earlier one by DLPack's exchange API: with a library of the test's own, on an emulated GPU."""

import ctypes
import gc
import sys
import threading
import time
import unittest
import unittest.mock
import weakref

from doubles import DESCRIBE, FAILURE, SUCCESS, Api, Base, Library, emulated_gpus, new_type
from support import Case, launches_worked_out, numbers, tlc
from tlc import _arrays, _exchange

RAISES = ctypes.cast(ctypes.pythonapi.PyList_Append, ctypes.c_void_p).value  # of what is no list: SystemError, and -1


class Exchange(Case):
    shape = 1, 8, 2, 16

    def setUp(self):
        self.library = Library()
        self.type = new_type(self.library)
        gpus = emulated_gpus()
        gpus.__enter__()
        self.addCleanup(gpus.__exit__, None, None, None)
        self.addCleanup(self.forget)

    def forget(self):
        """Plans on this device, which ends."""
        for call in (tlc.attention, tlc.attention_varlen, tlc.attention_backward, tlc.attention_decode, tlc.gemm, tlc.softmax, tlc.ops.rms_norm):
            call.forget()

    def inputs(self, seed=1, dtype="f16", offset=0, shape=None):
        return [self.type.of(numbers(seed + i, *(shape or self.shape)), dtype, offset) for i in range(3)]

    def expected(self, call, *tensors, **options):
        """By the usual way, on the CPU."""
        host = [tlc.tensor(one.tolist(), one.array.element.name) if isinstance(one, Base) else one for one in tensors]
        return call(*host, **options)

    def repeats(self, call, *tensors, **options):
        """The result of a call that is not worked out."""
        with launches_worked_out() as found:
            result = call(*tensors, **options)
        self.assertEqual(found, [])
        return result

    def is_worked_out(self, call, *tensors, **options):
        with launches_worked_out() as found:
            result = call(*tensors, **options)
        self.assertEqual(len(found), 1)
        return result

    def warm(self, call, *tensors, **options):
        for _ in range(2):
            self.is_worked_out(call, *tensors, **options)

    def same(self, one, other):
        self.assertEqual(one.shape, other.shape)
        self.assertEqual(one.tolist(), other.tolist())

    def test_attention(self):
        self.warm(tlc.attention, *self.inputs(), causal="left")
        for seed in (1, 5):
            given = self.inputs(seed)
            o = self.repeats(tlc.attention, *given, causal="left")
            self.assertIs(type(o), self.type)
            self.same(o, self.expected(tlc.attention, *given, causal="left"))

    def test_lse_is_returned_or_lies_where_workspaces_do(self):
        given = self.inputs()
        self.warm(tlc.attention, *given, return_lse=True)
        o, lse = self.repeats(tlc.attention, *given, return_lse=True)
        allocated = self.library.allocated
        expected = self.expected(tlc.attention, *given, return_lse=True)
        self.same(o, expected.o)
        self.same(lse, expected.lse)
        self.warm(tlc.attention, *given)
        self.same(self.repeats(tlc.attention, *given), expected.o)
        self.same(self.repeats(tlc.attention, *given), expected.o)
        self.assertEqual((self.library.allocated, len(self.library.held)), (allocated + 1, 1))  # kept for launches on this stream
        self.library.stream = 0x2000
        for stream in (0x2000, 0x1000, 0x2000):
            self.library.stream = stream
            self.same(self.repeats(tlc.attention, *given), expected.o)
        self.assertEqual((self.library.allocated, len(self.library.held)), (allocated + 2, 2))
        self.forget()
        gc.collect()
        self.assertEqual(self.library.held, {})

    def test_much_memory_is_freed_by_the_end_of_a_call(self):
        given = self.inputs(shape=(1, 200, 100, 16))
        self.warm(tlc.attention, *given)
        allocated = self.library.allocated
        o = [self.repeats(tlc.attention, *given).tolist() for _ in range(2)]
        self.assertEqual((self.library.allocated, self.library.held), (allocated + 2, {}))
        self.assertEqual(o[0], o[1])

    def test_gradients_of_attention(self):
        q, k, v = self.inputs()
        do = self.type.of(numbers(7, *self.shape), "f16")
        o, lse = tlc.attention(q, k, v, causal="left", return_lse=True)
        given = do, q, k, v, o, lse
        self.warm(tlc.attention_backward, *given, causal="left", deterministic=True)
        found = self.repeats(tlc.attention_backward, *given, causal="left", deterministic=True)
        expected = self.expected(tlc.attention_backward, *given, causal="left", deterministic=True)
        for one, other in zip(found[:3], expected[:3]):
            self.same(one, other)
        self.assertIsNone(found.dsink)

    def test_other_calls(self):
        x, w = self.type.of(numbers(1, 24, 64), "bf16"), self.type.of(numbers(2, 64), "f32")
        begins = self.type.of([0, 3, 8], "i32")
        packed = [self.type.of(numbers(3 + i, 8, 2, 16), "f16") for i in range(3)]
        query, cache = self.type.of(numbers(6, 1, 1, 2, 16), "f16"), self.type.of(numbers(7, 1, 32, 2, 16), "f16")
        lengths = self.type.of([19], "i32")
        a = self.type.of(numbers(8, 24, 64), "f16")
        for call, tensors, options in ((tlc.softmax, (x,), {}), (tlc.ops.rms_norm, (x, w), {}), (tlc.ops.rms_norm, (x, w), {"epsilon": 0.5}),
                                       (tlc.gemm, (a, a.permute(1, 0)), {"out_dtype": "f32"}), (tlc.attention_varlen, (*packed, begins), {}),
                                       (tlc.attention_decode, (query, cache, cache, lengths), {"return_lse": True})):
            if "epsilon" in options and "epsilon" not in str([option.name for option in call.options]):
                continue
            self.warm(call, *tensors, **options)
            found = self.repeats(call, *tensors, **options)
            if call is tlc.gemm:
                expected = tlc.gemm(*[tlc.tensor(a.tolist(), "f16"), tlc.tensor(a.tolist(), "f16").permute(1, 0)], **options)
            else:
                expected = self.expected(call, *tensors, **options)
            for one, other in zip(found, expected) if isinstance(found, tuple) else ((found, expected),):
                self.same(one, other)

    def test_out(self):
        given, out = self.inputs(), self.type.empty(self.shape, "f16", 0)
        self.warm(tlc.attention, *given, out=out)
        other = self.type.empty(self.shape, "f16", 0)
        self.assertIs(self.repeats(tlc.attention, *self.inputs(4), out=other), other)
        self.same(other, self.expected(tlc.attention, *self.inputs(4)))
        self.refused("expected memory of its own", lambda: self.repeats(tlc.attention, *given, out=given[0]))
        self.repeats(tlc.attention, *given, out=out)  # an error leaves it as it was

    def test_calls_with_and_without_out_take_turns(self):
        given, out = self.inputs(), self.type.empty(self.shape, "f16", 0)
        expected = self.expected(tlc.attention, *given)
        self.warm(tlc.attention, *given)
        self.warm(tlc.attention, *given, out=out)
        for _ in range(3):
            self.same(self.repeats(tlc.attention, *given), expected)
            self.same(self.repeats(tlc.attention, *given, out=out), expected)

    def test_writes_are_counted(self):
        """By the tensors' library, of what is given and written, for each launch."""
        written, x, out = [], self.type.of(numbers(1, 24, 64), "bf16"), self.type.empty((24, 64), "bf16", 0)
        _arrays.FRAMEWORKS[self.type] = _arrays.FRAMEWORKS[self.type]._replace(note_write=written.append)
        self.warm(tlc.softmax, x, out=out)
        self.assertEqual(written, [out, out])
        self.repeats(tlc.softmax, x, out=out)
        self.assertEqual(written, [out] * 3)
        self.warm(tlc.softmax, x)
        self.repeats(tlc.softmax, x)
        self.assertEqual(written, [out] * 3)  # of results nothing is known before
        launch = tlc.softmax.bind(x, out=out)
        launch()
        launch()
        self.assertEqual(written, [out] * 5)
        launch = tlc.softmax.bind(x)
        launch()
        self.assertEqual(written, [out] * 5 + [launch.outputs[0]])

    def test_tensors_that_trade_places(self):
        a, b = (self.type.of(numbers(i, 24, 64), "f32") for i in (1, 2))
        expected = self.expected(tlc.softmax, a)
        self.warm(tlc.softmax, a, out=b)
        for x, y in ((a, b), (b, a), (a, b)):
            self.repeats(tlc.softmax, x, out=y)
        tlc.softmax(a, out=b)
        self.assertNotEqual(a.tolist(), expected.tolist())  # softmax of softmax
        self.same(b, self.expected(tlc.softmax, a))

    def test_what_is_like_no_earlier_call(self):
        """Everything but addresses is compared."""
        q, k, v = self.inputs()
        self.warm(tlc.attention, q, k, v, causal="left")
        longer, bf16, odd = self.inputs(shape=(1, 11, 2, 16)), self.inputs(dtype="bf16"), self.inputs(offset=2)
        turned = [self.type.of(numbers(i, 1, 2, 8, 16), "f16").permute(0, 2, 1, 3) for i in range(3)]
        for tensors in (longer, (q, *longer[1:]), bf16, odd, (q, odd[1], v), (q, k, odd[2]), turned, (q, turned[1], v), (q, k, turned[2])):
            with self.subTest([one.array for one in tensors]):
                self.same(self.is_worked_out(tlc.attention, *tensors, causal="left"), self.expected(tlc.attention, *tensors, causal="left"))
        self.same(self.repeats(tlc.attention, q, k, v, causal="left"), self.expected(tlc.attention, q, k, v, causal="left"))
        sink = self.type.of([0.5, 0.25], "f32")
        for options in ({}, {"causal": "right"}, {"causal": "left", "window": 2}, {"causal": "left", "sink": sink}, {"causal": "left", "layout": "bhsd"},
                        {"causal": "left", "scale": 2.0}):
            with self.subTest(options):
                result = self.is_worked_out(tlc.attention, q, k, v, **options)
                if "sink" in options:
                    options["sink"] = tlc.tensor([0.5, 0.25])
                self.same(result, self.expected(tlc.attention, q, k, v, **options))

    def test_a_call_that_is_made_often(self):
        """The last launch is tried without a look-up."""
        q, k, v = self.inputs()
        longer, bf16 = self.inputs(shape=(1, 11, 2, 16)), self.inputs(dtype="bf16")
        expected = self.expected(tlc.attention, q, k, v, causal="left")
        self.warm(tlc.attention, q, k, v, causal="left")
        self.warm(tlc.attention, *longer, causal="left")
        for others, options in ((longer, {"causal": "left"}), (bf16, {"causal": "left"}), ((q, k, v), {}), ((q, k, v), {"causal": q})):
            for _ in range(3):
                self.same(self.repeats(tlc.attention, q, k, v, causal="left"), expected)
            self.assertIsNotNone(tlc.attention._last)
            if "causal" in options and options["causal"] is q:
                self.refused("to be none | left | right", lambda: tlc.attention(*others, **options))
            else:
                self.same(tlc.attention(*others, **options), self.expected(tlc.attention, *others, **options))
        for _ in range(2):
            self.repeats(tlc.attention, *longer, causal="left")
            self.repeats(tlc.attention, q, k, v, causal="left")
        with unittest.mock.patch.object(tlc._calls.Call, "_found", side_effect=AssertionError):
            self.same(self.repeats(tlc.attention, q, k, v, causal="left"), expected)

    def test_what_only_another_tensor_tells(self):
        """The key of the last call has the shapes of the first two tensors."""
        q, k, v = self.inputs()
        wide = self.type.of(numbers(3, 1, 8, 2, 32), "f16")
        self.warm(tlc.attention, q, k, v)
        self.assertEqual(self.is_worked_out(tlc.attention, q, k, wide).shape, (1, 8, 2, 32))
        self.assertEqual(self.repeats(tlc.attention, q, k, v).shape, (1, 8, 2, 16))
        self.is_worked_out(tlc.attention, q, k, wide)
        self.same(self.repeats(tlc.attention, q, k, wide), self.expected(tlc.attention, q, k, wide))
        self.same(self.is_worked_out(tlc.attention, q, k, v), self.expected(tlc.attention, q, k, v))

    def test_other_devices(self):
        q, k, v = self.inputs()
        self.warm(tlc.attention, q, k, v)
        elsewhere = [self.type.of(numbers(i, *self.shape), "f16", device=1) for i in range(3)]
        for place in range(3):
            given = [q, k, v]
            given[place] = elsewhere[place]
            self.refused("expected a tensor on the device of", lambda: tlc.attention(*given))
        for _ in range(3):
            self.same(self.is_worked_out(tlc.attention, *elsewhere), self.expected(tlc.attention, *elsewhere))
        self.same(self.repeats(tlc.attention, q, k, v), self.expected(tlc.attention, q, k, v))

    def test_other_types(self):
        """Types that derive from the library's may be anything."""
        q, k, v = self.inputs()
        self.warm(tlc.attention, q, k, v)
        derived = type("Derived", (self.type,), {})
        other = new_type(Library(), "Other")
        for wrapped in (derived, other):
            for place in range(3):
                given = [q, k, v]
                given[place] = wrapped(given[place].array)
                self.is_worked_out(tlc.attention, *given)
        host = tlc.tensor(k.tolist(), "f16")
        self.refused("expected a tensor on the device of 'q'", lambda: tlc.attention(q, host, v))
        self.assertNotIn(derived, _exchange.EXCHANGES)

    def test_an_option_that_is_a_list(self):
        x, w = self.type.of(numbers(1, 24, 64), "bf16"), self.type.of(numbers(2, 64), "f32")
        self.warm(tlc.ops.rms_norm, x, w)
        self.refused("argument 'nothing': expected a tensor", lambda: tlc.ops.rms_norm(x, w, nothing=[1, 2]))
        self.refused("expected", lambda: tlc.ops.rms_norm(x, w, dtype=["bf16"] * 2))

    def test_tensors_by_name(self):
        x, w = self.type.of(numbers(1, 24, 64), "bf16"), self.type.of(numbers(2, 64), "f32")
        first, second = tlc.ops.rms_norm.arguments()[:2]
        names = [text.split(":")[0] for text in (first, second)]
        for _ in range(3):
            self.is_worked_out(tlc.ops.rms_norm, x, **{names[1]: w})
        self.warm(tlc.ops.rms_norm, x, w)
        self.same(self.repeats(tlc.ops.rms_norm, x, w)[0], self.is_worked_out(tlc.ops.rms_norm, x, **{names[1]: w})[0])

    def test_the_current_stream_of_the_library(self):
        given = self.inputs()
        self.warm(tlc.attention, *given)
        self.library.streams.clear()
        self.repeats(tlc.attention, *given)
        self.assertEqual(self.library.streams, [(2, 0)])

    def test_a_library_that_says_no(self):
        """The usual way then says what it has to say."""
        given = self.inputs()
        expected = self.expected(tlc.attention, *given)
        self.warm(tlc.attention, *given)
        self.library.result = FAILURE
        self.same(self.is_worked_out(tlc.attention, *given), expected)
        self.library.result = SUCCESS
        self.same(self.repeats(tlc.attention, *given), expected)
        self.library.api.describe = ctypes.cast(RAISES, DESCRIBE)
        self.same(self.is_worked_out(tlc.attention, *given), expected)
        self.library.api.describe = self.library.describe
        self.same(self.repeats(tlc.attention, *given), expected)

    def test_results_like_an_input(self):
        likes = []

        def like(one):
            likes.append(one)
            return type(one).empty(one.shape, one.dtype, one.array.device)

        self.type = new_type(self.library, like=like)
        q, k, v = self.inputs()
        self.warm(tlc.attention, q, k, v, return_lse=True)
        o, lse = self.repeats(tlc.attention, q, k, v, return_lse=True)
        self.assertEqual(likes, [q])
        expected = self.expected(tlc.attention, q, k, v, return_lse=True)
        self.same(o, expected.o)
        self.same(lse, expected.lse)
        turned = [self.type.of(numbers(i, 1, 2, 8, 16), "f16").permute(0, 2, 1, 3) for i in range(3)]  # whose result is like none of them
        self.warm(tlc.attention, *turned)
        self.same(self.repeats(tlc.attention, *turned), self.expected(tlc.attention, *turned))
        self.assertEqual(likes, [q])
        x = self.type.of(numbers(1, 24, 64), "f32")
        out = self.type.empty((24, 64), "f32", 0)
        for _ in range(3):
            tlc.softmax(x, out=out)
        self.assertEqual(likes, [q])  # nothing is made
        self.same(self.is_worked_out(tlc.softmax, x), out)

    def test_calls_that_are_more_than_a_launch(self):
        """As of tensors that require gradients, or under a mode that sees calls."""
        found = {"mode": 1, "tracking": False}

        def mode():
            if found["mode"] is None:
                raise ValueError("of a mode")
            return found["mode"]

        self.type = new_type(self.library, tracking=_exchange.Tracking((mode,), lambda: found["tracking"], "tracked"))
        self.type.tracked = False
        x = self.type.of(numbers(1, 24, 64), "f32")
        for _ in range(4):
            self.is_worked_out(tlc.softmax, x)
        found["mode"] = 0
        self.repeats(tlc.softmax, x)
        found["mode"] = None
        self.is_worked_out(tlc.softmax, x)
        found.update(mode=0, tracking=True)
        self.repeats(tlc.softmax, x)
        x.tracked = True
        self.is_worked_out(tlc.softmax, x)
        found["tracking"] = False
        self.repeats(tlc.softmax, x)
        found["tracking"] = True
        del x.tracked, self.type.tracked
        self.is_worked_out(tlc.softmax, x)
        found["tracking"] = False
        with unittest.mock.patch.object(tlc._calls, "is_tracing", lambda: True):
            self.is_worked_out(tlc.softmax, x)
        self.repeats(tlc.softmax, x)

    def test_other_versions_of_the_api(self):
        newer = Api(2, 0, ctypes.addressof(self.library.api))
        self.type = new_type(self.library, api=newer)
        given = self.inputs()
        self.warm(tlc.attention, *given)
        self.repeats(tlc.attention, *given)
        for api in (Api(2, 0), Api(1, 2)):  # another one, and one that lacks functions
            self.forget()
            self.type = new_type(self.library, api=api)
            given = self.inputs()
            for _ in range(4):
                self.same(self.is_worked_out(tlc.attention, *given), self.expected(tlc.attention, *given))
        self.assertNotIn(int, _exchange.EXCHANGES)
        _exchange.register((type("None", (), {_exchange.ATTRIBUTE: 5}),))  # no capsule

    def test_shapes_that_grow(self):
        """Each is worked out, and costs no more."""
        for keys in range(4, 12):
            q, k = self.type.of(numbers(1, 1, 1, 2, 16), "f16"), self.type.of(numbers(2, 1, keys, 2, 16), "f16")
            self.same(self.is_worked_out(tlc.attention, q, k, k), self.expected(tlc.attention, q, k, k))
        self.assertEqual(len(tlc.attention._repeats.plans), 0)

    def test_no_tensor_is_kept(self):
        given = self.inputs()
        self.warm(tlc.attention, *given)
        o = self.repeats(tlc.attention, *given)
        counts = [len(gc.get_referrers(one.array)) for one in (*given, o)]
        self.assertEqual(counts, [1] * 4)

    def test_plans_that_went(self):
        given = self.inputs()
        self.warm(tlc.attention, *given)
        repeat = next(iter(tlc.attention._repeats.plans.values()))
        self.forget()
        gc.collect()
        self.assertIsNotNone(repeat.call(tuple([*given, *[None] * 8])))  # holds what it needs
        del repeat
        gc.collect()
        self.same(self.is_worked_out(tlc.attention, *given), self.expected(tlc.attention, *given))

    def test_threads(self):
        inputs = [self.inputs(seed) for seed in range(4)]
        expected = [self.expected(tlc.attention, *given) for given in inputs]
        self.warm(tlc.attention, *inputs[0])
        found = [[] for _ in inputs]

        def work(number):
            for _ in range(3):
                found[number].append(tlc.attention(*inputs[number]).tolist())

        with launches_worked_out() as slow:
            threads = [threading.Thread(target=work, args=(number,)) for number in range(len(inputs))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(slow, [])
        for one, other in zip(found, expected):
            self.assertEqual(one, [other.tolist()] * 3)

    def test_other_threads_run_during_a_launch(self):
        x = self.type.of(numbers(1, 64, 512), "f32")
        self.warm(tlc.softmax, x)
        launches, is_seen, deadline = [0], threading.Event(), time.monotonic() + 100

        def work():
            while not is_seen.is_set() and time.monotonic() < deadline:
                launches[0] += 1
                tlc.softmax(x)

        thread = threading.Thread(target=work)
        thread.start()
        ticks = 0  # of this thread within one launch, which on a busy machine not every launch has
        while ticks < 5 and thread.is_alive():
            ticks, launch = 0, launches[0]
            while ticks < 5 and launches[0] == launch and thread.is_alive():
                time.sleep(0.0001)
                ticks += 1
        is_seen.set()
        thread.join()
        self.assertEqual(ticks, 5)

    def test_bound_launches(self):
        q, k, v = self.inputs()
        out = self.type.empty(self.shape, "f16", 0)
        launch = tlc.attention.bind(q, k, v, out=out)
        self.library.streams.clear()
        launch()
        self.assertEqual(self.library.streams, [(2, 0)])
        self.same(out, self.expected(tlc.attention, q, k, v))
        self.library.result = FAILURE
        self.refused("current stream", launch, tlc.Kind.ENVIRONMENT)

    def test_memory_that_is_freed(self):
        x = self.type.of(numbers(1, 24, 64), "f32")
        self.warm(tlc.softmax, x)
        kept, x.array.owner = x.array.owner, None
        del kept
        error = self.refused("argument 'X'", lambda: self.repeats(tlc.softmax, x))
        with launches_worked_out():
            self.refused(error.text, lambda: tlc.softmax(x, length="any"))
        x.array.data = 0
        self.refused("argument 'X'", lambda: self.repeats(tlc.softmax, x))

    def test_c_arguments(self):
        library = tlc._interface.interface()
        given = self.inputs()
        self.warm(tlc.softmax, given[0])
        plan = next(iter(tlc.softmax._plans.plans.values()))
        options = tlc._interface.ExchangeOptions(None, (self.type,), (given[0], None), (), None)
        for change, text in ((lambda: setattr(options, "size", 8), "expected options of 48 bytes"),
                             (lambda: setattr(options, "size", ctypes.sizeof(options)), "null pointer"),
                             (lambda: setattr(options, "sources", (ctypes.c_int32 * 2)(0, 5)), "exchange API of major version 1"),
                             (lambda: setattr(options, "api", ctypes.addressof(self.library.api)), "expected the address of object")):
            change()
            self.assertIsNone(library.exchange_create(plan.handle, plan.spare[0].tensors, plan.count, plan.scalars, plan.scalar_count,
                                                      ctypes.byref(options)))
            self.assertIn(text, library.error().text)
        self.assertEqual(library.exchange_launch(None, (), ()), tlc.Kind.INVALID_ARGUMENT)
        self.assertEqual(library.bound_launch_current(None, None), tlc.Kind.INVALID_ARGUMENT)
        library.exchange_release(None)
        for function, options in ((library.exchange_function, tlc._interface.ExchangeFunctionOptions()),
                                  (library.bound_function, tlc._interface.BoundFunctionOptions())):
            self.assertIsNone(function(None, ctypes.byref(options)))
            self.assertIn("expected a launch", library.error().text)

    def test_functions_outlive_what_has_made_them(self):
        x, out = self.type.of(numbers(1, 24, 64), "f32"), self.type.empty((24, 64), "f32", 0)
        expected = self.expected(tlc.softmax, x)
        self.warm(tlc.softmax, x)
        tlc.softmax(x)
        made = tlc.softmax._last[2].call
        launch = tlc.softmax.bind(x, out=out).__call__
        tlc.softmax.forget()
        gc.collect()
        self.same(made((x, None))[0], expected)
        launch()
        self.same(out, expected)
        alive = weakref.ref(tlc.softmax.bind(x, out=out))
        self.assertIsNone(alive())  # no cycle keeps it

    def test_no_reference_is_lost(self):
        """Functions of libtlc count them themselves."""
        x, out = self.type.of(numbers(1, 24, 64), "f32"), self.type.empty((24, 64), "f32", 0)
        self.warm(tlc.softmax, x)
        self.warm(tlc.softmax, x, out=out)
        launch, other = tlc.softmax.bind(x, out=out), self.type.of(numbers(1, 24, 64), "f16")
        tlc.softmax(x)
        makes = tlc.softmax._last[2].call
        tlc.softmax(x, out=out)
        writes = tlc.softmax._last[2].call
        objects = x, out, other, None, True, False, makes, writes, launch.__call__, _exchange.refused
        for call in (lambda: makes((x, None)), lambda: writes((x, out)), lambda: makes((other, None)), launch,
                     lambda: self.refused("memory of its own", lambda: writes((x, self.type(x.array.viewed((24, 64), (64, 1))))))):
            call()
            gc.collect()
            before = [sys.getrefcount(one) for one in objects]
            for _ in range(100):
                call()
            gc.collect()
            for one, count in zip(objects, before):
                self.assertLess(abs(sys.getrefcount(one) - count), 50, repr(one))


if __name__ == "__main__":
    unittest.main()
