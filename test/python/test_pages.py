#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The blocks of docs/python.md and the examples of docstrings run."""

import contextlib
import doctest
import io
import os
import re
import unittest

from support import ROOT, Case, numpy, tlc, torch

BLOCK = re.compile(r"(?:<!-- needs (\w+) -->\n)?```python\n(.*?)```", re.S)
PUBLIC = [getattr(tlc, name) for name in tlc.__all__ if not name.startswith("_")]


def page(*path):
    """A page of the sources; an archive for a GPU has these, too."""
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def has(what):
    if what == "cuda":
        return torch is not None and torch.cuda.is_available()
    if what == "torch":
        return torch is not None
    return what != "compiler" or os.path.exists(os.path.join(ROOT, "test", "files"))


class Pages(Case):
    def test_blocks(self):
        if numpy is None:
            self.skipTest("NumPy is not installed")
        before = os.getcwd()
        os.chdir(ROOT)
        # What needs a GPU or PyTorch leaves no names to blocks that run everywhere, which do the same then on every machine.
        names, ran = {"": {}}, 0
        try:
            for needed, block in BLOCK.findall(page("docs", "python.md") + page("README.md")):
                compiled = compile(block, "a page", "exec")
                if has(needed):
                    own = names[needed] = {**names[""], **names.get(needed, {})} if needed else names[""]
                    with contextlib.redirect_stdout(io.StringIO()):
                        exec(compiled, own)
                    ran += 1
        finally:
            os.chdir(before)
        self.assertGreaterEqual(ran, 9)

    def test_examples_of_docstrings(self):
        finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
        without = []
        for one in PUBLIC:
            owner = one if isinstance(one, type) or callable(one) and hasattr(one, "__name__") else type(one)
            name = owner.__name__
            found = [test for test in finder.find(owner, name, globs={}) if test.examples]
            for test in found:
                runner.run(test)
            if not found:
                without.append(name)
            self.assertTrue(owner.__doc__, name)
        self.assertEqual(runner.failures, 0)
        # These are results and facts, which examples of calls show, or need a file or another library.
        self.assertEqual(sorted(without), sorted(["Attended", "Bound", "CacheEvent", "Gradients", "Kind", "Option", "Place", "RaceError", "cache_folder",
                                                  "empty", "hits_only", "load", "set_cache", "set_tuning", "use_library"]))

    def test_public_names_are_on_the_page(self):
        text = page("docs", "python.md")
        for name in ("attention", "attention_varlen", "attention_decode", "attention_backward", "gemm", "softmax", "ops", "load", "view", "tensor",
                     "emulator", "compile_events", "prewarm", "hits_only", "scaled_dot_product_attention", "RaceError", "Error"):
            self.assertIn(f"tlc.{name}", text)


if __name__ == "__main__":
    unittest.main()
