#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The compiler of the name that this is called by, the next on PATH. ccache keeps what it compiles, in a folder beside
# this; as it does not keep what a call compiles that links, too, shared objects are compiled and then linked.
set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
build=${folder%/test/compilers}
real=$(PATH=${PATH//"$folder:"/} command -v "$(basename "$0")")
export CCACHE_DIR=$folder/ccache CCACHE_SLOPPINESS=pch_defines,time_macros
case " $* " in
*" -shared "*.cpp*) ;;
# tlc forbids the direct mode, without which a precompiled header is never taken from the cache. Its headers are those of the
# build: a precompiled header names the files that it is made of, and those of an installation go with the test.
*" -x c++-header "*"$build/include"*) unset CCACHE_NODIRECT && exec ccache "$real" "$@" ;;
*" -x c++-header "*) exec "$real" "$@" ;;
*" -c "*) exec ccache "$real" "$@" ;;
*) exec "$real" "$@" ;;
esac
compile=(-c) link=()
while [ $# -gt 0 ]; do
  case $1 in
  -shared) link+=("$1") ;;
  -o) output=$2 && shift ;;
  -include-pch) # in a folder of its own in each call: ccache asks for the same name
    header=$folder/$(cksum <"$2" | tr ' ' -).pch
    if [ ! -f "$header" ]; then
      find "$folder" -maxdepth 1 -name '*.pch' -mtime +7 -delete
      cp "$2" "$header.$$" && mv "$header.$$" "$header"
    fi
    compile+=("$1" "$header") && shift ;;
  *.cpp) compile+=("$1") ;;
  *) compile+=("$1") link+=("$1") ;;
  esac
  shift
done
ccache "$real" "${compile[@]}" -o "$output.o"
"$real" "${link[@]}" "$output.o" -o "$output"
