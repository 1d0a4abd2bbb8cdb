# SPDX-License-Identifier: Apache-2.0
"""What launches of others take of the host's time, as `launch_bench --json` prints that of ours: a Triton kernel with eight
tensors, which returns at once, and torch.mm.

    python3 tools/bench/launches.py [--rounds N]
"""

import argparse
import json
import random
import statistics
import time

import torch
import triton

ROWS, COLUMNS, TENSORS = 128, 64, 8
LAUNCHES = 200  # of a round: far fewer than the driver's queue has room for


@triton.jit
def eight(a, b, c, d, e, f, g, h, m, n):
    pass


def contestants():
    tensors = [torch.zeros(ROWS, COLUMNS, device="cuda", dtype=torch.bfloat16) for _ in range(TENSORS)]
    product = torch.empty(ROWS, ROWS, device="cuda", dtype=torch.bfloat16)
    transposed = tensors[1].t()
    return {"triton": lambda: eight[(1,)](*tensors, ROWS, COLUMNS, num_warps=1),
            "torch.mm": lambda: torch.mm(tensors[0], transposed, out=product)}


def microseconds(launch):
    """For each of the launches of a round, which begins with an empty queue."""
    torch.cuda.synchronize()
    begin = time.perf_counter_ns()
    for _ in range(LAUNCHES):
        launch()
    return (time.perf_counter_ns() - begin) / 1000 / LAUNCHES


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=101)
    rounds = parser.parse_args().rounds
    launches = contestants()
    for launch in launches.values():
        microseconds(launch)  # compiles, and is not counted
    taken = {name: [] for name in launches}
    order, shuffle = list(launches), random.Random(1)
    for _ in range(rounds):
        shuffle.shuffle(order)
        for name in order:
            taken[name].append(microseconds(launches[name]))
    for name, values in taken.items():
        first, median, third = statistics.quantiles(values, n=4, method="inclusive")
        print(json.dumps({"launch": name, "us": round(median, 3), "quartiles": [round(first, 3), round(third, 3)],
                          "rounds": rounds, "launches": LAUNCHES, "device": torch.cuda.get_device_name()}))


if __name__ == "__main__":
    main()
