#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sizes that tools/bench/cookbook.py draws: of every kernel of the cookbook, from its range, the same for a seed."""

import os
import re
import sys
import unittest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools", "bench"))

from cookbook_kernels import KERNELS, OneOf, Span  # noqa: E402


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


class Draws(unittest.TestCase):
    def test_every_kernel_of_the_cookbook_is_drawn(self):
        # The page's index has what is registered; cookbook_test checks that.
        index = text_of("docs", "cookbook.md").split("| kernel | computes |")[1].split("\n\n")[0]
        rows = [line.split("|")[1] for line in index.splitlines() if line.startswith("| `")]
        registered = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
        self.assertEqual(sorted(registered), sorted(kernel.name for kernel in KERNELS))

    def test_every_kernel_has_one_function_that_makes_its_tensors(self):
        functions = [name for module in ("memory", "gemms", "sequences")
                     for name in re.findall(r"^def (\w+)\(make\b", text_of("tools", "bench", f"cookbook_{module}.py"), re.M)]
        self.assertEqual(sorted(functions), sorted(kernel.name for kernel in KERNELS))

    def test_draws_are_of_the_range_and_have_enough_to_do(self):
        for kernel in KERNELS:
            lowest, highest = kernel.limits
            for values in kernel.draws(32, seed=5):
                self.assertTrue(lowest <= kernel.work(values) <= highest, (kernel.name, values))
                self.assertEqual(set(values), set(kernel.ranges) | set(kernel.derived))
                for name, span in kernel.ranges.items():
                    if isinstance(span, OneOf):
                        self.assertIn(values[name], span.values)
                    else:
                        self.assertIsInstance(span, Span)
                        self.assertTrue(span.lowest <= values[name] <= span.highest, (kernel.name, values))
                        self.assertEqual(values[name] % span.step, 0, (kernel.name, values))

    def test_a_seed_repeats_its_draws(self):
        for kernel in KERNELS:
            self.assertEqual(kernel.draws(8, seed=1), kernel.draws(8, seed=1))
            self.assertNotEqual(kernel.draws(8, seed=1), kernel.draws(8, seed=2))


if __name__ == "__main__":
    unittest.main()
