# SPDX-License-Identifier: Apache-2.0
"""tools/libtlc/tlc.h for Python: programs that launch on PyTorch's tensors."""

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch

# The functions called here are the same in all of them.
INTERFACE_VERSIONS = (2, 3, 4, 5, 6, 7, 8)
GROUP_FLAG_BYTES = 128
NCCL_ID_BYTES = 128
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


class _MemoryHandle(ctypes.Structure):
    _fields_ = [
        ("allocation", ctypes.c_ubyte * 64),
        ("offset", ctypes.c_uint64),
    ]


class _CompileOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("target", ctypes.c_char_p),
        ("wait_limit", ctypes.c_double),
    ]


def _addresses(values):
    return (ctypes.c_void_p * len(values))(*values)


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
        if library.tlc_version() >= 5:
            addresses, handle = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(_MemoryHandle)
            library.tlc_symmetric_arguments.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_int]
            library.tlc_export_memory.argtypes = [ctypes.c_void_p, handle]
            library.tlc_import_memory.argtypes = [handle, addresses]
            library.tlc_close_memory.argtypes = [handle, ctypes.c_void_p]
            library.tlc_group_create.argtypes = [ctypes.c_int, ctypes.c_int, addresses, ctypes.c_size_t]
            library.tlc_group_create.restype = ctypes.c_void_p
            library.tlc_group_add.argtypes = [ctypes.c_void_p, addresses, ctypes.c_size_t]
            library.tlc_group_launch.argtypes = [ctypes.c_void_p, *library.tlc_launch.argtypes]
            library.tlc_group_synchronize.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double]
            library.tlc_group_release.argtypes = [ctypes.c_void_p]
            library.tlc_group_release.restype = None
        if library.tlc_version() >= 6:
            library.tlc_compile_with.argtypes = [*library.tlc_compile.argtypes[:4], ctypes.POINTER(_CompileOptions)]
            library.tlc_compile_with.restype = ctypes.c_void_p
            library.tlc_nccl_version.argtypes = [ctypes.c_char_p]
            library.tlc_nccl_create_id.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
            library.tlc_communicator_create.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p,
                                                        ctypes.c_double]
            library.tlc_communicator_create.restype = ctypes.c_void_p
            library.tlc_communicator_check_peers.argtypes = [ctypes.c_void_p]
            library.tlc_communicator_group.argtypes = [ctypes.c_void_p]
            library.tlc_communicator_group.restype = ctypes.c_void_p
            library.tlc_communicator_workspace.argtypes = [ctypes.c_void_p, ctypes.c_char_p, tensors, ctypes.c_int,
                                                           ctypes.POINTER(ctypes.c_size_t)]
            library.tlc_communicator_launch.argtypes = [ctypes.c_void_p, ctypes.c_char_p, tensors, ctypes.c_int,
                                                        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
            library.tlc_communicator_synchronize.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
            library.tlc_communicator_release.argtypes = [ctypes.c_void_p]
            library.tlc_communicator_release.restype = None
            library.tlc_group_share.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        if library.tlc_version() >= 7:
            library.tlc_communicator_is_faster.argtypes = [ctypes.c_void_p, ctypes.c_char_p, tensors, ctypes.c_int,
                                                           ctypes.POINTER(ctypes.c_int)]
        self.library = library
        if library.tlc_version() not in INTERFACE_VERSIONS:
            raise Error(f"expected version {' or '.join(map(str, INTERFACE_VERSIONS))} of the interface, but {path} has "
                        f"{library.tlc_version()}")

    def error(self):
        return Error(self.library.tlc_last_error().decode())

    def check(self, status):
        if status != 0:
            raise self.error()

    def export_memory(self, tensor):
        """Bytes by which another process of this machine reaches the tensor, as long as it lives."""
        handle = _MemoryHandle()
        self.check(self.library.tlc_export_memory(tensor.data_ptr(), ctypes.byref(handle)))
        return bytes(handle)

    def import_memory(self, handle):
        """The address by which the current device reaches another process's tensor."""
        address = ctypes.c_void_p()
        self.check(self.library.tlc_import_memory(ctypes.byref(_MemoryHandle.from_buffer_copy(handle)), ctypes.byref(address)))
        return address.value

    def nccl_version(self, nccl=None):
        """As NCCL numbers it. `nccl` is the path of libnccl.so.2, here and below; PyTorch's where that is loaded."""
        version = self.library.tlc_nccl_version(nccl and nccl.encode())
        if version < 0:
            raise self.error()
        return version

    def nccl_id(self, nccl=None):
        """Bytes by which all ranks begin a communicator; one of them makes them."""
        made = ctypes.create_string_buffer(NCCL_ID_BYTES)
        self.check(self.library.tlc_nccl_create_id(nccl and nccl.encode(), made))
        return made.raw

    def compile(self, kernel, target=None, wait_limit=0.0, **parameters):
        """The program of a registered kernel, for the current device or for an architecture that it runs, too. Waits for
        counts that last longer than the limit in seconds, if there is one, are failed checks."""
        torch.cuda.current_stream().synchronize()  # PyTorch's context is current from here on
        count = len(parameters)
        strings = ctypes.c_char_p * count
        arguments = (kernel.encode(), strings(*[name.encode() for name in parameters]),
                     strings(*[str(value).encode() for value in parameters.values()]), count)
        target = target.encode() if target else None
        if wait_limit:
            options = _CompileOptions(ctypes.sizeof(_CompileOptions), target, wait_limit)
            program = self.library.tlc_compile_with(*arguments, ctypes.byref(options))
        else:
            program = self.library.tlc_compile(*arguments, target)
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
        self.check(self.library.tlc_connect(handles, count))
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
            self.library.check(function(self.handle, arguments, count, None, 0, workspaces, len(memory), stream))

        launch.holds = (self, tensors, memory)
        return launch

    def symmetric_arguments(self):
        """Whether each argument is symmetric, the workspaces last."""
        count = self.library.library.tlc_symmetric_arguments(self.handle, None, 0)
        if count < 0:
            raise self.library.error()
        found = (ctypes.c_int * count)()
        self.library.library.tlc_symmetric_arguments(self.handle, found, count)
        return [bool(symmetric) for symmetric in found]

    def workspaces(self, arguments, device, rank=0, ranks=1, group=None):
        """New ones, and their addresses. Symmetric ones are in memory of the group."""
        most = 16
        sizes = (ctypes.c_size_t * most)()
        if ranks == 1:
            found = self.library.library.tlc_workspace(self.handle, arguments, len(arguments), sizes, most)
        else:
            found = self.library.library.tlc_rank_workspace(self.handle, rank, ranks, arguments, len(arguments), sizes, most)
        if found < 0:
            raise self.library.error()
        assert found <= most
        in_group = self.symmetric_arguments()[len(arguments):] if group else [False] * found
        memory = [group.empty(max(size, 1), dtype=torch.uint8) if symmetric else
                  torch.empty(max(size, 1), dtype=torch.uint8, device=device) for size, symmetric in zip(sizes[:found], in_group)]
        return memory, _addresses([part.data_ptr() for part in memory])


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
            self.library.check(function(places, ranks, count, None, 0, workspace_count))

        launch.holds = (self, tensors_of_ranks, memories)
        return launch


class Group:
    """This process's rank of several, on its current device. `memory.empty(*shape, dtype=...)` gives a tensor, and
    `memory.addresses(tensor)` the addresses of those of all ranks as this process reaches them, when all have called it. All
    ranks call both in the same order. Before a rank lets go of its group, all ranks wait for each other on the host, because
    others may still use its memory. What is open of other processes' memory stays so until the process ends."""

    def __init__(self, library, rank, ranks, memory):
        self.library, self.rank, self.ranks, self.memory = library, rank, ranks, memory
        self.handle = None
        flags = memory.empty(GROUP_FLAG_BYTES, dtype=torch.uint8).zero_()
        self.held = [flags]
        torch.cuda.current_stream().synchronize()  # the flags are zeros before another rank reaches them
        self.handle = library.library.tlc_group_create(rank, ranks, _addresses(memory.addresses(flags)), flags.nbytes)
        if not self.handle:
            raise library.error()

    def __del__(self):
        self.library.library.tlc_group_release(self.handle)

    def empty(self, *shape, dtype):
        """A tensor that all ranks have, for as long as the group lives."""
        tensor = self.memory.empty(*shape, dtype=dtype)
        self.held.append(tensor)
        addresses = _addresses(self.memory.addresses(tensor))
        self.library.check(self.library.library.tlc_group_add(self.handle, addresses, tensor.nbytes))
        return tensor

    def bind(self, program, *tensors):
        """A function of no arguments that launches this rank on the stream that is current then. Tensors that are
        symmetric are of `empty`. Holds workspaces of its own; all ranks bind in the same order."""
        count = len(tensors)
        arguments = (_Tensor * count)(*map(_describe, tensors))
        memory, workspaces = program.workspaces(arguments, tensors[0].device, self.rank, self.ranks, self)
        function = self.library.library.tlc_group_launch

        def launch():
            stream = torch.cuda.current_stream().cuda_stream
            self.library.check(function(self.handle, program.handle, arguments, count, None, 0, workspaces, len(memory), stream))

        launch.holds = (self, program, tensors, memory)
        return launch

    def synchronize(self, seconds=10.0):
        """Waits for the current stream. An error after the limit says which rank has not come; then end the process
        without waiting for its GPU, as by os._exit; or that the work takes longer; then call this again. A negative limit is
        none."""
        stream = torch.cuda.current_stream().cuda_stream
        self.library.check(self.library.library.tlc_group_synchronize(self.handle, stream, seconds))


class Communicator:
    """This process's rank of several that NCCL connects, on its current device. `identifier` is the bytes of
    `Library.nccl_id`, which all ranks have. What waits for the other ranks ends with an error after so many seconds."""

    def __init__(self, library, rank, ranks, identifier, nccl=None, seconds=60.0):
        self.library, self.rank, self.ranks, self.handle = library, rank, ranks, None
        assert len(identifier) == NCCL_ID_BYTES
        self.handle = library.library.tlc_communicator_create(nccl and nccl.encode(), rank, ranks, identifier, seconds)
        if not self.handle:
            raise library.error()

    def __del__(self):
        self.library.library.tlc_communicator_release(self.handle)

    def check_peers(self):
        """An error, the same on all ranks, if they are of several machines or do not reach each other's memory."""
        self.library.check(self.library.library.tlc_communicator_check_peers(self.handle))

    def bind(self, kernel, *tensors):
        """A function of no arguments that does what a kernel of ranks does, by gemm and NCCL, on the stream that is current
        then. Holds a workspace of its own."""
        arguments, size = (_Tensor * len(tensors))(*map(_describe, tensors)), ctypes.c_size_t()
        call = self.handle, kernel.encode(), arguments, len(tensors)
        self.library.check(self.library.library.tlc_communicator_workspace(*call, ctypes.byref(size)))
        memory = torch.empty(max(size.value, 1), dtype=torch.uint8, device=tensors[0].device)

        def launch():
            stream = torch.cuda.current_stream().cuda_stream
            self.library.check(self.library.library.tlc_communicator_launch(*call, memory.data_ptr(), size.value, stream))

        launch.holds = (self, tensors, memory)
        return launch

    def is_faster(self, kernel, *tensors):
        """Whether `bind` is likely to take less time than the kernel of ranks, where ranks can take either."""
        arguments, faster = (_Tensor * len(tensors))(*map(_describe, tensors)), ctypes.c_int()
        self.library.check(self.library.library.tlc_communicator_is_faster(self.handle, kernel.encode(), arguments, len(tensors),
                                                                           ctypes.byref(faster)))
        return bool(faster.value)

    def synchronize(self):
        """Waits for the current stream, as long as for ranks at most; after that NCCL ends what it does there."""
        stream = torch.cuda.current_stream().cuda_stream
        self.library.check(self.library.library.tlc_communicator_synchronize(self.handle, stream))


class ConnectedGroup(Group):
    """A group of the ranks of a communicator, which needs nothing else."""

    def __init__(self, communicator):
        self.library, self.rank, self.ranks = communicator.library, communicator.rank, communicator.ranks
        self.held = [communicator]
        self.handle = self.library.library.tlc_communicator_group(communicator.handle)
        if not self.handle:
            raise self.library.error()

    def empty(self, *shape, dtype):
        tensor = torch.empty(*shape, dtype=dtype, device="cuda")
        self.held.append(tensor)
        self.library.check(self.library.library.tlc_group_share(self.handle, tensor.data_ptr(), tensor.nbytes))
        return tensor
