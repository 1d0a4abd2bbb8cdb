#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention forward and backward of sequences too long to check every row, on a GPU.

    long_sequences.py [--tokens 131072] [--seed 0] [--lib libtlc.so]

Causal, d = 128, bf16, two sequences of so many tokens: 16 heads on 2, and 72 heads on 72, whose tensors have elements
beyond 2^31. O, LSE, dQ, dK and dV of some rows, among them the first and the last of the first and the last head, are
compared with double precision; no element may stay unwritten; deterministic=yes must give the same bits twice.

The reference of O, LSE and dQ needs the rows alone. That of dK and dV takes O and LSE, which backward is given, from our
forward: what it checks is the sum over all queries.

Prints a JSON object for each case; exit status 1 if anything is wrong. Needs PyTorch and 56 GB of memory.
"""

import argparse
import json
import math
import sys
import time

import torch

import libtlc
from attention_cases import expected_rows
from measure import ROUNDING, compare

BATCH, DEPTH, DTYPE = 2, 128, "bf16"
ROWS = 32  # that are drawn, of each kind
HEADS = ((16, 2), (72, 72))


def sampled(count):
    """Positions that are checked."""
    return torch.cat([torch.tensor([0, count - 1]), torch.randint(0, count, (ROWS,))]).cuda()


def error_of(actual, expected):
    """In units of what is allowed: four roundings of the row's largest element."""
    return compare(actual, expected, 0.0, 4 * ROUNDING[DTYPE] * expected.abs().amax(-1, keepdim=True))


def query_gradients(q, k, v, d_o, visible):
    """dQ of these rows of one head in double precision."""
    scale = DEPTH**-0.5
    q, k, v, d_o = q.double(), k.double(), v.double(), d_o.double()
    weights = (q @ k.t() * scale).masked_fill(~visible, -math.inf).softmax(-1)
    of_weights = d_o @ v.t()
    return weights * (of_weights - (weights * of_weights).sum(-1, keepdim=True)) @ k * scale


def key_gradients(q, k, v, o, d_o, lse, visible):
    """What one head of queries adds to dK and dV of these rows, in double precision; `visible` is queries x rows."""
    scale = DEPTH**-0.5
    q, k, v, o, d_o, lse = (tensor.double() for tensor in (q, k, v, o, d_o, lse))
    weights = (q @ k.t() * scale - lse[:, None]).exp().masked_fill(~visible, 0.0)
    of_scores = weights * (d_o @ v.t() - (o * d_o).sum(-1, keepdim=True)) * scale
    return of_scores.t() @ q, weights.t() @ d_o


