#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A compiler that writes a line to the file $CALLS when it compiles a file of kernels, rather than the header.
case " $* " in *" -shared "*) echo called >>"$CALLS" ;; esac
exec g++ "$@"
