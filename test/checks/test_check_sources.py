#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_sources.py looks at the files it should, again when something they depend on changes."""

import json
import os
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "scripts"))
import check_sources

FILES = {
    "runtime/A.h": '#include "runtime/B.h"\n#include <vector>\n',
    "runtime/B.h": "int b();\n",
    "runtime/A.cpp": '#include "runtime/A.h"\n',
    "runtime/B.cpp": '#include "runtime/B.h"\n',
    "compiler/C.cpp": '#include "compiler/C.h.inc"\n#include "mlir/IR/Value.h"\n',
    "build/compiler/C.h.inc": '#include "runtime/A.h"\n',
}


class CheckSources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for path, text in FILES.items():
            self.write(path, text)
        commands = [{"file": os.path.join(self.root, path), "command": f"clang++ {path}"}
                    for path in FILES if path.endswith(".cpp")]
        self.write("build/compile_commands.json", json.dumps(commands))

    def write(self, path, text):
        os.makedirs(os.path.dirname(os.path.join(self.root, path)), exist_ok=True)
        with open(os.path.join(self.root, path), "w", encoding="utf-8") as file:
            file.write(text)

    def tree(self):
        return check_sources.Tree(self.root, os.path.join(self.root, "build"))

    def chosen(self, *changed):
        tree = self.tree()
        return check_sources.chosen(sorted(tree.commands), tree.closure, set(changed))

    def test_headers_are_followed_through_generated_ones(self):
        self.assertEqual(self.tree().closure("compiler/C.cpp"),
                         {"compiler/C.cpp", "build/compiler/C.h.inc", "runtime/A.h", "runtime/B.h"})

    def test_a_changed_source_is_chosen(self):
        self.assertEqual(self.chosen("runtime/A.cpp", "docs/tour.md"), ["runtime/A.cpp"])

    def test_a_changed_header_is_seen_through_the_source_of_its_name(self):
        self.assertEqual(self.chosen("runtime/B.h"), ["runtime/B.cpp"])

    def test_a_header_that_a_chosen_source_includes_chooses_no_other(self):
        self.assertEqual(self.chosen("runtime/B.h", "runtime/A.cpp"), ["runtime/A.cpp"])

    def test_what_a_result_depends_on(self):
        def key(configuration=b""):
            return self.tree().key("runtime/A.cpp", configuration)
        before = key()
        self.assertEqual(key(), before)
        self.assertNotEqual(key(b"another configuration"), before)
        self.write("runtime/B.cpp", "")
        self.assertEqual(key(), before)
        self.write("runtime/B.h", "int c();\n")
        self.assertNotEqual(key(), before)

    def test_what_gcc_takes_of_a_command(self):
        command = ("/usr/bin/clang++ -DA=1 -I. -isystem b -O2 -fPIC -Wall -Xclang -include-pch -Xclang p.pch -std=c++20 "
                   "-Werror -MD -MT x.o -MF x.d -o x.o -c x.cpp")
        self.assertEqual(list(check_sources.Gcc().arguments(command)),
                         ["-DA=1", "-I.", "-isystem", "b", "-fPIC", "-Wall", "-std=c++20", "x.cpp"])


if __name__ == "__main__":
    unittest.main()
