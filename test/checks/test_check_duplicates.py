#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of check_duplicates.py finds its violation, and only that."""

import os
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "scripts"))
import check_duplicates

FACTS = {
    "runtime/target/Hardware.h": "inline constexpr int64_t lanesPerWarp = 32;\n"
                                 "inline constexpr int64_t warpsPerWarpgroup = 4;\n"
                                 "inline constexpr int64_t threadsPerWarpgroup = warpsPerWarpgroup * lanesPerWarp;\n"
                                 "inline constexpr int64_t mbarrierBytes = 8;\n",
    "runtime/target/Target.h": "struct TmaFacts {\n  unsigned maxBoxExtent = 256; ///< elements\n};\n",
}


class CheckDuplicates(unittest.TestCase):
    def check(self, text, path="compiler/transforms/Pass.cpp"):
        with tempfile.TemporaryDirectory() as root:
            for name, content in (FACTS | {path: text}).items():
                os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(content)
            return check_duplicates.check(root)

    def expect(self, text, *lines_and_parts):
        problems = self.check(text)
        self.assertEqual(len(problems), len(lines_and_parts), problems)
        for problem, (line, part) in zip(problems, lines_and_parts):
            self.assertIn(f"Pass.cpp:{line}: ", problem)
            self.assertIn(part, problem)

    def test_values_of_facts(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "runtime/target"))
            for name, content in FACTS.items():
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(content)
            self.assertEqual(check_duplicates.facts(root), {32, 4, 128, 8, 256})

    def test_the_tree_has_facts(self):
        self.assertLessEqual({4, 8, 16, 32, 64, 128, 256, 1024}, check_duplicates.facts(ROOT))

    def test_words_of_names(self):
        self.assertEqual(check_duplicates.words("warpsPerGroup"), {"warp", "per", "group"})
        self.assertEqual(check_duplicates.words("TMALanes"), {"tma", "lane"})

    def test_a_fact_under_another_name(self):
        self.expect("\nconstexpr int64_t threadsPerWarp = 32, rows = 3;\n", (2, "threadsPerWarp = 32"))
        self.expect("constexpr unsigned a = 1, barrierBytes = 8u;\n", (1, "barrierBytes = 8u"))
        self.expect("  static constexpr size_t boxLimit = 0x100;\n", (1, "boxLimit = 0x100"))
        self.expect("inline constexpr int64_t lanesPerWarp = 32;\n", (1, "lanesPerWarp = 32"))

    def test_facts_by_name_are_silent(self):
        self.expect("constexpr int64_t lanes = lanesPerWarp, most = 4 * warpsPerWarpgroup;\n")
        self.expect("constexpr int64_t mostWarps = 5, perThread = 32;\n")
        self.expect("// constexpr int64_t threadsPerWarp = 32;\n")
        self.assertEqual(self.check("constexpr int64_t warps = 4;\n", "test/unit/Test.cpp"), [])
        self.assertEqual(self.check("constexpr int64_t warps = 4;\n", "runtime/target/Timing.cpp"), [])

    def test_literal_sizes(self):
        self.expect("int groups = team.warps / 4;\nint all = 4 * lanesPerWarp;\n", (1, "team.warps / 4"),
                    (2, "4 * lanesPerWarp"))
        self.expect("if (role.getWarps() % 4 != 0)\n", (1, "role.getWarps() % 4"))
        self.expect("if (role.getWarps() > 4)\n", (1, "role.getWarps() > 4"))
        self.expect("Value group = b.shiftRight(team.warp, 2);\n", (1, "shiftRight(team.warp, 2"))
        self.expect("int threads = numWarps * 32;\nint warps = threads / 32;\n", (1, "numWarps * 32"), (2, "threads / 32"))
        self.expect('error("warps / 4"); int half = warps / 2, byte = threads * 4;\n')

    def test_quotients_spelled_out(self):
        self.expect("int q = (a + c.b - 1) / c.b;\n", (1, "+ c.b - 1) / c.b"))
        self.expect("int q = ceilDiv(a, b), r = (a + b - 1) / c;\n")


if __name__ == "__main__":
    unittest.main()
