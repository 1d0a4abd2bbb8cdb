# SPDX-License-Identifier: Apache-2.0
"""What a process opens for a softmax by name: compiler_library.py <libtlc.so> <question>...

    <columns>   sums of the rows of one with so many columns, or the status and the error
    mapped      the libraries of the compiler that are in the address space
    kernels, prewarm, file, gpu   'done', or the status and the error of that part of the interface; gpu: of one with
                64 columns on GPU 0, which is not launched
    tool        the exit status of `tlc list`
"""

import ctypes
import os
import re
import sys

from softmax_by_name import compiled, opened, sums


def mapped():
    with open("/proc/self/maps", encoding="utf-8") as file:
        found = re.findall(r"/(libtlc_compiler|libLLVM|libMLIR)[^/\n]*\.so", file.read())
    return " ".join(sorted(set(found))) or "none"


def status(library, answer):
    return f"status {library.tlc_last_status()}: {library.tlc_last_error().decode()}" if not answer else answer


def kernels_are_told(library):
    """Whether the last one is, with its first parameter."""
    info, row = (ctypes.c_size_t * 4)(32), (ctypes.c_size_t * 5)(40)
    last = library.tlc_kernel_count(None) - 1
    return last > 0 and library.tlc_kernel_of(None, last, info) == 0 and library.tlc_parameter_of(None, last, 0, row) == 0


def answer(library, question):
    if question == "mapped":
        return mapped()
    if question == "kernels":
        return status(library, kernels_are_told(library) and "done")
    if question == "prewarm":
        return status(library, library.tlc_prewarm(b"softmax columns=64 dtype=f32", b"sm_90a") == 0 and "done")
    if question == "file":
        library.tlc_file_open.restype = ctypes.c_void_p
        return status(library, library.tlc_file_open(os.fsencode(__file__), None) and "done")
    if question == "gpu":
        library.tlc_device_gpu.restype = ctypes.c_void_p
        library.own_device = ctypes.c_void_p(library.tlc_device_gpu(0))
        return status(library, compiled(library, b"softmax").value and "done")
    if question == "tool":
        return f"exit status {library.tlc_main(2, (ctypes.c_char_p * 3)(b'tlc', b'list', None))}"
    done = sums(library, int(question))
    return done if done[0].isdigit() else status(library, None)


if __name__ == "__main__":
    library = opened(sys.argv[1])
    for question in sys.argv[2:]:
        print(f"{question}: {answer(library, question)}", flush=True)
