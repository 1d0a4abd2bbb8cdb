#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/scripts/check_trust.py finds."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools", "scripts"))
import check_trust


class CheckTrust(unittest.TestCase):
    def found(self, text, path="a.cpp"):
        return list(check_trust.violations(text, path, {"HOME", "PATH"}))

    def test_a_shell_is_found(self):
        for line in ("std::system(command);", "FILE *p = popen(x);", 'run("/bin/sh", "-c");'):
            self.assertEqual(len(self.found(line)), 1, line)
        self.assertEqual(len(self.found("os.system(x)", "a.py")), 1)
        self.assertEqual(self.found("file_system(x); object.system(x); // system(x)"), [])

    def test_a_variable_without_a_row_is_found(self):
        self.assertEqual(self.found('getenv("HOME"); getenv(\n"PATH");'), [])
        self.assertEqual(self.found('x = ::secure_getenv("TLC_CODE");'),
                         ["a.cpp:1: expected a row of docs/security.md for the variable TLC_CODE, but found none"])
        self.assertEqual(len(self.found('for (name : {"PATH",\n"OTHER"})\n  getenv(name);')), 1)
        self.assertEqual(len(self.found('os.environ["OTHER"]; os.environ.get("MORE")', "a.py")), 2)

    def test_rows_of_the_page(self):
        self.assertEqual(check_trust.documented_in("| variable | x |\n| `A`, `B_C` | text |\n| `D` | `e` |\n"), {"A", "B_C", "D"})


if __name__ == "__main__":
    unittest.main()
