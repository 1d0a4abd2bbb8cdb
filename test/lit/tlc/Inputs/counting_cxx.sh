#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A compiler that writes a line to the file $CALLS when it compiles.
if [ "$1" != -dM ]; then echo called >>"$CALLS"; fi
exec g++ "$@"
