# SPDX-License-Identifier: Apache-2.0
"""Runs a command as parents may start it: with signals that are ignored or blocked, standard streams that are closed and no folder
for temporary files. The last argument is a file of kernels, of which each compiles another copy."""
import os
import signal
import subprocess
import sys
import tempfile

command, source = sys.argv[1:-1], sys.argv[-1]
folder = tempfile.TemporaryDirectory()


def run(what, prepare, **variables):
    copy = os.path.join(folder.name, "copy.cpp")
    with open(source, encoding="utf-8") as text, open(copy, "w", encoding="utf-8") as other:
        other.write(f"{text.read()}// {what}\n")
    status = subprocess.call([*command, copy], preexec_fn=prepare, close_fds=False, env=dict(os.environ, **variables))
    if status:
        sys.exit(f"{what}: status {status}")


def ignore():
    for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


run("ignored signals", ignore)
run("blocked signals", lambda: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)))
run("closed streams", lambda: [os.close(file) for file in (0, 2)])
run("no folder for temporary files", lambda: None, TMPDIR="/none")
