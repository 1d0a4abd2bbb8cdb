# SPDX-License-Identifier: Apache-2.0
"""Runs a command whose file of kernels starts a process and hangs, ends it by each signal, and checks that the process ends, too.
The arguments are the file in which the process says its number, and the command."""
import os
import signal
import subprocess
import sys
import time

process, command = sys.argv[1], sys.argv[2:]
ended = os.path.join(os.path.dirname(__file__), "ended.py")
environment = dict(os.environ, TLC_FAULT="hangs", TLC_PROCESS=process)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
    # A test that runs in the background may have been left signals that are ignored.
    tlc = subprocess.Popen(command, env=environment, start_new_session=True,
                           preexec_fn=lambda: number == signal.SIGKILL or signal.signal(number, signal.SIG_DFL))
    while not (os.path.exists(process) and open(process).read().endswith("\n")):
        if tlc.poll() is not None:
            sys.exit("the command has ended by itself")
        time.sleep(0.05)
    os.kill(tlc.pid, number)
    tlc.wait()
    if subprocess.call([sys.executable, ended, process]):
        sys.exit(f"after {number.name}")
