#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command of docs/tools.md, which emulate.test runs beside axpy.ptx.
set -e
# [axpy]
tlc emulate axpy.ptx --entry axpy --grid 2 --block 64 \
    --arg f32:2 --arg random:f32:100:seed=1 --arg y=zero:f32:100:y.npy --arg i32:100
# [axpy]
