# SPDX-License-Identifier: Apache-2.0
"""Runs a command while this process has locked a file, as `tlc tune` locks its log.

    locked.py <file> <command...>
"""
import fcntl
import os
import subprocess
import sys

os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True)
with open(sys.argv[1], "a", encoding="utf-8") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    sys.exit(subprocess.call(sys.argv[2:]))
