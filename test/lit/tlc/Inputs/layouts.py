# SPDX-License-Identifier: Apache-2.0
"""Runs `tlc layout` for every kernel that `tlc list` knows: layouts.py <tlc>."""
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

tlc = sys.argv[1]


def failure_of(kernel):
    done = subprocess.run([tlc, "layout", kernel], capture_output=True, text=True)
    is_list = done.returncode == 0 and done.stdout.startswith("number")
    return None if is_list else f"{kernel}: exit status {done.returncode}\n{done.stderr}"


listed = json.loads(subprocess.run([tlc, "list", "--json"], capture_output=True, text=True, check=True).stdout)
kernels = [kernel["name"] for kernel in listed["kernels"]]
with ThreadPoolExecutor(max_workers=2) as pool:
    failures = [failure for failure in pool.map(failure_of, kernels) if failure]
print("\n".join(failures) if failures else f"{len(kernels)} lists")
sys.exit(1 if failures else 0)
