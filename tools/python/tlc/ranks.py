# SPDX-License-Identifier: Apache-2.0
"""Programs that are compiled by name and launched on PyTorch's tensors as they are declared, and ranks: several GPUs of one
process, processes of one machine, and those that NCCL connects (docs/several-gpus.md). Takes any libtlc.so, also an older one.

    library = Library(find_library())
    launch = library.compile("gemm", m=4096, n=4096, k=4096).bind(a, b, c)
    launch()
"""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Optional

import torch

from . import _interface as c
from ._interface import Error, find_library
from ._programs import INPUT
from ._torch import ELEMENTS, _note_write

__all__ = ["Communicator", "ConnectedGroup", "Error", "Group", "Library", "Packed", "Program", "RankPrograms", "find_library"]

GROUP_FLAG_BYTES = 128
NCCL_ID_BYTES = 128


@dataclass(frozen=True)
class Packed:
    """Elements of 4 bits, two in a byte, the first one in its low half: a contiguous tensor of bytes."""

    U4 = 12
    E2M1 = 13

    bytes: torch.Tensor
    element: int  # one of these


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
    return c.Tensor(tensor.data_ptr(), ELEMENTS[tensor.dtype].number, tensor.dim(), extents(*tensor.shape), extents(*tensor.stride()))


def _note_writes(tensors):
    """Of a launch, for the library that counts them."""
    for tensor in tensors:
        _note_write(tensor.bytes if isinstance(tensor, Packed) else tensor)


class Library:
    """A loaded libtlc.so."""

    def __init__(self, path: str):
        self.library = c.Interface(path)

    def error(self) -> Error:
        return self.library.error()

    def check(self, status: int) -> None:
        self.library.check(status)

    def export_memory(self, tensor):
        """Bytes by which another process of this machine reaches the tensor, as long as it lives."""
        handle = c.MemoryHandle()
        self.check(self.library.export_memory(tensor.data_ptr(), ctypes.byref(handle)))
        return bytes(handle)

    def import_memory(self, handle):
        """The address by which the current device reaches another process's tensor."""
        address = ctypes.c_void_p()
        self.check(self.library.import_memory(ctypes.byref(c.MemoryHandle.from_buffer_copy(handle)), ctypes.byref(address)))
        return address.value

    def nccl_version(self, nccl=None):
        """As NCCL numbers it. `nccl` is the path of libnccl.so.2, here and below; PyTorch's where that is loaded."""
        version = self.library.nccl_version(nccl and nccl.encode())
        if version < 0:
            raise self.error()
        return version

    def nccl_id(self, nccl=None):
        """Bytes by which all ranks begin a communicator; one of them makes them."""
        made = ctypes.create_string_buffer(NCCL_ID_BYTES)
        self.check(self.library.nccl_create_id(nccl and nccl.encode(), made))
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
            options = c.OldCompileOptions(target, wait_limit)
            program = self.library.compile_with(*arguments, ctypes.byref(options))
        else:
            program = self.library.compile(*arguments, target)
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
        self.check(self.library.connect(handles, count))
        return RankPrograms(self, programs)


