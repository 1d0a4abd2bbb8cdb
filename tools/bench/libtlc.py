# SPDX-License-Identifier: Apache-2.0
"""tools/libtlc/tlc.h for Python: programs that launch on PyTorch's tensors."""

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch

# The functions called here are the same in all of them.
INTERFACE_VERSIONS = (2, 3, 4)
ELEMENTS = {
    torch.int8: 0,
    torch.int32: 1,
    torch.int64: 2,
    torch.float16: 3,
    torch.bfloat16: 4,
    torch.float32: 5,
    torch.float64: 6,
    torch.float8_e4m3fn: 7,
    torch.float8_e5m2: 8,
    torch.uint8: 9,
    torch.uint32: 10,
}


class Error(RuntimeError):
    """What tlc_last_error said."""


@dataclass(frozen=True)
class Packed:
    """Elements of 4 bits, two in a byte, the first one in its low half: a contiguous tensor of bytes."""

    U4 = 12
    E2M1 = 13

    bytes: torch.Tensor
    element: int  # one of these


def find_library():
    """libtlc.so of the archive that this script came in, or of a build."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in ("../lib", "../../build/portable/lib", "../../build/lib"):
        path = os.path.join(here, folder, "libtlc.so")
        if os.path.exists(path):
            return path
    return None


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("element", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    ]


class _Rank(ctypes.Structure):
    _fields_ = [
        ("program", ctypes.c_void_p),
        ("tensors", ctypes.POINTER(_Tensor)),
        ("workspaces", ctypes.POINTER(ctypes.c_void_p)),
        ("stream", ctypes.c_void_p),
    ]


def _describe(tensor):
    if isinstance(tensor, Packed):
        described = _describe(tensor.bytes)
        described.element = tensor.element
        last = described.rank - 1
        described.shape[last] *= 2
        for axis in range(last):
            described.strides[axis] *= 2
        return described
    extents = ctypes.c_int64 * tensor.dim()
    return _Tensor(tensor.data_ptr(), ELEMENTS[tensor.dtype], tensor.dim(), extents(*tensor.shape),
                   extents(*tensor.stride()))


class Library:
    """A loaded libtlc.so."""

    def __init__(self, path):
        library = ctypes.CDLL(os.path.abspath(path))
        strings, tensors = ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(_Tensor)
        library.tlc_version.argtypes = []
        library.tlc_last_error.argtypes = []
        library.tlc_last_error.restype = ctypes.c_char_p
        library.tlc_compile.argtypes = [ctypes.c_char_p, strings, strings, ctypes.c_int, ctypes.c_char_p]
        library.tlc_compile.restype = ctypes.c_void_p
        library.tlc_workspace.argtypes = [ctypes.c_void_p, tensors, ctypes.c_int, ctypes.POINTER(ctypes.c_size_t),
                                          ctypes.c_int]
        library.tlc_launch.argtypes = [ctypes.c_void_p, tensors, ctypes.c_int, ctypes.c_void_p, ctypes.c_int,
                                       ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, ctypes.c_void_p]
        library.tlc_release.argtypes = [ctypes.c_void_p]
        library.tlc_release.restype = None
        if library.tlc_version() >= 4:
            library.tlc_connect.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int]
            library.tlc_rank_workspace.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, tensors, ctypes.c_int,
                                                   ctypes.POINTER(ctypes.c_size_t), ctypes.c_int]
            library.tlc_launch_ranks.argtypes = [ctypes.POINTER(_Rank), ctypes.c_int, ctypes.c_int, ctypes.c_void_p,
                                                 ctypes.c_int, ctypes.c_int]
        self.library = library
        if library.tlc_version() not in INTERFACE_VERSIONS:
            raise Error(f"expected version {' or '.join(map(str, INTERFACE_VERSIONS))} of the interface, but {path} has "
                        f"{library.tlc_version()}")

    def error(self):
        return Error(self.library.tlc_last_error().decode())

    def compile(self, kernel, target=None, **parameters):
        """The program of a registered kernel, for the current device or for an architecture that it runs, too."""
        torch.cuda.current_stream().synchronize()  # PyTorch's context is current from here on
        count = len(parameters)
        strings = ctypes.c_char_p * count
        program = self.library.tlc_compile(kernel.encode(), strings(*[name.encode() for name in parameters]),
                                           strings(*[str(value).encode() for value in parameters.values()]), count,
                                           target.encode() if target else None)
        if not program:
            raise self.error()
        return Program(self, program)

    def compile_on_each(self, kernel, count, target=None, **parameters):
        """The program on each of the first so many GPUs; their drivers compile it at the same time."""
        def compile_on(device):
            with torch.cuda.device(device):
                return self.compile(kernel, target, **parameters)

        with ThreadPoolExecutor(count) as threads:
            return list(threads.map(compile_on, range(count)))

    def compile_ranks(self, kernel, count, target=None, **parameters):
        """The program of a kernel of ranks on the first so many GPUs, a rank each, which reach each other's memory."""
        programs = self.compile_on_each(kernel, count, target, ranks=count, **parameters)
        handles = (ctypes.c_void_p * count)(*[program.handle for program in programs])
        if self.library.tlc_connect(handles, count) != 0:
            raise self.error()
        return RankPrograms(self, programs)


