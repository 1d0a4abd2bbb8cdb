# SPDX-License-Identifier: Apache-2.0
"""The package tlc of this source tree or archive, for benchmarks."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from tlc.ranks import Communicator, ConnectedGroup, Error, Group, Library, Packed, Program, RankPrograms, find_library  # noqa: E402

__all__ = ["Communicator", "ConnectedGroup", "Error", "Group", "Library", "Packed", "Program", "RankPrograms", "find_library"]
