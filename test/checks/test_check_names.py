#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of check_names.py finds its violation, and only that."""

import os
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "scripts"))
import check_names

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"


class CheckNames(unittest.TestCase):
    def check(self, files):
        """(problems, warnings) of a tree of these files (path -> text)."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            warnings = []
            return check_names.check(root, warnings), warnings

    def expect(self, files, *expected):
        self.assertEqual(self.check(files), (list(expected), []))

    def one_pass(self, **changes):
        """A right tree of one pass; a change to None removes the file."""
        files = {
            "compiler/transforms/Passes.td": LICENCE + 'def PlanSharedMemory : InterfacePass<"tile-plan-shared-memory", "X"> {}\n',
            "compiler/transforms/PlanSharedMemory.cpp": LICENCE,
            "compiler/transforms/CMakeLists.txt": "  PlanSharedMemory.cpp\n",
            "test/lit/transforms/plan_shared_memory.mlir": "// RUN: true\n",
        }
        for path, text in changes.items():
            files[path] = text
        return {path: text for path, text in files.items() if text is not None}

    def test_a_pass_with_its_file_line_and_test_is_silent(self):
        self.expect(self.one_pass())

    def test_snake_case(self):
        self.assertEqual(check_names.snake_case("PlanSharedMemory"), "plan_shared_memory")
        self.assertEqual(check_names.snake_case("SimtToNVVM"), "simt_to_nvvm")
        self.assertEqual(check_names.snake_case("LowerTMALoads"), "lower_tma_loads")

    def test_a_pass_needs_one_file(self):
        self.expect(self.one_pass(**{"compiler/transforms/PlanSharedMemory.cpp": None}),
                    "compiler/transforms/Passes.td: PlanSharedMemory: expected one PlanSharedMemory.cpp under "
                    "compiler/transforms, but found 0")

    def test_a_pass_needs_one_build_line(self):
        self.expect(self.one_pass(**{"compiler/transforms/CMakeLists.txt": "  RePlanSharedMemory.cpp\n"}),
                    "compiler/transforms/Passes.td: PlanSharedMemory: expected one line with PlanSharedMemory.cpp in "
                    "the CMakeLists.txt of compiler/transforms, but found 0")

    def test_a_pass_needs_a_test(self):
        self.expect(self.one_pass(**{"test/lit/transforms/plan_shared_memory.mlir": None}),
                    "compiler/transforms/Passes.td: PlanSharedMemory: has no test "
                    "test/lit/transforms/plan_shared_memory.mlir")

    def test_a_test_of_passes_needs_its_pass(self):
        self.expect(self.one_pass(**{"test/lit/transforms/plan_memory.mlir": ""}),
                    "test/lit/transforms/plan_memory.mlir: no pass of compiler/transforms/Passes.td has this name")

    def test_pass_names_are_well_formed_and_used_once(self):
        passes = LICENCE + 'def A : Pass<"tile_a"> {}\ndef B : Pass<"tile_a"> {}\n'
        self.expect({"compiler/lowering/Passes.td": passes, "compiler/lowering/A.cpp": LICENCE,
                     "compiler/lowering/sub/B.cpp": LICENCE, "compiler/lowering/CMakeLists.txt": "A.cpp sub/B.cpp",
                     "test/lit/lowering/a.mlir": "", "test/lit/lowering/b.mlir": ""},
                    'compiler/lowering/Passes.td: A: expected a pass name like "tile-infer-layouts", but got "tile_a"',
                    'compiler/lowering/Passes.td: B: expected a pass name like "tile-infer-layouts", but got "tile_a"',
                    'compiler/lowering/Passes.td: B: "tile_a" is also the name of A')

    def test_passes_are_in_alphabetical_order(self):
        passes = LICENCE + 'def B : Pass<"tile-b"> {}\ndef A : Pass<"tile-a"> {}\n'
        self.expect({"compiler/lowering/Passes.td": passes, "compiler/lowering/A.cpp": LICENCE,
                     "compiler/lowering/B.cpp": LICENCE, "compiler/lowering/CMakeLists.txt": "A.cpp B.cpp",
                     "test/lit/lowering/a.mlir": "", "test/lit/lowering/b.mlir": ""},
                    "compiler/lowering/Passes.td: expected passes in alphabetical order: A, B")

    def test_lit_tests_live_in_known_folders(self):
        self.expect({"test/lit/misc/a.mlir": "", "test/lit/tile/ops.mlir": ""},
                    "test/lit/misc/a.mlir: expected a folder of test/lit among program, tile, simt, pipeline, tlc, "
                    "transforms, lowering")

    def test_licence_line(self):
        self.expect({"runtime/device/A.cpp": "\n" + LICENCE, "tools/a.sh": "#!/bin/sh\n# " + LICENCE[3:]},
                    "runtime/device/A.cpp: expected the first line to hold 'SPDX-License-Identifier: Apache-2.0'")

    def test_length(self):
        problems, warnings = self.check({"runtime/device/A.cpp": LICENCE + "\n" * 799,
                                         "runtime/device/B.cpp": LICENCE + "\n" * 800,
                                         "runtime/device/C.cpp": LICENCE + "\n" * 499})
        self.assertEqual(problems, ["runtime/device/B.cpp: expected at most 800 lines, but it has 801; split it by subject"])
        self.assertEqual(warnings, ["runtime/device/A.cpp: 800 lines; split it by subject before it has 800"])

    def test_paths_of_one_machine(self):
        home = "/ho" "me/"
        self.expect({"README.md": f"see {home}me/tlc\nsee tools{home}x and ${{prefix}}{home}x\n"},
                    f"README.md:1: '{home}' is a path of one machine")

    def test_promises(self):
        promise = "TO" "DO"
        self.expect({"docs/tour.md": f"{promise}: write\n"}, f"docs/tour.md:1: '{promise}' promises instead of doing")


if __name__ == "__main__":
    unittest.main()
