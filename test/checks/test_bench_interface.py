#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/bench/libtlc.py takes the library that is built here. Its text is read, for it imports PyTorch."""

import ast
import os
import re
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


class Interface(unittest.TestCase):
    def test_todays_version_is_taken(self):
        version = re.search(r"^#define TLC_INTERFACE_VERSION (\d+)$", text_of("tools", "libtlc", "tlc.h"), re.M).group(1)
        taken = re.search(r"^INTERFACE_VERSIONS = (.*)$", text_of("tools", "bench", "libtlc.py"), re.M).group(1)
        self.assertIn(int(version), ast.literal_eval(taken))


if __name__ == "__main__":
    unittest.main()
