# SPDX-License-Identifier: Apache-2.0
"""Kills tlc at random points while it compiles versions of a file, several at once, and checks what is left. The arguments are a folder and
tlc; TMPDIR and XDG_CACHE_HOME name folders of this test."""
import os
import random
import signal
import subprocess
import sys
import time

folder, tlc = sys.argv[1], sys.argv[2]
source = os.path.join(folder, "storm.cpp")
files = os.path.join(os.environ["XDG_CACHE_HOME"], "tlc/files")
command = [tlc, "list", source, "--cxx", "g++"]
chance = random.Random(1)


def write(version):
    with open(source + ".new", "w") as file:
        file.write('#include <tlc/kernel.h>\nvoid registerKernels(tlc::KernelFile &file) { '
                   f'file.kernel("storm", "version {version}.").program([](tlc::dsl::Scope &) {{}}); }}\n')
    os.rename(source + ".new", source)


def temporaries():
    names = [name for name in os.listdir(files) if not name.endswith(".tlc")] if os.path.exists(files) else []
    return names + os.listdir(os.environ["TMPDIR"])


def compilers():
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{number}/cmdline", "rb").read()
        except OSError:
            continue
        if source.encode() in words and b"kernels.so" in words:
            found.append(number)
    return found


def waitUntilNone(what, found):
    for _ in range(300):
        if not found():
            return
        time.sleep(0.1)
    sys.exit(f"{what} left: {found()}")


write(0)
begun = time.monotonic()
subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
whole = time.monotonic() - begun
version = 0
for round in range(4):
    version += 1
    write(version)
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
    for process in running:
        time.sleep(chance.uniform(0, whole * 0.7))
        process.send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
    for process in running:
        process.wait()
    waitUntilNone("compilers", compilers)
    waitUntilNone("temporaries", temporaries)
    # An older version again: an object of another text would be shown.
    shown = version if chance.random() < 0.5 else chance.randrange(version)
    write(shown)
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if f"version {shown}." not in text:
        sys.exit(f"expected version {shown}, but got {text}")
    if temporaries():
        sys.exit(f"left: {temporaries()}")
