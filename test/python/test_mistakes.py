#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wrong input: one exception each, and the process lives on."""

import os
import subprocess
import sys
import unittest
import warnings

from support import ROOT, Case, needs_torch, numbers, tlc, torch
from tlc import _arrays, _devices, _interface

Kind = tlc.Kind


def tensor(*shape, dtype="f16"):
    return tlc.tensor(numbers(1, *shape), dtype)


class Mistakes(Case):
    def tearDown(self):
        self.assertEqual(tlc.softmax(tlc.tensor([[1.0, 1.0]])).tolist(), [[0.5, 0.5]])

    def test_mixed_devices(self):
        far = tensor(1, 4, 2, 16)
        far._array.device = 1
        self.refused("argument 'k': expected a tensor on the device of 'q', f16[1, 4, 2, 16] on the CPU, but got f16[1, 4, 2, 16] on cuda:1",
                     lambda: tlc.attention(tensor(1, 4, 2, 16), far, far), Kind.INVALID_ARGUMENT)

    def test_mixed_types(self):
        q = tensor(1, 4, 2, 16)
        self.refused("argument 'K': expected element type f16, but got bf16",
                     lambda: tlc.attention(q, tensor(1, 4, 2, 16, dtype="bf16"), q), Kind.INVALID_ARGUMENT)
        self.refused("attention: argument 'q': expected an element type among bf16 | f16, or e4m3 with scale_q, scale_k and scale_v, but got "
                     "f32[1, 4, 2, 16] on the CPU; convert it", lambda: tlc.attention(*[tensor(1, 4, 2, 16, dtype="f32")] * 3))
        self.refused("expected layout among bshd, bhsd, but got 'bsdh'", lambda: tlc.attention(q, q, q, layout="bsdh"))

    def test_wrong_ranks_and_extents(self):
        q = tensor(1, 4, 2, 16)
        self.refused("attention: argument 'q': expected 4 axes, b x s x h x d, but got f16[4, 16] on the CPU",
                     lambda: tlc.attention(tensor(4, 16), q, q))
        self.refused("argument 'V' axis 1: expected extent 4 because dimension 'sk' is 4 in argument 'K' axis 1, but got 5",
                     lambda: tlc.attention(q, q, tensor(1, 5, 2, 16)))
        self.refused("argument 'out': expected the shape (1, 4, 2, 16), but got f16[1, 4, 2, 8]",
                     lambda: tlc.attention(q, q, q, out=tlc.empty((1, 4, 2, 8), "f16")))
        self.refused("gemm: expected a[m, k] and b[k, n], but got f16[3, 8] on the CPU and f16[16, 4] on the CPU",
                     lambda: tlc.gemm(tensor(3, 8), tensor(16, 4)))
        self.refused("attention_decode: argument 'q': expected a multiple of the 2 heads of k, but got 3",
                     lambda: tlc.attention_decode(tensor(1, 1, 3, 16), q, q, tlc.tensor([4], "i32")))
        single = tensor(8, 8, dtype="f32")
        self.refused("but got dtype=f32 with another layout; tn is rows of a and columns of b that are contiguous", lambda: tlc.gemm(single, single))
        self.refused("'d'", lambda: tlc.attention(*[tensor(1, 4, 2, 12)] * 3))

    def test_options(self):
        q = tensor(1, 4, 2, 16)
        self.refused("attention: expected an option among b, sq", lambda: tlc.attention(q, q, q, casual="left"))
        self.refused("expected causal = none | left | right (which keys a query sees", lambda: tlc.attention(q, q, q, causal=True))
        self.refused("expected parameter 'causal' of kernel 'attention_fwd' to be none | left | right, but got 'up'",
                     lambda: tlc.attention(q, q, q, causal="up"))
        self.refused("attention: expected 'd' to follow from the tensors, but it is given, too", lambda: tlc.attention(q, q, q, d=16))
        self.refused("expected both scale_a and scale_b, or none", lambda: tlc.gemm(tensor(8, 8), tensor(8, 8), scale_a=tensor(1, dtype="f32")))

    def test_dropout(self):
        q, philox = tensor(1, 4, 2, 16), tlc.tensor([1, 2], "i64")
        self.refused("attention: expected philox, a tensor of i64[2] with seed and offset, with dropout_p", lambda: tlc.attention(q, q, q, dropout_p=0.5))
        self.refused("expected dropout_p below 1 because some weights have to stay, but got 1",
                     lambda: tlc.attention(q, q, q, dropout_p=1.0, philox=philox))
        self.refused("to be a number from 0 to 1, or auto, but got '-0.5'", lambda: tlc.attention(q, q, q, dropout_p=-0.5, philox=philox))
        self.refused("argument 'philox'", lambda: tlc.attention(q, q, q, dropout_p=0.5, philox=tlc.tensor([1.0, 2.0])))
        self.refused("expected dropout_p with generator", lambda: tlc.attention(q, q, q, generator=3))
        self.refused("expected dropout_p with generator", lambda: tlc.attention(q, q, q, dropout_p=0.0, generator=3))
        self.refused("expected form = plain or auto because dropout is computed by the plain form alone",
                     lambda: tlc.attention(q, q, q, dropout_p=0.5, philox=philox, form="explicit"))

    def test_misaligned_rows(self):
        x = tensor(1, 4, 2, 17)
        q = tlc.Tensor(x._array.viewed((1, 4, 2, 16), x.strides))
        self.refused("multiples of 16 bytes because the program declares it", lambda: tlc.attention(q, q, q, form="explicit"))
        columns = tlc.Tensor(x._array.viewed((1, 4, 2, 8), (136, 34, 17, 2)))
        self.refused("expected stride 1 because the innermost axis is contiguous, but got 2", lambda: tlc.attention(columns, columns, columns))

    def test_outputs_that_overlap_or_are_freed(self):
        x = tensor(4, 16)
        self.refused("argument 'Y' axis 0: expected a stride of at least 16 because elements that are written must not overlap",
                     lambda: tlc.softmax(x, out=tlc.Tensor(x._array.viewed((4, 16), (8, 1)))))
        rows = tensor(6, 16)
        shifted = rows._array.viewed((4, 16), (16, 1))
        shifted.data += 64
        self.refused("argument 'Y': expected memory of its own because softmax writes it, but it overlaps argument 'X'",
                     lambda: tlc.softmax(tlc.Tensor(rows._array.viewed((4, 16), (16, 1))), out=tlc.Tensor(shifted)))
        self.refused("argument 'C': expected memory of its own because gemm writes it, but it overlaps argument 'A'",
                     lambda: tlc.gemm(x, tensor(16, 16), out=x))
        freed = tlc.empty((4, 16), "f16")
        freed._array.data = 0
        self.refused("argument 'Y': expected the address of 128 bytes, but got null", lambda: tlc.softmax(x, out=freed))

    def test_arguments_of_kernels(self):
        x = tensor(4, 16, dtype="bf16")
        self.refused("rms_norm: expected tensors X, W, but got none for W", lambda: tlc.ops.rms_norm(x))
        self.refused("rms_norm: expected at most 2 tensors, X, W, but got 3", lambda: tlc.ops.rms_norm(x, x, x))
        self.refused("rms_norm: expected argument 'X' once, but it is given twice", lambda: tlc.ops.rms_norm(x, X=x))
        self.refused("or a tensor among X, W, Y, R, but got 'Z'", lambda: tlc.ops.rms_norm(x, Z=x))
        self.refused("rms_norm: expected out={name: tensor} for the outputs Y, R, but got one tensor",
                     lambda: tlc.ops.rms_norm(x, tensor(16, dtype="f32"), out=x))
        self.refused("argument 'W': expected element type f32, but got bf16", lambda: tlc.ops.rms_norm(x, tensor(16, dtype="bf16")))

    def test_tuning(self):
        self.refused("cannot read the folder of tuning '/nonexistent': No such file", lambda: tlc.set_tuning("/nonexistent"))
        tlc.set_tuning(None)

    def test_an_emulator(self):
        self.refused("emulator: expected check among on, off, strict, but got 'no'", lambda: tlc.emulator(check="no").__enter__())
        self.refused("expected a target among", lambda: tlc.emulator(target="sm_1").__enter__())

    def test_warnings_of_the_emulator(self):
        c = _interface
        one = c.Finding(c.FINDING_RACE, 1, b"x.cpp:1:2: a race that PTX's text alone does not order", b"x.cpp", 1, 2, b"", 0, 0)
        c.remember_findings(c.ctypes.pointer(c.Findings(c.ctypes.sizeof(c.Findings), 0, 1, one.message, c.ctypes.pointer(one), 1)), None)
        with self.assertWarnsRegex(RuntimeWarning, "does not order"):
            _devices.warn_of_findings()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _devices.warn_of_findings()  # of the next launch there are none

    def test_an_error_without_a_place(self):
        error = self.refused("expected an option among", lambda: tlc.softmax(tensor(4, 16), row=1))
        self.assertEqual((error.file, error.line, error.column), (None, None, None))
        interface, info = _interface.interface(), _interface.ErrorInfo()
        self.assertNotEqual(interface.prewarm(b"softmax rows", b"sm_90a"), 0)
        interface.check(interface.last_error_info(_interface.ctypes.byref(info)))
        self.assertEqual((info.status, info.text, info.file, info.line, info.column),
                         (Kind.INVALID_ARGUMENT, b"line 1: expected name=value, but got 'rows'", None, 0, 0))

    def test_places_of_older_libraries(self):
        old = _interface.Interface.__new__(_interface.Interface)
        old.version = 10
        self.assertEqual(old._place("a kernel\n  my file.cpp:12:3: error: no"), _interface.Place("my file.cpp", 12, 3))
        self.assertIsNone(old._place("line 1: expected name=value"))

    def test_no_driver(self):
        # Where there is a GPU this says nothing.
        try:
            tlc.empty((1,), "f32", "cuda:0")
        except tlc.Error as error:
            self.assertEqual(error.kind, Kind.ENVIRONMENT)
            self.assertIn("driver", error.text)
        self.refused("", lambda: tlc.empty((1,), "f32", "cuda:99"), None)