class Program:
    def __init__(self, library, handle):
        self.library = library
        self.handle = handle

    def __del__(self):
        self.library.library.release(self.handle)

    def bind(self, *tensors):
        """A function of no arguments that launches on these tensors, on the
        stream that is current now. Holds workspaces of its own."""
        count = len(tensors)
        arguments = (c.Tensor * count)(*map(_describe, tensors))
        memory, workspaces = self.workspaces(arguments, tensors[0].device)
        stream = torch.cuda.current_stream().cuda_stream
        function, written = self.library.library.launch, self.written(tensors)

        def launch():
            self.library.check(function(self.handle, arguments, count, None, 0, workspaces, len(memory), stream))
            _note_writes(written)

        launch.holds = (self, tensors, memory)
        return launch

    def written(self, tensors):
        """Those that a launch writes; none if the library is one that does not tell."""
        library, accesses = self.library.library, []
        for number in range(library.number(library.argument_count(self.handle)) if library.version >= 8 else 0):
            info = c.ArgumentInfo()
            library.check(library.argument_of(self.handle, number, ctypes.byref(info)))
            if info.rank >= 0:
                accesses.append(info.access)
        return [tensor for tensor, access in zip(tensors, accesses) if access != INPUT]

    def symmetric_arguments(self):
        """Whether each argument is symmetric, the workspaces last."""
        count = self.library.library.symmetric_arguments(self.handle, None, 0)
        if count < 0:
            raise self.library.error()
        found = (ctypes.c_int * count)()
        self.library.library.symmetric_arguments(self.handle, found, count)
        return [bool(symmetric) for symmetric in found]

    def workspaces(self, arguments, device, rank=0, ranks=1, group=None):
        """New ones, and their addresses. Symmetric ones are in memory of the group."""
        most = 16
        sizes = (ctypes.c_size_t * most)()
        if ranks == 1:
            found = self.library.library.workspace(self.handle, arguments, len(arguments), sizes, most)
        else:
            found = self.library.library.rank_workspace(self.handle, rank, ranks, arguments, len(arguments), sizes, most)
        if found < 0:
            raise self.library.error()
        assert found <= most
        in_group = self.symmetric_arguments()[len(arguments):] if group else [False] * found
        memory = [group.empty(max(size, 1), dtype=torch.uint8) if symmetric else
                  torch.empty(max(size, 1), dtype=torch.uint8, device=device) for size, symmetric in zip(sizes[:found], in_group)]
        return memory, c.addresses([part.data_ptr() for part in memory])


class RankPrograms:
    """One program on several GPUs, a rank each."""

    def __init__(self, library, programs):
        self.library = library
        self.programs = programs

    def bind(self, tensors_of_ranks):
        """A function of no arguments that launches on all ranks, on each rank's tensors and on the stream that is current
        now on its GPU. Holds workspaces of its own."""
        ranks, count = len(self.programs), len(tensors_of_ranks[0])
        places, memories = (c.Rank * ranks)(), []
        for rank, (program, tensors) in enumerate(zip(self.programs, tensors_of_ranks)):
            arguments = (c.Tensor * count)(*map(_describe, tensors))
            device = tensors[0].device
            memory, workspaces = program.workspaces(arguments, device, rank, ranks)
            places[rank] = c.Rank(program.handle, arguments, workspaces, torch.cuda.current_stream(device).cuda_stream)
            memories.append((memory, arguments, workspaces))
        function, workspace_count = self.library.library.launch_ranks, len(memories[0][0])
        written = [tensor for program, tensors in zip(self.programs, tensors_of_ranks) for tensor in program.written(tensors)]

        def launch():
            self.library.check(function(places, ranks, count, None, 0, workspace_count))
            _note_writes(written)

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
        self.handle = library.library.group_create(rank, ranks, c.addresses(memory.addresses(flags)), flags.nbytes)
        if not self.handle:
            raise library.error()

    def __del__(self):
        self.library.library.group_release(self.handle)

    def empty(self, *shape, dtype):
        """A tensor that all ranks have, for as long as the group lives."""
        tensor = self.memory.empty(*shape, dtype=dtype)
        self.held.append(tensor)
        addresses = c.addresses(self.memory.addresses(tensor))
        self.library.check(self.library.library.group_add(self.handle, addresses, tensor.nbytes))
        return tensor

    def bind(self, program, *tensors):
        """A function of no arguments that launches this rank on the stream that is current then. Tensors that are
        symmetric are of `empty`. Holds workspaces of its own; all ranks bind in the same order."""
        count = len(tensors)
        arguments = (c.Tensor * count)(*map(_describe, tensors))
        memory, workspaces = program.workspaces(arguments, tensors[0].device, self.rank, self.ranks, self)
        function, written = self.library.library.group_launch, program.written(tensors)

        def launch():
            stream = torch.cuda.current_stream().cuda_stream
            self.library.check(function(self.handle, program.handle, arguments, count, None, 0, workspaces, len(memory), stream))
            _note_writes(written)

        launch.holds = (self, program, tensors, memory)
        return launch

    def synchronize(self, seconds=10.0):
        """Waits for the current stream. An error after the limit says which rank has not come; then end the process
        without waiting for its GPU, as by os._exit; or that the work takes longer; then call this again. A negative limit is
        none."""
        stream = torch.cuda.current_stream().cuda_stream
        self.library.check(self.library.library.group_synchronize(self.handle, stream, seconds))


