# SPDX-License-Identifier: Apache-2.0
"""cut.py <file> <bytes>: cuts that many bytes off its end."""
import os
import sys

os.truncate(sys.argv[1], os.path.getsize(sys.argv[1]) - int(sys.argv[2]))
