# SPDX-License-Identifier: Apache-2.0
r"""Runs a command on a terminal of its own and prints what it writes there, escape characters as "\e".

    terminal.py COMMAND...
"""

import os
import pty
import sys

pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execvp(sys.argv[1], sys.argv[1:])
text = b""
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:  # Linux says so when the other end is closed
        break
    if not piece:
        break
    text += piece
sys.stdout.write(text.decode().replace("\r", "").replace("\033", "\\e"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
