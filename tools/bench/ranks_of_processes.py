#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our kernels of several GPUs on the tensors of a PyTorch process group, a process for each rank.

    ranks_of_processes.py [--ranks 2] [--runs kernels/ipc,kernels/symmetric,dies/ipc,...] [--seconds 170]
    torchrun --nproc-per-node 2 ranks_of_processes.py [--case kernels/symmetric]
    mpirun -n 2 ranks_of_processes.py [--case kernels/ipc]

The first form starts the processes of all runs, one run after the other. A run is a mode and a kind of memory: `ipc` is
PyTorch's usual memory, whose handles the processes exchange, `symmetric` is PyTorch's symmetric memory, whose addresses
are taken as they are, and `nccl` is PyTorch's usual memory, whose handles NCCL exchanges. Modes are:

    kernels         products and attention, launched once, often, and in a CUDA graph, against double precision
    dies            the last rank is killed before its second launch; the others must say so
    dies_in_launch  the last rank is killed while it launches; the others must say so
    apart           products and sums by NCCL's collectives, as for ranks that do not reach each other's memory; of `nccl`
    disagrees       the last rank has a tensor of another shape; all must say so
    times           launches one after the other, timed; what ranks do to begin together is part of it
    peers           products in turns with PyTorch's fused ones on symmetric memory and with a rank's GEMM alone, timed in
                    the same way

Prints a line of JSON for each result, and a last one. Exit status 1 if anything is wrong. NVLink multicast is off.
"""

import argparse
import dataclasses
import functools
import json
import math
import operator
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["NCCL_NVLS_ENABLE"] = "0"  # read by NCCL and PyTorch when they begin
os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

from libtlc import Communicator, ConnectedGroup, Error, Group, Library, find_library  # noqa: E402
from measure import DTYPES, ROUNDING, compare  # noqa: E402
from process_cases import CASES, COLLECTIVE_CASES, DTYPE, all_gather_gemm, timed  # noqa: E402
from process_peers import fused  # noqa: E402

RUNS = ("kernels/ipc", "kernels/symmetric", "kernels/nccl", "apart/nccl", "dies/ipc", "dies/nccl", "dies_in_launch/ipc",
        "disagrees/ipc", "times/ipc", "peers/ipc")
RUN_SECONDS = 60  # after which a process ends by SIGALRM
LIMIT = 3.0  # of synchronising where ranks do not come
LAUNCHES = 20
LAUNCH = "the launch of 'all_gather_gemm'"
ROUNDS = 7


class IpcMemory:
    """PyTorch's usual memory, of which the processes exchange handles."""

    def __init__(self, library):
        self.library = library

    def empty(self, *shape, dtype):
        return torch.empty(*shape, dtype=dtype, device="cuda")

    def addresses(self, tensor):
        handles = gathered(self.library.export_memory(tensor))
        return [tensor.data_ptr() if rank == dist.get_rank() else self.library.import_memory(handle)
                for rank, handle in enumerate(handles)]


class SymmetricMemory:
    """PyTorch's symmetric memory, whose addresses of all ranks PyTorch has."""

    def __init__(self, library):
        import torch.distributed._symmetric_memory as symmetric
        from torch._C._autograd import DeviceType
        from torch._C._distributed_c10d import _SymmetricMemory

        if _SymmetricMemory.has_multicast_support(DeviceType.CUDA, torch.cuda.current_device()):
            raise RuntimeError("expected PyTorch to heed TORCH_SYMM_MEM_DISABLE_MULTICAST, but it would use NVLink multicast")
        self.symmetric = symmetric

    def empty(self, *shape, dtype):
        return self.symmetric.empty(*shape, dtype=dtype, device=torch.device("cuda", torch.cuda.current_device()))

    def addresses(self, tensor):
        gathered(None)  # PyTorch may know the buffer, and not wait
        buffers = self.symmetric.rendezvous(tensor, dist.group.WORLD.group_name).buffer_ptrs
        offset = tensor.data_ptr() - buffers[dist.get_rank()]  # a buffer may hold several tensors
        return [buffer + offset for buffer in buffers]


MEMORIES = {"ipc": IpcMemory, "symmetric": SymmetricMemory}


