#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A compiler while which the file $SAVED is saved, by its first $SAVES calls; its calls are lines of $SAVED.calls.
case " $* " in
*" -E "*) exec g++ "$@" ;;
esac
g++ "$@" || exit 1
echo called >>"$SAVED.calls"
calls=$(wc -l <"$SAVED.calls")
if [ "$calls" -le "$SAVES" ]; then echo "#define SAVED \"saved $calls times\"" >"$SAVED"; fi
