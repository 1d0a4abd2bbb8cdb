#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ptxas_programs.py finds the instructions that ended programs on a GPU."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools", "scripts"))
from ptxas_programs import odd_descriptors

# By nvdisasm 13.0, of cp.async with a policy for L2 and a shared address that is a register and a uniform register.
WRONG = """
        /*0890*/                   UMOV UR0, 0x400 ;
        /*08a0*/                   LDGSTS.E.BYPASS.128 [R21+UR0], desc[UR1][R12.64], P6 ;
        /*1330*/                   LDGSTS.E.BYPASS.128.ZFILL [R19+UR0+0xc000], desc[UR11][R16.64], P0 ;
"""
RIGHT = """
        /*0520*/                   LDGSTS.E.BYPASS.128 [R9+0x800], desc[UR12][R4.64+-0x800], !P2 ;
        /*0840*/                   STG.E desc[UR8][R2.64], R5 ;
        /*0850*/                   UMOV UR1, 0x400 ;
"""


class OddDescriptors(unittest.TestCase):
    def test_finds_each(self):
        found = odd_descriptors(WRONG)
        self.assertEqual(len(found), 2)
        self.assertIn("[R21+UR0], desc[UR1][R12.64]", found[0])
        self.assertIn("[R19+UR0+0xc000], desc[UR11][R16.64]", found[1])

    def test_pairs_are_right(self):
        self.assertEqual(odd_descriptors(RIGHT), [])


if __name__ == "__main__":
    unittest.main()
