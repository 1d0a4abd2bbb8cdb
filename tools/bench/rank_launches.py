# SPDX-License-Identifier: Apache-2.0
"""Tensors and launches of several ranks. Rank i is GPU i; lists have an entry for each rank, whose tensors are on its GPU."""

import torch

from libtlc import Error
from measure import DTYPES

DTYPE = "bf16"
CHECKED_ROWS, CHECKED_COLUMNS = 16, 64


def normal(rank, *shape):
    return torch.randn(*shape, device=f"cuda:{rank}", dtype=DTYPES[DTYPE])


def empty(rank, *shape, dtype=DTYPES[DTYPE]):
    return torch.empty(*shape, device=f"cuda:{rank}", dtype=dtype)


def on_each(launches):
    """Launches of all ranks, each while its GPU is the current one."""
    def launch():
        for rank, one in enumerate(launches):
            with torch.cuda.device(rank):
                one()
    return launch


def one_after_the_other(*launches):
    def launch():
        for one in launches:
            one()
    return launch


def bound_on_each(programs, tensors):
    """Launches of ordinary programs, one for each rank."""
    launches = []
    for rank, (program, of_rank) in enumerate(zip(programs, tensors)):
        with torch.cuda.device(rank):
            launches.append(program.bind(*of_rank))
    return launches


def programs_of_ranks(library, kernel, ranks, parameters, tensors, options):
    """Our launch, with what -D says, and others of ours, of each --against with what that says beside it. One that names a
    parameter which this kernel does not have is left out: a suite has several kernels."""
    def launch(further=()):
        chosen = {**parameters, **dict(options.define), **dict(further)}
        return library.compile_ranks(kernel, ranks, **chosen).bind(tensors)

    others = {}
    for further in options.against:
        try:
            others[",".join(map("=".join, further))] = launch(further)
        except Error as error:
            if "expected a parameter of kernel" not in str(error):
                raise
    return launch(), others


def verdict(worst):
    return {"largest_error": worst, "limit": 1.0, "correct": worst <= 1.0}


def drawn(count, *of):
    """Positions below each number."""
    return [torch.randint(0, most, (count,)).tolist() for most in of]
