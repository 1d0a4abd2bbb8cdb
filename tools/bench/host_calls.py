#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What calls of the Python package cost the host in Python and PyTorch alone, in microseconds, without a GPU.

    host_calls.py [--rounds 300] [--json]

Calls on PyTorch's tensors of the CPU go the way of calls that repeat an earlier one on a GPU, with a function that launches
nothing instead of libtlc's. Medians over rounds, in each of which every call is made a few times in a random order. Needs PyTorch and a
C compiler.
"""

import argparse
import ctypes
import json
import os
import random
import statistics
import subprocess
import tempfile
import time

import libtlc  # noqa: F401: finds the package
import tlc
import torch
from tlc import _arrays, _exchange, _torch


SOURCE = """
typedef void *Object;
Object PyObject_CallNoArgs(Object), PyObject_CallOneArg(Object, Object), PyObject_GetAttr(Object, Object), PyLong_AsVoidPtr(Object);
Object PyTuple_New(long), PyTuple_GetItem(Object, long);
int PyTuple_SetItem(Object, long, Object), PyObject_IsTrue(Object);
long PyTuple_Size(Object);
void Py_DecRef(Object), Py_IncRef(Object);
extern char _Py_NoneStruct;
struct Launch { Object modes, tracked, attribute, makers; int like[4]; };

static int is_true(Object found) {
  int result = PyObject_IsTrue(found);
  Py_DecRef(found);
  return result;
}

Object nothing(Object self, Object given) {
  const struct Launch *launch = PyLong_AsVoidPtr(self);
  int refused = 0;
  for (long i = 0; i != PyTuple_Size(launch->modes); ++i)
    refused |= is_true(PyObject_CallNoArgs(PyTuple_GetItem(launch->modes, i)));
  if (is_true(PyObject_CallNoArgs(launch->tracked)))
    for (long i = 0; i != 3; ++i)
      refused |= is_true(PyObject_GetAttr(PyTuple_GetItem(given, i), launch->attribute));
  if (refused) {
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
  }
  long count = PyTuple_Size(launch->makers);
  Object made = PyTuple_New(count);
  for (long i = 0; i != count; ++i) {
    Object make = PyTuple_GetItem(launch->makers, i);
    PyTuple_SetItem(made, i, launch->like[i] < 0 ? PyObject_CallNoArgs(make) : PyObject_CallOneArg(make, PyTuple_GetItem(given, launch->like[i])));
  }
  return made;
}
"""


class Method(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("documentation", ctypes.c_char_p)]


class Launch(ctypes.Structure):
    _fields_ = [(name, ctypes.py_object) for name in ("modes", "tracked", "attribute", "makers")] + [("like", ctypes.c_int * 4)]


def method_of_nothing():
    """Does what a function of tlc_exchange_function does with Python's objects."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = os.path.join(folder, "nothing.c"), os.path.join(folder, "nothing.so")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2", "-o", library, source], check=True)
        loaded = ctypes.PyDLL(library)
    return loaded, Method(b"nothing", ctypes.cast(loaded.nothing, ctypes.c_void_p), 8, None)


NOTHING, METHOD = method_of_nothing()
NEW_FUNCTION = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(("PyCFunction_NewEx", ctypes.pythonapi))


class Repeat:
    """A launch like any other, whose results are like the inputs at these places, or of a shape in f32."""

    finish = None

    def __init__(self, *results):
        makers = tuple(torch.empty_like if isinstance(one, int) else _torch._maker(one, _arrays.BY_NAME["f32"], _arrays.CPU) for one in results)
        modes, is_on, attribute = _torch._TRACKING
        self.launch = Launch(modes, is_on, attribute, makers, (ctypes.c_int * 4)(*[one if isinstance(one, int) else -1 for one in results]))
        self.call = NEW_FUNCTION(ctypes.addressof(METHOD), ctypes.addressof(self.launch), None)


class Allocation(torch.autograd.Function):
    """A function with gradients that has tensors as attention has and computes nothing."""

    @staticmethod
    def forward(ctx, q, k, v):
        o, lse = torch.empty_like(q), torch.empty((1, 8, 16), dtype=torch.float32)
        ctx.save_for_backward(q, k, v, o, lse)
        return o

    @staticmethod
    def backward(ctx, do):
        q, k, v, _, _ = ctx.saved_tensors
        return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


def calls():
    """Name -> call."""
    _exchange.EXCHANGES[torch.Tensor] = _exchange.Exchange(1, (torch.Tensor,), _torch._TRACKING, torch.empty_like, None)
    q, k, v = (torch.randn(1, 16, 8, 128, dtype=torch.bfloat16) for _ in range(3))
    options, key = {"causal": "left"}, ("causal", "left")
    tlc.attention._repeats.keep((q.shape, k.shape, True, ("bshd", False), key), Repeat(0))
    tlc.attention._repeats.keep((q.shape, k.shape, True, ("bshd", True), key), Repeat(0, (1, 8, 16)))
    tlc.attention_backward._repeats.keep((q.shape, k.shape, True, ("bshd",), key), Repeat(0, 1, 2))
    qg, kg, vg = (x.clone().requires_grad_() for x in (q, k, v))
    do, grad = torch.randn_like(q), torch.autograd.grad
    ours, allocated = tlc.attention(qg, kg, vg, **options), Allocation.apply(qg, kg, vg)
    return {
        "nothing": ctypes.CDLL(None).getpid,
        "torch.empty_like": lambda: torch.empty_like(q),
        "attention": lambda: tlc.attention(q, k, v, **options),
        "attention return_lse=True": lambda: tlc.attention(q, k, v, return_lse=True, **options),
        "attention with gradient": lambda: tlc.attention(qg, kg, vg, **options),
        "allocation with gradient": lambda: Allocation.apply(qg, kg, vg),
        "backward": lambda: grad(ours, (qg, kg, vg), do, retain_graph=True),
        "allocation backward": lambda: grad(allocated, (qg, kg, vg), do, retain_graph=True),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    draw, found = random.Random(0), calls()
    times = {name: [] for name in found}
    for _ in range(arguments.rounds):
        names = list(found)
        draw.shuffle(names)
        for name in names:
            call = found[name]
            call()
            begin = time.perf_counter_ns()
            for _ in range(4):
                call()
            times[name].append((time.perf_counter_ns() - begin) / 4000)
    medians = {name: round(statistics.median(values), 2) for name, values in times.items()}
    if arguments.json:
        print(json.dumps({"microseconds": medians, "torch": torch.__version__}))
        return
    for name, median in medians.items():
        print(f"{median:8.2f} us  {name}")


main()
