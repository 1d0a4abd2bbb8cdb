#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything there is to find out on a GPU, in one go: the test programs, the
runs of checks.txt with their verification, the benchmarks, and the comparison
with PyTorch's peers where PyTorch is installed.

    gpu_suite.py [--out results.json] [--only tests,checks,devices,bench,peers]

devices runs the same checks twice on the GPU and once on the emulator: all
must be right, the GPU's two runs the same bit for bit; whether the emulator's
result is so as well is in the field same_bits.

Works on the folder of an unpacked archive of tools/pack.sh. Writes one JSON
object; exit status 1 if anything failed.
"""

import argparse
import glob
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TLC = os.path.join(ROOT, "bin", "tlc")


def run(name, command, limit):
    """Runs one program: its verdict, time, end of output and lines of JSON."""
    begin = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit)
        status, output, errors = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        status, output, errors = "timeout", "", f"still running after {limit} s"
    entry = {"name": name, "passed": status == 0, "seconds": round(time.monotonic() - begin, 3)}
    lines = []
    for line in output.splitlines():
        if line.startswith("{"):
            try:
                lines.append(json.loads(line))
            except json.JSONDecodeError:
                pass
    if lines:
        entry["lines"] = lines
    if status != 0:
        entry.update(status=status, output=(output + errors)[-4000:])
    print(f"{'ok  ' if entry['passed'] else 'FAIL'} {entry['seconds']:8.2f} s  {name}", flush=True)
    if status != 0:
        print("    " + "\n    ".join((output + errors).strip().splitlines()[-15:]), flush=True)
    return entry


def tests():
    for path in sorted(glob.glob(os.path.join(ROOT, "bin", "*_test"))):
        yield run(os.path.basename(path), [path], 300)


def check_commands():
    """(line, command without a device) of each line of checks.txt."""
    with open(os.path.join(HERE, "checks.txt"), encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    for line in lines:
        kernel, *parameters = line.split()
        defines = [word for parameter in parameters for word in ("-D", parameter)]
        yield line, [TLC, "run", kernel, *defines, "--verify", "--json"]


def checks():
    for line, command in check_commands():
        yield run(line, command + ["--device", "cuda"], 120)


def devices():
    """With the same seed on both devices, and on the GPU twice."""
    for seed, (line, command) in enumerate(check_commands()):
        command += ["--seed", str(seed)]
        gpu = [run(f"{line}, GPU", command + ["--device", "cuda"], 120) for _ in range(2)]
        emulator = run(f"{line}, emulator", command + ["--device", "emulator", "--race-check=off"], 300)
        first, second, ours = (entry.get("lines", [{}])[-1].get("outputs") for entry in (*gpu, emulator))
        if first != second:
            gpu[1].update(passed=False, status="different bits", output=f"{first}, then {second}")
            print(f"FAIL {line}: two runs differ: {first}, then {second}", flush=True)
        emulator["same_bits"] = first is not None and first == ours
        yield from (*gpu, emulator)


def bench():
    for kernel in ("gemm", "softmax"):
        yield run(f"bench {kernel}", [TLC, "bench", kernel, "--suite", "--json"], 300)


def peers():
    if importlib.util.find_spec("torch") is None:
        print("skipped: PyTorch is not installed, no comparison with its kernels", flush=True)
        return
    script = [sys.executable, os.path.join(HERE, "peers.py"), "gemm"]
    yield run("peers gemm bf16 tn", script, 300)
    yield run("peers gemm bf16 nn", script + ["--layout", "nn", "--shape", "8192,8192,8192"], 120)
    yield run("peers gemm f16 tn", script + ["--dtype", "f16", "--out", "f16", "--shape", "8192,8192,8192"], 120)


STEPS = {"tests": tests, "checks": checks, "devices": devices, "bench": bench, "peers": peers}


def describe_machine():
    query = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm,power.limit", "--format=csv,noheader"]
    try:
        gpus = subprocess.run(query, capture_output=True, text=True, timeout=60).stdout.strip().splitlines()
    except (OSError, subprocess.TimeoutExpired):
        gpus = []
    return {"gpus": gpus, "system": platform.platform(), "python": platform.python_version()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="results.json")
    parser.add_argument("--only", default=",".join(STEPS), help="steps, of " + ",".join(STEPS))
    options = parser.parse_args()
    wanted = options.only.split(",")
    if unknown := [name for name in wanted if name not in STEPS]:
        parser.error(f"expected steps among {', '.join(STEPS)}, but got '{unknown[0]}'")

    results = {"machine": describe_machine()}
    for name in wanted:
        results[name] = list(STEPS[name]())
        # Written after each step, so that an interrupted run keeps what it has.
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    entries = [entry for name in wanted for entry in results[name]]
    failed = [entry["name"] for entry in entries if not entry["passed"]]
    emulated = [entry["same_bits"] for entry in entries if "same_bits" in entry]
    if emulated:
        print(f"{sum(emulated)} of {len(emulated)} results of the emulator have the GPU's bits")
    print(f"{len(entries) - len(failed)} of {len(entries)} passed; results in {options.out}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
