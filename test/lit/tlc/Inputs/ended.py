# SPDX-License-Identifier: Apache-2.0
"""Waits until the process whose number a file holds has ended; fails if it does not within a minute."""
import os
import sys
import time

number = open(sys.argv[1]).read().strip()
os.remove(sys.argv[1])


def runs():
    try:
        state = open(f"/proc/{number}/stat").read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


for _ in range(600):
    if not runs():
        sys.exit()
    time.sleep(0.1)
sys.exit(f"process {number} still runs")
