#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_pages.py finds quotes, excerpts, links and paths that are not as they should be."""

import os
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "scripts"))
import check_pages

SOURCE = """int before();
  // [add]
  int add(int a, int b) {
    // [inner]
    return a + b;
    // [inner]
  }
  // [add]
void twice(int &x) {
  x *= 2;
}
"""
DUMP = """#layout1 = #tile.layout<"x">
tile.kernel @k(%m: index) {
  %0 = tile.load %arg0 : tensor<4xf32, #layout1>
  %1 = arith.addf %0, %0 : tensor<4xf32, #layout1>
  tile.return
}
"""


def block(comment, body, language="cpp"):
    return f"<!-- {comment} -->\n```{language}\n{body}```\n"


class CheckPages(unittest.TestCase):
    def page(self, text, write=False, dumps=False):
        """(problems, text as it should be) of docs/page.md beside test/docs/Source.cpp."""
        with tempfile.TemporaryDirectory() as root:
            for path, content in {"docs/page.md": text, "test/docs/Source.cpp": SOURCE}.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(content)
            page = check_pages.Page(root, "docs/page.md", None)
            if dumps:
                folder = os.path.join(root, "dumps")
                os.makedirs(folder)
                with open(os.path.join(folder, "00-input.mlir"), "w", encoding="utf-8") as file:
                    file.write(DUMP)
                check_pages.BLOCK.sub(lambda match: page.check_block(match, write, folder), page.text)
                return page.problems, None
            wanted = page.check(write)
            page.check_names()
            return page.problems, wanted

    def test_a_quote_that_is_the_source_is_silent(self):
        text = block("quote test/docs/Source.cpp add", "int add(int a, int b) {\n  return a + b;\n}\n")
        self.assertEqual(self.page(text), ([], text))

    def test_a_quote_that_differs_is_found_and_written(self):
        stale = block("quote test/docs/Source.cpp inner", "return a - b;\n")
        problems, wanted = self.page(stale)
        self.assertEqual(problems, ["docs/page.md:1: is not what 'test/docs/Source.cpp inner' is: run "
                                    "tools/scripts/check_pages.py --write"])
        self.assertEqual(wanted, stale)
        self.assertEqual(self.page(stale, write=True), ([], block("quote test/docs/Source.cpp inner", "return a + b;\n")))

    def test_a_definition_is_quoted_to_its_brace(self):
        text = block("quote test/docs/Source.cpp: void twice", "void twice(int &x) {\n  x *= 2;\n}\n")
        self.assertEqual(self.page(text), ([], text))

    def test_a_quote_needs_its_source(self):
        self.assertEqual(self.page(block("quote test/docs/Source.cpp gone", "x\n"))[0],
                         ["docs/page.md:1: expected two lines with [gone] in 'test/docs/Source.cpp', but found 0"])
        self.assertIn("cannot read 'test/docs/Gone.cpp'", self.page(block("quote test/docs/Gone.cpp add", "x\n"))[0][0])

    def test_an_excerpt_may_leave_out_lines_and_ends_of_lines(self):
        excerpt = "tile.kernel @k(...\n...\n    %7 = arith.addf %3, %3 : tensor<4xf32, #layout>\n"
        self.assertEqual(self.page(block("excerpt 00-input.mlir", excerpt, "mlir"), dumps=True)[0], [])

    def test_an_excerpt_has_its_lines_in_order_and_without_gaps(self):
        for excerpt, line in [("tile.return\n...\ntile.kernel @k(...\n", "tile.kernel @k(..."),
                              ("tile.kernel @k(...\n  tile.return\n", "tile.return"),
                              ("tile.sync\n", "tile.sync")]:
            self.assertEqual(self.page(block("excerpt 00-input.mlir", excerpt, "mlir"), dumps=True)[0],
                             [f"docs/page.md:1: 00-input.mlir has no such line at this place: {line}"])

    def test_links_and_paths_exist(self):
        self.assertEqual(self.page("[a](page.md#part) `test/docs/Source.cpp` `test/docs/*.cpp` [b](https://x.y/z)\n")[0], [])
        self.assertEqual(self.page("\n[a](gone.md)\n")[0], ["docs/page.md:2: the link to 'gone.md' leads nowhere"])
        self.assertEqual(self.page("`test/docs/Gone.cpp`\n")[0], ["docs/page.md:1: 'test/docs/Gone.cpp' does not exist"])


class CheckRemarks(unittest.TestCase):
    def problems(self, ids, sections, source=""):
        with tempfile.TemporaryDirectory() as root:
            files = {
                "compiler/analysis/Remarks.h": "remarkIds = {" + ", ".join(f'"{id}"' for id in ids) + "};\n",
                "kernels/Registry.h": "kernelRemarkIds = {};\n",
                "docs/remarks.md": "# Remarks\n" + "".join(f"## {section}\n" for section in sections),
                "compiler/transforms/Some.cpp": source,
            }
            for path, content in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(content)
            return check_pages.check_remarks(root)

    def test_as_many_sections_as_ids_are_silent(self):
        self.assertEqual(self.problems(["a-b", "c"], ["a-b", "c"], "emitRemark(op, RemarkId::c) << x;\n"), [])

    def test_an_id_without_a_section_is_found(self):
        self.assertEqual(self.problems(["a-b", "c"], ["c"]),
                         ["docs/remarks.md: expected a section '## a-b' because compiler/analysis/Remarks.h has this id"])

    def test_a_section_without_an_id_is_found(self):
        self.assertEqual(self.problems(["c"], ["a-b", "c"]),
                         ["docs/remarks.md: section 'a-b' is no id of compiler/analysis/Remarks.h"])

    def test_another_order_and_an_empty_table_are_found(self):
        self.assertEqual(len(self.problems(["a", "b"], ["b", "a"])), 1)
        self.assertEqual(len(self.problems([], [])), 1)

    def test_a_remark_without_an_id_is_found(self):
        self.assertEqual(self.problems(["c"], ["c"], 'loop.emitRemark("text");\n'),
                         ["compiler/transforms/Some.cpp:1: expected emitRemark(op, RemarkId::..), so that the remark "
                          "has an id"])


if __name__ == "__main__":
    unittest.main()