def connect(library, rank, ranks, nccl):
    """The communicator whose id rank 0 makes."""
    identifier = gathered(library.nccl_id(nccl) if rank == 0 else None)[0]
    return Communicator(library, rank, ranks, identifier, nccl)


def of_slowest(rounds):
    """Of each round, what the slowest rank took."""
    return [max(of_ranks) for of_ranks in zip(*gathered(rounds))]


def gathered(value):
    """The values of all ranks, by the CPU's part of the process group. Ends when all have come."""
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


class Worker:
    """A rank."""

    def __init__(self, options):
        self.mode, memory = options.case.split("/")
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self.library = Library(options.library)
        self.seed, self.name, self.failed = options.seed, options.case, False
        if memory == "nccl":
            self.communicator = connect(self.library, self.rank, self.ranks, options.nccl)
            self.group = ConnectedGroup(self.communicator)
            self.say(nccl=self.library.nccl_version(options.nccl))
        else:
            self.group = Group(self.library, self.rank, self.ranks, MEMORIES[memory](self.library))

    def say(self, **line):
        self.failed |= not line.get("correct", True)
        print(json.dumps({"run": self.name, "rank": self.rank, **line}), flush=True)

    def bind(self, case):
        """The program's launch on tensors of this rank, and those that it writes."""
        given = case.inputs[self.rank] + case.outputs[self.rank]
        program, tensors = self.compile(case.kernel, case.parameters, [(values.shape, values.dtype) for values in given])
        for tensor, values in zip(tensors, given):
            tensor.copy_(values)
        return self.group.bind(program, *tensors), tensors[len(case.inputs[self.rank]):]

    def compile(self, kernel, parameters, tensors):
        """The program and tensors of these shapes and types, symmetric ones in memory of the group."""
        program = self.library.compile(kernel, ranks=self.ranks, **parameters)
        makes = [self.group.empty if symmetric else functools.partial(torch.empty, device="cuda")
                 for symmetric in program.symmetric_arguments()]
        return program, [make(*shape, dtype=dtype) for make, (shape, dtype) in zip(makes, tensors)]

    def check(self, case, way, results):
        """Compares what all ranks have, on rank 0."""
        of_ranks = gathered([result.cpu() for result in results])
        if self.rank:
            return
        worst = max(compare(own, *expected) for own_results, own_expected in zip(of_ranks, case.expected)
                    for own, expected in zip(own_results, own_expected))
        self.say(kernel=case.kernel, way=way, largest_error=worst, correct=worst <= 1.0)

    def kernels(self):
        for make in CASES:
            kernel = make.__name__
            try:
                self.run_kernel(make(self.ranks, self.seed))
            except Error as error:  # of this rank; the others run into the limit
                self.say(kernel=kernel, error=str(error), correct=False)
                return
        gathered(None)  # others may use this rank's memory

    def run_kernel(self, case):
        launch, results = self.bind(case)
        delays = random.Random(self.seed + self.rank)

        def clear():
            for result in results:
                result.fill_(math.nan)

        def once():
            launch()

        def often():
            for _ in range(LAUNCHES):
                time.sleep(delays.choice((0, 0, 1e-4, 2e-3)))
                launch()

        graph = torch.cuda.CUDAGraph()

        def replayed():
            for _ in range(LAUNCHES):
                graph.replay()

        for way in (once, often, replayed):
            if way is replayed:
                with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                    launch()
            clear()
            way()
            self.group.synchronize()
            self.check(case, way.__name__, results)  # all ranks are done with each other's tensors, too

    def apart(self):
        for make in COLLECTIVE_CASES:
            case = make(self.ranks, self.seed)
            tensors = [values.cuda() for values in case.inputs[self.rank] + case.outputs[self.rank]]
            launch = self.communicator.bind(case.kernel, *tensors)
            for _ in range(LAUNCHES):
                launch()
            self.communicator.synchronize()
            self.check(case, "apart", tensors[len(case.inputs[self.rank]):])

    def time(self, launch):
        """Microseconds of a launch of this rank, by launches one after the other."""
        gathered(None)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        launch()  # from here on the ranks' streams are together
        begin.record()
        for _ in range(LAUNCHES):
            launch()
        end.record()
        self.group.synchronize()
        return begin.elapsed_time(end) * 1e3 / LAUNCHES

    def times(self):
        for kernel, parameters, shapes in timed(self.ranks):
            program, tensors = self.compile(kernel, parameters, [(shape, DTYPES[DTYPE]) for shape in shapes])
            for tensor in tensors:
                tensor.normal_()
            launch = self.group.bind(program, *tensors)
            slowest = of_slowest([self.time(launch) for _ in range(ROUNDS)])
            if self.rank == 0:
                self.say(kernel=kernel, **parameters, us=round(statistics.median(slowest), 2))

    def peers(self):
        order = random.Random(self.seed)  # of all ranks the same
        for kernel, parameters, shapes, make in fused(self.ranks, DTYPE):
            program, tensors = self.compile(kernel, parameters, [(shape, DTYPES[DTYPE]) for shape in shapes])
            for tensor in tensors:
                tensor.normal_()
            contestants = {"ours": self.group.bind(program, *tensors), "torch_fused": make(*tensors[:2]),
                           "gemm_alone": self.gemm_of_same_size(parameters, tensors[1])}
            contestants["ours"]()
            theirs = contestants["torch_fused"]()
            self.group.synchronize()
            rounding, terms = 2 * ROUNDING[DTYPE], parameters["k"] * self.ranks
            error = max(gathered(compare(tensors[2].view_as(theirs), theirs.float(), rounding, 4 * rounding * math.sqrt(terms))))
            rounds = {name: [] for name in contestants}
            for _ in range(ROUNDS):
                for name in order.sample(list(contestants), len(contestants)):
                    rounds[name].append(self.time(contestants[name]))
            rounds = {name: of_slowest(of_rank) for name, of_rank in rounds.items()}
            if self.rank == 0:
                self.say(kernel=kernel, **parameters, largest_error=error, correct=error <= 1.0,
                         **{f"{name}_us": round(statistics.median(us), 2) for name, us in rounds.items()},
                         ratio=round(statistics.median(map(operator.truediv, rounds["torch_fused"], rounds["ours"])), 4))

    def gemm_of_same_size(self, parameters, b):
        """The product that a rank computes, without what it gathers or reduces."""
        m, n, k = self.ranks * parameters["m"], parameters["n"], parameters["k"]
        program = self.library.compile("gemm", m=m, n=n, k=k, dtype=parameters["dtype"], out=parameters["out"])
        a = torch.randn(m, k, dtype=b.dtype, device=b.device)
        return program.bind(a, b, torch.empty(m, n, dtype=b.dtype, device=b.device))

    def expect(self, parts, body):
        """Ends the process, with whether one of these is part of what is said of the launches. What frees programs and memory
        would wait for a stream that waits for ever."""
        begun = time.monotonic()
        try:
            body()
            self.group.synchronize(LIMIT)
            said = ""
        except Error as error:
            said = str(error)
        self.say(said=said, seconds=round(time.monotonic() - begun, 1), correct=any(part in said for part in parts))
        leave(self.failed)

    def bind_and_launch(self):
        launch, _ = self.bind(all_gather_gemm(self.ranks, self.seed))
        launch()
        self.group.synchronize()
        gathered(None)
        return launch

    def dies(self):
        launch, last = self.bind_and_launch(), self.ranks - 1
        if self.rank == last:
            die()
        self.expect([f"rank {last} has not come to {LAUNCH} within {LIMIT:g} s"], launch)

    def dies_in_launch(self):
        launch = self.bind_and_launch()

        def launches(count):
            for _ in range(count):
                launch()

        last = self.ranks - 1
        if self.rank == last:
            launches(LAUNCHES)
            die()
        within = f"within {LIMIT:g} s"
        self.expect([f"{last} has not come to {LAUNCH} {within}",
                     f"{last} have not come to {LAUNCH} {within}",  # nor a rank before it
                     f"{last} has come to {LAUNCH}, but has not cleared its counts {within}",
                     f"{last} have come to {LAUNCH}, but have not cleared their counts {within}",
                     f"all ranks have come to {LAUNCH}, but it, or what follows it on the stream, has not ended {within}"],
                    lambda: launches(2 * LAUNCHES))

    def disagrees(self):
        case = all_gather_gemm(self.ranks, self.seed)
        if self.rank == self.ranks - 1:
            case = dataclasses.replace(all_gather_gemm(self.ranks, self.seed, rows=138), parameters=case.parameters)
        launch, _ = self.bind(case)
        self.expect(["launches another program, or one with other symmetric tensors or scalars: expected 0x"], launch)


