# SPDX-License-Identifier: Apache-2.0
# The same without CMake; $prefix is where tlc is installed.
set -e
# [fa]
tlc build --out libfa.a --header fa.h --targets sm_90a,sm_100a attention_fwd -D d=128 my.cpp:softcap -D tile=32
# [fa]
# [cap]
tlc build --emulator --out libcap.a --header cap.h my.cpp:softcap -D dtype=f32 fine=my.cpp:softcap -D tile=8
# [cap]
# [cc]
cc main.c libcap.a -L "$prefix/lib" -l:libtlc_runtime.a -lstdc++ -lm -lpthread -ldl -o ahead
# [cc]
