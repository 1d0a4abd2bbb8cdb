#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Groups of torch.distributed: NCCL's identifier reaches their ranks. Processes of the CPU, with a library that only notes."""

import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from support import Case, needs_torch, tlc, torch

PROCESSES = 3


class Library:
    """Of one process; only the first one of a group is asked for an identifier."""

    def __init__(self, process, fails):
        self.process, self.fails = process, fails

    def nccl_id(self, nccl=None):
        if self.fails:
            raise tlc.Error("cannot open libnccl.so.2", tlc.Kind.ENVIRONMENT)
        return bytes([self.process]) * 128


def process(number, folder):
    import torch.distributed as distributed
    from tlc import ranks

    class Communicator(ranks.Communicator):
        def __init__(self, library, rank, count, identifier, nccl=None, seconds=60.0):
            self.found = rank, count, identifier[0], nccl, seconds

    distributed.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=number, world_size=PROCESSES)
    group = distributed.new_group([1, 2])
    print(Communicator.of_group(Library(number, False), seconds=5.0).found)
    for fails in (False, True):
        try:
            print(Communicator.of_group(Library(number, fails), group, "my nccl").found)
        except tlc.Error as error:
            print(error.kind.name, error.text)
    distributed.barrier()


@needs_torch
class Groups(Case):
    def test_identifiers_and_errors(self):
        if not torch.distributed.is_available() or not getattr(torch.distributed, "is_gloo_available", lambda: True)():
            self.skipTest("this PyTorch has no processes with Gloo")
        with tempfile.TemporaryDirectory() as folder:
            started = [subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__), "process", str(number), folder], stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"}) for number in range(PROCESSES)]
            said = [one.communicate(timeout=120)[0].splitlines() for one in started]
        other = "INVALID_ARGUMENT expected a group of torch.distributed that has this process, but it is no rank of it"
        self.assertEqual(said[0], ["(0, 3, 0, None, 5.0)", other, other])
        for rank in (0, 1):
            self.assertEqual(said[rank + 1], [f"({rank + 1}, 3, 0, None, 5.0)", f"({rank}, 2, 1, 'my nccl', 60.0)",
                                              "ENVIRONMENT cannot open libnccl.so.2"])


class Launching:
    """The C interface, on which launches only succeed."""

    def __init__(self, version=None):
        self.real = tlc._interface.interface()
        self.version = version or self.real.version

    def __getattr__(self, name):
        if name in ("launch", "launch_ranks", "group_launch", "communicator_launch", "communicator_workspace"):
            return lambda *arguments: 0
        if name in ("release", "group_release", "communicator_release"):
            return lambda handle: None
        return getattr(self.real, name)


@needs_torch
class Writes(Case):
    """Launches of ranks raise the version counters of tensors that they write."""

    def setUp(self):
        from tlc import ranks
        stream = unittest.mock.patch("torch.cuda.current_stream")
        stream.start().return_value.cuda_stream = 0
        self.addCleanup(stream.stop)
        self.library = unittest.mock.Mock(library=Launching(), check=tlc._interface.interface().check)
        emulator = tlc._devices.current_emulator()
        self.compiled = tlc._programs.program_of(emulator, tlc._programs.our_kernels()["softmax"], {"rows": "8", "columns": "64", "dtype": "f32"})
        self.program = ranks.Program(self.library, self.compiled.handle)
        self.x, self.y = torch.zeros(8, 64), torch.zeros(8, 64)

    def writes(self, launch, *written):
        before = [one._version for one in (self.x, self.y)]
        launch()
        launch()
        self.assertEqual([one._version - count for one, count in zip((self.x, self.y), before)],
                         [2 if any(one is other for other in written) else 0 for one in (self.x, self.y)])

    def test_one_process(self):
        from tlc import ranks
        self.writes(self.program.bind(self.x, self.y), self.y)
        self.writes(ranks.RankPrograms(self.library, [self.program]).bind([(self.x, self.y)]), self.y)
        packed = ranks.Packed(self.y, ranks.Packed.U4)
        self.writes(lambda: ranks._note_writes([packed]), self.y)

    def test_several_processes(self):
        from tlc import ranks
        group = ranks.Group.__new__(ranks.Group)
        group.library, group.rank, group.ranks, group.handle = self.library, 0, 1, None
        self.writes(group.bind(self.program, self.x, self.y), self.y)
        communicator = ranks.Communicator.__new__(ranks.Communicator)
        communicator.library, communicator.handle = self.library, 1
        self.writes(communicator.bind("all_reduce", self.x, self.y), self.y)

    def test_libraries_that_do_not_tell(self):
        self.library.library = Launching(version=7)
        self.writes(self.program.bind(self.x, self.y))


if __name__ == "__main__":
    if sys.argv[1:2] == ["process"]:
        process(int(sys.argv[2]), sys.argv[3])
    else:
        unittest.main()
