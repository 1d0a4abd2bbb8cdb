#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A compiler that writes a line to the file $CALLS when it compiles.
case " $* " in *" -E "*) ;; *) echo called >>"$CALLS" ;; esac
exec g++ "$@"