class Sdpa(Case):
    def test_what_it_cannot_do_is_named(self):
        q = tensor(1, 2, 4, 16)
        call = tlc.scaled_dot_product_attention
        self.refused("attn_mask is not supported; use is_causal", lambda: call(q, q, q, attn_mask=q))
        self.refused("dropout_p is 0.1, for which query's library draws no seed; use tlc.attention(..., dropout_p=, philox=)",
                     lambda: call(q, q, q, dropout_p=0.1))
        self.refused("dropout_p is -0.1, but it is a chance, from 0 to less than 1", lambda: call(q, q, q, dropout_p=-0.1))
        self.refused("dropout_p is 1.0, but only 0 to less than 1 is supported", lambda: call(q, q, q, dropout_p=1.0))
        self.refused("query is f32, but only float16 and bfloat16 are supported", lambda: call(*[tensor(1, 2, 4, 16, dtype="f32")] * 3))
        self.refused("E is 12, but only multiples of 8 up to 576 are supported", lambda: call(*[tensor(1, 2, 4, 12)] * 3))
        self.refused("expected 2 heads of key, as query has, but got 1; pass enable_gqa=True", lambda: call(q, *[tensor(1, 1, 4, 16)] * 2))
        # Both at once, in one message.
        self.refused("; dropout_p", lambda: call(q, q, q, attn_mask=q, dropout_p=0.5, fallback=torch is None))


