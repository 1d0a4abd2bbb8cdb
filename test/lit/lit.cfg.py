# SPDX-License-Identifier: Apache-2.0
# Configuration of the lit suite; lit.site.cfg.py fills in where things are.
import os
import sys

import lit.formats

sys.path.insert(0, os.path.join(config.tlc_source_dir, "tools", "scripts"))
import features

config.name = "tlc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".ll", ".ptx", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tlc_binary_dir, "test", "lit")

# Our tools are called by substitution, LLVM's (FileCheck, not, split-file) by
# name. Longer names first, since they begin like the shorter ones.
binaries = os.path.join(config.tlc_binary_dir, "bin")
for tool in ("tlc-opt", "tlc-lsp-server", "tile-opt", "simt-opt", "tlc"):
    config.substitutions.append((rf"%{tool}\b", os.path.join(binaries, tool)))
for name, library in (("%libtlc_compiler", "libtlc_compiler.so"), ("%libtlc", "libtlc.so"), ("%runtime", "libtlc_runtime.so")):
    config.substitutions.append((rf"{name}\b", os.path.join(config.tlc_binary_dir, "lib", library)))
compilers = os.path.join(config.tlc_binary_dir, "test", "compilers")
config.environment["PATH"] = os.pathsep.join([compilers, config.llvm_tools_dir, os.environ["PATH"]])

config.substitutions.append((r"%python\b", sys.executable))

# Files of kernels; what they are compiled to is kept here. Tests compile them with each compiler that there is.
config.substitutions.append((r"%headers\b", os.path.join(config.tlc_binary_dir, "include")))
config.substitutions.append((r"%files\b", os.path.join(config.tlc_source_dir, "test", "files")))
config.substitutions.append((r"%languages\b", os.path.join(config.tlc_source_dir, "test", "languages")))
config.substitutions.append((r"%libtlc_headers\b", os.path.join(config.tlc_source_dir, "tools", "libtlc")))
config.substitutions.append((r"%go_cache\b", os.path.join(config.test_exec_root, "go")))
config.substitutions.append((r"%wrapped\b", os.path.join(config.tlc_source_dir, "test", "wrap")))
config.substitutions.append((r"%cookbook\b", os.path.join(config.tlc_source_dir, "kernels", "cookbook")))
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")

# Libraries in the place of the driver's; only a build with CUDA headers opens one.
config.substitutions.append((r"%drivers\b", os.path.join(config.tlc_binary_dir, "test", "drivers")))
if config.tlc_cuda_headers:
    config.available_features.add("cuda-headers")

# Their shadow memory needs all addresses: no limit of memory works with them.
if "-fsanitize" in config.tlc_cxx_flags:
    config.available_features.add("sanitizers")

# `REQUIRES: ptxas`, `cuda-toolkit`, `gpu`.
have = features.detect()
config.available_features.update(have)
if "ptxas" in have:
    config.substitutions.append((r"%ptxas\b", have["ptxas"]))
for tool in ("rustc", "go"):
    if tool in have:
        config.substitutions.append((rf"%{tool}\b", have[tool]))
# What `tools/test.sh long` adds: `lit --param long=1`.
if "long" in lit_config.params:
    config.available_features.add("long")
for name, _, consequence in features.FEATURES:
    if name not in have:
        lit_config.note(f"{name} not found, skipped: {consequence}")
