#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/scripts/check_linked.py finds in command lines of linkers."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools", "scripts"))
import check_linked

NINJA = """
build lib/libtlc.so: CXX_SHARED a.o | /usr/lib/llvm-22/lib/libMLIR.so
  LINK_FLAGS = -static-libgcc -s
  LINK_LIBRARIES = tools/libtlc_calls.a /usr/lib/llvm-22/lib/libMLIRIR.a libz.a libother.a -ldl

build lib/libtlc_runtime.a: CXX_STATIC b.o
  LANGUAGE_COMPILE_FLAGS = -O2
"""


class CheckLinked(unittest.TestCase):
    def test_static_libraries_are_found(self):
        licences, unknown = check_linked.linked_in(check_linked.words_of(NINJA, "lib/libtlc.so"))
        self.assertEqual(licences, {"fmt", "llvm", "zlib", "libstdc++"})
        self.assertEqual(unknown, {"libother.a"})

    def test_an_archive_has_fmt(self):
        self.assertEqual(check_linked.linked_in(check_linked.words_of(NINJA, "lib/libtlc_runtime.a")), ({"fmt"}, set()))

    def test_a_rule_that_is_missing(self):
        with self.assertRaisesRegex(ValueError, "expected a rule for 'bin/tlc', but build.ninja has none"):
            check_linked.words_of(NINJA, "bin/tlc")


if __name__ == "__main__":
    unittest.main()
