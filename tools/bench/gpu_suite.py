#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything there is to find out on a GPU, in one go.

    gpu_suite.py [--out results.json] [--only tests,devices,...] [--every 37]

tests      the test programs that need a GPU
devices    each line of checks.txt twice on the GPU and once on the emulator,
           verified; the GPU's two runs must be the same bit for bit; whether
           the emulator's result is so as well is in the field same_bits
sanitizer  the same lines under compute-sanitizer's memcheck
matrix     tlc-attention-matrix on the GPU, every n-th combination of options; a prime n
           meets all values
random     tlc-differential for five minutes from a seed by the clock, on Blackwell
           also with plain products wherever they can be
long       long_sequences.py: attention of sequences of 131072 tokens; needs PyTorch
python     the tests of the Python package; those of PyTorch need it
bench      tlc bench
peers      peers.py, all suites, on Blackwell also attention's dataflows; needs PyTorch

All but long, python, bench and peers run several programs at a time. Works on the folder of
an unpacked archive of tools/pack.sh. Writes one JSON object; exit status 1 if
anything failed.
"""

import argparse
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

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


def run_all(runs):
    """Runs of programs whose speed does not matter."""
    with ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, 8)) as pool:
        return list(pool.map(lambda arguments: run(*arguments), runs))


def tests(_):
    names = ("cuda_device_test", "cuda_peers_test", "attention_cuda_test", "cuda_cpp_test", "programs_cuda_test")
    return run_all([(name, [os.path.join(ROOT, "bin", name)], 300) for name in names])


def check_commands():
    """(line, command without a device) of each line of checks.txt; always the same inputs."""
    with open(os.path.join(HERE, "checks.txt"), encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    for seed, line in enumerate(lines):
        kernel, *parameters = line.split()
        defines = [word for parameter in parameters for word in ("-D", parameter)]
        yield line, [TLC, "run", kernel, *defines, "--verify", "--json", "--seed", str(seed)]


ON_GPU = ["--device", "cuda"]
ON_EMULATOR = ["--device", "emulator", "--race-check=off"]


def devices(_):
    commands = list(check_commands())
    entries = run_all([(f"{line}, {name}", command + device, 300) for line, command in commands
                       for name, device in (("GPU", ON_GPU), ("GPU again", ON_GPU), ("emulator", ON_EMULATOR))])
    for i, (line, _) in enumerate(commands):
        first, second, emulator = (entry.get("lines", [{}])[-1].get("outputs") for entry in entries[3 * i:3 * i + 3])
        if first is None or second is None:
            entries[3 * i + 1]["passed"] = False  # nothing to compare; what went wrong is in the entries
            continue
        if first != second:
            entries[3 * i + 1].update(passed=False, status="different bits", output=f"{first}, then {second}")
            print(f"FAIL {line}: two runs differ: {first}, then {second}", flush=True)
        entries[3 * i + 2]["same_bits"] = first is not None and first == emulator
    return entries


def sanitizer(_):
    program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.path.exists(program):
        print("skipped: compute-sanitizer is not installed", flush=True)
        return []
    check = [program, "--tool", "memcheck", "--error-exitcode", "86"]
    return run_all([(f"memcheck {line}", check + command + ON_GPU, 300) for line, command in check_commands()])


def matrix(options):
    program, workers = os.path.join(ROOT, "bin", "tlc-attention-matrix"), min(os.cpu_count() or 1, 8)
    commands = []
    for kernel, every in (("attention_fwd", options.every), ("attention_bwd", 199 * options.every)):  # as many programs
        commands += [(f"matrix of {kernel}, {i + 1} of {workers}",
                      [program, *ON_GPU, "--kernel", kernel, "--part", f"{i * every + 1}/{workers * every}"], 600)
                     for i in range(workers)]
    return run_all(commands)


def random(_):
    seed = int(time.time()) * 1000
    command = [os.path.join(ROOT, "bin", "tlc-differential"), *ON_GPU, "--jobs", str(min(os.cpu_count() or 1, 16)), "--seeds",
               f"{seed}:1000000", "--time-limit", "300"]
    features = [[], ["--feature", "plainTcgen05"]] if has_tcgen05() else [[]]
    return [run(" ".join(["random programs", *more, f"from seed {seed}"]), command + more, 900) for more in features]


def long(_):
    if importlib.util.find_spec("torch") is None:
        print("skipped: PyTorch is not installed, no tensors for long sequences", flush=True)
        return []
    return [run("long sequences", [sys.executable, os.path.join(HERE, "long_sequences.py")], 300)]


def python(_):
    folder = os.path.join(ROOT, "test", "python")
    names = "arrays", "exchange", "pages", "torch", "torch_gpu", "torch_repeats"
    return [run(f"python {name}", [sys.executable, "-B", os.path.join(folder, f"test_{name}.py")], 600) for name in names
            ] + [run("calls of Python", [sys.executable, os.path.join(HERE, "calls.py"), "--json"], 300)]


def bench(_):
    return [run(f"bench {kernel}", [TLC, "bench", kernel, "--suite", "--json"], 300)
            for kernel in ("gemm", "softmax", "attention_fwd", "attention_fwd_fp8", "attention_decode")]


PEERS = """
gemm
gemm --layout nn --shape 8192,8192,8192
gemm --dtype f16 --out f16 --shape 8192,8192,8192
attention_fwd
attention_fwd --d 64 --against form=plain --shape 16,1024,32,32 --shape 4,4096,32,32 --shape 1,16384,32,32
attention_fwd --d 256 --shape 2,8192,8,8
attention_fwd --against form=plain --shape 16,1024,16,16 --shape 4,4096,16,16 --shape 1,16384,16,16
attention_bwd
attention_bwd --d 64 --shape 4,4096,32,32
attention_bwd --d 256 --shape 2,8192,8,8
block_causal
varlen
attention_decode
attention_decode -D kv=paged --shape 64,8192,64,8
attention_decode --d 576 -D values=keys --shape 64,8192,128,1
attention_fwd_fp8
attention_fwd_fp8 -D sums=fast
"""


DATAFLOWS = """
attention_fwd --against dataflow=wasp --against dataflow=ss --shape 16,1024,16,16 --shape 4,4096,16,16 --shape 2,8192,16,16
attention_fwd --d 64 --against dataflow=wasp --against dataflow=ss --shape 4,4096,32,32 --shape 2,8192,32,32
"""


def peers(_):
    if importlib.util.find_spec("torch") is None:
        print("skipped: PyTorch is not installed, no comparison with its kernels", flush=True)
        return []
    script = [sys.executable, os.path.join(HERE, "peers.py")]
    lines = PEERS + (DATAFLOWS if has_tcgen05() else "")
    return [run(f"peers {line}", script + line.split() + ["--rounds", "15"], 300) for line in lines.split("\n") if line]


STEPS = {"tests": tests, "devices": devices, "sanitizer": sanitizer, "matrix": matrix, "random": random, "long": long, "python": python,
         "bench": bench, "peers": peers}


def ask_gpus(what):
    query = ["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, timeout=60).stdout.strip().splitlines()
    except (OSError, subprocess.TimeoutExpired):
        return []


def has_tcgen05():
    return any(capability.startswith(("10.", "11.")) for capability in ask_gpus("compute_cap"))


def describe_machine():
    return {"gpus": ask_gpus("name,driver_version,clocks.max.sm,power.limit"), "system": platform.platform(), "python": platform.python_version()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="results.json")
    parser.add_argument("--only", default=",".join(STEPS), help="steps, of " + ",".join(STEPS))
    parser.add_argument("--every", type=int, default=37, metavar="n",
                        help="of matrix: every n-th combination of forward, about as many of backward")
    options = parser.parse_args()
    wanted = options.only.split(",")
    if unknown := [name for name in wanted if name not in STEPS]:
        parser.error(f"expected steps among {', '.join(STEPS)}, but got '{unknown[0]}'")

    results = {"machine": describe_machine()}
    for name in wanted:
        results[name] = STEPS[name](options)
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
