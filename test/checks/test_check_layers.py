#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of check_layers.py finds its violation, and only that."""

import os
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "scripts"))
import check_layers


class CheckLayers(unittest.TestCase):
    def problems(self, files):
        """What the check says about a tree of these files (path -> text)."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return check_layers.check(root)

    def expect(self, files, *expected):
        self.assertEqual(self.problems(files), list(expected))

    def test_allowed_includes_are_silent(self):
        self.expect({
            "runtime/support/Result.h": "#include <variant>\n#include <sys/stat.h>\n",
            "runtime/device/Device.h": '#include "runtime/support/Result.h"\n#include <fmt/format.h>\n',
            "compiler/analysis/Alignment.cpp": '#include "mlir/IR/Builders.h"\n#include "runtime/support/Result.h"\n',
            "kernels/library/Gemm.cpp": '#include "compiler/pipeline/Compiler.h"\n',
            "compiler/pipeline/Compiler.h": '#include "mlir/Pass/Pass.h"\n#include "compiler/transforms/Passes.h"\n',
            "compiler/transforms/Passes.h": '#include "compiler/transforms/Passes.h.inc"\n',
        })

    def test_runtime_is_free_of_mlir(self):
        self.expect({"runtime/cuda/Driver.cpp": '#include "llvm/ADT/StringRef.h"\n'},
                    'runtime/cuda/Driver.cpp:1: runtime/cuda must not include llvm ("llvm/ADT/StringRef.h")',
                    "runtime/cuda/Driver.cpp: runtime/cuda must not reach MLIR or LLVM, but does by llvm/ADT/StringRef.h")

    def test_runtime_knows_no_compiler(self):
        self.expect({"runtime/device/A.cpp": '\n#include "compiler/pipeline/B.h"\n', "compiler/pipeline/B.h": ""},
                    'runtime/device/A.cpp:2: runtime/device must not include compiler/pipeline ("compiler/pipeline/B.h")')

    def test_target_is_a_leaf(self):
        self.expect({"runtime/target/A.h": '#include "runtime/artifact/B.h"\n', "runtime/artifact/B.h": ""},
                    'runtime/target/A.h:1: runtime/target must not include runtime/artifact ("runtime/artifact/B.h")')

    def test_emulator_knows_no_cuda(self):
        self.expect({"runtime/emulator/exec/core/A.cpp": '#include "runtime/cuda/B.h"\n', "runtime/cuda/B.h": ""},
                    'runtime/emulator/exec/core/A.cpp:1: runtime/emulator/exec/core must not include runtime/cuda ("runtime/cuda/B.h")')

    def test_execution_does_not_know_its_checker(self):
        self.expect({"runtime/emulator/exec/core/A.cpp": '#include "runtime/emulator/check/B.h"\n',
                     "runtime/emulator/check/B.h": '#include "runtime/emulator/exec/core/C.h"\n',
                     "runtime/emulator/exec/core/C.h": ""},
                    'runtime/emulator/exec/core/A.cpp:1: runtime/emulator/exec/core must not include '
                    'runtime/emulator/check ("runtime/emulator/check/B.h")')

    def test_units_of_the_emulator_are_apart(self):
        self.expect({"runtime/emulator/exec/scalar/A.cpp": '#include "runtime/emulator/exec/matrix/B.h"\n',
                     "runtime/emulator/exec/matrix/B.h": ""},
                    'runtime/emulator/exec/scalar/A.cpp:1: runtime/emulator/exec/scalar must not include '
                    'runtime/emulator/exec/matrix ("runtime/emulator/exec/matrix/B.h")')

    def test_transforms_know_no_lowering(self):
        self.expect({"compiler/transforms/A.cpp": '#include "compiler/lowering/B.h"\n', "compiler/lowering/B.h": ""},
                    'compiler/transforms/A.cpp:1: compiler/transforms must not include compiler/lowering '
                    '("compiler/lowering/B.h")')

    def test_dialects_know_no_compiler_in_tablegen_either(self):
        self.expect({"dialects/tile/A.td": 'include "compiler/transforms/B.td"\n', "compiler/transforms/B.td": ""},
                    'dialects/tile/A.td:1: dialects/tile must not include compiler/transforms ("compiler/transforms/B.td")')

    def test_solvers_are_plain(self):
        self.expect({"compiler/solvers/A.h": '#include "dialects/tile/B.h"\n', "dialects/tile/B.h": ""},
                    'compiler/solvers/A.h:1: compiler/solvers must not include dialects/tile ("dialects/tile/B.h")')

    def test_kernels_see_no_mlir_through_a_header_of_the_dsl(self):
        self.expect({"kernels/gemm/Gemm.cpp": '#include "compiler/dsl/Dsl.h"\n',
                     "compiler/dsl/Dsl.h": '#include "compiler/dsl/Trace.h"\n',
                     "compiler/dsl/Trace.h": '#include "mlir/IR/Value.h"\n'},
                    "kernels/gemm/Gemm.cpp: kernels must not reach MLIR or LLVM, but does by "
                    "compiler/dsl/Dsl.h -> compiler/dsl/Trace.h -> mlir/IR/Value.h")

    def test_only_the_library_compiles_kernels(self):
        self.expect({"kernels/gemm/Gemm.cpp": '#include "compiler/pipeline/B.h"\n', "compiler/pipeline/B.h": ""},
                    'kernels/gemm/Gemm.cpp:1: kernels must not include compiler/pipeline ("compiler/pipeline/B.h")')

    def test_kernels_do_not_call_the_library(self):
        self.expect({"kernels/gemm/Gemm.cpp": '#include "kernels/library/B.h"\n', "kernels/library/B.h": ""},
                    'kernels/gemm/Gemm.cpp:1: kernels must not include kernels/library ("kernels/library/B.h")')

    def test_unknown_folder(self):
        self.expect({"compiler/helpers/A.cpp": ""},
                    "compiler/helpers/A.cpp: in no layer; add its folder to LAYERS of check_layers.py")

    def test_form_of_includes(self):
        self.expect({"runtime/device/A.cpp": '#include "B.h"\n#include <runtime/device/B.h>\n'
                                             '#include "runtime/device/C.h"\n#include <boost/any.hpp>\n#include <cuda.h>\n'
                                             '#include <nvrtc.h>\n',
                     "runtime/device/B.h": ""},
                    'runtime/device/A.cpp:1: "B.h" is not relative to the root of the project',
                    'runtime/device/A.cpp:2: expected quotes around "runtime/device/B.h", a file of this project',
                    'runtime/device/A.cpp:3: "runtime/device/C.h" does not exist',
                    "runtime/device/A.cpp:4: <boost/any.hpp> is of no library that the project uses",
                    'runtime/device/A.cpp:5: runtime/device must not include cuda.h ("cuda.h")',
                    "runtime/device/A.cpp:6: <nvrtc.h> is of no library that the project uses")


if __name__ == "__main__":
    unittest.main()