class Program:
    def __init__(self, library, handle):
        self.library = library
        self.handle = handle

    def __del__(self):
        self.library.library.tlc_release(self.handle)

    def bind(self, *tensors):
        """A function of no arguments that launches on these tensors, on the
        stream that is current now. Holds workspaces of its own."""
        count = len(tensors)
        arguments = (_Tensor * count)(*map(_describe, tensors))
        memory, workspaces = self.workspaces(arguments, tensors[0].device)
        stream = torch.cuda.current_stream().cuda_stream
        function = self.library.library.tlc_launch

        def launch():
            if function(self.handle, arguments, count, None, 0, workspaces, len(memory), stream) != 0:
                raise self.library.error()

        launch.holds = (self, tensors, memory)
        return launch

    def workspaces(self, arguments, device, rank=0, ranks=1):
        """New ones, and their addresses."""
        most = 16
        sizes = (ctypes.c_size_t * most)()
        if ranks == 1:
            found = self.library.library.tlc_workspace(self.handle, arguments, len(arguments), sizes, most)
        else:
            found = self.library.library.tlc_rank_workspace(self.handle, rank, ranks, arguments, len(arguments), sizes, most)
        if found < 0:
            raise self.library.error()
        assert found <= most
        memory = [torch.empty(max(size, 1), dtype=torch.uint8, device=device) for size in sizes[:found]]
        return memory, (ctypes.c_void_p * found)(*[part.data_ptr() for part in memory])


class RankPrograms:
    """One program on several GPUs, a rank each."""

    def __init__(self, library, programs):
        self.library = library
        self.programs = programs

    def bind(self, tensors_of_ranks):
        """A function of no arguments that launches on all ranks, on each rank's tensors and on the stream that is current
        now on its GPU. Holds workspaces of its own."""
        ranks, count = len(self.programs), len(tensors_of_ranks[0])
        places, memories = (_Rank * ranks)(), []
        for rank, (program, tensors) in enumerate(zip(self.programs, tensors_of_ranks)):
            arguments = (_Tensor * count)(*map(_describe, tensors))
            device = tensors[0].device
            memory, workspaces = program.workspaces(arguments, device, rank, ranks)
            places[rank] = _Rank(program.handle, arguments, workspaces, torch.cuda.current_stream(device).cuda_stream)
            memories.append((memory, arguments, workspaces))
        function, workspace_count = self.library.library.tlc_launch_ranks, len(memories[0][0])

        def launch():
            if function(places, ranks, count, None, 0, workspace_count) != 0:
                raise self.library.error()

        launch.holds = (self, tensors_of_ranks, memories)
        return launch
