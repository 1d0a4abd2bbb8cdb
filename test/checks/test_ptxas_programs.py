#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ptxas_programs.py finds the instructions that ended programs on a GPU, or made them wrong."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools", "scripts"))
from ptxas_programs import wrong_code

# By nvdisasm 13.0, of cp.async with a policy for L2 and a shared address that is a register and a uniform register.
WRONG = """
        /*0890*/                   UMOV UR0, 0x400 ;
        /*08a0*/                   LDGSTS.E.BYPASS.128 [R21+UR0], desc[UR1][R12.64], P6 ;
        /*1330*/                   LDGSTS.E.BYPASS.128.ZFILL [R19+UR0+0xc000], desc[UR11][R16.64], P0 ;
"""
CONSTANT = """
        /*0190*/                   F2FP.F16.E4M3.UNPACK_B R8, 5.6051938572992682837e-44 ;
"""
RIGHT = """
        /*0520*/                   LDGSTS.E.BYPASS.128 [R9+0x800], desc[UR12][R4.64+-0x800], !P2 ;
        /*0840*/                   STG.E desc[UR8][R2.64], R5 ;
        /*0850*/                   UMOV UR1, 0x400 ;
        /*0270*/                   F2FP.F16.E4M3.UNPACK_B R8, RZ ;
        /*4fe0*/                   F2FP.F16.E5M2.UNPACK_B R21, R18.H1 ;
"""


class WrongCode(unittest.TestCase):
    def test_finds_each(self):
        found = wrong_code(WRONG)
        self.assertEqual(len(found), 2)
        self.assertIn("[R21+UR0], desc[UR1][R12.64]", found[0])
        self.assertIn("[R19+UR0+0xc000], desc[UR11][R16.64]", found[1])

    def test_finds_constants(self):
        self.assertEqual(len(wrong_code(CONSTANT)), 1)

    def test_others_are_right(self):
        self.assertEqual(wrong_code(RIGHT), [])


if __name__ == "__main__":
    unittest.main()
