# SPDX-License-Identifier: Apache-2.0
"""Runs a command as parents may start it: with signals that are ignored or blocked, standard streams that are closed and no folder
for temporary files. Its entry in the store is removed before each."""
import os
import shutil
import signal
import subprocess
import sys

cache = os.path.join(os.environ["XDG_CACHE_HOME"], "parents")


def run(what, prepare, **variables):
    shutil.rmtree(cache, ignore_errors=True)
    status = subprocess.call(sys.argv[1:], preexec_fn=prepare, close_fds=False,
                             env=dict(os.environ, XDG_CACHE_HOME=cache, **variables))
    if status:
        sys.exit(f"{what}: status {status}")


def ignore():
    for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


run("ignored signals", ignore)
run("blocked signals", lambda: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)))
run("closed streams", lambda: [os.close(file) for file in (0, 2)])
run("no folder for temporary files", lambda: None, TMPDIR="/none")
shutil.rmtree(cache)