def die():
    sys.stdout.flush()
    if "TORCHELASTIC_RUN_ID" in os.environ:
        os._exit(0)  # torchrun ends the others where a rank fails
    os.kill(os.getpid(), signal.SIGKILL)


def work(options):
    """The process of a rank."""
    signal.alarm(RUN_SECONDS)
    for name, of_mpi in (("RANK", "OMPI_COMM_WORLD_RANK"), ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"),
                         ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")):
        if of_mpi in os.environ:
            os.environ.setdefault(name, os.environ[of_mpi])
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    for library in ("GLOO", "NCCL"):
        os.environ.setdefault(f"{library}_SOCKET_IFNAME", "lo")  # all ranks are of this machine
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", os.environ["RANK"])))
    torch.cuda.set_stream(torch.cuda.Stream())
    dist.init_process_group("cpu:gloo,cuda:nccl")
    failed = True
    try:
        worker = Worker(options)
        getattr(worker, worker.mode)()
        failed = worker.failed
    except (Error, RuntimeError, ImportError, AttributeError, TypeError, ValueError) as error:
        print(json.dumps({"run": options.case, "rank": dist.get_rank(), "error": f"{type(error).__name__}: {error}"[:2000]}))
    leave(failed)


def leave(failed):
    sys.stdout.flush()
    os._exit(failed)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def start(options, run):
    """Runs the processes of all ranks, and says whether they ended as they should."""
    environment = {**os.environ, "WORLD_SIZE": str(options.ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    command = [sys.executable, os.path.abspath(__file__), "--case", run, "--library", options.library, "--seed", str(options.seed)]
    if options.nccl:
        command += ["--nccl", options.nccl]
    with tempfile.TemporaryFile("w+") as output:
        processes = [subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT,
                                      env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)})
                     for rank in range(options.ranks)]
        statuses = [process.wait() for process in processes]  # each ends by SIGALRM at the latest
        output.seek(0)
        print(output.read(), end="", flush=True)
    expected = [0] * options.ranks
    if run.startswith("dies"):
        expected[-1] = -signal.SIGKILL
    return statuses == expected, statuses


