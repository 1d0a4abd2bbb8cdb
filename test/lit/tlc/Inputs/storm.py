# SPDX-License-Identifier: Apache-2.0
"""Kills tlc at random points, several at once, while it compiles versions of a file and programs, damages what the cache holds, and
checks what is left: nothing is lost, wrong or hung.

    storm.py FOLDER TLC [SECONDS [PROCESSES]]

SECONDS is how long it goes on at least; 300 with 64 processes is the long form. TMPDIR and XDG_CACHE_HOME name folders of
this test."""
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

folder, tlc = sys.argv[1], sys.argv[2]
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 6
processes = int(sys.argv[4]) if len(sys.argv) > 4 else 3
source = os.path.join(folder, "storm.cpp")
cache = os.path.join(os.environ["XDG_CACHE_HOME"], "tlc")
longest = 300  # seconds that a process may take on a busy machine
chance = random.Random(1)
signals = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]


def temporaries():
    names = [name for name in os.listdir(cache) if not name.endswith(".tlc")] if os.path.exists(cache) else []
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


def killAll(commands, whole):
    """Starts them together, and sends each a signal within that time."""
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in commands]
    for process in running:
        time.sleep(chance.uniform(0, whole * 0.7))
        process.send_signal(chance.choice(signals))
    for process in running:
        process.wait(longest)


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=longest, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}: {done.stderr}")
    return done.stdout


def timeOf(command):
    begun = time.monotonic()
    run(command)
    return time.monotonic() - begun


def stormOfFiles(seconds):
    end = time.monotonic() + seconds
    command = [tlc, "list", source, "--cxx", "g++"]

    def write(version):
        with open(source + ".new", "w") as file:
            file.write('#include <tlc/kernel.h>\nvoid registerKernels(tlc::KernelFile &file) { '
                       f'file.kernel("storm", "version {version}.").program([](tlc::dsl::Scope &) {{}}); }}\n')
        os.rename(source + ".new", source)

    write(0)
    whole = timeOf(command)
    version = 0
    while version < 2 or time.monotonic() < end:
        version += 1
        write(version)
        killAll([command] * 2, whole)
        waitUntilNone("compilers", compilers)
        # An older version again: an object of another text would be shown.
        shown = version if chance.random() < 0.5 else chance.randrange(version)
        write(shown)
        text = run(command)
        if f"version {shown}." not in text:
            sys.exit(f"expected version {shown}, but got {text}")
        run([tlc, "cache", "prune"])
        waitUntilNone("temporaries", temporaries)


def entries():
    return [os.path.join(cache, name) for name in os.listdir(cache) if name.endswith(".tlc")]


def truncate(entry):
    os.truncate(entry, chance.randrange(os.path.getsize(entry)))


def flip(entry):
    with open(entry, "r+b") as file:
        at = chance.randrange(os.path.getsize(entry))
        file.seek(at)
        bits = file.read(1)[0] ^ 1 << chance.randrange(8)
        file.seek(at)
        file.write(bytes([bits]))


def replaceBy(make):
    def replace(entry):
        os.remove(entry)
        make(entry)
    return replace


def giveAway(entry):
    if os.geteuid() == 0:  # nobody else can
        os.chown(entry, 65534, 65534)


damages = [truncate, flip, os.remove, giveAway, lambda entry: os.chmod(entry, 0o666), replaceBy(os.mkfifo), replaceBy(os.mkdir),
           replaceBy(lambda entry: os.symlink("/dev/zero", entry)), replaceBy(lambda entry: os.symlink(source, entry))]


def program(columns):
    return [tlc, "run", "softmax", "-D", "rows=2", "-D", f"columns={columns}", "--device", "emulator", "--verify"]


def withoutFolder():
    return {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}


def fullDisk():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def stormOfPrograms(seconds):
    end = time.monotonic() + seconds
    sizes = [8 * (1 + i) for i in range(4)]
    whole = max(timeOf(program(size)) for size in sizes[:1])
    rounds = 0
    while rounds == 0 or time.monotonic() < end:
        rounds += 1
        killAll([program(chance.choice(sizes)) for _ in range(processes)], whole)
        for entry in entries():
            if chance.random() < 0.5 and os.path.isfile(entry) and not os.path.islink(entry):
                chance.choice([damage for damage in damages if os.path.getsize(entry) or damage not in (truncate, flip)])(entry)
        # Each is right by `--verify`, whatever it finds, and whether it can keep what it makes or not.
        disturbance = chance.choice(["none", "read-only", "full", "no folder", "foreign"])
        if disturbance == "read-only":
            os.chmod(cache, 0o500)
        if disturbance == "foreign" and os.geteuid() == 0:
            os.chown(cache, 65534, 65534)
        run(program(chance.choice(sizes)), preexec_fn=fullDisk if disturbance == "full" else None,
            env=withoutFolder() if disturbance == "no folder" else os.environ)
        os.chmod(cache, 0o700)
        if os.geteuid() == 0:
            os.chown(cache, 0, 0)
        # Then the cache heals: pruning leaves what can be read, and what is made now is kept.
        size = chance.choice(sizes)
        run(program(size))
        run(program(size) + ["--cached-only"])
        run([tlc, "cache", "prune"])
        run([tlc, "cache", "verify"])
        if temporaries():
            sys.exit(f"left: {temporaries()}")
    # What starts together may compile more than once, waits for nobody and leaves one entry.
    shutil.rmtree(cache)
    together = [subprocess.Popen(program(8), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(processes)]
    if any(process.wait(longest) for process in together):
        sys.exit("a process that started with others failed")
    if len(entries()) != 1 or temporaries():
        sys.exit(f"expected one entry, but got {os.listdir(cache)}")


stormOfFiles(seconds / 3)
stormOfPrograms(2 * seconds / 3)