def _first_of(distributed, group) -> int:
    """The process, by its number among all, that is rank 0 of the group."""
    if group is None:
        return 0
    of_group = getattr(distributed, "get_global_rank", None) or distributed.distributed_c10d._get_global_rank  # before 2.0
    return of_group(group, 0)


class Communicator:
    """This process's rank of several that NCCL connects, on its current device. `identifier` is the bytes of
    `Library.nccl_id`, which all ranks have. What waits for the other ranks ends with an error after so many seconds."""

    def __init__(self, library, rank, ranks, identifier, nccl=None, seconds=60.0):
        self.library, self.rank, self.ranks, self.handle = library, rank, ranks, None
        assert len(identifier) == NCCL_ID_BYTES
        self.handle = library.library.communicator_create(nccl and nccl.encode(), rank, ranks, identifier, seconds)
        if not self.handle:
            raise library.error()

    @classmethod
    def of_group(cls, library, group=None, nccl=None, seconds=60.0):
        """That of a group of torch.distributed, the default one if there is none, of any backend: it carries NCCL's identifier to all ranks,
        or why there is none. All ranks of the group call this, each with its GPU current."""
        import torch.distributed as distributed
        rank, ranks = distributed.get_rank(group), distributed.get_world_size(group)
        if rank < 0:
            raise Error("expected a group of torch.distributed that has this process, but it is no rank of it")
        found = [None, None]  # the identifier, or an error
        if rank == 0:
            try:
                found[0] = library.nccl_id(nccl)
            except Error as error:
                found[1] = error.text, error.kind
        distributed.broadcast_object_list(found, _first_of(distributed, group), group)
        if found[1] is not None:
            raise Error(*found[1])
        return cls(library, rank, ranks, found[0], nccl, seconds)

    def __del__(self):
        if getattr(self, "handle", None):
            self.library.library.communicator_release(self.handle)

    def check_peers(self):
        """An error, the same on all ranks, if they are of several machines or do not reach each other's memory."""
        self.library.check(self.library.library.communicator_check_peers(self.handle))

    def bind(self, kernel, *tensors):
        """A function of no arguments that does what a kernel of ranks does, by gemm and NCCL, on the stream that is current
        then. Holds a workspace of its own."""
        arguments, size = (c.Tensor * len(tensors))(*map(_describe, tensors)), ctypes.c_size_t()
        call = self.handle, kernel.encode(), arguments, len(tensors)
        self.library.check(self.library.library.communicator_workspace(*call, ctypes.byref(size)))
        memory = torch.empty(max(size.value, 1), dtype=torch.uint8, device=tensors[0].device)

        def launch():
            stream = torch.cuda.current_stream().cuda_stream
            self.library.check(self.library.library.communicator_launch(*call, memory.data_ptr(), size.value, stream))
            _note_writes(tensors[-1:])  # the only one that these kernels write

        launch.holds = (self, tensors, memory)
        return launch

    def is_faster(self, kernel, *tensors):
        """Whether `bind` is likely to take less time than the kernel of ranks, where ranks can take either."""
        arguments, faster = (c.Tensor * len(tensors))(*map(_describe, tensors)), ctypes.c_int()
        self.library.check(self.library.library.communicator_is_faster(self.handle, kernel.encode(), arguments, len(tensors),
                                                                           ctypes.byref(faster)))
        return bool(faster.value)

    def synchronize(self):
        """Waits for the current stream, as long as for ranks at most; after that NCCL ends what it does there."""
        stream = torch.cuda.current_stream().cuda_stream
        self.library.check(self.library.library.communicator_synchronize(self.handle, stream))


class ConnectedGroup(Group):
    """A group of the ranks of a communicator, which needs nothing else."""

    def __init__(self, communicator):
        self.library, self.rank, self.ranks = communicator.library, communicator.rank, communicator.ranks
        self.held = [communicator]
        self.handle = self.library.library.communicator_group(communicator.handle)
        if not self.handle:
            raise self.library.error()

    def empty(self, *shape, dtype):
        tensor = torch.empty(*shape, dtype=dtype, device="cuda")
        self.held.append(tensor)
        self.library.check(self.library.library.group_share(self.handle, tensor.data_ptr(), tensor.nbytes))
        return tensor