def parse_run(text):
    mode, _, memory = text.partition("/")
    if text not in RUNS and (f"{mode}/ipc" not in RUNS or memory not in (*MEMORIES, "nccl")):
        raise argparse.ArgumentTypeError(f"expected mode/memory as {', '.join(RUNS)}, but got '{text}'")
    return text


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=find_library(), help="libtlc.so (default: beside this script or of a build)")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--runs", type=lambda text: [parse_run(run) for run in text.split(",")], default=list(RUNS))
    parser.add_argument("--case", type=parse_run, default=RUNS[0], help="of a process that torchrun or mpirun has started")
    parser.add_argument("--nccl", help="libnccl.so.2 (default: PyTorch's)")
    parser.add_argument("--seed", type=int, default=1, help="of inputs and delays")
    parser.add_argument("--seconds", type=float, default=170, help="after which no run begins")
    options = parser.parse_args()
    if options.library is None:
        parser.error("found no libtlc.so; name it with --library")
    return options


def main():
    begun = time.monotonic()
    options = parse_options()
    if "RANK" in os.environ or "OMPI_COMM_WORLD_RANK" in os.environ:
        work(options)
    found = {"runs": 0, "failed": [], "left_out": []}
    for run in options.runs:
        if time.monotonic() - begun > options.seconds:
            found["left_out"].append(run)
            continue
        run_begun = time.monotonic()
        found["runs"] += 1
        succeeded, statuses = start(options, run)
        if not succeeded:
            found["failed"].append(run)
        print(json.dumps({"run": run, "correct": succeeded, "statuses": statuses,
                          "seconds": round(time.monotonic() - run_begun, 1)}), flush=True)
    print(json.dumps({**found, "seconds": round(time.monotonic() - begun, 1)}))
    return 1 if found["failed"] or found["left_out"] else 0


if __name__ == "__main__":
    sys.exit(main())