class Problem:
    def __init__(self, library, tokens, h, hkv):
        self.tokens, self.h, self.hkv = tokens, h, hkv
        tensor = lambda heads: torch.randn(BATCH, tokens, heads, DEPTH, device="cuda", dtype=torch.bfloat16)
        self.q, self.k, self.v, self.d_o = tensor(h), tensor(hkv), tensor(hkv), tensor(h)
        self.o = torch.full_like(self.q, math.nan)
        self.lse = torch.full((BATCH, h, tokens), math.nan, device="cuda", dtype=torch.float32)
        self.gradients = [torch.empty_like(tensor) for tensor in (self.q, self.k, self.v)]
        self.library = library
        self.parameters = {"b": BATCH, "sq": tokens, "sk": tokens, "h": h, "hkv": hkv, "d": DEPTH, "dtype": DTYPE,
                           "causal": "right"}

    def forward(self):
        program = self.library.compile("attention_fwd", **self.parameters)
        program.bind(self.q, self.k, self.v, self.o, self.lse)()

    def backward(self, **parameters):
        program = self.library.compile("attention_bwd", **self.parameters, **parameters)
        launch = program.bind(self.q, self.k, self.v, self.o, self.d_o, self.lse, *self.gradients)
        for gradient in self.gradients:
            gradient.fill_(math.nan)
        launch()

    def heads(self):
        """Of K and V, with the sequence, which are checked; and the heads of Q that share each."""
        group = self.h // self.hkv
        return [(batch, kv, range(kv * group, (kv + 1) * group)) for batch, kv in ((0, 0), (BATCH - 1, self.hkv - 1))]

    def forward_error(self):
        worst = 0.0
        for batch, kv, heads in self.heads():
            head, rows = heads[-1], sampled(self.tokens)
            o, lse = expected_rows(self.q[batch, rows, head], self.k[batch, :, kv], self.v[batch, :, kv],
                                   self.seen_by(rows), DEPTH**-0.5)
            worst = max(worst, error_of(self.o[batch, rows, head], o),
                        compare(self.lse[batch, head, rows], lse, 1e-5, 1e-5))
        return worst

    def backward_error(self):
        d_q, d_k, d_v = self.gradients
        worst = 0.0
        for batch, kv, heads in self.heads():
            head, rows = heads[-1], sampled(self.tokens)
            expected = query_gradients(self.q[batch, rows, head], self.k[batch, :, kv], self.v[batch, :, kv],
                                       self.d_o[batch, rows, head], self.seen_by(rows))
            worst = max(worst, error_of(d_q[batch, rows[1:], head], expected[1:]),
                        d_q[batch, 0, head].abs().max().item() / 0.05)  # one key: its weight is 1, the gradient 0
            sums = [0.0, 0.0]
            for head in heads:
                parts = key_gradients(self.q[batch, :, head], self.k[batch, rows, kv], self.v[batch, rows, kv],
                                      self.o[batch, :, head], self.d_o[batch, :, head], self.lse[batch, head],
                                      self.seen_by(torch.arange(self.tokens, device="cuda"), rows))
                sums = [total + part for total, part in zip(sums, parts)]
            worst = max(worst, *(error_of(gradient[batch, rows, kv], total)
                                 for gradient, total in zip((d_k, d_v), sums)))
        return worst

    def seen_by(self, rows, keys=None):
        keys = torch.arange(self.tokens, device="cuda") if keys is None else keys
        return keys[None, :] <= rows[:, None]

    def is_written(self, tensors):
        return all(bool(part.isfinite().all()) for tensor in tensors for part in tensor)

    def check(self):
        """The case's line of output."""
        self.forward()
        forward = self.forward_error() if self.is_written((self.o, self.lse)) else math.inf
        errors, runs = {}, []
        for name, parameters in (("default", {}), ("deterministic", {"deterministic": "yes"}),
                                 ("again", {"deterministic": "yes"})):
            self.backward(**parameters)
            if name != "again":
                errors[name] = self.backward_error() if self.is_written(self.gradients) else math.inf
            if parameters:
                runs.append([gradient.view(torch.int16).sum(-1, dtype=torch.int32) for gradient in self.gradients])
        same = all(torch.equal(first, second) for first, second in zip(*runs))
        return {"kernel": "attention_bwd", **self.parameters, "elements_of_q": self.q.numel(), "forward_error": forward,
                **{f"{name}_error": error for name, error in errors.items()}, "limit": 1.0, "same_bits": same,
                "correct": same and all(0.0 <= error <= 1.0 for error in (forward, *errors.values()))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=131072, help="of each of the two sequences")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lib", default=libtlc.find_library(), help="libtlc.so")
    options = parser.parse_args()
    if not options.lib:
        parser.error("expected --lib because there is no libtlc.so in this build")
    torch.manual_seed(options.seed)
    library = libtlc.Library(options.lib)
    correct = True
    for h, hkv in HEADS:
        begin = time.monotonic()
        problem = Problem(library, options.tokens, h, hkv)
        line = problem.check()
        line["seconds"] = round(time.monotonic() - begin, 2)
        print(json.dumps(line), flush=True)
        correct = correct and line["correct"]
        del problem
        torch.cuda.empty_cache()
    return 0 if correct else 1


if __name__ == "__main__":
    sys.exit(main())
