#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times our kernels against what PyTorch offers for the same work, on one GPU.

Clocks, power and rest between launches move single figures by 5 to 35 percent,
so only ratios within one run count: ours and the peers take turns in one
process, each turn some warm-up launches and then a batch of back-to-back
launches between one pair of events, without rests. Each round gives a ratio
of times; the result is the median ratio over all rounds.

Every case is checked before and after it is timed, in double precision: GEMM
as a whole, attention in part and as a whole against the peer. Prints one line of JSON
per case and a last one with the geometric mean; a ratio above 1 means that
ours is faster. Exit status 1 if a result is wrong.

    peers.py [gemm] [--dtype bf16] [--layout tn] [--out bf16] [--shape m,n,k ...]
    peers.py attention_fwd [--dtype bf16] [--d 128] [--causal yes] [--sq 1] [--shape b,s,h,hkv ...]
    peers.py attention_bwd [--dtype bf16] [--d 128] [--causal yes] [--shape b,s,h,hkv ...]
    peers.py attention_fwd_fp8 [--d 128] [--mean 1] [-D sums=fast] [--shape b,s,h,hkv ...]
    peers.py block_causal [--d 128] [--shape b,s,h,hkv ...], and block_causal_bwd
    peers.py varlen [--d 128] [--causal yes] [--shape b,longest,h,hkv ...], and varlen_bwd
    peers.py softmax [--dtype bf16] [--shape rows,columns ...]
    peers.py attention_decode [--dtype bf16] [--d 128] [--shape b,s,h,hkv ...] [-D kv=paged]

gemm, attention_fwd and attention_bwd also take shapes that nobody tuned for, by a seed, or those of models, softmax
those by a seed; their peers
are all of PyTorch's that take the shape, and a line says which did not. --graphs times CUDA graphs of a batch, with
GEMM's operands rotating through more than L2 holds:

    peers.py gemm --random 60 --seed 1 --graphs --launches 10
    peers.py gemm --uniform 60 --seed 1 --graphs --launches 10
    peers.py attention_bwd --models --graphs --peer flash3.py

Lines whose launches all take less than 2 us are printed, but are not part of the mean.

With --against, our kernel takes turns with itself under other parameters, too:

    peers.py attention_fwd --against form=plain --against bk=112

With --older, it takes turns with the same program of another build, which shows what a change of the compiler did;
--peers no leaves the peers out:

    peers.py attention_fwd --older old/libtlc.so --peers no

With --target sm_80, ours does without what later machines have, and GEMM's peers are cuBLAS and Triton without wgmma.

