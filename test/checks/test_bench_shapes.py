#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shapes of the benchmarks are within their bounds, and the same for the same seed."""

import os
import sys
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "bench"))
import shapes
from shapes import AttentionShape


class Shapes(unittest.TestCase):
    def test_a_seed_gives_the_same_shapes(self):
        for draw in (shapes.random_gemms, shapes.random_forward, shapes.random_backward):
            self.assertEqual(draw(20, 7), draw(20, 7))
            self.assertEqual(draw(20, 7)[:5], draw(5, 7))
            self.assertNotEqual(draw(20, 7), draw(20, 8))

    def test_gemms_have_extents_of_every_kind(self):
        drawn = shapes.random_gemms(400, 1)
        extents = [extent for shape in drawn for extent in (shape.m, shape.n, shape.k)]
        self.assertTrue(all(1 <= extent <= 16384 for extent in extents))
        self.assertTrue(all(shape.m * shape.n * shape.k <= 2**40 for shape in drawn))
        self.assertTrue(0.5 <= sum(extent % 8 == 0 for extent in extents) / len(extents) <= 0.7)
        self.assertTrue(0.05 <= sum(extent % 2 for extent in extents) / len(extents) <= 0.25)

    def test_attention_is_bounded(self):
        for drawn, shortest, longest in ((shapes.random_forward(300, 2), 1, 32768), (shapes.random_backward(300, 2), 64, 16384)):
            for shape in drawn:
                self.assertTrue(shortest <= shape.sq <= longest and shortest <= shape.sk <= longest)
                self.assertEqual(shape.h % shape.hkv, 0)
                self.assertTrue(not shape.causal or shape.sq <= shape.sk)
            self.assertTrue({shape.causal for shape in drawn} == {False, True})

    def test_models_have_names(self):
        for shape in shapes.model_gemms() + shapes.model_forward() + shapes.model_backward():
            self.assertTrue(shape.name)

    def test_pairs_are_those_that_a_count_finds(self):
        for sq, sk in ((1, 1), (3, 7), (7, 3), (5, 5), (1, 9), (9, 1)):
            for alignment, ahead in (("left", 0), ("right", sk - sq)):
                counted = sum(key <= query + ahead for query in range(sq) for key in range(sk))
                self.assertEqual(AttentionShape(1, sq, sk, 1, 1, 64, True).pairs(alignment), counted)
            self.assertEqual(AttentionShape(1, sq, sk, 1, 1, 64, False).pairs("left"), sq * sk)


if __name__ == "__main__":
    unittest.main()