class Libraries(Case):
    def test_a_library_of_another_version(self):
        source = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"old_libtlc_{os.getpid()}.so")
        compiler = next((one for one in ("cc", "gcc", "clang-22") if subprocess.run(["which", one], capture_output=True).returncode == 0), None)
        if compiler is None:
            self.skipTest("no C compiler")
        try:
            subprocess.run([compiler, "-shared", "-x", "c", "-", "-o", source], input=b"int tlc_version(void) { return 1; }", check=True)
            self.refused("expected version 2 or later of the C interface", lambda: _interface.Interface(source), Kind.ENVIRONMENT)
        finally:
            if os.path.exists(source):
                os.remove(source)
        self.refused("has no tlc_version", lambda: _interface.Interface(libc()), Kind.ENVIRONMENT)
        self.refused("cannot load libtlc", lambda: _interface.Interface("/no/such/libtlc.so"), Kind.ENVIRONMENT)

    def test_the_interface_is_that_of_the_header(self):
        with open(os.path.join(ROOT, "tools", "libtlc", "tlc.h"), encoding="utf-8") as file:
            header = file.read()
        self.assertIn(f"#define TLC_INTERFACE_VERSION {_interface.NEWEST}\n", header)
        for functions in _interface.FUNCTIONS.values():
            for name, *_ in functions:
                self.assertIn(f" {name}(" if f" {name}(" in header else f"*{name}(", header)
        for element in _arrays.ELEMENTS:
            self.assertIn(f"TLC_{element.name.upper()} = {element.number}", header)

    def test_the_version_is_the_projects(self):
        with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
            self.assertIn(f"project(tlc VERSION {tlc.__version__} ", file.read())

    def test_nothing_else_is_imported(self):
        code = "import sys, tlc; tlc.softmax(tlc.tensor([[1.0]])); print([name for name in ('torch', 'numpy', 'cupy') if name in sys.modules])"
        said = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=True,
                              env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools", "python")})
        self.assertEqual(said.stdout, "[]\n")

    def test_the_module_is_the_tool(self):
        def run(*words):
            return subprocess.run([sys.executable, "-B", "-m", "tlc", *words], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools", "python")})

        said = run()
        self.assertEqual(said.returncode, 0, said.stderr)
        for line in (f"tlc {tlc.__version__}, version {_interface.NEWEST} of the C interface, ", "tensors of the CPU: emulator (sm_90a)", "cache: "):
            self.assertIn(line, said.stdout)
        listed = run("list", "softmax")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("softmax: Y = softmax of X[rows,columns]", listed.stdout)
        self.assertNotEqual(run("lst").returncode, 0)


def libc():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(line.split()[-1] for line in maps if "/libc.so" in line or "/libc-" in line)


@needs_torch
class Torch(Case):
    def test_other_devices_and_types(self):
        self.refused("expected a tensor on cuda or cpu, but got one on meta", lambda: tlc.softmax(torch.zeros(4, 16, device="meta")))
        self.refused("but got torch.complex64", lambda: tlc.softmax(torch.zeros(4, 16, dtype=torch.complex64)))


if __name__ == "__main__":
    unittest.main()
