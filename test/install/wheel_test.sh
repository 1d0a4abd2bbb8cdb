#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the wheel of a build, installs it into an empty folder, and computes there with an empty environment.
# wheel_test.sh BUILD SOURCE PYTHON
set -euo pipefail
build=$1 wheel=$2/tools/wheel.sh
python=$("$3" -c 'import os, sys; print(os.path.realpath(sys.executable))')
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
  echo "wheel: $*" >&2
  exit 1
}
# expect_error TEXT ARGUMENT...: wheel.sh fails with this text.
expect_error() {
  local text=$1
  shift
  ! "$wheel" "$@" >said 2>&1 || fail "expected wheel.sh $* to fail"
  grep -qF "$text" said || fail "expected '$text', but got '$(cat said)'"
}
mkdir empty
expect_error "expected a build folder, but '$folder/empty' has no CMakeCache.txt" "$folder/empty"
touch empty/CMakeCache.txt
expect_error "expected a finished build, but '$folder/empty' has no lib/libtlc.so" "$folder/empty"
expect_error "expected a build folder and a folder for the wheel, but got 3 arguments" a b c
expect_error "expected a build folder and a folder for the wheel, but got the option --level=1" --level=1

"$wheel" "$build" one | tee said
"$wheel" "$build" other >/dev/null
file=$(basename one/*.whl)
[[ $file == tlc-*-py3-none-manylinux_2_36_"$(uname -m)".whl ]] || fail "expected the name of a wheel, but got $file"
cmp one/*.whl other/*.whl || fail "expected equal wheels of equal builds"
"$python" -m zipfile -l "one/$file" >listed
for name in tlc/__init__.py tlc/py.typed tlc/lib/libtlc.so tlc/lib/libtlc_compiler.so tlc/lib/libtlc_runtime.so tlc/include/tlc/kernel.h dist-info/RECORD \
  dist-info/licenses/tlc dist-info/licenses/llvm dist-info/licenses/fmt; do
  grep -q "$name" listed || fail "expected $name in the wheel"
done

if "$python" -m pip --version >/dev/null 2>&1; then
  "$python" -m pip install --quiet --no-index --disable-pip-version-check --root-user-action=ignore --target site "one/$file"
else
  echo "no pip: unpacked instead"
  "$python" -m zipfile -e "one/$file" site
fi
mkdir nowhere
cat >attend.py <<'END'
import math
import tlc

rows = [[(i * j % 5) / 4 for j in range(8)] for i in range(4)]
x = tlc.tensor([[[row] for row in rows]], "f16")
o, lse = tlc.attention(x, x, x, causal="left", return_lse=True)
for i, row in enumerate(rows):
    scores = [sum(a * b for a, b in zip(row, rows[j])) / math.sqrt(8) for j in range(i + 1)]
    total = sum(map(math.exp, scores))
    assert abs(lse.tolist()[0][0][i] - math.log(total)) < 1e-3
    for c in range(8):
        assert abs(o.tolist()[0][i][0][c] - sum(math.exp(s) * rows[j][c] for j, s in enumerate(scores)) / total) < 1e-2
print("right")
END
here=(env -i "PATH=$folder/nowhere" "PYTHONPATH=$folder/site" "$python" -B)
[ "$("${here[@]}" attend.py)" = right ] || fail "expected attention to be right"
"${here[@]}" -m tlc | tee said
grep -qF "$folder/site/tlc/lib/libtlc.so" said || fail "expected the library of the wheel"
grep -qF "cache: in memory only" said || fail "expected no folder of the cache without a home"
"${here[@]}" -m tlc run softmax -D rows=3 -D columns=40 --device emulator --verify | grep -q ': ok$' || fail "expected the tool to run"