A peer of decoding is a copy that moves as many bytes as K and V have: that ratio is the share of the copy's bandwidth.
"""

import argparse
import importlib.util
import json
import os
import statistics
import sys

import torch

from attention_cases import attention_cases, block_causal_cases, varlen_cases
from backward_cases import backward_cases, block_causal_backward_cases, varlen_backward_cases
from decode_cases import decode_cases
from fp8_cases import fp8_cases
from gemm_cases import gemm_cases
from libtlc import Error, Library, find_library
from measure import DTYPES, measure
from softmax_cases import softmax_cases

# A suite's cases, and what a shape of it consists of.
ATTENTION = "b,s,h,hkv"
VARLEN = "b,longest,h,hkv"
SUITES = {
    "gemm": (gemm_cases, "m,n,k"),
    "attention_fwd": (attention_cases, ATTENTION),
    "attention_bwd": (backward_cases, ATTENTION),
    "attention_fwd_fp8": (fp8_cases, ATTENTION),
    "block_causal": (block_causal_cases, ATTENTION),
    "block_causal_bwd": (block_causal_backward_cases, ATTENTION),
    "varlen": (varlen_cases, VARLEN),
    "varlen_bwd": (varlen_backward_cases, VARLEN),
    "attention_decode": (decode_cases, ATTENTION),
    "softmax": (softmax_cases, "rows,columns"),
}


SUITES_OF_MODELS = ("gemm", "attention_fwd", "attention_bwd")
DRAWN_SUITES = (*SUITES_OF_MODELS, "softmax")
SHORT_US = 2.0


def is_short(line):
    """Ours and all others take so little time that the launch alone decides."""
    others = [other["us"] for kind in ("peers", "others") for other in line.get(kind, {}).values()]
    return max([line["ours_us"], *others]) < SHORT_US


def load_peer(path):
    """The module in a file."""
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or not os.path.exists(path):
        raise argparse.ArgumentTypeError(f"expected a Python file, but got '{path}'")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parse_shape(text):
    extents = tuple(int(part) for part in text.split(","))
    if min(extents) < 1:
        raise argparse.ArgumentTypeError(f"expected extents of at least 1, but got '{text}'")
    return extents


def parse_definitions(text):
    return [parse_definition(part) for part in text.split(",")]


def parse_definition(text):
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected name=value, but got '{text}'")
    return name, value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="?", choices=SUITES, default="gemm")
    parser.add_argument("--library", default=find_library(), help="libtlc.so (default: beside this script or of a build)")
    parser.add_argument("--shape", type=parse_shape, action="append", help="instead of the suite's: m,n,k, or b,s,h,hkv of attention; may repeat")
    parser.add_argument("--random", type=int, metavar="count", help="as many shapes drawn by --seed, see shapes.py")
    parser.add_argument("--uniform", type=int, metavar="count", help="of gemm: shapes drawn uniformly by --seed, see shapes.py")
    parser.add_argument("--models", type=int, nargs="?", const=0, metavar="count",
                        help="shapes of models, see shapes.py: all, or as many drawn by --seed")
    parser.add_argument("--graphs", action="store_true", help="launch each batch as one CUDA graph")
    parser.add_argument("--dtype", choices=["f16", "bf16", "f32", "e4m3", "i8"], default="bf16",
                        help="of inputs; f32 (tf32), e4m3 and i8: of gemm, with layout tn")
    parser.add_argument("--layout", choices=["tn", "nn", "tt", "nt"], default="tn", help="of gemm, see tlc list gemm")
    parser.add_argument("--out", choices=list(DTYPES), default="bf16")
    parser.add_argument("--d", type=int, default=128, help="length of attention's rows")
    parser.add_argument("--dv", type=int, default=0, help="length of the rows of V and O (default: as --d)")
    parser.add_argument("--sq", type=int, default=0, metavar="count", help="queries of attention_fwd's shapes, s being keys (default: s)")
    parser.add_argument("--causal", choices=["yes", "no"], help="of attention; left out: both")
    parser.add_argument("--mean", type=float, default=0.0, help="of V, in attention_fwd_fp8")
    parser.add_argument("-D", dest="define", type=parse_definition, action="append", default=[], metavar="name=value",
                        help="further parameter of our kernel; may repeat")
    parser.add_argument("--against", type=parse_definitions, action="append", default=[], metavar="name=value,...",
                        help="a program of ours with these parameters takes turns, too; may repeat")
    parser.add_argument("--older", metavar="libtlc.so", help="another build, whose program takes turns, too")
    parser.add_argument("--peers", choices=["yes", "no"], default="yes", help="whether peers take turns")
    parser.add_argument("--target", metavar="sm_80", help="architecture that ours is compiled for (default: the GPU's)")
    parser.add_argument("--peer", type=load_peer, action="append", default=[], metavar="file.py",
                        help="a further peer: a module with a function of the suite's name, see attention_cases.py and "
                             "backward_cases.py; may repeat")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"), help="of the random inputs")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--warmups", type=int, default=5, help="launches before each batch")
    parser.add_argument("--launches", type=int, default=20, help="launches in a batch")
    options = parser.parse_args()
    cases, extents = SUITES[options.suite]
    for shape in options.shape or []:
        if len(shape) != extents.count(",") + 1:
            parser.error(f"expected --shape {extents}, but got {','.join(map(str, shape))}")
    if options.peer and options.suite not in ("attention_fwd", "attention_bwd"):
        parser.error(f"expected --peer with attention_fwd or attention_bwd, but got {options.suite}")
    if sum(bool(given) for given in (options.shape, options.random, options.uniform, options.models is not None)) > 1:
        parser.error("expected only one of --shape, --random, --uniform and --models")
    for given, name, suites in (options.random, "--random", DRAWN_SUITES), (options.uniform, "--uniform", ("gemm",)), (options.models, "--models", SUITES_OF_MODELS):
        if given is not None and options.suite not in suites:
            parser.error(f"expected {name} with one of {', '.join(suites)}, but got {options.suite}")
    if any(count is not None and count < 1 for count in (options.random, options.uniform)) or options.models is not None and options.models < 0:
        parser.error("expected --random, --uniform and --models with a count of at least 1")
    if options.sq and (options.suite != "attention_fwd" or options.sq < 1):
        parser.error("expected --sq of at least 1 with attention_fwd")
    if options.library is None:
        parser.error("found no libtlc.so; name it with --library")
    if options.peers == "no" and not (options.older or options.against):
        parser.error("expected --older or --against with --peers no")
    if not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU")

    # A graph cannot be captured on the default stream, and gradients run on the stream of their forward.
    torch.cuda.set_stream(torch.cuda.Stream())
    torch.manual_seed(options.seed)
    library = Library(options.library)
    if options.older:
        options.older = Library(options.older)
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
                      "seed": options.seed, "rounds": options.rounds, "launches": options.launches}), flush=True)
    lines = []
    for case in cases(library, options):
        lines.append(measure(case, options))
        print(json.dumps(lines[-1]), flush=True)
    ratios = [line["ratio"] for line in lines if line["ratio"] is not None and not is_short(line)]
    correct = all(line["correct"] for line in lines)
    summary = {"suite": options.suite, "cases": len(lines), "averaged": len(ratios), "correct": correct}
    if ratios:
        summary |= {"geometric_mean": statistics.geometric_mean(ratios), "lowest": min(ratios),
                    "below_0.95": sum(ratio < 0.95 for ratio in ratios)}
    print(json.dumps(summary))
    return 0 if correct else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Error as error:
        sys.exit(f"peers.py: {error}")
